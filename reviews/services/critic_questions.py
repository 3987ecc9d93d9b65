"""What the critic is asked about a waiting turn, and what its answer comes to."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final, cast

from django.conf import settings as django_settings

from reviews.core.critic import MAX_RULES, CriticCapability, CriticPreference, rules_query
from reviews.core.critic_gate import GateDecision, GateReason
from reviews.core.critic_prompt import DEFAULT_REFLECTION_PROMPT, CriticQuestion, critic_prompt
from reviews.core.critic_verdict import CriticVerdict as Reflection
from reviews.core.extraction import ModelUse
from reviews.core.fabrication import FabricationFinding
from reviews.core.model_failure import ModelOverBudget
from reviews.core.model_provider import ModelProvider, ModelReply
from reviews.core.settings import TenantSettings
from reviews.models import CriticVerdict, Finding, TurnPayload
from reviews.models.critic import Cause, Verdict
from reviews.services import model_budget
from reviews.services.critic_answers import Ended
from reviews.services.critic_rules import ApprovedRules
from reviews.services.judge import Policy
from reviews.services.model_providers import cost_of

#: Room for a rewritten draft of some 1,500 words, and for a model that thinks aloud before it.
MAX_TOKENS: Final = 4_096
_TOKEN_BYTES: Final = 16
_UNIT: Final = 1000


@dataclass
class Question:
    """One call to the critic: asked in the event loop, while the rows stay with the thread that made it.

    ``model`` and ``template`` differ from the usual ones in a trial only. ``tokens``: the most that the call
    can use. ``claim`` to ``reserved_on`` are filled in when it is claimed.
    """

    tenant_id: int
    turn_id: int
    gate: GateDecision
    draft: str
    activation: Any
    findings: tuple[FabricationFinding, ...]
    rules: tuple[str, ...]
    settings: TenantSettings
    model: str = ""
    template: str = DEFAULT_REFLECTION_PROMPT
    tokens: int = 0
    claim: str = ""
    attempts: int = 0
    reserved_on: date | None = None

    async def ask(self, provider: ModelProvider | None) -> Ended:
        """Make the call. Raises nothing but what cancels it."""
        paid = _Paid(provider, self.tokens) if provider is not None else None
        critic = critic_of(self.settings, paid, rules=self.rules, template=self.template)
        found = await critic.reflect(self.draft, self.activation, self.gate, findings=self.findings)
        return self._ended(found, called=paid is not None and paid.called)

    def given_up(self, cause: str, detail: str) -> Ended:
        """The end of a call that is not made, or not made again."""
        return Ended(
            tenant_id=self.tenant_id,
            turn_id=self.turn_id,
            claim=self.claim,
            attempts=self.attempts,
            verdict=Verdict.REVISE if self.gate.forces_revise else Verdict.APPROVE,
            forced=self.gate.forces_revise,
            cause=cause,
            detail=detail,
            rules=self.rules,
        )

    def failed(self, detail: str) -> Ended:
        """The end of a call that broke off on our side: what was set aside for it counts as used."""
        ended = self.given_up(Cause.FAILED, detail)
        return Ended(
            **{**vars(ended), "called": True, "reserved": self.tokens, "reserved_on": self.reserved_on}
        )

    def _ended(self, found: Reflection, *, called: bool) -> Ended:
        use = ModelUse(found.model, found.tokens_in, found.tokens_out)
        return Ended(
            tenant_id=self.tenant_id,
            turn_id=self.turn_id,
            claim=self.claim,
            attempts=self.attempts,
            called=called,
            reserved=self.tokens,
            reserved_on=self.reserved_on,
            verdict=found.verdict,
            said="" if found.degraded else ("approve" if found.forced else found.verdict),
            forced=found.forced,
            cause=found.cause,
            detail=found.detail,
            revised_draft=found.revised_draft or "",
            refusal_message=found.refusal_message or "",
            matched_preferences=found.matched_preferences,
            rules=self.rules,
            model=found.model,
            tokens_in=found.tokens_in,
            tokens_out=found.tokens_out,
            cost=cost_of(use, django_settings, asked=self.model),
            latency_ms=found.reflection_latency_ms,
            retry_after=found.retry_after,
        )


def questions(
    *, tenant_id: int, rows: Sequence[CriticVerdict], policy: Policy, rules: ApprovedRules
) -> list[Question]:
    """The questions about waiting turns, in order. Two queries."""
    ids = [row.pk for row in rows]
    payloads = (
        TurnPayload.objects.for_tenant(tenant_id).only("tenant_id", "draft", "activation").in_bulk(ids)
        if ids
        else {}
    )
    forced = [row.pk for row in rows if row.gate_reason == "fabrication_revise"]
    findings = stored_findings(tenant_id=tenant_id, turn_ids=forced) if forced else {}
    return [
        _question(row, payloads[row.pk], findings.get(row.pk, ()), policy.settings, rules) for row in rows
    ]


def stored_findings(*, tenant_id: int, turn_ids: Sequence[int]) -> dict[int, tuple[FabricationFinding, ...]]:
    """By turn: its findings, as far as a question names them."""
    rows = Finding.objects.for_tenant(tenant_id).filter(turn_id__in=turn_ids).order_by("turn_id", "position")
    found: dict[int, tuple[FabricationFinding, ...]] = {}
    for row in rows.only("turn_id", "identifier", "kind", "reason", "confidence"):
        finding = FabricationFinding(
            identifier=row.identifier,
            kind=cast(Any, row.kind),
            severity="high",
            reason=row.reason,
            confidence=row.confidence,
        )
        found[row.turn_id] = (*found.get(row.turn_id, ()), finding)
    return found


def critic_of(
    settings: TenantSettings,
    provider: ModelProvider | None,
    *,
    rules: tuple[str, ...] = (),
    template: str = DEFAULT_REFLECTION_PROMPT,
) -> CriticCapability:
    """The critic of a tenant's settings; ``rules`` are those chosen for the turn.

    Raises ValueError for a template that cannot be used.
    """
    return CriticCapability(
        provider,
        confidence_threshold=settings.metacognition_confidence_threshold,
        sensitive_tags=frozenset(settings.metacognition_sensitive_tags),
        preferences=preferences_of(settings),
        rules_source=_Chosen(rules),
        prompt_template=template,
        check_reply=True,
        timeout_seconds=django_settings.MODEL_TIMEOUT_SECONDS,
        max_tokens=MAX_TOKENS,
    )


def preferences_of(settings: TenantSettings) -> tuple[CriticPreference, ...]:
    return tuple(
        CriticPreference(float(p.priority), p.statement, frozenset(p.sensitive_tags))
        for p in settings.core_preferences
        if p.statement.strip()
    )


def most_tokens(question: CriticQuestion, template: str = DEFAULT_REFLECTION_PROMPT) -> int:
    """The most tokens that a question and its answer can have; the marks in it are of a fixed length."""
    mark = secrets.token_hex(_TOKEN_BYTES)
    asked = critic_prompt(question, fence=mark, check=mark, template=template)
    return model_budget.most_tokens(asked.system, asked.prompt, max_tokens=MAX_TOKENS)


def _question(
    row: CriticVerdict,
    payload: TurnPayload,
    findings: tuple[FabricationFinding, ...],
    settings: TenantSettings,
    rules: ApprovedRules,
) -> Question:
    threshold = settings.metacognition_confidence_threshold
    gate = GateDecision(
        fires=True,
        confidence=(row.confidence or 0) / _UNIT,
        reason=cast(GateReason, row.gate_reason),
        sensitive_tag=row.sensitive_tag or None,
        threshold=threshold if row.threshold is None else row.threshold / _UNIT,
        findings=len(findings),
    )
    return question_about(payload, gate, findings=findings, settings=settings, rules=rules)


def question_about(
    payload: TurnPayload,
    gate: GateDecision,
    *,
    findings: tuple[FabricationFinding, ...],
    settings: TenantSettings,
    rules: ApprovedRules,
    model: str = "",
    template: str = DEFAULT_REFLECTION_PROMPT,
) -> Question:
    """The question about one turn whose gate fired."""
    chosen = rules.find(rules_query(payload.activation), MAX_RULES)
    asked = CriticQuestion(
        draft=payload.draft,
        preferences=preferences_of(settings),
        rules=chosen,
        sensitive_tag=gate.sensitive_tag,
        findings=findings if gate.forces_revise else (),
    )
    return Question(
        tenant_id=payload.tenant_id,
        turn_id=payload.turn_id,
        gate=gate,
        draft=payload.draft,
        activation=payload.activation,
        findings=findings,
        rules=chosen,
        settings=settings,
        model=model,
        template=template,
        tokens=most_tokens(asked, template),
    )


@dataclass
class _Paid:
    """A model that is asked no more than was paid for."""

    provider: ModelProvider
    tokens: int
    called: bool = False

    async def complete(self, *, system: str, prompt: str, max_tokens: int) -> ModelReply:
        if model_budget.most_tokens(system, prompt, max_tokens=max_tokens) > self.tokens:
            raise ModelOverBudget
        self.called = True
        return await self.provider.complete(system=system, prompt=prompt, max_tokens=max_tokens)


@dataclass(frozen=True)
class _Chosen:
    """Rules that were found before, where the database could be read."""

    texts: tuple[str, ...]

    async def rules(self, query: str, limit: int) -> Sequence[str]:
        return self.texts[:limit]
