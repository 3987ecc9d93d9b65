"""Where the runs of a callback manager belong: each names its parent only, and its turn is the root's."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

__all__ = ["Place", "Places"]

#: Runs whose place is remembered; the oldest are forgotten.
MOST_RUNS: Final = 20_000
#: Steps from a run whose parents were told after it to its root.
MOST_STEPS: Final = 100


@dataclass(frozen=True, slots=True)
class Place:
    """The root of a run's turn, and whether the run is inside of a tool."""

    root: str
    in_tool: bool


class Places:
    """Thread-safe. An unknown run is taken for a root until its own start says otherwise."""

    def __init__(self) -> None:
        self._places: OrderedDict[str, Place] = OrderedDict()
        self._lock = threading.Lock()

    def enter(self, run_id: str, parent: str | None, *, tool: bool = False) -> tuple[Place, bool]:
        """Note where a run belongs as it starts; and whether it was taken for a root before."""
        with self._lock:
            above = None if parent is None else self._resolved(parent)
            held = self._places.get(run_id)
            place = Place(run_id, tool) if above is None else Place(above.root, tool or above.in_tool)
            self._remember(run_id, place)
        return place, held is not None and held.root == run_id != place.root

    def find(self, run_id: str, parent: str | None) -> Place:
        """Where a run belongs, also when its start was missed."""
        with self._lock:
            return self._resolved(run_id if run_id in self._places or parent is None else parent)

    def knows(self, run_id: str) -> bool:
        with self._lock:
            return run_id in self._places

    def _resolved(self, run_id: str) -> Place:
        place = self._places.get(run_id)
        if place is None:
            place = Place(run_id, in_tool=False)
            self._remember(run_id, place)
        for _ in range(MOST_STEPS):
            root = self._places.get(place.root)
            if root is None or root.root == place.root:
                break
            place = Place(root.root, place.in_tool or root.in_tool)
        return place

    def _remember(self, run_id: str, place: Place) -> None:
        self._places[run_id] = place
        self._places.move_to_end(run_id)
        while len(self._places) > MOST_RUNS:
            self._places.popitem(last=False)
