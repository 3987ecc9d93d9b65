"""Approved skills, all pages of them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from reviews.client.errors import ReviewClientError
from reviews.client.transport import Transport

__all__ = ["all_skills"]

_PAGE: Final = "500"


async def all_skills(
    transport: Transport, *, since: str | datetime | None, seconds: float
) -> list[dict[str, Any]]:
    """Oldest change first, as ``GET /skills`` has them; ``seconds`` for each page.

    Raises ReviewClientError.
    """
    asked = {"limit": _PAGE}
    if since is not None:
        asked["since"] = _moment(since) if isinstance(since, datetime) else since
    skills: list[dict[str, Any]] = []
    seen: set[str] = set()
    while True:
        answer = await transport.request("GET", "skills", seconds=seconds, params=asked)
        said = answer.json()
        if answer.status != 200:
            message = said.get("message", "") if isinstance(said, dict) else ""
            raise ReviewClientError(
                f"the server answered with status {answer.status} and no skills. {message}"
            )
        page = said.get("skills") if isinstance(said, dict) else None
        if not isinstance(page, list) or not all(isinstance(skill, dict) for skill in page):
            raise ReviewClientError("the answer holds no skills")
        skills += page
        cursor = said.get("next_cursor")
        if cursor is None:
            return skills
        # A server that leads in a circle would never be done.
        if not isinstance(cursor, str) or cursor in seen:
            raise ReviewClientError("the answer leads to no next page")
        seen.add(cursor)
        asked["cursor"] = cursor


def _moment(since: datetime) -> str:
    return since.astimezone(UTC).isoformat()
