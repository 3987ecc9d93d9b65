"""The tables, one file per aggregate."""

from reviews.models.assertions import AssertionCount, AssertionResult
from reviews.models.audit import AuditEvent, AuditHead
from reviews.models.counts import ConfidenceProfile, DailyCount, GateCount, ProfileCount
from reviews.models.critic import CriticCircuit, CriticVerdict, ModelUse, TrialVerdict
from reviews.models.decisions import ReviewDecision
from reviews.models.findings import Finding
from reviews.models.jobs import Job, RejudgedTurn
from reviews.models.policies import Calibration, GroundingSuggestion, PolicyVersion, ShadowOutcome
from reviews.models.runtimes import Delivery, Runtime
from reviews.models.skills import Skill, SkillDecision, SkillEvidence, SkillReplay, SkillRevision
from reviews.models.tenants import AgentName, ApiKey, Membership, Tenant, User
from reviews.models.turns import Turn, TurnPayload

__all__ = [
    "AgentName",
    "ApiKey",
    "AssertionCount",
    "AssertionResult",
    "AuditEvent",
    "AuditHead",
    "Calibration",
    "ConfidenceProfile",
    "CriticCircuit",
    "CriticVerdict",
    "DailyCount",
    "Delivery",
    "Finding",
    "GateCount",
    "GroundingSuggestion",
    "Job",
    "Membership",
    "ModelUse",
    "PolicyVersion",
    "ProfileCount",
    "RejudgedTurn",
    "ReviewDecision",
    "Runtime",
    "ShadowOutcome",
    "Skill",
    "SkillDecision",
    "SkillEvidence",
    "SkillReplay",
    "SkillRevision",
    "Tenant",
    "TrialVerdict",
    "Turn",
    "TurnPayload",
    "User",
]
