"""The public records of the journey contract, as standard-library dataclasses.

What a caller may see and must send. Every record carries its schema version; unknown fields are
refused; all bounds stand in the annotations. Moments are UTC with whole milliseconds, amounts
are tokens. Seed: "Identity", "Illustrative Public Contract", "Observation Contract".
"""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from wayproof.spec.journey.constraints import (
    Bounds,
    Count,
    FencingToken,
    GraceSeconds,
    Identifier,
    Items,
    Moment,
    Reference,
    Tokens,
)
from wayproof.spec.journey.vocabulary import (
    AccountingStatus,
    ArtifactDisposition,
    AttemptCounter,
    DiscrepancyKind,
    DispatchCause,
    DispatchState,
    Idempotency,
    LifecycleState,
    ReservationState,
    WorkflowRunPurpose,
    WorkflowRunState,
)

STRICT: dict[str, Any] = {"extra": "forbid", "strict": True}
"""pydantic's configuration of every record: no unknown field, no silent conversion."""

Positive = Annotated[int, Bounds(1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialArtifactPolicy:
    """What becomes of unpromoted artifacts when a journey does not complete."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    on_non_success: Literal["delete", "retain_until"]
    retain_until_utc: Moment | None = None
    """Required for ``retain_until``, refused for ``delete`` (ruling 31)."""

    def __post_init__(self) -> None:
        if (self.on_non_success == "retain_until") != (self.retain_until_utc is not None):
            raise ValueError("retain_until_utc goes with retain_until, and only with it")


@dataclass(frozen=True, slots=True, kw_only=True)
class JourneyExecutionPolicy:
    """The immutable bounds of one journey. An absent limit means that nothing is limited."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    schema_version: Literal["mozaiks.journey_execution_policy.v1"]
    deadline_utc: Moment
    max_total_tokens: Positive
    cancellation_mode: Literal["cooperative"]
    cancellation_grace_seconds: GraceSeconds
    accounting_settlement_grace_seconds: GraceSeconds
    partial_artifact_policy: PartialArtifactPolicy
    max_workflow_run_starts: Positive | None = None
    max_task_attempt_starts: Positive | None = None
    max_provider_retry_attempts: Count | None = None
    max_structured_output_correction_attempts: Count | None = None
    max_workflow_repair_starts: Count | None = None
    max_app_refinement_starts: Count | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionAccess:
    """Who asks: presented with every operation, and compared with the creation scope."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    schema_version: Literal["wayproof.journey.execution_access.v1"]
    tenant_id: Identifier
    owner_id: Identifier
    workspace_id: Identifier | None = None
    build_scope_id: Identifier | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionAccessScope:
    """The immutable creation scope, resolved from the access of the start.

    An access is authorized exactly if all four fields are equal; an absent field equals only an
    absent one (ruling 40).
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    schema_version: Literal["wayproof.journey.execution_access_scope.v1"]
    tenant_id: Identifier
    owner_id: Identifier
    workspace_id: Identifier | None
    build_scope_id: Identifier | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JourneyScope:
    """The protected scope that travels with every request inside a bounded journey."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    schema_version: Literal["wayproof.journey.journey_scope.v1"]
    journey_id: Identifier
    workflow_sequence_id: Identifier
    definition_digest: Reference
    workflow_run_id: Identifier
    parent_workflow_run_id: Identifier | None
    creation_scope: ExecutionAccessScope
    policy_schema_version: Reference
    stage_id: Identifier
    monotonic_deadline_milliseconds: Count | None = None
    """Process-local, derived from the remaining UTC interval, never persisted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SemanticReference:
    """An opaque typed reference of the semantic compiler: carried, hashed, never read."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    role: Literal[
        "application_manifest",
        "semantic_graph",
        "taxonomy_namespace",
        "compilation_plan",
        "build_context_binding",
        "refinement_patch",
        "artifact_revision",
        "child_contract",
    ]
    reference: Reference


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryReference:
    """Where the sequence is entered: a public entrypoint, or a stage that it declares."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    kind: Literal["entrypoint", "stage"]
    id: Identifier


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteChoice:
    """One option chosen for one transition that the pinned definition declares."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    transition_id: Identifier
    option_id: Identifier


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterReading:
    """One journey-wide counter: how many were claimed, and the limit if there is one."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    claimed: Count
    limit: Count | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterReadings:
    """All six counters of a journey."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    workflow_run_starts: CounterReading
    task_attempt_starts: CounterReading
    provider_retry_attempts: CounterReading
    structured_output_correction_attempts: CounterReading
    workflow_repair_starts: CounterReading
    app_refinement_starts: CounterReading


@dataclass(frozen=True, slots=True, kw_only=True)
class CancellationReading:
    """The one cancellation that won; later requests change nothing of it."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    reason_code: Identifier
    cancellation_requested_at: Moment
    cancellation_deadline_utc: Moment
    """The request's time plus the policy's grace. The effective cutoff is the earlier of it and
    the journey's deadline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenTotals:
    """The journey's token accounting. Every total counts an authoritative group once."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    estimated_prompt_tokens: Tokens
    """Sum of the prompt estimates of all granted reservations; never falls, and stops at 2**53-1
    (ruling 41)."""
    reserved_tokens: Tokens
    """Outstanding worst case: reservations that are ``reserved`` or ``transmitted``."""
    conservatively_committed_tokens: Tokens
    observed_actual_tokens: Tokens
    """Sum of the well-formed usage that reconciled a transmission, as reported, each
    transmission's own first report once (ruling 42)."""
    reconciled_tokens: Tokens
    committed_token_exposure: Tokens
    """``reconciled_tokens + conservatively_committed_tokens``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JourneySnapshot:
    """What a caller sees of a journey, self-consistent at one committed record version."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    schema_version: Literal["wayproof.journey.snapshot.v1"]
    journey_id: Identifier
    workflow_sequence_id: Identifier
    definition_digest: Reference
    """The pinned version of the sequence: the digest of its resolved definition."""
    lifecycle_state: LifecycleState
    terminal_reason: Identifier | None
    """A :class:`TerminalReason`; absent while the journey is not terminal."""
    accounting_status: AccountingStatus
    current_stage: Identifier | None
    """The stage that was entered last; absent while pending."""
    created_at: Moment
    started_at: Moment | None
    """When the journey became running."""
    finished_at: Moment | None
    """When the terminal transition was committed."""
    deadline_utc: Moment
    max_total_tokens: Positive
    tokens: TokenTotals
    counters: CounterReadings
    cancellation: CancellationReading | None
    accounting_deadline_utc: Moment | None
    """``finished_at`` plus the policy's settlement grace; absent while not terminal."""
    settled_at: Moment | None
    """When accounting became final."""
    discrepancy_count: Count
    record_version: Positive


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowRunSnapshot:
    """One workflow run of a journey."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    schema_version: Literal["wayproof.journey.workflow_run_snapshot.v1"]
    journey_id: Identifier
    workflow_run_id: Identifier
    parent_workflow_run_id: Identifier | None
    workflow_id: Identifier | None
    """Absent for the run of a transition that runs no workflow."""
    purpose: WorkflowRunPurpose
    stage_id: Identifier
    sequence_position: Count
    """Index of the stage in the pinned sequence, from 0; a child has its parent's."""
    member_ordinal: Count
    """Index among the parallel members of the stage, from 0; a child has its parent's."""
    state: WorkflowRunState
    superseded: bool
    """Whether a repair of this failed run was started, so that the repair answers for it."""
    pending_input_request_id: Identifier | None
    """What a waiting run waits for; a choice, an input or a review."""
    chosen_option_id: Identifier | None
    """The option with which a transition was passed."""
    created_at: Moment
    """When its id was made and its stage, or its parent's demand, claimed for it."""
    started_at: Moment | None
    """When a worker took it over; absent while it is queued for the first time."""
    finished_at: Moment | None
    """When it completed, failed, stopped or was quarantined."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowRunOutcome:
    """How one workflow run ended, inside an outcome."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    workflow_run_id: Identifier
    workflow_id: Identifier | None
    state: WorkflowRunState


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactReading:
    """What becomes of the journey's artifacts."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    disposition: ArtifactDisposition
    retain_until_utc: Moment | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeSummary:
    """The immutable end of a journey in short: the detail of a refusal that found it ended."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    journey_id: Identifier
    execution_state: LifecycleState
    terminal_reason: Identifier
    finished_at: Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class JourneyExecutionOutcome:
    """The one execution outcome, created by the terminal transition that won; immutable."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    schema_version: Literal["wayproof.journey.execution_outcome.v1"]
    journey_id: Identifier
    execution_state: LifecycleState
    terminal_reason: Identifier
    finished_at: Moment
    workflow_runs: tuple[WorkflowRunOutcome, ...]
    """In the order of ``list_workflow_runs``."""
    artifacts: ArtifactReading


@dataclass(frozen=True, slots=True, kw_only=True)
class JourneySettledResult:
    """The outcome with final accounting, published once accounting is final; immutable."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    schema_version: Literal["wayproof.journey.settled_result.v1"]
    outcome: JourneyExecutionOutcome
    accounting_status: AccountingStatus
    tokens: TokenTotals
    discrepancy_count: Count
    """As it stood when accounting became final; later evidence is not counted here."""
    settled_at: Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationRecord:
    """The reservation of one physical transmission. It is never deleted."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    schema_version: Literal["wayproof.journey.reservation.v1"]
    journey_id: Identifier
    workflow_run_id: Identifier
    invocation_id: Identifier
    transmission_id: Identifier
    ordinal: Positive
    """1 for the first reservation of the journey, then 2, and so on."""
    idempotency: Idempotency
    state: ReservationState
    estimated_prompt_tokens: Tokens
    reserved_tokens: Positive
    """The conservative amount: the prompt estimate plus the maximum output."""
    actual_tokens: Tokens | None
    """Usage that reconciled it; for a sibling settled by its group, the group's usage."""
    fencing_token: FencingToken
    """The owner lease under which it was reserved: its owner identity."""
    lease_expires_at: Moment
    created_at: Moment
    created_version: Positive
    """The record version that created it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscrepancyRecord:
    """A usage report kept as evidence: bounded and sanitized, changes nothing by itself."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    schema_version: Literal["wayproof.journey.discrepancy.v1"]
    journey_id: Identifier
    ordinal: Positive
    """1 for the first discrepancy of the journey, then 2, and so on."""
    transmission_id: Identifier
    kind: DiscrepancyKind
    reported_tokens: Tokens | None
    """Absent for malformed usage."""
    recorded_at: Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class JourneyStarted:
    """Reply of ``start``: the same for the first call and for every replay."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    journey_id: Identifier
    definition_digest: Reference


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseGranted:
    """Reply of ``claim_lease``: the recorded grant; a replay may show one that has expired."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    fencing_token: FencingToken
    lease_expires_at: Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseExtended:
    """Reply of ``heartbeat`` and ``renew_reservation``: until when the lease holds now."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    lease_expires_at: Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowRunsStarted:
    """Reply of ``begin_journey`` (every run that it created, in order) and
    ``start_workflow_run`` (one run)."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    workflow_run_ids: tuple[Identifier, ...]
    input_request_id: Identifier | None
    """For what the last of them waits, if it does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatchIntentRecord:
    """One entry of the journey's outbox: a run that a worker is to take over. Never deleted."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    schema_version: Literal["wayproof.journey.dispatch_intent.v1"]
    journey_id: Identifier
    ordinal: Positive
    """1 for the first intent of the journey, then 2, and so on."""
    workflow_run_id: Identifier
    cause: DispatchCause
    input_request_id: Identifier | None
    """The answered request that a resume follows."""
    state: DispatchState
    created_at: Moment
    created_version: Positive
    """The record version that created it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatchIntentListing:
    """Reply of ``list_dispatch_intents``: by ordinal, those after ``after``, at most ``limit``."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    dispatch_intents: Annotated[tuple[DispatchIntentRecord, ...], Items(1000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatchReading:
    """Reply of ``acknowledge_dispatch``: how the run's latest intent stands now."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    workflow_run_id: Identifier
    ordinal: Positive
    state: DispatchState


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatchClaimed:
    """Reply of ``claim_dispatched_run``: how the run stands now."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    workflow_run_id: Identifier
    state: WorkflowRunState
    newly_claimed: bool
    """Whether this very request took it over: only then may its work begin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputRequested:
    """Reply of ``request_input``: for what the run waits."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    workflow_run_id: Identifier
    input_request_id: Identifier


@dataclass(frozen=True, slots=True, kw_only=True)
class InputAccepted:
    """Reply of ``submit_input``: the recorded outcome, the same for every replay."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    workflow_run_id: Identifier
    input_request_id: Identifier
    option_id: Identifier | None
    next_workflow_run_ids: tuple[Identifier, ...]
    """Every run that entering the next stage created, in order; none for a resume."""
    next_input_request_id: Identifier | None
    """For what the last of them waits, if it does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptClaimed:
    """Reply of ``claim_attempt``: the recorded claim."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    operation_id: Identifier
    counters: tuple[AttemptCounter, ...]
    """As requested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationGranted:
    """Reply of ``reserve``: the recorded grant, the same for every replay."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    transmission_id: Identifier
    reserved_tokens: Positive


@dataclass(frozen=True, slots=True, kw_only=True)
class TransmissionReading:
    """Reply of ``transmit`` and of every report: how the transmission stands now."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    transmission_id: Identifier
    state: ReservationState
    actual_tokens: Tokens | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowRunReading:
    """Reply of ``finish_workflow_run``: how the run stands now, and the child stage that its end
    claimed, the same for every replay."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    workflow_run_id: Identifier
    state: WorkflowRunState
    next_workflow_run_ids: tuple[Identifier, ...]
    """Every run that entering the next stage created, in order; none while its stage goes on."""
    next_input_request_id: Identifier | None
    """For what the last of them waits, if it does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowRunListing:
    """Reply of ``list_workflow_runs``: ordered by sequence position, member ordinal, creation
    time, then id."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    workflow_runs: tuple[WorkflowRunSnapshot, ...]
    record_version: Positive


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationListing:
    """Reply of ``list_reservations``: by ordinal, those after ``after``, at most ``limit``."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    reservations: Annotated[tuple[ReservationRecord, ...], Items(1000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscrepancyListing:
    """Reply of ``list_discrepancies``: by ordinal, those after ``after``, at most ``limit``."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    discrepancies: Annotated[tuple[DiscrepancyRecord, ...], Items(1000)]
