"""Skills that agents have learned: drafts, what people decided about them, and the evidence they rest on."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils import timezone

from reviews.models.fields import JsonText
from reviews.models.scoping import TenantModel
from reviews.models.tenants import User
from reviews.models.turns import Turn


class SkillKind(models.TextChoices):
    ACTION = "action", "Action"
    PREFLIGHT = "preflight", "Preflight"
    RECOVERY = "recovery", "Recovery"
    GUARDRAIL = "guardrail", "Guardrail"


class SkillState(models.TextChoices):
    DRAFT = "draft", "Draft"
    APPROVED = "approved", "Approved"
    REJECTED = "rejected", "Rejected"
    RETIRED = "retired", "Retired"
    MERGED = "merged", "Merged into another"


class SkillOrigin(models.TextChoices):
    """Which door a draft came through."""

    RUN = "run", "Learned from turns here"
    API = "api", "Sent over the API"
    RUNTIME = "runtime", "Pulled from the agent runtime"


class RejectReason(models.TextChoices):
    WRONG = "wrong", "It is wrong"
    HARMFUL = "harmful", "It would do harm"
    TOO_BROAD = "too_broad", "Too broad"
    TOO_NARROW = "too_narrow", "Too narrow, or a one-off"
    NOT_SUPPORTED = "not_supported", "The evidence does not show it"
    KNOWN = "known", "Already covered"
    OTHER = "other", "Something else"


class Skill(TenantModel):
    """A procedural draft and what became of it.

    The text fields are the current ones; earlier ones stand in ``SkillRevision``. ``version`` grows by one
    with every decision; a decision made on an older version loses. ``writer`` wrote the current text (None: a
    machine did); ``first_approver`` has approved it where two are needed. ``evidence`` counts the distinct
    episodes it rests on; ``evidence_then`` what that was when it was last rejected. ``came_back`` marks a
    rejected one that is a draft again because its evidence has doubled.
    """

    kind = models.CharField(max_length=9, choices=SkillKind)
    trigger = models.TextField()
    action = models.TextField()
    rationale = models.TextField()
    precondition = JsonText(null=True)
    steps = JsonText(null=True)
    confidence = models.FloatField()
    label = models.CharField(max_length=100)
    source = models.CharField(max_length=40)
    origin = models.CharField(max_length=7, choices=SkillOrigin)
    details = JsonText(null=True, help_text="What else its source said of it, such as pattern_count.")

    state = models.CharField(max_length=8, choices=SkillState, default=SkillState.DRAFT)
    evidence = models.PositiveIntegerField(default=0)
    evidence_then = models.PositiveIntegerField(default=0)
    came_back = models.BooleanField(default=False)
    merged_into = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    writer = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    first_approver = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    first_approved_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    decided_at = models.DateTimeField(null=True, blank=True)
    version = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now)
    #: Moves with every change that a reader of approved skills has to learn of.
    changed_at = models.DateTimeField(default=timezone.now)
    #: The skill's id in the agent runtime it came from or was sent to ("" without one).
    runtime_id = models.CharField(max_length=200, default="", blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "runtime_id"], condition=~Q(runtime_id=""), name="skill_runtime_id_once"
            ),
            models.CheckConstraint(condition=Q(kind__in=SkillKind.values), name="skill_kind_known"),
            models.CheckConstraint(condition=Q(state__in=SkillState.values), name="skill_state_known"),
            models.CheckConstraint(condition=Q(origin__in=SkillOrigin.values), name="skill_origin_known"),
            models.CheckConstraint(
                condition=Q(confidence__gte=0, confidence__lte=1), name="skill_confidence_range"
            ),
            models.CheckConstraint(
                condition=Q(state="merged", merged_into__isnull=False)
                | (~Q(state="merged") & Q(merged_into__isnull=True)),
                name="skill_merged_names_target",
            ),
        ]
        indexes = [
            models.Index(fields=["tenant", "state", "-confidence", "id"], name="skill_queue"),
            models.Index(fields=["tenant", "state", "kind", "-confidence", "id"], name="skill_queue_kind"),
            models.Index(fields=["tenant", "state", "changed_at", "id"], name="skill_changed"),
        ]

    def __str__(self) -> str:
        return self.label


class SkillEvidence(TenantModel):
    """An episode that a skill rests on. ``turn`` is set when it is one of ours.

    ``draft`` is the draft that brought it, when it was folded into a skill that was there already.
    """

    skill = models.ForeignKey(Skill, on_delete=models.CASCADE, related_name="episodes", db_index=False)
    episode = models.CharField(max_length=200)
    turn = models.ForeignKey(
        Turn, on_delete=models.SET_NULL, null=True, blank=True, related_name="+", db_index=False
    )
    draft = JsonText(null=True)
    similarity = models.FloatField(null=True, blank=True, help_text="0 to 100, of a draft folded in.")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["skill", "episode"], name="skill_episode_once"),
        ]
        indexes = [
            models.Index(
                fields=["tenant", "skill"], name="skill_evidence_folded", condition=Q(draft__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return self.episode


class SkillRevision(TenantModel):
    """The text of a skill as it stood: number 0 as it came, then one for each edit. Never changed."""

    skill = models.ForeignKey(Skill, on_delete=models.CASCADE, related_name="revisions", db_index=False)
    number = models.PositiveIntegerField()
    content = JsonText()
    author = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["skill", "number"], name="skill_revision_once"),
        ]

    def __str__(self) -> str:
        return f"revision {self.number}"


class SkillAction(models.TextChoices):
    APPROVE = "approve", "approved"
    EDIT = "edit", "edited"
    REJECT = "reject", "rejected"
    MERGE = "merge", "merged into another"
    RETIRE = "retire", "retired"
    UNDO = "undo", "undid"


class SkillDecision(TenantModel):
    """What somebody did about a skill. Append-only: an undo is a decision of its own.

    ``before`` is what the decision changed, as it stood. ``version`` is the skill's version after it; the
    actor saw ``version - 1``. ``batch`` is shared by the decisions of one bulk action.
    """

    skill = models.ForeignKey(Skill, on_delete=models.CASCADE, related_name="decisions", db_index=False)
    actor = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+", db_index=False)
    action = models.CharField(max_length=7, choices=SkillAction)
    reason = models.CharField(max_length=13, choices=RejectReason, default="", blank=True)
    text = models.TextField(default="", blank=True)
    before = JsonText(null=True)
    version = models.PositiveIntegerField()
    batch = models.CharField(max_length=32, default="", blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    undoes = models.OneToOneField(
        "self", on_delete=models.CASCADE, null=True, blank=True, related_name="undone_by"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["skill", "version"], name="skill_decision_once"),
            models.CheckConstraint(
                condition=Q(action="undo", undoes__isnull=False)
                | (~Q(action="undo") & Q(undoes__isnull=True)),
                name="skill_undo_names_target",
            ),
            models.CheckConstraint(condition=Q(action__in=SkillAction.values), name="skill_decision_known"),
            models.CheckConstraint(
                condition=Q(reason__in=["", *RejectReason.values]), name="skill_reason_known"
            ),
        ]
        indexes = [
            models.Index(fields=["tenant", "actor", "created_at"], name="skill_decision_actor"),
            models.Index(
                fields=["tenant", "batch", "id"], name="skill_decision_batch", condition=~Q(batch="")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.actor_id} {self.summary}"

    @property
    def summary(self) -> str:
        """What was done, to stand behind a name: "gave the skill its first approval"."""
        if self.action == SkillAction.APPROVE and "state" not in (self.before or {}):
            return "gave the skill its first approval"
        if self.action == SkillAction.MERGE:
            return "merged the skill into another"
        if self.action == SkillAction.UNDO and self.undoes is not None:
            return f"undid: {self.undoes.summary}"
        return f"{SkillAction(self.action).label} the skill"


class SkillReplay(TenantModel):
    """A past turn that a skill would have touched, as its latest replay found. ``reason`` in a few words."""

    skill = models.ForeignKey(Skill, on_delete=models.CASCADE, related_name="+", db_index=False)
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="+", db_index=False)
    reason = models.CharField(max_length=200)
    precondition_held = models.BooleanField(null=True)
    failed = models.BooleanField()
    fabricated = models.BooleanField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["skill", "turn"], name="skill_replay_once"),
        ]

    def __str__(self) -> str:
        return f"skill {self.skill_id} on turn {self.turn_id}"
