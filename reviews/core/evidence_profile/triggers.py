"""Where in a draft something may be said to have been done: one linear pass over the text.

The grammars' words are compiled into one automaton, so the pass costs the same whatever the number of
languages. What it yields are candidates; ``claims`` looks at their sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

import re2

from reviews.core.evidence_profile.languages import SPACED, UNSPACED, Grammar
from reviews.core.evidence_profile.linear import Pattern, Span, compiled
from reviews.core.evidence_profile.vocabulary import listed

__all__ = ["FOLLOWERS", "GAP", "folded", "spaced_candidates", "unspaced_candidates"]

# Between the words of a claim: white space, and the marks of emphasis that drafts put around a verb.
GAP: Final = r"[\s*_\x{A0}]+"
# Words after which a subject opens a clause of its own.
LINKS: Final = listed("because since as so what also now then today here yes no news")
# First letters of the subjects that need their clause opened: what closed the claim before opens theirs.
_REOPENING: Final = b"iw"
# What may follow a participle at the opening of a clause, for it to be a report and no label.
FOLLOWERS: Final = listed(
    "the a an your it them this that these those all both to every each el la los las tu su tus sus al o os "
    "as seu "
    "sua le les votre vos die den das ihre ihren il lo gli i tuo tua"
)
_CLOSERS: Final = r"[\s*_]*(?:[.!;,)|✅✓✔。]|\n|$)"
_OPENERS: Final = r"(?:^|[.!?:;,\n(>•–—✅✓✔¡-])[\s*_#>✅✓✔¡]*"


def folded(text: str) -> str:
    """``text`` in lower case and with plain apostrophes, every character at its place."""
    low = text.lower()
    if len(low) != len(text):
        low = "".join(lower if len(lower := each.lower()) == 1 else each for each in text)
    return low if low.isascii() else low.replace("’", "'").replace("\xa0", " ")


def _any(alternatives: Iterable[str]) -> str:
    ordered = sorted(set(alternatives))
    return "(?:" + "|".join(re2.escape(each).replace(r"\ ", GAP).replace(" ", GAP) for each in ordered) + ")"


def _patterns(grammar: Grammar) -> Iterator[str]:
    forms = {**grammar.participles, **grammar.extra}
    if grammar.free_order:
        yield rf"\b{_any(forms)}\b"
        return
    adverbs = rf"(?:{_any(grammar.adverbs)}{GAP}){{0,3}}"
    participle = _any(forms)
    auxiliaries = grammar.first | grammar.perfect | grammar.past | grammar.stative
    # "'ve been" and the like hang on the word before them, and \\b knows no boundary before "è".
    attached = [each for each in auxiliaries if each.startswith("'") or not each[0].isascii()]
    loose = [each for each in auxiliaries if each not in attached]
    if grammar.zero_relative:
        # "the record I found" only presupposes it: a subject that claims opens its clause.
        subjects = [each for each in loose if each in grammar.first]
        loose = [each for each in loose if each not in grammar.first]
        links = _any(grammar.openers | grammar.conjunctions | grammar.adverbs | LINKS)
        yield rf"(?:^|[^\pL\pN\s*_']|\b{links}\b)[\s*_]*{_any(subjects)}{GAP}{adverbs}{participle}"
        yield rf"\n[\s*_]*{_any(subjects)}{GAP}{adverbs}{participle}"
    yield rf"\b{_any(loose)}{GAP}{adverbs}{participle}"
    if attached:
        yield rf"{_any(attached)}{GAP}{adverbs}{participle}"
    if grammar.preterites:
        # "é" is no word character to \\b, so the end of the word is spelled out; whoever reads it trims it.
        yield rf"\b{_any(grammar.preterites)}(?:[^\pL\pN_]|$)"
    if grammar.reported:
        yield rf"\b{_any(grammar.reflexive)}{GAP}{adverbs}{_any(grammar.reported)}"
    if grammar.recent:
        yield rf"\b{_any(grammar.recent)}{GAP}{_any(grammar.infinitives)}"
    opening = rf"(?:{_any(grammar.openers | grammar.adverbs)}[,!.:]?{GAP}){{0,3}}"
    yield rf"{_OPENERS}{opening}{participle}(?:{_CLOSERS}|{GAP}{_any(FOLLOWERS)}\b)"
    yield rf"{_OPENERS}{opening}{_any(grammar.done)}"
    if grammar.agents:
        yield rf"\b{participle}(?:{GAP}[^\s.!?,;]+){{0,4}}{GAP}{_any(grammar.agents)}\b"
    manner = rf"(?:{_any(grammar.adverbs | grammar.success)}|con éxito|com sucesso|avec succès)"
    yield rf"\b{participle}(?:{GAP}{manner}){{0,2}}{_CLOSERS}"


@lru_cache(maxsize=1)
def _spaced() -> Pattern:
    return compiled(
        "|".join(pattern for grammar in SPACED for pattern in _patterns(grammar)).encode(),
        longest=True,
        captures=False,
    )


@lru_cache(maxsize=1)
def _unspaced() -> Pattern:
    return compiled("|".join(_any(each.verbs) for each in UNSPACED).encode(), longest=True, captures=False)


def spaced_candidates(low: str) -> Iterable[Span]:
    """Spans that may hold a claim, in order, in characters of ``low`` (as ``folded`` gives it)."""
    return _spaced().spans(low, reopening=_REOPENING)


def unspaced_candidates(low: str) -> Iterable[Span]:
    """Spans of Chinese and Japanese verbs, in order."""
    return _unspaced().spans(low)
