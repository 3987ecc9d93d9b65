"""Values from the environment: lists with or without spaces, secrets that are made once."""

from __future__ import annotations

import stat

import pytest
from environs import EnvError

from reviews.server.env import names, prices, stored_secret


def test_a_list_may_have_spaces(monkeypatch):
    monkeypatch.setenv("SOME_HOSTS", "a.example, b.example ,")
    assert names("SOME_HOSTS") == ["a.example", "b.example"]


def test_a_required_list_must_name_something(monkeypatch):
    monkeypatch.setenv("SOME_HOSTS", " , ")
    with pytest.raises(EnvError):
        names("SOME_HOSTS")
    monkeypatch.delenv("SOME_HOSTS")
    with pytest.raises(EnvError):
        names("SOME_HOSTS")
    assert names("SOME_HOSTS", ["localhost"]) == ["localhost"]


def test_prices_are_two_numbers_or_none(monkeypatch):
    monkeypatch.delenv("SOME_PRICES", raising=False)
    assert prices("SOME_PRICES") is None
    monkeypatch.setenv("SOME_PRICES", "0.15, 0.60")
    assert prices("SOME_PRICES") == (0.15, 0.6)


@pytest.mark.parametrize("text", ["1", "1,2,3", "1,two", "-1,2", "1,nan", "inf,1"])
def test_other_prices_are_refused(monkeypatch, text):
    monkeypatch.setenv("SOME_PRICES", text)
    with pytest.raises(EnvError):
        prices("SOME_PRICES")


def test_a_secret_is_made_once_and_only_its_owner_reads_it(tmp_path):
    path = tmp_path / "data" / "secret-key"
    secret = stored_secret(path)
    assert len(secret) >= 50
    assert stored_secret(path) == secret
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stored_secret(tmp_path / "other") != secret
