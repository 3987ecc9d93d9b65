"""An agent that installs this distribution gets the client and httpx, and nothing of the server."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from tests.client.fake_server import FakeServer

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]

#: Talks to the server with everything the client can do, then says what else there is.
AGENT = """
import asyncio, importlib.util, sys
from importlib.metadata import distributions
from reviews.client import AsyncReviewClient, ReviewClient

url, spill = sys.argv[1:]
with ReviewClient(url, "sr_key", spill=spill) as client:
    assert client.record({"external_id": "light", "draft": "d"})
    assert client.check("a draft", external_id="checked", deadline=30).answered
    assert client.policy().version == 3
    assert client.skills() == []
    assert client.flush(30), client.counters

async def ask():
    async with AsyncReviewClient(url, "sr_key") as client:
        assert (await client.check("a draft", external_id="awaited", deadline=30)).answered

asyncio.run(ask())
server = ("django", "rest_framework", "celery", "msgspec", "re2", "openai", "psycopg", "symfonic")
found = [name for name in server if importlib.util.find_spec(name)]
assert not found, found
print(*sorted(distribution.metadata["Name"].lower() for distribution in distributions()))
"""


def run(*command: str | Path, cwd: Path) -> str:
    # The checkout itself must not be found.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=environment, text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, for a build leaves files beside its sources."""
    folder = tmp_path_factory.mktemp("build")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / "reviews", folder / "reviews", ignore=shutil.ignore_patterns("__pycache__"))
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", "out", ".", cwd=folder)
    [built] = (folder / "out").glob("*.whl")
    return built


def test_the_distribution_asks_for_httpx_only(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        [metadata] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        required = Parser().parsestr(archive.read(metadata).decode()).get_all("Requires-Dist") or []
    assert [requirement for requirement in required if "extra ==" not in requirement] == ["httpx>=0.28"]
    assert any(requirement.startswith("Django") for requirement in required)


def test_installed_into_an_empty_environment_it_works_without_the_server(
    wheel: Path, fake: FakeServer, tmp_path: Path
) -> None:
    fake.pages = {"": {"skills": [], "next_cursor": None}}
    venv.create(tmp_path / "empty", with_pip=False)
    python = tmp_path / "empty" / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", wheel, cwd=tmp_path)

    installed = run(python, "-I", "-c", AGENT, fake.url, tmp_path / "spill", cwd=tmp_path).split()

    assert sorted(fake.turns) == ["awaited", "checked", "light"]
    # httpx and what it needs itself.
    assert {"httpx", "symfonic-review"} <= set(installed)
    assert set(installed) <= {
        "anyio",
        "certifi",
        "h11",
        "httpcore",
        "httpx",
        "idna",
        "sniffio",
        "symfonic-review",
        "typing_extensions",
    }
