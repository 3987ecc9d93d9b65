"""Chat models by their shape: what symfonic and LangChain hand out, without importing either."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from reviews.core.chat_model import from_chat_model
from reviews.core.model_provider import (
    ModelRateLimited,
    ModelRefused,
    ModelReply,
    ModelTimeout,
    ModelUnavailable,
)


class Chat:
    """A chat model that answers with a fixed message, or raises."""

    model_name = "tiny-1"

    def __init__(self, answer):
        self.answer = answer
        self.asked = []
        self.bound = {}

    async def ainvoke(self, messages):
        self.asked.append(messages)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class BindingChat(Chat):
    def bind(self, **options):
        self.bound = options
        return self


class Provider:
    """Hands out chat models as symfonic's providers do."""

    def __init__(self, chat):
        self.chat = chat
        self.configs = []

    def get_chat_model(self, config):
        self.configs.append(config)
        return self.chat


def message(content, **fields):
    return SimpleNamespace(content=content, **fields)


def complete(source, **options):
    provider = from_chat_model(source, **options)
    return asyncio.run(provider.complete(system="be brief", prompt="hello", max_tokens=9))


def test_a_chat_model_is_asked_and_its_answer_read():
    chat = BindingChat(
        message(
            "hi",
            usage_metadata={"input_tokens": 12, "output_tokens": 3, "total_tokens": 15},
            response_metadata={"finish_reason": "stop", "model_name": "tiny-1-2026"},
        )
    )
    assert complete(chat) == ModelReply("hi", "tiny-1-2026", 12, 3, "stop")
    assert chat.bound == {"max_tokens": 9}
    assert chat.asked == [[{"role": "system", "content": "be brief"}, {"role": "user", "content": "hello"}]]


def test_a_provider_is_asked_for_its_model_each_time():
    provider = Provider(Chat(message("hi")))
    assert complete(provider, model_config="small") == ModelReply("hi", "tiny-1")
    assert provider.configs == ["small"]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        ([], ""),
        (["a", "b"], "ab"),
        ([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}, {"text": "b"}], "ab"),
        ([{"type": "text"}, {"type": "text", "text": None}, 7], ""),
        (None, ""),
        (5, ""),
    ],
)
def test_text_and_parts_are_read(content, text):
    assert complete(Chat(message(content))).text == text


@pytest.mark.parametrize(
    "fields",
    [
        {"usage_metadata": SimpleNamespace(input_tokens=4, output_tokens=2)},
        {"response_metadata": {"token_usage": {"prompt_tokens": 4, "completion_tokens": 2}}},
        {"response_metadata": {"usage": {"input_tokens": 4, "output_tokens": 2}}},
    ],
)
def test_tokens_are_found_where_the_libraries_put_them(fields):
    reply = complete(Chat(message("hi", **fields)))
    assert (reply.tokens_in, reply.tokens_out) == (4, 2)


@pytest.mark.parametrize(
    "usage", [None, {}, {"input_tokens": None}, {"input_tokens": True}, {"input_tokens": -1}, "x"]
)
def test_tokens_that_nobody_counted_are_none_not_zero(usage):
    reply = complete(Chat(message("hi", usage_metadata=usage)))
    assert (reply.tokens_in, reply.tokens_out) == (None, None)


@pytest.mark.parametrize("reason", ["length", "max_tokens", "MAX_TOKENS", "max_output_tokens"])
def test_a_cut_answer_is_known_by_its_reason(reason):
    reply = complete(Chat(message("hi", response_metadata={"finish_reason": reason})))
    assert (reply.cut_short, reply.refused) == (True, False)


@pytest.mark.parametrize("field", ["finish_reason", "stop_reason"])
@pytest.mark.parametrize("reason", ["content_filter", "refusal", "SAFETY"])
def test_a_refusal_is_known_by_its_reason(field, reason):
    reply = complete(Chat(message("", response_metadata={field: reason})))
    assert (reply.cut_short, reply.refused) == (False, True)


class APITimeoutError(Exception):
    pass


class APIConnectionError(Exception):
    pass


class APIStatusError(Exception):
    def __init__(self, status_code, headers=None):
        super().__init__("the body, which may repeat the prompt")
        self.status_code = status_code
        self.response = SimpleNamespace(headers=headers or {})


@pytest.mark.parametrize(
    ("error", "named"),
    [
        (TimeoutError(), ModelTimeout),
        (APITimeoutError(), ModelTimeout),
        (ConnectionRefusedError(), ModelUnavailable),
        (APIConnectionError(), ModelUnavailable),
        (APIStatusError(503), ModelUnavailable),
        (APIStatusError(429), ModelRateLimited),
        (ModelRefused(), ModelRefused),
    ],
)
def test_a_failure_of_the_model_gets_our_name(error, named):
    with pytest.raises(named) as caught:
        complete(Chat(error))
    assert "prompt" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "seconds"), [("20", 20.0), (" 7 ", 7.0), ("soon", None), ("-1", None), (None, None)]
)
def test_a_rate_limit_says_how_long_to_wait(value, seconds):
    with pytest.raises(ModelRateLimited) as caught:
        complete(Chat(APIStatusError(429, {"retry-after": value})))
    assert caught.value.retry_after == seconds


@pytest.mark.parametrize("error", [APIStatusError(401), ValueError("wrong")])
def test_any_other_failure_is_left_as_it_is(error):
    with pytest.raises(type(error)):
        complete(Chat(error))
