"""The second migration: stages, the outbox and inputs.

A journey's row counts what is unfinished of the stage that was entered last, so that the end of a
run tells whether its stage is complete without reading another run.
"""

from typing import Final

_WORKFLOW_RUNS: Final = """
CREATE TABLE workflow_runs_2 (
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
    advanced_by TEXT,
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    finished_at INTEGER,
    PRIMARY KEY (journey, workflow_run_id),
    FOREIGN KEY (journey, parent_workflow_run_id) REFERENCES workflow_runs,
    CHECK ((state IN ('queued', 'active', 'waiting')) = (finished_at IS NULL)),
    CHECK ((state = 'waiting') = (pending_input_request_id IS NOT NULL)),
    CHECK (started_at IS NOT NULL OR state IN ('queued', 'stopped', 'quarantined'))
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
    FOREIGN KEY (journey, workflow_run_id) REFERENCES workflow_runs
) STRICT, WITHOUT ROWID
"""

_INPUT_REQUESTS: Final = """
CREATE TABLE input_requests (
    journey INTEGER NOT NULL,
    input_request_id TEXT NOT NULL,
    workflow_run_id TEXT NOT NULL,
    answered INTEGER NOT NULL DEFAULT 0 CHECK (answered IN (0, 1)),
    option_id TEXT CHECK (option_id IS NULL OR answered = 1),
    PRIMARY KEY (journey, input_request_id),
    FOREIGN KEY (journey, workflow_run_id) REFERENCES workflow_runs
) STRICT, WITHOUT ROWID
"""

STAGES: Final[tuple[str, ...]] = (
    _WORKFLOW_RUNS,
    # Every run of the first version was started when it was made, by a journey of one stage.
    "INSERT INTO workflow_runs_2 (journey, workflow_run_id, parent_workflow_run_id, workflow_id,"
    " purpose, stage_id, sequence_position, member_ordinal, state, superseded, created_at,"
    " started_at, finished_at)"
    " SELECT journey, workflow_run_id, parent_workflow_run_id, workflow_id, purpose, stage_id,"
    " sequence_position, member_ordinal, state, superseded, started_at, started_at, finished_at"
    " FROM workflow_runs",
    "DROP TABLE workflow_runs",
    "ALTER TABLE workflow_runs_2 RENAME TO workflow_runs",
    "CREATE INDEX unfinished_runs ON workflow_runs (journey) WHERE finished_at IS NULL",
    "CREATE INDEX entry_runs ON workflow_runs (journey, sequence_position, member_ordinal)"
    " WHERE purpose = 'entry'",
    "CREATE INDEX advanced_runs ON workflow_runs"
    " (journey, advanced_by, sequence_position, member_ordinal) WHERE advanced_by IS NOT NULL",
    "CREATE INDEX chosen_runs ON workflow_runs (journey, sequence_position)"
    " WHERE chosen_option_id IS NOT NULL",
    _DISPATCH_INTENTS,
    "CREATE INDEX intents_of_runs ON dispatch_intents (journey, workflow_run_id)",
    "CREATE INDEX open_intents ON dispatch_intents (journey)"
    " WHERE state IN ('recorded', 'acknowledged')",
    _INPUT_REQUESTS,
    "CREATE INDEX requests_of_runs ON input_requests (journey, workflow_run_id)",
    "ALTER TABLE journeys ADD COLUMN stage_position INTEGER",
    *(
        f"ALTER TABLE journeys ADD COLUMN {count} INTEGER NOT NULL DEFAULT 0 CHECK ({count} >= 0)"
        for count in ("idle_runs", "stage_unfinished", "stage_failures", "dispatch_intents")
    ),
    "UPDATE journeys SET stage_position = entry_position, stage_unfinished = active_runs,"
    " stage_failures = unrepaired_failures WHERE started_at IS NOT NULL",
)
"""The statements that lead from version 1 to version 2."""
