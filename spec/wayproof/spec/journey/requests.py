"""What each operation of the journey contract is asked with.

One frozen dataclass for each operation of the catalogue (``operations.py``). Operations of
workers and adapters are idempotent by the identity that they carry: ``operation_id``,
``transmission_id`` or ``workflow_run_id``.
"""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from wayproof.spec.journey.constraints import (
    Bounds,
    Count,
    FencingToken,
    Identifier,
    Items,
    Milliseconds,
    Text,
    Tokens,
)
from wayproof.spec.journey.records import (
    STRICT,
    EntryReference,
    ExecutionAccess,
    JourneyExecutionPolicy,
    Positive,
    RouteChoice,
    SemanticReference,
)
from wayproof.spec.journey.vocabulary import (
    AmbiguityCause,
    AttemptCounter,
    CancellationReason,
    FailureReason,
    Idempotency,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class JourneyStartRequest:
    """Start one journey, idempotent by creation scope and ``idempotency_key``."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    schema_version: Literal["wayproof.journey.start_request.v1"]
    access: ExecutionAccess
    idempotency_key: Identifier
    workflow_sequence_id: Identifier
    entry: EntryReference
    policy: JourneyExecutionPolicy
    route_choices: Annotated[tuple[RouteChoice, ...], Items(32)] = ()
    initial_message: Annotated[str, Text(10_000, minimum=0)] | None = None
    semantic_references: Annotated[tuple[SemanticReference, ...], Items(32)] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JourneyRequest:
    """Name one journey and show one's access; a request by itself for the plain reads."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    access: ExecutionAccess
    journey_id: Identifier


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRequest(JourneyRequest):
    """Read the snapshot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListWorkflowRunsRequest(JourneyRequest):
    """Read all workflow runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminalOutcomeRequest(JourneyRequest):
    """Read the outcome; null before the journey is terminal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledResultRequest(JourneyRequest):
    """Read the settled result; null while accounting is pending."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListReservationsRequest(JourneyRequest):
    """Read reservations in the order in which they were granted."""

    after: Count = 0
    limit: Annotated[int, Bounds(1, 1000)] = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ListDiscrepanciesRequest(JourneyRequest):
    """Read discrepancies in the order in which they were recorded."""

    after: Count = 0
    limit: Annotated[int, Bounds(1, 1000)] = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelRequest(JourneyRequest):
    """Ask for a cooperative stop. The explanation is checked and bounded, never published."""

    reason_code: CancellationReason = CancellationReason.CALLER_REQUESTED
    explanation: Annotated[str, Text(500, minimum=0)] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimLeaseRequest(JourneyRequest):
    """Become the journey's owner for ``lease_milliseconds``; idempotent by operation id."""

    operation_id: Identifier
    worker_id: Identifier
    lease_milliseconds: Milliseconds


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerRequest(JourneyRequest):
    """A write of the journey's owner, fenced by the token of its lease."""

    fencing_token: FencingToken


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatRequest(OwnerRequest):
    """Extend the owner lease to ``lease_milliseconds`` from now."""

    lease_milliseconds: Milliseconds


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginJourneyRequest(OwnerRequest):
    """Enter the entry stage, and with it start the journey; idempotent by stage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListDispatchIntentsRequest(JourneyRequest):
    """Read the outbox in the order in which intents were recorded."""

    after: Count = 0
    limit: Annotated[int, Bounds(1, 1000)] = 100
    open_only: bool = False
    """Whether only those that are recorded or acknowledged are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcknowledgeDispatchRequest(OwnerRequest):
    """Acknowledge that the open intent of a run was received."""

    workflow_run_id: Identifier


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimDispatchedRunRequest(OwnerRequest):
    """Take over the run that an intent names; idempotent by run id."""

    workflow_run_id: Identifier


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestInputRequest(OwnerRequest):
    """Pause a run until a caller's input or review; idempotent by operation id."""

    operation_id: Identifier
    workflow_run_id: Identifier


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitInputRequest(JourneyRequest):
    """Answer the input request for which a run waits; idempotent by input request.

    A transition's run needs one of its options; a paused workflow run takes none.
    """

    workflow_run_id: Identifier
    input_request_id: Identifier
    option_id: Identifier | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StartWorkflowRunRequest(OwnerRequest):
    """Start a child of an existing run; idempotent by operation id."""

    operation_id: Identifier
    parent_workflow_run_id: Identifier
    workflow_id: Identifier
    purpose: Literal["decomposition", "repair", "refinement"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishWorkflowRunRequest(OwnerRequest):
    """Report that a run ended; while the journey is cancelling this is the stop report."""

    workflow_run_id: Identifier
    outcome: Literal["completed", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimAttemptRequest(OwnerRequest):
    """Claim one or both attempt counters before an attempt; idempotent by operation id."""

    operation_id: Identifier
    workflow_run_id: Identifier
    counters: Annotated[tuple[AttemptCounter, ...], Items(2, minimum=1, unique=True)]

    def __post_init__(self) -> None:
        if len(set(self.counters)) != len(self.counters):
            raise ValueError("a counter is named twice")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompleteJourneyRequest(OwnerRequest):
    """Complete the journey."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailJourneyRequest(OwnerRequest):
    """Fail the journey for a stated reason."""

    reason_code: FailureReason


@dataclass(frozen=True, slots=True, kw_only=True)
class ReserveRequest(OwnerRequest):
    """Reserve the conservative amount of one physical transmission, before it may leave.

    The reservation boundary makes ``invocation_id`` and ``transmission_id``; they are unique
    within their journey. An absent estimate or maximum output says that no conservative amount
    could be formed.
    """

    workflow_run_id: Identifier
    invocation_id: Identifier
    transmission_id: Identifier
    idempotency: Idempotency
    estimated_prompt_tokens: Tokens | None
    max_output_tokens: Positive | None
    lease_milliseconds: Milliseconds


@dataclass(frozen=True, slots=True, kw_only=True)
class TransmitRequest(OwnerRequest):
    """Make the transmission durable; only its granted answer lets the request leave."""

    transmission_id: Identifier


@dataclass(frozen=True, slots=True, kw_only=True)
class RenewReservationRequest(OwnerRequest):
    """Extend a reservation's lease to ``lease_milliseconds`` from now."""

    transmission_id: Identifier
    lease_milliseconds: Milliseconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportUnsentRequest(OwnerRequest):
    """Prove that nothing left the adapter. The token must be the reservation's own."""

    transmission_id: Identifier


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportResponseRequest(JourneyRequest):
    """Report an authoritative terminal response of the provider, error responses included.

    ``usage`` is whatever the provider said, any JSON value: an integer from 0 to 2**53-1 is
    well formed, everything else is malformed usage, which is an outcome and no bad request.
    """

    transmission_id: Identifier
    usage: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportAmbiguityRequest(JourneyRequest):
    """Report that nobody can know whether the provider executed the request."""

    transmission_id: Identifier
    cause: AmbiguityCause


Request = (
    JourneyStartRequest
    | SnapshotRequest
    | ListWorkflowRunsRequest
    | TerminalOutcomeRequest
    | SettledResultRequest
    | ListReservationsRequest
    | ListDiscrepanciesRequest
    | CancelRequest
    | ClaimLeaseRequest
    | HeartbeatRequest
    | BeginJourneyRequest
    | ListDispatchIntentsRequest
    | AcknowledgeDispatchRequest
    | ClaimDispatchedRunRequest
    | RequestInputRequest
    | SubmitInputRequest
    | StartWorkflowRunRequest
    | FinishWorkflowRunRequest
    | ClaimAttemptRequest
    | CompleteJourneyRequest
    | FailJourneyRequest
    | ReserveRequest
    | TransmitRequest
    | RenewReservationRequest
    | ReportUnsentRequest
    | ReportResponseRequest
    | ReportAmbiguityRequest
)
"""Any request of the catalogue."""
