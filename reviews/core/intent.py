"""What the user asked for, decided without a model: act, explain, or unclear.

>>> IntentClassifier().classify("please run the backup").label
'action'
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, Literal

from reviews.core.lexicon import ACTION_VERBS, KNOWLEDGE_VERBS

__all__ = ["IntentClassifier", "IntentLabel", "IntentVerdict"]

IntentLabel = Literal["action", "knowledge", "ambiguous"]

# Weights of the documented score: a verb, each further verb (at most 3), a leading verb, and the lane's
# own extra signal (a tool's trigger keyword, or a closing question mark).
_VERB, _FURTHER_VERB, _MAX_FURTHER, _LEADING, _EXTRA = 0.4, 0.1, 3, 0.2, 0.3
# A contested query is decided only with this lead and this share of the total.
_MIN_MARGIN, _MIN_SHARE = 0.2, 0.65
# Ceilings of an undecided verdict; a question that may want an action keeps slightly more.
_CONTESTED_CEILING, _QUESTION_CEILING = 0.5, 0.55

_TOKEN: Final = re.compile(r"\w[\w-]*")
# ASCII text needs no regular expression: lower-case it and blank everything that ends a token.
_ASCII_TOKENS: Final = "".join(
    chr(c).lower() if chr(c).isalnum() or chr(c) in "_-" else " " for c in range(128)
)


@dataclass(frozen=True)
class IntentVerdict:
    """The classifier's answer for one user message.

    ``confidence`` is 0..1. ``matched_tool_keywords`` are *tool names*, sorted, of which a trigger keyword
    occurs in the query. ``action_score`` and ``knowledge_score`` are the raw lane scores (0..1.2).
    """

    label: IntentLabel
    confidence: float
    matched_tool_keywords: list[str] = field(default_factory=list)
    reasoning: str = ""
    action_score: float = 0.0
    knowledge_score: float = 0.0

    def to_event_payload(self) -> dict[str, Any]:
        """The fields as JSON values, scores rounded to three decimals."""
        return {
            "label": self.label,
            "confidence": round(self.confidence, 3),
            "matched_tool_keywords": list(self.matched_tool_keywords),
            "reasoning": self.reasoning,
            "action_score": round(self.action_score, 3),
            "knowledge_score": round(self.knowledge_score, 3),
        }


class IntentClassifier:
    """Scores a query against two verb lists and a tenant's tool keywords. Stateless, safe to share.

    ``ambiguity_confidence_floor`` (0..1): a winning lane below it is ambiguous all the same.
    ``min_action_signals`` (at least 1): how many of verb, leading verb and tool keyword an action needs.
    Values outside these ranges raise ``ValueError``; ``classify`` never raises.
    """

    def __init__(self, *, ambiguity_confidence_floor: float = 0.55, min_action_signals: int = 2) -> None:
        if not 0.0 <= ambiguity_confidence_floor <= 1.0:
            raise ValueError(
                f"ambiguity_confidence_floor is a confidence, 0 to 1, not {ambiguity_confidence_floor!r}"
            )
        if min_action_signals < 1:
            raise ValueError(f"min_action_signals must be 1 or more, not {min_action_signals!r}")
        self._floor = ambiguity_confidence_floor
        self._min_signals = min_action_signals

    def classify(
        self, query: str, tool_trigger_keywords: Mapping[str, Sequence[str]] | None = None
    ) -> IntentVerdict:
        """Classify one user message; ``tool_trigger_keywords`` maps a tool's name to its keywords.

        Keywords match as substrings, any case, composed and decomposed accents alike. Queries and keywords
        that are not strings count as absent.
        """
        text = query.strip() if isinstance(query, str) else ""
        if not text:
            return IntentVerdict("ambiguous", 0.0, reasoning="the query is empty")
        tokens = _tokens(text)
        if not tokens:
            return IntentVerdict("ambiguous", 0.0, reasoning="the query holds no words")

        words = set(tokens)
        actions, knowledge = ACTION_VERBS & words, KNOWLEDGE_VERBS & words
        leading_action, leading_knowledge = tokens[0] in actions, tokens[0] in knowledge
        tools = _matched_tools(text, tool_trigger_keywords) if tool_trigger_keywords else []
        question = text.endswith("?")

        action_score = _score(len(actions), leading_action, bool(tools))
        knowledge_score = _score(len(knowledge), leading_knowledge, question)
        signals = bool(actions) + leading_action + bool(tools)
        label, confidence = self._decide(action_score, knowledge_score, signals, question)
        return IntentVerdict(
            label,
            confidence,
            tools,
            _reasoning(actions, knowledge, question, tools, tokens[0]),
            action_score,
            knowledge_score,
        )

    def _decide(
        self, action: float, knowledge: float, signals: int, question: bool
    ) -> tuple[IntentLabel, float]:
        if action == 0.0 and knowledge == 0.0:
            return "ambiguous", 0.0
        larger = max(action, knowledge)
        if action > 0 and knowledge > 0:
            share = larger / (action + knowledge)
            if abs(action - knowledge) < _MIN_MARGIN or share < _MIN_SHARE:
                return "ambiguous", min(_CONTESTED_CEILING, larger)
        confidence = min(1.0, larger)
        if action > knowledge:
            if signals < self._min_signals:
                return "ambiguous", min(_CONTESTED_CEILING, action)
            # "can you send it?" needs one signal more than "send it" before it counts as an order.
            if question and signals <= self._min_signals:
                return "ambiguous", min(_QUESTION_CEILING, action)
            return ("ambiguous" if confidence < self._floor else "action"), confidence
        return ("ambiguous" if confidence < self._floor else "knowledge"), confidence


def _score(verbs: int, leading: bool, extra: bool) -> float:
    """One lane's score. The order of the additions fixes the last bit of the float."""
    score = 0.0
    if verbs:
        score += _VERB + _FURTHER_VERB * min(verbs - 1, _MAX_FURTHER)
    if leading:
        score += _LEADING
    if extra:
        score += _EXTRA
    return score


def _tokens(text: str) -> list[str]:
    """Lower-cased words of ``text`` in order; hyphens and underscores stay inside a word."""
    if not text.isascii():
        # Lower-casing after splitting: some letters lower to a letter plus a mark, which would split.
        return [token.lower() for token in _TOKEN.findall(unicodedata.normalize("NFC", text))]
    words = text.translate(_ASCII_TOKENS).split()
    if "-" in text:
        return [word for word in (word.lstrip("-") for word in words) if word]
    return words


@lru_cache(maxsize=4096)
def _folded(keywords: tuple[object, ...]) -> tuple[str, ...]:
    """The keywords as they are compared; what is no string, or empty, is left out."""
    strings = [keyword for keyword in keywords if isinstance(keyword, str) and keyword]
    return tuple(unicodedata.normalize("NFC", keyword.lower()) for keyword in strings)


def _matched_tools(text: str, keywords_by_tool: Mapping[str, Sequence[str]]) -> list[str]:
    """Sorted names of the tools with a trigger keyword in ``text``; unusable entries are skipped."""
    lowered = text.lower()
    if not lowered.isascii():
        lowered = unicodedata.normalize("NFC", lowered)
    matched = []
    try:
        for tool, keywords in keywords_by_tool.items():
            if keywords and isinstance(tool, str):
                # Looked up by content, so a list that was changed in place is folded anew.
                for keyword in _folded(tuple(keywords)):
                    if keyword in lowered:
                        matched.append(tool)
                        break
    except Exception:  # a tenant's broken keyword table must not stop the turn's analysis
        return sorted(matched)
    return sorted(matched)


def _reasoning(
    actions: frozenset[str], knowledge: frozenset[str], question: bool, tools: list[str], first: str
) -> str:
    parts = []
    if actions:
        parts.append("asks to " + ", ".join(sorted(actions)))
    if knowledge:
        parts.append("asks about: " + ", ".join(sorted(knowledge)))
    if first in actions or first in knowledge:
        parts.append(f"opens with {first}")
    if question:
        parts.append("ends with a question mark")
    if tools:
        parts.append("mentions " + ", ".join(tools))
    return "; ".join(parts) or "no verb, tool keyword or question mark"
