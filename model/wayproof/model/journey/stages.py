"""The stages of the pinned sequence: what entering one creates, and when the next is entered.

::

    finish, input ──> stage complete? ──> next stage ──┬── workflows ──────> queued, one intent each
                                             ▲         ├── choice ─────────> waiting
                                             │         └── passed at once ─> completed ──┐
                                             └───────────────────────────────────────────┘
"""

from collections.abc import Iterator
from typing import NamedTuple

from wayproof.model.journey.counters import claimed, exhausted
from wayproof.model.journey.lifecycle import end_over_budget
from wayproof.model.journey.state import InputRequest, Intent, Run, State, Terms
from wayproof.model.journey.transition import Transition, realises
from wayproof.spec.journey.constraints import MAXIMUM_IDENTIFIER
from wayproof.spec.journey.definitions import (
    OptionDeclaration,
    ResolvedDefinition,
    TransitionDeclaration,
)
from wayproof.spec.journey.digests import digest_of
from wayproof.spec.journey.vocabulary import (
    UNFINISHED_RUN_STATES,
    Counter,
    DispatchCause,
    TerminalReason,
    TransitionType,
    WorkflowRunPurpose,
    WorkflowRunState,
)


class Planned(NamedTuple):
    """One run that entering a stage will create."""

    position: int
    member_ordinal: int
    workflow_id: str | None
    state: WorkflowRunState
    """Queued, waiting or completed."""
    option: str | None = None


class Entered(NamedTuple):
    """What entering a stage has created."""

    state: State
    workflow_run_ids: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()


def transition_at(definition: ResolvedDefinition, position: int) -> TransitionDeclaration | None:
    """The transition that the step at a position is; None for a step of workflows."""
    named = definition.sequence.steps[position].transition
    return next((t for t in definition.transitions if t.id == named), None)


def members(definition: ResolvedDefinition, position: int) -> tuple[str, ...]:
    """The workflows that the stage at a position runs, in order."""
    transition = transition_at(definition, position)
    if transition is None:
        return definition.sequence.steps[position].workflows
    return () if transition.route_to is None else (transition.route_to,)


def destination(
    definition: ResolvedDefinition, position: int, option: OptionDeclaration
) -> int | None:
    """Where an option of the transition at a position leads: the next step, or the first later
    one that it routes to; None if there is none."""
    if option.route_to is None:
        return position + 1
    for later in range(position + 1, len(definition.sequence.steps)):
        step = definition.sequence.steps[later]
        if option.route_to in (step.transition, *step.workflows):
            return later
    return None


def offered(definition: ResolvedDefinition, transition_id: str) -> dict[str, OptionDeclaration]:
    """The options of a transition that this sequence offers, by id: those that name no other
    sequence and, where the transition is a step, lead somewhere from every such step."""
    positions = [
        position
        for position, step in enumerate(definition.sequence.steps)
        if step.transition == transition_id
    ]
    return {
        option.id: option
        for transition in definition.transitions
        if transition.id == transition_id
        for option in transition.options
        if option.sequence in (None, definition.sequence.id)
        and all(destination(definition, at, option) is not None for at in positions)
    }


def plan(terms: Terms, position: int) -> Iterator[Planned]:
    """The runs that entering the stage at a position creates, in order, passing on over what is
    passed at once. Nothing, past the last stage."""
    definition, chosen = terms.definition, dict(terms.choices)
    while position < len(definition.sequence.steps):
        transition = transition_at(definition, position)
        workflows = members(definition, position)
        if workflows:
            for ordinal, workflow_id in enumerate(workflows):
                yield Planned(position, ordinal, workflow_id, WorkflowRunState.QUEUED)
            return
        # A transition that nobody declared is passed by nothing: it waits for good.
        option = None if transition is None else chosen.get(transition.id)
        passed_by = None if transition is None else transition.transition_type
        if passed_by is None or (
            passed_by is TransitionType.USER_CHOICE_CONTEXT and option is None
        ):
            yield Planned(position, 0, None, WorkflowRunState.WAITING)
            return
        yield Planned(position, 0, None, WorkflowRunState.COMPLETED, option)
        position = position_behind(definition, position, option)


def position_behind(definition: ResolvedDefinition, position: int, option: str | None) -> int:
    """The position that follows, behind the option with which a transition was passed."""
    transition = transition_at(definition, position)
    if option is None or transition is None:
        return position + 1
    behind = destination(definition, position, offered(definition, transition.id)[option])
    assert behind is not None
    return behind


def chosen_at(state: State, position: int) -> str | None:
    """The option with which the transition at a position was passed."""
    at = (run for run in state.runs if run.sequence_position == position)
    return next((run.chosen_option for run in at if run.chosen_option is not None), None)


def planned_behind(terms: Terms, state: State, option: str | None) -> int:
    """How many runs the next stage creates, if the present one is passed with this option, or
    with the one that it was passed with."""
    if state.position is None:
        return 0
    transition = transition_at(terms.definition, state.position)
    known = {} if transition is None else offered(terms.definition, transition.id)
    passed_with = option if option in known else chosen_at(state, state.position)
    return len(list(plan(terms, position_behind(terms.definition, state.position, passed_with))))


def is_complete(state: State, position: int) -> bool:
    """Whether every run of the stage at a position has ended well, or is answered for by a
    repair that has."""
    return all(
        run.state not in UNFINISHED_RUN_STATES
        and (run.state is not WorkflowRunState.FAILED or run.superseded)
        for run in state.runs
        if run.sequence_position == position
    )


def input_request_id(run_id: str, state: State) -> str:
    """The id of the next input request of a run, which is an identifier however long the run's
    own is."""
    number = sum(i.workflow_run_id == run_id for i in state.inputs) + 1
    own = f"input-{number}-of-{run_id}"
    return own if len(own) <= MAXIMUM_IDENTIFIER else f"input-{number}-of-{digest_of(run_id)}"


@realises(
    {
        "stage.entered": ("dispatch-01 dispatch-08 route-05 run-04 run-05 identity-01 identity-02"),
        "stage.waits": "route-06 observe-15",
        "stage.passed": "route-06",
    }
)
def enter(
    terms: Terms,
    state: State,
    now: int,
    position: int,
    run_ids: tuple[str, ...],
    *,
    by: Run | None,
) -> Entered | Transition:
    """Enter the stage at a position: claim its counters, create its runs and record their
    intents, all in this one commit; or the end of the journey, if a counter has no room.

    ``by`` is the run whose end it is; None begins the journey, whose first stage the owner
    starts itself.
    """
    planned = list(plan(terms, position))
    starts = sum(run.workflow_id is not None for run in planned)
    over = exhausted(terms, state, now, {Counter.WORKFLOW_RUN_STARTS: starts})
    if over is not None:
        return over
    state = claimed(state, [Counter.WORKFLOW_RUN_STARTS], starts)
    purpose = WorkflowRunPurpose.ENTRY if by is None else WorkflowRunPurpose.ADVANCEMENT
    parent, labels = by, ["stage.entered"] if planned else []
    for run_id, wanted in zip(run_ids, planned, strict=False):
        begins = by is None and wanted.position == terms.entry_position
        run_state = wanted.state
        if begins and run_state is WorkflowRunState.QUEUED:
            run_state = WorkflowRunState.ACTIVE
        run = Run(
            workflow_run_id=run_id,
            parent_workflow_run_id=None if parent is None else parent.workflow_run_id,
            workflow_id=wanted.workflow_id,
            purpose=purpose,
            stage_id=terms.definition.sequence.steps[wanted.position].stage_id,
            sequence_position=wanted.position,
            member_ordinal=wanted.member_ordinal,
            created_at=now,
            started_at=None if run_state is WorkflowRunState.QUEUED else now,
            state=run_state,
            finished_at=now if run_state is WorkflowRunState.COMPLETED else None,
            chosen_option=wanted.option,
            advanced_by=None if by is None else by.workflow_run_id,
        )
        state = state._replace(runs=(*state.runs, run), position=wanted.position)
        if run_state is WorkflowRunState.QUEUED:
            state = intended(state, run_id, DispatchCause.START, None, now)
        elif run_state is WorkflowRunState.WAITING:
            asked = InputRequest(input_request_id(run_id, state), run_id)
            state = state._replace(inputs=(*state.inputs, asked))
            labels.append("stage.waits")
        elif run_state is WorkflowRunState.COMPLETED:
            parent = run
            labels.append("stage.passed")
    return Entered(state, run_ids[: len(planned)], tuple(labels))


def intended(
    state: State, run_id: str, cause: DispatchCause, answered: str | None, now: int
) -> State:
    """The state with one more dispatch intent."""
    intent = Intent(run_id, cause, answered, now, created_version=state.record_version + 1)
    return state._replace(intents=(*state.intents, intent))


def advanced(
    terms: Terms, state: State, now: int, run_ids: tuple[str, ...], by: Run
) -> Entered | Transition:
    """Enter the next stage, if the end of this run completed the one that was entered last."""
    position = by.sequence_position
    if position != state.position or not is_complete(state, position):
        return Entered(state)
    behind = position_behind(terms.definition, position, chosen_at(state, position))
    return enter(terms, state, now, behind, run_ids, by=by)


def entered_by(state: State, by: Run | None) -> tuple[tuple[str, ...], str | None]:
    """The runs that the end of a run (None: the begin) created, and for what the last waits or
    waited: the same whenever it is asked."""
    if by is None:
        created = [run for run in state.runs if run.purpose is WorkflowRunPurpose.ENTRY]
    else:
        created = [run for run in state.runs if run.advanced_by == by.workflow_run_id]
    waits_for = None
    if created and created[-1].workflow_id is None:
        waits_for = next(
            (
                asked.input_request_id
                for asked in state.inputs
                if asked.workflow_run_id == created[-1].workflow_run_id
            ),
            None,
        )
    return tuple(run.workflow_run_id for run in created), waits_for


def unentered(terms: Terms, before: State, refused: Transition, now: int) -> Transition:
    """The refusal of a stage that has no room: of the commit that would have entered it nothing
    remains but the end of the journey."""
    reason = refused.state.terminal_reason
    assert reason is not None
    ended = end_over_budget(terms, before, now, TerminalReason(reason))
    return refused._replace(state=ended)
