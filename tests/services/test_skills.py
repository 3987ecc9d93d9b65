"""Decisions about skills: who may make them, what each leads to, and what an undo puts back."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from reviews.core.settings import TenantSettings
from reviews.models import (
    AuditEvent,
    Delivery,
    Membership,
    Runtime,
    Skill,
    SkillDecision,
    SkillEvidence,
    SkillRevision,
)
from reviews.models.skills import SkillKind
from reviews.models.tenants import Role
from reviews.services import skills, tenants
from reviews.services.audit import verify_chain
from reviews.services.errors import ConflictError, ForbiddenError, InvalidError, NotFoundError
from reviews.services.publishing import publish_settings
from reviews.services.skill_contents import MAX_ITEMS, MAX_TEXT_LENGTH
from reviews.services.skill_undo import UNDO_BY_KEY, last_undoable
from tests.factories import make_member, make_skill, make_tenant, make_turn

ONE_PERSON = ["action", "recovery"]
TWO_PEOPLE = ["guardrail", "preflight"]

_slugs = count(1)


@pytest.fixture
def rita(tenant):
    return make_member(tenant, Role.REVIEWER, "rita")


@pytest.fixture
def rob(tenant):
    return make_member(tenant, Role.REVIEWER, "rob")


@pytest.fixture
def max_(tenant):
    return make_member(tenant, Role.MANAGER, "max")


@pytest.fixture
def runtime(tenant):
    return Runtime.objects.across_tenants().create(
        tenant=tenant, base_url="https://runtime.example", runtime_tenant="acme"
    )


def approve(skill, actor, seen, **more):
    return skills.approve_skill(
        tenant=skill.tenant, actor=actor, skill_id=skill.pk, seen_version=seen, **more
    )


def edit(skill, actor, seen, *, approve=False, **content):
    return skills.edit_skill(
        tenant=skill.tenant,
        actor=actor,
        skill_id=skill.pk,
        content=content or {"action": "ask first"},
        seen_version=seen,
        approve=approve,
    )


def reject(skill, actor, seen, reason="wrong", text=""):
    return skills.reject_skill(
        tenant=skill.tenant, actor=actor, skill_id=skill.pk, reason=reason, text=text, seen_version=seen
    )


def merge(skill, actor, into, seen):
    return skills.merge_skill(
        tenant=skill.tenant, actor=actor, skill_id=skill.pk, into_id=into.pk, seen_version=seen
    )


def retire(skill, actor, seen, text=""):
    return skills.retire_skill(
        tenant=skill.tenant, actor=actor, skill_id=skill.pk, text=text, seen_version=seen
    )


def undo(skill, actor, done):
    return skills.undo_skill_decision(tenant=skill.tenant, actor=actor, decision_id=done.decision.pk)


def fresh(skill):
    return Skill.objects.for_tenant(skill.tenant).get(pk=skill.pk)


def episodes(skill):
    rows = SkillEvidence.objects.for_tenant(skill.tenant).filter(skill=skill)
    found = set(rows.values_list("episode", flat=True))
    assert fresh(skill).evidence == rows.count() == len(found)
    return found


def snapshot(*some):
    """Everything of skills that a decision may change, but for version and time of change."""
    left_out = {"version", "changed_at"}
    columns = [field.attname for field in Skill._meta.concrete_fields if field.name not in left_out]
    return {skill.pk: (values_of(skill, columns), episodes(skill)) for skill in some}


def values_of(skill, columns):
    return Skill.objects.for_tenant(skill.tenant).values(*columns).get(pk=skill.pk)


def told(skill):
    """What the runtime is told of a skill, in order; without the text that an approval is about."""
    rows = Delivery.objects.for_tenant(skill.tenant).filter(skill=skill).order_by("id")
    told = rows.values_list("action", "body")
    return [(action, None if action == "approve" else body) for action, body in told]


# -- Approval


@pytest.mark.parametrize("kind", ONE_PERSON)
def test_one_person_approves_what_takes_one(tenant, rita, kind):
    skill = make_skill(tenant, kind)
    at = datetime(2026, 5, 4, 10, 0, 0, 123456, tzinfo=UTC)
    done = approve(skill, rita, 0, at=at)
    stored = fresh(skill)
    assert (stored.state, stored.decided_by, stored.decided_at) == ("approved", rita, at)
    assert (stored.version, stored.changed_at, stored.first_approver) == (1, at, None)
    assert (done.skill.state, done.skill.version, done.decision.version) == ("approved", 1, 1)


@pytest.mark.parametrize("kind", TWO_PEOPLE)
def test_guardrails_and_preflights_take_two(tenant, rita, rob, kind):
    skill = make_skill(tenant, kind)
    first = approve(skill, rita, 0)
    stored = fresh(skill)
    assert (stored.state, stored.first_approver, stored.first_approved_at) == (
        "draft",
        rita,
        first.decision.created_at,
    )
    assert (stored.decided_by, stored.decided_at, stored.version) == (None, None, 1)
    approve(skill, rob, 1)
    stored = fresh(skill)
    assert (stored.state, stored.first_approver, stored.decided_by) == ("approved", rita, rob)


@pytest.mark.parametrize("kind", SkillKind.values)
def test_a_tenant_may_ask_for_two_people_whatever_the_kind(kind, db):
    strict = make_tenant("strict", skills_need_second_person=True)
    ann, bob = make_member(strict), make_member(strict)
    skill = make_skill(strict, kind)
    assert approve(skill, ann, 0).skill.state == "draft"
    assert approve(skill, bob, 1).skill.state == "approved"


@pytest.mark.parametrize("role", [Role.REVIEWER, Role.MANAGER, Role.OWNER])
@pytest.mark.parametrize("kind", TWO_PEOPLE)
def test_the_first_approver_is_not_the_second_whatever_their_role(tenant, kind, role):
    someone, skill = make_member(tenant, role), make_skill(tenant, kind)
    approve(skill, someone, 0)
    before = snapshot(skill)
    with pytest.raises(ForbiddenError, match="somebody else"):
        approve(skill, someone, 1)
    assert (snapshot(skill), fresh(skill).version) == (before, 1)


@pytest.mark.parametrize("kind", SkillKind.values)
def test_nobody_approves_alone_what_they_wrote(tenant, rita, rob, kind):
    skill = make_skill(tenant, kind)
    edit(skill, rita, 0)
    approve(skill, rita, 1)
    stored = fresh(skill)
    assert (stored.state, stored.writer, stored.first_approver) == ("draft", rita, rita)
    with pytest.raises(ForbiddenError):
        approve(skill, rita, 2)
    assert approve(skill, rob, 2).skill.state == "approved"


@pytest.mark.parametrize("kind", SkillKind.values)
def test_edit_and_approve_is_a_first_approval_whatever_the_kind(tenant, rita, rob, kind):
    skill = make_skill(tenant, kind)
    done = edit(skill, rita, 0, approve=True)
    stored = fresh(skill)
    assert (stored.state, stored.writer, stored.first_approver, stored.version) == ("draft", rita, rita, 2)
    actions = skill.decisions.order_by("version").values_list("action", "version")
    assert list(actions) == [("edit", 1), ("approve", 2)]
    assert done.decision.action == "approve"
    assert approve(skill, rob, 2).skill.state == "approved"


@pytest.mark.parametrize("kind", TWO_PEOPLE)
def test_the_writer_is_not_the_second_either(tenant, rita, rob, max_, kind):
    skill = make_skill(tenant, kind)
    edit(skill, rita, 0)
    approve(skill, rob, 1)
    with pytest.raises(ForbiddenError, match="You wrote this text"):
        approve(skill, rita, 2)
    assert approve(skill, max_, 2).skill.state == "approved"


def test_what_another_person_wrote_takes_one_person_where_one_is_enough(tenant, rita, rob):
    skill = make_skill(tenant)
    edit(skill, rita, 0)
    assert approve(skill, rob, 1).skill.state == "approved"
    stored = fresh(skill)
    assert (stored.first_approver, stored.decided_by) == (None, rob)


@pytest.mark.parametrize("kind", SkillKind.values)
def test_who_wrote_a_part_of_the_text_does_not_approve_it_alone_either(tenant, rita, rob, max_, kind):
    skill = make_skill(tenant, kind)
    edit(skill, rita, 0, action="refund at once")
    edit(skill, rob, 1, trigger="an order is late")
    assert approve(skill, rita, 2).skill.state == "draft"
    with pytest.raises(ForbiddenError, match="You wrote"):
        approve(skill, rob, 3)
    assert approve(skill, max_, 3).skill.state == "approved"


@pytest.mark.parametrize("kind", TWO_PEOPLE)
def test_who_wrote_a_part_of_the_text_is_not_the_second_either(tenant, rita, rob, max_, kind):
    skill = make_skill(tenant, kind)
    edit(skill, rita, 0, precondition=["get_order"])
    edit(skill, rob, 1, rationale="Orders were lost.")
    approve(skill, rob, 2)
    with pytest.raises(ForbiddenError, match="You wrote"):
        approve(skill, rita, 3)
    assert approve(skill, max_, 3).skill.state == "approved"


def test_whose_words_are_all_gone_is_no_writer(tenant, rita, rob, max_):
    skill = make_skill(tenant)
    edit(skill, rita, 0, trigger="an order is late")
    edit(skill, rob, 1, trigger="an order is very late")
    assert approve(skill, rita, 2).skill.state == "approved"
    undone = make_skill(tenant)
    edit(undone, rita, 0, action="refund at once")
    undo(undone, rob, edit(undone, rob, 1, trigger="an order is lost"))
    assert approve(undone, rob, 3).skill.state == "approved"


@pytest.mark.parametrize("kind", TWO_PEOPLE)
def test_an_edit_ends_the_first_approval(tenant, rita, rob, max_, kind):
    skill = make_skill(tenant, kind)
    approve(skill, rita, 0)
    edit(skill, rob, 1)
    stored = fresh(skill)
    assert (stored.first_approver, stored.first_approved_at) == (None, None)
    assert approve(skill, max_, 2).skill.state == "draft"
    assert approve(skill, rita, 3).skill.state == "approved"


@pytest.mark.parametrize("how", ["removed", "made a viewer", "closed"])
@pytest.mark.parametrize("kind", TWO_PEOPLE)
def test_a_first_approval_counts_only_while_its_giver_may_review(tenant, rita, rob, max_, kind, how):
    skill = make_skill(tenant, kind)
    approve(skill, rita, 0)
    take_role_away(tenant, rita, how)
    assert approve(skill, rob, 1).skill.state == "draft"
    assert fresh(skill).first_approver == rob
    with pytest.raises(ForbiddenError):
        approve(skill, rob, 2)
    assert approve(skill, max_, 2).skill.state == "approved"


def take_role_away(tenant, user, how):
    if how == "removed":
        tenants.remove_member(tenant=tenant, author=None, user_id=user.pk)
    elif how == "made a viewer":
        tenants.change_role(tenant=tenant, author=None, user_id=user.pk, role="viewer")
    else:
        type(user).objects.filter(pk=user.pk).update(is_active=False)


def test_a_first_approver_who_came_back_counts_again(tenant, rita, rob):
    skill = make_skill(tenant, "guardrail")
    approve(skill, rita, 0)
    take_role_away(tenant, rita, "removed")
    tenants.add_member(tenant=tenant, author=None, user=rita, role="reviewer")
    assert approve(skill, rob, 1).skill.state == "approved"


def test_a_first_approval_that_no_longer_counts_is_not_kept_beside_the_one_that_does(tenant, rita, rob):
    skill = make_skill(tenant)
    edit(skill, rita, 0, approve=True)
    take_role_away(tenant, rita, "removed")
    assert approve(skill, rob, 2).skill.state == "approved"
    stored = fresh(skill)
    assert (stored.first_approver, stored.first_approved_at, stored.decided_by) == (None, None, rob)


def test_the_rule_is_the_one_in_force_when_the_approval_is_given(tenant, rita, rob):
    """Two were needed when the first approval was given; then one is enough, also the same person."""
    publish_settings(tenant=tenant, author=None, values={"skills_need_second_person": True})
    skill, other, written = make_skill(tenant), make_skill(tenant), make_skill(tenant)
    for each in (skill, other):
        approve(each, rita, 0)
    edit(written, rob, 0)
    approve(written, rita, 1)
    publish_settings(tenant=tenant, author=None, values={})
    assert approve(skill, rita, 1).skill.state == "approved"
    assert approve(other, rob, 1).skill.state == "approved"
    with pytest.raises(ForbiddenError, match="You wrote"):
        approve(written, rob, 2)


@pytest.mark.parametrize(
    ("kind", "always", "wrote", "first", "counts", "refused"),
    [
        ("action", False, False, None, False, False),
        ("action", False, True, None, False, False),
        ("action", True, False, "me", True, True),
        ("action", False, False, "me", True, False),
        ("action", False, True, "me", True, True),
        ("action", False, True, "other", True, True),
        ("guardrail", False, False, "me", True, True),
        ("guardrail", False, False, "me", False, False),
        ("guardrail", False, False, "other", True, False),
        ("guardrail", False, True, "other", True, True),
        ("guardrail", False, True, "other", False, False),
        ("preflight", True, False, "other", True, False),
    ],
)
def test_why_an_approval_is_refused_is_said_beforehand(
    db, django_user_model, kind, always, wrote, first, counts, refused
):
    me, other = django_user_model(pk=1), django_user_model(pk=2)
    approver = {"me": me, "other": other, None: None}[first]
    skill = Skill(kind=kind, writer=me if wrote else other, first_approver=approver)
    settings = TenantSettings(skills_need_second_person=always)
    assert bool(skills.may_approve(skill, me, settings, counts)) == refused
    assert skills.needs_two(skill, settings) == (always or kind == "guardrail" or kind == "preflight")


# -- Other decisions


@pytest.mark.parametrize("reason", ["wrong", "harmful", "other"])
def test_a_rejection_keeps_its_reason_and_what_the_evidence_was(tenant, rita, reason):
    skill = make_skill(tenant, "guardrail", episodes=["run-1", "run-2", "run-3"], came_back=True)
    approve(skill, rita, 0)
    done = reject(skill, rita, 1, reason, "  It would do harm.\n")
    stored = fresh(skill)
    assert (stored.state, stored.evidence_then, stored.came_back) == ("rejected", 3, False)
    assert (stored.first_approver, stored.first_approved_at, stored.decided_by) == (None, None, rita)
    kept = SkillDecision.objects.for_tenant(tenant).get(pk=done.decision.pk)
    assert (kept.reason, kept.text, kept.actor, kept.version) == (reason, "It would do harm.", rita, 2)


@pytest.mark.parametrize("reason", ["", "because", "WRONG"])
def test_a_rejection_needs_a_known_reason(tenant, rita, reason):
    skill = make_skill(tenant)
    with pytest.raises(InvalidError) as caught:
        reject(skill, rita, 0, reason)
    assert set(caught.value.details["fields"]) == {"reason"}
    assert fresh(skill).version == 0


BAD_TEXTS = ["x" * (MAX_TEXT_LENGTH + 1), "a\0b", "half a pair: \ud83d"]


@pytest.mark.parametrize("text", BAD_TEXTS)
def test_a_text_that_cannot_be_stored_is_refused(tenant, rita, text):
    skill, approved = make_skill(tenant), make_skill(tenant, state="approved")
    for act in (
        partial(reject, skill, rita, 0, "wrong", text),
        partial(retire, approved, rita, 0, text),
        partial(edit, skill, rita, 0, trigger=text),
        partial(edit, skill, rita, 0, precondition=["get_order", text]),
        partial(edit, skill, rita, 0, steps=[text]),
    ):
        with pytest.raises(InvalidError) as caught:
            act()
        assert len(caught.value.details["fields"]) == 1
    assert (fresh(skill).version, fresh(approved).version) == (0, 0)


def test_a_retired_skill_says_who_and_why(tenant, rita, rob):
    skill = make_skill(tenant)
    approve(skill, rita, 0)
    done = retire(skill, rob, 1, " The tool is gone. ")
    stored = fresh(skill)
    assert (stored.state, stored.decided_by, stored.version) == ("retired", rob, 2)
    assert done.decision.text == "The tool is gone."


def test_a_merge_gives_the_other_skill_the_evidence_it_lacks(tenant, rita):
    turn = make_turn(tenant)
    into = make_skill(tenant, episodes=["run-1", "run-2"])
    skill = make_skill(tenant, episodes=["run-2", "run-3"])
    brought = {"trigger": "an order is late"}
    SkillEvidence.objects.for_tenant(tenant).filter(skill=skill, episode="run-3").update(
        turn=turn, draft=brought, similarity=91.0
    )
    before = fresh(into)
    done = merge(skill, rita, into, 0)
    assert (episodes(into), episodes(skill)) == ({"run-1", "run-2", "run-3"}, {"run-2", "run-3"})
    copied = into.episodes.get(episode="run-3")
    assert (copied.turn, copied.draft, copied.similarity) == (turn, brought, 91.0)
    stored = fresh(skill)
    assert (stored.state, stored.merged_into, stored.decided_by) == ("merged", into, rita)
    target = fresh(into)
    assert (target.version, target.state) == (before.version, "draft")
    assert target.changed_at == done.decision.created_at


@pytest.mark.parametrize("state", ["rejected", "retired", "merged"])
def test_nothing_is_merged_into_what_is_out_of_use(tenant, rita, state):
    skill, end = make_skill(tenant), make_skill(tenant)
    into = make_skill(tenant, state=state, merged_into=end if state == "merged" else None)
    with pytest.raises(ConflictError, match=state):
        merge(skill, rita, into, 0)
    assert fresh(skill).state == "draft"


def test_a_merge_needs_another_skill_of_the_same_tenant(tenant, other_tenant, rita):
    skill, strange = make_skill(tenant), make_skill(other_tenant)
    with pytest.raises(InvalidError) as caught:
        merge(skill, rita, skill, 0)
    assert set(caught.value.details["fields"]) == {"into"}
    with pytest.raises(NotFoundError):
        merge(skill, rita, strange, 0)
    with pytest.raises(NotFoundError):
        merge(skill, rita, Skill(pk=10**9), 0)
    assert fresh(skill).version == 0


STATES = {"draft", "approved", "rejected", "retired", "merged"}
ACTS = {
    "approve": (approve, "draft"),
    "edit": (edit, "draft"),
    "reject": (reject, "draft"),
    "merge": (lambda skill, who, seen: merge(skill, who, make_skill(skill.tenant), seen), "draft"),
    "retire": (retire, "approved"),
}


@pytest.mark.parametrize("state", sorted(STATES))
@pytest.mark.parametrize("name", ACTS)
def test_each_decision_is_about_one_state(tenant, rita, name, state):
    act, right = ACTS[name]
    end = make_skill(tenant)
    skill = make_skill(tenant, state=state, merged_into=end if state == "merged" else None)
    if state == right:
        assert act(skill, rita, 0).skill.version == 1
        return
    before = snapshot(skill)
    with pytest.raises(ConflictError) as caught:
        act(skill, rita, 0)
    assert caught.value.details["skill_id"] == skill.pk
    assert (snapshot(skill), fresh(skill).version, skill.decisions.count()) == (before, 0, 0)


# -- Editing


def revisions(skill):
    rows = SkillRevision.objects.for_tenant(skill.tenant).filter(skill=skill).order_by("number")
    return [(row.number, row.author, row.content) for row in rows]


def test_an_edit_changes_the_text_and_keeps_both(tenant, rita, rob):
    skill = make_skill(tenant, trigger="a refund is over 500", action="refund", precondition="get_order")
    came = {
        "trigger": "a refund is over 500",
        "action": "refund",
        "rationale": skill.rationale,
        "precondition": "get_order",
        "steps": ["refund"],
        "label": "Auto-learned (action): a refund is over 500",
    }
    edit(skill, rita, 0, trigger=" a refund is over 50\n", precondition=["get_order", "check_fraud"])
    first = {
        **came,
        "trigger": "a refund is over 50",
        "precondition": ["get_order", "check_fraud"],
        "label": "Auto-learned (action): a refund is over 50",
    }
    edit(skill, rob, 1, precondition=None, action="ask a manager")
    second = {**first, "precondition": None, "action": "ask a manager", "steps": ["ask a manager"]}
    assert revisions(skill) == [(0, None, came), (1, rita, first), (2, rob, second)]
    stored = fresh(skill)
    assert {name: getattr(stored, name) for name in second} == second
    assert stored.writer == rob


@pytest.mark.parametrize(
    ("precondition", "kept"),
    [
        (" \n", None),
        ([], None),
        (["", "  "], None),
        ([" get_order "], "get_order"),
        (["a", "", "b"], ["a", "b"]),
    ],
)
def test_a_precondition_is_kept_as_the_extractors_write_it(tenant, rita, precondition, kept):
    skill = make_skill(tenant, precondition="something else")
    edit(skill, rita, 0, precondition=precondition)
    assert fresh(skill).precondition == kept


def test_steps_that_only_repeat_the_action_follow_it_and_others_stay(tenant, rita):
    repeating = make_skill(tenant, action="refund")
    edit(repeating, rita, 0, action="ask first", steps=["refund"])
    assert fresh(repeating).steps == ["ask first"]
    apart = make_skill(tenant, action="refund", steps=["look", "refund"])
    edit(apart, rita, 0, action="ask first")
    assert fresh(apart).steps == ["look", "refund"]
    edit(apart, rita, 1, steps=["one", " ", "two"])
    assert fresh(apart).steps == ["one", "two"]
    edit(apart, rita, 2, steps=[])
    assert fresh(apart).steps is None


@pytest.mark.parametrize(
    ("label", "after"),
    [
        ("Auto-learned: call get_order", "Auto-learned: an order is late"),
        ("Where is my order", "Where is my order"),
    ],
)
def test_a_label_that_was_made_from_the_trigger_follows_it(tenant, rita, label, after):
    skill = make_skill(tenant, trigger="call get_order", label=label)
    edit(skill, rita, 0, trigger="an order is late")
    assert fresh(skill).label == after


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        ({"trigger": " "}, {"trigger"}),
        ({"action": "", "rationale": "\n"}, {"action", "rationale"}),
        ({"trigger": 5}, {"trigger"}),
        ({"precondition": {"a": 1}}, {"precondition"}),
        ({"precondition": ["a", 1]}, {"precondition"}),
        ({"steps": "one"}, {"steps"}),
        ({"steps": ["a"] * (MAX_ITEMS + 1)}, {"steps"}),
        ({"kind": "action", "trigger": "x"}, {"kind"}),
        ({"state": "approved"}, {"state"}),
    ],
)
def test_a_text_that_cannot_be_kept_is_named(tenant, rita, content, wrong):
    skill = make_skill(tenant, "guardrail")
    with pytest.raises(InvalidError) as caught:
        edit(skill, rita, 0, **content)
    assert set(caught.value.details["fields"]) == wrong
    assert (fresh(skill).version, len(revisions(skill))) == (0, 1)


@pytest.mark.parametrize("approve_too", [False, True])
def test_an_edit_that_changes_nothing_is_refused(tenant, rita, approve_too):
    skill = make_skill(tenant, precondition="get_order")
    same = {
        name: getattr(skill, name) for name in ("trigger", "action", "rationale", "precondition", "steps")
    }
    with pytest.raises(InvalidError, match="Nothing was changed"):
        edit(skill, rita, 0, approve=approve_too, **same)
    stored = fresh(skill)
    assert (stored.version, stored.writer) == (0, None)


def test_texts_of_the_greatest_length_are_kept(tenant, rita):
    skill = make_skill(tenant)
    edit(skill, rita, 0, trigger="t" * MAX_TEXT_LENGTH, steps=["s" * MAX_TEXT_LENGTH] * MAX_ITEMS)
    assert len(fresh(skill).trigger) == MAX_TEXT_LENGTH


# -- Versions and races


@pytest.mark.parametrize("seen", [0, 2, -1, 99])
@pytest.mark.parametrize("name", ACTS)
def test_a_decision_on_another_version_than_the_current_is_refused_and_changes_nothing(
    tenant, rita, max_, name, seen
):
    act, state = ACTS[name]
    skill = make_skill(tenant)
    if state == "approved":
        approve(skill, max_, 0)
    else:
        edit(skill, max_, 0, trigger="an order is late")
    before = snapshot(skill)
    with pytest.raises(ConflictError) as caught:
        act(skill, rita, seen)
    assert caught.value.details == {"skill_id": skill.pk, "actor": "max"}
    assert (snapshot(skill), fresh(skill).version, skill.decisions.count()) == (before, 1, 1)


@pytest.mark.parametrize(
    ("kind", "act", "said"),
    [
        ("action", lambda s, who: approve(s, who, 0), "Max approved the skill while"),
        ("guardrail", lambda s, who: approve(s, who, 0), "Max gave the skill its first approval while"),
        ("action", lambda s, who: edit(s, who, 0), "Max edited the skill while"),
        ("action", lambda s, who: reject(s, who, 0), "Max rejected the skill while"),
        (
            "action",
            lambda s, who: merge(s, who, make_skill(s.tenant), 0),
            "Max merged the skill into another",
        ),
        ("action", lambda s, who: undo(s, who, reject(s, who, 0)), "Max undid: rejected the skill while"),
        (
            "action",
            lambda s, who: retire(s, who, approve(s, who, 0).skill.version),
            "Max retired the skill while",
        ),
    ],
)
def test_the_loser_of_a_race_is_told_who_did_what(tenant, rita, max_, kind, act, said):
    skill = make_skill(tenant, kind)
    act(skill, max_)
    with pytest.raises(ConflictError) as caught:
        approve(skill, rita, 0)
    assert caught.value.message.startswith(said)
    assert caught.value.message.endswith("Your decision was not saved.")


def test_where_nobody_decided_nobody_is_named(tenant, rita):
    """A draft that came in meanwhile may have changed the skill as well."""
    skill = make_skill(tenant)
    undo(skill, rita, reject(skill, rita, 0))
    Skill.objects.for_tenant(tenant).filter(pk=skill.pk).update(version=3)
    with pytest.raises(ConflictError, match="has changed since you opened it") as caught:
        approve(skill, rita, 2)
    assert caught.value.details == {"skill_id": skill.pk}


def test_of_several_people_at_once_one_wins(in_threads, tenant):
    people = [make_member(tenant) for _ in range(3)]
    skill, other = make_skill(tenant), make_skill(tenant)
    results = in_threads(
        partial(approve, skill, people[0], 0),
        partial(reject, skill, people[1], 0),
        partial(edit, skill, people[2], 0),
        partial(merge, skill, people[0], other, 0),
    )
    assert Counter(type(result).__name__ for result in results) == {"ConflictError": 3, "Done": 1}
    assert (fresh(skill).version, skill.decisions.count()) == (1, 1)
    assert not list(verify_chain(tenant=tenant))


def test_two_first_approvals_at_once_are_one(in_threads, tenant):
    people = [make_member(tenant) for _ in range(2)]
    skill = make_skill(tenant, "guardrail")
    results = in_threads(*(partial(approve, skill, person, 0) for person in people))
    assert Counter(type(result).__name__ for result in results) == {"ConflictError": 1, "Done": 1}
    assert fresh(skill).state == "draft"


def test_two_skills_are_not_merged_into_each_other(in_threads, tenant):
    rita = make_member(tenant)
    one, two = make_skill(tenant, episodes=["run-1"]), make_skill(tenant, episodes=["run-2"])
    results = in_threads(partial(merge, one, rita, two, 0), partial(merge, two, rita, one, 0))
    assert Counter(type(result).__name__ for result in results) == {"ConflictError": 1, "Done": 1}
    assert sorted([fresh(one).state, fresh(two).state]) == ["draft", "merged"]


def test_of_two_undos_at_once_one_wins(in_threads, tenant):
    rita, max_ = make_member(tenant), make_member(tenant, Role.MANAGER)
    skill, into = make_skill(tenant, episodes=["run-1"]), make_skill(tenant)
    before = snapshot(skill, into)
    done = merge(skill, rita, into, 0)
    results = in_threads(partial(undo, skill, rita, done), partial(undo, skill, max_, done))
    assert Counter(type(result).__name__ for result in results) == {"ConflictError": 1, "Done": 1}
    assert snapshot(skill, into) == before


def test_who_is_removed_at_the_same_moment_approves_before_or_not_at_all(in_threads, tenant):
    """Whatever the order, no second approval stands on a first one that did not count when it was given."""
    rita, rob = make_member(tenant), make_member(tenant)
    some = [make_skill(tenant, "guardrail") for _ in range(6)]
    for skill in some:
        approve(skill, rita, 0)

    def approve_all():
        return [approve(skill, rob, 1).skill.state for skill in some]

    removed, states = in_threads(
        partial(tenants.remove_member, tenant=tenant, author=None, user_id=rita.pk), approve_all
    )
    assert removed is None
    assert not isinstance(states, Exception)
    event = AuditEvent.objects.for_tenant(tenant).get(action="member.removed")
    for skill in some:
        second = AuditEvent.objects.for_tenant(tenant).get(
            action="skill.approve", object_id=str(skill.pk), actor=rob
        )
        expected = "approved" if second.sequence < event.sequence else "draft"
        assert fresh(skill).state == expected


# -- Who may decide


@pytest.mark.parametrize("how", ["removed", "made a viewer", "closed"])
@pytest.mark.parametrize("name", [*ACTS, "undo"])
def test_who_lost_their_role_decides_nothing(tenant, rita, name, how):
    act, state = ACTS.get(name, (None, "draft"))
    skill = make_skill(tenant, state=state)
    done = reject(skill, rita, 0) if name == "undo" else None
    take_role_away(tenant, rita, how)
    before, version = snapshot(skill), fresh(skill).version
    with pytest.raises(ForbiddenError, match="Only a reviewer"):
        undo(skill, rita, done) if done else act(skill, rita, version)
    assert (snapshot(skill), fresh(skill).version) == (before, version)


@pytest.mark.parametrize("name", ACTS)
def test_a_viewer_and_a_stranger_decide_nothing(tenant, other_tenant, name):
    act, state = ACTS[name]
    skill = make_skill(tenant, state=state)
    for someone in (make_member(tenant, Role.VIEWER), make_member(other_tenant, Role.OWNER)):
        with pytest.raises(ForbiddenError):
            act(skill, someone, 0)
    assert fresh(skill).version == 0


@pytest.mark.parametrize("name", ACTS)
def test_a_strangers_skill_is_not_found(tenant, other_tenant, rita, name):
    act, state = ACTS[name]
    skill = make_skill(tenant, state=state)
    stranger = make_member(other_tenant, Role.OWNER)
    skill.tenant = other_tenant
    with pytest.raises(NotFoundError):
        act(skill, stranger, 0)
    assert Skill.objects.for_tenant(tenant).get(pk=skill.pk).version == 0


def test_a_strangers_decision_is_not_found(tenant, other_tenant, rita):
    skill = make_skill(tenant)
    done = reject(skill, rita, 0)
    skill.tenant = other_tenant
    with pytest.raises(NotFoundError):
        undo(skill, make_member(other_tenant, Role.OWNER), done)
    assert last_undoable(tenant=other_tenant, actor=rita) is None


# -- Undo


def test_every_decision_can_be_undone(tenant, rita, rob):
    """Each leaves everything as it was but the version, also where several kinds of value stood before."""
    into = make_skill(tenant, episodes=["run-1"])
    ways = {
        "first approval": ("guardrail", {}, lambda s: approve(s, rita, s.version)),
        "approval": ("action", {}, lambda s: approve(s, rita, s.version)),
        "edit": (
            "preflight",
            {"precondition": ["a", "b"]},
            lambda s: edit(s, rita, s.version, precondition="c"),
        ),
        "rejection": (
            "guardrail",
            {"came_back": True, "evidence_then": 1, "episodes": ["run-1", "run-2"]},
            lambda s: reject(s, rita, s.version),
        ),
        "merge": ("action", {"episodes": ["run-1", "run-2"]}, lambda s: merge(s, rita, into, s.version)),
        "retirement": ("action", {"state": "approved"}, lambda s: retire(s, rita, s.version)),
    }
    for name, (kind, fields, act) in ways.items():
        skill = make_skill(tenant, kind, **fields)
        if kind in TWO_PEOPLE:
            edit(skill, rob, 0, trigger=f"after a person wrote it: {name}", approve=True)
            skill = fresh(skill)
            if name == "first approval":
                take_role_away(tenant, rob, "made a viewer")
        before, version = snapshot(skill, into), skill.version
        done = act(skill)
        assert snapshot(skill, into) != before, name
        undone = undo(skill, rita, done)
        assert snapshot(skill, into) == before, name
        assert undone.skill.version == fresh(skill).version == version + 2
        assert undone.decision.undoes_id == done.decision.pk
        if name == "first approval":
            tenants.change_role(tenant=tenant, author=None, user_id=rob.pk, role="reviewer")


def test_a_decision_is_undone_once_and_an_undo_never(tenant, rita):
    skill = make_skill(tenant)
    done = reject(skill, rita, 0)
    undone = undo(skill, rita, done)
    with pytest.raises(ConflictError, match="undone already"):
        undo(skill, rita, done)
    with pytest.raises(NotFoundError):
        undo(skill, rita, undone)
    assert fresh(skill).version == 2
    assert reject(skill, rita, 2).skill.state == "rejected"


@pytest.mark.parametrize(
    ("kind", "first", "second"),
    [
        ("guardrail", lambda s, who: approve(s, who, 0), lambda s, who: approve(s, who, 1)),
        ("guardrail", lambda s, who: approve(s, who, 0), lambda s, who: edit(s, who, 1)),
        ("guardrail", lambda s, who: approve(s, who, 0), lambda s, who: reject(s, who, 1)),
        ("action", lambda s, who: approve(s, who, 0), lambda s, who: retire(s, who, 1)),
        ("action", lambda s, who: edit(s, who, 0), lambda s, who: edit(s, who, 1, trigger="x")),
        ("action", lambda s, who: edit(s, who, 0), lambda s, who: approve(s, who, 1)),
        ("action", lambda s, who: edit(s, who, 0), lambda s, who: merge(s, who, make_skill(s.tenant), 1)),
    ],
)
def test_what_was_changed_again_since_is_not_undone_until_that_is(tenant, rita, rob, kind, first, second):
    skill = make_skill(tenant, kind)
    start = snapshot(skill)
    done = first(skill, rita)
    later = second(skill, rob)
    before = snapshot(skill)
    with pytest.raises(ConflictError, match="changed again since"):
        undo(skill, rita, done)
    assert (snapshot(skill), fresh(skill).version) == (before, 2)
    undo(skill, rob, later)
    undo(skill, rita, done)
    assert snapshot(skill) == start


def test_an_edit_back_to_the_same_text_is_a_change_too(tenant, rita, rob):
    skill = make_skill(tenant, trigger="A")
    first = edit(skill, rita, 0, trigger="B")
    edit(skill, rob, 1, trigger="C")
    edit(skill, rob, 2, trigger="B")
    with pytest.raises(ConflictError, match="changed again since"):
        undo(skill, rita, first)


def test_a_rejection_is_not_undone_when_the_skill_came_back_since(tenant, rita):
    skill = make_skill(tenant, episodes=["run-1"])
    done = reject(skill, rita, 0)
    Skill.objects.for_tenant(tenant).filter(pk=skill.pk).update(state="draft", came_back=True, version=2)
    before = snapshot(skill)
    with pytest.raises(ConflictError, match="changed again since"):
        undo(skill, rita, done)
    assert snapshot(skill) == before


def test_an_undone_merge_takes_away_what_it_brought_and_nothing_else(tenant, rita):
    into = make_skill(tenant, episodes=["run-1", "run-2"])
    skill = make_skill(tenant, episodes=["run-2", "run-3", "run-4"])
    done = merge(skill, rita, into, 0)
    later = SkillEvidence(tenant=tenant, skill=into, episode="run-5")
    SkillEvidence.objects.across_tenants().bulk_create([later])
    Skill.objects.for_tenant(tenant).filter(pk=into.pk).update(evidence=5)
    undo(skill, rita, done)
    assert episodes(into) == {"run-1", "run-2", "run-5"}
    assert episodes(skill) == {"run-2", "run-3", "run-4"}
    assert (fresh(skill).state, fresh(skill).merged_into) == ("draft", None)


def test_a_merge_of_much_evidence_is_undone_whole(tenant, rita):
    names = [f"run-{n}" for n in range(1201)]
    into, skill = make_skill(tenant, episodes=["own"]), make_skill(tenant, episodes=names)
    done = merge(skill, rita, into, 0)
    assert len(episodes(into)) == 1202
    undo(skill, rita, done)
    assert episodes(into) == {"own"}


def test_of_merges_that_share_evidence_the_later_is_undone_first(tenant, rita):
    into = make_skill(tenant, episodes=["run-1"])
    one, two = make_skill(tenant, episodes=["run-2"]), make_skill(tenant, episodes=["run-2", "run-3"])
    apart = make_skill(tenant, episodes=["run-4"])
    start = snapshot(into, one, two, apart)
    first, second, third = merge(one, rita, into, 0), merge(two, rita, into, 0), merge(apart, rita, into, 0)
    with pytest.raises(ConflictError, match="Undo that first") as caught:
        undo(one, rita, first)
    assert caught.value.details == {"skill_id": one.pk, "other_id": two.pk}
    assert episodes(into) == {"run-1", "run-2", "run-3", "run-4"}
    undo(two, rita, second)
    undo(one, rita, first)
    assert episodes(into) == {"run-1", "run-4"}
    undo(apart, rita, third)
    assert snapshot(into, one, two, apart) == start


def test_a_merge_is_not_undone_while_the_other_skill_is_itself_merged(tenant, rita):
    end, into, skill = (make_skill(tenant, episodes=[f"run-{n}"]) for n in range(3))
    start = snapshot(end, into, skill)
    first = merge(skill, rita, into, 0)
    second = merge(into, rita, end, 0)
    with pytest.raises(ConflictError, match="itself been merged"):
        undo(skill, rita, first)
    undo(into, rita, second)
    undo(skill, rita, first)
    assert snapshot(end, into, skill) == start


def test_another_reviewer_may_not_undo_it_and_a_manager_may(tenant, rita, rob, max_):
    skill = make_skill(tenant)
    done = reject(skill, rita, 0)
    with pytest.raises(ForbiddenError, match="Only a manager"):
        undo(skill, rob, done)
    assert fresh(skill).state == "rejected"
    undone = undo(skill, max_, done)
    assert (undone.decision.actor, fresh(skill).state) == (max_, "draft")


def test_the_last_decision_that_stands_can_be_undone_next(tenant, rita, max_):
    skill, other = make_skill(tenant), make_skill(tenant, "guardrail")

    def last():
        return last_undoable(tenant=tenant, actor=rita)

    assert last() is None
    first, second = reject(skill, rita, 0), approve(other, rita, 0)
    reject(make_skill(tenant), max_, 0)
    assert last().pk == second.decision.pk
    undo(other, max_, second)
    assert last().pk == first.decision.pk
    SkillDecision.objects.for_tenant(tenant).update(
        created_at=timezone.now() - UNDO_BY_KEY - timedelta(minutes=1)
    )
    assert last() is None


# -- What the runtime is told

DRAFT_AGAIN = ("patch", {"active": False, "properties": {"status": "draft"}})
WITHDRAWN = ("patch", {"active": False, "properties": {"status": "rejected"}})


@pytest.mark.usefixtures("runtime")
@pytest.mark.parametrize(
    ("act", "message", "undone"),
    [
        (lambda s, who: approve(s, who, 0), ("approve", None), DRAFT_AGAIN),
        (lambda s, who: reject(s, who, 0), ("reject", None), DRAFT_AGAIN),
        (lambda s, who: merge(s, who, make_skill(s.tenant), 0), ("reject", None), DRAFT_AGAIN),
    ],
)
def test_the_runtime_is_told_of_a_decision_and_of_its_undo(tenant, rita, act, message, undone):
    skill = make_skill(tenant, runtime_id="node-1")
    done = act(skill, rita)
    assert told(skill) == [message]
    undo(skill, rita, done)
    assert told(skill) == [message, undone]


@pytest.mark.usefixtures("runtime")
def test_the_runtime_is_told_of_a_retirement_and_of_its_undo(tenant, rita):
    skill = make_skill(tenant, runtime_id="node-1")
    approve(skill, rita, 0)
    done = retire(skill, rita, 1)
    undo(skill, rita, done)
    assert told(skill) == [("approve", None), WITHDRAWN, ("approve", None)]


@pytest.mark.usefixtures("runtime")
def test_the_runtime_gets_an_edited_text_before_the_approval(tenant, rita, rob):
    skill = make_skill(
        tenant,
        "preflight",
        runtime_id="node-1",
        trigger="a refund",
        action="refund",
        precondition="get_order",
    )
    edit(skill, rita, 0, trigger="a refund over 500", precondition=None, rationale="Fraud.", approve=True)
    assert told(skill) == []
    approve(skill, rob, 2)
    body = {
        "steps": ["refund"],
        "properties": {
            "content": "a refund over 500\nAction: refund\nRationale: Fraud.",
            "context": "Fraud.",
            "label": "Auto-learned (preflight): a refund over 500",
            "trigger": "a refund over 500",
            "rationale": "Fraud.",
            "precondition": None,
        },
    }
    assert told(skill) == [("patch", body), ("approve", None)]


@pytest.mark.usefixtures("runtime")
def test_a_text_sent_once_is_replaced_when_its_edit_was_undone(tenant, rita, rob):
    skill = make_skill(tenant, runtime_id="node-1", trigger="as it came")
    edited = edit(skill, rita, 0, trigger="as a person wrote it")
    undo(skill, rob, approve(skill, rob, 1))
    undo(skill, rita, edited)
    approve(skill, rita, 4)
    sent = [body["properties"]["trigger"] for _, body in told(skill) if body and "steps" in body]
    assert sent == ["as a person wrote it", "as it came"]


@pytest.mark.usefixtures("runtime")
def test_nothing_is_told_that_changes_nothing_there(tenant, rita):
    skill = make_skill(tenant, "guardrail", runtime_id="node-1")
    undo(skill, rita, approve(skill, rita, 0))
    undo(skill, rita, edit(skill, rita, 2))
    unknown = make_skill(tenant)
    reject(unknown, rita, 0)
    assert told(skill) == told(unknown) == []


# -- History


def test_every_decision_leaves_one_audit_event(tenant, rita, max_):
    skill, into = make_skill(tenant), make_skill(tenant, episodes=["run-1"])

    def acts():
        yield "skill.edit", edit(skill, rita, 0, trigger="Hostile <b>text</b>")
        rejected = reject(skill, rita, 1, "harmful", "No.")
        yield "skill.reject", rejected
        yield "skill.undo", undo(skill, max_, rejected)
        merged = merge(skill, rita, into, 3)
        yield "skill.merge", merged
        yield "skill.undo", undo(skill, max_, merged)
        yield "skill.approve", approve(skill, max_, 5)
        yield "skill.retire", retire(skill, rita, 6, "Old.")

    done = list(acts())
    events = list(AuditEvent.objects.for_tenant(tenant).filter(object_type="skill").order_by("sequence"))
    assert [event.action for event in events] == [name for name, _ in done]
    assert {event.object_id for event in events} == {str(skill.pk)}
    assert [event.actor_id for event in events] == [each.decision.actor_id for _, each in done]
    data = [json.loads(event.data) for event in events]
    assert [d["version"] for d in data] == [each.decision.version for _, each in done] == list(range(1, 8))
    assert [d["state"] for d in data] == [
        "draft", "rejected", "draft", "merged", "draft", "approved", "retired"
    ]  # fmt: skip
    assert (data[0]["revision"], data[0]["fields"]) == (1, ["label", "trigger"])
    assert (data[1]["reason"], data[1]["text"], data[6]["text"]) == ("harmful", "No.", "Old.")
    assert (data[3]["into"], data[3]["evidence"]) == (into.pk, 0)
    assert "Hostile" not in "".join(event.data for event in events)
    assert not list(verify_chain(tenant=tenant))


def test_every_decision_moves_version_and_time_of_change(tenant, rita, rob):
    skill = make_skill(tenant, "guardrail")
    moment = fresh(skill).changed_at
    acts = [
        lambda: approve(skill, rita, 0),
        lambda: edit(skill, rob, 1),
        lambda: approve(skill, rita, 2),
        lambda: approve(skill, make_member(tenant), 3),
        lambda: retire(skill, rita, 4),
    ]
    for version, act in enumerate(acts, start=1):
        done = act()
        stored = fresh(skill)
        assert stored.version == done.decision.version == done.skill.version == version
        assert stored.changed_at == done.decision.created_at > moment
        moment = stored.changed_at


def test_the_queries_of_a_decision_do_not_grow_with_what_was_decided_or_with_the_evidence(tenant, rita, max_):
    def queries(act):
        with CaptureQueriesContext(connection) as captured:
            done = act()
        return len(captured), done

    def decide_and_undo(size):
        names = [f"run-{size}-{n}" for n in range(size)]
        skill, into = make_skill(tenant, "guardrail", episodes=names), make_skill(tenant)
        skill.tenant = tenant
        counts = []
        for act in (
            lambda v: approve(skill, rita, v),
            lambda v: edit(skill, rita, v, trigger=f"with {size} episodes"),
            lambda v: reject(skill, rita, v),
            lambda v: merge(skill, rita, into, v),
        ):
            taken, done = queries(partial(act, fresh(skill).version))
            counts.append(taken)
            counts.append(queries(partial(undo, skill, max_, done))[0])
        return counts

    few, many = decide_and_undo(1), decide_and_undo(80)
    assert few == many
    assert max(many) <= 25


# -- Any sequence of decisions and undos


class Model:
    """What the rules say, beside the services: people by name, skills by number, and what stood before."""

    def __init__(self, kinds, evidence, *, always_two):
        self.always_two = always_two
        self.members = {"ann": "reviewer", "bob": "reviewer", "mia": "manager"}
        self.skills = [
            {"kind": kind, "state": "draft", "first": None, "writer": None,
             "texts": {"trigger": ("came", None)}, "into": None, "own": set(found), "brought": {}, "log": []}
            for kind, found in zip(kinds, evidence, strict=True)
        ]  # fmt: skip
        self.decisions = []

    def evidence(self, n):
        skill = self.skills[n]
        return skill["own"].union(*skill["brought"].values())

    def expected(self, act, who, n, extra):
        """The error that the rules lead to; None when the act is to take place."""
        skill = self.skills[n]
        if who not in self.members:
            return ForbiddenError
        if skill["state"] != ("approved" if act == "retire" else "draft"):
            return ConflictError
        if act == "merge":
            return ConflictError if self.skills[extra]["state"] not in ("draft", "approved") else None
        return ForbiddenError if act == "approve" and self._approval(who, skill) == "refused" else None

    def _approval(self, who, skill):
        two = self.always_two or skill["kind"] in ("guardrail", "preflight")
        first = skill["first"] if skill["first"] in self.members else None
        writers = {writer for _, writer in skill["texts"].values()}
        if who not in writers and not two:
            return "final"
        if first is None:
            return "first"
        return "refused" if who in {first, *writers} else "final"

    def apply(self, act, who, n, extra):
        skill = self.skills[n]
        before = {name: skill[name] for name in ("state", "first", "writer", "texts", "into")}
        if act == "approve":
            if self._approval(who, skill) == "first":
                skill["first"] = who
            else:
                skill["state"] = "approved"
                skill["first"] = skill["first"] if skill["first"] in self.members else None
        elif act == "edit":
            texts = {name: (text, who) for name, text in extra.items()}
            skill.update(texts=skill["texts"] | texts, writer=who, first=None)
        elif act == "reject":
            skill.update(state="rejected", first=None)
        elif act == "merge":
            self.skills[extra]["brought"][n] = self.evidence(n) - self.evidence(extra)
            skill.update(state="merged", into=extra)
        else:
            skill["state"] = "retired"
        skill["log"].append(len(self.decisions))
        self.decisions.append({"skill": n, "who": who, "act": act, "before": before, "undone": False})

    def undo_expected(self, who, d):
        decision = self.decisions[d]
        skill = self.skills[decision["skill"]]
        if who not in self.members or (who != decision["who"] and self.members[who] != "manager"):
            return ForbiddenError
        if decision["undone"] or skill["log"][-1] != d:
            return ConflictError
        if decision["act"] == "merge":
            n, into = decision["skill"], skill["into"]
            brought = self.skills[into]["brought"][n]
            others = (o for o, s in enumerate(self.skills) if s["into"] == into and o != n)
            if self.skills[into]["state"] == "merged" or any(brought & self.evidence(o) for o in others):
                return ConflictError
        return None

    def undo(self, d):
        decision = self.decisions[d]
        skill = self.skills[decision["skill"]]
        if decision["act"] == "merge":
            del self.skills[skill["into"]]["brought"][decision["skill"]]
        skill.update(decision["before"])
        skill["log"].pop()
        decision["undone"] = True


PEOPLE = st.sampled_from(["ann", "bob", "mia"])
STEPS = st.one_of(
    st.tuples(st.just("approve"), PEOPLE, st.integers(0, 2), st.just(0)),
    st.tuples(st.just("approve"), PEOPLE, st.integers(0, 2), st.just(0)),
    st.tuples(st.just("edit"), PEOPLE, st.integers(0, 2), st.sampled_from(["trigger", "action"])),
    st.tuples(st.just("edit"), PEOPLE, st.integers(0, 2), st.sampled_from(["trigger", "action"])),
    st.tuples(st.just("reject"), PEOPLE, st.integers(0, 2), st.just(0)),
    st.tuples(st.just("merge"), PEOPLE, st.integers(0, 2), st.integers(1, 2)),
    st.tuples(st.just("retire"), PEOPLE, st.integers(0, 2), st.just(0)),
    st.tuples(st.just("undo"), PEOPLE, st.integers(0, 30), st.just(0)),
    st.tuples(st.just("undo"), PEOPLE, st.integers(0, 30), st.just(0)),
    st.tuples(st.just("stale"), PEOPLE, st.integers(0, 2), st.just(0)),
    st.tuples(st.just("leave or join"), st.sampled_from(["ann", "bob"]), st.just(0), st.just(0)),
)


@pytest.mark.django_db
@hypothesis_settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    steps=st.lists(STEPS, max_size=18),
    kinds=st.lists(st.sampled_from(SkillKind.values), min_size=3, max_size=3),
    evidence=st.lists(st.sets(st.sampled_from("abcd"), max_size=3), min_size=3, max_size=3),
    always_two=st.booleans(),
)
def test_any_sequence_of_decisions_and_undos_keeps_what_must_hold(steps, kinds, evidence, always_two):
    tenant = make_tenant(slug=f"t{next(_slugs)}", skills_need_second_person=always_two)
    model = Model(kinds, evidence, always_two=always_two)
    people = {
        name: make_member(tenant, Role(role), f"{name}-{tenant.slug}") for name, role in model.members.items()
    }
    some = [
        make_skill(tenant, kind, trigger="came", episodes=sorted(found))
        for kind, found in zip(kinds, evidence, strict=True)
    ]
    done, versions, texts = [], [0, 0, 0], count(1)
    for act, who, which, extra in steps:
        person = people[who]
        if act == "leave or join":
            if model.members.pop(who, None) is None:
                model.members[who] = "reviewer"
                tenants.add_member(tenant=tenant, author=None, user=person, role="reviewer")
            else:
                tenants.remove_member(tenant=tenant, author=None, user_id=person.pk)
            continue
        if act == "undo":
            if not done:
                continue
            d = which % len(done)
            n = model.decisions[d]["skill"]
            wrong = model.undo_expected(who, d)
            call, follow = partial(undo, some[n], person, done[d]), partial(model.undo, d)
        else:
            n, seen = which, versions[which]
            more = None
            if act == "edit":
                more = {extra: f"text {next(texts)}"}
            elif act == "merge":
                more = (which + extra) % 3
            calls = {
                "approve": partial(approve, some[n], person, seen),
                "edit": partial(edit, some[n], person, seen, **(more if act == "edit" else {})),
                "reject": partial(reject, some[n], person, seen),
                "merge": partial(merge, some[n], person, some[more] if act == "merge" else None, seen),
                "retire": partial(retire, some[n], person, seen),
                "stale": partial(reject, some[n], person, seen - 1),
            }
            stale = ConflictError if who in model.members else ForbiddenError
            wrong = stale if act == "stale" else model.expected(act, who, n, more)
            call, follow = calls[act], partial(model.apply, act, who, n, more)
        if wrong is not None:
            with pytest.raises(wrong):
                call()
            continue
        result = call()
        follow()
        versions[n] += 1
        if act != "undo":
            done.append(result)

    names = {person.pk: name for name, person in people.items()} | {None: None}
    for n, (skill, expected) in enumerate(zip(some, model.skills, strict=True)):
        stored = fresh(skill)
        assert stored.state == expected["state"]
        for name, (text, _) in expected["texts"].items():
            assert getattr(stored, name) == text
        assert names[stored.first_approver_id] == expected["first"]
        assert names[stored.writer_id] == expected["writer"]
        assert stored.merged_into_id == (some[expected["into"]].pk if expected["into"] is not None else None)
        assert episodes(skill) == model.evidence(n)
        assert stored.version == versions[n] == skill.decisions.count()
        assert (stored.decided_by_id is None) == (stored.decided_at is None) == (stored.state == "draft")
        if stored.state in ("approved", "retired"):
            approvers = {stored.first_approver_id} | {
                decision.actor_id
                for decision in skill.decisions.filter(action="approve", undone_by__isnull=True)
            }
            writers = {writer for _, writer in expected["texts"].values()}
            assert {names[each] for each in approvers} - {None, *writers}, "approved by who wrote none of it"
    decisions = SkillDecision.objects.for_tenant(tenant).count()
    assert AuditEvent.objects.for_tenant(tenant).filter(object_type="skill").count() == decisions
    assert Membership.objects.for_tenant(tenant).count() == len(model.members)
    assert not list(verify_chain(tenant=tenant))
