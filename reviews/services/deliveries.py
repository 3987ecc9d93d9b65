"""The outbox to the agent runtimes: what was decided about a skill arrives there, each time, in order.

    waiting -> delivered, or dead after the last attempt; dead -> waiting (sent again on request)
    waiting or dead -> dropped (the runtime was removed)

A message is written in the transaction of its decision and sent afterwards, outside any transaction, under a
claim with a lease: a worker that is killed in between loses the claim, and the message is sent again. Sending
one twice changes nothing, since each says how the skill is to be, not what to change. A message waits for the
earlier ones of its skill, also for a dead one: an approval must not overtake the edit that it approves.

An approval carries the text that was approved. The runtime may have changed its copy since that was pulled,
by merging drafts that are alike or by somebody's hand, so it is read again first; where it says something
else, the approved text is written over it, and the audit log says so.
"""

from __future__ import annotations

import logging
import random
import secrets
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import inf
from typing import Any, NamedTuple

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from reviews.formats.errors import RecordError
from reviews.formats.lenient import parse_lenient
from reviews.formats.runtime_procedure import differs, patch_body
from reviews.models import Delivery, Runtime, Skill, Tenant, User
from reviews.models.runtimes import DeliveryAction, DeliveryState
from reviews.models.tenants import Role
from reviews.services import audit
from reviews.services.errors import ConflictError, NotFoundError
from reviews.services.outbound import Answer, OutboundError, TooLargeError
from reviews.services.runtimes import (
    MAX_ERROR_LENGTH,
    ask,
    check_role,
    lock_runtime,
    note_error,
    procedure_path,
    runtime_of,
)
from reviews.services.skill_contents import patch_of

logger = logging.getLogger(__name__)

#: The wait after attempt n is drawn from 0 to BASE_SECONDS * 2^(n-1), at most LONGEST_SECONDS ("full jitter":
#: https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/). On average the first ten waits
#: take 43 minutes together, and each of the 49 others half an hour: the last attempt comes about a day later.
BASE_SECONDS = 5.0
LONGEST_SECONDS = 3600.0
MAX_ATTEMPTS = 60
#: A Retry-After beyond this is cut: a runtime's slip must not silence it for good.
LONGEST_RETRY_AFTER_SECONDS = 24 * 3600.0
#: So often a message that meets trouble with the whole runtime holds up the others; after that they are tried
#: as well, for the trouble may be with this one alone: a proxy's 504 looks the same.
TRIES_FOR_ALL = 5
#: An approval reads the runtime's copy, writes over it, reads it again and approves.
REQUESTS_PER_MESSAGE = 4
#: On top of the longest that these may take, before another worker may take a message over.
LEASE_MARGIN_SECONDS = 30.0

_PATHS = {
    DeliveryAction.APPROVE: ("POST", ("approve",)),
    DeliveryAction.REJECT: ("POST", ("reject",)),
    DeliveryAction.PATCH: ("PATCH", ()),
}
_UNDELIVERED = (DeliveryState.WAITING, DeliveryState.DEAD)


class _Refusal(NamedTuple):
    """What an HTTP status means. ``final``: another attempt would end as this one did. ``widely``: other
    messages to the runtime would fare no better now, so they wait with this one."""

    words: str
    final: bool = False
    widely: bool = False


_REFUSALS: tuple[tuple[Collection[int], _Refusal], ...] = (
    ({404, 410}, _Refusal("no longer knows this skill", final=True)),
    ({401, 403}, _Refusal("refuses our authorization", widely=True)),
    (range(300, 400), _Refusal("redirects elsewhere, which is not followed", widely=True)),
    ({429, 502, 503, 504}, _Refusal("takes no messages now", widely=True)),
    ({408, 409, 423, 425, *range(500, 600)}, _Refusal("failed at this message")),
)
_NOT_ACCEPTED = _Refusal("does not accept this message", final=True)

Clock = Callable[[], datetime]
#: From 0 to 1.
Draw = Callable[[], float]


@dataclass
class Progress:
    """How many messages a run delivered, put off, and gave up."""

    delivered: int = 0
    put_off: int = 0
    dead: int = 0

    @property
    def sent(self) -> int:
        return self.delivered + self.put_off + self.dead


class SkillDelivery(NamedTuple):
    """How a skill stands with the runtime. ``state`` is "" when there is nothing to send.

    ``words`` is a sentence; ``at`` is when it arrived, or when the next attempt is due. ``message`` is the
    one that it hangs on: the first undelivered, else the last.
    """

    state: str
    words: str
    at: datetime | None = None
    message: Delivery | None = None


def enqueue(*, skill: Skill, action: str, body: dict[str, Any] | None = None) -> Delivery | None:
    """Put a message about a skill in line; hint the workers after the commit (``tasks.hint_deliveries``).

    Call inside the transaction of the decision, with the skill's row written or locked, so that the messages
    about one skill have the order of the decisions. None without a runtime that knows the skill; with one
    that is switched off the message waits. An approval's body is the text approved, and made here.
    """
    if not skill.runtime_id or runtime_of(tenant=skill.tenant_id) is None:
        return None
    if action == DeliveryAction.APPROVE:
        body = _reviewed(skill)
    message = Delivery(tenant_id=skill.tenant_id, skill=skill, action=action, body=body)
    message.save(force_insert=True)
    return message


def state_of(skill: Skill) -> SkillDelivery:
    """How the skill stands with the runtime. Three queries at most."""
    if not skill.runtime_id:
        return SkillDelivery("", "The agent runtime does not know this skill; nothing is sent.")
    messages = Delivery.objects.for_tenant(skill.tenant_id).filter(skill=skill).order_by("id")
    message = messages.filter(state__in=_UNDELIVERED).first() or messages.last()
    if message is None:
        return SkillDelivery("", "Nothing has been sent to the agent runtime yet.")
    words, at = _told(message)
    return SkillDelivery(message.state, f"{DeliveryAction(message.action).label}: {words}", at, message)


def retry(*, tenant: Tenant, actor: User | None, delivery_id: int) -> Delivery:
    """Put a message that was given up back in line, with fresh attempts. Hint the workers after the commit.

    Raises:
        NotFoundError: no such message here.
        ForbiddenError: the actor reviews nothing here (any more).
        ConflictError: it was not given up.
    """
    with transaction.atomic():
        check_role(tenant=tenant, actor=actor, role=Role.REVIEWER)
        messages = Delivery.objects.for_tenant(tenant).filter(pk=delivery_id)
        won = _revive(messages)
        message = messages.first()
        if message is None:
            raise NotFoundError("There is no such message.")
        if not won:
            raise ConflictError(f"This message is {DeliveryState(message.state).label.lower()}.")
        audit.record_event(
            tenant=tenant,
            actor=actor,
            action="delivery.retried",
            object_type="skill",
            object_id=message.skill_id,
            data={"delivery": message.pk, "action": message.action},
        )
    return message


def retry_all(*, tenant: Tenant, actor: User | None) -> int:
    """Put all messages that were given up back in line. Returns how many; ForbiddenError as ``retry``."""
    with transaction.atomic():
        check_role(tenant=tenant, actor=actor, role=Role.REVIEWER)
        lock_runtime(tenant=tenant)
        count = _revive(Delivery.objects.for_tenant(tenant))
        if count:
            audit.record_event(
                tenant=tenant, actor=actor, action="delivery.retried_all", data={"count": count}
            )
    return count


# -- For the workers


def deliver_due(
    *,
    seconds: float | None = None,
    max_deliveries: int | None = None,
    clock: Clock = timezone.now,
    draw: Draw = random.random,
) -> Progress:
    """Send what is due, all tenants, until nothing is left, ``max_deliveries`` are sent, or time is up.

    At least one message is sent, and one that was begun is finished. Safe in any number of processes at once.
    Call it outside any transaction.
    """
    progress = Progress(dead=_give_up_lost(clock()))
    until = inf if seconds is None else time.monotonic() + seconds
    left = inf if max_deliveries is None else max_deliveries
    while progress.sent < left and (claimed := _claim(clock())) is not None:
        _deliver(*claimed, progress, clock, draw)
        if time.monotonic() >= until:
            break
    if progress.sent:
        logger.info("delivered", extra=vars(progress))
    return progress


def has_due(*, clock: Clock = timezone.now) -> bool:
    """Whether any message could be sent now."""
    return _due(clock()).exists()


def _due(now: datetime) -> QuerySet[Delivery]:
    """Messages whose time has come, that nobody has claimed and that wait for no earlier one."""
    messages = Delivery.objects.across_tenants()
    earlier = messages.filter(skill=OuterRef("skill"), id__lt=OuterRef("id"), state__in=_UNDELIVERED)
    active = Runtime.objects.across_tenants().filter(tenant=OuterRef("tenant"), is_active=True)
    return messages.filter(
        Q(lease_until=None) | Q(lease_until__lt=now),
        ~Exists(earlier),
        Exists(active),
        state=DeliveryState.WAITING,
        next_at__lte=now,
    ).order_by("next_at", "id")


def _claim(now: datetime) -> tuple[Delivery, Runtime] | None:
    """Claim the first message that is due. The attempt counts from here, so a lost worker has used one up."""
    lease = timedelta(seconds=REQUESTS_PER_MESSAGE * settings.OUTBOUND_TIMEOUT_SECONDS + LEASE_MARGIN_SECONDS)
    with transaction.atomic():
        message = _due(now).select_for_update(skip_locked=True, of=("self",)).first()
        runtime = runtime_of(tenant=message.tenant_id) if message is not None else None
        if message is None or runtime is None:
            return None  # nothing is due, or the runtime was removed at this very moment
        message.claim, message.lease_until = secrets.token_hex(8), now + lease
        message.attempts += 1
        message.save(update_fields=["claim", "lease_until", "attempts"])
    return message, runtime


def _give_up_lost(now: datetime) -> int:
    """Give up the messages whose worker was lost at the last attempt, too. Returns how many."""
    lost = Delivery.objects.across_tenants().filter(
        state=DeliveryState.WAITING, attempts__gte=MAX_ATTEMPTS, lease_until__lt=now
    )
    return lost.update(
        state=DeliveryState.DEAD,
        claim="",
        lease_until=None,
        last_error="The worker stopped while it was sent, at the last attempt, too.",
    )


class _Outcome(NamedTuple):
    """``error`` is "" when the message arrived. ``wait``: seconds that the runtime asks for.
    ``replaced``: the runtime's copy was another text and has been written over."""

    error: str = ""
    final: bool = False
    widely: bool = False
    wait: float = 0.0
    replaced: bool = False


_ARRIVED = _Outcome()


def _deliver(message: Delivery, runtime: Runtime, progress: Progress, clock: Clock, draw: Draw) -> None:
    try:
        outcome = _sent(message, runtime, clock)
    except Exception:
        # Whatever is wrong with one message must not hold up the others.
        logger.exception("delivery failed", extra={"delivery": message.pk, "tenant": message.tenant_id})
        outcome = _Outcome("It could not be sent; the server's log says why.")
    now = clock()
    next_at = now + timedelta(seconds=_wait(message.attempts, outcome, draw))
    with transaction.atomic():
        locked = lock_runtime(tenant=message.tenant_id)
        state = _finish(message, outcome, now, next_at)
        if locked is not None and state is not None:
            note_error(locked, outcome.error if outcome.widely else "")
        if outcome.replaced:
            audit.record_event(
                tenant=message.tenant,
                actor=None,
                action="delivery.text_replaced",
                object_type="skill",
                object_id=message.skill_id,
                data={"delivery": message.pk},
                at=now,
            )
    if state == DeliveryState.DELIVERED:
        progress.delivered += 1
    elif state == DeliveryState.DEAD:
        progress.dead += 1
        logger.warning("delivery given up", extra={"delivery": message.pk, "tenant": message.tenant_id})
    else:
        progress.put_off += 1


def _sent(message: Delivery, runtime: Runtime, clock: Clock) -> _Outcome:
    """Send a message, without a transaction; what became of it."""
    method, rest = _PATHS[DeliveryAction(message.action)]
    path = procedure_path(message.skill.runtime_id, *rest)
    ready = _ARRIVED
    try:
        if message.action == DeliveryAction.APPROVE:
            ready = _made_as_reviewed(message, runtime, clock)
            if ready.error:
                return ready
        is_edit = message.action == DeliveryAction.PATCH
        body = patch_body(message.body) if is_edit and message.body else None
        outcome = _judged(ask(runtime, method, path, json=body), clock)
    except TooLargeError as error:
        outcome = _Outcome(str(error))
    except OutboundError as error:
        outcome = _Outcome(str(error), widely=True)
    return outcome._replace(replaced=ready.replaced)


def _made_as_reviewed(message: Delivery, runtime: Runtime, clock: Clock) -> _Outcome:
    """See to it that what is about to be approved there is what was approved here. Raises OutboundError."""
    path = procedure_path(message.skill.runtime_id)
    replaced = False
    while True:
        shown = ask(runtime, "GET", path)
        trouble = _judged(shown, clock)
        if trouble.error:
            return trouble._replace(replaced=replaced)
        try:
            other = differs(parse_lenient(shown.body), message.body)
        except RecordError:
            return _Outcome("The agent runtime shows something else than a skill.", replaced=replaced)
        if not other:
            return _Outcome(replaced=replaced)
        if replaced:
            return _Outcome(
                "The agent runtime holds another text than the approved one and does not take that one.",
                final=True,
            )
        trouble = _judged(ask(runtime, "PATCH", path, json=patch_body(message.body)), clock)
        if trouble.error:
            return trouble
        replaced = True


def _reviewed(skill: Skill) -> dict[str, Any]:
    """The text of a skill as its reviewers see it, as the body of a PATCH."""
    body = patch_of(skill)
    said = skill.details or {}
    if skill.writer_id is None:
        body["properties"] |= {name: said[name] for name in ("content", "context") if said.get(name)}
    body["properties"] |= {"kind": skill.kind, "action_tool": said.get("action_tool")}
    return body


def _judged(answer: Answer, clock: Clock) -> _Outcome:
    """What the runtime's answer means."""
    status = answer.status
    if status // 100 == 2:
        return _ARRIVED
    refusal = next((said for statuses, said in _REFUSALS if status in statuses), _NOT_ACCEPTED)
    return _Outcome(
        error=f"The agent runtime {refusal.words} (HTTP {status}).",
        final=refusal.final,
        widely=refusal.widely,
        wait=min(answer.retry_after(clock()) or 0.0, LONGEST_RETRY_AFTER_SECONDS),
    )


def _wait(attempts: int, outcome: _Outcome, draw: Draw) -> float:
    """Seconds until the next attempt: full jitter, and never sooner than the runtime asks."""
    longest = min(LONGEST_SECONDS, BASE_SECONDS * 2.0 ** min(attempts - 1, 30))
    return max(outcome.wait, draw() * longest)


def _finish(message: Delivery, outcome: _Outcome, now: datetime, next_at: datetime) -> DeliveryState | None:
    """Write down what became of a message; its state, or None when it is no longer ours."""
    values: dict[str, Any] = {
        "claim": "",
        "lease_until": None,
        "last_error": outcome.error[:MAX_ERROR_LENGTH],
    }
    if not outcome.error:
        state = DeliveryState.DELIVERED
        values["delivered_at"] = now
    elif outcome.final or message.attempts >= MAX_ATTEMPTS:
        state = DeliveryState.DEAD
    else:
        state = DeliveryState.WAITING
        values["next_at"] = next_at
    messages = Delivery.objects.for_tenant(message.tenant_id).filter(state=DeliveryState.WAITING)
    if not messages.filter(pk=message.pk, claim=message.claim).update(state=state, **values):
        return None
    if outcome.widely and message.attempts <= TRIES_FOR_ALL:
        # They come back together, the oldest first: one message tries for all of them.
        messages.filter(next_at__lt=next_at, lease_until=None).update(next_at=next_at)
    return state


def _revive(messages: QuerySet[Delivery]) -> int:
    return messages.filter(state=DeliveryState.DEAD).update(
        state=DeliveryState.WAITING, attempts=0, next_at=timezone.now(), last_error=""
    )


def _told(message: Delivery) -> tuple[str, datetime | None]:
    """Where a message stands, in words, and when it arrived or is tried next."""
    if message.state == DeliveryState.DELIVERED:
        return "the agent runtime has it.", message.delivered_at
    if message.state == DeliveryState.DROPPED:
        return "not sent, the agent runtime was removed.", None
    if message.state == DeliveryState.DEAD:
        return f"given up. {message.last_error}", None
    runtime = runtime_of(tenant=message.tenant_id)
    if runtime is None or not runtime.is_active:
        return "waits until the agent runtime is switched on again.", None
    if not message.last_error:
        return "waits to be sent.", message.next_at
    tried = "once" if message.attempts == 1 else f"{message.attempts} times"
    return f"tried {tried}. {message.last_error}", message.next_at
