"""What goes into the evidence profile and what comes out of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

from reviews.core.evidence_profile.explain import sentence_of
from reviews.core.fabrication import FabricationFinding
from reviews.core.intent import IntentVerdict

__all__ = [
    "CallLike",
    "CheckedClaim",
    "ClaimKind",
    "EvidenceCall",
    "EvidenceReport",
    "EvidenceTurn",
    "GroundingSource",
    "RanCall",
    "SourceKind",
    "ToolLike",
    "Verdict",
]

ClaimKind = Literal[
    "verb_claim",
    "uuid",
    "short_hex_near_key",
    "short_hex_near_verb",
    "kv",
    "intent_action_no_tool",
    "tool_output_shape",
    "claimed_identifier",
]
SourceKind = Literal["result_this_turn", "result_earlier", "user_message", "hydrated_context"]
Verdict = Literal["grounded", "fabricated"]
Outcome = Literal["succeeded", "failed", "unknown"]


class CallLike(Protocol):
    """A tool call as ``reviews.formats.record.ToolCall`` has it."""

    @property
    def name(self) -> str: ...
    @property
    def args(self) -> Any: ...
    @property
    def result(self) -> Any: ...
    @property
    def ok(self) -> bool | None: ...
    @property
    def error(self) -> str | None: ...


class ToolLike(Protocol):
    """A tool that could have been called."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...


@dataclass(frozen=True, kw_only=True)
class EvidenceCall:
    """One tool call. ``ok`` is None when its source does not say; then ``result`` is read for it."""

    name: str
    args: Any = None
    result: Any = None
    ok: bool | None = None
    error: str | None = None


@dataclass(frozen=True, kw_only=True)
class EvidenceTurn:
    """One turn as the detector reads it.

    ``calls`` are those of this turn, ``earlier_calls`` those of the conversation before it, oldest first.
    ``tools`` are the tools the agent had; their descriptions tell what a tool does whose name does not.
    ``earlier_user_messages`` are what the user said before; None when that is not known: an identifier that
    the user may have given then is held against a draft only beside an action that it claims.
    """

    draft: str
    user_message: str = ""
    hydrated_context: str = ""
    calls: Sequence[CallLike] = ()
    earlier_calls: Sequence[CallLike] = ()
    tools: Sequence[ToolLike] = ()
    earlier_user_messages: Sequence[str] | None = None
    intent: IntentVerdict | None = None


@dataclass(frozen=True)
class GroundingSource:
    """Where a claim is borne out. ``tool`` and ``call`` (index into the turn's calls, or into the earlier
    ones) are set when ``kind`` is a result. ``excerpt`` are at most 120 characters of the text that does
    it.
    """

    kind: SourceKind
    tool: str = ""
    call: int | None = None
    excerpt: str = ""


@dataclass(frozen=True)
class RanCall:
    """A call as the explanation names it; ``why`` says by which rule it counts as failed."""

    name: str
    outcome: Outcome
    earlier: bool = False
    why: str = ""


class CheckedClaim(NamedTuple):
    """One claim of the draft with its verdict.

    ``span`` are (start, end) character offsets in the stripped draft, ``quote`` the words around it.
    ``action`` is the class of what is said to have been done; "call" or "result" for ``tool_output_shape``,
    "" for identifiers. ``tool`` is the tool that a shape names. ``language`` is a two-letter code or "".
    ``source`` is set exactly when the verdict is grounded. ``checked`` are the sources the claim was held
    against, ``missing`` what would have grounded it.
    """

    kind: ClaimKind
    identifier: str
    span: tuple[int, int]
    verdict: Verdict
    confidence: float
    quote: str
    action: str = ""
    tool: str = ""
    language: str = ""
    key: str | None = None
    source: GroundingSource | None = None
    checked: tuple[SourceKind, ...] = ()
    ran: tuple[RanCall, ...] = ()
    missing: str = ""

    @property
    def sentence(self) -> str:
        """The claim and its verdict in one plain sentence."""
        return sentence_of(self)

    def to_payload(self) -> dict[str, Any]:
        """The claim as JSON values, for storing beside the turn."""
        source = self.source
        return {
            "kind": self.kind,
            "identifier": self.identifier,
            "span": list(self.span),
            "verdict": self.verdict,
            "confidence": round(self.confidence, 3),
            "sentence": self.sentence,
            "action": self.action,
            "tool": self.tool,
            "language": self.language,
            "key": self.key,
            "source": None
            if source is None
            else {
                "kind": source.kind,
                "tool": source.tool,
                "call": source.call,
                "excerpt": " ".join(source.excerpt.split()),
            },
            "checked": list(self.checked),
            "ran": [
                {"name": ran.name, "outcome": ran.outcome, "earlier": ran.earlier, "why": ran.why}
                for ran in self.ran
            ],
            "missing": self.missing,
        }


@dataclass(frozen=True)
class EvidenceReport:
    """All claims of one draft in text order, and a finding for each that nothing bears out.

    ``findings`` have the shape of the reference profile's, so whatever stores those stores these;
    ``grounded_sources`` of a finding names the sources that were looked at in vain.
    """

    findings: tuple[FabricationFinding, ...] = ()
    claims: tuple[CheckedClaim, ...] = field(default=())

    @property
    def grounded(self) -> tuple[CheckedClaim, ...]:
        return tuple(claim for claim in self.claims if claim.verdict == "grounded")


def calls_from(records: Iterable[Mapping[str, Any]]) -> tuple[EvidenceCall, ...]:
    """Calls from plain mappings with name, args, result, ok, error (all but the name may be missing)."""
    return tuple(
        EvidenceCall(
            name=str(record.get("name") or ""),
            args=record.get("args"),
            result=record.get("result"),
            ok=record.get("ok"),
            error=record.get("error"),
        )
        for record in records
    )
