"""Trials of the critic: one or two variants are asked about the same past turns, and nothing else changes.

A variant is a model, a version of the policy (a draft, too) and perhaps another text of the question. The job
asks some turns at a time, within a budget of tokens that is named beforehand, and keeps what each said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final, NamedTuple, TypeGuard

from django.conf import settings as django_settings
from django.db import transaction
from django.utils import timezone

from reviews.core.confidence import NEUTRAL_CONFIDENCE, sensitive_hit
from reviews.core.critic_gate import SPARED, GateDecision
from reviews.core.critic_prompt import DEFAULT_REFLECTION_PROMPT
from reviews.core.extraction import ModelUse as Use
from reviews.core.settings import TenantSettings
from reviews.models import Job, Tenant, TrialVerdict, Turn, TurnPayload
from reviews.models.turns import Label
from reviews.services import model_budget
from reviews.services.critic_answers import Ended
from reviews.services.critic_calls import open_line
from reviews.services.critic_questions import (
    MAX_TOKENS,
    Question,
    critic_of,
    question_about,
    stored_findings,
)
from reviews.services.critic_rules import rules_of
from reviews.services.errors import InvalidError, NotFoundError
from reviews.services.judge import Policy
from reviews.services.model_budget import TRIAL, Limits, Spent
from reviews.services.model_providers import cost_of, model_names, provider_of
from reviews.services.policies import current_policy, policy_of, policy_version

MAX_TURNS: Final = 500
DEFAULT_TURNS: Final = 20
MAX_BUDGET: Final = 100_000_000
MAX_TEMPLATE: Final = 20_000
#: Turns asked about in one step, by each variant at once.
TURNS_AT_ONCE: Final = 8
#: Newest turns among which those whose gate fired are looked for.
TURNS_SEARCHED: Final = 5_000
#: Where the turns come from: the newest that reviewers decided, or the newest that the gate fires for.
SOURCES: Final = ("labelled", "recent")
#: A token is some four characters of English; used for what is expected, never for what is allowed.
CHARACTERS_PER_TOKEN: Final = 4
#: Tokens of an answer, until answers were counted here: a verdict and, now and then, a rewritten draft.
USUAL_ANSWER: Final = 200


class Variant(NamedTuple):
    """Whom to ask, and how. ``policy`` is a version's number, 0 for the defaults."""

    model: str
    policy: int
    template: str = ""


@dataclass(frozen=True)
class Estimate:
    """What a trial will take: calls and tokens as expected, tokens at most, cost as expected.

    ``cost`` is None when a variant's model has no prices; ``turns`` are those there are.
    """

    turns: int
    calls: int
    tokens: int
    most_tokens: int
    cost: float | None


def check_parameters(tenant: Tenant, parameters: dict[str, Any]) -> dict[str, Any]:
    """``variants`` (one or two), ``source`` (see SOURCES), ``turns`` (how many), ``budget`` (most tokens).

    Adds ``ids``, the turns as chosen now, so that both variants and a resumed job see the same.

    Raises:
        InvalidError: ``details['fields']`` names what is wrong.
    """
    known = {"variants", "source", "turns", "budget"}
    wrong = dict.fromkeys(parameters.keys() - known, "Unknown.")
    source, turns = parameters.get("source", "labelled"), parameters.get("turns", DEFAULT_TURNS)
    budget = parameters.get("budget")
    if source not in SOURCES:
        wrong["source"] = f"Must be one of {', '.join(SOURCES)}."
    if not (_is_whole(turns) and 1 <= turns <= MAX_TURNS):
        wrong["turns"] = f"Must be a whole number from 1 to {MAX_TURNS}."
    if not (_is_whole(budget) and 1 <= budget <= MAX_BUDGET):
        wrong["budget"] = f"Must be a whole number of tokens from 1 to {MAX_BUDGET:,}."
    variants = _variants(tenant, parameters.get("variants"), wrong)
    if wrong:
        raise InvalidError("This trial cannot be started.", fields=wrong)
    ids = turns_for(tenant=tenant, source=source, limit=turns)
    if not ids:
        raise InvalidError("There are no such turns yet.", fields={"source": "No turn to ask about."})
    return {
        "variants": [variant._asdict() for variant in variants],
        "source": source,
        "turns": turns,
        "budget": budget,
        "ids": ids,
    }


def estimate(*, tenant: Tenant, variants: Sequence[Variant], source: str, turns: int) -> Estimate:
    """What a trial would take, before it is started. Reads the drafts of the turns, asks nobody.

    Raises InvalidError as ``check_parameters``.
    """
    wrong: dict[str, str] = {}
    checked = _variants(tenant, [variant._asdict() for variant in variants], wrong)
    if wrong:
        raise InvalidError("This trial cannot be estimated.", fields=wrong)
    ids = turns_for(tenant=tenant, source=source, limit=min(max(turns, 1), MAX_TURNS))
    answer = usual_answer(tenant)
    tokens = most = 0
    cost: float | None = 0.0
    for question in _questions(tenant.pk, ids, checked):
        asked = max(0, question.tokens - MAX_TOKENS) // CHARACTERS_PER_TOKEN
        tokens += asked + answer
        most += question.tokens
        price = cost_of(Use("", asked, answer), django_settings, asked=question.model)
        cost = None if cost is None or price is None else cost + price
    return Estimate(len(ids), len(ids) * len(checked), tokens, most, cost)


def usual_answer(tenant: Tenant) -> int:
    """Tokens of an answer on average, over the last 30 days."""
    used = model_budget.used_since(tenant=tenant, day=timezone.now().date(), days=30)
    return round(used["tokens_out"] / used["answered"]) if used["answered"] else USUAL_ANSWER


def turns_for(*, tenant: Tenant, source: str, limit: int) -> list[int]:
    """The newest turns to ask about, newest first."""
    turns = Turn.objects.for_tenant(tenant)
    if source == "labelled":
        decided = turns.filter(verdict__in=(Label.FABRICATED, Label.FALSE_ALARM), review_state="decided")
        return list(decided.order_by("-occurred_at", "-id").values_list("id", flat=True)[:limit])
    newest = turns.order_by("-occurred_at", "-id").values_list("id", "gate_reason")[:TURNS_SEARCHED]
    return [pk for pk, reason in newest if reason not in ("", *SPARED)][:limit]


def outside_seconds() -> float:
    """How long ``outside`` may take."""
    return 2 * _longest_call() + 30.0


def _longest_call() -> float:
    """Seconds in which a call has ended by itself, its retries among them."""
    return float(django_settings.MODEL_TIMEOUT_SECONDS) + 15.0


class _Step(NamedTuple):
    """What one step asked: how each call ended, by variant; ``reserved`` was set aside on ``day``."""

    ended: list[tuple[int, Ended]]
    turns: int
    reserved: int
    day: date
    over_budget: bool = False


def outside(job: Job) -> _Step:
    """Ask about the next turns: no transaction is held, nothing is written but what was set aside."""
    parameters, day = job.parameters, timezone.now().date()
    variants = [Variant(**variant) for variant in parameters["variants"]]
    ids = parameters["ids"][job.done : job.done + TURNS_AT_ONCE]
    asked = [(n, q) for n, v in enumerate(variants) for q in _questions(job.tenant_id, ids, [v])]
    tokens = sum(question.tokens for _, question in asked)
    left = parameters["budget"] - (job.result or {}).get("tokens", 0)
    if tokens > left:
        return _Step([], 0, 0, day, over_budget=True)
    with transaction.atomic():
        use = model_budget.lock_use(tenant_id=job.tenant_id, day=day, purpose=TRIAL)
        for _, question in asked:
            model_budget.reserve(use=use, limits=Limits(), tokens=question.tokens)
    ended: list[tuple[int, Ended]] = []
    for n, variant in enumerate(variants):
        questions = [question for at, question in asked if at == n]
        with open_line(provider_of(django_settings, model=variant.model)) as line:
            futures = [line.run(question.ask(line.provider)) for question in questions]
            ended += [(n, future.result(_longest_call())) for future in futures]
    return _Step(ended, len(ids), tokens, day)


def step(job: Job, found: _Step) -> bool:
    """Keep what was said; see ``jobs.Work``."""
    result = job.result or {"tokens": 0, "tokens_in": 0, "tokens_out": 0, "cost": 0.0, "calls": 0}
    job.total = len(job.parameters["ids"])
    if found.over_budget:
        job.result = {**result, "ended": "budget"}
        return False
    labels = _labels(job)
    rows = [_row(job, n, end, labels) for n, end in found.ended]
    TrialVerdict.objects.across_tenants().bulk_create(rows, ignore_conflicts=True)
    for _, end in found.ended:
        _settle(job.tenant_id, found.day, end, result)
    job.result = {**result, "ended": ""}
    job.done += found.turns
    more = job.done < job.total
    if not more:
        job.result["ended"] = "done"
    return more


# -- Inside


def _variants(tenant: Tenant, given: Any, wrong: dict[str, str]) -> list[Variant]:
    """The variants as they are kept; what is wrong with them goes to ``wrong``."""
    if not isinstance(given, list) or not 1 <= len(given) <= 2:
        wrong["variants"] = "Must be one variant, or two."
        return []
    found, models = [], model_names(django_settings)
    if not models:
        wrong["variants"] = "No model is set up (MODEL_BASE_URL and MODEL_NAME)."
        return []
    for n, entry in enumerate(given):
        values = entry if isinstance(entry, dict) else {}
        model = values.get("model") or models[0]
        policy = values.get("policy")
        template = values.get("template") or ""
        if model not in models:
            wrong[f"variants/{n}/model"] = f"Must be one of {', '.join(models)}."
        if policy is None:
            policy = current_policy(tenant=tenant).number
        elif not _is_whole(policy):
            wrong[f"variants/{n}/policy"] = "Must be the number of a version."
        else:
            try:
                _policy(tenant.pk, policy)
            except NotFoundError as error:
                wrong[f"variants/{n}/policy"] = str(error)
        problem = _template_problem(template)
        if problem:
            wrong[f"variants/{n}/template"] = problem
        found.append(Variant(model, policy, template))
    if len(found) == 2 and found[0] == found[1]:
        wrong["variants/1"] = "The two variants are the same."
    return found


def _template_problem(template: Any) -> str:
    if not isinstance(template, str) or len(template) > MAX_TEMPLATE or "\0" in template:
        return f"Must be a text of at most {MAX_TEMPLATE} characters."
    if not template:
        return ""
    try:
        critic_of(TenantSettings(), None, template=template)
    except ValueError as error:
        return f"{str(error)[:1].upper()}{str(error)[1:]}."
    return ""


def _policy(tenant_id: int, number: int) -> Policy:
    current = current_policy(tenant=tenant_id)
    if number == current.number:
        return current
    return policy_of(policy_version(tenant=Tenant(pk=tenant_id), number=number))


def _questions(tenant_id: int, ids: Sequence[int], variants: Sequence[Variant]) -> list[Question]:
    """The questions about turns, each variant's in the order of the turns; without those that are gone."""
    turns = Turn.objects.for_tenant(tenant_id).only("gate_confidence", "gate_reason").in_bulk(ids)
    payloads = TurnPayload.objects.for_tenant(tenant_id).only("tenant_id", "draft", "activation")
    by_turn = payloads.in_bulk(ids)
    findings, rules = stored_findings(tenant_id=tenant_id, turn_ids=ids), rules_of(tenant_id=tenant_id)
    found = []
    for variant in variants:
        policy = _policy(tenant_id, variant.policy)
        for turn_id in ids:
            if turn_id not in by_turn:
                continue
            claims = findings.get(turn_id, ())
            found.append(
                question_about(
                    by_turn[turn_id],
                    _gate(turns[turn_id], by_turn[turn_id], policy, len(claims)),
                    findings=claims,
                    settings=policy.settings,
                    rules=rules,
                    model=variant.model,
                    template=variant.template or DEFAULT_REFLECTION_PROMPT,
                )
            )
    return found


def _gate(turn: Turn, payload: TurnPayload, policy: Policy, findings: int) -> GateDecision:
    """The gate, opened whatever the turn's confidence is: in a trial every turn is asked about."""
    confidence = NEUTRAL_CONFIDENCE if turn.gate_confidence is None else turn.gate_confidence / 1000
    return GateDecision(
        fires=True,
        confidence=confidence,
        reason="low_confidence",
        sensitive_tag=sensitive_hit(payload.activation, policy.sensitive_tags),
        threshold=policy.settings.metacognition_confidence_threshold,
        findings=findings if policy.settings.fabrication_check_mode == "revise" else 0,
    )


def _labels(job: Job) -> dict[int, str]:
    ids = job.parameters["ids"][job.done : job.done + TURNS_AT_ONCE]
    return dict(Turn.objects.for_tenant(job.tenant_id).filter(id__in=ids).values_list("id", "verdict"))


def _row(job: Job, variant: int, end: Ended, labels: dict[int, str]) -> TrialVerdict:
    return TrialVerdict(
        tenant_id=job.tenant_id,
        job=job,
        turn_id=end.turn_id,
        variant=variant,
        label=labels.get(end.turn_id, ""),
        verdict=end.verdict,
        cause=end.cause,
        detail=end.detail[:500],
        text=end.revised_draft or end.refusal_message,
        matched_preferences=list(end.matched_preferences),
        model=end.model[:200],
        tokens_in=end.tokens_in,
        tokens_out=end.tokens_out,
        cost=end.cost,
        latency_ms=end.latency_ms,
    )


def _settle(tenant_id: int, day: date, end: Ended, result: dict[str, Any]) -> None:
    """Book one call, and add what it used to the job's result."""
    if not end.called:
        model_budget.cancel(tenant_id=tenant_id, day=day, purpose=TRIAL, reserved=end.reserved)
        return
    spent = Spent(end.tokens_in, end.tokens_out, end.cost, None if end.cause else end.latency_ms)
    model_budget.settle(tenant_id=tenant_id, day=day, purpose=TRIAL, calls=[(end.reserved, spent)])
    counted = end.tokens_in is not None and end.tokens_out is not None
    result["calls"] += 1
    result["tokens_in"] += end.tokens_in or 0
    result["tokens_out"] += end.tokens_out or 0
    # As in the day's books: what was not counted may have been all that was set aside.
    result["tokens"] += (end.tokens_in or 0) + (end.tokens_out or 0) if counted else end.reserved
    if end.cost is not None:
        result["cost"] += end.cost


def _is_whole(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
