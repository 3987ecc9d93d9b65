"""Turns: a narrow row that lists read, and beside it the long text that only a turn's own page reads."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils import timezone

from reviews.models.fields import JsonText
from reviews.models.scoping import TenantModel
from reviews.models.tenants import User


class AnalysisState(models.TextChoices):
    PENDING = "pending", "Waiting for analysis"
    CLAIMED = "claimed", "Being analysed"
    DONE = "done", "Analysed"
    FAILED = "failed", "Could not be analysed"


class Source(models.TextChoices):
    """Which door a turn came through."""

    TURN = "turn", "Sent by the agent"
    CHECK = "check", "Checked inline"
    IMPORT = "import", "Imported from a file"
    EVENT = "event", "Known from a runtime event only"


class ReviewState(models.TextChoices):
    """Where a turn stands with the reviewers."""

    NONE = "none", "Not flagged"
    OPEN = "open", "Open"
    DECIDED = "decided", "Decided"


class ActionTaken(models.TextChoices):
    """What the policy did with the draft (behaviour.md, the apply step)."""

    NONE = "none", "No action"
    OBSERVED = "observed", "Observed"
    REVISE_FORCED = "revise_forced", "Revision forced"
    REFUSE_REPLACED = "refuse_replaced", "Refused"


class CriticStanding(models.TextChoices):
    """How a turn stands with the critic; empty when it was not asked."""

    WAITING = "waiting", "Waiting for the critic"
    APPROVE = "approve", "Approved"
    REVISE = "revise", "To be revised"
    REFUSE = "refuse", "To be refused"
    DEGRADED = "degraded", "Could not be read"


class AssertionStanding(models.TextChoices):
    """How a turn stands with its memory assertions; empty when none was made."""

    PASSED = "passed", "All passed"
    FAILED = "failed", "One or more failed"
    FLAGGED = "flagged", "Failed, for review"


class Severity(models.IntegerChoices):
    NONE = 0, "None"
    LOW = 1, "Low"
    MEDIUM = 2, "Medium"
    HIGH = 3, "High"


class Kind(models.TextChoices):
    """The kinds of finding, in the order in which the detector reports them."""

    VERB_CLAIM = "verb_claim", "Claimed action"
    UUID = "uuid", "UUID"
    SHORT_HEX_NEAR_KEY = "short_hex_near_key", "Hex after key"
    SHORT_HEX_NEAR_VERB = "short_hex_near_verb", "Hex near claim"
    KV = "kv", "Key and value"
    INTENT_ACTION_NO_TOOL = "intent_action_no_tool", "Asked, no tool ran"
    TOOL_OUTPUT_SHAPE = "tool_output_shape", "Invented result"
    CLAIMED_IDENTIFIER = "claimed_identifier", "Identifier in a claim"


class Label(models.TextChoices):
    """A reviewer's word on a finding or on a whole turn."""

    FABRICATED = "fabricated", "Fabricated"
    FALSE_ALARM = "false_alarm", "False alarm"
    UNSURE = "unsure", "Unsure"


#: A bit per kind, so that one narrow column says which kinds a turn has.
KIND_BITS: dict[str, int] = {kind: 1 << n for n, kind in enumerate(Kind.values)}


class Turn(TenantModel):
    """One agent turn as lists see it.

    ``priority`` orders the queue: confidence in thousandths times ten plus severity, so a least confidence
    is a range of the same index. ``has_*`` say which kinds of finding there are and carry a partial index
    each. ``version`` grows by one with every decision, and when a job replaces the findings; a
    decision made on an older version loses.
    ``profile`` says for a flagged turn all that thresholds can tell apart (``reviews.core.profiles``).
    ``gate_reason`` is why the critic's gate fired or not; a turn of an earlier release has none. A verdict of
    ``critic`` that asks for caution raises the priority, also of a turn without findings; so does a failed
    assertion of a suite that puts its failures before reviewers.
    """

    external_id = models.CharField(max_length=200)
    content_hash = models.BinaryField(max_length=16)
    source = models.CharField(max_length=6, choices=Source, default=Source.TURN)
    conversation_id = models.CharField(max_length=200, default="", blank=True)
    agent = models.CharField(max_length=200, default="", blank=True)
    model = models.CharField(max_length=200, default="", blank=True)
    occurred_at = models.DateTimeField()
    received_at = models.DateTimeField(default=timezone.now)

    analysis_state = models.CharField(max_length=7, choices=AnalysisState, default=AnalysisState.PENDING)
    attempts = models.PositiveSmallIntegerField(default=0)
    claim = models.CharField(max_length=32, default="", blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    analysed_at = models.DateTimeField(null=True, blank=True)
    policy_version = models.ForeignKey(
        "reviews.PolicyVersion", on_delete=models.PROTECT, null=True, related_name="+", db_index=False
    )
    gate_confidence = models.PositiveSmallIntegerField(
        null=True, help_text="Confidence that the critic's gate reads, in whole thousandths, rounded down."
    )
    gate_sensitive = models.BooleanField(default=False)
    gate_trivial = models.BooleanField(default=False)
    gate_reason = models.CharField(max_length=24, default="", blank=True)
    critic = models.CharField(max_length=8, choices=CriticStanding, default="", blank=True)

    assertions = models.CharField(max_length=7, choices=AssertionStanding, default="", blank=True)

    outcome = models.CharField(max_length=15, choices=ActionTaken, default=ActionTaken.NONE)
    intent = models.CharField(max_length=9, default="", blank=True)
    finding_count = models.PositiveIntegerField(default=0)
    kinds = models.PositiveSmallIntegerField(default=0)
    has_verb_claim = models.BooleanField(default=False)
    has_uuid = models.BooleanField(default=False)
    has_short_hex_near_key = models.BooleanField(default=False)
    has_short_hex_near_verb = models.BooleanField(default=False)
    has_kv = models.BooleanField(default=False)
    has_intent_action_no_tool = models.BooleanField(default=False)
    has_tool_output_shape = models.BooleanField(default=False)
    has_claimed_identifier = models.BooleanField(default=False)
    max_severity = models.PositiveSmallIntegerField(choices=Severity, default=Severity.NONE)
    max_confidence = models.FloatField(default=0.0)
    draft_offset = models.PositiveIntegerField(
        default=0, help_text="Characters stripped at the left of the draft before detection."
    )
    snippet = models.CharField(max_length=240, default="", blank=True)
    snippet_start = models.PositiveSmallIntegerField(default=0)
    snippet_end = models.PositiveSmallIntegerField(default=0)
    tools_note = models.CharField(max_length=120, default="", blank=True)

    profile = models.ForeignKey(
        "reviews.ConfidenceProfile", on_delete=models.PROTECT, null=True, related_name="+", db_index=False
    )
    audit_rate = models.FloatField(
        null=True, help_text="In the audit sample: the rate at which it was drawn. Empty for all others."
    )

    priority = models.PositiveIntegerField(default=0)
    group_key = models.CharField(max_length=32, default="", blank=True)
    review_state = models.CharField(max_length=7, choices=ReviewState, default=ReviewState.NONE)
    verdict = models.CharField(max_length=11, choices=Label, default="", blank=True)
    assignee = models.ForeignKey(
        User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+", db_index=False
    )
    decided_by = models.ForeignKey(
        User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+", db_index=False
    )
    decided_at = models.DateTimeField(null=True, blank=True)
    version = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant", "external_id"], name="turn_external_id_once"),
            models.CheckConstraint(
                condition=Q(max_confidence__gte=0, max_confidence__lte=1), name="turn_confidence_range"
            ),
            models.CheckConstraint(
                condition=Q(analysis_state__in=AnalysisState.values), name="turn_analysis_state_known"
            ),
            models.CheckConstraint(
                condition=Q(review_state__in=ReviewState.values), name="turn_review_state_known"
            ),
            models.CheckConstraint(condition=Q(source__in=Source.values), name="turn_source_known"),
            models.CheckConstraint(condition=Q(outcome__in=ActionTaken.values), name="turn_outcome_known"),
            models.CheckConstraint(condition=Q(verdict__in=["", *Label.values]), name="turn_verdict_known"),
            models.CheckConstraint(
                condition=Q(critic__in=["", *CriticStanding.values]), name="turn_critic_known"
            ),
            models.CheckConstraint(
                condition=Q(assertions__in=["", *AssertionStanding.values]), name="turn_assertions_known"
            ),
        ]
        indexes = [
            # The worker's view: what waits, oldest first; what is claimed, by the end of its lease.
            models.Index(fields=["id"], name="turn_pending", condition=Q(analysis_state="pending")),
            models.Index(fields=["lease_until"], name="turn_claimed", condition=Q(analysis_state="claimed")),
            models.Index(fields=["tenant", "id"], name="turn_failed", condition=Q(analysis_state="failed")),
            # All turns by time: the list API and the "all" view.
            models.Index(fields=["tenant", "occurred_at", "id"], name="turn_time"),
            models.Index(fields=["tenant", "agent", "occurred_at", "id"], name="turn_agent_time"),
            # The queue, by priority and by time, and one seek for every filter it offers.
            models.Index(fields=["tenant", "review_state", "priority", "id"], name="turn_queue"),
            models.Index(fields=["tenant", "review_state", "occurred_at", "id"], name="turn_queue_time"),
            models.Index(
                fields=["tenant", "agent", "review_state", "priority", "id"],
                name="turn_q_agent",
                condition=Q(priority__gt=0),
            ),
            models.Index(
                fields=["tenant", "max_severity", "review_state", "priority", "id"],
                name="turn_q_severity",
                condition=Q(priority__gt=0),
            ),
            models.Index(
                fields=["tenant", "outcome", "review_state", "priority", "id"],
                name="turn_q_outcome",
                condition=Q(priority__gt=0),
            ),
            models.Index(
                fields=["tenant", "assignee", "review_state", "priority", "id"],
                name="turn_q_assignee",
                condition=Q(assignee__isnull=False),
            ),
            *(
                models.Index(
                    fields=["tenant", "review_state", "priority", "id"],
                    name=f"turn_q_{kind}"[:30],
                    condition=Q(**{f"has_{kind}": True}),
                )
                for kind in KIND_BITS
            ),
            models.Index(
                fields=["tenant", "review_state", "priority", "id"],
                name="turn_q_audit",
                condition=Q(audit_rate__isnull=False),
            ),
            models.Index(
                fields=["tenant", "critic", "review_state", "priority", "id"],
                name="turn_q_critic",
                condition=~Q(critic=""),
            ),
            models.Index(
                fields=["tenant", "review_state", "priority", "id"],
                name="turn_q_assertions",
                condition=Q(assertions="flagged"),
            ),
            # Turns that both the critic and a reviewer have judged: do they agree?
            models.Index(
                fields=["tenant", "decided_at", "id"],
                name="turn_critic_decided",
                condition=~Q(critic="") & ~Q(verdict=""),
            ),
            # The turns that a change of thresholds would treat otherwise.
            models.Index(
                fields=["tenant", "profile", "occurred_at", "id"],
                name="turn_profile",
                condition=Q(profile__isnull=False),
            ),
            models.Index(
                fields=["id"],
                name="turn_without_profile",
                condition=Q(profile__isnull=True, finding_count__gt=0, analysis_state="done"),
            ),
            models.Index(
                fields=["tenant", "conversation_id", "occurred_at"],
                name="turn_conversation",
                condition=~Q(conversation_id=""),
            ),
        ]

    def __str__(self) -> str:
        return self.external_id

    @property
    def kind_list(self) -> list[str]:
        return [kind for kind, bit in KIND_BITS.items() if self.kinds & bit]


class TurnPayload(TenantModel):
    """The long text and JSON of a turn, kept apart so that lists never read it."""

    turn = models.OneToOneField(Turn, on_delete=models.CASCADE, primary_key=True, related_name="payload")
    draft = models.TextField()
    user_message = models.TextField(default="", blank=True)
    hydrated_context = models.TextField(default="", blank=True)
    tool_calls = JsonText(null=True)
    earlier_calls = JsonText(null=True)
    earlier_user_messages = JsonText(null=True)
    tools = JsonText(null=True)
    intent = JsonText(null=True)
    critic = JsonText(null=True)
    activation = JsonText(null=True)
    attributes = JsonText(null=True)
    runtime_event = JsonText(
        null=True, help_text="The FabricationDetectedEvent the runtime sent, as it came."
    )
    claims = JsonText(
        null=True, help_text="Claims that the evidence profile found grounded, and by what, in text order."
    )
    analysis_error = models.TextField(default="", blank=True)
    corrected_answer = models.TextField(default="", blank=True)

    def __str__(self) -> str:
        return f"payload of turn {self.turn_id}"
