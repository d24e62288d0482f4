"""Small vectors written by hand, and what they are put together from.

Every expectation below is written out; only the digests are computed.
"""

from dataclasses import replace
from typing import Any

from wayproof.conformance.vectors.changes import apply_changes, state_digest
from wayproof.conformance.vectors.format import (
    CallStep,
    Config,
    ExpectedAnswer,
    ExpectedOneOf,
    ExpectedRefusal,
    Origin,
    RefusalExpectation,
    RestartStep,
    Start,
    Step,
    SweepStep,
    TickStep,
    Vector,
)
from wayproof.conformance.vectors.writer import seal

REGISTRY: dict[str, Any] = {
    "workflows": [{"id": "Builder"}],
    "entrypoints": [{"id": "solo_entry", "sequence": "solo"}],
    "workflow_sequences": [{"id": "solo", "steps": [{"workflows": ["Builder"]}]}],
}
PINNED = "sha256:ee6d8765cbca7619e8e1142b3ed8a6dd1ad4b66863dd536daf1ae6b685550459"
MIDNIGHT = "2030-01-01T00:00:00.000Z"


def access(owner: str) -> dict[str, Any]:
    return {
        "schema_version": "wayproof.journey.execution_access.v1",
        "tenant_id": "acme",
        "owner_id": owner,
    }


CONSTANTS: dict[str, Any] = {
    "owner": access("olive"),
    "stranger": access("mallory"),
    "policy": {
        "schema_version": "mozaiks.journey_execution_policy.v1",
        "deadline_utc": "2030-01-01T00:10:00.000Z",
        "max_total_tokens": 100,
        "cancellation_mode": "cooperative",
        "cancellation_grace_seconds": 30,
        "accounting_settlement_grace_seconds": 60,
        "partial_artifact_policy": {"on_non_success": "delete"},
    },
}

UNCLAIMED = {"claimed": 0, "limit": None}
PENDING: dict[str, Any] = {
    "snapshot": {
        "schema_version": "wayproof.journey.snapshot.v1",
        "journey_id": "$J",
        "workflow_sequence_id": "solo",
        "definition_digest": PINNED,
        "lifecycle_state": "pending",
        "terminal_reason": None,
        "accounting_status": "pending",
        "current_stage": None,
        "created_at": MIDNIGHT,
        "started_at": None,
        "finished_at": None,
        "deadline_utc": "2030-01-01T00:10:00.000Z",
        "max_total_tokens": 100,
        "tokens": {
            "estimated_prompt_tokens": 0,
            "reserved_tokens": 0,
            "conservatively_committed_tokens": 0,
            "observed_actual_tokens": 0,
            "reconciled_tokens": 0,
            "committed_token_exposure": 0,
        },
        "counters": {
            "workflow_run_starts": UNCLAIMED,
            "task_attempt_starts": UNCLAIMED,
            "provider_retry_attempts": UNCLAIMED,
            "structured_output_correction_attempts": UNCLAIMED,
            "workflow_repair_starts": UNCLAIMED,
            "app_refinement_starts": UNCLAIMED,
        },
        "cancellation": None,
        "accounting_deadline_utc": None,
        "settled_at": None,
        "discrepancy_count": 0,
    },
    "workflow_runs": [],
    "outcome": None,
    "settled": None,
    "reservations": [],
    "discrepancies": [],
}
"""How a journey of :data:`CONSTANTS` stands right after its start."""

RUN: dict[str, Any] = {
    "schema_version": "wayproof.journey.workflow_run_snapshot.v1",
    "journey_id": "$J",
    "workflow_run_id": "$R",
    "parent_workflow_run_id": None,
    "workflow_id": "Builder",
    "purpose": "entry",
    "stage_id": "Builder",
    "sequence_position": 0,
    "member_ordinal": 0,
    "state": "active",
    "superseded": False,
    "pending_input_request_id": None,
    "chosen_option_id": None,
    "created_at": MIDNIGHT,
    "started_at": MIDNIGHT,
    "finished_at": None,
}
RESERVATION: dict[str, Any] = {
    "schema_version": "wayproof.journey.reservation.v1",
    "journey_id": "$J",
    "workflow_run_id": "$R",
    "invocation_id": "call-1",
    "transmission_id": "sent-1",
    "ordinal": 1,
    "idempotency": "none",
    "state": "reserved",
    "estimated_prompt_tokens": 10,
    "reserved_tokens": 30,
    "actual_tokens": None,
    "fencing_token": "$T",
    "lease_expires_at": "2030-01-01T00:01:00.000Z",
    "created_at": MIDNIGHT,
}


def ok(value: Any) -> ExpectedAnswer:
    return ExpectedAnswer(ok=value)


def err(code: str, **detail: Any) -> ExpectedRefusal:
    return ExpectedRefusal(err=RefusalExpectation(code=code, detail=detail))


def call(operation: str, expect: Any, changes: Any = None, **given: Any) -> CallStep:
    """A call by the owner on $J; a keyword that is no field of the step is an argument."""
    fields = {"bind", "version", "clauses", "rests_on"}
    step = {name: value for name, value in given.items() if name in fields}
    arguments = {name: value for name, value in given.items() if name not in fields}
    return CallStep(
        operation=operation,
        arguments={"access": "$owner", "journey_id": "$J", **arguments},
        expect=expect,
        changes=changes,
        **step,
    )


def start(key: str = "key-1", expect: Any = None, **given: Any) -> CallStep:
    fields = {
        "bind": {"J": "/journey_id"},
        "version": "raised",
        "changes": {"/J": PENDING},
        **given,
    }
    return CallStep(
        operation="start",
        arguments={
            "schema_version": "wayproof.journey.start_request.v1",
            "access": "$owner",
            "idempotency_key": key,
            "workflow_sequence_id": "solo",
            "entry": {"kind": "entrypoint", "id": "solo_entry"},
            "policy": "$policy",
        },
        expect=expect or ok({"journey_id": "$J", "definition_digest": PINNED}),
        **fields,
    )


LEASE = call(
    "claim_lease",
    ok({"fencing_token": "$T", "lease_expires_at": "2030-01-01T00:05:00.000Z"}),
    {},
    bind={"T": "/fencing_token"},
    operation_id="lease-1",
    worker_id="worker-1",
    lease_milliseconds=300_000,
)
BEGIN = call(
    "begin_journey",
    ok({"workflow_run_ids": ["$R"], "input_request_id": None}),
    {
        "/J/snapshot/lifecycle_state": "running",
        "/J/snapshot/current_stage": "Builder",
        "/J/snapshot/started_at": MIDNIGHT,
        "/J/snapshot/counters/workflow_run_starts/claimed": 1,
        "/J/workflow_runs/0": RUN,
    },
    bind={"R": "/workflow_run_ids/0"},
    version="raised",
    fencing_token="$T",
)
RESERVE = call(
    "reserve",
    ok({"transmission_id": "sent-1", "reserved_tokens": 30}),
    {
        "/J/reservations/0": RESERVATION,
        "/J/snapshot/tokens/estimated_prompt_tokens": 10,
        "/J/snapshot/tokens/reserved_tokens": 30,
    },
    version="raised",
    clauses=("reservation-01",),
    fencing_token="$T",
    workflow_run_id="$R",
    invocation_id="call-1",
    transmission_id="sent-1",
    idempotency="none",
    estimated_prompt_tokens=10,
    max_output_tokens=20,
    lease_milliseconds=60_000,
)


def ended(state: str, reason: str, at: str) -> dict[str, Any]:
    return {
        "journey_id": "$J",
        "execution_state": state,
        "terminal_reason": reason,
        "finished_at": at,
    }


def outcome(state: str, reason: str, at: str, run_state: str) -> dict[str, Any]:
    run = {"workflow_run_id": "$R", "workflow_id": "Builder", "state": run_state}
    return {
        "schema_version": "wayproof.journey.execution_outcome.v1",
        **ended(state, reason, at),
        "workflow_runs": [run],
        "artifacts": {
            "disposition": "normal_lifecycle" if state == "completed" else "delete",
            "retain_until_utc": None,
        },
    }


def completed_changes(at: str) -> dict[str, Any]:
    """What becomes of the running journey without reservations when it is completed."""
    result = outcome("completed", "journey_completed", at, "completed")
    tokens = PENDING["snapshot"]["tokens"]
    return {
        "/J/snapshot/lifecycle_state": "completed",
        "/J/snapshot/terminal_reason": "journey_completed",
        "/J/snapshot/finished_at": at,
        "/J/snapshot/accounting_deadline_utc": "2030-01-01T00:01:00.000Z",
        "/J/snapshot/accounting_status": "settled",
        "/J/snapshot/settled_at": at,
        "/J/outcome": result,
        "/J/settled": {
            "schema_version": "wayproof.journey.settled_result.v1",
            "outcome": result,
            "accounting_status": "settled",
            "tokens": tokens,
            "discrepancy_count": 0,
            "settled_at": at,
        },
    }


def story(name: str, *steps: Step, **fields: Any) -> Vector:
    """A sealed vector of these steps, whose digests follow from the changes written above."""
    state: Any = {}
    finished: list[Step] = []
    for step in steps:
        if step.changes is None:
            finished.append(step)
        else:
            state = apply_changes(state, step.changes)
            finished.append(replace(step, digest=state_digest(state)))
    given: dict[str, Any] = {
        "title": "A story written by hand",
        "why": "It shows what the player has to judge.",
        "clauses": ("lifecycle-01",),
        "requires": ("durable_lifecycle",),
        "config": Config(registry=REGISTRY, constants=CONSTANTS),
        **fields,
    }
    return seal(
        Vector(
            id=f"hand/{name}",
            start=Start(now=MIDNIGHT),
            steps=tuple(finished),
            final=state,
            origin=Origin(generator="by hand"),
            **given,
        )
    )


COMPLETED = story(
    "whole/0001",
    start(),
    LEASE,
    BEGIN,
    call(
        "finish_workflow_run",
        ok(
            {
                "workflow_run_id": "$R",
                "state": "completed",
                "next_workflow_run_ids": [],
                "next_input_request_id": None,
            }
        ),
        {"/J/workflow_runs/0/state": "completed", "/J/workflow_runs/0/finished_at": MIDNIGHT},
        version="raised",
        fencing_token="$T",
        workflow_run_id="$R",
        outcome="completed",
    ),
    call(
        "complete_journey",
        ok(ended("completed", "journey_completed", MIDNIGHT)),
        completed_changes(MIDNIGHT),
        version="raised",
        fencing_token="$T",
    ),
    RestartStep(changes={}),
    call(
        "heartbeat",
        err("journey_terminal", outcome=ended("completed", "journey_completed", MIDNIGHT)),
        {},
        version="same",
        fencing_token="$T",
        lease_milliseconds=1000,
    ),
)
"""A journey from its start to its settled end, a restart, and a refusal with the outcome."""

RESERVED = story(
    "reserved/0001", start(), LEASE, BEGIN, RESERVE, replace(RESERVE, changes={}, version="same")
)
"""A reservation and its replay."""

FOREIGN = story(
    "foreign/0001",
    start(),
    call("cancel", err("journey_not_found"), {}, version="same", access="$stranger"),
    call("snapshot", err("journey_not_found"), {}, access="$stranger"),
    clauses=("access-10",),
)
"""A stranger learns nothing and changes nothing."""

REPLAYED = story(
    "replayed/0001",
    start(),
    start(bind={}, version="same", changes={}),
    start(
        "key-2",
        ok({"journey_id": "$K", "definition_digest": PINNED}),
        bind={"K": "/journey_id"},
        changes={"/K": {**PENDING, "snapshot": {**PENDING["snapshot"], "journey_id": "$K"}}},
    ),
)
"""A start, its replay, and another start."""

LATE = story(
    "late/0001",
    start(),
    TickStep(to="2030-01-01T00:10:00.000Z"),
    call(
        "terminal_outcome",
        ExpectedOneOf(
            one_of=(
                ok(None),
                ok(
                    {
                        **outcome("timed_out", "deadline_expired", "2030-01-01T00:10:00.000Z", ""),
                        "workflow_runs": [],
                    }
                ),
            )
        ),
    ),
    SweepStep(
        changes={
            "/J/snapshot/lifecycle_state": "timed_out",
            "/J/snapshot/terminal_reason": "deadline_expired",
            "/J/snapshot/finished_at": "2030-01-01T00:10:00.000Z",
            "/J/snapshot/accounting_deadline_utc": "2030-01-01T00:11:00.000Z",
            "/J/snapshot/accounting_status": "settled",
            "/J/snapshot/settled_at": "2030-01-01T00:10:00.000Z",
            "/J/outcome": {
                **outcome("timed_out", "deadline_expired", "2030-01-01T00:10:00.000Z", ""),
                "workflow_runs": [],
            },
            "/J/settled": {
                "schema_version": "wayproof.journey.settled_result.v1",
                "outcome": {
                    **outcome("timed_out", "deadline_expired", "2030-01-01T00:10:00.000Z", ""),
                    "workflow_runs": [],
                },
                "accounting_status": "settled",
                "tokens": PENDING["snapshot"]["tokens"],
                "discrepancy_count": 0,
                "settled_at": "2030-01-01T00:10:00.000Z",
            },
        }
    ),
)
"""A deadline that passes: read before the sweep either way, and settled after it."""

WITHHELD = story(
    "withheld/0001",
    start(
        expect=err(
            "journey_execution_capability_unavailable", missing=["shared_token_reservation"]
        ),
        bind={},
        version="any",
        changes={},
    ),
    config=Config(
        registry=REGISTRY,
        constants=CONSTANTS,
        withheld_capabilities=("shared_token_reservation",),
    ),
)
"""A start that needs what the operator switched off."""

SCOPED = story("scoped/0001", start(), requires=("typed_scope_propagation",))
"""For backends only that propagate scopes."""

UNKNOWN = story(
    "unknown/0001",
    start(),
    CallStep(
        operation="teleport",
        arguments={"to": "$$J"},
        expect=err("unknown_operation"),
        version="any",
        changes={},
    ),
)
"""An operation that no catalogue has, with a literal dollar sign."""

CHILD = story(
    "child/0001",
    start(),
    LEASE,
    BEGIN,
    call(
        "start_workflow_run",
        ok({"workflow_run_ids": ["$R2"], "input_request_id": None}),
        {
            "/J/snapshot/counters/workflow_run_starts/claimed": 2,
            "/J/workflow_runs/1": {
                **RUN,
                "workflow_run_id": "$R2",
                "parent_workflow_run_id": "$R",
                "purpose": "decomposition",
            },
        },
        bind={"R2": "/workflow_run_ids/0"},
        version="raised",
        fencing_token="$T",
        operation_id="child-1",
        parent_workflow_run_id="$R",
        workflow_id="Builder",
        purpose="decomposition",
    ),
)
"""Two runs, which only their ids bring into an order."""

TAKEN_OVER = story(
    "taken-over/0001",
    start(),
    LEASE,
    TickStep(to="2030-01-01T00:05:00.000Z", changes={}),
    call(
        "claim_lease",
        ok({"fencing_token": "$T2", "lease_expires_at": "2030-01-01T00:05:01.000Z"}),
        {},
        bind={"T2": "/fencing_token"},
        operation_id="lease-2",
        worker_id="worker-2",
        lease_milliseconds=1000,
    ),
)
"""A lease that expires, and another worker's."""

STORIES = (
    COMPLETED,
    RESERVED,
    FOREIGN,
    REPLAYED,
    LATE,
    WITHHELD,
    UNKNOWN,
    CHILD,
    TAKEN_OVER,
)
"""All that every backend of this repository must pass."""
