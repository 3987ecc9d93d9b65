"""Taking drafts in: new ones become skills, near-duplicates evidence, and what was rejected stays away."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from reviews.core.drafts import MODEL_SOURCE, PATTERN_SOURCE, ProceduralDraft, draft_label, draft_to_json
from reviews.core.extraction import Extracted
from reviews.core.similar import SIMILAR_SCORE
from reviews.models import AuditEvent, Skill, SkillEvidence, SkillRevision
from reviews.models.skills import SkillOrigin
from reviews.services import drafts as drafts_module
from reviews.services.audit import verify_chain
from reviews.services.drafts import NewDraft, Taken, take_draft, take_drafts
from reviews.services.errors import InvalidError
from reviews.services.skill_contents import content_of
from reviews.services.skills import approve_skill, edit_skill, merge_skill, reject_skill, retire_skill
from tests.factories import make_member, make_tenant, make_turn

pytestmark = pytest.mark.django_db

REFUND = ProceduralDraft(
    kind="action",
    trigger="a customer asks for a refund of a cancelled order",
    action="call get_order, then issue_refund",
    rationale="Refunds without a look at the order were reversed.",
    confidence=0.8,
    precondition=["get_order", "check_fraud_score"],
    source_episode_ids=["run-1", "run-2"],
)
#: The same rule in other words.
REWORDED = replace(
    REFUND,
    trigger="when the customer asks for a refund of a cancelled order",
    action="call get_order, then call issue_refund",
    source_episode_ids=["run-3"],
)
OTHER = replace(REFUND, trigger="the label printer jams", action="restart_printer", precondition=None)


def extracted(draft: ProceduralDraft = REFUND, **changes: Any) -> Extracted:
    values: dict[str, Any] = {
        "source": MODEL_SOURCE,
        "label": draft_label(draft),
        "steps": (draft.action,),
        "context": draft.rationale,
    }
    return Extracted(draft, **values | changes)


def take(tenant, draft: ProceduralDraft = REFUND, **options: Any) -> Taken:
    options.setdefault("origin", SkillOrigin.RUN)
    return take_draft(tenant=tenant, extracted=extracted(draft), **options)


def with_episodes(draft: ProceduralDraft, *names: str) -> ProceduralDraft:
    return replace(draft, source_episode_ids=list(names))


def episodes_of(skill: Skill) -> list[str]:
    return list(skill.episodes.order_by("id").values_list("episode", flat=True))


def stored(taken: Taken) -> Skill:
    return Skill.objects.across_tenants().get(pk=taken.skill.pk)


@pytest.fixture
def rita(tenant):
    return make_member(tenant)


@pytest.fixture
def rejected(tenant, rita) -> Skill:
    skill = take(tenant).skill
    return reject_skill(tenant=tenant, actor=rita, skill_id=skill.pk, reason="wrong", seen_version=0).skill


# -- New ones


def test_a_draft_becomes_a_skill_field_for_field(tenant):
    taken = take(tenant, origin=SkillOrigin.API)
    skill = stored(taken)
    assert (taken.status, taken.similarity, taken.added) == ("new", None, 2)
    fields = ("kind", "trigger", "action", "rationale", "confidence", "precondition")
    assert {name: getattr(skill, name) for name in fields} == {
        name: value for name, value in draft_to_json(REFUND).items() if name in fields
    }
    assert (skill.label, skill.source, skill.steps) == (draft_label(REFUND), MODEL_SOURCE, [REFUND.action])
    assert (skill.state, skill.origin, skill.version, skill.evidence) == ("draft", "api", 0, 2)
    assert (skill.writer, skill.came_back, skill.details) == (None, False, None)
    (revision,) = SkillRevision.objects.for_tenant(tenant)
    assert (revision.number, revision.content, revision.author) == (0, content_of(skill), None)


def test_a_patterns_own_words_are_kept(tenant):
    draft = ProceduralDraft("action", "call get_order", "Where is it?", "Done 4 times within 30 days.")
    pattern = extracted(
        draft,
        source=PATTERN_SOURCE,
        label="Auto-learned: call get_order",
        steps=("Where is it?", "Track it"),
        context="Repeated in 4 episodes",
        pattern_count=4,
        pattern_name="call get_order",
    )
    skill = take_draft(tenant=tenant, extracted=pattern, origin=SkillOrigin.RUN).skill
    assert (skill.source, skill.label) == (PATTERN_SOURCE, "Auto-learned: call get_order")
    assert skill.steps == ["Where is it?", "Track it"]
    assert skill.details == {
        "pattern_count": 4,
        "pattern_name": "call get_order",
        "context": "Repeated in 4 episodes",
    }


def test_episodes_that_are_turns_here_are_linked_to_them(tenant, other_tenant):
    turn = make_turn(tenant, external_id="run-1")
    make_turn(other_tenant, external_id="run-2")
    skill = take(tenant).skill
    assert list(skill.episodes.order_by("id").values_list("episode", "turn")) == [
        ("run-1", turn.pk),
        ("run-2", None),
    ]


def test_episodes_are_counted_once_and_over_long_names_are_kept_apart(tenant):
    long = "x" * 300
    skill = take(tenant, with_episodes(REFUND, "a", "b", "a", "", f"{long}1", f"{long}2")).skill
    assert skill.evidence == 4
    assert {len(name) for name in episodes_of(skill)} == {1, 200}


def test_a_draft_that_names_no_episode_counts_as_one(tenant):
    first = take(tenant, with_episodes(REFUND))
    again = take(tenant, with_episodes(REFUND))
    assert (first.status, again.status, stored(first).evidence) == ("new", "unchanged", 1)
    # In other words it is another report of the same.
    assert take(tenant, with_episodes(REWORDED)).status == "folded"
    assert stored(first).evidence == 2


def test_text_that_no_database_keeps_is_made_storable(tenant):
    hostile = replace(
        OTHER, trigger="nul \0 and half \ud800", action="a" * 100_000, source_episode_ids=["\0", "\udfff"]
    )
    skill = stored(take(tenant, hostile))
    assert skill.trigger == "nul \ufffd and half \ufffd"
    assert len(skill.action) == 10_000
    assert episodes_of(skill) == ["\ufffd"]


def test_json_of_both_shapes_is_taken(tenant):
    skill = take_draft(tenant=tenant, extracted=draft_to_json(REFUND), origin=SkillOrigin.API).skill
    assert (skill.precondition, skill.evidence) == (REFUND.precondition, 2)
    entry = {
        "layer": "procedural",
        "content": "Restart it.",
        "metadata": {"label": "Printer", "steps": ["restart_printer"], "context": "It jams.", "shop": 7},
    }
    skill = take_draft(
        tenant=tenant, extracted=entry, origin=SkillOrigin.RUNTIME, runtime_id="n-1", episodes=["e"]
    ).skill
    assert (skill.trigger, skill.action, skill.rationale) == ("Printer", "restart_printer", "It jams.")
    assert (skill.details, skill.runtime_id) == ({"shop": 7, "content": "Restart it."}, "n-1")
    assert episodes_of(skill) == ["e"]


def test_json_that_is_no_draft_is_refused_with_its_spot(tenant):
    with pytest.raises(InvalidError) as caught:
        take_draft(tenant=tenant, extracted={"kind": "action"}, origin=SkillOrigin.API)
    assert list(caught.value.details["fields"]) == ["/trigger"]
    assert not Skill.objects.for_tenant(tenant).exists()


# -- Near-duplicates


def test_the_same_draft_again_changes_nothing(tenant):
    first = take(tenant)
    before = stored(first)
    again = take(tenant)
    assert (again.status, again.skill, again.similarity) == ("unchanged", first.skill, 100.0)
    assert Skill.objects.for_tenant(tenant).count() == 1
    now = stored(first)
    assert (now.evidence, now.version, now.changed_at) == (2, before.version, before.changed_at)


def test_a_reworded_draft_becomes_evidence_with_its_own_text(tenant):
    turn = make_turn(tenant, external_id="run-3")
    first = take(tenant)
    folded = take(tenant, replace(REWORDED, source_episode_ids=["run-2", "run-3", "run-4"]))
    assert (folded.status, folded.skill, folded.added) == ("folded", first.skill, 2)
    assert folded.similarity >= SIMILAR_SCORE
    skill = stored(first)
    assert (skill.trigger, skill.evidence, skill.version) == (REFUND.trigger, 4, 0)
    third, fourth = skill.episodes.order_by("id")[2:]
    assert (third.episode, third.turn_id, third.similarity) == ("run-3", turn.pk, folded.similarity)
    assert third.draft["trigger"] == REWORDED.trigger
    assert third.draft["label"] == draft_label(REWORDED)
    assert (fourth.episode, fourth.draft, fourth.similarity) == ("run-4", None, folded.similarity)


@pytest.mark.parametrize(
    "other",
    [
        OTHER,
        replace(REFUND, kind="guardrail"),
        replace(REFUND, action="never call get_order, then issue_refund"),
        replace(REFUND, trigger=f"{REFUND.trigger} over 500"),
    ],
    ids=["another rule", "another kind", "the opposite", "another number"],
)
def test_what_is_another_rule_stays_apart(tenant, other):
    take(tenant)
    assert take(tenant, other).status == "new"


def test_another_tenants_skill_is_no_duplicate(tenant, other_tenant):
    take(other_tenant)
    assert take(tenant).status == "new"


def test_near_duplicates_among_drafts_that_come_together_are_folded(tenant):
    many = [
        NewDraft(extracted(replace(OTHER, trigger=f"printer {n} jams", source_episode_ids=[f"p-{n}"])))
        for n in range(40)
    ]
    taken = take_drafts(
        tenant=tenant,
        drafts=[*many, NewDraft(extracted()), NewDraft(extracted(REWORDED)), many[7]],
        origin=SkillOrigin.RUN,
    )
    assert [each.status for each in taken] == ["new"] * 41 + ["folded", "unchanged"]
    assert (taken[41].skill, taken[42].skill) == (taken[40].skill, taken[7].skill)


def test_an_edited_skill_is_compared_by_its_new_text(tenant, rita):
    first = take(tenant)
    edit_skill(
        tenant=tenant,
        actor=rita,
        skill_id=first.skill.pk,
        content={"trigger": OTHER.trigger, "action": OTHER.action, "precondition": None},
        seen_version=0,
    )
    assert take(tenant, with_episodes(OTHER, "p-1")).skill == first.skill


@pytest.mark.parametrize("end", ["draft", "approved", "rejected"])
def test_what_an_edited_skill_was_made_of_does_not_come_in_again_as_another_one(tenant, rita, end):
    """Extractors go on finding what they found, whatever a person has made of it."""
    skill = take(tenant).skill
    decision: dict[str, Any] = {"tenant": tenant, "skill_id": skill.pk}
    edit_skill(**decision, actor=rita, content={"trigger": f"{REFUND.trigger} over 500"}, seen_version=0)
    if end == "approved":
        approve_skill(**decision, actor=make_member(tenant), seen_version=1)
    elif end == "rejected":
        reject_skill(**decision, actor=rita, reason="wrong", seen_version=1)
    again = take(tenant)
    assert (again.status, again.skill) == ("unchanged", skill)
    folded = take(tenant, REWORDED)
    assert (folded.status, folded.skill, stored(folded).state) == ("folded", skill, end)
    assert stored(folded).trigger == f"{REFUND.trigger} over 500"
    assert Skill.objects.for_tenant(tenant).count() == 1


def test_a_skill_that_says_it_now_comes_before_one_that_was_made_of_it(tenant, rita):
    edited, other = take(tenant).skill, take(tenant, OTHER).skill
    for skill, words in ((edited, OTHER), (other, REFUND)):
        content = {name: getattr(words, name) for name in ("trigger", "action", "precondition")}
        edit_skill(tenant=tenant, actor=rita, skill_id=skill.pk, content=content, seen_version=0)
    assert take(tenant, with_episodes(REFUND, "run-9")).skill == other
    assert take(tenant, with_episodes(OTHER, "run-9")).skill == edited


@pytest.mark.parametrize("end", ["approved", "retired"])
def test_an_approved_or_retired_skill_gets_the_evidence_and_stays_what_it_is(tenant, rita, end):
    skill = take(tenant).skill
    approve_skill(tenant=tenant, actor=rita, skill_id=skill.pk, seen_version=0)
    if end == "retired":
        retire_skill(tenant=tenant, actor=rita, skill_id=skill.pk, seen_version=1)
    folded = take(tenant, with_episodes(REWORDED, *(f"new-{n}" for n in range(10))))
    assert (folded.status, stored(folded).state, stored(folded).evidence) == ("folded", end, 12)


def test_what_was_merged_away_counts_for_what_it_was_merged_into(tenant, rita):
    first, target = take(tenant).skill, take(tenant, with_episodes(OTHER, "p-1")).skill
    merge_skill(tenant=tenant, actor=rita, skill_id=first.pk, into_id=target.pk, seen_version=0)
    folded = take(tenant, with_episodes(REFUND, "run-9"))
    assert (folded.status, folded.skill) == ("folded", target)
    assert "run-9" in episodes_of(target)
    assert take(tenant, with_episodes(REFUND, "run-9")).status == "unchanged"


# -- What was rejected


def test_a_rejected_skill_comes_back_when_its_evidence_has_doubled(tenant, rejected):
    third = take(tenant, with_episodes(REWORDED, "run-3"))
    assert (third.status, stored(third).state, stored(third).evidence) == ("folded", "rejected", 3)
    # The same two again are no more than they were.
    assert take(tenant).status == "unchanged"
    fourth = take(tenant, with_episodes(REWORDED, "run-4"))
    back = stored(fourth)
    assert (fourth.status, back.state, back.came_back, back.evidence) == ("came_back", "draft", True, 4)
    assert (back.version, back.decided_by, back.decided_at) == (2, None, None)
    assert back.changed_at > rejected.changed_at
    event = AuditEvent.objects.for_tenant(tenant).get(action="skill.came_back")
    assert (event.object_id, event.actor) == (str(back.pk), None)
    assert list(verify_chain(tenant=tenant)) == []
    # Once: as a draft it is folded into as any other.
    assert take(tenant, with_episodes(REWORDED, "run-5")).status == "folded"


def test_rejected_again_it_takes_twice_as_much_again(tenant, rita, rejected):
    take(tenant, with_episodes(REWORDED, "run-3", "run-4"))
    reject_skill(tenant=tenant, actor=rita, skill_id=rejected.pk, reason="wrong", seen_version=2)
    more = [f"run-{n}" for n in range(5, 8)]
    assert take(tenant, with_episodes(REWORDED, *more)).status == "folded"
    assert take(tenant, with_episodes(REWORDED, "run-8")).status == "came_back"


# -- The runtime


def test_a_draft_of_the_runtime_is_known_by_its_id_whatever_it_says(tenant):
    first = take(tenant, origin=SkillOrigin.RUNTIME, runtime_id="n-1")
    again = take(tenant, with_episodes(OTHER, "run-9"), origin=SkillOrigin.RUNTIME, runtime_id="n-1")
    assert (again.status, again.skill, stored(first).trigger) == ("folded", first.skill, REFUND.trigger)


def test_the_runtimes_copy_of_a_draft_here_is_linked_only_when_it_says_the_same(tenant):
    first = take(tenant)
    assert take(tenant, REWORDED, origin=SkillOrigin.RUNTIME, runtime_id="n-2").status == "folded"
    assert stored(first).runtime_id == ""
    take(tenant, REFUND, origin=SkillOrigin.RUNTIME, runtime_id="n-3")
    assert stored(first).runtime_id == "n-3"
    take(tenant, REFUND, origin=SkillOrigin.RUNTIME, runtime_id="n-4")
    assert stored(first).runtime_id == "n-3"


def test_a_decided_skill_is_not_linked_to_what_nobody_has_decided(tenant, rejected):
    take(tenant, REFUND, origin=SkillOrigin.RUNTIME, runtime_id="n-3")
    rejected.refresh_from_db()
    assert rejected.runtime_id == ""


def test_a_copy_that_was_merged_away_is_not_linked_to_a_skill_that_took_over_its_words(tenant, rita):
    first = take(tenant, origin=SkillOrigin.RUNTIME, runtime_id="n-1").skill
    target = take(tenant, OTHER).skill
    merge_skill(tenant=tenant, actor=rita, skill_id=first.pk, into_id=target.pk, seen_version=0)
    words = {name: getattr(REFUND, name) for name in ("trigger", "action", "precondition")}
    edit_skill(tenant=tenant, actor=rita, skill_id=target.pk, content=words, seen_version=0)
    again = take(tenant, with_episodes(REFUND, "run-9"), origin=SkillOrigin.RUNTIME, runtime_id="n-1")
    assert (again.status, again.skill, stored(again).runtime_id) == ("folded", target, "")
    first.refresh_from_db()
    assert first.runtime_id == "n-1"


# -- Races, errors and cost


def test_the_same_draft_at_the_same_moment_becomes_one_skill(in_threads):
    tenant = make_tenant()
    results = in_threads(*[lambda n=n: take(tenant, with_episodes(REFUND, f"run-{n}")) for n in range(4)])
    assert not [result for result in results if isinstance(result, Exception)]
    assert sorted(taken.status for taken in results) == ["folded", "folded", "folded", "new"]
    skill = Skill.objects.for_tenant(tenant).get()
    assert skill.evidence == len(episodes_of(skill)) == 4


def test_what_fails_half_way_leaves_nothing_and_is_not_remembered(tenant, monkeypatch):
    def broken(*arguments: Any, **options: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr(drafts_module, "keep_known_skills", broken)
    with pytest.raises(RuntimeError):
        take(tenant)
    monkeypatch.undo()
    assert not Skill.objects.for_tenant(tenant).exists()
    assert not SkillEvidence.objects.for_tenant(tenant).exists()
    assert take(tenant).status == "new"


def test_a_draft_costs_no_more_among_many_skills(tenant):
    def queries(draft: ProceduralDraft) -> int:
        with CaptureQueriesContext(connection) as caught:
            take(tenant, draft)
        return len(caught)

    take(tenant)
    few = queries(with_episodes(REWORDED, "a"))
    take_drafts(
        tenant=tenant,
        drafts=[NewDraft(extracted(replace(OTHER, trigger=f"printer {n} jams"))) for n in range(60)],
        origin=SkillOrigin.RUN,
    )
    assert queries(with_episodes(REWORDED, *map(str, range(50)))) == few


def test_an_empty_list_of_drafts_is_fine(tenant):
    assert take_drafts(tenant=tenant, drafts=[], origin=SkillOrigin.RUN) == []
