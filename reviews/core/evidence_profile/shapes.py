"""Tool calls and tool results that a draft writes itself: fenced or bare JSON, mark-up, log-like lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Literal

from reviews.core.evidence_profile.linear import compiled
from reviews.core.evidence_profile.vocabulary import listed
from reviews.core.evidence_profile.zones import Fence, Zones

__all__ = ["Shape", "find_shapes"]

Span = tuple[int, int]

# Fences, tags and lines looked at; a draft with more of them is made to take time.
_MAX_LOOKED_AT: Final = 64
_LINE_STARTS: Final = tuple("[tToOfFaA")
_CALL_FENCES: Final = listed(
    "tool_code tool_call tool_calls tool tool_use function_call function_calls toolcall tool-call"
)
_RESULT_FENCES: Final = listed("tool_output tool_outputs tool_result tool_results tool_response observation")
#: What a block holds in which nothing is called.
_NOTHING: Final = frozenset({"", "none", "null", "{}", "[]", "pass", "n/a"})
_DATA_FENCES: Final = frozenset({"", "json", "json5", "jsonc", "xml", "output", "result", "response"})
_CALL_KEYS: Final = listed(
    "tool_call tool_calls tool_use function_call function_calls tool_code toolcall action_input"
)
_RESULT_KEYS: Final = listed(
    "tool_call_result tool_result tool_results tool_response tool_output tool_outputs function_response "
    "function_result function_call_output observation tool_call_response"
)
_NAME_KEYS: Final = (
    "tool",
    "tool_name",
    "function",
    "function_name",
    "action",
    "api",
    "name",
    "recipient_name",
)
_ARGUMENT_KEYS: Final = listed("parameters arguments args input action_input params inputs kwargs")
_IDENTIFIER: Final = compiled(r"^[A-Za-z]\w*(?:[._-]\w+)*$")
_COMPOUND: Final = compiled(r"^[a-z]+(?:_[a-z0-9]+)+$|^[a-z]+(?:[A-Z][a-z0-9]+)+$|^\w+\.\w+(?:\.\w+)*$")
_STATUS_KEYS: Final = listed("status success ok response result results message confirmation confirmed")
_MARKUP: Final = compiled(
    r"(?i)<(?:(?:antml:)?(?:invoke|function_calls?|function_results?|tool_calls?|tool_use|tool_results?|"
    r"tool_response|"
    r"tool_output|observation|use_mcp_tool)|function=\w+|[a-z]+_[a-z]+(?:_[a-z]+)*)\b[^>\n]*>"
)
_DATA_WANTED: Final = compiled(r"(?i)\b(?:json|structured output|xml)\b")
_LINES: Final = compiled(
    r"(?mi)^[ \t]*(?:\[?(?:tool|function)[ _](?:call|result|output|response)s?\]?|observation|"
    r"action input)[ \t]*[:=\]][^\n]+$"
)
_OUTPUT_LINE: Final = compiled(
    r"(?i)^\s*(?:\*\*)?(?:output|result|observation|response|stdout|salida|resultado)(?:\*\*)?\s*:\s*[^\n]+"
)
# The user wants such a text, or the draft says that it is one to imitate.
_ASKED_FOR: Final = compiled(
    r"(?i)\b(?:json|xml|yaml|schema|esquema|snippet|code|código|syntax|sintaxis|format|formato|example|"
    r"ejemplo|exemplo|"
    r"exemple|beispiel|esempio|payload|template|structured|write a|generate a|curl|"
    r"documentation)\b|格式|示例|代码|形式|例を|コード"
)
_INSTANCE: Final = compiled(
    r"(?i)\b(?:example|e\.g\.|for instance|sample|would look|should look|looks like this|format|"
    r"template|could be|"
    r"ejemplo|formato|plantilla|exemplo|exemple|modèle|beispiel|vorlage|esempio|expects?|"
    r"you can use|try this|"
    r"copy|paste|replace|snippet|schema)\b|例如|示例|格式|例えば|サンプル"
)


@dataclass(frozen=True)
class Shape:
    """A text shaped like a call or its result. ``tool`` is the name it gives, "" without one; ``values``
    are the values it presents, at most a hundred.
    """

    start: int
    end: int
    role: Literal["call", "result"]
    tool: str
    values: tuple[str, ...]


def find_shapes(text: str, zones: Zones, user_message: str, context: str) -> list[Shape]:
    """In text order, none inside another."""
    found: list[Shape] = []
    fences = zones.fences[:_MAX_LOOKED_AT]
    marked = "<" in text
    lined = "\n" in text or text[:1] in _LINE_STARTS
    asked = (bool(fences) or marked or lined) and _ASKED_FOR.search(user_message[:20_000]) is not None
    for fence in fences:
        shape = _of_fence(text, fence, asked, context)
        if shape is not None:
            found.append(shape)
    if text[:1] in "{[" and (shape := _of_json(text, 0, len(text), marked_only=True)):
        found.append(shape)
    elif not found and text[:1] not in "{[" and "{" in text and '{"' in text:
        found += _inline_json(text, zones)
    if marked:
        found += _of_markup(text, zones, asked)
    if lined:
        found += [
            Shape(match.start(), match.end(), "result", "", (match[0].strip()[:200],))
            for match in islice(_LINES.finditer(text), _MAX_LOOKED_AT)
            if zones.spoken(match.start()) and not asked
        ]
    found.sort(key=lambda shape: (shape.start, -shape.end))
    kept: list[Shape] = []
    for shape in found:
        if not kept or shape.start >= kept[-1].end:
            kept.append(shape)
    return kept


def _of_fence(text: str, fence: Fence, asked: bool, context: str) -> Shape | None:
    start, end = fence.content
    introduction = text[max(0, fence.start - 200) : fence.start]
    if _INSTANCE.search(introduction):
        return None
    if fence.language in _CALL_FENCES or fence.language in _RESULT_FENCES:
        role: Literal["call", "result"] = "call" if fence.language in _CALL_FENCES else "result"
        inner = _of_json(text, start, end, marked_only=False)
        content = text[start:end]
        if content.strip().lower() in _NOTHING:
            return None
        tool = inner.tool if inner else _called_name(content)
        return Shape(fence.start, fence.end, role, tool, inner.values if inner else (content.strip()[:200],))
    if fence.language not in _DATA_FENCES:
        return None
    shape = _of_json(text, start, end, marked_only=asked or _wants_data(context))
    return None if shape is None else Shape(fence.start, fence.end, shape.role, shape.tool, shape.values)


def _wants_data(context: str) -> bool:
    """Whether the instructions ask for answers as data."""
    return _DATA_WANTED.search(context[:20_000]) is not None


def _of_json(text: str, start: int, end: int, *, marked_only: bool) -> Shape | None:
    """The JSON value in a span, if it is a call or a result. With ``marked_only``, plain data is no
    result.
    """
    content = text[start:end].strip()
    if content[:1] not in ("{", "["):
        return None
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return _broken_json(text, start, end, content)
    values = tuple(_leaves(value))
    item = value[0] if isinstance(value, list) and value else value
    if isinstance(item, dict):
        keys = {str(key).lower() for key in item}
        if keys & _RESULT_KEYS:
            return Shape(start, end, "result", _tool_of(item), values)
        if keys & _CALL_KEYS or _is_call(item, keys):
            return Shape(start, end, "call", _tool_of(item), values)
        if not marked_only and len(values) >= 1 and (keys & _STATUS_KEYS or len(values) >= 2):
            return Shape(start, end, "result", "", values)
    return None


def _broken_json(text: str, start: int, end: int, content: str) -> Shape | None:
    """JSON that does not parse still shows its keys."""
    for keys, role in ((_RESULT_KEYS, "result"), (_CALL_KEYS, "call")):
        if any(f'"{key}"' in content[:400] for key in keys):
            return Shape(start, end, role, "", (content[:200],))  # type: ignore[arg-type]
    return None


def _is_call(item: dict[Any, Any], keys: set[str]) -> bool:
    for name in _NAME_KEYS:
        value = item.get(name)
        if isinstance(value, dict) and name == "function":
            return True
        if not isinstance(value, str) or not _IDENTIFIER.search(value):
            continue
        if keys & _ARGUMENT_KEYS:
            return True
        if name in ("tool", "tool_name", "function_name", "action", "function") and _COMPOUND.search(value):
            return True
    return False


def _tool_of(item: dict[Any, Any]) -> str:
    for name in _NAME_KEYS:
        value = item.get(name)
        if isinstance(value, str) and _IDENTIFIER.search(value):
            return value[:80]
        if isinstance(value, dict) and isinstance(value.get("name"), str):
            return str(value["name"])[:80]
    for value in item.values():
        inner = value[0] if isinstance(value, list) and value else value
        if isinstance(inner, dict) and (tool := _tool_of_inner(inner)):
            return tool
    return ""


def _tool_of_inner(item: dict[Any, Any]) -> str:
    for name in _NAME_KEYS:
        value = item.get(name)
        if isinstance(value, str) and _IDENTIFIER.search(value) and (name != "name" or len(item) > 1):
            return value[:80]
        if isinstance(value, dict) and isinstance(value.get("name"), str):
            return str(value["name"])[:80]
    return ""


def _called_name(content: str) -> str:
    match = re.search(r"([A-Za-z]\w*(?:\.\w+)*)\s*\(", content[:400])
    return match[1] if match else ""


def _leaves(value: Any, limit: int = 100) -> Iterator[str]:
    """Texts and numbers of a JSON value, without what says nothing (true, empty, one digit)."""
    stack = [value]
    while stack and limit:
        each = stack.pop()
        if isinstance(each, dict):
            stack.extend(each.values())
        elif isinstance(each, list):
            stack.extend(each)
        elif isinstance(each, bool) or each is None:
            continue
        else:
            leaf = str(each).strip()
            if len(leaf) >= 2:
                limit -= 1
                yield leaf[:200]


def _inline_json(text: str, zones: Zones) -> Iterator[Shape]:
    """JSON within prose that carries a mark of a call or a result."""
    decoder = json.JSONDecoder()
    at = text.find('{"')
    tries = 0
    while at >= 0 and tries < 16:
        tries += 1
        if not (zones.fenced.holds(at) or zones.code.holds(at)):
            try:
                _, end = decoder.raw_decode(text[at : at + 20_000])
            except (ValueError, RecursionError):
                end = 0
            if end:
                introduction = text[max(0, at - 120) : at]
                shape = _of_json(text, at, at + end, marked_only=True)
                if shape is not None and not _INSTANCE.search(introduction):
                    yield shape
                at += end - 1
        at = text.find('{"', at + 1)


def _of_markup(text: str, zones: Zones, asked: bool) -> Iterator[Shape]:
    """Runs of call-like tags, with what stands between them and a line of output behind."""
    start = end = -1
    for match in islice(_MARKUP.finditer(text), _MAX_LOOKED_AT):
        if not (zones.code.holds(match.start()) or zones.quoted.holds(match.start())) and (
            not zones.fenced.holds(match.start())
        ):
            tag = re.match(r"<([\w:=]+)", match[0])
            name = tag[1] if tag else ""
            closing = text.find(f"</{name.split('=')[0]}>", match.end(), match.end() + 20_000)
            if closing < 0 and "_" in name and name.lower() not in ("function_calls", "tool_call"):
                continue
            if asked and _INSTANCE.search(text[max(0, match.start() - 200) : match.start()]):
                continue
            if start < 0 or match.start() > end + 40:
                if start >= 0:
                    yield _markup_shape(text, start, end)
                start = match.start()
            end = max(end, closing + len(name) + 3 if closing >= 0 else match.end())
    if start >= 0:
        yield _markup_shape(text, start, end)


def _markup_shape(text: str, start: int, end: int) -> Shape:
    # <success>...</success> and the like that follow belong to it, and so does a line "Output: ...".
    while following := re.match(r"\s*<(\w+)>[^<]*</(\w+)>", text[end : end + 600]):
        end += following.end()
    role: Literal["call", "result"] = "call"
    if output := _OUTPUT_LINE.match(text[end : end + 600]):
        end += output.end()
        role = "result"
    head = text[start : start + 200]
    name = re.search(r"name=[\"']?([\w.-]+)", head) or re.search(r"<(?:function=)?([\w:.-]+)", head)
    return Shape(start, end, role, name[1] if name else "", (text[start:end][:200],))
