"""What a candidate's words are in each language: an auxiliary and its verb, or a participle by itself."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from reviews.core.evidence_profile.actions import Action
from reviews.core.evidence_profile.languages import SPACED, Grammar

__all__ = ["AMBIGUOUS", "LONGEST", "Phrase", "Reading", "Table", "Voice", "phrase_of"]

Voice = Literal["first", "perfect", "past", "stative", "bare", "done"]
"""I did it; it has been done; it was done; it is done; a participle alone; a whole answer such as "Done"."""

# Longer candidates hold white space and nothing that anybody says.
LONGEST: Final = 96
# Forms that are present and past alike: "I run" says nothing is finished, "I have run" does.
AMBIGUOUS: Final = frozenset({"put", "read", "run", "set", "reset", "set up"})

_BARE_SUBJECTS: Final = frozenset({"i", "we", "on a"})
_SHORTEST_ALONE: Final = 4
_LEADING: Final = 3
_MOST_AUXILIARIES: Final = 5
_PIECE: Final = re.compile(r"[^\s*_]+")
_ENGLISH_VERBS: Final = next(frozenset(grammar.infinitives) for grammar in SPACED if grammar.code == "en")


@dataclass(frozen=True, eq=False)
class Table:
    """A grammar as it is looked up: ``voices`` by auxiliary, ``forms`` with their classes, and in
    ``blockers`` what unmakes a claim when it stands before it in its clause.
    """

    grammar: Grammar
    voices: Mapping[str, Voice]
    forms: Mapping[str, Action]
    blockers: frozenset[str]


class Reading(NamedTuple):
    """``verb`` is the form in the phrase, ``action`` its class."""

    table: Table
    voice: Voice
    verb: str
    action: Action


class Phrase(NamedTuple):
    """A candidate's words: ``lead`` characters before the first, ``length`` up to the end of the last;
    ``readings`` are what they may be, by language.
    """

    lead: int
    length: int
    text: str
    readings: tuple[Reading, ...]


def _table(grammar: Grammar) -> Table:
    sets: tuple[tuple[frozenset[str], Voice], ...] = (
        (grammar.stative, "stative"),
        (grammar.past, "past"),
        (grammar.perfect, "perfect"),
        (grammar.first, "first"),
    )
    voices: dict[str, Voice] = {}
    for auxiliaries, voice in sets:
        for each in auxiliaries:
            voices[each] = voices[each.removeprefix("'")] = voice
    blockers = grammar.negations | grammar.modals | grammar.reports
    return Table(grammar, voices, {**grammar.participles, **grammar.extra}, blockers)


_TABLES: Final = tuple(_table(grammar) for grammar in SPACED)


@lru_cache(maxsize=16_384)
def phrase_of(wording: str) -> Phrase | None:
    """``wording`` (at most ``LONGEST`` characters) read in every language, None when it is nothing in any.

    Cached: drafts say the same few things in the same few words.
    """
    start, end = 0, len(wording)
    while start < end and not (wording[start].isalnum() or wording[start] == "'"):
        start += 1
    while end > start and not wording[end - 1].isalnum():
        end -= 1
    alone: Phrase | None = None
    # A word that leads up to the claim ("and I have ...") is no part of it.
    for piece in list(_PIECE.finditer(wording, start, end))[:_LEADING]:
        first = piece.start()
        text = " ".join(wording[first:end].replace("*", "").replace("_", "").split())
        readings = tuple(reading for table in _TABLES if (reading := _read(table, text)) is not None)
        if any(reading.voice != "bare" for reading in readings):
            return Phrase(first, end, text, readings)
        if readings and first == start:
            alone = Phrase(first, end, text, readings)
    return alone


def _read(table: Table, phrase: str) -> Reading | None:
    words = phrase.split(" ")
    return _with_auxiliary(table, words) or _without(table, phrase, words)


def _with_auxiliary(table: Table, words: list[str]) -> Reading | None:
    grammar = table.grammar
    for count in range(min(_MOST_AUXILIARIES, len(words) - 1), 0, -1):
        head, rest = " ".join(words[:count]), words[count:]
        if voice := table.voices.get(head):
            verb = _ending(rest, table.forms)
            if verb is None or (head in _BARE_SUBJECTS and verb in AMBIGUOUS):
                return None
            return Reading(table, voice, verb, table.forms[verb])
        if head in grammar.reflexive and (verb := _ending(rest, grammar.reported)):
            return Reading(table, "past", verb, grammar.reported[verb])
        if head in grammar.recent and (verb := _ending(rest, grammar.infinitives)):
            return Reading(table, "first", verb, grammar.infinitives[verb])
    return None


def _without(table: Table, phrase: str, words: list[str]) -> Reading | None:
    grammar = table.grammar
    if phrase in grammar.preterites:
        return Reading(table, "first", phrase, grammar.preterites[phrase])
    for count in range(len(words)):
        if (rest := " ".join(words[count:])) in grammar.done:
            return Reading(table, "done", rest, "finish")
    verb = _inside(words, table.forms)
    if verb is None:
        return None
    if any(phrase.endswith(f" {agent}") for agent in grammar.agents):
        return Reading(table, "perfect", verb, table.forms[verb])
    # By itself "create" is English, whatever it is in Italian.
    if len(verb) < _SHORTEST_ALONE or (grammar.code != "en" and verb in _ENGLISH_VERBS):
        return None
    return Reading(table, "bare", verb, table.forms[verb])


def _ending(words: list[str], forms: Mapping[str, Action]) -> str | None:
    """The form that ``words`` end in; adverbs may stand before it."""
    for count in range(len(words)):
        if (form := " ".join(words[count:])) in forms:
            return form
    return None


def _inside(words: list[str], forms: Mapping[str, Action]) -> str | None:
    """The form in a phrase of interjections, the participle, and adverbs after it."""
    for first in range(len(words)):
        for last in range(len(words), first, -1):
            if (form := " ".join(words[first:last])) in forms:
                return form
    return None
