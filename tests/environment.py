"""The environment of a test run: a plugin (see addopts), because settings are read before any conftest."""

import os
import tempfile
from pathlib import Path

# Never the checkout's own data folder; and messages that nothing reads, unless a test starts a worker itself.
os.environ.setdefault("REVIEWS_DATA_DIR", tempfile.mkdtemp(prefix="reviews-test-"))
os.environ.setdefault("CELERY_BROKER_URL", "memory://")
os.environ.setdefault("LOG_LEVEL", "ERROR")
Path(os.environ["REVIEWS_DATA_DIR"], "static").mkdir(exist_ok=True)
