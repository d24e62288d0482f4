"""Stages of the pinned sequence: what entering one creates, and where an option leads.

Nothing here looks at the registry: a journey follows the definition that its start pinned.
"""

import json
from functools import lru_cache
from typing import Final, NamedTuple

from wayproof.impl.journey.identities import new_input_request_id, new_workflow_run_id
from wayproof.impl.journey.limits import claims, require_room
from wayproof.impl.journey.transaction import LostUpdateError, Transaction
from wayproof.spec.journey.definitions import (
    OptionDeclaration,
    ResolvedDefinition,
    TransitionDeclaration,
)
from wayproof.spec.journey.validation import decode_record
from wayproof.spec.journey.vocabulary import Counter, TransitionType

CREATE_RUN: Final = (
    "INSERT INTO workflow_runs (journey, workflow_run_id, parent_workflow_run_id, workflow_id,"
    " purpose, stage_id, sequence_position, member_ordinal, state, pending_input_request_id,"
    " chosen_option_id, advanced_by, created_at, started_at, finished_at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_RECORD_INTENT: Final = (
    "INSERT INTO dispatch_intents (journey, ordinal, workflow_run_id, cause, input_request_id,"
    " state, created_at, created_version) VALUES (?, ?, ?, ?, ?, 'recorded', ?, ?)"
)
_RECORD_REQUEST: Final = (
    "INSERT INTO input_requests (journey, input_request_id, workflow_run_id) VALUES (?, ?, ?)"
)
_CHOSEN: Final = (
    "SELECT chosen_option_id FROM workflow_runs INDEXED BY chosen_runs"
    " WHERE journey = ? AND sequence_position = ? AND chosen_option_id IS NOT NULL"
)


class NewRun(NamedTuple):
    """One run that entering a stage creates."""

    position: int
    member_ordinal: int
    workflow_id: str | None
    state: str
    chosen_option_id: str | None = None


class Stages:
    """The stages of one pinned definition."""

    def __init__(self, definition: ResolvedDefinition) -> None:
        self._sequence_id = definition.sequence.id
        self.steps = definition.sequence.steps
        self._transitions = {transition.id: transition for transition in definition.transitions}

    def transition(self, position: int) -> TransitionDeclaration | None:
        """The transition that the step at a position is."""
        return self._transitions.get(self.steps[position].transition or "")

    def workflows(self, position: int) -> tuple[str, ...]:
        """What runs at a position."""
        transition = self.transition(position)
        if transition is None:
            return self.steps[position].workflows
        return (transition.route_to,) if transition.route_to else ()

    def options(self, transition_id: str) -> dict[str, OptionDeclaration]:
        """What a transition offers to this sequence, by id: no option of another sequence, and
        none that leads nowhere from a step that is this transition."""
        transition = self._transitions.get(transition_id)
        steps = [p for p, step in enumerate(self.steps) if step.transition == transition_id]
        return {
            option.id: option
            for option in (transition.options if transition else ())
            if option.sequence in (None, self._sequence_id)
            and not any(self._target(step, option) is None for step in steps)
        }

    def behind(self, position: int, option_id: str | None) -> int:
        """The position behind a stage, passed with this option if it is a choice."""
        transition = self.transition(position)
        if transition is None or option_id is None:
            return position + 1
        target = self._target(position, self.options(transition.id)[option_id])
        if target is None:
            raise LostUpdateError("a transition was passed with an option that leads nowhere")
        return target

    def _target(self, position: int, option: OptionDeclaration) -> int | None:
        if option.route_to is None:
            return position + 1
        later = enumerate(self.steps[position + 1 :], start=position + 1)
        for target, step in later:
            if step.transition == option.route_to or option.route_to in step.workflows:
                return target
        return None

    def runs_from(self, position: int, choices: dict[str, str]) -> list[NewRun]:
        """Every run that entering the stage at a position creates, in order."""
        runs: list[NewRun] = []
        while position < len(self.steps):
            transition = self.transition(position)
            members = self.workflows(position)
            if members or transition is None:
                return [*runs, *(NewRun(position, n, w, "queued") for n, w in enumerate(members))]
            chosen = choices.get(transition.id)
            if transition.transition_type is TransitionType.USER_CHOICE_CONTEXT and chosen is None:
                return [*runs, NewRun(position, 0, None, "waiting")]
            runs.append(NewRun(position, 0, None, "completed", chosen))
            position = self.behind(position, chosen)
        return runs


def pinned_stages(tx: Transaction) -> Stages:
    """The stages of what the journey pinned, whatever the registry says by now."""
    found = tx.one(
        "SELECT definition FROM definitions WHERE definition_digest = ?",
        (tx.row.definition_digest,),
    )
    if found is None:
        raise LostUpdateError("a pinned definition is gone")
    return _stages(found[0])


@lru_cache(maxsize=256)
def _stages(definition: str) -> Stages:
    return Stages(decode_record(ResolvedDefinition, json.loads(definition)))


def begin_stages(tx: Transaction) -> None:
    """Enter the entry stage, whose members the owner starts itself.

    Raises:
        Refusal: ``workflow_run_start_limit_exhausted``; the journey has ended then.
    """
    row = tx.row
    planned = [
        run._replace(state="active")
        if run.state == "queued" and run.position == row.entry_position
        else run
        for run in pinned_stages(tx).runs_from(row.entry_position, _choices(tx))
    ]
    _require_room(tx, planned)
    _create(
        tx,
        planned,
        purpose="entry",
        advanced_by=None,
        parent=None,
        more="lifecycle_state = 'running', started_at = ?, ",
        values=(tx.now,),
    )


def completes_stage(tx: Transaction, position: int) -> bool:
    """Whether the end of one unfinished run at a position completes the stage that was entered
    last."""
    row = tx.row
    return (position, 1, 0) == (row.stage_position, row.stage_unfinished, row.stage_failures)


def next_stage(tx: Transaction, option_id: str | None = None) -> list[NewRun]:
    """What the next stage creates, behind the option that was chosen or is chosen now; the
    counters have room for it.

    Raises:
        Refusal: ``workflow_run_start_limit_exhausted``; the journey has ended then.
    """
    stages, position = pinned_stages(tx), tx.row.stage_position or 0
    if option_id is None and stages.transition(position) is not None:
        found = tx.one(_CHOSEN, (tx.row.journey, position))
        option_id = None if found is None else found[0]
    planned = stages.runs_from(stages.behind(position, option_id), _choices(tx))
    _require_room(tx, planned)
    return planned


def enter_stage(tx: Transaction, planned: list[NewRun], by: str) -> None:
    """Create what :func:`next_stage` has planned; ``by`` is the run whose end it is."""
    _create(tx, planned, purpose="advancement", advanced_by=by, parent=by)


def record_intent(
    tx: Transaction, workflow_run_id: str, cause: str, input_request_id: str | None
) -> None:
    """Record one dispatch intent more; the transaction's row must be fresh in their number."""
    tx.set_once(
        _RECORD_INTENT,
        (
            *(tx.row.journey, tx.row.dispatch_intents + 1, workflow_run_id, cause),
            *(input_request_id, tx.now, tx.next_version),
        ),
    )
    tx.note("dispatch_intents = dispatch_intents + 1")
    tx.reload()


def record_request(tx: Transaction, workflow_run_id: str) -> str:
    """Record one input request more of a run, and answer its id."""
    input_request_id = new_input_request_id()
    tx.set_once(_RECORD_REQUEST, (tx.row.journey, input_request_id, workflow_run_id))
    return input_request_id


def entered_by(tx: Transaction, by: str | None) -> tuple[tuple[str, ...], str | None]:
    """The runs that the end of a run (None: the begin) created, in order, and for what the last
    waits or waited."""
    if by is None:
        found = tx.connection.execute(
            "SELECT workflow_run_id, workflow_id FROM workflow_runs INDEXED BY entry_runs"
            " WHERE journey = ? AND purpose = 'entry' ORDER BY sequence_position, member_ordinal",
            (tx.row.journey,),
        ).fetchall()
    else:
        found = tx.connection.execute(
            "SELECT workflow_run_id, workflow_id FROM workflow_runs INDEXED BY advanced_runs"
            " WHERE journey = ? AND advanced_by = ? ORDER BY sequence_position, member_ordinal",
            (tx.row.journey, by),
        ).fetchall()
    waits_for = None
    if found and found[-1][1] is None:
        waits_for = tx.one(
            "SELECT input_request_id FROM input_requests INDEXED BY requests_of_runs"
            " WHERE journey = ? AND workflow_run_id = ?",
            (tx.row.journey, found[-1][0]),
        )
    return tuple(run for run, _ in found), None if waits_for is None else waits_for[0]


def _choices(tx: Transaction) -> dict[str, str]:
    found = tx.one("SELECT request FROM starts WHERE journey = ?", (tx.row.journey,))
    if found is None:
        raise LostUpdateError("the start of a journey is gone")
    chosen = json.loads(found[0]).get("route_choices") or ()
    return {choice["transition_id"]: choice["option_id"] for choice in chosen}


def _starts(planned: list[NewRun]) -> dict[Counter, int]:
    starts = sum(run.workflow_id is not None for run in planned)
    return {Counter.WORKFLOW_RUN_STARTS: starts} if starts else {}


def _require_room(tx: Transaction, planned: list[NewRun]) -> None:
    require_room(tx, _starts(planned))


def _create(
    tx: Transaction,
    planned: list[NewRun],
    *,
    purpose: str,
    advanced_by: str | None,
    parent: str | None,
    more: str = "",
    values: tuple[object, ...] = (),
) -> None:
    """Create the planned runs with their intents and requests, and count them."""
    stages, row = pinned_stages(tx), tx.row
    queued: list[str] = []
    for run in planned:
        run_id = new_workflow_run_id()
        waits_for = new_input_request_id() if run.state == "waiting" else None
        tx.connection.execute(
            CREATE_RUN,
            (
                *(row.journey, run_id, parent, run.workflow_id, purpose),
                *(stages.steps[run.position].stage_id, run.position, run.member_ordinal),
                *(run.state, waits_for, run.chosen_option_id, advanced_by, tx.now),
                None if run.state == "queued" else tx.now,
                tx.now if run.state == "completed" else None,
            ),
        )
        if waits_for is not None:
            tx.set_once(_RECORD_REQUEST, (row.journey, waits_for, run_id))
        if run.state == "queued":
            queued.append(run_id)
        if run.state == "completed":
            parent = run_id
    last = planned[-1].position
    unfinished = [run for run in planned if run.state != "completed"]
    active = sum(run.state == "active" for run in planned)
    counted = claims(_starts(planned))
    tx.change(
        f"{more}current_stage = ?, stage_position = ?, stage_unfinished = ?, stage_failures = 0,"
        f" active_runs = active_runs + ?, idle_runs = idle_runs + ?{counted and f', {counted}'}",
        (
            *(*values, stages.steps[last].stage_id, last, len(unfinished)),
            *(active, len(unfinished) - active),
        ),
        guard=" AND lifecycle_state IN ('pending', 'running')",
    )
    tx.reload()
    for run_id in queued:
        record_intent(tx, run_id, "start", None)
