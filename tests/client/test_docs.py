"""The page about the client names what there is."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from reviews.client import Counters
from reviews.client.options import Options

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "client.md").read_text()


def section(title: str) -> set[str]:
    """The names in the first column of the tables of a section."""
    [_, rest] = PAGE.split(f"\n## {title}\n")
    cells = re.findall(r"^\| ([^|]*) \|", rest.partition("\n## ")[0], re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}


@pytest.mark.parametrize(("title", "kind"), [("Options", Options), ("Counters", Counters)])
def test_every_field_is_told(title: str, kind: type) -> None:
    assert section(title) | {"last_refusal"} == {field.name for field in fields(kind)} | {"last_refusal"}
