"""A checked claim in one sentence that a support lead understands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from reviews.core.evidence_profile.turn import CheckedClaim, GroundingSource, RanCall, SourceKind

__all__ = ["sentence_of"]

_WHERE: Final[dict[SourceKind, str]] = {
    "result_this_turn": "the result of {} in this turn",
    "result_earlier": "the result of {} earlier in this conversation",
    "user_message": "the user's message",
    "hydrated_context": "the context the model was given",
}
_PLACES: Final[dict[SourceKind, str]] = {
    "result_this_turn": "any result of this turn",
    "result_earlier": "any earlier result",
    "user_message": "the user's message",
    "hydrated_context": "the context",
}
_NAMED: Final = 4
_QUOTE: Final = 80


def sentence_of(claim: CheckedClaim) -> str:
    """What was claimed, what ran and what is missing; for a grounded claim, what bears it out."""
    if claim.source is not None:
        return f"It says {_quoted(claim.quote)}; {_where(claim.source)} bears that out."
    if claim.kind == "verb_claim":
        return _fabricated_action(claim.quote, claim.ran, claim.missing)
    if claim.kind == "tool_output_shape":
        return _fabricated_shape(claim)
    if claim.kind == "intent_action_no_tool":
        return "The user asked for an action, and no tool ran."
    return _fabricated_identifier(claim.identifier, claim.key, claim.checked)


def _where(source: GroundingSource) -> str:
    return _WHERE[source.kind].format(source.tool or "a tool")


def _quoted(text: str) -> str:
    flat = " ".join(text.split())
    return f'"{flat if len(flat) <= _QUOTE else flat[: _QUOTE - 1] + "…"}"'


def _listed(names: Iterable[str]) -> str:
    unique = list(dict.fromkeys(names))
    shown = unique[:_NAMED]
    if more := len(unique) - len(shown):
        return f"{', '.join(shown)} and {more} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _what_ran(ran: Sequence[RanCall]) -> tuple[str, bool]:
    """What ran and what became of it, as a clause; and whether some call of this turn failed."""
    done = [each.name for each in ran if not each.earlier and each.outcome != "failed"]
    failed = [each.name for each in ran if not each.earlier and each.outcome == "failed"]
    if done and failed:
        return f"only {_listed(done)} ran, and {_listed(failed)} failed", True
    if done:
        return f"only {_listed(done)} ran", False
    if failed:
        return f"{_listed(failed)} failed", True
    if before := [each.name for each in ran if each.earlier and each.outcome != "failed"]:
        return f"no tool ran in this turn, and before it only {_listed(before)} did", False
    return "", False


def _fabricated_action(quote: str, ran: Sequence[RanCall], missing: str) -> str:
    """``missing`` is a verb phrase of what would have done it ("cancels"), or "a call of ..."."""
    clause, failed = _what_ran(ran)
    lack = f"no {missing[2:]}" if missing.startswith("a call") else f"nothing that {missing}"
    if not clause:
        return f"It says {_quoted(quote)}; no tool ran at all, so {lack}."
    return f"It says {_quoted(quote)}; {clause}, and {lack}{' succeeded' if failed else ''}."


def _fabricated_identifier(identifier: str, key: str | None, checked: Sequence[SourceKind]) -> str:
    what = f"It gives {_quoted(identifier)}" + (f" as {key.replace('_', ' ')}" if key else "")
    if not checked:
        return f"{what}; there is nothing in the turn that could contain it."
    return f"{what}; that is not in {_places(tuple(checked))}."


@lru_cache(maxsize=32)
def _places(checked: tuple[SourceKind, ...]) -> str:
    places = [_PLACES[kind] for kind in checked]
    return places[0] if len(places) == 1 else f"{', '.join(places[:-1])} or {places[-1]}"


def _fabricated_shape(claim: CheckedClaim) -> str:
    clause = _what_ran(claim.ran)[0] or "no tool ran"
    if claim.action == "call":
        of = f" of {claim.tool}" if claim.tool else ""
        return f"It writes a tool call{of} as text instead of making it; {clause}."
    return f"It presents a tool's result that no tool returned; {clause}."
