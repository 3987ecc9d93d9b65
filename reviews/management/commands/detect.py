"""``manage.py detect``: the detector over files, without any database."""

from __future__ import annotations

import json
import os
import sys
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any, get_args

from django.core.management.base import BaseCommand, CommandError

from reviews.core.settings import MODES, DetectionProfile, SettingsError, TenantSettings, parse_settings
from reviews.formats import AUTO, FORMATS, TurnLine, open_turns
from reviews.services.judge import Policy, judge


class Command(BaseCommand):
    help = "Prints what the detector finds in files of turns, one JSON object a line. Needs no database."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add("--format", choices=[AUTO, *sorted(FORMATS)], required=True, help="format of the files")
        add(
            "--profile",
            choices=get_args(DetectionProfile),
            default="evidence",
            help="which detector (default: %(default)s)",
        )
        add("--mode", choices=MODES, default="observe", help="as in a policy (default: %(default)s)")
        add("--refuse-min-confidence", type=float, default=0.8, metavar="0..1", help="as in a policy")
        add("--identifier-keys", default="", metavar="KEY,KEY", help="keys beside the built-in ones")
        add(
            "--keywords", type=Path, metavar="FILE.json", help="words that ask for a tool, by the tool's name"
        )
        add("files", nargs="+", type=Path, metavar="FILE")

    def handle(self, *, files: list[Path], **options: Any) -> None:
        settings = settings_from(options)
        started = time.monotonic()
        turns = flagged = errors = 0
        unreadable = False
        for path in files:
            try:
                with open_turns(options["format"], path) as found:
                    for line in found:
                        answer = answer_for(path, line, settings)
                        self.stdout.write(json.dumps(answer, ensure_ascii=False))
                        errors += "error" in answer
                        turns += "error" not in answer
                        flagged += bool(answer.get("findings"))
            except BrokenPipeError:
                # Whoever read has had enough. Python would complain once more when it flushes at its end.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                return
            except OSError as error:
                unreadable = True
                self.stderr.write(f"{path}: cannot be read: {error.strerror or error}")
        seconds = time.monotonic() - started
        self.stderr.write(f"{turns} turns, {flagged} flagged, {errors} errors in {seconds:.1f} s")
        if unreadable:
            sys.exit(1)


def settings_from(options: dict[str, Any]) -> TenantSettings:
    """The settings that the options stand for; a wrong one is told with its name."""
    keywords: Any = {}
    keys = [key.strip() for key in options["identifier_keys"].split(",")]
    if path := options["keywords"]:
        try:
            keywords = json.loads(path.read_bytes())
        except OSError as error:
            raise CommandError(f"{path}: cannot be read: {error.strerror or error}") from error
        except ValueError as error:
            raise CommandError(f"{path}: not valid JSON: {error}") from error
    try:
        return parse_settings(
            {
                "detection_profile": options["profile"],
                "fabrication_check_mode": options["mode"],
                "fabrication_refuse_min_confidence": options["refuse_min_confidence"],
                "identifier_keys": [key for key in keys if key],
                "tool_trigger_keywords": keywords,
            }
        )
    except SettingsError as error:
        raise CommandError(str(error)) from error


def answer_for(path: Path, line: TurnLine, settings: TenantSettings) -> dict[str, Any]:
    """What is printed for one turn, or for one error."""
    spot = {"file": str(path), "line": line.line}
    if line.error is not None:
        return {**spot, "error": {"pointer": line.error.pointer, "message": line.error.message}}
    assert line.record is not None
    judgement = judge(line.record, Policy(None, 0, settings))
    answer: dict[str, Any] = {
        **spot,
        "turn": line.turn,
        "external_id": line.record.external_id,
        "findings": [finding.to_event_payload() for finding in judgement.findings],
        "outcome": judgement.outcome.action_taken,
    }
    if settings.detection_profile == "evidence":
        found = zip(answer["findings"], judgement.evidence, strict=True)
        answer["findings"] = [{**finding, "evidence": evidence} for finding, evidence in found]
        answer["grounded"] = list(judgement.grounded)
    return answer
