"""Pulling drafts from a tenant's agent runtime: the list first, then each draft, some at a time."""

from __future__ import annotations

import time
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.utils import timezone

from reviews.formats.errors import RecordError
from reviews.formats.runtime_procedure import memory_entry
from reviews.formats.skill_draft import ReceivedDraft, read_draft
from reviews.models import Job, Runtime, Skill, Tenant
from reviews.models.jobs import JobKind, JobState
from reviews.models.skills import SkillOrigin
from reviews.services.drafts import NewDraft, take_drafts
from reviews.services.errors import InvalidError, NotFoundError
from reviews.services.outbound import Answer, OutboundError, TooLargeError
from reviews.services.runtimes import ask, note_error, procedure_path, runtime_of

#: Drafts a step; fewer when the runtime is slow.
DRAFTS_PER_STEP = 20
SECONDS_PER_STEP = 2.0
#: The list has all drafts in one answer.
MAX_LIST_BYTES = 8 * 1024 * 1024
#: Drafts of one pull, those first that are not here yet; the others have their turn later.
MAX_DRAFTS = 5_000
#: Between two pulls by the schedule. After failures in a row it is this time doubled with each, at most
#: ``LONGEST_WAIT``: a runtime that has been gone for a week is asked twice a day.
PULL_EVERY = timedelta(minutes=10)
LONGEST_WAIT = timedelta(hours=12)
#: The newest pulls that are looked at for failures in a row: after so many the wait is the longest.
_PULLS_SEEN = 8
_MAX_ID_LENGTH = 200

#: Statuses that say something of one draft only. With others the job stops, and tries again or fails.
_GONE = frozenset({404, 410})
_WHOLE_RUNTIME = frozenset({401, 403, 429, 502, 503, 504})
_COUNTED = ("new", "folded", "came_back", "unchanged", "missing", "unreadable")


class Fetched(NamedTuple):
    """What the runtime answered. ``ids`` is the list, None when single drafts were asked for: ``drafts`` then
    has for each id the draft, or why there is none ("missing", "unreadable")."""

    ids: list[str] | None
    drafts: list[tuple[str, ReceivedDraft | str]]
    unreadable: int = 0


def check_parameters(tenant: Tenant, parameters: dict[str, Any]) -> dict[str, Any]:
    """There are none, but there must be somebody to ask. Raises InvalidError."""
    runtime = runtime_of(tenant=tenant)
    if runtime is None or not runtime.is_active:
        raise InvalidError("There is no agent runtime to pull drafts from, or it is switched off.", fields={})
    return {}


def tenants_to_pull(*, now: datetime | None = None) -> list[Tenant]:
    """The tenants whose runtime is switched on and due to be asked for drafts by the schedule."""
    now = now or timezone.now()
    runtimes = Runtime.objects.across_tenants().filter(is_active=True).select_related("tenant")
    return [runtime.tenant for runtime in runtimes.order_by("tenant_id") if _is_due(runtime, now)]


def outside(job: Job) -> Fetched:
    """Ask the runtime for what the next step needs; changes nothing but ``Runtime.last_error``.

    Raises:
        NotFoundError: the runtime was removed or switched off meanwhile.
        OutboundError: it cannot be used; kept with the runtime, too.
    """
    runtime = runtime_of(tenant=job.tenant_id)
    if runtime is None or not runtime.is_active:
        raise NotFoundError("The agent runtime was removed or switched off.")
    try:
        if job.cursor is None:
            return _list(runtime)
        return Fetched(None, _some(runtime, _left(job)))
    except OutboundError as error:
        note_error(runtime, str(error))
        raise


def outside_seconds() -> float:
    """The longest that ``outside`` takes: the request it is at when its time is up is finished."""
    return SECONDS_PER_STEP + float(settings.OUTBOUND_TIMEOUT_SECONDS)


def step(job: Job, fetched: Fetched) -> bool:
    """Take in what was fetched; True when there are drafts left. Safe to repeat, as ``take_drafts`` is."""
    counts = dict.fromkeys(_COUNTED, 0) | (job.result or {})
    if fetched.ids is not None:
        job.cursor, job.done, job.total = {"ids": fetched.ids, "next": 0}, 0, len(fetched.ids)
        counts["unreadable"] += fetched.unreadable
    else:
        drafts = [
            NewDraft(draft.extracted, draft.details, runtime_id)
            for runtime_id, draft in fetched.drafts
            if not isinstance(draft, str)
        ]
        taken = take_drafts(tenant=job.tenant, drafts=drafts, origin=SkillOrigin.RUNTIME)
        whys = [draft for _, draft in fetched.drafts if isinstance(draft, str)]
        for status in [*whys, *(each.status for each in taken)]:
            counts[status] += 1
        job.done += len(fetched.drafts)
        job.cursor = {**job.cursor, "next": job.done}
    job.result = counts
    if _left(job):
        return True
    Runtime.objects.for_tenant(job.tenant_id).update(pulled_at=timezone.now(), last_error="")
    return False


def _is_due(runtime: Runtime, now: datetime) -> bool:
    """Whether no pull is unfinished, and the time since the last has been long enough after failures.

    New settings of the runtime are tried at once.
    """
    pulls = Job.objects.for_tenant(runtime.tenant_id).filter(kind=JobKind.PULL).order_by("-id")
    failures = 0
    for pull in pulls.only("state", "ended_at", "created_at")[:_PULLS_SEEN]:
        if pull.state not in (JobState.DONE, JobState.FAILED, JobState.CANCELLED):
            return False
        if pull.state != JobState.FAILED or pull.created_at < runtime.changed_at:
            break
        if failures == 0:
            last = pull.ended_at or pull.created_at
        failures += 1
    return failures == 0 or now >= last + min(LONGEST_WAIT, PULL_EVERY * 2**failures)


def _left(job: Job) -> list[str]:
    ids: list[str] = job.cursor["ids"]
    return ids[job.cursor["next"] :]


def _list(runtime: Runtime) -> Fetched:
    answer = ask(runtime, "GET", "/procedures/drafts", max_bytes=MAX_LIST_BYTES)
    listed = _usable(answer).json()
    if not isinstance(listed, list):
        raise OutboundError("The agent runtime answers with something else than a list of drafts.")
    found = [item.get("id") if isinstance(item, dict) else None for item in listed]
    ids = [name for name in found if isinstance(name, str) and _is_id(name)]
    unreadable = len(found) - len(ids)
    return Fetched(_new_first(runtime, list(dict.fromkeys(ids))), [], unreadable)


def _new_first(runtime: Runtime, ids: list[str]) -> list[str]:
    if len(ids) <= MAX_DRAFTS:
        return ids
    skills = Skill.objects.for_tenant(runtime.tenant_id).exclude(runtime_id="")
    known = set(skills.values_list("runtime_id", flat=True).iterator())
    return sorted(ids, key=known.__contains__)[:MAX_DRAFTS]


def _is_id(name: str) -> bool:
    # A dot alone would be read as a folder, not as a name, when it stands in a path.
    return 0 < len(name) <= _MAX_ID_LENGTH and name not in {".", ".."}


def _some(runtime: Runtime, ids: list[str]) -> list[tuple[str, ReceivedDraft | str]]:
    until = time.monotonic() + SECONDS_PER_STEP
    found: list[tuple[str, ReceivedDraft | str]] = []
    for runtime_id in ids[:DRAFTS_PER_STEP]:
        found.append((runtime_id, _one(runtime, runtime_id)))
        if time.monotonic() >= until:
            break
    return found


def _one(runtime: Runtime, runtime_id: str) -> ReceivedDraft | str:
    try:
        answer = ask(runtime, "GET", procedure_path(runtime_id))
    except TooLargeError:
        return "unreadable"
    if answer.status in _GONE:
        return "missing"  # decided there since it was listed
    if answer.status in _WHOLE_RUNTIME:
        _usable(answer)
    try:
        return read_draft(memory_entry(_usable(answer).json()))
    except (OutboundError, RecordError):
        return "unreadable"


def _usable(answer: Answer) -> Answer:
    """The answer, when it is a good one. Raises OutboundError."""
    if answer.status // 100 != 2:
        raise OutboundError(f"The agent runtime answers with HTTP {answer.status}.")
    return answer
