"""The list of skills: filtered pages by keyset, what comes before and after a skill in it, and its counts.

The most confident come first, of equals the one that came first. Kind and confidence are found through an
index; origin and text are looked at row by row, since a tenant has thousands of skills, not millions.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import Count, Q, QuerySet

from reviews.models import Skill, SkillEvidence, Tenant
from reviews.models.skills import SkillKind, SkillOrigin, SkillState
from reviews.services.errors import InvalidError
from reviews.services.policies import current_policy

PAGE_SIZE = 50
MAX_SEARCH_LENGTH = 200
_SEARCHED = ("trigger", "action", "rationale", "label")
_YES_OR_NO = {"yes": True, "no": False}


@dataclass(frozen=True)
class SkillFilter:
    """What the reader asked to see. Empty means any; ``low`` whether below the tenant's skill confidence."""

    state: str = SkillState.DRAFT.value
    kind: str = ""
    low: bool | None = None
    text: str = ""
    origin: str = ""


@dataclass(frozen=True)
class SkillPage:
    """One page; ``cursor`` leads on when there is more."""

    skills: list[Skill]
    cursor: str


@dataclass(frozen=True)
class SkillCounts:
    """Drafts to decide on by kind, those of ``low`` confidence, and drafts ``folded`` into other skills.

    ``kinds`` has every kind, and only drafts that reach the tenant's skill confidence.
    """

    kinds: dict[str, int]
    low: int
    folded: int

    @property
    def drafts(self) -> int:
        return sum(self.kinds.values())


class _Place(NamedTuple):
    confidence: float
    id: int


def skill_page(*, tenant: Tenant, wanted: SkillFilter, cursor: str = "", size: int = PAGE_SIZE) -> SkillPage:
    """One page, from the beginning or from a cursor. One query, one more behind a cursor, and one for the
    threshold when confidence is asked for.

    Raises:
        InvalidError: the cursor is not one of ours.
    """
    place = decode_cursor(cursor) if cursor else None
    skills = _walk(matching(tenant=tenant, wanted=wanted), place, size + 1)
    return SkillPage(skills[:size], encode_cursor(skills[size - 1]) if len(skills) > size else "")


def neighbour(*, tenant: Tenant, wanted: SkillFilter, skill: Skill, forward: bool = True) -> int | None:
    """The id after (or before) ``skill`` in the filtered order, also when it no longer matches itself."""
    rows = matching(tenant=tenant, wanted=wanted).only("id")
    found = _walk(rows, _Place(skill.confidence, skill.pk), 1, forward=forward)
    return found[0].pk if found else None


def counts(*, tenant: Tenant) -> SkillCounts:
    """The numbers above the list. Three queries."""
    threshold = _threshold(tenant)
    drafts = Skill.objects.for_tenant(tenant).filter(state=SkillState.DRAFT).order_by()
    by_kind = drafts.values_list("kind").annotate(
        enough=Count("id", filter=Q(confidence__gte=threshold)),
        low=Count("id", filter=Q(confidence__lt=threshold)),
    )
    kinds, low = dict.fromkeys(SkillKind.values, 0), 0
    for kind, enough, too_low in by_kind:
        kinds[kind] = enough
        low += too_low
    # The first episode that a draft brought has it. Of what was merged, the target has a copy.
    folded = SkillEvidence.objects.for_tenant(tenant).filter(draft__isnull=False)
    return SkillCounts(kinds, low, folded.exclude(skill__state=SkillState.MERGED).count())


def matching(*, tenant: Tenant, wanted: SkillFilter) -> QuerySet[Skill]:
    """All skills of a filter, in no order."""
    rows = Skill.objects.for_tenant(tenant).filter(state=wanted.state)
    if wanted.kind:
        rows = rows.filter(kind=wanted.kind)
    if wanted.low is not None:
        threshold = _threshold(tenant)
        low = Q(confidence__lt=threshold)
        rows = rows.filter(low if wanted.low else Q(confidence__gte=threshold))
    if wanted.origin:
        rows = rows.filter(origin=wanted.origin)
    if wanted.text:
        found = Q()
        for column in _SEARCHED:
            found |= Q(**{f"{column}__icontains": wanted.text})
        rows = rows.filter(found)
    return rows


def in_order(rows: QuerySet[Skill], *, forward: bool = True) -> QuerySet[Skill]:
    """The order of the list, or the opposite."""
    return rows.order_by("-confidence", "id") if forward else rows.order_by("confidence", "-id")


def parse_skill_filter(values: Mapping[str, str]) -> SkillFilter:
    """Read a filter from query parameters; ``low`` is "yes" or "no".

    Raises:
        InvalidError: ``details['fields']`` names each parameter that is wrong.
    """
    wrong: dict[str, str] = {}

    def one_of(name: str, allowed: Any, default: str = "") -> str:
        value = values.get(name, "") or default
        if value and value not in allowed:
            wrong[name] = f"Must be one of {', '.join(allowed)}."
        return value

    text = values.get("text", "").strip()
    if len(text) > MAX_SEARCH_LENGTH or "\0" in text:
        wrong["text"] = f"At most {MAX_SEARCH_LENGTH} characters, and no NUL."
    found = SkillFilter(
        state=one_of("state", SkillState.values, SkillState.DRAFT.value),
        kind=one_of("kind", SkillKind.values),
        low=_YES_OR_NO.get(one_of("low", _YES_OR_NO)),
        text=text,
        origin=one_of("origin", SkillOrigin.values),
    )
    if wrong:
        raise InvalidError("Some filters cannot be used.", fields=wrong)
    return found


# -- Order and keyset


def _walk(rows: QuerySet[Skill], place: _Place | None, most: int, *, forward: bool = True) -> list[Skill]:
    """Up to ``most`` skills in order, from the beginning or from behind a place.

    Those behind a place are two ranges of the index, as in the queue of turns: the same confidence and a
    further id, then the further confidences. The second query is made only when the first leaves room.
    """
    rows = in_order(rows, forward=forward)
    if place is None:
        return list(rows[:most])
    lower, further = ("lt", "gt") if forward else ("gt", "lt")
    found = list(rows.filter(confidence=place.confidence, **{f"id__{further}": place.id})[:most])
    if len(found) < most:
        found += rows.filter(**{f"confidence__{lower}": place.confidence})[: most - len(found)]
    return found


def encode_cursor(skill: Skill) -> str:
    """An opaque mark of a skill's place in the list."""
    return urlsafe_b64encode(json.dumps([skill.confidence, skill.pk]).encode()).decode().rstrip("=")


def decode_cursor(cursor: str) -> _Place:
    """The place that ``encode_cursor`` marked. Raises InvalidError for anything else."""
    try:
        confidence, skill_id = json.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        if type(confidence) is not float or not 0 <= confidence <= 1:
            raise ValueError
        if type(skill_id) is not int or not 0 < skill_id < 2**63:
            raise ValueError
    except (ValueError, TypeError, RecursionError):
        raise InvalidError(
            "The cursor is not valid.", fields={"cursor": "Use the cursor of the page before."}
        ) from None
    return _Place(confidence, skill_id)


def _threshold(tenant: Tenant) -> float:
    return current_policy(tenant=tenant).settings.skill_confidence_threshold
