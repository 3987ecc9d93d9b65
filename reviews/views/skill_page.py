"""The page of one skill, or its fragment for HTMX: the rule, what it rests on, what may be done."""

from __future__ import annotations

from typing import Any, NamedTuple

from django.forms import BoundField
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone

from reviews.access import TenantRequest
from reviews.core.settings import TenantSettings
from reviews.htmx import render_page, wants_fragment
from reviews.models import Skill, SkillDecision
from reviews.models.runtimes import DeliveryState
from reviews.models.skills import RejectReason, SkillState
from reviews.models.tenants import Role
from reviews.services import skill_evidence
from reviews.services.approvals import approval_by, approver_counts, needs_two
from reviews.services.errors import NotFoundError
from reviews.services.evidence import CallView
from reviews.services.policies import current_policy
from reviews.services.skill_evidence import SkillPage, Source
from reviews.services.skill_undo import last_undoable
from reviews.services.skills import MERGE_TARGETS
from reviews.skill_forms import RejectForm, SkillForm, lines_of
from reviews.views.ages import ago
from reviews.views.claims import verdict_name
from reviews.views.skill_others import conflict_rows, similar_rows
from reviews.views.skill_replay import replay_view
from reviews.views.skill_words import (
    KIND_NAMES,
    Tag,
    confidence_of,
    counted,
    delivery_name,
    delivery_tag,
    details_of,
    edits_of,
    history_of,
    is_low,
    origin_of,
    parts_of,
    source_of,
    state_tag,
)
from reviews.views.skills import query_of
from reviews.views.texts import visible

#: Rows of each field of the editor, and what is said under it.
FIELDS = (
    ("trigger", 2, ""),
    ("precondition", 2, "What has to be done before, one step a line; may be empty."),
    ("action", 3, ""),
    ("rationale", 2, ""),
    ("steps", 4, "Examples of what was done, one a line."),
)
#: Characters of a source turn's texts that are shown; the turn's own page has all of them.
SOURCE_TEXT = 2_000


class SourceView(NamedTuple):
    """A turn that the skill rests on. ``url`` is empty when it is none of ours."""

    name: str
    url: str
    agent: str
    age: str
    user: str
    draft: str
    calls: list[CallView]
    failed: int
    verdict: Tag
    folded: str


class DeliveryRow(NamedTuple):
    pk: int
    name: str
    state: Tag
    when: str
    trouble: str
    may_retry: bool


class Last(NamedTuple):
    """The reader's last decision, for the line that offers its undo."""

    pk: int
    words: str
    name: str
    url: str
    skill_id: int


def show_skill(
    request: TenantRequest,
    skill_id: int,
    *,
    problem: str = "",
    status: int = 200,
    push_url: str = "",
    last: SkillDecision | None = None,
    opened: str = "",
    form: SkillForm | RejectForm | None = None,
) -> HttpResponse:
    """The skill's page or fragment. ``opened`` names the form that was refused and stands open, as ``form``
    with what was typed; ``last`` saves looking for the reader's last decision."""
    tenant, all_sources = request.tenant, request.GET.get("turns") == "all"
    try:
        page = skill_evidence.page_of(tenant=tenant, skill_id=skill_id, all_sources=all_sources)
    except NotFoundError as error:
        raise Http404 from error
    skill = page.skill
    settings = current_policy(tenant=tenant).settings
    may_review = request.membership.may(Role.REVIEWER)
    base = reverse("reviews:skill", args=[tenant.slug, 0])[:-2]
    if last is None and may_review:
        last = last_undoable(tenant=tenant, actor=request.user)
    context: dict[str, Any] = {
        "page": "skills",
        "skill": skill,
        "at": f"{base}{skill.pk}/",
        "query": query_of(request),
        "kind": KIND_NAMES[skill.kind],
        "state": state_tag(skill),
        "low": skill.state == SkillState.DRAFT and is_low(skill, settings),
        "threshold": settings.skill_confidence_threshold,
        "confidence": confidence_of(skill),
        "evidence": counted(page.episodes, "turn"),
        "parts": parts_of(skill),
        "steps": [] if _only_repeats(skill) else lines_of(skill.steps),
        "origin": origin_of(skill),
        "source": source_of(skill),
        "age": ago(skill.created_at, timezone.now()),
        "writer": skill.writer.display_name if skill.writer else "",
        "details": details_of(skill),
        "merged_into": skill.merged_into,
        "merged_url": f"{base}{skill.merged_into_id}/",
        "is_draft": skill.state == SkillState.DRAFT,
        "may_review": may_review,
        "may_retire": skill.state == SkillState.APPROVED,
        "problem": problem,
        "opened": opened,
        "similar": similar_rows(skill, page.similar, base),
        "targets": similar_rows(
            skill, [each for each in page.similar if each.skill.state in MERGE_TARGETS], base
        ),
        "conflicts": conflict_rows(skill, page.conflicts, base),
        "turns": [_source(request, source) for source in page.sources],
        "more_turns": page.episodes > len(page.sources),
        "all_turns": all_sources,
        "replay": replay_view(request, skill, page.replay, at=f"{base}{skill.pk}/", query=query_of(request)),
        "deliveries": _deliveries(page, may_review),
        "edits": edits_of(page.revisions),
        "history": history_of(page.decisions, request.membership),
        "last": _last(last, base) if last is not None else None,
        "reasons": RejectReason.choices,
        "reject_form": form if isinstance(form, RejectForm) else RejectForm(),
        "fields": _fields(form if isinstance(form, SkillForm) else None, skill),
        "typed_text": request.POST.get("text", "") if problem else "",
    }
    if context["is_draft"]:
        context |= _approval(request, skill, settings)
    return render_page(
        request,
        "reviews/skills/skill.html",
        context,
        fragment="reviews/skills/_skill.html",
        status=status,
        push_url=push_url,
    )


def show_replay(
    request: TenantRequest, skill_id: int, *, seen: str = "", problem: str = "", status: int = 200
) -> HttpResponse:
    """The replay alone, for HTMX; 204 when it reads as what was ``seen``."""
    skill = found_skill(request, skill_id)
    at = reverse("reviews:skill", args=[request.tenant.slug, skill.pk])
    if not wants_fragment(request):
        return redirect(at)
    found = skill_evidence.replay_of(tenant=request.tenant, skill=skill)
    shown = replay_view(request, skill, found, at=at, query=query_of(request), problem=problem)
    if seen and seen == shown.seen:
        return HttpResponse(status=204)
    context = {
        "replay": shown,
        "at": at,
        "query": query_of(request),
        "may_review": request.membership.may(Role.REVIEWER),
    }
    return render_page(
        request,
        "reviews/skills/skill.html",
        context,
        fragment="reviews/skills/_replay.html",
        status=status,
    )


def show_end_of_list(request: TenantRequest) -> HttpResponse:
    last = None
    if request.membership.may(Role.REVIEWER):
        last = last_undoable(tenant=request.tenant, actor=request.user)
    base = reverse("reviews:skill", args=[request.tenant.slug, 0])[:-2]
    context = {
        "page": "skills",
        "query": query_of(request),
        "last": _last(last, base) if last is not None else None,
    }
    return render_page(
        request,
        "reviews/skills/end_of_list.html",
        context,
        fragment="reviews/skills/_end_of_list.html",
    )


def found_skill(request: TenantRequest, skill_id: int) -> Skill:
    skill = Skill.objects.for_tenant(request.tenant).filter(pk=skill_id).first()
    if skill is None:
        raise Http404
    return skill


# -- What may be done


def _approval(request: TenantRequest, skill: Skill, settings: TenantSettings) -> dict[str, str]:
    """How the approvals stand, what the reader's would do, and why it may not be given."""
    counts = approver_counts(tenant=request.tenant, skill=skill)
    approval = approval_by(skill, request.user, settings, counts)
    first = skill.first_approver.display_name if skill.first_approver else ""
    if first and counts:
        standing = f"First approval: {first}, {skill.first_approved_at:%-d %b, %H:%M}. Needs a second person."
    elif first:
        standing = f"{first} approved it, but may no longer review here: that approval does not count."
    elif needs_two(skill, settings):
        standing = "Needs the approval of two people."
    elif not approval.completes and not first:
        standing = "You wrote this text or a part of it, so your approval is the first of two."
    else:
        standing = ""
    completes_second = approval.completes and counts and bool(first)
    words = "Approve as the second" if completes_second else "Approve"
    return {
        "standing": standing,
        "why_not": approval.refusal,
        "approve_words": words if approval.completes else "Approve as the first of two",
        "first_approver": first,
    }


def _fields(form: SkillForm | None, skill: Skill) -> list[tuple[BoundField, int, str]]:
    """The editor's fields; steps that only repeat the action follow it by themselves."""
    form = form or SkillForm(initial=SkillForm.initial_from(skill))
    hidden = {"steps"} if _only_repeats(skill) else set()
    return [(form[name], rows, hint) for name, rows, hint in FIELDS if name not in hidden]


def _only_repeats(skill: Skill) -> bool:
    return not skill.steps or skill.steps == [skill.action]


# -- What it rests on and what became of it


def _source(request: TenantRequest, source: Source) -> SourceView:
    turn = source.turn
    return SourceView(
        name=visible(turn.external_id if turn else source.episode),
        url=reverse("reviews:turn", args=[request.tenant.slug, turn.pk]) if turn else "",
        agent=visible(turn.agent) if turn else "",
        age=ago(turn.occurred_at, timezone.now()) if turn else "",
        user=_cut(source.user_message),
        draft=_cut(source.draft),
        calls=source.calls,
        failed=sum(call.ok is False for call in source.calls),
        verdict=Tag(verdict_name(turn.verdict, has_findings=bool(turn.kinds)), turn.verdict)
        if turn and turn.verdict
        else Tag(""),
        folded=_folded(source),
    )


def _folded(source: Source) -> str:
    """Which draft brought the episode, when it was folded in."""
    if source.folded is None:
        return ""
    label = visible(str(source.folded.get("label") or source.folded.get("trigger") or "a draft"))
    alike = f", {source.similarity:.0f} % alike" if source.similarity is not None else ""
    return f"Brought by “{label}”, which was folded into this one{alike}."


def _cut(text: str) -> str:
    return text if len(text) <= SOURCE_TEXT else f"{text[:SOURCE_TEXT]}…"


def _deliveries(page: SkillPage, may_review: bool) -> list[DeliveryRow]:
    return [
        DeliveryRow(
            pk=delivery.pk,
            name=delivery_name(delivery),
            state=delivery_tag(delivery),
            when=ago(delivery.delivered_at or delivery.created_at, timezone.now()),
            trouble=delivery.last_error,
            may_retry=may_review and delivery.state == DeliveryState.DEAD,
        )
        for delivery in page.deliveries
    ]


def _last(decision: SkillDecision, base: str) -> Last:
    return Last(
        pk=decision.pk,
        words=decision.summary,
        name=visible(decision.skill.label),
        url=f"{base}{decision.skill_id}/",
        skill_id=decision.skill_id,
    )
