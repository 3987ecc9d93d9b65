"""A verdict that a symfonic critic has reached, as JSON, taken in as strictly as a turn.

Two shapes are one type here: the ``ReflectionEvent`` of symfonic-core 9.12.0, and the value that its
``CriticCapability`` records for a turn, sent with that turn's id.
"""

from __future__ import annotations

from math import isfinite

import msgspec

from reviews.formats import limits
from reviews.formats.checks import check_choice, check_length, check_share
from reviews.formats.errors import RecordError
from reviews.formats.record import CriticRecord
from reviews.formats.strict import decode_strict
from reviews.formats.typed import describe

__all__ = ["ReflectionEvent", "decode_reflection"]

PROVENANCES = ("critic-reflection-v1",)
#: What the database keeps in a count of tokens.
MOST_TOKENS = 2**31 - 1


class ReflectionEvent(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """One verdict and the id of its turn: ``run_id`` in an event, ``run_id`` or ``external_id`` with a value.

    ``original_draft`` is the text that was judged; only an event carries it. ``provenance`` and ``counts``
    are the envelope of a recorded value. None for what the sender did not count or measure.
    """

    verdict: str
    run_id: str | None = None
    external_id: str | None = None
    confidence_before: float | None = None
    sensitive_tag_hit: str | None = None
    original_draft: str | None = None
    revised_draft: str | None = None
    refusal_message: str | None = None
    matched_preferences: list[str] = []
    reflection_latency_ms: float | None = None
    reflection_tokens_in: int | None = None
    reflection_tokens_out: int | None = None
    provenance: str | None = None
    counts: dict[str, int] | None = None

    @property
    def sent_id(self) -> str:
        """The sender's id of the turn; "" for a run that has none, as symfonic sends it outside of a run."""
        return self.run_id or self.external_id or ""

    def record(self) -> CriticRecord:
        """The recorded value in it, as a turn would bring it along."""
        return CriticRecord(
            verdict=self.verdict,
            confidence_before=self.confidence_before,
            sensitive_tag_hit=self.sensitive_tag_hit,
            revised_draft=self.revised_draft,
            refusal_message=self.refusal_message,
            matched_preferences=self.matched_preferences,
            reflection_latency_ms=self.reflection_latency_ms,
        )


_DECODER = msgspec.json.Decoder(ReflectionEvent)


def decode_reflection(raw: bytes) -> ReflectionEvent:
    """One verdict; raises ``RecordError`` with a pointer, and nothing else, for anything not accepted."""
    event = decode_strict(raw, _DECODER)
    _check_id(event)
    check_choice("/verdict", event.verdict, limits.CRITIC_VERDICTS)
    if event.confidence_before is not None:
        check_share("/confidence_before", event.confidence_before)
    for name, text, verdict in (
        ("revised_draft", event.revised_draft, "revise"),
        ("refusal_message", event.refusal_message, "refuse"),
    ):
        if text is not None and event.verdict != verdict:
            raise RecordError(
                f"/{name}", f"found {describe(text)}, expected null beside the verdict {event.verdict}"
            )
    found = len(event.matched_preferences)
    if found > limits.MATCHED_ITEMS:
        raise RecordError(
            "/matched_preferences", f"found a list of {found}, expected at most {limits.MATCHED_ITEMS}"
        )
    took = event.reflection_latency_ms
    if took is not None and not (took >= 0 and isfinite(took)):
        raise RecordError("/reflection_latency_ms", f"found {describe(took)}, expected a number of 0 or more")
    _check_tokens("/reflection_tokens_in", event.reflection_tokens_in)
    _check_tokens("/reflection_tokens_out", event.reflection_tokens_out)
    if event.provenance is not None:
        check_choice("/provenance", event.provenance, PROVENANCES)
    if event.counts is not None and event.counts != {event.verdict: 1}:
        raise RecordError("/counts", f'found other counts, expected {{"{event.verdict}": 1}}')
    return event


def _check_id(event: ReflectionEvent) -> None:
    spot = "/run_id" if event.external_id is None else "/external_id"
    if event.run_id is not None and event.external_id is not None:
        raise RecordError("/external_id", "found both run_id and external_id, expected one of them")
    if event.run_id is None and event.external_id is None:
        raise RecordError("/run_id", "missing, expected the id of the turn")
    check_length(spot, event.sent_id, limits.EXTERNAL_ID_CHARS)
    if event.sent_id.strip():
        return
    # An empty one is what symfonic sends outside of a run; the draft is then all there is to know it by.
    if event.run_id != "" or event.original_draft is None:
        raise RecordError(spot, "found a blank string, expected the id of the turn")


def _check_tokens(spot: str, count: int | None) -> None:
    if count is not None and not 0 <= count <= MOST_TOKENS:
        raise RecordError(spot, f"found {describe(count)}, expected a number from 0 to {MOST_TOKENS}")
