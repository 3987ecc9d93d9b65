"""Our own format: one JSON object per turn, with the fields of ``TurnRecord`` (docs/native-format.md)."""

from __future__ import annotations

from datetime import UTC
from hashlib import blake2b

import msgspec

from reviews.formats.checks import check_turn
from reviews.formats.record import IntentRecord, TurnRecord
from reviews.formats.strict import decode_strict

__all__ = ["content_hash", "decode_turn", "encode_turn"]

_DECODER = msgspec.json.Decoder(TurnRecord)
_ENCODER = msgspec.json.Encoder()
_CANONICAL = msgspec.json.Encoder(order="deterministic")
_HASH_BYTES = 16
# The default objects themselves: msgspec leaves a field out when it *is* its default, not when it equals it.
_DEFAULT_INTENT = IntentRecord(label="", confidence=0.0)


def decode_turn(raw: bytes) -> TurnRecord:
    """One turn; raises ``RecordError`` with a pointer, and nothing else, for anything not accepted."""
    record = decode_strict(raw, _DECODER)
    check_turn(record)
    return record


def encode_turn(record: TurnRecord) -> bytes:
    """The record as one line of JSON, fields at their default left out.

    ``decode_turn(encode_turn(record)) == record`` for every record that ``check_turn`` accepts and whose
    JSON values hold finite numbers of 64 bits and clean text.
    """
    return _ENCODER.encode(record)


def content_hash(record: TurnRecord) -> bytes:
    """16 bytes that are equal for equal content.

    Neither the order of keys, nor spelled-out defaults, nor the zone in which ``occurred_at`` is written
    changes it. 1 and 1.0 inside ``args``, ``result`` and the like are different content.
    """
    when, intent = record.occurred_at, record.intent
    if when is not None and when.tzinfo is not UTC:
        record = msgspec.structs.replace(record, occurred_at=when.astimezone(UTC))
    if intent is not None and not (intent.action_score and intent.knowledge_score):
        record = msgspec.structs.replace(record, intent=_without_spelled_zeros(intent))
    return blake2b(_CANONICAL.encode(record), digest_size=_HASH_BYTES).digest()


def _without_spelled_zeros(intent: IntentRecord) -> IntentRecord:
    return msgspec.structs.replace(
        intent,
        action_score=intent.action_score or _DEFAULT_INTENT.action_score,
        knowledge_score=intent.knowledge_score or _DEFAULT_INTENT.knowledge_score,
    )
