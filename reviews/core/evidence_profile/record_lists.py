"""Records shown as a list of labels and values, as after "Here are your account details:"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from reviews.core.evidence_profile.linear import compiled
from reviews.core.evidence_profile.presented import RECORDS
from reviews.core.evidence_profile.zones import Zones

__all__ = ["RecordList", "find_record_lists"]

_MAX_LINES: Final = 400
_FEWEST_FIELDS: Final = 3
#: Characters before the list in which it is introduced.
_INTRODUCTION: Final = 200
_FIELD: Final = re.compile(
    r"[ \t]*(?:[-*•][ \t]+|\d{1,2}[.)][ \t]+)?(?:\*\*|__)?(?P<label>[^\W\d_][^:*_\n]{1,40}?)(?<!\d)[ \t]?:"
    r"(?:\*\*|__)?[ \t]*(?P<value>[^\n]{1,200})$"
)
_INTRODUCED: Final = compiled(
    r"(?i)\b(?:here (?:are|is)|i (?:have|found|see|can see|retrieved)|found|these are|"
    r"(?:aquí|aqui) (?:está|tien|te )|est[oa]s son|encontr|tengo|veo|tenho|vejo|aqui estão|"
    r"voici|voilà|j'ai (?:trouvé|vos|votre)|hier (?:sind|ist)|ich (?:habe|sehe)|ecco|ho trovato|vedo)\b?"
    r"[^\n]{0,80}\b" + RECORDS + r"\b|" + r"\b" + RECORDS + r"\b[^\n]{0,40}:\**\s*$"
    r"|\bhere(?:'s|’s| is) what (?:i|we|the system) (?:found|have|see|got)\b"
    r"|\besto es lo que (?:encontr|tengo|veo)|\bisto é o que (?:encontr|tenho|vejo)"
    r"|\bvoici ce que j'ai trouvé|\bdas habe ich gefunden|\becco cosa ho trovato"
)
# A repetition of what the user said, a choice, or knowledge of the world.
_NOT_RECORDS: Final = compiled(
    r"(?i)\b(?:confirm|correct\?|summar|recap|to summarise|options?|plans? (?:we|that)|available plans|"
    r"steps?|"
    r"would you|need (?:the following|you)|provide|please (?:tell|give|send)|policy|"
    r"confirma|resumen|resumo|opcion|opções|planes|planos|pasos|passos|necesito|preciso|proporcion|indíque|"
    r"résum|confirm|étapes|besoin|zusammenfass|bestätig|schritte|brauche|riepilog|conferm|opzioni|passi)"
)


class RecordList(NamedTuple):
    """``start`` to ``end`` runs from the first field to the last; ``values`` are what they hold."""

    start: int
    end: int
    values: tuple[str, ...]


def find_record_lists(text: str, zones: Zones) -> list[RecordList]:
    """Lists of at least three fields that the draft introduces as somebody's records, in text order."""
    if text.count(":") < _FEWEST_FIELDS:
        return []
    return [found for found in _runs(text) if zones.spoken(found.start) and _is_introduced(text, found)]


def _runs(text: str) -> Iterator[RecordList]:
    """Fields on lines that follow each other; a blank line between them does not part them."""
    at, fields = 0, []
    for line in text.split("\n", _MAX_LINES)[:_MAX_LINES]:
        match = _FIELD.match(line)
        if match:
            fields.append((at + match.start("label"), at + len(line.rstrip()), _bare(match["value"])))
        elif line.strip():
            if len(fields) >= _FEWEST_FIELDS:
                yield _list_of(fields)
            fields = []
        at += len(line) + 1
    if len(fields) >= _FEWEST_FIELDS:
        yield _list_of(fields)


def _list_of(fields: list[tuple[int, int, str]]) -> RecordList:
    values = tuple(dict.fromkeys(value for *_, value in fields if len(value) > 1))
    return RecordList(fields[0][0], fields[-1][1], values)


def _bare(value: str) -> str:
    return value.strip(" \t*_.;,")


def _is_introduced(text: str, found: RecordList) -> bool:
    before = text[max(0, found.start - _INTRODUCTION) : found.start].rstrip(" \t*-•_\n0123456789.)")
    # A heading may stand between the introduction and the list.
    lines = [line for line in before.split("\n") if line.strip()][-2:]
    last = "\n".join(lines if lines[-1:] and lines[-1].rstrip("*_ ").endswith(":") else lines[-1:])
    return _INTRODUCED.search(last) is not None and _NOT_RECORDS.search(last) is None
