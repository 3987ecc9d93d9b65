"""Claims of a finished action in a draft, sentence by sentence.

``triggers`` finds where one may be; the sentence around it decides: questions, negations, conditions, plans,
offers, quotations, code and what others are said to have done are no claims.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from reviews.core.evidence_profile.actions import Action
from reviews.core.evidence_profile.alone import answers_alone, may_stand_alone, stands_alone
from reviews.core.evidence_profile.linear import Span
from reviews.core.evidence_profile.phrases import AMBIGUOUS, LONGEST, Phrase, Reading, Voice, phrase_of
from reviews.core.evidence_profile.sentences import WORD, Place, may_be_stative, ruled_out
from reviews.core.evidence_profile.triggers import spaced_candidates, unspaced_candidates
from reviews.core.evidence_profile.unspaced import unspaced_claim
from reviews.core.evidence_profile.zones import Zones

__all__ = ["Claim", "Voice", "find_claims"]

# More different claims than this in one draft tell a reviewer nothing new.
MAX_CLAIMS: Final = 256
# Places looked at; a draft with more of them is made to take time.
MAX_PLACES: Final = 1_000
_FEW_PLACES: Final = 32
_COORDINATED_REACH: Final = 120
_CJK: Final = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")


class Claim(NamedTuple):
    """``start`` and ``end`` span what is said to be done, ``sentence`` the sentence around it; ``verb`` is
    the form in it and ``action`` the verb's class.

    ``emphatic``: said with an adverb of success, or of this very moment. ``about_own``: said of something of
    the user's ("your order"). ``continues``: a further verb of the claim before it ("and refunded").
    """

    start: int
    end: int
    verb: str
    action: Action
    language: str
    voice: Voice
    sentence: Span
    emphatic: bool = False
    about_own: bool = False
    continues: bool = False


def find_claims(text: str, low: str, zones: Zones) -> list[Claim]:
    """The claims in text order, each wording once. ``low`` is ``text`` as ``triggers.folded`` gives it."""
    found: list[Claim] = []
    seen: set[str] = set()
    for claim in _all_claims(text, low, zones):
        wording = low[claim.start : claim.end]
        if wording not in seen:
            seen.add(wording)
            found.append(claim)
            if len(found) >= MAX_CLAIMS:
                break
    found.sort(key=lambda claim: claim.start)
    return found


def _all_claims(text: str, low: str, zones: Zones) -> Iterator[Claim]:
    seen: set[tuple[str, str]] = set()
    for count, (start, end) in enumerate(spaced_candidates(low)):
        wording = low[start:end]
        if count >= _FEW_PLACES:
            # A draft that repeats itself costs a look-up for each repetition.
            window = (low[max(0, start - 40) : end + 40], wording)
            if window in seen:
                continue
            seen.add(window)
            if len(seen) > MAX_PLACES:
                break
        if len(wording) <= LONGEST and (phrase := phrase_of(wording)) is not None:
            yield from _spaced_claims(low, start, phrase, zones)
    if not text.isascii() and _CJK.search(text):
        for count, (start, end) in enumerate(unspaced_candidates(low)):
            if count >= MAX_PLACES:
                break
            if zones.spoken(start) and (hit := unspaced_claim(low, start, end)):
                yield Claim(*hit)


def _spaced_claims(low: str, at: int, phrase: Phrase, zones: Zones) -> list[Claim]:
    start, end = at + phrase.lead, at + phrase.length
    if low[start - 1 : start].isalnum() or low[end : end + 1].isalnum() or not zones.spoken(start):
        return []
    for reading in phrase.readings:
        stop = end
        if reading.voice == "bare" and not phrase.text.endswith(reading.verb):
            # The phrase goes on behind the participle.
            verb_at = low.rfind(reading.verb, start, end)
            if verb_at >= 0:
                stop = verb_at + len(reading.verb)
        claim = _claim(low, start, stop, phrase, reading)
        if claim is not None:
            return [claim, *_coordinated(low, claim, reading)]
    return []


def _claim(low: str, start: int, end: int, phrase: Phrase, reading: Reading) -> Claim | None:
    grammar, voice = reading.table.grammar, reading.voice
    if not _may_be_claimed(low, start, end, phrase, reading):
        return None
    place = Place(low, start, end)
    if grammar.free_order and voice == "bare":
        voice = place.follow_auxiliary(reading.table) or "bare"
    if ruled_out(place, reading, voice):
        return None
    emphatic = own = False
    if voice != "first":
        emphatic = not grammar.success.isdisjoint([*WORD.findall(phrase.text), *place.after()])
        own = not grammar.own.isdisjoint(place.words[:3]) or (
            voice in ("perfect", "past") and not grammar.own.isdisjoint(place.earlier())
        )
    if (
        (voice == "stative" and not (own or emphatic))
        or (voice == "bare" and not stands_alone(grammar, place))
        or (voice == "done" and not answers_alone(grammar, place))
    ):
        return None
    return Claim(
        place.start,
        end,
        reading.verb,
        reading.action,
        grammar.code,
        voice,
        place.sentence,
        emphatic,
        own,
    )


def _may_be_claimed(low: str, start: int, end: int, phrase: Phrase, reading: Reading) -> bool:
    """A quick look that spares most candidates the reading of their sentence."""
    grammar = reading.table.grammar
    if reading.voice == "stative":
        return may_be_stative(grammar, low, start, phrase.text, reading.verb)
    if reading.voice == "bare":
        return reading.verb not in AMBIGUOUS and (
            grammar.free_order or may_stand_alone(grammar, low, start, end)
        )
    return True


def _coordinated(low: str, claim: Claim, reading: Reading) -> Iterator[Claim]:
    """Further verbs of the same subject: "I've cancelled the order and refunded the card"."""
    table, grammar = reading.table, reading.table.grammar
    if claim.voice in ("bare", "done", "stative") or grammar.free_order:
        return
    at = claim.end
    joined = False
    for match in WORD.finditer(low[at : min(claim.sentence[1], at + _COORDINATED_REACH)]):
        word = match[0]
        if word in grammar.conjunctions:
            joined = True
            continue
        if joined and word in grammar.adverbs:
            continue
        if joined and word in table.forms and word not in AMBIGUOUS:
            start, end = at + match.start(), at + match.end()
            yield claim._replace(start=start, end=end, verb=word, action=table.forms[word], continues=True)
        elif word in grammar.finite or word in grammar.modals or word in grammar.conditions:
            return
        joined = False
