"""What a draft says of its calls that can be held against how they ended: "no errors were reported"."""

from __future__ import annotations

import re
from itertools import islice
from typing import Final, NamedTuple

from reviews.core.evidence_profile.linear import compiled
from reviews.core.evidence_profile.zones import Zones

__all__ = ["Outcome", "find_outcomes", "find_shown"]

_MAX: Final = 8
_NO_ERROR: Final = compiled(
    r"(?i)\b(?:no errors? (?:was|were|has been|have been|is|are)? ?"
    r"(?:reported|returned|found|raised|shown|thrown)|no errors? occurred|"
    r"(?:finished|completed|ran|went through) without (?:any )?(?:errors?|problems?|issues?)|"
    r"(?:request|call|job|run|import|export|upload|download|deployment|build|migration|sync|query) "
    r"(?:has |was )?(?:completed|succeeded|finished successfully|went through)|"
    r"(?:no hubo|sin que hubiera) (?:ningún )?error|sin errores|não houve (?:nenhum )?erro|sem erros|"
    r"aucune erreur|sans erreur|ohne fehler|keine fehler|nessun errore|senza errori)\b"
    r"|没有(?:报错|错误)|エラーはありません"
)
_SHOWN: Final = compiled(
    r"(?i)\b(?:returned|responded with|answered with|(?:output|result|response|answer) (?:was|is)|"
    r"devolvió|respondió con|retornou|respondeu com|a renvoyé|a répondu|lieferte|ergab|ha restituito)"
    r"\s?:\s*[`<{\[][^\n]{6,400}"
)


class Outcome(NamedTuple):
    start: int
    end: int


def find_outcomes(text: str, zones: Zones) -> list[Outcome]:
    """Where the draft says that its calls went well, in text order."""
    spans = (match.span() for match in islice(_NO_ERROR.finditer(text), _MAX))
    return [Outcome(*span) for span in spans if zones.spoken(span[0]) and not _is_asked(text, span[1])]


def _is_asked(text: str, end: int) -> bool:
    mark = re.search(r"[.!?\n]", text[end : end + 200])
    return mark is not None and mark[0] == "?"


def find_shown(text: str, zones: Zones) -> list[Outcome]:
    """Marked-up or quoted text that the draft gives as what a call returned, in text order."""
    found = []
    for match in islice(_SHOWN.finditer(text), _MAX):
        start = match.start() + match[0].index(":") + 1
        start += len(text[start : match.end()]) - len(text[start : match.end()].lstrip())
        end = _end_of(text, start, match.end())
        if zones.spoken(match.start()) and end - start > 6:
            found.append(Outcome(start, end))
    return found


def _end_of(text: str, start: int, most: int) -> int:
    """The end of what begins with a back-tick, a tag or a bracket; at the latest that of the line."""
    closing = {"`": "`", "<": ">", "{": "}", "[": "]"}[text[start]]
    at = text.rfind(closing, start + 1, most)
    return at + 1 if at > start else most
