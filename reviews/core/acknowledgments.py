"""Whether a draft is so plainly a trivial acknowledgment that no second reader is needed: the selective gate.

    >>> is_trivial_acknowledgment("Sure, will do!")
    True
    >>> is_trivial_acknowledgment("Sure, I refunded 40 euros.")
    False

Conditions and word lists are section 2 of the behaviour document; equal to symfonic-core 9.12.0's. An
acknowledgment in another language is not recognised, so it is read by the critic: that is the safe side.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from reviews.core.fabrication import FabricationFinding
from reviews.core.intent import IntentVerdict
from reviews.core.patterns import Pattern

__all__ = ["ACKNOWLEDGMENTS", "MAX_CHARACTERS", "is_trivial_acknowledgment"]

#: A longer draft says more than yes.
MAX_CHARACTERS: Final = 160

#: Lower-cased; each counts where it stands between word boundaries. By language code.
ACKNOWLEDGMENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "en": (
        "ok", "okay", "got it", "sure", "done", "thanks", "thank you", "will do", "sounds good", "understood",
        "noted", "on it", "alright", "great", "perfect", "no problem", "you're welcome", "youre welcome",
        "acknowledged", "confirmed", "scheduling that", "i'll do that", "ill do that", "i'll handle",
        "ill handle",
    ),
    "es": (
        "vale", "de acuerdo", "entendido", "listo", "gracias", "claro", "perfecto", "hecho", "sin problema",
        "por supuesto",
    ),
    "de": (
        "ok", "alles klar", "verstanden", "erledigt", "danke", "gern", "kein problem", "in ordnung",
        "natürlich",
    ),
    "fr": (
        "d'accord", "compris", "entendu", "merci", "parfait", "bien sûr", "pas de problème", "c'est fait",
        "avec plaisir",
    ),
    "pt": (
        "ok", "certo", "entendido", "feito", "obrigado", "obrigada", "claro", "perfeito", "sem problema",
        "com certeza",
    ),
}  # fmt: skip

_PHRASES: Final = dict.fromkeys(words for group in ACKNOWLEDGMENTS.values() for words in group)
_ACKNOWLEDGMENT: Final = re.compile(rf"\b(?:{'|'.join(map(re.escape, _PHRASES))})\b", re.IGNORECASE)
_ALONE: Final = {words: re.compile(rf"\b{re.escape(words)}\b") for words in _PHRASES if words.isascii()}
# What says something that could be wrong: a digit, an amount, an identifier, a name of two words.
_CLAIM: Final = re.compile(r"[\d$€£¥]|\b[0-9a-fA-F]{6,}\b|\b[A-Z][a-zA-Z]+\s+[A-Z][a-zA-Z]+")
_READ_BY_THE_CRITIC: Final = ("action", "ambiguous")


def is_trivial_acknowledgment(
    draft: str,
    *,
    sensitive_hit: str | None = None,
    findings: Sequence[FabricationFinding] = (),
    tool_calls: Iterable[Mapping[str, Any]] | None = (),
    read_only_tools: Collection[str] = frozenset(),
    intent: IntentVerdict | None = None,
    patterns: Iterable[Pattern] = (),
) -> bool:
    """Whether all conditions hold; each one that does not is a reason to ask the critic.

    ``patterns`` are a tenant's own acknowledgments, beside the built-in ones. One of them must match all of
    the draft, without the white space around it and either as it is written or in lower case. A tool call
    without a text under ``name`` counts as one that changes something. Raises whatever reading ``findings``
    or ``tool_calls`` raises.
    """
    if sensitive_hit is not None or findings or getattr(intent, "label", None) in _READ_BY_THE_CRITIC:
        return False
    text = draft.strip()
    if not text or len(text) > MAX_CHARACTERS or _CLAIM.search(text):
        return False
    if not all(_only_reads(call, read_only_tools) for call in tool_calls or ()):
        return False
    lowered = text.lower()
    if _acknowledges(lowered):
        return True
    spellings = (text,) if text == lowered else (text, lowered)
    return any(pattern.matches(spelling) for pattern in patterns for spelling in spellings)


def _acknowledges(lowered: str) -> bool:
    if lowered.isascii():
        # Quicker than the expression for all, which tries each phrase at each word.
        return any(phrase in lowered and alone.search(lowered) for phrase, alone in _ALONE.items())
    # Takes more letters for one another than lower case makes alike, such as a long s for an s.
    return _ACKNOWLEDGMENT.search(lowered) is not None


def _only_reads(call: object, read_only_tools: Collection[str]) -> bool:
    name = call.get("name") if isinstance(call, Mapping) else None
    return isinstance(name, str) and bool(name) and name in read_only_tools
