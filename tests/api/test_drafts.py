"""``POST /drafts``: one, a list or lines of drafts; each is taken in or refused with its spot."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reviews.core.drafts import draft_to_json
from reviews.models import Skill
from reviews.services.skills import approve_skill, reject_skill
from tests.api.test_hostile_bodies import HOSTILE
from tests.factories import make_member
from tests.services.test_drafts import OTHER, REFUND, REWORDED

pytestmark = pytest.mark.django_db

PATH = "/api/v1/drafts"
DRAFT = draft_to_json(REFUND)
ENTRY = {
    "layer": "procedural",
    "tenant_id": "acme",
    "content": "the label printer jams\nAction: restart_printer\nRationale: It helps.",
    "importance": 7.0,
    "metadata": {
        "label": "Auto-learned (recovery): the label printer jams",
        "steps": ["restart_printer"],
        "context": "It helps.",
        "source": "phase_12_llm_extractor",
        "kind": "recovery",
        "trigger": "the label printer jams",
        "rationale": "It helps.",
        "confidence": 0.7,
        "source_episode_ids": ["e-1"],
        "team": {"name": "warehouse"},
    },
}


def test_a_draft_becomes_a_skill_to_review(api, tenant):
    response = api.send(PATH, DRAFT)
    skill = Skill.objects.for_tenant(tenant).get()
    assert response.status_code == 201
    assert response.json() == {
        "status": "new", "id": skill.pk, "state": "draft", "similarity": None, "episodes_added": 2,
    }  # fmt: skip
    assert (skill.origin, skill.trigger, skill.precondition) == ("api", REFUND.trigger, REFUND.precondition)


def test_sending_it_again_is_safe_and_a_near_duplicate_is_folded_in(api):
    first = api.send(PATH, DRAFT).json()
    again = api.send(PATH, DRAFT)
    assert (again.status_code, again.json()["status"], again.json()["id"]) == (200, "unchanged", first["id"])
    folded = api.send(PATH, draft_to_json(REWORDED))
    assert (folded.status_code, folded.json()["status"], folded.json()["id"]) == (200, "folded", first["id"])
    assert folded.json()["similarity"] >= 83


def test_what_was_rejected_says_that_it_is(api, tenant):
    pk = api.send(PATH, DRAFT).json()["id"]
    reject_skill(tenant=tenant, actor=make_member(tenant), skill_id=pk, reason="wrong", seen_version=0)
    assert api.send(PATH, DRAFT).json()["state"] == "rejected"
    back = api.send(PATH, DRAFT | {"source_episode_ids": ["run-8", "run-9"]}).json()
    assert (back["status"], back["state"]) == ("came_back", "draft")


def test_a_memory_entry_is_taken_field_for_field(api, tenant):
    assert api.send(PATH, ENTRY).status_code == 201
    skill = Skill.objects.for_tenant(tenant).get()
    known = ENTRY["metadata"]
    assert (skill.kind, skill.trigger, skill.action) == ("recovery", known["trigger"], "restart_printer")
    assert (skill.label, skill.source, skill.confidence) == (known["label"], known["source"], 0.7)
    assert skill.details == {"team": {"name": "warehouse"}, "content": ENTRY["content"], "importance": 7.0}


def test_a_patterns_entry_needs_neither_kind_nor_trigger(api, tenant):
    entry = {
        "layer": "procedural",
        "metadata": {
            "label": "Auto-learned: call get_order",
            "steps": ["Where is it?", "Find order 7"],
            "context": "Extracted from 4 episodic entries",
            "source": "phase_12_promotion",
            "source_episodic_ids": ["e-1", "e-2"],
            "pattern_count": 4,
            "pattern_name": "call get_order",
        },
    }
    assert api.send(PATH, entry).status_code == 201
    skill = Skill.objects.for_tenant(tenant).get()
    assert (skill.kind, skill.trigger, skill.evidence) == ("action", "call get_order", 2)
    assert (skill.steps, skill.source) == (["Where is it?", "Find order 7"], "phase_12_promotion")
    assert skill.details == {"pattern_count": 4, "pattern_name": "call get_order"}


@pytest.mark.parametrize("lines", [False, True])
def test_bad_rows_do_not_hold_up_good_ones(api, tenant, lines):
    rows: list[Any] = [DRAFT, {**DRAFT, "kind": "habit"}, ENTRY, DRAFT]
    if lines:
        body = "\n".join(json.dumps(row) for row in rows)
        response = api.send(PATH, body, content_type="application/x-ndjson")
    else:
        response = api.send(PATH, rows)
    answer = response.json()
    assert response.status_code == 200
    counts = {name: answer[name] for name in ("new", "folded", "came_back", "unchanged", "invalid")}
    assert counts == {"new": 2, "folded": 0, "came_back": 0, "unchanged": 1, "invalid": 1}
    assert [row["status"] for row in answer["results"]] == ["new", "invalid", "new", "unchanged"]
    refused = answer["results"][1]
    assert refused["pointer"] == "/kind"
    assert refused["message"] == (
        'found the string "habit", expected one of action, guardrail, preflight, recovery'
    )
    assert refused.get("line") == (2 if lines else None)
    assert Skill.objects.for_tenant(tenant).count() == 2


def metadata(**changes: Any) -> dict[str, Any]:
    return {**ENTRY, "metadata": {**ENTRY["metadata"], **changes}}


WRONG: dict[str, tuple[Any, str]] = {
    "nothing": ({}, "/kind"),
    "no object": ("draft", ""),
    "misspelt": ({**DRAFT, "triger": "x"}, "/triger"),
    "blank": ({**DRAFT, "trigger": " \n"}, "/trigger"),
    "missing": ({name: value for name, value in DRAFT.items() if name != "action"}, "/action"),
    "number": ({**DRAFT, "rationale": 5}, "/rationale"),
    "long": ({**DRAFT, "action": "x" * 10_001}, "/action"),
    "confidence": ({**DRAFT, "confidence": 1.1}, "/confidence"),
    "confidence true": ({**DRAFT, "confidence": True}, "/confidence"),
    "precondition": ({**DRAFT, "precondition": {"a": 1}}, "/precondition"),
    "preconditions": ({**DRAFT, "precondition": ["get_order", 7]}, "/precondition/1"),
    "episode": ({**DRAFT, "source_episode_ids": ["a", None]}, "/source_episode_ids/1"),
    "episode's length": ({**DRAFT, "source_episode_ids": ["a" * 201]}, "/source_episode_ids/0"),
    "episodes": ({**DRAFT, "source_episode_ids": ["a"] * 1001}, "/source_episode_ids"),
    "importance": ({**ENTRY, "importance": 11}, "/importance"),
    "state": ({**DRAFT, "state": "approved"}, "/state"),
    "layer": ({**ENTRY, "layer": "semantic"}, "/layer"),
    "no metadata": ({"layer": "procedural"}, "/metadata"),
    "no trigger": ({"layer": "procedural", "metadata": {"steps": ["x"]}}, "/metadata/trigger"),
    "no steps": (metadata(steps=[]), "/metadata/steps"),
    "steps": (metadata(steps="x"), "/metadata/steps"),
    "step": (metadata(steps=["x", {}]), "/metadata/steps/1"),
    "kind": (metadata(kind=["action"]), "/metadata/kind"),
    "entry's confidence": (metadata(confidence="high"), "/metadata/confidence"),
    "label": (metadata(label="x" * 101), "/metadata/label"),
    "count": (metadata(pattern_count=-1), "/metadata/pattern_count"),
    "entry's episodes": (metadata(source_episode_ids="e-1"), "/metadata/source_episode_ids"),
}


@pytest.mark.parametrize(("body", "spot"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_refused_with_its_spot(api, tenant, body, spot):
    response = api.send(PATH, body)
    assert (response.status_code, response.json()["code"], response.json()["pointer"]) == (
        400,
        "invalid",
        spot,
    )
    assert not Skill.objects.for_tenant(tenant).exists()


@pytest.mark.parametrize("raw", [b"", b"{", b'{"kind": "action", "kind": "action"}', b'["\\u0000"]', b"\xff"])
def test_what_is_no_json_is_refused(api, raw):
    response = api.send(PATH, raw)
    assert response.status_code in ((400,) if not raw.startswith(b"[") else (200,))
    if response.status_code == 200:
        assert response.json()["invalid"] == 1


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_body_is_refused_and_leaves_nothing(api, tenant, name):
    response = api.send(PATH, HOSTILE[name])
    assert response.status_code == 400
    assert isinstance(response.json()["pointer"], str)
    assert not Skill.objects.for_tenant(tenant).exists()


@pytest.mark.parametrize(
    ("hostile", "spot"),
    [
        (b"NaN", "/metadata/notes/n"),
        (b"1e999", "/metadata/notes/n"),
        (b"99999999999999999999", "/metadata/notes/n"),
        (b'"a\\u0000b"', "/metadata/notes/n"),
        (b'"\\ud83d"', "/metadata/notes/n"),
        (b'{"\\u0000": 1}', "/metadata/notes/n/\ufffd"),
        (b'{"c": 1, "c": 2}', "/metadata/notes/n/c"),
    ],
)
def test_what_is_hostile_inside_other_metadata_is_refused_with_its_spot(api, tenant, hostile, spot):
    raw = json.dumps(metadata(notes={"n": "HERE"})).encode().replace(b'"HERE"', hostile)
    response = api.send(PATH, raw)
    assert (response.status_code, response.json()["pointer"]) == (400, spot)
    answer = api.send(PATH, b"[" + raw + b"," + json.dumps(DRAFT).encode() + b"]")
    assert (answer.status_code, answer.json().get("new"), answer.json().get("invalid")) == (200, 1, 1), (
        answer.json()
    )
    assert answer.json()["results"][0]["pointer"] == spot
    assert Skill.objects.for_tenant(tenant).count() == 1


def test_metadata_do_not_pass_for_an_entrys_importance(api, tenant):
    """An agent could not read the approved skill."""
    api.send(PATH, metadata(importance="very") | {"importance": 5.0})
    skill = Skill.objects.for_tenant(tenant).get()
    approve_skill(tenant=tenant, actor=make_member(tenant), skill_id=skill.pk, seen_version=0)
    (row,) = api.get("/api/v1/skills").json()["skills"]
    assert row["entry"]["importance"] == 5.0


def test_a_draft_that_is_too_long_is_refused(api):
    response = api.send(PATH, metadata(notes="x" * 1_100_000))
    assert response.status_code == 400


def test_a_key_reaches_its_own_tenants_skills_only(api, other_api, tenant, other_tenant):
    api.send(PATH, DRAFT)
    assert other_api.send(PATH, DRAFT).json()["status"] == "new"
    assert Skill.objects.for_tenant(tenant).count() == Skill.objects.for_tenant(other_tenant).count() == 1


def test_many_at_once_are_all_taken(api, tenant):
    rows = [draft_to_json(OTHER) | {"trigger": f"printer {n} jams"} for n in range(120)]
    assert api.send(PATH, rows).json()["new"] == 120
    assert api.send(PATH, rows).json()["unchanged"] == 120
