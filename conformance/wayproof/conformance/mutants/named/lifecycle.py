"""Mutants that move journeys where they may not go."""

from typing import Final

from wayproof.conformance.mutants.mutant import Edit, Mutant
from wayproof.conformance.mutants.named import FROM_ANY_STATE

_FAIL: Final = "end(tx, LifecycleState.FAILED, request.reason_code)"


def _lifecycle(find: str, replace: str) -> Edit:
    return Edit(file="lifecycle.py", find=find, replace=replace)


def _failing(body: str) -> tuple[Edit, ...]:
    return (_lifecycle(_FAIL, body),)


MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        name="unowned-journey-shown-as-orphaned",
        clauses=("lifecycle-01", "observe-01"),
        fault="A running journey whose owner lease has lapsed is shown in a state of its own.",
        kind="logic",
        edits=(
            Edit(
                file="observation.py",
                find="return snapshot_of(tx.row)",
                replace="""shown = snapshot_of(tx.row)
    if tx.row.lifecycle_state == "running" and tx.now >= tx.row.owner_lease_expires_at:
        shown["lifecycle_state"] = "orphaned"
    return shown""",
            ),
        ),
    ),
    Mutant(
        name="running-once-it-is-owned",
        clauses=("lifecycle-02", "lease-01"),
        fault="The claim of the owner lease makes a pending journey running.",
        kind="sql",
        edits=(
            Edit(
                file="leases.py",
                find='tx.note("fencing_token = fencing_token + 1, owner_lease_expires_at = ?",'
                " (expires_at,))",
                replace='tx.change("fencing_token = fencing_token + 1, owner_lease_expires_at = ?,'
                " lifecycle_state = 'running'\", (expires_at,))",
            ),
            Edit(
                file="runs.py",
                find="guard=\" AND lifecycle_state = 'pending'\"",
                replace="guard=\" AND lifecycle_state IN ('pending', 'running')\"",
            ),
        ),
    ),
    Mutant(
        name="deadline-overtakes-a-completed-journey",
        clauses=("lifecycle-03", "outcome-06"),
        fault="A completed journey whose accounting is pending times out at its deadline.",
        kind="sql",
        edits=(
            FROM_ANY_STATE,
            Edit(
                file="ending.py",
                find="elif row.accounting_deadline is None:",
                replace="elif row.accounting_deadline is None or ("
                'row.lifecycle_state == "completed" and row.accounting_status == "pending"'
                " and tx.now >= row.deadline):",
            ),
        ),
    ),
    Mutant(
        name="only-a-running-journey-is-cancelled",
        clauses=("lifecycle-04", "cancel-04"),
        fault="The cancellation of a pending journey changes nothing.",
        kind="logic",
        edits=(
            _lifecycle(
                'if tx.row.lifecycle_state in ("pending", "running"):',
                'if tx.row.lifecycle_state == "running":',
            ),
        ),
    ),
    Mutant(
        name="only-a-running-journey-fails",
        clauses=("lifecycle-05", "reason-06"),
        fault="The failure of a pending journey is refused with journey_incomplete.",
        kind="logic",
        edits=_failing(
            f"""if tx.row.started_at is None:
        raise Refusal(RefusalCode.JOURNEY_INCOMPLETE)
    {_FAIL}"""
        ),
    ),
    Mutant(
        name="only-a-running-journey-times-out",
        clauses=("lifecycle-06", "deadline-02"),
        fault="A pending journey outlives its deadline.",
        kind="logic",
        edits=(
            Edit(
                file="ending.py",
                find="if tx.now >= row.deadline:",
                replace="if tx.now >= row.deadline and row.started_at is not None:",
            ),
        ),
    ),
    Mutant(
        name="overshoot-fails-the-journey",
        clauses=("lifecycle-07", "ceiling-11"),
        fault="An overshoot ends the journey failed instead of budget_exceeded.",
        kind="logic",
        edits=(
            Edit(
                file="reports.py",
                find="end(tx, LifecycleState.BUDGET_EXCEEDED",
                replace="end(tx, LifecycleState.FAILED",
            ),
        ),
    ),
    Mutant(
        name="repaired-failure-still-counts",
        clauses=("lifecycle-08", "run-07"),
        fault="A repair does not lower the number of failures that keep a journey from completing.",
        kind="sql",
        edits=(
            Edit(
                file="runs.py",
                find="unrepaired_failures = unrepaired_failures - ?",
                replace="unrepaired_failures = unrepaired_failures - 0 * ?",
            ),
        ),
    ),
    Mutant(
        name="cancelling-journey-fails",
        clauses=("lifecycle-09", "precedence-03"),
        fault="A failure that is reported while a journey is cancelling ends it failed.",
        kind="logic",
        edits=(
            FROM_ANY_STATE,
            _lifecycle(
                f"require_going(tx)\n    {_FAIL}",
                f"require_going(tx, or_cancelling=True)\n    {_FAIL}",
            ),
        ),
    ),
    Mutant(
        name="pending-journey-completes",
        clauses=("lifecycle-10", "lifecycle-12"),
        fault="A journey without runs, which has not begun, can be completed.",
        kind="sql",
        edits=(
            FROM_ANY_STATE,
            _lifecycle(
                "if row.started_at is None or row.unfinished_runs or row.unrepaired_failures:",
                "if row.unfinished_runs or row.unrepaired_failures:",
            ),
        ),
    ),
    Mutant(
        name="cancelling-journey-begins",
        clauses=("lifecycle-11", "cancel-06"),
        fault="A journey that was cancelled while pending can still begin, and runs.",
        kind="sql",
        edits=(
            Edit(
                file="runs.py",
                find="require_going(tx)\n    first",
                replace="require_going(tx, or_cancelling=True)\n    first",
            ),
            Edit(
                file="runs.py",
                find="guard=\" AND lifecycle_state = 'pending'\"",
                replace="guard=\" AND lifecycle_state IN ('pending', 'cancelling')\"",
            ),
        ),
    ),
    Mutant(
        name="completed-with-an-unrepaired-failure",
        clauses=("lifecycle-12", "lifecycle-08"),
        fault="A failed run that no repair supersedes does not prevent completion.",
        kind="sql",
        edits=(
            _lifecycle(
                "if row.started_at is None or row.unfinished_runs or row.unrepaired_failures:",
                "if row.started_at is None or row.unfinished_runs:",
            ),
        ),
    ),
    Mutant(
        name="failed-repair-not-counted",
        clauses=("lifecycle-12", "run-07"),
        fault="A repair that fails itself does not prevent completion.",
        kind="logic",
        edits=(
            Edit(
                file="runs.py",
                find='failed = state == "failed"',
                replace='failed = state == "failed" and run.purpose != "repair"',
            ),
            Edit(
                file="runs.py",
                find="(in_stage, is_repair, in_stage and is_repair),\n",
                replace='(in_stage, *[is_repair and parent.purpose != "repair"] * 2),\n',
            ),
        ),
    ),
    Mutant(
        name="outstanding-transmission-prevents-completion",
        clauses=("lifecycle-14",),
        fault="A journey with a reserved or transmitted reservation is incomplete.",
        kind="sql",
        edits=(
            _lifecycle(
                "if row.started_at is None or",
                """if tx.one(
        "SELECT 1 FROM reservations WHERE journey = ? AND falls_due_at IS NOT NULL",
        (row.journey,),
    ):
        raise Refusal(RefusalCode.JOURNEY_INCOMPLETE)
    if row.started_at is None or""",
            ),
        ),
    ),
    Mutant(
        name="refinement-after-the-end",
        clauses=("lifecycle-16", "outcome-08"),
        fault="A completed journey accepts a refinement, and its run starts.",
        kind="sql",
        edits=(
            Edit(
                file="runs.py",
                find="require_going(tx)\n    if request.purpose",
                replace="""refining = request.purpose == "refinement"
    if not refining or tx.row.lifecycle_state != "completed":
        require_going(tx)
    if request.purpose""",
            ),
            Edit(
                file="runs.py",
                find="(in_stage, is_repair, in_stage and is_repair),\n"
                "        guard=\" AND lifecycle_state = 'running'\",",
                replace="(in_stage, is_repair, in_stage and is_repair),",
            ),
        ),
    ),
)
