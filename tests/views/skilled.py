"""Skills to look at: drafts as they come in, each of a subject of its own so that none is folded in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reviews.models import Skill, Tenant
from reviews.models.skills import SkillOrigin
from reviews.services import drafts

#: Words that share nothing, so that no two triggers or actions read alike.
SUBJECTS = (
    "refund over 500", "parcel lost abroad", "password forgotten", "invoice overdue", "seat upgrade",
    "allergy declared", "timeout of search", "duplicate booking", "passport expired", "gift voucher empty",
)  # fmt: skip


def make_draft(
    tenant: Tenant, kind: str = "action", subject: int = 0, episodes: Sequence[str] = (), **fields: Any
) -> Skill:
    """A draft as an agent sends it; keyword arguments are fields of a ``ProceduralDraft``."""
    words = SUBJECTS[subject]
    sent = {
        "kind": kind,
        "trigger": f"When a customer reports: {words}",
        "action": f"Handle {words} with tool_{subject}",
        "rationale": "Seen again and again.",
        "confidence": 0.8,
        "source_episode_ids": list(episodes),
    }
    runtime_id = fields.pop("runtime_id", "")
    origin = fields.pop("origin", SkillOrigin.API)
    taken = drafts.take_draft(
        tenant=tenant, extracted={**sent, **fields}, origin=origin, runtime_id=runtime_id
    )
    assert taken.status == "new"
    return taken.skill
