"""Long texts shortened for a labeller, and where a draft's identifiers occur in the full ones."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["as_text", "codes", "occurrences", "shorten"]

# Runs with a digit, and words in capitals: what one would look up. Plain words are left alone.
_CODE = re.compile(r"[\w#@$€][\w\-./@:#]*\d[\w\-./@:]*|\b[A-Z]{3,}[A-Z0-9_-]*\b")
_AROUND = 60


def as_text(value: Any) -> str:
    if value is None:
        return "(no result recorded)"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def codes(draft: str) -> list[str]:
    """The code-like runs of a draft, each once, in order, without punctuation at their ends."""
    found = (match.group().strip("-./:@#$€_") for match in _CODE.finditer(draft))
    return list(dict.fromkeys(code for code in found if len(code) > 1))


def occurrences(draft: str, sources: Iterable[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """For each code of the draft the names of the (name, text) sources that hold it, ignoring case."""
    lowered = [(name, text.lower()) for name, text in sources]
    return [(code, [name for name, text in lowered if code.lower() in text]) for code in codes(draft)]


def shorten(text: str, limit: int, needles: Sequence[str]) -> str:
    """About ``limit`` characters: the beginning, what surrounds the needles, and the end.

    What was left out is marked with its length.
    """
    if len(text) <= limit:
        return text
    head, tail = limit // 2, limit // 8
    kept = [(0, head), (len(text) - tail, len(text))]
    budget = limit - head - tail
    lowered = text.lower()
    for needle in needles:
        at = lowered.find(needle.lower(), head)
        if 0 <= at < len(text) - tail and budget > 0 and not any(s <= at < e for s, e in kept):
            span = max(head, at - _AROUND), min(len(text) - tail, at + len(needle) + _AROUND)
            budget -= span[1] - span[0]
            kept.append(span)
    return _joined(text, kept)


def _joined(text: str, spans: list[tuple[int, int]]) -> str:
    parts: list[str] = []
    end = 0
    for start, stop in sorted(spans):
        if start > end:
            parts.append(f" […{start - end} characters…] ")
        parts.append(text[max(start, end) : stop])
        end = max(end, stop)
    return "".join(parts)
