"""Every refusal of the journey contract, in its order of precedence.

A backend that could refuse one request for several reasons answers the first that applies::

    Refusal
    ├── decoding            nothing of the store has been looked at yet
    │   ├── unknown_operation
    │   ├── unsupported_schema_version
    │   ├── invalid_request
    │   └── unsupported_cancellation_reason
    ├── access
    │   └── journey_not_found                      unknown and foreign alike
    ├── replay
    │   ├── idempotency_conflict                   start: same key, other request
    │   ├── operation_conflict                     same operation id, other inputs
    │   └── input_conflict                         same input request, another option
    ├── start               the request against the registry, and later choices likewise
    │   ├── unknown_workflow_sequence
    │   ├── invalid_entry
    │   ├── initial_message_unsupported
    │   ├── invalid_route_choice
    │   └── journey_execution_capability_unavailable
    ├── reference           what the request names, and the token that it shows
    │   ├── unknown_workflow_run
    │   ├── unknown_input_request
    │   ├── unknown_dispatch_intent
    │   ├── unknown_transmission
    │   └── fenced                                 any token but the live one
    ├── stop                the journey accepts nothing new
    │   ├── journey_terminal                       carries the immutable outcome
    │   ├── journey_cancelling
    │   └── deadline_expired                       this very command made it timed_out
    ├── progress            the journey goes on, this step is not due
    │   ├── lease_held
    │   ├── workflow_run_finished
    │   ├── workflow_run_not_active
    │   ├── parent_not_failed
    │   ├── predecessor_unresolved
    │   ├── transmission_not_reserved
    │   ├── transmission_closed
    │   ├── reservation_lease_expired
    │   └── journey_incomplete
    ├── budget              ends the journey, in this order
    │   ├── token_reservation_unavailable          failed
    │   ├── token_budget_exhausted                 budget_exceeded
    │   ├── workflow_run_start_limit_exhausted     budget_exceeded, and so the others
    │   ├── task_attempt_start_limit_exhausted
    │   ├── provider_retry_limit_exhausted
    │   ├── structured_output_correction_limit_exhausted
    │   ├── workflow_repair_limit_exhausted
    │   └── app_refinement_limit_exhausted
    ├── recovery            ends the journey as failed
    │   ├── provider_transmission_ambiguous
    │   └── orphan_recovery_unsafe
    └── store
        └── persistence_unavailable                may replace any answer; nothing was changed
"""

from collections.abc import Mapping
from enum import StrEnum, unique
from typing import Any, Final


@unique
class RefusalCode(StrEnum):
    """Refusal codes; the order of definition is the order of precedence (ruling 2)."""

    UNKNOWN_OPERATION = "unknown_operation"
    """The catalogue has no operation of that name."""
    UNSUPPORTED_SCHEMA_VERSION = "unsupported_schema_version"
    """The request, or a record in it, has a schema version that is not served. Detail: pointer."""
    INVALID_REQUEST = "invalid_request"
    """The request does not match its schema. Detail: pointer and problem."""
    UNSUPPORTED_CANCELLATION_REASON = "unsupported_cancellation_reason"
    """The reason code is well formed and not registered. Detail: pointer."""
    JOURNEY_NOT_FOUND = "journey_not_found"
    """The journey is unknown, or the access does not equal its creation scope. No detail."""
    IDEMPOTENCY_CONFLICT = "idempotency_conflict"
    """The scope has used this idempotency key for another request. Detail: journey_id."""
    OPERATION_CONFLICT = "operation_conflict"
    """The operation, transmission or run is already recorded with other inputs."""
    INPUT_CONFLICT = "input_conflict"
    """The input request is already answered with another option."""
    UNKNOWN_WORKFLOW_SEQUENCE = "unknown_workflow_sequence"
    """The registry has no sequence of that id."""
    INVALID_ENTRY = "invalid_entry"
    """The entry is no entrypoint and no stage of this sequence, or it is a stage and the start no
    refinement."""
    INITIAL_MESSAGE_UNSUPPORTED = "initial_message_unsupported"
    """The entry does not accept an initial message."""
    INVALID_ROUTE_CHOICE = "invalid_route_choice"
    """A choice names a transition or an option that this sequence does not offer, or a transition
    twice; or an input names an option where none is to be chosen, or none where one is."""
    CAPABILITY_UNAVAILABLE = "journey_execution_capability_unavailable"
    """The backend does not advertise what policy and definition require. Detail: missing."""
    UNKNOWN_WORKFLOW_RUN = "unknown_workflow_run"
    """The journey has no run of that id."""
    UNKNOWN_INPUT_REQUEST = "unknown_input_request"
    """The run has no input request of that id."""
    UNKNOWN_DISPATCH_INTENT = "unknown_dispatch_intent"
    """No dispatch intent names the run."""
    UNKNOWN_TRANSMISSION = "unknown_transmission"
    """The journey has no transmission of that id."""
    FENCED = "fenced"
    """The fencing token is not the one that the operation needs."""
    JOURNEY_TERMINAL = "journey_terminal"
    """The journey has ended before. Detail: outcome."""
    JOURNEY_CANCELLING = "journey_cancelling"
    """The journey is being cancelled and accepts no new work."""
    DEADLINE_EXPIRED = "deadline_expired"
    """This very request found the deadline passed and ended the journey. Detail: outcome."""
    LEASE_HELD = "lease_held"
    """The latest owner lease has not expired."""
    WORKFLOW_RUN_FINISHED = "workflow_run_finished"
    """The run has ended."""
    WORKFLOW_RUN_NOT_ACTIVE = "workflow_run_not_active"
    """The run is queued or waits for input."""
    PARENT_NOT_FAILED = "parent_not_failed"
    """A repair needs a failed parent that no other repair has superseded."""
    PREDECESSOR_UNRESOLVED = "predecessor_unresolved"
    """An earlier transmission of the invocation has no known disposition yet."""
    TRANSMISSION_NOT_RESERVED = "transmission_not_reserved"
    """The transmission was granted, released or settled before; a grant is never repeated."""
    TRANSMISSION_CLOSED = "transmission_closed"
    """The reservation is neither reserved nor transmitted, so there is no lease to extend."""
    RESERVATION_LEASE_EXPIRED = "reservation_lease_expired"
    """The reservation's lease has run out."""
    JOURNEY_INCOMPLETE = "journey_incomplete"
    """The journey has not begun, or a run is unfinished, or a failed run is not superseded."""
    TOKEN_RESERVATION_UNAVAILABLE = "token_reservation_unavailable"
    """No conservative amount can be formed; the journey ends failed. Detail: outcome."""
    TOKEN_BUDGET_EXHAUSTED = "token_budget_exhausted"
    """What is asked for is over the ceiling; the journey ends budget_exceeded. Detail: outcome."""
    WORKFLOW_RUN_START_LIMIT_EXHAUSTED = "workflow_run_start_limit_exhausted"
    """No workflow-run start is left; the journey ends budget_exceeded. Detail: outcome."""
    TASK_ATTEMPT_START_LIMIT_EXHAUSTED = "task_attempt_start_limit_exhausted"
    """No task-attempt start is left; the journey ends budget_exceeded. Detail: outcome."""
    PROVIDER_RETRY_LIMIT_EXHAUSTED = "provider_retry_limit_exhausted"
    """No provider retry is left; the journey ends budget_exceeded. Detail: outcome."""
    STRUCTURED_OUTPUT_CORRECTION_LIMIT_EXHAUSTED = "structured_output_correction_limit_exhausted"
    """No output correction is left; the journey ends budget_exceeded. Detail: outcome."""
    WORKFLOW_REPAIR_LIMIT_EXHAUSTED = "workflow_repair_limit_exhausted"
    """No workflow repair is left; the journey ends budget_exceeded. Detail: outcome."""
    APP_REFINEMENT_LIMIT_EXHAUSTED = "app_refinement_limit_exhausted"
    """No app refinement is left; the journey ends budget_exceeded. Detail: outcome."""
    PROVIDER_TRANSMISSION_AMBIGUOUS = "provider_transmission_ambiguous"
    """A takeover found an open transmission that nobody can account for; the journey ends failed.
    Detail: outcome."""
    ORPHAN_RECOVERY_UNSAFE = "orphan_recovery_unsafe"
    """A takeover found a run that nobody can prove idempotent; the journey ends failed. Detail:
    outcome."""
    PERSISTENCE_UNAVAILABLE = "persistence_unavailable"
    """The commit could not be made, and nothing was changed."""


PRECEDENCE: Final[tuple[RefusalCode, ...]] = tuple(RefusalCode)
"""The ladder itself, first to last."""


class Refusal(Exception):
    """One coded refusal: the answer to a request that a backend does not carry out.

    ``detail`` holds only bounded, closed facts (a JSON Pointer, missing capabilities, an
    immutable outcome); never a value that the request contained.
    """

    def __init__(self, code: RefusalCode, detail: Mapping[str, Any] | None = None) -> None:
        super().__init__(code.value)
        self.code = code
        self.detail: Mapping[str, Any] = detail or {}
