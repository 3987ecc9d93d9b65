"""``manage.py sweep``: what the scheduled sweep does, once and until nothing is left."""

from __future__ import annotations

import math
from typing import Any

from django.core.checks import Tags
from django.core.management.base import BaseCommand

from reviews.services import analysis, deliveries, jobs, profiles


class Command(BaseCommand):
    help = (
        "Takes work back from workers that are gone, analyses everything that waits, runs waiting jobs, and "
        "sends what agent runtimes are to be told."
    )
    requires_system_checks = [Tags.database]

    def handle(self, **_: Any) -> None:
        released = analysis.release_expired() + jobs.release_expired()
        progress = analysis.analyse_pending()
        profiles.fill_missing(seconds=math.inf)
        jobs.run_jobs()
        deliveries.deliver_due()
        self.stdout.write(f"{released} released, {progress.analysed} analysed, {progress.failed} failed")
