"""The second reader of a risky draft: a gate, at most one question to a model, a verdict that is recorded.

    critic = CriticCapability(provider, preferences=(CriticPreference(10, "Never reveal keys"),))
    verdict = await critic.review(draft, activation)

The contract is section 2 of the behaviour document. The verdict is never applied to the text here.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import islice
from math import isfinite
from typing import Any, Final, Protocol

from reviews.core.chat_model import from_chat_model
from reviews.core.critic_gate import DEFAULT_THRESHOLD, GateDecision, decide_gate
from reviews.core.critic_prompt import (
    DEFAULT_REFLECTION_PROMPT,
    CriticQuestion,
    check_template,
    critic_prompt,
)
from reviews.core.critic_reply import CriticReply, read_critic_reply
from reviews.core.critic_verdict import CriticCause, CriticVerdict, degraded_verdict
from reviews.core.fabrication import FabricationFinding
from reviews.core.intent import IntentVerdict
from reviews.core.model_failure import failure_of
from reviews.core.model_provider import ModelProvider, ModelReply
from reviews.core.patterns import Pattern, combined

__all__ = ["CriticCapability", "CriticPreference", "ProceduralRulesSource", "load_rules", "rules_query"]

#: Labels in a query for rules, and rules asked for.
MAX_LABELS: Final = 10
MAX_RULES: Final = 5
_SAID: Final[dict[str, str]] = {
    "malformed": "The reply is not the verdict that was asked for.",
    "truncated": "The reply ends before its JSON does.",
    "too_large": "The reply is larger than any verdict.",
}


class ProceduralRulesSource(Protocol):
    """Finds working rules for a turn: texts, or objects with the text in ``content``, the best first."""

    async def rules(self, query: str, limit: int) -> Sequence[Any]: ...


@dataclass(frozen=True)
class CriticPreference:
    """What a draft is held against; the highest ``priority`` weighs most.

    A memory with one of ``sensitive_tags`` calls the critic. Raises ``ValueError`` for what is none.
    """

    priority: float
    statement: str
    sensitive_tags: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        _check_number("priority", self.priority)
        if not isinstance(self.statement, str) or not self.statement.strip():
            raise ValueError("statement must be a text that says something")
        object.__setattr__(self, "sensitive_tags", _words("sensitive_tags", self.sensitive_tags))


@dataclass(frozen=True)
class CriticCapability:
    """Reviews drafts under one policy. Stateless, safe to share.

    Attributes:
        model_provider: A ``ModelProvider``; or a provider or chat model of symfonic or LangChain (see
            ``reviews.core.chat_model``); or None when no model is set up.
        confidence_threshold: 0 to 1; below it the critic is asked.
        sensitive_tags: Tags of recalled memories that always call it, beside the preferences' own.
        preferences: In any order.
        rules_source: Where the working rules of a turn are found.
        prompt_template: The user's part of the question (see ``critic_prompt``).
        model_config: Handed to ``get_chat_model``.
        selective_gate: Whether everything but trivial acknowledgments is read.
        read_only_tools: For the selective gate: tools that change nothing.
        acknowledgment_patterns: For the selective gate: more acknowledgments.
        check_reply: Whether a reply must repeat a token that only the instructions hold, so that a verdict
            quoted from the draft is never taken for an answer. None decides by what is asked: yes where our
            own template goes to a ``ModelProvider``; no for a template of one's own, whose author describes
            the reply, and for symfonic's chat models, whose contract is a reply of four fields.
        timeout_seconds: For the model call.
        rules_timeout_seconds: For the rules source; slower means no rules.
        max_tokens: Of the reply, which may hold the whole draft again.
        max_draft_characters: A longer draft is not shown in part, where harm could follow the cut, but not
            judged at all (``too_large``).
        monotonic: The current time in seconds, to measure with.
        fence: Makes a text that nobody can guess, for the marks around data; one a question.
        check_token: Likewise, for ``check_reply``.

    Raises:
        ValueError: a number out of range, tags or preferences that are none, or a template that
            ``check_template`` refuses.
    """

    model_provider: Any
    confidence_threshold: float = DEFAULT_THRESHOLD
    sensitive_tags: frozenset[str] = frozenset()
    preferences: tuple[CriticPreference, ...] = ()
    rules_source: ProceduralRulesSource | None = None
    prompt_template: str = DEFAULT_REFLECTION_PROMPT
    model_config: Any = None
    _: KW_ONLY
    selective_gate: bool = False
    read_only_tools: frozenset[str] = frozenset()
    acknowledgment_patterns: tuple[Pattern, ...] = ()
    check_reply: bool | None = None
    timeout_seconds: float = 30.0
    rules_timeout_seconds: float = 5.0
    max_tokens: int = 4_096
    max_draft_characters: int = 100_000
    monotonic: Callable[[], float] = time.monotonic
    fence: Callable[[], str] = lambda: secrets.token_hex(16)
    check_token: Callable[[], str] = lambda: secrets.token_hex(16)
    _all_tags: frozenset[str] = field(init=False, repr=False, compare=False)
    _ranked: tuple[CriticPreference, ...] = field(init=False, repr=False, compare=False)
    _patterns: tuple[Pattern, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_number("confidence_threshold", self.confidence_threshold, most=1)
        for name in ("timeout_seconds", "rules_timeout_seconds", "max_tokens", "max_draft_characters"):
            _check_number(name, getattr(self, name))
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be more than 0, not {getattr(self, name)!r}")
        preferences = tuple(self.preferences)
        if not all(isinstance(preference, CriticPreference) for preference in preferences):
            raise ValueError("preferences must be CriticPreference objects")
        check_template(self.prompt_template)
        own = _words("sensitive_tags", self.sensitive_tags)
        patterns = tuple(self.acknowledgment_patterns)
        if not all(isinstance(pattern, Pattern) for pattern in patterns):
            raise ValueError("acknowledgment_patterns must be made by compile_pattern")
        # The sort is stable: preferences of one priority stay in the order they were given.
        ranked = sorted(preferences, key=lambda preference: preference.priority, reverse=True)
        for name, value in {
            "sensitive_tags": own,
            "preferences": preferences,
            "_ranked": tuple(ranked),
            "read_only_tools": _words("read_only_tools", self.read_only_tools),
            "acknowledgment_patterns": patterns,
            "_patterns": combined(patterns),
            "_all_tags": own.union(*(preference.sensitive_tags for preference in ranked)),
        }.items():
            object.__setattr__(self, name, value)

    def decide(
        self,
        draft: str,
        activation: object,
        *,
        fabrication_mode: str = "off",
        findings: Sequence[FabricationFinding] = (),
        tool_calls: Iterable[Mapping[str, Any]] | None = (),
        intent: IntentVerdict | None = None,
    ) -> GateDecision:
        """The gate alone, without a call. Never raises; see ``decide_gate``."""
        return decide_gate(
            draft,
            activation,
            threshold=self.confidence_threshold,
            tags=self._all_tags,
            fabrication_mode=fabrication_mode,
            findings=findings,
            selective=self.selective_gate,
            tool_calls=tool_calls,
            read_only_tools=self.read_only_tools,
            intent=intent,
            patterns=self._patterns,
        )

    async def review(
        self,
        draft: str,
        activation: object,
        *,
        fabrication_mode: str = "off",
        findings: Sequence[FabricationFinding] = (),
        tool_calls: Iterable[Mapping[str, Any]] | None = (),
        intent: IntentVerdict | None = None,
    ) -> CriticVerdict:
        """Gate, and the question where it fires. Never raises; being cancelled from outside is passed on."""
        started = self.monotonic()
        gate = self.decide(
            draft,
            activation,
            fabrication_mode=fabrication_mode,
            findings=findings,
            tool_calls=tool_calls,
            intent=intent,
        )
        verdict = await self.reflect(draft, activation, gate, findings=findings)
        return replace(verdict, reflection_latency_ms=self._since(started))

    async def reflect(
        self,
        draft: str,
        activation: object,
        gate: GateDecision,
        *,
        findings: Sequence[FabricationFinding] = (),
    ) -> CriticVerdict:
        """The rest of ``review`` for a gate that was decided before. Never raises, as above.

        ``findings`` are shown to the model where the gate says that they force a revision.
        """
        started = self.monotonic()
        if not gate.fires:
            return CriticVerdict(
                "approve", gate.confidence, reflection_latency_ms=self._since(started), gate=gate
            )
        try:
            verdict = await self._reflect(draft, activation, gate, findings)
        except Exception as error:  # whatever a draft or a provider does, the turn gets its verdict
            failure = failure_of(error)
            verdict = degraded_verdict(gate, failure.cause, failure.detail, retry_after=failure.retry_after)
        return replace(verdict, reflection_latency_ms=self._since(started))

    async def _reflect(
        self, draft: str, activation: object, gate: GateDecision, findings: Sequence[FabricationFinding]
    ) -> CriticVerdict:
        provider, native = self._provider()
        if provider is None:
            return degraded_verdict(gate, "no_model", "No model is set up.")
        if len(draft) > self.max_draft_characters:
            shown = f"The draft is longer than the {self.max_draft_characters} characters that are shown."
            return degraded_verdict(gate, "too_large", shown)
        rules = await load_rules(self.rules_source, activation, timeout_seconds=self.rules_timeout_seconds)
        check = self.check_token() if self._checks(native) else None
        question = CriticQuestion(
            draft=draft,
            preferences=self._ranked,
            rules=rules,
            sensitive_tag=gate.sensitive_tag,
            findings=findings if gate.forces_revise else (),
        )
        asked = critic_prompt(question, fence=self.fence(), check=check, template=self.prompt_template)
        try:
            async with asyncio.timeout(self.timeout_seconds):
                reply = await provider.complete(
                    system=asked.system, prompt=asked.prompt, max_tokens=self.max_tokens
                )
        except Exception as error:  # as above, but here it is known what was shown
            failure = failure_of(error)
            return degraded_verdict(
                gate, failure.cause, failure.detail, retry_after=failure.retry_after, rules=rules
            )
        return self._judged(reply, gate, rules, check)

    def _judged(
        self, reply: ModelReply, gate: GateDecision, rules: tuple[str, ...], check: str | None
    ) -> CriticVerdict:
        cause: CriticCause
        if reply.refused:
            cause, said, read = "refused", "The model refused to answer.", CriticReply("malformed")
        else:
            statements = [preference.statement for preference in self._ranked]
            read = read_critic_reply(reply.text, statements=statements, check=check)
            cause = "" if read.status == "read" else read.status
            if cause == "malformed" and reply.cut_short:
                cause = "truncated"
            said = _SAID.get(cause, "")
        if read.verdict is None:
            return degraded_verdict(
                gate,
                cause,
                said,
                rules=rules,
                tokens_in=reply.tokens_in,
                tokens_out=reply.tokens_out,
                model=reply.model,
            )
        # Findings can only add caution: they turn an approval into a revision, and leave a refusal.
        forced = gate.forces_revise and read.verdict == "approve"
        return CriticVerdict(
            verdict="revise" if forced else read.verdict,
            confidence_before=gate.confidence,
            sensitive_tag_hit=gate.sensitive_tag,
            revised_draft=read.text if read.verdict == "revise" else None,
            refusal_message=read.text if read.verdict == "refuse" else None,
            matched_preferences=read.matched_preferences,
            forced=forced,
            rules=rules,
            tokens_in=reply.tokens_in,
            tokens_out=reply.tokens_out,
            model=reply.model,
            gate=gate,
        )

    def _provider(self) -> tuple[ModelProvider | None, bool]:
        """Whom to ask, and whether it is a ``ModelProvider`` of our own kind."""
        source = self.model_provider
        if hasattr(source, "complete"):
            return source, True
        if hasattr(source, "get_chat_model") or hasattr(source, "ainvoke"):
            return from_chat_model(source, model_config=self.model_config), False
        return None, False

    def _checks(self, native: bool) -> bool:
        if self.check_reply is None:
            return native and self.prompt_template == DEFAULT_REFLECTION_PROMPT
        return self.check_reply

    def _since(self, started: float) -> float:
        return max(0.0, (self.monotonic() - started) * 1000)


def rules_query(activation: object) -> str:
    """Up to ten labels of the inference paths, sorted, with spaces between; "" when there are none."""
    paths = activation.get("inference_paths") if isinstance(activation, Mapping) else None
    labels = {
        label
        for path in (paths if isinstance(paths, list | tuple) else ())
        for label in (path if isinstance(path, list | tuple) else ())
        if isinstance(label, str)
    }
    return " ".join(sorted(labels)[:MAX_LABELS])


async def load_rules(
    source: ProceduralRulesSource | None, activation: object, *, timeout_seconds: float
) -> tuple[str, ...]:
    """At most five rules; none when there is no source, no label to ask by, or anything goes wrong."""
    if source is None:
        return ()
    try:
        query = rules_query(activation)
        if not query:
            return ()
        async with asyncio.timeout(timeout_seconds):
            found = await source.rules(query, MAX_RULES)
        return tuple(_rule(rule) for rule in islice(found, MAX_RULES))
    except Exception:  # a verdict without rules is better than none
        return ()


def _rule(rule: object) -> str:
    return rule if isinstance(rule, str) else str(getattr(rule, "content", rule))


def _check_number(name: str, value: object, *, most: float | None = None) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise ValueError(f"{name} must be a number, not {value!r}")
    if most is not None and not 0 <= value <= most:
        raise ValueError(f"{name} must be a number from 0 to {most:g}, not {value!r}")


def _words(name: str, value: Collection[str]) -> frozenset[str]:
    # A single text is a collection of its letters: a slip, not a wish.
    if isinstance(value, str) or not all(isinstance(word, str) for word in value):
        raise ValueError(f"{name} must be a set of texts")
    return frozenset(value)
