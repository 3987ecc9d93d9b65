"""A tenant's skills, ready to be compared with a draft; kept in memory while they stay as they are.

Building the indexes over 5,000 skills takes about a second, looking something up a few milliseconds, so a
process keeps those of the tenants it worked for last. Whether they still hold is told by a cheap query.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from threading import Lock
from typing import Any, Final, Generic, NamedTuple, TypeVar

from django.db.models import Count, Max, Sum

from reviews.core.conflicts import ConflictIndex
from reviews.core.similar import Similar, SimilarIndex
from reviews.core.skill_text import SkillText, canonical_names
from reviews.models import Skill, SkillRevision, Tenant
from reviews.models.skills import SkillState
from reviews.services.policies import current_policy

T = TypeVar("T")

#: Tenants whose indexes a process keeps: with 5,000 skills each takes some 20 MB.
TENANTS_KEPT: Final = 8
#: New skills are collected in small indexes before they make a large one, which takes long to build.
_TAIL: Final = 32
#: The skills that a conflict with would matter: the others do nothing.
LIVE: Final = (SkillState.DRAFT, SkillState.APPROVED)

_TEXT = ("id", "kind", "trigger", "action", "precondition")


class SkillsState(NamedTuple):
    """Equal as long as no skill was added, decided or edited; versions grow with each decision."""

    skills: int
    newest: int
    versions: int
    changed_at: datetime | None
    #: Names the skills are read with; see ``known_tools``.
    tools: frozenset[str]


@dataclass(frozen=True)
class KnownSkills:
    """Of all skills of a tenant: which ones are similar to a draft. Adding makes a new one; never changed.

    ``originals`` has the texts as they came of skills that people have edited since.
    """

    layers: tuple[SimilarIndex, ...]
    tail: tuple[SkillText, ...]
    tools: frozenset[str]
    originals: SimilarIndex

    def nearest(self, skill: SkillText, *, limit: int = 5) -> list[Similar]:
        """See ``SimilarIndex.nearest``."""
        found = [similar for layer in self._all() for similar in layer.nearest(skill, limit=limit)]
        found.sort(key=lambda similar: (not similar.duplicate, -similar.score))
        return found[:limit]

    def duplicate_of(self, skill: SkillText) -> Similar | None:
        """The skill that says nearly the same, or else one that was made of nearly the same."""
        found = [*self.nearest(skill, limit=1), *self.originals.nearest(skill, limit=1)]
        return next((similar for similar in found if similar.duplicate), None)

    def with_skill(self, skill: SkillText) -> KnownSkills:
        tail = (*self.tail, skill)
        if len(tail) < _TAIL:
            return replace(self, tail=tail)
        return replace(self, layers=(*self.layers, SimilarIndex(tail, known_tools=self.tools)), tail=())

    def _all(self) -> Iterable[SimilarIndex]:
        yield from self.layers
        if self.tail:
            yield SimilarIndex(self.tail, known_tools=self.tools)


def skill_text(skill: Skill) -> SkillText:
    """What is compared of a skill."""
    return text_of(str(skill.pk), skill.kind, skill.trigger, skill.action, skill.precondition)


def text_of(
    skill_id: str, kind: str, trigger: str, action: str, precondition: str | list[str] | None
) -> SkillText:
    steps = [precondition] if isinstance(precondition, str) else precondition or ()
    return SkillText(skill_id, kind, trigger, action, tuple(steps))


def known_tools(tenant: Tenant | int) -> frozenset[str]:
    """The tools that the tenant's policy names.

    Only of use for names that are plain words; the others are recognised by their spelling.
    """
    settings = current_policy(tenant=tenant).settings
    return canonical_names([*settings.tool_trigger_keywords, *settings.read_only_tools])


def skills_state(tenant: Tenant | int) -> SkillsState:
    """Two queries."""
    found = Skill.objects.for_tenant(tenant).aggregate(
        skills=Count("id"),
        newest=Max("id", default=0),
        versions=Sum("version", default=0),
        changed_at=Max("changed_at"),
    )
    return SkillsState(**found, tools=known_tools(tenant))


def known_skills(tenant: Tenant) -> KnownSkills:
    """All skills, whatever their state: what was rejected must not come back unnoticed."""
    state = skills_state(tenant)
    kept = _similar.get(tenant.pk, state)
    if kept is None:
        kept = KnownSkills(
            layers=(SimilarIndex(_texts(tenant), known_tools=state.tools),),
            tail=(),
            tools=state.tools,
            originals=SimilarIndex(_originals(tenant), known_tools=state.tools),
        )
        _similar.keep(tenant.pk, state, kept)
    return kept


def keep_known_skills(tenant: Tenant, known: KnownSkills) -> None:
    """For a writer, inside its transaction, who has brought ``known`` up to what it wrote."""
    _similar.keep(tenant.pk, skills_state(tenant), known)


def conflict_index(tenant: Tenant) -> ConflictIndex:
    """The skills that are drafts or approved."""
    state = skills_state(tenant)
    kept = _conflicts.get(tenant.pk, state)
    if kept is None:
        kept = ConflictIndex(
            _texts(tenant, state__in=LIVE), known_tools=state.tools, earlier=_conflicts.last(tenant.pk)
        )
        _conflicts.keep(tenant.pk, state, kept)
    return kept


def _texts(tenant: Tenant, **wanted: Any) -> list[SkillText]:
    rows = Skill.objects.for_tenant(tenant).filter(**wanted).order_by("id").values_list(*_TEXT)
    return [text_of(str(pk), *rest) for pk, *rest in rows.iterator()]


def _originals(tenant: Tenant) -> list[SkillText]:
    rows = SkillRevision.objects.for_tenant(tenant).filter(number=0, skill__writer__isnull=False)
    return [
        text_of(str(pk), kind, content["trigger"], content["action"], content["precondition"])
        for pk, kind, content in rows.order_by("skill_id").values_list("skill_id", "skill__kind", "content")
    ]


class _Kept(Generic[T]):
    """The last used values of a few tenants. Safe in threads: values are never changed."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._values: OrderedDict[int, tuple[SkillsState, T]] = OrderedDict()

    def get(self, tenant_id: int, state: SkillsState) -> T | None:
        with self._lock:
            found = self._values.get(tenant_id)
            if found is None or found[0] != state:
                return None
            self._values.move_to_end(tenant_id)
            return found[1]

    def last(self, tenant_id: int) -> T | None:
        """The value of an earlier state."""
        with self._lock:
            found = self._values.get(tenant_id)
        return found[1] if found is not None else None

    def keep(self, tenant_id: int, state: SkillsState, value: T) -> None:
        with self._lock:
            self._values[tenant_id] = (state, value)
            self._values.move_to_end(tenant_id)
            while len(self._values) > TENANTS_KEPT:
                self._values.popitem(last=False)


_similar: _Kept[KnownSkills] = _Kept()
_conflicts: _Kept[ConflictIndex] = _Kept()
