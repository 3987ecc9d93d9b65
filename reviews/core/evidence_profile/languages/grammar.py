"""A language as data: its verbs by class, and the words that make a verb a claim or unmake it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reviews.core.evidence_profile.actions import Action

__all__ = ["Forms", "Grammar", "words"]

Forms = dict[str, Action]
"""Inflected form, lower case -> class of its verb."""


def words(text: str) -> frozenset[str]:
    """The words of a text written with spaces between them; "_" stands for a space inside an entry."""
    return frozenset(word.replace("_", " ") for word in text.split())


@dataclass(frozen=True, kw_only=True)
class Grammar:
    """What the claim finder needs to know of a language that puts spaces between its words.

    ``participles``: "sent", "enviada". ``preterites``: first-person past forms that claim by themselves
    ("envié"); ``reported``: third-person ones that claim after ``reflexive`` ("se canceló"). ``infinitives``
    name what a tool does and what a user asks for, and claim after ``recent`` ("acabo de enviar").

    Auxiliaries that may stand before a participle, adverbs in between: ``first`` ("I have"), ``perfect``
    ("has been"), ``past`` ("was"), ``stative`` ("is now"). ``free_order``: the participle may stand far
    behind its auxiliary, as in German. ``zero_relative``: a clause may hang on a noun with nothing in
    between, as in "the record I found".

    ``agents`` name the speaker behind a participle ("merged by me").

    ``negations``, ``conditions``, ``modals``, ``reports`` and ``relatives`` before a verb in its clause
    unmake the claim. ``finite`` are frequent finite verbs, so that a participle beside one is none by itself.
    ``done`` are whole answers such as "Done". ``success`` are adverbs that turn a report into a claim.
    ``user`` are words for the user as the one who acts.
    """

    code: str
    participles: Forms
    infinitives: Forms
    first: frozenset[str]
    perfect: frozenset[str]
    past: frozenset[str]
    stative: frozenset[str]
    adverbs: frozenset[str]
    negations: frozenset[str]
    conditions: frozenset[str]
    modals: frozenset[str]
    reports: frozenset[str]
    relatives: frozenset[str]
    finite: frozenset[str]
    done: frozenset[str]
    success: frozenset[str]
    own: frozenset[str]
    conjunctions: frozenset[str]
    user: frozenset[str] = frozenset()
    pasts: Forms = field(default_factory=dict)
    preterites: Forms = field(default_factory=dict)
    reported: Forms = field(default_factory=dict)
    reflexive: frozenset[str] = frozenset()
    recent: frozenset[str] = frozenset()
    agents: frozenset[str] = frozenset()
    openers: frozenset[str] = frozenset()
    free_order: bool = False
    zero_relative: bool = False
    extra: Mapping[str, Action] = field(default_factory=dict)
