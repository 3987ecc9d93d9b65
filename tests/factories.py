"""The smallest valid rows. Names are the cast: Olga owns, Max manages, Rita reviews, Vera views."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

from reviews.core.drafts import MODEL_SOURCE
from reviews.formats.record import ToolCall, TurnRecord
from reviews.formats.symfonic_event import EventFinding, FabricationEvent
from reviews.models import CriticVerdict, Membership, Skill, SkillEvidence, SkillRevision, Tenant, Turn, User
from reviews.models.skills import SkillKind, SkillOrigin
from reviews.models.tenants import Role
from reviews.models.turns import ReviewState, Source
from reviews.services import analysis, intake, publishing
from reviews.services.critic_rows import CAUTION, raised
from reviews.services.skill_contents import content_of

_numbers = count(1)

#: A draft with one finding of each common kind and nothing that grounds them.
CLAIM = "I sent the invoice. The task_id=job-4711 is queued as 6f9619ff-8b86-4011-b42d-00c04fc964ff."


def make_tenant(slug: str = "acme", **settings: Any) -> Tenant:
    """A tenant with a published policy; keyword arguments are settings. Nothing is sampled, and the
    reference detector looks, unless asked otherwise."""
    settings.setdefault("audit_sample_rate", 0)
    settings.setdefault("detection_profile", "reference")
    tenant = Tenant.objects.create(slug=slug, name=slug.capitalize())
    publishing.publish_settings(tenant=tenant, author=None, values=settings)
    return tenant


def make_member(tenant: Tenant, role: Role = Role.REVIEWER, username: str = "") -> User:
    """A person with a role in the tenant; the password is the username."""
    username = username or f"{role.value}{next(_numbers)}"
    user = User.objects.filter(username=username).first()
    if user is None:
        user = User.objects.create_user(username, password=username, first_name=username.capitalize())
    Membership.objects.across_tenants().create(tenant=tenant, user=user, role=role)
    return user


def make_record(draft: str = CLAIM, **fields: Any) -> TurnRecord:
    fields.setdefault("external_id", f"run-{next(_numbers)}")
    fields.setdefault("agent", "support-bot")
    return TurnRecord(draft=draft, **fields)


def make_turn(tenant: Tenant, draft: str = CLAIM, *, analysed: bool = True, **fields: Any) -> Turn:
    """A stored turn, analysed unless asked otherwise."""
    accepted = intake.accept_turns(tenant=tenant, records=[make_record(draft, **fields)], source=Source.TURN)
    if analysed:
        analysis.analyse_pending()
    return Turn.objects.for_tenant(tenant).get(pk=accepted[0].turn_id)


def make_verdict(turn: Turn, **values: Any) -> CriticVerdict:
    """What the critic said of a turn, as it is stored; a revision unless asked otherwise. The turn stands in
    the queue as it then would."""
    defaults: dict[str, Any] = {
        "gate_reason": "low_confidence",
        "confidence": 420,
        "threshold": 600,
        "state": "done",
        "verdict": "revise",
    }
    values = {**defaults, **values}
    if values["state"] == "waiting":
        values["verdict"] = ""
    elif not values.get("cause"):
        values.setdefault("said", values["verdict"])
    verdict = CriticVerdict.objects.across_tenants().create(tenant=turn.tenant, turn=turn, **values)
    degraded = verdict.degraded and not verdict.forced
    turn.critic = "degraded" if degraded else verdict.verdict or "waiting"
    turn.priority = raised(turn.priority, turn.critic)
    if turn.critic in CAUTION and turn.review_state == ReviewState.NONE:
        turn.review_state = ReviewState.OPEN
    turn.save(update_fields=["critic", "priority", "review_state"])
    return verdict


def make_skill(
    tenant: Tenant, kind: str = SkillKind.ACTION, *, episodes: Sequence[str] = (), **fields: Any
) -> Skill:
    """A draft as an extractor's is kept, with its first revision and evidence; ``fields`` are columns."""
    number = next(_numbers)
    fields.setdefault("trigger", f"the customer asks for order {number}")
    fields.setdefault("action", f"call get_order, then say where order {number} is")
    fields.setdefault("label", f"Auto-learned ({kind}): {fields['trigger'][:80]}"[:100])
    defaults = {
        "rationale": "Customers were told a place that nobody had looked up.",
        "steps": [fields["action"]],
        "confidence": 0.8,
        "source": MODEL_SOURCE,
        "origin": SkillOrigin.RUN,
        "evidence": len(episodes),
    }
    skill = Skill.objects.across_tenants().create(tenant=tenant, kind=kind, **{**defaults, **fields})
    SkillRevision.objects.across_tenants().create(
        tenant=tenant, skill=skill, number=0, content=content_of(skill), created_at=skill.created_at
    )
    SkillEvidence.objects.across_tenants().bulk_create(
        SkillEvidence(tenant=tenant, skill=skill, episode=episode) for episode in episodes
    )
    return skill


def call(name: str, result: Any = None, **fields: Any) -> ToolCall:
    return ToolCall(name=name, result=result, **fields)


def make_event(run_id: str = "", findings: Sequence[dict[str, Any]] = (), **fields: Any) -> FabricationEvent:
    """What a runtime reports of one draft; ``findings`` need an identifier, a kind and what differs."""
    found = [EventFinding(**{"severity": "high", "confidence": 0.9, **finding}) for finding in findings]
    fields.setdefault("mode", "observe")
    fields.setdefault("action_taken", "observed" if found else "none")
    fields.setdefault("original_draft_preview", CLAIM)
    return FabricationEvent(
        run_id=run_id or f"run-{next(_numbers)}",
        findings=found,
        refuse_threshold=0.8,
        max_finding_confidence=max((f.confidence for f in found), default=0.0),
        **fields,
    )
