"""The tables, one file per aggregate."""

from reviews.models.audit import AuditEvent, AuditHead
from reviews.models.counts import DailyCount
from reviews.models.decisions import ReviewDecision
from reviews.models.findings import Finding
from reviews.models.policies import PolicyVersion
from reviews.models.tenants import AgentName, ApiKey, Membership, Tenant, User
from reviews.models.turns import Turn, TurnPayload

__all__ = [
    "AgentName",
    "ApiKey",
    "AuditEvent",
    "AuditHead",
    "DailyCount",
    "Finding",
    "Membership",
    "PolicyVersion",
    "ReviewDecision",
    "Tenant",
    "Turn",
    "TurnPayload",
    "User",
]
