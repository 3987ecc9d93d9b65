"""The callback handler for agents built with symfonic-core 9.x.

    review = SymfonicReviewHandler(client, "acme")
    agent = SymfonicAgent(model_provider=…, config=FrameworkConfig(**review.policy_overrides()))
    response = await review.run(agent, "Please export the orders", scope=scope)

One run of the agent becomes one turn, under the run's id. Two facts about the runtime shape this module:

- symfonic hands its fabrication event, and its verdict on the intent, only to the handlers of the call:
  ``agent.run(…, callbacks=[review])``. A handler given to the agent as a whole still records every run, but
  has to find the draft by itself when a refusal replaced it.
- What the runtime's critic said is no event. It stands in the ``AgentResponse``; ``review.run`` reads it
  there, and waits for it before it records. With plain ``callbacks=[review]`` a turn goes out without it.

The runtime's fabrication event is sent beside the turn (``POST /events/fabrication``), because a turn has no
field for it and the dashboard could not know otherwise that the answer was in fact replaced. The event names
its run, and the turn's ``external_id`` is that same id. The server therefore ends with one turn that holds
both, whichever arrives first; the turn is handed over first, so that nobody meets half of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from reviews.client.handlers import _events, _policy, _skills
from reviews.client.handlers._assembly import MOST_OPEN, Assembler, Counts, guarded
from reviews.client.handlers._symfonic_run import SymfonicRun, draft_of
from reviews.client.handlers._turns import MOST_TEXT, external_id_of
from reviews.client.handlers._values import plain, text_of

if TYPE_CHECKING:
    from symfonic.core.contracts.callbacks import FabricationDetectedEvent

    class _Base:
        """What both bases have in common for a reader of types: nothing."""

else:
    try:
        from symfonic.core.callbacks import BaseCallbackHandler as _Base
    except ImportError:  # duck-typed: every hook that the runtime requires is below
        _Base = object

__all__ = ["SymfonicReviewHandler"]

#: Nodes whose model calls write the answer; other calls (critic, summaries) are the runtime's own.
_ANSWERING = ("react", "")
_CLOSE_SECONDS = 2.0

_intent: ContextVar[Mapping[str, Any] | None] = ContextVar("reviews_symfonic_intent", default=None)
_given: ContextVar[Mapping[str, Any] | None] = ContextVar("reviews_symfonic_given", default=None)


class SymfonicReviewHandler(_Base):
    """Records the turns of symfonic agents; one handler serves any number of runs at once.

    ``client`` is a ``ReviewClient`` or ``AsyncReviewClient``. ``tenant`` names the memory that
    ``pull_skills`` writes to: a tenant id, or one of symfonic's scopes. ``agent`` is how the turns call the
    agent, if not as the client does. No hook raises, waits, or changes what the agent does; ``counts`` tells
    what came of it.
    """

    def __init__(self, client: Any, tenant: Any, *, agent: str = "", most_open: int = MOST_OPEN) -> None:
        self.client = client
        self.tenant = tenant
        self._held: set[str] = set()
        self.events = _events.EventLane(client)
        self.assembler: Assembler[SymfonicRun] = Assembler(
            client,
            make=SymfonicRun,
            draft_of=draft_of,
            agent=agent,
            most_open=most_open,
            after=self._send_event,
        )

    @property
    def counts(self) -> Counts:
        return self.assembler.counts

    # -- For the agent's author

    async def run(
        self,
        agent: Any,
        query: str,
        *,
        callbacks: Sequence[Any] | None = None,
        run_id: str = "",
        **options: Any,
    ) -> Any:
        """``agent.run`` with this handler among its callbacks; returns, or raises, what that does.

        The turn is recorded with what only the response tells: the critic's verdict, the intent and the
        session.
        """
        run_id = run_id or uuid4().hex
        self._held.add(run_id)
        try:
            response = await agent.run(query, callbacks=[*(callbacks or ()), self], run_id=run_id, **options)
        except BaseException as error:
            self._release(run_id, None, error)
            raise
        self._release(run_id, response, None)
        return response

    @contextmanager
    def given(
        self, *, conversation_id: str = "", agent: str = "", attributes: Mapping[str, Any] | None = None
    ) -> Iterator[None]:
        """Facts about the runs that start inside of the block, which the runtime does not tell: a stream's
        conversation, or evidence for memory assertions."""
        facts = {"conversation_id": conversation_id, "agent": agent, "attributes": attributes or {}}
        token = _given.set(facts)
        try:
            yield
        finally:
            _given.reset(token)

    def policy_overrides(self) -> dict[str, Any]:
        """Keyword arguments for ``FrameworkConfig`` by the published policy: the fields that it has.

        The last ones known while the server is away; ``{}``, and a warning in the log, when there never were
        any. Needs the synchronous client; with ``AsyncReviewClient`` use ``policy_overrides_async``.
        """
        return _policy.overrides(self.client)

    async def policy_overrides_async(self) -> dict[str, Any]:
        """The same, with either client and without blocking the event loop."""
        return await _policy.overrides_async(self.client)

    async def pull_skills(self, memory: Any) -> _skills.Pulled:
        """Bring the procedural memory to the state of the approved skills; see ``Pulled`` for the counts.

        ``memory`` is a ``SymfonicAgent``, its orchestrator, or its ``ProceduralLayer``. Approved skills are
        stored active, in symfonic's tier of authored skills, where its clean-up merges none of them away; a
        skill that is approved no longer is set to rejected. Pulling again changes nothing by itself. Raises
        what the client's ``skills()`` and the memory raise, and ``LookupError`` without procedural memory.
        """
        return await _skills.pull(self.client, memory, self.tenant)

    def close(self) -> None:
        """Record runs that never ended, as they are, and give events a moment (2 s) to arrive.

        Call it before the client is closed; the client stays open.
        """
        self.assembler.close()
        self.events.flush(_CLOSE_SECONDS)

    # -- Hooks of the runtime

    async def on_agent_start(self, event: Any) -> None:
        self._update("on_agent_start", event, lambda run: _start(run, event.query))

    async def on_agent_end(self, event: Any) -> None:
        self._end(event)

    async def on_node_start(self, event: Any) -> None:
        """Nothing to learn."""

    async def on_node_end(self, event: Any) -> None:
        """Nothing to learn."""

    async def on_node_error(self, event: Any) -> None:
        self._update("on_node_error", event, lambda run: run.note_error(event.error_type, event.error))

    async def on_llm_start(self, event: Any) -> None:
        if getattr(event, "node_name", "") in _ANSWERING:
            self._update("on_llm_start", event, lambda run: _llm_start(run, event))

    async def on_llm_end(self, event: Any) -> None:
        if getattr(event, "node_name", "") in _ANSWERING:
            self._update("on_llm_end", event, lambda run: _llm_end(run, event))

    async def on_token_composition(self, event: Any) -> None:
        """Nothing to learn."""

    async def on_before_tool_call(self, event: Any, state: Any) -> None:
        """The call as it is made, after any rewriting. None lets it go ahead."""
        self._update("on_before_tool_call", event, lambda run: _call_began(run, event, state))

    async def on_tool_result(self, event: Any) -> None:
        self._update("on_tool_result", event, lambda run: _call_ended(run, event))

    async def on_intent_classified(self, event: Any) -> None:
        """This event names no run; it comes before the start of its run, in the same context."""
        payload = getattr(event, "payload", None)
        _intent.set(payload if isinstance(payload, Mapping) else None)

    # symfonic looks at the annotation: any other spelling is sent an older kind of event.
    async def on_fabrication_detected(self, event: FabricationDetectedEvent) -> None:
        self._fabrication(event)

    async def on_response_render(self, content: str, state: Any, metadata: Any) -> str:
        """Sees the answer before other handlers rewrote it; returns ``content`` as it is."""
        self._update("on_response_render", metadata, lambda run: _rendered(run, content, state, metadata))
        return content

    # -- Inside

    def _update(self, hook: str, event: Any, work: Callable[[SymfonicRun], None]) -> None:
        try:
            run_id = getattr(event, "run_id", "")
            # Without an id it is the runtime's own business: memory is tidied up after a turn.
            if isinstance(run_id, str) and run_id.strip():
                self.assembler.with_run(run_id, work)
        except Exception as error:
            self.assembler.failed(hook, error)

    @guarded
    def _end(self, event: Any) -> None:
        run_id, final = event.run_id, event.final_response

        def note(run: SymfonicRun) -> None:
            run.final = run.final or text_of(final or "", MOST_TEXT)

        if run_id in self._held:
            self.assembler.with_run(run_id, note)
        elif run_id.strip():
            # A run that was interrupted to ask the user ends without an answer, and goes on under its id.
            self.assembler.end(run_id, note, keep_empty=True)

    @guarded
    def _release(self, run_id: str, response: Any, error: BaseException | None) -> None:
        self._held.discard(run_id)

        def note(run: SymfonicRun) -> None:
            if error is not None:
                run.note_error(type(error).__name__, text_of(error, MOST_TEXT))
            if response is not None:
                run.note_critic(getattr(response, "reflection_event", None))
                run.note_intent(getattr(response, "intent_verdict", None))
                run.note_activation(getattr(response, "activation_log", None))
                run.final = run.final or text_of(getattr(response, "final_response", None) or "", MOST_TEXT)
                session = getattr(response, "session_id", "")
                if isinstance(session, str) and session:
                    run.conversation_id = run.conversation_id or session

        self.assembler.end(run_id, note, keep_empty=error is None)

    @guarded
    def _fabrication(self, event: Any) -> None:
        told: dict[str, Any] = plain(vars(event), MOST_TEXT)
        run_id: str = external_id_of(told.get("run_id") or "")
        told["run_id"] = run_id

        def note(run: SymfonicRun) -> bool:
            run.event = run.event or told
            run.note_attributes(
                {"runtime_check": {name: told.get(name) for name in ("mode", "action_taken")}}
            )
            return True

        # One that comes after its turn, or names no run, goes by itself: the server knows where it belongs.
        noted = self.assembler.with_run(event.run_id, note) if run_id.strip() else None
        if noted is None:
            self.events.send(told)

    def _send_event(self, run: SymfonicRun) -> None:
        if run.event is not None:
            self.events.send(run.event)


def _start(run: SymfonicRun, query: str) -> None:
    run.begin(query)
    run.note_intent(_intent.get())
    _intent.set(None)
    given = _given.get() or {}
    run.conversation_id = run.conversation_id or given.get("conversation_id", "")
    run.agent = run.agent or given.get("agent", "")
    run.note_attributes(given.get("attributes", {}))


def _llm_start(run: SymfonicRun, event: Any) -> None:
    run.model = run.model or event.model
    run.system_prompt = run.system_prompt or text_of(getattr(event, "system_prompt", ""), MOST_TEXT)
    run.note_messages(event.messages)


def _llm_end(run: SymfonicRun, event: Any) -> None:
    run.model = run.model or event.model
    run.note_said(event.output, getattr(event, "iteration_index", 0))


def _call_began(run: SymfonicRun, event: Any, state: Any) -> None:
    run.note_state(state)
    run.call_began(event.call_id, event.tool_name, event.args)


def _call_ended(run: SymfonicRun, event: Any) -> None:
    failed = bool(getattr(event, "is_error", False))
    run.call_ended(
        event.call_id,
        name=event.tool_name,
        result=event.result,
        ok=not failed,
        error=text_of(event.result, MOST_TEXT) if failed else None,
    )


def _rendered(run: SymfonicRun, content: str, state: Any, metadata: Any) -> None:
    run.rendered = text_of(getattr(metadata, "original_content", None) or content, MOST_TEXT)
    run.note_state(state)
