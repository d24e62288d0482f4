"""The rows that commands decide on, with the columns to select for each."""

from typing import Final, NamedTuple


class JourneyRow(NamedTuple):
    """Everything but the children of one journey. Moments are milliseconds since 1970 UTC."""

    journey: int
    journey_id: str
    workflow_sequence_id: str
    definition_digest: str
    entry_position: int
    deadline: int
    max_total_tokens: int
    cancellation_grace_seconds: int
    accounting_settlement_grace_seconds: int
    on_non_success: str
    retain_until: int | None
    max_workflow_run_starts: int | None
    max_task_attempt_starts: int | None
    max_provider_retry_attempts: int | None
    max_structured_output_correction_attempts: int | None
    max_workflow_repair_starts: int | None
    max_app_refinement_starts: int | None
    lifecycle_state: str
    terminal_reason: str | None
    accounting_status: str
    current_stage: str | None
    created_at: int
    started_at: int | None
    finished_at: int | None
    accounting_deadline: int | None
    settled_at: int | None
    settled_discrepancies: int | None
    cancellation_reason: str | None
    cancellation_requested_at: int | None
    cancellation_deadline: int | None
    fencing_token: int
    owner_lease_expires_at: int
    active_runs: int
    unfinished_runs: int
    unrepaired_failures: int
    stage_position: int | None
    """Of the stage that was entered last."""
    stage_option: str | None
    """With which that stage was passed, if it is a choice."""
    stage_unfinished_runs: int
    stage_unrepaired_failures: int
    dispatch_intents: int
    estimated_prompt_tokens: int
    reserved_tokens: int
    conservatively_committed_tokens: int
    observed_actual_tokens: int
    reconciled_tokens: int
    workflow_run_starts: int
    task_attempt_starts: int
    provider_retry_attempts: int
    structured_output_correction_attempts: int
    workflow_repair_starts: int
    app_refinement_starts: int
    reservations: int
    unsettled_reservations: int
    transmitted_outside_groups: int
    discrepancies: int
    record_version: int
    due_at: int | None


class RunRow(NamedTuple):
    """One workflow run."""

    workflow_run_id: str
    workflow_id: str | None
    purpose: str
    stage_id: str
    sequence_position: int
    member_ordinal: int
    state: str
    created_at: int
    started_at: int | None
    finished_at: int | None = None
    parent_workflow_run_id: str | None = None
    superseded: int = 0
    pending_input_request_id: str | None = None
    chosen_option_id: str | None = None
    entered_by: str | None = None
    """The run whose end entered its stage, or nothing if that was the journey's begin; absent for
    a child."""
    dispatch_ordinal: int | None = None
    """Of the latest intent that names it."""


class ReservationRow(NamedTuple):
    """The reservation of one physical transmission."""

    ordinal: int
    workflow_run_id: str
    invocation_id: str
    transmission_id: str
    idempotency: str
    state: str
    estimated_prompt_tokens: int
    reserved_tokens: int
    actual_tokens: int | None
    fencing_token: int
    lease_milliseconds: int
    lease_expires_at: int
    created_at: int
    created_version: int


class IntentRow(NamedTuple):
    """One entry of the outbox."""

    ordinal: int
    workflow_run_id: str
    cause: str
    input_request_id: str | None
    state: str
    created_at: int
    created_version: int


JOURNEY_COLUMNS: Final = ", ".join(JourneyRow._fields)
RUN_COLUMNS: Final = ", ".join(RunRow._fields)
RESERVATION_COLUMNS: Final = ", ".join(ReservationRow._fields)
INTENT_COLUMNS: Final = ", ".join(IntentRow._fields)
