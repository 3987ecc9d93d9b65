"""What is known of one run of a LangChain or LangGraph agent, and which of its texts is the draft."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from reviews.client.handlers._messages import (
    calls_in,
    is_call_for_tools,
    since_the_user,
    text_in,
    type_of,
)
from reviews.client.handlers._turns import MOST_TEXT, OpenTurn
from reviews.client.handlers._values import text_of

__all__ = ["LangChainRun", "draft_of", "messages_in"]

#: Names under which chains without messages are asked, and answer.
_ASKED: Final = ("input", "question", "query", "user_message", "human_input")
_ANSWERED: Final = ("output", "answer", "text", "result", "response")


@dataclass
class LangChainRun(OpenTurn):
    """``final`` is the answer in the outputs of the whole run; ``said`` the last answer of a model in it, of
    calls in tools apart; ``streams`` the tokens of model calls that have not ended. ``checked`` is the draft
    that was asked about before it went out.
    """

    final: str = ""
    said: str = ""
    checked: str = ""
    #: Something was heard of the root itself; a run of which only parts were seen is no turn.
    rooted: bool = False
    call_ids: dict[str, str] = field(default_factory=dict)
    streams: dict[str, str] = field(default_factory=dict)

    def note_inputs(self, inputs: object) -> None:
        """What the run was started with: the user's message is the last one in it."""
        messages = messages_in(inputs)
        human = [message for message in messages if type_of(message) == "human"]
        if human:
            self.begin(text_in(human[-1]))
        elif isinstance(inputs, str):
            self.begin(inputs)
        elif isinstance(inputs, Mapping):
            self.begin(next((v for name in _ASKED if isinstance(v := inputs.get(name), str)), ""))

    def note_shown(self, messages: Sequence[object]) -> None:
        """What a model was given: system text, what users said before, and calls of earlier turns.

        Earlier answers are no evidence for this one, so they are left out.
        """
        begin = since_the_user(messages, self.user_message)
        for message in messages:
            if type_of(message) == "system":
                self.note_context(text_in(message))
        for message in messages[: max(0, begin - 1)]:
            if type_of(message) == "human":
                self.note_context(text_in(message))
        self.earlier(calls_in(messages[:begin]))
        if begin:
            self.begin(text_in(messages[begin - 1]))

    def note_token(self, llm_id: str, token: object) -> None:
        text = token if isinstance(token, str) else text_in({"content": token})
        held = self.streams.get(llm_id, "")
        if len(held) < MOST_TEXT:
            self.streams[llm_id] = held + text

    def note_said(self, llm_id: str, text: str, *, asks_for_tools: bool) -> None:
        streamed = self.streams.pop(llm_id, "")
        if not asks_for_tools:
            self.said = text_of(text or streamed, MOST_TEXT)

    def note_outputs(self, outputs: object) -> None:
        """How the run ended. Only messages since the user's count: a graph with a memory returns all."""
        messages = messages_in(outputs)
        if messages:
            new = messages[since_the_user(messages, self.user_message) :]
            # The last call of tools stands without an answer when the run was interrupted.
            self.calls_seen(calls_in(new))
            answers = [m for m in new if type_of(m) == "ai" and not is_call_for_tools(m) and text_in(m)]
            self.final = text_of(text_in(answers[-1]), MOST_TEXT) if answers else ""
        elif isinstance(outputs, str):
            self.final = text_of(outputs, MOST_TEXT)
        elif type_of(outputs) == "ai":
            self.final = text_of(text_in(outputs), MOST_TEXT)
        elif isinstance(outputs, Mapping):
            self.final = next(
                (text_of(v, MOST_TEXT) for n in _ANSWERED if isinstance(v := outputs.get(n), str)), ""
            )

    def call_id(self, run_id: str, tool_call_id: object = None) -> str:
        """The model's id of a call where a tool's run tells it, else the run's own."""
        if run_id not in self.call_ids:
            named = isinstance(tool_call_id, str) and bool(tool_call_id) and tool_call_id not in self.calls
            self.call_ids[run_id] = str(tool_call_id) if named else run_id
        return self.call_ids[run_id]

    def absorb(self, part: LangChainRun) -> None:
        """Take over what was known of a run that turns out to be inside of this one."""
        for call_id, call in part.calls.items():
            self.calls.setdefault(call_id, call)
        self.call_ids.update(part.call_ids)
        self.streams.update(part.streams)
        for text in part.context:
            self.note_context(text)
        self.said = self.said or part.said
        self.model = self.model or part.model
        self.conversation_id = self.conversation_id or part.conversation_id


def draft_of(run: LangChainRun) -> str:
    """The draft that was checked, else the run's answer, else the model's last word, whole or so far."""
    if not run.rooted:
        return ""
    return run.checked or run.final or run.said or "".join(list(run.streams.values())[-1:])


def messages_in(value: object) -> list[Any]:
    """The messages among inputs or outputs: a list of them, or what is in ``messages``."""
    found = value.get("messages") if isinstance(value, Mapping) else value
    if isinstance(found, Mapping | str) or found is None:
        return []
    found = found if isinstance(found, list | tuple) else [found]
    if isinstance(found, tuple) and type_of(found):
        found = [found]  # ("user", "…") alone
    return [m for m in found if type_of(m)] if all(not isinstance(m, str) for m in found) else []
