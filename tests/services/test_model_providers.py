"""The model behind OpenAI's chat API, against a server over real HTTP that misbehaves in every known way."""

from __future__ import annotations

import asyncio
import gzip
from types import SimpleNamespace
from typing import Any

import pytest

from reviews.core.extraction import ModelUse
from reviews.core.model_provider import (
    ModelRateLimited,
    ModelRefused,
    ModelRejected,
    ModelReply,
    ModelTimeout,
    ModelTooLarge,
    ModelUnavailable,
)
from reviews.services.model_providers import RESPONSE_BYTES, cost_of, longest_seconds, provider_of

from .model_server import ModelServer, completion, endless, fails, hangs_up, never, raw, says, serving


def settings_for(url: str, **changes: Any) -> Any:
    values = {
        "MODEL_BASE_URL": url,
        "MODEL_NAME": "asked-model",
        "MODEL_API_KEY": "sk-secret",
        "MODEL_TIMEOUT_SECONDS": 30.0,
        "MODEL_RETRIES": 0,
        "MODEL_PRICES": None,
    }
    return SimpleNamespace(**values | changes)


def ask(server: ModelServer, **changes: Any) -> ModelReply:
    provider = provider_of(settings_for(server.url, **changes))
    assert provider is not None
    return asyncio.run(provider.complete(system="Be brief.", prompt="What now?", max_tokens=50))


def test_without_an_address_or_a_name_there_is_no_model():
    assert provider_of(settings_for("")) is None
    assert provider_of(settings_for("http://127.0.0.1:1/v1", MODEL_NAME="")) is None


def test_it_asks_as_openai_is_asked_and_reads_the_answer():
    with serving(says("Rest.")) as server:
        reply = ask(server)
    assert reply == ModelReply("Rest.", "served-model", 1200, 300, "stop")
    (request,) = server.requests
    assert (request["path"], request["model"], request["max_tokens"]) == (
        "/v1/chat/completions",
        "asked-model",
        50,
    )
    assert request["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What now?"},
    ]
    assert request["headers"]["authorization"] == "Bearer sk-secret"


def test_an_answer_that_was_cut_short_says_so():
    with serving(says('{"drafts": [', finish="length")) as server:
        assert ask(server).cut_short


@pytest.mark.parametrize(
    "answer", [says(None, refusal="I cannot help with that."), says("", finish="content_filter")]
)
def test_a_refusal_says_so(answer):
    with serving(answer) as server:
        reply = ask(server)
    assert (reply.refused, reply.text) == (True, "")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"text"',
        b"{}",
        b'{"choices": []}',
        b'{"choices": null}',
        b'{"choices": [{"message": null}]}',
        b'{"choices": [{"message": {"content": [1, 2]}, "finish_reason": 7}]}',
        b'{"choices": [{"message": {"content": "' + b"\xff\xfe" + b'"}}]}',
        completion("Rest.")[:-40],
    ],
)
@pytest.mark.parametrize("content_type", ["application/json", "text/html", "application/octet-stream"])
def test_a_body_that_is_no_completion_is_an_empty_answer(body, content_type):
    with serving(raw(body, content_type)) as server:
        assert ask(server).text == ""


def test_an_answer_without_counts_has_none():
    body = b'{"choices": [{"message": {"content": "Rest."}, "finish_reason": "stop"}]}'
    with serving(raw(body)) as server:
        reply = ask(server)
    assert reply == ModelReply("Rest.", "asked-model", None, None, "stop")


def test_a_model_that_says_nothing_times_out():
    with serving(never) as server, pytest.raises(ModelTimeout):
        ask(server, MODEL_TIMEOUT_SECONDS=0.2)


@pytest.mark.parametrize("answer", [endless, says("x" * 10_000_000)], ids=["endless", "10 MB"])
def test_a_huge_answer_is_not_read_to_its_end(answer):
    assert RESPONSE_BYTES < 10_000_000
    with serving(answer) as server, pytest.raises(ModelTooLarge):
        ask(server)
    assert len(server.requests) == 1


def test_a_compressed_answer_which_nobody_asked_for_is_not_unpacked():
    bomb = gzip.compress(completion("x" * 10_000_000))
    assert len(bomb) < RESPONSE_BYTES
    with serving(raw(bomb, Content_Encoding="gzip")) as server, pytest.raises(ModelRejected):
        ask(server)


@pytest.mark.parametrize(("header", "seconds"), [("7", 7.0), ("0.5", 0.5), ("soon", None), ("nan", None)])
def test_too_many_requests_say_when_to_come_again(header, seconds):
    with serving(fails(429, Retry_After=header)) as server, pytest.raises(ModelRateLimited) as caught:
        ask(server)
    assert caught.value.retry_after == seconds


def test_it_asks_again_after_the_pause_that_it_was_told():
    with serving(fails(429, Retry_After="0.01"), fails(503), says("Rest.")) as server:
        assert ask(server, MODEL_RETRIES=2).text == "Rest."
    assert len(server.requests) == 3


@pytest.mark.parametrize("answer", [fails(500), fails(503), hangs_up], ids=["500", "503", "hangs up"])
def test_a_server_that_fails_is_unavailable(answer):
    with serving(answer) as server, pytest.raises(ModelUnavailable):
        ask(server)


def test_a_server_that_is_not_there_is_unavailable():
    with serving(says("")) as server:
        pass
    with pytest.raises(ModelUnavailable):
        ask(server)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_a_request_that_is_rejected_says_with_which_status(status):
    with serving(fails(status, "sk-secret is wrong")) as server, pytest.raises(ModelRejected) as caught:
        ask(server)
    assert str(caught.value) == f"HTTP status {status}"


def test_a_prompt_that_a_filter_turns_down_is_refused():
    with serving(fails(400, code="content_filter")) as server, pytest.raises(ModelRefused):
        ask(server)


def test_it_goes_nowhere_else():
    with serving(says("Elsewhere.")) as other:
        elsewhere = fails(307, Location=f"{other.url}/chat/completions")
        with serving(elsewhere) as server, pytest.raises(ModelRejected) as caught:
            ask(server)
    assert (caught.value.status, other.requests) == (307, [])


def test_a_run_costs_what_the_prices_say():
    priced = settings_for("", MODEL_PRICES=(0.15, 0.6))
    # 2 million tokens in at 0.15 and half a million out at 0.60 a million.
    assert cost_of(ModelUse("m", 2_000_000, 500_000), priced) == pytest.approx(0.6)
    assert cost_of(ModelUse("m", None, 5), priced) is None
    assert cost_of(None, priced) is None
    assert cost_of(ModelUse("m", 1, 1), settings_for("")) is None


def test_all_tries_and_the_pauses_between_them_have_an_end():
    assert longest_seconds(settings_for("", MODEL_TIMEOUT_SECONDS=10.0)) == 10
    assert longest_seconds(settings_for("", MODEL_TIMEOUT_SECONDS=10.0, MODEL_RETRIES=2)) == 30 + 240
