"""The extraction job: drafts of skills from a tenant's turns, by the policy in force.

Reading the turns and asking a model happen outside any transaction; taking the drafts in is one step. The
run's result says what it did and, when there are no drafts, why. Nothing of it comes into force by itself.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final, NamedTuple

from django.conf import settings as django_settings
from django.db.models import Sum
from django.utils import timezone

from reviews.core.drafts import MemoryEntry
from reviews.core.episodes import Episode, eligible_episodes
from reviews.core.extraction import Extraction, ExtractionOutcome
from reviews.core.model_extractor import ModelExtractor
from reviews.core.pattern_extractor import PatternExtractor
from reviews.core.settings import TenantSettings
from reviews.models import DailyCount, Job, Skill, Tenant, Turn
from reviews.models.jobs import JobKind, JobState
from reviews.models.skills import SkillOrigin, SkillState
from reviews.services.drafts import NewDraft, Taken, take_drafts
from reviews.services.errors import InvalidError
from reviews.services.model_providers import cost_of, longest_seconds, provider_of
from reviews.services.policies import current_policy
from reviews.services.skill_listing import memory_entry
from reviews.services.turn_walk import Place, told_of, turns_before

#: The newest turns that a run looks at: a month of a tenant that has 300 a day.
MAX_TURNS: Final = 10_000
#: Turns read at once; also how often the progress moves.
TURNS_AT_ONCE: Final = 500
#: The newest skills that a model is told of; it has room for some fifty labels.
SKILLS_TOLD: Final = 100
#: New skills that a result names.
SKILLS_NAMED: Final = 100
#: What reading takes, and the rest is for a machine that is busy.
_READING_SECONDS: Final = 120.0

#: The outcomes in words, for people.
OUTCOME_WORDS: Final[dict[ExtractionOutcome, str]] = {
    "found": "Found drafts",
    "nothing": "Nothing to propose",
    "timeout": "The model took too long",
    "malformed": "The model answered something else than was asked for",
    "refused": "The model refused",
    "truncated": "The model's answer was cut short",
    "too_large": "The model wrote too much",
    "failed": "The model could not be asked",
    "no_model": "The policy asks for a model, and none is set up",
}
#: A run that ended so has looked at what there was; after any other it is tried again the next night.
_SETTLED: Final = ("found", "nothing", "no_model")


class Run(NamedTuple):
    """What a run has extracted, by which policy, and how many turns there were when it began to read: what
    was published or arrived since, while a model thought, is for the next run."""

    extraction: Extraction
    by_model: bool
    policy: int
    turns: int


def check_parameters(tenant: Tenant, parameters: dict[str, Any]) -> dict[str, Any]:
    """The job takes none. Raises InvalidError."""
    if parameters:
        unknown = dict.fromkeys(parameters, "Unknown.")
        raise InvalidError("An extraction takes no parameters.", fields=unknown)
    return {}


def outside_seconds() -> float:
    """How long ``outside`` may take."""
    return _READING_SECONDS + longest_seconds(django_settings)


def outside(job: Job) -> Run:
    """Read the turns and extract: no transaction, nothing written but how far it is."""
    policy = current_policy(tenant=job.tenant_id)
    by_model = policy.settings.phase_12_use_llm_extractor
    turns = _turn_count(job.tenant_id)
    extraction = (_ask_model if by_model else _count_patterns)(job, policy.settings)
    return Run(extraction, by_model, policy.number, turns)


def step(job: Job, run: Run) -> bool:
    """Take the drafts in and say how the run went; see ``jobs.Work``."""
    extraction = run.extraction
    taken = take_drafts(
        tenant=job.tenant,
        drafts=[NewDraft(extracted) for extracted in extraction.drafts],
        origin=SkillOrigin.RUN,
    )
    job.result = {
        "extractor": "model" if run.by_model else "pattern",
        "policy": run.policy,
        "outcome": extraction.outcome,
        "words": OUTCOME_WORDS[extraction.outcome],
        "detail": extraction.detail,
        "scanned": extraction.scanned,
        "emitted": extraction.emitted,
        **_counts(taken),
        **_cost(extraction),
        "retry_after": extraction.retry_after,
        "turns": run.turns,
    }
    job.total = job.done
    return False


def episodes_of(
    *,
    tenant: Tenant | int,
    limit: int,
    since: datetime | None = None,
    with_answers: bool = False,
    with_values: bool = True,
) -> Iterator[Episode]:
    """The newest ``limit`` turns that occurred at ``since`` or later, the newest first, as episodes.

    A turn's episode is what the user said and the calls that followed; its id is the sender's own. Nobody
    tells that of a turn without a user's message. ``with_answers``: what the assistant answered follows as an
    episode of its own, without calls, so that they do not count twice.
    """
    tenant_id = tenant if isinstance(tenant, int) else tenant.pk
    after: Place | None = None
    left = limit
    while left > 0:
        places = turns_before(tenant_id=tenant_id, after=after, limit=min(left, TURNS_AT_ONCE), since=since)
        if not places:
            return
        yield from _episodes(tenant_id, places, with_answers=with_answers, with_values=with_values)
        left -= len(places)
        after = places[-1]


def tenants_to_extract() -> list[Tenant]:
    """The tenants with turns, or a policy, that no extraction has seen."""
    return [tenant for tenant in Tenant.objects.order_by("id") if _has_news(tenant)]


# -- The two extractors


def _count_patterns(job: Job, settings: TenantSettings) -> Extraction:
    extractor = PatternExtractor(
        clock=timezone.now,
        min_pattern_count=settings.promotion_min_pattern_count,
        recency_days=settings.promotion_recency_days,
        max_drafts=settings.promotion_max_drafts_per_run,
        promote_assistant_content=settings.phase_12_promote_assistant_content,
        action_type_from_tool_calls=settings.phase_12_action_type_from_tool_calls,
    )
    return extractor.run(list(_read(job, settings, with_values=False)))


def _ask_model(job: Job, settings: TenantSettings) -> Extraction:
    provider = provider_of(django_settings)
    most = settings.phase_12_llm_max_episodes_per_run
    extractor = ModelExtractor(
        provider,
        clock=timezone.now,
        max_episodes=most,
        max_drafts=settings.phase_12_llm_max_drafts_per_run,
        recency_days=settings.promotion_recency_days,
        promote_assistant_content=settings.phase_12_promote_assistant_content,
        timeout_seconds=longest_seconds(django_settings),
    )
    if provider is None:
        return asyncio.run(extractor.run([]))
    # Read until the model has as many as it is shown; most turns are eligible.
    episodes = list(islice(_eligible(job, settings), most))
    return asyncio.run(extractor.run(episodes, _known_skills(job.tenant)))


def _eligible(job: Job, settings: TenantSettings) -> Iterator[Episode]:
    now = timezone.now()
    for episode in _read(job, settings, with_values=True):
        yield from eligible_episodes(
            [episode],
            now=now,
            recency_days=settings.promotion_recency_days,
            promote_assistant_content=settings.phase_12_promote_assistant_content,
        )


def _read(job: Job, settings: TenantSettings, *, with_values: bool) -> Iterator[Episode]:
    """The episodes of a run, with the job's progress counted in turns."""
    since = timezone.now() - timedelta(days=settings.promotion_recency_days)
    recent = Turn.objects.for_tenant(job.tenant_id).filter(occurred_at__gte=since)
    total = recent.order_by()[:MAX_TURNS].count()
    _tell(job, 0, total)
    seen: set[str] = set()
    for episode in episodes_of(
        tenant=job.tenant_id,
        limit=MAX_TURNS,
        since=since,
        with_answers=settings.phase_12_promote_assistant_content,
        with_values=with_values,
    ):
        seen.add(episode.id)
        if len(seen) % TURNS_AT_ONCE == 0:
            _tell(job, len(seen), total)
        yield episode
    _tell(job, len(seen), total)


def _tell(job: Job, done: int, total: int) -> None:
    """Show how far a run is, unless its claim is gone."""
    mine = Job.objects.for_tenant(job.tenant_id).filter(pk=job.pk, state=JobState.RUNNING, claim=job.claim)
    mine.update(done=done, total=total)


def _episodes(
    tenant_id: int, places: list[Place], *, with_answers: bool, with_values: bool
) -> Iterator[Episode]:
    ids = [place.id for place in places]
    told = told_of(
        tenant_id=tenant_id,
        turn_ids=ids,
        with_draft=with_answers,
        with_values=with_values,
        with_attributes=True,
    )
    names = dict(Turn.objects.for_tenant(tenant_id).filter(id__in=ids).values_list("id", "external_id"))
    for place in places:
        if place.id not in told:
            continue
        turn = told[place.id]
        yield Episode(
            id=names[place.id],
            content=turn.user_message,
            speaker="user" if turn.user_message.strip() else None,
            occurred_at=place.occurred_at,
            tool_calls=turn.calls,
            metadata=turn.attributes,
        )
        if with_answers and turn.draft.strip():
            yield Episode(names[place.id], turn.draft, "assistant", place.occurred_at)


def _known_skills(tenant: Tenant) -> list[MemoryEntry]:
    """What a model need not propose again: rejected skills, too."""
    states = (SkillState.APPROVED, SkillState.DRAFT, SkillState.REJECTED)
    skills = Skill.objects.for_tenant(tenant).filter(state__in=states).order_by("-changed_at", "-id")
    return [
        MemoryEntry(**memory_entry(skill, tenant_slug=tenant.slug, episodes=()))
        for skill in skills[:SKILLS_TOLD]
    ]


# -- The result


def _counts(taken: list[Taken]) -> dict[str, Any]:
    counted = Counter(each.status for each in taken)
    return {
        "kept": counted["new"],
        "folded": counted["folded"],
        "came_back": counted["came_back"],
        "unchanged": counted["unchanged"],
        "skills": [each.skill.pk for each in taken if each.status == "new"][:SKILLS_NAMED],
    }


def _cost(extraction: Extraction) -> dict[str, Any]:
    use = extraction.cost
    return {
        "model": use.model if use else None,
        "tokens_in": use.tokens_in if use else None,
        "tokens_out": use.tokens_out if use else None,
        "cost": cost_of(use, django_settings),
    }


def _turn_count(tenant_id: int) -> int:
    counts = DailyCount.objects.for_tenant(tenant_id).filter(name="turns")
    return counts.aggregate(total=Sum("count"))["total"] or 0


def _has_news(tenant: Tenant) -> bool:
    jobs = Job.objects.for_tenant(tenant).filter(kind=JobKind.EXTRACT, state=JobState.DONE)
    last = jobs.order_by("-id").first()
    turns = _turn_count(tenant.pk)
    if last is None:
        return turns > 0
    result = last.result or {}
    return (
        result.get("turns") != turns
        or result.get("policy") != current_policy(tenant=tenant).number
        or result.get("outcome") not in _SETTLED
    )
