"""What a turn's page says of the critic; in blind review nothing of its verdict before the reviewer's."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from reviews.access import TenantRequest
from reviews.models import CriticVerdict, ReviewDecision, Tenant, Turn
from reviews.models.critic import CallState, Cause, Origin, Verdict
from reviews.models.decisions import DecisionAction
from reviews.models.tenants import Role
from reviews.models.turns import Source
from reviews.services.critic_review import is_hidden
from reviews.services.errors import InvalidError
from reviews.services.policies import DEFAULTS, current_policy, policy_of
from reviews.views.claims import HistoryEntry
from reviews.views.texts import visible
from reviews.views.word_diff import Run, word_diff

#: Characters of a draft and its revision, together, from which on the difference is folded.
FOLD_FROM = 1_500
TAGS = {Verdict.APPROVE: "good", Verdict.REVISE: "warn", Verdict.REFUSE: "bad"}
#: In place of what a decision about a hidden verdict would tell of it.
HIDDEN_DECISION = "judged the critic"
HIDDEN_CONFLICT = "This turn has changed while you were looking. Your decision was not saved."
_NEVER_ASKED = {
    Source.IMPORT: "the critic is not asked about imported turns",
    Source.EVENT: "the critic is not asked about turns that are known from an event only",
}


class Panel(NamedTuple):
    """``state`` is waiting, hidden, degraded or done; a hidden panel holds nothing of the verdict.

    ``version`` is the turn's version that the reader saw. ``others`` are the verdicts that overrule.
    """

    state: str
    version: int
    may_judge: bool = False
    verdict: str = ""
    name: str = ""
    css: str = ""
    runtime: bool = False
    fired: str = ""
    forced: str = ""
    trouble: str = ""
    since: datetime | None = None
    revised: str = ""
    diff: Sequence[Run] = ()
    folded: bool = False
    taken: bool = False
    refusal: str = ""
    preferences: Sequence[str] = ()
    rules: Sequence[str] = ()
    model: str = ""
    cost: str = ""
    human: str = ""
    human_reason: str = ""
    agreed: bool = False
    others: Sequence[tuple[str, str]] = ()

    @property
    def seen(self) -> str:
        """A fingerprint of what is shown, so that the same is not sent again."""
        return hashlib.sha256(repr(tuple(self)).encode()).hexdigest()[:16]

    @property
    def tell(self) -> str:
        """The same as one sentence, for whoever hears the page."""
        if self.state == "hidden":
            return "The critic has read this draft."
        if self.state == "degraded":
            return self.trouble
        return f"The critic says: {self.name.lower()}." if self.state == "done" else ""


def verdict_of(turn: Turn, tenant: Tenant) -> CriticVerdict | None:
    """The stored verdict, with the person who judged it. One query, none where the critic was not asked."""
    if not turn.critic:
        return None
    verdicts = CriticVerdict.objects.for_tenant(tenant).select_related("human_by")
    return verdicts.filter(turn_id=turn.pk).first()


def is_blind(tenant: Tenant) -> bool:
    """Whether reviewers of the tenant decide before they see what the critic says. One query."""
    return current_policy(tenant=tenant).settings.critic_blind_review


def revision_in_sight(request: TenantRequest, turn_id: int) -> str:
    """The critic's revision, as the reader sees it.

    Raises:
        InvalidError: there is none, or it is hidden for now.
    """
    turns = Turn.objects.for_tenant(request.tenant).filter(pk=turn_id)
    turn = turns.only("tenant_id", "version", "verdict", "critic").first()
    panel = turn and critic_panel(request, turn, verdict_of(turn, request.tenant), version=turn.version)
    if not panel or not panel.revised:
        raise InvalidError("There is no revision to take.", fields={})
    return panel.revised


def critic_panel(
    request: TenantRequest, turn: Turn, verdict: CriticVerdict | None, *, version: int
) -> Panel | None:
    """The panel of a turn that the critic was asked about. The draft is read only where it is compared."""
    if verdict is None:
        return None
    may_judge = request.membership.may(Role.REVIEWER)
    if verdict.state == CallState.WAITING:
        trouble = _sentence(verdict) if verdict.cause else ""
        return Panel("waiting", version, fired=_fired(verdict), since=verdict.created_at, trouble=trouble)
    if verdict.degraded:
        return Panel(
            "degraded",
            version,
            verdict=verdict.verdict,
            name="Not read",
            css="warn",
            fired=_fired(verdict),
            trouble=f"Nobody read this draft: {_sentence(verdict)}.",
            forced="Fabrication mode revise asks for a revision all the same." if verdict.forced else "",
            model=visible(verdict.model),
            cost=_cost(verdict),
        )
    # Whether it is to be hidden is asked only where it could be: not once anybody has decided.
    if is_hidden(turn, verdict, blind=True) and is_blind(request.tenant):
        return Panel("hidden", version, may_judge=may_judge)
    return _done(turn, verdict, version=version, may_judge=may_judge)


def not_asked(turn: Turn) -> str:
    """Why the critic was not asked, as half a sentence; empty where it is not known."""
    if not turn.gate_reason or turn.critic:
        return ""
    if turn.gate_reason == "trivial_acknowledgment":
        return "not asked: a plain acknowledgment"
    policy = policy_of(turn.policy_version) if turn.policy_version else DEFAULTS
    least = policy.settings.metacognition_confidence_threshold
    if turn.gate_reason == "confident":
        return f"not asked: {_compared(turn.gate_confidence or 0, round(least * 1000))}"
    facts = {
        "fabrication_revise": "fabrication mode revise",
        "sensitive_tag": "a sensitive tag",
        "low_confidence": _compared(turn.gate_confidence or 0, round(least * 1000)),
    }.get(turn.gate_reason, _OTHER_REASONS.get(turn.gate_reason, ""))
    off = "but the critic is off" if not policy.settings.critic_enabled else "but was not"
    why = f"but {_NEVER_ASKED[Source(turn.source)]}" if turn.source in _NEVER_ASKED else off
    return f"would have been asked ({facts}), {why}"


def without_verdict(
    history: Sequence[HistoryEntry], decisions: Sequence[ReviewDecision]
) -> list[HistoryEntry]:
    """The history of a turn whose verdict is hidden: that the critic was judged, and not how.

    A judgement that was undone would otherwise tell whether it agreed. Entries are in the order of
    ``decisions``.
    """
    return [
        entry._replace(what=HIDDEN_DECISION, text="") if about_critic(decision) else entry
        for entry, decision in zip(history, decisions, strict=True)
    ]


def about_critic(decision: ReviewDecision) -> bool:
    """Whether a decision judged the critic, or undid that."""
    undid = decision.action == DecisionAction.UNDO and decision.value.startswith(DecisionAction.CRITIC)
    return undid or decision.action == DecisionAction.CRITIC


def _done(turn: Turn, verdict: CriticVerdict, *, version: int, may_judge: bool) -> Panel:
    said = Verdict(verdict.verdict)
    revised = verdict.revised_draft if said == Verdict.REVISE else ""
    draft = turn.payload.draft if revised else ""
    return Panel(
        "done",
        version,
        may_judge=may_judge,
        verdict=said.value,
        name=str(said.label),
        css=TAGS[said],
        runtime=verdict.origin == Origin.RUNTIME,
        fired=_fired(verdict),
        forced=_forced(verdict),
        revised=revised,
        diff=word_diff(draft, revised) if revised else (),
        folded=len(draft) + len(revised) > FOLD_FROM,
        taken=bool(revised) and turn.payload.corrected_answer == revised,
        refusal=verdict.refusal_message if said == Verdict.REFUSE else "",
        preferences=[visible(text) for text in verdict.matched_preferences or ()],
        rules=[visible(text) for text in verdict.rules or ()],
        model=visible(verdict.model),
        cost=_cost(verdict),
        human=_human(verdict),
        human_reason=verdict.human_reason,
        agreed=verdict.human == said,
        others=[(v.value, str(v.label)) for v in Verdict if v != said],
    )


#: Sentences in which a failed call says the same as its cause; and where others name a number or a type.
_SAID_BY_CAUSE = (
    "The model took too long.",
    "The model refused to answer.",
    "The model cannot be reached.",
    "The model takes no more requests now.",
    "The reply is larger than any answer.",
    "The budget for model calls is spent.",
)
_IN_BRACKETS = re.compile(r"\(([^()]+)\)\.?$")
_OTHER_REASONS = {
    "not_trivial": "the selective gate is on and this is no plain acknowledgment",
    "gate_failed": "the gate could not read this turn",
}


def _fired(verdict: CriticVerdict) -> str:
    """Every fact that called the critic: "sensitive tag payment, confidence 0.42 < 0.6"."""
    facts = []
    if verdict.gate_reason == "fabrication_revise":
        facts.append("fabrication mode revise")
    if verdict.sensitive_tag:
        facts.append(f"sensitive tag {visible(verdict.sensitive_tag)}")
    if verdict.confidence is not None and verdict.threshold is None:
        facts.append(f"confidence {verdict.confidence / 1000:.2f}")
    elif verdict.confidence is not None and verdict.confidence < (verdict.threshold or 0):
        facts.append(_compared(verdict.confidence, verdict.threshold or 0))
    if other := _OTHER_REASONS.get(verdict.gate_reason):
        facts.append(other)
    return ", ".join(facts)


def _compared(confidence: int, least: int) -> str:
    """Two confidences in thousandths; with a third digit where two do not tell them apart."""
    digits = 3 if confidence != least and f"{confidence / 1000:.2f}" == f"{least / 1000:.2f}" else 2
    return f"confidence {confidence / 1000:.{digits}f} {'<' if confidence < least else '≥'} {least / 1000:g}"


def _forced(verdict: CriticVerdict) -> str:
    if not verdict.forced:
        return ""
    said = f" The model itself said {verdict.said}." if verdict.said else ""
    return f"Forced: in fabrication mode revise, a draft with findings is not approved.{said}"


def _sentence(verdict: CriticVerdict) -> str:
    """Why nobody read it, to stand in a sentence, with as much of the detail as says more than the cause."""
    label = str(Cause(verdict.cause).label)
    said, detail = label[:1].lower() + label[1:], visible(verdict.detail).strip()
    for sentence in (f"{label}.", *_SAID_BY_CAUSE):
        detail = detail.removeprefix(sentence).strip()
    in_brackets = _IN_BRACKETS.search(detail)
    if in_brackets:
        return f"{said} ({in_brackets[1]})"
    return f"{said}. {detail.rstrip('.')}" if detail else said


def _cost(verdict: CriticVerdict) -> str:
    """Time, tokens and cost, as far as they are known."""
    said = []
    if verdict.latency_ms is not None:
        seconds = verdict.latency_ms / 1000
        said.append(f"{seconds:.1f} s" if seconds >= 1 else f"{verdict.latency_ms:.0f} ms")
    if verdict.tokens_in is not None and verdict.tokens_out is not None:
        said.append(f"{verdict.tokens_in:,} tokens in, {verdict.tokens_out:,} out")
    if verdict.cost is not None:
        price = f"{verdict.cost:.6f}".rstrip("0").rstrip(".")
        said.append(f"cost {price}" if price != "0" or not verdict.cost else "cost below 0.000001")
    return " · ".join(said)


def _human(verdict: CriticVerdict) -> str:
    """A reviewer's word on the verdict: "Ana overruled: approve"."""
    if not verdict.human:
        return ""
    name = verdict.human_by.display_name if verdict.human_by else "Someone"
    word = "agreed" if verdict.human == verdict.verdict else f"overruled: {verdict.human}"
    return f"{name} {word}{', without having seen the verdict' if verdict.human_blind else ''}"
