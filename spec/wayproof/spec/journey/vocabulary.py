"""The words of the journey contract: states, legal transitions, reasons, capabilities, counters.

Everything here is a public, versioned compatibility surface (seed: "Lifecycle And Race
Precedence"). Standard library only.
"""

from enum import StrEnum, unique
from typing import Final

MAXIMUM_INTEGER: Final = 2**53 - 1
"""Largest integer in any record: the largest that every JSON reader keeps exact (ruling 21)."""


@unique
class LifecycleState(StrEnum):
    """Where one journey stands in its execution."""

    PENDING = "pending"
    RUNNING = "running"
    CANCELLING = "cancelling"
    COMPLETED = "completed"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    BUDGET_EXCEEDED = "budget_exceeded"
    CANCELLED = "cancelled"


TERMINAL_STATES: Final = frozenset(
    {
        LifecycleState.COMPLETED,
        LifecycleState.FAILED,
        LifecycleState.TIMED_OUT,
        LifecycleState.BUDGET_EXCEEDED,
        LifecycleState.CANCELLED,
    }
)
"""The states that nothing leaves."""

LIFECYCLE_TRANSITIONS: Final[dict[LifecycleState, frozenset[LifecycleState]]] = {
    LifecycleState.PENDING: frozenset(
        {
            LifecycleState.RUNNING,
            LifecycleState.CANCELLING,
            LifecycleState.FAILED,
            LifecycleState.TIMED_OUT,
            LifecycleState.BUDGET_EXCEEDED,
        }
    ),
    LifecycleState.RUNNING: frozenset(
        {
            LifecycleState.CANCELLING,
            LifecycleState.COMPLETED,
            LifecycleState.FAILED,
            LifecycleState.TIMED_OUT,
            LifecycleState.BUDGET_EXCEEDED,
        }
    ),
    LifecycleState.CANCELLING: frozenset({LifecycleState.CANCELLED}),
    **{state: frozenset() for state in TERMINAL_STATES},
}
"""Every legal lifecycle transition; no other one may ever be observed."""


@unique
class AccountingStatus(StrEnum):
    """Whether the journey's token accounting is final."""

    PENDING = "pending"
    SETTLED = "settled"
    SETTLEMENT_FAILED = "settlement_failed"


ACCOUNTING_TRANSITIONS: Final[dict[AccountingStatus, frozenset[AccountingStatus]]] = {
    AccountingStatus.PENDING: frozenset(
        {AccountingStatus.SETTLED, AccountingStatus.SETTLEMENT_FAILED}
    ),
    AccountingStatus.SETTLED: frozenset(),
    AccountingStatus.SETTLEMENT_FAILED: frozenset(),
}
"""Every legal accounting transition."""


@unique
class ReservationState(StrEnum):
    """Where the reservation of one physical transmission stands."""

    RESERVED = "reserved"
    TRANSMITTED = "transmitted"
    RECONCILED = "reconciled"
    RELEASED_UNTRANSMITTED = "released_untransmitted"
    EXPIRED_CONSERVATIVELY = "expired_conservatively"


RESERVATION_TRANSITIONS: Final[dict[ReservationState, frozenset[ReservationState]]] = {
    ReservationState.RESERVED: frozenset(
        {ReservationState.TRANSMITTED, ReservationState.RELEASED_UNTRANSMITTED}
    ),
    ReservationState.TRANSMITTED: frozenset(
        {ReservationState.RECONCILED, ReservationState.EXPIRED_CONSERVATIVELY}
    ),
    ReservationState.EXPIRED_CONSERVATIVELY: frozenset({ReservationState.RECONCILED}),
    ReservationState.RECONCILED: frozenset(),
    ReservationState.RELEASED_UNTRANSMITTED: frozenset(),
}
"""Every legal reservation transition; the one out of ``expired_conservatively`` only while
accounting is pending."""


@unique
class WorkflowRunState(StrEnum):
    """Where one workflow run stands; all but ``queued``, ``active`` and ``waiting`` are final."""

    QUEUED = "queued"
    """Its dispatch intent is recorded, and nobody has taken the run over yet."""
    ACTIVE = "active"
    WAITING = "waiting"
    """It waits for a choice, an input or a review; nothing of it executes meanwhile."""
    COMPLETED = "completed"
    FAILED = "failed"
    STOPPED = "stopped"
    """Its worker reported that it ended while the journey was cancelling, or it was queued or
    waiting when the cancellation came; output quarantined."""
    QUARANTINED = "quarantined"
    """Unfinished when the journey became terminal; whatever it yields is discarded."""


@unique
class WorkflowRunPurpose(StrEnum):
    """Why a workflow run was started."""

    ENTRY = "entry"
    ADVANCEMENT = "advancement"
    """A later stage of the pinned sequence was entered."""
    DECOMPOSITION = "decomposition"
    REPAIR = "repair"
    REFINEMENT = "refinement"


UNFINISHED_RUN_STATES: Final = frozenset(
    {WorkflowRunState.QUEUED, WorkflowRunState.ACTIVE, WorkflowRunState.WAITING}
)
"""The states of a run that has not ended."""


@unique
class TransitionType(StrEnum):
    """What passes a transition of a sequence."""

    USER_CHOICE_CONTEXT = "user_choice_context"
    """A caller chooses one of its options."""
    CHAT_SESSION = "chat_session"
    """The workflow that it routes to runs and completes, a review for instance."""
    WORKFLOW_COMPLETE = "workflow_complete"
    """It passes by itself as soon as the stage before it is complete."""


@unique
class DispatchCause(StrEnum):
    """Why a run is to be dispatched."""

    START = "start"
    """Its stage was entered."""
    RESUME = "resume"
    """The input that it waited for was accepted."""


@unique
class DispatchState(StrEnum):
    """Where one dispatch intent of the outbox stands; ``claimed`` and ``suppressed`` are final."""

    RECORDED = "recorded"
    ACKNOWLEDGED = "acknowledged"
    """A dispatcher received it. The intent stays open until its run is taken over."""
    CLAIMED = "claimed"
    """A worker durably took over the run that it names."""
    SUPPRESSED = "suppressed"
    """Its journey stopped first; it is never delivered."""


DISPATCH_TRANSITIONS: Final[dict[DispatchState, frozenset[DispatchState]]] = {
    DispatchState.RECORDED: frozenset(
        {DispatchState.ACKNOWLEDGED, DispatchState.CLAIMED, DispatchState.SUPPRESSED}
    ),
    DispatchState.ACKNOWLEDGED: frozenset({DispatchState.CLAIMED, DispatchState.SUPPRESSED}),
    DispatchState.CLAIMED: frozenset(),
    DispatchState.SUPPRESSED: frozenset(),
}
"""Every legal transition of a dispatch intent."""


@unique
class TerminalReason(StrEnum):
    """Why a journey ended; for a cancelled one the reason is its :class:`CancellationReason`."""

    JOURNEY_COMPLETED = "journey_completed"
    DEADLINE_EXPIRED = "deadline_expired"
    TOKEN_BUDGET_EXHAUSTED = "token_budget_exhausted"
    TOKEN_RESERVATION_UNAVAILABLE = "token_reservation_unavailable"
    PROVIDER_TRANSMISSION_AMBIGUOUS = "provider_transmission_ambiguous"
    WORKFLOW_FAILED = "workflow_failed"
    LIFECYCLE_PERSISTENCE_UNAVAILABLE = "lifecycle_persistence_unavailable"
    ORPHAN_RECOVERY_UNSAFE = "orphan_recovery_unsafe"
    WORKFLOW_RUN_START_LIMIT_EXHAUSTED = "workflow_run_start_limit_exhausted"
    TASK_ATTEMPT_START_LIMIT_EXHAUSTED = "task_attempt_start_limit_exhausted"
    PROVIDER_RETRY_LIMIT_EXHAUSTED = "provider_retry_limit_exhausted"
    STRUCTURED_OUTPUT_CORRECTION_LIMIT_EXHAUSTED = "structured_output_correction_limit_exhausted"
    WORKFLOW_REPAIR_LIMIT_EXHAUSTED = "workflow_repair_limit_exhausted"
    APP_REFINEMENT_LIMIT_EXHAUSTED = "app_refinement_limit_exhausted"
    CALLER_REQUESTED = "caller_requested"
    OPERATOR_REQUESTED = "operator_requested"
    EVALUATION_ABORTED = "evaluation_aborted"


@unique
class CancellationReason(StrEnum):
    """The registered reasons of a cancellation, version 1; each is also a terminal reason."""

    CALLER_REQUESTED = "caller_requested"
    OPERATOR_REQUESTED = "operator_requested"
    EVALUATION_ABORTED = "evaluation_aborted"


@unique
class FailureReason(StrEnum):
    """The terminal reasons that a worker may give when it fails a journey (``fail_journey``)."""

    WORKFLOW_FAILED = "workflow_failed"
    TOKEN_RESERVATION_UNAVAILABLE = "token_reservation_unavailable"
    LIFECYCLE_PERSISTENCE_UNAVAILABLE = "lifecycle_persistence_unavailable"


@unique
class Counter(StrEnum):
    """The journey-wide counters, in policy order: the order in which limits are checked."""

    WORKFLOW_RUN_STARTS = "workflow_run_starts"
    TASK_ATTEMPT_STARTS = "task_attempt_starts"
    PROVIDER_RETRY_ATTEMPTS = "provider_retry_attempts"
    STRUCTURED_OUTPUT_CORRECTION_ATTEMPTS = "structured_output_correction_attempts"
    WORKFLOW_REPAIR_STARTS = "workflow_repair_starts"
    APP_REFINEMENT_STARTS = "app_refinement_starts"


COUNTER_EXHAUSTION_REASONS: Final[dict[Counter, TerminalReason]] = {
    Counter.WORKFLOW_RUN_STARTS: TerminalReason.WORKFLOW_RUN_START_LIMIT_EXHAUSTED,
    Counter.TASK_ATTEMPT_STARTS: TerminalReason.TASK_ATTEMPT_START_LIMIT_EXHAUSTED,
    Counter.PROVIDER_RETRY_ATTEMPTS: TerminalReason.PROVIDER_RETRY_LIMIT_EXHAUSTED,
    Counter.STRUCTURED_OUTPUT_CORRECTION_ATTEMPTS: (
        TerminalReason.STRUCTURED_OUTPUT_CORRECTION_LIMIT_EXHAUSTED
    ),
    Counter.WORKFLOW_REPAIR_STARTS: TerminalReason.WORKFLOW_REPAIR_LIMIT_EXHAUSTED,
    Counter.APP_REFINEMENT_STARTS: TerminalReason.APP_REFINEMENT_LIMIT_EXHAUSTED,
}
"""The stable reason with which each counter ends a journey as ``budget_exceeded``."""

COUNTER_POLICY_FIELDS: Final[dict[Counter, str]] = {
    counter: f"max_{counter.value}" for counter in Counter
}
"""The policy field that limits each counter; an absent limit means no limit."""


@unique
class AttemptCounter(StrEnum):
    """The counters that ``claim_attempt`` may claim; the others are claimed by what they count."""

    TASK_ATTEMPT_STARTS = "task_attempt_starts"
    STRUCTURED_OUTPUT_CORRECTION_ATTEMPTS = "structured_output_correction_attempts"


@unique
class Capability(StrEnum):
    """What an implementation may advertise, in the order of the promotion slices."""

    DURABLE_LIFECYCLE = "durable_lifecycle"
    PINNED_DEFINITION = "pinned_definition"
    DURABLE_OBSERVATION = "durable_observation"
    DURABLE_DISPATCH = "durable_dispatch"
    RESTART_RECOVERY = "restart_recovery"
    TYPED_SCOPE_PROPAGATION = "typed_scope_propagation"
    DEADLINE_ENFORCEMENT = "deadline_enforcement"
    COOPERATIVE_CANCELLATION = "cooperative_cancellation"
    SHARED_TOKEN_RESERVATION = "shared_token_reservation"
    ACCOUNTING_SETTLEMENT = "accounting_settlement"
    BOUNDED_EVALUATION_INPUT = "bounded_evaluation_input"
    BOUNDED_ONLY_V1 = "bounded_only_v1"


POLICY_CAPABILITIES: Final = frozenset(
    {
        Capability.DURABLE_LIFECYCLE,
        Capability.PINNED_DEFINITION,
        Capability.DURABLE_OBSERVATION,
        Capability.DEADLINE_ENFORCEMENT,
        Capability.COOPERATIVE_CANCELLATION,
        Capability.SHARED_TOKEN_RESERVATION,
        Capability.ACCOUNTING_SETTLEMENT,
    }
)
"""Required by every start: v1 policies always have a deadline, a cancellation mode, a token
ceiling and a settlement grace (ruling 6)."""

DEFINITION_CAPABILITIES: Final = frozenset({Capability.DURABLE_DISPATCH})
"""Required besides by a definition of several steps or with a transition step (ruling 39)."""


@unique
class Idempotency(StrEnum):
    """Whether the provider promises at most one execution for one ``invocation_id``."""

    NONE = "none"
    AUTHORITATIVE = "authoritative"


@unique
class AmbiguityCause(StrEnum):
    """What a client saw when it cannot know whether the provider executed its request."""

    CLIENT_TIMEOUT = "client_timeout"
    CONNECTION_RESET = "connection_reset"
    TRUNCATED_RESPONSE = "truncated_response"
    UNCORRELATED_RESPONSE = "uncorrelated_response"


@unique
class DiscrepancyKind(StrEnum):
    """Why a usage report is kept as evidence."""

    USAGE_OVER_RESERVATION = "usage_over_reservation"
    """More tokens than the transmission had reserved."""
    MALFORMED_USAGE = "malformed_usage"
    """Absent or not an integer from 0 to 2**53-1; the number itself is not kept."""
    CONFLICTING_USAGE = "conflicting_usage"
    """Another number than the one already reconciled."""
    USAGE_OF_UNSENT = "usage_of_unsent"
    """Usage of a transmission that was never durably transmitted."""
    LATE_USAGE = "late_usage"
    """Arrived after accounting became final, and would have changed it."""


@unique
class ArtifactDisposition(StrEnum):
    """What the outcome says of artifacts; frozen with it."""

    NORMAL_LIFECYCLE = "normal_lifecycle"
    """The journey completed: promoted artifacts follow their own lifecycle."""
    DELETE = "delete"
    RETAIN_UNTIL = "retain_until"


SCHEMA_VERSIONS: Final[dict[str, str]] = {
    name: f"wayproof.journey.{name}.v1"
    for name in (
        "execution_policy",
        "execution_access",
        "execution_access_scope",
        "journey_scope",
        "start_request",
        "snapshot",
        "workflow_run_snapshot",
        "execution_outcome",
        "settled_result",
        "reservation",
        "discrepancy",
        "dispatch_intent",
        "reasons",
        "capabilities",
    )
}
"""The schema version of each public record and enumeration. The policy keeps the seed's name."""
SCHEMA_VERSIONS["execution_policy"] = "mozaiks.journey_execution_policy.v1"
