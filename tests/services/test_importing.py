"""Importing with worker processes: the same as without, and an honest end when one dies."""

from __future__ import annotations

import gzip
import multiprocessing
import os
import signal
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

from benchmarks.turns import write_turns
from reviews.formats.native import encode_turn
from reviews.models import DailyCount, Finding, Turn, TurnPayload
from reviews.models.turns import AnalysisState, Source
from reviews.services import importing, intake
from reviews.services.importing import WorkerDiedError, default_jobs, import_files
from tests.factories import make_record, make_tenant

TURNS = 450


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "turns.jsonl"
    write_turns(path, TURNS)
    return path


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "CHUNK_TURNS", 20)


def stored(tenant) -> list[tuple]:
    """All that an import writes, without ids and the time of the import."""
    turns = Turn.objects.for_tenant(tenant).order_by("id")
    return [
        *turns.values_list(
            "external_id", "content_hash", "analysis_state", "kinds", "has_kv", "priority", "snippet"
        ),
        *TurnPayload.objects.for_tenant(tenant).order_by("turn_id").values_list("draft", "tool_calls"),
        *Finding.objects.for_tenant(tenant).order_by("turn_id", "position").values_list("identifier", "kind"),
        *DailyCount.objects.for_tenant(tenant).order_by("day", "name").values_list("day", "name", "count"),
    ]


def test_worker_processes_store_the_same_as_none(file, tenant, other_tenant, small_chunks):
    alone = import_files(tenant=tenant, format_name="native", paths=[file], jobs=1)
    together = import_files(tenant=other_tenant, format_name="native", paths=[file], jobs=2)
    assert alone.files == together.files
    assert alone.total("analysed") == TURNS
    assert stored(tenant) == stored(other_tenant)


def test_chunks_of_any_size_store_the_same(file, tenant, other_tenant, monkeypatch):
    import_files(tenant=tenant, format_name="native", paths=[file])
    monkeypatch.setattr(importing, "CHUNK_BYTES", 1)
    import_files(tenant=other_tenant, format_name="native", paths=[file])
    assert stored(tenant) == stored(other_tenant)


def test_a_worker_that_is_killed_ends_the_import_and_the_next_one_goes_on(file, tenant, small_chunks):
    def kill_one(_progress):
        for process in multiprocessing.active_children():
            process.kill()

    with pytest.raises(WorkerDiedError, match="goes on from there"):
        import_files(tenant=tenant, format_name="native", paths=[file], jobs=2, on_progress=kill_one)
    turns = Turn.objects.for_tenant(tenant).count()
    assert turns % importing.CHUNK_TURNS == 0, "whole chunks only"
    assert 0 < turns < TURNS
    assert TurnPayload.objects.for_tenant(tenant).count() == turns

    report = import_files(tenant=tenant, format_name="native", paths=[file], jobs=2)
    assert (report.total("accepted"), report.total("duplicates")) == (TURNS - turns, turns)
    assert not multiprocessing.active_children()


def test_progress_reaches_the_end_of_all_files(file, tenant, tmp_path, small_chunks):
    packed = tmp_path / "turns2.jsonl.gz"
    packed.write_bytes(gzip.compress(encode_turn(make_record())))
    seen = []
    import_files(tenant=tenant, format_name="native", paths=[file, packed], on_progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1].bytes_done == seen[-1].bytes_total == file.stat().st_size + packed.stat().st_size
    assert seen[-1].turns == TURNS + 1


def test_errors_of_all_chunks_come_in_the_order_of_the_file(tenant, tmp_path, small_chunks):
    path = tmp_path / "turns.jsonl"
    good = (encode_turn(make_record()) for _ in range(300))
    path.write_bytes(b"\n".join(line if n % 3 else b"{}" for n, line in enumerate(good)))
    report = import_files(tenant=tenant, format_name="native", paths=[path], jobs=2)
    assert [problem.line for problem in report.problems] == list(range(1, 301, 3))
    assert (report.total("invalid"), report.total("accepted")) == (100, 200)


def test_only_the_first_problems_are_kept_and_all_are_counted(tenant, tmp_path):
    path = tmp_path / "turns.jsonl"
    path.write_bytes(b"{}\n" * (importing.KEPT_PROBLEMS + 50))
    report = import_files(tenant=tenant, format_name="native", paths=[path])
    assert len(report.problems) == importing.KEPT_PROBLEMS
    assert report.total("invalid") == importing.KEPT_PROBLEMS + 50


def test_a_damaged_archive_is_an_error_after_what_could_be_read(tenant, tmp_path):
    path = tmp_path / "turns.jsonl.gz"
    path.write_bytes(gzip.compress(encode_turn(make_record()) + b"\n" * 100)[:-9])
    report = import_files(tenant=tenant, format_name="native", paths=[path])
    assert report.total("invalid") == 1
    assert "damaged" in report.problems[0].message


def test_a_turn_that_cannot_be_judged_is_stored_and_waits_for_analysis(tenant, tmp_path, monkeypatch):
    path = tmp_path / "turns.jsonl"
    path.write_bytes(encode_turn(make_record()))

    def broken(record, settings):
        raise ZeroDivisionError

    monkeypatch.setattr(importing, "judge", broken)
    report = import_files(tenant=tenant, format_name="native", paths=[path])
    assert (report.total("accepted"), report.total("analysed")) == (1, 0)
    assert Turn.objects.for_tenant(tenant).get().analysis_state == AnalysisState.PENDING


def test_the_ids_of_one_tenant_are_free_in_another(file, tenant):
    import_files(tenant=tenant, format_name="native", paths=[file])
    report = import_files(tenant=make_tenant("other"), format_name="native", paths=[file])
    assert report.total("accepted") == TURNS


def test_a_turn_that_the_agent_has_sent_itself_is_a_duplicate(tenant, tmp_path):
    record = make_record()
    intake.accept_turns(tenant=tenant, records=[record])
    path = tmp_path / "turns.jsonl"
    path.write_bytes(encode_turn(record))
    report = import_files(tenant=tenant, format_name="native", paths=[path])
    assert (report.total("duplicates"), report.total("analysed")) == (1, 0)
    assert Turn.objects.for_tenant(tenant).get().source == Source.TURN


def test_a_small_import_starts_no_processes(file):
    assert default_jobs([file]) == 1
    assert default_jobs([file.with_name("missing")]) == 1


def test_flags_are_stored_as_the_database_stores_them(file, tenant):
    import_files(tenant=tenant, format_name="native", paths=[file])
    flagged = Turn.objects.for_tenant(tenant).filter(has_uuid=True)
    assert flagged.count() == Finding.objects.for_tenant(tenant).filter(kind="uuid").count()
    assert all(isinstance(turn.has_uuid, bool) for turn in flagged[:3])


_pool: ProcessPoolExecutor


def _die_half_way_through_a_result(_chunk):
    """What a kill in the middle of a large result leaves in the pipe: a length, and less than that."""
    _pool._result_queue._writer._send(b"\x00\x00\x10\x00abc")
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_killed_while_it_writes_a_result_is_noticed(monkeypatch):
    global _pool  # noqa: PLW0603  (the forked worker finds it here)
    monkeypatch.setattr(importing, "WATCH_SECONDS", 0.1)
    _pool = ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork"))
    future = _pool.submit(_die_half_way_through_a_result, None)
    with pytest.raises((importing._WorkerGoneError, BrokenProcessPool)):
        importing._result(future, _pool)
    _pool.shutdown(cancel_futures=True)
