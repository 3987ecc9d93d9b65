"""The words and tool names in the text of a skill, whatever their spelling."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

__all__ = [
    "CALL_WORDS",
    "STOP_WORDS",
    "SkillText",
    "Word",
    "canonical_name",
    "canonical_names",
    "content_words",
    "fold",
    "split_words",
    "stem",
]

_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NO_LETTER_OR_DIGIT: Final = re.compile(r"[\W_]+")
# A word with its inner marks ("orders.get", "don't"), or a mark that ends a clause.
_TOKEN: Final = re.compile(r"\w+(?:[.:/\-'’]\w+)*|--+|[—–;,:.!?\n]")
_PART: Final = re.compile(r"\w+")
_SNAKE: Final = re.compile(r"_*[A-Za-z][A-Za-z0-9]*(?:_+[A-Za-z0-9]+)+")
_LOWER_CAMEL: Final = re.compile(r"[a-z][a-z0-9]+[A-Z]\w*")
# order_id is a field, not a tool, however much it looks like one.
_FIELD_ENDINGS: Final = ("_id", "_ids", "Id", "Ids")
# How far a call's arguments are looked for; what they hold is no tool.
_ARGUMENTS_REACH: Final = 500

#: Words before the name of a tool that is to be called; by themselves they say nothing.
CALL_WORDS: Final = frozenset(
    {
        *("call", "calls", "calling", "use", "uses", "using", "run", "runs", "running"),
        *("invoke", "invoking", "execute", "executing", "try", "prefer"),
    }
)
_NAME_FOLLOWS: Final = CALL_WORDS | {"before", "after", "without", "until", "unless"}
#: They say nothing that two skills could differ in. Order and negation are not among them.
STOP_WORDS: Final = CALL_WORDS | {
    *("a", "an", "the", "any", "some", "of", "to", "for", "is", "are", "was", "were", "be"),
    *("it", "its", "i", "you", "we", "they", "their", "his", "her", "this", "that", "and", "or"),
    *("please", "once", "more", "when", "whenever", "while", "if", "then", "again"),
    *("always", "instead", "directly"),
}


class SkillText(NamedTuple):
    """What is compared of a skill or a draft. ``kind`` is a ``ProceduralKind``."""

    id: str
    kind: str
    trigger: str
    action: str
    precondition: tuple[str, ...] = ()


class Word(NamedTuple):
    """A word, a tool's name or a mark, at ``start`` up to ``end`` of the text.

    ``name`` is canonical when ``is_tool``, else the case-folded word or the mark.
    """

    name: str
    is_tool: bool
    start: int
    end: int


def fold(text: str) -> str:
    """Only letters and digits, compatible forms alike (NFKC), case-folded, snake_case and camelCase split.

    >>> fold("Call getOrder_details(…)!")
    'call get order details'
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return " ".join(_NO_LETTER_OR_DIGIT.sub(" ", _CAMEL.sub(" ", text)).casefold().split())


def content_words(text: str) -> tuple[str, ...]:
    """The folded words that carry meaning, in order; all of them when none does."""
    words = fold(text).split()
    return tuple(word for word in words if word not in STOP_WORDS) or tuple(words)


def stem(word: str) -> str:
    """Without the plural's s, which is all the grammar that skills need here."""
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def canonical_name(name: str) -> str:
    """One spelling for ``getOrder``, ``get_order`` and ``get-order``."""
    if name.isascii() and name.isalpha() and name[1:].islower():
        return name.lower()
    return fold(name).replace(" ", "_")


def canonical_names(names: Iterable[str]) -> frozenset[str]:
    """For ``split_words``. Names without a letter or digit are left out."""
    return frozenset(canonical_name(name) for name in names) - {""}


def split_words(text: str, known: frozenset[str]) -> Iterator[Word]:
    """The words and marks of ``text``; stop words included, a call's arguments in parentheses not.

    A tool's name is: a name in ``known``, a snake_case or camelCase word that does not end in "id", or a word
    with an opening parenthesis behind it. A known name that is one plain word ("refund") counts only with a
    parenthesis behind it, behind a word such as "call" or "before", or when it is all there is.
    """
    whole = len(text.strip())
    reach = 0
    before = ""
    for token in _TOKEN.finditer(text):
        start, end = token.span()
        if start < reach:
            continue
        called = token[0].isidentifier() and text.startswith("(", end)
        if called:
            closing = text.find(")", end, end + _ARGUMENTS_REACH)
            reach = closing + 1
        alone = end - start == whole
        for word in _words(token[0], start, known, before, called=called, alone=alone):
            yield word
            before = word.name


def _words(
    token: str, start: int, known: frozenset[str], before: str, *, called: bool, alone: bool
) -> Iterator[Word]:
    """The token as one word if it is one, else its parts."""
    end = start + len(token)
    if not (token[0].isalnum() or token[0] == "_"):
        yield Word(token, False, start, end)
        return
    name = canonical_name(token)
    if name and (called or _is_tool(token, name, known, sure=alone or before in _NAME_FOLLOWS)):
        yield Word(name, True, start, end)
        return
    parts = [token] if "'" in token or "’" in token else _PART.findall(token)
    at = 0
    for part in parts:
        at = token.index(part, at)
        name = canonical_name(part)
        is_tool = part != token and bool(name) and _is_tool(part, name, known, sure=False)
        word = name if is_tool else part.casefold().replace("’", "'")
        yield Word(word, is_tool, start + at, start + at + len(part))
        at += len(part)


def _is_tool(token: str, name: str, known: frozenset[str], *, sure: bool) -> bool:
    if name in known:
        return sure or "_" in name
    if token.endswith(_FIELD_ENDINGS):
        return False
    return _SNAKE.fullmatch(token) is not None or _LOWER_CAMEL.fullmatch(token) is not None
