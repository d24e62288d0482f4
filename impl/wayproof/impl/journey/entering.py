"""Entering stages: the runs that a stage gets, in the commit that brings it about.

What is to be entered is planned first, because a plan for which the counters have no room ends the
journey before anything else of the commit is written.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

from wayproof.impl.journey.identities import new_input_request_id, new_workflow_run_id
from wayproof.impl.journey.limits import claims, require_room
from wayproof.impl.journey.outbox import record_intent
from wayproof.impl.journey.rows import RUN_COLUMNS, RunRow
from wayproof.impl.journey.stages import Stage, pinned_stages
from wayproof.impl.journey.transaction import Transaction
from wayproof.spec.journey.vocabulary import (
    Counter,
    DispatchCause,
    WorkflowRunPurpose,
)

BY_BEGINNING: Final = ""
"""What entered the runs of ``begin_journey``, where others have the id of a run."""

_CREATE: Final = (
    f"INSERT INTO workflow_runs (journey, {RUN_COLUMNS}) VALUES (?{', ?' * len(RunRow._fields)})"
)
_ENTERED: Final = (
    "SELECT workflow_run_id, workflow_id FROM workflow_runs INDEXED BY stage_runs"
    " WHERE journey = ? AND entered_by = ?"
    " ORDER BY sequence_position, member_ordinal"
)
_REQUEST_OF_CHOICE: Final = (
    "SELECT input_request_id FROM input_requests WHERE journey = ? AND workflow_run_id = ?"
)


class Entered(NamedTuple):
    """The runs that entering stages created, in order."""

    workflow_run_ids: tuple[str, ...] = ()
    input_request_id: str | None = None
    """For what the last of them waited at once, if it did."""


NOTHING_ENTERED: Final = Entered()


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrance:
    """The runs of the next stages, for which there is room, and which are not written yet."""

    stage: Stage
    """The last of them."""
    runs: tuple[RunRow, ...]
    wanted: dict[Counter, int]

    def write(self, tx: Transaction) -> Entered:
        """Enter the stages. Whatever else the commit changes of the journey's row comes before."""
        for run in self.runs:
            create_run(tx, run)
        queued = [run for run in self.runs if run.dispatch_ordinal is not None]
        for run in queued:
            record_intent(tx, run.dispatch_ordinal or 0, run.workflow_run_id, DispatchCause.START)
        for run in self.runs:
            if run.pending_input_request_id is not None:
                ask(tx, run.workflow_run_id, run.pending_input_request_id)
        unfinished = [run for run in self.runs if run.finished_at is None]
        tx.change(
            "current_stage = ?, stage_position = ?, stage_option = ?, stage_unfinished_runs = ?,"
            " stage_unrepaired_failures = 0, unfinished_runs = unfinished_runs + ?,"
            " active_runs = active_runs + ?, dispatch_intents = dispatch_intents + ?,"
            f" {claims(self.wanted)}",
            (
                *(self.stage.stage_id, self.stage.position, self.runs[-1].chosen_option_id),
                *(len(unfinished), len(unfinished)),
                sum(run.state == "active" for run in self.runs),
                len(queued),
            ),
            guard=" AND lifecycle_state = 'running'",
        )
        return Entered(
            tuple(run.workflow_run_id for run in self.runs),
            self.runs[-1].pending_input_request_id,
        )


def entrance(tx: Transaction) -> Entrance:
    """How the journey begins.

    Raises:
        Refusal: ``workflow_run_start_limit_exhausted``; the journey has ended then.
    """
    return _planned(tx, tx.row.entry_position, WorkflowRunPurpose.ENTRY, None)


def advancement(tx: Transaction, run: RunRow, option_id: str | None = None) -> Entrance | None:
    """How the journey advances once this unfinished run has completed, with that option if it is
    a choice; None if its stage goes on, or is the last.

    Raises:
        Refusal: ``workflow_run_start_limit_exhausted``; the journey has ended then.
    """
    row = tx.row
    if run.sequence_position != row.stage_position:  # a refinement of a stage that was left
        return None
    if row.stage_unfinished_runs > 1 or row.stage_unrepaired_failures:
        return None
    stages = pinned_stages(tx)
    position = stages[run.sequence_position].following(option_id or row.stage_option)
    if position == len(stages):
        return None
    return _planned(tx, position, WorkflowRunPurpose.ADVANCEMENT, run.workflow_run_id)


def entered_by(tx: Transaction, cause: str) -> Entered:
    """What the end of that run entered when it came, or :data:`BY_BEGINNING`, however the runs
    stand now. A run that completed at once ended nothing: the commit's cause entered it all."""
    found = tx.connection.execute(_ENTERED, (tx.row.journey, cause)).fetchall()
    if not found:
        return NOTHING_ENTERED
    last, workflow_id = found[-1]
    # A workflow's run may have been paused since, but it did not wait when it was created.
    asked = None if workflow_id else tx.one(_REQUEST_OF_CHOICE, (tx.row.journey, last))
    return Entered(tuple(run for run, _ in found), None if asked is None else asked[0])


def create_run(tx: Transaction, run: RunRow) -> None:
    """Write a new run; the journey's totals are the caller's."""
    tx.set_once(_CREATE, (tx.row.journey, *run))


def ask(tx: Transaction, workflow_run_id: str, input_request_id: str) -> None:
    """Record the input request for which a run waits."""
    tx.set_once(
        "INSERT INTO input_requests (journey, workflow_run_id, input_request_id) VALUES (?, ?, ?)",
        (tx.row.journey, workflow_run_id, input_request_id),
    )


def _planned(
    tx: Transaction, position: int, purpose: WorkflowRunPurpose, cause: str | None
) -> Entrance:
    stages = pinned_stages(tx)
    runs: list[RunRow] = []
    parent = cause
    while True:
        stage = stages[position]
        option_id = _chosen_at_start(tx, stage)
        begins = cause is None and not runs
        origin = _Origin(purpose.value, parent, BY_BEGINNING if cause is None else cause)
        added = _runs_of(tx, stage, option_id, origin, begins=begins)
        runs += added
        position = stage.following(option_id)
        if added[-1].finished_at is None or position == len(stages):
            break
        parent = added[-1].workflow_run_id
    wanted = {Counter.WORKFLOW_RUN_STARTS: len(stage.workflows)}
    require_room(tx, wanted)
    return Entrance(stage=stage, runs=tuple(runs), wanted=wanted)


class _Origin(NamedTuple):
    """Where a run comes from."""

    purpose: str
    parent: str | None
    entered_by: str


def _runs_of(
    tx: Transaction, stage: Stage, option_id: str | None, origin: _Origin, *, begins: bool
) -> list[RunRow]:
    """The runs of one stage; those of workflows are active at once only where it begins."""
    intents = tx.row.dispatch_intents
    runs = []
    for ordinal, workflow_id in enumerate(stage.workflows or (None,)):
        run = RunRow(
            workflow_run_id=new_workflow_run_id(),
            workflow_id=workflow_id,
            purpose=origin.purpose,
            stage_id=stage.stage_id,
            sequence_position=stage.position,
            member_ordinal=ordinal,
            state="active",
            created_at=tx.now,
            started_at=tx.now,
            parent_workflow_run_id=origin.parent,
            entered_by=origin.entered_by,
        )
        if workflow_id is not None and not begins:
            run = run._replace(
                state="queued", started_at=None, dispatch_ordinal=intents + ordinal + 1
            )
        elif workflow_id is None and stage.is_choice and option_id is None:
            run = run._replace(state="waiting", pending_input_request_id=new_input_request_id())
        elif workflow_id is None:
            run = run._replace(state="completed", chosen_option_id=option_id, finished_at=tx.now)
        runs.append(run)
    return runs


def _chosen_at_start(tx: Transaction, stage: Stage) -> str | None:
    if not stage.is_choice:
        return None
    found = tx.one(
        "SELECT option_id FROM route_choices WHERE journey = ? AND transition_id = ?",
        (tx.row.journey, stage.stage_id),
    )
    return None if found is None else found[0]
