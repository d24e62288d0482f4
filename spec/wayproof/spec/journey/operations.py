"""The catalogue of operations: what each is asked with, answers, refuses and changes.

Written first; model and implementations are readings of it. The rules that hold for all
operations stand in :data:`COMMON_RULES`, then one entry for each operation. ``now`` is the
instant at which a request is served, in whole milliseconds UTC.
"""

from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Final

from wayproof.spec.journey import records, requests
from wayproof.spec.journey.refusals import RefusalCode as R
from wayproof.spec.journey.vocabulary import Capability as C


@unique
class Actor(StrEnum):
    """Who calls an operation."""

    CALLER = "caller"
    WORKER = "worker"
    ADAPTER = "adapter"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation of the journey contract."""

    name: str
    actor: Actor
    summary: str
    request: type
    """The request's type (``requests.py``)."""
    reply: type
    """The reply's type (``records.py``)."""
    nullable: bool = False
    """Whether the reply may be null."""
    mutates: bool = True
    """Whether it can change the store; if not, it is a read and no checkpoint."""
    effects: tuple[str, ...]
    """What it does, in order, when nothing refuses it."""
    refusals: tuple[R, ...]
    """Every refusal that it can give, in the order in which it must check."""
    capability: C


COMMON_RULES: Final[tuple[str, ...]] = (
    "Order of checks: decoding; access; replay or conflict of a known identity; references and "
    "fencing token; checkpoint; terminal, cancelling, deadline; progress; tokens; counters in "
    "policy order. The first that refuses is the answer.",
    "A refused request changes nothing, except that the checkpoint, a budget or counter refusal "
    "and a recovery refusal commit the end of the journey that they report. No refused request "
    "claims a counter or leaves a reservation.",
    "Access is authorized if tenant, owner, workspace and build scope all equal the creation "
    "scope. Unknown and foreign journeys are refused alike: journey_not_found, without detail.",
    "Checkpoint: every mutating request, once its references and its token are valid, first "
    "lets take effect what is overdue for the journey as a whole. (1) pending or running and "
    "now >= deadline: the journey ends timed_out, deadline_expired. (2) cancelling and now >= "
    "the effective cutoff, the earlier of cancellation_deadline_utc and deadline_utc: it ends "
    "cancelled. (3) terminal, accounting pending and now >= accounting_deadline_utc: accounting "
    "becomes final. Lapsed reservation leases are not part of a checkpoint.",
    "After the checkpoint, a request that a stopped journey does not accept is refused with "
    "deadline_expired if this very checkpoint ended the journey timed_out, else with "
    "journey_terminal, or journey_cancelling. deadline_expired, journey_terminal, and every "
    "budget, counter and recovery refusal carry {outcome: OutcomeSummary} as detail.",
    "Ending a journey, by whatever transition: finished_at = now; accounting_deadline_utc = "
    "finished_at + accounting_settlement_grace_seconds; every unfinished run becomes "
    "quarantined with finished_at = now, and every open dispatch intent suppressed; if every "
    "reservation is already reconciled or released_untransmitted (or there is none), "
    "accounting becomes settled in the same commit.",
    "Whenever a reservation changes while the journey is terminal and accounting is pending, "
    "and every reservation is now reconciled or released_untransmitted, accounting becomes "
    "settled in the same commit. An expired_conservatively reservation keeps it pending until "
    "the accounting deadline.",
    "Accounting becoming final at its deadline: every reserved reservation becomes "
    "released_untransmitted, every transmitted one expired_conservatively; the status is "
    "settled if every reservation is reconciled or released_untransmitted, else "
    "settlement_failed. settled_at = now. From then on no reservation, token total or status "
    "changes.",
    "Entering the stage at a position, always inside one commit: a step of workflows, and a "
    "chat_session by the workflow that it routes to, gets one run for each member in order; "
    "these claim workflow_run_starts, all or none (otherwise the journey ends budget_exceeded "
    "and nothing of the commit remains but that). A user_choice_context gets one run without "
    "a workflow: waiting, with a new input_request_id; completed with the option, if start "
    "chose one. A workflow_complete gets one completed run. Behind a run that is completed at "
    "once the next stage is entered in the same commit. current_stage = the stage that was "
    "entered last; created_at = now, and for what is not queued started_at = now.",
    "The next stage is the following step; behind a chosen option with route_to it is the "
    "first later step that is that transition or has that workflow as a member. An option "
    "whose route_to no later step of the sequence has is not offered by it.",
    "Advancement: runs of a stage are all with its sequence_position. Once none of them is "
    "unfinished, none has failed without a repair that supersedes it, and it is the stage that "
    "was entered last, the commit that brought this about enters the next stage, if there is "
    "one. A workflow's run is then queued, with one recorded dispatch intent of cause start. "
    "Purpose advancement; parent is the run whose end it was, behind a run that completed at "
    "once that run.",
    "A dispatch intent is open while it is recorded or acknowledged. A queued run has exactly "
    "one open intent, no other run has one.",
    "A fencing token is live if it is the latest that was granted for the journey and now < the "
    "owner lease's expiry. Any other token is refused with fenced.",
    "A group is all transmissions of one invocation whose idempotency is authoritative; every "
    "other transmission is a group of one. A group's exposure is the maximum over its members "
    "of what each stands for: actual_tokens if reconciled, reserved_tokens if reserved, "
    "transmitted or expired_conservatively, 0 if released_untransmitted. It is attributed first "
    "to reconciled_tokens (the greatest of its reconciled members), then to "
    "conservatively_committed_tokens, then to reserved_tokens, each only what it adds beyond "
    "those before it. The journey's totals sum its groups.",
    "The record version is 1 at start and rises with every commit that changes something that "
    "a read shows (so not necessarily with the owner lease, which none shows); reads, replays "
    "and refusals that change nothing leave it as it is.",
    "An operation id names one operation of its journey; other journeys may use the same.",
    "At most one discrepancy is recorded for each transmission and kind; the first stands.",
    "A sum of moments beyond the year 9999 is clamped to 9999-12-31T23:59:59.999Z.",
    "persistence_unavailable may replace any answer when a commit cannot be made: then nothing "
    "was changed.",
)
"""What holds for every operation."""

SWEEP_RULES: Final[tuple[str, ...]] = (
    "A sweep lets everything that is due at now take effect, journey by journey, each in this "
    "order; nothing else does any of it, except checkpoints.",
    "Deadline: pending or running and now >= deadline_utc: timed_out, deadline_expired.",
    "Cancellation: cancelling, and no run is active or now >= the effective cutoff: cancelled, "
    "with the cancellation's reason as terminal reason.",
    "Reservation leases, by ordinal: now >= lease_expires_at. A reserved one becomes "
    "released_untransmitted. A transmitted one becomes expired_conservatively, and if it is no "
    "member of an authoritative group and the journey is running, the journey ends failed, "
    "provider_transmission_ambiguous.",
    "Accounting deadline: terminal, accounting pending and now >= accounting_deadline_utc: "
    "accounting becomes final.",
    "An eager backend may let any of these take effect by itself at any moment after it fell "
    "due; of what is due at one moment the deadline always comes first. It may also release a "
    "reserved reservation early, once the journey is cancelling or "
    "terminal or the token under which it was reserved is no longer live.",
)
"""What a sweep does, and what an eager backend may do earlier by itself."""

_DECODE = (R.UNSUPPORTED_SCHEMA_VERSION, R.INVALID_REQUEST)
_READ = (*_DECODE, R.JOURNEY_NOT_FOUND)
_STOP = (R.JOURNEY_TERMINAL, R.JOURNEY_CANCELLING, R.DEADLINE_EXPIRED)

_CATALOGUE: Final[tuple[Operation, ...]] = (
    Operation(
        name="start",
        actor=Actor.CALLER,
        summary="Start one journey.",
        request=requests.JourneyStartRequest,
        reply=records.JourneyStarted,
        effects=(
            "Apply the registry's overlays in order, resolve the sequence's closed view, and "
            "compute definition digest and request hash (an unknown sequence has the digest null).",
            "A known pair of creation scope and idempotency key answers the recorded reply if "
            "the hash is equal, else idempotency_conflict with {journey_id} as detail.",
            "The entry must name an entrypoint of this sequence, which enters its first stage, or "
            "one of its stage ids, and that only with a semantic reference of role "
            "refinement_patch (else invalid_entry). An initial message needs an entrypoint that "
            "accepts one. Every route choice must name a transition of the closed view, and one of "
            "its options that it offers to this sequence; no transition is chosen twice.",
            "Required capabilities that are not advertised refuse it with {missing: [...]} as "
            "detail, in the order of the vocabulary.",
            "Persist the journey as pending, with a new opaque journey_id, the creation scope, "
            "the pinned definition and policy, created_at = now, record version 1, accounting "
            "pending. A deadline already past is accepted.",
        ),
        refusals=(
            *_DECODE,
            R.IDEMPOTENCY_CONFLICT,
            R.UNKNOWN_WORKFLOW_SEQUENCE,
            R.INVALID_ENTRY,
            R.INITIAL_MESSAGE_UNSUPPORTED,
            R.INVALID_ROUTE_CHOICE,
            R.CAPABILITY_UNAVAILABLE,
        ),
        capability=C.DURABLE_LIFECYCLE,
    ),
    Operation(
        name="snapshot",
        actor=Actor.CALLER,
        summary="Read the snapshot.",
        request=requests.SnapshotRequest,
        reply=records.JourneySnapshot,
        mutates=False,
        effects=("Answer the snapshot at one committed record version.",),
        refusals=_READ,
        capability=C.DURABLE_OBSERVATION,
    ),
    Operation(
        name="list_workflow_runs",
        actor=Actor.CALLER,
        summary="Read all workflow runs, in order.",
        request=requests.ListWorkflowRunsRequest,
        reply=records.WorkflowRunListing,
        mutates=False,
        effects=(
            "Answer every run, ordered by sequence position, member ordinal, start time, then id.",
        ),
        refusals=_READ,
        capability=C.DURABLE_OBSERVATION,
    ),
    Operation(
        name="terminal_outcome",
        actor=Actor.CALLER,
        summary="Read the execution outcome.",
        request=requests.TerminalOutcomeRequest,
        reply=records.JourneyExecutionOutcome,
        nullable=True,
        mutates=False,
        effects=(
            "Answer the outcome, or null while the journey is not terminal. artifacts is "
            "normal_lifecycle for completed, else the policy's on_non_success with its moment.",
        ),
        refusals=_READ,
        capability=C.DURABLE_OBSERVATION,
    ),
    Operation(
        name="settled_result",
        actor=Actor.CALLER,
        summary="Read the settled result.",
        request=requests.SettledResultRequest,
        reply=records.JourneySettledResult,
        nullable=True,
        mutates=False,
        effects=("Answer the settled result, or null while accounting is pending.",),
        refusals=_READ,
        capability=C.ACCOUNTING_SETTLEMENT,
    ),
    Operation(
        name="list_reservations",
        actor=Actor.OPERATOR,
        summary="Read reservation records.",
        request=requests.ListReservationsRequest,
        reply=records.ReservationListing,
        mutates=False,
        effects=("Answer those with ordinal > after, by ordinal, at most limit.",),
        refusals=_READ,
        capability=C.SHARED_TOKEN_RESERVATION,
    ),
    Operation(
        name="list_discrepancies",
        actor=Actor.OPERATOR,
        summary="Read discrepancy records.",
        request=requests.ListDiscrepanciesRequest,
        reply=records.DiscrepancyListing,
        mutates=False,
        effects=("Answer those with ordinal > after, by ordinal, at most limit.",),
        refusals=_READ,
        capability=C.ACCOUNTING_SETTLEMENT,
    ),
    Operation(
        name="cancel",
        actor=Actor.CALLER,
        summary="Ask for a cooperative stop.",
        request=requests.CancelRequest,
        reply=records.JourneySnapshot,
        effects=(
            "A cancelling or terminal journey (also one that this checkpoint ended) answers its "
            "snapshot unchanged.",
            "pending or running becomes cancelling, with the reason code, "
            "cancellation_requested_at = now, cancellation_deadline_utc = now + "
            "cancellation_grace_seconds. Every queued or waiting run becomes stopped with "
            "finished_at = now, every open dispatch intent suppressed. cancelled is always a "
            "later commit.",
        ),
        refusals=(*_DECODE, R.UNSUPPORTED_CANCELLATION_REASON, R.JOURNEY_NOT_FOUND),
        capability=C.COOPERATIVE_CANCELLATION,
    ),
    Operation(
        name="claim_lease",
        actor=Actor.WORKER,
        summary="Become the owner of a journey, or take it over.",
        request=requests.ClaimLeaseRequest,
        reply=records.LeaseGranted,
        effects=(
            "A known operation id answers its recorded grant if operation and inputs (all but "
            "access) are equal, else operation_conflict.",
            "While the latest lease is unexpired, also one of the same worker: lease_held.",
            "If an earlier lease has expired: an open transmitted reservation that is no member "
            "of an authoritative group ends the journey failed, provider_transmission_ambiguous "
            "(the reservation itself stays as it is); else an active run ends it failed, "
            "orphan_recovery_unsafe.",
            "Grant a token greater than all before, expiring at now + lease_milliseconds. The "
            "lifecycle state stays as it is.",
        ),
        refusals=(
            *_READ,
            R.OPERATION_CONFLICT,
            *_STOP,
            R.LEASE_HELD,
            R.PROVIDER_TRANSMISSION_AMBIGUOUS,
            R.ORPHAN_RECOVERY_UNSAFE,
        ),
        capability=C.DURABLE_LIFECYCLE,
    ),
    Operation(
        name="heartbeat",
        actor=Actor.WORKER,
        summary="Extend the owner lease.",
        request=requests.HeartbeatRequest,
        reply=records.LeaseExtended,
        effects=(
            "The lease expires at the later of its present expiry and now + lease_milliseconds. "
            "A cancelling journey accepts it, so that its owner can report the stop.",
        ),
        refusals=(*_READ, R.FENCED, R.JOURNEY_TERMINAL, R.DEADLINE_EXPIRED),
        capability=C.DURABLE_LIFECYCLE,
    ),
    Operation(
        name="begin_journey",
        actor=Actor.WORKER,
        summary="Start the entry stage.",
        request=requests.BeginJourneyRequest,
        reply=records.WorkflowRunsStarted,
        effects=(
            "A journey that has begun, whatever became of it, answers the recorded run ids.",
            "Enter the entry stage; without room for its members the journey ends "
            "budget_exceeded from pending. A workflow's run is active there; behind a transition "
            "that start has passed it is queued, as by any advancement. Purpose entry for all.",
            "The journey becomes running, started_at = now.",
        ),
        refusals=(*_READ, R.FENCED, *_STOP, R.WORKFLOW_RUN_START_LIMIT_EXHAUSTED),
        capability=C.DURABLE_LIFECYCLE,
    ),
    Operation(
        name="list_dispatch_intents",
        actor=Actor.WORKER,
        summary="Read the outbox of a journey.",
        request=requests.ListDispatchIntentsRequest,
        reply=records.DispatchIntentListing,
        mutates=False,
        effects=(
            "Answer those with ordinal > after, with open_only the open ones among them, by "
            "ordinal, at most limit.",
        ),
        refusals=_READ,
        capability=C.DURABLE_DISPATCH,
    ),
    Operation(
        name="acknowledge_dispatch",
        actor=Actor.WORKER,
        summary="Acknowledge that an intent was received.",
        request=requests.AcknowledgeDispatchRequest,
        reply=records.DispatchReading,
        effects=(
            "The run's latest intent becomes acknowledged if it is recorded; one that is "
            "acknowledged or claimed stays as it is. The intent remains open until the run is "
            "taken over.",
        ),
        refusals=(
            *_READ,
            R.UNKNOWN_WORKFLOW_RUN,
            R.UNKNOWN_DISPATCH_INTENT,
            R.FENCED,
            *_STOP,
        ),
        capability=C.DURABLE_DISPATCH,
    ),
    Operation(
        name="claim_dispatched_run",
        actor=Actor.WORKER,
        summary="Take over the run that an intent names.",
        request=requests.ClaimDispatchedRunRequest,
        reply=records.DispatchClaimed,
        effects=(
            "If the run's latest intent is open, it becomes claimed and the run active; "
            "started_at = now, if it was not started before. newly_claimed is true.",
            "If it is claimed, nothing changes: the run's state is answered, newly_claimed false.",
            "No counter is claimed again.",
        ),
        refusals=(
            *_READ,
            R.UNKNOWN_WORKFLOW_RUN,
            R.UNKNOWN_DISPATCH_INTENT,
            R.FENCED,
            *_STOP,
        ),
        capability=C.DURABLE_DISPATCH,
    ),
    Operation(
        name="request_input",
        actor=Actor.WORKER,
        summary="Pause a run until an input or a review.",
        request=requests.RequestInputRequest,
        reply=records.InputRequested,
        effects=(
            "A known operation id answers its recorded reply if operation and inputs (all but "
            "access and token) are equal, else operation_conflict.",
            "The active run becomes waiting, with a new input_request_id. The journey stays "
            "running, its deadline as it is.",
        ),
        refusals=(
            *_READ,
            R.OPERATION_CONFLICT,
            R.UNKNOWN_WORKFLOW_RUN,
            R.FENCED,
            *_STOP,
            R.WORKFLOW_RUN_FINISHED,
            R.WORKFLOW_RUN_NOT_ACTIVE,
        ),
        capability=C.DURABLE_DISPATCH,
    ),
    Operation(
        name="submit_input",
        actor=Actor.CALLER,
        summary="Answer the input request for which a run waits.",
        request=requests.SubmitInputRequest,
        reply=records.InputAccepted,
        effects=(
            "An answered input request answers its recorded reply if the option is equal, else "
            "input_conflict.",
            "A transition's run needs an option that its pinned transition offers to this "
            "sequence, a paused workflow run takes none; else invalid_route_choice. No fencing "
            "token and no owner lease is needed.",
            "A transition's run becomes completed, with the option, and the journey advances.",
            "A paused workflow run becomes queued, with one recorded dispatch intent of cause "
            "resume; it is the same run, and claims no counter.",
        ),
        refusals=(
            *_READ,
            R.INPUT_CONFLICT,
            R.INVALID_ROUTE_CHOICE,
            R.UNKNOWN_WORKFLOW_RUN,
            R.UNKNOWN_INPUT_REQUEST,
            *_STOP,
            R.WORKFLOW_RUN_START_LIMIT_EXHAUSTED,
        ),
        capability=C.DURABLE_DISPATCH,
    ),
    Operation(
        name="start_workflow_run",
        actor=Actor.WORKER,
        summary="Start a child run.",
        request=requests.StartWorkflowRunRequest,
        reply=records.WorkflowRunsStarted,
        effects=(
            "A known operation id answers its recorded reply if operation and inputs (all but "
            "access and token) are equal, else operation_conflict.",
            "decomposition needs an active parent (else workflow_run_finished, or "
            "workflow_run_not_active for a queued or waiting one); repair needs a "
            "failed parent that no repair superseded (else parent_not_failed); refinement takes "
            "any parent of the journey.",
            "Claim workflow_run_starts, and workflow_repair_starts for a repair or "
            "app_refinement_starts for a refinement: all or none, checked in policy order.",
            "Create an active run with the parent's stage_id, sequence_position and "
            "member_ordinal, created_at = started_at = now. A repair marks its parent "
            "superseded.",
        ),
        refusals=(
            *_READ,
            R.OPERATION_CONFLICT,
            R.UNKNOWN_WORKFLOW_RUN,
            R.FENCED,
            *_STOP,
            R.WORKFLOW_RUN_FINISHED,
            R.WORKFLOW_RUN_NOT_ACTIVE,
            R.PARENT_NOT_FAILED,
            R.WORKFLOW_RUN_START_LIMIT_EXHAUSTED,
            R.WORKFLOW_REPAIR_LIMIT_EXHAUSTED,
            R.APP_REFINEMENT_LIMIT_EXHAUSTED,
        ),
        capability=C.DURABLE_LIFECYCLE,
    ),
    Operation(
        name="finish_workflow_run",
        actor=Actor.WORKER,
        summary="Report that a run ended.",
        request=requests.FinishWorkflowRunRequest,
        reply=records.WorkflowRunReading,
        effects=(
            "A run that is completed or failed answers its reading if the outcome is the same, "
            "else operation_conflict; a stopped run answers its reading.",
            "The run must be active (else workflow_run_not_active). While running it becomes "
            "completed or failed; while cancelling it becomes stopped, whatever the outcome, and "
            "its output is quarantined. finished_at = now. The journey's lifecycle state does "
            "not change by this.",
            "A completed one may complete its stage: then the journey advances. Without room "
            "for the next stage's members the journey ends budget_exceeded instead, and the run "
            "is quarantined like every unfinished one.",
        ),
        refusals=(
            *_READ,
            R.OPERATION_CONFLICT,
            R.UNKNOWN_WORKFLOW_RUN,
            R.FENCED,
            R.JOURNEY_TERMINAL,
            R.DEADLINE_EXPIRED,
            R.WORKFLOW_RUN_NOT_ACTIVE,
            R.WORKFLOW_RUN_START_LIMIT_EXHAUSTED,
        ),
        capability=C.DURABLE_LIFECYCLE,
    ),
    Operation(
        name="claim_attempt",
        actor=Actor.WORKER,
        summary="Claim attempt counters before an attempt starts.",
        request=requests.ClaimAttemptRequest,
        reply=records.AttemptClaimed,
        effects=(
            "A known operation id answers its recorded claim if operation and inputs (all but "
            "access and token) are equal, else operation_conflict.",
            "The run must be active (else workflow_run_finished, or workflow_run_not_active).",
            "Claim one of each named counter: all or none, checked in policy order.",
        ),
        refusals=(
            *_READ,
            R.OPERATION_CONFLICT,
            R.UNKNOWN_WORKFLOW_RUN,
            R.FENCED,
            *_STOP,
            R.WORKFLOW_RUN_FINISHED,
            R.WORKFLOW_RUN_NOT_ACTIVE,
            R.TASK_ATTEMPT_START_LIMIT_EXHAUSTED,
            R.STRUCTURED_OUTPUT_CORRECTION_LIMIT_EXHAUSTED,
        ),
        capability=C.DURABLE_LIFECYCLE,
    ),
    Operation(
        name="complete_journey",
        actor=Actor.WORKER,
        summary="Complete the journey.",
        request=requests.CompleteJourneyRequest,
        reply=records.OutcomeSummary,
        effects=(
            "Incomplete is a journey that has not begun, one with an unfinished run, or one "
            "with a failed run that no repair superseded. So a later stage that is still to come "
            "prevents completion, since its runs are queued or waiting; open transmissions do "
            "not.",
            "The journey ends completed, journey_completed.",
        ),
        refusals=(*_READ, R.FENCED, *_STOP, R.JOURNEY_INCOMPLETE),
        capability=C.DURABLE_LIFECYCLE,
    ),
    Operation(
        name="fail_journey",
        actor=Actor.WORKER,
        summary="Fail the journey.",
        request=requests.FailJourneyRequest,
        reply=records.OutcomeSummary,
        effects=("pending or running ends failed, with the given reason code.",),
        refusals=(*_READ, R.FENCED, *_STOP),
        capability=C.DURABLE_LIFECYCLE,
    ),
    Operation(
        name="reserve",
        actor=Actor.ADAPTER,
        summary="Reserve the conservative amount of one physical transmission.",
        request=requests.ReserveRequest,
        reply=records.ReservationGranted,
        effects=(
            "A known transmission id answers its recorded grant if the inputs (all but access "
            "and token) are equal, else operation_conflict. A known invocation id with another "
            "run or idempotency is an operation_conflict too.",
            "The run must be active (else workflow_run_finished, or workflow_run_not_active).",
            "Without authoritative idempotency, a reserved or transmitted transmission of the "
            "same invocation refuses it with predecessor_unresolved.",
            "An absent estimate or maximum output ends the journey failed, "
            "token_reservation_unavailable.",
            "amount = estimated_prompt_tokens + max_output_tokens; delta = the increase of the "
            "group's exposure by a new reserved member of that amount. If reconciled + "
            "conservatively committed + reserved + delta > max_total_tokens, the journey ends "
            "budget_exceeded, token_budget_exhausted.",
            "A second or later transmission of an invocation claims provider_retry_attempts.",
            "Record the reservation as reserved, ordinal = one more than before, lease expiring "
            "at now + lease_milliseconds, owner = the token.",
        ),
        refusals=(
            *_READ,
            R.OPERATION_CONFLICT,
            R.UNKNOWN_WORKFLOW_RUN,
            R.FENCED,
            *_STOP,
            R.WORKFLOW_RUN_FINISHED,
            R.WORKFLOW_RUN_NOT_ACTIVE,
            R.PREDECESSOR_UNRESOLVED,
            R.TOKEN_RESERVATION_UNAVAILABLE,
            R.TOKEN_BUDGET_EXHAUSTED,
            R.PROVIDER_RETRY_LIMIT_EXHAUSTED,
        ),
        capability=C.SHARED_TOKEN_RESERVATION,
    ),
    Operation(
        name="transmit",
        actor=Actor.ADAPTER,
        summary="Make a transmission durable before its request leaves.",
        request=requests.TransmitRequest,
        reply=records.TransmissionReading,
        effects=(
            "The token must be live and the one under which it was reserved, else fenced.",
            "The run must be active (else workflow_run_finished, or workflow_run_not_active), "
            "the state reserved (else "
            "transmission_not_reserved: it is granted once, a lost answer is never repeated), "
            "and now < the reservation's lease expiry (else reservation_lease_expired).",
            "reserved becomes transmitted. The lease is not renewed by this.",
        ),
        refusals=(
            *_READ,
            R.UNKNOWN_TRANSMISSION,
            R.FENCED,
            *_STOP,
            R.WORKFLOW_RUN_FINISHED,
            R.WORKFLOW_RUN_NOT_ACTIVE,
            R.TRANSMISSION_NOT_RESERVED,
            R.RESERVATION_LEASE_EXPIRED,
        ),
        capability=C.SHARED_TOKEN_RESERVATION,
    ),
    Operation(
        name="renew_reservation",
        actor=Actor.ADAPTER,
        summary="Extend a reservation's lease while its call is in flight.",
        request=requests.RenewReservationRequest,
        reply=records.LeaseExtended,
        effects=(
            "The token must be live and the one under which it was reserved, else fenced.",
            "The state must be reserved or transmitted (else transmission_closed) and the lease "
            "unexpired (else reservation_lease_expired).",
            "The lease expires at the later of its present expiry and now + lease_milliseconds.",
        ),
        refusals=(
            *_READ,
            R.UNKNOWN_TRANSMISSION,
            R.FENCED,
            *_STOP,
            R.TRANSMISSION_CLOSED,
            R.RESERVATION_LEASE_EXPIRED,
        ),
        capability=C.SHARED_TOKEN_RESERVATION,
    ),
    Operation(
        name="report_unsent",
        actor=Actor.ADAPTER,
        summary="Prove that nothing left the adapter.",
        request=requests.ReportUnsentRequest,
        reply=records.TransmissionReading,
        effects=(
            "The token must be the one under which it was reserved, live or not, else fenced. "
            "Accepted in every lifecycle state.",
            "reserved becomes released_untransmitted. transmitted, and expired_conservatively "
            "while accounting is pending, become reconciled with actual_tokens 0; siblings of a "
            "group stay as they are. released_untransmitted, and reconciled with 0, stay.",
            "Reconciled with another number: conflicting_usage 0 is recorded. "
            "expired_conservatively after accounting became final: late_usage 0 is recorded.",
        ),
        refusals=(*_READ, R.UNKNOWN_TRANSMISSION, R.FENCED),
        capability=C.SHARED_TOKEN_RESERVATION,
    ),
    Operation(
        name="report_response",
        actor=Actor.ADAPTER,
        summary="Report an authoritative terminal response of the provider.",
        request=requests.ReportResponseRequest,
        reply=records.TransmissionReading,
        effects=(
            "Accepted in every lifecycle state, and needs no token: it is evidence.",
            "Well-formed usage is an integer from 0 to 2**53-1 that takes neither "
            "observed_actual_tokens nor the sum of reconciled, conservatively committed and "
            "reserved tokens beyond 2**53-1; anything else is malformed.",
            "reserved or released_untransmitted: usage_of_unsent is recorded with the number, "
            "or malformed_usage; the state stays.",
            "transmitted, and expired_conservatively while accounting is pending, with "
            "well-formed usage: it becomes reconciled with that number. If the number is over "
            "its own reserved_tokens, usage_over_reservation is recorded, and a running journey "
            "ends budget_exceeded, token_budget_exhausted. If the number is positive and it is "
            "a member of an authoritative group, every other member that is transmitted or "
            "expired_conservatively becomes reconciled with the same number, which adds "
            "nothing to the group's exposure.",
            "transmitted with malformed usage becomes expired_conservatively and "
            "malformed_usage is recorded; the journey goes on. expired_conservatively or "
            "reconciled with malformed usage: malformed_usage is recorded, the state stays.",
            "reconciled with the same number: nothing; with another: conflicting_usage is "
            "recorded. expired_conservatively after accounting became final: late_usage is "
            "recorded.",
        ),
        refusals=(*_READ, R.UNKNOWN_TRANSMISSION),
        capability=C.ACCOUNTING_SETTLEMENT,
    ),
    Operation(
        name="report_ambiguity",
        actor=Actor.ADAPTER,
        summary="Report that nobody can know whether a transmission was executed.",
        request=requests.ReportAmbiguityRequest,
        reply=records.TransmissionReading,
        effects=(
            "Accepted in every lifecycle state, and needs no token.",
            "transmitted becomes expired_conservatively; if it is no member of an authoritative "
            "group and the journey is running, the journey ends failed, "
            "provider_transmission_ambiguous. In every other state nothing changes.",
        ),
        refusals=(*_READ, R.UNKNOWN_TRANSMISSION),
        capability=C.SHARED_TOKEN_RESERVATION,
    ),
)

OPERATIONS: Final[dict[str, Operation]] = {operation.name: operation for operation in _CATALOGUE}
"""Every operation by name."""
