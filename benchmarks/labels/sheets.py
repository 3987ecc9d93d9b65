"""Writes the drawn turns as sheets to read, for people who label.

    python benchmarks/labels/sheets.py --data FOLDER --out FOLDER [--parts 20]

A sheet shows what grounds a claim, shortened, and the draft in full; it shows no detector's findings.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.labels.claims import read_rows
from benchmarks.labels.cutting import SourceTurn, read_source
from benchmarks.labels.excerpts import as_text, codes, occurrences, shorten
from benchmarks.labels.sample import draft_digest
from reviews.formats.record import ToolCall

EARLIER_LIMIT, RESULT_LIMIT, CONTEXT_LIMIT, USER_LIMIT, ARGS_LIMIT = 600, 1500, 1500, 4000, 800
EARLIER_USER_LIMIT = 500
DRAFT_OPENS, DRAFT_CLOSES = "<<<<<<<< DRAFT", ">>>>>>>> END OF DRAFT"

Row = dict[str, Any]


def find_turns(data: Path, sample: list[Row]) -> dict[str, tuple[SourceTurn, list[str]]]:
    """The sample's turns by id, each with the user messages before it; exits if a draft has changed."""
    wanted = {row["id"]: row["draft_digest"] for row in sample}
    found = {}
    for source in dict.fromkeys(row["source"] for row in sample):
        for _conversation, turns in groupby(read_source(data, source), key=lambda turn: turn.conversation):
            said: list[str] = []
            for turn in turns:
                if turn.id in wanted:
                    if draft_digest(turn.record.draft) != wanted[turn.id]:
                        sys.exit(f"{turn.id}: the draft is not the one that was drawn")
                    found[turn.id] = turn, list(said)
                said.append(turn.record.user_message)
    if missing := wanted.keys() - found.keys():
        sys.exit(f"not found: {', '.join(sorted(missing))}")
    return found


def sheet(turn: SourceTurn, said: list[str], language: str) -> str:
    return "\n".join(_lines(turn, said, language)) + "\n"


def _lines(turn: SourceTurn, said: list[str], language: str) -> Iterator[str]:
    record = turn.record
    needles = codes(record.draft)
    yield f"# {turn.id}\n\nlanguage: {language}"
    tools = [
        f"{tool.name} ({tool.description[:120]})" if tool.description else tool.name for tool in record.tools
    ]
    yield f"\n## Tools known\n{chr(10).join(f'- {tool}' for tool in tools) or '(not stated by the source)'}"
    yield "\n## System text and context"
    yield shorten(record.hydrated_context, CONTEXT_LIMIT, needles) or "(none)"
    yield f"\n## Calls of earlier turns ({len(record.earlier_calls)})"
    for number, call in enumerate(record.earlier_calls, 1):
        yield from _call(f"E{number}", call, EARLIER_LIMIT, needles)
    if said:
        yield "\n## Earlier user messages"
        for number, text in enumerate(said, 1):
            yield f"Said {number}: {shorten(text, EARLIER_USER_LIMIT, needles) or '(none)'}"
    yield "\n## User message of this turn"
    yield shorten(record.user_message, USER_LIMIT, needles) or "(none)"
    yield f"\n## Calls of this turn ({len(record.tool_calls)})"
    for number, call in enumerate(record.tool_calls, 1):
        yield from _call(f"C{number}", call, RESULT_LIMIT, needles)
    if needles:
        yield "\n## Where the draft's codes occur in the full texts (a plain look-up, no judgement)"
        for code, names in occurrences(record.draft, _sources(turn, said))[:60]:
            yield f"- {code}: {', '.join(names) or 'nowhere'}"
    yield f"\n{DRAFT_OPENS} {turn.id}\n{record.draft}\n{DRAFT_CLOSES}\n"


def _call(name: str, call: ToolCall, limit: int, needles: list[str]) -> Iterator[str]:
    yield f"{name}. {call.name}  args: {shorten(as_text(call.args), ARGS_LIMIT, needles)}"
    marked = "" if call.ok is None else f" (marked {'succeeded' if call.ok else 'failed'})"
    yield f"    result{marked}: {shorten(as_text(call.result), limit, needles)}"


def _sources(turn: SourceTurn, said: list[str]) -> Iterator[tuple[str, str]]:
    record = turn.record
    yield "context", record.hydrated_context
    for letter, calls in (("E", record.earlier_calls), ("C", record.tool_calls)):
        for number, call in enumerate(calls, 1):
            yield f"{letter}{number} args", as_text(call.args)
            yield f"{letter}{number} result", as_text(call.result)
    for number, text in enumerate(said, 1):
        yield f"Said {number}", text
    yield "user message", record.user_message


def parts_of(sample: list[Row], number: int) -> list[list[Row]]:
    """Sources mixed over all parts, the turns of one conversation in the same part."""
    groups = [
        list(rows) for _key, rows in groupby(sample, key=lambda row: (row["source"], row["conversation"]))
    ]
    parts: list[list[Row]] = [[] for _ in range(number)]
    for rows in groups:
        min(parts, key=len).extend(rows)
    return parts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the transcripts")
    parser.add_argument("--out", type=Path, required=True, help="folder for the sheets")
    parser.add_argument("--sample", type=Path, default=Path(__file__).with_name("sample.jsonl"))
    parser.add_argument("--parts", type=int, default=21)
    options = parser.parse_args()
    sample = read_rows(options.sample)
    turns = find_turns(options.data, sample)
    options.out.mkdir(parents=True, exist_ok=True)
    for number, rows in enumerate(parts_of(sample, options.parts)):
        sheets = [sheet(*turns[row["id"]], row["language"]) for row in rows]
        path = options.out / f"part_{number:02}.md"
        path.write_text("\n---\n\n".join(sheets))
        # What the checks need and no more: nothing here says how a turn was drawn.
        entries = [
            {key: row[key] for key in ("id", "draft_digest")} | {"draft": turns[row["id"]][0].record.draft}
            for row in rows
        ]
        path.with_suffix(".drafts.jsonl").write_text(
            "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)
        )
        print(path.name, len(rows), "turns", path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
