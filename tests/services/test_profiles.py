"""Every flagged turn has its profile, and what is counted by profile is what the rows say."""

from __future__ import annotations

from functools import partial
from itertools import count

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from reviews.core.profiles import MANY_TOOLS, UNKNOWN_TOOLS, Claim, Profile
from reviews.models import ConfidenceProfile, GateCount, ProfileCount, Turn
from reviews.models.tenants import Role
from reviews.models.turns import Source
from reviews.services import profiles
from reviews.services.analysis import analyse_pending
from reviews.services.events import accept_event
from reviews.services.intake import accept_turns, check_turn
from reviews.services.profiles import fill_missing
from reviews.services.review import decide_turn
from tests.factories import CLAIM, call, make_event, make_member, make_record, make_tenant, make_turn
from tests.services.recount import assert_counts_hold


def profile(turn):
    return Profile.from_json(
        Turn.objects.for_tenant(turn.tenant_id).select_related("profile").get(pk=turn.pk).profile.content
    )


def test_a_profile_says_what_is_claimed_how_confidently_and_beside_which_tools(tenant):
    """Raw confidences are the seed's: 0.8 for a claim and a pair, 0.95 for a UUID."""
    turn = make_turn(tenant, tool_calls=[call("Get_Order"), call("get_order"), call("lookup")])
    assert profile(turn) == Profile(
        "get_order\nlookup",
        (Claim("kv", "task_id", 800), Claim("uuid", "", 950), Claim("verb_claim", "sent", 800)),
    )


@pytest.mark.parametrize(
    ("tools", "written"),
    [([], ""), (["b", "A", "b"], "a\nb"), (["a", "b", "c"], "a\nb\nc"), (["a", "b", "c", "d"], MANY_TOOLS)],
)
def test_past_three_tools_the_combination_is_not_told(tenant, tools, written):
    assert (
        profile(make_turn(tenant, "I sent it.", tool_calls=[call(name) for name in tools])).tools == written
    )


def test_equal_turns_share_a_profile_within_their_tenant(tenant, other_tenant):
    mine = [make_turn(tenant).profile_id for _ in range(3)]
    assert len(set(mine)) == 1
    assert make_turn(other_tenant).profile_id not in mine
    assert make_turn(tenant, "Good morning.").profile_id is None
    assert ConfidenceProfile.objects.for_tenant(tenant).count() == 1


def test_what_a_runtime_reports_has_a_profile_of_unknown_tools_until_the_turn_comes(tenant):
    found = [{"identifier": "I sent", "kind": "verb_claim", "confidence": 0.8123}]
    accept_event(tenant=tenant, event=make_event("run-1", found))
    stub = Turn.objects.for_tenant(tenant).get()
    assert profile(stub) == Profile(UNKNOWN_TOOLS, (Claim("verb_claim", "sent", 812),))
    assert_counts_hold(tenant)
    accept_turns(tenant=tenant, records=[make_record("I sent it.", external_id="run-1")])
    analyse_pending()
    assert profile(stub) == Profile("", (Claim("verb_claim", "sent", 800),))
    assert_counts_hold(tenant)


_slugs = count(1)
DRAFTS = ["Good morning.", "I sent it.", CLAIM, "I checked pid=77, task_id=job-9."]
ACTIVATIONS = [
    None,
    {"activated_nodes": [{"score": 0.9, "tags": ["payment"]}]},
    {"activated_nodes": [{"score": 0.1}]},
]
TURNS = st.lists(
    st.tuples(
        st.sampled_from(["turn", "check", "event", "again"]),
        st.integers(0, 5),
        st.sampled_from(DRAFTS),
        st.sampled_from(ACTIVATIONS),
        st.sampled_from(["", "fabricated", "false_alarm"]),
    ),
    max_size=10,
)


@pytest.mark.django_db
@hypothesis_settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(turns=TURNS)
def test_by_whatever_door_turns_come_the_counts_are_those_of_the_rows(turns):
    tenant = make_tenant(
        slug=f"t-{next(_slugs)}", audit_sample_rate=0.5, metacognition_sensitive_tags=["payment"]
    )
    rita = make_member(tenant, Role.REVIEWER)
    for door, number, draft, activation, verdict in turns:
        record = make_record(draft, external_id=f"run-{number}", activation=activation)
        if door == "check":
            check_turn(tenant=tenant, record=record)
        elif door == "event":
            accept_event(
                tenant=tenant, event=make_event(f"run-{number}", [{"identifier": "x", "kind": "kv"}])
            )
        else:
            accept_turns(tenant=tenant, records=[record], source=Source.TURN)
        analyse_pending()
        turn = Turn.objects.for_tenant(tenant).get(external_id=f"run-{number}")
        if verdict:
            decide_turn(tenant=tenant, actor=rita, turn_id=turn.pk, label=verdict, seen_version=turn.version)
    fill_missing()
    assert_counts_hold(tenant)


def test_an_activation_tells_what_the_gate_would_read(tenant):
    """0.4 * 0.9 = 0.36 for one node of score 0.9 and nothing else; 0.5 without a record of activation."""
    node = {"score": 0.9, "properties": {"tags": ["payment"]}}
    sensitive = make_tenant("careful", metacognition_sensitive_tags=["payment"])
    for mine in (tenant, sensitive):
        make_turn(mine, "Good morning.", activation={"activated_nodes": [node]})
        make_turn(mine, "Good morning.")
    found = {
        mine.slug: set(GateCount.objects.for_tenant(mine).values_list("confidence", "sensitive"))
        for mine in (tenant, sensitive)
    }
    assert found == {
        tenant.slug: {(360, False), (500, False)},
        "careful": {(360, True), (500, False)},
    }


def test_turns_stored_before_there_were_profiles_get_theirs(tenant, other_tenant, monkeypatch):
    rita = make_member(tenant)
    turns = [
        make_turn(tenant),
        make_turn(tenant, "I ran it."),
        make_turn(other_tenant),
        make_turn(tenant, "Hi."),
    ]
    decide_turn(tenant=tenant, actor=rita, turn_id=turns[0].pk, label="fabricated", seen_version=0)
    before = [profile(turn) for turn in turns[:3]]
    for mine in (tenant, other_tenant):
        Turn.objects.for_tenant(mine).update(profile=None)
        ProfileCount.objects.for_tenant(mine).delete()
    monkeypatch.setattr(profiles, "FILL_SIZE", 1)
    assert [fill_missing() for _ in range(4)] == [1, 1, 1, 0]
    assert [profile(turn) for turn in turns[:3]] == before
    for mine in (tenant, other_tenant):
        assert_counts_hold(mine)


def test_profiles_made_at_once_are_made_once(in_threads, tenant):
    def send(name):
        records = [
            make_record(f"I sent it. {key}=x1", external_id=f"{name}-{key}") for key in ("pid", "run_id")
        ]
        for record in records:
            check_turn(tenant=tenant, record=record)

    assert in_threads(*[partial(send, name) for name in "abcd"]) == [None] * 4
    assert ConfidenceProfile.objects.for_tenant(tenant).count() == 2
    assert_counts_hold(tenant)
