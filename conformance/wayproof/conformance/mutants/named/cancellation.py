"""Mutants that cancel too early, too late, or twice."""

from typing import Final

from wayproof.conformance.mutants.mutant import Edit, Mutant
from wayproof.conformance.mutants.named import FROM_ANY_STATE, SAME_SCOPE

_SNAPSHOT: Final = "return snapshot_of(tx.row)"
_SWEPT: Final = 'if row.lifecycle_state == "cancelling" and row.active_runs == 0:'

MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        name="cancellation-of-a-pending-journey-not-shown",
        clauses=("cancel-01", "observe-06"),
        fault="The snapshot of a journey that was cancelled before it began shows no cancellation.",
        kind="logic",
        edits=(
            Edit(
                file="observation.py",
                find="if row.cancellation_reason is None:",
                replace="if row.cancellation_reason is None or row.started_at is None:",
            ),
        ),
    ),
    Mutant(
        name="cancellation-deadline-held-to-the-deadline",
        clauses=("cancel-03",),
        fault="cancellation_deadline_utc is never later than deadline_utc.",
        kind="sql",
        edits=(
            Edit(
                file="lifecycle.py",
                find="cancellation_requested_at = ?, cancellation_deadline = ?",
                replace="cancellation_requested_at = ?, cancellation_deadline = min(?, deadline)",
            ),
        ),
    ),
    Mutant(
        name="cancelled-in-the-commit-of-the-request",
        clauses=("cancel-04", "lifecycle-10"),
        fault="The cancellation of a journey without active runs ends it at once.",
        kind="transaction",
        edits=(
            Edit(
                file="lifecycle.py",
                find=_SNAPSHOT,
                replace="""if tx.row.lifecycle_state == "cancelling" and not tx.row.active_runs:
        end(tx, LifecycleState.CANCELLED, tx.row.cancellation_reason or "")
    """
                + _SNAPSHOT,
            ),
        ),
    ),
    Mutant(
        name="cancel-answered-from-before-its-commit",
        clauses=("cancel-04", "observe-11"),
        fault="An accepted cancellation answers the snapshot as it was before.",
        kind="transaction",
        edits=(
            Edit(
                file="lifecycle.py",
                find='    checkpoint(tx)\n    if tx.row.lifecycle_state in ("pending", "running"):',
                replace="    checkpoint(tx)\n    before = tx.row\n"
                '    if tx.row.lifecycle_state in ("pending", "running"):',
            ),
            Edit(file="lifecycle.py", find=_SNAPSHOT, replace="return snapshot_of(before)"),
        ),
    ),
    Mutant(
        name="second-cancellation-replaces-the-reason",
        clauses=("cancel-05", "reason-03"),
        fault="A cancelling journey takes over the reason code of a later cancellation.",
        kind="sql",
        edits=(
            Edit(
                file="lifecycle.py",
                find=_SNAPSHOT,
                replace="""if tx.row.cancellation_reason not in (None, request.reason_code.value):
        if tx.row.terminal_reason is None:
            tx.change("cancellation_reason = ?", (request.reason_code.value,))
            tx.reload()
    """
                + _SNAPSHOT,
            ),
        ),
    ),
    Mutant(
        name="repeated-cancellation-raises-the-version",
        clauses=("cancel-05", "observe-13"),
        fault="The cancellation of a cancelling journey commits the same values again.",
        kind="transaction",
        edits=(
            Edit(
                file="lifecycle.py",
                find='if tx.row.lifecycle_state in ("pending", "running"):',
                replace="""if tx.row.lifecycle_state == "cancelling":
        tx.change("cancellation_reason = cancellation_reason")
        tx.reload()
    if tx.row.lifecycle_state in ("pending", "running"):""",
            ),
        ),
    ),
    Mutant(
        name="cancelling-journey-accepts-attempts",
        clauses=("cancel-06",),
        fault="An active run of a cancelling journey can still claim a correction.",
        kind="sql",
        edits=(
            Edit(
                file="runs.py",
                find="require_going(tx)\n    require_active(run)\n    wanted",
                replace="require_going(tx, or_cancelling=request.counters == "
                '("structured_output_correction_attempts",))\n    require_active(run)\n    wanted',
            ),
            Edit(
                file="runs.py",
                find="tx.change(claims(wanted), guard=\" AND lifecycle_state = 'running'\")",
                replace="tx.change(claims(wanted))",
            ),
        ),
    ),
    Mutant(
        name="cancelling-journey-transmits",
        clauses=("cancel-07",),
        fault="What was reserved before the cancellation can still be transmitted.",
        kind="logic",
        edits=(
            Edit(
                file="reservations.py",
                find="require_going(tx)\n    require_active(known_run",
                replace="require_going(tx, or_cancelling=True)\n    require_active(known_run",
            ),
        ),
    ),
    Mutant(
        name="cancelling-journey-refuses-heartbeats",
        clauses=("cancel-09", "lease-02"),
        fault="The owner of a cancelling journey cannot extend its lease.",
        kind="logic",
        edits=(
            Edit(
                file="leases.py",
                find="require_going(tx, or_cancelling=True)",
                replace="require_going(tx)",
            ),
        ),
    ),
    Mutant(
        name="failure-while-cancelling-kept",
        clauses=("cancel-10",),
        fault="A run that fails while its journey is cancelling is recorded as failed.",
        kind="logic",
        edits=(
            Edit(
                file="runs.py",
                find='if tx.row.lifecycle_state == "cancelling" else request.outcome',
                replace='if tx.row.lifecycle_state == "cancelling"'
                ' and request.outcome == "completed" else request.outcome',
            ),
        ),
    ),
    Mutant(
        name="pending-cancellation-waits-for-its-cutoff",
        clauses=("cancel-11",),
        fault="Over no runs the sum of active ones is no zero: a journey cancelled before it"
        " begins waits for its cutoff.",
        kind="sql",
        edits=(
            Edit(
                file="sweeps.py",
                find=_SWEPT,
                replace="""stopped = tx.one(
        "SELECT 1 FROM workflow_runs WHERE journey = ? HAVING sum(state = 'active') = 0",
        (row.journey,),
    )
    if row.lifecycle_state == "cancelling" and stopped:""",
            ),
        ),
    ),
    Mutant(
        name="last-stop-does-not-make-the-journey-due",
        clauses=("cancel-11",),
        fault="The next sweep does not notice that the last run of a cancelling journey stopped.",
        kind="transaction",
        edits=(Edit(file="runs.py", find='if state == "stopped":\n', replace="if False:\n"),),
    ),
    Mutant(
        name="cutoff-passed-after-its-moment",
        clauses=("cancel-12", "cancel-13"),
        fault="At the cancellation cutoff itself a journey is still cancelling.",
        kind="logic",
        edits=(
            Edit(
                file="ending.py",
                find="if tx.now >= effective_cutoff(tx):",
                replace="if tx.now > effective_cutoff(tx):",
            ),
        ),
    ),
    Mutant(
        name="cancelling-journey-cancelled-by-sweeps-only",
        clauses=("cancel-12", "precedence-08"),
        fault="A stop report after the cutoff is still accepted, since only sweeps look at it.",
        kind="logic",
        edits=(
            Edit(
                file="runs.py",
                find="require_going(tx, or_cancelling=True)",
                replace="""if tx.row.lifecycle_state != "cancelling":
        require_going(tx, or_cancelling=True)""",
            ),
        ),
    ),
    Mutant(
        name="cutoff-without-the-deadline",
        clauses=("cancel-13", "precedence-01"),
        fault="A cancelling journey outlives its deadline until its cancellation deadline.",
        kind="logic",
        edits=(
            Edit(
                file="ending.py",
                find="return min(tx.row.cancellation_deadline or deadline, deadline)",
                replace="return tx.row.cancellation_deadline or deadline",
            ),
        ),
    ),
    Mutant(
        name="cancelled-when-nothing-is-in-flight",
        clauses=("cancel-14", "cancel-11"),
        fault="A transmission in flight delays the end of a cancelling journey.",
        kind="sql",
        edits=(
            Edit(
                file="sweeps.py",
                find=_SWEPT,
                replace="""in_flight = tx.one(
        "SELECT 1 FROM reservations WHERE journey = ? AND state = 'transmitted'",
        (row.journey,),
    )
    if row.lifecycle_state == "cancelling" and row.active_runs == 0 and not in_flight:""",
            ),
        ),
    ),
    Mutant(
        name="quarantined-run-can-still-finish",
        clauses=("cancel-15", "outcome-06"),
        fault="A run that reports its end after the journey's end is recorded with its outcome.",
        kind="sql",
        edits=(
            Edit(
                file="runs.py",
                find="    require_going(tx, or_cancelling=True)\n    require_active(run)\n",
                replace="""    if run.state == "quarantined":
        tx.set_once(
            "UPDATE workflow_runs SET state = ? WHERE journey = ? AND workflow_run_id = ?",
            (request.outcome, tx.row.journey, run.workflow_run_id),
        )
        tx.change("active_runs = active_runs")
        return _reading(run.workflow_run_id, request.outcome, NOTHING_ENTERED)
    require_going(tx, or_cancelling=True)
    require_active(run)
""",
            ),
        ),
    ),
    Mutant(
        name="quarantine-without-the-journey",
        clauses=("cancel-15", "outcome-02"),
        fault="The end of a journey quarantines the active runs of every journey of its scope.",
        kind="sql",
        edits=(
            Edit(
                file="ending.py",
                find="WHERE journey = ? AND finished_at IS NULL",
                replace=f"WHERE journey IN ({SAME_SCOPE}) AND finished_at IS NULL",
            ),
        ),
    ),
    Mutant(
        name="cancellation-wins-over-a-failure",
        clauses=("precedence-07", "lifecycle-03"),
        fault="A failed journey can still be cancelled while its accounting is pending.",
        kind="sql",
        edits=(
            FROM_ANY_STATE,
            Edit(
                file="lifecycle.py",
                find=_SNAPSHOT,
                replace="""if tx.row.lifecycle_state == "failed" and tx.row.settled_at is None:
        end(tx, LifecycleState.CANCELLED, request.reason_code.value)
    """
                + _SNAPSHOT,
            ),
        ),
    ),
    Mutant(
        name="cutoff-forgotten-at-restart",
        clauses=("cancel-16", "cancel-12"),
        fault="A store that is opened again cancels a cancelling journey only at its deadline.",
        kind="sql",
        edits=(
            Edit(
                file="migrations.py",
                find="turns.alone(lambda: _turn_to_log(connection))",
                replace="""turns.alone(lambda: _turn_to_log(connection))
    connection.execute(
        "UPDATE journeys INDEXED BY journeys_due SET cancellation_deadline = deadline"
        " WHERE due_at IS NOT NULL AND lifecycle_state = 'cancelling'"
    )""",
            ),
        ),
    ),
)
