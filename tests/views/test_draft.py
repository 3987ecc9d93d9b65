"""A draft is cut so that every claim is highlighted and no character is lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reviews.models import Finding
from reviews.views.draft import draft_runs


def finding(position: int, start: int, end: int, label: str = "") -> Finding:
    return Finding(position=position, span_start=start, span_end=end, kind="kv", confidence=0.8, label=label)


def test_an_overlap_belongs_to_both_claims():
    runs = draft_runs("see task_id=9f2b1e47 now", 0, [finding(0, 12, 20), finding(1, 4, 20)], current=0)
    assert [(r.text, r.starts) for r in runs] == [
        ("see ", []),
        ("task_id=", [2]),
        ("9f2b1e47", [1]),
        (" now", []),
    ]
    assert "current" in runs[2].css
    assert "current" not in runs[1].css
    assert runs[0].css == ""


def test_spans_count_from_the_stripped_draft():
    runs = draft_runs("  \n I sent it", 4, [finding(0, 0, 6)], current=None)
    assert [r.text for r in runs if r.css] == ["I sent"]


def test_a_label_shows():
    assert draft_runs("I sent", 0, [finding(0, 0, 6, "fabricated")], None)[0].css == "claim fabricated"


@given(
    st.text(max_size=60),
    st.lists(st.tuples(st.integers(0, 80), st.integers(0, 80)), max_size=6),
    st.integers(0, 5),
)
def test_the_runs_are_the_draft(draft, spans, offset):
    findings = [finding(n, min(span), max(span)) for n, span in enumerate(spans)]
    assert "".join(r.text for r in draft_runs(draft, offset, findings, 0)) == draft
