"""Reading one setting from a JSON value: each check returns it, or notes what is wrong with it and where."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

T = TypeVar("T")

#: Path of a setting (``identifier_keys/3``) to a sentence about it.
Problems = dict[str, str]
Check = Callable[[Any, str, Problems], Any]

#: A key must look like the ones the detector reads (see the ``kv`` row of the behaviour document).
MAX_KEY_LENGTH = 32
MAX_ITEMS = 200
MAX_TOOLS = 500
MAX_WORDS_PER_TOOL = 100
MAX_WORD_LENGTH = 100
#: A message quotes no more of a wrong value.
MAX_QUOTED = 80
#: Thresholds are told apart in thousandths, so that what a policy would do can be counted ahead exactly.
DECIMALS = 3


def unit(value: Any, path: str, problems: Problems) -> float:
    """A number from 0 to 1 with at most three decimals."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        problems[path] = f"Must be a number from 0 to 1, not {shown(value)}."
        return 0.0
    if round(value, DECIMALS) != value:
        problems[path] = f"At most {DECIMALS} decimals, not {shown(value)}."
    # Not -0.0, which reads as if it were less than nothing.
    return float(value) or 0.0


def shown(value: Any) -> str:
    """A value as a message quotes it: its beginning, when it is long."""
    text = repr(value)
    return text if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED]}…"


def flag(value: Any, path: str, problems: Problems) -> bool:
    if not isinstance(value, bool):
        problems[path] = f"Must be true or false, not {shown(value)}."
        return False
    return value


def whole(low: int, high: int) -> Check:
    """A whole number between two bounds, both included."""

    def check(value: Any, path: str, problems: Problems) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            problems[path] = f"Must be a whole number from {low} to {high}, not {shown(value)}."
            return low
        return value

    return check


def one_of(allowed: Iterable[str]) -> Check:
    names = tuple(allowed)

    def check(value: Any, path: str, problems: Problems) -> str:
        if not isinstance(value, str) or value not in names:
            problems[path] = f"Must be one of {', '.join(names)}, not {shown(value)}."
            return names[0]
        return value

    return check


def only(expected: Any, reason: str) -> Check:
    """A setting that is listed for completeness and has one value."""

    def check(value: Any, path: str, problems: Problems) -> Any:
        if value is not expected:
            problems[path] = reason
        return expected

    return check


def list_of(item: Check, *, what: str, most: int = MAX_ITEMS) -> Check:
    """A list without repetitions; what is wrong with an item stands under its index."""

    def check(value: Any, path: str, problems: Problems) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple):
            problems[path] = f"Must be a list of {what}."
            return ()
        if len(value) > most:
            problems[path] = f"At most {most} {what}, not {len(value)}."
            return ()
        before = len(problems)
        found = [item(entry, f"{path}/{n}", problems) for n, entry in enumerate(value)]
        return tuple(dict.fromkeys(found)) if len(problems) == before else ()

    return check


def map_of(name: Check, item: Check, *, what: str, most: int = MAX_TOOLS) -> Check:
    """An object; what is wrong with an entry stands under its name."""

    def check(value: Any, path: str, problems: Problems) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            problems[path] = f"Must map {what}."
            return {}
        if len(value) > most:
            problems[path] = f"At most {most} entries, not {len(value)}."
            return {}
        found = {}
        for key, entry in value.items():
            spot = f"{path}/{key}"
            before = len(problems)
            read = name(key, spot, problems)
            if len(problems) == before:
                found[read] = item(entry, spot, problems)
        return found

    return check


def key(value: Any, path: str, problems: Problems) -> str:
    """A key that names identifiers, lower-cased."""
    if not (
        isinstance(value, str)
        and 2 <= len(value) <= MAX_KEY_LENGTH
        and value.isascii()
        and value[0].isalpha()
        and value.replace("_", "a").isalnum()
    ):
        problems[path] = (
            f"{shown(value)} cannot be a key: a letter, then 1 to {MAX_KEY_LENGTH - 1} letters, digits or _."
        )
        return ""
    return value.lower()


def text(most: int, *, what: str, lower: bool = False) -> Check:
    """A line of text that says something, without white space around it."""

    def check(value: Any, path: str, problems: Problems) -> str:
        if not isinstance(value, str) or not 0 < len(value.strip()) <= most:
            problems[path] = f"{shown(value)} is not {what} of 1 to {most} characters."
            return ""
        if any(ord(char) < 32 or 0xD800 <= ord(char) < 0xE000 for char in value.strip()):
            problems[path] = f"{what.capitalize()} holds no line breaks or control characters."
            return ""
        found = value.strip()
        return found.lower() if lower else found

    return check
