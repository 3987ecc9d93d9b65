"""Celery tasks: ids in, one service call. A message is only a hint; the database says what is to do."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from typing import Any

from celery import shared_task
from django.conf import settings

from reviews.models import Tenant
from reviews.models.jobs import JobKind
from reviews.services import (
    analysis,
    critic_asking,
    deliveries,
    extraction,
    jobs,
    learning,
    profiles,
    pulling,
)
from reviews.services.errors import ConflictError, DomainError

logger = logging.getLogger(__name__)

#: After this time a task ends and hands on to a new one, so that a worker that is told to stop does so soon
#: even under a long backlog.
SECONDS_PER_TASK = 5.0
#: Less for jobs: where one worker does everything, the analysis of new turns comes in between.
SECONDS_PER_JOBS_TASK = 2.0

#: Until when (monotonic seconds) this process sends no hints, because the broker just failed.
_quiet = {"until": 0.0}


@shared_task  # type: ignore[untyped-decorator]  # Celery has no types
def analyse_pending() -> None:
    """Analyse what is pending; hands on to another task when there is more."""
    analysis.analyse_pending(seconds=SECONDS_PER_TASK)
    if analysis.has_pending():
        hint_analysis()
    if critic_asking.has_due():
        hint_critic()


@shared_task  # type: ignore[untyped-decorator]  # Celery has no types
def run_jobs() -> None:
    """Run the jobs that wait; hands on as ``analyse_pending`` does."""
    jobs.run_jobs(seconds=SECONDS_PER_JOBS_TASK)
    if jobs.has_waiting():
        hint_jobs()


@shared_task  # type: ignore[untyped-decorator]  # Celery has no types
def deliver() -> None:
    """Send what agent runtimes are to be told; hands on as ``analyse_pending`` does."""
    deliveries.deliver_due(seconds=SECONDS_PER_TASK)
    if deliveries.has_due():
        hint_deliveries()


@shared_task  # type: ignore[untyped-decorator]  # Celery has no types
def ask_critic() -> None:
    """Ask the critic about the drafts that wait for it; hands on as ``analyse_pending`` does."""
    if critic_asking.ask_due(seconds=SECONDS_PER_TASK).more:
        hint_critic()


@shared_task  # type: ignore[untyped-decorator]  # Celery has no types
def learn() -> None:
    """Start a learning job for every tenant whose labels have changed, unless one is under way."""
    _start_each(learning.tenants_to_learn(), JobKind.LEARN, "learning already")


@shared_task  # type: ignore[untyped-decorator]  # Celery has no types
def extract() -> None:
    """Start an extraction of skills for every tenant with turns that none has seen."""
    _start_each(extraction.tenants_to_extract(), JobKind.EXTRACT, "extracting already")


@shared_task  # type: ignore[untyped-decorator]  # Celery has no types
def pull() -> None:
    """Start a pull of drafts for every tenant whose agent runtime is due; one that cannot stops no other."""
    for tenant in pulling.tenants_to_pull():
        try:
            jobs.start_job(tenant=tenant, kind=JobKind.PULL, parameters={}, actor=None, is_routine=True)
        except DomainError:
            logger.info("not pulling", extra={"tenant": tenant.pk})
    hint_jobs()


@shared_task  # type: ignore[untyped-decorator]  # Celery has no types
def sweep() -> None:
    """Find what a lost message or a dead worker left behind; hands on as ``analyse_pending`` does.

    Also fills in what turns lack that were stored by an earlier version, some at a time.
    """
    analysis.release_expired()
    analyse_pending()
    jobs.release_expired()
    profiles.fill_missing(seconds=SECONDS_PER_JOBS_TASK)
    run_jobs()
    deliver()
    critic_asking.release_expired()
    if critic_asking.has_due():
        hint_critic()


def hint_analysis() -> None:
    """Tell the workers there is something to analyse. Call after the commit.

    Never raises: a turn is accepted once its row is committed, and the sweep finds it without a hint. After a
    failure no hint is tried for as long as the next sweep takes, so that a broker that accepts connections
    and then says nothing does not hold up every request.
    """
    _hint(analyse_pending, "broker unreachable, the sweep will analyse")


def hint_jobs() -> None:
    """Tell the workers that a job waits. Call after the commit; never raises, as ``hint_analysis``."""
    _hint(run_jobs, "broker unreachable, the sweep will run the jobs")


def hint_deliveries() -> None:
    """Tell the workers that a runtime is to be told something. After the commit; never raises, as above."""
    _hint(deliver, "broker unreachable, the sweep will deliver")


def hint_critic() -> None:
    """Tell the workers that drafts wait for the critic. After the commit; never raises, as above.

    The calls run in a queue of their own, so that a slow model never holds up the analysis of turns.
    """
    _hint(ask_critic, "broker unreachable, the sweep will ask the critic")


def _start_each(tenants: Iterable[Tenant], kind: JobKind, under_way: str) -> None:
    """Start a job of this kind for each tenant that has none under way, and hint the workers."""
    for tenant in tenants:
        try:
            jobs.start_job(tenant=tenant, kind=kind, parameters={}, actor=None)
        except ConflictError:
            logger.info(under_way, extra={"tenant": tenant.pk})
    hint_jobs()


def _hint(task: Any, otherwise: str) -> None:
    if time.monotonic() < _quiet["until"]:
        return
    try:
        task.delay()
    except Exception:  # brokers fail in many ways, a refused password among them
        _quiet["until"] = time.monotonic() + settings.SWEEP_SECONDS
        logger.warning(otherwise, exc_info=True)
