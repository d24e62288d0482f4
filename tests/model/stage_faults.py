"""For every contract on stages, the outbox and inputs, the faults that it must find."""

from dataclasses import replace
from typing import Final

from tests.model.faults import (
    JourneyFault,
    WorldFault,
    carried_out,
    declined,
    ends_as,
    left,
    recounted,
    shown,
    untouched,
    with_runs,
    with_states,
)
from tests.model.plants import extra_run, new_run, reordered, uncounted

from wayproof.model.journey.properties.contract import JourneyStep
from wayproof.model.journey.state import InputRequest, Intent
from wayproof.spec.journey.refusals import RefusalCode
from wayproof.spec.journey.vocabulary import (
    DispatchCause,
    DispatchState,
    LifecycleState,
    WorkflowRunPurpose,
    WorkflowRunState,
)

S = LifecycleState
C = RefusalCode
W = WorkflowRunState


def intents(**fields: object) -> JourneyFault:
    """The step leaves every dispatch intent with other fields."""

    def plant(step: JourneyStep) -> JourneyStep:
        changed = tuple(intent._replace(**fields) for intent in step.after.intents)  # type: ignore[arg-type]
        return left(intents=changed)(step)

    return plant


def without_intents(step: JourneyStep) -> JourneyStep:
    """The step loses every dispatch intent."""
    return left(intents=())(step)


def extra_intent(step: JourneyStep) -> JourneyStep:
    """The step records an intent more."""
    added = Intent("run-1", DispatchCause.RESUME, None, step.now, step.after.record_version)
    return left(intents=(*step.after.intents, added))(step)


def answered_otherwise(step: JourneyStep) -> JourneyStep:
    """Every input request is answered with an option of nobody."""
    changed = tuple(asked._replace(answered=True, option="none") for asked in step.after.inputs)
    return left(inputs=changed)(step)


def without_inputs(step: JourneyStep) -> JourneyStep:
    """The step loses every input request."""
    return left(inputs=())(step)


def unrun(step: JourneyStep) -> JourneyStep:
    """The step creates no run."""
    return left(runs=step.after.runs[: len(step.before.runs)])(step)


def unchanged_runs(step: JourneyStep) -> JourneyStep:
    """The step leaves the runs as they were."""
    return left(runs=step.before.runs)(step)


def _rewaits(step: JourneyStep) -> JourneyStep:
    listing = step.answer
    shown_runs = tuple(
        replace(run, pending_input_request_id="input-of-another") for run in listing.workflow_runs
    )
    return shown(workflow_runs=shown_runs)(step)


def _hidden(step: JourneyStep) -> JourneyStep:
    listing = step.answer
    shown_runs = tuple(
        replace(run, state=W.ACTIVE, pending_input_request_id=None) for run in listing.workflow_runs
    )
    return shown(workflow_runs=shown_runs)(step)


active = with_runs(lambda run: run._replace(state=W.ACTIVE))
restarted = with_runs(lambda run: run._replace(started_at=None))
_FOR_ITS_INPUT: JourneyFault = shown(input_request_id="input-of-another")

STAGE_FAULTS: Final[dict[str, tuple[JourneyFault, ...]]] = {
    # advancement
    "advancement_is_one_commit": (
        unrun,
        extra_run,
        uncounted,
        recounted,
        without_intents,
        extra_intent,
        intents(state=DispatchState.CLAIMED),
        intents(created_version=1),
        active,
    ),
    "advancement_without_room_leaves_nothing": (
        untouched,
        extra_run,
        recounted,
        extra_intent,
        answered_otherwise,
        ends_as(S.RUNNING),
        with_runs(lambda run: run._replace(state=W.COMPLETED)),
    ),
    "repeated_completion_answers_the_same_children": (
        extra_run,
        shown(next_workflow_run_ids=()),
    ),
    "stage_is_claimed_once": (extra_run, extra_intent),
    "next_stage_follows_the_declared_order": (
        unrun,
        reordered,
        new_run(sequence_position=0),
        new_run(purpose=WorkflowRunPurpose.DECOMPOSITION),
        left(position=0),
    ),
    "last_stage_enters_nothing": (extra_run, ends_as(S.COMPLETED)),
    # the outbox
    "queued_run_does_nothing": (carried_out, declined(C.WORKFLOW_RUN_FINISHED), recounted),
    "open_intent_is_delivered": (
        untouched,
        unchanged_runs,
        restarted,
        intents(state=DispatchState.ACKNOWLEDGED),
        without_intents,
        shown(newly_claimed=False),
    ),
    "repeated_delivery_starts_nothing": (
        shown(newly_claimed=True),
        shown(state=W.QUEUED),
        extra_run,
        intents(state=DispatchState.RECORDED),
    ),
    "acknowledgement_keeps_the_intent": (
        without_intents,
        intents(state=DispatchState.CLAIMED),
        intents(state=DispatchState.RECORDED),
        active,
    ),
    "delivery_claims_no_counter": (recounted, declined(C.WORKFLOW_RUN_START_LIMIT_EXHAUSTED)),
    "delivery_checks_the_journey_again": (
        carried_out,
        with_runs(lambda r: r._replace(state=W.QUEUED)),
    ),
    "stopped_journey_suppresses_its_intents": (
        intents(state=DispatchState.RECORDED),
        intents(state=DispatchState.SUPPRESSED),
    ),
    # what waits
    "transition_waits_or_was_chosen": (
        unrun,
        without_inputs,
        active,
        with_runs(lambda run: run._replace(chosen_option="none")),
        with_runs(lambda run: run._replace(finished_at=None)),
    ),
    "choice_is_recorded_and_passes": (
        unchanged_runs,
        with_runs(lambda run: run._replace(chosen_option="none")),
        with_runs(lambda run: run._replace(state=W.WAITING)),
    ),
    "unknown_input_request_is_refused": (
        carried_out,
        declined(C.UNKNOWN_WORKFLOW_RUN),
        recounted,
    ),
    "accepted_input_answers_its_request": (
        answered_otherwise,
        without_inputs,
        _FOR_ITS_INPUT,
        declined(C.UNKNOWN_INPUT_REQUEST),
    ),
    "option_must_be_offered": (carried_out, declined(C.UNKNOWN_INPUT_REQUEST), answered_otherwise),
    "accepted_choice_is_answered_again": (
        shown(option_id="none"),
        declined(C.JOURNEY_TERMINAL),
        extra_run,
    ),
    "other_option_conflicts": (carried_out, declined(C.INVALID_ROUTE_CHOICE), answered_otherwise),
    "input_after_the_end_meets_the_outcome": (carried_out, declined(C.JOURNEY_TERMINAL)),
    "resume_is_answered_again": (extra_intent, _FOR_ITS_INPUT, declined(C.JOURNEY_TERMINAL)),
    "resume_queues_the_same_run": (
        extra_run,
        recounted,
        extra_intent,
        without_intents,
        active,
        intents(input_request_id=None),
    ),
    "pause_leaves_the_journey_running": (active, ends_as(S.CANCELLING)),
    "waiting_run_is_shown": (_rewaits, _hidden),
    "input_needs_no_lease": (declined(C.FENCED),),
    "waiting_journey_is_taken_over": (
        declined(C.ORPHAN_RECOVERY_UNSAFE),
        with_runs(lambda run: run._replace(state=W.QUARANTINED)),
    ),
    # of other topics
    "nothing_goes_on_while_cancelling": (carried_out, declined(C.JOURNEY_TERMINAL), extra_run),
    "queued_work_stops_with_the_cancellation": (unchanged_runs, active),
    "late_input_or_advancement_times_out": (untouched, carried_out, extra_run),
    "waiting_does_not_stop_the_clock": (untouched, ends_as(S.CANCELLING)),
    "resuming_moves_no_deadline": (shown(deadline_utc=None),),
    "stages_to_come_refuse_completion": (carried_out, ends_as(S.COMPLETED)),
}
"""Names of contracts, and the faults of which each must find at least one step's."""


STAGE_WORLD_FAULTS: Final[dict[str, tuple[WorldFault, ...]]] = {
    "crash_leaves_open_intents": (
        with_states(lambda state: state._replace(intents=())),
        with_states(
            lambda state: state._replace(
                intents=tuple(i._replace(state=DispatchState.CLAIMED) for i in state.intents)
            )
        ),
    ),
    "pending_requests_survive_a_restart": (
        with_states(lambda state: state._replace(inputs=())),
        with_states(
            lambda state: state._replace(
                inputs=tuple(
                    InputRequest(f"new-{i}", *asked[1:]) for i, asked in enumerate(state.inputs)
                )
            )
        ),
    ),
}
"""Likewise of contracts on whole worlds."""
