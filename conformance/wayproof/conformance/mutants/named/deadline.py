"""Mutants that let journeys act at or past their deadline, or forget it."""

from typing import Final

from wayproof.conformance.mutants.mutant import Edit, Mutant

_NOT_LATE: Final = 'if tx.row.lifecycle_state != "running":\n        require_going(tx)\n'

MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        name="deadline-in-time-at-its-moment",
        clauses=("deadline-01", "deadline-02"),
        fault="At deadline_utc itself a journey has not expired yet.",
        kind="logic",
        edits=(
            Edit(
                file="ending.py",
                find="if tx.now >= row.deadline:",
                replace="if tx.now > row.deadline:",
            ),
        ),
    ),
    Mutant(
        name="sweep-misses-what-is-due-now",
        clauses=("deadline-02", "settle-07"),
        fault="A sweep looks for journeys that were due before this very moment.",
        kind="sql",
        edits=(Edit(file="sweeps.py", find="AND due_at <= ?", replace="AND due_at < ?"),),
    ),
    Mutant(
        name="sweep-takes-one-journey",
        clauses=("deadline-02", "cancel-11"),
        fault="A sweep processes only the journey that has been due longest.",
        kind="sql",
        edits=(
            Edit(
                file="sweeps.py",
                find="ORDER BY due_at, journey",
                replace="ORDER BY due_at, journey LIMIT 1",
            ),
        ),
    ),
    Mutant(
        name="cancellation-brings-the-deadline-forward",
        clauses=("deadline-03", "policy-12"),
        fault="A cancellation writes its cutoff into deadline_utc.",
        kind="sql",
        edits=(
            Edit(
                file="lifecycle.py",
                find="cancellation_requested_at = ?, cancellation_deadline = ?",
                replace="cancellation_requested_at = ?, cancellation_deadline = ?,"
                " deadline = min(deadline, ? + 1000 * cancellation_grace_seconds)",
            ),
            Edit(
                file="lifecycle.py",
                find="after(tx.now, 1000 * tx.row.cancellation_grace_seconds),",
                replace="after(tx.now, 1000 * tx.row.cancellation_grace_seconds),\n"
                "                tx.now,",
            ),
        ),
    ),
    Mutant(
        name="heartbeat-defers-the-deadline",
        clauses=("deadline-03", "lease-02"),
        fault="A lease that is extended beyond the deadline takes the deadline with it.",
        kind="sql",
        edits=(
            Edit(
                file="leases.py",
                find='tx.note("owner_lease_expires_at = ?", (expires_at,))',
                replace='tx.note("owner_lease_expires_at = ?, deadline = max(deadline, ?)",'
                " (expires_at, expires_at))",
            ),
        ),
    ),
    Mutant(
        name="cancellation-past-the-deadline-accepted",
        clauses=("deadline-04", "precedence-08"),
        fault="A cancellation of a running journey does not look at the deadline.",
        kind="logic",
        edits=(
            Edit(
                file="lifecycle.py",
                find="    checkpoint(tx)\n    if",
                replace='    if tx.row.lifecycle_state not in ("pending", "running"):\n'
                "        checkpoint(tx)\n    if",
            ),
        ),
    ),
    Mutant(
        name="finished-journey-completes-late",
        clauses=("deadline-05",),
        fault="A journey whose runs had all ended can be completed past its deadline.",
        kind="logic",
        edits=(
            Edit(
                file="lifecycle.py",
                find="require_going(tx)\n    row = tx.row",
                replace='if tx.row.active_runs or tx.row.lifecycle_state != "running":\n'
                "        require_going(tx)\n    row = tx.row",
            ),
        ),
    ),
    Mutant(
        name="failure-past-the-deadline-accepted",
        clauses=("deadline-05", "precedence-08"),
        fault="A failure of a running journey does not look at the deadline.",
        kind="logic",
        edits=(
            Edit(
                file="lifecycle.py",
                find="require_going(tx)\n    end(tx, LifecycleState.FAILED",
                replace=f"{_NOT_LATE}    end(tx, LifecycleState.FAILED",
            ),
        ),
    ),
    Mutant(
        name="deadline-refusal-rolled-back",
        clauses=("deadline-06", "precedence-08"),
        fault="A request refused with deadline_expired rolls back the end that it reports.",
        kind="transaction",
        edits=(
            Edit(
                file="service.py",
                find="# Committed like an answer: nothing was written but the end that it reports.",
                replace="""if refusal.code == "deadline_expired":
                raise""",
            ),
        ),
    ),
    Mutant(
        name="counter-before-deadline",
        clauses=("deadline-06", "precedence-04"),
        fault="A claim that exceeds a counter at the deadline makes the journey budget_exceeded.",
        kind="logic",
        edits=(
            Edit(
                file="runs.py",
                find="require_going(tx)\n    require_active(run)\n    wanted",
                replace="""if tx.row.lifecycle_state == "running" and run.state == "active":
        require_room(tx, {Counter(counter.value): 1 for counter in request.counters})
    require_going(tx)
    require_active(run)
    wanted""",
            ),
        ),
    ),
    Mutant(
        name="child-started-past-the-deadline",
        clauses=("deadline-06",),
        fault="The start of a child run does not look at the deadline.",
        kind="logic",
        edits=(
            Edit(
                file="runs.py",
                find="require_going(tx)\n    if request.purpose",
                replace=f"{_NOT_LATE}    if request.purpose",
            ),
        ),
    ),
    Mutant(
        name="reservation-past-the-deadline-granted",
        clauses=("deadline-07",),
        fault="A reservation of a running journey does not look at the deadline.",
        kind="logic",
        edits=(
            Edit(
                file="reservations.py",
                find="require_going(tx)\n    require_active(run)\n",
                replace=f"{_NOT_LATE}    require_active(run)\n",
            ),
        ),
    ),
    Mutant(
        name="transmission-past-the-deadline-granted",
        clauses=("deadline-08",),
        fault="What was reserved in time may be transmitted past the deadline.",
        kind="logic",
        edits=(
            Edit(
                file="reservations.py",
                find="require_going(tx)\n    require_active(known_run",
                replace=f"{_NOT_LATE}    require_active(known_run",
            ),
        ),
    ),
    Mutant(
        name="run-end-written-before-the-checkpoint",
        clauses=("deadline-09", "cancel-15"),
        fault="A run end that is reported past the deadline is recorded before the journey ends.",
        kind="transaction",
        edits=(
            Edit(
                file="runs.py",
                find="    require_going(tx, or_cancelling=True)\n    require_active(run)\n",
                replace="""    row = tx.row
    late = row.lifecycle_state == "running" and tx.now >= row.deadline
    if not late:
        require_going(tx, or_cancelling=True)
    require_active(run)
""",
            ),
            Edit(
                file="runs.py",
                find='    if state == "stopped":\n',
                replace="""    tx.reload()
    if late:
        require_going(tx)
    if state == "stopped":
""",
            ),
        ),
    ),
    Mutant(
        name="ambiguity-before-deadline",
        clauses=("deadline-10", "precedence-08"),
        fault="An ambiguity reported past the deadline fails the journey instead of timing it out.",
        kind="logic",
        edits=(
            Edit(
                file="reports.py",
                find="    reservation = _after_checkpoint(tx, reservation)\n"
                '    if reservation.state == "transmitted":',
                replace='    if tx.row.lifecycle_state != "running":\n'
                "        reservation = _after_checkpoint(tx, reservation)\n"
                '    if reservation.state == "transmitted":',
            ),
        ),
    ),
    Mutant(
        name="overshoot-before-deadline",
        clauses=("deadline-10", "precedence-08"),
        fault="An overshoot reported past the deadline makes the journey budget_exceeded.",
        kind="logic",
        edits=(
            Edit(
                file="reports.py",
                find="    reservation = _after_checkpoint(tx, reservation)\n    usage:",
                replace='    if tx.row.lifecycle_state != "running":\n'
                "        reservation = _after_checkpoint(tx, reservation)\n    usage:",
            ),
        ),
    ),
    Mutant(
        name="first-claim-skips-the-checkpoint",
        clauses=("deadline-12", "lease-01"),
        fault="The first claim of a pending journey's lease is granted past its deadline.",
        kind="logic",
        edits=(
            Edit(
                file="leases.py",
                find="    require_going(tx)\n",
                replace="""    if tx.row.fencing_token or tx.row.lifecycle_state != "pending":
        require_going(tx)
""",
            ),
        ),
    ),
    Mutant(
        name="takeover-before-deadline",
        clauses=("deadline-12", "lease-09"),
        fault="A takeover past the deadline fails the journey as an orphan.",
        kind="logic",
        edits=(
            Edit(
                file="leases.py",
                find="    require_going(tx)\n",
                replace="""    if tx.row.lifecycle_state == "running" and tx.row.active_runs:
        if tx.now >= tx.row.owner_lease_expires_at:
            end_and_refuse(tx, LifecycleState.FAILED, TerminalReason.ORPHAN_RECOVERY_UNSAFE)
    require_going(tx)
""",
            ),
        ),
    ),
)
