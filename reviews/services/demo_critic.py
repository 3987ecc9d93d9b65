"""Loading what the critic said of a demo tenant's turns, and what reviewers said of the critic.

No model is asked: the verdicts follow from what the demo knows of each turn, with the slips that a good model
makes. They are written down by the service that writes those of a real one.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from reviews.demo import DemoTurn
from reviews.models import CriticVerdict, ModelUse, Tenant, Turn, User
from reviews.models.bulk import insert_rows, update_rows
from reviews.models.critic import CallState, Cause, Verdict
from reviews.models.turns import CriticStanding, Label
from reviews.services.counting import Counts, add_counts, day_of
from reviews.services.critic_answers import Ended, store_answers
from reviews.services.critic_review import judge_critic
from reviews.services.critic_rows import CRITIC_COLUMNS, verdict_for
from reviews.services.judge import judge
from reviews.services.model_budget import CRITIC
from reviews.services.policies import current_policy

MODEL: Final = "demo-judge-1"
#: What a million tokens in and out of such a model cost.
PRICES: Final = (0.15, 0.60)
PREFERENCES: Final[list[dict[str, Any]]] = [
    {"priority": 10, "statement": "Never say that something was done unless a tool did it."},
    {"priority": 8, "statement": "Name only identifiers that a tool returned."},
    {
        "priority": 6,
        "statement": "Promise no money and no date on your own.",
        "sensitive_tags": ["payment"],
    },
]
#: Shares of a good model's slips: a fabrication that it lets pass, an honest draft that it objects to, a
#: fabrication that it would rather refuse, and calls that fail.
LET_PASS: Final = 0.12
OBJECTED: Final = 0.05
REFUSED: Final = 0.08
FAILED: Final = 0.03
#: Verdicts that reviewers have gone over.
GONE_OVER: Final = 36
BETWEEN: Final = timedelta(seconds=41)
_CAUSES: Final = (Cause.TIMEOUT, Cause.TIMEOUT, Cause.MALFORMED, Cause.UNAVAILABLE, Cause.RATE_LIMITED)
_DETAILS: Final = {
    Cause.TIMEOUT: "The model took too long.",
    Cause.MALFORMED: "The reply is not the verdict that was asked for.",
    Cause.UNAVAILABLE: "The model cannot be reached.",
    Cause.RATE_LIMITED: "The model takes no more requests now.",
}
_OVERRULED: Final = (
    "The tool ran in the turn before; nothing is wrong here.",
    "The number is the customer's own, from the message.",
    "A plain answer from the help pages.",
)


def load_verdicts(*, tenant: Tenant, turns: Sequence[DemoTurn], seed: int) -> int:
    """Ask about the turns whose gate fires, and answer; returns how many verdicts there are."""
    policy, draws = current_policy(tenant=tenant), random.Random(seed)  # noqa: S311  (a demo)
    stored = {turn.external_id: turn for turn in _stored(tenant, turns)}
    rows: list[tuple[Any, ...]] = []
    ended: list[tuple[datetime, Ended]] = []
    counts: Counts = Counter()
    for turn in turns:
        row = stored[turn.record.external_id]
        judgement = judge(turn.record, policy)
        at = row.received_at
        found = (
            None
            if row.critic
            else verdict_for(judgement, policy, tenant_id=tenant.pk, source=row.source, at=at)
        )
        if found is None:
            continue
        waiting = dict(zip(CRITIC_COLUMNS[1:], found.row, strict=True)) | {
            "state": CallState.WAITING.value, "verdict": "", "cause": "", "claim": MODEL, "answered_at": None,
        }  # fmt: skip
        rows.append((row.pk, *(waiting[name] for name in CRITIC_COLUMNS[1:])))
        counts[day_of(row.occurred_at), f"critic:{CriticStanding.WAITING}"] += 1
        ended.append((at, _answer(tenant, row, turn, judgement.gate_decision, draws)))
    if rows:
        insert_rows(CriticVerdict, CRITIC_COLUMNS, rows)
        update_rows(Turn, ("critic",), [(CriticStanding.WAITING.value, row[0]) for row in rows])
        add_counts(tenant_id=tenant.pk, counts=counts)
    by_day: dict[Any, list[tuple[datetime, Ended]]] = {}
    for at, end in ended:
        by_day.setdefault(at.date(), []).append((at, end))
    for day, ends in sorted(by_day.items()):
        store_answers(ended=[end for _, end in ends], at=max(at for at, _ in ends))
        _book(tenant, day, [end for _, end in ends])
    return len(rows)


def judge_verdicts(*, tenant: Tenant, reviewers: Sequence[User], at: datetime) -> int:
    """Reviewers go over the latest verdicts that ask for caution; returns how many."""
    cautious = (
        Turn.objects.for_tenant(tenant)
        .filter(critic__in=(CriticStanding.REVISE, CriticStanding.REFUSE), occurred_at__lt=at)
        .exclude(verdict__in=("", Label.UNSURE))
        .select_related("critic_verdict")
        .order_by("-occurred_at", "-id")
    )
    gone_over = 0
    for n, turn in enumerate(cautious[:GONE_OVER]):
        said = turn.critic_verdict
        right = turn.verdict == Label.FABRICATED
        judge_critic(
            tenant=tenant,
            actor=reviewers[n % len(reviewers)],
            turn_id=turn.pk,
            verdict=said.verdict if right else Verdict.APPROVE,
            seen_version=turn.version,
            reason="" if right else _OVERRULED[n % len(_OVERRULED)],
            spent_seconds=7.0,
            at=at + n * BETWEEN,
        )
        gone_over += 1
    return gone_over


def _stored(tenant: Tenant, turns: Sequence[DemoTurn]) -> list[Turn]:
    return list(
        Turn.objects.for_tenant(tenant).filter(external_id__in=[turn.record.external_id for turn in turns])
    )


def _answer(tenant: Tenant, row: Turn, turn: DemoTurn, gate: Any, draws: random.Random) -> Ended:
    common: dict[str, Any] = {"tenant_id": tenant.pk, "turn_id": row.pk, "claim": MODEL, "model": MODEL}
    if draws.random() < FAILED:
        cause = draws.choice(_CAUSES)
        return Ended(**common, cause=cause, detail=_DETAILS[cause])
    tokens_in = 420 + len(turn.record.draft) // 4 + draws.randint(0, 60)
    wrong = Label.FABRICATED in turn.truth.values() or bool(turn.fix)
    verdict, text = _said(turn, wrong, draws)
    tokens_out = 36 + len(text) // 4
    return Ended(
        **common,
        verdict=verdict,
        said=verdict,
        revised_draft=text if verdict == Verdict.REVISE else "",
        refusal_message=text if verdict == Verdict.REFUSE else "",
        matched_preferences=() if verdict == Verdict.APPROVE else _matched(turn),
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        cost=(tokens_in * PRICES[0] + tokens_out * PRICES[1]) / 1_000_000,
        latency_ms=round(draws.lognormvariate(6.9, 0.45), 1),
    )


def _said(turn: DemoTurn, wrong: bool, draws: random.Random) -> tuple[str, str]:
    draw = draws.random()
    if not wrong:
        if draw < OBJECTED:
            return Verdict.REVISE, f"As far as I can see: {turn.record.draft}"
        return Verdict.APPROVE, ""
    if draw < LET_PASS or not turn.fix:
        return Verdict.APPROVE, ""
    if draw < LET_PASS + REFUSED:
        return Verdict.REFUSE, "I could not do this just now. A colleague will look at it and write to you."
    return Verdict.REVISE, turn.fix


def _matched(turn: DemoTurn) -> tuple[str, ...]:
    """The first preference, and the second where an identifier was made up."""
    named = any(" " not in claim and any(c.isdigit() for c in claim) for claim in turn.truth)
    return tuple(str(p["statement"]) for p in PREFERENCES[: 2 if named else 1])


def _book(tenant: Tenant, day: Any, ended: Sequence[Ended]) -> None:
    """The day's use, as the calls would have been booked."""
    answered = [end for end in ended if not end.cause]
    ModelUse.objects.across_tenants().create(
        tenant=tenant,
        day=day,
        purpose=CRITIC,
        calls=len(ended),
        answered=len(answered),
        tokens_in=sum(end.tokens_in or 0 for end in answered),
        tokens_out=sum(end.tokens_out or 0 for end in answered),
        cost=sum(end.cost or 0.0 for end in answered),
        latency_ms=sum(end.latency_ms or 0.0 for end in answered),
    )
