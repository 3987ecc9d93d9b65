"""The callback handler for LangChain and LangGraph.

    review = LangChainReviewHandler(client, agent="ops")
    graph.invoke({"messages": [("user", "…")]}, {"callbacks": [review], "configurable": {"thread_id": "7"}})

One root run becomes one turn; runs inside of it (nodes, models, tools, agents in tools) are told from others
by their ``parent_run_id``. The handler works in threads and in event loops, with ``invoke``, ``stream`` and
their asynchronous kin. ``review.check_node`` asks before an answer goes out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from reviews.client.handlers._assembly import MOST_OPEN, Assembler, Counts, guarded
from reviews.client.handlers._checks import check_options
from reviews.client.handlers._langchain_run import LangChainRun, draft_of, messages_in
from reviews.client.handlers._messages import (
    calls_in,
    is_call_for_tools,
    since_the_user,
    text_in,
    type_of,
)
from reviews.client.handlers._places import Place, Places
from reviews.client.handlers._turns import MOST_TEXT
from reviews.client.handlers._values import text_of
from reviews.core.outcome import SAFE_REFUSAL

if TYPE_CHECKING:

    class _Base:
        """langchain-core's handler as far as types are concerned: nothing is used of it."""

else:
    try:
        from langchain_core.callbacks import BaseCallbackHandler as _Base
    except ImportError:  # the hooks below are all that matters
        _Base = object

__all__ = ["LangChainReviewHandler"]

_CONVERSATION: Final = ("thread_id", "conversation_id", "session_id")


@dataclass(frozen=True, slots=True)
class _Question:
    """A draft to be asked about: the run it belongs to, its message's id, and what ``check`` is told."""

    draft: str
    run_id: str
    message_id: str | None
    options: dict[str, Any]


class LangChainReviewHandler(_Base):
    """Records the turns of LangChain and LangGraph agents; one handler serves any number of runs at once.

    ``client`` is a ``ReviewClient`` or ``AsyncReviewClient``; ``agent`` is how the turns call the agent, if
    not as the client does; ``check_options`` (``deadline``, ``on_failure``) go to the client's ``check``. The
    conversation is the ``thread_id`` of the run's configuration. No hook raises or waits; ``counts`` tells
    what came of it.
    """

    # LangChain asks for these. Inline, so that the hooks of one run come in their order in event loops, too.
    run_inline = True
    raise_error = False

    def __init__(
        self, client: Any, *, agent: str = "", most_open: int = MOST_OPEN, **check_options: Any
    ) -> None:
        super().__init__()
        self.client = client
        self._agent = agent
        self._check_options = check_options
        self._places = Places()
        self.assembler: Assembler[LangChainRun] = Assembler(
            client, make=LangChainRun, draft_of=draft_of, agent=agent, most_open=most_open
        )

    @property
    def counts(self) -> Counts:
        return self.assembler.counts

    def close(self) -> None:
        """Record runs that never ended, as they are. The client stays open."""
        self.assembler.close()

    # -- Chains: the root is the turn

    @guarded
    def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: Any, **options: Any) -> None:
        place = self._enter(run_id, options)
        if place.root != str(run_id):
            return

        def note(run: LangChainRun) -> None:
            run.rooted = True
            run.note_inputs(inputs)
            _note_metadata(run, options)

        self.assembler.with_run(place.root, note)

    @guarded
    def on_chain_end(self, outputs: Any, *, run_id: Any, **options: Any) -> None:
        self._leave(run_id, options, lambda run: run.note_outputs(outputs))

    @guarded
    def on_chain_error(self, error: BaseException, *, run_id: Any, **options: Any) -> None:
        self._leave(
            run_id, options, lambda run: run.note_error(type(error).__name__, text_of(error, MOST_TEXT))
        )

    # -- Models

    @guarded
    def on_chat_model_start(self, serialized: Any, messages: Any, *, run_id: Any, **options: Any) -> None:
        place = self._enter(run_id, options)

        def note(run: LangChainRun) -> None:
            _note_metadata(run, options)
            if not place.in_tool:
                run.model = run.model or _model_of(serialized, options)
                shown = messages[0] if messages and isinstance(messages[0], list | tuple) else messages
                run.note_inputs(shown)
                run.note_shown(shown)

        self.assembler.with_run(place.root, note)

    @guarded
    def on_llm_start(self, serialized: Any, prompts: Any, *, run_id: Any, **options: Any) -> None:
        place = self._enter(run_id, options)

        def note(run: LangChainRun) -> None:
            _note_metadata(run, options)
            if not place.in_tool:
                run.model = run.model or _model_of(serialized, options)
                if place.root == str(run_id) and prompts:
                    run.note_inputs(prompts[0])

        self.assembler.with_run(place.root, note)

    @guarded
    def on_llm_new_token(self, token: Any, *, run_id: Any, **options: Any) -> None:
        place = self._place(run_id, options)
        if not place.in_tool:
            self.assembler.with_run(place.root, lambda run: run.note_token(str(run_id), token))

    @guarded
    def on_llm_end(self, response: Any, *, run_id: Any, **options: Any) -> None:
        place = self._place(run_id, options)
        text, asks = _said(response)

        def note(run: LangChainRun) -> None:
            if not place.in_tool:
                run.note_said(str(run_id), text, asks_for_tools=asks)
            run.rooted = run.rooted or place.root == str(run_id)

        if place.root == str(run_id):
            self.assembler.end(place.root, note)
        else:
            self.assembler.with_run(place.root, note)

    @guarded
    def on_llm_error(self, error: BaseException, *, run_id: Any, **options: Any) -> None:
        # Within a chain the chain's own error follows, unless something there makes up for it.
        if self._place(run_id, options).root == str(run_id):
            self.on_chain_error(error, run_id=run_id, **options)

    # -- Tools

    @guarded
    def on_tool_start(self, serialized: Any, input_str: Any, *, run_id: Any, **options: Any) -> None:
        place = self._enter(run_id, options, tool=True)
        inputs = options.get("inputs")
        name = options.get("name") or (serialized or {}).get("name") or ""
        args = inputs if inputs is not None else input_str

        def note(run: LangChainRun) -> None:
            run.call_began(run.call_id(str(run_id), options.get("tool_call_id")), name, args)

        if place.root != str(run_id):
            self.assembler.with_run(place.root, note)

    @guarded
    def on_tool_end(self, output: Any, *, run_id: Any, **options: Any) -> None:
        place = self._place(run_id, options)
        is_message = type_of(output) == "tool"
        failed = is_message and getattr(output, "status", "") == "error"
        result = getattr(output, "content", None) if is_message else output
        name = options.get("name") or (getattr(output, "name", None) if is_message else "") or ""
        error = text_of(result, MOST_TEXT) if failed else None

        def note(run: LangChainRun) -> None:
            call_id = run.call_id(str(run_id), getattr(output, "tool_call_id", None))
            run.call_ended(call_id, name=name, result=result, ok=not failed, error=error)

        if place.root != str(run_id):
            self.assembler.with_run(place.root, note)

    @guarded
    def on_tool_error(self, error: BaseException, *, run_id: Any, **options: Any) -> None:
        place = self._place(run_id, options)
        words = f"{type(error).__name__}: {text_of(error, MOST_TEXT)}"

        def note(run: LangChainRun) -> None:
            run.call_ended(run.call_id(str(run_id)), name=options.get("name") or "", ok=False, error=words)

        if place.root != str(run_id):
            self.assembler.with_run(place.root, note)

    # -- What the memory brings

    @guarded
    def on_retriever_start(self, serialized: Any, query: Any, *, run_id: Any, **options: Any) -> None:
        self._enter(run_id, options)

    @guarded
    def on_retriever_end(self, documents: Any, *, run_id: Any, **options: Any) -> None:
        place = self._place(run_id, options)
        texts = [text_of(getattr(document, "page_content", ""), MOST_TEXT) for document in documents]

        def note(run: LangChainRun) -> None:
            for text in texts:
                run.note_context(text)

        if place.root != str(run_id):
            self.assembler.with_run(place.root, note)

    # -- Asking before an answer goes out

    def check_node(self, state: Any, config=None) -> Any:  # type: ignore[no-untyped-def]  # LangGraph reads it
        """A node for a graph, or the ``post_model_hook`` of an agent: asks the dashboard about the answer
        that stands last in ``state["messages"]``, and puts the safe refusal in its place when it is refused.

        Needs the synchronous client; ``check_node_async`` is for the other one. A draft that was judged is
        stored by that, so the turn is not recorded once more. Whether an answer goes out that could not be
        judged in time is said by ``on_failure`` of this handler.
        """
        asked = self._question(state, config)
        return {} if asked is None else self._verdict(asked, self.client.check(asked.draft, **asked.options))

    async def check_node_async(self, state: Any, config=None) -> Any:  # type: ignore[no-untyped-def]
        """As ``check_node``, with ``AsyncReviewClient``."""
        asked = self._question(state, config)
        if asked is None:
            return {}
        return self._verdict(asked, await self.client.check(asked.draft, **asked.options))

    @guarded
    def _question(self, state: Any, config: Any) -> _Question | None:
        messages = messages_in(state)
        answer = messages[-1] if messages else None
        if type_of(answer) != "ai" or is_call_for_tools(answer) or not text_in(answer).strip():
            return None
        draft = text_of(text_in(answer), MOST_TEXT)
        run_id = self._root_of(config)
        asked = _Question(draft, run_id, getattr(answer, "id", None), dict(self._check_options))

        def ask(run: LangChainRun) -> dict[str, Any]:
            run.note_shown(messages)
            run.calls_seen(calls_in(messages[since_the_user(messages, run.user_message) :]))
            run.checked, run.checks = draft, run.checks + 1
            return check_options(run, draft, agent=self._agent)

        try:
            known = self.assembler.with_run(run_id, ask) if run_id else None
            # A graph that runs without this handler among its callbacks is asked about all the same.
            asked.options.update(known or ask(LangChainRun(uuid4().hex)))
        except Exception as error:
            # Asked with less, for an answer must not get by for an error of ours.
            self.assembler.failed("check_node", error)
        return asked

    def _root_of(self, config: Any) -> str:
        """The root of the run that a node is called in; "" when this handler does not see it."""
        parent = str(getattr((config or {}).get("callbacks"), "parent_run_id", ""))
        return self._places.find(parent, None).root if self._places.knows(parent) else ""

    def _verdict(self, asked: _Question, result: Any) -> Any:
        def note(run: LangChainRun) -> None:
            run.stored = result.answered

        if asked.run_id:
            self.assembler.with_run(asked.run_id, note)
        if not result.refused:
            return {}
        from langchain_core.messages import AIMessage

        # Under the id of the draft, so that it takes the draft's place in the state.
        return {"messages": [AIMessage(content=result.safe_refusal or SAFE_REFUSAL, id=asked.message_id)]}

    # -- Inside

    def _enter(self, run_id: Any, options: Mapping[str, Any], *, tool: bool = False) -> Place:
        place, was_root = self._places.enter(str(run_id), _parent(options), tool=tool)
        if was_root:
            # Parts of it came before its own start did.
            self.assembler.take(place.root, str(run_id), LangChainRun.absorb)
        return place

    def _place(self, run_id: Any, options: Mapping[str, Any]) -> Place:
        return self._places.find(str(run_id), _parent(options))

    def _leave(self, run_id: Any, options: Mapping[str, Any], work: Callable[[LangChainRun], None]) -> None:
        """The end of a chain matters when it is the root's."""
        place = self._place(run_id, options)
        if place.root != str(run_id):
            return

        def note(run: LangChainRun) -> None:
            run.rooted = True
            work(run)

        self.assembler.end(place.root, note)


def _parent(options: Mapping[str, Any]) -> str | None:
    parent = options.get("parent_run_id")
    return None if parent is None else str(parent)


def _note_metadata(run: LangChainRun, options: Mapping[str, Any]) -> None:
    metadata = options.get("metadata") or {}
    for name in _CONVERSATION:
        if metadata.get(name) and not run.conversation_id:
            run.conversation_id = text_of(metadata[name], MOST_TEXT)


def _model_of(serialized: Any, options: Mapping[str, Any]) -> str:
    metadata, asked = options.get("metadata") or {}, options.get("invocation_params") or {}
    found = metadata.get("ls_model_name") or asked.get("model") or asked.get("model_name")
    return str(found or (serialized or {}).get("name") or "")


def _said(response: Any) -> tuple[str, bool]:
    """The text of a model's reply, and whether it asks for tools."""
    generations = getattr(response, "generations", None) or [[]]
    first = generations[0][0] if generations[0] else None
    message = getattr(first, "message", None)
    if message is None:
        return text_of(getattr(first, "text", "") or "", MOST_TEXT), False
    return text_of(text_in(message), MOST_TEXT), is_call_for_tools(message)
