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
    │   └── operation_conflict                     same operation id, other inputs
    ├── start               the request against the registry
    │   ├── unknown_workflow_sequence
    │   ├── invalid_entry
    │   ├── invalid_route_choice
    │   └── journey_execution_capability_unavailable
    ├── reference           what the request names, and the token that it shows
    │   ├── unknown_workflow_run
    │   ├── unknown_transmission
    │   └── fenced                                 any token but the live one
    ├── stop                the journey accepts nothing new
    │   ├── journey_terminal                       carries the immutable outcome
    │   ├── journey_cancelling
    │   └── deadline_expired                       this very command made it timed_out
    ├── progress            the journey goes on, this step is not due
    │   ├── lease_held
    │   ├── workflow_run_finished
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
    UNSUPPORTED_SCHEMA_VERSION = "unsupported_schema_version"
    INVALID_REQUEST = "invalid_request"
    UNSUPPORTED_CANCELLATION_REASON = "unsupported_cancellation_reason"
    JOURNEY_NOT_FOUND = "journey_not_found"
    IDEMPOTENCY_CONFLICT = "idempotency_conflict"
    OPERATION_CONFLICT = "operation_conflict"
    UNKNOWN_WORKFLOW_SEQUENCE = "unknown_workflow_sequence"
    INVALID_ENTRY = "invalid_entry"
    INVALID_ROUTE_CHOICE = "invalid_route_choice"
    CAPABILITY_UNAVAILABLE = "journey_execution_capability_unavailable"
    UNKNOWN_WORKFLOW_RUN = "unknown_workflow_run"
    UNKNOWN_TRANSMISSION = "unknown_transmission"
    FENCED = "fenced"
    JOURNEY_TERMINAL = "journey_terminal"
    JOURNEY_CANCELLING = "journey_cancelling"
    DEADLINE_EXPIRED = "deadline_expired"
    LEASE_HELD = "lease_held"
    WORKFLOW_RUN_FINISHED = "workflow_run_finished"
    PARENT_NOT_FAILED = "parent_not_failed"
    PREDECESSOR_UNRESOLVED = "predecessor_unresolved"
    TRANSMISSION_NOT_RESERVED = "transmission_not_reserved"
    TRANSMISSION_CLOSED = "transmission_closed"
    RESERVATION_LEASE_EXPIRED = "reservation_lease_expired"
    JOURNEY_INCOMPLETE = "journey_incomplete"
    TOKEN_RESERVATION_UNAVAILABLE = "token_reservation_unavailable"
    TOKEN_BUDGET_EXHAUSTED = "token_budget_exhausted"
    WORKFLOW_RUN_START_LIMIT_EXHAUSTED = "workflow_run_start_limit_exhausted"
    TASK_ATTEMPT_START_LIMIT_EXHAUSTED = "task_attempt_start_limit_exhausted"
    PROVIDER_RETRY_LIMIT_EXHAUSTED = "provider_retry_limit_exhausted"
    STRUCTURED_OUTPUT_CORRECTION_LIMIT_EXHAUSTED = "structured_output_correction_limit_exhausted"
    WORKFLOW_REPAIR_LIMIT_EXHAUSTED = "workflow_repair_limit_exhausted"
    APP_REFINEMENT_LIMIT_EXHAUSTED = "app_refinement_limit_exhausted"
    PROVIDER_TRANSMISSION_AMBIGUOUS = "provider_transmission_ambiguous"
    ORPHAN_RECOVERY_UNSAFE = "orphan_recovery_unsafe"
    PERSISTENCE_UNAVAILABLE = "persistence_unavailable"


PRECEDENCE: Final[tuple[RefusalCode, ...]] = tuple(RefusalCode)
"""The ladder itself, first to last."""


class Refusal(Exception):  # noqa: N818 - a refusal is an answer of the contract, not an error of ours
    """One coded refusal: the answer to a request that a backend does not carry out.

    ``detail`` holds only bounded, closed facts (a JSON Pointer, missing capabilities, an
    immutable outcome); never a value that the request contained.
    """

    def __init__(self, code: RefusalCode, detail: Mapping[str, Any] | None = None) -> None:
        super().__init__(code.value)
        self.code = code
        self.detail: Mapping[str, Any] = detail or {}
