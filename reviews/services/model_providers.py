"""The language model that the operator has set up: any server that speaks OpenAI's chat API.

Nothing is sent unless ``MODEL_BASE_URL`` and ``MODEL_NAME`` are set. The address is the operator's own
choice, so it may be private (Ollama, vLLM); the server behind it is not trusted with more than a reply: what
it sends is bounded, and it cannot lead us elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, Protocol

import openai
from httpx2 import AsyncByteStream, Headers, Response
from openai.types.chat import ChatCompletion

from reviews.core.extraction import ModelUse
from reviews.core.model_provider import (
    ModelError,
    ModelProvider,
    ModelRateLimited,
    ModelRefused,
    ModelRejected,
    ModelReply,
    ModelTimeout,
    ModelTooLarge,
    ModelUnavailable,
)

#: A reply of 4,096 tokens is some 20 kB; the rest is for models that think aloud, and for JSON's escapes.
RESPONSE_BYTES: Final = 4 * 1024 * 1024
#: What MODEL_PRICES are for.
TOKENS_PER_PRICE: Final = 1_000_000
#: The longest pause that the client makes between two tries: it waits as long as Retry-After asks, up to two
#: minutes (``openai._constants.MAX_RETRY_AFTER_DELAY``), and gives up when it asks for more.
_LONGEST_PAUSE_SECONDS: Final = 120.0
# OpenAI's and Azure's word for a prompt that their filter turns down.
_FILTERED: Final = "content_filter"


class ModelSettings(Protocol):
    """The part of Django's settings that is read here."""

    MODEL_BASE_URL: str
    MODEL_NAME: str
    MODEL_API_KEY: str
    MODEL_TIMEOUT_SECONDS: float
    MODEL_RETRIES: int
    MODEL_PRICES: tuple[float, float] | None
    MODEL_CHOICES: Mapping[str, tuple[float, float] | None]


def is_set_up(settings: ModelSettings) -> bool:
    """Whether the operator has set up a model."""
    return bool(settings.MODEL_BASE_URL and settings.MODEL_NAME)


def provider_of(
    settings: ModelSettings, *, model: str = "", retries: int | None = None
) -> OpenAIProvider | None:
    """The model of ``settings``, or another one by name behind the same address; None when none is set up.

    ``retries`` in place of MODEL_RETRIES: 0 for a caller who tries again later by itself.
    """
    if not is_set_up(settings):
        return None
    return OpenAIProvider(
        base_url=settings.MODEL_BASE_URL,
        model=model or settings.MODEL_NAME,
        # The client insists on a key; servers without any, such as Ollama, ignore it.
        api_key=settings.MODEL_API_KEY or "none",
        timeout_seconds=settings.MODEL_TIMEOUT_SECONDS,
        retries=settings.MODEL_RETRIES if retries is None else retries,
    )


def longest_seconds(settings: ModelSettings) -> float:
    """After so long a question has been answered or given up: all tries, and the pauses between them."""
    tries = settings.MODEL_RETRIES + 1
    return tries * settings.MODEL_TIMEOUT_SECONDS + settings.MODEL_RETRIES * _LONGEST_PAUSE_SECONDS


def model_names(settings: ModelSettings) -> list[str]:
    """The models that may be asked by name: the one that is set up first, then the choices beside it."""
    if not is_set_up(settings):
        return []
    return [settings.MODEL_NAME, *(name for name in settings.MODEL_CHOICES if name != settings.MODEL_NAME)]


def cost_of(use: ModelUse | None, settings: ModelSettings, *, asked: str = "") -> float | None:
    """What a run cost, in the currency of the prices; None without prices or without counted tokens.

    ``asked`` names the model when it was not the one that is set up: what a server calls itself may differ.
    """
    prices = settings.MODEL_PRICES
    if asked and asked != settings.MODEL_NAME:
        prices = settings.MODEL_CHOICES.get(asked)
    if use is None or prices is None or use.tokens_in is None or use.tokens_out is None:
        return None
    return (use.tokens_in * prices[0] + use.tokens_out * prices[1]) / TOKENS_PER_PRICE


@dataclass(frozen=True)
class OpenAIProvider:
    """One model behind one address. A client is made for each question and closed; but see ``opened``."""

    base_url: str
    model: str
    api_key: str
    timeout_seconds: float
    retries: int

    async def complete(self, *, system: str, prompt: str, max_tokens: int) -> ModelReply:
        """See ``ModelProvider``. A reply that is no chat completion counts as an empty text."""
        async with self.opened() as provider:
            return await provider.complete(system=system, prompt=prompt, max_tokens=max_tokens)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[ModelProvider]:
        """The same with one client, and its connections, for many questions at once in one event loop."""
        http = openai.DefaultAsyncHttpxClient(
            follow_redirects=False,
            # Compressed, 10 MB fit into 10 kB: bytes are counted as they come.
            headers={"Accept-Encoding": "identity"},
            event_hooks={"response": [_bound]},
        )
        client = openai.AsyncOpenAI(
            base_url=self.base_url,
            api_key=self.api_key,
            timeout=self.timeout_seconds,
            max_retries=self.retries,
            http_client=http,
        )
        async with client:
            yield _Opened(self.model, client)


@dataclass(frozen=True)
class _Opened:
    """A model with its client open."""

    model: str
    client: openai.AsyncOpenAI

    async def complete(self, *, system: str, prompt: str, max_tokens: int) -> ModelReply:
        try:
            completion = await self.client.chat.completions.create(
                model=self.model,
                messages=[{"role": "system", "content": system}, {"role": "user", "content": prompt}],
                max_tokens=max_tokens,
            )
        except ValueError:
            # The body says that it is JSON and is none.
            return ModelReply("", self.model)
        except Exception as error:
            known = _named(error)
            if known is None:
                raise
            raise known from error
        return _reply(completion, self.model)


class _Bounded(AsyncByteStream):
    """A response's body that ends with ``ModelTooLarge`` after ``RESPONSE_BYTES``."""

    def __init__(self, stream: AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = RESPONSE_BYTES
        async for chunk in self._stream:
            left -= len(chunk)
            if left < 0:
                raise ModelTooLarge
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _bound(response: Response) -> None:
    """Called with every response, before its body is read."""
    if response.headers.get("content-encoding", "identity") != "identity":
        # Nobody asked for it, and its size cannot be told before it is unpacked.
        raise ModelRejected(response.status_code)
    assert isinstance(response.stream, AsyncByteStream)
    response.stream = _Bounded(response.stream)


def _named(error: Exception) -> ModelError | None:
    """A failure of the client in our words; None for what is no failure of the model."""
    # The client takes whatever breaks off a connection for a failed one, our own refusal too.
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ModelError):
            return cause
        cause = cause.__cause__
    match error:
        case openai.APITimeoutError():
            return ModelTimeout()
        case openai.APIConnectionError():
            return ModelUnavailable()
        case openai.APIStatusError():
            return _of_status(error)
    return None


def _of_status(error: openai.APIStatusError) -> ModelError:
    if error.status_code == HTTPStatus.TOO_MANY_REQUESTS:
        return ModelRateLimited(retry_after=_retry_after(error.response.headers))
    if error.code == _FILTERED:
        return ModelRefused()
    if error.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ModelUnavailable()
    return ModelRejected(error.status_code)


def _retry_after(headers: Headers) -> float | None:
    """Seconds, from ``Retry-After``; its form with a date, which model servers do not use, is not read."""
    try:
        seconds = float(headers.get("retry-after", ""))
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _reply(completion: Any, model: str) -> ModelReply:
    """The client checks no types, so whatever the server sent may stand here."""
    try:
        return _read(completion, model)
    except (AttributeError, TypeError, IndexError, ValueError):
        return ModelReply("", model)


def _read(completion: ChatCompletion, model: str) -> ModelReply:
    choice = completion.choices[0]
    usage = completion.usage
    refused = bool(choice.message.refusal)
    text = "" if refused else choice.message.content
    return ModelReply(
        text=text if isinstance(text, str) else "",
        model=completion.model if isinstance(completion.model, str) else model,
        tokens_in=_count(usage.prompt_tokens) if usage else None,
        tokens_out=_count(usage.completion_tokens) if usage else None,
        finish_reason="refusal" if refused else str(choice.finish_reason or ""),
    )


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
