"""The evidence profile: every claim of a draft, held against what the turn can show for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from typing import Final

from reviews.core import _scan
from reviews.core import lexicon as lex
from reviews.core.evidence_profile.actions import PHRASES
from reviews.core.evidence_profile.claims import Claim, find_claims
from reviews.core.evidence_profile.identifiers import Identifier, find_identifiers
from reviews.core.evidence_profile.judge import Judge
from reviews.core.evidence_profile.known import language_is_known
from reviews.core.evidence_profile.outcomes import find_outcomes, find_shown
from reviews.core.evidence_profile.presented import find_presented
from reviews.core.evidence_profile.priors import complete
from reviews.core.evidence_profile.record_lists import find_record_lists
from reviews.core.evidence_profile.shapes import Shape, find_shapes
from reviews.core.evidence_profile.sources import Sources
from reviews.core.evidence_profile.triggers import folded
from reviews.core.evidence_profile.turn import (
    CheckedClaim,
    ClaimKind,
    EvidenceReport,
    EvidenceTurn,
    GroundingSource,
    RanCall,
)
from reviews.core.evidence_profile.zones import Zones, zones_of
from reviews.core.fabrication import FabricationFinding, FabricationSeverity
from reviews.core.grounding_rules import GroundingRules

__all__ = ["detect_evidence"]

_NO_RULES: Final = GroundingRules()
_EMPTY: Final = EvidenceReport()
_SEVERITY: Final[Mapping[ClaimKind, FabricationSeverity]] = {
    "verb_claim": "medium",
    "intent_action_no_tool": "medium",
    "claimed_identifier": "medium",
}
_MAX_IDENTIFIER: Final = 200
_KEY: Final = 32
# Values told of a record, and the share of them that may come from somewhere, for it to be an invention.
_FEWEST_VALUES: Final = 3
_MOST_KNOWN: Final = 0.34
# About a sentence.
_BREATH: Final = 120
_MAX_RAN: Final = 12
# Characters of invented results in which an identifier is looked for that is named again.
_TOLD: Final = 20_000
# Share of a presented result's values that some source must contain for it to be a result indeed.
_BORNE_OUT: Final = 0.5


def detect_evidence(
    turn: EvidenceTurn,
    *,
    priors: Mapping[str, float] | None = None,
    rules: GroundingRules | None = None,
    identifier_keys: Iterable[str] | None = None,
) -> EvidenceReport:
    """The claims of ``turn.draft`` with their verdicts, and a finding for each that nothing bears out.

    ``priors`` are confidences (0..1) per kind, ``DEFAULT_PRIORS`` where one is missing. ``rules`` are what
    the tenant's reviewers taught the detector: a fragment of a tool's name grounds a verb, ignored keys and
    values are no identifiers. ``identifier_keys`` are a tenant's own keys, any case. Spans are offsets in the
    stripped draft. Linear in the draft and in the sources; no model is called.
    """
    text = turn.draft.strip() if isinstance(turn.draft, str) else ""
    if not text:
        return _EMPTY
    return _Detection(turn, text, priors, rules or _NO_RULES, identifier_keys).report()


class _Detection:
    """One run over one draft."""

    def __init__(
        self,
        turn: EvidenceTurn,
        text: str,
        priors: Mapping[str, float] | None,
        rules: GroundingRules,
        identifier_keys: Iterable[str] | None,
    ) -> None:
        self._turn = turn
        self._text = text
        self._low = folded(text)
        self._confidence = complete(priors)
        self._rules = rules
        self._keys = _key_set(tuple(identifier_keys or ()), rules.ignored_keys)
        self._zones: Zones = zones_of(text)
        self._sources = Sources(turn)
        self._checked: list[CheckedClaim] = []

    def report(self) -> EvidenceReport:
        shapes = find_shapes(self._text, self._zones, self._sources.user, self._sources.context)
        claims = find_claims(self._text, self._low, self._zones)
        identifiers = find_identifiers(self._text, claims, self._zones, self._keys)
        if shapes:
            self._check_shapes(shapes)
        self._check_record_lists()
        self._check_outcomes()
        invented = [claim.span for claim in self._checked if claim.verdict == "fabricated"]
        if claims:
            self._check_actions([claim for claim in claims if not _repeats(claim, invented)])
        if identifiers:
            told = "\n".join(self._text[start:end] for start, end in invented)[:_TOLD]
            self._check_identifiers([each for each in identifiers if each.text not in told])
        # An invented result is told once more in the words around it.
        if not (invented or self._turn.calls or self._turn.earlier_calls):
            self._check_presented()
        if self._turn.intent is not None and not self._checked:
            self._check_intent()
        ordered = tuple(sorted(self._checked, key=lambda claim: claim.span))
        return EvidenceReport(
            tuple(_finding(claim) for claim in ordered if claim.verdict == "fabricated"), ordered
        )

    @cached_property
    def _ran(self) -> tuple[RanCall, ...]:
        seen = (*self._sources.calls[:_MAX_RAN], *self._sources.earlier[-_MAX_RAN:])
        return tuple(each.as_ran() for each in seen)

    def _add(
        self,
        kind: ClaimKind,
        identifier: str,
        span: tuple[int, int],
        source: GroundingSource | None,
        quote: str,
        *,
        action: str = "",
        tool: str = "",
        language: str = "",
        key: str | None = None,
        missing: str = "",
    ) -> None:
        claim = CheckedClaim(
            kind=kind,
            identifier=identifier[:_MAX_IDENTIFIER],
            span=span,
            verdict="fabricated" if source is None else "grounded",
            confidence=self._confidence[kind],
            quote=quote,
            action=action,
            tool=tool,
            language=language,
            key=key,
            source=source,
            checked=self._sources.checked,
            ran=self._ran if source is None else (),
            missing=missing,
        )
        self._checked.append(claim)

    def _check_actions(self, claims: list[Claim]) -> None:
        judge = Judge(self._text, self._low, self._sources, self._rules)
        waiting: list[tuple[Claim, str]] = []
        fuller = False
        before = False  # whether the claim before was found fabricated
        for claim in claims:
            judgement = judge.judge(claim)
            if judgement.dismissed:
                continue
            alike = claim.continues and before == (judgement.source is None)
            before = judgement.source is None
            if alike:
                continue
            if claim.voice == "done" and judgement.source is None:
                waiting.append((claim, judgement.missing))
                continue
            fuller = fuller or judgement.source is None
            self._add_action(claim, judgement.source, judgement.missing)
        # "Done!" before a fuller claim says nothing more.
        if waiting and not fuller and not any(each.verdict == "fabricated" for each in self._checked):
            claim, missing = waiting[0]
            self._add_action(claim, None, missing)

    def _add_action(self, claim: Claim, source: GroundingSource | None, missing: str) -> None:
        self._add(
            "verb_claim",
            self._text[claim.start : claim.end],
            (claim.start, claim.end),
            source,
            _sentence_of(self._text, claim),
            action=claim.action,
            language=claim.language,
            missing=missing,
        )

    def _check_identifiers(self, identifiers: list[Identifier]) -> None:
        rules = self._rules
        wanted: dict[str, Identifier] = {}
        for each in identifiers:
            # "#412" is looked up as 412.
            wanted.setdefault(each.text.lstrip("#"), each)
        if rules.ignored_keys:
            wanted = {text: each for text, each in wanted.items() if each.key not in rules.ignored_keys}
        if rules.ignored_values:
            for text in rules.ignored_among({*wanted, *[each.text for each in wanted.values()]}):
                wanted.pop(text.lstrip("#"), None)
        if not wanted:
            return
        found = self._sources.locate(set(wanted))
        if len(found) < len(wanted):
            spelled = {
                text
                for text, each in wanted.items()
                if each.kind == "claimed_identifier" and text not in found
            }
            if spelled:
                found.update(self._located_in_any_case(spelled))
        for text, each in wanted.items():
            source = found.get(text)
            if source is None and each.kind == "claimed_identifier" and not self._held_against(each):
                continue
            self._add(
                each.kind,
                each.text,
                (each.start, each.end),
                source,
                each.text,
                key=each.key[:_KEY] if each.key else None,
                missing="" if source is not None else "a source that contains it",
            )

    def _held_against(self, identifier: Identifier) -> bool:
        """Whether all that the user said is known, an action was claimed in the same breath, or an
        invented result was shown right before.
        """
        if self._turn.earlier_user_messages is not None:
            return True
        for claim in self._checked:
            if claim.action in ("read", "use", "call"):
                continue
            start, end = claim.span
            if start - _BREATH <= identifier.start < end + 2 * _BREATH:
                return True
        return False

    def _located_in_any_case(self, missing: set[str]) -> dict[str, GroundingSource]:
        """A draft may write res-010 as RES-010: that is no invention."""
        other = {}
        for needle in missing:
            for variant in (needle.upper(), needle.lower()):
                if variant != needle:
                    other[variant] = needle
        if not other:
            return {}
        return {other[variant]: source for variant, source in self._sources.locate(set(other)).items()}

    def _check_shapes(self, shapes: list[Shape]) -> None:
        for shape in shapes:
            source = self._shape_source(shape)
            wording = self._text[shape.start : shape.end]
            self._add(
                "tool_output_shape",
                shape.tool or " ".join(wording.split())[:80],
                (shape.start, shape.end),
                source,
                wording[:_MAX_IDENTIFIER],
                action=shape.role,
                tool=shape.tool,
                missing="" if source is not None else "a call with that result",
            )

    def _shape_source(self, shape: Shape) -> GroundingSource | None:
        """The call that a written one repeats, or the source of most of the values that are presented."""
        if shape.role == "call" and shape.tool:
            for seen in self._sources.calls:
                if seen.counts and seen.name.lower() == shape.tool.lower():
                    return seen.as_source()
            return None
        values = {value for value in shape.values if len(value) <= 120}
        if not values or (shape.role == "call"):
            return None
        found = self._sources.locate(values)
        if len(found) < _BORNE_OUT * len(values) or len(found) == 0:
            return None
        results = [each for each in found.values() if each.kind.startswith("result")]
        return (results or list(found.values()))[0]

    def _check_record_lists(self) -> None:
        """Records shown as a list where no call succeeded, and of which no source knows half."""
        lists = find_record_lists(self._text, self._zones)
        if any(claim.verdict == "fabricated" and claim.action == "result" for claim in self._checked):
            return  # an invented result is told once more in words
        if not lists or any(seen.counts for seen in (*self._sources.calls, *self._sources.earlier)):
            return
        taken = [claim.span for claim in self._checked]
        for shown in lists:
            if not shown.values or _inside(shown.start, taken):
                continue
            if len(self._sources.locate(set(shown.values))) >= _BORNE_OUT * len(shown.values):
                continue
            self._add_invented(shown.start, shown.end)

    def _check_outcomes(self) -> None:
        """What is said of calls that all failed: that they went well, and what they returned."""
        calls = self._sources.calls
        if not calls:
            return
        said, shown = find_outcomes(self._text, self._zones), find_shown(self._text, self._zones)
        if not (said or shown) or any(seen.counts for seen in calls):
            return
        taken = [claim.span for claim in self._checked[:64]]
        for start, end in said:
            if any(first < end and start < last for first, last in taken):
                continue
            wording = self._text[start:end]
            lack = "a call that succeeded"
            self._add("verb_claim", wording, (start, end), None, wording, action="read", missing=lack)
        for start, end in shown:
            wording = self._text[start:end]
            if not self._sources.locate({wording}):
                self._add_invented(start, end)

    def _add_invented(self, start: int, end: int) -> None:
        """Something shown as a result that no source has."""
        wording = self._text[start:end]
        self._add(
            "tool_output_shape",
            " ".join(wording.split())[:80],
            (start, end),
            None,
            wording,
            action="result",
            missing="a call with that result",
        )

    def _check_presented(self) -> None:
        """Records that are told of where no tool ever ran, and of which no source knows."""
        for presented in find_presented(self._text, self._zones):
            if len(presented.values) < _FEWEST_VALUES:
                continue
            known = self._sources.locate(set(presented.values))
            if len(known) > _MOST_KNOWN * len(presented.values):
                continue
            if any(
                claim.span[0] < presented.end and presented.start < claim.span[1] for claim in self._checked
            ):
                continue
            self._add(
                "verb_claim",
                self._text[presented.start : presented.end],
                (presented.start, presented.end),
                None,
                self._text[presented.start : presented.end + 60],
                action="read",
                missing=PHRASES["read"],
            )

    def _check_intent(self) -> None:
        """An order that no call answered, where the draft is in a language whose claims are not
        understood.
        """
        verdict = self._turn.intent
        if verdict is None or self._turn.calls or "?" in self._text or language_is_known(self._text):
            return
        try:
            if verdict.label != "action" or not float(verdict.confidence) >= lex.INTENT_MIN_CONFIDENCE:
                return
        except Exception:  # a verdict may come from a caller's own classifier
            return
        self._add(
            "intent_action_no_tool",
            "",
            (0, 0),
            None,
            "",
            missing="a call",
        )


def _repeats(claim: Claim, invented: list[tuple[int, int]]) -> bool:
    """Whether a claim is part of an invented result, or tells once more of a state that stands in one."""
    is_after = claim.voice == "stative" and any(end <= claim.start for _, end in invented)
    return is_after or _inside(claim.start, invented)


def _inside(at: int, spans: list[tuple[int, int]]) -> bool:
    return any(start <= at < end for start, end in spans[:64])


def _sentence_of(text: str, claim: Claim) -> str:
    start, end = claim.sentence
    return text[max(start, claim.start - 40) : min(end, claim.end + 60)].strip(" \n*#>-")


@lru_cache(maxsize=256)
def _key_set(keys: tuple[str, ...], ignored: frozenset[str]) -> _scan.KeySet:
    own = {key.lower() for key in keys if isinstance(key, str)}
    return _scan.KeySet((lex.BUILT_IN_KEYS | own) - ignored)


def _finding(claim: CheckedClaim) -> FabricationFinding:
    return FabricationFinding(
        identifier=claim.identifier,
        kind=claim.kind,
        severity=_SEVERITY.get(claim.kind, "high"),
        reason=claim.sentence,
        key=claim.key,
        pattern_kind="intent_no_grounding" if claim.kind == "intent_action_no_tool" else claim.kind,
        confidence=claim.confidence,
        span=claim.span,
        grounded_sources=list(claim.checked),
    )
