"""Beside a finding: which tool, or which token of the turn, would have grounded it.

For the review page only; nothing here changes what the detector finds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final, Literal

from reviews.core.lexicon import CLAIM_VERB_HINTS

__all__ = ["NearMiss", "NearMissKind", "ToolHint", "near_misses", "nearest_tool"]

NearMissKind = Literal[
    "case", "hyphenation", "substitution", "insertion", "deletion", "transposition", "prefix", "suffix"
]

# Kinds from the most to the least telling; a slip of one character is likelier than a different id.
_RANK: Final[dict[NearMissKind, int]] = {
    "case": 0,
    "hyphenation": 1,
    "substitution": 2,
    "transposition": 2,
    "insertion": 3,
    "deletion": 3,
    "prefix": 4,
    "suffix": 4,
}
# A shared beginning or end counts from this many characters and this share of the identifier.
_SHARED_CHARACTERS: Final = 6
_SHARED_PART: Final = 0.6
# Shorter identifiers are within one edit of half a dictionary.
_SHORTEST: Final = 4
# Tokens of this length or more are passed over (no identifier is longer than 128 characters), and at most
# so many hits are looked at: a hostile source cannot hold up the page (about 3 us per hit).
_REACH: Final = 160
_MAX_HITS: Final = 12_000

_WORD_CHARACTERS: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./"
_EDGE_MARKS: Final = "-./"
_COMPACT_UUID: Final = re.compile(r"[0-9a-f]{32}")
_LOWER_ASCII: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


@dataclass(frozen=True)
class ToolHint:
    """Tools to name beside a claim such as "I sent".

    ``available_not_called``: ``tools`` would have grounded the claim, had one been called.
    ``nearest_called``: ``tools`` holds the one called tool whose name is most like the verb;
    ``similarity`` (0..1) says how much.
    """

    verb: str
    tools: tuple[str, ...]
    relation: Literal["available_not_called", "nearest_called"]
    similarity: float | None = None


@dataclass(frozen=True)
class NearMiss:
    """A token of the turn that almost equals the identifier.

    ``offset`` is in characters of the source named ``source``. ``distance`` counts edited characters: 0 for
    case and hyphenation, 1 for one edit (``insertion`` means the token has a character more than the
    identifier), and for prefix and suffix the characters of the longer one that are not shared.
    """

    text: str
    source: str
    offset: int
    distance: int
    kind: NearMissKind


def nearest_tool(
    verb_claim_identifier: str, called: Sequence[str], available: Sequence[str] = ()
) -> ToolHint | None:
    """The tools that fit a claim: available but not called if any would do, else the nearest called one.

    ``verb_claim_identifier`` is the finding's text, its last word the verb. None when it has no words or
    there is no tool to name.
    """
    words = verb_claim_identifier.lower().split()
    if not words:
        return None
    verb = words[-1]
    hints = CLAIM_VERB_HINTS.get(verb, (verb,))
    not_called = dict.fromkeys(tool for tool in available if tool not in called)
    fitting = tuple(tool for tool in not_called if any(hint in tool.lower() for hint in hints))
    if fitting:
        return ToolHint(verb, fitting, "available_not_called")
    if not called:
        return None
    likeness = {
        tool: max(SequenceMatcher(None, word, tool.lower()).ratio() for word in (verb, *hints))
        for tool in dict.fromkeys(called)
    }
    best = max(likeness, key=lambda tool: likeness[tool])
    return ToolHint(verb, (best,), "nearest_called", round(likeness[best], 3))


def near_misses(identifier: str, sources: Sequence[tuple[str, str]], limit: int = 5) -> list[NearMiss]:
    """At most ``limit`` near misses in ``sources``, which are (label, text) pairs; the closest come first.

    Each token is reported once per source, at its first place. Linear in the sources; identifiers under 4
    characters have no near misses. Case means ASCII case.
    """
    if len(identifier) < _SHORTEST or limit < 1:
        return []
    folded = identifier.translate(_LOWER_ASCII)
    pieces = _pieces(folded)
    found: dict[tuple[str, str], NearMiss] = {}
    hits = 0
    for label, text in sources:
        # translate keeps offsets, which lower() does not for every script; for ASCII lower() is faster.
        searched = text.lower() if text.isascii() else text.translate(_LOWER_ASCII)
        for piece in pieces:
            for start, token in _tokens_around(piece, text, searched):
                hits += 1
                if hits > _MAX_HITS:
                    return _best(found, limit)
                known = found.get((label, token))
                if known is not None and known.offset <= start:
                    continue
                judged = _judge(identifier, folded, token)
                if judged is not None:
                    kind, distance = judged
                    found[label, token] = NearMiss(token, label, start, distance, kind)
    return _best(found, limit)


def _best(found: dict[tuple[str, str], NearMiss], limit: int) -> list[NearMiss]:
    # sorted is stable: equals stay in the order of the sources.
    return sorted(found.values(), key=lambda miss: (_RANK[miss.kind], miss.distance))[:limit]


def _pieces(folded: str) -> tuple[str, ...]:
    """Parts of the identifier of which one edit, or a change of hyphens, leaves at least one intact."""
    compact = folded.replace("-", "")
    if _COMPACT_UUID.fullmatch(compact):
        return compact[:8], compact[-12:]
    # Swapping two neighbours can break two of the parts, so there are three.
    third = len(folded) // 3
    return tuple(dict.fromkeys((folded[:third], folded[third:-third], folded[-third:])))


def _tokens_around(piece: str, text: str, searched: str) -> Iterator[tuple[int, str]]:
    """(offset, token) of every token of ``text`` with ``piece`` in it and less than ``_REACH`` long."""
    at = searched.find(piece)
    while at >= 0:
        before = text[max(0, at - _REACH) : at]
        start = at - (len(before) - len(before.rstrip(_WORD_CHARACTERS)))
        after = text[at : at + _REACH]
        end = at + len(after) - len(after.lstrip(_WORD_CHARACTERS))
        # A piece may itself begin or end with a character that no token holds.
        end = max(end, at + len(piece))
        if end - start < _REACH:
            token = text[start:end]
            bare = token.lstrip(_EDGE_MARKS)
            yield start + len(token) - len(bare), bare.rstrip(_EDGE_MARKS)
        at = searched.find(piece, end)


def _judge(identifier: str, folded: str, token: str) -> tuple[NearMissKind, int] | None:
    """How ``token`` misses ``identifier``; None when it equals it or is something else."""
    if token == identifier:
        return None
    other = token.translate(_LOWER_ASCII)
    if other == folded:
        return "case", 0
    if _COMPACT_UUID.fullmatch(folded.replace("-", "")) and other.replace("-", "") == folded.replace("-", ""):
        return "hyphenation", 0
    prefix = _shared(folded, other)
    if (kind := _one_edit(folded, other, prefix)) is not None:
        return kind, 1
    return _long_end(folded, other, prefix)


def _long_end(folded: str, other: str, prefix: int) -> tuple[NearMissKind, int] | None:
    """Whether a long beginning or end is shared, and how many characters are not."""
    longer = max(len(folded), len(other))
    needed = max(_SHARED_CHARACTERS, len(folded) * _SHARED_PART)
    if prefix >= needed:
        return "prefix", longer - prefix
    suffix = _shared(folded[::-1], other[::-1])
    if suffix >= needed:
        return "suffix", longer - suffix
    return None


def _one_edit(one: str, other: str, prefix: int) -> NearMissKind | None:
    """The single edit that turns ``one`` into ``other``; they share ``prefix`` characters at the start."""
    more = len(other) - len(one)
    if more == 0:
        if one[prefix + 1 :] == other[prefix + 1 :]:
            return "substitution"
        swapped = one[prefix : prefix + 2] == other[prefix : prefix + 2][::-1]
        return "transposition" if swapped and one[prefix + 2 :] == other[prefix + 2 :] else None
    if more == 1 and one[prefix:] == other[prefix + 1 :]:
        return "insertion"
    if more == -1 and one[prefix + 1 :] == other[prefix:]:
        return "deletion"
    return None


def _shared(one: str, other: str) -> int:
    """Number of equal characters at the start."""
    for at, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return at
    return min(len(one), len(other))
