"""What an edit changed in a text, word by word."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

#: Longer texts are shown whole, before and after: comparing takes time with the product of the lengths.
MAX_WORDS = 1_000

_WORD = re.compile(r"\s+|\S+")


class Run(NamedTuple):
    """Some words that stayed, went or came."""

    text: str
    change: Literal["", "gone", "came"]


def word_diff(before: str, after: str) -> list[Run]:
    """The runs of which ``before`` is the ones that stayed and went, ``after`` those that stayed and came.

    What went stands before what came in its place; white space between two changed words belongs to the
    change, so that a sentence written anew reads as one.
    """
    if before == after:
        return [Run(before, "")] if before else []
    old, new = _WORD.findall(before), _WORD.findall(after)
    if len(old) > MAX_WORDS or len(new) > MAX_WORDS:
        return _replaced(before, after)
    runs: list[Run] = []
    gone = came = ""
    for what, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        same = "".join(old[i1:i2])
        if what == "equal" and not (same.isspace() and (gone or came) and i2 < len(old) and j2 < len(new)):
            runs += [*_replaced(gone, came), Run(same, "")]
            gone = came = ""
        else:
            gone, came = gone + same, came + "".join(new[j1:j2])
    return runs + _replaced(gone, came)


def _replaced(gone: str, came: str) -> list[Run]:
    return [run for run in (Run(gone, "gone"), Run(came, "came")) if run.text]
