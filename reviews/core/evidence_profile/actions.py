"""What an agent can say it did, as a few classes, and which classes of tools can have done it.

A class is neither a language's verb nor a tool's name, so that "he cancelado" can be held against
``annul_booking``. Verbs are mapped to classes in ``languages``, names of tools in ``tools``.
"""

from __future__ import annotations

from typing import Final, Literal

__all__ = ["COMPATIBLE", "PHRASES", "READS", "Action"]

Action = Literal[
    "book",
    "cancel",
    "confirm",
    "create",
    "delete",
    "finish",
    "pay",
    "publish",
    "read",
    "run",
    "save",
    "send",
    "stop",
    "transfer",
    "update",
    "use",
]

READS: Final[frozenset[Action]] = frozenset({"read"})

# Claimed action -> classes of tools that can have brought it about. Wide on purpose: a booking charges a
# card, an update of a reservation moves it, and a reviewer's minute is worth more than a rare miss.
COMPATIBLE: Final[dict[Action, frozenset[Action]]] = {
    "book": frozenset({"book", "create", "update", "pay", "save", "transfer"}),
    "cancel": frozenset({"cancel", "delete", "update", "stop", "pay", "book"}),
    "confirm": frozenset(
        {"confirm", "book", "create", "update", "pay", "read", "save", "send", "cancel", "finish", "transfer"}
    ),
    "create": frozenset({"create", "book", "save", "update", "publish", "pay", "send", "transfer", "run"}),
    "delete": frozenset({"delete", "cancel", "update", "stop", "save"}),
    "finish": frozenset(
        {
            "finish",
            "book",
            "cancel",
            "confirm",
            "create",
            "delete",
            "pay",
            "publish",
            "run",
            "save",
            "send",
            "stop",
            "transfer",
            "update",
        }
    ),
    "pay": frozenset({"pay", "book", "cancel", "create", "update", "send", "finish", "transfer", "delete"}),
    "publish": frozenset({"publish", "send", "create", "update", "run", "save"}),
    "read": frozenset(),
    "run": frozenset({"run", "create", "finish", "publish"}),
    "save": frozenset({"save", "create", "update", "book", "send", "transfer", "publish"}),
    "send": frozenset({"send", "publish", "transfer", "pay"}),
    "stop": frozenset({"stop", "cancel", "delete", "update"}),
    "transfer": frozenset({"transfer", "send", "create", "update", "pay", "save"}),
    "update": frozenset(
        {"update", "create", "book", "delete", "save", "cancel", "pay", "transfer", "publish", "finish"}
    ),
    "use": frozenset(),
}

# "nothing that ...": how a missing tool is named to a reader.
PHRASES: Final[dict[Action, str]] = {
    "book": "books or orders",
    "cancel": "cancels",
    "confirm": "confirms or looks it up",
    "create": "creates or registers",
    "delete": "deletes or removes",
    "finish": "changes anything",
    "pay": "pays, charges or refunds",
    "publish": "publishes or uploads",
    "read": "looks anything up",
    "run": "runs or starts it",
    "save": "saves",
    "send": "sends",
    "stop": "stops it",
    "transfer": "hands over or escalates",
    "update": "changes or updates",
    "use": "is called that",
}
