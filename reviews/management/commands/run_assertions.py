"""``manage.py run_assertions``: a suite over a file of turns, for the continuous integration of an agent."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from reviews.core.assertion_suites import AssertionSuite, read_suites
from reviews.formats import AUTO, FORMATS, open_turns
from reviews.management.assertion_report import Run, junit_xml, table
from reviews.models import Tenant
from reviews.services.policies import current_policy


class Command(BaseCommand):
    help = (
        "Evaluates a suite of memory assertions on every turn of a file that it is about, whatever its "
        "sample. Exit status 0: all passed; 1: something failed, or there was nothing to evaluate; 2: the "
        "suite, or a line of the file, cannot be used. With a suite from a file it needs no database."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add(
            "--suite",
            required=True,
            metavar="S",
            help="name of a suite in force (with --tenant), or a JSON file: a suite, or a list of them",
        )
        add("--tenant", metavar="SLUG", help="whose suites")
        add("--file", required=True, type=Path, metavar="turns.jsonl", help="the turns")
        add(
            "--format",
            choices=[AUTO, *sorted(FORMATS)],
            default="native",
            help="their format (default: %(default)s)",
        )
        add("--junit", type=Path, metavar="FILE.xml", help="write the results as JUnit XML as well")

    def handle(
        self, *, suite: str, tenant: str | None, file: Path, junit: Path | None, **options: Any
    ) -> None:
        suites = _suites_in_force(tenant, suite) if tenant else _suites_in(Path(suite))
        run = Run()
        try:
            with open_turns(options["format"], file) as found:
                for line in found:
                    if line.record is not None:
                        run.evaluate(line.record, suites)
                    elif line.error is not None:
                        run.unreadable.append((line.line, str(line.error)))
        except OSError as error:
            raise _unusable(f"{file}: cannot be read: {error.strerror or error}") from error
        self.stdout.write(table(run, color=self.stdout.isatty()))
        if junit is not None:
            try:
                junit.write_text(junit_xml(run), "utf-8")
            except OSError as error:
                raise _unusable(f"{junit}: cannot be written: {error.strerror or error}") from error
        if run.unreadable:
            sys.exit(2)
        if run.failed or not run.cases:
            sys.exit(1)


def _suites_in_force(slug: str, name: str) -> list[AssertionSuite]:
    tenant = Tenant.objects.filter(slug=slug).first()
    if tenant is None:
        raise _unusable(f"There is no tenant {slug!r}.")
    suites = current_policy(tenant=tenant).settings.assertion_suites
    named = [suite for suite in suites if suite.name == name]
    if not named:
        known = ", ".join(suite.name for suite in suites) or "none"
        raise _unusable(f"No suite in force is called {name!r}; there are: {known}.")
    return named


def _suites_in(path: Path) -> list[AssertionSuite]:
    try:
        document = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise _unusable(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise _unusable(f"{path}: is not JSON: {error}") from error
    if isinstance(document, dict) and "suites" in document:
        document = document["suites"]
    problems: dict[str, str] = {}
    suites = read_suites(document if isinstance(document, list) else [document], "", problems)
    if problems:
        said = "\n".join(f"  {spot or '/'}: {text}" for spot, text in problems.items())
        raise _unusable(f"{path}: the suite cannot be used:\n{said}")
    if not suites:
        raise _unusable(f"{path}: there is no suite in it.")
    return list(suites)


def _unusable(message: str) -> CommandError:
    return CommandError(message, returncode=2)
