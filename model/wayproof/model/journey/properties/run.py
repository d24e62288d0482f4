"""Contracts on workflow runs (clauses ``run-``)."""

from wayproof.model.journey.properties.contract import (
    JourneyStep,
    WorldStep,
    journey_contract,
    world_contract,
)
from wayproof.model.journey.properties.counter import (
    claims,
    count,
    parent_is_due,
    risen,
    without_room,
)
from wayproof.model.journey.properties.entering import wanted
from wayproof.model.journey.properties.situation import (
    identity_is_known,
    is_live,
    nothing_changed,
    proceeds,
    workflow_run,
)
from wayproof.model.journey.state import Run, State
from wayproof.spec.journey.digests import creation_scope
from wayproof.spec.journey.records import WorkflowRunReading, WorkflowRunsStarted
from wayproof.spec.journey.refusals import RefusalCode
from wayproof.spec.journey.requests import (
    BeginJourneyRequest,
    FinishWorkflowRunRequest,
    StartWorkflowRunRequest,
)
from wayproof.spec.journey.vocabulary import (
    Counter,
    LifecycleState,
    WorkflowRunPurpose,
    WorkflowRunState,
)


def is_begun(step: JourneyStep) -> bool:
    """Whether the entry stage is dispatched by this step, or has to be."""
    if not isinstance(step.request, BeginJourneyRequest):
        return False
    return proceeds(step) and not without_room(step, claims(step))


def new_runs(step: JourneyStep) -> tuple[Run, ...]:
    """The runs that the step added."""
    return step.after.runs[len(step.before.runs) :]


def new_child(step: JourneyStep) -> Run | None:
    """The run that a start_workflow_run answered, if it is no replay."""
    if not isinstance(step.request, StartWorkflowRunRequest) or identity_is_known(step):
        return None
    if not isinstance(step.answer, WorkflowRunsStarted):
        return None
    return workflow_run(step.after, step.answer.workflow_run_ids[0])


@journey_contract("run-01")
def entry_stage_starts_one_run_each(step: JourneyStep) -> bool | None:
    """At stake when the entry stage is dispatched."""
    if not is_begun(step):
        return None
    ids = tuple(run.workflow_run_id for run in step.after.runs)
    asked = tuple(asked.input_request_id for asked in step.after.inputs)
    return (
        len(ids) == len(set(ids)) == len(wanted(step) or ())
        and all(
            run.purpose is WorkflowRunPurpose.ENTRY
            and (
                run.workflow_id is None
                or run.sequence_position != step.terms.entry_position
                or (run.state is WorkflowRunState.ACTIVE and run.started_at == step.now)
            )
            for run in step.after.runs
        )
        and step.answer
        == WorkflowRunsStarted(workflow_run_ids=ids, input_request_id=asked[0] if asked else None)
    )


@journey_contract("run-02")
def only_the_owner_dispatches_the_entry_stage(step: JourneyStep) -> bool | None:
    """At stake when another token than the live one asks to begin a journey."""
    request = step.request
    if not isinstance(request, BeginJourneyRequest) or identity_is_known(step):
        return None
    if is_live(step.before, request.fencing_token, step.now):
        return None
    return step.code is RefusalCode.FENCED and nothing_changed(step)


@journey_contract("run-03")
def entry_runs_are_run_starts(step: JourneyStep) -> bool | None:
    """At stake when the entry stage is dispatched, or finds no room for all of its members."""
    if not isinstance(step.request, BeginJourneyRequest) or not proceeds(step):
        return None
    if not without_room(step, claims(step)):
        return risen(step) == claims(step)
    return (
        step.after.lifecycle is LifecycleState.BUDGET_EXCEEDED
        and step.after.terminal_reason == "workflow_run_start_limit_exhausted"
        and step.after.started_at is None
        and not step.after.runs
        and count(step.after, Counter.WORKFLOW_RUN_STARTS) == 0
    )


@journey_contract("run-04")
def parallel_members_keep_their_order(step: JourneyStep) -> bool | None:
    """At stake when a stage of several members is entered."""
    members = wanted(step) or ()
    if not any(run.member_ordinal for run in members) or without_room(step, claims(step)):
        return None
    return [
        (run.sequence_position, run.member_ordinal, run.workflow_id) for run in new_runs(step)
    ] == [(run.position, run.member_ordinal, run.workflow_id) for run in members]


@journey_contract("run-05")
def child_names_its_parent(step: JourneyStep) -> bool | None:
    """At stake when entry runs or a child run are started."""
    if is_begun(step):
        parents = [None, *(run for run in step.after.runs if run.workflow_id is None)]
        return all(
            run.parent_workflow_run_id == (None if parent is None else parent.workflow_run_id)
            for run, parent in zip(
                step.after.runs, [*parents, *parents[-1:] * len(step.after.runs)], strict=False
            )
        )
    child = new_child(step)
    if child is None:
        return None
    request = step.request
    assert isinstance(request, StartWorkflowRunRequest)
    return (
        workflow_run(step.before, child.workflow_run_id) is None
        and new_runs(step) == (child,)
        and child.parent_workflow_run_id == request.parent_workflow_run_id
        and child.workflow_id == request.workflow_id
        and child.purpose.value == request.purpose
    )


@journey_contract("run-06")
def child_stands_where_its_parent_does(step: JourneyStep) -> bool | None:
    """At stake when a child run is started."""
    child = new_child(step)
    if child is None:
        return None
    request = step.request
    assert isinstance(request, StartWorkflowRunRequest)
    parent = workflow_run(step.before, request.parent_workflow_run_id)
    return parent is not None and (
        child.stage_id,
        child.sequence_position,
        child.member_ordinal,
    ) == (parent.stage_id, parent.sequence_position, parent.member_ordinal)


@journey_contract("run-07")
def purpose_needs_its_parent(step: JourneyStep) -> bool | None:
    """At stake when a decomposition or a repair gets as far as its parent's state."""
    request = step.request
    if not isinstance(request, StartWorkflowRunRequest) or request.purpose == "refinement":
        return None
    if not proceeds(step):
        return None
    codes = (
        (RefusalCode.WORKFLOW_RUN_FINISHED, RefusalCode.WORKFLOW_RUN_NOT_ACTIVE)
        if request.purpose == "decomposition"
        else (RefusalCode.PARENT_NOT_FAILED,)
    )
    if parent_is_due(step, request):
        return step.code not in codes
    return step.code in codes and nothing_changed(step)


@journey_contract("run-08")
def parent_is_a_run_of_the_journey(step: JourneyStep) -> bool | None:
    """At stake when a child run is asked for under a parent that the journey does not have."""
    request = step.request
    if not isinstance(request, StartWorkflowRunRequest) or identity_is_known(step):
        return None
    if workflow_run(step.before, request.parent_workflow_run_id) is not None:
        return None
    return step.code is RefusalCode.UNKNOWN_WORKFLOW_RUN and nothing_changed(step)


@world_contract("run-08")
def parent_of_another_journey_is_unknown(step: WorldStep) -> bool | None:
    """At stake when a child run is asked for under a run of another journey."""
    request = step.request
    if not isinstance(request, StartWorkflowRunRequest):
        return None
    journey = step.before.find(request.journey_id)
    if journey is None or journey.terms.creation_scope != creation_scope(request.access):
        return None
    if any(op.operation_id == request.operation_id for op in journey.state.operations):
        return None
    parent_id = request.parent_workflow_run_id
    if not any(
        workflow_run(other.state, parent_id) is not None
        for other in step.before.journeys
        if other is not journey
    ):
        return None
    return step.code is RefusalCode.UNKNOWN_WORKFLOW_RUN and step.after == step.before


@journey_contract("run-09")
def outcome_of_a_run_is_recorded_once(step: JourneyStep) -> bool | None:
    """At stake when the end of a run is recorded, and when it is reported again."""
    request = step.request
    if not isinstance(request, FinishWorkflowRunRequest):
        return None
    run = workflow_run(step.before, request.workflow_run_id)
    if run is None or not (identity_is_known(step) or isinstance(step.answer, WorkflowRunReading)):
        return None
    if run.state is WorkflowRunState.ACTIVE:
        is_stopping = step.before.lifecycle is LifecycleState.CANCELLING
        return None if is_stopping else _is_recorded(step, request)
    if run.state is not WorkflowRunState.STOPPED and run.state.value != request.outcome:
        return step.code is RefusalCode.OPERATION_CONFLICT and nothing_changed(step)
    return _is_read(step, run) and nothing_changed(step)


def _is_recorded(step: JourneyStep, request: FinishWorkflowRunRequest) -> bool:
    run = workflow_run(step.after, request.workflow_run_id)
    return (
        run is not None
        and (run.state.value, run.finished_at) == (request.outcome, step.now)
        and _is_read(step, run)
    )


def _is_read(step: JourneyStep, run: Run) -> bool:
    answer = step.answer
    return isinstance(answer, WorkflowRunReading) and (answer.workflow_run_id, answer.state) == (
        run.workflow_run_id,
        run.state,
    )


@journey_contract("run-10")
def repeated_start_answers_the_same_run(step: JourneyStep) -> bool | None:
    """At stake when a child run is asked for again under its operation id and inputs."""
    request = step.request
    if not isinstance(request, StartWorkflowRunRequest) or not identity_is_known(step):
        return None
    started = _started(step.before, request)
    if started is None:
        return None
    return step.answer == started and nothing_changed(step)


def _started(before: State, request: StartWorkflowRunRequest) -> object:
    """What the same start was answered before; None if it was another."""
    for known in before.operations:
        first = known.request
        if (
            known.operation_id == request.operation_id
            and isinstance(first, StartWorkflowRunRequest)
            and first.parent_workflow_run_id == request.parent_workflow_run_id
            and first.workflow_id == request.workflow_id
            and first.purpose == request.purpose
        ):
            return known.reply
    return None
