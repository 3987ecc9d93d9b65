"""What a skill would have touched among past turns, in words, and how far a replay under way is."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.db.models import Max, Q
from django.urls import reverse
from django.utils import timezone

from reviews.access import TenantRequest
from reviews.models import Job, Skill, SkillReplay
from reviews.models.jobs import JobState
from reviews.models.skills import SkillAction
from reviews.services import jobs
from reviews.services.skill_evidence import ROWS_SHOWN, Replay, replayed_turns
from reviews.views.ages import ago
from reviews.views.skill_words import Tag, counted
from reviews.views.texts import visible

#: What ``?touched=`` lists: of the turns touched all, or only some.
LISTS = {
    "all": "Turns it would have touched",
    "fabricated": "Confirmed fabrications among them",
    "failed": "Turns with a failed call among them",
}


class Number(NamedTuple):
    """A count, and the address that lists what was counted; empty when there is nothing to list."""

    value: str
    url: str = ""
    plural: str = "s"


class TouchedRow(NamedTuple):
    name: str
    url: str
    reason: str
    order: str
    tags: list[Tag]


class ReplayView(NamedTuple):
    """``shown`` is None while no list is asked for. ``percent`` is None while unknown."""

    known: bool = False
    active: bool = False
    words: str = ""
    css: str = ""
    percent: int | None = None
    touched: Number = Number("0")
    fabricated: Number = Number("0")
    failed: Number = Number("0")
    looked_at: str = ""
    order: str = ""
    age: str = ""
    stale: bool = False
    shown: list[TouchedRow] | None = None
    shown_title: str = ""
    shown_cut: bool = False
    problem: str = ""

    @property
    def seen(self) -> str:
        """A fingerprint of what is shown, so that the same is not sent again."""
        return hashlib.sha256(repr(tuple(self)).encode()).hexdigest()[:16]

    @property
    def tell(self) -> str:
        """What is announced of it."""
        if self.known and not self.active:
            return f"Replayed: would have touched {self.touched.value} of {self.looked_at} turns."
        return self.words


def replay_view(
    request: TenantRequest, skill: Skill, found: Replay | None, *, at: str, query: str, problem: str = ""
) -> ReplayView:
    """``at`` is the skill's address. Two queries more where a list is asked for with ``?touched=``."""
    if found is None:
        return ReplayView(problem=problem)
    job = found.job
    if job.state in jobs.ACTIVE:
        words = "Waiting for a worker." if job.state == JobState.WAITING else "Going through past turns."
        percent = min(100, job.done * 100 // job.total) if job.total else None
        return ReplayView(active=True, words=words, percent=percent, problem=problem)
    if job.state != JobState.DONE:
        failed = job.state == JobState.FAILED
        words = (
            "The last replay broke off." if failed else f"The replay is {JobState(job.state).label.lower()}."
        )
        return ReplayView(words=words, css="bad" if failed else "warn", problem=problem)
    return _done(request, skill, job, at=at, query=query, problem=problem)


def _done(request: TenantRequest, skill: Skill, job: Job, *, at: str, query: str, problem: str) -> ReplayView:
    result = job.result or {}

    def number(name: str, asked: str) -> Number:
        count = result[name]
        address = at + "?" + "&".join(filter(None, [query, urlencode({"touched": asked})])) + "#replayed"
        return Number(f"{count:,}", address if count else "", "" if count == 1 else "s")

    asked = request.GET.get("touched", "")
    rows = _rows(request, skill, asked) if asked in LISTS else None
    broken = result["order_broken"]
    return ReplayView(
        known=True,
        touched=number("touched", "all"),
        fabricated=number("fabricated", "fabricated"),
        failed=number("failed", "failed"),
        looked_at=f"{result['looked_at']:,}",
        order=f"In {counted(broken, 'turn')} its order was not kept." if broken else "",
        age=ago(job.ended_at or job.created_at, timezone.now()),
        stale=_text_version(skill) > result["version"],
        shown=rows,
        shown_title=LISTS.get(asked, ""),
        shown_cut=rows is not None and len(rows) == ROWS_SHOWN,
        problem=problem,
    )


def _text_version(skill: Skill) -> int:
    """The version in which the skill's text changed last."""
    edits = skill.decisions.filter(Q(action=SkillAction.EDIT) | Q(undoes__action=SkillAction.EDIT))
    return int(edits.aggregate(last=Max("version", default=0))["last"])


def _rows(request: TenantRequest, skill: Skill, asked: str) -> list[TouchedRow]:
    which: dict[str, Any] = {} if asked == "all" else {asked: True}
    found = replayed_turns(tenant=request.tenant, skill_id=skill.pk, limit=ROWS_SHOWN, **which)
    base = reverse("reviews:turn", args=[request.tenant.slug, 0])[:-2]
    return [_row(row, base) for row in found]


def _row(row: SkillReplay, base: str) -> TouchedRow:
    tags = []
    if row.fabricated:
        tags.append(Tag("fabricated", "fabricated"))
    if row.failed:
        tags.append(Tag("failed", "bad"))
    order = {None: "", True: "order kept", False: "order not kept"}[row.precondition_held]
    return TouchedRow(
        name=visible(row.turn.external_id),
        url=f"{base}{row.turn_id}/",
        reason=visible(row.reason),
        order=order,
        tags=tags,
    )
