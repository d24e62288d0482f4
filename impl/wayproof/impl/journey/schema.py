"""The tables of a journey store, as a list of migrations.

Every number that a command or a snapshot needs about a journey as a whole is a running total in
the journey's row, so that no command reads more as the journey grows. Moments are milliseconds
since 1970 UTC. A reservation that is open carries in ``falls_due_at`` when its lease ends; a
journey carries in ``due_at`` a moment before which no sweep can find anything to do. Of the stage
that was entered last the row counts what is unfinished and what has failed without a repair, so
that the end of a run tells by itself whether the next stage is entered.
"""

from typing import Final

APPLICATION_ID: Final = 0x57505246
"""``WPRF`` in the header of every store file, so that a foreign file is recognised."""

_COUNTERS: Final = (
    "workflow_run_starts",
    "task_attempt_starts",
    "provider_retry_attempts",
    "structured_output_correction_attempts",
    "workflow_repair_starts",
    "app_refinement_starts",
)
_TOTALS: Final = (
    "estimated_prompt_tokens",
    "reserved_tokens",
    "conservatively_committed_tokens",
    "observed_actual_tokens",
    "reconciled_tokens",
)

_DEFINITIONS: Final = """
CREATE TABLE definitions (
    definition_digest TEXT NOT NULL PRIMARY KEY,
    definition TEXT NOT NULL
) STRICT
"""

_JOURNEYS: Final = f"""
CREATE TABLE journeys (
    journey INTEGER PRIMARY KEY,
    namespace TEXT NOT NULL,
    journey_id TEXT NOT NULL UNIQUE,
    creation_scope TEXT NOT NULL,
    workflow_sequence_id TEXT NOT NULL,
    definition_digest TEXT NOT NULL REFERENCES definitions,
    entry_position INTEGER NOT NULL,
    deadline INTEGER NOT NULL,
    max_total_tokens INTEGER NOT NULL CHECK (max_total_tokens > 0),
    cancellation_grace_seconds INTEGER NOT NULL,
    accounting_settlement_grace_seconds INTEGER NOT NULL,
    on_non_success TEXT NOT NULL,
    retain_until INTEGER,
    {"".join(f"max_{counter} INTEGER, " for counter in _COUNTERS)}
    lifecycle_state TEXT NOT NULL CHECK (lifecycle_state IN ('pending', 'running', 'cancelling',
        'completed', 'failed', 'timed_out', 'budget_exceeded', 'cancelled')),
    terminal_reason TEXT,
    accounting_status TEXT NOT NULL
        CHECK (accounting_status IN ('pending', 'settled', 'settlement_failed')),
    current_stage TEXT,
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    finished_at INTEGER,
    accounting_deadline INTEGER,
    settled_at INTEGER,
    settled_discrepancies INTEGER,
    cancellation_reason TEXT,
    cancellation_requested_at INTEGER,
    cancellation_deadline INTEGER,
    fencing_token INTEGER NOT NULL DEFAULT 0,
    owner_lease_expires_at INTEGER NOT NULL DEFAULT 0,
    active_runs INTEGER NOT NULL DEFAULT 0 CHECK (active_runs >= 0),
    unrepaired_failures INTEGER NOT NULL DEFAULT 0 CHECK (unrepaired_failures >= 0),
    {"".join(f"{t} INTEGER NOT NULL DEFAULT 0 CHECK ({t} >= 0), " for t in _TOTALS)}
    {"".join(f"{c} INTEGER NOT NULL DEFAULT 0, " for c in _COUNTERS)}
    reservations INTEGER NOT NULL DEFAULT 0,
    unsettled_reservations INTEGER NOT NULL DEFAULT 0 CHECK (unsettled_reservations >= 0),
    transmitted_outside_groups INTEGER NOT NULL DEFAULT 0
        CHECK (transmitted_outside_groups >= 0),
    discrepancies INTEGER NOT NULL DEFAULT 0,
    record_version INTEGER NOT NULL CHECK (record_version > 0),
    due_at INTEGER,
    {"".join(f"CHECK (max_{c} IS NULL OR {c} <= max_{c}), " for c in _COUNTERS)}
    CHECK ((lifecycle_state IN ('pending', 'running', 'cancelling'))
        = (terminal_reason IS NULL AND finished_at IS NULL AND accounting_deadline IS NULL)),
    CHECK ((accounting_status = 'pending') = (settled_at IS NULL)),
    CHECK (accounting_status = 'pending' OR finished_at IS NOT NULL),
    CHECK ((cancellation_reason IS NULL) = (cancellation_requested_at IS NULL)
        AND (cancellation_reason IS NULL) = (cancellation_deadline IS NULL))
) STRICT
"""

_STARTS: Final = """
CREATE TABLE starts (
    journey INTEGER PRIMARY KEY REFERENCES journeys,
    namespace TEXT NOT NULL,
    creation_scope TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    request_hash TEXT NOT NULL,
    request TEXT NOT NULL,
    UNIQUE (namespace, creation_scope, idempotency_key)
) STRICT
"""

_OPERATIONS: Final = """
CREATE TABLE operations (
    journey INTEGER NOT NULL REFERENCES journeys,
    operation_id TEXT NOT NULL,
    operation TEXT NOT NULL,
    inputs TEXT NOT NULL,
    answer TEXT NOT NULL,
    PRIMARY KEY (journey, operation_id)
) STRICT, WITHOUT ROWID
"""

_WORKFLOW_RUNS: Final = """
CREATE TABLE workflow_runs (
    journey INTEGER NOT NULL REFERENCES journeys,
    workflow_run_id TEXT NOT NULL,
    parent_workflow_run_id TEXT,
    workflow_id TEXT NOT NULL,
    purpose TEXT NOT NULL,
    stage_id TEXT NOT NULL,
    sequence_position INTEGER NOT NULL,
    member_ordinal INTEGER NOT NULL,
    state TEXT NOT NULL
        CHECK (state IN ('active', 'completed', 'failed', 'stopped', 'quarantined')),
    superseded INTEGER NOT NULL DEFAULT 0
        CHECK (superseded = 0 OR superseded = 1 AND state = 'failed'),
    started_at INTEGER NOT NULL,
    finished_at INTEGER,
    PRIMARY KEY (journey, workflow_run_id),
    FOREIGN KEY (journey, parent_workflow_run_id) REFERENCES workflow_runs,
    CHECK ((state = 'active') = (finished_at IS NULL))
) STRICT, WITHOUT ROWID
"""

_RESERVATIONS: Final = """
CREATE TABLE reservations (
    journey INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    workflow_run_id TEXT NOT NULL,
    invocation_id TEXT NOT NULL,
    transmission_id TEXT NOT NULL,
    idempotency TEXT NOT NULL CHECK (idempotency IN ('none', 'authoritative')),
    state TEXT NOT NULL CHECK (state IN ('reserved', 'transmitted', 'reconciled',
        'released_untransmitted', 'expired_conservatively')),
    estimated_prompt_tokens INTEGER NOT NULL CHECK (estimated_prompt_tokens >= 0),
    reserved_tokens INTEGER NOT NULL CHECK (reserved_tokens > estimated_prompt_tokens),
    actual_tokens INTEGER CHECK (actual_tokens >= 0),
    fencing_token INTEGER NOT NULL,
    lease_milliseconds INTEGER NOT NULL,
    lease_expires_at INTEGER NOT NULL,
    falls_due_at INTEGER,
    created_at INTEGER NOT NULL,
    created_version INTEGER NOT NULL,
    PRIMARY KEY (journey, ordinal),
    UNIQUE (journey, transmission_id),
    FOREIGN KEY (journey, workflow_run_id) REFERENCES workflow_runs,
    CHECK ((state = 'reconciled') = (actual_tokens IS NOT NULL)),
    CHECK ((state IN ('reserved', 'transmitted')) = (falls_due_at IS NOT NULL)),
    CHECK (falls_due_at = lease_expires_at)
) STRICT, WITHOUT ROWID
"""

_DISCREPANCIES: Final = """
CREATE TABLE discrepancies (
    journey INTEGER NOT NULL REFERENCES journeys,
    ordinal INTEGER NOT NULL,
    transmission_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    reported_tokens INTEGER,
    recorded_at INTEGER NOT NULL,
    PRIMARY KEY (journey, ordinal),
    UNIQUE (journey, transmission_id, kind)
) STRICT, WITHOUT ROWID
"""

# The planner has no statistics of a young store and would rather go through a whole journey, so
# statements name the index that they need; one that cannot be used is an error and no slow answer.
_INDEXES: Final = (
    # What a sweep wakes up for.
    "CREATE INDEX journeys_due ON journeys (namespace, due_at) WHERE due_at IS NOT NULL",
    "CREATE INDEX active_runs ON workflow_runs (journey) WHERE state = 'active'",
    "CREATE INDEX entry_runs ON workflow_runs (journey, member_ordinal) WHERE purpose = 'entry'",
    # All members of an invocation, the latest last: the primary key's ordinal ends the key.
    "CREATE INDEX invocations ON reservations (journey, invocation_id)",
    "CREATE INDEX open_reservations ON reservations (journey, falls_due_at)"
    " WHERE falls_due_at IS NOT NULL",
    # The greatest member of an authoritative group in each state.
    "CREATE INDEX group_members ON reservations"
    " (journey, invocation_id, state, actual_tokens, reserved_tokens)"
    " WHERE idempotency = 'authoritative'",
)

# Stages behind the first: what is queued, what waits, and the outbox between them.

_RUNS_OF_SEVERAL_STAGES: Final = """
CREATE TABLE new_workflow_runs (
    journey INTEGER NOT NULL REFERENCES journeys,
    workflow_run_id TEXT NOT NULL,
    parent_workflow_run_id TEXT,
    workflow_id TEXT,
    purpose TEXT NOT NULL,
    stage_id TEXT NOT NULL,
    sequence_position INTEGER NOT NULL,
    member_ordinal INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('queued', 'active', 'waiting', 'completed', 'failed',
        'stopped', 'quarantined')),
    superseded INTEGER NOT NULL DEFAULT 0
        CHECK (superseded = 0 OR superseded = 1 AND state = 'failed'),
    pending_input_request_id TEXT,
    chosen_option_id TEXT,
    entered_by TEXT,
    dispatch_ordinal INTEGER,
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    finished_at INTEGER,
    PRIMARY KEY (journey, workflow_run_id),
    FOREIGN KEY (journey, parent_workflow_run_id) REFERENCES workflow_runs,
    CHECK ((state IN ('queued', 'active', 'waiting')) = (finished_at IS NULL)),
    CHECK ((state = 'waiting') = (pending_input_request_id IS NOT NULL)),
    CHECK (state != 'queued' OR dispatch_ordinal IS NOT NULL),
    CHECK (started_at IS NOT NULL OR state IN ('queued', 'stopped', 'quarantined')),
    CHECK (workflow_id IS NOT NULL OR state NOT IN ('queued', 'active', 'failed')),
    CHECK (chosen_option_id IS NULL OR workflow_id IS NULL AND state = 'completed')
) STRICT, WITHOUT ROWID
"""

_DISPATCH_INTENTS: Final = """
CREATE TABLE dispatch_intents (
    journey INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    workflow_run_id TEXT NOT NULL,
    cause TEXT NOT NULL CHECK (cause IN ('start', 'resume')),
    input_request_id TEXT,
    state TEXT NOT NULL CHECK (state IN ('recorded', 'acknowledged', 'claimed', 'suppressed')),
    created_at INTEGER NOT NULL,
    created_version INTEGER NOT NULL,
    PRIMARY KEY (journey, ordinal),
    FOREIGN KEY (journey, workflow_run_id) REFERENCES workflow_runs,
    CHECK ((cause = 'resume') = (input_request_id IS NOT NULL))
) STRICT, WITHOUT ROWID
"""

_INPUT_REQUESTS: Final = """
CREATE TABLE input_requests (
    journey INTEGER NOT NULL,
    workflow_run_id TEXT NOT NULL,
    input_request_id TEXT NOT NULL,
    option_id TEXT,
    answered_at INTEGER,
    PRIMARY KEY (journey, workflow_run_id, input_request_id),
    FOREIGN KEY (journey, workflow_run_id) REFERENCES workflow_runs,
    CHECK (option_id IS NULL OR answered_at IS NOT NULL)
) STRICT, WITHOUT ROWID
"""

_ROUTE_CHOICES: Final = """
CREATE TABLE route_choices (
    journey INTEGER NOT NULL REFERENCES journeys,
    transition_id TEXT NOT NULL,
    option_id TEXT NOT NULL,
    PRIMARY KEY (journey, transition_id)
) STRICT, WITHOUT ROWID
"""

_SEVERAL_STAGES: Final = (
    _RUNS_OF_SEVERAL_STAGES,
    "INSERT INTO new_workflow_runs (journey, workflow_run_id, parent_workflow_run_id, workflow_id,"
    " purpose, stage_id, sequence_position, member_ordinal, state, superseded, entered_by,"
    " created_at, started_at, finished_at)"
    " SELECT journey, workflow_run_id, parent_workflow_run_id, workflow_id, purpose, stage_id,"
    " sequence_position, member_ordinal, state, superseded,"
    " CASE purpose WHEN 'entry' THEN '' END, started_at, started_at, finished_at"
    " FROM workflow_runs",
    "DROP TABLE workflow_runs",
    "ALTER TABLE new_workflow_runs RENAME TO workflow_runs",
    "CREATE INDEX unfinished_runs ON workflow_runs (journey) WHERE finished_at IS NULL",
    "CREATE INDEX stage_runs ON workflow_runs"
    " (journey, entered_by, sequence_position, member_ordinal) WHERE entered_by IS NOT NULL",
    *(
        f"ALTER TABLE journeys ADD COLUMN {column} INTEGER NOT NULL DEFAULT 0 CHECK ({column} >= 0)"
        for column in (
            "unfinished_runs",
            "stage_unfinished_runs",
            "stage_unrepaired_failures",
            "dispatch_intents",
        )
    ),
    "ALTER TABLE journeys ADD COLUMN stage_position INTEGER",
    "ALTER TABLE journeys ADD COLUMN stage_option TEXT",
    # Until now every run was one of the entry stage.
    "UPDATE journeys SET unfinished_runs = active_runs, stage_unfinished_runs = active_runs,"
    " stage_unrepaired_failures = unrepaired_failures, stage_position = entry_position"
    " WHERE started_at IS NOT NULL",
    _DISPATCH_INTENTS,
    "CREATE INDEX open_intents ON dispatch_intents (journey, ordinal)"
    " WHERE state IN ('recorded', 'acknowledged')",
    _INPUT_REQUESTS,
    _ROUTE_CHOICES,
    "INSERT INTO route_choices (journey, transition_id, option_id)"
    " SELECT journey, choice.value ->> 'transition_id', choice.value ->> 'option_id'"
    " FROM starts, json_each(request, '$.route_choices') AS choice",
    # What was answered without the field that these replies have now is answered with it again.
    "UPDATE operations SET answer = json_object('input_request_id', NULL,"
    " 'workflow_run_ids', json_extract(answer, '$.workflow_run_ids'))"
    " WHERE operation = 'StartWorkflowRunRequest'",
)

MIGRATIONS: Final[tuple[tuple[str, ...], ...]] = (
    (
        _DEFINITIONS,
        _JOURNEYS,
        _STARTS,
        _OPERATIONS,
        _WORKFLOW_RUNS,
        _RESERVATIONS,
        _DISCREPANCIES,
        *_INDEXES,
    ),
    _SEVERAL_STAGES,
)
"""The statements that lead from version n to n + 1, for each n from 0."""
