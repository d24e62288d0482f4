"""For every contract on the steps of one journey, the faults that it must find."""

from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from tests.model.faults import (
    JourneyFault,
    all_sent,
    answers_with,
    carried_out,
    declined,
    ends_as,
    finished,
    left,
    one_more_reservation,
    recounted,
    reread,
    shown,
    shown_by,
    turned,
    untouched,
    unversioned,
    with_runs,
    without_news,
)

from wayproof.model.journey.properties.contract import JourneyStep
from wayproof.model.journey.state import Lease
from wayproof.spec.journey.constraints import LATEST_MOMENT
from wayproof.spec.journey.refusals import RefusalCode
from wayproof.spec.journey.vocabulary import (
    AccountingStatus,
    ArtifactDisposition,
    LifecycleState,
    WorkflowRunState,
)

S = LifecycleState


def _without_runs(step: JourneyStep) -> JourneyStep:
    return left(runs=())(step)


def _renamed(step: JourneyStep) -> JourneyStep:
    """Every reservation of another invocation."""
    return left(
        transmissions=tuple(r._replace(invocation_id="other") for r in step.after.transmissions)
    )(step)


def _later_end(step: JourneyStep) -> JourneyStep:
    return left(finished_at=(step.after.finished_at or 0) + 1)(step)


def _forgotten_cancellation(step: JourneyStep) -> JourneyStep:
    return left(cancellation=None)(step)


def _late_cutoff(step: JourneyStep) -> JourneyStep:
    cancellation = step.after.cancellation
    assert cancellation is not None
    return left(cancellation=cancellation._replace(deadline=cancellation.deadline + 1))(step)


def _recharged(step: JourneyStep) -> JourneyStep:
    """One token more is observed and reconciled."""
    totals = step.after.totals
    return left(
        observed=step.after.observed + 1, totals=totals._replace(reconciled=totals.reconciled + 1)
    )(step)


def _free_of_charge(step: JourneyStep) -> JourneyStep:
    return left(totals=step.after.totals._replace(conservative=0))(step)


def _reversed(answer: Any) -> dict[str, Any]:
    return {"workflow_runs": answer.workflow_runs[::-1]}


def _first_run(**fields: Any) -> JourneyFault:
    def change(answer: Any) -> dict[str, Any]:
        listed: tuple[Any, ...] = getattr(answer, "workflow_runs", ())
        if not listed or not all(hasattr(listed[0], name) for name in fields):
            return {}
        first, *others = listed
        return {"workflow_runs": (replace(first, **fields), *others)}

    return shown_by(change)


def _completed(answer: Any) -> dict[str, Any]:
    if not hasattr(answer, "workflow_runs"):
        return {}
    runs = (replace(run, state=WorkflowRunState.COMPLETED) for run in answer.workflow_runs)
    return {"workflow_runs": tuple(runs)}


_all_completed = shown_by(_completed)


def _one_token_more(answer: Any) -> dict[str, Any]:
    tokens = answer.tokens
    return {"tokens": replace(tokens, reconciled_tokens=tokens.reconciled_tokens + 1)}


def _one_claim_more(answer: Any) -> dict[str, Any]:
    counter = answer.counters.workflow_run_starts
    changed = replace(counter, claimed=counter.claimed + 1)
    return {"counters": replace(answer.counters, workflow_run_starts=changed)}


def _promoted(answer: Any) -> dict[str, Any]:
    disposition = (
        ArtifactDisposition.DELETE
        if answer.artifacts.disposition is ArtifactDisposition.NORMAL_LIFECYCLE
        else ArtifactDisposition.NORMAL_LIFECYCLE
    )
    return {"artifacts": replace(answer.artifacts, disposition=disposition)}


def _half_a_millisecond_later(answer: Any) -> dict[str, Any]:
    return {"created_at": answer.created_at + timedelta(microseconds=500)}


JOURNEY_FAULTS: Final[dict[str, tuple[JourneyFault, ...]]] = {
    # cancel
    "cancellation_is_persisted_whole": (_forgotten_cancellation, _late_cutoff),
    "accepted_cancellation_answers_cancelling": (
        ends_as(S.CANCELLED),
        shown(lifecycle_state=S.CANCELLED),
    ),
    "repeated_cancellation_changes_nothing": (reread, _later_end, shown(record_version=99)),
    "nothing_new_is_claimed_while_cancelling": (carried_out, recounted),
    "nothing_new_is_sent_while_cancelling": (carried_out, all_sent),
    "what_ends_work_is_accepted_while_cancelling": (declined(RefusalCode.JOURNEY_CANCELLING),),
    "run_that_ends_while_cancelling_is_stopped": (
        with_runs(finished),
        shown(state=WorkflowRunState.COMPLETED),
    ),
    "sweep_cancels_once_quiet": (turned(S.CANCELLED),),
    "cancellation_deadline_ends_the_journey": (ends_as(S.CANCELLING),),
    "earlier_deadline_cuts_cancellation_off": (ends_as(S.TIMED_OUT),),
    "calls_in_flight_do_not_delay_cancelled": (ends_as(S.CANCELLING),),
    "unfinished_runs_are_quarantined": (with_runs(finished),),
    "quarantined_run_stays_so": (with_runs(finished), carried_out),
    "finishing_a_cancellation_twice_changes_nothing": (_later_end, _forgotten_cancellation),
    # compat
    "records_carry_their_version": (
        shown(schema_version="wayproof.journey.snapshot.v2"),
        _first_run(schema_version=""),
    ),
    # deadline
    "deadline_is_the_first_expired_millisecond": (turned(S.TIMED_OUT),),
    "sweep_times_out": (untouched,),
    "snapshot_shows_the_deadline_of_the_start": (shown(deadline_utc=LATEST_MOMENT),),
    "late_cancellation_times_out": (ends_as(S.CANCELLING), shown(lifecycle_state=S.CANCELLING)),
    "late_end_times_out": (ends_as(S.COMPLETED, "journey_completed"), carried_out),
    "late_claim_times_out": (untouched, recounted, carried_out),
    "late_reservation_times_out": (untouched, carried_out),
    "late_transmission_times_out": (all_sent, carried_out),
    "late_run_end_times_out": (with_runs(finished), carried_out),
    "late_ambiguity_times_out": (without_news, ends_as(S.FAILED)),
    "late_overshoot_times_out": (left(discrepancies=()), without_news, ends_as(S.BUDGET_EXCEEDED)),
    "late_worker_gets_no_lease": (left(lease=Lease(9, 9)), carried_out),
    # idempotency
    "known_operation_is_answered_first": (declined(RefusalCode.JOURNEY_TERMINAL), recounted),
    "known_beginning_and_end_are_answered_first": (
        declined(RefusalCode.JOURNEY_TERMINAL),
        declined(RefusalCode.FENCED),
        recounted,
        shown(workflow_run_ids=()),
        shown(state=WorkflowRunState.QUARANTINED),
    ),
    "operation_reused_conflicts": (carried_out, recounted),
    # identity
    "records_use_the_one_name": (shown(workflow_sequence_id="app-1"),),
    "reservation_records_its_ids": (_renamed, one_more_reservation),
    "known_id_names_nothing_new": (one_more_reservation,),
    "equal_reports_count_for_each_transmission": (untouched,),
    "repeated_report_counts_once": (_recharged,),
    # lifecycle
    "every_state_is_named": (ends_as("paused"),),
    "entry_stage_and_running_are_one_commit": (ends_as(S.PENDING), _without_runs),
    "nothing_leaves_a_terminal_state": (ends_as(S.RUNNING),),
    "cancellation_makes_cancelling": (untouched,),
    "failure_makes_failed": (untouched, ends_as(S.CANCELLED)),
    "expiry_makes_timed_out": (untouched, ends_as(S.FAILED)),
    "refused_work_makes_budget_exceeded": (untouched, ends_as(S.FAILED)),
    "overshoot_makes_budget_exceeded": (ends_as(S.RUNNING),),
    "completion_makes_completed": (untouched, carried_out),
    "cancelling_becomes_cancelled_or_stays": (ends_as(S.TIMED_OUT), ends_as(S.RUNNING)),
    "no_shortcut_to_an_end": (ends_as(S.COMPLETED), ends_as(S.CANCELLED)),
    "nothing_goes_back": (ends_as(S.PENDING), ends_as(S.RUNNING)),
    "open_work_refuses_completion": (ends_as(S.COMPLETED), carried_out),
    "open_transmissions_do_not_prevent_completion": (untouched, left(settled_at=1)),
    "terminal_journey_accepts_no_work": (carried_out, recounted, all_sent),
    # observe
    "snapshot_shows_identity_and_state": (
        shown(journey_id="journey-of-nobody"),
        shown(terminal_reason="workflow_failed"),
        shown(accounting_status=AccountingStatus.SETTLEMENT_FAILED),
    ),
    "snapshot_shows_the_stage": (shown(current_stage=None),),
    "listing_shows_every_run": (
        shown(workflow_runs=()),
        _first_run(state=WorkflowRunState.STOPPED),
    ),
    "snapshot_shows_its_moments": (
        shown(started_at=LATEST_MOMENT),
        shown_by(_half_a_millisecond_later),
    ),
    "snapshot_shows_its_tokens": (shown_by(_one_token_more), shown(max_total_tokens=999)),
    "snapshot_shows_its_counters": (shown_by(_one_claim_more),),
    "snapshot_shows_cancellation_and_settlement": (
        shown(accounting_deadline_utc=LATEST_MOMENT),
        shown(cancellation=None),
    ),
    "run_snapshot_shows_the_run": (
        _first_run(started_at=LATEST_MOMENT),
        _first_run(workflow_id="Other"),
    ),
    "runs_are_listed_in_contract_order": (shown_by(_reversed),),
    "reads_belong_to_one_version": (shown(record_version=99),),
    "every_exposed_change_raises_the_version": (unversioned,),
    "reads_and_replays_leave_the_version": (reread,),
    "read_lets_no_time_take_effect": (ends_as(S.TIMED_OUT),),
    # outcome
    "no_outcome_before_the_end": (
        declined(RefusalCode.JOURNEY_INCOMPLETE),
        answers_with("completed"),
    ),
    "terminal_commit_fixes_the_outcome": (left(terminal_reason=None), _later_end),
    "outcome_says_what_was_recorded": (
        answers_with(None),
        shown(execution_state=S.RUNNING),
        shown(terminal_reason="unknown"),
        shown_by(_reversed),
    ),
    "outcome_shows_quarantined_runs": (shown(workflow_runs=()), _all_completed),
    "outcome_shows_the_disposition": (shown_by(_promoted),),
    "outcome_never_changes": (_later_end, ends_as(S.RUNNING), with_runs(finished)),
    "second_end_finds_the_first": (carried_out, ends_as(S.CANCELLED, "caller_requested")),
    "accounting_moves_no_work": (ends_as(S.BUDGET_EXCEEDED), _without_runs, recounted),
    "settled_result_exists_once_accounting_is_final": (
        answers_with(None),
        answers_with("settled"),
    ),
    "accounting_becomes_final_at_one_moment": (left(settled_at=1), ends_as(S.RUNNING)),
    "settled_result_says_what_was_recorded": (
        shown_by(_one_token_more),
        shown(discrepancy_count=99),
        shown(settled_at=LATEST_MOMENT),
    ),
    "settled_result_never_changes": (
        left(accounting=AccountingStatus.PENDING),
        _recharged,
        left(settled_discrepancies=99),
    ),
    "failed_settlement_shows_the_charge": (
        _free_of_charge,
        shown(accounting_status=AccountingStatus.SETTLED),
    ),
    # policy
    "absent_maximum_limits_nothing": (
        declined(RefusalCode.WORKFLOW_RUN_START_LIMIT_EXHAUSTED),
        declined(RefusalCode.TASK_ATTEMPT_START_LIMIT_EXHAUSTED),
    ),
    # precedence
    "deadline_of_a_cancelling_journey_cancels_it": (ends_as(S.TIMED_OUT),),
    "budget_of_a_cancelling_journey_does_not_end_it": (ends_as(S.BUDGET_EXCEEDED), carried_out),
    "end_reported_while_cancelling_is_refused": (ends_as(S.FAILED), carried_out),
    "deadline_comes_before_budget": (ends_as(S.BUDGET_EXCEEDED),),
    "ceiling_ends_the_journey_before_the_call": (
        untouched,
        left(terminal_reason="provider_retry_limit_exhausted"),
    ),
    "tokens_come_before_counters": (left(terminal_reason="provider_retry_limit_exhausted"),),
    "first_end_decides": (ends_as(S.CANCELLING), ends_as(S.FAILED, "workflow_failed")),
    "what_is_overdue_comes_first": (untouched,),
    "refused_means_refused_whole": (recounted, one_more_reservation, _without_runs),
    "mistaken_request_ends_nothing": (ends_as(S.TIMED_OUT), declined(RefusalCode.JOURNEY_TERMINAL)),
    "step_out_of_turn_ends_nothing": (
        ends_as(S.BUDGET_EXCEEDED),
        declined(RefusalCode.TOKEN_BUDGET_EXHAUSTED),
    ),
    "sweep_keeps_the_order_of_time": (
        without_news,
        ends_as(S.FAILED, "provider_transmission_ambiguous"),
        ends_as(S.TIMED_OUT, "deadline_expired"),
    ),
    # reason
    "reason_is_registered": (left(terminal_reason="bored"),),
    "completed_and_timed_out_have_their_own_reason": (left(terminal_reason="workflow_failed"),),
    "cancelled_has_the_reason_of_its_cancellation": (left(terminal_reason="deadline_expired"),),
    "budget_exceeded_has_a_budgets_reason": (left(terminal_reason="workflow_failed"),),
    "failed_has_a_failures_reason": (left(terminal_reason="token_budget_exhausted"),),
    "workflow_failure_has_its_reason": (left(terminal_reason="orphan_recovery_unsafe"),),
    "lost_work_has_its_reason": (left(terminal_reason="workflow_failed"),),
}
"""Names of contracts, and the faults of which each must find at least one step's."""
