"""A chat model of symfonic or LangChain as a ``ModelProvider``, by its shape: neither is imported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from reviews.core.model_provider import (
    ModelError,
    ModelProvider,
    ModelRateLimited,
    ModelReply,
    ModelTimeout,
    ModelUnavailable,
)

__all__ = ["from_chat_model"]

_TOO_MANY_REQUESTS: Final = 429
_SERVER_ERRORS: Final = range(500, 600)


def from_chat_model(source: Any, *, model_config: Any = None) -> ModelProvider:
    """``source`` has ``get_chat_model(config)`` as symfonic's providers do, or is a chat model itself.

    A chat model has ``ainvoke(messages)``. ``bind(max_tokens=...)`` is used where there is one.
    """
    return _ChatModel(source, model_config)


class _ChatModel:
    def __init__(self, source: Any, model_config: Any) -> None:
        self._source = source
        self._config = model_config

    async def complete(self, *, system: str, prompt: str, max_tokens: int) -> ModelReply:
        messages = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
        try:
            # Made for each call: a provider may hand out short-lived keys.
            chat = self._source
            if hasattr(chat, "get_chat_model"):
                chat = chat.get_chat_model(self._config)
            name = _first_text(chat, "model_name", "model")
            if hasattr(chat, "bind"):
                chat = chat.bind(max_tokens=max_tokens)
            message = await chat.ainvoke(messages)
        except Exception as error:
            known = _named(error)
            if known is None:
                raise
            raise known from error
        return _reply(message, name)


def _reply(message: Any, model: str) -> ModelReply:
    about = getattr(message, "response_metadata", None)
    about = about if isinstance(about, Mapping) else {}
    usage = getattr(message, "usage_metadata", None) or about.get("token_usage") or about.get("usage")
    return ModelReply(
        text=_text(getattr(message, "content", message)),
        model=_first_text(about, "model_name", "model") or model,
        tokens_in=_count(usage, "input_tokens", "prompt_tokens"),
        tokens_out=_count(usage, "output_tokens", "completion_tokens"),
        finish_reason=_first_text(about, "finish_reason", "stop_reason"),
    )


def _text(content: Any) -> str:
    """The text of a message; parts of other types, such as reasoning, are not part of the answer."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list | tuple):
        return ""
    parts = []
    for part in content:
        if isinstance(part, str):
            parts.append(part)
        elif isinstance(part, Mapping) and part.get("type", "text") == "text":
            text = part.get("text")
            parts.append(text if isinstance(text, str) else "")
    return "".join(parts)


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _first_text(value: Any, *names: str) -> str:
    for name in names:
        text = _field(value, name)
        if isinstance(text, str) and text:
            return text
    return ""


def _count(usage: Any, *names: str) -> int | None:
    for name in names:
        number = _field(usage, name)
        if isinstance(number, int) and not isinstance(number, bool) and number >= 0:
            return number
    return None


def _named(error: Exception) -> ModelError | None:
    """The error under our name; None for one that is no failure of the model, such as a wrong key.

    The libraries' classes are known by what they have in common: a name with "Timeout" or "Connect" in it, or
    the HTTP status in ``status_code``.
    """
    if isinstance(error, ModelError):
        return error
    name = type(error).__name__
    if isinstance(error, TimeoutError) or "Timeout" in name:
        return ModelTimeout(name)
    status = getattr(error, "status_code", None)
    if status == _TOO_MANY_REQUESTS or name == "RateLimitError":
        return ModelRateLimited(name, retry_after=_retry_after(error))
    if isinstance(error, ConnectionError) or "Connect" in name or status in _SERVER_ERRORS:
        return ModelUnavailable(name)
    return None


def _retry_after(error: Exception) -> float | None:
    """Seconds, from the response's ``Retry-After`` header; its form with a date is not read."""
    headers = getattr(getattr(error, "response", None), "headers", None)
    value = _field(headers, "retry-after") if isinstance(headers, Mapping) else None
    if not isinstance(value, str) or not value.strip().isdecimal():
        return None
    return float(value)
