"""Celery tasks: ids in, one service call. A message is only a hint; the database says what is to do."""

from __future__ import annotations

import logging
import time

from celery import shared_task
from django.conf import settings

from reviews.services import analysis

logger = logging.getLogger(__name__)

#: After this time a task ends and hands on to a new one, so that a worker that is told to stop does so soon
#: even under a long backlog.
SECONDS_PER_TASK = 5.0

#: Until when (monotonic seconds) this process sends no hints, because the broker just failed.
_quiet = {"until": 0.0}


@shared_task  # type: ignore[untyped-decorator]  # Celery has no types
def analyse_pending() -> None:
    """Analyse what is pending; hands on to another task when there is more."""
    analysis.analyse_pending(seconds=SECONDS_PER_TASK)
    if analysis.has_pending():
        hint_analysis()


@shared_task  # type: ignore[untyped-decorator]  # Celery has no types
def sweep() -> None:
    """Find what a lost message or a dead worker left behind; hands on as ``analyse_pending`` does."""
    analysis.release_expired()
    analyse_pending()


def hint_analysis() -> None:
    """Tell the workers there is something to analyse. Call after the commit.

    Never raises: a turn is accepted once its row is committed, and the sweep finds it without a hint. After a
    failure no hint is tried for as long as the next sweep takes, so that a broker that accepts connections
    and then says nothing does not hold up every request.
    """
    if time.monotonic() < _quiet["until"]:
        return
    try:
        analyse_pending.delay()
    except Exception:  # brokers fail in many ways, a refused password among them
        _quiet["until"] = time.monotonic() + settings.SWEEP_SECONDS
        logger.warning("broker unreachable, the sweep will analyse", exc_info=True)
