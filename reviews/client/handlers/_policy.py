"""The published policy as keyword arguments of symfonic's ``FrameworkConfig``."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Collection
from typing import Any

from reviews.client.errors import ReviewClientError
from reviews.core.framework_config import FRAMEWORK_FIELDS

__all__ = ["overrides", "overrides_async"]

logger = logging.getLogger("reviews.client.handlers")


def overrides(client: Any) -> dict[str, Any]:
    """See ``SymfonicReviewHandler.policy_overrides``. The client keeps the last policy while the server is
    away. Raises TypeError with ``AsyncReviewClient``.
    """
    if inspect.iscoroutinefunction(client.policy):
        raise TypeError("policy_overrides() needs a ReviewClient; await policy_overrides_async() instead")
    try:
        return _known_fields(client.policy())
    except ReviewClientError as error:
        return _nothing(error)


async def overrides_async(client: Any) -> dict[str, Any]:
    """The same with either client; the synchronous one is asked in a thread."""
    try:
        if inspect.iscoroutinefunction(client.policy):
            return _known_fields(await client.policy())
        return _known_fields(await asyncio.to_thread(client.policy))
    except ReviewClientError as error:
        return _nothing(error)


def _known_fields(policy: Any) -> dict[str, Any]:
    known = _framework_fields()
    return {name: value for name, value in policy.framework_config.items() if name in known}


def _nothing(error: ReviewClientError) -> dict[str, Any]:
    logger.warning("no policy is known (%s): the agent runs with its own settings", error)
    return {}


def _framework_fields() -> Collection[str]:
    """The fields of the installed ``FrameworkConfig``; without symfonic, those of the version we know."""
    try:
        from symfonic.agent.config import FrameworkConfig
    except ImportError:
        return FRAMEWORK_FIELDS
    fields: Collection[str] = FrameworkConfig.model_fields.keys()
    return fields
