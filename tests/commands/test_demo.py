"""``manage.py demo``: loads once, says how to log in, then serves."""

from __future__ import annotations

import os
import subprocess
import sys
from io import StringIO
from pathlib import Path

from django.contrib.auth import authenticate
from django.core.management import call_command

from reviews.models import Tenant

ROOT = Path(__file__).resolve().parents[2]


def test_the_login_that_is_printed_works_and_the_second_time_nothing_is_loaded(db):
    out = StringIO()
    call_command("demo", no_serve=True, stdout=out)
    assert "Log in as ana with the password demo-review." in out.getvalue()
    assert authenticate(username="ana", password="demo-review") is not None
    tenants = Tenant.objects.count()

    again = StringIO()
    call_command("demo", no_serve=True, stdout=again)
    assert again.getvalue().startswith("The sample data is there already.")
    assert Tenant.objects.count() == tenants


def test_an_empty_folder_is_enough(tmp_path):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("DATABASE_", "REVIEWS_"))}
    done = subprocess.run(
        [sys.executable, "manage.py", "demo", "--no-serve", "--data", str(tmp_path / "new")],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "decisions of 3 tenants" in done.stdout
    assert (tmp_path / "new" / "reviews.sqlite3").exists()
