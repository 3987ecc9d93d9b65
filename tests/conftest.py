"""Fixtures for all tests: a cast of people, two tenants, and plain static files."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(config, items):
    """Leave out what is about the other database: it is no gap of this run."""
    from django.conf import settings

    on_postgresql = settings.DATABASES["default"]["ENGINE"].endswith("postgresql")
    foreign = "sqlite" if on_postgresql else "postgresql"
    away = [item for item in items if item.get_closest_marker(foreign)]
    if away:
        config.hook.pytest_deselected(items=away)
        items[:] = [item for item in items if not item.get_closest_marker(foreign)]


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
