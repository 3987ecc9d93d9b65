"""The replay job: which of a tenant's newest turns a skill would have touched, and how those turns went.

It reads turns in steps and changes none of them. Its result holds the counts, ``SkillReplay`` the newest
turns that would have been touched, so that a person can look at them before deciding.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from django.db.models import TextField
from django.db.models.functions import Cast

from reviews.core.replay import PastTurn, ReplayRule, Touch, replay_rule, touches
from reviews.models import Finding, Job, Skill, SkillReplay, Tenant, Turn
from reviews.models.jobs import JobKind
from reviews.models.turns import Label
from reviews.services.errors import InvalidError, NotFoundError
from reviews.services.skill_index import known_tools, skill_text
from reviews.services.turn_walk import Place, Told, failed, told_of, turns_before

#: The newest turns that are looked at unless asked otherwise, and at most.
DEFAULT_TURNS: Final = 10_000
MAX_TURNS: Final = 100_000
#: Turns read at once.
TURNS_AT_ONCE: Final = 500
#: A step ends then, so that whoever waits for its locks never waits long.
SECONDS_PER_STEP: Final = 0.5
#: The newest turns touched that are kept; all are counted.
ROWS_KEPT: Final = 200
_REASON_LENGTH: Final = 200
_WORDS_TOLD: Final = 8

_COUNTS: Final = ("looked_at", "touched", "failed", "fabricated", "order_broken")


class _Found(NamedTuple):
    """A turn touched, and how it went."""

    turn_id: int
    touch: Touch
    failed: bool
    fabricated: bool


def check_parameters(tenant: Tenant, parameters: dict[str, Any]) -> dict[str, Any]:
    """``skill``, the id of a skill, and ``turns``, how many of the newest turns to look at.

    Raises:
        NotFoundError: no such skill here.
        InvalidError: ``details['fields']`` names what is wrong.
    """
    wrong = dict.fromkeys(parameters.keys() - {"skill", "turns"}, "Unknown.")
    skill_id, turns = parameters.get("skill", 0), parameters.get("turns", DEFAULT_TURNS)
    if "skill" not in parameters or not _is_whole(skill_id):
        wrong["skill"] = "Must be the id of a skill."
    if not (_is_whole(turns) and 1 <= turns <= MAX_TURNS):
        wrong["turns"] = f"Must be a whole number from 1 to {MAX_TURNS}."
    if wrong:
        raise InvalidError("This replay cannot be started.", fields=wrong)
    if not Skill.objects.for_tenant(tenant).filter(pk=skill_id).exists():
        raise NotFoundError(f"There is no skill {skill_id} here.")
    # In this order: ``latest_replay`` looks for how it is written down.
    return {"skill": skill_id, "turns": turns}


def step(job: Job) -> bool:
    """Look at turns for a while; see ``jobs.Work``."""
    skill = Skill.objects.for_tenant(job.tenant_id).get(pk=job.parameters["skill"])
    if job.cursor is None or job.cursor["version"] != skill.version:
        # Also when somebody edited it meanwhile: a result is about one text.
        _begin(job, skill)
    rule = replay_rule(skill_text(skill), known_tools(job.tenant_id))
    until = time.monotonic() + SECONDS_PER_STEP
    more = _look_on(job, skill, rule)
    while more and time.monotonic() < until:
        more = _look_on(job, skill, rule)
    if not more:
        job.total = job.done
    return more


def latest_replay(*, tenant: Tenant, skill_id: int) -> Job | None:
    """The replay of this skill that was started last; ``result["version"]`` is the skill's at the time."""
    jobs = Job.objects.for_tenant(tenant).filter(kind=JobKind.REPLAY).order_by("-id")
    asked = jobs.annotate(asked=Cast("parameters", TextField())).filter(
        asked__startswith=f'{{"skill":{int(skill_id)},'
    )
    return asked.first()


# -- One step


def _begin(job: Job, skill: Skill) -> None:
    SkillReplay.objects.for_tenant(job.tenant_id).filter(skill=skill).delete()
    turns = Turn.objects.for_tenant(job.tenant_id).order_by()[: job.parameters["turns"]]
    job.done, job.total = 0, turns.count()
    job.result = {**dict.fromkeys(_COUNTS, 0), "version": skill.version, "kept": 0}
    job.cursor = {"version": skill.version, "after": None}


def _look_on(job: Job, skill: Skill, rule: ReplayRule) -> bool:
    after = job.cursor["after"]
    places = turns_before(
        tenant_id=job.tenant_id,
        after=Place(datetime.fromisoformat(after[0]), after[1]) if after else None,
        limit=min(TURNS_AT_ONCE, job.parameters["turns"] - job.done),
    )
    found = _touched(job.tenant_id, [place.id for place in places], rule)
    counts = Counter(
        looked_at=len(places),
        touched=len(found),
        failed=sum(each.failed for each in found),
        fabricated=sum(each.fabricated for each in found),
        order_broken=sum(each.touch.precondition_held is False for each in found),
    )
    kept = _keep(job, skill, found[: ROWS_KEPT - job.result["kept"]])
    job.result = {
        **{name: job.result[name] + counts[name] for name in _COUNTS},
        "version": skill.version,
        "kept": job.result["kept"] + kept,
    }
    job.done += len(places)
    if places:
        job.cursor = {**job.cursor, "after": [places[-1].occurred_at.isoformat(), places[-1].id]}
    return len(places) == TURNS_AT_ONCE and job.done < job.parameters["turns"]


def _touched(tenant_id: int, turn_ids: Sequence[int], rule: ReplayRule) -> list[_Found]:
    """The turns touched, in the given order."""
    told = told_of(tenant_id=tenant_id, turn_ids=turn_ids, with_draft=rule.kind == "guardrail")
    touched: list[tuple[int, Told, Touch]] = []
    for turn_id in turn_ids:
        turn = told.get(turn_id)
        if turn is not None:
            touch = touches(rule, PastTurn(turn.user_message, turn.draft, turn.calls))
            if touch.touched:
                touched.append((turn_id, turn, touch))
    fabricated = _fabricated(tenant_id, [turn_id for turn_id, _, _ in touched])
    return [
        _Found(turn_id, touch, any(map(failed, turn.calls)), turn_id in fabricated)
        for turn_id, turn, touch in touched
    ]


def _fabricated(tenant_id: int, turn_ids: Sequence[int]) -> set[int]:
    """Of these turns, those in which a reviewer has confirmed a fabrication."""
    if not turn_ids:
        return set()
    whole = Turn.objects.for_tenant(tenant_id).filter(id__in=turn_ids, verdict=Label.FABRICATED)
    single = Finding.objects.for_tenant(tenant_id).filter(turn_id__in=turn_ids, label=Label.FABRICATED)
    return {
        *whole.values_list("id", flat=True),
        *single.order_by().values_list("turn_id", flat=True),
    }


def _keep(job: Job, skill: Skill, found: Sequence[_Found]) -> int:
    SkillReplay.objects.across_tenants().bulk_create(
        [
            SkillReplay(
                tenant_id=job.tenant_id,
                skill=skill,
                turn_id=each.turn_id,
                reason=_reason(each.touch),
                precondition_held=each.touch.precondition_held,
                failed=each.failed,
                fabricated=each.fabricated,
            )
            for each in found
        ]
    )
    return len(found)


def _reason(touch: Touch) -> str:
    parts = []
    if touch.tools:
        parts.append(f"called {', '.join(touch.tools)}")
    if touch.words:
        parts.append(f"speaks of {', '.join(touch.words[:_WORDS_TOLD])}")
    reason = "; ".join(parts)
    return reason if len(reason) <= _REASON_LENGTH else f"{reason[: _REASON_LENGTH - 1]}…"


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
