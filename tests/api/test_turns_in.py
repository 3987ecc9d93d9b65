from __future__ import annotations

import gzip
import json

import pytest

from reviews import tasks
from reviews.api.bodies import BODY_BYTES
from reviews.models import DailyCount, Turn, TurnPayload
from reviews.models.turns import AnalysisState, Source
from reviews.services import analysis

TURNS = "/api/v1/turns"


def _turn(external_id="run-1", draft="I sent the invoice.", **fields):
    return {"external_id": external_id, "draft": draft, **fields}


@pytest.fixture
def hints(monkeypatch):
    """Counts the hints to the workers, and checks that the turns are there when one is given."""
    given = []
    monkeypatch.setattr(tasks, "hint_analysis", lambda: given.append(Turn.objects.across_tenants().count()))
    return given


class TestOne:
    def test_is_created(self, api, tenant, hints):
        response = api.send(TURNS, _turn(agent="a", model="m", occurred_at="2026-01-31T12:00:00+01:00"))
        assert response.status_code == 201
        turn = Turn.objects.for_tenant(tenant).get()
        assert response.json() == {"status": "accepted", "id": turn.pk, "external_id": "run-1"}
        assert (turn.agent, turn.model, turn.source) == ("a", "m", Source.TURN)
        assert turn.occurred_at.isoformat() == "2026-01-31T11:00:00+00:00"
        assert turn.analysis_state == AnalysisState.PENDING
        assert hints == [1]

    def test_again_is_a_duplicate(self, api, tenant, hints):
        first = api.send(TURNS, _turn()).json()
        response = api.send(TURNS, '{"draft": "I sent the invoice.",  "external_id": "run-1"}')
        assert response.status_code == 200
        assert response.json() == {**first, "status": "duplicate"}
        assert Turn.objects.for_tenant(tenant).count() == 1
        assert len(hints) == 1

    def test_with_other_content_is_a_conflict(self, api, tenant, hints):
        first = api.send(TURNS, _turn()).json()
        response = api.send(TURNS, _turn(draft="Something else."))
        assert response.status_code == 409
        body = response.json()
        assert (body["code"], body["status"], body["id"]) == ("conflict", "conflict", first["id"])
        assert TurnPayload.objects.for_tenant(tenant).get().draft == "I sent the invoice."
        assert len(hints) == 1

    def test_the_same_id_of_two_tenants_is_two_turns(self, api, other_api, tenant, other_tenant):
        assert api.send(TURNS, _turn()).status_code == 201
        assert other_api.send(TURNS, _turn(draft="Another.")).status_code == 201
        assert Turn.objects.for_tenant(tenant).count() == Turn.objects.for_tenant(other_tenant).count() == 1

    def test_a_broker_that_is_away_does_not_matter(self, api, monkeypatch):
        def fail():
            raise OSError("no broker")

        monkeypatch.setattr(tasks.analyse_pending, "delay", fail)
        assert api.send(TURNS, _turn()).status_code == 201

    def test_without_a_media_type_is_json(self, api):
        assert api.send(TURNS, _turn(), content_type="").status_code == 201


class TestMany:
    def test_a_list_keeps_the_good_rows(self, api, tenant, hints):
        api.send(TURNS, _turn("known"))
        rows = [
            _turn("new"),
            _turn("known"),
            _turn("known", draft="other"),
            {"external_id": "", "draft": "x"},
            _turn("new"),
            _turn("new", draft="other"),
            {"external_id": "typed", "draft": 5},
            "no object",
            _turn("last"),
        ]
        response = api.send(TURNS, rows)
        assert response.status_code == 200
        body = response.json()
        counts = {name: body[name] for name in ("accepted", "duplicates", "conflicts", "invalid")}
        assert counts == {"accepted": 2, "duplicates": 2, "conflicts": 2, "invalid": 3}
        results = body["results"]
        assert [result["index"] for result in results] == list(range(9))
        assert [result["status"] for result in results] == [
            "accepted", "duplicate", "conflict", "invalid",
            "duplicate", "conflict", "invalid", "invalid", "accepted",
        ]  # fmt: skip
        assert results[6]["pointer"] == "/draft"
        assert "line" not in results[6]
        assert results[0]["id"] == results[4]["id"] == results[5]["id"]
        assert Turn.objects.for_tenant(tenant).count() == 3
        assert len(hints) == 2

    def test_ndjson_tells_the_line(self, api, tenant):
        body = b'\n{"external_id": "a", "draft": "x"}\r\n\n{"external_id": "b"}\n'
        body += b'{"external_id": "c", "draft": ""}'
        response = api.send(TURNS, body, content_type="application/x-ndjson; charset=utf-8")
        assert response.status_code == 200
        results = response.json()["results"]
        assert [result["status"] for result in results] == ["accepted", "invalid", "accepted"]
        assert (results[1]["line"], results[1]["pointer"]) == (4, "/draft")

    def test_one_line_of_ndjson_is_answered_as_many(self, api):
        response = api.send(TURNS, json.dumps(_turn()), content_type="application/jsonl")
        assert response.status_code == 200
        assert response.json()["accepted"] == 1

    def test_a_list_of_one_is_answered_as_many(self, api):
        assert api.send(TURNS, [_turn()]).json()["results"][0]["status"] == "accepted"

    def test_an_empty_list_is_nothing(self, api, hints):
        response = api.send(TURNS, [])
        assert response.json() == {
            "accepted": 0,
            "duplicates": 0,
            "conflicts": 0,
            "invalid": 0,
            "results": [],
        }
        assert hints == []

    def test_a_list_of_only_bad_rows_is_answered(self, api, hints):
        assert api.send(TURNS, [1, None]).json()["invalid"] == 2
        assert hints == []

    def test_a_thousand_is_the_most(self, api, tenant):
        rows = [_turn(f"run-{n}", draft="x") for n in range(1001)]
        response = api.send(TURNS, rows)
        assert response.status_code == 400
        assert "1000" in response.json()["message"]
        assert not Turn.objects.for_tenant(tenant).exists()
        assert api.send(TURNS, rows[:1000]).json()["accepted"] == 1000

    def test_the_number_of_queries_does_not_grow(self, api, django_assert_max_num_queries):
        api.send(TURNS, _turn("warm-up", agent="a"))
        for number in (1, 300):
            rows = [_turn(f"{number}-{n}", agent="a") for n in range(number)]
            with django_assert_max_num_queries(9):
                assert api.send(TURNS, rows).json()["accepted"] == number


class TestCompressed:
    def test_gzip_is_read(self, api):
        raw = gzip.compress(json.dumps(_turn()).encode())
        assert api.send(TURNS, raw, headers={"content-encoding": "gzip"}).status_code == 201

    @pytest.mark.parametrize(
        "raw",
        [
            b"",
            b"{}",
            gzip.compress(b"{}", mtime=0)[:-4],
            gzip.compress(b"{}", mtime=0) + b"more",
            gzip.compress(b"{}", mtime=0) * 2,
        ],
    )
    def test_damaged_data_are_refused(self, api, raw):
        response = api.send(TURNS, raw, headers={"content-encoding": "gzip"})
        assert response.status_code == 400
        assert response.json()["code"] == "invalid"

    def test_a_bomb_is_too_large(self, api):
        raw = gzip.compress(b" " * (BODY_BYTES + 1))
        assert len(raw) < 20_000
        response = api.send(TURNS, raw, headers={"content-encoding": "gzip"})
        assert response.status_code == 413
        assert response.json()["code"] == "too_large"

    def test_another_encoding_is_not_known(self, api):
        response = api.send(TURNS, _turn(), headers={"content-encoding": "br"})
        assert response.status_code == 415
        assert response.json()["code"] == "unsupported_media_type"


def test_what_came_in_is_analysed(api, tenant):
    api.send(TURNS, _turn())
    analysis.analyse_pending()
    turn = Turn.objects.for_tenant(tenant).get()
    assert turn.kind_list == ["verb_claim"]
    assert DailyCount.objects.for_tenant(tenant).get(name="flagged").count == 1
