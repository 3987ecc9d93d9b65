"""A model's reply read as a verdict: what is not plainly one answer to this question is none.

A draft can hold the JSON of a verdict, and a model can repeat it. So a reply counts only when it is tied to
the question. Where the instructions asked for a token that stands nowhere else, only an object that carries
it is an answer, and what the model says around it is no matter. Where no token was asked for, the reply must
be the object and nothing else, but for the marks of a code block.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import islice
from typing import Any, Final, Literal, NamedTuple

from reviews.core.reply_text import REPLY_CHARACTERS, is_unclosed, storable

__all__ = ["STANDARD_REFUSAL", "CriticReply", "Verdict", "read_critic_reply"]

Verdict = Literal["approve", "revise", "refuse"]

#: In place of the message that a model refuses with and leaves out.
STANDARD_REFUSAL: Final = "I cannot answer that as it stands. Let me check with a colleague first."

_CODE_MARK: Final = re.compile(r"^[ \t]*```\w*[ \t]*$", re.MULTILINE)
# A model writes the token once, as the first field. So much more is tried, and a long reply costs no more.
_TOKENS: Final = 5
_BRACES: Final = 100


class CriticReply(NamedTuple):
    """``verdict`` is set only when ``status`` is ``read``; ``text`` is the revised draft or refusal message.

    ``truncated`` means malformed in the way that a cut leaves behind: an object that does not end.
    """

    status: Literal["read", "malformed", "truncated", "too_large"]
    verdict: Verdict | None = None
    text: str | None = None
    matched_preferences: tuple[str, ...] = ()


def read_critic_reply(text: str, *, statements: Sequence[str], check: str | None = None) -> CriticReply:
    """The one verdict in ``text``.

    Malformed: no JSON object with a verdict, several that differ, a field named twice, an unknown verdict, a
    revision without a text. ``check`` is the token the object must carry as ``check``. Of the matched
    preferences those among ``statements`` are kept, in their wording and order; case and white space do not
    count. A refusal without a message gets ``STANDARD_REFUSAL``.
    """
    if len(text) > REPLY_CHARACTERS:
        return CriticReply("too_large")
    if check is None:
        answer = _object(_CODE_MARK.sub("", text).strip())
        start = text.find("{")
    else:
        answer = _answer_with(check, text)
        start = text.find("{") if check not in text else text.rfind("{", 0, text.find(check))
    read = None if answer is None else _read(answer, statements)
    if read is not None:
        return read
    return CriticReply("truncated" if start >= 0 and is_unclosed(text[start:]) else "malformed")


def _answer_with(check: str, text: str) -> dict[str, Any] | None:
    """The object that carries the token. None when there is none, or there are several that differ.

    Looked for backwards from where the token stands, because what a model says before its answer, braces and
    quotation marks among it, may be the draft's.
    """
    answers: list[dict[str, Any]] = []
    for found in islice(re.finditer(re.escape(json.dumps(check)), text), _TOKENS):
        start = found.start()
        for _ in range(_BRACES):
            start = text.rfind("{", 0, start)
            if start < 0:
                break
            answer = _object(text, start)
            if answer is not None and answer.get("check") == check:
                answers.append(answer)
                break
    if any(answer != answers[0] for answer in answers):
        return None
    return answers[0] if answers else None


def _read(answer: dict[str, Any], statements: Sequence[str]) -> CriticReply | None:
    verdict = answer.get("verdict")
    matched = _matched(answer.get("matched_preferences"), statements)
    if verdict == "approve":
        return CriticReply("read", "approve", None, matched)
    if verdict == "revise":
        revised = _text(answer.get("revised_draft"))
        return None if revised is None else CriticReply("read", "revise", revised, matched)
    if verdict == "refuse":
        # A refusal is the cautious verdict: it stands even when its message cannot be used.
        message = _text(answer.get("refusal_message")) or STANDARD_REFUSAL
        return CriticReply("read", "refuse", message, matched)
    return None


def _text(value: object) -> str | None:
    """A text that holds more than white space, as a database can store it; else None."""
    return storable(value) if isinstance(value, str) and value.strip() else None


def _matched(value: object, statements: Sequence[str]) -> tuple[str, ...]:
    named = {_folded(item) for item in value if isinstance(item, str)} if isinstance(value, list) else set()
    return tuple(dict.fromkeys(statement for statement in statements if _folded(statement) in named))


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _object(text: str, start: int | None = None) -> dict[str, Any] | None:
    """The object that ``text`` is, or that begins at ``start``."""
    try:
        found = _DECODER.decode(text) if start is None else _DECODER.raw_decode(text, start)[0]
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a field is named twice")
    return found


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_without_repetition)
