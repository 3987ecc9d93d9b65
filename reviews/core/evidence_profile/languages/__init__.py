"""The languages whose claims are understood, as data."""

from __future__ import annotations

from typing import Final

from reviews.core.evidence_profile.languages.cjk import CHINESE, JAPANESE, Unspaced
from reviews.core.evidence_profile.languages.english import ENGLISH
from reviews.core.evidence_profile.languages.french import FRENCH
from reviews.core.evidence_profile.languages.german import GERMAN
from reviews.core.evidence_profile.languages.grammar import Grammar
from reviews.core.evidence_profile.languages.italian import ITALIAN
from reviews.core.evidence_profile.languages.portuguese import PORTUGUESE
from reviews.core.evidence_profile.languages.spanish import SPANISH

__all__ = ["SPACED", "UNSPACED", "Grammar", "Unspaced"]

SPACED: Final[tuple[Grammar, ...]] = (ENGLISH, SPANISH, PORTUGUESE, FRENCH, GERMAN, ITALIAN)
UNSPACED: Final[tuple[Unspaced, ...]] = (CHINESE, JAPANESE)
