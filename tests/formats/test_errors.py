from __future__ import annotations

import pickle

from reviews.formats.errors import RecordError, pointer


def test_pointer_escapes_as_rfc_6901_says() -> None:
    assert pointer(["a/b", 0, "m~n", ""]) == "/a~1b/0/m~0n/"


def test_pointer_of_the_whole_document_is_empty() -> None:
    assert pointer([]) == ""


def test_pointer_does_not_echo_megabytes_of_key() -> None:
    assert len(pointer(["k" * 1_000_000])) < 300
    assert len(pointer(["k" * 150] * 64)) <= 1001


def test_pointer_can_always_be_sent() -> None:
    assert pointer(["\ud800", "\0"]).encode() == "/?/\ufffd".encode()


def test_error_survives_pickling_for_worker_processes() -> None:
    error = pickle.loads(pickle.dumps(RecordError("/draft", "missing")))
    assert (error.pointer, error.message) == ("/draft", "missing")


def test_error_reads_well() -> None:
    assert str(RecordError("", "found nothing")) == "document: found nothing"
    assert str(RecordError("/a", "found nothing")) == "/a: found nothing"
