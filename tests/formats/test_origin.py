from __future__ import annotations

from reviews.formats.origin import FileOrigin, LineOrigin


def test_ids_in_use_get_a_suffix_even_when_that_is_taken() -> None:
    file = FileOrigin("f")
    names = ("a", "a~2", "a", "a", "b", "a~2", "a")
    assert [file.distinct(name) for name in names] == ["a", "a~2", "a~3", "a~4", "b", "a~2~2", "a~5"]


def test_a_line_without_an_id_is_named_after_its_place() -> None:
    unusable: tuple[object, ...] = (None, " ", True, [])
    assert [LineOrigin(FileOrigin("f"), 7).conversation_id(given) for given in unusable] == ["f:7"] * 4
    assert LineOrigin(FileOrigin("f"), 7).conversation_id(12) == "12"


def test_over_long_ids_stay_distinct_and_fit() -> None:
    file = FileOrigin("f")
    names = [LineOrigin(file, 1).conversation_id("x" * 500 + end) for end in "ab"]
    assert len(set(names)) == 2
    assert all(len(name) == 180 for name in names)
