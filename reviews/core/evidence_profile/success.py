"""Whether a call did what it was for, by stated rules.

In this order: the recorded ``ok`` and ``error``; error fields, flags and status codes of a structured result;
the opening of a textual one; phrases of refusal in a short one. What says nothing of failure has succeeded,
an empty result too; a call whose result was never seen is unknown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from reviews.core.evidence_profile.linear import compiled
from reviews.core.evidence_profile.turn import CallLike
from reviews.core.evidence_profile.vocabulary import listed

__all__ = ["CallOutcome", "call_outcome"]


@dataclass(frozen=True)
class CallOutcome:
    """``why`` names the rule in a few words; "" for a success."""

    state: Literal["succeeded", "failed", "unknown"]
    why: str = ""

    @property
    def failed(self) -> bool:
        return self.state == "failed"


_SUCCEEDED: Final = CallOutcome("succeeded")
_UNKNOWN: Final = CallOutcome("unknown", "no result was recorded")

# Only the opening of a text is read: a page or a file that was fetched may talk of errors further down.
_OPENING: Final = 160
# A text up to this long is a message rather than content.
_MESSAGE: Final = 240
_JSON_MAX: Final = 200_000

_ERROR_FIELDS: Final = (
    "error",
    "errors",
    "exception",
    "err",
    "fault",
    "error_message",
    "errormessage",
    "failure",
)
_FLAG_FIELDS: Final = ("success", "ok", "succeeded", "successful")
_FAILED_FLAG_FIELDS: Final = ("is_error", "iserror", "failed")
_CODE_FIELDS: Final = ("status_code", "statuscode", "http_status", "status", "code", "http_code")
_EXIT_FIELDS: Final = ("exit_code", "exitcode", "return_code", "returncode", "exit_status")
_STATE_FIELDS: Final = ("status", "state", "result", "outcome")
_FAILED_STATES: Final = listed(
    "error failed failure fail rejected denied refused invalid unauthorized forbidden timeout timed_out "
    "exception "
    "fehler fehlgeschlagen abgelehnt fallido rechazado denegado falhou recusado échec échoué refusé fallito "
    "rifiutato errore erro 失败 错误 失敗 エラー"
)
_NO: Final = frozenset({"false", "no", "0", "none", "null", ""})
_WRAPPERS: Final = ("result", "data", "response", "output", "body")

_OPENS_AS_FAILURE: Final = re.compile(
    r"(?i)[\s\[(<{*#\"'❌✗⚠️]*(?:tool |function |internal |runtime |fatal |api |server |unexpected )*"
    r"(?:error|exception|traceback|failed|failure|fatal|unauthorized|forbidden|access denied|"
    r"permission denied|"
    r"not found|invalid|timeout|timed out|connection refused|bad request|\w+error\b|"
    r"\w+exception\b|erro\b|errore|"
    r"erreur|fehler|missing_|http(?:/[\d.]+)? [45]\d\d|[45]\d\d (?:error|not|bad|un|for|"
    r"internal)|错误|失败|失敗|"
    r"エラー|例外|异常)"
)
_TRACEBACK: Final = "Traceback (most recent call last)"
_REFUSES: Final = compiled(
    r"(?i)(?:\bnot (?:found|allowed|supported|permitted|authori[sz]ed|available|exist)|"
    r"does(?:n't| not) exist|"
    r"no such |\bno longer exists|permission denied|access denied|connection refused|timed out|"
    r"could(?:n't| not) |\bcannot\b|can't |unable to|\bfailed to|\bfailed:|\bwas rejected|is rejected|"
    r"\bmissing[_ ](?:scope|required|parameter|argument)|is required|\binvalid\b|\bunauthorized|\bforbidden|"
    r"\bdenied\b|rate limit|quota exceeded|\brefused\b|"
    r"no se pudo|no fue posible|no se encontr|no encontrad|no existe|denegad|inválid|no permitid|"
    r"no autorizad|"
    r"falló|error al |rechazad|"
    r"não foi possível|não encontrad|não existe|negad[oa]|falhou|falha ao|não permitid|"
    r"impossible d|introuvable|n'existe pas|n'a pas pu|échou|échec|refusé|non autorisé|invalide|"
    r"fehlgeschlagen|nicht gefunden|existiert nicht|ungültig|verweigert|konnte nicht|"
    r"nicht möglich|nicht erlaubt|"
    r"abgelehnt|non trovat|impossibile|non esiste|fallit|negato|rifiutat|non valid|non è stato possibile|"
    r"失败|错误|无法|不存在|拒绝|未找到|找不到|没有权限|无权限|超时|无效|不允许|不支持|"
    r"失敗|エラー|できません|見つかりません|拒否|無効|存在しません|権限がありません|タイムアウト)"
)
# "0 failed", "no errors": a report of none is none.
_NO_FAILURE: Final = compiled(
    r"(?i)\b(?:0|no|zero|without|sin|sem|sans|ohne|senza|keine?) (?:\w+ )?(?:failed|failures?|"
    r"errors?|errores|"
    r"erros|erreurs?|fehler|errori)\b|not invalid|\bsuccess(?:ful|fully)?\b.{0,40}\b0\b"
)


def call_outcome(call: CallLike) -> CallOutcome:
    """What became of the call; never raises."""
    if call.error:
        return CallOutcome("failed", "the call recorded an error")
    if call.ok is False:
        return CallOutcome("failed", "the call was recorded as failed")
    if call.ok is True:
        return _SUCCEEDED
    if call.result is None:
        return _UNKNOWN
    return _of_result(call.result)


def _of_result(result: Any, depth: int = 0) -> CallOutcome:
    if isinstance(result, str):
        return _of_text(result, depth)
    if isinstance(result, Mapping):
        return _of_fields(result, depth)
    return _SUCCEEDED


def _of_text(text: str, depth: int) -> CallOutcome:
    head = text[:_OPENING].lstrip()
    if head[:1] == "{" and len(text) <= _JSON_MAX and depth == 0:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, Mapping):
            return _of_fields(value, depth + 1)
    if head[:1] in ("[", "{") and len(text) > _MESSAGE:
        return _SUCCEEDED
    found = ""
    if _OPENS_AS_FAILURE.match(head):
        found = "its result opens as an error"
    elif _TRACEBACK in text[:2000]:
        found = "its result is an exception"
    elif len(text) <= _MESSAGE and head[:1] not in ("[", "{") and _REFUSES.search(text):
        found = "its result is a refusal"
    if not found or _NO_FAILURE.search(text if len(text) <= _MESSAGE else head):
        return _SUCCEEDED
    return CallOutcome("failed", found)


def _of_fields(value: Mapping[Any, Any], depth: int) -> CallOutcome:
    fields = {str(key).lower(): item for key, item in value.items() if isinstance(key, str)}
    if complaint := next(_complaints(fields), ""):
        return CallOutcome("failed", f"its result {complaint}")
    for name in _WRAPPERS if depth < 2 else ():
        inner = fields.get(name)
        if isinstance(inner, Mapping) and (found := _of_fields(inner, depth + 1)).failed:
            return found
        if isinstance(inner, str) and len(fields) == 1:
            return _of_text(inner, depth + 1)
    return _SUCCEEDED


def _complaints(fields: Mapping[str, Any]) -> Iterator[str]:
    """What the fields of a result say against its success."""
    yield from (f"has {name}" for name in _ERROR_FIELDS if _is_set(fields.get(name)))
    yield from (f"says {name}: false" for name in _FLAG_FIELDS if name in fields and _is_false(fields[name]))
    yield from (f"says {name}" for name in _FAILED_FLAG_FIELDS if _is_true(fields.get(name)))
    for names, is_failure in ((_EXIT_FIELDS, _is_failed_exit), (_CODE_FIELDS, _is_error_status)):
        yield from (f"has {name} {fields[name]}" for name in names if is_failure(fields.get(name)))
    for name in _STATE_FIELDS:
        state = fields.get(name)
        if isinstance(state, str) and state.strip().lower() in _FAILED_STATES:
            yield f"says {name}: {state.strip()[:20]}"


def _is_failed_exit(code: Any) -> bool:
    return isinstance(code, int) and not isinstance(code, bool) and code != 0


def _is_error_status(code: Any) -> bool:
    return isinstance(code, int) and not isinstance(code, bool) and 400 <= code < 600


def _is_set(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip().lower() not in _NO and not value.strip().lower().startswith("no error")
    return bool(value)


def _is_false(value: Any) -> bool:
    return value is False or (isinstance(value, str) and value.strip().lower() in ("false", "no"))


def _is_true(value: Any) -> bool:
    return value is True or (isinstance(value, str) and value.strip().lower() == "true")
