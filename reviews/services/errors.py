"""What a service refuses, in terms of the domain; views and API translate once to HTTP."""

from __future__ import annotations

from typing import Any


class DomainError(Exception):
    """Base of refusals. ``code`` is stable; the message is for a person."""

    code = "refused"

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details = details


class NotFoundError(DomainError):
    """There is no such thing in this tenant."""

    code = "not_found"


class ForbiddenError(DomainError):
    """The thing is there and known, but this person may not do that to it."""

    code = "forbidden"


class ConflictError(DomainError):
    """Somebody else was quicker, or the same id already holds other content."""

    code = "conflict"


class InvalidError(DomainError):
    """A value cannot be used; ``details['fields']`` says which and why."""

    code = "invalid"
