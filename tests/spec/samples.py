"""One good request for each operation, with every optional field filled in."""

from copy import deepcopy
from typing import Any

from wayproof.spec.journey.operations import OPERATIONS

ACCESS: dict[str, Any] = {
    "schema_version": "wayproof.journey.execution_access.v1",
    "tenant_id": "tenant-1",
    "owner_id": "owner-1",
    "workspace_id": "workspace-1",
    "build_scope_id": "scope-1",
}

POLICY: dict[str, Any] = {
    "schema_version": "mozaiks.journey_execution_policy.v1",
    "deadline_utc": "2030-01-01T01:00:00.000Z",
    "max_total_tokens": 100_000,
    "cancellation_mode": "cooperative",
    "cancellation_grace_seconds": 30,
    "accounting_settlement_grace_seconds": 60,
    "partial_artifact_policy": {
        "on_non_success": "retain_until",
        "retain_until_utc": "2030-02-01T00:00:00.000Z",
    },
    "max_workflow_run_starts": 10,
    "max_task_attempt_starts": 10,
    "max_provider_retry_attempts": 10,
    "max_structured_output_correction_attempts": 10,
    "max_workflow_repair_starts": 10,
    "max_app_refinement_starts": 10,
}

START: dict[str, Any] = {
    "schema_version": "wayproof.journey.start_request.v1",
    "access": ACCESS,
    "idempotency_key": "key-1",
    "workflow_sequence_id": "styled",
    "entry": {"kind": "entrypoint", "id": "styled_entry"},
    "policy": POLICY,
    "route_choices": [{"transition_id": "style", "option_id": "plain"}],
    "initial_message": "Build me\ta shop,\nplease. \N{SHOPPING BAGS}",
    "semantic_references": [{"role": "semantic_graph", "reference": "sha256:1"}],
}

_JOURNEY = {"access": ACCESS, "journey_id": "journey-1"}
_OWNER = {**_JOURNEY, "fencing_token": 1}
_PAGE = {"after": 0, "limit": 10}

_ARGUMENTS: dict[str, dict[str, Any]] = {
    "start": START,
    "snapshot": _JOURNEY,
    "list_workflow_runs": _JOURNEY,
    "terminal_outcome": _JOURNEY,
    "settled_result": _JOURNEY,
    "list_reservations": {**_JOURNEY, **_PAGE},
    "list_discrepancies": {**_JOURNEY, **_PAGE},
    "cancel": {
        **_JOURNEY,
        "reason_code": "operator_requested",
        "explanation": "No\nlonger needed.",
    },
    "claim_lease": {
        **_JOURNEY,
        "operation_id": "lease-1",
        "worker_id": "worker-1",
        "lease_milliseconds": 60_000,
    },
    "heartbeat": {**_OWNER, "lease_milliseconds": 60_000},
    "begin_journey": _OWNER,
    "list_dispatch_intents": {**_JOURNEY, **_PAGE, "open_only": True},
    "acknowledge_dispatch": {**_OWNER, "workflow_run_id": "run-1"},
    "claim_dispatched_run": {**_OWNER, "workflow_run_id": "run-1"},
    "request_input": {**_OWNER, "operation_id": "pause-1", "workflow_run_id": "run-1"},
    "submit_input": {
        **_JOURNEY,
        "workflow_run_id": "run-1",
        "input_request_id": "input-1",
        "option_id": "plain",
    },
    "start_workflow_run": {
        **_OWNER,
        "operation_id": "run-start-1",
        "parent_workflow_run_id": "run-1",
        "workflow_id": "Builder",
        "purpose": "decomposition",
    },
    "finish_workflow_run": {**_OWNER, "workflow_run_id": "run-1", "outcome": "completed"},
    "claim_attempt": {
        **_OWNER,
        "operation_id": "attempt-1",
        "workflow_run_id": "run-1",
        "counters": ["task_attempt_starts", "structured_output_correction_attempts"],
    },
    "complete_journey": _OWNER,
    "fail_journey": {**_OWNER, "reason_code": "workflow_failed"},
    "reserve": {
        **_OWNER,
        "workflow_run_id": "run-1",
        "invocation_id": "invocation-1",
        "transmission_id": "transmission-1",
        "idempotency": "none",
        "estimated_prompt_tokens": 100,
        "max_output_tokens": 100,
        "lease_milliseconds": 60_000,
    },
    "transmit": {**_OWNER, "transmission_id": "transmission-1"},
    "renew_reservation": {
        **_OWNER,
        "transmission_id": "transmission-1",
        "lease_milliseconds": 60_000,
    },
    "report_unsent": {**_OWNER, "transmission_id": "transmission-1"},
    "report_response": {**_JOURNEY, "transmission_id": "transmission-1", "usage": 100},
    "report_ambiguity": {
        **_JOURNEY,
        "transmission_id": "transmission-1",
        "cause": "client_timeout",
    },
}


def good_request(operation: str) -> dict[str, Any]:
    """The good request of one operation, as a copy that may be spoilt."""
    return deepcopy(_ARGUMENTS[operation])


assert _ARGUMENTS.keys() == OPERATIONS.keys(), "every operation has its good request"
