"""What differs between two settings, item by item, for people to read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from reviews.core.settings import TenantSettings

__all__ = ["Change", "settings_diff"]


class Change(NamedTuple):
    """One difference. ``path`` is the setting's name, with ``/entry`` for an entry of a map.

    Of a list, ``added`` and ``removed`` tell items; of everything else, ``before`` and ``after`` the values
    (None for an entry that is not there).
    """

    path: str
    before: Any = None
    after: Any = None
    added: tuple[Any, ...] = ()
    removed: tuple[Any, ...] = ()

    @property
    def is_list(self) -> bool:
        return bool(self.added or self.removed)


def settings_diff(before: TenantSettings, after: TenantSettings) -> list[Change]:
    """The changes that lead from one to the other, in the order in which settings are declared."""
    found: list[Change] = []
    old, new = before.to_json(), after.to_json()
    for name in old:
        found += _changes(name, old[name], new[name])
    return found


def _changes(path: str, old: Any, new: Any) -> list[Change]:
    if old == new:
        return []
    if isinstance(old, Mapping) and isinstance(new, Mapping) and "statement" not in old:
        return [
            change
            for key in dict.fromkeys([*old, *new])
            for change in _changes(f"{path}/{key}", old.get(key), new.get(key))
        ]
    if _is_list(old or ()) and _is_list(new or ()):
        added = tuple(item for item in new or () if item not in (old or ()))
        removed = tuple(item for item in old or () if item not in (new or ()))
        if added or removed:
            return [Change(path, added=added, removed=removed)]
    return [Change(path, before=old, after=new)]


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)
