"""``manage.py demo``: the product with sample data, in one command."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.checks import Tags
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.utils import timezone

from reviews.services.demo_loading import load_demo

USERNAME = "ana"
#: Published in the documentation, hence only ever for sample data on one's own machine.
PASSWORD = "demo-review"  # noqa: S105


class Command(BaseCommand):
    help = "Loads sample data once, then starts the product (see serve)."
    requires_system_checks = [Tags.database]

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
        add("--port", type=int, default=8000, help="port, 0 for any free one (default: %(default)s)")
        add("--data", metavar="DIR", help="data folder; overrides REVIEWS_DATA_DIR")
        add("--no-serve", action="store_true", help="only load the sample data")

    def handle(self, *, host: str, port: int, data: str | None, no_serve: bool, **_: Any) -> None:
        call_command("migrate", interactive=False, verbosity=0, skip_checks=True)
        loaded = load_demo(now=timezone.now(), password=PASSWORD)
        if loaded is None:
            self.stdout.write("The sample data is there already.")
        else:
            self.stdout.write(
                f"Loaded {loaded.turns} turns and {loaded.decisions} decisions of {loaded.tenants} tenants."
            )
        self.stdout.write(f"Log in as {USERNAME} with the password {PASSWORD}.")
        self.stdout.write(
            self.style.WARNING("This is a demo: everybody can know its password. Keep real data out of it.")
        )
        if not no_serve:
            if port:
                shown = f"[{host}]" if ":" in host else host
                self.stdout.write(f"The address will be http://{shown}:{port}/")
            self.stdout.flush()
            call_command("serve", host=host, port=port, data=data)
