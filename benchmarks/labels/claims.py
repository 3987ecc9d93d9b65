"""Labels as people write them: claims by their text, checked against the draft and turned into spans."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["KINDS", "SOURCES", "Claim", "read_drafts", "read_group", "read_labels", "read_rows"]

KINDS = (
    "verb_claim",
    "uuid",
    "short_hex_near_key",
    "short_hex_near_verb",
    "kv",
    "claimed_identifier",
    "tool_output_shape",
)
VERDICTS = ("fabricated", "grounded")
SOURCES = ("call_this_turn", "earlier_call", "user_message", "context")
_FIELDS = {"text", "nth", "kind", "verdict", "source", "why"}


@dataclass(frozen=True, kw_only=True, order=True)
class Claim:
    """One claim of a draft; ``start`` and ``end`` are code points of the draft as it is."""

    start: int
    end: int
    kind: str
    verdict: str
    source: str | None
    why: str

    def same_place(self, other: Claim) -> bool:
        """Whether both mean the same piece: they overlap by half of their union, or one holds the other."""
        shared = min(self.end, other.end) - max(self.start, other.start)
        if shared <= 0:
            return False
        shorter = min(self.end - self.start, other.end - other.start)
        union = max(self.end, other.end) - min(self.start, other.start)
        return shared == shorter or shared / union >= 0.5


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSONL file; only line feeds part them, as strings may hold other line ends."""
    return [json.loads(line) for line in path.read_text().split("\n") if line.strip()]


def read_drafts(folder: Path) -> dict[str, dict[str, str]]:
    """Per part (``part_00`` …) the drafts by turn id."""
    return {
        path.name.removesuffix(".drafts.jsonl"): {row["id"]: row["draft"] for row in read_rows(path)}
        for path in sorted(folder.glob("part_*.drafts.jsonl"))
    }


def read_group(folder: Path, parts: dict[str, dict[str, str]]) -> tuple[dict[str, list[Claim]], list[str]]:
    """All labels of one group by turn id, and what is wrong with them in words."""
    labels: dict[str, list[Claim]] = {}
    problems: list[str] = []
    for part, drafts in parts.items():
        path = folder / f"{part}.jsonl"
        if not path.exists():
            problems.append(f"{path.name}: missing")
            continue
        found, wrong = read_labels(path, drafts)
        labels.update(found)
        problems.extend(wrong)
    return labels, problems


def read_labels(path: Path, drafts: dict[str, str]) -> tuple[dict[str, list[Claim]], list[str]]:
    """The labels of one part by turn id, and what is wrong with them in words."""
    labels: dict[str, list[Claim]] = {}
    problems: list[str] = []
    for number, line in enumerate(path.read_text().split("\n"), 1):
        if not line.strip():
            continue
        where = f"{path.name}:{number}"
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            problems.append(f"{where}: not JSON: {error}")
            continue
        name = row.get("id") if isinstance(row, dict) else None
        if name not in drafts:
            problems.append(f"{where}: id {name!r} is not of this part")
        elif name in labels:
            problems.append(f"{where}: id {name} a second time")
        elif not isinstance(row.get("claims"), list):
            problems.append(f"{where}: claims is not a list")
        else:
            labels[name] = []
            for index, claim in enumerate(row["claims"]):
                found = _claim(claim, drafts[name])
                if isinstance(found, str):
                    problems.append(f"{where}: {name} claim {index}: {found}")
                elif any((other.start, other.end) == (found.start, found.end) for other in labels[name]):
                    problems.append(f"{where}: {name} claim {index}: the same span a second time (nth?)")
                else:
                    labels[name].append(found)
            labels[name].sort()
    problems.extend(f"{path.name}: no line for {name}" for name in drafts if name not in labels)
    return labels, problems


def _claim(claim: Any, draft: str) -> Claim | str:
    """The claim, or what is wrong with it."""
    if not isinstance(claim, dict):
        return "not an object"
    if unknown := claim.keys() - _FIELDS:
        return f"unknown field {', '.join(sorted(unknown))}"
    text, nth, source = claim.get("text"), claim.get("nth", 0), claim.get("source")
    if not isinstance(text, str) or not text or text != text.strip():
        return "text is empty, no string, or begins or ends with space"
    if isinstance(nth, bool) or not isinstance(nth, int) or nth < 0:
        return "nth is not a number from 0"
    if claim.get("kind") not in KINDS:
        return f"kind {claim.get('kind')!r} is none of {', '.join(KINDS)}"
    if claim.get("verdict") not in VERDICTS:
        return f"verdict {claim.get('verdict')!r} is none of {', '.join(VERDICTS)}"
    if claim["verdict"] == "grounded" and source not in SOURCES:
        return f"grounded needs a source, one of {', '.join(SOURCES)}"
    if claim["verdict"] == "fabricated" and source is not None:
        return "fabricated has the source null"
    if not isinstance(claim.get("why"), str) or not claim["why"].strip():
        return "why is missing"
    start = -1
    for _ in range(nth + 1):
        start = draft.find(text, start + 1)
        if start < 0:
            return f"text {text!r} (occurrence {nth}) is not in the draft"
    return Claim(
        start=start,
        end=start + len(text),
        kind=claim["kind"],
        verdict=claim["verdict"],
        source=source,
        why=claim["why"].strip(),
    )
