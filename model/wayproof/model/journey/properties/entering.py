"""Which stage a step enters, and what it must create there."""

from wayproof.model.journey.properties.contract import JourneyStep
from wayproof.model.journey.properties.sequence import Wanted, leads_to, wanted_at
from wayproof.model.journey.properties.situation import (
    identity_is_known,
    proceeds,
    remembered,
    run_is_active,
    workflow_run,
)
from wayproof.model.journey.state import Run, State
from wayproof.spec.journey import requests
from wayproof.spec.journey.vocabulary import LifecycleState, WorkflowRunState

ENDED_WELL = (WorkflowRunState.COMPLETED,)


def ending_run(step: JourneyStep) -> Run | None:
    """The run that a request, served as far as its effects, ends well; None if it ends none."""
    request = step.request
    if not isinstance(request, requests.FinishWorkflowRunRequest | requests.SubmitInputRequest):
        return None
    run = workflow_run(step.before, request.workflow_run_id)
    if run is None or not proceeds(step) or step.before.lifecycle is not LifecycleState.RUNNING:
        return None
    if isinstance(request, requests.SubmitInputRequest):
        return run if run.workflow_id is None else None
    is_ending = run_is_active(step.before, run.workflow_run_id) and request.outcome == "completed"
    return run if is_ending else None


def leaves_stage_complete(state: State, ended: Run) -> bool:
    """Whether the stage that was entered last is complete once this run of it has ended well."""
    return ended.sequence_position == state.position and all(
        run.state in ENDED_WELL or (run.state is WorkflowRunState.FAILED and run.superseded)
        for run in state.runs
        if run.sequence_position == state.position and run != ended
    )


@remembered
def wanted(step: JourneyStep) -> tuple[Wanted, ...] | None:
    """What the request must create by entering a stage, if the counters have room; None if it
    enters none."""
    terms, before, request = step.terms, step.before, step.request
    if isinstance(request, requests.BeginJourneyRequest):
        if identity_is_known(step) or not proceeds(step):
            return None
        return tuple(wanted_at(terms, terms.entry_position))
    ended = ending_run(step)
    if ended is None or not leaves_stage_complete(before, ended):
        return None
    chosen = request.option_id if isinstance(request, requests.SubmitInputRequest) else None
    at = ended.sequence_position
    for run in before.runs:
        if run.sequence_position == at and run.chosen_option is not None:
            chosen = run.chosen_option
    return tuple(wanted_at(terms, leads_to(terms, at, chosen)))


def run_starts(step: JourneyStep) -> int:
    """How many workflow-run starts entering the stage claims."""
    return sum(run.workflow_id is not None for run in wanted(step) or ())
