"""Asking the critic: who waits is claimed and paid for, asked outside any transaction, and answered.

The row is the truth, a claim is a token and a lease, as everywhere; so a worker that dies loses its claim,
and what was set aside for its call counts as used. A call that fails for a reason that may pass is made again
later, a few times; then, as when the day's budget is used up, the verdict is ``approve`` and says that nobody
read the draft. Every turn ends with a verdict or a named cause.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import inf
from threading import Lock
from typing import Any, Final, NamedTuple

from django.conf import settings as django_settings
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from reviews.models import CriticVerdict, ModelUse, Tenant
from reviews.models.bulk import to_db_time, update_rows
from reviews.models.critic import CallState, Cause
from reviews.services import critic_circuit, model_budget
from reviews.services.critic_answers import Ended, book, claimed_ids, store_answers
from reviews.services.critic_calls import Line, open_line
from reviews.services.critic_questions import Question, questions
from reviews.services.critic_rules import ApprovedRules, rules_of
from reviews.services.judge import Policy
from reviews.services.model_budget import CRITIC, Answer, Limits
from reviews.services.model_providers import provider_of
from reviews.services.policies import current_policy

Clock = Callable[[], datetime]

logger = logging.getLogger(__name__)

#: Calls at once in one process, of all tenants together.
MOST_AT_ONCE: Final = 32
#: Claims of one call, lost workers among them, before it is given up.
MAX_ATTEMPTS: Final = 5
#: Seconds from the turn's analysis until a call that still could not be made is given up.
PATIENCE: Final = timedelta(hours=1)
#: The wait before attempt n + 1 of a call that failed: 2, 4, 8 … seconds, at most a minute, or as long as the
#: model asks for in Retry-After, at most ten minutes.
FIRST_WAIT_SECONDS: Final = 2.0
LONGEST_WAIT_SECONDS: Final = 60.0
LONGEST_RETRY_AFTER_SECONDS: Final = 600.0
#: What may pass.
PASSING: Final = (Cause.TIMEOUT, Cause.UNAVAILABLE, Cause.RATE_LIMITED, Cause.FAILED)
_LEASE_MARGIN_SECONDS: Final = 30.0
_CALL_MARGIN_SECONDS: Final = 15.0

#: One asking at a time in a process: it makes many calls at once by itself, and leaves the other threads of
#: the worker to the analysis.
_asking = Lock()


@dataclass
class Progress:
    """How many calls ended with an answer, are put off, were given up; ``more``: others could be made now."""

    answered: int = 0
    put_off: int = 0
    given_up: int = 0
    more: bool = False


class _Terms(NamedTuple):
    """What a tenant's calls are made by. ``off``: why none can be made at all."""

    policy: Policy
    rules: ApprovedRules
    off: str


@dataclass
class _Claimed:
    """What one look at a tenant's line brought: questions that are paid for, and calls that are over."""

    questions: list[Question] = field(default_factory=list)
    over: list[Ended] = field(default_factory=list)


def has_due(*, clock: Clock = timezone.now) -> bool:
    """Whether any call's time has come; it may still have to wait for the model or for others to end."""
    return _due(clock()).exists()


def ask_due(*, seconds: float | None = None, clock: Clock = timezone.now) -> Progress:
    """Ask about what is due, all tenants, until nothing can be asked now or time is up.

    Calls that were begun are waited for. Safe in any number of processes at once; in one process a second
    asking ends at once. Call it outside any transaction.
    """
    progress = Progress()
    if not _asking.acquire(blocking=False):
        return progress
    try:
        run_asking(progress, until=inf if seconds is None else time.monotonic() + seconds, clock=clock)
    finally:
        _asking.release()
    if progress.answered or progress.put_off or progress.given_up:
        logger.info("critic asked", extra=vars(progress))
    return progress


def run_asking(progress: Progress, *, until: float = inf, clock: Clock = timezone.now) -> None:
    """The same, also beside another one in this process; ``until`` in monotonic seconds."""
    if has_due(clock=clock):
        with open_line(provider_of(django_settings, retries=0)) as line:
            _Asking(line, clock, progress, until).run()


def release_expired(*, clock: Clock = timezone.now) -> int:
    """Give back the calls whose worker is gone. Returns how many.

    What was set aside for them counts as used: nobody knows how far they came.
    """
    now = clock()
    with transaction.atomic():
        lost = list(
            CriticVerdict.objects.across_tenants()
            .filter(state=CallState.WAITING, lease_until__lt=now)
            .exclude(claim="")
            .order_by("turn_id")
            .select_for_update(skip_locked=True)
        )
        for row in lost:
            if row.reserved and row.reserved_on:
                model_budget.settle(
                    tenant_id=row.tenant_id,
                    day=row.reserved_on,
                    purpose=CRITIC,
                    calls=[(row.reserved, None)],
                )
        ids = [row.pk for row in lost]
        CriticVerdict.objects.across_tenants().filter(turn_id__in=ids).update(
            claim="", lease_until=None, reserved=0, reserved_on=None
        )
    if lost:
        logger.warning("critic claims expired", extra={"released": len(lost)})
    return len(lost)


class _Asking:
    """One run: calls under way, and the books beside them."""

    def __init__(self, line: Line, clock: Clock, progress: Progress, until: float) -> None:
        self.line, self.clock, self.progress, self.until = line, clock, progress, until
        self.under_way: dict[Future[Ended], Question] = {}
        #: Until when (monotonic seconds) a call must have ended.
        self.overdue: dict[Future[Ended], float] = {}
        self.rules: dict[int, ApprovedRules] = {}

    def run(self) -> None:
        more = True
        while more or self.under_way:
            more = time.monotonic() < self.until and self._begin()
            if self.under_way:
                done, _ = wait(self.under_way, timeout=self._patience(), return_when=FIRST_COMPLETED)
                self._store([self._ended(future) for future in done] or self._abandoned())
                more = True
        self.progress.more = time.monotonic() >= self.until and has_due(clock=self.clock)

    def _begin(self) -> bool:
        """Begin as many calls as there is room for, the tenants in turn; whether any call came or went."""
        moved = False
        for tenant_id in _tenants_due(self.clock()):
            room = MOST_AT_ONCE - len(self.under_way)
            if room <= 0:
                break
            claimed = self._claim(tenant_id, room)
            self._store(claimed.over)
            for question in claimed.questions:
                future = self.line.run(question.ask(self.line.provider))
                self.under_way[future] = question
                self.overdue[future] = time.monotonic() + _longest_call()
            moved = moved or bool(claimed.over or claimed.questions)
        return moved

    def _claim(self, tenant_id: int, room: int) -> _Claimed:
        policy = current_policy(tenant=tenant_id)
        if tenant_id not in self.rules:
            self.rules[tenant_id] = rules_of(tenant_id=tenant_id)
        off = "" if policy.settings.critic_enabled else Cause.SWITCHED_OFF
        if self.line.provider is None:
            off = Cause.NO_MODEL
        return _claim(tenant_id, room, _Terms(policy, self.rules[tenant_id], off), self.clock())

    def _patience(self) -> float:
        """Seconds until the first call under way is overdue."""
        return max(0.0, min(self.overdue[future] for future in self.under_way) - time.monotonic())

    def _abandoned(self) -> list[Ended]:
        """Calls whose own time-out has not ended them: nobody waits for such a one any longer."""
        now = time.monotonic()
        late = [future for future in self.under_way if self.overdue[future] <= now]
        for future in late:
            future.cancel()
            self.overdue.pop(future)
        return [self.under_way.pop(future).failed("The call did not end.") for future in late]

    def _ended(self, future: Future[Ended]) -> Ended:
        question = self.under_way.pop(future)
        self.overdue.pop(future)
        try:
            return future.result()
        except Exception as error:  # whatever is wrong with one call must not hold up the others
            logger.exception("critic call failed", extra={"turn": question.turn_id})
            return question.failed(f"The call broke off ({type(error).__name__}).")

    def _store(self, ended: Sequence[Ended]) -> None:
        now = self.clock()
        final = [end for end in ended if is_final(end)]
        later = [end for end in ended if not is_final(end)]
        if final:
            store_answers(ended=final, at=now)
        if later:
            _put_off(later, now)
        self.progress.put_off += len(later)
        self.progress.given_up += sum(end.cause != "" for end in final)
        self.progress.answered += sum(end.cause == "" for end in final)


def _longest_call() -> float:
    """Seconds in which a call has ended by itself; its lease ends later."""
    return float(django_settings.MODEL_TIMEOUT_SECONDS) + _CALL_MARGIN_SECONDS


def is_final(end: Ended) -> bool:
    """Whether a call is not made again."""
    return not end.called or end.cause not in PASSING or end.attempts >= MAX_ATTEMPTS


def _due(now: datetime) -> QuerySet[CriticVerdict]:
    return CriticVerdict.objects.across_tenants().filter(state=CallState.WAITING, next_at__lte=now, claim="")


def _tenants_due(now: datetime) -> list[int]:
    """The tenants with calls whose time has come: a probe of the index for each, however many calls wait."""
    due = _due(now).filter(tenant=OuterRef("pk"))
    return list(Tenant.objects.filter(Exists(due)).order_by("id").values_list("id", flat=True))


def _claim(tenant_id: int, room: int, terms: _Terms, now: datetime) -> _Claimed:
    """Claim calls of one tenant within its limits: calls at once, the day's budget, the circuit."""
    settings, day = terms.policy.settings, now.date()
    limits = Limits(settings.critic_daily_calls, settings.critic_daily_tokens)
    claimed = _Claimed()
    with transaction.atomic():
        # The row of the day is the lock: of two workers one counts after the other.
        use = model_budget.lock_use(tenant_id=tenant_id, day=day, purpose=CRITIC)
        waiting = _due(now).filter(tenant_id=tenant_id).order_by("next_at", "turn_id")
        most = room if terms.off else min(room, _calls_left(tenant_id, settings.critic_concurrency, now))
        if most <= 0:
            # The model is out of reach, or busy. Who has waited too long is told so.
            waiting, most = waiting.filter(created_at__lt=now - PATIENCE), room
        rows = list(waiting.select_for_update(skip_locked=True, of=("self",))[:most])
        asked = questions(tenant_id=tenant_id, rows=rows, policy=terms.policy, rules=terms.rules)
        token = secrets.token_hex(8)
        lease = now + timedelta(seconds=django_settings.MODEL_TIMEOUT_SECONDS + _LEASE_MARGIN_SECONDS)
        for row, question in zip(rows, asked, strict=True):
            over = _over(row, terms.off, now)
            answer = None if over else model_budget.reserve(use=use, limits=limits, tokens=question.tokens)
            if answer is Answer.WAIT:
                continue
            question.claim, question.attempts = token, row.attempts
            if answer is Answer.NO:
                over = (Cause.OVER_BUDGET, _budget_words(use, limits))
            if over:
                claimed.over.append(question.given_up(*over))
                continue
            question.attempts, question.reserved_on = row.attempts + 1, day
            claimed.questions.append(question)
        waits = CriticVerdict.objects.across_tenants()
        if claimed.over:
            given_up = [end.turn_id for end in claimed.over]
            waits.filter(turn_id__in=given_up).update(claim=token, lease_until=lease)
        if claimed.questions:
            waits.filter(turn_id__in=[q.turn_id for q in claimed.questions]).update(
                claim=token, lease_until=lease, attempts=F("attempts") + 1, reserved_on=day
            )
            reserved = [(q.tokens, q.turn_id) for q in claimed.questions]
            update_rows(CriticVerdict, ("reserved",), reserved, key="turn_id")
    return claimed


def _calls_left(tenant_id: int, most: int, now: datetime) -> int:
    claimed = CriticVerdict.objects.for_tenant(tenant_id).filter(
        ~Q(claim=""), state=CallState.WAITING, lease_until__gte=now
    )
    circuit = critic_circuit.circuit_of(tenant_id=tenant_id)
    return critic_circuit.may_call(circuit, in_flight=claimed.count(), most=most, now=now)


def _over(row: CriticVerdict, off: str, now: datetime) -> tuple[str, str] | None:
    """Why a waiting call is not made (any more), and a sentence about it."""
    if off:
        return off, f"{Cause(off).label}."
    if row.attempts >= MAX_ATTEMPTS:
        return row.cause or Cause.FAILED, row.detail or f"The worker was lost {row.attempts} times."
    if row.created_at < now - PATIENCE:
        hour = f"It waited longer than {PATIENCE.seconds // 60} minutes."
        return row.cause or Cause.UNAVAILABLE, f"{row.detail} {hour}".strip()
    return None


def _put_off(ended: Sequence[Ended], now: datetime) -> None:
    """Give calls that failed for a reason that may pass back, for a later attempt."""
    by_tenant: dict[int, list[Ended]] = {}
    for end in ended:
        by_tenant.setdefault(end.tenant_id, []).append(end)
    for tenant_id, ends in sorted(by_tenant.items()):
        by_turn = {end.turn_id: end for end in ends}
        with transaction.atomic():
            ours = [by_turn[turn_id] for turn_id in claimed_ids(tenant_id=tenant_id, ended=ends)]
            if ours:
                update_rows(CriticVerdict, _PUT_OFF, [_put_off_values(end, now) for end in ours], "turn_id")
            book(tenant_id=tenant_id, ended=ours, at=now)


_PUT_OFF: Final = ("claim", "lease_until", "reserved", "reserved_on", "cause", "detail", "next_at")


def _put_off_values(end: Ended, now: datetime) -> tuple[Any, ...]:
    """Values of ``_PUT_OFF`` and the row's key."""
    next_at = to_db_time(now + timedelta(seconds=wait_seconds(end)))
    return ("", None, 0, None, str(end.cause), end.detail[:500], next_at, end.turn_id)


def wait_seconds(end: Ended) -> float:
    """The wait before the next attempt; see FIRST_WAIT_SECONDS."""
    grown = min(LONGEST_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2.0 ** max(0, end.attempts - 1))
    if end.cause == Cause.RATE_LIMITED and end.retry_after is not None:
        return min(LONGEST_RETRY_AFTER_SECONDS, max(end.retry_after, 0.0))
    return grown


def _budget_words(use: ModelUse, limits: Limits) -> str:
    if limits.calls is not None and use.calls >= limits.calls:
        return f"The {limits.calls:,} calls of {use.day} are used up."
    return f"Too few of the {limits.tokens:,} tokens of {use.day} are left."
