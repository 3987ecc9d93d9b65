"""Rules that would have kept the detector from crying wolf, read off reviewers' labels.

When reviewers call findings of one pattern false alarms again and again ("I checked", while get_order_details
ran), there is a ``GroundingRules`` entry that would have silenced them. ``suggest`` looks for it; a person
decides whether it comes into force.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import Final, Literal, NamedTuple, Protocol

from reviews.core._grounding import verb_is_grounded
from reviews.core.grounding_rules import GroundingRules
from reviews.core.patterns import Pattern, PatternError, compile_pattern
from reviews.core.statistics import wilson_interval

__all__ = ["Example", "FindingLike", "Rule", "Suggestion", "silences", "suggest"]

Rule = Literal["tool_fragment", "ignored_key", "ignored_value"]

#: Fewer labels in agreement are an anecdote. From five of five on, the lower end of a 95 % interval for the
#: share of false alarms is above one half: most findings that the rule would silence are false alarms.
FEWEST_AGREEING: Final = 5
#: A turn may repeat one mistake; it takes different turns to make a pattern.
FEWEST_TURNS: Final = 3
LEAST_LOWER_BOUND: Final = 0.5
#: A finding silenced wrongly hides a fabrication from everybody, a false alarm costs a reviewer a glance: one
#: of the former outweighs this many of the latter, both in the choice between rules and against any.
COST_OF_A_MISS: Final = 3
#: A suggestion shows so many turns to look at.
MOST_TURNS: Final = 20

#: Words of tool names that say nothing about what the tool does.
GENERIC_WORDS: Final = frozenset(
    ["agent", "and", "api", "client", "for", "from", "func", "function", "mcp", "new", "server", "service",
     "the", "tool", "tools", "use", "util", "utils", "with"]
)  # fmt: skip
#: Shorter fragments turn up inside unrelated words.
SHORTEST_FRAGMENT: Final = 3
#: A value pattern needs this many fixed characters at its start, or so many parts with digits among them (a
#: date has five), else it describes nearly any word or number.
FEWEST_FIXED: Final = 2
FEWEST_PARTS: Final = 3
#: Hex looks alike by nature; so many equal digits at the start are no chance (1 in 65,536 for two tokens).
FEWEST_FIXED_HEX: Final = 4

_KEYED: Final = frozenset(["kv", "short_hex_near_key"])
_HEX: Final = frozenset(["uuid", "short_hex_near_key", "short_hex_near_verb"])
_VALUED: Final = _HEX | {"kv"}
# Among equals the rule with the narrower effect goes first.
_NARROWEST_FIRST: Final[tuple[Rule, ...]] = ("tool_fragment", "ignored_value", "ignored_key")

_LETTERS: Final = re.compile(r"[^\W\d_]+")
_HUMP: Final = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SPECIAL: Final = re.compile(r"[\\.+*?()|\[\]{}^$]")
_RUN: Final = re.compile(r"[A-Z]+|[a-z]+|[0-9]+|.", re.DOTALL)


class FindingLike(Protocol):
    """What a rule looks at."""

    @property
    def kind(self) -> str: ...
    @property
    def subject(self) -> str: ...
    @property
    def identifier(self) -> str: ...
    @property
    def tools(self) -> tuple[str, ...]: ...


class Example(NamedTuple):
    """A judged finding: its kind, verb or key in lower case, the names of the turn's tools, the turn's id."""

    kind: str
    subject: str
    identifier: str
    tools: tuple[str, ...]
    fabricated: bool
    turn: int


@dataclass(frozen=True)
class Suggestion:
    """A rule with its evidence.

    ``subject`` is the verb of a tool fragment, the key to ignore, or "" for a value; ``value`` the fragment,
    the key, or a pattern. ``agree`` counts the false alarms it explains that no suggestion before it does,
    ``against`` all true findings it would silence; ``turns`` are the first turns of the former.
    """

    rule: Rule
    subject: str
    value: str
    agree: int
    against: int
    turns: tuple[int, ...]


class _Candidate(NamedTuple):
    rule: Rule
    subject: str
    value: str
    place: int  # of a fragment within its tool's name: what a tool does usually comes first
    silenced: frozenset[int]  # indexes of examples


def suggest(examples: Sequence[Example], rules: GroundingRules | None = None) -> list[Suggestion]:
    """Rules worth accepting, those with the most support first; none that ``rules`` or the detector has.

    Greedy: the best candidate is taken, the false alarms it explains are crossed off, and so on.
    """
    known = rules or GroundingRules()
    open_examples = [each for each in examples if not _in_force(each, known)]
    true = {n for n, each in enumerate(open_examples) if each.fabricated}
    unexplained = set(range(len(open_examples))) - true
    candidates = list(_candidates(open_examples))
    found: list[Suggestion] = []
    while True:
        worthy = [each for each in candidates if _convinces(each, open_examples, unexplained, true)]
        if not worthy:
            break
        best = min(worthy, key=lambda each: _rank(each, unexplained, true))
        agreeing = sorted(best.silenced & unexplained)
        turns = tuple(dict.fromkeys(open_examples[n].turn for n in agreeing))[:MOST_TURNS]
        against = len(best.silenced & true)
        found.append(Suggestion(best.rule, best.subject, best.value, len(agreeing), against, turns))
        unexplained -= best.silenced
        # What fell short once falls short for good: its agreement only shrinks.
        candidates = worthy
    return sorted(found, key=lambda each: (-each.agree, each.against, each.rule, each.subject, each.value))


def silences(suggestion: Suggestion, finding: FindingLike) -> bool:
    """Whether the suggested rule would have dropped this finding.

    Short hex that loses the key before it may be found again beside a claim, as a finding of another kind.

    Raises:
        PatternError: the suggested value is no usable pattern.
    """
    if suggestion.rule == "tool_fragment":
        return (
            finding.kind == "verb_claim"
            and finding.subject == suggestion.subject
            and any(suggestion.value in name.lower() for name in finding.tools)
        )
    if suggestion.rule == "ignored_key":
        return finding.kind in _KEYED and finding.subject == suggestion.subject
    return finding.kind in _VALUED and _pattern(suggestion.value).matches(finding.identifier)


@lru_cache(maxsize=256)
def _pattern(text: str) -> Pattern:
    return compile_pattern(text)


def _in_force(example: Example, rules: GroundingRules) -> bool:
    """Whether the detector, with these rules, would not report the finding any more."""
    if example.kind == "verb_claim":
        fired = "\n".join(name.lower() for name in example.tools if name)
        return verb_is_grounded(example.subject, fired, rules.tool_fragments.get(example.subject, ()))
    if example.kind in _KEYED and example.subject in rules.ignored_keys:
        return True
    return example.kind in _VALUED and bool(rules.ignored_among([example.identifier]))


def _convinces(
    candidate: _Candidate, examples: Sequence[Example], unexplained: Collection[int], true: Collection[int]
) -> bool:
    agreeing = candidate.silenced.intersection(unexplained)
    agree, against = len(agreeing), len(candidate.silenced.intersection(true))
    return (
        agree >= FEWEST_AGREEING
        and agree > COST_OF_A_MISS * against
        and wilson_interval(agree, agree + against).low >= LEAST_LOWER_BOUND
        and len({examples[n].turn for n in agreeing}) >= FEWEST_TURNS
    )


def _rank(
    candidate: _Candidate, unexplained: Collection[int], true: Collection[int]
) -> tuple[int, int, int, int, int, str, str]:
    """Smallest first. Every candidate has its own, so the order never depends on the input's."""
    agree = len(candidate.silenced.intersection(unexplained))
    against = len(candidate.silenced.intersection(true))
    return (
        COST_OF_A_MISS * against - agree,
        against,
        _NARROWEST_FIRST.index(candidate.rule),
        candidate.place,
        -len(candidate.value),
        candidate.subject,
        candidate.value,
    )


def _candidates(examples: Sequence[Example]) -> Iterator[_Candidate]:
    """Every rule that silences enough of the false alarms, with all that it silences."""
    yield from _fragment_candidates(examples)
    keyed: defaultdict[str, list[int]] = defaultdict(list)
    for n, each in enumerate(examples):
        if each.kind in _KEYED and each.subject:
            keyed[each.subject].append(n)
    for key, silenced in keyed.items():
        yield _Candidate("ignored_key", key, key, 0, frozenset(silenced))
    valued = [(n, each.identifier) for n, each in enumerate(examples) if each.kind in _VALUED]
    for text in _value_patterns(examples):
        pattern = _pattern(text)
        matched = frozenset(n for n, identifier in valued if pattern.matches(identifier))
        yield _Candidate("ignored_value", "", text, 0, matched)


# -- tool fragments --


def _fragment_candidates(examples: Sequence[Example]) -> Iterator[_Candidate]:
    by_verb: defaultdict[str, list[int]] = defaultdict(list)
    for n, each in enumerate(examples):
        if each.kind == "verb_claim" and each.tools:
            by_verb[each.subject].append(n)
    for verb, claims in by_verb.items():
        places: dict[str, int] = {}
        for n in claims:
            if not examples[n].fabricated:
                for name in examples[n].tools:
                    for place, word in enumerate(_words(name)):
                        places[word] = min(place, places.get(word, place))
        names = {n: "\n".join(examples[n].tools).lower() for n in claims}
        for word, place in places.items():
            silenced = frozenset(n for n in claims if word in names[n])
            yield _Candidate("tool_fragment", verb, word, place, silenced)


@lru_cache(maxsize=1024)
def _words(name: str) -> tuple[str, ...]:
    """The telling words of a tool's name, lower-cased: of ``getOrder_v2`` get and order."""
    words = (word.lower() for letters in _LETTERS.findall(name) for word in _HUMP.split(letters))
    return tuple(word for word in words if len(word) >= SHORTEST_FRAGMENT and word not in GENERIC_WORDS)


# -- value patterns --


def _value_patterns(examples: Iterable[Example]) -> list[str]:
    """Patterns for identifiers of like shape among the false alarms, each for enough of them."""
    shapes: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
    support: defaultdict[tuple[str, ...], int] = defaultdict(int)
    for each in examples:
        if each.fabricated or each.kind not in _VALUED:
            continue
        for shape in _shapes_of(each.kind, each.identifier):
            shapes[shape].add(each.identifier)
            support[shape] += 1
    found: dict[str, None] = {}
    for shape, identifiers in shapes.items():
        if support[shape] >= FEWEST_AGREEING:
            text = _DESCRIBED[shape[0]](identifiers)
            if text is not None and _compiles(text):
                found[text] = None
    return list(found)


def _shapes_of(kind: str, identifier: str) -> list[tuple[str, ...]]:
    """Under which names an identifier meets its like; a name opens with how those are described."""
    if kind in _HEX:
        return [("hex", identifier[:FEWEST_FIXED_HEX])]
    runs = _RUN.findall(identifier)
    classes = [_class(run) or run for run in runs]
    shapes = [("runs", *classes)]
    if runs[:1] != classes[:1]:
        shapes.append(("runs", *runs[:1], *classes[1:]))
    if len(runs) > 2 and not _class(runs[1]):
        shapes.append(("head", *runs[:2]))
    return shapes


def _class(run: str) -> str:
    """The character class of a run; "" for a character that stands for itself."""
    if not run.isascii() or not run.isalnum():
        return ""
    return "0-9" if run.isdigit() else "A-Z" if run.isupper() else "a-z"


def _run_pattern(identifiers: Collection[str]) -> str | None:
    """Equal runs as they are, the others as their class in the lengths seen; None if that says too little."""
    columns = list(zip(*(_RUN.findall(identifier) for identifier in sorted(identifiers)), strict=True))
    parts = [
        _literal(column[0]) if len(set(column)) == 1 else f"[{_class(column[0])}]{_lengths(column)}"
        for column in columns
    ]
    structured = len(parts) >= FEWEST_PARTS and any(column[0].isdigit() for column in columns)
    if not structured and len(_common_start(identifiers)) < FEWEST_FIXED:
        return None
    return "".join(parts)


def _start_pattern(identifiers: Collection[str], fewest_fixed: int = FEWEST_FIXED) -> str | None:
    """What all start with, then the characters that follow it in some; None when they share too little."""
    start = _common_start(identifiers)
    if len(start) < fewest_fixed:
        return None
    rests = [identifier[len(start) :] for identifier in sorted(identifiers)]
    classes = {_class(run) or re.escape(run) for rest in rests for run in _RUN.findall(rest)}
    # A hyphen between two characters would mean a range; escaped it stands for itself anywhere.
    return _literal(start) + (f"[{''.join(sorted(classes))}]{_lengths(rests)}" if classes else "")


def _hex_pattern(identifiers: Collection[str]) -> str | None:
    return _start_pattern(identifiers, FEWEST_FIXED_HEX)


_DESCRIBED: Final[Mapping[str, Callable[[Collection[str]], str | None]]] = {
    "hex": _hex_pattern,
    "runs": _run_pattern,
    "head": _start_pattern,
}


def _common_start(texts: Collection[str]) -> str:
    # What the first and the last in order share, all in between share.
    pairs = zip(min(texts), max(texts), strict=False)
    return "".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _literal(text: str) -> str:
    """Escaped where it must be and no further, since people read these patterns."""
    return _SPECIAL.sub(r"\\\g<0>", text)


def _lengths(runs: Iterable[str]) -> str:
    lengths = [len(run) for run in runs]
    shortest, longest = min(lengths), max(lengths)
    if shortest != longest:
        return f"{{{shortest},{longest}}}"
    return "" if shortest == 1 else f"{{{shortest}}}"


def _compiles(text: str) -> bool:
    try:
        _pattern(text)
    except PatternError:
        return False
    return True
