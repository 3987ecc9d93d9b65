"""A version in shadow judges each new turn, is compared with the one in force, and changes nothing."""

from __future__ import annotations

import pytest

from reviews.core.estimates import Estimate, NotEnough
from reviews.models import ShadowOutcome, Turn
from reviews.models.tenants import Role
from reviews.services.events import accept_event
from reviews.services.intake import check_turn
from reviews.services.publishing import end_shadow, save_draft, start_shadow
from reviews.services.review import decide_turn
from reviews.services.shadow import shadow_report
from tests.factories import CLAIM, make_event, make_member, make_record, make_tenant, make_turn


@pytest.fixture
def tenant(db):
    return make_tenant(fabrication_check_mode="refuse", fabrication_refuse_min_confidence=0.9)


@pytest.fixture
def max_(tenant):
    return make_member(tenant, Role.MANAGER, "max")


def in_shadow(tenant, max_, **values):
    base = {"fabrication_check_mode": "refuse", "audit_sample_rate": 0, "detection_profile": "reference"}
    values = base | values
    version = save_draft(tenant=tenant, author=max_, values=values, based_on=1)
    return start_shadow(tenant=tenant, actor=max_, number=version.number)


def test_without_a_version_in_shadow_there_is_nothing_to_report(tenant):
    make_turn(tenant)
    assert shadow_report(tenant=tenant) is None
    assert not ShadowOutcome.objects.for_tenant(tenant).exists()


def test_new_turns_are_judged_by_both_and_only_one_counts(tenant, max_):
    make_turn(tenant, "I sent it.")
    version = in_shadow(tenant, max_, fabrication_refuse_min_confidence=0.8)
    weak = make_turn(tenant, "I sent it.")  # 0.8: refused by the version in shadow only
    strong = check_turn(tenant=tenant, record=make_record(CLAIM))  # a UUID, 0.95: refused by both
    make_turn(tenant, "Good morning.")
    assert (weak.outcome, strong.judgement.outcome.action_taken) == ("observed", "refuse_replaced")
    assert Turn.objects.for_tenant(tenant).get(pk=weak.pk).policy_version.number == 1
    report = shadow_report(tenant=tenant)
    assert (report.version.number, report.turns, report.agree) == (version.number, 3, 2)
    assert (report.extra, report.fewer) == (1, 0)
    kept = dict(ShadowOutcome.objects.for_tenant(tenant).values_list("turn_id", "outcome"))
    assert kept == {weak.pk: "refuse_replaced", strong.accepted.turn_id: "refuse_replaced"}


def test_a_milder_version_refuses_fewer(tenant, max_):
    in_shadow(tenant, max_, fabrication_refuse_min_confidence=0.96)
    make_turn(tenant, CLAIM)
    report = shadow_report(tenant=tenant)
    assert (report.turns, report.agree, report.extra, report.fewer) == (1, 0, 0, 1)


def test_its_precision_is_that_of_what_it_would_have_refused(tenant, max_):
    in_shadow(tenant, max_, fabrication_refuse_min_confidence=0.8)
    for n in range(20):
        turn = make_turn(tenant, "I sent it.")
        label = "fabricated" if n < 15 else "false_alarm"
        decide_turn(tenant=tenant, actor=max_, turn_id=turn.pk, label=label, seen_version=0)
        if n == 18:
            assert shadow_report(tenant=tenant).precision == NotEnough(19, 20, "refused")
    precision = shadow_report(tenant=tenant).precision
    assert isinstance(precision, Estimate)
    assert precision.value == 0.75


def test_a_version_that_looks_for_other_things_is_judged_by_what_it_finds(tenant, max_):
    in_shadow(tenant, max_, ignored_keys=["pid"], fabrication_refuse_min_confidence=0.1)
    make_turn(tenant, "pid=77")
    report = shadow_report(tenant=tenant)
    # Observed by the policy in force (0.8 < 0.9); the version in shadow finds nothing at all.
    assert (report.agree, report.extra, report.fewer) == (0, 0, 0)


def test_when_it_ends_no_more_is_kept(tenant, max_):
    version = in_shadow(tenant, max_, fabrication_refuse_min_confidence=0.8)
    make_turn(tenant, "I sent it.")
    end_shadow(tenant=tenant, actor=max_, number=version.number)
    make_turn(tenant, "I sent it.")
    assert ShadowOutcome.objects.for_tenant(tenant).count() == 1
    assert shadow_report(tenant=tenant) is None


def test_a_report_takes_three_queries(tenant, max_, django_assert_max_num_queries):
    in_shadow(tenant, max_)
    for _ in range(5):
        make_turn(tenant, CLAIM)
    with django_assert_max_num_queries(3):
        shadow_report(tenant=tenant)


def test_a_turn_whose_event_came_first_is_judged_by_both_too(tenant, max_):
    in_shadow(tenant, max_, fabrication_refuse_min_confidence=0.8)
    event = make_event("run-1", [{"identifier": "I sent", "kind": "verb_claim"}])
    accept_event(tenant=tenant, event=event)
    assert shadow_report(tenant=tenant).turns == 0
    make_turn(tenant, "I sent it.", external_id="run-1")
    report = shadow_report(tenant=tenant)
    assert (report.turns, report.extra) == (1, 1)
