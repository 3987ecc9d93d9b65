from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from reviews.formats import decode_turn, encode_turn
from reviews.formats.chat import Chat, cut_turns, read_time, read_tools
from reviews.formats.record import ToolCall, ToolInfo, TurnRecord
from tests.formats.samples import refusal


def cut(*messages: Any) -> list[TurnRecord]:
    chat = Chat(conversation_id="c", messages=list(messages), path=("messages",))
    return [record for _number, record in cut_turns(chat)]


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def said(content: Any, *calls: tuple[str | None, str]) -> dict[str, Any]:
    made = [{"id": i, "type": "function", "function": {"name": n, "arguments": '{"n": 1}'}} for i, n in calls]
    return {"role": "assistant", "content": content, "tool_calls": made or None}


def result(call_id: str | None, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content, **more}


def results(record: TurnRecord) -> list[tuple[str, Any]]:
    return [(call.name, call.result) for call in record.tool_calls]


def test_a_turn_reaches_to_the_next_user_message() -> None:
    first, second = cut(
        {"role": "system", "content": "Be kind."},
        user("one"),
        said("Let me look.", ("a", "look")),
        result("a", "seen"),
        said("It is there."),
        user("two"),
        said("Bye."),
    )
    assert first.external_id == "c/1"
    assert first.conversation_id == "c"
    assert first.user_message == "one"
    assert first.draft == "It is there."
    assert first.hydrated_context == "Be kind."
    assert first.tool_calls == [ToolCall(name="look", args={"n": 1}, result="seen", id="a")]
    assert first.earlier_calls == []
    assert (second.external_id, second.draft, second.tool_calls) == ("c/2", "Bye.", [])
    assert second.earlier_calls == first.tool_calls
    assert (first.earlier_user_messages, second.earlier_user_messages) == ([], ["one"])


def test_text_beside_the_last_call_is_the_draft_when_nothing_follows() -> None:
    (record,) = cut(user("x"), said("Looking now.", ("a", "look")), result("a", ""))
    assert record.draft == "Looking now."
    assert results(record) == [("look", "")]


def test_turns_without_a_draft_are_kept_with_their_number() -> None:
    drafts = [
        (record.external_id, record.draft) for record in cut(user("a"), user("b"), said("ok"), user("c"))
    ]
    assert drafts == [("c/1", ""), ("c/2", "ok"), ("c/3", "")]


def test_a_greeting_is_a_turn_without_a_user_message() -> None:
    greeting, answer = cut(said("Hi!"), user("x"), said("y"))
    assert (greeting.user_message, greeting.draft) == ("", "Hi!")
    assert (answer.user_message, answer.draft) == ("x", "y")


def test_a_reused_id_means_the_nearest_open_call() -> None:
    first, second = cut(
        user("x"),
        said(None, ("a", "one")),
        result("a", "1"),
        said(None, ("a", "two")),
        result("a", "2"),
        user("y"),
        said(None, ("a", "three")),
        result("a", "3"),
    )
    assert results(first) == [("one", "1"), ("two", "2")]
    assert results(second) == [("three", "3")]


def test_a_reused_id_with_an_unanswered_call_before() -> None:
    (record,) = cut(user("x"), said(None, ("a", "one")), said(None, ("a", "two")), result("a", "2"))
    assert results(record) == [("one", None), ("two", "2")]


def test_parallel_calls_are_answered_by_id_in_any_order() -> None:
    (record,) = cut(user("x"), said(None, ("a", "one"), ("b", "two")), result("b", "2"), result("a", "1"))
    assert results(record) == [("one", "1"), ("two", "2")]


def test_without_ids_results_come_in_the_order_of_the_calls() -> None:
    (record,) = cut(user("x"), said(None, (None, "one"), (None, "two")), result(None, "1"), result(None, "2"))
    assert results(record) == [("one", "1"), ("two", "2")]


def test_without_a_known_id_the_name_decides() -> None:
    (record,) = cut(
        user("x"),
        said(None, ("a", "one"), ("b", "two")),
        result("zz", "2", name="two"),
        result("zz", "1", name="one"),
    )
    assert results(record) == [("one", "1"), ("two", "2")]


def test_a_result_without_a_call_still_grounds() -> None:
    (record,) = cut(user("x"), result("a", "found", name="look"), result("b", "more"))
    assert results(record) == [("look", "found"), ("unknown", "more")]


def test_errors_of_tools_are_told_apart() -> None:
    (record,) = cut(
        user("x"),
        said(None, ("a", "one"), ("b", "two")),
        result("a", "fine", error=False),
        result("b", "boom", error=True),
    )
    assert [(call.ok, call.error) for call in record.tool_calls] == [(True, None), (False, "boom")]


def test_the_legacy_function_call() -> None:
    (record,) = cut(
        user("x"),
        {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": '{"q": 1}'}},
        {"role": "function", "name": "look", "content": "seen"},
        {"role": "assistant", "content": "y", "function_call": {"name": "", "arguments": ""}},
    )
    assert record.tool_calls == [ToolCall(name="look", args={"q": 1}, result="seen")]


@pytest.mark.parametrize(
    "content", [{"name": "look", "arguments": {"q": 1}}, '{"name": "look", "arguments": {"q": 1}}']
)
def test_calls_as_messages_of_their_own(content: Any) -> None:
    (record,) = cut(user("x"), {"role": "function call", "content": content})
    assert record.tool_calls == [ToolCall(name="look", args={"q": 1})]


def test_flat_calls_and_unreadable_arguments() -> None:
    message = {
        "role": "assistant",
        "tool_calls": [{"id": 7, "name": "a", "arguments": "{oops"}, {"name": None}],
    }
    (record,) = cut(user("x"), message)
    assert record.tool_calls == [ToolCall(name="a", args="{oops", id="7"), ToolCall(name="unknown")]


def test_media_returned_by_a_tool_belongs_to_the_turn() -> None:
    media = [
        {"type": "text", "text": "This is file 99631f:"},
        {"type": "file", "file": {"file_data": "AAAA"}},
    ]
    (direct,) = cut(
        user("x"), said(None, ("a", "get")), result("a", "See file."), user(media), said("A cat.")
    )
    (bridged,) = cut(
        user("x"), said(None, ("a", "get")), result("a", "."), said("OK"), user(media[1:]), said("A cat.")
    )
    for record in (direct, bridged):
        assert (record.user_message, record.draft) == ("x", "A cat.")


def test_media_sent_by_the_user_opens_a_turn() -> None:
    image = [{"type": "image_url", "image_url": {"url": "data:..."}}]
    records = cut(
        user("x"),
        said(None, ("a", "get")),
        result("a", "."),
        said("Done, next?"),
        user(image),
        said("A cat."),
    )
    assert [record.user_message for record in records] == ["x", "[image]"]


def test_what_the_user_runs_is_not_the_agents() -> None:
    calls = [{"id": "u", "name": "reset_router", "arguments": {}, "requestor": "user"}]
    first, second = cut(
        {"role": "user", "content": None, "tool_calls": calls},
        {"role": "tool", "id": "u", "content": "done", "requestor": "user"},
        user("I did it"),
        said("Good."),
    )
    assert first.tool_calls == []
    assert second.tool_calls == []


def test_a_refusal_or_a_transcript_is_what_the_user_got() -> None:
    (refused,) = cut(user("x"), {"role": "assistant", "content": None, "refusal": "I cannot."})
    (spoken,) = cut(user("x"), {"role": "assistant", "content": None, "audio": {"transcript": "Hello."}})
    assert (refused.draft, spoken.draft) == ("I cannot.", "Hello.")


def test_times_come_from_the_draft_then_the_user() -> None:
    messages = [user("x") | {"timestamp": "2026-04-06T21:45:24.996115"}, said("y")]
    (record,) = cut(*messages)
    assert record.occurred_at == datetime(2026, 4, 6, 21, 45, 24, 996115, tzinfo=UTC)
    messages[1]["timestamp"] = "2026-04-06T23:45:30+02:00"
    (record,) = cut(*messages)
    assert record.occurred_at == datetime(2026, 4, 6, 21, 45, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    "value", [None, "", "soon", True, 1e30, [], float("nan"), "0001-01-01T00:00:00+14:00"]
)
def test_no_time_is_better_than_a_wrong_one(value: Any) -> None:
    assert read_time(value) is None


def test_unix_seconds_are_times_too() -> None:
    assert read_time(1750000000) == datetime(2025, 6, 15, 15, 6, 40, tzinfo=UTC)


def test_earlier_calls_stay_within_their_limit() -> None:
    messages: list[Any] = []
    for number in range(1200):
        messages += [user("x"), said("y", (str(number), "look")), result(str(number), "seen")]
    records = cut(*messages)
    assert [call.id for call in records[-1].earlier_calls] == [str(n) for n in range(999, 1199)]


def test_earlier_results_do_not_pile_up_without_end() -> None:
    messages: list[Any] = []
    for number in range(20):
        messages += [user("x"), said("y", (str(number), "look")), result(str(number), "s" * 200_000)]
    assert all(len(encode_turn(record)) < 2_000_000 for record in cut(*messages))


@pytest.mark.parametrize(
    ("message", "spot", "words"),
    [
        ("hello", "/messages/1", "a message object"),
        ({"role": "narrator"}, "/messages/1/role", "expected one of system"),
        ({"content": "x"}, "/messages/1/role", "found null"),
        ({"role": "assistant", "tool_calls": "x"}, "/messages/1/tool_calls", "expected a list"),
        ({"role": "assistant", "tool_calls": [3]}, "/messages/1/tool_calls/0", "a call with name"),
        (
            {"role": "assistant", "tool_calls": [{"function": 3}]},
            "/messages/1/tool_calls/0/function",
            "an object",
        ),
        ({"role": "function call", "content": "x"}, "/messages/1/content", "a call with name"),
    ],
)
def test_a_message_that_cannot_be_understood_is_pointed_at(message: Any, spot: str, words: str) -> None:
    error = refusal(cut, user("x"), message)
    assert error.pointer == spot
    assert words in error.message


def test_tools_by_name_or_definition() -> None:
    assert read_tools(
        [
            "look",
            {"type": "function", "function": {"name": "a", "description": "finds"}},
            {"name": "b"},
            {"type": "web_search"},
            {},
            5,
        ]
    ) == [
        ToolInfo(name="look"),
        ToolInfo(name="a", description="finds"),
        ToolInfo(name="b"),
        ToolInfo(name="web_search"),
    ]
    assert read_tools(None) == []


def test_records_are_good_native_turns() -> None:
    for record in cut(user("x"), said("y", ("a", "look")), result("a", {"k": [1, None]})):
        assert decode_turn(encode_turn(record)) == record
