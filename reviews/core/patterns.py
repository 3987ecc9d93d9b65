"""Patterns that people write for identifiers: regular expressions that take linear time, whatever they are.

    >>> compile_pattern("REQ-[0-9]{4}").matches("REQ-2024")
    True

Syntax: https://github.com/google/re2/wiki/Syntax. RE2 knows neither back-references nor look-around, which is
what makes it linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

import re2

__all__ = ["MAX_LENGTH", "Pattern", "PatternError", "combined", "compile_pattern"]

MAX_LENGTH: Final = 200
# RE2 takes at most this much for a pattern; where its automaton needs more it goes on without, more slowly.
_MAX_BYTES: Final = 1 << 20
# Three identifiers of one length without a character in common: decimal digits, capitals that are no hex
# digits, small letters that are none. What accepts all three does not look at what it accepts.
_ALPHABETS: Final = ("7301948265", "KXQZRWMVTY", "qtowkmzsvy")
#: The longest value the detector reads.
_LONGEST: Final = 128
_UNSUPPORTED: Final = re.compile(r"\(\?(?:[=!>]|<[=!]|P=|\()|escape sequence: \\(?:[1-9]|[gk])")


class PatternError(ValueError):
    """A pattern that cannot be used; its text is a sentence for whoever wrote it."""


@dataclass(frozen=True)
class Pattern:
    """A compiled pattern; equal when the texts are. Made by ``compile_pattern``."""

    text: str
    _compiled: Any = field(repr=False, compare=False)

    def matches(self, identifier: str) -> bool:
        """Whether the pattern matches all of ``identifier``, any string."""
        # Encoded here because a lone surrogate, which a draft may hold, stops re2's own encoding.
        return self._compiled.fullmatch(identifier.encode("utf-8", "surrogatepass")) is not None


def compile_pattern(text: str) -> Pattern:
    """The pattern of this text, to match whole identifiers; case counts unless it says ``(?i)``.

    Raises:
        PatternError: it is empty, too long, not valid, matches the empty text or nearly any identifier.
    """
    if not text:
        raise PatternError("The pattern is empty.")
    if len(text) > MAX_LENGTH:
        raise PatternError(f"The pattern is {len(text)} characters long; at most {MAX_LENGTH} are allowed.")
    pattern = Pattern(text, _compiled(text))
    if pattern.matches(""):
        raise PatternError("The pattern matches the empty text; it must ask for at least one character.")
    for length in range(1, _LONGEST + 1):
        if all(pattern.matches(probe) for probe in _probes(length)):
            raise PatternError(
                f"The pattern is too general: it matches any {length} letters or digits. Make it say what is "
                "special about the identifiers it is meant for."
            )
    return pattern


@lru_cache(maxsize=256)
def combined(patterns: tuple[Pattern, ...]) -> tuple[Pattern, ...]:
    """Patterns of which one matches exactly where one of ``patterns`` does: a single one where that can be.

    An automaton looks for all alternatives at once, so twenty patterns then cost little more than one.
    """
    texts = [pattern.text for pattern in patterns]
    # What \Q quotes need not end within its pattern; it would swallow the next ones.
    if len(texts) < 2 or any(r"\Q" in text for text in texts):
        return patterns
    union = "|".join(f"(?:{text})" for text in texts)
    try:
        return (Pattern(union, _compiled(union, _MAX_BYTES * len(texts))),)
    except PatternError:
        return patterns


def _compiled(text: str, max_bytes: int = _MAX_BYTES) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = max_bytes
    try:
        return re2.compile(text, options)
    except UnicodeEncodeError:
        raise PatternError("The pattern holds half of a character pair, which no text has.") from None
    except re2.error as error:
        reason = error.args[0] if error.args else b""
        reason = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        if _UNSUPPORTED.search(reason):
            raise PatternError(f"Look-around and back-references are not supported ({reason}).") from None
        raise PatternError(f"The pattern is not valid: {reason}.") from None


def _probes(length: int) -> Iterator[str]:
    for alphabet in _ALPHABETS:
        yield (alphabet * (length // len(alphabet) + 1))[:length]
