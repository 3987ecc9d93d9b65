"""A tenant's settings: defaults, limits, and what is wrong with a value that breaks them.

Defaults are those listed at the end of the behaviour document; ``fabrication_check_mode`` starts at
``observe`` because a product that silently replaced answers on its first day would not be trusted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, cast

__all__ = ["MODES", "Mode", "SettingsError", "TenantSettings", "parse_settings"]

Mode = Literal["off", "observe", "revise", "refuse"]
MODES: tuple[Mode, ...] = ("off", "observe", "revise", "refuse")

#: A key must look like the ones the detector reads (see the ``kv`` row of the behaviour document).
MAX_KEY_LENGTH = 32
MAX_KEYS = 200
MAX_TOOLS = 500
MAX_KEYWORDS_PER_TOOL = 100
MAX_KEYWORD_LENGTH = 100


class SettingsError(ValueError):
    """One or more values are wrong. ``problems`` maps a setting's path to a sentence about it."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"{path}: {text}" for path, text in problems.items()))
        self.problems = dict(problems)


@dataclass(frozen=True)
class TenantSettings:
    """What the engines read from a tenant's policy.

    Attributes:
        fabrication_check_mode: What to do with findings (see ``reviews.core.outcome``).
        fabrication_refuse_min_confidence: 0 to 1; in ``refuse`` mode a finding at or above it refuses.
        identifier_keys: Keys that name identifiers here, beside the built-in ones.
        tool_trigger_keywords: Tool name to the words in a query that ask for it.
    """

    fabrication_check_mode: Mode = "observe"
    fabrication_refuse_min_confidence: float = 0.8
    identifier_keys: tuple[str, ...] = ()
    tool_trigger_keywords: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """A JSON object that ``parse_settings`` reads back to an equal value."""
        return asdict(self)


def parse_settings(values: Mapping[str, Any] | None) -> TenantSettings:
    """Read settings from a JSON object; a missing one takes its default.

    Raises:
        SettingsError: naming every value that is wrong, not only the first.
    """
    values = values or {}
    problems: dict[str, str] = {}
    defaults = TenantSettings()
    known = {f.name for f in fields(TenantSettings)}
    for name in values:
        if name not in known:
            problems[str(name)] = "There is no such setting."
    mode = values.get("fabrication_check_mode", defaults.fabrication_check_mode)
    if mode not in MODES:
        problems["fabrication_check_mode"] = f"Must be one of {', '.join(MODES)}, not {mode!r}."
    threshold = _unit(
        values.get("fabrication_refuse_min_confidence", defaults.fabrication_refuse_min_confidence),
        "fabrication_refuse_min_confidence",
        problems,
    )
    keys = _identifier_keys(values.get("identifier_keys", ()), problems)
    keywords = _keywords(values.get("tool_trigger_keywords", {}), problems)
    if problems:
        raise SettingsError(problems)
    return TenantSettings(
        fabrication_check_mode=cast(Mode, mode),
        fabrication_refuse_min_confidence=threshold,
        identifier_keys=keys,
        tool_trigger_keywords=keywords,
    )


def _unit(value: Any, path: str, problems: dict[str, str]) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        problems[path] = f"Must be a number from 0 to 1, not {value!r}."
        return 0.0
    return float(value)


def _identifier_keys(value: Any, problems: dict[str, str]) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        problems["identifier_keys"] = "Must be a list of keys."
        return ()
    if len(value) > MAX_KEYS:
        problems["identifier_keys"] = f"At most {MAX_KEYS} keys, not {len(value)}."
        return ()
    found: dict[str, None] = {}
    for n, key in enumerate(value):
        if not _is_key(key):
            problems[f"identifier_keys/{n}"] = (
                f"{key!r} cannot be a key: a letter, then 1 to {MAX_KEY_LENGTH - 1} letters, digits or _."
            )
        else:
            found[key.lower()] = None
    return tuple(found)


def _is_key(key: Any) -> bool:
    return (
        isinstance(key, str)
        and 2 <= len(key) <= MAX_KEY_LENGTH
        and key.isascii()
        and key[0].isalpha()
        and key.replace("_", "a").isalnum()
    )


def _keywords(value: Any, problems: dict[str, str]) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, Mapping):
        problems["tool_trigger_keywords"] = "Must map a tool's name to a list of words."
        return {}
    if len(value) > MAX_TOOLS:
        problems["tool_trigger_keywords"] = f"At most {MAX_TOOLS} tools, not {len(value)}."
        return {}
    found: dict[str, tuple[str, ...]] = {}
    for tool, words in value.items():
        path = f"tool_trigger_keywords/{tool}"
        if not isinstance(tool, str) or not tool.strip():
            problems[path] = "A tool needs a name."
        elif not isinstance(words, list | tuple) or len(words) > MAX_KEYWORDS_PER_TOOL:
            problems[path] = f"Must be a list of at most {MAX_KEYWORDS_PER_TOOL} words."
        elif bad := [
            w for w in words if not isinstance(w, str) or not 0 < len(w.strip()) <= MAX_KEYWORD_LENGTH
        ]:
            problems[path] = f"{bad[0]!r} is not a word of 1 to {MAX_KEYWORD_LENGTH} characters."
        else:
            found[tool.strip()] = tuple(dict.fromkeys(w.strip() for w in words))
    return found
