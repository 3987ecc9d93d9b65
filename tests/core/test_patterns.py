"""Patterns written by people: what they match, and what is refused with which sentence."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.core.patterns import MAX_LENGTH, Pattern, PatternError, combined, compile_pattern


@pytest.mark.parametrize(
    ("text", "yes", "no"),
    [
        ("REQ-[0-9]{4}", ["REQ-2024"], ["REQ-20245", "xREQ-2024", "REQ-2024 ", "req-2024", ""]),
        ("(?i)req-[0-9]+", ["REQ-1", "req-22"], ["req-"]),
        ("a|ab", ["a", "ab"], ["abc"]),
        ("^economy$", ["economy"], ["economy\n", "economy class"]),
        ("é{2}", ["éé"], ["é"]),
        (r"v\d+\.\d+", ["v1.22"], ["v1x22"]),
    ],
)
def test_a_pattern_matches_whole_identifiers(text, yes, no):
    pattern = compile_pattern(text)
    assert pattern.text == text
    assert [each for each in yes + no if pattern.matches(each)] == yes


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "The pattern is empty."),
        ("x" * (MAX_LENGTH + 1), "The pattern is 201 characters long; at most 200 are allowed."),
        ("[a", "The pattern is not valid: missing ]: [a."),
        ("*a", "The pattern is not valid: no argument for repetition operator: *."),
        ("a{1001}", "The pattern is not valid: invalid repetition size: {1001}."),
        ("((a{100}){100}){100}", "The pattern is not valid: invalid repetition size: {100}."),
        ("(?=a)b", "Look-around and back-references are not supported (invalid perl operator: (?=)."),
        ("b(?!a)", "Look-around and back-references are not supported (invalid perl operator: (?!)."),
        ("(?<=a)b", "Look-around and back-references are not supported (invalid perl operator: (?<=)."),
        (r"(a)\1", r"Look-around and back-references are not supported (invalid escape sequence: \1)."),
        ("a?", "The pattern matches the empty text; it must ask for at least one character."),
        ("|x", "The pattern matches the empty text; it must ask for at least one character."),
        ("\ud800", "The pattern holds half of a character pair, which no text has."),
    ],
)
def test_a_refused_pattern_says_why(text, sentence, capfd):
    with pytest.raises(PatternError) as refused:
        compile_pattern(text)
    assert str(refused.value) == sentence
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "text",
    [
        ".*x?.",
        ".+",
        ".{8}",
        ".{7,}",
        ".{1,5}",
        r"\w+",
        "[A-Za-z0-9]+",
        r"[^-]+",
        r"\S{36}",
        "(?i)[a-z0-9]{128}",
        r"\C+",
    ],
)
def test_what_takes_any_identifier_of_some_length_is_too_general(text):
    with pytest.raises(PatternError, match="too general"):
        compile_pattern(text)


@pytest.mark.parametrize(
    "text",
    [r"\d+", "[a-z]+", "[A-Z]{3}", "[0-9a-f]{7}", r"\w+-\w+", "job-.*", ".*\\.example\\.org", "checkout"],
)
def test_what_asks_for_something_is_not(text):
    assert compile_pattern(text).text == text


@given(st.text(st.characters(exclude_categories=[])))
def test_any_identifier_may_be_asked_about(identifier):
    """Lone surrogates and NUL as well."""
    assert compile_pattern("a.*").matches("a" + identifier) in (True, False)
    assert not compile_pattern("abc").matches("\ud800" + identifier + "\0")


def test_nul_is_a_character_like_any_other():
    assert compile_pattern("a.b").matches("a\0b")
    assert not compile_pattern("a").matches("a\0")


def test_nested_repetition_answers_on_a_long_identifier():
    """A backtracking engine needs 2^n steps here; no time is asserted, it would simply not end."""
    assert not compile_pattern("(a+)+b").matches("a" * 100_000)


def test_patterns_compare_by_their_text_and_travel_between_processes():
    pattern = compile_pattern("x[0-9]")
    assert pattern == compile_pattern("x[0-9]")
    assert pattern != compile_pattern("x[0-8]")
    assert len({pattern, compile_pattern("x[0-9]")}) == 1
    assert repr(pattern) == "Pattern(text='x[0-9]')"
    copy: Pattern = pickle.loads(pickle.dumps(pattern))
    assert copy == pattern
    assert copy.matches("x7")


TEXTS = ["(?i)req-[0-9]", "job-.", "a|b", "x{3}", "^end$", r"q\Q(", r"\d{4}-\d"]


@given(st.lists(st.sampled_from(TEXTS), max_size=5), st.text("reqREQjob-0123abxend(", max_size=6))
def test_combined_patterns_match_what_one_of_them_does(texts, identifier):
    patterns = tuple(compile_pattern(text) for text in texts)
    identifiers = [identifier, "REQ-1", "JOB-1", "job-x", "a", "xxx", "end", "q(", "2024-1", ""]
    for each in identifiers:
        assert any(p.matches(each) for p in combined(patterns)) == any(p.matches(each) for p in patterns)


def test_combined_patterns_are_one_unless_a_quotation_could_run_on():
    plain = tuple(compile_pattern(text) for text in TEXTS if r"\Q" not in text)
    assert len(combined(plain)) == 1
    quoting = (*plain, compile_pattern(r"q\Q("))
    assert combined(quoting) == quoting
