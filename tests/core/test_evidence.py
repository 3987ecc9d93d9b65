"""What the review page shows beside a claim."""

from __future__ import annotations

import time

import pytest

from reviews.core.evidence import near_misses, nearest_tool

UUID = "3f2b8c1e-7d4a-4e9b-9c55-0a1b2c3d4e5f"


def kinds(identifier, text):
    return [(miss.text, miss.kind, miss.distance) for miss in near_misses(identifier, [("s", text)])]


# -- tools --


def test_tools_that_would_have_grounded_the_claim_are_named_first():
    hint = nearest_tool("I sent", ["get_order"], ["Send_Email", "get_order", "post_sms", "Send_Email"])
    assert (hint.verb, hint.tools, hint.relation) == (
        "sent",
        ("Send_Email", "post_sms"),
        "available_not_called",
    )


def test_a_tool_that_was_called_is_not_offered_again():
    hint = nearest_tool("I sent", ["send_email"], ["send_email"])
    assert (hint.tools, hint.relation) == (("send_email",), "nearest_called")


def test_else_the_called_tool_most_like_the_verb_is_named():
    hint = nearest_tool("i  DELETED", ["get_order", "dellete_row", "x"], ["get_order"])
    assert (hint.tools, hint.relation) == (("dellete_row",), "nearest_called")
    assert 0.5 < hint.similarity < 1


@pytest.mark.parametrize(("claim", "called"), [("I sent", []), ("", ["send"]), ("  ", ["send"])])
def test_nothing_to_name_is_none(claim, called):
    assert nearest_tool(claim, called) is None


# -- tokens --


@pytest.mark.parametrize(
    ("token", "kind"),
    [
        ("9f2b1e48", "substitution"),
        ("0f2b1e47", "substitution"),
        ("9f2b1e7", "deletion"),
        ("f2b1e47", "deletion"),
        ("9f2b1e477", "insertion"),
        ("9f2bb1e47", "insertion"),
        ("9f21be47", "transposition"),
        ("f92b1e47", "transposition"),
        ("9f2b1e74", "transposition"),
    ],
)
def test_each_single_edit_is_seen_and_named(token, kind):
    assert kinds("9f2b1e47", f"id: {token}, end") == [(token, kind, 1)]


def test_every_swap_of_neighbours_and_every_changed_character_is_found():
    identifier = "abcdefghij-0123"
    for at in range(len(identifier)):
        changed = identifier[:at] + "z" + identifier[at + 1 :]
        assert kinds(identifier, f"({changed})")[:1] == [(changed, "substitution", 1)], at
        swapped = identifier[:at] + identifier[at : at + 2][::-1] + identifier[at + 2 :]
        if swapped != identifier:
            assert kinds(identifier, f"({swapped})")[:1] == [(swapped, "transposition", 1)], at


def test_case_alone_and_hyphens_alone_come_before_edits():
    text = f"{UUID[:-1]}0 {UUID.replace('-', '')} {UUID.upper()}"
    assert kinds(UUID, text) == [
        (UUID.upper(), "case", 0),
        (UUID.replace("-", ""), "hyphenation", 0),
        (UUID[:-1] + "0", "substitution", 1),
    ]


def test_a_compact_uuid_finds_its_hyphenated_form():
    assert kinds(UUID.replace("-", ""), f"x {UUID}") == [(UUID, "hyphenation", 0)]


def test_a_long_shared_beginning_or_end_counts_with_what_differs():
    assert kinds("order-2024-0001", "order-2024-0999") == [("order-2024-0999", "prefix", 3)]
    assert kinds("order-2024-0001", "quote-2024-0001") == [("quote-2024-0001", "suffix", 5)]
    assert kinds("order-2024-0001", "order-1 and 0001") == []


def test_the_identifier_itself_is_no_near_miss():
    assert kinds("job-1234", "job-1234 job-1234.") == []


def test_offsets_point_into_the_named_source_also_after_wide_letters():
    text = "İstanbul 😀 job-1235."
    (miss,) = near_misses("job-1234", [("user", "nothing"), ("context", text)])
    assert miss.source == "context"
    assert text[miss.offset : miss.offset + len(miss.text)] == miss.text == "job-1235"


def test_a_token_is_reported_once_per_source_at_its_first_place():
    misses = near_misses("job-1234", [("a", "job-1235 job-1235"), ("b", "x job-1235")])
    assert [(m.source, m.offset) for m in misses] == [("a", 0), ("b", 2)]


def test_no_more_than_the_limit():
    text = " ".join(f"job-123{n}" for n in range(10))
    assert len(near_misses("job-1234", [("s", text)], limit=3)) == 3
    assert near_misses("job-1234", [("s", text)], limit=0) == []


@pytest.mark.parametrize("identifier", ["", "abc"])
def test_very_short_identifiers_have_none(identifier):
    assert near_misses(identifier, [("s", "abd abcd ab")]) == []


@pytest.mark.parametrize(
    ("identifier", "unit"),
    [("aaaaaa", "a"), ("aaaaaa", "aa "), ("abab", "ab "), (UUID, UUID[:8] + " "), ("job-1234", "job-1299\n")],
)
def test_half_a_megabyte_of_hostile_source_is_quick(identifier, unit):
    text = unit * (524_288 // len(unit))
    started = time.process_time()
    near_misses(identifier, [("s", text)])
    # About 40 ms here; the bound leaves room for a loaded machine yet not for quadratic work.
    assert time.process_time() - started < 0.4
