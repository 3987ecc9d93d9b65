"""How sure an agent could be of its answer, from what its memory activated, and whether that was sensitive.

The formula is section 2 of the behaviour document; equal to symfonic-core 9.12.0's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from math import isnan
from typing import Any, Final

__all__ = ["NEUTRAL_CONFIDENCE", "activation_confidence", "sensitive_hit"]

#: Without a record of activation, or with no activated node, nothing speaks for or against the answer.
NEUTRAL_CONFIDENCE: Final = 0.5
SCORE_SHARE: Final = 0.4
PATHS_SHARE: Final = 0.3
EDGES_SHARE: Final = 0.3
#: So many inference paths, or so heavy edges on average, count in full.
FULL_PATHS: Final = 3
FULL_EDGE_WEIGHT: Final = 5.0


def activation_confidence(activation: object) -> float:
    """0 to 1 from ``activated_nodes`` (score), ``inference_paths`` and ``traversed_edges`` (weight).

    ``activation`` is a mapping as it came with the turn; what cannot be read counts as absent.
    """
    nodes = _list(activation, "activated_nodes")
    if not nodes:
        return NEUTRAL_CONFIDENCE
    score = sum(_number(node, "score") for node in nodes) / len(nodes)
    paths = min(1.0, len(_list(activation, "inference_paths")) / FULL_PATHS)
    edges = _list(activation, "traversed_edges")
    weight = sum(_number(edge, "weight") for edge in edges) / len(edges) if edges else 0.0
    found = SCORE_SHARE * score + PATHS_SHARE * paths + EDGES_SHARE * min(1.0, weight / FULL_EDGE_WEIGHT)
    return min(1.0, max(0.0, found))


def sensitive_hit(activation: object, tags: Collection[str]) -> str | None:
    """The first tag of an activated node, in order, that is one of ``tags``."""
    if not tags:
        return None
    for node in _list(activation, "activated_nodes"):
        for tag in _tags(node):
            if isinstance(tag, str) and tag in tags:
                return tag
    return None


def _tags(node: object) -> Iterable[Any]:
    found = _list(node, "tags")
    if found or not isinstance(node, Mapping):
        return found
    return _list(node.get("properties"), "tags")


def _list(holder: object, name: str) -> list[Any]:
    value = holder.get(name) if isinstance(holder, Mapping) else None
    return list(value) if isinstance(value, list | tuple) else []


def _number(holder: object, name: str) -> float:
    value = holder.get(name) if isinstance(holder, Mapping) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or isnan(value):
        return 0.0
    return float(value)
