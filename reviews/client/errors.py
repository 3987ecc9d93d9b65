"""What the client raises."""

from __future__ import annotations


class ReviewClientError(Exception):
    """A question to the server that has no answer. The message holds no text of a turn and no key."""


class UnreachableError(ReviewClientError):
    """No complete answer came: no connection, a broken one, or time ran out."""
