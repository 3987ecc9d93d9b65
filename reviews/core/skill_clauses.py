"""Which part of a sentence tells an agent to do something, and which forbids it or says when.

English only, by cue words; a text without them just says what to do:

- ``forbidden``: behind "never", "avoid", "do not", "instead of" and the like, up to the end of the clause or
  to ", use ...".
- ``lifting``: what lifts that, behind "without", "unless", "before" and "until".
- ``before`` and ``after``: the phrase behind that word, up to a comma, the end of the clause or "call ...".
- ``context``: behind "when" and "if", likewise.
- ``do``: everything else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from reviews.core.skill_text import CALL_WORDS, STOP_WORDS, Word, split_words

__all__ = ["Role", "roles"]

Role = Literal["do", "forbidden", "lifting", "before", "after", "context"]

_CLAUSE_ENDS: Final = frozenset({";", ".", "!", "?", ":", "\n", "—", "–"})
_NEVER: Final = frozenset(
    {
        *("never", "avoid", "cannot", "can't", "don't", "doesn't", "mustn't", "shouldn't", "won't"),
        *("forbidden", "prohibited"),
    }
)
_MAKES_NOT_FORBID: Final = frozenset(["do", "does", "must", "should", "may", "can", "shall", "will"])
# Of cues of two words the first, which says nothing by itself.
_SILENT: Final = _MAKES_NOT_FORBID | {"instead", "rather"}
_CONDITIONS: Final = frozenset(["when", "whenever", "if", "while"])
_LIFTS: Final = frozenset(["without", "unless", "before", "until"])
_AFTER: Final = frozenset({"after", "once"})


def roles(text: str, known: frozenset[str]) -> Iterator[tuple[Role, Word]]:
    """Every tool and every word that carries meaning, with its role; ``known`` as for ``split_words``."""
    reader = _Reader()
    for word in split_words(text, known):
        if word.is_tool or (not reader.cue(word.name) and word.name not in STOP_WORDS):
            yield reader.said(word.name), word


class _Reader:
    """Reads word by word. ``lasting`` is the role to fall back on when a phrase ends."""

    def __init__(self) -> None:
        self.lasting: Role = "do"
        self.role: Role = "do"
        self.said_something = False
        self.after_comma = False
        self.last = ""

    def said(self, word: str) -> Role:
        self.said_something = True
        self.after_comma = False
        self.last = word
        return self.role

    def cue(self, word: str) -> bool:
        """Whether the word or mark says which role the next ones have, and nothing else."""
        before, self.last = self.last, word
        if word in _CLAUSE_ENDS or word.startswith("--"):
            self._turn("do", "do")
        elif word == ",":
            self._turn(self.lasting, self.lasting)
            self.after_comma = True
            # What the comma parts is still said: ", use" ends a prohibition only behind something.
            self.said_something = True
        elif word in _NEVER or (word == "not" and before in _MAKES_NOT_FORBID):
            self._turn("forbidden", "forbidden")
        elif (before, word) in {("instead", "of"), ("rather", "than")}:
            self._turn("forbidden", self.lasting)
        elif word in _CONDITIONS:
            self._turn("context", self.lasting)
        elif word in _LIFTS:
            lifts = self.lasting == "forbidden"
            self._turn("lifting" if lifts else ("before" if word == "before" else "context"), self.lasting)
        elif word in _AFTER:
            self._turn("context" if self.lasting == "forbidden" else "after", self.lasting)
        elif word in {"but", "then"}:
            self._turn("do", "do")
        elif word in CALL_WORDS:
            self._call(word)
        else:
            return word in _SILENT
        return True

    def _call(self, word: str) -> None:
        """ "Never call A, use B": a call word behind something said begins what is to be done."""
        phrase_ends = self.role not in {"do", "forbidden"} and self.said_something
        replaced = self.role == "forbidden" and self.said_something and (self.after_comma or word == "use")
        if phrase_ends or replaced:
            self._turn("do", "do")

    def _turn(self, role: Role, lasting: Role) -> None:
        self.role, self.lasting = role, lasting
        self.said_something = self.after_comma = False
