"""``manage.py create_tenant``: a tenant and its first owner."""

from __future__ import annotations

import getpass
import sys
from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.password_validation import validate_password
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.checks import Tags
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from reviews.management.arguments import complain
from reviews.models import User
from reviews.services.errors import DomainError
from reviews.services.tenants import create_tenant


class Command(BaseCommand):
    help = "Creates a tenant with the default policy, and its owner's account when there is none yet."
    requires_system_checks = [Tags.database]

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add("--name", required=True, help="the tenant's name")
        add("--slug", required=True, help="its short name, for addresses and commands")
        add("--owner", required=True, metavar="USERNAME", help="who owns it")
        add("--password-stdin", action="store_true", help="read a new owner's password from standard input")

    def handle(self, *, name: str, slug: str, owner: str, password_stdin: bool, **_: Any) -> None:
        password = sys.stdin.readline().rstrip("\r\n") if password_stdin else None
        try:
            with transaction.atomic():
                user, is_new = find_or_create_user(owner, password)
                tenant = create_tenant(name=name, slug=slug, owner=user)
        except DomainError as error:
            raise complain(error) from error
        account = "a new account" if is_new else "who had an account already and keeps its password"
        self.stdout.write(f"Created the tenant {tenant.slug}, owned by {user.username} ({account}).")


def find_or_create_user(username: str, password: str | None) -> tuple[User, bool]:
    """The account of that name and whether it is new; asks at the terminal for a password it needs."""
    user = User.objects.filter(username=username).first()
    if user is not None:
        return user, False
    user = User(username=username)
    try:
        UnicodeUsernameValidator()(username)
        user.clean_fields(exclude=["password"])
        if password is None:
            password = ask_password()
        validate_password(password, user)
    except ValidationError as error:
        raise CommandError(" ".join(error.messages)) from error
    return User.objects.create_user(username, password=password), True


def ask_password() -> str:
    if not sys.stdin.isatty():
        raise CommandError("The owner has no account yet: give a password with --password-stdin.")
    password = getpass.getpass("Password of the new account: ")
    if getpass.getpass("Again: ") != password:
        raise CommandError("The two passwords are not the same.")
    return password
