"""Where a tenant's agents run: who may say so, what is kept of it, and what is pulled from there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from reviews.models import AuditEvent, Job, Runtime, Skill
from reviews.models.jobs import JobKind, JobState
from reviews.models.skills import SkillOrigin, SkillState
from reviews.models.tenants import Role
from reviews.services import jobs, outbound, pulling
from reviews.services.errors import ForbiddenError, InvalidError, NotFoundError
from reviews.services.outbound import OutboundError
from reviews.services.runtimes import ask, procedure_path, remove_runtime, runtime_of, set_runtime
from tests.factories import make_member
from tests.services.peers import Reply, Seen, peer, reply

pytestmark = pytest.mark.django_db

SECRET = "Bearer sk-4711"


@pytest.fixture
def _open_inside(settings):
    settings.OUTBOUND_ALLOW_PRIVATE = True


def connect(tenant, base_url: str = "https://runtime.example/api/v1", **fields: Any) -> Runtime:
    fields = {"actor": None, "runtime_tenant": "acme-prod", "auth": SECRET, **fields}
    return set_runtime(tenant=tenant, base_url=base_url, **fields)


def wrong(tenant, **fields: Any) -> set[str]:
    with pytest.raises(InvalidError) as refused:
        connect(tenant, **fields)
    return set(refused.value.details["fields"])


# -- Saying where it is


def test_a_manager_says_where_the_runtime_is(tenant, other_tenant):
    max_ = make_member(tenant, Role.MANAGER)
    runtime = connect(tenant, " HTTPS://Runtime.Example:443/api/v1/ ", actor=max_)
    assert runtime == runtime_of(tenant=tenant)
    assert (runtime.base_url, runtime.runtime_tenant) == ("https://runtime.example/api/v1", "acme-prod")
    assert (runtime.is_active, runtime.changed_by) == (True, max_)
    assert runtime_of(tenant=other_tenant) is None
    assert connect(tenant, "https://runtime.example/api/v2").pk == runtime.pk


def test_the_secret_is_kept_sealed_and_told_nobody(tenant):
    connect(tenant)
    stored = Runtime.objects.for_tenant(tenant).get()
    assert all("sk-4711" not in str(value) for value in vars(stored).values())
    assert b"sk-4711" not in bytes(stored.auth_sealed)
    connect(tenant, auth=None)
    remove_runtime(tenant=tenant, actor=None)
    events = AuditEvent.objects.for_tenant(tenant).filter(object_type="runtime").order_by("sequence")
    assert [event.action for event in events] == ["runtime.changed", "runtime.changed", "runtime.removed"]
    assert ['"authorization":"set"' in event.data for event in events] == [True, False, False]
    assert not any("sk-4711" in event.data for event in events)


@pytest.mark.usefixtures("_open_inside")
def test_the_secret_is_kept_replaced_and_taken_away(tenant):
    with peer(lambda seen: reply(200, {})) as server:
        for auth in (SECRET, None, "Basic eDp5", "", None):
            ask(connect(tenant, server.url, auth=auth), "GET", "/procedures")
    sent = [seen.headers.get("authorization") for seen in server.seen]
    assert sent == [SECRET, SECRET, "Basic eDp5", None, None]


@pytest.mark.parametrize(
    "elsewhere",
    ["https://thief.example/api/v1", "http://runtime.example/api/v1", "https://runtime.example:8443/api/v1"],
)
def test_nobody_can_have_the_secret_sent_to_another_host(tenant, elsewhere):
    connect(tenant)
    assert wrong(tenant, base_url=elsewhere, auth=None) == {"auth"}
    assert runtime_of(tenant=tenant).base_url == "https://runtime.example/api/v1"
    connect(tenant, "https://runtime.example/other", auth=None)
    connect(tenant, elsewhere, auth="Bearer new")
    connect(tenant, "https://runtime.example/", auth="")
    connect(tenant, elsewhere, auth=None)  # there is none to lose


def test_a_secret_sealed_under_a_lost_key_is_said_to_be_lost(tenant, settings):
    runtime = connect(tenant)
    settings.SECRET_KEY = "another"
    with pytest.raises(OutboundError, match="another secret key"):
        ask(runtime, "GET", "/procedures")


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"base_url": ""}, {"base_url"}),
        ({"base_url": "ftp://runtime.example"}, {"base_url"}),
        ({"base_url": "https://user:pw@runtime.example"}, {"base_url"}),
        ({"base_url": "https://runtime.example/?tenant=1"}, {"base_url"}),
        ({"base_url": "https://runtime.example/#top"}, {"base_url"}),
        ({"base_url": "http://127.0.0.1:8000/api/v1"}, {"base_url"}),
        ({"base_url": "http://169.254.169.254/latest"}, {"base_url"}),
        ({"base_url": "https://runtime.example/" + "x" * 500}, {"base_url"}),
        ({"runtime_tenant": " "}, {"runtime_tenant"}),
        ({"runtime_tenant": "x" * 201}, {"runtime_tenant"}),
        ({"runtime_tenant": "a\r\nX-Admin: 1"}, {"runtime_tenant"}),
        ({"auth": "Bearer a\r\nX-Admin: 1"}, {"auth"}),
        ({"auth": "Bearer é"}, {"auth"}),
        ({"auth": "x" * 8001}, {"auth"}),
        ({"base_url": "", "runtime_tenant": "", "auth": "\0"}, {"base_url", "runtime_tenant", "auth"}),
    ],
)
def test_what_cannot_be_kept_is_named(tenant, fields, named):
    assert wrong(tenant, **fields) == named
    assert runtime_of(tenant=tenant) is None


def test_only_managers_set_and_remove_a_runtime(tenant, other_tenant):
    olga = make_member(tenant, Role.OWNER)
    connect(tenant, actor=olga)
    for actor in (
        make_member(tenant, Role.VIEWER),
        make_member(tenant, Role.REVIEWER),
        make_member(other_tenant, Role.OWNER),
    ):
        with pytest.raises(ForbiddenError):
            connect(tenant, "https://runtime.example/mine", actor=actor)
        with pytest.raises(ForbiddenError):
            remove_runtime(tenant=tenant, actor=actor)
    assert runtime_of(tenant=tenant).base_url == "https://runtime.example/api/v1"
    remove_runtime(tenant=tenant, actor=olga)
    assert runtime_of(tenant=tenant) is None
    with pytest.raises(NotFoundError):
        remove_runtime(tenant=tenant, actor=olga)


def test_an_id_is_one_segment_of_a_path():
    assert procedure_path("a/../b?c#d%", "approve") == "/procedures/a%2F..%2Fb%3Fc%23d%25/approve"
    assert procedure_path("é") == "/procedures/%C3%A9"


# -- Pulling drafts


def procedure(name: str, **properties: Any) -> dict[str, Any]:
    """What ``GET /procedures/{id}`` shows of a draft that a model extracted; each is another rule."""
    said = {
        "kind": "preflight",
        "trigger": f"before {name} is called for a customer",
        "rationale": f"Calls of {name} failed when the account was closed.",
        "confidence": 0.75,
        "source_episode_ids": [f"run-{name}"],
        "source": "phase_12_llm_extractor",
        "status": "draft",
        "active": False,
        **properties,
    }
    return {
        "id": f"id-{name}",
        "label": f"Auto-learned (preflight): {name}",
        "content": f"{name}: look first",
        "steps": [f"call get_account and then {name}"],
        "properties": said,
    }


NAMES = ("refund_order", "send_invoice", "close_ticket", "book_flight", "ship_parcel")


def serving(
    procedures: list[dict[str, Any]], broken: dict[str, Reply] | None = None
) -> Callable[[Seen], Reply]:
    by_id = {each["id"]: each for each in procedures}

    def answer(seen: Seen) -> Reply:
        name = seen.path.removeprefix("/procedures/")
        if broken and name in broken:
            return broken[name]
        if name == "drafts":
            return reply(200, [{"id": each, "status": "draft"} for each in [*by_id, *(broken or {})]])
        return reply(200, by_id[name]) if name in by_id else reply(404, {"detail": "not found"})

    return answer


def pull(tenant) -> Job:
    job = jobs.start_job(tenant=tenant, kind=JobKind.PULL, parameters={"ignored": 1}, actor=None)
    jobs.run_jobs()
    job.refresh_from_db()
    return job


def result(**counts: int) -> dict[str, int]:
    names = ("new", "folded", "came_back", "unchanged", "missing", "unreadable")
    return {**dict.fromkeys(names, 0), **counts}


def test_without_a_runtime_there_is_nothing_to_pull(tenant):
    with pytest.raises(InvalidError):
        jobs.start_job(tenant=tenant, kind=JobKind.PULL, parameters={}, actor=None)
    connect(tenant, is_active=False)
    with pytest.raises(InvalidError):
        jobs.start_job(tenant=tenant, kind=JobKind.PULL, parameters={}, actor=None)


@pytest.mark.usefixtures("_open_inside")
def test_drafts_of_the_runtime_become_drafts_here(tenant, other_tenant, monkeypatch):
    monkeypatch.setattr(pulling, "DRAFTS_PER_STEP", 2)
    with peer(serving([procedure(name) for name in NAMES])) as server:
        runtime = connect(tenant, server.url)
        job = pull(tenant)
        assert (job.state, job.error, job.done, job.total) == (JobState.DONE, "", 5, 5)
        assert (job.result, job.parameters) == (result(new=5), None)
        assert server.asked == ["GET /procedures/drafts", *(f"GET /procedures/id-{name}" for name in NAMES)]
        for seen in server.seen:
            assert (seen.headers["authorization"], seen.headers["x-tenant-id"]) == (SECRET, "acme-prod")
        # The same once more changes nothing.
        assert pull(tenant).result == result(unchanged=5)
    assert not Skill.objects.for_tenant(other_tenant).exists()
    skill = Skill.objects.for_tenant(tenant).get(runtime_id="id-refund_order")
    assert (skill.state, skill.origin, skill.kind) == (SkillState.DRAFT, SkillOrigin.RUNTIME, "preflight")
    assert skill.trigger == "before refund_order is called for a customer"
    assert skill.action == "call get_account and then refund_order"
    assert (skill.confidence, skill.source) == (0.75, "phase_12_llm_extractor")
    assert [each.episode for each in skill.episodes.all()] == ["run-refund_order"]
    runtime.refresh_from_db()
    assert runtime.pulled_at is not None


@pytest.mark.usefixtures("_open_inside")
def test_a_runtime_without_drafts(tenant):
    with peer(serving([])) as server:
        connect(tenant, server.url)
        job = pull(tenant)
    assert (job.state, job.done, job.total, job.result) == (JobState.DONE, 0, 0, result())


@pytest.mark.usefixtures("_open_inside")
def test_one_bad_draft_keeps_no_other_from_being_pulled(tenant):
    broken = {
        "gone": reply(404),
        "error": reply(500),
        "text": reply(200, b"<html>"),
        "list": reply(200, []),
        "nothing": reply(200, {"id": "nothing", "properties": {}}),
        "huge": reply(200, b" " * (1024 * 1024 + 1)),
    }
    with peer(serving([procedure("refund_order")], broken)) as server:
        connect(tenant, server.url)
        job = pull(tenant)
    assert (job.state, job.result) == (JobState.DONE, result(new=1, missing=1, unreadable=5))


@pytest.mark.usefixtures("_open_inside")
def test_odd_ids_in_the_list_are_counted_and_not_asked_for(tenant):
    listed = [{"id": "."}, {"id": ".."}, {"id": ""}, {"id": 7}, {"id": "x" * 201}, {}, "id", {"id": "a/../b"}]
    good = procedure("refund_order")

    def answer(seen: Seen) -> Reply:
        return reply(200, listed if seen.path == "/procedures/drafts" else good)

    with peer(answer) as server:
        connect(tenant, server.url)
        job = pull(tenant)
    assert server.asked[1:] == ["GET /procedures/a%2F..%2Fb"]
    assert (job.done, job.result) == (1, result(new=1, unreadable=7))


@pytest.mark.usefixtures("_open_inside")
def test_of_a_very_long_list_the_drafts_that_are_new_come_first(tenant, monkeypatch):
    monkeypatch.setattr(pulling, "MAX_DRAFTS", 2)
    with peer(serving([procedure(name) for name in NAMES])) as server:
        connect(tenant, server.url)
        assert [pull(tenant).result for _ in range(3)] == [
            result(new=2),
            result(new=2),
            result(new=1, unchanged=1),
        ]
    assert Skill.objects.for_tenant(tenant).count() == len(NAMES)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (reply(401), "HTTP 401"),
        (reply(500), "HTTP 500"),
        (reply(307, Location="http://10.0.0.1/"), "HTTP 307"),
        (reply(200, {"detail": "no"}), "something else than a list"),
        (reply(200, b"<html>"), "not JSON"),
        (b"", "connection ended"),
    ],
)
@pytest.mark.usefixtures("_open_inside")
def test_a_runtime_that_cannot_be_used_fails_the_job_with_the_reason(tenant, answer, words):
    with peer(lambda seen: answer or None) as server:
        runtime = connect(tenant, server.url)
        job = pull(tenant)
    assert (job.state, len(server.seen)) == (JobState.FAILED, jobs.MAX_ATTEMPTS)
    assert words in job.error
    runtime.refresh_from_db()
    assert words in runtime.last_error
    assert runtime.pulled_at is None


@pytest.mark.parametrize("status", [401, 503])
@pytest.mark.usefixtures("_open_inside")
def test_a_runtime_that_fails_half_way_is_gone_on_with_later(tenant, status, monkeypatch):
    monkeypatch.setattr(pulling, "DRAFTS_PER_STEP", 2)
    trouble = {"on": True}
    good = serving([procedure(name) for name in NAMES])

    def answer(seen: Seen) -> Reply:
        return reply(status) if trouble["on"] and seen.path.endswith(NAMES[3]) else good(seen)

    with peer(answer) as server:
        runtime = connect(tenant, server.url)
        job = pull(tenant)
        assert (job.state, job.done) == (JobState.FAILED, 2)
        trouble["on"] = False
        jobs.resume_job(tenant=tenant, actor=None, job_id=job.pk)
        jobs.run_jobs()
    job.refresh_from_db()
    runtime.refresh_from_db()
    assert (job.state, job.result, runtime.last_error) == (JobState.DONE, result(new=5), "")


@pytest.mark.usefixtures("_open_inside")
def test_a_runtime_removed_meanwhile_ends_the_job(tenant):
    with peer(serving([procedure("refund_order")])) as server:
        connect(tenant, server.url)
        job = jobs.start_job(tenant=tenant, kind=JobKind.PULL, parameters={}, actor=None)
        remove_runtime(tenant=tenant, actor=None)
        jobs.run_jobs()
    job.refresh_from_db()
    assert (job.state, server.seen) == (JobState.FAILED, [])
    assert "removed or switched off" in job.error


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_open_inside")
def test_no_transaction_is_open_while_the_runtime_is_asked(tenant, monkeypatch):
    open_transactions = []
    really = outbound.request

    def watched(*args, **kwargs):
        open_transactions.append(connection.in_atomic_block)
        return really(*args, **kwargs)

    monkeypatch.setattr(outbound, "request", watched)
    with peer(serving([procedure("refund_order")])) as server:
        connect(tenant, server.url)
        assert pull(tenant).state == JobState.DONE
    assert open_transactions == [False, False]
