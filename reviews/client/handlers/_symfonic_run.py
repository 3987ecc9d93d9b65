"""What is known of one run of a symfonic agent, and which of its texts is the draft."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from reviews.client.handlers._messages import calls_in, since_the_user, text_in
from reviews.client.handlers._turns import MOST_TEXT, OpenTurn
from reviews.client.handlers._values import plain, text_of

__all__ = ["SymfonicRun", "draft_of"]

#: State keys under which an agent may lay out evidence for memory assertions.
EVIDENCE: Final = ("memory_classifications", "prompt_recall", "recall_claims", "response_claims")
#: What a runtime tells of its critic, in the words of the native format.
CRITIC_FIELDS: Final = (
    "verdict",
    "confidence_before",
    "sensitive_tag_hit",
    "revised_draft",
    "refusal_message",
    "matched_preferences",
    "reflection_latency_ms",
)
_MOST_EVIDENCE: Final = 100_000
# The model writes these for the runtime, which takes them out of the answer.
_CITATIONS = re.compile(r"\s*\[(?:semantic|episodic|procedural|working|prospective)\]", re.IGNORECASE)
_EXTRACTS = re.compile(r"\s*<(MEMORY_EXTRACT|GRAPH_OPERATIONS)>.*?(?:</\1>\s*|\Z)", re.DOTALL)


@dataclass
class SymfonicRun(OpenTurn):
    """``said`` is the model's last word in the loop, ``rendered`` what stood before other handlers rewrote
    it, ``final`` what the user got; ``event`` is the runtime's own ``FabricationDetectedEvent``.
    """

    said: str = ""
    said_at: int = -1
    rendered: str = ""
    final: str = ""
    judged: str = ""
    event: dict[str, Any] | None = None
    system_prompt: str = ""

    def note_said(self, output: object, iteration: int) -> None:
        if iteration >= self.said_at:
            self.said, self.said_at = text_of(output, MOST_TEXT), iteration

    def note_messages(self, messages: object) -> None:
        """The conversation as the model sees it: this turn's calls, and those of the turns before."""
        if isinstance(messages, Sequence) and messages:
            begin = since_the_user(messages, self.user_message)
            if begin:
                self.begin(text_in(messages[begin - 1]))
            self.calls_seen(calls_in(messages[begin:]))
            self.earlier(calls_in(messages[:begin]))

    def note_state(self, state: object) -> None:
        """The runtime's state: what the memory gave, whose conversation it is, evidence laid out in it."""
        if not isinstance(state, Mapping):
            return
        memory = state.get("memory_context")
        if isinstance(memory, Mapping):
            recalled = text_of(memory.get("context") or "", MOST_TEXT)
            self.note_context(recalled)
            self.attributes.setdefault("prompt_recall", recalled)
            self.note_activation(memory.get("activation_log"))
        for name in EVIDENCE:
            if state.get(name) is not None:
                self.attributes[name] = plain(state[name], _MOST_EVIDENCE)
        thread = state.get("_thread_id")
        if isinstance(thread, str):
            self.conversation_id = self.conversation_id or thread
        self.note_messages(state.get("messages"))

    def document(self, *, draft: str, agent: str = "") -> dict[str, Any]:
        # A stream tells nothing of the memory by itself, but the prompt holds what was recalled.
        if not self.context:
            self.note_context("" if self.rendered else self.system_prompt)
        return super().document(draft=draft, agent=agent)

    def note_activation(self, log: object) -> None:
        if isinstance(log, Mapping) and log and self.activation is None:
            self.activation = plain(log, _MOST_EVIDENCE)

    def note_intent(self, verdict: object) -> None:
        if isinstance(verdict, Mapping) and verdict and self.intent is None:
            self.intent = plain({k: v for k, v in verdict.items() if k != "mode"}, _MOST_EVIDENCE)

    def note_critic(self, reflection: object) -> None:
        if isinstance(reflection, Mapping) and reflection.get("verdict") and self.critic is None:
            told = {name: reflection[name] for name in CRITIC_FIELDS if reflection.get(name) is not None}
            self.critic = plain(told, MOST_TEXT)
            # Under ``refuse`` the critic was shown the replacement, so this is no sure word on the draft.
            self.judged = text_of(reflection.get("original_draft") or "", MOST_TEXT)


def draft_of(run: SymfonicRun) -> str:
    """What the agent wanted to answer, before a refusal, a revision or a rewriting took its place.

    The runtime's event is the best witness: its preview begins the draft, and is all of it unless cut. After
    it come the text that the critic judged, and the model's own words, where the final answer is something
    else; without either, the final answer.
    """
    said = _for_users(run.said)
    preview = (run.event or {}).get("original_draft_preview") or ""
    if run.event and preview:
        if not run.event.get("preview_truncated"):
            return preview
        candidates = (run.judged, run.rendered, run.final, said)
        return next((text for text in candidates if text.startswith(preview)), preview)
    shown = run.judged or run.rendered or run.final
    if not shown or not said:
        return shown or said
    return shown if _skeleton(shown) in _skeleton(run.said) else said


def _for_users(text: str) -> str:
    return _CITATIONS.sub("", _EXTRACTS.sub("", text)).strip()


def _skeleton(text: str) -> str:
    return "".join(_CITATIONS.sub("", text).split())
