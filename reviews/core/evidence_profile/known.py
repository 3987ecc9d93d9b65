"""Whether a draft is in a language whose claims are understood."""

from __future__ import annotations

import re
from typing import Final

from reviews.core.evidence_profile.languages import SPACED

__all__ = ["language_is_known"]

_WORD: Final = re.compile(r"[^\W\d_]+")
_CJK: Final = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")
_SAMPLE: Final = 2_000
# Of the words, so many must be function words of one language: prose has about four in ten.
_SHARE: Final = 0.12

_FUNCTION_WORDS: Final = [
    frozenset(
        word
        for group in (
            grammar.finite,
            grammar.modals,
            grammar.negations,
            grammar.relatives,
            grammar.conjunctions,
            grammar.own,
            grammar.first,
            grammar.user,
        )
        for word in group
    )
    for grammar in SPACED
]


def language_is_known(text: str) -> bool:
    """Judged by the first two thousand characters: Chinese or Japanese script, or enough function words."""
    sample = text[:_SAMPLE].lower()
    if not sample.isascii() and _CJK.search(sample):
        return True
    words = _WORD.findall(sample)
    if not words:
        return True
    return any(sum(word in known for word in words) >= _SHARE * len(words) for known in _FUNCTION_WORDS)
