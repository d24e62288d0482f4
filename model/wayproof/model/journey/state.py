"""The state of one journey, as the model sees it.

Everything is immutable and hashable; moments are whole milliseconds since 1970 UTC, amounts are
tokens. What a start fixes for good stands in :class:`Terms`, what changes in :class:`State`.
"""

from typing import NamedTuple

from wayproof.spec.journey.definitions import ResolvedDefinition
from wayproof.spec.journey.records import JourneyExecutionPolicy
from wayproof.spec.journey.requests import Request
from wayproof.spec.journey.vocabulary import (
    AccountingStatus,
    Counter,
    DiscrepancyKind,
    DispatchCause,
    DispatchState,
    Idempotency,
    LifecycleState,
    ReservationState,
    WorkflowRunPurpose,
    WorkflowRunState,
)


class Terms(NamedTuple):
    """What the start of a journey fixed: identity, scope, pinned definition and bounds."""

    journey_id: str
    creation_scope: tuple[str, str, str | None, str | None]
    idempotency_key: str
    definition: ResolvedDefinition
    definition_digest: str
    entry_position: int
    """Index of the entry stage in the pinned sequence."""
    choices: tuple[tuple[str, str], ...]
    """Transition and option of every choice that start made."""
    policy: JourneyExecutionPolicy
    created_at: int
    deadline: int
    max_total_tokens: int
    limits: tuple[int | None, ...]
    """One limit for each :class:`Counter`, in policy order; None is no limit."""
    cancellation_grace: int
    """Milliseconds."""
    settlement_grace: int
    """Milliseconds."""


class Run(NamedTuple):
    """One workflow run."""

    workflow_run_id: str
    parent_workflow_run_id: str | None
    workflow_id: str | None
    """None for the run of a transition that runs no workflow."""
    purpose: WorkflowRunPurpose
    stage_id: str
    sequence_position: int
    member_ordinal: int
    created_at: int
    started_at: int | None
    state: WorkflowRunState = WorkflowRunState.ACTIVE
    superseded: bool = False
    finished_at: int | None = None
    chosen_option: str | None = None
    advanced_by: str | None = None
    """The run whose end entered its stage; None for what began the journey, and for children."""


class Intent(NamedTuple):
    """One entry of the outbox; its ordinal is its place, from 1."""

    workflow_run_id: str
    cause: DispatchCause
    input_request_id: str | None
    created_at: int
    created_version: int
    state: DispatchState = DispatchState.RECORDED


class InputRequest(NamedTuple):
    """For what a run waits, or waited."""

    input_request_id: str
    workflow_run_id: str
    answered: bool = False
    option: str | None = None


class Transmission(NamedTuple):
    """The reservation of one physical transmission; its ordinal is its place, from 1."""

    transmission_id: str
    invocation_id: str
    workflow_run_id: str
    idempotency: Idempotency
    estimated_prompt_tokens: int
    reserved_tokens: int
    lease_milliseconds: int
    """As requested, to tell a replay from a conflict."""
    fencing_token: int
    lease_expires_at: int
    created_at: int
    created_version: int
    state: ReservationState = ReservationState.RESERVED
    actual_tokens: int | None = None


class Lease(NamedTuple):
    """The latest owner lease."""

    fencing_token: int
    expires_at: int


class Operation(NamedTuple):
    """One operation id, what it was asked with, and what was answered."""

    operation_id: str
    request: Request
    """With access and token blanked, so that equal inputs compare equal."""
    reply: object


class Cancellation(NamedTuple):
    """The cancellation that won."""

    reason: str
    requested_at: int
    deadline: int


class Discrepancy(NamedTuple):
    """One piece of usage evidence."""

    transmission_id: str
    kind: DiscrepancyKind
    reported_tokens: int | None
    recorded_at: int


class Totals(NamedTuple):
    """The running token totals of the journey's groups."""

    reconciled: int = 0
    conservative: int = 0
    reserved: int = 0

    @property
    def exposure(self) -> int:
        """All that counts against the ceiling."""
        return self.reconciled + self.conservative + self.reserved


class State(NamedTuple):
    """Everything about one journey that changes."""

    record_version: int = 1
    lifecycle: LifecycleState = LifecycleState.PENDING
    terminal_reason: str | None = None
    accounting: AccountingStatus = AccountingStatus.PENDING
    started_at: int | None = None
    finished_at: int | None = None
    accounting_deadline: int | None = None
    settled_at: int | None = None
    settled_discrepancies: int | None = None
    """How many discrepancies there were when accounting became final."""
    cancellation: Cancellation | None = None
    lease: Lease | None = None
    position: int | None = None
    """Index of the stage that was entered last; None while pending."""
    runs: tuple[Run, ...] = ()
    intents: tuple[Intent, ...] = ()
    inputs: tuple[InputRequest, ...] = ()
    transmissions: tuple[Transmission, ...] = ()
    operations: tuple[Operation, ...] = ()
    discrepancies: tuple[Discrepancy, ...] = ()
    counters: tuple[int, ...] = (0,) * len(Counter)
    totals: Totals = Totals()
    observed: int = 0
    estimated: int = 0
