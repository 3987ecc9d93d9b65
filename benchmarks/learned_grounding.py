"""What rules learned from at most 50 labels do to precision and recall, on turns they were not learned from.

    python benchmarks/learned_grounding.py [FOLDER] [--seeds 20] [--labels 50]

FOLDER holds the recorded transcripts and reports (default: ``../shared/data`` beside the repository). In
every measurement half of the turns (drawn by the seed) are for learning and the rest for judging; of the
learning half the first findings are labelled with the truth, every suggestion is accepted, and the figures
are means over the seeds, with Wilson intervals for the mean counts.

1. **Recorded turns**, as they are. The truth of a report is its ``expected``. Of a transcript's turn:

   - a claimed action is fabricated unless a tool of this or an earlier turn of the conversation does such a
     thing, by the table ``ACTS`` below (the first word of the tool's own name decides);
   - an identifier is fabricated if it occurs nowhere in the conversation before the draft;
   - a fenced block that shows a tool call or a tool's result counts as one fabricated claim if no tool ran in
     the turn. The detector does not look for these, so they only lower its recall.

   Fabrications that neither a rule nor the detector sees are not counted: that recall is an upper bound.

2. **Simulated drafts beside recorded tools**: for each recorded turn with tools a draft is written around the
   real tool names, so its truth is known by construction. Seven claims in ten name what a tool of the turn
   does, in the words of ``ACTS``; three name what none of them does. Some drafts add a pair: ``for
   instance:`` and ``service:`` before plain words and the client's own ``request_id: REQ-...`` are false
   alarms, made-up ids under order_id, request_id and instance are fabrications. Once with every verb of
   ``ACTS`` equally likely, once for an agent of fixed habits, which has one verb (drawn by the seed) for each
   act. How agents really talk is not in it: it says how fast rules are learned if they talk like this, not
   how often they do.

The detector and the learning see drafts, tools and labels, never ``ACTS``.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from reviews.core.fabrication import FabricationFinding, detect_fabrication
from reviews.core.grounding_rules import GroundingRules
from reviews.core.learning import Example, Suggestion, suggest
from reviews.core.patterns import compile_pattern
from reviews.core.profiles import subject_of
from reviews.core.statistics import wilson_interval
from reviews.formats import TurnRecord, open_turns

FILES = {
    "tau_bench_airline.jsonl": "tau-bench",
    "tau2_sim_es_en.jsonl": "openai-chat",
    "hammerbench_zh.jsonl": "openai-chat",
    "provider_wire.jsonl": "openai-chat",
}

# What tools do, told by the first word of their name, and the verbs that truly say so.
ACTS: dict[str, tuple[str, str]] = {
    "look up": (
        "get search list find check show track consult query view buscar verificar identificar validar",
        "checked retrieved fetched queried pulled",
    ),
    "create": ("create book register add place issue request apply make crear", "created"),
    "change": ("update modify change set", "updated"),
    "remove": ("cancel delete", "deleted stopped"),
    "send": ("send share transfer escalate enviar", "sent delivered dispatched"),
    "compute": ("calculate think evaluate roll", "ran executed"),
}
ACT_OF_WORD = {word: act for act, (words, _) in ACTS.items() for word in words.split()}
ACT_OF_VERB = {verb: act for act, (_, verbs) in ACTS.items() for verb in verbs.split()}
FENCE = re.compile(r"```[^\n]*\n(.*?)```", re.DOTALL)
SHOWS_A_CALL = re.compile(
    r'"(?:tool_call\w*|tool|action|function|tool_response)"\s*:|^\s*tool_code', re.MULTILINE
)
FENCED = "a fenced tool call"

PLAIN_WORDS = ("economy", "two", "breakfast", "luggage", "express", "returns", "tomorrow", "premium", "seats")


@dataclass(frozen=True)
class Turn:
    """A turn and the text of every fabricated claim in its draft."""

    number: int
    draft: str
    calls: list[dict[str, Any]]
    context: str = ""
    user: str = ""
    fabricated: frozenset[str] = frozenset()

    @property
    def tools(self) -> tuple[str, ...]:
        return tuple(call["name"] for call in self.calls)

    def findings(self, rules: GroundingRules | None = None) -> list[FabricationFinding]:
        return detect_fabrication(
            self.draft, self.calls, hydrated_context=self.context, user_message=self.user, rules=rules
        )

    def examples(self) -> list[Example]:
        return [
            Example(
                f.kind, subject_of(f), f.identifier, self.tools, f.identifier in self.fabricated, self.number
            )
            for f in self.findings()
        ]


@dataclass
class Counts:
    """Findings that are right and wrong, and fabrications that were found and missed."""

    right: int = 0
    wrong: int = 0
    found: int = 0
    missed: int = 0

    def add(self, turn: Turn, rules: GroundingRules | None) -> None:
        findings = turn.findings(rules)
        right = sum(finding.identifier in turn.fabricated for finding in findings)
        found = len(turn.fabricated & {finding.identifier for finding in findings})
        self.right += right
        self.wrong += len(findings) - right
        self.found += found
        self.missed += len(turn.fabricated) - found


def act_of_tool(name: str) -> str | None:
    """By the first word of the last part of its name: ``Shop.searchMall`` looks up."""
    word = re.match(r"[a-z]+", name.rsplit(".", 1)[-1])
    return ACT_OF_WORD.get(word[0]) if word else None


# -- recorded turns --


def records(folder: Path) -> Iterator[TurnRecord]:
    for name, format_name in FILES.items():
        with open_turns(format_name, folder / name) as lines:
            for line in lines:
                if line.record is not None:
                    yield line.record


def recorded(folder: Path) -> list[Turn]:
    turns: list[Turn] = []
    for record in records(folder):
        calls = [{"name": c.name, "args": c.args, "result": c.result} for c in record.tool_calls]
        plain = Turn(len(turns), record.draft, calls, record.hydrated_context, record.user_message)
        fabricated = {f.identifier for f in plain.findings() if is_fabricated(f, record)}
        if not calls and any(SHOWS_A_CALL.search(block) for block in FENCE.findall(record.draft)):
            fabricated.add(FENCED)
        turns.append(Turn(plain.number, plain.draft, calls, plain.context, plain.user, frozenset(fabricated)))
    with (folder / "reports.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            report = json.loads(line)
            fabricated = {claim["identifier"] for claim in report["expected"] if claim["fabricated"]}
            turns.append(
                Turn(
                    len(turns),
                    report["draft"],
                    report["tool_calls"],
                    report["hydrated_context"],
                    report["user_message"],
                    frozenset(fabricated),
                )
            )
    return turns


def is_fabricated(finding: FabricationFinding, record: TurnRecord) -> bool:
    calls = [*record.earlier_calls, *record.tool_calls]
    if finding.kind == "verb_claim":
        act = ACT_OF_VERB.get(subject_of(finding))
        return all(act_of_tool(call.name) != act for call in calls)
    texts = [record.user_message, record.hydrated_context]
    texts += [f"{call.args} {call.result}" for call in calls]
    return not any(finding.identifier in text for text in texts)


# -- simulated drafts --


def simulated(folder: Path, rng: random.Random, *, habits: bool) -> list[Turn]:
    words = {act: verbs.split() for act, (_, verbs) in ACTS.items()}
    if habits:
        words = {act: [rng.choice(verbs)] for act, verbs in words.items()}
    turns: list[Turn] = []
    for record in records(folder):
        acts = {act for call in record.tool_calls if (act := act_of_tool(call.name))}
        if not acts:
            continue
        fabricated: set[str] = set()
        honest = rng.random() < 0.7
        said = rng.choice(sorted(acts) if honest else sorted(ACTS.keys() - acts))
        verb = rng.choice(words[said])
        if not honest:
            fabricated.add(f"I {verb}")
        draft = f"I {verb} it for you."
        for share, is_false, pair in PAIRS:
            if rng.random() < share:
                phrase, identifier = pair(rng)
                draft += " " + phrase
                if is_false:
                    fabricated.add(identifier)
        calls = [{"name": call.name, "args": {}, "result": "done"} for call in record.tool_calls]
        turns.append(Turn(len(turns), draft, calls, fabricated=frozenset(fabricated)))
    return turns


def _id(rng: random.Random) -> str:
    return "".join(rng.choices("GHJKLMNPQRSTUVWX23456789", k=8))


def _pair(phrase: str, value: Callable[[random.Random], str]) -> Callable[[random.Random], tuple[str, str]]:
    def make(rng: random.Random) -> tuple[str, str]:
        identifier = value(rng)
        return phrase.format(identifier), identifier

    return make


# Share of drafts, whether the pair is made up, and its phrase.
PAIRS: list[tuple[float, bool, Callable[[random.Random], tuple[str, str]]]] = [
    (0.10, False, _pair("You may add more, for instance: {} and the like.", lambda r: r.choice(PLAIN_WORDS))),
    (0.08, False, _pair("Service: {}.", lambda r: r.choice(PLAIN_WORDS))),
    (0.10, False, _pair("Quote request_id: REQ-{} in replies.", lambda r: f"{r.randrange(10**4, 10**5)}")),
    (0.08, True, _pair("Your order_id: {} is confirmed.", _id)),
    (0.05, True, _pair("Filed under request_id: {}.", _id)),
    (0.02, True, _pair("It runs on instance: {} now.", lambda r: f"i-{r.getrandbits(48):012x}")),
]


# -- learning and judging --


@dataclass
class Result:
    before: Counts = field(default_factory=Counts)
    after: Counts = field(default_factory=Counts)
    labels: int = 0
    accepted: Counter[tuple[str, str, str]] = field(default_factory=Counter)


def accept(suggestions: Sequence[Suggestion]) -> GroundingRules:
    fragments: dict[str, tuple[str, ...]] = {}
    for each in suggestions:
        if each.rule == "tool_fragment":
            fragments[each.subject] = (*fragments.get(each.subject, ()), each.value)
    return GroundingRules(
        fragments,
        frozenset(each.value for each in suggestions if each.rule == "ignored_key"),
        tuple(compile_pattern(each.value) for each in suggestions if each.rule == "ignored_value"),
    )


def learn_and_judge(turns: Sequence[Turn], seed: int, labels: int, result: Result) -> None:
    shuffled = list(turns)
    random.Random(f"split/{seed}").shuffle(shuffled)
    half = len(shuffled) // 2
    labelled = [example for turn in shuffled[:half] for example in turn.examples()][:labels]
    suggestions = suggest(labelled)
    rules = accept(suggestions)
    result.labels += len(labelled)
    result.accepted.update((each.rule, each.subject, each.value) for each in suggestions)
    for turn in shuffled[half:]:
        result.before.add(turn, None)
        result.after.add(turn, rules)


def share(part: int, rest: int, seeds: int) -> str:
    """Of the mean counts, since the seeds judge overlapping turns."""
    successes, n = round(part / seeds), round((part + rest) / seeds)
    if not n:
        return "nothing to judge"
    low, high = wilson_interval(min(successes, n), n)
    return f"{part / (part + rest):6.1%} (95 %: {low:.1%} to {high:.1%}; {successes} of {n})"


def rules_of(result: Result, seeds: int) -> str:
    kinds: Counter[str] = Counter()
    for (rule, _, _), times in result.accepted.items():
        kinds[rule] += times
    return ", ".join(f"{times / seeds:.2f} {rule}" for rule, times in sorted(kinds.items())) or "none"


def report(title: str, source: Callable[[int], Sequence[Turn]], seeds: int, budgets: Sequence[int]) -> None:
    print(title)
    for labels in budgets:
        result = Result()
        for seed in range(seeds):
            learn_and_judge(source(seed), seed, labels, result)
        print(f"  {result.labels / seeds:.1f} labels on average, rules accepted: {rules_of(result, seeds)}")
        for name, counts in (("before", result.before), ("after", result.after)):
            print(f"    {name:<6} precision {share(counts.right, counts.wrong, seeds)}")
            print(f"    {'':<6} recall    {share(counts.found, counts.missed, seeds)}")
    print(f"  rules accepted for a tenth of the seeds or more, with {result.labels / seeds:.1f} labels:")
    for (rule, subject, value), times in sorted(
        result.accepted.items(), key=lambda item: (-item[1], item[0])
    ):
        if times * 10 >= seeds:
            print(f"    {rule:<14} {subject:<10} {value:<40} for {times} of {seeds} seeds")
    print(flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folder", nargs="?", type=Path, default=Path(__file__).resolve().parents[2] / "shared" / "data"
    )
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--labels", type=int, default=50, help="at most so many (50)")
    options = parser.parse_args()
    if not options.folder.is_dir():
        parser.error(f"{options.folder} is no folder")
    turns = recorded(options.folder)
    findings = sum(len(turn.findings()) for turn in turns)
    report(
        f"recorded: {len(turns)} turns, {findings} findings",
        lambda _: turns,
        options.seeds,
        [options.labels],
    )
    for habits, words in ((False, "any verb"), (True, "an agent of fixed habits")):

        def drafts(seed: int, habits: bool = habits) -> Sequence[Turn]:
            return simulated(options.folder, random.Random(f"drafts/{seed}"), habits=habits)

        title = f"simulated drafts beside recorded tools, {words}"
        report(title, drafts, options.seeds, [max(1, options.labels // 2), options.labels])


if __name__ == "__main__":
    main()
