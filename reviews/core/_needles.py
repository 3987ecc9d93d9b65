"""Which of many short ASCII strings occur somewhere in a large text."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final

try:  # optional: the engines also run with the standard library alone
    import re2
except ImportError:  # pragma: no cover - the server always installs it
    re2 = None

__all__ = ["occurring"]

# Measured costs in nanoseconds: str's own search per needle and character; an automaton per needle to build
# and per character to scan. They decide which of the two is used, so they only need to be about right.
_FIND_NS: Final = 0.15
_BUILD_NS: Final = 10_000
_SCAN_NS: Final = 1.3
# With this many hex needles, looking at every place of the text's hex runs beats an automaton.
_INDEX_NEEDLES: Final = 256
# Places looked at plus candidates compared (about 80 ns each); more than that goes to the automaton.
_INDEX_BUDGET: Final = 600_000
# Needles per automaton; bounds its memory.
_AUTOMATON_NEEDLES: Final = 2_048
_AUTOMATON_BYTES: Final = 64 << 20

_HEX_SHORTEST: Final = 6
_HEX_NEEDLE: Final = re.compile(r"[0-9a-fA-F]{6,}")
_HEX_RUN: Final = re.compile(rb"hhhhhhh*")
_HEX_CLASSES: Final = bytes(ord("h") if chr(c) in "0123456789abcdefABCDEF" else 32 for c in range(256))
# The end of each text becomes a needle itself: an answer without it shows that the automaton gave up.
_TAIL: Final = 8


def occurring(needles: Iterable[str], texts: Sequence[str]) -> set[str]:
    """The needles (ASCII, not empty, no line break or question mark) that are a substring of some text."""
    wanted = list(needles)
    if not wanted or not texts:
        return set()
    found: set[str] = set()
    if len(wanted) >= _INDEX_NEEDLES:
        hexes = [needle for needle in wanted if _HEX_NEEDLE.fullmatch(needle)]
        indexed = _by_index(hexes, _encoded(texts)) if len(hexes) >= _INDEX_NEEDLES else None
        if indexed is not None:
            found = indexed
            wanted = list(set(wanted).difference(hexes))
    characters = sum(map(len, texts))
    if not _automaton_pays(len(wanted), characters):
        return found | _one_by_one(wanted, texts)
    for first in range(0, len(wanted), _AUTOMATON_NEEDLES):
        part = wanted[first : first + _AUTOMATON_NEEDLES]
        matched = _by_automaton(part, _encoded(texts))
        found |= _one_by_one(part, texts) if matched is None else matched
    return found


def _automaton_pays(needles: int, characters: int) -> bool:
    return needles * characters * _FIND_NS > needles * _BUILD_NS + characters * _SCAN_NS


def _encoded(texts: Sequence[str]) -> list[bytes]:
    # Characters beyond Latin-1 become "?", which no needle holds: the answer stays the same.
    return [text.encode("latin-1", "replace") for text in texts if text]


def _one_by_one(needles: list[str], texts: Sequence[str]) -> set[str]:
    if len(needles) > 2 and not all(map(str.isascii, texts)):
        # Searching one-byte text is several times faster than text with wide characters.
        texts = [
            text if text.isascii() else text.encode("latin-1", "replace").decode("latin-1") for text in texts
        ]
    found = set()
    for needle in needles:
        for text in texts:
            if needle in text:
                found.add(needle)
                break
    return found


def _by_index(needles: list[str], texts: list[bytes]) -> set[str] | None:
    """Hex needles looked up at every place of the texts' hex runs; None when that is too much work."""
    by_opening: defaultdict[bytes, list[bytes]] = defaultdict(list)
    for needle in needles:
        by_opening[needle[:_HEX_SHORTEST].encode()].append(needle.encode())
    budget = _INDEX_BUDGET
    runs: set[bytes] = set()
    for text in texts:
        for match in _HEX_RUN.finditer(text.translate(_HEX_CLASSES)):
            start, end = match.span()
            runs.add(text[start:end])
            budget -= end - start
            if budget < 0:
                return None
    found: set[bytes] = set()
    for run in runs:
        for at in range(len(run) - _HEX_SHORTEST + 1):
            if (opening := run[at : at + _HEX_SHORTEST]) in by_opening:
                candidates = by_opening[opening]
                # Periodic needles in a periodic text: many candidates at every place.
                budget -= len(candidates)
                if budget < 0:
                    return None
                found.update([needle for needle in candidates if run.startswith(needle, at)])
    return {needle.decode() for needle in found}


def _by_automaton(needles: list[str], texts: list[bytes]) -> set[str] | None:
    """The needles in ``texts`` by one pass each; None when re2 is absent or ran out of memory."""
    if re2 is None:
        return None
    options: Any = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.literal = True
    options.never_capture = True
    options.log_errors = False
    options.max_mem = _AUTOMATON_BYTES
    automaton: Any = re2.Set.SearchSet(options)
    for needle in needles:
        automaton.Add(needle.encode())
    for text in texts:
        automaton.Add(text[-_TAIL:])
    try:
        automaton.Compile()
    except re2.error:
        return None
    found: set[str] = set()
    for tail, text in enumerate(texts, start=len(needles)):
        matched: list[int] = automaton.Match(text)
        if not matched or tail not in matched:
            return None
        found.update([needles[index] for index in matched if index < len(needles)])
    return found
