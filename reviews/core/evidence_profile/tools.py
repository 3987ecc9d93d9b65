"""What a tool does, read off its name, what it was called with, and its description."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from reviews.core.evidence_profile.actions import Action
from reviews.core.evidence_profile.languages import SPACED, UNSPACED
from reviews.core.evidence_profile.turn import CallLike
from reviews.core.evidence_profile.vocabulary import listed

__all__ = ["ToolKind", "is_verb", "kind_of_call", "kind_of_tool", "name_parts"]

_PART: Final = re.compile("[A-Z]+[a-z]*|[a-zà-ÿ]+|[0-9]+|[^\u0000-\u024f]+")

# Parts of tool names that are no verb of a claim's but say what the tool does all the same.
_WORDS_OF: Final[dict[Action, str]] = {
    "read": "get list show describe fetch lookup query search find read status view info details recommend "
    "suggest "
    "calculate compute think reason count explain history load select peek tail head cat ls grep rag "
    "obtener listar mostrar ver consulta busqueda detalle recomendar sugerir calcular consultar obtem "
    "mostrar "
    "obtenir afficher lister zeigen anzeigen holen mostra ottenere ask question weather browse open retrieve",
    "book": "booking reservation appointment reserva prenotazione rendezvous termin buchung order pedido "
    "enroll "
    "enrollment matricula cita",
    "cancel": "cancellation cancelacion anulacion storno",
    "create": "creation make new insert generate submit register request apply crear solicitar solicitud log "
    "touch mkdir write create",
    "delete": "rm del deletion unlink",
    "pay": "payment refund charge invoice billing checkout reembolso pago cobro certificate voucher credit",
    "publish": "post upload push share tweet",
    "run": "exec run start build test compile launch spawn",
    "save": "save memory remember store note put record memo",
    "send": "sms email mail message notification notify alert reply emit slack whatsapp dispatch",
    "stop": "kill disable halt",
    "transfer": "handoff escalation human agent_transfer escalate",
    "update": "edit patch set modify replace swap insert move mv add_item upgrade reaction react",
}
_NAME_WORDS: Final[dict[str, Action]] = {
    word: action for action, line in _WORDS_OF.items() for word in line.split()
}
_UNIVERSAL: Final = listed(
    "bash shell exec execute terminal command cmd python code interpreter sh powershell console script http "
    "curl "
    "browser computer sql repl notebook kernel agent subagent delegate workflow pipeline task api"
)
# Arguments whose value says what the call does.
_ACTION_ARGUMENTS: Final = listed(
    "action operation op method mode command cmd status event type intent accion operacion acao estado"
)
_ALL_VERBS: Final[dict[str, Action]] = {}
for _grammar in SPACED:
    for _verb, _action in {**_grammar.infinitives, **_grammar.participles}.items():
        _ALL_VERBS.setdefault(_verb, _action)
_ALL_VERBS.update(_NAME_WORDS)
_UNSPACED_VERBS: Final = {verb: action for each in UNSPACED for verb, action in each.verbs.items()}
# The description's first words say what the tool does; later ones explain when to use it.
_DESCRIPTION_WORDS: Final = 12


@dataclass(frozen=True)
class ToolKind:
    """``actions`` are the classes of what it can bring about; ``reads`` that it only looks up.
    ``universal``: a shell or the like, which can do anything. With none of them the tool's name tells
    nothing.
    """

    actions: frozenset[Action] = frozenset()
    reads: bool = False
    universal: bool = False

    @property
    def unknown(self) -> bool:
        return not (self.actions or self.reads or self.universal)


@lru_cache(maxsize=4096)
def name_parts(name: str) -> tuple[str, ...]:
    """The words of a tool's name, lower case: ``getOrder_v2`` and ``get-order.v2`` are get, order, v, 2."""
    return tuple(part.lower() for part in _PART.findall(name[:200]))


@lru_cache(maxsize=4096)
def kind_of_tool(name: str, description: str = "") -> ToolKind:
    parts = name_parts(name)
    found = _kind_of_words(parts)
    if _is_universal(parts):
        return ToolKind(found.actions, reads=False, universal=True)
    if not found.unknown:
        return found
    if description:
        return _kind_of_words(
            tuple(part.lower() for part in _PART.findall(description[:400]))[:_DESCRIPTION_WORDS]
        )
    return found


def is_verb(part: str) -> bool:
    """Whether a word of a tool's name says what it does, rather than to what."""
    return part in _ALL_VERBS


def _is_universal(parts: tuple[str, ...]) -> bool:
    """A shell or the like, unless a verb before it says otherwise: run_code, but not get_code or
    create_task.
    """
    for part in parts:
        if part in _UNIVERSAL:
            return True
        if _ALL_VERBS.get(part, "run") != "run":
            return False
    return False


def _kind_of_words(parts: tuple[str, ...]) -> ToolKind:
    actions: list[Action] = []
    for part in parts:
        action = _ALL_VERBS.get(part) or _unspaced(part)
        if action is None and part.endswith("s"):
            action = _ALL_VERBS.get(part[:-1])
        if action is not None:
            actions.append(action)
    if not actions:
        return ToolKind()
    # The first verb decides: get_payment_status reads, send_status_mail does not.
    if actions[0] == "read":
        return ToolKind(reads=True)
    return ToolKind(frozenset(action for action in actions if action != "read"))


def _unspaced(part: str) -> Action | None:
    if part.isascii():
        return None
    for verb, action in _UNSPACED_VERBS.items():
        if verb in part:
            return action
    return None


def kind_of_call(call: CallLike, description: str = "") -> ToolKind:
    """The tool's kind, and what this call's arguments add: ``manage_order(action="cancel")`` cancels."""
    kind = kind_of_tool(call.name, description)
    if not isinstance(call.args, Mapping) or kind.universal:
        return kind
    added: set[Action] = set()
    for key, value in call.args.items():
        if isinstance(key, str) and key.lower() in _ACTION_ARGUMENTS and _short(value):
            added |= _kind_of_words(name_parts(value)).actions
    return ToolKind(kind.actions | added, kind.reads and not added) if added else kind


def _short(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= 40
