"""What suites found of a file of turns: as a table for people, and as JUnit XML for machines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from xml.etree import ElementTree

from reviews.core.assertion_suites import AssertionSuite, SuiteVerdict
from reviews.core.memory_checks import verdict_line
from reviews.formats.record import TurnRecord

#: Failures that the table lists; all are in the XML.
FAILURES_LISTED = 50
#: What XML 1.0 cannot hold.
_NOT_XML = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")


@dataclass(frozen=True)
class Case:
    """One assertion on one turn."""

    external_id: str
    found: SuiteVerdict

    @property
    def name(self) -> str:
        return f"{self.found.suite}: {self.found.label}"


@dataclass
class Run:
    """All of a file. ``skipped`` turns are about none of the suites; ``unreadable`` are lines and why."""

    turns: int = 0
    skipped: int = 0
    cases: list[Case] = field(default_factory=list)
    unreadable: list[tuple[int, str]] = field(default_factory=list)

    @property
    def failed(self) -> list[Case]:
        return [case for case in self.cases if not case.found.verdict.passed]

    def evaluate(self, record: TurnRecord, suites: Sequence[AssertionSuite]) -> None:
        """All assertions of the suites that are about the turn."""
        self.turns += 1
        about = [s for s in suites if s.applies(agent=record.agent, attributes=record.attributes)]
        self.skipped += not about
        for suite in about:
            self.cases += [Case(record.external_id, found) for found in suite.evaluate(record.attributes)]


def table(run: Run, *, color: bool = False) -> str:
    """A line for each assertion, then the failures, then the sums."""
    broken = run.failed
    tried, failed = Counter(case.name for case in run.cases), Counter(case.name for case in broken)
    width = max(map(len, tried), default=0)
    lines = [f"{'Assertion':<{width}}  passed  failed"] if tried else []
    for name, count in tried.items():
        line = f"{name:<{width}}  {count - failed[name]:>6}  {failed[name]:>6}"
        lines.append(f"\x1b[31m{line}\x1b[0m" if color and failed[name] else line)
    lines += [""] if broken else []
    for case in broken[:FAILURES_LISTED]:
        lines.append(f"{case.external_id}  {case.found.label}: {verdict_line(case.found.verdict)}")
    if len(broken) > FAILURES_LISTED:
        lines.append(f"… and {len(broken) - FAILURES_LISTED} more failures")
    lines += [f"line {number}: {why}" for number, why in run.unreadable]
    lines.append(
        f"{run.turns} turns, {run.skipped} not looked at; {len(run.cases)} assertions, {len(broken)} failed; "
        f"{len(run.unreadable)} lines unreadable"
    )
    return "\n".join(lines)


def junit_xml(run: Run) -> str:
    """The JUnit XML that CI servers read: a ``testsuite`` for each suite, a ``testcase`` for each verdict."""
    root = ElementTree.Element("testsuites", _counts(len(run.cases), len(run.failed), len(run.unreadable)))
    suites: dict[str, list[Case]] = {}
    for case in run.cases:
        suites.setdefault(case.found.suite, []).append(case)
    for name, cases in suites.items():
        failures = sum(not case.found.verdict.passed for case in cases)
        node = ElementTree.SubElement(
            root, "testsuite", {"name": _xml(name), **_counts(len(cases), failures, 0)}
        )
        for case in cases:
            names = {"classname": _xml(f"{name}.{case.found.label}"), "name": _xml(case.external_id)}
            one = ElementTree.SubElement(node, "testcase", names)
            if not case.found.verdict.passed:
                failure = ElementTree.SubElement(one, "failure", message=case.found.verdict.reason)
                failure.text = verdict_line(case.found.verdict)
    if run.unreadable:
        count = len(run.unreadable)
        node = ElementTree.SubElement(
            root, "testsuite", {"name": "unreadable lines", **_counts(count, 0, count)}
        )
        for number, why in run.unreadable:
            one = ElementTree.SubElement(node, "testcase", {"classname": "file", "name": f"line {number}"})
            ElementTree.SubElement(one, "error", message=_xml(why))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _counts(tests: int, failures: int, errors: int) -> dict[str, str]:
    return {"tests": str(tests), "failures": str(failures), "errors": str(errors)}


def _xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
