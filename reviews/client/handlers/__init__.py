"""What an agent hangs in to have its turns reviewed: one handler for each kind of agent.

    SymfonicReviewHandler    callbacks of a symfonic-core agent
    LangChainReviewHandler   callbacks of LangChain and LangGraph
    reviewed, turn           a decorator and a context manager for loops written by hand

A name is loaded when it is first asked for, so importing this package needs neither library. Loading
``SymfonicReviewHandler`` imports symfonic's callbacks where symfonic-core is installed, for that is where its
base class lives; loading ``LangChainReviewHandler`` imports langchain-core's in the same way.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reviews.client.handlers._decorator import reviewed
    from reviews.client.handlers.langchain import LangChainReviewHandler
    from reviews.client.handlers.loops import Turn, current_turn, turn
    from reviews.client.handlers.symfonic import SymfonicReviewHandler

__all__ = ["LangChainReviewHandler", "SymfonicReviewHandler", "Turn", "current_turn", "reviewed", "turn"]

_PLACES = {
    "LangChainReviewHandler": "langchain",
    "SymfonicReviewHandler": "symfonic",
    "Turn": "loops",
    "current_turn": "loops",
    "reviewed": "_decorator",
    "turn": "loops",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
