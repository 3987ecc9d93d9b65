"""A procedure as symfonic's agent runtime shows it (``GET /procedures/{id}``), made into a memory entry.

The runtime's memory takes almost anything as a property, so this reads leniently: what does not fit is cut or
left out, and only a procedure that says nothing at all is refused. The entry is one that
``reviews.formats.skill_draft.read_draft`` accepts.

A list of preconditions may also hold objects that the runtime checks by itself, ``{"tool": …}`` and
``{"state": …}``. Here they are text, spelled as JSON, for people to read; in a PATCH they are objects again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from reviews.core.drafts import VALID_PROCEDURAL_KINDS
from reviews.formats.errors import RecordError
from reviews.formats.lenient import parse_lenient
from reviews.formats.skill_draft import EPISODE_CHARS, EPISODES, LABEL_CHARS, SOURCE_CHARS, STEPS, TEXT_CHARS

__all__ = ["differs", "memory_entry", "patch_body"]

_PATTERN_CHARS: Final = 200
#: Of a property that we have no field for.
_EXTRA_CHARS: Final = 1000
_TEXTS: Final = {
    "context": TEXT_CHARS,
    "source": SOURCE_CHARS,
    "trigger": TEXT_CHARS,
    "rationale": TEXT_CHARS,
    "pattern_name": _PATTERN_CHARS,
}
_EPISODES: Final = ("source_episode_ids", "source_episodic_ids")
#: What an agent reads of a procedure beside its steps and its precondition. The label is missing: the PATCH
#: of the runtime does not change it.
_READ_BY_AGENTS: Final = ("content", "context", "trigger", "rationale", "kind", "action_tool")
#: Read otherwise, or how the runtime itself keeps its books.
_NO_EXTRAS: Final = frozenset(
    {*_TEXTS, *_EPISODES, "label", "content", "steps", "status", "active", "kind", "confidence"}
    | {"precondition", "pattern_count"}
)


def memory_entry(value: Any) -> dict[str, Any]:
    """The entry; raises ``RecordError`` when the value is no object, or one without any text."""
    if not isinstance(value, dict):
        raise RecordError("", "a procedure is an object")
    properties = value.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    texts = {name: _text(properties.get(name), most) for name, most in _TEXTS.items()}
    label = _text(value.get("label"), LABEL_CHARS) or _text(properties.get("label"), LABEL_CHARS)
    content = _text(value.get("content"), TEXT_CHARS) or _text(properties.get("content"), TEXT_CHARS)
    steps = _list(value.get("steps"), STEPS) or _list(properties.get("steps"), STEPS)
    told = content or label or texts["trigger"] or next(iter(steps), "")
    if not told:
        raise RecordError("", "a procedure has a label, a content or steps")
    kind = properties.get("kind")
    named = next((name for name in _EPISODES if properties.get(name)), _EPISODES[0])
    metadata: dict[str, Any] = {
        **{name: text for name, text in texts.items() if text},
        "label": label or told[:LABEL_CHARS],
        "steps": steps or [told],
        "rationale": texts["rationale"] or texts["context"] or told,
        # An action does least harm when it is none.
        "kind": kind if isinstance(kind, str) and kind in VALID_PROCEDURAL_KINDS else "action",
        "confidence": _share(properties.get("confidence")),
        named: [text[:EPISODE_CHARS] for text in _list(properties.get(named), EPISODES)],
        **{name: extra for name, extra in properties.items() if _is_extra(name, extra)},
    }
    if precondition := _precondition(properties.get("precondition")):
        metadata["precondition"] = precondition
    count = properties.get("pattern_count")
    if isinstance(count, int) and not isinstance(count, bool) and count >= 0:
        metadata["pattern_count"] = count
    return {"layer": "procedural", "content": content, "metadata": metadata}


def differs(procedure: Any, reviewed: Mapping[str, Any]) -> bool:
    """Whether an agent would read something else in the procedure than in ``reviewed``, the body of a PATCH.

    Nothing is cut here, since what stands behind a cut has been reviewed by nobody. A field that is empty in
    the procedure says nothing that anybody could have missed; only a precondition has to be there. Raises
    ``RecordError`` when the procedure is no object.
    """
    if not isinstance(procedure, dict):
        raise RecordError("", "a procedure is an object")
    properties = procedure.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    there = {**properties, "content": procedure.get("content") or properties.get("content")}
    wanted = reviewed["properties"]
    steps = procedure.get("steps") or properties.get("steps")
    return (
        (bool(steps) and _stripped(steps) != _stripped(reviewed["steps"]))
        or any(
            _stripped(there.get(name)) not in (None, _stripped(wanted.get(name))) for name in _READ_BY_AGENTS
        )
        or _stripped(_spelled(there.get("precondition"))) != _stripped(_spelled(wanted.get("precondition")))
    )


def patch_body(body: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a PATCH as the runtime takes it."""
    properties = body.get("properties") or {}
    condition = properties.get("precondition")
    if not condition:
        return dict(body)
    items = [_unspelled(item) for item in (condition if isinstance(condition, list) else [condition])]
    if isinstance(condition, str) and items == [condition]:
        return dict(body)
    return {**body, "properties": {**properties, "precondition": items}}


def _spelled(condition: Any) -> Any:
    """A precondition; objects in its list are texts."""
    if not isinstance(condition, list):
        return condition
    return [
        msgspec.json.encode(item, order="sorted").decode() if _is_checked(item) else item
        for item in condition
    ]


def _unspelled(text: Any) -> Any:
    if not (isinstance(text, str) and text.startswith("{")):
        return text
    try:
        value = parse_lenient(text.encode(errors="replace"))
    except RecordError:
        return text
    return value if _is_checked(value) else text


def _is_checked(condition: Any) -> bool:
    return isinstance(condition, dict) and bool(condition.keys() & {"tool", "state"})


def _stripped(value: Any) -> Any:
    """The value without white space around its texts; None when nothing is left."""
    if isinstance(value, list):
        return [item for item in map(_stripped, value) if item is not None] or None
    return (value.strip() if isinstance(value, str) else value) or None


def _text(value: Any, most: int) -> str:
    return value.strip()[:most].strip() if isinstance(value, str) else ""


def _list(value: Any, most: int) -> list[str]:
    items: Iterable[Any] = value if isinstance(value, list) else ()
    return [text for item in items if (text := _text(item, TEXT_CHARS))][:most]


def _precondition(value: Any) -> str | list[str] | None:
    value = _spelled(value)
    return _list(value, STEPS) if isinstance(value, list) else _text(value, TEXT_CHARS) or None


def _share(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        return 0.0
    return float(min(1, max(0, value)))


def _is_extra(name: str, value: Any) -> bool:
    """Whether a property is kept beside the fields: short, plain, and none of the runtime's own."""
    if name in _NO_EXTRAS or name.startswith(("_", "scope_")) or len(name) > LABEL_CHARS:
        return False
    if isinstance(value, str):
        return len(value) <= _EXTRA_CHARS
    return isinstance(value, bool | int | float)
