from __future__ import annotations

from typing import Any

from reviews.formats import TurnRecord, decode_turn, encode_turn
from reviews.formats.checks import check_turn
from reviews.formats.limits import TURN_BYTES
from tests.formats.samples import cut


def turn(number: int, *, said: str = "", result: str = "seen", draft: str = "y") -> list[dict[str, Any]]:
    call = {"id": str(number), "name": "look", "arguments": {}}
    return [
        {"role": "user", "content": said or f"ask {number}"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": str(number), "content": result},
        {"role": "assistant", "content": draft},
    ]


def read(*turns: list[dict[str, Any]]) -> list[TurnRecord]:
    return cut("openai-chat", [message for messages in turns for message in messages])


def left_out(record: TurnRecord) -> Any:
    return record.attributes.get("history_left_out")


def test_history_is_oldest_first_and_holds_no_turn_twice() -> None:
    first, second, third = read(turn(1), turn(2), turn(3))
    assert (first.earlier_calls, first.earlier_user_messages) == ([], [])
    assert second.earlier_user_messages == ["ask 1"]
    assert [call.id for call in third.earlier_calls] == ["1", "2"]
    assert third.earlier_user_messages == ["ask 1", "ask 2"]
    assert left_out(third) is None


def test_a_turn_without_an_answer_and_a_greeting_are_history_too() -> None:
    greeting = [{"role": "assistant", "content": "Hello!"}]
    unanswered = [{"role": "user", "content": "Anyone?"}]
    *_rest, last = read(greeting, unanswered, turn(3))
    assert last.earlier_user_messages == ["Anyone?"]


def test_the_oldest_make_way_and_are_counted() -> None:
    *_rest, last = read(*(turn(number) for number in range(251)))
    assert [call.id for call in last.earlier_calls] == [str(number) for number in range(50, 250)]
    assert last.earlier_user_messages == [f"ask {number}" for number in range(50, 250)]
    assert left_out(last) == {"calls": 50, "user_messages": 50}


def test_one_result_over_the_size_leaves_the_history_and_is_counted() -> None:
    *_rest, last = read(turn(1), turn(2, result="s" * 1_100_000), turn(3), turn(4))
    assert [call.id for call in last.earlier_calls] == ["3"]
    assert last.earlier_user_messages == ["ask 1", "ask 2", "ask 3"]
    assert left_out(last) == {"calls": 2, "user_messages": 0}


def test_long_messages_leave_the_newest() -> None:
    *_rest, last = read(*(turn(number, said=str(number) * 200_000) for number in range(4)), turn(4))
    assert [message[0] for message in last.earlier_user_messages] == ["2", "3"]
    assert left_out(last) == {"calls": 0, "user_messages": 2}


def test_history_gives_way_to_the_turn_itself() -> None:
    """A turn that fits without its history is not refused for it; messages stay before calls do."""
    big = TURN_BYTES - 400_000
    before = [turn(1, result="r" * 300_000), turn(2, said="m" * 200_000, result="r" * 300_000)]
    *_rest, last = read(*before, turn(3, draft="d" * big))
    check_turn(last)
    assert len(encode_turn(last)) <= TURN_BYTES
    assert decode_turn(encode_turn(last)) == last
    assert last.earlier_user_messages == ["ask 1", "m" * 200_000]
    assert last.earlier_calls == []
    assert left_out(last) == {"calls": 2, "user_messages": 0}


def test_what_escapes_take_is_counted() -> None:
    """A control character takes six bytes of JSON."""
    *_rest, last = read(turn(1, result="\x01" * 150_000), turn(2, draft="\x01" * 600_000))
    assert len(encode_turn(last)) <= TURN_BYTES
    assert left_out(last) == {"calls": 1, "user_messages": 0}
