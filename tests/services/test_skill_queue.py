"""Pages of skills are complete, in order and without repetition, whatever is filtered."""

from __future__ import annotations

import random
import re
from base64 import urlsafe_b64encode
from itertools import combinations

import pytest
from django.db import connection

from reviews.models import Skill, SkillEvidence
from reviews.models.skills import SkillKind, SkillOrigin, SkillState
from reviews.services import skills
from reviews.services.errors import InvalidError
from reviews.services.publishing import publish_settings
from reviews.services.skill_queue import (
    SkillCounts,
    SkillFilter,
    counts,
    decode_cursor,
    encode_cursor,
    neighbour,
    parse_skill_filter,
    skill_page,
)
from tests.factories import make_member, make_skill, make_tenant

THRESHOLD = 0.5
STATES = list(SkillState.values)


@pytest.fixture
def crowd(tenant, other_tenant):
    """150 skills of all kinds, states and origins, many of the same confidence; and another tenant's."""
    rng = random.Random(5)
    publish_settings(tenant=tenant, author=None, values={"skill_confidence_threshold": THRESHOLD})
    end = make_skill(tenant, confidence=0.5)
    for n in range(149):
        state = rng.choice(["draft", "draft", *STATES])
        make_skill(
            tenant,
            rng.choice(SkillKind.values),
            state=state,
            merged_into=end if state == "merged" else None,
            confidence=rng.choice([0.0, 0.3, 0.499, 0.5, 0.7, 0.7, 0.7, 1.0]),
            origin=rng.choice(SkillOrigin.values),
            trigger=rng.choice(["a Refund is asked for", "an order is late", f"case {n}"]),
            rationale=rng.choice(["100% of them failed", "refunds were wrong", "no reason"]),
        )
    for _ in range(10):
        make_skill(other_tenant, confidence=0.7)
    return tenant


def oracle(tenant, wanted):
    """The ids of a filter in its order, looked for one by one."""
    text = wanted.text.lower()
    found = [
        skill
        for skill in Skill.objects.for_tenant(tenant)
        if skill.state == wanted.state
        and (not wanted.kind or skill.kind == wanted.kind)
        and (wanted.low is None or wanted.low == (skill.confidence < THRESHOLD))
        and (not wanted.origin or skill.origin == wanted.origin)
        and any(text in part.lower() for part in (skill.trigger, skill.action, skill.rationale, skill.label))
    ]
    return [skill.pk for skill in sorted(found, key=lambda skill: (-skill.confidence, skill.pk))]


def pages(tenant, wanted, size):
    """All pages from the beginning, by following the cursors."""
    found, cursor = [], ""
    for _ in range(200):
        page = skill_page(tenant=tenant, wanted=wanted, cursor=cursor, size=size)
        assert len(page.skills) <= size
        found.append(page)
        cursor = page.cursor
        if not cursor:
            return found
    raise AssertionError("the cursors lead nowhere")


def ids_of(found):
    return [skill.pk for page in found for skill in page.skills]


def filters():
    """Each filter alone, each pair of them, and all at once."""
    single = {"kind": "guardrail", "low": False, "text": "refund", "origin": "api"}
    chosen = [{}, *({name: value} for name, value in single.items())]
    chosen += [{a: single[a], b: single[b]} for a, b in combinations(single, 2)]
    chosen += [single, {"low": True}, {"low": True, "kind": "action"}, {"text": "100%"}, {"text": "nowhere"}]
    return chosen


# -- Pages


@pytest.mark.parametrize("state", STATES)
def test_pages_hold_every_matching_skill_once_and_in_order(crowd, state):
    sizes, some = random.Random(3), 0
    for chosen in filters():
        wanted = SkillFilter(state=state, **chosen)
        expected = oracle(crowd, wanted)
        some += bool(expected)
        assert ids_of(pages(crowd, wanted, sizes.choice([1, 3, 7, 20, 200]))) == expected, wanted
    assert some > 5, "most of these filters must find something, or nothing is tried"


def test_a_full_last_page_has_no_cursor(tenant):
    for _ in range(6):
        make_skill(tenant)
    assert [len(page.skills) for page in pages(tenant, SkillFilter(), 3)] == [3, 3]
    assert [len(page.skills) for page in pages(tenant, SkillFilter(), 4)] == [4, 2]
    assert [len(page.skills) for page in pages(tenant, SkillFilter(), 6)] == [6]


def test_no_skills_are_one_empty_page(tenant):
    page = skill_page(tenant=tenant, wanted=SkillFilter())
    assert (page.skills, page.cursor) == ([], "")


def test_a_skill_decided_while_pages_are_read_does_not_repeat_or_hide_another(crowd):
    wanted, rita = SkillFilter(), make_member(crowd)
    expected = oracle(crowd, wanted)
    first = skill_page(tenant=crowd, wanted=wanted, size=10)
    for skill in first.skills:
        skills.reject_skill(tenant=crowd, actor=rita, skill_id=skill.pk, reason="wrong", seen_version=0)
    rest, cursor = [], first.cursor
    while cursor:
        page = skill_page(tenant=crowd, wanted=wanted, cursor=cursor, size=10)
        rest += [skill.pk for skill in page.skills]
        cursor = page.cursor
    assert [skill.pk for skill in first.skills] + rest == expected


def test_a_foreign_cursor_shows_nothing_foreign(crowd, other_tenant):
    strange = skill_page(tenant=other_tenant, wanted=SkillFilter(), size=3).cursor
    assert strange
    shown = skill_page(tenant=crowd, wanted=SkillFilter(), cursor=strange).skills
    assert {skill.tenant_id for skill in shown} == {crowd.pk}


def test_the_threshold_is_the_one_in_force(tenant):
    skill = make_skill(tenant, confidence=0.6)
    low = SkillFilter(low=True)
    assert skill_page(tenant=tenant, wanted=low).skills == []
    publish_settings(tenant=tenant, author=None, values={"skill_confidence_threshold": 0.601})
    assert skill_page(tenant=tenant, wanted=low).skills == [skill]


# -- Neighbours


@pytest.mark.parametrize(
    "chosen",
    [{}, {"state": "approved"}, {"kind": "action"}, {"low": True}, {"low": False}, {"text": "refund"}],
)
def test_neighbours_follow_the_order_of_the_pages_also_for_a_skill_that_does_not_match(crowd, chosen):
    wanted = SkillFilter(**chosen)
    expected = oracle(crowd, wanted)
    everything = sorted(Skill.objects.for_tenant(crowd), key=lambda skill: (-skill.confidence, skill.pk))
    place = {skill.pk: n for n, skill in enumerate(everything)}
    for skill in everything:
        behind = [pk for pk in expected if place[pk] > place[skill.pk]]
        ahead = [pk for pk in expected if place[pk] < place[skill.pk]]
        after = neighbour(tenant=crowd, wanted=wanted, skill=skill)
        before = neighbour(tenant=crowd, wanted=wanted, skill=skill, forward=False)
        assert after == (behind[0] if behind else None)
        assert before == (ahead[-1] if ahead else None)
    assert 3 < len(expected) < len(everything)


# -- Counts


def test_counts_tell_drafts_by_kind_those_of_low_confidence_and_folded_ones(crowd):
    drafts = Skill.objects.for_tenant(crowd).filter(state="draft")
    found = counts(tenant=crowd)
    assert list(found.kinds) == SkillKind.values
    assert found.kinds == {
        kind: drafts.filter(kind=kind, confidence__gte=THRESHOLD).count() for kind in SkillKind.values
    }
    assert found.low == drafts.filter(confidence__lt=THRESHOLD).count() > 0
    assert found.drafts + found.low == drafts.count()
    assert found.folded == 0


def test_without_skills_every_count_is_nothing(tenant):
    assert counts(tenant=tenant) == SkillCounts(dict.fromkeys(SkillKind.values, 0), 0, 0)


def test_a_draft_that_was_folded_in_counts_once_also_after_a_merge(tenant, other_tenant):
    def fold(skill, episode):
        """As intake does: the first episode that a draft brings carries it."""
        rows = [("x", None), (episode, {"trigger": episode})]
        SkillEvidence.objects.across_tenants().bulk_create(
            SkillEvidence(tenant=skill.tenant, skill=skill, episode=f"{name}-{episode}", draft=draft)
            for name, draft in rows
        )
        Skill.objects.for_tenant(skill.tenant).filter(pk=skill.pk).update(evidence=skill.evidence + 2)

    skill, into = make_skill(tenant), make_skill(tenant, state="approved")
    fold(skill, "one")
    fold(skill, "two")
    fold(into, "three")
    fold(make_skill(other_tenant), "four")
    assert counts(tenant=tenant).folded == 3
    rita = make_member(tenant)
    done = skills.merge_skill(tenant=tenant, actor=rita, skill_id=skill.pk, into_id=into.pk, seen_version=0)
    assert counts(tenant=tenant).folded == 3
    skills.undo_skill_decision(tenant=tenant, actor=rita, decision_id=done.decision.pk)
    assert counts(tenant=tenant).folded == 3


# -- Query budgets and indexes


def test_queries_do_not_grow_with_the_rows(tenant, django_assert_num_queries):
    def budgets():
        with django_assert_num_queries(1):
            page = skill_page(tenant=tenant, wanted=SkillFilter(), size=2)
            shown = [(s.trigger, s.confidence, s.first_approver_id, s.evidence) for s in page.skills]
        assert len(shown) == 2
        with django_assert_num_queries(2):
            skill_page(tenant=tenant, wanted=SkillFilter(low=False), size=2)
        with django_assert_num_queries(3):
            counts(tenant=tenant)
        behind = skill_page(tenant=tenant, wanted=SkillFilter(low=True), cursor=page.cursor)
        assert behind.skills == []

    for _ in range(3):
        make_skill(tenant)
    budgets()
    for _ in range(60):
        make_skill(tenant)
    budgets()


SEEKS = [
    ({}, "skill_queue (tenant_id=? AND state=?"),
    ({"state": "approved"}, "skill_queue (tenant_id=? AND state=?"),
    ({"kind": "action"}, "skill_queue_kind (tenant_id=? AND state=? AND kind=?"),
    ({"low": True}, "skill_queue (tenant_id=? AND state=? AND confidence<?"),
    ({"low": False}, "skill_queue (tenant_id=? AND state=? AND confidence>?"),
    (
        {"low": False, "kind": "guardrail"},
        "skill_queue_kind (tenant_id=? AND state=? AND kind=? AND confidence>?",
    ),
    ({"text": "refund"}, "skill_queue (tenant_id=? AND state=?"),
    ({"origin": "api"}, "skill_queue (tenant_id=? AND state=?"),
]


def statements_of(read):
    statements = []

    def note(execute, sql, params, many, context):
        if "reviews_skill" in sql:
            statements.append((sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        read()
    return statements


@pytest.mark.sqlite  # reads its query plans
@pytest.mark.parametrize("way", ["first page", "later page", "before"])
@pytest.mark.parametrize(("chosen", "seek"), SEEKS, ids=str)
def test_every_filter_is_found_through_its_index_and_nothing_is_sorted(tenant, chosen, seek, way):
    skill, wanted = make_skill(tenant, confidence=0.5), SkillFilter(**chosen)
    cursor = encode_cursor(skill) if way == "later page" else ""
    statements = statements_of(
        lambda: (
            neighbour(tenant=tenant, wanted=wanted, skill=skill, forward=False)
            if way == "before"
            else skill_page(tenant=tenant, wanted=wanted, cursor=cursor)
        )
    )
    assert len(statements) == (1 if way == "first page" else 2)
    for sql, params in statements:
        with connection.cursor() as plan:
            plan.execute(f"EXPLAIN QUERY PLAN {sql}", params)
            steps = [row[3] for row in plan.fetchall()]
        assert len(steps) == 1, steps
        index = seek.partition(" ")[0]
        # Covering where no more than the id is asked for.
        assert re.match(rf"SEARCH reviews_skill USING (COVERING )?INDEX {index} \(tenant_id=\?", steps[0]), (
            steps
        )
    if way == "first page":
        assert seek in steps[0]


@pytest.mark.sqlite
def test_counts_read_no_more_than_an_index(tenant):
    statements = statements_of(lambda: counts(tenant=tenant))
    plans = []
    with connection.cursor() as plan:
        for sql, params in statements:
            plan.execute(f"EXPLAIN QUERY PLAN {sql}", params)
            plans.append([row[3] for row in plan.fetchall()])
    assert plans[0] == [
        "SEARCH reviews_skill USING COVERING INDEX skill_queue_kind (tenant_id=? AND state=?)"
    ]
    assert plans[1][0].startswith(
        "SEARCH reviews_skillevidence USING INDEX skill_evidence_folded (tenant_id=?"
    )


@pytest.mark.postgresql  # reads its query plans
@pytest.mark.parametrize(
    ("chosen", "index"),
    [({}, "skill_queue"), ({"kind": "guardrail"}, "skill_queue_kind"), ({"low": False}, "skill_queue")],
    ids=str,
)
def test_filters_are_found_through_their_index_on_postgresql_too(tenant, chosen, index):
    """With enough skills for the planner to care: three thousand, of which a tenth are drafts."""
    Skill.objects.across_tenants().bulk_create(
        Skill(
            tenant=tenant,
            kind=SkillKind.values[n % 4],
            trigger="t",
            action="a",
            rationale="r",
            confidence=n % 97 / 100,
            label="l",
            source="s",
            origin="run",
            state="draft" if n % 10 == 0 else "rejected",
        )
        for n in range(3000)
    )
    with connection.cursor() as plan:
        plan.execute("ANALYZE reviews_skill")
        statements = statements_of(lambda: skill_page(tenant=tenant, wanted=SkillFilter(**chosen), size=20))
        plan.execute(f"EXPLAIN {statements[0][0]}", statements[0][1])
        steps = "\n".join(row[0] for row in plan.fetchall())
    assert f"Index Scan using {index} on" in steps, steps
    assert "Sort" not in steps


# -- Cursors


@pytest.mark.parametrize("confidence", [0.0, 0.1 + 0.2, 1 / 3, 1.0])
def test_a_cursor_marks_a_skills_place(tenant, confidence):
    skill = make_skill(tenant, confidence=confidence)
    assert decode_cursor(encode_cursor(skill)) == (confidence, skill.pk)
    assert Skill.objects.for_tenant(tenant).get(confidence=confidence) == skill


def _encoded(text):
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


BAD_CURSORS = {
    "not base64": "!!!",
    "one letter": "a",
    "not ascii": "ünïcode",
    "not JSON": _encoded("hello"),
    "not UTF-8": urlsafe_b64encode(b"\xff\xfe\xfd").decode(),
    "a number": _encoded("5"),
    "null": _encoded("null"),
    "too short": _encoded("[0.5]"),
    "too long": _encoded("[0.5, 1, 1]"),
    "an object": _encoded('{"a": 0.5, "b": 2}'),
    "a text for a number": _encoded('["0.5", 1]'),
    "a whole number": _encoded("[1, 1]"),
    "too sure": _encoded("[1.5, 1]"),
    "less than nothing": _encoded("[-0.5, 1]"),
    "no number": _encoded("[NaN, 1]"),
    "infinity": _encoded("[Infinity, 1]"),
    "a text for an id": _encoded('[0.5, "1"]'),
    "a fraction": _encoded("[0.5, 1.5]"),
    "a truth for an id": _encoded("[0.5, true]"),
    "a huge id": _encoded("[0.5, 99999999999999999999999]"),
    "endless digits": _encoded("[0.5, " + "9" * 10_000 + "]"),
    "endless nesting": _encoded("[" * 100_000),
}


@pytest.mark.parametrize("name", BAD_CURSORS)
def test_a_cursor_that_is_not_ours_is_refused_by_name(tenant, name):
    with pytest.raises(InvalidError) as caught:
        skill_page(tenant=tenant, wanted=SkillFilter(), cursor=BAD_CURSORS[name])
    assert set(caught.value.details["fields"]) == {"cursor"}


# -- Reading a filter from parameters


def test_without_parameters_all_drafts_are_meant():
    assert parse_skill_filter({}) == SkillFilter() == SkillFilter(state="draft", low=None)
    assert parse_skill_filter(dict.fromkeys(["state", "kind", "low", "text", "origin"], "")) == SkillFilter()


def test_every_parameter_is_read():
    values = {
        "state": "approved",
        "kind": "recovery",
        "low": "yes",
        "text": " late ",
        "origin": "api",
        "x": "y",
    }
    assert parse_skill_filter(values) == SkillFilter("approved", "recovery", True, "late", "api")
    assert parse_skill_filter({"low": "no"}).low is False


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("state", "open"),
        ("kind", "guess"),
        ("low", "maybe"),
        ("low", "True"),
        ("origin", "mail"),
        ("text", "x" * 201),
        ("text", "a\0b"),
    ],
)
def test_a_parameter_that_cannot_be_used_is_named(name, value):
    with pytest.raises(InvalidError) as caught:
        parse_skill_filter({"kind": "action", name: value})
    assert set(caught.value.details["fields"]) == {name}


def test_every_wrong_parameter_is_named_at_once():
    with pytest.raises(InvalidError) as caught:
        parse_skill_filter({"state": "x", "kind": "x", "low": "x", "origin": "api"})
    assert set(caught.value.details["fields"]) == {"state", "kind", "low"}


def test_a_tenant_without_a_policy_has_the_default_threshold(db):
    """0.5, as the setting's default says."""
    tenant = make_tenant("fresh")
    low = make_skill(tenant, confidence=0.4999)
    make_skill(tenant, confidence=0.5)
    assert skill_page(tenant=tenant, wanted=SkillFilter(low=True)).skills == [low]
