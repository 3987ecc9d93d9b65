"""Accounts of people who are added to a tenant by name."""

from __future__ import annotations

import secrets
from typing import NamedTuple

from django.db import IntegrityError, transaction

from reviews.models import Membership, Tenant, User
from reviews.services.errors import ConflictError
from reviews.services.tenants import add_member

#: 12 random bytes read as 16 characters: to be typed once, and beyond guessing.
PASSWORD_BYTES = 12


class Invited(NamedTuple):
    """A new member; ``password`` is set when the account is new, shown this once and only stored hashed."""

    member: Membership
    password: str


def invite_member(*, tenant: Tenant, author: User, username: str, role: str) -> Invited:
    """Make the person with this name a member, with a new account when there is none. Case is not told apart.

    Raises:
        InvalidError: no such role.
        ConflictError: a member already, or the account was made by somebody else at this moment.
    """
    username = User.normalize_username(username)
    with transaction.atomic():
        user, password = User.objects.filter(username__iexact=username).order_by("id").first(), ""
        if user is None:
            password = secrets.token_urlsafe(PASSWORD_BYTES)
            try:
                with transaction.atomic():
                    user = User.objects.create_user(username, password=password)
            except IntegrityError as error:
                raise ConflictError(f"An account {username} was made at this moment. Try again.") from error
        return Invited(add_member(tenant=tenant, author=author, user=user, role=role), password)
