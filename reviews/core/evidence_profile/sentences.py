"""The sentence around a verb, and what in it unmakes a claim."""

from __future__ import annotations

import re
from typing import Final

from reviews.core.evidence_profile.languages import Grammar
from reviews.core.evidence_profile.linear import Span
from reviews.core.evidence_profile.phrases import AMBIGUOUS, Reading, Table, Voice

__all__ = ["WORD", "Place", "may_be_stative", "ruled_out"]

#: A word with what hangs on it: "don't", "e-mail".
WORD: Final = re.compile(r"\w+(?:['-]\w+)*|'\w+")

# A sentence is read so far; longer ones are lists.
_BEFORE: Final = 240
_AFTER: Final = 320
_ENDS: Final = re.compile(r"[.!?…]+(?:[\s*_\"'”»)\]]|$)|\n|[。！？；;]")
# All up to the last end of a sentence: greedy, so it is looked for from behind.
_LAST_END: Final = re.compile(r"(?s:.*)(?:[.!?;…][*]{0,2} |[\n。！？；¿¡])")
_CLAUSES: Final = re.compile(r"[,;:()<>–—，、]|\s-\s|\s(?:and|but|so|then|y|pero|mas|et|mais|und|aber|ma)\s")
# Behind the verb: "is not", "was cancelled by the airline".
_DENIED_AFTER: Final = frozenset({"not", "nicht", "pas", "no", "by"})
_OWN_REACH: Final = 90


class Place:
    """Where a verb stands: ``low`` is the draft in lower case, ``start`` and ``end`` what is claimed in
    it.
    """

    __slots__ = ("before", "clause", "end", "low", "rest", "sentence", "start", "words")

    def __init__(self, low: str, start: int, end: int) -> None:
        self.low = low
        self.start = start
        self.end = end
        self.sentence: Span = _sentence(low, start, end)
        self.before = low[self.sentence[0] : start]
        self.rest = low[end : self.sentence[1]]
        self.clause = _CLAUSES.split(self.before)[-1] if self.before else ""
        self.words: list[str] = WORD.findall(self.clause)

    @property
    def is_question(self) -> bool:
        opens_as_one = self.low[self.sentence[0] - 1 : self.sentence[0]] == "¿"
        return opens_as_one or "?" in self.rest[-3:] or "？" in self.rest[-3:]

    def earlier(self) -> set[str]:
        """The words of the sentence before the verb."""
        return set(self.words) if len(self.clause) == len(self.before) else set(WORD.findall(self.before))

    def after(self) -> list[str]:
        """The next two words."""
        found: list[str] = WORD.findall(self.rest[:40])[:2]
        return found

    def follow_auxiliary(self, table: Table) -> Voice | None:
        """The voice that an auxiliary anywhere in the clause gives its closing participle; then the claim
        begins with the clause.
        """
        voice = _free_voice(table, self.words, self.rest)
        if voice is not None:
            start = self.start - len(self.clause)
            while start < self.end and not self.low[start].isalnum():
                start += 1
            self.start = start
        return voice


def ruled_out(place: Place, reading: Reading, voice: Voice) -> bool:
    """Whether the sentence makes no claim of the verb, in any voice with an auxiliary or without."""
    table, grammar = reading.table, reading.table.grammar
    if place.is_question or not table.blockers.isdisjoint(place.words) or "n't" in place.clause:
        return True
    if not grammar.conditions.isdisjoint(place.words):
        return True
    if voice == "first":
        return False  # a clause of its own: what stands before it in the sentence does not reach into it
    if not grammar.conditions.isdisjoint(place.earlier()):
        return True
    after = place.after()
    if after and after[0] in _DENIED_AFTER:
        return True
    # "the order that was cancelled" presupposes it
    return (
        voice in ("perfect", "past", "stative") and bool(place.words) and place.words[-1] in grammar.relatives
    )


def may_be_stative(grammar: Grammar, low: str, start: int, phrase: str, verb: str) -> bool:
    """A quick look whether "is booked" can be said with an adverb of success, or of something of the
    user's.
    """
    if verb in AMBIGUOUS:
        return False
    before = low[max(0, start - _OWN_REACH) : start]
    return phrase.count(" ") > 1 or any(word in before for word in grammar.own)


def _sentence(low: str, start: int, end: int) -> Span:
    floor = max(0, start - _BEFORE)
    opening = _LAST_END.match(low, floor, start)
    first = opening.end() if opening else floor
    closing = _ENDS.search(low, end, end + _AFTER)
    return first, closing.end() if closing else min(len(low), end + _AFTER)


def _free_voice(table: Table, words: list[str], rest: str) -> Voice | None:
    if WORD.findall(rest[:12])[:1] == ["worden"]:
        return "perfect"
    padded = f" {' '.join(words)} "
    for auxiliary, voice in table.voices.items():
        if f" {auxiliary} " in padded:
            return voice
    return None
