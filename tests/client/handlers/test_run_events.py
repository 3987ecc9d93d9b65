"""Events of runs as no runtime should send them: missing, twice, out of order, of many runs mixed.

They are fed to the handler as plain objects with the fields of symfonic's own, which is not needed here.
"""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from reviews.client.handlers import SymfonicReviewHandler

RUNS = ("a", "b", "c")
REFUSAL = "I cannot confirm that."
_numbers = itertools.count()


def feed(handler: Any, hook: str, event: Any, *more: Any) -> Any:
    """Await a hook, which never waits for anything."""
    try:
        getattr(handler, hook)(event, *more).send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("a hook waited")


def draft_of(run: str) -> str:
    return f"I ran the export of {run}, task_id=9f2b1e47{run}."


def history_of(run: str) -> list[tuple[str, SimpleNamespace]]:
    """All events of a run that is refused, in the order of symfonic."""

    def event(**fields: Any) -> SimpleNamespace:
        return SimpleNamespace(run_id=run, **fields)

    call = {"call_id": f"{run}-1", "tool_name": "export"}
    return [
        ("on_agent_start", event(query=f"Export {run}")),
        ("on_llm_start", event(model="m", messages=[], node_name="react", system_prompt="")),
        ("on_llm_end", event(model="m", output="Let me see.", node_name="react", iteration_index=0)),
        ("on_before_tool_call", event(args={"table": run}, **call)),
        ("on_tool_result", event(result=f"exported {run}", is_error=False, **call)),
        ("on_llm_end", event(model="m", output=draft_of(run), node_name="react", iteration_index=1)),
        ("on_fabrication_detected", event(
            mode="refuse", action_taken="refuse_replaced", findings=[], refuse_threshold=0.8,
            max_finding_confidence=0.8, original_draft_preview=draft_of(run), replacement_preview=REFUSAL,
            preview_truncated=False,
        )),
        ("on_llm_end", event(model="critic", output="{}", node_name="metacognition_critic")),
        ("on_agent_end", event(final_response=REFUSAL, duration_ms=1.0, node_count=2)),
    ]  # fmt: skip


EVENTS = [(run, position) for run in RUNS for position in range(len(history_of("")))]
_TELLS_THE_DRAFT = {5, 6}
_END = len(history_of("")) - 1


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(order=[("a", 5), ("a", 2), ("a", 8)])
@given(order=st.lists(st.sampled_from(EVENTS), max_size=60))
def test_any_events_in_any_order_make_one_turn_a_run_at_most(order, server, client):
    server.turns.clear()
    handler = SymfonicReviewHandler(client, "acme")
    prefix = f"{next(_numbers)}-"
    before_the_end: dict[str, set[int]] = {}
    ended = set()
    for run, position in order:
        hook, event = history_of(f"{prefix}{run}")[position]
        more = [{}] if hook == "on_before_tool_call" else []
        feed(handler, hook, event, *more)
        if run not in ended:
            before_the_end.setdefault(run, set()).add(position)
        if position == _END:
            ended.add(run)
    assert handler.counts.failures == 0
    handler.close()
    assert client.flush(30)
    turns = {turn["external_id"]: turn for turn in server.turns}
    assert len(turns) == len(server.turns) == handler.counts.recorded
    for run in RUNS:
        turn, seen = turns.get(f"{prefix}{run}"), before_the_end.get(run, set())
        if run in ended:
            # The end alone tells only what the user got; whatever else came before it tells the draft.
            said = 2 in seen and 5 not in seen and 6 not in seen
            expected = draft_of(f"{prefix}{run}") if seen & _TELLS_THE_DRAFT else REFUSAL
            assert turn is not None
            assert turn["draft"] == ("Let me see." if said else expected)
            assert len(turn.get("tool_calls", [])) == bool(seen & {3, 4})
            assert turn.get("user_message", "") == (f"Export {prefix}{run}" if 0 in seen else "")
        elif turn is not None:
            assert turn["attributes"]["unended"] is True
            assert turn["draft"] in {"Let me see.", draft_of(f"{prefix}{run}")}


def test_runs_that_never_end_are_bounded_and_recorded_as_they_are(client, sent):
    handler = SymfonicReviewHandler(client, "acme", most_open=3)
    for number in range(5):
        for hook, event in history_of(f"run-{number}")[:6]:
            feed(handler, hook, event, *([{}] if hook == "on_before_tool_call" else []))
        assert handler.assembler.open_count <= 3
    assert handler.counts.unended == 2
    assert [turn["external_id"] for turn in sent()] == ["run-0", "run-1"]
    assert all(turn["attributes"]["unended"] for turn in sent())
    feed(handler, *history_of("run-0")[-1])
    handler.close()
    assert handler.counts.unended == 5
    assert len(sent()) == 5


def test_a_run_that_asks_the_user_goes_on_under_its_id(client, sent):
    """An interrupted run ends without an answer; the same id is used when it is resumed."""
    handler = SymfonicReviewHandler(client, "acme")
    history = history_of("paused")
    for hook, event in history[:1]:
        feed(handler, hook, event)
    end = SimpleNamespace(run_id="paused", final_response=None, duration_ms=1.0, node_count=None)
    feed(handler, "on_agent_end", end)
    assert sent() == []
    for hook, event in (history[0], history[5]):
        feed(handler, hook, event)
    feed(handler, "on_agent_end", end)
    assert [turn["draft"] for turn in sent()] == [draft_of("paused")]
    feed(handler, "on_agent_end", end)
    assert len(sent()) == 1
    assert handler.counts.late == 1


def test_an_event_after_the_turn_is_sent_by_itself(client, server, sent):
    handler = SymfonicReviewHandler(client, "acme")
    *others, end = [
        step for step in history_of("late") if step[0] == "on_agent_start" or step[0] == "on_agent_end"
    ]
    for hook, event in (*others, end):
        feed(handler, hook, event)
    feed(handler, *history_of("late")[6])
    assert handler.events.flush(30)
    assert sent()[0]["external_id"] == server.events[0]["run_id"] == "late"


@pytest.mark.parametrize("hook", ["on_llm_start", "on_llm_end", "on_tool_result", "on_agent_end"])
def test_events_without_a_run_are_nobodys_turn(hook, client, sent):
    """symfonic tidies up its memory after a turn, and calls models for it."""
    handler = SymfonicReviewHandler(client, "acme")
    event = dict(history_of(""))[hook]
    feed(handler, hook, event)
    handler.close()
    assert sent() == []


def test_an_answer_is_passed_on_as_it_is_even_by_a_handler_that_fails():
    class Hostile:
        def record(self, turn: Any) -> bool:
            raise RuntimeError

    handler = SymfonicReviewHandler(Hostile(), "acme")
    for metadata in (SimpleNamespace(run_id="r", original_content="text"), None, object()):
        assert feed(handler, "on_response_render", "text", {"messages": object()}, metadata) == "text"


def test_ids_too_long_for_the_server_are_named_by_a_digest_both_times(client, server, sent):
    handler = SymfonicReviewHandler(client, "acme")
    for hook, event in history_of("x" * 500):
        feed(handler, hook, event, *([{}] if hook == "on_before_tool_call" else []))
    assert handler.events.flush(30)
    (turn,) = sent()
    assert len(turn["external_id"]) <= 200
    assert server.events[0]["run_id"] == turn["external_id"]
