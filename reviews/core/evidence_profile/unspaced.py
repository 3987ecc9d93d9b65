"""Claims in Chinese and Japanese: a verb with a mark of completion in its clause."""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

from reviews.core.evidence_profile.actions import Action
from reviews.core.evidence_profile.languages import UNSPACED, Unspaced

__all__ = ["UnspacedClaim", "unspaced_claim"]

_REACH: Final = 60
_BREAKS: Final = re.compile(r"[，,。.！!？?；;：:\n、]")
_KANA: Final = re.compile("[\u3040-\u30ff]")


class UnspacedClaim(NamedTuple):
    """The first fields of a ``claims.Claim``, in the same order."""

    start: int
    end: int
    verb: str
    action: Action
    language: str
    voice: Literal["first", "perfect"]
    sentence: tuple[int, int]
    emphatic: bool


def unspaced_claim(text: str, start: int, end: int) -> UnspacedClaim | None:
    """The claim of the verb at ``text[start:end]``, or None."""
    verb = text[start:end]
    first = _last_break(text, start)
    closing = _BREAKS.search(text[end : end + _REACH])
    last = end + closing.start() if closing else min(len(text), end + _REACH)
    mark = text[last : last + 1]
    clause = text[first:last]
    for language in UNSPACED:
        action = language.verbs.get(verb)
        if action is None or (language.code == "ja") != bool(_KANA.search(clause)):
            continue
        if mark in ("?", "？") or any(word in clause for word in language.blockers):
            continue
        if any(word in clause for word in language.user):
            continue
        done_end = _completed(language, text[first:start], end, text[end:last])
        if done_end is None:
            continue
        voice: Literal["first", "perfect"] = (
            "first" if any(word in clause for word in language.first) else "perfect"
        )
        return UnspacedClaim(first, done_end, verb, action, language.code, voice, (first, last + 1), True)
    return None


def _last_break(text: str, start: int) -> int:
    floor = max(0, start - _REACH)
    window = text[floor:start]
    last = floor
    for match in _BREAKS.finditer(window):
        last = floor + match.end()
    while last < start and text[last].isspace():
        last += 1
    return last


def _completed(language: Unspaced, head: str, end: int, tail: str) -> int | None:
    """Where the report of completion ends, None when the clause has none; the verb, between ``head`` and
    ``tail``, ends at ``end``.
    """
    for particle in ("", *language.particles):
        if tail.startswith(particle):
            for mark in language.after:
                if tail.startswith(particle + mark):
                    return end + len(particle) + len(mark)
    if any(mark in head for mark in language.before):
        return end
    return None
