"""``ReviewClient`` and ``AsyncReviewClient``: what an agent's process talks to."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Self, TypeVar
from weakref import finalize

from reviews.client.checking import CheckResult, OnFailure
from reviews.client.counters import Counters
from reviews.client.engine import GRACE_SECONDS, Engine, bounded
from reviews.client.errors import ReviewClientError
from reviews.client.options import Options
from reviews.client.policy import PolicyInForce
from reviews.client.transport import check_key, check_url

__all__ = ["AsyncReviewClient", "ReviewClient"]

T = TypeVar("T")

_FORGOTTEN_SECONDS = 5.0
_LATE = "the client's thread did not answer in time"


class _Client:
    """What both clients share: all but the waiting."""

    def __init__(self, url: str, key: str, **options: Any) -> None:
        """``options`` are the fields of ``reviews.client.options.Options``.

        Raises ValueError for a url, a key or an option that cannot be used; the key is not quoted.
        """
        self._engine = Engine(check_url(url), check_key(key), Options(**options))
        # A client that nobody holds any more sends what it has, and its thread ends.
        finalize(self, self._engine.close, _FORGOTTEN_SECONDS).atexit = False

    def record(self, turn: Mapping[str, Any]) -> bool:
        """Take in a turn in the native format (docs/native-format.md), to be sent soon.

        Never raises and never waits for the network or a disk. The turn is written down at once, so it may
        be changed afterwards. Without an ``external_id`` it gets one. False when it was dropped: no room was
        left, or the client is closed; ``counters.dropped`` counts those.
        """
        return self._engine.record(turn)

    @property
    def engine(self) -> Engine:
        """What runs behind the client, for the handlers."""
        return self._engine

    @property
    def counters(self) -> Counters:
        """What became of the turns so far."""
        return self._engine.counters

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._engine.url!r})"


class ReviewClient(_Client):
    """Records turns, checks drafts, and reads policy and skills. Any number of threads may use one.

    with ReviewClient("https://reviews.example.org", key, spill="/var/lib/my-agent/turns") as client:
        client.record({"draft": answer, "user_message": question, "tool_calls": calls})
    """

    def check(
        self,
        draft: str,
        *,
        user_message: str = "",
        tool_calls: Sequence[Mapping[str, Any]] = (),
        hydrated_context: str = "",
        external_id: str | None = None,
        deadline: float = 2.0,
        on_failure: OnFailure = "allow",
        **fields: Any,
    ) -> CheckResult:
        """Ask whether a draft may go out. The server judges and stores the turn.

        Returns within ``deadline`` seconds, whatever the server does; without an answer by then,
        ``on_failure`` decides. ``fields`` are further ones of the native format. Raises ValueError for an
        ``on_failure`` that is neither "allow" nor "refuse", and nothing else.
        """
        turn = _turn(
            draft=draft,
            user_message=user_message,
            tool_calls=tool_calls,
            hydrated_context=hydrated_context,
            external_id=external_id,
            fields=fields,
        )
        deadline = bounded(deadline)
        question = self._engine.check(turn, deadline=deadline, on_failure=on_failure)
        try:
            return question.answer.result(deadline + GRACE_SECONDS)
        except (TimeoutError, ReviewClientError) as error:
            return question.without_answer(str(error) or _LATE)

    def policy(self) -> PolicyInForce:
        """The policy in force, at most ``policy_max_age`` seconds old; a stale one while the server is away.

        Raises ReviewClientError when there has never been one.
        """
        try:
            return self._engine.policy().result(self._engine.options.timeout + GRACE_SECONDS)
        except (TimeoutError, ReviewClientError) as error:
            return _last_policy(self._engine, error)

    def skills(self, since: str | datetime | None = None) -> list[dict[str, Any]]:
        """Approved skills as ``GET /skills`` lists them, all pages.

        With ``since``, what has changed since, also when it is approved no longer. Raises ReviewClientError.
        """
        return self._engine.skills(since).result()

    def flush(self, timeout: float = 5.0) -> bool:
        """Send what waits, the spill included, at once. Whether the server has answered all of it in time."""
        timeout = bounded(timeout)
        try:
            return self._engine.flush(timeout).result(timeout + GRACE_SECONDS)
        except (TimeoutError, ReviewClientError):
            return False

    def close(self, timeout: float = 5.0) -> bool:
        """Flush and end. What cannot be sent goes into the spill, at once when the server is away.

        Whether no turn was lost by it. Without a spill, what is not sent in time is lost.
        """
        timeout = bounded(timeout)
        try:
            self._engine.close(timeout).result(timeout + GRACE_SECONDS)
        except TimeoutError:
            return False
        return self._engine.lost_at_close == 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncReviewClient(_Client):
    """``ReviewClient`` for agents that run in asyncio: the same, to be awaited.

    ``record`` stays a plain call: it does not wait for anything.
    """

    async def check(
        self,
        draft: str,
        *,
        user_message: str = "",
        tool_calls: Sequence[Mapping[str, Any]] = (),
        hydrated_context: str = "",
        external_id: str | None = None,
        deadline: float = 2.0,
        on_failure: OnFailure = "allow",
        **fields: Any,
    ) -> CheckResult:
        """As ``ReviewClient.check``."""
        turn = _turn(
            draft=draft,
            user_message=user_message,
            tool_calls=tool_calls,
            hydrated_context=hydrated_context,
            external_id=external_id,
            fields=fields,
        )
        deadline = bounded(deadline)
        question = self._engine.check(turn, deadline=deadline, on_failure=on_failure)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(question.answer), deadline + GRACE_SECONDS)
        except (TimeoutError, ReviewClientError) as error:
            return question.without_answer(str(error) or _LATE)

    async def policy(self) -> PolicyInForce:
        """As ``ReviewClient.policy``."""
        limit = self._engine.options.timeout + GRACE_SECONDS
        try:
            return await asyncio.wait_for(asyncio.wrap_future(self._engine.policy()), limit)
        except (TimeoutError, ReviewClientError) as error:
            return _last_policy(self._engine, error)

    async def skills(self, since: str | datetime | None = None) -> list[dict[str, Any]]:
        """As ``ReviewClient.skills``."""
        return await asyncio.wrap_future(self._engine.skills(since))

    async def flush(self, timeout: float = 5.0) -> bool:
        """As ``ReviewClient.flush``."""
        timeout = bounded(timeout)
        try:
            flushed = asyncio.wrap_future(self._engine.flush(timeout))
            return await asyncio.wait_for(flushed, timeout + GRACE_SECONDS)
        except (TimeoutError, ReviewClientError):
            return False

    async def close(self, timeout: float = 5.0) -> bool:
        """As ``ReviewClient.close``."""
        timeout = bounded(timeout)
        ended = asyncio.wrap_future(self._engine.close(timeout))
        try:
            await asyncio.wait_for(asyncio.shield(ended), timeout + GRACE_SECONDS)
        except TimeoutError:
            return False
        return self._engine.lost_at_close == 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _turn(
    *,
    draft: str,
    user_message: str,
    tool_calls: Sequence[Mapping[str, Any]],
    hydrated_context: str,
    external_id: str | None,
    fields: Mapping[str, Any],
) -> dict[str, Any]:
    return {
        **fields,
        "external_id": external_id,
        "draft": draft,
        "user_message": user_message,
        "tool_calls": list(tool_calls),
        "hydrated_context": hydrated_context,
    }


def _last_policy(engine: Engine, error: BaseException) -> PolicyInForce:
    if (last := engine.last_policy()) is not None:
        return last
    if isinstance(error, ReviewClientError):
        raise error
    raise ReviewClientError(_LATE) from None
