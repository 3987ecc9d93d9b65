"""What a turn brings as evidence is in its payload and nowhere else: no row, log record or representation."""

from __future__ import annotations

import logging
import random
from typing import Any

import pytest
from django.apps import apps
from django.db import transaction
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from reviews.models import AssertionResult, AuditEvent, PolicyVersion, Tenant, Turn, TurnPayload
from reviews.services.analysis import analyse_pending
from reviews.services.assertion_numbers import assertion_numbers
from reviews.services.assertion_worklist import failing_turns
from reviews.services.intake import accept_turns, check_turn
from reviews.services.judge import judge
from reviews.services.policies import current_policy
from reviews.services.review import decide_turn
from tests.factories import make_member, make_record
from tests.services.asserted import NOON, PLAIN, publish

pytestmark = pytest.mark.django_db

#: What the policy itself says, and so the log of its publication.
POLICY = (PolicyVersion, AuditEvent)


def word(rng: random.Random) -> str:
    """So long that it is nowhere by chance, and without anything that encodings change."""
    return "".join(rng.choice("ghjkmnpqrstuvwxyz") for _ in range(24))


class Evidence:
    """Attributes for every type of assertion, of words that are kept; ``looked_for`` are in suites too."""

    def __init__(self, seed: int, *, leaks: bool, torn: bool) -> None:
        rng = random.Random(seed)
        self.words: list[str] = []
        self.looked_for = [word(rng) for _ in range(2)]

        def new() -> str:
            self.words.append(word(rng))
            return self.words[-1]

        category, subject, record_id = new(), new(), new()
        records: list[Any] = [
            {"record_id": new(), "category": category, "subject": subject, "content": new()},
            {"record_id": record_id, "category": new(), "subject": new()},
            {new(): new()},
        ]
        if torn:
            records.append({"record_id": record_id, "category": new(), "subject": new()})
        claim = new()
        self.attributes: dict[str, Any] = {
            "prompt_recall": " ".join([new(), *(self.looked_for if leaks else []), new()]),
            "memory_classifications": records,
            "recall_claims": {claim: new(), new(): [new()]},
            "response_claims": {claim: new(), new(): {new(): new()}},
            "other": {new(): [new(), {new(): new()}]},
            "tags": [new()],
        }

    @property
    def suites(self) -> list[dict[str, Any]]:
        one, two = self.looked_for
        return [
            {
                "name": "all",
                "queue": True,
                "assertions": [
                    {"type": "prompt_recall_excludes", "fragments": [one, two]},
                    {"type": "prompt_recall_excludes", "fragments": [one], "case_sensitive": True},
                    {"type": "prompt_recall_contains", "fragments": [one, two]},
                    {"type": "memory_category_separated", "expected": {"billing": "ana"}},
                    {
                        "type": "memory_category_separated",
                        "expected": {"billing": "ana"},
                        "allow_extra": True,
                    },
                    {"type": "response_does_not_contradict_recall"},
                    {"type": "response_does_not_contradict_recall", "minimum": 9},
                ],
            },
            {
                "name": "tagged",
                "tags": ["gold"],
                "assertions": [{"type": "response_does_not_contradict_recall"}],
            },
        ]


def everything_stored(tenant: Tenant) -> dict[str, str]:
    """The text of each table of ours, the payloads of turns excepted."""
    models = [m for m in apps.get_app_config("reviews").get_models() if m is not TurnPayload]
    return {model.__name__: repr(list(model._base_manager.values())) for model in models}


@hypothesis_settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(seed=st.integers(0, 2**32), leaks=st.booleans(), torn=st.booleans(), broken=st.booleans())
def test_evidence_is_in_the_payload_and_nowhere_else(
    tenant: Tenant, caplog: pytest.LogCaptureFixture, seed: int, leaks: bool, torn: bool, broken: bool
) -> None:
    for name in (None, "reviews"):
        caplog.set_level(logging.DEBUG, logger=name)
    caplog.clear()
    evidence = Evidence(seed, leaks=leaks, torn=torn)
    with transaction.atomic():
        publish(tenant, *evidence.suites, audit_sample_rate=1)
        record = make_record(PLAIN, attributes=evidence.attributes, occurred_at=NOON)
        accept_turns(tenant=tenant, records=[record])
        checked = check_turn(
            tenant=tenant, record=make_record(PLAIN, attributes=evidence.attributes, occurred_at=NOON)
        )
        if broken:
            # An error of analysis is kept and logged; so must hold nothing of the turn.
            wrong = make_record(PLAIN, attributes=evidence.attributes)
            accept_turns(tenant=tenant, records=[wrong])
            TurnPayload.objects.for_tenant(tenant).filter(turn__external_id=wrong.external_id).update(
                tool_calls=[{"nonsense": 1}]
            )
        analyse_pending()
        turn = Turn.objects.for_tenant(tenant).get(external_id=record.external_id)
        assert turn.assertions == "flagged"
        decide_turn(tenant=tenant, actor=make_member(tenant), turn_id=turn.pk, label="unsure", seen_version=0)
        stored = everything_stored(tenant)
        policy = current_policy(tenant=tenant)
        judgement = judge(record, policy)
        said = {
            "judgement": repr(judgement.assertions) + repr(checked.judgement.assertions),
            "settings": repr(policy.settings) + repr(policy),
            "numbers": repr(assertion_numbers(tenant=tenant, days=30, now=NOON)),
            "worklist": repr(failing_turns(tenant=tenant))
            + "".join(str(vars(row)) for row in AssertionResult.objects.for_tenant(tenant)),
            "log": caplog.text + "".join(str(vars(record)) for record in caplog.records),
        }
        # The evidence was really there to leak.
        payload = repr(list(TurnPayload.objects.for_tenant(tenant).values("attributes")))
        assert all(secret in payload for secret in evidence.words)
        assert len(judgement.assertions) == 7
        for name, text in {**stored, **said}.items():
            assert not [secret for secret in evidence.words if secret in text], name
        policies = {model.__name__ for model in POLICY}
        for name, text in {**stored, **said}.items():
            if name not in policies:
                assert not [secret for secret in evidence.looked_for if secret in text], name
        transaction.set_rollback(True)
