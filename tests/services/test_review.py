"""Decisions: what each leads to, how a race is lost, and that an undo puts back exactly what was there."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count, permutations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from reviews.models import AuditEvent, DailyCount, Finding, ReviewDecision, Turn, TurnPayload
from reviews.models.tenants import Role
from reviews.models.turns import Label
from reviews.services import review
from reviews.services.audit import verify_chain
from reviews.services.errors import ConflictError, ForbiddenError, InvalidError, NotFoundError
from reviews.services.intake import accept_turns
from tests.factories import make_event, make_member, make_record, make_tenant, make_turn
from tests.services.recount import assert_counts_hold

F, A, U = Label.FABRICATED.value, Label.FALSE_ALARM.value, Label.UNSURE.value

#: Three findings: a claimed action, a key with a value, a UUID.
THREE = "I sent it. The task_id=job-4711 is queued as 6f9619ff-8b86-4011-b42d-00c04fc964ff."
ONE = "I sent it."
NONE = "Hello."

_slugs = count(1)


@pytest.fixture
def rita(tenant):
    return make_member(tenant, Role.REVIEWER, "rita")


@pytest.fixture
def max_(tenant):
    return make_member(tenant, Role.MANAGER, "max")


@pytest.fixture
def turn(tenant):
    turn = make_turn(tenant, THREE)
    assert turn.finding_count == 3
    return turn


def label(turn, actor, position, value, seen, **more):
    return review.label_finding(
        tenant=turn.tenant,
        actor=actor,
        turn_id=turn.pk,
        position=position,
        label=value,
        seen_version=seen,
        **more,
    )


def decide(turn, actor, value, seen, **more):
    return review.decide_turn(
        tenant=turn.tenant, actor=actor, turn_id=turn.pk, label=value, seen_version=seen, **more
    )


def undo(turn, actor, decided):
    return review.undo_decision(tenant=turn.tenant, actor=actor, decision_id=decided.decision_id)


def labels(turn):
    return [f.label for f in Finding.objects.for_tenant(turn.tenant).filter(turn=turn)]


def snapshot(turn):
    """Everything a decision may change, but for the version."""
    columns = ("review_state", "verdict", "decided_by_id", "decided_at", "assignee_id")
    return {
        "turn": Turn.objects.for_tenant(turn.tenant).values(*columns).get(pk=turn.pk),
        "findings": list(
            Finding.objects.for_tenant(turn.tenant)
            .filter(turn=turn)
            .order_by("position")
            .values_list("label", "labelled_by_id", "labelled_at")
        ),
        "answer": TurnPayload.objects.for_tenant(turn.tenant).get(turn=turn).corrected_answer,
        "counts": {
            (c.day, c.name): c.count
            for c in DailyCount.objects.for_tenant(turn.tenant)
            if c.count and c.name.startswith("label:")
        },
    }


def fresh(turn):
    return Turn.objects.for_tenant(turn.tenant).get(pk=turn.pk)


# -- Labels and verdicts


def test_a_label_is_kept_with_who_gave_it_and_when(turn, rita):
    at = datetime(2026, 5, 4, 10, 0, 0, 123456, tzinfo=UTC)
    decided = label(turn, rita, 1, F, 0, at=at)
    finding = turn.findings.get(position=1)
    assert (finding.label, finding.labelled_by, finding.labelled_at) == (F, rita, at)
    assert labels(turn) == ["", F, ""]
    assert (decided.turn_id, decided.version, decided.review_state) == (turn.pk, 1, "open")


def test_a_turn_is_decided_once_all_its_findings_are_labelled(turn, rita, max_):
    assert label(turn, rita, 0, F, 0).review_state == "open"
    assert label(turn, rita, 2, F, 1).review_state == "open"
    stored = fresh(turn)
    assert (stored.verdict, stored.decided_by, stored.decided_at) == ("", None, None)
    assert label(turn, max_, 1, F, 2).review_state == "decided"
    stored = fresh(turn)
    assert (stored.review_state, stored.verdict, stored.decided_by, stored.version) == ("decided", F, max_, 3)
    assert stored.decided_at == turn.findings.get(position=1).labelled_at


@pytest.mark.parametrize(
    ("given_labels", "verdict"),
    [
        ((F, A, U), F),
        ((F, A, A), F),
        ((F, U, U), F),
        ((U, A, A), U),
        ((U, U, A), U),
        ((A, A, A), A),
        ((U, U, U), U),
        ((F, F, F), F),
    ],
)
def test_fabricated_outweighs_unsure_and_unsure_a_false_alarm(tenant, rita, given_labels, verdict):
    for order in set(permutations(given_labels)):
        turn = make_turn(tenant, THREE)
        for position, value in enumerate(order):
            label(turn, rita, position, value, position)
        assert fresh(turn).verdict == verdict


def test_a_decided_turn_may_be_labelled_anew(turn, rita, max_):
    decide(turn, rita, A, 0)
    label(turn, max_, 0, F, 1)
    assert labels(turn) == [F, A, A]
    stored = fresh(turn)
    assert (stored.verdict, stored.decided_by, stored.review_state) == (F, max_, "decided")


def test_a_decision_on_the_turn_labels_every_finding(turn, rita):
    label(turn, rita, 0, U, 0)
    decided = decide(turn, rita, F, 1)
    assert labels(turn) == [F, F, F]
    assert (decided.review_state, fresh(turn).verdict, decided.version) == ("decided", F, 2)


def test_a_turn_without_findings_can_be_decided(tenant, rita):
    turn = make_turn(tenant, NONE)
    decided = decide(turn, rita, A, 0)
    stored = fresh(turn)
    assert (decided.review_state, stored.verdict, stored.decided_by) == ("decided", A, rita)


def test_only_the_turn_meant_is_labelled(tenant, turn, rita):
    other = make_turn(tenant, THREE)
    decide(turn, rita, F, 0)
    label(turn, rita, 0, A, 1)
    assert labels(other) == ["", "", ""]
    assert (fresh(other).review_state, fresh(other).version) == ("open", 0)


@pytest.mark.parametrize("wrong", ["", "true", "FABRICATED", "x" * 300])
def test_an_unknown_label_is_refused(turn, rita, wrong):
    for act in (partial(label, turn, rita, 0, wrong, 0), partial(decide, turn, rita, wrong, 0)):
        with pytest.raises(InvalidError) as caught:
            act()
        assert set(caught.value.details["fields"]) == {"label"}
    assert fresh(turn).version == 0


@pytest.mark.parametrize("position", [-1, 3, 10**9])
def test_an_unknown_finding_is_not_found(turn, rita, position):
    with pytest.raises(NotFoundError):
        label(turn, rita, position, F, 0)


def test_a_turn_that_waits_for_analysis_cannot_be_decided(tenant, rita):
    turn = make_turn(tenant, analysed=False)
    for act in (partial(decide, turn, rita, F, 0), partial(note, turn, rita, "x", 0)):
        with pytest.raises(InvalidError, match="waiting for analysis"):
            act()


# -- Notes, corrected answers, assignment


def note(turn, actor, text, seen):
    return review.add_note(tenant=turn.tenant, actor=actor, turn_id=turn.pk, text=text, seen_version=seen)


def correct(turn, actor, text, seen):
    return review.correct_answer(
        tenant=turn.tenant, actor=actor, turn_id=turn.pk, text=text, seen_version=seen
    )


def assign(turn, actor, to, seen):
    return review.assign_turn(
        tenant=turn.tenant,
        actor=actor,
        turn_id=turn.pk,
        assignee_id=to.pk if to else None,
        seen_version=seen,
    )


def test_a_note_is_kept_and_changes_nothing_else(turn, rita):
    before = snapshot(turn)
    decided = note(turn, rita, "  Ask the shop.\n", 0)
    kept = ReviewDecision.objects.for_tenant(turn.tenant).get()
    assert (kept.action, kept.text, kept.actor, kept.version) == ("note", "Ask the shop.", rita, 1)
    assert snapshot(turn) == before
    assert (decided.version, decided.review_state) == (1, "open")


def test_a_corrected_answer_is_kept_replaced_and_taken_away(turn, rita):
    answers = TurnPayload.objects.for_tenant(turn.tenant)
    correct(turn, rita, " One. ", 0)
    assert answers.get().corrected_answer == "One."
    correct(turn, rita, "Two.", 1)
    assert answers.get().corrected_answer == "Two."
    correct(turn, rita, "", 2)
    assert answers.get().corrected_answer == ""


@pytest.mark.parametrize("text", ["", "  \n ", "x" * (review.MAX_NOTE_LENGTH + 1), "a\0b"])
def test_a_note_that_says_nothing_or_too_much_is_refused(turn, rita, text):
    with pytest.raises(InvalidError) as caught:
        note(turn, rita, text, 0)
    assert set(caught.value.details["fields"]) == {"text"}
    assert fresh(turn).version == 0


@pytest.mark.parametrize("text", ["x" * (review.MAX_ANSWER_LENGTH + 1), "a\0b"])
def test_an_answer_that_cannot_be_stored_is_refused(turn, rita, text):
    with pytest.raises(InvalidError) as caught:
        correct(turn, rita, text, 0)
    assert set(caught.value.details["fields"]) == {"text"}
    assert fresh(turn).version == 0


def test_texts_of_the_greatest_length_are_kept(turn, rita):
    note(turn, rita, "n" * review.MAX_NOTE_LENGTH, 0)
    correct(turn, rita, "a" * review.MAX_ANSWER_LENGTH, 1)
    assert fresh(turn).version == 2


@pytest.mark.parametrize("role", [Role.REVIEWER, Role.MANAGER, Role.OWNER])
def test_a_turn_may_be_assigned_to_whoever_may_review(turn, rita, role):
    someone = make_member(turn.tenant, role)
    assign(turn, rita, someone, 0)
    assert fresh(turn).assignee == someone
    assign(turn, rita, None, 1)
    assert fresh(turn).assignee is None


def test_a_turn_may_not_be_assigned_to_anybody_else(turn, other_tenant, rita, django_user_model):
    viewer = make_member(turn.tenant, Role.VIEWER)
    stranger = make_member(other_tenant, Role.OWNER)
    nobody = django_user_model(pk=10**9)
    for someone in (viewer, stranger, nobody):
        with pytest.raises(InvalidError) as caught:
            assign(turn, rita, someone, 0)
        assert set(caught.value.details["fields"]) == {"assignee"}
    assert (fresh(turn).assignee, fresh(turn).version) == (None, 0)


# -- Versions and races


def test_every_decision_moves_the_version_by_one(turn, rita, max_):
    acts = [
        lambda seen: label(turn, rita, 0, F, seen),
        lambda seen: note(turn, rita, "x", seen),
        lambda seen: correct(turn, rita, "x", seen),
        lambda seen: assign(turn, rita, max_, seen),
        lambda seen: decide(turn, rita, A, seen),
    ]
    for seen, act in enumerate(acts):
        decided = act(seen)
        assert decided.version == fresh(turn).version == seen + 1
    assert undo(turn, rita, decided).version == fresh(turn).version == 6
    assert list(turn.decisions.order_by("version").values_list("version", flat=True)) == list(range(1, 7))


@pytest.mark.parametrize("seen", [0, 2, -1, 99])
def test_a_decision_on_another_version_than_the_current_is_refused_and_changes_nothing(
    turn, rita, max_, seen
):
    label(turn, max_, 0, A, 0)
    before = snapshot(turn)
    for act in (
        partial(label, turn, rita, 0, F, seen),
        partial(decide, turn, rita, F, seen),
        partial(note, turn, rita, "x", seen),
        partial(correct, turn, rita, "x", seen),
        partial(assign, turn, rita, rita, seen),
    ):
        with pytest.raises(ConflictError):
            act()
    assert snapshot(turn) == before
    assert (turn.decisions.count(), fresh(turn).version) == (1, 1)
    assert AuditEvent.objects.for_tenant(turn.tenant).filter(object_type="turn").count() == 1


def test_the_loser_of_a_race_is_told_who_did_what(turn, rita, max_):
    label(turn, max_, 0, A, 0)
    with pytest.raises(ConflictError) as caught:
        label(turn, rita, 0, F, 0)
    error = caught.value
    assert error.message.startswith("Max labelled ")
    assert "as false alarm while you were looking" in error.message
    assert error.message.endswith("Your decision was not saved.")
    assert error.details == {"turn_id": turn.pk, "actor": "max"}
    assert error.code == "conflict"


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda turn, who: decide(turn, who, F, 0), "Max decided the turn as fabricated"),
        (lambda turn, who: decide(turn, who, A, 0), "Max decided the turn as false alarm"),
        (lambda turn, who: note(turn, who, "x", 0), "Max left a note"),
        (lambda turn, who: correct(turn, who, "x", 0), "Max wrote a corrected answer"),
        (lambda turn, who: assign(turn, who, who, 0), "Max assigned"),
    ],
)
def test_the_loser_is_told_in_words_whatever_was_done(turn, rita, max_, act, said):
    act(turn, max_)
    with pytest.raises(ConflictError) as caught:
        decide(turn, rita, F, 0)
    assert caught.value.message.startswith(said)
    assert " while you were looking." in caught.value.message


def test_where_nothing_was_flagged_nothing_is_called_an_alarm(tenant, rita, max_):
    quiet = make_turn(tenant, NONE)
    decide(quiet, max_, A, 0)
    with pytest.raises(ConflictError, match="Max found nothing wrong with the turn while you"):
        decide(quiet, rita, F, 0)


def test_the_loser_is_told_of_an_undo_too(turn, rita, max_):
    undo(turn, max_, decide(turn, max_, F, 0))
    with pytest.raises(ConflictError, match=r"^Max undid\b.* while you"):
        decide(turn, rita, F, 1)


def test_of_two_reviewers_at_once_one_wins(in_threads, tenant):
    rita, max_ = make_member(tenant, Role.REVIEWER, "rita"), make_member(tenant, Role.MANAGER, "max")
    turn = make_turn(tenant, THREE)
    results = in_threads(
        partial(decide, turn, rita, F, 0),
        partial(decide, turn, max_, A, 0),
        partial(label, turn, rita, 0, U, 0),
        partial(note, turn, max_, "x", 0),
    )
    errors = [r for r in results if isinstance(r, Exception)]
    assert Counter(type(error) for error in errors) == {ConflictError: 3}
    assert all(error.details["actor"] in ("rita", "max") for error in errors)
    assert (fresh(turn).version, turn.decisions.count()) == (1, 1)
    assert not list(verify_chain(tenant=tenant))


def test_of_two_undos_at_once_one_wins(in_threads, tenant):
    rita, max_ = make_member(tenant, Role.REVIEWER, "rita"), make_member(tenant, Role.MANAGER, "max")
    turn = make_turn(tenant, THREE)
    before = snapshot(turn)
    decided = decide(turn, rita, F, 0)
    results = in_threads(partial(undo, turn, rita, decided), partial(undo, turn, max_, decided))
    assert sorted(type(r).__name__ for r in results) == ["ConflictError", "Decided"]
    assert snapshot(turn) == before
    assert fresh(turn).version == 2


def test_a_turn_that_went_back_to_analysis_in_between_is_not_decided(in_threads, tenant, settings):
    """However the turn's arrival and the decision interleave, no labelled finding is thrown away."""
    rita = make_member(tenant)
    from reviews.services.analysis import analyse_pending
    from reviews.services.events import accept_event

    for n in range(8):
        accept_event(tenant=tenant, event=make_event(f"run-{n}", [{"identifier": "x", "kind": "kv"}]))
    turns = list(Turn.objects.for_tenant(tenant).order_by("id"))

    def review_all():
        done = []
        for turn in turns:
            try:
                done.append(decide(turn, rita, F, 0))
            except (ConflictError, InvalidError):
                done.append(None)
        return done

    def send_all():
        for turn in reversed(turns):
            accept_turns(tenant=tenant, records=[make_record("Hello.", external_id=turn.external_id)])
            analyse_pending()

    decided, sent = in_threads(review_all, send_all)
    assert not isinstance(sent, Exception)
    assert not isinstance(decided, Exception)
    for turn, done in zip(turns, decided, strict=True):
        stored = fresh(turn)
        if done is None:
            assert (stored.version, labels(turn)) == (0, [])
        else:
            assert (stored.version, stored.review_state, labels(turn).count(F)) in (
                (1, "decided", 1),
                (1, "decided", 0),  # decided after the analysis found nothing
            )
            assert labels(turn) == [F] * stored.finding_count
            assert stored.analysis_state == "done"


# -- Undo


def test_an_undone_label_leaves_everything_as_it_was(turn, rita):
    before = snapshot(turn)
    undone = undo(turn, rita, label(turn, rita, 1, F, 0))
    assert snapshot(turn) == before
    assert (undone.version, undone.review_state) == (2, "open")


def test_an_undo_brings_back_the_label_before_with_who_gave_it_and_when(turn, rita, max_):
    early = datetime(2026, 5, 1, 9, tzinfo=UTC)
    for position in range(3):
        label(turn, rita, position, A, position, at=early + timedelta(minutes=position))
    before = snapshot(turn)
    assert before["turn"]["decided_by_id"] == rita.pk
    relabelled = label(turn, max_, 1, F, 3, at=early + timedelta(days=1))
    assert fresh(turn).verdict == F
    undo(turn, max_, relabelled)
    assert snapshot(turn) == before


def test_an_undone_decision_on_the_turn_brings_back_each_label(turn, rita, max_):
    label(turn, rita, 0, U, 0)
    label(turn, rita, 2, A, 1)
    before = snapshot(turn)
    undo(turn, max_, decide(turn, max_, F, 2))
    assert snapshot(turn) == before
    assert labels(turn) == [U, "", A]


def test_a_decision_on_a_turn_without_findings_can_be_undone(tenant, rita, max_):
    turn = make_turn(tenant, NONE)
    untouched = snapshot(turn)
    first = decide(turn, rita, A, 0)
    decided = snapshot(turn)
    second = decide(turn, max_, F, 1)
    with pytest.raises(ConflictError):
        undo(turn, rita, first)
    undo(turn, max_, second)
    assert snapshot(turn) == decided
    undone = undo(turn, rita, first)
    assert snapshot(turn) == untouched
    assert undone.review_state == "none"


def test_an_undone_correction_brings_back_the_answer_before(turn, rita):
    correct(turn, rita, "One.", 0)
    before = snapshot(turn)
    undo(turn, rita, correct(turn, rita, "Two.", 1))
    assert snapshot(turn) == before


def test_an_undone_assignment_brings_back_the_assignee_before(turn, rita, max_):
    first = assign(turn, rita, max_, 0)
    before = snapshot(turn)
    undo(turn, rita, assign(turn, rita, rita, 1))
    assert snapshot(turn) == before
    undo(turn, rita, first)
    assert fresh(turn).assignee is None


def test_an_undone_note_stays_in_the_history_as_undone(turn, rita):
    decided = note(turn, rita, "x", 0)
    undo(turn, rita, decided)
    kept = ReviewDecision.objects.for_tenant(turn.tenant).get(pk=decided.decision_id)
    assert kept.text == "x"
    assert kept.undone_by.action == "undo"


def test_a_correction_or_assignment_changed_since_cannot_be_undone(turn, rita, max_):
    corrected, assigned = correct(turn, rita, "One.", 0), assign(turn, rita, max_, 1)
    correct(turn, rita, "Two.", 2)
    assign(turn, rita, rita, 3)
    for decided in (corrected, assigned):
        with pytest.raises(ConflictError, match="changed again since"):
            undo(turn, rita, decided)


def test_undoing_an_older_decision_leaves_later_ones_on_other_findings(turn, rita, max_):
    first = label(turn, rita, 0, F, 0)
    label(turn, max_, 1, A, 1)
    label(turn, max_, 2, U, 2)
    note(turn, max_, "x", 3)
    undone = undo(turn, rita, first)
    assert labels(turn) == ["", A, U]
    stored = fresh(turn)
    assert (undone.review_state, stored.verdict, stored.decided_by, stored.decided_at) == (
        "open",
        "",
        None,
        None,
    )


def test_a_decision_is_undone_once(turn, rita):
    decided = label(turn, rita, 0, F, 0)
    undo(turn, rita, decided)
    before = snapshot(turn)
    with pytest.raises(ConflictError, match="undone already"):
        undo(turn, rita, decided)
    assert snapshot(turn) == before
    assert fresh(turn).version == 2


@pytest.mark.parametrize("again", [F, A])
def test_a_label_given_anew_since_is_not_undone(turn, rita, max_, again):
    first = label(turn, rita, 0, F, 0)
    label(turn, max_, 0, again, 1)
    before = snapshot(turn)
    with pytest.raises(ConflictError, match="changed again since"):
        undo(turn, rita, first)
    assert snapshot(turn) == before


def test_a_decision_on_the_turn_is_not_undone_when_one_of_its_findings_was_labelled_since(turn, rita):
    decided = decide(turn, rita, F, 0)
    label(turn, rita, 2, A, 1)
    before = snapshot(turn)
    with pytest.raises(ConflictError):
        undo(turn, rita, decided)
    assert snapshot(turn) == before


def test_an_undo_cannot_be_undone(turn, rita):
    undone = undo(turn, rita, label(turn, rita, 0, F, 0))
    with pytest.raises(NotFoundError):
        undo(turn, rita, undone)


def test_after_an_undo_the_decision_can_be_made_again(turn, rita):
    undo(turn, rita, label(turn, rita, 0, F, 0))
    again = label(turn, rita, 0, A, 2)
    assert labels(turn) == [A, "", ""]
    undo(turn, rita, again)
    assert labels(turn) == ["", "", ""]


def test_an_older_correction_is_not_undone_under_a_newer_one_of_the_same_text(tenant, turn, rita):
    by = {"tenant": tenant, "actor": rita, "turn_id": turn.pk}
    first = review.correct_answer(text="A", seen_version=0, **by)
    review.correct_answer(text="B", seen_version=1, **by)
    review.correct_answer(text="A", seen_version=2, **by)
    with pytest.raises(ConflictError):
        review.undo_decision(tenant=tenant, actor=rita, decision_id=first.decision_id)


def test_another_reviewer_may_not_undo_it_and_a_manager_may(turn, rita, max_):
    decided = label(turn, rita, 0, F, 0)
    before = snapshot(turn)
    with pytest.raises(ForbiddenError, match="Only a manager"):
        undo(turn, make_member(turn.tenant, Role.REVIEWER), decided)
    assert snapshot(turn) == before
    undo(turn, max_, decided)
    assert labels(turn) == ["", "", ""]
    last = turn.decisions.get(version=2)
    assert (last.actor, last.undoes_id) == (max_, decided.decision_id)


def test_a_manager_of_another_tenant_is_no_manager_here(turn, other_tenant, rita):
    decided = label(turn, rita, 0, F, 0)
    stranger = make_member(other_tenant, Role.OWNER)
    with pytest.raises(ForbiddenError):
        undo(turn, stranger, decided)
    assert labels(turn)[0] == F


def test_the_last_decision_that_stands_can_be_undone_next(turn, rita, max_):
    def last():
        return review.last_undoable(tenant=turn.tenant, actor=rita)

    assert last() is None
    first, second = label(turn, rita, 0, F, 0), label(turn, rita, 1, F, 1)
    label(turn, max_, 2, F, 2)
    assert last().pk == second.decision_id
    undo(turn, rita, second)
    assert last().pk == first.decision_id
    undo(turn, max_, first)
    assert last() is None


# -- Tenants


def test_a_strangers_turn_and_decision_are_not_found(turn, other_tenant, rita):
    decided = label(turn, rita, 0, F, 0)
    stranger = make_member(other_tenant, Role.OWNER)
    turn.tenant = other_tenant
    for act in (
        partial(label, turn, stranger, 0, F, 1),
        partial(decide, turn, stranger, F, 1),
        partial(note, turn, stranger, "x", 1),
        partial(correct, turn, stranger, "x", 1),
        partial(assign, turn, stranger, None, 1),
        partial(undo, turn, stranger, decided),
    ):
        with pytest.raises(NotFoundError):
            act()
    assert review.last_undoable(tenant=other_tenant, actor=rita) is None
    assert turn.decisions.count() == 1


# -- History


def test_every_decision_leaves_one_audit_event(turn, rita, max_):
    def acts():
        yield "turn.label", label(turn, rita, 0, F, 0)
        yield "turn.note", note(turn, rita, "Ask.", 1)
        yield "turn.correct", correct(turn, rita, "Better.", 2)
        yield "turn.assign", assign(turn, rita, max_, 3)
        decided = decide(turn, rita, A, 4)
        yield "turn.decide", decided
        yield "turn.undo", undo(turn, max_, decided)

    done = list(acts())
    events = list(AuditEvent.objects.for_tenant(turn.tenant).filter(object_type="turn").order_by("sequence"))
    assert [event.action for event in events] == [name for name, _ in done]
    assert {event.object_id for event in events} == {str(turn.pk)}
    assert [event.actor_name for event in events] == ["rita"] * 5 + ["max"]
    data = [json.loads(event.data) for event in events]
    assert [d["version"] for d in data] == [1, 2, 3, 4, 5, 6]
    assert {d["external_id"] for d in data} == {turn.external_id}
    assert (data[0]["value"], data[0]["finding"]["position"], data[0]["finding"]["kind"]) == (
        F,
        0,
        "verb_claim",
    )
    assert (data[1]["text"], data[2]["text"]) == ("Ask.", "Better.")
    assert data[3]["after"] == {"assignee_id": max_.pk}
    assert not list(verify_chain(tenant=turn.tenant))


@pytest.mark.parametrize(("spent", "kept"), [(None, None), (3.5, 3.5), (-1.0, 0.0), (1e9, 3600.0)])
def test_the_time_a_decision_took_is_kept_within_reason(turn, rita, spent, kept):
    decided = label(turn, rita, 0, F, 0, spent_seconds=spent)
    assert ReviewDecision.objects.for_tenant(turn.tenant).get(pk=decided.decision_id).spent_seconds == kept


def test_labels_count_on_the_day_they_were_given_and_never_below_nothing(turn, rita):
    first, second = datetime(2026, 5, 1, 12, tzinfo=UTC), datetime(2026, 5, 2, 12, tzinfo=UTC)
    label(turn, rita, 0, F, 0, at=first)
    assert snapshot(turn)["counts"] == {(first.date(), "label:verb_claim:fabricated"): 1}
    changed = label(turn, rita, 0, A, 1, at=second)
    assert snapshot(turn)["counts"] == {(second.date(), "label:verb_claim:false_alarm"): 1}
    undo(turn, rita, changed)
    assert snapshot(turn)["counts"] == {(first.date(), "label:verb_claim:fabricated"): 1}


def test_the_queries_of_a_decision_do_not_grow_with_the_findings(tenant, rita):
    many = make_turn(tenant, "I sent it. " + " ".join(f"task_id=job-{n}" for n in range(80)))
    assert many.finding_count == 81

    def queries(turn):
        turn.tenant = tenant
        with CaptureQueriesContext(connection) as captured:
            decided = label(turn, rita, 0, F, 0)
        with CaptureQueriesContext(connection) as undone:
            undo(turn, rita, decided)
        return len(captured), len(undone)

    # With the same verdict in the end: one more is written when a turn becomes decided.
    another = make_turn(tenant, "I sent it. task_id=job-1")
    queries(make_turn(tenant, ONE))
    assert queries(another) == queries(many)
    assert max(queries(make_turn(tenant, ONE))) <= 20


# -- Any sequence of decisions and undos


class Model:
    """What the rules say, beside the services: who set each finding's label, and what stood before."""

    def __init__(self, drafts, sampled):
        self.unflagged = "open" if sampled else "none"
        self.turns = [{"findings": [("", None)] * n, "verdict": ("", None), "version": 0} for n in drafts]
        self.log = []

    def label(self, t, positions, value):
        turn, me = self.turns[t], len(self.log)
        before = {p: turn["findings"][p] for p in positions}
        self.log.append({"turn": t, "before": before, "whole": turn["verdict"], "undone": False})
        for p in positions:
            turn["findings"][p] = (value, me)
        if not turn["findings"]:
            turn["verdict"] = (value, me)
        turn["version"] += 1

    def may_undo(self, n):
        entry = self.log[n]
        turn = self.turns[entry["turn"]]
        if entry["undone"]:
            return False
        if not turn["findings"]:
            return turn["verdict"][1] == n
        return all(turn["findings"][p][1] == n for p in entry["before"])

    def undo(self, n):
        entry = self.log[n]
        turn = self.turns[entry["turn"]]
        entry["undone"] = True
        for p, value in entry["before"].items():
            turn["findings"][p] = value
        if not turn["findings"]:
            turn["verdict"] = entry["whole"]
        turn["version"] += 1

    def state(self, t):
        turn = self.turns[t]
        found = [value for value, _ in turn["findings"]]
        if not found:
            verdict = turn["verdict"][0]
            return ("decided" if verdict else self.unflagged), verdict
        if "" in found:
            return "open", ""
        return "decided", next(v for v in (F, U, A) if v in found)


ACTS = st.one_of(
    st.tuples(st.just("label"), st.integers(0, 1), st.integers(0, 2), st.sampled_from([F, A, U])),
    st.tuples(st.just("decide"), st.integers(0, 2), st.just(0), st.sampled_from([F, A, U])),
    st.tuples(st.just("undo"), st.integers(0, 30), st.just(0), st.just("")),
    st.tuples(st.just("stale"), st.integers(0, 2), st.just(0), st.sampled_from([F, A])),
)


@pytest.mark.django_db
@hypothesis_settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(acts=st.lists(ACTS, max_size=14), sampled=st.booleans())
def test_any_sequence_of_decisions_and_undos_keeps_what_must_hold(acts, sampled):
    tenant = make_tenant(slug=f"t{next(_slugs)}", audit_sample_rate=int(sampled))
    actor = make_member(tenant, Role.REVIEWER)
    turns = [make_turn(tenant, draft) for draft in (THREE, ONE, NONE)]
    sizes = [turn.finding_count for turn in turns]
    assert sizes == [3, 1, 0]
    model, done = Model(sizes, sampled), []
    moments = (datetime(2026, 5, 1, 12, tzinfo=UTC) + timedelta(hours=7 * n) for n in count())
    for name, which, position, value in acts:
        if name == "undo":
            if not done:
                continue
            n = which % len(done)
            turn = turns[model.log[n]["turn"]]
            if model.may_undo(n):
                undo(turn, actor, done[n])
                model.undo(n)
            else:
                with pytest.raises(ConflictError):
                    undo(turn, actor, done[n])
            continue
        turn, seen = turns[which], model.turns[which]["version"]
        if name == "stale":
            with pytest.raises(ConflictError):
                decide(turn, actor, value, seen - 1)
        elif name == "decide":
            done.append(decide(turn, actor, value, seen, at=next(moments)))
            model.label(which, range(sizes[which]), value)
        else:
            place = position % sizes[which]
            done.append(label(turn, actor, place, value, seen, at=next(moments)))
            model.label(which, [place], value)

    expected_counts: Counter[tuple[object, str]] = Counter()
    for t, turn in enumerate(turns):
        stored = fresh(turn)
        assert labels(turn) == [value for value, _ in model.turns[t]["findings"]]
        assert (stored.review_state, stored.verdict) == model.state(t)
        assert stored.version == model.turns[t]["version"] == turn.decisions.count()
        decided = stored.review_state == "decided"
        assert (stored.decided_by_id, stored.decided_at is not None) == (
            actor.pk if decided else None,
            decided,
        )
        for finding in turn.findings.all():
            assert (
                (finding.label != "")
                == (finding.labelled_at is not None)
                == (finding.labelled_by_id is not None)
            )
            if finding.label:
                expected_counts[finding.labelled_at.date(), f"label:{finding.kind}:{finding.label}"] += 1
    rows = DailyCount.objects.for_tenant(tenant).filter(name__startswith="label:")
    assert all(row.count >= 0 for row in rows)
    assert {(row.day, row.name): row.count for row in rows if row.count} == dict(expected_counts)
    assert_counts_hold(tenant)
    decisions = ReviewDecision.objects.for_tenant(tenant).count()
    assert AuditEvent.objects.for_tenant(tenant).filter(object_type="turn").count() == decisions
    assert not list(verify_chain(tenant=tenant))
