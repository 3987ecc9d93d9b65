"""``manage.py sweep``: what the scheduled sweep does, once and until nothing is left."""

from __future__ import annotations

from typing import Any

from django.core.checks import Tags
from django.core.management.base import BaseCommand

from reviews.services import analysis


class Command(BaseCommand):
    help = "Takes turns back from workers that are gone and analyses everything that waits."
    requires_system_checks = [Tags.database]

    def handle(self, **_: Any) -> None:
        released = analysis.release_expired()
        progress = analysis.analyse_pending()
        self.stdout.write(f"{released} released, {progress.analysed} analysed, {progress.failed} failed")
