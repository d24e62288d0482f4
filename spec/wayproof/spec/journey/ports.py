"""The two ports of the journey contract, in process.

``JourneyExecutionPort`` owns one complete journey; below it ``OrchestrationPort`` executes one
workflow and knows of the journey only the typed scope that its requests carry. Standard library
only. Seed: "Decision", "Illustrative Public Contract", "Compatibility And Rollout".

A port raises::

    Refusal                     refusals.py: the coded refusals of the catalogue's operations
    PortError
    ├── WaitTimeoutError        a wait ran out; the journey goes on
    └── JourneyScopeError       a bounded request without its scope, or with another run's
"""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Protocol

from wayproof.spec.journey.constraints import Identifier, Text
from wayproof.spec.journey.records import (
    STRICT,
    ExecutionAccess,
    JourneyExecutionOutcome,
    JourneyScope,
    JourneySettledResult,
    JourneySnapshot,
    WorkflowRunSnapshot,
)
from wayproof.spec.journey.requests import JourneyStartRequest


class PortError(Exception):
    """What a port raises besides the coded refusals of the contract."""


class WaitTimeoutError(PortError):
    """The wait ran out before the journey got there; it stopped the waiter alone (ruling 30)."""


class JourneyScopeError(PortError):
    """A bounded request arrived without its scope, or with the scope of another run.

    Raised before anything is loaded, dispatched or sent: a lost scope fails closed at the
    boundary that lost it.
    """


class JourneyExecutionHandle(Protocol):
    """One journey, with the access of whoever started it.

    It wraps the operations of :class:`JourneyExecutionPort` and is authorized like them. Losing
    it, or the process that holds it, cancels nothing.
    """

    @property
    def journey_id(self) -> str:
        """The identity that the server gave the journey; enough, with the access, to go on."""

    async def snapshot(self) -> JourneySnapshot:
        """See :meth:`JourneyExecutionPort.snapshot`."""

    async def list_workflow_runs(self) -> tuple[WorkflowRunSnapshot, ...]:
        """See :meth:`JourneyExecutionPort.list_workflow_runs`."""

    async def wait_terminal(self, timeout_seconds: float | None = None) -> JourneyExecutionOutcome:
        """See :meth:`JourneyExecutionPort.wait_terminal`."""

    async def terminal_outcome(self) -> JourneyExecutionOutcome | None:
        """See :meth:`JourneyExecutionPort.terminal_outcome`."""

    async def wait_settled(self, timeout_seconds: float | None = None) -> JourneySettledResult:
        """See :meth:`JourneyExecutionPort.wait_settled`."""

    async def settled_result(self) -> JourneySettledResult | None:
        """See :meth:`JourneyExecutionPort.settled_result`."""

    async def cancel(self, reason_code: str = "caller_requested") -> JourneySnapshot:
        """See :meth:`JourneyExecutionPort.cancel`."""


class JourneyExecutionPort(Protocol):
    """One complete declared journey, from durable start to outcome and settled accounting.

    Every method is authorized against the immutable creation scope (clauses ``access``) and
    raises :class:`~wayproof.spec.journey.refusals.Refusal` with the codes that the catalogue
    lists for the operation of its name: ``journey_not_found`` for an unknown and for a foreign
    journey alike. The two waits raise what their reads raise.
    """

    async def start(self, request: JourneyStartRequest) -> JourneyExecutionHandle:
        """Start a journey, or find the one that this request started (clauses ``start`` and
        ``idempotency``).

        Answers only once the journey is durably pending.
        """

    async def snapshot(self, journey_id: str, access: ExecutionAccess) -> JourneySnapshot:
        """The journey at one committed record version (clauses ``observe``)."""

    async def list_workflow_runs(
        self, journey_id: str, access: ExecutionAccess
    ) -> tuple[WorkflowRunSnapshot, ...]:
        """All workflow runs, by sequence position, member ordinal, start time, then id
        (clauses ``observe``).
        """

    async def wait_terminal(
        self, journey_id: str, access: ExecutionAccess, timeout_seconds: float | None = None
    ) -> JourneyExecutionOutcome:
        """Wait until execution has ended, however it ended, and answer the outcome (clauses
        ``outcome``).

        ``timeout_seconds`` bounds the wait alone: 0 looks once, None waits without limit.
        Accounting may still be pending then.

        Raises:
            WaitTimeoutError: if the wait ran out; the journey goes on.
            Refusal: also ``invalid_request`` for a timeout that is negative, infinite or NaN.
        """

    async def terminal_outcome(
        self, journey_id: str, access: ExecutionAccess
    ) -> JourneyExecutionOutcome | None:
        """The outcome, or None while the journey has not ended: a completed workflow run is no
        outcome (clauses ``outcome``).
        """

    async def wait_settled(
        self, journey_id: str, access: ExecutionAccess, timeout_seconds: float | None = None
    ) -> JourneySettledResult:
        """Wait until accounting is final, settled or failed, and answer the result (clauses
        ``settle``).

        The timeout and what is raised are those of :meth:`wait_terminal`.
        """

    async def settled_result(
        self, journey_id: str, access: ExecutionAccess
    ) -> JourneySettledResult | None:
        """The settled result, or None while accounting is pending (clauses ``settle``)."""

    async def cancel(
        self, journey_id: str, access: ExecutionAccess, reason_code: str = "caller_requested"
    ) -> JourneySnapshot:
        """Ask for a cooperative stop; cancelling twice is cancelling once (clauses ``cancel``).

        Raises:
            Refusal: also ``unsupported_cancellation_reason``, before any state changes.
        """


ExecutionMode = Literal["bounded", "legacy_unbounded"]
"""Chosen once for each request, before work starts, by whether it carries a scope."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _WorkflowMessage:
    """What every request and result at the workflow port names."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    workflow_run_id: Identifier
    chat_id: Identifier
    """The workflow's conversation; never a journey's or a run's identity."""
    journey_scope: JourneyScope | None
    """Explicit and protected. Absent only in the temporary mode ``legacy_unbounded``, which has
    no journey handle and no journey-wide guarantee."""

    def __post_init__(self) -> None:
        scope = self.journey_scope
        if scope is not None and scope.workflow_run_id != self.workflow_run_id:
            raise ValueError("the scope is that of another run")

    @property
    def execution_mode(self) -> ExecutionMode:
        """Observable, so that no new entrypoint adopts the unbounded mode unseen."""
        return "legacy_unbounded" if self.journey_scope is None else "bounded"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest(_WorkflowMessage):
    """Execute one workflow from its beginning."""

    schema_version: Literal["wayproof.journey.run_request.v1"]
    workflow_id: Identifier
    initial_message: Annotated[str, Text(10_000, minimum=0)] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeRequest(_WorkflowMessage):
    """Go on with a workflow that waits for input; a replay answers the recorded result."""

    schema_version: Literal["wayproof.journey.resume_request.v1"]
    input_request_id: Identifier
    """The pending input or checkpoint; stable across restarts."""
    option_id: Identifier | None = None
    """The chosen option, where the input is a route choice."""
    message: Annotated[str, Text(10_000, minimum=0)] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult(_WorkflowMessage):
    """How a workflow execution came to rest. It is a candidate: the journey decides."""

    schema_version: Literal["wayproof.journey.run_result.v1"]
    outcome: Literal["completed", "failed", "stopped", "awaiting_input"]
    input_request_id: Identifier | None = None
    """What it waits for, exactly if it is awaiting input."""

    def __post_init__(self) -> None:
        _WorkflowMessage.__post_init__(self)
        if (self.outcome == "awaiting_input") != (self.input_request_id is not None):
            raise ValueError("input_request_id goes with awaiting_input, and only with it")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowCancelRequest(_WorkflowMessage):
    """Signal one workflow execution to stop; no bare run id will do."""

    schema_version: Literal["wayproof.journey.workflow_cancel_request.v1"]


class OrchestrationPort(Protocol):
    """One workflow execution (clauses ``propagate`` and ``compat``).

    It does not start, list or wait for journeys, keeps no artifacts and cancels nothing across
    workflows. A bounded request is checked before anything is loaded or dispatched: its journey
    must go on, its deadline lie ahead, and its scope be complete. Every timeout below this port
    is cut to the journey's remaining time.
    """

    async def run(self, request: RunRequest) -> RunResult:
        """Execute a workflow until it ends or waits for input.

        Raises:
            JourneyScopeError: if a boundary below got a bounded request without its scope.
            Refusal: ``journey_terminal``, ``journey_cancelling`` or ``deadline_expired`` for a
                journey that accepts no work any more.
        """

    async def resume(self, request: ResumeRequest) -> RunResult:
        """Go on with a workflow that waits for input; see :meth:`run` for what it raises.

        A person who returns at or after the deadline gets the journey's timed-out outcome and
        resumes nothing.
        """

    async def cancel(self, request: WorkflowCancelRequest) -> None:
        """Signal the execution to stop, and return without waiting for it; idempotent.

        Raises:
            JourneyScopeError: if the scope is not that of the run.
        """
