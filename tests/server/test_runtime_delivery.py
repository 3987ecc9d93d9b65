"""With symfonic-core's own router as the runtime: its drafts come here, what is decided here holds there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.utils import timezone

from reviews.models import AuditEvent, Delivery, Job, Skill
from reviews.models.jobs import JobKind, JobState
from reviews.models.runtimes import DeliveryState
from reviews.models.skills import SkillState
from reviews.services import jobs
from reviews.services.deliveries import deliver_due, has_due, retry_all, state_of
from reviews.services.runtimes import set_runtime
from reviews.services.skills import approve_skill, edit_skill, reject_skill, retire_skill
from tests.factories import make_member

if not os.environ.get("CI"):
    # There a skipped test would look like a passed one: the process's own import error fails the run.
    pytest.importorskip("symfonic.agent.fastapi.router")
    pytest.importorskip("uvicorn")

pytestmark = [pytest.mark.parity, pytest.mark.slow, pytest.mark.django_db(transaction=True)]

ROOT = Path(__file__).resolve().parents[2]
#: Far more than anything here takes on a slow machine.
PATIENCE = 60.0
AUTHORIZATION, TENANT = "Bearer sk-4711", "acme-prod"

#: Unlike enough that neither side takes two of them for one.
DRAFTS: dict[str, dict[str, Any]] = {
    "refund": {
        "kind": "action",
        "trigger": "a parcel was lost by the carrier",
        "action": "call refund_order with the full amount",
        "rationale": "Customers wait for weeks otherwise.",
        "confidence": 0.9,
        "source_episode_ids": ["run-1", "run-2"],
    },
    "bounce": {
        "kind": "recovery",
        "trigger": "send_email fails with mailbox_full",
        "action": "ask for another address, then send again",
        "rationale": "The second try to the same box always failed.",
        "confidence": 0.7,
        "source_episode_ids": ["run-3"],
    },
    "backup": {
        "kind": "action",
        "trigger": "somebody mentions a migration of the database",
        "action": "run create_backup and wait for its id",
        "rationale": "Two migrations were rolled back from it.",
        "confidence": 0.6,
        "source_episode_ids": ["run-4"],
    },
    "birthday": {
        "kind": "action",
        "trigger": "it is the user's birthday",
        "action": "sing",
        "rationale": "It happened once and went well.",
        "confidence": 0.2,
        "source_episode_ids": ["run-5"],
    },
    "weather": {
        "kind": "recovery",
        "trigger": "get_forecast times out in the morning",
        "action": "use yesterday's report and say how old it is",
        "rationale": "The service restarts at six.",
        "confidence": 0.5,
        "source_episode_ids": ["run-6"],
    },
    "passport": {
        "kind": "guardrail",
        "trigger": "a traveller types a passport number into the chat",
        "action": "never repeat it, store it with save_document",
        "rationale": "It was quoted back in a group conversation.",
        "confidence": 0.95,
        "precondition": "the document store is unlocked",
        "source_episode_ids": ["run-7"],
    },
}


class AgentRuntime:
    """The process of ``tests.server.agent_runtime``; comes back on the same port with the same memory."""

    def __init__(self, folder: Path) -> None:
        self.journal = folder / "journal.jsonl"
        self.log = folder / "runtime.log"
        self.port = 0
        self.process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/api/v1"

    def start(self, die_at: dict[str, Any] | None = None) -> None:
        plan = {
            "tenant": TENANT,
            "authorization": AUTHORIZATION,
            "port": self.port,
            "journal": str(self.journal),
            "drafts": DRAFTS,
            "die_at": die_at,
        }
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.server.agent_runtime"],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(plan))
        self.process.stdin.close()
        # Ends at the port, or at the process's end.
        said = self.process.stdout.readline()
        assert said.strip().isdecimal(), self.log.read_text()
        self.port = int(said)

    def ended(self) -> int:
        assert self.process is not None
        return self.process.wait(PATIENCE)

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait(PATIENCE)
            assert self.process.stdout is not None
            self.process.stdout.close()

    def procedures(self) -> dict[str, dict[str, Any]]:
        answer = httpx.get(
            f"{self.url}/procedures",
            params={"status": "all"},
            headers={"X-Tenant-ID": TENANT, "Authorization": AUTHORIZATION},
            timeout=PATIENCE,
        )
        return {each["id"]: each for each in answer.raise_for_status().json()}

    def standing(self) -> dict[str, tuple[str, bool]]:
        return {name: (each["status"], each["active"]) for name, each in self.procedures().items()}

    def change(self, name: str, body: dict[str, Any]) -> None:
        """As somebody does at the runtime itself, or its own merging of drafts that are alike."""
        httpx.patch(
            f"{self.url}/procedures/{name}",
            json=body,
            headers={"X-Tenant-ID": TENANT, "Authorization": AUTHORIZATION},
            timeout=PATIENCE,
        ).raise_for_status()

    def updates(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.journal.read_text().splitlines()]


@pytest.fixture
def runtime(request, tmp_path, settings) -> Iterator[AgentRuntime]:
    """A runtime that is there; a parameter says at which change of its memory it dies."""
    settings.OUTBOUND_ALLOW_PRIVATE = True
    settings.OUTBOUND_TIMEOUT_SECONDS = PATIENCE
    made = AgentRuntime(tmp_path)
    made.start(die_at=getattr(request, "param", None))
    yield made
    made.stop()


@pytest.fixture
def rita(tenant):
    return make_member(tenant, username="rita")


@pytest.fixture
def pulled(tenant, runtime) -> dict[str, Skill]:
    """What was pulled from the runtime, by its name there."""
    set_runtime(tenant=tenant, actor=None, base_url=runtime.url, runtime_tenant=TENANT, auth=AUTHORIZATION)
    job = pull(tenant)
    assert (job.state, job.error) == (JobState.DONE, "")
    assert job.result["new"] == len(DRAFTS)
    return {skill.runtime_id: skill for skill in Skill.objects.for_tenant(tenant)}


def pull(tenant) -> Job:
    job = jobs.start_job(tenant=tenant, kind=JobKind.PULL, parameters={}, actor=None)
    jobs.run_jobs()
    job.refresh_from_db()
    return job


def decide_all(tenant, actor, skills: dict[str, Skill]) -> dict[str, tuple[str, bool]]:
    """Approve and reject by turns all that one person may decide; how they are to stand in the runtime."""
    expected = {}
    for number, name in enumerate(sorted(set(skills) - {"passport"})):
        about = {"tenant": tenant, "actor": actor, "skill_id": skills[name].pk, "seen_version": 0}
        if number % 2:
            reject_skill(**about, reason="not_supported")
            expected[name] = ("rejected", False)
        else:
            approve_skill(**about)
            expected[name] = ("approved", True)
    return expected


def test_drafts_of_the_runtime_arrive_as_they_are(pulled, tenant):
    assert set(pulled) == set(DRAFTS)
    for name, draft in DRAFTS.items():
        skill = pulled[name]
        for field in ("kind", "trigger", "action", "rationale", "confidence"):
            assert getattr(skill, field) == draft[field]
        assert skill.precondition == draft.get("precondition")
        assert skill.source == "phase_12_llm_extractor"
        assert [each.episode for each in skill.episodes.order_by("id")] == draft["source_episode_ids"]
    again = pull(tenant).result
    assert (again["new"], again["unchanged"]) == (0, len(DRAFTS))


def test_decisions_made_here_hold_there(pulled, runtime, tenant, rita):
    assert set(runtime.standing().values()) == {("draft", False)}
    expected = decide_all(tenant, rita, pulled)
    assert deliver_due().delivered == len(expected)
    assert runtime.standing() == {**expected, "passport": ("draft", False)}
    approved = pulled["birthday"]
    approved.refresh_from_db()
    assert (approved.state, state_of(approved).state) == (SkillState.REJECTED, DeliveryState.DELIVERED)


def test_a_guardrail_is_active_there_once_two_people_approved_it_here(pulled, runtime, tenant, rita):
    about = {"tenant": tenant, "skill_id": pulled["passport"].pk}
    approve_skill(**about, actor=rita, seen_version=0)
    assert deliver_due().sent == 0
    assert runtime.standing()["passport"] == ("draft", False)
    approve_skill(**about, actor=make_member(tenant, username="max"), seen_version=1)
    assert deliver_due().delivered == 1
    assert runtime.standing()["passport"] == ("approved", True)


def test_an_edited_text_is_the_one_in_force_there_and_a_retired_one_is_not(pulled, runtime, tenant, rita):
    about = {"tenant": tenant, "skill_id": pulled["refund"].pk}
    edited = edit_skill(
        **about, actor=rita, content={"action": "call refund_order with half the amount"}, seen_version=0
    )
    max_ = make_member(tenant, username="max")
    approved = approve_skill(**about, actor=max_, seen_version=edited.skill.version)
    assert deliver_due().delivered == 2
    there = runtime.procedures()["refund"]
    assert (there["status"], there["active"]) == ("approved", True)
    assert there["steps"] == ["call refund_order with half the amount"]
    assert "half the amount" in there["content"]
    retire_skill(**about, actor=rita, seen_version=approved.skill.version)
    assert deliver_due().delivered == 1
    assert runtime.standing()["refund"] == ("rejected", False)


@pytest.mark.parametrize(
    "change",
    [
        {"steps": ["call refund_order with twice the amount"]},
        {"properties": {"content": "refund everybody"}},
        {"properties": {"context": "the manager said so"}},
        {"properties": {"trigger": "anybody asks for anything"}},
        {"properties": {"precondition": ["none of it matters"]}},
        {"properties": {"action_tool": "drop_tables"}},
    ],
    ids=lambda change: next(iter(change.get("properties", change))),
)
def test_what_changed_there_after_the_pull_is_not_put_in_force_unseen(pulled, runtime, tenant, rita, change):
    before = runtime.procedures()["refund"]
    runtime.change("refund", change)
    approve_skill(tenant=tenant, actor=rita, skill_id=pulled["refund"].pk, seen_version=0)
    assert deliver_due().delivered == 1
    there = runtime.procedures()["refund"]
    assert (there["status"], there["active"]) == ("approved", True)
    for name in ("content", "context", "trigger", "precondition", "rationale", "action_tool"):
        assert there["properties"].get(name) == before["properties"].get(name)
    assert there["steps"] == before["steps"]
    event = AuditEvent.objects.for_tenant(tenant).get(action="delivery.text_replaced")
    assert (event.object_type, event.object_id) == ("skill", str(pulled["refund"].pk))


def test_a_text_that_is_still_the_one_pulled_is_left_alone(pulled, runtime, tenant, rita):
    approve_skill(tenant=tenant, actor=rita, skill_id=pulled["refund"].pk, seen_version=0)
    assert deliver_due().delivered == 1
    assert "_last_edited_by" not in runtime.procedures()["refund"]["properties"]
    assert not AuditEvent.objects.for_tenant(tenant).filter(action="delivery.text_replaced").exists()


@pytest.mark.parametrize(
    ("update", "moment", "runtime"),
    [
        pytest.param(update, moment, {"update": update, "moment": moment}, id=f"{moment} change {update}")
        for update, moment in ((1, "before"), (1, "after"), (3, "before"), (3, "after"), (5, "after"))
    ],
    indirect=["runtime"],
)
def test_a_runtime_killed_in_the_middle_gets_every_decision_and_none_twice_in_effect(
    pulled, runtime, tenant, rita, update, moment
):
    """Killed before the decision took effect, or after that but before it could say so."""
    expected = decide_all(tenant, rita, pulled)
    now = timezone.now() + timedelta(seconds=1)
    first = deliver_due(clock=lambda: now, draw=lambda: 1.0)
    assert (first.delivered, first.put_off, first.dead) == (update - 1, 1, 0)
    assert runtime.ended() == -signal.SIGKILL
    # It is gone; one message tries, and all wait.
    later = now + timedelta(minutes=1)
    assert deliver_due(clock=lambda: later, draw=lambda: 1.0).put_off == 1

    runtime.start()
    last = later + timedelta(hours=1)
    assert deliver_due(clock=lambda: last).delivered == len(expected) - (update - 1)
    assert not has_due(clock=lambda: last)
    assert runtime.standing() == {**expected, "passport": ("draft", False)}
    assert set(Delivery.objects.for_tenant(tenant).values_list("state", flat=True)) == {"delivered"}
    # What arrived a second time found things as it would have made them.
    made: dict[str, list[dict[str, Any]]] = {}
    for entry in runtime.updates():
        made.setdefault(entry["node"], []).append(entry["properties"])
    assert sorted(map(len, made.values())) == [1] * 4 + [2 if moment == "after" else 1]
    assert all(each == updates[0] for updates in made.values() for each in updates)


def test_a_skill_that_the_runtime_has_lost_is_given_up_and_sent_again_on_request(
    pulled, runtime, tenant, rita
):
    runtime.stop()
    kept = DRAFTS.pop("refund")
    try:
        runtime.start()
    finally:
        DRAFTS["refund"] = kept
    skill = pulled["refund"]
    approve_skill(tenant=tenant, actor=rita, skill_id=skill.pk, seen_version=0)
    assert deliver_due().dead == 1
    assert state_of(skill).words == (
        "Approve: given up. The agent runtime no longer knows this skill (HTTP 404)."
    )
    runtime.stop()
    runtime.start()
    assert retry_all(tenant=tenant, actor=rita) == 1
    assert deliver_due().delivered == 1
    assert runtime.standing()["refund"] == ("approved", True)


def test_a_wrong_authorization_is_said_and_mended(pulled, runtime, tenant, rita):
    about = {"tenant": tenant, "actor": None, "base_url": runtime.url, "runtime_tenant": TENANT}
    changed = set_runtime(**about, auth="Bearer wrong")
    approve_skill(tenant=tenant, actor=rita, skill_id=pulled["refund"].pk, seen_version=0)
    assert deliver_due().put_off == 1
    changed.refresh_from_db()
    assert changed.last_error == "The agent runtime refuses our authorization (HTTP 401)."
    assert pull(tenant).state == JobState.FAILED
    set_runtime(**about, auth=AUTHORIZATION)
    assert deliver_due().delivered == 1
    assert runtime.standing()["refund"] == ("approved", True)
