"""A draft cut into runs, so that every claim in it can be highlighted, overlapping ones too."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from reviews.models import Finding


class Run(NamedTuple):
    """Characters of the draft that belong to the same claims.

    ``starts`` are the numbers of the claims that begin here; ``css`` is empty outside of claims.
    """

    text: str
    css: str
    starts: list[int]
    title: str


def draft_runs(draft: str, offset: int, findings: Sequence[Finding], current: int | None) -> list[Run]:
    """Cut ``draft`` at the edges of the findings' spans (which count from ``offset``)."""
    spans = [
        (offset + f.span_start, min(offset + f.span_end, len(draft)), f)
        for f in findings
        if f.span_end > f.span_start
    ]
    edges = sorted({0, len(draft)} | {edge for start, end, _ in spans for edge in (start, end)})
    runs = []
    for begin, end in pairwise(edges):
        inside = [f for start, stop, f in spans if start <= begin and end <= stop]
        starts = [f.position + 1 for start, _, f in spans if start == begin and f in inside]
        runs.append(Run(draft[begin:end], _css(inside, current), starts, _title(inside)))
    return runs


def _css(inside: Sequence[Finding], current: int | None) -> str:
    if not inside:
        return ""
    classes = ["claim", next((f.label for f in inside if f.label), "")]
    if any(f.position == current for f in inside):
        classes.append("current")
    return " ".join(filter(None, classes))


def _title(inside: Sequence[Finding]) -> str:
    return " · ".join(f"{f.position + 1} {f.get_kind_display()}, {f.confidence:.2f}" for f in inside)
