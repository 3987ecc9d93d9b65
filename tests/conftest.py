"""Fixtures for all tests: a cast of people, two tenants, and plain static files."""

from __future__ import annotations

import os
import tempfile

import pytest

# Before Django reads its settings: a data folder of the test run's own, and a broker that keeps nothing.
os.environ.setdefault("REVIEWS_DATA_DIR", tempfile.mkdtemp(prefix="reviews-test-"))
os.environ.setdefault("CELERY_BROKER_URL", "memory://")


@pytest.fixture(autouse=True)
def _plain_static_files(settings):
    """No collectstatic before a test run."""
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }
    # Speed only: the tests of the login itself use the same check.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def tenant(db):
    from tests.factories import make_tenant

    return make_tenant(slug="acme")


@pytest.fixture
def other_tenant(db):
    from tests.factories import make_tenant

    return make_tenant(slug="globex")
