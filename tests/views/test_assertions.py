"""The page of memory assertions: pass rates in words, what narrows it, the worklist, a turn's panel."""

from __future__ import annotations

import html
import re
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlencode

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from reviews.core.memory_assertions import digest_of
from reviews.models import AssertionCount, Tenant, Turn
from reviews.models.tenants import Role
from reviews.services.assertion_numbers import AGENTS_SHOWN, Tried
from reviews.services.publishing import save_draft
from reviews.services.review import decide_turn
from reviews.views.assertion_words import rate_words
from reviews.views.assertions import FIRST_ROWS
from tests.factories import make_member, make_turn
from tests.services.asserted import (
    CLEAN,
    CONTAINS,
    EXCLUDES,
    LEAK,
    PLAIN,
    make_failing,
    publish,
    suite_of,
)
from tests.views.counting import asked

pytestmark = pytest.mark.django_db

EVIL = '"><script>alert(1)</script>'


@pytest.fixture
def viewer(client, tenant: Tenant) -> Any:
    vera = make_member(tenant, Role.VIEWER)
    client.force_login(vera)
    return vera


def address(tenant: Tenant, **query: str) -> str:
    path = reverse("reviews:assertions", args=[tenant.slug])
    return f"{path}?{urlencode(query)}" if query else path


def raw(client, tenant: Tenant, **query: str) -> str:
    response = client.get(address(tenant, **query))
    assert response.status_code == 200
    return response.content.decode()


def page(client, tenant: Tenant, **query: str) -> str:
    return html.unescape(raw(client, tenant, **query))


def listed(text: str) -> list[int]:
    """The turns of the worklist."""
    return [
        int(pk) for pk in re.findall(r'class="row failing-row" href="[^"]*/turns/(\d+)/#assertions"', text)
    ]


def table(text: str, name: str) -> list[tuple[str, ...]]:
    """The rows of a table of pass rates: name, passed, failed, rate."""
    section = text.partition(f'<section class="card" aria-labelledby="{name}-title">')[2].partition(
        "</section>"
    )[0]
    rows = section.partition("<tbody>")[2].split("</tr>")[:-1]
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]
    return [tuple(re.sub(r"<[^>]+>", "", cell) for cell in row) for row in cells]


def links(text: str) -> list[dict[str, list[str]]]:
    """What each link to this page itself asks for."""
    return [parse_qs(query) for query in re.findall(r'href="\?([^"]*)"', text)]


def count(
    tenant: Tenant, passed: int, failed: int, *, days: int = 0, agent: str = "", name: str = "a"
) -> None:
    for ok, number in ((True, passed), (False, failed)):
        AssertionCount.objects.across_tenants().create(
            tenant=tenant, day=timezone.now().date() - timedelta(days=days), suite="s", assertion=name,
            agent=agent, passed=ok, count=number,
        )  # fmt: skip


# -- Numbers


def test_a_tenant_without_suites_is_told_what_assertions_are(client, tenant, viewer) -> None:
    text = page(client, tenant)
    assert "Nothing was asserted in the last 30 days" in text
    assert "No suite yet. A manager makes them." in text
    assert listed(text) == []


def test_rates_by_assertion_and_agent(client, tenant, viewer) -> None:
    publish(tenant, suite_of("privacy", EXCLUDES, CONTAINS))
    for agent, attributes in (("bot-a", LEAK), ("bot-a", CLEAN), ("", CLEAN)):
        make_turn(tenant, PLAIN, agent=agent, attributes=attributes)
    text = page(client, tenant)
    assert "83 % passed" in text
    assert "1 of 6 failed in the last 30 days: 83 % passed." in text
    assert table(text, "by-assertion") == [
        ("no cards privacy", "2", "1", "67 %"),
        ("prompt_recall_contains privacy", "3", "0", "100 %"),
    ]
    assert table(text, "by-agent") == [("bot-a", "3", "1", "75 %"), ("(no agent)", "2", "0", "100 %")]


@pytest.mark.parametrize(
    ("passed", "failed", "words"),
    [
        (0, 0, "–"),
        (5, 0, "100 %"),
        (0, 5, "0 %"),
        (2, 1, "67 %"),
        (99, 1, "99 %"),
        (995, 5, "99.5 %"),
        (997, 3, "99.7 %"),
        (999, 1, "99.9 %"),
        (99_999, 1, "> 99.9 %"),
        (1, 99, "1.0 %"),
    ],
)
def test_a_rate_is_never_all_while_something_failed(passed: int, failed: int, words: str) -> None:
    assert rate_words(Tried(passed, failed)) == words


def test_the_window_is_chosen_by_a_link(client, tenant, viewer) -> None:
    for days in (3, 20, 80):
        count(tenant, 8, 1, days=days)
    for days, said in (
        ("7", "1 of 9"),
        ("30", "2 of 18"),
        ("90", "3 of 27"),
        ("8", "2 of 18"),
        ("x", "2 of 18"),
    ):
        text = page(client, tenant, days=days)
        assert f"{said} failed in the last" in text
        shown = days if days in ("7", "30", "90") else "30"
        assert f'<a href="?days={shown}" aria-current="true">' in text
        assert text.count('<g class="day">') == int(shown)


def test_more_agents_than_fit_are_told_as_a_number(client, tenant, viewer) -> None:
    for n in range(AGENTS_SHOWN + 1):
        count(tenant, 1, 1, agent=f"bot-{n}")
    assert "And 1 more agent." in page(client, tenant)
    count(tenant, 1, 1, agent="bot-z")
    assert "And 2 more agents." in page(client, tenant)


# -- Narrowing


def test_links_narrow_the_page_and_chips_undo_it(client, tenant, viewer) -> None:
    publish(tenant, suite_of("privacy", EXCLUDES), suite_of("tone", CONTAINS))
    leak = make_turn(tenant, PLAIN, agent="bot-a", attributes=LEAK)
    bare = make_turn(tenant, PLAIN, agent="bot & b", attributes={})
    text = page(client, tenant, days="7")
    assert listed(text) == [bare.pk, leak.pk]
    by_assertion = {"suite": ["privacy"], "assertion": ["no cards"], "days": ["7"]}
    assert by_assertion in links(text)
    assert {"agent": ["bot & b"], "days": ["7"]} in links(text)

    narrow = raw(client, tenant, suite="tone", assertion="prompt_recall_contains", agent="bot & b", days="7")
    assert listed(narrow) == [bare.pk]
    assert "1 of 1 failed" in narrow
    chips = re.findall(r'<a class="chip" href="\?([^"]*)"', html.unescape(narrow))
    assert [parse_qs(query) for query in chips] == [
        {"agent": ["bot & b"], "days": ["7"]},
        {"suite": ["tone"], "assertion": ["prompt_recall_contains"], "days": ["7"]},
    ]
    # From within a choice, a link to another one keeps the rest.
    assert {
        "suite": ["tone"],
        "assertion": ["prompt_recall_contains"],
        "agent": ["bot-a"],
        "days": ["30"],
    } in [*links(html.unescape(raw(client, tenant, suite="tone", assertion="prompt_recall_contains")))]
    assert table(page(client, tenant, suite="privacy"), "by-assertion") == [
        ("no cards privacy", "0", "2", "0 %")
    ]


def test_an_assertion_without_its_suite_and_nonsense_narrow_nothing(client, tenant, viewer) -> None:
    make_failing(tenant)
    assert len(listed(page(client, tenant, assertion="no cards"))) == 1
    assert len(listed(page(client, tenant, cursor="nonsense"))) == 1
    text = page(client, tenant, suite="nothing")
    assert listed(text) == []
    assert "Only " in text


@pytest.mark.parametrize("name", ["suite", "assertion", "agent", "cursor", "days"])
@pytest.mark.parametrize(
    "value", ["\0", "a\0b", "x" * 3000, "\ud800".encode("utf-8", "surrogatepass"), "%", EVIL]
)
def test_whatever_stands_in_the_address_is_a_page(client, tenant, viewer, name: str, value: Any) -> None:
    make_failing(tenant)
    query = {"suite": "privacy", name: value}
    text = raw(client, tenant, **query)
    assert "<script>alert" not in text


# -- The worklist


def test_a_failing_turn_says_what_failed_and_how_it_stands(client, tenant, viewer) -> None:
    publish(tenant, suite_of("privacy", EXCLUDES, {**CONTAINS, "fragments": ["kosher"]}, queue=True))
    waiting = make_turn(tenant, "I sent the invoice.", agent="bot", attributes=LEAK)
    done = make_turn(tenant, PLAIN, attributes=LEAK)
    decide_turn(
        tenant=tenant, actor=make_member(tenant), turn_id=done.pk, label="false_alarm", seen_version=0
    )
    fine = make_turn(tenant, PLAIN, attributes={"prompt_recall": "kosher"})
    text = page(client, tenant)
    assert listed(text) == [done.pk, waiting.pk]
    assert str(fine.pk) not in [str(pk) for pk in listed(text)]
    first, second = text.split('class="row failing-row"')[1:]
    for words in (
        "no cards",
        "1 fragment reached the model.",
        "prompt_recall_contains",
        "1 fragment not in the recall.",
    ):
        assert words.lower() in second.lower()
    assert '<span class="tag accent">open</span>' in second
    assert "I sent the invoice." in second
    assert '<span class="tag ">' in first
    assert "false alarm" in first or "nothing wrong" in first.lower()


def test_more_of_the_list_is_fetched_by_itself(client, tenant, viewer) -> None:
    turns = [make_failing(tenant, agent="bot & b") for _ in range(FIRST_ROWS + 3)]
    make_failing(tenant, agent="other")
    text = raw(client, tenant, agent="bot & b")
    assert len(listed(text)) == FIRST_ROWS
    more = html.unescape(text.partition('data-more><a class="button" href="')[2].partition('"')[0])
    response = client.get(more, headers={"HX-Request": "true"})
    fragment = response.content.decode()
    assert "<html" not in fragment
    assert listed(text) + listed(fragment) == [turn.pk for turn in turns[::-1]]
    assert "data-more" not in fragment
    assert "HX-Request" in response.headers["Vary"]
    # Without script it is a page that goes on there.
    assert listed(client.get(more).content.decode()) == listed(fragment)


def test_what_agents_say_is_escaped(client, tenant, viewer) -> None:
    publish(tenant, suite_of(EVIL[:60], {**EXCLUDES, "label": EVIL[:60]}, agents=[EVIL], tags=[EVIL]))
    turn = make_turn(tenant, f"I sent the invoice {EVIL}.", agent=EVIL, attributes={**LEAK, "tags": [EVIL]})
    assert turn.assertions == "failed"
    for text in (
        raw(client, tenant),
        raw(client, tenant, suite=EVIL, assertion=EVIL, agent=EVIL),
        client.get(reverse("reviews:turn", args=[tenant.slug, turn.pk])).content.decode(),
    ):
        assert "<script>alert" not in text
        assert "&lt;script&gt;alert" in text


def test_nothing_of_another_tenant(client, tenant, other_tenant, viewer) -> None:
    publish(other_tenant, suite_of("foreign"))
    make_turn(other_tenant, PLAIN, attributes=LEAK, agent="stranger")
    text = page(client, tenant)
    assert "foreign" not in text
    assert "stranger" not in text
    assert client.get(address(other_tenant)).status_code == 404


# -- Suites on the page


def test_a_viewer_reads_suites_in_force_and_nothing_of_what_they_look_for(client, tenant, viewer) -> None:
    publish(
        tenant,
        suite_of("privacy", {**EXCLUDES, "fragments": ["swordfish"]}, CONTAINS, sampling=0.125, queue=True),
        suite_of("tone", agents=["bot-a", "bot-b"], tags=["gold", "silver"]),
    )
    save_draft(tenant=tenant, author=None, values={"assertion_suites": [suite_of("planned")]}, based_on=2)
    text = page(client, tenant)
    assert "no cards, Recall holds all of …" in text
    assert "12.5 %" in text
    assert "100 %" in text
    assert "goes to the queue" in text
    assert "agents bot-a, bot-b; turns tagged gold or silver" in text
    for hidden in ("swordfish", "vegan", "4111", "planned", "/suites/", "New suite", "not in force yet"):
        assert hidden not in text


def test_a_manager_edits_the_newest_draft_of_them(client, tenant) -> None:
    client.force_login(make_member(tenant, Role.MANAGER))
    publish(tenant, suite_of("privacy", {**EXCLUDES, "fragments": ["swordfish"]}))
    text = page(client, tenant)
    assert f'<a href="{reverse("reviews:suite", args=[tenant.slug, 0])}">privacy</a>' in text
    assert "New suite" in text
    assert "not in force yet" not in text
    save_draft(
        tenant=tenant, author=None, values={"assertion_suites": [suite_of("a"), suite_of("b")]}, based_on=2
    )
    text = page(client, tenant)
    assert "version 3</a>, which is not in force yet." in text
    assert f'<a href="{reverse("reviews:suite", args=[tenant.slug, 1])}">b</a>' in text
    assert "swordfish" not in text


# -- The turn's page and the queue


def turn_page(client, turn: Turn) -> str:
    response = client.get(reverse("reviews:turn", args=[turn.tenant.slug, turn.pk]))
    assert response.status_code == 200
    return html.unescape(response.content.decode())


def test_a_turns_page_tells_its_results(client, tenant, viewer) -> None:
    publish(tenant, suite_of("privacy", EXCLUDES, CONTAINS), suite_of("tone", CONTAINS))
    turn = make_turn(tenant, PLAIN, attributes=LEAK)
    panel = turn_page(client, turn).partition('<section id="assertions"')[2].partition("</section>")[0]
    privacy, tone = panel.split("<details")[1:]
    assert privacy.startswith(' class="call" open>')
    assert "1 failed" in privacy
    assert "1 fragment reached the model." in privacy.lower()
    assert "1 text looked for, 1 leaked" in privacy
    assert digest_of("4111") in privacy
    assert tone.startswith(' class="call">')
    assert "1 passed" in tone
    assert "4111" not in panel
    assert "vegan" not in panel


def test_a_turn_of_which_nothing_was_asserted_has_no_panel(client, tenant, viewer) -> None:
    assert '<section id="assertions"' not in turn_page(client, make_turn(tenant, PLAIN, attributes=LEAK))


def test_why_a_turn_without_findings_waits(client, tenant, viewer) -> None:
    publish(tenant, suite_of(queue=True))
    words = "A memory assertion failed."
    assert words in turn_page(client, make_turn(tenant, PLAIN, attributes=LEAK))
    assert words not in turn_page(client, make_turn(tenant, "I sent the invoice.", attributes=LEAK))
    publish(tenant, suite_of(queue=False))
    assert words not in turn_page(client, make_turn(tenant, PLAIN, attributes=LEAK))


def test_the_queue_marks_and_finds_them(client, tenant, viewer) -> None:
    publish(tenant, suite_of(queue=True))
    failed, flagged = make_turn(tenant, PLAIN, attributes=LEAK), make_turn(tenant, attributes=CLEAN)
    queue = reverse("reviews:queue", args=[tenant.slug])

    def rows(query: str) -> dict[int, bool]:
        text = client.get(queue + query).content.decode()
        found = re.findall(r'<a class="row" href="[^"]*/turns/(\d+)/[^"]*".*?</a>', text, re.DOTALL)
        marked = {
            int(row.partition("/turns/")[2].partition("/")[0])
            for row in text.split('<a class="row"')[1:]
            if "assertion failed" in row.partition("</a>")[0]
        }
        return {int(pk): int(pk) in marked for pk in found}

    assert rows("") == {failed.pk: True, flagged.pk: False}
    assert rows("?assertions=failed") == {failed.pk: True}
    checked = client.get(f"{queue}?assertions=failed").content.decode()
    assert '<input type="checkbox" name="assertions" value="failed" checked>' in checked


def test_the_page_asks_no_more_the_more_there_is(client, tenant, viewer) -> None:
    def cost() -> int:
        with CaptureQueriesContext(connection) as queries:
            page(client, tenant)
        return asked(queries)

    publish(tenant, suite_of())
    make_failing(tenant)
    count(tenant, 1, 1)
    page(client, tenant)
    few = cost()
    publish(tenant, *(suite_of(f"s{n}", EXCLUDES, CONTAINS) for n in range(10)))
    page(client, tenant)
    for n in range(20):
        make_failing(tenant, agent=f"bot-{n}", failed=(("a", "b"), ("a", "c")))
        count(tenant, 1, 1, agent=f"bot-{n}", name=f"n{n}")
    assert cost() <= few
