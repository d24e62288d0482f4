"""Contracts of the two results: the outcome, frozen at the end, and the settled result."""

from datetime import datetime

from wayproof.model.journey.properties.contract import JourneyStep, journey_contract
from wayproof.model.journey.properties.due import ENDING_REQUESTS, end_of, ends
from wayproof.model.journey.properties.situation import (
    READS,
    REPORTS,
    is_terminal,
    reaches_checkpoint,
)
from wayproof.model.journey.state import Run, State
from wayproof.model.journey.transition import Refused
from wayproof.spec.journey import requests
from wayproof.spec.journey.constraints import from_milliseconds
from wayproof.spec.journey.records import (
    JourneyExecutionOutcome,
    JourneySettledResult,
    JourneySnapshot,
)
from wayproof.spec.journey.vocabulary import (
    AccountingStatus,
    ArtifactDisposition,
    Idempotency,
    LifecycleState,
    ReservationState,
    WorkflowRunState,
)


def contract_order(run: Run) -> tuple[int, int, int, str]:
    """By what runs are ordered wherever they are listed."""
    return (run.sequence_position, run.member_ordinal, run.created_at, run.workflow_run_id)


def outcome_matches(outcome: object, state: State) -> bool:
    """Whether an outcome says of state, reason, time and runs what is recorded of them."""
    return (
        isinstance(outcome, JourneyExecutionOutcome)
        and outcome.execution_state is state.lifecycle
        and outcome.terminal_reason == state.terminal_reason
        and outcome.finished_at == _moment(state.finished_at)
        and [(r.workflow_run_id, r.workflow_id, r.state) for r in outcome.workflow_runs]
        == [
            (r.workflow_run_id, r.workflow_id, r.state)
            for r in sorted(state.runs, key=contract_order)
        ]
    )


def _moment(milliseconds: int | None) -> datetime | None:
    return None if milliseconds is None else from_milliseconds(milliseconds)


@journey_contract("outcome-01")
def no_outcome_before_the_end(step: JourneyStep) -> bool | None:
    """A journey that goes on has no outcome, whatever its runs have done."""
    if not isinstance(step.request, requests.TerminalOutcomeRequest) or is_terminal(step.before):
        return None
    return step.code is None and step.answer is None


@journey_contract("outcome-02")
def terminal_commit_fixes_the_outcome(step: JourneyStep) -> bool | None:
    """The commit that ends the journey has a reason and its own moment."""
    if not ends(step):
        return None
    return step.after.terminal_reason is not None and step.after.finished_at == step.now


@journey_contract("outcome-02")
def outcome_says_what_was_recorded(step: JourneyStep) -> bool | None:
    """The outcome of a terminal journey carries state, reason and all runs in contract order."""
    if not isinstance(step.request, requests.TerminalOutcomeRequest):
        return None
    if not is_terminal(step.before):
        return None
    return outcome_matches(step.answer, step.before)


@journey_contract("outcome-03")
def outcome_shows_quarantined_runs(step: JourneyStep) -> bool | None:
    """A run that was unfinished at the end is quarantined in the outcome, not completed."""
    outcome = step.answer
    if not isinstance(outcome, JourneyExecutionOutcome):
        return None
    unfinished = {
        run.workflow_run_id for run in step.before.runs if run.state is WorkflowRunState.QUARANTINED
    }
    if not unfinished:
        return None
    return unfinished == {
        run.workflow_run_id
        for run in outcome.workflow_runs
        if run.state is WorkflowRunState.QUARANTINED
    }


@journey_contract("outcome-04")
def outcome_shows_the_disposition(step: JourneyStep) -> bool | None:
    """Artifacts follow their own lifecycle after completion, otherwise what the policy asked."""
    outcome = step.answer
    if isinstance(outcome, JourneySettledResult):
        outcome = outcome.outcome
    if not isinstance(outcome, JourneyExecutionOutcome):
        return None
    shown = (outcome.artifacts.disposition.value, outcome.artifacts.retain_until_utc)
    if outcome.execution_state is LifecycleState.COMPLETED:
        return shown == (ArtifactDisposition.NORMAL_LIFECYCLE.value, None)
    asked = step.terms.policy.partial_artifact_policy
    return shown == (asked.on_non_success, asked.retain_until_utc)


@journey_contract("outcome-06")
def outcome_never_changes(step: JourneyStep) -> bool | None:
    """Nothing that is done to a terminal journey changes what its outcome says."""
    if not is_terminal(step.before) or isinstance(step.request, READS):
        return None
    return end_of(step.after) == end_of(step.before)


@journey_contract("outcome-07")
def second_end_finds_the_first(step: JourneyStep) -> bool | None:
    """A command that would end a terminal journey is told of the one end that there is."""
    if (
        not isinstance(step.request, ENDING_REQUESTS)
        or not is_terminal(step.before)
        or not reaches_checkpoint(step)
    ):
        return None
    told = step.reply.outcome if isinstance(step.reply, Refused) else step.answer
    state = told.lifecycle_state if isinstance(told, JourneySnapshot) else None
    if told is None:
        return False
    return (
        (state or told.execution_state) is step.before.lifecycle
        and told.terminal_reason == step.before.terminal_reason
        and told.finished_at == _moment(step.before.finished_at)
        and end_of(step.after) == end_of(step.before)
    )


@journey_contract("outcome-08")
def accounting_moves_no_work(step: JourneyStep) -> bool | None:
    """Evidence about, and settlement of, a terminal journey's tokens starts and moves nothing."""
    before, after = step.before, step.after
    if not is_terminal(before):
        return None
    if not (isinstance(step.request, REPORTS) and reaches_checkpoint(step)) and (
        (before.accounting, before.totals) == (after.accounting, after.totals)
    ):
        return None
    return (before.lifecycle, before.terminal_reason, before.runs, before.started_at) == (
        after.lifecycle,
        after.terminal_reason,
        after.runs,
        after.started_at,
    ) and before.counters == after.counters


@journey_contract("outcome-09")
def settled_result_exists_once_accounting_is_final(step: JourneyStep) -> bool | None:
    """Nothing while accounting is pending, the result from then on."""
    if not isinstance(step.request, requests.SettledResultRequest):
        return None
    if step.before.accounting is AccountingStatus.PENDING:
        return step.code is None and step.answer is None
    return isinstance(step.answer, JourneySettledResult)


@journey_contract("outcome-09")
def accounting_becomes_final_at_one_moment(step: JourneyStep) -> bool | None:
    """The commit that makes accounting final is the moment that the result shows."""
    if step.before.accounting is not AccountingStatus.PENDING:
        return None
    if step.after.accounting is AccountingStatus.PENDING:
        return None
    return is_terminal(step.after) and step.after.settled_at == step.now


@journey_contract("outcome-10")
def settled_result_says_what_was_recorded(step: JourneyStep) -> bool | None:
    """The settled result holds the outcome, the final totals and the status."""
    result, state = step.answer, step.before
    if not isinstance(result, JourneySettledResult):
        return None
    totals = state.totals
    return (
        outcome_matches(result.outcome, state)
        and result.accounting_status is state.accounting
        and result.settled_at == _moment(state.settled_at)
        and result.discrepancy_count == state.settled_discrepancies
        and (
            result.tokens.reserved_tokens,
            result.tokens.conservatively_committed_tokens,
            result.tokens.reconciled_tokens,
            result.tokens.observed_actual_tokens,
            result.tokens.estimated_prompt_tokens,
        )
        == (0, totals.conservative, totals.reconciled, state.observed, state.estimated)
    )


@journey_contract("outcome-10")
def settled_result_never_changes(step: JourneyStep) -> bool | None:
    """Whatever is reported after accounting became final leaves the result as it is."""
    before, after = step.before, step.after
    if before.accounting is AccountingStatus.PENDING or isinstance(step.request, READS):
        return None
    return _accounts(before) == _accounts(after) and end_of(before) == end_of(after)


def _accounts(state: State) -> tuple[object, ...]:
    return (
        state.accounting,
        state.settled_at,
        state.settled_discrepancies,
        state.totals,
        state.observed,
        state.estimated,
        tuple((t.transmission_id, t.state, t.actual_tokens) for t in state.transmissions),
    )


@journey_contract("outcome-11")
def failed_settlement_shows_the_charge(step: JourneyStep) -> bool | None:
    """A settlement that failed charges what is unknown in full, and shows no zero for it."""
    after = step.after
    if after.accounting is not AccountingStatus.SETTLEMENT_FAILED:
        return None
    result = step.answer
    if step.before.accounting is not AccountingStatus.PENDING and not isinstance(
        step.request, requests.SettledResultRequest
    ):
        return None
    unknown = [
        record
        for record in after.transmissions
        if record.state is ReservationState.EXPIRED_CONSERVATIVELY
    ]
    charge = sum(r.reserved_tokens for r in unknown if r.idempotency is Idempotency.NONE)
    shown = after.totals.conservative
    if isinstance(step.request, requests.SettledResultRequest):
        if not isinstance(result, JourneySettledResult):
            return False
        shown = result.tokens.conservatively_committed_tokens
        if result.accounting_status is not AccountingStatus.SETTLEMENT_FAILED:
            return False
    return (
        bool(unknown)
        and shown >= charge
        and all(record.actual_tokens is None for record in unknown)
    )
