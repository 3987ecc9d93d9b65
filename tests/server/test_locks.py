"""The lock files: complete, hashed, and free of any address."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
LOCKS = {"server": ("server",), "dev": ("server", "dev"), "parity": ("parity",)}


def requirements_in(lock: str) -> dict[str, tuple[Requirement, int]]:
    """Each pinned requirement of a lock file and the number of hashes it carries."""
    text = (ROOT / "requirements" / f"{lock}.lock").read_text()
    found: dict[str, tuple[Requirement, int]] = {}
    for entry in re.sub(r"\\\n\s*", " ", text).splitlines():
        if entry.strip() and not entry.lstrip().startswith("#"):
            pin, *hashes = entry.split(" --hash=")
            requirement = Requirement(pin)
            assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", value.strip()) for value in hashes), entry
            found[canonicalize_name(requirement.name)] = (requirement, len(hashes))
    return found


@pytest.mark.parametrize("lock", LOCKS)
def test_every_requirement_is_pinned_and_hashed(lock: str) -> None:
    requirements = requirements_in(lock)
    assert requirements
    for name, (requirement, hashes) in requirements.items():
        assert re.fullmatch(r"==[^*]+", str(requirement.specifier)), name
        assert hashes, name
        assert requirement.url is None, name


@pytest.mark.parametrize("lock", LOCKS)
def test_names_no_host_and_no_folder(lock: str) -> None:
    text = (ROOT / "requirements" / f"{lock}.lock").read_text()
    assert not re.search(
        r"://|--(index|extra-index|find-links|trusted-host)|\bfile:|(?m:^\s*(-|/|\.))[^-]", text
    )
    assert not re.search(r"(?m)^\s*(-e|-r|-c|-f|-i)\b", text)


@pytest.mark.parametrize(("lock", "extras"), LOCKS.items())
def test_covers_the_declared_dependencies(lock: str, extras: tuple[str, ...]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = [*project["dependencies"]] if lock != "parity" else []
    for extra in extras:
        declared += project["optional-dependencies"][extra]
    locked = requirements_in(lock)
    for text in declared:
        wanted = Requirement(text)
        if wanted.name == project["name"]:
            continue
        pinned, _ = locked[canonicalize_name(wanted.name)]
        version = str(pinned.specifier).removeprefix("==")
        assert wanted.specifier.contains(version, prereleases=True), f"{text} is locked at {version}"


def test_locks_agree_with_each_other() -> None:
    """The locks are installed on top of each other, so a package has one version in all of them."""
    versions: dict[str, set[str]] = {}
    for lock in LOCKS:
        for name, (requirement, _) in requirements_in(lock).items():
            versions.setdefault(name, set()).add(str(requirement.specifier))
    assert {name: found for name, found in versions.items() if len(found) > 1} == {}
