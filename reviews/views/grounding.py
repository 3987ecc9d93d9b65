"""What claims were held against, in words: what ran, what is missing, and what bears a grounded claim out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from reviews.models import Finding
from reviews.models.turns import Kind

SOURCE_NAMES: dict[str, str] = {
    "result_this_turn": "results of this turn",
    "result_earlier": "results earlier in the conversation",
    "user_message": "what the user said",
    "hydrated_context": "the context",
}
#: How a call that ran counts, and the colour of its tag; nothing is said of one that succeeded.
OUTCOME_NAMES: dict[str, tuple[str, str]] = {"failed": ("failed", "bad"), "unknown": ("result not known", "")}
KIND_NAMES: dict[str, str] = dict(Kind.choices)


class Ran(NamedTuple):
    """A call that ran. ``why`` says by what it counts as failed."""

    name: str
    outcome: str
    css: str
    earlier: bool
    why: str


class Held(NamedTuple):
    """What a claim was held against in vain. ``sentence`` says all of it for somebody in a hurry."""

    sentence: str
    ran: list[Ran]
    checked: str
    missing: str


class Grounded(NamedTuple):
    """A claim that something bears out."""

    text: str
    kind: str
    source: str
    excerpt: str


def held_of(finding: Finding) -> Held | None:
    """Of a finding of the evidence profile; None for one of the reference profile, which does not say."""
    known: Mapping[str, Any] | None = finding.evidence
    if not known:
        return None
    ran = [
        Ran(each["name"], *OUTCOME_NAMES.get(each["outcome"], ("", "")), each["earlier"], each["why"])
        for each in known["ran"]
    ]
    checked = ", ".join(SOURCE_NAMES.get(source, source) for source in known["checked"])
    missing = known["missing"]
    if missing and not missing.startswith("a "):
        missing = f"a call that {missing}"
    return Held(finding.reason, ran, checked, missing)


def grounded_claims(claims: Sequence[Mapping[str, Any]] | None) -> list[Grounded]:
    """The stored grounded claims of a turn, in text order."""
    return [_grounded(claim) for claim in claims or ()]


def _grounded(claim: Mapping[str, Any]) -> Grounded:
    source = claim["source"]
    where = {
        "result_this_turn": "the result of {tool}",
        "result_earlier": "the result of {tool}, earlier in the conversation",
    }.get(source["kind"], SOURCE_NAMES.get(source["kind"], source["kind"]))
    return Grounded(
        text=f"{claim['key']}={claim['identifier']}" if claim["key"] else claim["identifier"],
        kind=KIND_NAMES.get(claim["kind"], claim["kind"]),
        source=where.format(tool=source["tool"] or "a tool"),
        excerpt=source["excerpt"],
    )
