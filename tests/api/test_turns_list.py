from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from reviews.api import cursors, turn_pages
from reviews.models import Turn
from reviews.models.turns import Kind
from tests.factories import call, make_turn

from .conftest import CONFINING

TURNS = "/api/v1/turns"
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)

PLAIN = "Nothing is claimed here."
VERB = "I sent the invoice."
KEY = "The task_id=job-4711 is queued."


@pytest.fixture
def turns(tenant, other_tenant) -> list[Turn]:
    """Twelve turns, oldest first; four at the very same time; agents, kinds and states vary."""
    made = [
        make_turn(
            tenant,
            [PLAIN, VERB, KEY][n % 3],
            external_id=f"run-{n}",
            agent="ann" if n % 2 else "bob",
            occurred_at=NOON + timedelta(minutes=n if n < 4 or n > 7 else 4),
        )
        for n in range(12)
    ]
    make_turn(other_tenant, VERB, external_id="foreign", agent="ann", occurred_at=NOON)
    return made


def _ids(body) -> list[str]:
    return [turn["external_id"] for turn in body["turns"]]


def _walk(api, query: str) -> list[str]:
    """All pages of a query, checking that each leads on until the last."""
    found, cursor = [], ""
    for _ in range(100):
        response = api.get(f"{TURNS}?{query}{cursor}")
        assert response.status_code == 200, response.content
        body = response.json()
        found += _ids(body)
        if body["next_cursor"] is None:
            return found
        cursor = f"&cursor={body['next_cursor']}"
    raise AssertionError("the pages never end")


NEWEST_FIRST = [f"run-{n}" for n in reversed(range(12))]


def test_newest_first_and_only_ones_own(api, turns):
    body = api.get(TURNS).json()
    assert _ids(body) == NEWEST_FIRST
    assert body["next_cursor"] is None


def test_a_row_says_what_a_list_needs(api, tenant):
    turn = make_turn(
        tenant,
        "I sent it: 6f9619ff-8b86-4011-b42d-00c04fc964ff",
        external_id="run-1",
        agent="ann",
        model="m-1",
        conversation_id="c-1",
        occurred_at=NOON,
        tool_calls=[call("search")],
    )
    (row,) = api.get(TURNS).json()["turns"]
    received = row.pop("received_at")
    assert received.endswith("Z")
    assert row == {
        "id": turn.pk,
        "external_id": "run-1",
        "source": "turn",
        "conversation_id": "c-1",
        "agent": "ann",
        "model": "m-1",
        "occurred_at": "2026-01-31T12:00:00Z",
        "analysis_state": "done",
        "outcome": "observed",
        "intent": "",
        "finding_count": 2,
        "kinds": ["verb_claim", "uuid"],
        "max_severity": "high",
        "max_confidence": 0.95,
        "snippet": turn.snippet,
        "tools_note": "ran search",
        "review_state": "open",
        "verdict": "",
        "version": 0,
    }


def test_nothing_yet(api):
    assert api.get(TURNS).json() == {"turns": [], "next_cursor": None}


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 11, 12, 13, 200])
def test_pages_are_whole_and_do_not_overlap(api, turns, limit):
    assert _walk(api, f"limit={limit}") == NEWEST_FIRST


@pytest.mark.parametrize("scan", [1, 2, 3, 4, 5, 7, 12, 5000])
@pytest.mark.parametrize("limit", [1, 3, 50])
@pytest.mark.parametrize(
    "query",
    [
        "kind=verb_claim",
        "outcome=observed",
        "agent=ann&review_state=open",
        "kind=kv&outcome=observed&agent=bob",
    ],
)
def test_filtered_pages_are_whole_however_little_is_scanned(api, turns, monkeypatch, scan, limit, query):
    whole = _ids(api.get(f"{TURNS}?{query}&limit=200").json())
    assert whole
    monkeypatch.setattr(turn_pages, "SCAN_LIMIT", scan)
    assert _walk(api, f"{query}&limit={limit}") == whole


FILTERS = {
    "agent=ann": lambda n: n % 2 == 1,
    "agent=nobody": lambda n: False,
    "agent=": lambda n: False,
    "review_state=open": lambda n: n % 3 != 0,
    "review_state=none": lambda n: n % 3 == 0,
    "review_state=decided": lambda n: False,
    "kind=verb_claim": lambda n: n % 3 == 1,
    "kind=kv": lambda n: n % 3 == 2,
    "kind=uuid": lambda n: False,
    "outcome=observed": lambda n: n % 3 != 0,
    "outcome=none": lambda n: n % 3 == 0,
    "since=2026-01-31T12:04:00Z": lambda n: n >= 4,
    "until=2026-01-31T12:04:00Z": lambda n: n < 4,
    "since=2026-01-31T13:04:00%2B01:00&until=2026-01-31T12:09:00Z": lambda n: 4 <= n < 9,
    "external_id=run-7": lambda n: n == 7,
    "external_id=foreign": lambda n: False,
    "external_id=run-7&agent=bob": lambda n: False,
    "agent=ann&review_state=open&kind=kv&outcome=observed": lambda n: n % 2 == 1 and n % 3 == 2,
}


@pytest.mark.parametrize("query", FILTERS)
def test_filters(api, turns, query):
    expected = [f"run-{n}" for n in reversed(range(12)) if FILTERS[query](n)]
    assert _ids(api.get(f"{TURNS}?{query}").json()) == expected
    assert _walk(api, f"{query}&limit=1") == expected


def test_turns_that_arrive_meanwhile_do_not_disturb_the_pages(api, turns, tenant):
    body = api.get(f"{TURNS}?limit=5").json()
    make_turn(tenant, PLAIN, external_id="newer", occurred_at=NOON + timedelta(hours=1))
    rest = api.get(f"{TURNS}?cursor={body['next_cursor']}").json()
    assert _ids(body) + _ids(rest) == NEWEST_FIRST


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("limit=-1", "limit"),
        ("limit=1.5", "limit"),
        ("limit=%E0%A5%A7", "limit"),
        ("limit=" + "9" * 5000, "limit"),
        ("limit=", "limit"),
        ("limit=1&limit=2", "limit"),
        ("agent=" + "a" * 201, "agent"),
        ("agent=%00", "agent"),
        ("external_id=" + "a" * 201, "external_id"),
        ("review_state=closed", "review_state"),
        ("kind=", "kind"),
        ("kind=UUID", "kind"),
        ("outcome=1", "outcome"),
        ("since=yesterday", "since"),
        ("since=2026-01-31", "since"),
        ("since=2026-01-31T12:00:00", "since"),
        ("since=2026-02-31T12:00:00Z", "since"),
        ("since=0001-01-01T00:00:00%2B23:00", "since"),
        ("until=9999-12-31T23:59:59-23:00", "until"),
        ("until=" + "1" * 10_000, "until"),
        ("colour=red", "colour"),
        ("format=xml", "format"),
        ("offset=5", "offset"),
        ("%00=1", "\x00"),
        ("cursor=", "cursor"),
        ("cursor=abc", "cursor"),
        ("cursor=" + "A" * 21, "cursor"),
        ("cursor=" + "A" * 23, "cursor"),
        ("cursor=" + "é" * 22, "cursor"),
        ("cursor=" + "_" * 22, "cursor"),
        ("cursor=f" + "_" * 21, "cursor"),
        ("cursor=" + "A" * 21 + "B", "cursor"),
        ("cursor=" + "A" * 10 + "%00" + "A" * 11, "cursor"),
    ],
)
def test_a_wrong_parameter_is_named(api, turns, query, name):
    response = api.get(f"{TURNS}?{query}")
    assert response.status_code == 400
    body = response.json()
    assert body["code"] == "invalid"
    assert list(body["fields"]) == [name]
    assert len(body["fields"][name]) < 300


def test_all_wrong_parameters_are_named_at_once(api):
    body = api.get(f"{TURNS}?limit=0&kind=x&more=1").json()
    assert set(body["fields"]) == {"limit", "kind", "more"}


def test_bytes_that_are_no_text_are_no_error_of_ours(api, turns):
    assert api.get(f"{TURNS}?agent=%FF%FE").json()["turns"] == []
    assert api.get(f"{TURNS}?agent=%ED%A0%80").json()["turns"] == []


@pytest.mark.parametrize(
    "query", ["", "?agent=ann", "?review_state=open", "?kind=verb_claim", "?external_id=run-1"]
)
def test_two_queries_for_few_and_many(api, tenant, django_assert_num_queries, query):
    for _ in range(2):
        with django_assert_num_queries(2 + CONFINING):
            assert api.get(TURNS + query).status_code == 200
        for n in range(60):
            make_turn(tenant, VERB, agent="ann", analysed=n == 59)


def test_two_queries_for_a_page_that_ends_at_the_scan_limit(
    api, turns, monkeypatch, django_assert_num_queries
):
    monkeypatch.setattr(turn_pages, "SCAN_LIMIT", 3)
    with django_assert_num_queries(2 + CONFINING):
        body = api.get(f"{TURNS}?kind=uuid").json()
    assert body["turns"] == []
    with django_assert_num_queries(2 + CONFINING):
        assert api.get(f"{TURNS}?kind=uuid&cursor={body['next_cursor']}").json()["next_cursor"]


def test_every_kind_can_be_asked_for(api, turns):
    for kind in Kind.values:
        assert api.get(f"{TURNS}?kind={kind}").status_code == 200


class TestCursors:
    def test_are_read_back_to_the_microsecond(self):
        for when in (NOON, datetime(1969, 5, 5, 1, 2, 3, 4, tzinfo=UTC), datetime(9998, 1, 1, tzinfo=UTC)):
            position = cursors.Position(when, 2**62)
            assert cursors.decode(cursors.encode(position)) == position

    def test_of_another_tenant_give_nothing_away(self, other_api, turns):
        cursor = cursors.encode(cursors.Position(NOON + timedelta(days=1), 10**9))
        assert _ids(other_api.get(f"{TURNS}?cursor={cursor}").json()) == ["foreign"]
