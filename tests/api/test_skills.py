"""``GET /skills``: approved skills in the order of change, and what is approved no longer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from reviews.core.drafts import PATTERN_SOURCE
from reviews.models import Skill
from reviews.services.skills import approve_skill, edit_skill, reject_skill, retire_skill, undo_skill_decision
from tests.factories import make_member, make_skill

pytestmark = pytest.mark.django_db

PATH = "/api/v1/skills"
DAY = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def rita(tenant):
    return make_member(tenant)


def approved(tenant, rita, n: int = 0, **fields: Any) -> Skill:
    skill = make_skill(tenant, created_at=DAY, changed_at=DAY, **fields)
    done = approve_skill(
        tenant=tenant, actor=rita, skill_id=skill.pk, seen_version=0, at=DAY + timedelta(hours=n)
    )
    return done.skill


def since(moment: datetime) -> str:
    return f"{PATH}?since={quote(moment.isoformat())}"


def ids(response: Any) -> list[int]:
    assert response.status_code == 200, response.content
    return [row["id"] for row in response.json()["skills"]]


def test_an_approved_skill_is_a_memory_entry(api, tenant, rita):
    skill = approved(
        tenant,
        rita,
        episodes=["run-1", "draft:abc"],
        precondition="get_order",
        details={"team": "warehouse", "content": "as it came", "importance": 7.0},
    )
    make_skill(tenant)
    (row,) = api.get(PATH).json()["skills"]
    assert row["entry"] == {
        "layer": "procedural",
        "tenant_id": "acme",
        "content": f"{skill.trigger}\nAction: {skill.action}\nRationale: {skill.rationale}",
        "importance": 7.0,
        "metadata": {
            "team": "warehouse",
            "label": skill.label,
            "steps": [skill.action],
            "context": skill.rationale,
            "source": "phase_12_llm_extractor",
            "kind": "action",
            "trigger": skill.trigger,
            "rationale": skill.rationale,
            "confidence": 0.8,
            "source_episode_ids": ["run-1"],
            "precondition": "get_order",
        },
    }
    assert {name: row[name] for name in ("id", "state", "version", "changed_at", "runtime_id")} == {
        "id": skill.pk, "state": "approved", "version": 1, "changed_at": "2026-03-01T12:00:00Z",
        "runtime_id": None,
    }  # fmt: skip


def test_a_patterns_entry_keeps_the_names_that_symfonic_gives_it(api, tenant, rita):
    details = {"pattern_count": 4, "pattern_name": "call get_order", "context": "Repeated in 4 episodes"}
    skill = approved(
        tenant, rita, source=PATTERN_SOURCE, details=details, episodes=["run-1"], steps=["one", "two"]
    )
    known = api.get(PATH).json()["skills"][0]["entry"]["metadata"]
    assert {**details, "source_episodic_ids": ["run-1"], "steps": ["one", "two"]}.items() <= known.items()
    assert (known["source"], known["trigger"]) == (PATTERN_SOURCE, skill.trigger)
    assert "source_episode_ids" not in known


@pytest.mark.parity
def test_symfonic_reads_the_entries(api, tenant, rita):
    entry = pytest.importorskip("symfonic.memory.models.entry")
    approved(tenant, rita)
    approved(tenant, rita, source=PATTERN_SOURCE)
    for row in api.get(PATH).json()["skills"]:
        read = entry.MemoryEntry(**row["entry"])
        assert (read.layer.value, read.metadata) == ("procedural", row["entry"]["metadata"])


def test_an_edited_skill_is_told_as_people_left_it(api, tenant, rita):
    skill = make_skill(tenant)
    edit_skill(
        tenant=tenant, actor=rita, skill_id=skill.pk, content={"action": "ask a colleague"}, seen_version=0
    )
    approve_skill(tenant=tenant, actor=make_member(tenant), skill_id=skill.pk, seen_version=1)
    known = api.get(PATH).json()["skills"][0]["entry"]
    assert known["metadata"]["steps"] == ["ask a colleague"]
    assert "Action: ask a colleague" in known["content"]


def test_pages_go_on_where_the_last_one_ended(api, tenant, rita):
    # Several of the very same moment among them.
    skills = [approved(tenant, rita, n // 3) for n in range(8)]
    found, path = [], f"{PATH}?limit=3"
    while path:
        answer = api.get(path).json()
        assert len(answer["skills"]) <= 3
        found += [row["id"] for row in answer["skills"]]
        path = f"{PATH}?limit=3&cursor={answer['next_cursor']}" if answer["next_cursor"] else ""
    assert found == [skill.pk for skill in skills]


def test_since_a_moment_only_what_has_changed_and_what_is_gone(api, tenant, rita):
    old, retired, undone, kept = (approved(tenant, rita, n) for n in range(4))
    make_skill(tenant)
    never = make_skill(tenant)
    reject_skill(tenant=tenant, actor=rita, skill_id=never.pk, reason="wrong", seen_version=0)
    retire_skill(tenant=tenant, actor=rita, skill_id=retired.pk, seen_version=1, at=DAY + timedelta(hours=5))
    decision = undone.decisions.get()
    undo_skill_decision(tenant=tenant, actor=rita, decision_id=decision.pk, at=DAY + timedelta(hours=6))
    rows = api.get(since(DAY + timedelta(hours=3))).json()["skills"]
    assert [(row["id"], row["state"], row["entry"] is None) for row in rows] == [
        (kept.pk, "approved", False),
        (retired.pk, "retired", True),
        (undone.pk, "draft", True),
    ]
    assert ids(api.get(PATH)) == [old.pk, kept.pk]


def test_what_was_never_in_force_is_not_told_of(api, tenant, rita):
    """Neither a draft with the first of two approvals, nor one that was rejected after it."""
    waiting, rejected, retired = (make_skill(tenant, "guardrail") for _ in range(3))
    for skill in (waiting, rejected, retired):
        approve_skill(tenant=tenant, actor=rita, skill_id=skill.pk, seen_version=0, at=DAY)
    reject_skill(tenant=tenant, actor=rita, skill_id=rejected.pk, reason="wrong", seen_version=1, at=DAY)
    approve_skill(tenant=tenant, actor=make_member(tenant), skill_id=retired.pk, seen_version=1, at=DAY)
    retire_skill(tenant=tenant, actor=rita, skill_id=retired.pk, seen_version=2, at=DAY)
    assert ids(api.get(since(DAY))) == [retired.pk]


def test_while_nothing_changes_the_answer_is_an_empty_304(api, tenant, rita):
    skill = approved(tenant, rita)
    first = api.get(PATH)
    etag = first.headers["ETag"]
    again = api.get(PATH, headers={"if-none-match": etag})
    assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", etag)
    assert api.get(PATH, headers={"if-none-match": f"W/{etag}"}).status_code == 304
    # Another question is another answer.
    assert api.get(f"{PATH}?limit=3", headers={"if-none-match": etag}).status_code == 200
    retire_skill(tenant=tenant, actor=rita, skill_id=skill.pk, seen_version=1, at=DAY)
    assert ids(api.get(PATH, headers={"if-none-match": etag})) == []


def test_another_tenants_skills_are_not_told_and_not_held(api, other_api, tenant, rita):
    approved(tenant, rita)
    etag = api.get(PATH).headers["ETag"]
    assert ids(other_api.get(PATH, headers={"if-none-match": etag})) == []


@pytest.mark.parametrize(
    "query",
    ["since=yesterday", "since=2026-01-01T00:00:00", "limit=0", "limit=501", "cursor=x", "state=draft"],
)
def test_wrong_parameters_are_named(api, query):
    response = api.get(f"{PATH}?{query}")
    assert response.status_code == 400
    assert list(response.json()["fields"]) == [query.split("=")[0]]


def test_a_longer_page_takes_no_more_queries(api, tenant, rita):
    def queries() -> int:
        with CaptureQueriesContext(connection) as caught:
            api.get(PATH)
        return len(caught)

    approved(tenant, rita)
    few = queries()
    for n in range(5):
        approved(tenant, rita, n, episodes=[f"run-{n}"])
    assert queries() == few
