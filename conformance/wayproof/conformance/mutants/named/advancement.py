"""Mutants of advancement: stages that are entered too early, twice, in part or never."""

from typing import Final

from wayproof.conformance.mutants.mutant import Edit, Mutant
from wayproof.conformance.mutants.named import NO_COUNTER_CHECK
from wayproof.conformance.mutants.named.dispatch import ONE_MORE_START

_NEXT: Final = '    next_stage = advancement(tx, run) if state == "completed" else None\n'
_REPLAYED: Final = "_reading(run.workflow_run_id, run.state, entered_by(tx, run.workflow_run_id))"
_BEGINS: Final = "begins = cause is None and not runs"
_STARTED: Final = "(in_stage, is_repair, in_stage and is_repair)"
_IN_STAGE: Final = "in_stage = run.sequence_position == tx.row.stage_position\n"
_INCOMPLETE: Final = "or row.unfinished_runs or"


def _runs(find: str, replace: str) -> Edit:
    return Edit(file="runs.py", find=find, replace=replace)


def _entering(find: str, replace: str) -> Edit:
    return Edit(file="entering.py", find=find, replace=replace)


def _lifecycle(find: str, replace: str) -> Edit:
    return Edit(file="lifecycle.py", find=find, replace=replace)


MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        name="join-forgets-a-repair",
        clauses=("dispatch-08", "lifecycle-12"),
        fault="A stage whose failed member was repaired never counts as complete.",
        kind="sql",
        edits=(_runs(_STARTED, "(in_stage, is_repair, 0)"),),
    ),
    Mutant(
        name="join-forgets-a-failure",
        clauses=("dispatch-08",),
        fault="The last member to complete leads on, though another one has failed.",
        kind="logic",
        edits=(
            _entering(
                "if row.stage_unfinished_runs > 1 or row.stage_unrepaired_failures:",
                "if row.stage_unfinished_runs > 1:",
            ),
        ),
    ),
    Mutant(
        name="first-member-enters-the-next-stage",
        clauses=("dispatch-07", "dispatch-08"),
        fault="The next stage is entered when one of parallel members has completed.",
        kind="logic",
        edits=(
            _entering(
                "if row.stage_unfinished_runs > 1 or row.stage_unrepaired_failures:",
                "if row.stage_unrepaired_failures:",
            ),
        ),
    ),
    Mutant(
        name="children-not-joined",
        clauses=("dispatch-08",),
        fault="A stage counts as complete while a child of one of its members is active.",
        kind="sql",
        edits=(
            _runs(_STARTED, "(0, is_repair, in_stage and is_repair)"),
            _runs(
                f"{_IN_STAGE}    failed =",
                f"{_IN_STAGE}    own = in_stage and run.entered_by is not None\n    failed =",
            ),
            _runs("(in_stage, failed, in_stage and failed)", "(own, failed, in_stage and failed)"),
        ),
    ),
    Mutant(
        name="refinement-of-a-stage-behind-leads-on",
        clauses=("dispatch-07",),
        fault="A refinement of a stage that was left enters the stage behind it again.",
        kind="logic",
        edits=(
            _entering(
                "if run.sequence_position != row.stage_position:",
                "if run.sequence_position > (row.stage_position or 0):",
            ),
        ),
    ),
    Mutant(
        name="failed-run-leads-on",
        clauses=("dispatch-08", "dispatch-01"),
        fault="A stage is left when its run has failed.",
        kind="logic",
        edits=(_runs('if state == "completed" else None', 'if state != "stopped" else None'),),
    ),
    Mutant(
        name="cancelling-journey-advances",
        clauses=("cancel-08",),
        fault="A run that was asked to stop and completed leads on to the next stage.",
        kind="logic",
        edits=(
            _runs('if state == "completed" else', 'if request.outcome == "completed" else'),
            _entering("            guard=\" AND lifecycle_state = 'running'\",\n", ""),
        ),
    ),
    Mutant(
        name="repeated-completion-tells-no-children",
        clauses=("dispatch-07",),
        fault="A repeated completion does not name the runs that it brought about.",
        kind="logic",
        edits=(_runs(_REPLAYED, "_reading(run.workflow_run_id, run.state, NOTHING_ENTERED)"),),
    ),
    Mutant(
        name="repeated-completion-enters-again",
        clauses=("dispatch-07",),
        fault="A repeated completion creates another child, with its intent.",
        kind="transaction",
        edits=(
            _runs(
                f"        return {_REPLAYED}",
                """        entered = entered_by(tx, run.workflow_run_id)
        if entered.workflow_run_ids and tx.row.lifecycle_state == "running":
            from wayproof.impl.journey.entering import WorkflowRunPurpose, _planned
            position, purpose = run.sequence_position + 1, WorkflowRunPurpose.ADVANCEMENT
            entered = _planned(tx, position, purpose, run.workflow_run_id).write(tx)
        return _reading(run.workflow_run_id, run.state, entered)""",
            ),
        ),
    ),
    Mutant(
        name="repeated-completion-names-a-later-request",
        clauses=("dispatch-07", "idempotency-09"),
        fault="A repeated completion names the input for which a run that it created waits by now.",
        kind="logic",
        edits=(_entering("asked = None if workflow_id else tx.one(", "asked = tx.one("),),
    ),
    Mutant(
        name="starts-claimed-at-the-take-over",
        clauses=("dispatch-01", "dispatch-05"),
        fault="The starts of a later stage are claimed when its runs are taken over.",
        kind="transaction",
        edits=(
            _entering(
                'f" {claims(self.wanted)}"',
                "f\" {claims(self.wanted if self.runs[0].purpose == 'entry' else"
                ' {Counter.WORKFLOW_RUN_STARTS: 0})}"',
            ),
            Edit(
                file="dispatch.py",
                find="active_runs = active_runs + 1",
                replace=f"active_runs = active_runs + 1, {ONE_MORE_START}",
            ),
        ),
    ),
    Mutant(
        name="room-for-one-member-is-enough",
        clauses=("dispatch-01", "counter-04"),
        fault="A stage is entered when there is room for one of its members.",
        kind="logic",
        edits=(
            _entering(
                "require_room(tx, wanted)",
                "require_room(tx, {counter: min(1, n) for counter, n in wanted.items()})",
            ),
            NO_COUNTER_CHECK,
        ),
    ),
    Mutant(
        name="completion-kept-without-its-stage",
        clauses=("dispatch-01",),
        fault="Where the next stage has no room, the run that completed stays completed.",
        kind="transaction",
        edits=(
            _runs(_NEXT, ""),
            _runs(
                f"    {_IN_STAGE}    failed =",
                f"{_NEXT}    {_IN_STAGE}    failed =",
            ),
        ),
    ),
    Mutant(
        name="next-stage-begins-at-once",
        clauses=("dispatch-02", "dispatch-01"),
        fault="The runs of every stage are active from its entry on, and no intent is recorded.",
        kind="logic",
        edits=(_entering(_BEGINS, "begins = not runs"),),
    ),
    Mutant(
        name="stage-behind-a-choice-begins-at-once",
        clauses=("dispatch-02",),
        fault="The stage behind a transition that begin passed is active without an intent.",
        kind="logic",
        edits=(_entering(_BEGINS, "begins = cause is None"),),
    ),
    Mutant(
        name="intents-in-the-reverse-order",
        clauses=("dispatch-08",),
        fault="The intents of parallel members are recorded from the last to the first.",
        kind="logic",
        edits=(
            _entering(
                "dispatch_ordinal=intents + ordinal + 1",
                "dispatch_ordinal=intents + len(stage.workflows) - ordinal",
            ),
        ),
    ),
    Mutant(
        name="one-intent-for-each-stage",
        clauses=("dispatch-01",),
        fault="Only the first of parallel members is dispatched.",
        kind="transaction",
        edits=(_entering("        for run in queued:\n", "        for run in queued[:1]:\n"),),
    ),
    Mutant(
        name="current-stage-stays-the-entry",
        clauses=("observe-02", "dispatch-08"),
        fault="The snapshot shows the stage that was entered first.",
        kind="sql",
        edits=(_entering("current_stage = ?,", "current_stage = coalesce(current_stage, ?),"),),
    ),
    Mutant(
        name="advancement-without-a-parent",
        clauses=("dispatch-01", "run-05"),
        fault="A run that a completion brought about is listed without its parent.",
        kind="logic",
        edits=(_entering("parent_workflow_run_id=origin.parent", "parent_workflow_run_id=None"),),
    ),
    Mutant(
        name="passed-transition-is-no-parent",
        clauses=("run-05", "route-06"),
        fault="The stage behind a gate hangs on the run before the gate.",
        kind="logic",
        edits=(_entering("        parent = added[-1].workflow_run_id\n", ""),),
    ),
    Mutant(
        name="passed-transitions-leave-no-run",
        clauses=("route-06",),
        fault="A transition that is passed at once is not recorded, unless it is the last step.",
        kind="logic",
        edits=(
            _entering(
                """        runs += added
        position = stage.following(option_id)
        if added[-1].finished_at is None or position == len(stages):
            break
        parent = added[-1].workflow_run_id
""",
                """        position = stage.following(option_id)
        if added[-1].finished_at is None or position == len(stages):
            runs += added
            break
""",
            ),
        ),
    ),
    Mutant(
        name="completed-with-a-run-queued",
        clauses=("lifecycle-13",),
        fault="A journey is completed while a run is queued or waits.",
        kind="logic",
        edits=(_lifecycle(_INCOMPLETE, "or row.active_runs or"),),
    ),
    Mutant(
        name="completed-with-a-choice-to-come",
        clauses=("lifecycle-13",),
        fault="A journey is completed while one of its runs waits for input.",
        kind="sql",
        edits=(
            _lifecycle(
                _INCOMPLETE,
                """or tx.one(
        "SELECT 1 FROM workflow_runs WHERE journey = ? AND state IN ('queued', 'active')",
        (row.journey,),
    ) or""",
            ),
        ),
    ),
    Mutant(
        name="queued-run-is-an-orphan",
        clauses=("lease-10", "lease-12"),
        fault="A takeover gives up a journey whose runs are queued or wait.",
        kind="logic",
        edits=(
            Edit(file="leases.py", find="if row.active_runs:", replace="if row.unfinished_runs:"),
        ),
    ),
    Mutant(
        name="cancellation-leaves-what-waits",
        clauses=("cancel-08",),
        fault="A run that waits for input is not stopped by a cancellation.",
        kind="sql",
        edits=(_lifecycle("state IN ('queued', 'waiting')", "state = 'queued'"),),
    ),
    Mutant(
        name="cancellation-leaves-what-is-queued",
        clauses=("cancel-08",),
        fault="A queued run is not stopped by a cancellation, and is quarantined at its end.",
        kind="sql",
        edits=(_lifecycle("state IN ('queued', 'waiting')", "state = 'waiting'"),),
    ),
    Mutant(
        name="cancellation-stops-what-is-active",
        clauses=("cancel-08", "cancel-10"),
        fault="A cancellation records active runs as stopped before they report it.",
        kind="sql",
        edits=(_lifecycle(" AND state IN ('queued', 'waiting')", ""),),
    ),
    Mutant(
        name="timeout-leaves-what-waits",
        clauses=("deadline-11", "cancel-15"),
        fault="The end of a journey does not quarantine the run that waits.",
        kind="sql",
        edits=(
            Edit(
                file="ending.py",
                find="WHERE journey = ? AND finished_at IS NULL",
                replace="WHERE journey = ? AND finished_at IS NULL AND state != 'waiting'",
            ),
        ),
    ),
)
