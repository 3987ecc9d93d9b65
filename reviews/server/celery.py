"""Celery entry point: ``celery -A reviews.server.celery worker``."""

import os
from pathlib import Path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reviews.server.settings")

from celery import Celery

app = Celery("reviews")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["reviews"])

# The broker of files does not make its own folders.
for name in ("data_folder_in", "control_folder"):
    if folder := app.conf.broker_transport_options.get(name):
        Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)

__all__ = ["app"]
