"""The editor of a suite: every field reaches it, nothing typed is lost, and what is wrong stands beside its
field."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from reviews.core.assertion_suites import ASSERTION_TYPES, MAX_ASSERTIONS, MAX_SUITES, AssertionSuite
from reviews.models import PolicyVersion, Tenant
from reviews.models.policies import PolicyState
from reviews.models.tenants import Role
from reviews.services.policies import policy_of, policy_version
from reviews.services.publishing import discard, save_draft, start_shadow
from reviews.services.publishing import publish as publish_version
from reviews.suite_forms import OPTIONS, TYPE_HINTS, TYPE_NAMES, blank
from tests.factories import make_member
from tests.services.asserted import CONTAINS, EXCLUDES, publish, suite_of
from tests.views.counting import asked

pytestmark = pytest.mark.django_db

EVIL = '"><script>alert(1)</script>'
#: Every field of every type, none at its default.
FULL: dict[str, Any] = {
    "name": "privacy",
    "agents": ["support", "sales"],
    "tags": ["gold"],
    "sampling": 0.25,
    "queue": True,
    "assertions": [
        {
            "type": "prompt_recall_excludes",
            "label": "no cards",
            "fragments": ["4111", "a: b"],
            "attribute": "mine",
            "case_sensitive": True,
        },
        {
            "type": "prompt_recall_contains",
            "label": "diet",
            "fragments": ["vegan"],
            "attribute": "yours",
            "case_sensitive": True,
        },
        {
            "type": "memory_category_separated",
            "label": "kept apart",
            "expected": {"billing": "ana", "mail:in": "leo: work", "odd:": "x"},
            "attribute": "records",
            "minimum_per_category": 3,
            "allow_extra": True,
        },
        {
            "type": "response_does_not_contradict_recall",
            "label": "no contradiction",
            "recall_attribute": "recalled",
            "response_attribute": "said",
            "minimum": 2,
        },
    ],
}


@pytest.fixture
def max_(client, tenant: Tenant) -> Any:
    manager = make_member(tenant, Role.MANAGER, "max")
    client.force_login(manager)
    return manager


def new_url(tenant: Tenant) -> str:
    return reverse("reviews:new-suite", args=[tenant.slug])


def url(tenant: Tenant, position: int = 0) -> str:
    return reverse("reviews:suite", args=[tenant.slug, position])


class _Form(HTMLParser):
    """What a browser would send of the form, and the values of its buttons."""

    def __init__(self) -> None:
        super().__init__()
        self.fields: dict[str, list[str]] = {}
        self.buttons: list[tuple[str, str]] = []
        self.inside = False
        self.typing = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        found = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.inside = found.get("id") == "suite"
        if not self.inside or not found.get("name") or found["name"] == "csrfmiddlewaretoken":
            return
        if tag == "textarea":
            self.typing = found["name"]
            self.fields.setdefault(self.typing, []).append("")
        elif tag == "input" and (found.get("type") != "checkbox" or "checked" in found):
            is_box = found.get("type") == "checkbox"
            self.fields.setdefault(found["name"], []).append(found.get("value", "on" if is_box else ""))
        elif tag == "button":
            self.buttons.append((found["name"], found.get("value", "")))

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self.typing = ""
        elif tag == "form":
            self.inside = False

    def handle_data(self, data: str) -> None:
        if self.typing:
            self.fields[self.typing][-1] += data.replace("\r\n", "\n")


def form_of(response: Any) -> _Form:
    form = _Form()
    form.feed(response.content.decode())
    assert form.fields
    return form


def shown(client, address: str) -> dict[str, list[str]]:
    response = client.get(address)
    assert response.status_code == 200
    return form_of(response).fields


def typed(suite: dict[str, Any], based_on: int = 1, **changes: Any) -> dict[str, Any]:
    """A form as somebody would fill it in to get this suite."""
    sent: dict[str, Any] = {
        "name": suite["name"],
        "agents": "\r\n".join(suite.get("agents", [])),
        "tags": "\r\n".join(suite.get("tags", [])),
        "sampling": str(suite.get("sampling", 1)),
        "based_on": str(based_on),
        "note": "Why not.",
        "type": [each["type"] for each in suite["assertions"]],
    }
    if suite.get("queue"):
        sent["queue"] = "on"
    for n, each in enumerate(suite["assertions"]):
        for option, value in each.items():
            if isinstance(value, dict):
                sent[f"{n}-{option}"] = "\r\n".join(f"{key}: {item}" for key, item in value.items())
            elif isinstance(value, list):
                sent[f"{n}-{option}"] = "\r\n".join(value)
            elif value is True:
                sent[f"{n}-{option}"] = "on"
            elif value is not False and option != "type":
                sent[f"{n}-{option}"] = str(value)
    return {**sent, **changes}


def suites_in(tenant: Tenant, number: int) -> tuple[AssertionSuite, ...]:
    return policy_of(policy_version(tenant=tenant, number=number)).settings.assertion_suites


def as_json(tenant: Tenant, number: int) -> list[dict[str, Any]]:
    stored = PolicyVersion.objects.for_tenant(tenant).get(number=number).settings
    return stored["assertion_suites"]


def last_number(tenant: Tenant) -> int:
    return PolicyVersion.objects.for_tenant(tenant).latest("number").number


def text_of(response: Any) -> str:
    return html.unescape(response.content.decode())


def errors_of(response: Any, name: str) -> str:
    """What stands beside a field as wrong."""
    found = re.search(
        rf'<ul class="field-error" id="id_{re.escape(name)}-error">(.*?)</ul>', response.content.decode()
    )
    return html.unescape(found.group(1)) if found else ""


# -- The form is the suite


def test_the_form_knows_every_type_and_option() -> None:
    assert OPTIONS.keys() == TYPE_NAMES.keys() == TYPE_HINTS.keys() == ASSERTION_TYPES.keys()
    for kind, options in OPTIONS.items():
        assert options.keys() == ASSERTION_TYPES[kind].keys(), kind
        # What a new one shows is what leaving it out means.
        others = {"fragments": ["x"]} if "fragments" in options else {}
        others |= {"expected": {"a": "b"}} if "expected" in options else {}
        bare, filled = ({**others, **extra} for extra in ({}, blank(kind).options))
        assert type(blank(kind))(kind, "", bare).assertion == type(blank(kind))(kind, "", filled).assertion


def test_every_field_reaches_the_suite(client, tenant, max_) -> None:
    response = client.post(new_url(tenant), typed(FULL))
    assert response.status_code == 302
    assert (
        response.headers["Location"]
        == f"{reverse('reviews:policy-version', args=[tenant.slug, 2])}?done=drafted"
    )
    assert as_json(tenant, 2) == [FULL]
    draft = policy_version(tenant=tenant, number=2)
    assert (draft.state, draft.author, draft.note) == (PolicyState.DRAFT, max_, "Why not.")


def test_what_the_form_shows_is_the_suite(client, tenant, max_) -> None:
    """Sent back untouched it is no change: nothing in it is lost on the way, however it was written."""
    odd = suite_of(
        "odd", {**EXCLUDES, "fragments": ["  a  b ", "tab\there", "</textarea>", "ünï 漢"], "label": "=1+1"},
        {"type": "memory_category_separated", "expected": {"a:b": "c:d", "a/b": "x: y: z", "c:": ": d"}},
        {"type": "response_does_not_contradict_recall"},
        agents=["a, b", "<b>"], sampling=0.001,
    )  # fmt: skip
    publish(tenant, FULL, odd)
    for position in (0, 1):
        fields = shown(client, url(tenant, position))
        assert fields["based_on"] == ["2"]
        response = client.post(url(tenant, position), {**fields, "note": ""})
        assert response.status_code in (302, 422)
        if response.status_code == 422:
            assert "Nothing differs from version 2." in text_of(response)
        else:
            # Options that were left out are written down now; they mean the same.
            before, after = suites_in(tenant, 2)[position], suites_in(tenant, last_number(tenant))[position]
            assert [s.assertion for s in before.assertions] == [s.assertion for s in after.assertions]
            assert before.labels() == after.labels()
            discard(tenant=tenant, actor=max_, number=last_number(tenant))


def test_flags_can_be_taken_away_and_fields_emptied(client, tenant, max_) -> None:
    publish(tenant, FULL)
    fields = shown(client, url(tenant))
    for name in ("queue", "0-case_sensitive", "1-case_sensitive", "2-allow_extra"):
        assert fields.pop(name) == ["on"]
    fields |= {"agents": "", "tags": " \r\n ", "0-label": "", "0-attribute": "", "2-minimum_per_category": ""}
    assert client.post(url(tenant), fields).status_code == 302
    (suite,) = suites_in(tenant, 3)
    assert (suite.agents, suite.tags, suite.queue) == ((), (), False)
    excludes, contains, separated, _ = (spec.assertion for spec in suite.assertions)
    assert (excludes.case_sensitive, contains.case_sensitive, separated.allow_extra) == (False, False, False)
    assert (excludes.attribute, separated.minimum_per_category) == ("prompt_recall", 1)
    assert suite.labels()[0] == "prompt_recall_excludes"


def test_a_suite_takes_its_own_place_and_a_new_one_the_end(client, tenant, max_) -> None:
    publish(tenant, suite_of("a"), suite_of("b"), suite_of("c"))
    assert client.post(url(tenant, 1), typed(suite_of("renamed"), 2)).status_code == 302
    assert [suite.name for suite in suites_in(tenant, 3)] == ["a", "renamed", "c"]
    assert client.post(new_url(tenant), typed(suite_of("d"), 3)).status_code == 302
    assert [suite.name for suite in suites_in(tenant, 4)] == ["a", "renamed", "c", "d"]
    states = dict(PolicyVersion.objects.for_tenant(tenant).values_list("number", "state"))
    assert (states[3], states[4]) == (PolicyState.SUPERSEDED, PolicyState.DRAFT)


def test_the_other_settings_stay(client, tenant, max_) -> None:
    publish(tenant, fabrication_check_mode="refuse", identifier_keys=["pnr"])
    client.post(new_url(tenant), typed(suite_of(), 2))
    before, after = (policy_of(policy_version(tenant=tenant, number=n)).settings.to_json() for n in (2, 3))
    assert after | {"assertion_suites": ()} == before | {"assertion_suites": ()}


# -- Adding and taking out


@pytest.mark.parametrize("is_htmx", [False, True])
def test_adding_keeps_what_was_typed(client, tenant, max_, is_htmx: bool) -> None:
    headers = {"HX-Request": "true"} if is_htmx else {}
    half = typed(
        FULL, **{"name": "half, ", "sampling": "lots", "0-fragments": "4111\r\n  \r\nx", "note": "Not yet"}
    )
    half["2-expected"] = "no colon"
    fields = half
    for n, kind in enumerate(OPTIONS, start=4):
        response = client.post(new_url(tenant), {**fields, "add": kind}, headers=headers)
        assert response.status_code == 200
        assert (b"<html" in response.content) is not is_htmx
        fields = form_of(response).fields
        assert fields["type"] == [*half["type"], *list(OPTIONS)[: n - 3]]
        for name, value in half.items():
            if name != "type":
                assert fields[name] == [value.replace("\r\n", "\n")], name
        assert {name: fields[f"{n}-{name}"] for name in blank(kind).options} == {
            name: [str(value)] for name, value in blank(kind).options.items()
        }
    assert last_number(tenant) == 1


@pytest.mark.parametrize("gone", range(4))
def test_taking_one_out_moves_the_others_up_as_they_were_typed(client, tenant, max_, gone: int) -> None:
    response = client.post(new_url(tenant), {**typed(FULL), "take_out": str(gone)})
    assert response.status_code == 200
    fields = form_of(response).fields
    rest = {**FULL, "assertions": [each for n, each in enumerate(FULL["assertions"]) if n != gone]}
    assert client.post(new_url(tenant), fields).status_code == 302
    assert as_json(tenant, 2) == [rest]


def test_the_last_one_cannot_be_taken_out_nor_too_many_added(client, tenant, max_) -> None:
    assert not [value for name, value in form_of(client.get(new_url(tenant))).buttons if name == "take_out"]
    full = suite_of("full", *[CONTAINS] * MAX_ASSERTIONS)
    publish(tenant, full)
    form = form_of(client.get(url(tenant)))
    assert "add" not in dict(form.buttons)
    assert sum(name == "take_out" for name, _ in form.buttons) == MAX_ASSERTIONS
    more = suite_of("full", *[CONTAINS] * (MAX_ASSERTIONS + 1))
    response = client.post(url(tenant), typed(more, 2))
    assert response.status_code == 422
    assert f"A suite has 1 to {MAX_ASSERTIONS} assertions, not {MAX_ASSERTIONS + 1}." in text_of(response)
    assert "A suite has 1 to" in text_of(client.post(url(tenant), typed(suite_of("none"), 2, type=[])))
    assert last_number(tenant) == 2


@pytest.mark.parametrize(
    "crafted",
    [
        {"add": "nonsense"},
        {"add": "nonsense", "take_out": "0"},
        {"take_out": "9"},
        {"take_out": "-1"},
        {"take_out": "²"},
        {"take_out": "9" * 5000},
        {"type": ["nonsense", "prompt_recall_excludes"]},
        {"type": ["prompt_recall_excludes"] * 200},
        {"sampling": "nan"},
        {"sampling": "9" * 5000},
        {"0-label": "x" * 61},
        {"based_on": ""},
        {"delete": "1"},
    ],
    ids=str,
)
def test_whatever_is_sent_is_answered(client, tenant, max_, crafted: dict[str, Any]) -> None:
    response = client.post(new_url(tenant), typed(suite_of(), **crafted))
    assert response.status_code in (200, 302, 404, 422)


# -- What is wrong


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("name", "", "required"),
        ("name", "x" * 61, "at most 60"),
        ("name", "a\tb\nc", "no line breaks or control characters"),
        ("name", "a\0b", "Null characters"),
        ("agents", "ok\n\n" + "x" * 201, "Line 3: "),
        ("tags", "x" * 101 + "\nok\n" + "y" * 101, "Line 1: "),
        ("tags", "x" * 101 + "\nok\n" + "y" * 101, "Line 3: "),
        ("sampling", "2", "less than or equal to 1"),
        ("sampling", "0.1234", "At most 3 decimals"),
        ("sampling", "half", "Enter a number"),
        ("sampling", "", "required"),
        ("0-label", "x" * 61, "at most 60"),
        ("0-label", "a\x1fb", "no line breaks or control characters"),
        ("0-fragments", "", "requires non-empty fragments"),
        ("0-fragments", " \n ", "requires non-empty fragments"),
        ("0-fragments", "ok\n\n" + "x" * 501, "Line 3: Must be a text of 1 to 500 characters."),
        ("0-fragments", "\n".join(f"f{n}" for n in range(51)), "At most 50 fragments, not 51."),
        ("0-fragments", "a\0b", "Null characters"),
        ("0-attribute", "x" * 101, "not an attribute's name"),
        ("1-fragments", "", "requires non-empty fragments"),
        ("2-expected", "", "requires category/subject pairs"),
        ("2-expected", "ok: yes\n\nbilling", "Line 3: write a category, a colon, then its subject."),
        ("2-expected", "ok:\nfine: x\n: y", "Line 1: write a category"),
        ("2-expected", "ok:\nfine: x\n: y", "Line 3: write a category"),
        ("2-expected", "a: x\nb: y\na: z", "Line 3: a stands on line 1 already."),
        ("2-expected", "a: x\n\nb/c: " + "y" * 101, "Line 3: "),
        ("2-minimum_per_category", "0", "from 1 to 1000"),
        ("2-minimum_per_category", "9" * 5000, "whole number"),
        ("2-minimum_per_category", "1.5", "whole number"),
        ("3-recall_attribute", "x" * 101, "not an attribute's name"),
        ("3-response_attribute", "x" * 201, "at most 200"),
        ("3-minimum", "1001", "from 1 to 1000"),
        ("note", "x" * 501, "at most 500"),
    ],
)
def test_what_cannot_be_used_is_said_beside_its_field(client, tenant, max_, field, value, said) -> None:
    response = client.post(new_url(tenant), typed(FULL, **{field: value}))
    assert response.status_code == 422
    assert said in errors_of(response, field)
    assert "Not saved" in text_of(response)
    # All that was typed is there still.
    fields = form_of(response).fields
    for name, sent in typed(FULL, **{field: value}).items():
        if name != "type" and "\0" not in sent:
            assert fields[name][0].strip("\n") == sent.replace("\r\n", "\n").strip("\n"), name
    assert last_number(tenant) == 1


def test_a_wrong_line_is_not_missing_as_well(client, tenant, max_) -> None:
    response = client.post(new_url(tenant), typed(FULL, **{"2-expected": "no colon"}))
    assert errors_of(response, "2-expected").count("<li>") == 1
    for other in ("name", "0-fragments", "3-minimum"):
        assert errors_of(response, other) == ""


def test_what_is_looked_for_is_not_in_a_message(client, tenant, max_) -> None:
    long = "swordfish" * 60
    response = client.post(new_url(tenant), typed(FULL, **{"0-fragments": f"swordfish\n{long}"}))
    assert "Line 2" in errors_of(response, "0-fragments")
    assert "swordfish" not in errors_of(response, "0-fragments")


def test_a_name_is_taken_once(client, tenant, max_) -> None:
    publish(tenant, suite_of("a"), suite_of("b"))
    for address, name, sent in (
        (new_url(tenant), "a", 2),
        (url(tenant, 1), "a", 2),
        (url(tenant, 0), "b", 2),
    ):
        response = client.post(address, typed(suite_of(name), sent))
        assert response.status_code == 422
        assert f"There are two suites called '{name}'." in text_of(response)
    assert last_number(tenant) == 2


def test_there_is_an_end_to_suites(client, tenant, max_) -> None:
    publish(tenant, *(suite_of(f"s{n}") for n in range(MAX_SUITES)))
    assert "There is no room for another suite." in text_of(client.get(new_url(tenant)))
    assert "There is no room" not in text_of(client.get(url(tenant)))
    response = client.post(new_url(tenant), typed(suite_of("more"), 2))
    assert response.status_code == 422
    assert f"At most {MAX_SUITES} suites" in text_of(response)


def test_nothing_changed_is_said(client, tenant, max_) -> None:
    publish(tenant, suite_of("a", {**EXCLUDES, "attribute": "prompt_recall", "case_sensitive": False}))
    response = client.post(url(tenant), shown(client, url(tenant)))
    assert response.status_code == 422
    assert "Nothing differs from version 2." in text_of(response)


def test_typed_and_stored_text_is_escaped(client, tenant, max_) -> None:
    evil = {
        "type": "prompt_recall_excludes",
        "label": EVIL,
        "fragments": [EVIL, "</textarea><script>"],
        "attribute": EVIL,
    }
    separated = {
        "type": "memory_category_separated",
        "expected": {EVIL: EVIL},
        "label": "",
        "attribute": EVIL,
    }
    suite = suite_of(EVIL, evil, separated, agents=[EVIL], tags=[EVIL])
    publish(tenant, suite)
    stored = client.get(url(tenant))
    wrong = client.post(url(tenant), typed(suite, 2, sampling=EVIL, note=EVIL, name=EVIL * 3))
    changed = client.post(url(tenant), typed(suite, 2, add="prompt_recall_contains", sampling=EVIL))
    assert [r.status_code for r in (stored, wrong, changed)] == [200, 422, 200]
    for response in (stored, wrong, changed):
        assert "<script>alert" not in response.content.decode()
        assert "</textarea><script>" not in response.content.decode()
        assert "&lt;script&gt;alert" in response.content.decode()
    assert form_of(stored).fields["0-fragments"] == [f"{EVIL}\n</textarea><script>"]


# -- Removing


def test_a_suite_is_removed_by_a_draft_with_a_note(client, tenant, max_) -> None:
    publish(tenant, suite_of("a"), suite_of("b"), suite_of("c"))
    fields = shown(client, url(tenant, 1))
    # What else was typed does not matter then, right or wrong.
    response = client.post(url(tenant, 1), {**fields, "name": "", "note": "Done with it.", "delete": "1"})
    assert response.status_code == 302
    assert [suite.name for suite in suites_in(tenant, 3)] == ["a", "c"]
    draft = policy_version(tenant=tenant, number=3)
    assert (draft.state, draft.note) == (PolicyState.DRAFT, "Done with it.")


def test_a_note_that_is_too_long_is_said_when_removing(client, tenant, max_) -> None:
    publish(tenant, suite_of("a"))
    response = client.post(url(tenant), {**shown(client, url(tenant)), "note": "x" * 501, "delete": "1"})
    assert response.status_code == 422
    assert "The note is too long." in text_of(response)
    assert last_number(tenant) == 2


def test_a_new_suite_has_nothing_to_remove(client, tenant, max_) -> None:
    assert "delete" not in dict(form_of(client.get(new_url(tenant))).buttons)
    client.post(new_url(tenant), {"delete": "1", "based_on": "1"})
    assert last_number(tenant) == 1
    publish(tenant, suite_of("a"))
    assert "delete" in dict(form_of(client.get(url(tenant))).buttons)


# -- Races


def test_the_loser_of_a_race_keeps_what_was_typed_and_can_save_again(client, tenant, max_) -> None:
    publish(tenant, suite_of("a"), suite_of("b"))
    save_draft(tenant=tenant, author=max_, values={"assertion_suites": [suite_of("a"), suite_of("b")],
               "identifier_keys": ["pnr"]}, based_on=2)  # fmt: skip
    fields = shown(client, url(tenant, 1))
    assert fields["based_on"] == ["3"]
    won = {"assertion_suites": [suite_of("a", queue=True), suite_of("b")]}
    save_draft(tenant=tenant, author=None, values=won, based_on=3)
    fields["0-fragments"] = ["mine"]
    response = client.post(url(tenant, 1), fields)
    assert response.status_code == 409
    assert "Draft 3 has been replaced or discarded since you opened it." in text_of(response)
    assert last_number(tenant) == 4
    again = form_of(response).fields
    assert (again["0-fragments"], again["based_on"]) == (["mine"], ["4"])
    assert client.post(url(tenant, 1), again).status_code == 302
    first, second = suites_in(tenant, 5)
    assert (first.queue, second.assertions[0].options["fragments"]) == (True, ("mine",))


def test_a_suite_that_lost_its_place_meanwhile_overwrites_no_other(client, tenant, max_) -> None:
    values = {"assertion_suites": [suite_of("a"), suite_of("b")]}
    save_draft(tenant=tenant, author=max_, values=values, based_on=1)
    fields = shown(client, url(tenant, 0))
    save_draft(tenant=tenant, author=None, values={"assertion_suites": [suite_of("b")]}, based_on=2)
    fields["0-fragments"] = ["mine"]
    for _ in range(2):
        response = client.post(url(tenant, 0), fields)
        assert response.status_code == 409
        fields = form_of(response).fields
        assert (fields["0-fragments"], fields["name"]) == (["mine"], ["a"])
    assert [suite.name for suite in suites_in(tenant, last_number(tenant))] == ["b"]
    # Nor does removing it.
    response = client.post(url(tenant, 0), {**fields, "delete": "1"})
    assert (response.status_code, last_number(tenant)) == (409, 3)


def test_a_new_suite_that_lost_a_race_is_saved_behind_what_won(client, tenant, max_) -> None:
    save_draft(tenant=tenant, author=max_, values={"assertion_suites": [suite_of("a")]}, based_on=1)
    save_draft(
        tenant=tenant, author=None, values={"assertion_suites": [suite_of("a"), suite_of("b")]}, based_on=2
    )
    response = client.post(new_url(tenant), typed(suite_of("mine"), 2))
    assert response.status_code == 409
    assert client.post(new_url(tenant), form_of(response).fields).status_code == 302
    assert [suite.name for suite in suites_in(tenant, 4)] == ["a", "b", "mine"]


def test_removing_what_changed_meanwhile_is_asked_again(client, tenant, max_) -> None:
    save_draft(tenant=tenant, author=max_, values={"assertion_suites": [suite_of("a")]}, based_on=1)
    fields = shown(client, url(tenant))
    won = {"assertion_suites": [suite_of("a", queue=True)]}
    save_draft(tenant=tenant, author=None, values=won, based_on=2)
    response = client.post(url(tenant), {**fields, "delete": "1"})
    assert response.status_code == 409
    again = form_of(response).fields
    assert (again["based_on"], again["queue"]) == (["3"], ["on"])
    assert client.post(url(tenant), {**again, "delete": "1"}).status_code == 302
    assert suites_in(tenant, 4) == ()


def test_a_draft_published_meanwhile_is_built_upon(client, tenant, max_) -> None:
    save_draft(tenant=tenant, author=max_, values={"assertion_suites": [suite_of("a")]}, based_on=1)
    fields = shown(client, url(tenant))
    publish_version(tenant=tenant, actor=max_, number=2)
    assert client.post(url(tenant), {**fields, "name": "b"}).status_code == 302
    assert policy_version(tenant=tenant, number=3).based_on.number == 2


# -- What is edited, and by whom


def test_the_newest_draft_is_edited_and_the_page_says_so(client, tenant, max_) -> None:
    publish(tenant, suite_of("in force"))
    assert "which is not in force yet" not in text_of(client.get(url(tenant)))
    save_draft(tenant=tenant, author=None, values={"assertion_suites": [suite_of("draft")]}, based_on=2)
    text = text_of(client.get(url(tenant)))
    assert "version 3</a>, which is not in force yet." in text
    assert 'value="draft"' in text
    start_shadow(tenant=tenant, actor=max_, number=3)
    assert client.post(url(tenant), typed(suite_of("new"), 3)).status_code == 302
    assert policy_version(tenant=tenant, number=3).state == PolicyState.SHADOW


def test_what_is_not_there_is_not_there(client, tenant, other_tenant, max_) -> None:
    publish(other_tenant, suite_of("foreign"))
    publish(tenant, suite_of("a"))
    assert client.get(url(tenant, 1)).status_code == 404
    assert client.get(url(other_tenant)).status_code == 404
    for position, based_on in ((1, "2"), (0, "1"), (0, "9"), (0, "x"), (0, "-1"), (0, "9" * 30), (0, "0")):
        response = client.post(url(tenant, position), typed(suite_of("b"), based_on=based_on))
        assert response.status_code == 404, (position, based_on)
    assert last_number(tenant) == 2


@pytest.mark.parametrize("role", [Role.VIEWER, Role.REVIEWER])
def test_others_neither_see_nor_save(client, tenant, role: Role) -> None:
    publish(tenant, suite_of("privacy", {**EXCLUDES, "fragments": ["swordfish"]}))
    client.force_login(make_member(tenant, role))
    for response in (
        client.get(url(tenant)),
        client.get(new_url(tenant)),
        client.post(url(tenant), typed(suite_of("b"), 2)),
        client.post(new_url(tenant), typed(suite_of("b"), 2)),
        client.post(url(tenant), {"delete": "1", "based_on": "2"}),
        client.post(url(tenant), {"add": "prompt_recall_contains", "based_on": "2"}),
    ):
        assert response.status_code == 403
        assert "swordfish" not in response.content.decode()
    assert last_number(tenant) == 2


# -- A version's page


def test_a_version_tells_what_became_of_suites_and_not_what_they_look_for(client, tenant, max_) -> None:
    secret = {**EXCLUDES, "fragments": ["swordfish"]}
    publish(tenant, suite_of("a", secret), suite_of("b", secret, CONTAINS, queue=True, sampling=0.125))
    values = {"assertion_suites": [suite_of("a", secret, agents=["bot"]), suite_of("c", secret)]}
    save_draft(tenant=tenant, author=None, values={"audit_sample_rate": 0, **values}, based_on=2)
    client.force_login(make_member(tenant, Role.VIEWER))
    for name, number in (("policy-version", 3), ("policy-version", 2)):
        text = text_of(client.get(reverse(f"reviews:{name}", args=[tenant.slug, number])))
        assert "swordfish" not in text
    text = text_of(client.get(reverse("reviews:policy-version", args=[tenant.slug, 3])))
    assert "Memory assertions" in text
    for words in (
        "b: 2 assertions · all turns · 12.5 % of them · failures go to the queue",
        "a: 1 assertion · bot · 100 % of them",
        "c: 1 assertion · all turns · 100 % of them",
    ):
        assert words in text


def test_suites_in_another_order_are_a_difference_that_can_be_read(client, tenant, max_) -> None:
    publish(tenant, suite_of("a"), suite_of("b"))
    values = {"assertion_suites": [suite_of("b"), suite_of("a")]}
    save_draft(tenant=tenant, author=None, values={"audit_sample_rate": 0, **values}, based_on=2)
    response = client.get(reverse("reviews:policy-version", args=[tenant.slug, 3]))
    assert response.status_code == 200
    assert "Memory assertions" in text_of(response)


def test_the_editor_asks_no_more_the_more_there_is(client, tenant, max_) -> None:
    def cost(*suites: dict[str, Any]) -> int:
        publish(tenant, *suites)
        client.get(url(tenant))
        with CaptureQueriesContext(connection) as queries:
            assert client.get(url(tenant)).status_code == 200
        return asked(queries)

    assert cost(*(suite_of(f"s{n}", *[CONTAINS] * 15) for n in range(10))) <= cost(suite_of())
