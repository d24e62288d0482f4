"""Faults of workflow runs: their order, their repair, and how the journey's end stops them."""

from typing import Final

from wayproof.conformance.mutants.mutant import Edit, Mutant

_SUPERSEDE: Final = (
    "    if is_repair:\n"
    "        tx.set_once(\n"
    '            "UPDATE workflow_runs SET superseded = 1 WHERE journey = ?'
    ' AND workflow_run_id = ?"\n'
    "            \" AND state = 'failed' AND superseded = 0\",\n"
    "            (tx.row.journey, parent.workflow_run_id),\n"
    "        )\n"
)

MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        name="repair-marks-its-parent-before-the-limits",
        clauses=("precedence-09", "counter-11"),
        fault=(
            "With max_workflow_repair_starts 0 a run fails and its repair is refused; the failed "
            "run is listed as superseded, though no repair exists."
        ),
        kind="transaction",
        edits=(
            Edit(
                file="runs.py",
                find="    wanted = _CHILD_COUNTERS[request.purpose]\n",
                replace=_SUPERSEDE + "    wanted = _CHILD_COUNTERS[request.purpose]\n",
            ),
            Edit(file="runs.py", find=_SUPERSEDE + "    in_stage", replace="    in_stage"),
        ),
    ),
    Mutant(
        name="runs-listed-by-start-before-member",
        clauses=("observe-10", "outcome-02"),
        fault=(
            "Of two parallel members the first spawns a child a millisecond later; it is listed "
            "after the second member instead of between the two."
        ),
        kind="sql",
        edits=(
            Edit(
                file="observation.py",
                find="ORDER BY sequence_position, member_ordinal, created_at, workflow_run_id",
                replace="ORDER BY sequence_position, created_at, member_ordinal, workflow_run_id",
            ),
        ),
    ),
    Mutant(
        name="quarantined-no-later-than-the-deadline",
        clauses=("observe-07", "cancel-15"),
        fault=(
            "A running journey is first swept five seconds after its deadline; its active run is "
            "listed as finished at the deadline instead of at the commit that quarantined it."
        ),
        kind="sql",
        edits=(
            Edit(
                file="ending.py",
                find='NULL, finished_at = ?"\n',
                replace=(
                    "NULL, finished_at ="
                    ' min(?, (SELECT deadline FROM journeys AS j"\n'
                    '        " WHERE j.journey = workflow_runs.journey))"\n'
                ),
            ),
        ),
    ),
    Mutant(
        name="end-quarantines-the-runs-of-every-journey",
        clauses=("cancel-15", "run-08", "observe-07"),
        fault=(
            "Two journeys have begun; one is failed by its worker, and the other one's active run "
            "is listed as quarantined."
        ),
        kind="sql",
        edits=(
            Edit(
                file="ending.py",
                find=(
                    '        " WHERE journey = ? AND finished_at IS NULL",\n'
                    "        (tx.now, tx.row.journey),\n"
                ),
                replace='        " WHERE finished_at IS NULL",\n        (tx.now,),\n',
            ),
        ),
    ),
)
