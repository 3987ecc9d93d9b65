"""Tasks on a real worker process: a lost hint or a killed worker costs nothing, nor does a dead broker."""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.conf import settings
from django.db import connection
from django.utils import timezone

from reviews import tasks
from reviews.models import ConfidenceProfile, Job, ProfileCount, Turn
from reviews.models.jobs import JobKind, JobState
from reviews.models.turns import AnalysisState
from reviews.services import jobs
from reviews.services.review import decide_turn
from tests.factories import make_member, make_turn

ROOT = Path(__file__).resolve().parents[2]
#: Far more than anything here takes on a slow machine; a test that needs it has failed.
PATIENCE = 60.0
#: A database of Redis for each process of a parallel run: each test empties its own.
PROCESS = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
REDIS_URL = os.environ.get("TEST_REDIS_URL", f"redis://127.0.0.1:6379/{8 + PROCESS % 8}")


class Installation:
    """A database and a broker of their own, and processes of ours that use them."""

    def __init__(self, folder: Path, broker: str) -> None:
        self.folder = folder
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("DATABASE_", "CELERY_", "REVIEWS_"))}
        self.environment = {**kept, "REVIEWS_DATA_DIR": str(folder), "CELERY_BROKER_URL": broker}
        self.database = ""
        if connection.vendor == "postgresql":
            self.database = f"worker_{uuid4().hex[:12]}"
            with self._server() as server:
                server.execute(f'CREATE DATABASE "{self.database}"')
            known = connection.settings_dict
            self.environment["DATABASE_URL"] = (
                f"postgres://{known['USER']}:{known['PASSWORD']}@{known['HOST']}:{known['PORT']}/{self.database}"
            )
        self.worker: subprocess.Popen[bytes] | None = None
        self.run("manage.py", "migrate", "--verbosity", "0")

    def _server(self, database: str = "") -> psycopg.Connection[Any]:
        known = connection.settings_dict
        return psycopg.connect(
            host=known["HOST"],
            port=known["PORT"],
            user=known["USER"],
            password=known["PASSWORD"],
            dbname=database or known["NAME"],
            autocommit=True,
            # Row-level security shows a connection without this setting no rows at all.
            options="-c reviews.tenant=*",
        )

    def run(self, *arguments: str) -> str:
        """Run Python to its end; returns what it printed."""
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def script(self, code: str) -> str:
        """Run code with Django set up and a tenant at hand."""
        return self.run("-c", PREAMBLE + code)

    def start_worker(self, module: str = "reviews.server.celery") -> None:
        with (self.folder / "worker.log").open("ab") as log:
            self.worker = subprocess.Popen(
                [sys.executable, "-m", "celery", "-A", module, "worker", "--pool", "solo"],
                cwd=ROOT,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def kill_worker(self) -> None:
        assert self.worker is not None
        self.worker.send_signal(signal.SIGKILL)
        self.worker.wait(PATIENCE)

    def stop_worker(self) -> None:
        if self.worker is not None:
            self.worker.terminate()
            try:
                self.worker.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.worker.kill()
                self.worker.wait()

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        if self.database:
            with self._server(self.database) as server:
                return server.execute(sql).fetchall()
        database = sqlite3.connect(self.folder / "reviews.sqlite3", timeout=20)
        try:
            return database.execute(sql).fetchall()
        finally:
            database.close()

    def wait_for_states(self, **expected: int) -> None:
        """Until the turns stand in these states; the worker's end is noticed at once."""
        self.wait_until(
            "SELECT analysis_state, count(*) FROM reviews_turn GROUP BY analysis_state",
            lambda rows: dict(rows) == expected,
        )

    def wait_until(self, sql: str, is_so: Callable[[list[tuple[Any, ...]]], bool]) -> list[tuple[Any, ...]]:
        """Until a query's rows are as wanted; the worker's end is noticed at once. Returns the rows."""
        deadline = time.monotonic() + PATIENCE
        while True:
            rows = self.query(sql)
            if is_so(rows):
                return rows
            assert self.worker is not None
            try:
                self.worker.wait(0.05)
            except subprocess.TimeoutExpired:
                assert time.monotonic() < deadline, f"{rows}\n{self.log()}"
            else:
                pytest.fail(f"the worker has ended\n{self.log()}")

    def log(self) -> str:
        return (self.folder / "worker.log").read_text()

    def close(self) -> None:
        self.stop_worker()
        if self.database:
            with self._server() as server:
                server.execute(f'DROP DATABASE "{self.database}" WITH (FORCE)')


PREAMBLE = """
import django, os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "reviews.server.settings"
django.setup()
import reviews.server.celery
from datetime import timedelta
from django.utils import timezone
from reviews import tasks
from reviews.models import Job, Tenant, Turn
from reviews.models.jobs import JobKind
from reviews.services import analysis, jobs
from reviews.services.intake import accept_turns
from reviews.services.publishing import publish_settings
from tests.factories import make_record, make_tenant
tenant = Tenant.objects.filter(slug="acme").first() or make_tenant()
def send(count):
    accept_turns(tenant=tenant, records=[make_record(external_id=f"{os.getpid()}-{n}") for n in range(count)])
"""


@pytest.fixture(params=["files", pytest.param("redis", marks=pytest.mark.services)])
def installation(request, tmp_path, django_db_setup, django_db_blocker) -> Iterator[Installation]:
    broker = "filesystem://"
    if request.param == "redis":
        import redis

        broker = REDIS_URL
        server = redis.Redis.from_url(broker, socket_connect_timeout=2)
        try:
            server.flushdb()
        except redis.ConnectionError:
            if "CI" in os.environ:
                raise
            pytest.skip(f"no Redis at {broker}")
    with django_db_blocker.unblock():
        made = Installation(tmp_path, broker)
    yield made
    with django_db_blocker.unblock():
        made.close()
    if request.param == "redis":
        server.flushdb()
        server.close()


@pytest.mark.slow
def test_a_hint_has_a_worker_analyse_what_is_pending(installation):
    installation.script("send(30); tasks.hint_analysis()")
    assert installation.query(
        "SELECT analysis_state, count(*) FROM reviews_turn GROUP BY analysis_state"
    ) == [("pending", 30)]
    installation.start_worker()
    installation.wait_for_states(done=30)
    # And once more while it runs.
    installation.script("send(5); tasks.hint_analysis()")
    installation.wait_for_states(done=35)
    assert installation.query("SELECT max(attempts), min(finding_count) > 0 FROM reviews_turn") == [(1, True)]
    assert installation.query("SELECT count FROM reviews_dailycount WHERE name = 'turns'") == [(35,)]


@pytest.mark.slow
def test_a_sweep_finds_what_a_lost_hint_and_a_dead_worker_left(installation):
    installation.script(
        "send(6)\n"
        "dead = list(Turn.objects.for_tenant(tenant).order_by('id').values_list('id', flat=True)[:2])\n"
        "Turn.objects.for_tenant(tenant).filter(id__in=dead).update(analysis_state='claimed', claim='gone',"
        " attempts=1, lease_until=timezone.now() - timedelta(seconds=1))\n"
        "spent = Turn.objects.for_tenant(tenant).order_by('id').values_list('id', flat=True)[2]\n"
        "Turn.objects.for_tenant(tenant).filter(id=spent).update(analysis_state='claimed', claim='gone',"
        " attempts=3, lease_until=timezone.now() - timedelta(seconds=1))\n"
        "tasks.sweep.delay()"
    )
    installation.start_worker()
    installation.wait_for_states(done=5, failed=1)
    assert installation.query("SELECT claim FROM reviews_turn WHERE claim <> ''") == []


@pytest.mark.slow
def test_a_long_backlog_is_handed_on_from_task_to_task(installation):
    installation.script("send(30); tasks.hint_analysis()")
    # A task of one small batch: thirty turns need six of them, and only the first was asked for from outside.
    (installation.folder / "small_batches.py").write_text(
        "import os, django\n"
        "os.environ['DJANGO_SETTINGS_MODULE'] = 'reviews.server.settings'\n"
        "django.setup()\n"
        "from reviews.server.celery import app\n"
        "from reviews import tasks\n"
        "from reviews.services import analysis\n"
        "tasks.SECONDS_PER_TASK, analysis.BATCH_SIZE = 1e-9, 5\n"
    )
    installation.environment["PYTHONPATH"] = os.pathsep.join([str(installation.folder), str(ROOT)])
    installation.start_worker("small_batches")
    installation.wait_for_states(done=30)


@pytest.mark.slow
def test_a_worker_that_is_told_to_stop_ends(installation):
    installation.script("send(1); tasks.hint_analysis()")
    installation.start_worker()
    installation.wait_for_states(done=1)
    installation.stop_worker()
    assert installation.worker.returncode == 0, installation.log()


#: Twenty turns a step, so that a job of 600 takes thirty.
SMALL_STEPS = """
import os, django
os.environ['DJANGO_SETTINGS_MODULE'] = 'reviews.server.settings'
django.setup()
from reviews.server.celery import app
from reviews.services import rejudging
rejudging.TURNS_PER_STEP = 20
"""


@pytest.mark.slow
def test_a_worker_killed_in_a_job_again_and_again_loses_and_doubles_nothing(installation):
    turns, kills = 600, 3
    installation.script(
        f"send({turns}); analysis.analyse_pending()\n"
        "values = {'fabrication_check_mode': 'refuse'}\n"
        "version = publish_settings(tenant=tenant, author=None, values=values)\n"
        "jobs.start_job(tenant=tenant, kind=JobKind.REJUDGE, parameters={'version': version.number},"
        " actor=None)\n"
        "tasks.hint_jobs()"
    )
    (installation.folder / "small_steps.py").write_text(SMALL_STEPS)
    installation.environment["PYTHONPATH"] = os.pathsep.join([str(installation.folder), str(ROOT)])
    job = "SELECT done, state FROM reviews_job"
    changed = "SELECT count(*), count(DISTINCT turn_id) FROM reviews_rejudgedturn WHERE applied"
    stored = "SELECT count(*) FROM reviews_turn WHERE outcome = 'refuse_replaced'"
    done = 0
    for _ in range(kills):
        installation.start_worker("small_steps")
        before = done
        installation.wait_until(job, lambda rows, before=before: rows[0][0] > before)
        installation.kill_worker()
        ((done, state),) = installation.query(job)
        assert before < done < turns, "the job was over too soon to be interrupted"
        assert state in {"running", "waiting"}
        # The cursor and what was done up to it stand together, whenever the worker was killed.
        assert installation.query(changed) == [(done, done)]
        assert installation.query(stored) == [(done,)]
        installation.script(
            "Job.objects.across_tenants().filter(state='running')"
            ".update(lease_until=timezone.now() - timedelta(seconds=1))\n"
            "tasks.sweep.delay()"
        )
    installation.start_worker("small_steps")
    installation.wait_until(job, lambda rows: rows == [(turns, "done")])
    assert installation.query(changed) == [(turns, turns)]
    # Counted once, too: out of one outcome and into the other.
    counted = "SELECT name, sum(count) FROM reviews_dailycount GROUP BY name HAVING sum(count) <> 0"
    counts = {name: int(count) for name, count in installation.query(counted)}
    outcomes = {name: count for name, count in counts.items() if name.startswith("outcome:")}
    assert outcomes == {"outcome:refuse_replaced": turns}
    assert counts["turns"] == counts["flagged"] == turns
    assert installation.query("SELECT sum(count) FROM reviews_profilecount") == [(turns,)]
    findings = "SELECT DISTINCT count(*) FROM reviews_finding GROUP BY turn_id"
    assert installation.query(findings) == [(3,)]


# -- An unreachable broker


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port that nobody listens on, and that nobody else gets."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


def hint(folder: Path, broker: str, before: str = "") -> str:
    """Hint twice; neither may raise. Returns what was logged."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("DATABASE_", "CELERY_", "REVIEWS_"))}
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import django, os\n"
            "os.environ['DJANGO_SETTINGS_MODULE'] = 'reviews.server.settings'\n"
            "django.setup()\n"
            "import reviews.server.celery\n"
            "from reviews import tasks\n" + before + "tasks.hint_analysis()\n"
            "tasks.hint_analysis()\n"
            "print('went on')\n",
        ],
        cwd=ROOT,
        env={**kept, "REVIEWS_DATA_DIR": str(folder), "CELERY_BROKER_URL": broker, "LOG_LEVEL": "INFO"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "went on\n"
    return done.stderr


def test_a_hint_to_a_broker_that_is_down_is_logged_and_never_raises(tmp_path, closed_port):
    assert "the sweep will analyse" in hint(tmp_path, f"redis://127.0.0.1:{closed_port}/0")


def test_a_hint_to_a_broker_without_an_address_is_logged_and_never_raises(tmp_path):
    assert "the sweep will analyse" in hint(tmp_path, "redis://no-such-host.invalid:6379/0")


@pytest.mark.services
def test_a_hint_to_a_broker_that_refuses_the_password_never_raises(tmp_path):
    assert "the sweep will analyse" in hint(tmp_path, "amqp://nobody:wrong@127.0.0.1:5672//")


def test_a_hint_to_a_broker_that_accepts_and_then_says_nothing_of_redis_never_raises(tmp_path):
    """Something else listens on the port, and answers every connection by closing it."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def hang_up() -> None:
            while True:
                try:
                    server.accept()[0].close()
                except OSError:
                    return

        thread = threading.Thread(target=hang_up, daemon=True)
        thread.start()
        assert "the sweep will analyse" in hint(tmp_path, f"redis://127.0.0.1:{server.getsockname()[1]}/0")
        server.shutdown(socket.SHUT_RDWR)
        thread.join(PATIENCE)


def test_a_hint_through_files_on_a_full_disk_is_logged_and_never_raises(tmp_path):
    # No file may grow beyond nothing, which fails a write as a full disk does.
    full = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
    assert "the sweep will analyse" in hint(tmp_path, "filesystem://", before=full)


def test_a_hint_through_a_folder_that_is_gone_is_logged_and_never_raises(tmp_path):
    gone = "import shutil; shutil.rmtree(os.environ['REVIEWS_DATA_DIR'] + '/broker')\n"
    assert "the sweep will analyse" in hint(tmp_path, "filesystem://", before=gone)


def test_a_hint_at_a_job_never_raises_either(tmp_path, closed_port):
    broker = f"redis://127.0.0.1:{closed_port}/0"
    assert "the sweep will run the jobs" in hint(tmp_path, broker, before="tasks.hint_jobs()\n")


def test_a_hint_through_a_working_broker_is_delivered_and_not_complained_of(tmp_path):
    assert "the sweep will analyse" not in hint(tmp_path, "filesystem://")
    assert len(list((tmp_path / "broker" / "messages").iterdir())) == 2


# -- In this process


@pytest.mark.django_db
def test_the_task_analyses_all_tenants_turns(tenant, other_tenant):
    turns = [make_turn(mine, analysed=False) for mine in (tenant, other_tenant)]
    tasks.analyse_pending()
    for turn in turns:
        turn.refresh_from_db()
        assert (turn.analysis_state, turn.finding_count > 0) == (AnalysisState.DONE, True)


@pytest.mark.django_db
def test_the_task_runs_all_tenants_jobs(tenant, other_tenant):
    for mine in (tenant, other_tenant):
        jobs.start_job(tenant=mine, kind=JobKind.LEARN, parameters={}, actor=None)
    tasks.run_jobs()
    assert set(Job.objects.across_tenants().values_list("state", flat=True)) == {JobState.DONE}


@pytest.mark.django_db
def test_the_nightly_task_starts_a_job_where_labels_are_new(tenant, other_tenant):
    turns = [make_turn(mine) for mine in (tenant, tenant, other_tenant)]
    rita = make_member(tenant)
    decide_turn(tenant=tenant, actor=rita, turn_id=turns[0].pk, label="fabricated", seen_version=0)
    tasks.learn()
    job = Job.objects.across_tenants().get()
    assert (job.tenant, job.kind, job.state, job.started_by) == (
        tenant,
        JobKind.LEARN,
        JobState.WAITING,
        None,
    )
    # One that is under way already is enough, and one that is done until there are labels again.
    tasks.learn()
    tasks.run_jobs()
    tasks.learn()
    assert Job.objects.across_tenants().count() == 1
    decide_turn(tenant=tenant, actor=rita, turn_id=turns[1].pk, label="fabricated", seen_version=0)
    tasks.learn()
    assert Job.objects.across_tenants().count() == 2


@pytest.mark.django_db
def test_the_nightly_task_extracts_where_turns_are_new(tenant, other_tenant):
    make_turn(tenant)
    tasks.extract()
    job = Job.objects.across_tenants().get()
    assert (job.tenant, job.kind, job.state) == (tenant, JobKind.EXTRACT, JobState.WAITING)
    tasks.extract()
    tasks.run_jobs()
    tasks.extract()
    assert Job.objects.across_tenants().count() == 1
    make_turn(tenant)
    tasks.extract()
    assert Job.objects.across_tenants().count() == 2


@pytest.mark.django_db
def test_the_sweep_takes_jobs_over_from_dead_workers(tenant):
    job = jobs.start_job(tenant=tenant, kind=JobKind.LEARN, parameters={}, actor=None)
    Job.objects.across_tenants().update(
        state=JobState.RUNNING, claim="gone", lease_until=timezone.now() - timedelta(seconds=1)
    )
    tasks.sweep()
    job.refresh_from_db()
    assert job.state == JobState.DONE


@pytest.mark.django_db
def test_the_sweep_fills_in_profiles_that_earlier_versions_did_not_store(tenant):
    turn = make_turn(tenant)
    profile = turn.profile_id
    Turn.objects.for_tenant(tenant).update(profile=None)
    ProfileCount.objects.for_tenant(tenant).delete()
    ConfidenceProfile.objects.for_tenant(tenant).delete()
    tasks.sweep()
    turn.refresh_from_db()
    assert turn.profile_id not in {None, profile}


def test_tasks_are_named_as_the_schedule_names_them():
    names = {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()}
    assert names == {tasks.sweep.name, tasks.learn.name, tasks.extract.name, tasks.pull.name}
    assert tasks.analyse_pending.name == "reviews.tasks.analyse_pending"
    assert tasks.run_jobs.name == "reviews.tasks.run_jobs"


def test_a_task_takes_no_turn_with_it():
    """A message is a hint: whatever it carried would be one more truth beside the database."""
    for task in (
        *(tasks.analyse_pending, tasks.run_jobs, tasks.deliver),
        *(tasks.learn, tasks.extract, tasks.pull, tasks.sweep),
    ):
        assert not task.__wrapped__.__code__.co_argcount
