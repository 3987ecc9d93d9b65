"""Suites of memory assertions: read from the policy, written as a draft of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from reviews.core.assertion_suites import AssertionSuite
from reviews.models import PolicyVersion, Tenant, User
from reviews.services.errors import InvalidError
from reviews.services.judge import Policy
from reviews.services.policies import DEFAULTS, policy_of, policy_version, unpublished_versions
from reviews.services.publishing import save_draft

SETTING = "assertion_suites"


def editable_policy(*, tenant: Tenant, current: Policy) -> Policy:
    """What suites are edited from: the newest unpublished version, else the one in force."""
    newest = unpublished_versions(tenant=tenant, limit=1)
    return policy_of(newest[0]) if newest else current


def save_suites(
    *,
    tenant: Tenant,
    author: User | None,
    suites: Sequence[Mapping[str, Any]],
    based_on: int,
    note: str = "",
    at: datetime | None = None,
) -> PolicyVersion:
    """Write all suites down as a draft of the policy; the other settings are those of version ``based_on``.

    Raises:
        InvalidError: ``details['fields']`` names what is wrong by its path, such as ``0/assertions/1/type``.
        NotFoundError, ConflictError: as ``publishing.save_draft``.
    """
    base = policy_of(policy_version(tenant=tenant, number=based_on)) if based_on else DEFAULTS
    values = base.settings.to_json() | {SETTING: suites}
    try:
        return save_draft(tenant=tenant, author=author, values=values, based_on=based_on, note=note, at=at)
    except InvalidError as error:
        fields = error.details.get("fields", {})
        ours = {path.removeprefix(f"{SETTING}/"): text for path, text in fields.items()}
        raise InvalidError(error.message, fields=ours) from error


def with_suite(
    suites: Sequence[AssertionSuite], *, position: int | None, suite: Mapping[str, Any] | None
) -> list[dict[str, Any]]:
    """The JSON form of the suites with one put in the place of another (at the end for None), or taken out.

    Raises:
        IndexError: there is no suite at ``position``.
    """
    listed: list[dict[str, Any]] = [each.to_json() for each in suites]
    if position is None:
        return [*listed, *([dict(suite)] if suite is not None else [])]
    if suite is None:
        del listed[position]
    else:
        listed[position] = dict(suite)
    return listed
