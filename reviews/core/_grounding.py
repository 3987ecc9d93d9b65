"""What a draft may lean on: the texts of a turn and the tools that fired. Reads odd input without raising."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from reviews.core._needles import occurring
from reviews.core.lexicon import CLAIM_VERB_HINTS, GROUNDING_FIELDS, TOOL_NAME_FIELDS

__all__ = ["grounded_in", "readable_calls", "text_of", "tool_names", "verb_is_grounded"]


def text_of(value: object) -> str:
    """``value`` as text: itself if a string, "" if it is empty or cannot be turned into one."""
    if isinstance(value, str):
        return value
    try:
        return str(value) if value else ""
    except Exception:  # any object may come from an agent's process
        return ""


def readable_calls(tool_calls: object) -> Sequence[Any]:
    """The tool calls as a sequence; empty when they are none or cannot be walked."""
    if isinstance(tool_calls, (list, tuple)):
        return tool_calls
    try:
        return list(tool_calls) if tool_calls else ()  # type: ignore[call-overload]
    except Exception:
        return ()


def tool_names(calls: Iterable[Any]) -> str:
    """Lower-cased names of the tools that fired, one per line ("" when none has a name)."""
    names = []
    for call in calls:
        for name in _fields(call, TOOL_NAME_FIELDS):
            if isinstance(name, str) and name:
                names.append(name.lower())
                break
    return "\n".join(names)


def verb_is_grounded(verb: str, fired: str, fragments: Iterable[str] = ()) -> bool:
    """Whether one of the ``fired`` tools (as ``tool_names`` gives them) makes a claim of ``verb`` true.

    ``fragments`` of tool names (lower case) count like the verb's built-in hints.
    """
    if not fired:
        return False
    hints = CLAIM_VERB_HINTS.get(verb)
    # No hints: a spelling such as "ſent", which matches ignoring case. Any tool is allowed to ground it.
    if hints is None:
        return True
    for hint in hints:  # a loop: this runs for every claim, and a generator costs more than the search
        if hint in fired:
            return True
    return any(fragment in fired for fragment in fragments) if fragments else False


def grounded_in(
    needles: Iterable[str], user_message: object, hydrated_context: object, calls: Iterable[Any]
) -> set[str]:
    """The needles that occur verbatim in some text of the turn.

    The texts are searched one by one: a needle never spans two of them, since they count as separate lines.
    """
    texts = [text_of(user_message), text_of(hydrated_context)]
    for call in calls:
        values = _fields(call, GROUNDING_FIELDS)
        texts += [
            value if isinstance(value, str) else _printed(value) for value in values if value is not None
        ]
    return occurring(needles, [text for text in texts if text])


def _printed(value: object) -> str:
    try:
        return str(value)
    except Exception:
        return ""


def _fields(call: Any, names: Sequence[str]) -> list[Any]:
    """The call's values under ``names``; empty when the call is no mapping or refuses to be read."""
    if type(call) is not dict and not isinstance(call, Mapping):  # the second test is slow
        return []
    try:
        return [call.get(name) for name in names]
    except Exception:
        return []
