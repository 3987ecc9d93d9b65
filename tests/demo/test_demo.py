"""The demo data is what it says it is: believable in numbers, and judged right against the real detector."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

import msgspec
import pytest

from reviews.core.fabrication import FabricationFinding, detect_fabrication
from reviews.core.intent import IntentClassifier
from reviews.demo import Demo, DemoTenant, DemoTurn, build_demo
from reviews.demo.script import fold
from reviews.formats.record import ToolCall

NOW = datetime(2026, 11, 30, 15, 0, tzinfo=UTC)
COMMON_KINDS = (
    "verb_claim",
    "uuid",
    "kv",
    "short_hex_near_key",
    "short_hex_near_verb",
    "intent_action_no_tool",
)
LANGUAGES = {"en", "es", "de", "fr", "pt"}
LABELS = {"fabricated", "false_alarm", "unsure"}


@dataclass(frozen=True)
class Judged:
    tenant: DemoTenant
    turn: DemoTurn
    findings: list[FabricationFinding]

    @property
    def identifiers(self) -> set[str]:
        return {finding.identifier for finding in self.findings}


def detect(tenant: DemoTenant, turn: DemoTurn) -> list[FabricationFinding]:
    record = turn.record
    return detect_fabrication(
        record.draft,
        [msgspec.to_builtins(call) for call in record.tool_calls],
        hydrated_context=record.hydrated_context,
        user_message=record.user_message,
        identifier_keys=list(tenant.identifier_keys),
        intent_verdict=IntentClassifier().classify(record.user_message, tenant.tool_trigger_keywords),
    )


def judge(demo: Demo) -> Iterator[Judged]:
    for tenant in demo.tenants:
        for turn in tenant.turns:
            yield Judged(tenant, turn, detect(tenant, turn))


@pytest.fixture(scope="module")
def demo() -> Demo:
    return build_demo(NOW)


@pytest.fixture(scope="module")
def judged(demo: Demo) -> list[Judged]:
    return list(judge(demo))


def test_same_arguments_same_data_and_another_seed_other_data(demo: Demo) -> None:
    assert build_demo(NOW) == demo
    assert build_demo(NOW, seed=8) != demo


def test_now_must_be_aware() -> None:
    with pytest.raises(ValueError, match="timezone-aware"):
        build_demo(NOW.replace(tzinfo=None))


def test_tenants_and_people(demo: Demo) -> None:
    first = demo.tenants[0]
    assert first.slug == "demo"
    assert {user.username: user.role for user in first.users} == {
        "ana": "owner",
        "leo": "manager",
        "mia": "reviewer",
        "tom": "reviewer",
        "vic": "viewer",
    }
    assert len({tenant.slug for tenant in demo.tenants}) == 3
    assert all("ana" in {user.username for user in tenant.users} for tenant in demo.tenants)
    assert all(len(first.turns) > len(tenant.turns) for tenant in demo.tenants[1:])
    names: dict[str, set[str]] = {}
    for tenant in demo.tenants:
        assert len({user.username for user in tenant.users}) == len(tenant.users)
        for user in tenant.users:
            names.setdefault(user.username, set()).add(user.full_name)
    assert all(len(full) == 1 for full in names.values())


def test_size_and_share_of_flagged_turns(judged: list[Judged]) -> None:
    assert 1200 <= len(judged) <= 1600
    share = sum(bool(item.findings) for item in judged) / len(judged)
    assert 0.25 <= share <= 0.30
    scenarios: dict[str, set[str]] = {}
    for item in judged:
        scenarios.setdefault(item.tenant.slug, set()).add(item.turn.record.attributes["scenario"])
    assert all(len(keys) >= 30 for keys in scenarios.values())


def test_every_kind_occurs_both_fabricated_and_as_a_false_alarm(judged: list[Judged]) -> None:
    seen: Counter[tuple[str, str]] = Counter(
        (finding.kind, item.turn.truth[finding.identifier]) for item in judged for finding in item.findings
    )
    for kind in COMMON_KINDS:
        assert seen[kind, "fabricated"], kind
        assert seen[kind, "false_alarm"], kind
    assert sum(count for (_, label), count in seen.items() if label == "unsure") >= 4


def test_languages(judged: list[Judged]) -> None:
    for slug in {item.tenant.slug for item in judged}:
        mine = [item for item in judged if item.tenant.slug == slug]
        assert {item.turn.record.attributes["language"] for item in mine} == LANGUAGES
    flagged_by_intent = {
        item.turn.record.attributes["language"]
        for item in judged
        if any(finding.kind == "intent_action_no_tool" for finding in item.findings)
    }
    assert flagged_by_intent == LANGUAGES


@pytest.mark.parametrize("seed", [7, 1, 2])
def test_truth_names_exactly_the_findings(seed: int) -> None:
    for item in judge(build_demo(NOW, seed=seed)):
        assert set(item.turn.truth) == item.identifiers, item.turn.record.attributes["scenario"]
        assert set(item.turn.truth.values()) <= LABELS


def test_records(demo: Demo) -> None:
    for tenant in demo.tenants:
        ids = [turn.record.external_id for turn in tenant.turns]
        assert len(set(ids)) == len(ids)
        times = [turn.record.occurred_at or NOW for turn in tenant.turns]
        assert times == sorted(times)
        assert all(at.tzinfo is not None and NOW - timedelta(days=14) <= at <= NOW for at in times)
        for turn in tenant.turns:
            again = msgspec.json.decode(msgspec.json.encode(turn.record), type=type(turn.record))
            assert again == turn.record
            named = {tool.name for tool in turn.record.tools}
            assert {call.name for call in turn.record.tool_calls} <= named
            assert turn.record.model
            call_ids = [call.id for call in (*turn.record.earlier_calls, *turn.record.tool_calls)]
            assert len(set(call_ids)) == len(call_ids)


def test_conversations_carry_their_earlier_calls(demo: Demo) -> None:
    lengths = set()
    for tenant in demo.tenants:
        talks: dict[str, list[DemoTurn]] = {}
        for turn in tenant.turns:
            talks.setdefault(turn.record.conversation_id, []).append(turn)
        for talk in talks.values():
            lengths.add(len(talk))
            calls: list[ToolCall] = []
            for turn in talk:
                assert turn.record.earlier_calls == calls
                calls.extend(turn.record.tool_calls)
    assert lengths == {1, 2, 3, 4, 5}


def test_reviews(judged: list[Judged]) -> None:
    flagged = [item for item in judged if item.findings]
    for item in judged:
        roles = {user.username: user.role for user in item.tenant.users}
        for review in item.turn.reviews:
            assert roles[review.username] != "viewer"
            assert set(review.labels) == item.identifiers
            assert set(review.labels.values()) <= LABELS
            assert review.spent_seconds > 0
            assert review.seconds_after > 0
            occurred = item.turn.record.occurred_at
            assert occurred is not None
            assert occurred + timedelta(seconds=review.seconds_after) < NOW
    decided = [item for item in flagged if item.turn.reviews]
    assert 0.5 <= len(decided) / len(flagged) <= 0.7
    for tenant in {item.tenant.slug for item in judged}:
        people = {r.username for item in decided if item.tenant.slug == tenant for r in item.turn.reviews}
        assert len(people) >= 2
    reviews = [review for item in decided for review in item.turn.reviews]
    assert sum(bool(review.note) for review in reviews) >= 20
    assert sum(bool(review.corrected_answer) for review in reviews) >= 10
    assert any("unsure" in review.labels.values() for review in reviews)
    assert any(len(item.turn.reviews) > 1 for item in decided)


def test_old_turns_are_decided_and_new_ones_open(judged: list[Judged]) -> None:
    def open_share(items: list[Judged]) -> float:
        return sum(not item.turn.reviews for item in items) / len(items)

    flagged = [item for item in judged if item.findings]
    newest = [item for item in flagged if (item.turn.record.occurred_at or NOW) > NOW - timedelta(days=2)]
    oldest = [item for item in flagged if (item.turn.record.occurred_at or NOW) < NOW - timedelta(days=8)]
    assert open_share(newest) > 0.7
    assert open_share(oldest) < 0.15
    assert 80 <= sum(not item.turn.reviews for item in flagged if item.tenant.slug == "demo") <= 150


def test_extremes_are_in(judged: list[Judged]) -> None:
    drafts = [item.turn.record.draft for item in judged]
    assert "" in drafts
    assert max(map(len, drafts)) >= 6000
    assert any(len(item.findings) >= 5 for item in judged)
    everything = "\n".join(drafts)
    for mark in ("<script>", "\u202e", "\u200b", "\x1b[", "reviewer override"):
        assert mark in everything
    assert max(len(word) for draft in drafts for word in draft.split()) >= 300


def test_no_slot_or_markup_of_the_scripts_is_left(judged: list[Judged]) -> None:
    for item in judged:
        record = item.turn.record
        reviewed = [text for review in item.turn.reviews for text in (review.note, review.corrected_answer)]
        for text in (record.draft, record.user_message, record.hydrated_context, *reviewed):
            assert "[[" not in text
            assert "]]" not in text
            assert "¶" not in text
            assert "{~" not in text
            assert "{pnr" not in text


@pytest.mark.parametrize(
    "now",
    [
        datetime(2024, 2, 29, 0, 5, tzinfo=UTC),
        datetime(2026, 12, 6, 20, 0, tzinfo=timezone(timedelta(hours=-9))),
        datetime(2027, 1, 1, 12, 0, tzinfo=timezone(timedelta(hours=5, minutes=30))),
    ],
)
def test_any_now_will_do(now: datetime) -> None:
    for tenant in build_demo(now).tenants:
        for turn in tenant.turns:
            assert set(turn.truth) == {finding.identifier for finding in detect(tenant, turn)}
            assert turn.record.occurred_at is not None
            assert now - timedelta(days=14) <= turn.record.occurred_at <= now


def test_fold() -> None:
    assert fold("as it is ") == "as it is "
    text = """
        One line
        and its rest.

        - a
        - b, which
          goes on

        Yours,¶
        N.
        """
    assert fold(text) == "One line and its rest.\n\n- a\n- b, which goes on\n\nYours,\nN."


def test_skills_rest_on_scenarios_that_there_are_and_name_people_who_may_decide(demo: Demo) -> None:
    for tenant in demo.tenants:
        scenarios = {turn.record.attributes["scenario"] for turn in tenant.turns}
        deciders = {user.username for user in tenant.users if user.role != "viewer"}
        triggers = [skill.trigger for skill in tenant.skills]
        assert len(set(triggers)) == len(triggers) >= 8
        assert {skill.kind for skill in tenant.skills} == {"action", "preflight", "recovery", "guardrail"}
        for skill in tenant.skills:
            assert scenarios.issuperset(skill.scenarios), skill.trigger
            assert deciders.issuperset(decision.username for decision in skill.decisions)
            assert all(d.into in triggers for d in skill.decisions if d.action == "merge")
    assert sum(len(tenant.skills) for tenant in demo.tenants) >= 40
