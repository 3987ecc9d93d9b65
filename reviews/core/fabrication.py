"""Finds identifiers and actions that a draft claims and nothing in the turn supports.

    >>> [finding.identifier for finding in detect_fabrication("I sent it, ticket_id=A-17")]
    ['I sent', 'A-17']

Linear in the draft and in the grounding text; any script, same rules.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, Literal

from reviews.core import _grounding, _scan
from reviews.core import lexicon as lex
from reviews.core.grounding_rules import GroundingRules
from reviews.core.intent import IntentVerdict

__all__ = [
    "FabricationFinding",
    "FabricationKind",
    "FabricationSeverity",
    "detect_fabrication",
    "left_strip_length",
]

#: The last two are found by the evidence profile only (``reviews.core.evidence_profile``).
FabricationKind = Literal[
    "uuid",
    "short_hex_near_verb",
    "short_hex_near_key",
    "kv",
    "verb_claim",
    "intent_action_no_tool",
    "tool_output_shape",
    "claimed_identifier",
]
FabricationSeverity = Literal["low", "medium", "high"]


@dataclass(frozen=True)
class FabricationFinding:
    """One claim in a draft without support.

    ``identifier`` is the text as the draft has it ("" for ``intent_action_no_tool``); ``key`` the lower-cased
    key for ``kv`` and ``short_hex_near_key``; ``confidence`` 0..1; ``span`` the (start, end) character
    offsets in the *stripped* draft, see ``left_strip_length``. ``grounded_sources`` is always empty for
    findings of the detector: whatever is grounded is no finding.
    """

    identifier: str
    kind: FabricationKind
    severity: FabricationSeverity
    reason: str
    key: str | None = None
    pattern_kind: str = ""
    confidence: float = 0.8
    span: tuple[int, int] = (0, 0)
    grounded_sources: list[str] = field(default_factory=list)

    def to_event_payload(self) -> dict[str, Any]:
        """The finding as JSON values: confidence rounded to three decimals, span as a list."""
        return {
            "identifier": self.identifier,
            "kind": self.kind,
            "severity": self.severity,
            "reason": self.reason,
            "key": self.key,
            "pattern_kind": self.pattern_kind or self.kind,
            "confidence": round(self.confidence, 3),
            "span": list(self.span),
        }


def left_strip_length(text: str) -> int:
    """How many characters the detector strips at the left; add it to a span to mark the original draft."""
    return len(text) - len(text.lstrip())


def detect_fabrication(
    response_text: str | None,
    tool_calls_this_turn: Sequence[Mapping[str, Any]] | None = None,
    *,
    hydrated_context: str = "",
    user_message: str = "",
    identifier_keys: Iterable[str] | None = None,
    intent_verdict: IntentVerdict | None = None,
    rules: GroundingRules | None = None,
) -> list[FabricationFinding]:
    """Findings in the order verb claims, UUIDs, short hex, key-value pairs, intent; no two alike.

    ``tool_calls_this_turn`` are mappings with a name under name, tool or tool_name, and texts (or anything
    printable) under result, output, response, args, input. ``identifier_keys`` are a tenant's own keys, any
    case. ``rules`` are what its reviewers taught the detector. Never raises: what cannot be read counts as
    absent.
    """
    text = _grounding.text_of(response_text).strip()
    if not text:
        return []
    calls = _grounding.readable_calls(tool_calls_this_turn)
    view = _scan.view_of(text)
    if rules is None:
        rules = _NO_RULES
    keys = _key_set(identifier_keys, rules.ignored_keys)

    claim_spans, claims = _scan.claims(text, view)
    uuids, hexes = _scan.hex_tokens(text, view)
    anchored = _anchored(text, hexes, claim_spans, keys) if hexes else []
    pairs = _scan.key_values(text, keys)

    findings: list[FabricationFinding] = []
    if claims:
        findings += _claim_findings(claims, calls, rules.tool_fragments)
    if uuids or anchored or pairs:
        # The turn's texts are searched once, for all candidates together, and only if there are any.
        needles = {text[start:end] for start, end in uuids}
        needles.update([identifier for identifier, _, _ in anchored])
        needles.update([value for _, value, _ in pairs])
        grounded = _grounding.grounded_in(needles, user_message, hydrated_context, calls)
        if rules.ignored_values:
            grounded |= rules.ignored_among(needles - grounded)
        if uuids:
            findings += _uuid_findings(text, uuids, grounded)
        if anchored:
            findings += _short_hex_findings(anchored, grounded)
        if pairs:
            findings += _pair_findings(pairs, grounded)
    if intent_verdict is not None and not calls:
        findings += _intent_findings(intent_verdict)
    return findings


_NO_RULES: Final = GroundingRules()


@lru_cache(maxsize=256)
def _key_set_of(keys: tuple[str, ...], ignored: frozenset[str]) -> _scan.KeySet:
    return _scan.KeySet(lex.BUILT_IN_KEYS.union(keys) - ignored)


def _key_set(identifier_keys: Iterable[str] | None, ignored: frozenset[str]) -> _scan.KeySet:
    """The built-in keys plus a tenant's, but not the ignored ones; what is not a string is skipped."""
    if identifier_keys is None:
        return _key_set_of((), ignored)
    try:
        return _key_set_of(tuple(key.lower() for key in identifier_keys if isinstance(key, str)), ignored)
    except Exception:  # the caller's iterable is not ours
        return _key_set_of((), ignored)


# A short hex token, its span, and the known key before it; with key None there is a claim nearby.
_Anchored = tuple[str, _scan.Span, str | None]


def _anchored(
    text: str, tokens: list[_scan.Span], claims: list[_scan.Span], keys: _scan.KeySet
) -> list[_Anchored]:
    """The tokens that have an anchor, in text order; a key goes before a claim."""
    starts, ends = [start for start, _ in claims], [end for _, end in claims]
    separators = ":" in text or "=" in text
    anchored: list[_Anchored] = []
    for span in tokens:
        start, end = span
        key = _scan.key_before(text, start) if separators else None
        if key is None or key not in keys:
            key = None
            # Claims do not overlap, so the nearest one on either side decides.
            before = bisect_right(ends, start)
            if not before or start - ends[before - 1] > lex.NEAR_VERB_WINDOW:
                after = bisect_left(starts, end)
                if after == len(starts) or starts[after] - end > lex.NEAR_VERB_WINDOW:
                    continue
        anchored.append((text[start:end], span, key))
    return anchored


# The builders below see candidates in text order and keep the first of each identifier.


def _claim_findings(
    claims: list[re.Match[str]], calls: Sequence[Any], fragments: Mapping[str, tuple[str, ...]]
) -> list[FabricationFinding]:
    fired = _grounding.tool_names(calls)
    findings = []
    for claim in claims:
        verb = claim[1].lower()
        if _grounding.verb_is_grounded(verb, fired, fragments.get(verb, ())):
            continue
        words = claim[0]
        reason = f'The draft says "{words}", but this turn called no tool that could have done it.'
        findings.append(
            _finding(
                words, "verb_claim", "medium", reason, claim.span(), confidence=lex.CONFIDENCE_VERB_CLAIM
            )
        )
    return findings


def _uuid_findings(text: str, spans: list[_scan.Span], grounded: set[str]) -> list[FabricationFinding]:
    reason = "This UUID is in no tool result, in no recalled context and not in the user's message."
    findings = []
    seen = set(grounded)
    for span in spans:
        identifier = text[span[0] : span[1]]
        if identifier not in seen:
            seen.add(identifier)
            findings.append(
                _finding(identifier, "uuid", "high", reason, span, confidence=lex.CONFIDENCE_UUID)
            )
    return findings


def _short_hex_findings(anchored: list[_Anchored], grounded: set[str]) -> list[FabricationFinding]:
    findings = []
    seen_by_verb, seen_by_key = set(grounded), set(grounded)
    for identifier, span, key in anchored:
        kind: FabricationKind
        if key is None:
            kind, seen = "short_hex_near_verb", seen_by_verb
            reason = (
                "The draft gives this token beside a claimed action, and nothing in the turn contains it."
            )
        else:
            kind, seen = "short_hex_near_key", seen_by_key
            reason = f"The draft gives this token as {key}, and nothing in the turn contains it."
        if identifier not in seen:
            seen.add(identifier)
            findings.append(
                _finding(identifier, kind, "high", reason, span, confidence=lex.CONFIDENCE_SHORT_HEX, key=key)
            )
    return findings


def _pair_findings(pairs: list[_scan.KeyValue], grounded: set[str]) -> list[FabricationFinding]:
    findings = []
    seen = set(grounded)
    for written, value, span in pairs:
        key = written.lower()
        if value in seen:
            continue
        seen.add(value)
        reason = f"The draft states {written} = {value}, and nothing in the turn contains that value."
        severity: FabricationSeverity = "high" if key in lex.BUILT_IN_KEYS else "medium"
        findings.append(
            _finding(
                value,
                "kv",
                severity,
                reason,
                span,
                confidence=lex.CONFIDENCE_KEY_VALUE,
                key=key,
            )
        )
    return findings


def _intent_findings(verdict: IntentVerdict) -> list[FabricationFinding]:
    """An order that no tool call answered. A verdict whose fields cannot be read yields nothing."""
    try:
        confidence = float(verdict.confidence)
        if verdict.label != "action" or not confidence >= lex.INTENT_MIN_CONFIDENCE:
            return []
        keywords = ", ".join(str(word) for word in verdict.matched_tool_keywords or ()) or "none"
    except Exception:  # a verdict may come from a caller's own classifier
        return []
    reason = (
        f"The user asked for an action (confidence {confidence:.2f}), yet no tool was called. "
        f"Tools whose keywords match: {keywords}."
    )
    finding = FabricationFinding(
        identifier="",
        kind="intent_action_no_tool",
        severity="medium",
        reason=reason,
        pattern_kind="intent_no_grounding",
        confidence=lex.CONFIDENCE_INTENT,
    )
    return [finding]


def _finding(
    identifier: str,
    kind: FabricationKind,
    severity: FabricationSeverity,
    reason: str,
    span: _scan.Span,
    *,
    confidence: float,
    key: str | None = None,
) -> FabricationFinding:
    """A finding whose ``pattern_kind`` is its kind.

    Fills the instance's dictionary at once: a frozen dataclass otherwise sets nine fields one by one, which
    takes three times as long and shows in drafts with many claims.
    """
    finding = object.__new__(FabricationFinding)
    finding.__dict__.update(
        identifier=identifier,
        kind=kind,
        severity=severity,
        reason=reason,
        key=key,
        pattern_kind=kind,
        confidence=confidence,
        span=span,
        grounded_sources=[],
    )
    return finding
