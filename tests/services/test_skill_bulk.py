"""Many drafts rejected at once: exactly those that were shown, or none; undone as a whole."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from reviews.models import AuditEvent, Delivery, Runtime, Skill, SkillDecision
from reviews.models.tenants import Role
from reviews.services import skill_bulk, skills, tenants
from reviews.services.audit import verify_chain
from reviews.services.errors import ConflictError, ForbiddenError, InvalidError, NotFoundError
from reviews.services.publishing import publish_settings
from reviews.services.skill_bulk import SHOWN, preview_reject, reject_many, undo_batch
from reviews.services.skill_queue import SkillFilter
from tests.factories import make_member, make_skill, make_tenant
from tests.services.test_skills import snapshot

LOW = SkillFilter(low=True)


@pytest.fixture
def rita(tenant):
    return make_member(tenant, Role.REVIEWER, "rita")


@pytest.fixture
def max_(tenant):
    return make_member(tenant, Role.MANAGER, "max")


@pytest.fixture
def drafts(tenant, rita):
    """Three drafts of low confidence, with different things that a rejection takes away."""
    some = [
        make_skill(tenant, "guardrail", confidence=0.2, episodes=["run-1", "run-2"]),
        make_skill(tenant, "action", confidence=0.3, came_back=True, evidence_then=4, episodes=["run-3"]),
        make_skill(tenant, "recovery", confidence=0.1),
    ]
    skills.approve_skill(tenant=tenant, actor=rita, skill_id=some[0].pk, seen_version=0)
    return some


def reject(tenant, actor, *, wanted=LOW, digest=None, reason="too_narrow", text=""):
    digest = preview_reject(tenant=tenant, wanted=wanted).ids_digest if digest is None else digest
    return reject_many(tenant=tenant, actor=actor, wanted=wanted, ids_digest=digest, reason=reason, text=text)


def states(*some):
    rows = Skill.objects.for_tenant(some[0].tenant_id).in_bulk([skill.pk for skill in some])
    return [rows[skill.pk].state for skill in some]


def test_the_preview_says_how_many_and_shows_the_first(tenant, other_tenant, drafts):
    make_skill(tenant, confidence=0.9)
    make_skill(tenant, confidence=0.2, state="rejected")
    make_skill(other_tenant, confidence=0.2)
    found = preview_reject(tenant=tenant, wanted=LOW)
    assert (found.count, found.skills) == (3, [drafts[1], drafts[0], drafts[2]])
    for _ in range(SHOWN):
        make_skill(tenant, confidence=0.05)
    found = preview_reject(tenant=tenant, wanted=LOW)
    assert (found.count, len(found.skills), found.skills[0]) == (3 + SHOWN, SHOWN, drafts[1])


def test_exactly_what_was_shown_is_rejected_in_one_batch(tenant, drafts, max_):
    sure = make_skill(tenant, confidence=0.9)
    batch = reject(tenant, max_, reason="not_supported", text=" Seen once. ")
    assert states(*drafts, sure) == ["rejected"] * 3 + ["draft"]
    rows = Skill.objects.for_tenant(tenant).in_bulk([skill.pk for skill in drafts])
    assert [rows[skill.pk].evidence_then for skill in drafts] == [2, 1, 0]
    assert [rows[skill.pk].version for skill in drafts] == [2, 1, 1]
    for skill in rows.values():
        assert (skill.first_approver, skill.first_approved_at, skill.came_back) == (None, None, False)
        assert (skill.decided_by, skill.decided_at) == (max_, skill.changed_at)
    kept = SkillDecision.objects.for_tenant(tenant).filter(batch=batch)
    assert {(d.action, d.reason, d.text, d.actor) for d in kept} == {
        ("reject", "not_supported", "Seen once.", max_)
    }
    assert {d.skill_id: d.version for d in kept} == {pk: skill.version for pk, skill in rows.items()}


def test_a_bulk_rejection_is_what_single_ones_would_be(tenant, drafts, max_):
    alone = make_tenant("alone")
    manager = make_member(alone, Role.MANAGER)
    same = make_skill(alone, "action", confidence=0.3, came_back=True, evidence_then=4, episodes=["run-3"])
    skills.reject_skill(tenant=alone, actor=manager, skill_id=same.pk, reason="wrong", seen_version=0)
    reject(tenant, max_, reason="wrong")
    columns = ("state", "evidence", "evidence_then", "came_back", "first_approver", "version")
    one = Skill.objects.for_tenant(alone).values(*columns).get(pk=same.pk)
    assert Skill.objects.for_tenant(tenant).values(*columns).get(pk=drafts[1].pk) == one
    single = SkillDecision.objects.for_tenant(alone).get()
    many = SkillDecision.objects.for_tenant(tenant).get(skill=drafts[1])
    assert many.before == single.before


@pytest.mark.parametrize(
    "change",
    [
        lambda tenant, some, who: make_skill(tenant, confidence=0.2),
        lambda tenant, some, who: skills.approve_skill(
            tenant=tenant, actor=who, skill_id=some[1].pk, seen_version=0
        ),
        lambda tenant, some, who: skills.edit_skill(
            tenant=tenant, actor=who, skill_id=some[2].pk, content={"action": "ask"}, seen_version=0
        ),
        lambda tenant, some, who: publish_settings(
            tenant=tenant, author=None, values={"skill_confidence_threshold": 0.25}
        ),
    ],
    ids=["one more", "one decided", "one edited", "another threshold"],
)
def test_what_changed_since_the_preview_is_a_conflict_and_nothing_happens(tenant, drafts, rita, max_, change):
    digest = preview_reject(tenant=tenant, wanted=LOW).ids_digest
    change(tenant, drafts, rita)
    before = list(Skill.objects.for_tenant(tenant).order_by("id").values())
    with pytest.raises(ConflictError, match="Nothing was rejected"):
        reject(tenant, max_, digest=digest)
    assert list(Skill.objects.for_tenant(tenant).order_by("id").values()) == before
    assert not SkillDecision.objects.for_tenant(tenant).filter(action="reject").exists()


def test_a_preview_of_other_drafts_is_no_preview_of_these(tenant, other_tenant, drafts, max_):
    make_skill(tenant, confidence=0.9)
    make_skill(other_tenant, confidence=0.2)
    for digest in (
        preview_reject(tenant=tenant, wanted=SkillFilter()).ids_digest,
        preview_reject(tenant=other_tenant, wanted=LOW).ids_digest,
        "",
        "x",
    ):
        with pytest.raises(ConflictError):
            reject(tenant, max_, digest=digest)
    assert states(*drafts) == ["draft"] * 3


@pytest.mark.parametrize("state", ["approved", "rejected", "retired", "merged"])
def test_only_drafts_are_rejected(tenant, max_, state):
    wanted = SkillFilter(state=state)
    for act in (
        partial(preview_reject, tenant=tenant, wanted=wanted),
        partial(reject, tenant, max_, wanted=wanted, digest=""),
    ):
        with pytest.raises(InvalidError) as caught:
            act()
        assert set(caught.value.details["fields"]) == {"state"}


def test_nothing_and_too_many_are_refused(tenant, drafts, max_, monkeypatch):
    with pytest.raises(InvalidError, match="nothing to reject"):
        reject(tenant, max_, wanted=SkillFilter(text="no such words"))
    monkeypatch.setattr(skill_bulk, "MAX_AT_ONCE", 2)
    with pytest.raises(InvalidError, match="At most 2 at once"):
        reject(tenant, max_)
    monkeypatch.setattr(skill_bulk, "MAX_AT_ONCE", 3)
    reject(tenant, max_)
    assert states(*drafts) == ["rejected"] * 3


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [({"reason": "no"}, "reason"), ({"text": "a\0b"}, "text"), ({"reason": ""}, "reason")],
)
def test_why_must_be_sayable(tenant, drafts, max_, fields, wrong):
    with pytest.raises(InvalidError) as caught:
        reject(tenant, max_, **fields)
    assert set(caught.value.details["fields"]) == {wrong}
    assert states(*drafts) == ["draft"] * 3


def test_it_takes_a_manager_of_this_tenant(tenant, other_tenant, drafts, rita, max_):
    tenants.change_role(tenant=tenant, author=None, user_id=max_.pk, role="reviewer")
    for someone in (rita, max_, make_member(other_tenant, Role.OWNER)):
        with pytest.raises(ForbiddenError):
            reject(tenant, someone)
    assert states(*drafts) == ["draft"] * 3


# -- Undo


def test_an_undone_batch_leaves_everything_as_it_was(tenant, drafts, max_):
    before = snapshot(*drafts)
    batch = reject(tenant, max_)
    assert undo_batch(tenant=tenant, actor=max_, batch=batch) == 3
    assert snapshot(*drafts) == before
    rows = Skill.objects.for_tenant(tenant).in_bulk([skill.pk for skill in drafts])
    assert [rows[skill.pk].version for skill in drafts] == [3, 2, 2]
    undone = SkillDecision.objects.for_tenant(tenant).filter(action="undo")
    assert {d.undoes.skill_id: d.version for d in undone} == {pk: s.version for pk, s in rows.items()}
    with pytest.raises(ConflictError, match="undone already"):
        undo_batch(tenant=tenant, actor=max_, batch=batch)
    reject(tenant, max_)
    assert states(*drafts) == ["rejected"] * 3


def test_a_batch_of_which_one_was_changed_since_is_not_undone_at_all(tenant, drafts, rita, max_):
    batch = reject(tenant, max_)
    Skill.objects.for_tenant(tenant).filter(pk=drafts[1].pk).update(state="draft", came_back=True, version=2)
    before = snapshot(*drafts)
    with pytest.raises(ConflictError, match="changed again since") as caught:
        undo_batch(tenant=tenant, actor=max_, batch=batch)
    assert caught.value.details == {"skill_id": drafts[1].pk}
    assert snapshot(*drafts) == before
    # Rejected again, so that it is in the state in which the batch left it, but by another decision.
    skills.reject_skill(tenant=tenant, actor=rita, skill_id=drafts[1].pk, reason="wrong", seen_version=2)
    before = snapshot(*drafts)
    with pytest.raises(ConflictError, match="changed again since"):
        undo_batch(tenant=tenant, actor=max_, batch=batch)
    assert snapshot(*drafts) == before


def test_what_was_undone_by_itself_is_left_as_it_is_now(tenant, drafts, rita, max_):
    batch = reject(tenant, max_)
    decision = SkillDecision.objects.for_tenant(tenant).get(batch=batch, skill=drafts[1])
    skills.undo_skill_decision(tenant=tenant, actor=max_, decision_id=decision.pk)
    skills.approve_skill(tenant=tenant, actor=rita, skill_id=drafts[1].pk, seen_version=2)
    assert undo_batch(tenant=tenant, actor=max_, batch=batch) == 2
    assert states(*drafts) == ["draft", "approved", "draft"]


def test_whose_batch_it_is_may_undo_it_and_other_managers_may(tenant, drafts, rita, max_):
    batch = reject(tenant, max_)
    tenants.change_role(tenant=tenant, author=None, user_id=max_.pk, role="reviewer")
    with pytest.raises(ForbiddenError, match="Only a manager"):
        undo_batch(tenant=tenant, actor=rita, batch=batch)
    undo_batch(tenant=tenant, actor=max_, batch=batch)
    owner = make_member(tenant, Role.OWNER)
    mine = reject(tenant, owner)
    with pytest.raises(ForbiddenError, match="Only a manager"):
        undo_batch(tenant=tenant, actor=max_, batch=mine)
    tenants.change_role(tenant=tenant, author=None, user_id=max_.pk, role="manager")
    undo_batch(tenant=tenant, actor=max_, batch=mine)
    tenants.remove_member(tenant=tenant, author=None, user_id=max_.pk)
    with pytest.raises(ForbiddenError):
        undo_batch(tenant=tenant, actor=max_, batch=batch)


@pytest.mark.parametrize("batch", ["", "x", "0" * 32])
def test_an_unknown_batch_is_not_found(tenant, drafts, rita, max_, batch):
    skills.reject_skill(tenant=tenant, actor=max_, skill_id=drafts[1].pk, reason="wrong", seen_version=0)
    with pytest.raises(NotFoundError):
        undo_batch(tenant=tenant, actor=max_, batch=batch)


def test_a_strangers_batch_is_not_found(tenant, other_tenant, drafts, max_):
    batch = reject(tenant, max_)
    stranger = make_member(other_tenant, Role.OWNER)
    with pytest.raises(NotFoundError):
        undo_batch(tenant=other_tenant, actor=stranger, batch=batch)
    assert states(*drafts) == ["rejected"] * 3


# -- History, messages, races and size


def test_one_audit_event_names_every_skill_with_its_version(tenant, drafts, max_):
    batch = reject(tenant, max_, text="Old.")
    undo_batch(tenant=tenant, actor=max_, batch=batch)
    events = AuditEvent.objects.for_tenant(tenant).filter(action__endswith="_many").order_by("sequence")
    assert [(e.action, e.actor) for e in events] == [("skill.reject_many", max_), ("skill.undo_many", max_)]
    pairs = [[skill.pk, version] for skill, version in zip(drafts, (2, 1, 1), strict=True)]
    data = [json.loads(event.data) for event in events]
    assert data[0] == {"batch": batch, "reason": "too_narrow", "text": "Old.", "skills": pairs}
    assert data[1] == {"batch": batch, "skills": [[pk, version + 1] for pk, version in pairs]}
    assert not list(verify_chain(tenant=tenant))


def test_the_runtime_is_told_of_those_that_it_knows(tenant, max_):
    Runtime.objects.across_tenants().create(
        tenant=tenant, base_url="https://runtime.example", runtime_tenant="acme"
    )
    known = [make_skill(tenant, confidence=0.1, runtime_id=f"node-{n}") for n in range(2)]
    make_skill(tenant, confidence=0.1)
    undo_batch(tenant=tenant, actor=max_, batch=reject(tenant, max_))
    sent = Delivery.objects.for_tenant(tenant).order_by("id").values_list("skill_id", "action", "body")
    draft = {"active": False, "properties": {"status": "draft"}}
    assert list(sent) == [
        *((skill.pk, "reject", None) for skill in known),
        *((skill.pk, "patch", draft) for skill in known),
    ]


def test_a_bulk_rejection_and_single_decisions_at_once_do_not_mix(in_threads, tenant):
    manager, rob = make_member(tenant, Role.MANAGER), make_member(tenant)
    some = [make_skill(tenant, confidence=0.1) for _ in range(5)]
    digest = preview_reject(tenant=tenant, wanted=LOW).ids_digest

    def approve_last():
        return skills.approve_skill(tenant=tenant, actor=rob, skill_id=some[-1].pk, seen_version=0)

    results = in_threads(partial(reject, tenant, manager, digest=digest), approve_last)
    lost = [isinstance(result, ConflictError) for result in results]
    assert Counter(lost) == {True: 1, False: 1}
    assert states(*some) == (["draft"] * 4 + ["approved"] if lost[0] else ["rejected"] * 5)


def test_of_two_bulk_rejections_or_undos_at_once_one_wins(in_threads, tenant):
    manager = make_member(tenant, Role.MANAGER)
    some = [make_skill(tenant, confidence=0.1) for _ in range(5)]
    digest = preview_reject(tenant=tenant, wanted=LOW).ids_digest
    results = in_threads(*[partial(reject, tenant, manager, digest=digest)] * 2)
    assert sorted(type(result).__name__ for result in results) == ["ConflictError", "str"]
    batch = next(result for result in results if isinstance(result, str))
    results = in_threads(*[partial(undo_batch, tenant=tenant, actor=manager, batch=batch)] * 2)
    assert sorted(type(result).__name__ for result in results) == ["ConflictError", "int"]
    assert {d.version for d in SkillDecision.objects.for_tenant(tenant)} == {1, 2}
    assert states(*some) == ["draft"] * 5


def test_the_queries_do_not_grow_with_the_drafts(tenant, max_):
    """Up to what one statement holds: SQLite takes a row of decisions at a time in dozens."""

    def queries():
        with CaptureQueriesContext(connection) as previewed:
            digest = preview_reject(tenant=tenant, wanted=LOW).ids_digest
        with CaptureQueriesContext(connection) as rejected:
            batch = reject(tenant, max_, digest=digest)
        with CaptureQueriesContext(connection) as undone:
            undo_batch(tenant=tenant, actor=max_, batch=batch)
        return len(previewed), len(rejected), len(undone)

    for _ in range(2):
        make_skill(tenant, confidence=0.1)
    few = queries()
    for _ in range(40):
        make_skill(tenant, confidence=0.1)
    assert queries() == few
    assert max(few) <= 25
