"""Participles that report by themselves: "Saved!", "Just added the note", "Refund issued."."""

from __future__ import annotations

import re
from typing import Final

from reviews.core.evidence_profile.languages import SPACED, Grammar
from reviews.core.evidence_profile.sentences import WORD, Place
from reviews.core.evidence_profile.triggers import FOLLOWERS
from reviews.core.evidence_profile.vocabulary import listed

__all__ = ["answers_alone", "may_stand_alone", "stands_alone"]

# Such a report is short: "Refund for order 12 issued."
_LONE_WORDS: Final = 8
_REACH: Final = 90
_LAST_END: Final = re.compile(r"(?s:.*)(?:[.!?] |\n)")
_TICKS: Final = ("✅", "✓", "✔")
_CLOSING: Final = (".", "!", *_TICKS)
_INTERJECTED: Final = {
    grammar.code: grammar.openers | grammar.adverbs | {"it", "all", "that's"} for grammar in SPACED
}
# A noun phrase that begins with one of these is part of a longer sentence, or only names something.
_LEADERS: Final = listed(
    "as if when no not for with in on at by of from the that to per than about only any because "
    "since la el los "
    "las les le o a os as il lo der die das según como por con de para sin"
)


def may_stand_alone(grammar: Grammar, low: str, start: int, end: int) -> bool:
    """A quick look whether a participle can be a report by itself; most are not."""
    floor = max(0, start - _REACH)
    opening = _LAST_END.match(low, floor, start)
    words = low[opening.end() if opening else floor : start].split()
    while words and words[0].strip(",.!:*") in _INTERJECTED[grammar.code]:
        del words[0]
    if not words:
        following = low[end : end + 24].lstrip(" *_").split(None, 1)
        return not following or not following[0].isalpha() or following[0] in FOLLOWERS
    return len(words) <= _LONE_WORDS + 4 and grammar.finite.isdisjoint(words)


def answers_alone(grammar: Grammar, place: Place) -> bool:
    """Whether "Done" is a whole answer, or opens one."""
    following = _following(place)
    return not _said_before(grammar, place) and (not following or following[0] in ".!,—–-(\n✅✓✔")


def stands_alone(grammar: Grammar, place: Place) -> bool:
    """Whether a participle without auxiliary is a report."""
    following = _following(place)
    closed = not following or following[0] == "\n" or following.startswith(_CLOSING)
    if not _said_before(grammar, place):
        # From the start of the sentence on there are only openers, adverbs and the participle.
        return (not following or following.startswith(_CLOSING)) if closed else _goes_on(place)
    if not closed or not (following.startswith(_CLOSING) or place.before.lstrip().startswith(_TICKS)):
        return False
    spoken = WORD.findall(place.before)
    return (
        0 < len(spoken) <= _LONE_WORDS
        and spoken[0] not in _LEADERS
        and ":" not in place.before
        and not place.before.rstrip().endswith(",")
        and all(words.isdisjoint(spoken) for words in _unmaking(grammar))
    )


def _following(place: Place) -> str:
    """What stands right behind, without marks of emphasis; a line end counts."""
    return place.low[place.end : place.end + 3].lstrip("*_ ")


def _goes_on(place: Place) -> bool:
    """Whether an object follows ("Added the note"), and the line is no label ("Updated the list: ...")."""
    low, end = place.low, place.end
    follower = WORD.match(low[end : end + 24].lstrip(" *_"))
    line_end = low.find("\n", end, end + 80)
    line = low[end : line_end if line_end >= 0 else end + 80]
    return follower is not None and follower[0] in FOLLOWERS and ":" not in line


def _said_before(grammar: Grammar, place: Place) -> bool:
    """Whether the sentence has more before the verb than interjections and adverbs."""
    interjected = _INTERJECTED[grammar.code]
    return any(word not in interjected for word in WORD.findall(place.before))


def _unmaking(grammar: Grammar) -> tuple[frozenset[str], ...]:
    return grammar.finite, grammar.user, grammar.negations, grammar.conditions
