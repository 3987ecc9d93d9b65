"""What no row may say, whoever writes it: each constraint refuses an insert or update that breaks it."""

from __future__ import annotations

import copy

import pytest
from django.apps import apps
from django.db import IntegrityError, models, transaction

from reviews.models import (
    AgentName,
    ApiKey,
    AssertionCount,
    AssertionResult,
    AuditEvent,
    AuditHead,
    Calibration,
    ConfidenceProfile,
    CriticCircuit,
    CriticVerdict,
    DailyCount,
    Delivery,
    Finding,
    GateCount,
    GroundingSuggestion,
    Job,
    Membership,
    ModelUse,
    PolicyVersion,
    ProfileCount,
    RejudgedTurn,
    ReviewDecision,
    Runtime,
    ShadowOutcome,
    Skill,
    SkillDecision,
    SkillEvidence,
    SkillReplay,
    SkillRevision,
    Tenant,
    TrialVerdict,
    Turn,
    TurnPayload,
)
from reviews.models.bulk import insert_rows
from reviews.services.rows import FINDING_COLUMNS
from tests.factories import make_skill
from tests.models.rows import fill_every_table

OURS = list(apps.get_app_config("reviews").get_models())

#: constraint, table, rows to change, what to write into them
CHECKS = [
    ("turn_confidence_range", Turn, {}, {"max_confidence": -0.01}),
    ("turn_confidence_range", Turn, {}, {"max_confidence": 1.01}),
    ("turn_analysis_state_known", Turn, {}, {"analysis_state": "x"}),
    ("turn_analysis_state_known", Turn, {}, {"analysis_state": ""}),
    ("turn_review_state_known", Turn, {}, {"review_state": "x"}),
    ("turn_source_known", Turn, {}, {"source": "x"}),
    ("turn_outcome_known", Turn, {}, {"outcome": "x"}),
    ("turn_verdict_known", Turn, {}, {"verdict": "x"}),
    ("finding_confidence", Finding, {}, {"confidence": -0.01}),
    ("finding_confidence", Finding, {}, {"confidence": 1.01}),
    ("finding_calibrated", Finding, {}, {"calibrated_confidence": -0.01}),
    ("finding_calibrated", Finding, {}, {"calibrated_confidence": 1.01}),
    ("finding_span_ordered", Finding, {}, {"span_start": 5, "span_end": 4}),
    ("finding_kind_known", Finding, {}, {"kind": "x"}),
    ("finding_label_known", Finding, {}, {"label": "x"}),
    ("decision_undo_names_target", ReviewDecision, {"action": "note"}, {"action": "undo"}),
    ("decision_undo_names_target", ReviewDecision, {"action": "undo"}, {"undoes": None}),
    ("decision_undo_names_target", ReviewDecision, {"action": "undo"}, {"action": "note"}),
    ("decision_action_known", ReviewDecision, {"action": "note"}, {"action": "x"}),
    ("policy_state_known", PolicyVersion, {"number": 1}, {"state": "x"}),
    ("policy_published_when", PolicyVersion, {"state": "published"}, {"published_at": None}),
    ("membership_role_known", Membership, {}, {"role": "x"}),
    ("job_kind_known", Job, {}, {"kind": "x"}),
    ("job_state_known", Job, {}, {"state": "x"}),
    ("suggestion_state", GroundingSuggestion, {}, {"state": "x"}),
    ("suggestion_rule", GroundingSuggestion, {}, {"rule": "x"}),
    ("skill_kind_known", Skill, {}, {"kind": "x"}),
    ("skill_kind_known", Skill, {}, {"kind": ""}),
    ("skill_state_known", Skill, {"state": "draft"}, {"state": "x"}),
    ("skill_origin_known", Skill, {}, {"origin": "x"}),
    ("skill_confidence_range", Skill, {}, {"confidence": -0.01}),
    ("skill_confidence_range", Skill, {}, {"confidence": 1.01}),
    ("skill_merged_names_target", Skill, {"state": "draft"}, {"state": "merged"}),
    ("skill_merged_names_target", Skill, {"state": "merged"}, {"state": "draft"}),
    ("skill_merged_names_target", Skill, {"state": "merged"}, {"merged_into": None}),
    ("skill_undo_names_target", SkillDecision, {"action": "approve"}, {"action": "undo"}),
    ("skill_undo_names_target", SkillDecision, {"action": "undo"}, {"undoes": None}),
    ("skill_undo_names_target", SkillDecision, {"action": "undo"}, {"action": "edit"}),
    ("skill_decision_known", SkillDecision, {"action": "approve"}, {"action": "x"}),
    ("skill_reason_known", SkillDecision, {"action": "reject"}, {"reason": "x"}),
    ("delivery_action", Delivery, {}, {"action": "x"}),
    ("delivery_state", Delivery, {}, {"state": "x"}),
    ("turn_critic_known", Turn, {}, {"critic": "x"}),
    ("turn_assertions_known", Turn, {}, {"assertions": "x"}),
    ("critic_origin_known", CriticVerdict, {}, {"origin": "x"}),
    ("critic_verdict_known", CriticVerdict, {"state": "done"}, {"verdict": "x"}),
    ("critic_said_known", CriticVerdict, {"state": "done"}, {"said": "x"}),
    ("critic_cause_known", CriticVerdict, {"state": "waiting"}, {"cause": "x"}),
    ("critic_human_known", CriticVerdict, {}, {"human": "x"}),
    ("critic_done_has_verdict", CriticVerdict, {"state": "done"}, {"state": "x"}),
    ("critic_done_has_verdict", CriticVerdict, {"state": "done"}, {"verdict": ""}),
    ("critic_done_has_verdict", CriticVerdict, {"state": "waiting"}, {"verdict": "approve"}),
    ("critic_degraded_approves", CriticVerdict, {"state": "done"}, {"cause": "timeout"}),
    (
        "critic_degraded_approves",
        CriticVerdict,
        {"state": "done"},
        {"cause": "timeout", "said": "", "verdict": "refuse"},
    ),
    ("critic_confidence_range", CriticVerdict, {"state": "done"}, {"confidence": 1001}),
    ("trialverdict_known", TrialVerdict, {}, {"verdict": "x"}),
    ("trialverdict_cause", TrialVerdict, {}, {"cause": "x"}),
]

#: constraint, table, row to copy, what differs in the refused copy, what else differs in the accepted one
UNIQUES = [
    ("turn_external_id_once", Turn, {}, {}, {"external_id": "another"}),
    ("finding_position_once", Finding, {}, {}, {"position": 99}),
    ("decision_one_per_version", ReviewDecision, {"action": "note"}, {}, {"version": 99}),
    ("policy_number_once", PolicyVersion, {"number": 1}, {}, {"number": 99}),
    ("policy_one_published", PolicyVersion, {"number": 2}, {"number": 99}, {"state": "superseded"}),
    ("policy_one_shadow", PolicyVersion, {"state": "shadow"}, {"number": 99}, {"state": "superseded"}),
    ("calibration_number_once", Calibration, {}, {}, {"number": 99}),
    ("suggestion_once", GroundingSuggestion, {}, {}, {"value": "another"}),
    ("shadow_outcome_once", ShadowOutcome, {}, {}, {"turn": "first turn"}),
    ("rejudged_once", RejudgedTurn, {}, {}, {"turn": "last turn"}),
    ("profile_once", ConfidenceProfile, {}, {}, {"digest": b"0" * 16}),
    ("profilecount_once", ProfileCount, {}, {}, {"verdict": "unsure"}),
    ("gatecount_once", GateCount, {}, {}, {"confidence": 1000}),
    ("membership_once", Membership, {}, {}, {"tenant": "other"}),
    ("agentname_once", AgentName, {}, {}, {"name": "another"}),
    ("audithead_once", AuditHead, {}, {}, {"tenant": "other"}),
    ("audit_sequence_once", AuditEvent, {}, {}, {"sequence": 99}),
    ("dailycount_once", DailyCount, {}, {}, {"name": "another"}),
    ("skill_runtime_id_once", Skill, {"runtime_id": "node-1"}, {}, {"runtime_id": ""}),
    ("skill_episode_once", SkillEvidence, {}, {}, {"episode": "another"}),
    ("skill_revision_once", SkillRevision, {}, {}, {"number": 99}),
    ("skill_decision_once", SkillDecision, {"action": "approve"}, {}, {"version": 99}),
    ("skill_replay_once", SkillReplay, {}, {}, {"turn": "last turn"}),
    ("runtime_one_a_tenant", Runtime, {}, {}, {"tenant": "other"}),
    ("modeluse_once", ModelUse, {}, {}, {"purpose": "trial"}),
    ("circuit_one_a_tenant", CriticCircuit, {}, {}, {"tenant": "other"}),
    ("assertion_once", AssertionResult, {}, {}, {"position": 9}),
    ("assertioncount_once", AssertionCount, {}, {}, {"passed": True}),
    ("trialverdict_once", TrialVerdict, {}, {}, {"variant": 1}),
]


def test_every_check_and_every_unique_constraint_is_tried_here():
    checks = {c.name for m in OURS for c in m._meta.constraints if isinstance(c, models.CheckConstraint)}
    uniques = {c.name for m in OURS for c in m._meta.constraints if isinstance(c, models.UniqueConstraint)}
    assert checks == {name for name, *_ in CHECKS}
    assert uniques == {name for name, *_ in UNIQUES}


@pytest.mark.parametrize(("name", "model", "where", "values"), CHECKS)
def test_a_row_that_breaks_a_check_is_refused(tenant, name, model, where, values):
    fill_every_table(tenant)
    rows = model.objects.for_tenant(tenant).filter(**where)
    key = rows.values_list("pk", flat=True).first()
    assert key is not None
    with pytest.raises(IntegrityError, match=name), transaction.atomic():
        model.objects.across_tenants().filter(pk=key).update(**values)


@pytest.mark.parametrize(("name", "model", "where", "same", "apart"), UNIQUES)
def test_a_second_row_for_what_is_there_once_is_refused(tenant, name, model, where, same, apart):
    other = Tenant.objects.create(slug="other", name="Other")
    fill_every_table(tenant)
    turns = Turn.objects.for_tenant(tenant)
    row = copy.copy(model.objects.for_tenant(tenant).filter(**where).first())
    row.pk = None
    for field, value in same.items():
        setattr(row, field, value)
    with pytest.raises(IntegrityError, match=r"(?i)unique"), transaction.atomic():
        model.objects.across_tenants().bulk_create([row])
    row.pk = None
    for field, value in apart.items():
        setattr(
            row,
            field,
            {"other": other, "first turn": turns.first(), "last turn": turns.last()}.get(value, value),
        )
    model.objects.across_tenants().bulk_create([row])


def test_a_decision_is_undone_once(tenant):
    fill_every_table(tenant)
    decisions = ReviewDecision.objects.for_tenant(tenant)
    undo = copy.copy(decisions.get(action="undo"))
    undo.pk, undo.version = None, 99
    with pytest.raises(IntegrityError, match=r"(?i)unique"), transaction.atomic():
        ReviewDecision.objects.across_tenants().bulk_create([undo])
    undo.undoes = decisions.get(action="note")
    ReviewDecision.objects.across_tenants().bulk_create([undo])


def test_a_decision_about_a_skill_is_undone_once(tenant):
    fill_every_table(tenant)
    decisions = SkillDecision.objects.for_tenant(tenant)
    undo = copy.copy(decisions.get(action="undo"))
    undo.pk, undo.version = None, 99
    with pytest.raises(IntegrityError, match=r"(?i)unique"), transaction.atomic():
        SkillDecision.objects.across_tenants().bulk_create([undo])
    undo.undoes = decisions.get(action="approve")
    SkillDecision.objects.across_tenants().bulk_create([undo])


def test_skills_that_no_runtime_knows_share_no_id(tenant, other_tenant):
    make_skill(tenant)
    make_skill(tenant)
    make_skill(tenant, runtime_id="node-1")
    make_skill(other_tenant, runtime_id="node-1")
    assert Skill.objects.for_tenant(tenant).filter(runtime_id="").count() == 2


def test_a_slug_names_one_tenant(tenant):
    with pytest.raises(IntegrityError, match=r"(?i)unique"), transaction.atomic():
        Tenant.objects.create(slug=tenant.slug, name="Another")


def test_a_key_prefix_names_one_key(tenant, other_tenant):
    fill_every_table(tenant)
    key = copy.copy(ApiKey.objects.for_tenant(tenant).get())
    key.pk, key.tenant = None, other_tenant
    with pytest.raises(IntegrityError, match=r"(?i)unique"), transaction.atomic():
        ApiKey.objects.across_tenants().bulk_create([key])


def test_a_turn_has_one_payload(tenant):
    fill_every_table(tenant)
    turn_id = Turn.objects.for_tenant(tenant).values_list("pk", flat=True).first()
    second = TurnPayload(turn_id=turn_id, tenant=tenant, draft="")
    with pytest.raises(IntegrityError, match=r"(?i)unique"), transaction.atomic():
        TurnPayload.objects.across_tenants().bulk_create([second])


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("finding_confidence", {"confidence": 2.0}),
        ("finding_span_ordered", {"span_start": 9, "span_end": 3}),
        ("finding_kind_known", {"kind": "guess"}),
    ],
)
def test_the_bulk_writer_is_held_to_the_constraints_too(tenant, name, wrong):
    fill_every_table(tenant)
    turn_id = Turn.objects.for_tenant(tenant).values_list("pk", flat=True).first()
    before = Finding.objects.for_tenant(tenant).count()
    good = dict(
        zip(
            FINDING_COLUMNS,
            (turn_id, tenant.pk, 50, "x", "kv", 2, "why", None, "kv", 0.5, None, 0, 1, None, None, ""),
            strict=True,
        )
    )
    bad = {**good, "position": 51, **wrong}
    with pytest.raises(IntegrityError, match=name), transaction.atomic():
        insert_rows(Finding, FINDING_COLUMNS, [tuple(good.values()), tuple(bad.values())])
    assert Finding.objects.for_tenant(tenant).count() == before
    insert_rows(Finding, FINDING_COLUMNS, [tuple(good.values())])
    assert Finding.objects.for_tenant(tenant).count() == before + 1
