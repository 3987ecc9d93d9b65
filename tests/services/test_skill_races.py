"""Drafts that come in while people decide: nothing is lost, counted twice, or brought back too soon."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from reviews.models import AuditEvent, Skill, SkillDecision
from reviews.models.tenants import Role
from reviews.services import skills, tenants
from reviews.services.audit import verify_chain
from reviews.services.errors import ConflictError, ForbiddenError
from reviews.services.publishing import publish_settings
from reviews.services.skill_bulk import preview_reject, reject_many
from reviews.services.skill_queue import SkillFilter
from tests.factories import make_member, make_skill
from tests.services.test_drafts import OTHER, REFUND, REWORDED, take, with_episodes


def fresh(skill):
    return Skill.objects.for_tenant(skill.tenant_id).get(pk=skill.pk)


def counted(skill):
    """The evidence, which is what its rows are."""
    stored = fresh(skill)
    names = list(stored.episodes.values_list("episode", flat=True))
    assert stored.evidence == len(names) == len(set(names))
    return set(names)


def failures(results, *expected):
    return [each for each in results if isinstance(each, Exception) and not isinstance(each, expected)]


def test_a_rejection_and_drafts_that_fold_in_at_once(in_threads, tenant):
    rita = make_member(tenant)
    skill = take(tenant).skill
    results = in_threads(
        partial(
            skills.reject_skill, tenant=tenant, actor=rita, skill_id=skill.pk, reason="wrong", seen_version=0
        ),
        *[partial(take, tenant, with_episodes(REWORDED, f"new-{n}")) for n in range(3)],
    )
    assert not failures(results)
    stored = fresh(skill)
    assert counted(skill) == {"run-1", "run-2", "new-0", "new-1", "new-2"}
    # It is back if, and only if, what came after the rejection made twice of what was there before.
    rejection = SkillDecision.objects.for_tenant(tenant).get()
    assert stored.came_back == (stored.state == "draft") == (stored.evidence_then == 2)
    assert rejection.version == 1
    assert stored.version == (2 if stored.came_back else 1)
    assert Skill.objects.for_tenant(tenant).count() == 1
    assert not list(verify_chain(tenant=tenant))


def test_a_merge_its_undo_and_drafts_that_fold_in_at_once(in_threads, tenant):
    rita = make_member(tenant)
    skill, into = take(tenant).skill, take(tenant, with_episodes(OTHER, "p-1")).skill
    merge = partial(
        skills.merge_skill, tenant=tenant, actor=rita, skill_id=skill.pk, into_id=into.pk, seen_version=0
    )
    results = in_threads(
        merge, *[partial(take, tenant, with_episodes(REWORDED, f"new-{n}")) for n in range(3)]
    )
    assert not failures(results)
    assert counted(into) == {"p-1", "run-1", "run-2", "new-0", "new-1", "new-2"}
    before = counted(skill)
    undo = partial(skills.undo_skill_decision, tenant=tenant, actor=rita, decision_id=results[0].decision.pk)
    results = in_threads(undo, partial(take, tenant, with_episodes(REFUND, "last")))
    assert not failures(results)
    assert fresh(skill).state == "draft"
    assert counted(skill) - {"last"} == before
    late = {"new-0", "new-1", "new-2"} - before
    assert counted(into) - {"last"} == {"p-1"} | late
    assert ("last" in counted(skill)) != ("last" in counted(into))


def test_two_merges_and_a_rejection_around_one_skill_at_once(in_threads, tenant):
    rita, rob = make_member(tenant), make_member(tenant)
    one, two, into = (make_skill(tenant, episodes=[name]) for name in ("a", "b", "c"))
    results = in_threads(
        *[
            partial(
                skills.merge_skill,
                tenant=tenant,
                actor=rita,
                skill_id=each.pk,
                into_id=into.pk,
                seen_version=0,
            )
            for each in (one, two)
        ],
        partial(
            skills.reject_skill, tenant=tenant, actor=rob, skill_id=into.pk, reason="wrong", seen_version=0
        ),
    )
    assert not failures(results, ConflictError)
    assert fresh(into).state == "rejected"
    merged = [each for each in (one, two) if fresh(each).state == "merged"]
    assert counted(into) == {"c"} | {name for each in merged for name in counted(each)}
    assert fresh(into).evidence_then == fresh(into).evidence


def test_an_approval_and_an_edit_at_once_never_approve_what_was_not_seen(in_threads, tenant):
    rita, rob, mia = (make_member(tenant) for _ in range(3))
    skill = make_skill(tenant, "guardrail", trigger="as it came")
    skills.approve_skill(tenant=tenant, actor=rita, skill_id=skill.pk, seen_version=0)
    results = in_threads(
        partial(skills.approve_skill, tenant=tenant, actor=rob, skill_id=skill.pk, seen_version=1),
        partial(
            skills.edit_skill,
            tenant=tenant,
            actor=mia,
            skill_id=skill.pk,
            content={"trigger": "other words"},
            seen_version=1,
        ),
    )
    assert sorted(type(each).__name__ for each in results) == ["ConflictError", "Done"]
    stored = fresh(skill)
    if stored.state == "approved":
        assert (stored.trigger, stored.first_approver, stored.decided_by) == ("as it came", rita, rob)
    else:
        assert (stored.trigger, stored.first_approver, stored.writer) == ("other words", None, mia)


def test_an_undo_and_the_next_decision_at_once(in_threads, tenant):
    rita, rob = make_member(tenant), make_member(tenant)
    skill = make_skill(tenant, "preflight")
    first = skills.approve_skill(tenant=tenant, actor=rita, skill_id=skill.pk, seen_version=0)
    results = in_threads(
        partial(skills.undo_skill_decision, tenant=tenant, actor=rita, decision_id=first.decision.pk),
        partial(skills.approve_skill, tenant=tenant, actor=rob, skill_id=skill.pk, seen_version=1),
    )
    assert sorted(type(each).__name__ for each in results) == ["ConflictError", "Done"]
    stored = fresh(skill)
    undone = not isinstance(results[0], Exception)
    assert (stored.state, stored.first_approver) == (("draft", None) if undone else ("approved", rita))


@pytest.mark.parametrize("kind", ["action", "guardrail"])
def test_an_approval_and_a_change_of_the_rule_or_the_first_approvers_role_at_once(in_threads, tenant, kind):
    rita, rob = make_member(tenant), make_member(tenant)
    publish_settings(tenant=tenant, author=None, values={"skills_need_second_person": True})
    skill = make_skill(tenant, kind)
    skills.approve_skill(tenant=tenant, actor=rita, skill_id=skill.pk, seen_version=0)
    results = in_threads(
        partial(skills.approve_skill, tenant=tenant, actor=rob, skill_id=skill.pk, seen_version=1),
        partial(tenants.remove_member, tenant=tenant, author=None, user_id=rita.pk),
    )
    assert not failures(results)
    stored = fresh(skill)
    if stored.state == "approved":
        assert (stored.first_approver, stored.decided_by) == (rita, rob)
    else:
        assert (stored.first_approver, stored.decided_by) == (rob, None)
        with pytest.raises(ForbiddenError):
            skills.approve_skill(tenant=tenant, actor=rob, skill_id=skill.pk, seen_version=2)


def test_a_bulk_rejection_and_drafts_that_fold_in_at_once(in_threads, tenant):
    manager = make_member(tenant, Role.MANAGER)
    low = [take(tenant, replace(d, confidence=0.1)).skill for d in (REFUND, with_episodes(OTHER, "p-1"))]
    wanted = SkillFilter(low=True)
    digest = preview_reject(tenant=tenant, wanted=wanted).ids_digest
    results = in_threads(
        partial(reject_many, tenant=tenant, actor=manager, wanted=wanted, ids_digest=digest, reason="wrong"),
        *[partial(take, tenant, with_episodes(REWORDED, f"new-{n}")) for n in range(2)],
    )
    assert not failures(results)
    refund, printer = (fresh(skill) for skill in low)
    assert counted(refund) == {"run-1", "run-2", "new-0", "new-1"}
    assert printer.state == "rejected"
    assert refund.came_back == (refund.state == "draft") == (refund.evidence_then == 2)
    came_back = AuditEvent.objects.for_tenant(tenant).filter(action="skill.came_back").count()
    assert came_back == int(refund.came_back)
