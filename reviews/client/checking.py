"""The server's word on a draft, or that there was none in time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from reviews.client.transport import Answer

__all__ = ["CheckResult", "OnFailure", "answered", "unanswered"]

OnFailure = Literal["allow", "refuse"]

_OUTCOMES = frozenset({"none", "observed", "revise_forced", "refuse_replaced"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """What to do with a draft.

    Attributes:
        external_id: The turn's id; record the turn under another one when its content changes.
        answered: Whether the server has judged the draft. If not, ``reason`` says why, and only ``refused``
            follows from the caller's ``on_failure``.
        refused: The draft must not go out: show ``safe_refusal``, or a text of your own when it is None.
        outcome: ``none``, ``observed``, ``revise_forced`` or ``refuse_replaced``; "" without an answer.
        mode: The policy's ``off``, ``observe``, ``revise`` or ``refuse``; "" without an answer.
        findings: As symfonic's ``FabricationFinding.to_event_payload`` has them.
        safe_refusal: The text in place of the draft when the policy has refused it.
        forced_critic_verdict: ``revise`` when the draft has to be written anew, else None.
        policy_version: 0 while the tenant has published no policy; None without an answer.
        status: ``accepted``, ``duplicate`` or ``conflict``: whether the turn was stored by this check.
    """

    external_id: str
    answered: bool
    refused: bool
    reason: str = ""
    outcome: str = ""
    mode: str = ""
    findings: tuple[dict[str, Any], ...] = field(default=(), repr=False)
    safe_refusal: str | None = field(default=None, repr=False)
    forced_critic_verdict: str | None = None
    max_finding_confidence: float | None = None
    refuse_threshold: float | None = None
    policy_version: int | None = None
    status: str = ""

    @property
    def revise(self) -> bool:
        """Whether the policy wants the draft written anew."""
        return self.outcome == "revise_forced"


def unanswered(external_id: str, reason: str, on_failure: OnFailure) -> CheckResult:
    return CheckResult(external_id=external_id, answered=False, refused=on_failure == "refuse", reason=reason)


def answered(answer: Answer, external_id: str, on_failure: OnFailure) -> CheckResult:
    """The result of an answer; one that holds no judgement is no answer."""
    said = answer.json()
    # 409: another turn has this id; the draft is judged all the same.
    if answer.status not in (200, 409) or not isinstance(said, dict) or said.get("outcome") not in _OUTCOMES:
        return unanswered(external_id, _reason(answer.status, said), on_failure)
    findings = said.get("findings")
    return CheckResult(
        external_id=external_id,
        answered=True,
        refused=said["outcome"] == "refuse_replaced",
        outcome=said["outcome"],
        mode=str(said.get("mode") or ""),
        findings=tuple(f for f in findings if isinstance(f, dict)) if isinstance(findings, list) else (),
        safe_refusal=_text(said.get("safe_refusal")),
        forced_critic_verdict=_text(said.get("forced_critic_verdict")),
        max_finding_confidence=_number(said.get("max_finding_confidence")),
        refuse_threshold=_number(said.get("refuse_threshold")),
        policy_version=said["policy_version"] if isinstance(said.get("policy_version"), int) else None,
        status=str(said.get("status") or ""),
    )


def _reason(status: int, said: Any) -> str:
    """In the server's words when it found something wrong with the turn."""
    if status == 400 and isinstance(said, dict) and said.get("code") == "invalid":
        return f"the turn was refused: {said.get('message')} ({said.get('pointer', '')})"
    return f"the server answered with status {status} and no judgement"


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
