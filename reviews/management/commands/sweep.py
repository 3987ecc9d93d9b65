"""``manage.py sweep``: what the scheduled sweep does, once and until nothing is left."""

from __future__ import annotations

import math
from typing import Any

from django.core.checks import Tags
from django.core.management.base import BaseCommand

from reviews.services import analysis, jobs, profiles


class Command(BaseCommand):
    help = (
        "Takes work back from workers that are gone, analyses everything that waits, and runs waiting jobs."
    )
    requires_system_checks = [Tags.database]

    def handle(self, **_: Any) -> None:
        released = analysis.release_expired() + jobs.release_expired()
        progress = analysis.analyse_pending()
        profiles.fill_missing(seconds=math.inf)
        jobs.run_jobs()
        self.stdout.write(f"{released} released, {progress.analysed} analysed, {progress.failed} failed")
