"""The life of a version: drafts, shadow, publishing by one or two, rolling back, and who wins of two."""

from __future__ import annotations

import json
from functools import partial

import pytest

from reviews.core.settings import TenantSettings
from reviews.models import AuditEvent, PolicyVersion
from reviews.models.tenants import Role
from reviews.services import publishing
from reviews.services.errors import ConflictError, ForbiddenError, InvalidError, NotFoundError
from reviews.services.policies import current_policy, policy_of, policy_version, unpublished_versions
from reviews.services.publishing import (
    discard,
    end_shadow,
    publish,
    roll_back,
    save_draft,
    start_shadow,
)
from reviews.services.review import decide_turn
from tests.factories import make_member, make_tenant, make_turn

REFUSE = {"detection_profile": "reference", "fabrication_check_mode": "refuse", "audit_sample_rate": 0}


#: What a tenant of these tests begins with.
AS_MADE = TenantSettings(audit_sample_rate=0, detection_profile="reference")


@pytest.fixture
def max_(tenant):
    return make_member(tenant, Role.MANAGER, "max")


@pytest.fixture
def mona(tenant):
    return make_member(tenant, Role.MANAGER, "mona")


def states(tenant):
    return dict(PolicyVersion.objects.for_tenant(tenant).order_by("number").values_list("number", "state"))


def draft(tenant, author, based_on=1, **values):
    return save_draft(
        tenant=tenant, author=author, values=REFUSE | values, based_on=based_on, note="Why not."
    )


# -- Drafts


def test_editing_makes_a_draft_and_leaves_what_is_in_force_alone(tenant, max_):
    version = draft(tenant, max_)
    assert states(tenant) == {1: "published", 2: "draft"}
    assert (version.based_on.number, version.author, version.note) == (1, max_, "Why not.")
    assert current_policy(tenant=tenant).settings.fabrication_check_mode == "observe"
    assert [v.number for v in unpublished_versions(tenant=tenant)] == [2]


def test_editing_a_draft_makes_another_that_replaces_it(tenant, max_, mona):
    draft(tenant, max_)
    draft(tenant, mona, based_on=2, fabrication_refuse_min_confidence=0.7)
    assert states(tenant) == {1: "published", 2: "superseded", 3: "draft"}
    first, second = (policy_version(tenant=tenant, number=n) for n in (2, 3))
    assert first.settings["fabrication_refuse_min_confidence"] == 0.8
    assert (first.published_at, second.based_on) == (None, first)
    with pytest.raises(ConflictError, match="Draft 2 has been replaced"):
        draft(tenant, max_, based_on=2)


def test_wrong_settings_make_no_draft(tenant, max_):
    with pytest.raises(InvalidError) as caught:
        draft(tenant, max_, audit_sample_rate=7)
    assert set(caught.value.details["fields"]) == {"audit_sample_rate"}
    assert states(tenant) == {1: "published"}


def test_a_draft_says_something_new(tenant, max_):
    with pytest.raises(InvalidError, match="Nothing differs from version 1"):
        save_draft(
            tenant=tenant,
            author=max_,
            values={"audit_sample_rate": 0, "detection_profile": "reference"},
            based_on=1,
        )


def test_a_draft_is_based_on_a_version_there_is(tenant, other_tenant, max_):
    draft(other_tenant, None)
    with pytest.raises(NotFoundError):
        draft(tenant, max_, based_on=2)


def test_a_draft_can_be_discarded_and_stays_in_the_history(tenant, max_):
    draft(tenant, max_)
    discard(tenant=tenant, actor=max_, number=2)
    assert states(tenant) == {1: "published", 2: "superseded"}
    assert policy_version(tenant=tenant, number=2).superseded_at is not None


# -- Every illegal move, from every state


ACTIONS = {
    "discard": lambda tenant, actor, number: discard(tenant=tenant, actor=actor, number=number),
    "start_shadow": lambda tenant, actor, number: start_shadow(tenant=tenant, actor=actor, number=number),
    "end_shadow": lambda tenant, actor, number: end_shadow(tenant=tenant, actor=actor, number=number),
    "publish": lambda tenant, actor, number: publish(tenant=tenant, actor=actor, number=number),
    "roll_back": lambda tenant, actor, number: roll_back(tenant=tenant, actor=actor, number=number),
}
LEGAL = {
    ("draft", "discard"): "superseded",
    ("draft", "start_shadow"): "shadow",
    ("draft", "publish"): "published",
    ("shadow", "discard"): "superseded",
    ("shadow", "end_shadow"): "draft",
    ("shadow", "publish"): "published",
}


def version_in(tenant, actor, state):
    if state == "published":
        return 1
    number = draft(tenant, actor).number
    if state == "shadow":
        start_shadow(tenant=tenant, actor=actor, number=number)
    if state == "superseded":
        discard(tenant=tenant, actor=actor, number=number)
    return number


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("state", ["draft", "shadow", "published", "superseded"])
def test_a_version_moves_only_as_the_life_of_versions_allows(tenant, max_, state, action):
    number = version_in(tenant, max_, state)
    before = states(tenant)
    events = AuditEvent.objects.for_tenant(tenant).count()
    if (state, action) in LEGAL:
        ACTIONS[action](tenant, max_, number)
        assert states(tenant)[number] == LEGAL[state, action]
        assert AuditEvent.objects.for_tenant(tenant).count() == events + 1
    else:
        with pytest.raises((ConflictError, InvalidError), match=f"ersion {number} (is|was never)"):
            ACTIONS[action](tenant, max_, number)
        assert states(tenant) == before
        assert AuditEvent.objects.for_tenant(tenant).count() == events


@pytest.mark.parametrize("action", ACTIONS)
def test_a_strangers_version_is_not_there(tenant, other_tenant, max_, action):
    draft(other_tenant, None)
    with pytest.raises(NotFoundError):
        ACTIONS[action](tenant, max_, 2)
    assert states(other_tenant) == {1: "published", 2: "draft"}


def test_one_version_at_a_time_is_in_shadow(tenant, max_):
    start_shadow(tenant=tenant, actor=max_, number=draft(tenant, max_).number)
    other = draft(tenant, max_, fabrication_refuse_min_confidence=0.6)
    with pytest.raises(ConflictError, match="Version 2 is in shadow already"):
        start_shadow(tenant=tenant, actor=max_, number=other.number)
    assert current_policy(tenant=tenant).shadow.number == 2


def test_a_version_in_shadow_goes_on_while_it_is_edited(tenant, max_):
    start_shadow(tenant=tenant, actor=max_, number=draft(tenant, max_).number)
    draft(tenant, max_, based_on=2, fabrication_refuse_min_confidence=0.6)
    assert states(tenant) == {1: "published", 2: "shadow", 3: "draft"}


# -- Publishing


def test_publishing_puts_a_draft_in_force_and_says_who_did(tenant, max_, mona):
    draft(tenant, max_)
    version = publish(tenant=tenant, actor=mona, number=2)
    assert states(tenant) == {1: "superseded", 2: "published"}
    assert (version.author, version.published_by) == (max_, mona)
    assert current_policy(tenant=tenant).number == 2
    event = AuditEvent.objects.for_tenant(tenant).filter(action="policy.published").last()
    assert (event.actor, event.object_id, json.loads(event.data)["note"]) == (mona, "2", "Why not.")


def test_who_saw_another_version_in_force_is_told_and_changes_nothing(tenant, max_):
    draft(tenant, max_)
    draft(tenant, max_, fabrication_refuse_min_confidence=0.6)
    publish(tenant=tenant, actor=max_, number=2, seen_current=1)
    with pytest.raises(ConflictError, match="Version 2 was published meanwhile") as caught:
        publish(tenant=tenant, actor=max_, number=3, seen_current=1)
    assert caught.value.details == {"current": 2}
    assert states(tenant) == {1: "superseded", 2: "published", 3: "draft"}
    publish(tenant=tenant, actor=max_, number=3, seen_current=2)


def test_of_two_drafts_published_at_once_one_wins_and_the_other_is_told(in_threads, tenant, max_):
    numbers = [draft(tenant, max_, fabrication_refuse_min_confidence=n / 10).number for n in (5, 6, 7, 9)]
    results = in_threads(
        *[partial(publish, tenant=tenant, actor=max_, number=n, seen_current=1) for n in numbers]
    )
    assert sorted(type(r).__name__ for r in results) == ["ConflictError"] * 3 + ["PolicyVersion"]
    assert sorted(states(tenant).values()) == ["draft"] * 3 + ["published", "superseded"]


def test_one_draft_published_twice_at_once_is_published_once(in_threads, tenant, max_):
    draft(tenant, max_)
    results = in_threads(*[partial(publish, tenant=tenant, actor=max_, number=2)] * 3)
    assert sorted(type(r).__name__ for r in results) == ["ConflictError"] * 2 + ["PolicyVersion"]
    assert AuditEvent.objects.for_tenant(tenant).filter(action="policy.published", object_id="2").count() == 1


def test_where_two_are_needed_the_author_does_not_publish_alone(max_, mona, tenant):
    publish(tenant=tenant, actor=max_, number=draft(tenant, max_, publish_needs_second_manager=True).number)
    # Also not to switch it off again.
    draft(tenant, max_, based_on=2, publish_needs_second_manager=False)
    with pytest.raises(ForbiddenError, match="second manager"):
        publish(tenant=tenant, actor=max_, number=3)
    assert current_policy(tenant=tenant).number == 2
    publish(tenant=tenant, actor=mona, number=3)
    # From now on one is enough.
    draft(tenant, max_, based_on=3, fabrication_refuse_min_confidence=0.5)
    publish(tenant=tenant, actor=max_, number=4)


def test_what_was_known_is_kept_as_it_was(tenant, max_):
    """CLAIM's strongest finding is a UUID (0.95), so all three turns are refused at 0.8."""
    for label in ("fabricated", "fabricated", "false_alarm"):
        turn = make_turn(tenant)
        decide_turn(tenant=tenant, actor=max_, turn_id=turn.pk, label=label, seen_version=0)
    make_turn(tenant, "Good morning.")
    draft(tenant, max_)
    publish(tenant=tenant, actor=max_, number=2)
    turn = make_turn(tenant)
    decide_turn(tenant=tenant, actor=max_, turn_id=turn.pk, label="fabricated", seen_version=0)
    evidence = policy_version(tenant=tenant, number=2).evidence
    assert (evidence["turns"], evidence["flagged"], evidence["replaces"]) == (4, 3, 1)
    assert evidence["labels"] == {"fabricated": 2, "false_alarm": 1, "unsure": 0, "audited": 0}
    assert (evidence["before"]["refused"], evidence["after"]["refused"]) == (0, 3)
    assert evidence["after"]["precision"] == {"labelled": 3, "needed": 20, "among": "refused"}
    assert evidence["flips"] == {"to_refused": 3, "from_refused": 0}


# -- Rolling back


def test_rolling_back_publishes_a_copy_under_the_next_number(tenant, max_):
    publish(tenant=tenant, actor=max_, number=draft(tenant, max_).number)
    version = roll_back(tenant=tenant, actor=max_, number=1, note="Too many refusals.")
    assert states(tenant) == {1: "superseded", 2: "superseded", 3: "published"}
    assert policy_of(version).settings == AS_MADE
    assert (version.based_on.number, version.note, version.published_by) == (1, "Too many refusals.", max_)
    event = AuditEvent.objects.for_tenant(tenant).last()
    assert (event.action, json.loads(event.data)["copy_of"]) == ("policy.rolled_back", 1)
    assert version.evidence["replaces"] == 2


def test_only_what_was_in_force_can_be_rolled_back_to(tenant, max_):
    draft(tenant, max_)
    with pytest.raises(InvalidError, match="never in force"):
        roll_back(tenant=tenant, actor=max_, number=2)
    with pytest.raises(ConflictError, match="Version 1 is in force already"):
        roll_back(tenant=tenant, actor=max_, number=1)


def test_rolling_back_on_what_is_no_longer_in_force_is_a_conflict(tenant, max_):
    publish(tenant=tenant, actor=max_, number=draft(tenant, max_).number)
    with pytest.raises(ConflictError, match="Version 2 was published meanwhile"):
        roll_back(tenant=tenant, actor=max_, number=1, seen_current=1)


def test_rolling_back_does_not_switch_off_that_two_are_needed(tenant, max_):
    publish(tenant=tenant, actor=max_, number=draft(tenant, max_, publish_needs_second_manager=True).number)
    version = roll_back(tenant=tenant, actor=max_, number=1)
    assert policy_of(version).settings == TenantSettings(
        audit_sample_rate=0, detection_profile="reference", publish_needs_second_manager=True
    )


def test_a_new_tenant_starts_with_nothing_in_shadow(db):
    assert current_policy(tenant=make_tenant("fresh")).shadow is None


def test_whoever_wrote_a_part_of_it_does_not_publish_alone(tenant, max_, mona):
    """Also when somebody else edited it in between, perhaps without looking at the rest."""
    publish(tenant=tenant, actor=max_, number=draft(tenant, max_, publish_needs_second_manager=True).number)
    ours = {"publish_needs_second_manager": True}
    draft(tenant, max_, based_on=2, fabrication_check_mode="off", **ours)
    draft(tenant, mona, based_on=3, fabrication_check_mode="off", audit_sample_rate=0.5, **ours)
    for manager in (max_, mona):
        with pytest.raises(ForbiddenError, match="no part of"):
            publish(tenant=tenant, actor=manager, number=4)
    third = make_member(tenant, Role.MANAGER, "nils")
    publish(tenant=tenant, actor=third, number=4)
    # What was published is behind them: the next draft starts afresh.
    draft(tenant, mona, based_on=4, **ours)
    publish(tenant=tenant, actor=max_, number=5)


def test_what_is_put_in_force_was_judged_against_what_is_in_force(tenant, max_, mona, monkeypatch):
    """Fault injection: while the evidence is gathered, another version is published."""
    first = draft(tenant, max_)
    other = draft(tenant, mona, publish_needs_second_manager=True)
    gather = publishing.gather_evidence

    def slow(**arguments):
        if arguments["candidate"].number == first.number:
            publish(tenant=tenant, actor=mona, number=other.number)
        return gather(**arguments)

    monkeypatch.setattr(publishing, "gather_evidence", slow)
    # Whatever version the request says was seen, also the one that has just been published.
    with pytest.raises(ConflictError, match="Version 3 was published meanwhile"):
        publish(tenant=tenant, actor=max_, number=first.number, seen_current=other.number)
    assert states(tenant) == {1: "superseded", 2: "draft", 3: "published"}


def test_a_note_that_does_not_fit_is_told(tenant, max_):
    with pytest.raises(InvalidError) as caught:
        save_draft(tenant=tenant, author=max_, values=REFUSE, based_on=1, note="x" * 501)
    assert set(caught.value.details["fields"]) == {"note"}


def test_how_a_version_did_in_shadow_is_kept_when_it_is_published(tenant, max_):
    start_shadow(tenant=tenant, actor=max_, number=draft(tenant, max_).number)
    make_turn(tenant, "I sent it.")
    make_turn(tenant, "Good morning.")
    version = publish(tenant=tenant, actor=max_, number=2)
    shadow = version.evidence["shadow"]
    assert (shadow["turns"], shadow["agree"], shadow["extra"], shadow["fewer"]) == (2, 1, 1, 0)
    assert shadow["precision"] == {"labelled": 0, "needed": 20, "among": "refused"}


def test_settings_that_a_newer_release_wrote_do_not_stop_a_tenant(tenant, caplog):
    version = PolicyVersion.objects.for_tenant(tenant).get()
    version.settings = {**version.settings, "from_the_future": 1}
    version.created_at = version.created_at.replace(microsecond=1)
    version.save()
    with caplog.at_level("WARNING", logger="reviews"):
        assert current_policy(tenant=tenant).settings == TenantSettings(
            audit_sample_rate=0, detection_profile="reference"
        )
    assert "newer release" in caplog.text
