-- A store of version 1, as its software wrote it.
BEGIN TRANSACTION;
CREATE TABLE definitions (
    definition_digest TEXT NOT NULL PRIMARY KEY,
    definition TEXT NOT NULL
) STRICT
;
INSERT INTO "definitions" VALUES('sha256:c9ad86a58baa98c81b16f15d7e92e6978daa88cd01f55f12fb99c39f54c229d6','{"entrypoints":[{"id":"front","sequence":"build","transition":"style"}],"sequence":{"id":"build","steps":[{"transition":null,"workflows":["plan","draw"]}]},"transitions":[{"id":"style","options":[{"id":"plain","sequence":null},{"id":"rich","sequence":null}]}],"workflows":[{"dependencies":[],"id":"draw"},{"dependencies":[],"id":"plan"}]}');
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
;
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
    max_workflow_run_starts INTEGER, max_task_attempt_starts INTEGER, max_provider_retry_attempts INTEGER, max_structured_output_correction_attempts INTEGER, max_workflow_repair_starts INTEGER, max_app_refinement_starts INTEGER, 
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
    estimated_prompt_tokens INTEGER NOT NULL DEFAULT 0 CHECK (estimated_prompt_tokens >= 0), reserved_tokens INTEGER NOT NULL DEFAULT 0 CHECK (reserved_tokens >= 0), conservatively_committed_tokens INTEGER NOT NULL DEFAULT 0 CHECK (conservatively_committed_tokens >= 0), observed_actual_tokens INTEGER NOT NULL DEFAULT 0 CHECK (observed_actual_tokens >= 0), reconciled_tokens INTEGER NOT NULL DEFAULT 0 CHECK (reconciled_tokens >= 0), 
    workflow_run_starts INTEGER NOT NULL DEFAULT 0, task_attempt_starts INTEGER NOT NULL DEFAULT 0, provider_retry_attempts INTEGER NOT NULL DEFAULT 0, structured_output_correction_attempts INTEGER NOT NULL DEFAULT 0, workflow_repair_starts INTEGER NOT NULL DEFAULT 0, app_refinement_starts INTEGER NOT NULL DEFAULT 0, 
    reservations INTEGER NOT NULL DEFAULT 0,
    unsettled_reservations INTEGER NOT NULL DEFAULT 0 CHECK (unsettled_reservations >= 0),
    transmitted_outside_groups INTEGER NOT NULL DEFAULT 0
        CHECK (transmitted_outside_groups >= 0),
    discrepancies INTEGER NOT NULL DEFAULT 0,
    record_version INTEGER NOT NULL CHECK (record_version > 0),
    due_at INTEGER,
    CHECK (max_workflow_run_starts IS NULL OR workflow_run_starts <= max_workflow_run_starts), CHECK (max_task_attempt_starts IS NULL OR task_attempt_starts <= max_task_attempt_starts), CHECK (max_provider_retry_attempts IS NULL OR provider_retry_attempts <= max_provider_retry_attempts), CHECK (max_structured_output_correction_attempts IS NULL OR structured_output_correction_attempts <= max_structured_output_correction_attempts), CHECK (max_workflow_repair_starts IS NULL OR workflow_repair_starts <= max_workflow_repair_starts), CHECK (max_app_refinement_starts IS NULL OR app_refinement_starts <= max_app_refinement_starts), 
    CHECK ((lifecycle_state IN ('pending', 'running', 'cancelling'))
        = (terminal_reason IS NULL AND finished_at IS NULL AND accounting_deadline IS NULL)),
    CHECK ((accounting_status = 'pending') = (settled_at IS NULL)),
    CHECK (accounting_status = 'pending' OR finished_at IS NOT NULL),
    CHECK ((cancellation_reason IS NULL) = (cancellation_requested_at IS NULL)
        AND (cancellation_reason IS NULL) = (cancellation_deadline IS NULL))
) STRICT
;
INSERT INTO "journeys" VALUES(1,'test','journey-00000000000000000000000000000001','tenant owner  ','build','sha256:c9ad86a58baa98c81b16f15d7e92e6978daa88cd01f55f12fb99c39f54c229d6',0,1893459600000,1000000,60,120,'delete',NULL,NULL,NULL,NULL,NULL,NULL,NULL,'running',NULL,'pending','plan+draw',1893456000000,1893456000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1,1893459600000,2,1,20,30,0,25,25,3,0,0,0,0,0,2,1,0,0,8,1893456601000);
INSERT INTO "journeys" VALUES(2,'test','journey-00000000000000000000000000000005','tenant owner  ','build','sha256:c9ad86a58baa98c81b16f15d7e92e6978daa88cd01f55f12fb99c39f54c229d6',0,1893459600000,1000000,60,120,'delete',NULL,NULL,NULL,NULL,NULL,NULL,NULL,'pending',NULL,'pending',NULL,1893456000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1,1893459600000);
INSERT INTO "journeys" VALUES(3,'test','journey-00000000000000000000000000000006','tenant owner  ','build','sha256:c9ad86a58baa98c81b16f15d7e92e6978daa88cd01f55f12fb99c39f54c229d6',0,1893459600000,1000000,60,120,'delete',NULL,NULL,NULL,NULL,NULL,NULL,NULL,'completed','journey_completed','settled','plan+draw',1893456000000,1893456000000,1893456000000,1893456120000,1893456000000,0,NULL,NULL,NULL,1,1893459600000,0,0,0,0,0,0,0,2,0,0,0,0,0,0,0,0,0,5,NULL);
INSERT INTO "journeys" VALUES(4,'test','journey-00000000000000000000000000000009','tenant owner  ','build','sha256:c9ad86a58baa98c81b16f15d7e92e6978daa88cd01f55f12fb99c39f54c229d6',0,1893459600000,1000000,60,120,'delete',NULL,NULL,NULL,NULL,NULL,NULL,NULL,'cancelling',NULL,'pending','plan+draw',1893456000000,1893456000000,NULL,NULL,NULL,NULL,'caller_requested',1893456000000,1893456060000,1,1893459600000,2,0,0,0,0,0,0,2,0,0,0,0,0,0,0,0,0,3,1893456060000);
CREATE TABLE operations (
    journey INTEGER NOT NULL REFERENCES journeys,
    operation_id TEXT NOT NULL,
    operation TEXT NOT NULL,
    inputs TEXT NOT NULL,
    answer TEXT NOT NULL,
    PRIMARY KEY (journey, operation_id)
) STRICT, WITHOUT ROWID
;
INSERT INTO "operations" VALUES(1,'child','StartWorkflowRunRequest','{"parent_workflow_run_id":"run-00000000000000000000000000000002","purpose":"decomposition","workflow_id":"plan"}','{"workflow_run_ids":["run-00000000000000000000000000000004"]}');
INSERT INTO "operations" VALUES(1,'lease','ClaimLeaseRequest','{"lease_milliseconds":3600000,"worker_id":"worker"}','{"fencing_token":1,"lease_expires_at":"2030-01-01T01:00:00.000Z"}');
INSERT INTO "operations" VALUES(3,'lease','ClaimLeaseRequest','{"lease_milliseconds":3600000,"worker_id":"worker"}','{"fencing_token":1,"lease_expires_at":"2030-01-01T01:00:00.000Z"}');
INSERT INTO "operations" VALUES(4,'lease','ClaimLeaseRequest','{"lease_milliseconds":3600000,"worker_id":"worker"}','{"fencing_token":1,"lease_expires_at":"2030-01-01T01:00:00.000Z"}');
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
;
INSERT INTO "reservations" VALUES(1,1,'run-00000000000000000000000000000002','invocation-sent','sent','none','reconciled',10,30,25,1,600000,1893456601000,NULL,1893456001000,5);
INSERT INTO "reservations" VALUES(1,2,'run-00000000000000000000000000000002','invocation-open','open','none','reserved',10,30,NULL,1,600000,1893456601000,1893456601000,1893456001000,8);
CREATE TABLE starts (
    journey INTEGER PRIMARY KEY REFERENCES journeys,
    namespace TEXT NOT NULL,
    creation_scope TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    request_hash TEXT NOT NULL,
    request TEXT NOT NULL,
    UNIQUE (namespace, creation_scope, idempotency_key)
) STRICT
;
INSERT INTO "starts" VALUES(1,'test','tenant owner  ','running','sha256:48a2169eaab04c291b5588c3bb5df7321a3a1f4166acf329f111817b6aa5a137','{"access":{"build_scope_id":null,"owner_id":"owner","schema_version":"wayproof.journey.execution_access.v1","tenant_id":"tenant","workspace_id":null},"entry":{"id":"front","kind":"entrypoint"},"idempotency_key":"running","initial_message":null,"policy":{"accounting_settlement_grace_seconds":120,"cancellation_grace_seconds":60,"cancellation_mode":"cooperative","deadline_utc":"2030-01-01T01:00:00.000Z","max_app_refinement_starts":null,"max_provider_retry_attempts":null,"max_structured_output_correction_attempts":null,"max_task_attempt_starts":null,"max_total_tokens":1000000,"max_workflow_repair_starts":null,"max_workflow_run_starts":null,"partial_artifact_policy":{"on_non_success":"delete","retain_until_utc":null},"schema_version":"mozaiks.journey_execution_policy.v1"},"route_choices":[],"schema_version":"wayproof.journey.start_request.v1","semantic_references":[],"workflow_sequence_id":"build"}');
INSERT INTO "starts" VALUES(2,'test','tenant owner  ','chosen','sha256:3e2e2591ec4bb6450edb35c8cb8d256165a518ffaac9d4d69e20f18884b39fad','{"access":{"build_scope_id":null,"owner_id":"owner","schema_version":"wayproof.journey.execution_access.v1","tenant_id":"tenant","workspace_id":null},"entry":{"id":"front","kind":"entrypoint"},"idempotency_key":"chosen","initial_message":null,"policy":{"accounting_settlement_grace_seconds":120,"cancellation_grace_seconds":60,"cancellation_mode":"cooperative","deadline_utc":"2030-01-01T01:00:00.000Z","max_app_refinement_starts":null,"max_provider_retry_attempts":null,"max_structured_output_correction_attempts":null,"max_task_attempt_starts":null,"max_total_tokens":1000000,"max_workflow_repair_starts":null,"max_workflow_run_starts":null,"partial_artifact_policy":{"on_non_success":"delete","retain_until_utc":null},"schema_version":"mozaiks.journey_execution_policy.v1"},"route_choices":[{"option_id":"plain","transition_id":"style"}],"schema_version":"wayproof.journey.start_request.v1","semantic_references":[],"workflow_sequence_id":"build"}');
INSERT INTO "starts" VALUES(3,'test','tenant owner  ','completed','sha256:48a2169eaab04c291b5588c3bb5df7321a3a1f4166acf329f111817b6aa5a137','{"access":{"build_scope_id":null,"owner_id":"owner","schema_version":"wayproof.journey.execution_access.v1","tenant_id":"tenant","workspace_id":null},"entry":{"id":"front","kind":"entrypoint"},"idempotency_key":"completed","initial_message":null,"policy":{"accounting_settlement_grace_seconds":120,"cancellation_grace_seconds":60,"cancellation_mode":"cooperative","deadline_utc":"2030-01-01T01:00:00.000Z","max_app_refinement_starts":null,"max_provider_retry_attempts":null,"max_structured_output_correction_attempts":null,"max_task_attempt_starts":null,"max_total_tokens":1000000,"max_workflow_repair_starts":null,"max_workflow_run_starts":null,"partial_artifact_policy":{"on_non_success":"delete","retain_until_utc":null},"schema_version":"mozaiks.journey_execution_policy.v1"},"route_choices":[],"schema_version":"wayproof.journey.start_request.v1","semantic_references":[],"workflow_sequence_id":"build"}');
INSERT INTO "starts" VALUES(4,'test','tenant owner  ','cancelling','sha256:48a2169eaab04c291b5588c3bb5df7321a3a1f4166acf329f111817b6aa5a137','{"access":{"build_scope_id":null,"owner_id":"owner","schema_version":"wayproof.journey.execution_access.v1","tenant_id":"tenant","workspace_id":null},"entry":{"id":"front","kind":"entrypoint"},"idempotency_key":"cancelling","initial_message":null,"policy":{"accounting_settlement_grace_seconds":120,"cancellation_grace_seconds":60,"cancellation_mode":"cooperative","deadline_utc":"2030-01-01T01:00:00.000Z","max_app_refinement_starts":null,"max_provider_retry_attempts":null,"max_structured_output_correction_attempts":null,"max_task_attempt_starts":null,"max_total_tokens":1000000,"max_workflow_repair_starts":null,"max_workflow_run_starts":null,"partial_artifact_policy":{"on_non_success":"delete","retain_until_utc":null},"schema_version":"mozaiks.journey_execution_policy.v1"},"route_choices":[],"schema_version":"wayproof.journey.start_request.v1","semantic_references":[],"workflow_sequence_id":"build"}');
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
;
INSERT INTO "workflow_runs" VALUES(1,'run-00000000000000000000000000000002',NULL,'plan','entry','plan+draw',0,0,'active',0,1893456000000,NULL);
INSERT INTO "workflow_runs" VALUES(1,'run-00000000000000000000000000000003',NULL,'draw','entry','plan+draw',0,1,'failed',0,1893456000000,1893456001000);
INSERT INTO "workflow_runs" VALUES(1,'run-00000000000000000000000000000004','run-00000000000000000000000000000002','plan','decomposition','plan+draw',0,0,'active',0,1893456000000,NULL);
INSERT INTO "workflow_runs" VALUES(3,'run-00000000000000000000000000000007',NULL,'plan','entry','plan+draw',0,0,'completed',0,1893456000000,1893456000000);
INSERT INTO "workflow_runs" VALUES(3,'run-00000000000000000000000000000008',NULL,'draw','entry','plan+draw',0,1,'completed',0,1893456000000,1893456000000);
INSERT INTO "workflow_runs" VALUES(4,'run-0000000000000000000000000000000a',NULL,'plan','entry','plan+draw',0,0,'active',0,1893456000000,NULL);
INSERT INTO "workflow_runs" VALUES(4,'run-0000000000000000000000000000000b',NULL,'draw','entry','plan+draw',0,1,'active',0,1893456000000,NULL);
CREATE INDEX journeys_due ON journeys (namespace, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX active_runs ON workflow_runs (journey) WHERE state = 'active';
CREATE INDEX entry_runs ON workflow_runs (journey, member_ordinal) WHERE purpose = 'entry';
CREATE INDEX invocations ON reservations (journey, invocation_id);
CREATE INDEX open_reservations ON reservations (journey, falls_due_at) WHERE falls_due_at IS NOT NULL;
CREATE INDEX group_members ON reservations (journey, invocation_id, state, actual_tokens, reserved_tokens) WHERE idempotency = 'authoritative';
COMMIT;

PRAGMA application_id = 1464881734;
PRAGMA user_version = 1;
