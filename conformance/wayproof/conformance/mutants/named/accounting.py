"""Mutants that settle a journey's accounting too early, too late, or wrongly."""

from typing import Final

from wayproof.conformance.mutants.mutant import Edit, Mutant

_DUE: Final = 'elif row.accounting_status == "pending" and tx.now >= row.accounting_deadline:'
_OPEN: Final = "AND falls_due_at IS NOT NULL ORDER BY ordinal"
_CLOSED: Final = "close_unreported(tx, ReservationRow._make(found))"
_SETTLED: Final = "SETTLED if done else"
_FINAL: Final = "guard=\" AND accounting_status = 'pending' AND finished_at IS NOT NULL\""
_UNSETTLED: Final = "settled = 0 if state.value in _UNSETTLED else 1"
_REOPEN: Final = "turns.alone(lambda: _turn_to_log(connection))"


def _ending(find: str, replace: str) -> Edit:
    return Edit(file="ending.py", find=find, replace=replace)


MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        name="failed-settlement-settles-later",
        clauses=("settle-01", "usage-10"),
        fault="Late usage makes a journey whose settlement failed settled.",
        kind="sql",
        edits=(
            Edit(
                file="reports.py",
                find='return tx.row.accounting_status == "pending"',
                replace='return tx.row.accounting_status != "settled"',
            ),
            _ending(
                'and row.accounting_status == "pending"\n        and row.unsettled',
                'and row.accounting_status != "settled"\n        and row.unsettled',
            ),
            _ending(
                _FINAL, "guard=\" AND accounting_status <> 'settled' AND finished_at IS NOT NULL\""
            ),
        ),
    ),
    Mutant(
        name="accounting-counted-from-the-cancellation",
        clauses=("settle-02",),
        fault="The settlement grace of a cancelled journey counts from its request.",
        kind="logic",
        edits=(
            _ending(
                "after(tx.now, 1000 * tx.row.accounting_settlement_grace_seconds)",
                "after(tx.row.cancellation_requested_at or tx.now,"
                " 1000 * tx.row.accounting_settlement_grace_seconds)",
            ),
        ),
    ),
    Mutant(
        name="accounting-counted-from-the-deadline",
        clauses=("settle-02",),
        fault="The settlement grace of a timed-out journey counts from its deadline.",
        kind="logic",
        edits=(
            _ending(
                "after(tx.now, 1000 * tx.row.accounting_settlement_grace_seconds)",
                "after(min(tx.now, tx.row.deadline),"
                " 1000 * tx.row.accounting_settlement_grace_seconds)",
            ),
        ),
    ),
    Mutant(
        name="moments-beyond-the-calendar",
        clauses=("settle-02", "cancel-03"),
        fault="A moment that lies beyond the year 9999 is not held to it.",
        kind="logic",
        edits=(
            _ending(
                "return min(moment + milliseconds, LATEST_MILLISECONDS)",
                "return moment + milliseconds",
            ),
        ),
    ),
    Mutant(
        name="running-journey-settles",
        clauses=("settle-03", "settle-04"),
        fault="Accounting becomes final as soon as a running journey has nothing left to"
        " reconcile.",
        kind="sql",
        edits=(
            _ending("row.terminal_reason is not None\n        and row.acc", "row.acc"),
            _ending(_FINAL, "guard=\" AND accounting_status = 'pending'\""),
            Edit(
                file="reports.py",
                find="    if tx.row.terminal_reason is not None:\n        tx.reload()",
                replace="    if tx.row.started_at is not None:\n        tx.reload()",
            ),
            Edit(
                file="schema.py",
                find="CHECK (accounting_status = 'pending' OR finished_at IS NOT NULL),",
                replace="",
            ),
        ),
    ),
    Mutant(
        name="settled-by-the-next-sweep",
        clauses=("settle-04", "outcome-09"),
        fault="A report that leaves nothing to reconcile does not settle an ended journey.",
        kind="transaction",
        edits=(
            Edit(
                file="reports.py",
                find="    if tx.row.terminal_reason is not None:\n        tx.reload()",
                replace="    if tx.row.terminal_reason is not None:\n        return\n"
                "        tx.reload()",
            ),
        ),
    ),
    Mutant(
        name="settlement-decided-on-the-row-before-the-report",
        clauses=("settle-04",),
        fault="Whether nothing is left to reconcile is read from before the report.",
        kind="transaction",
        edits=(
            Edit(
                file="reports.py",
                find="    if tx.row.terminal_reason is not None:\n        tx.reload()",
                replace="    if tx.row.terminal_reason is not None:\n        pass",
            ),
        ),
    ),
    Mutant(
        name="release-does-not-settle",
        clauses=("settle-04", "reservation-05"),
        fault="A report of nothing sent does not settle an ended journey.",
        kind="transaction",
        edits=(
            Edit(
                file="reports.py",
                find="    _settle(tx)\n    return reading_of(reservation)",
                replace="    return reading_of(reservation)",
            ),
        ),
    ),
    Mutant(
        name="end-without-reservations-does-not-settle",
        clauses=("settle-04", "outcome-09"),
        fault="A running journey that ends with everything reconciled is not settled by its end.",
        kind="transaction",
        edits=(
            _ending(
                "    settle_if_done(tx)\n    schedule(tx)",
                '    if row_before.lifecycle_state != "running":\n        settle_if_done(tx)\n'
                "    schedule(tx)",
            ),
            _ending("    sources = [\n", "    row_before = tx.row\n    sources = [\n"),
        ),
    ),
    Mutant(
        name="living-transmission-not-closed-at-the-accounting-deadline",
        clauses=("settle-05", "settle-10"),
        fault="A transmission whose lease has not lapsed stays open when accounting is final.",
        kind="sql",
        edits=(
            _ending(_OPEN, "AND falls_due_at <= ? ORDER BY ordinal"),
            _ending(
                "tx.connection.execute(_OPEN, (tx.row.journey,))",
                "tx.connection.execute(_OPEN, (tx.row.journey, tx.now))",
            ),
        ),
    ),
    Mutant(
        name="accounting-finished-without-its-reservations",
        clauses=("settle-05", "outcome-11"),
        fault="At the accounting deadline a transmission in flight is reconciled with zero.",
        kind="logic",
        edits=(
            _ending(
                _CLOSED,
                """open_one = ReservationRow._make(found)
        if open_one.state == "transmitted":
            close(tx, open_one, ReservationState.RECONCILED, actual_tokens=0)
        else:
            close_unreported(tx, open_one)""",
            ),
        ),
    ),
    Mutant(
        name="reserved-charged-at-the-accounting-deadline",
        clauses=("settle-06", "reservation-11"),
        fault="At the accounting deadline a reservation that was never transmitted is charged.",
        kind="logic",
        edits=(
            _ending(
                _CLOSED,
                "close(tx, ReservationRow._make(found), ReservationState.EXPIRED_CONSERVATIVELY)",
            ),
        ),
    ),
    Mutant(
        name="settlement-fails-as-soon-as-nothing-is-open",
        clauses=("settle-07", "usage-09"),
        fault="A journey with a conservative charge does not wait for its accounting deadline.",
        kind="sql",
        edits=(
            _ending(
                "        _make_final(tx, AccountingStatus.SETTLED)\n",
                """        _make_final(tx, AccountingStatus.SETTLED)
    elif (
        row.terminal_reason is not None
        and row.accounting_status == "pending"
        and not tx.one(
            "SELECT 1 FROM reservations WHERE journey = ? AND falls_due_at IS NOT NULL",
            (row.journey,),
        )
    ):
        _make_final(tx, AccountingStatus.SETTLEMENT_FAILED)
""",
            ),
        ),
    ),
    Mutant(
        name="sweeps-leave-accounting-pending",
        clauses=("settle-07", "settle-10"),
        fault="Only a request finds that the accounting deadline has passed.",
        kind="logic",
        edits=(
            Edit(
                file="sweeps.py",
                find="    settle_if_done(tx)\n    checkpoint(tx)\n",
                replace="    settle_if_done(tx)\n",
            ),
        ),
    ),
    Mutant(
        name="due-moment-not-set-at-the-end",
        clauses=("settle-07", "settle-05"),
        fault="The next sweep does not notice an accounting deadline before the old deadline.",
        kind="transaction",
        edits=(
            _ending(
                "    settle_if_done(tx)\n    schedule(tx)",
                "    settle_if_done(tx)",
            ),
        ),
    ),
    Mutant(
        name="report-in-time-at-the-accounting-deadline",
        clauses=("settle-08", "settle-07"),
        fault="At the accounting deadline itself a report still reconciles.",
        kind="logic",
        edits=(_ending(_DUE, _DUE.replace("tx.now >= ", "tx.now > ")),),
    ),
    Mutant(
        name="response-before-the-accounting-deadline",
        clauses=("settle-08", "usage-10"),
        fault="A response past the accounting deadline is looked at before accounting is final.",
        kind="transaction",
        edits=(
            Edit(
                file="reports.py",
                find="    reservation = _after_checkpoint(tx, reservation)\n    usage:",
                replace="    if tx.row.terminal_reason is None:\n"
                "        reservation = _after_checkpoint(tx, reservation)\n    usage:",
            ),
        ),
    ),
    Mutant(
        name="unsent-before-the-accounting-deadline",
        clauses=("settle-08",),
        fault="A report of nothing sent past the accounting deadline still changes a reservation.",
        kind="transaction",
        edits=(
            Edit(
                file="reports.py",
                find="raise Refusal(RefusalCode.FENCED)\n    reservation = _after_checkpoint("
                "tx, reservation)",
                replace="""raise Refusal(RefusalCode.FENCED)
    if tx.row.terminal_reason is None:
        reservation = _after_checkpoint(tx, reservation)""",
            ),
        ),
    ),
    Mutant(
        name="charge-that-was-reconciled-stays-unsettled",
        clauses=("settle-09", "ambiguity-10"),
        fault="A transmission that was charged and then reconciled keeps the journey from being"
        " settled.",
        kind="sql",
        edits=(
            Edit(
                file="exposure.py",
                find=_UNSETTLED,
                replace="settled = int(state.value not in _UNSETTLED"
                ' and reservation.state != "expired_conservatively")',
            ),
        ),
    ),
    Mutant(
        name="closed-reservations-settle",
        clauses=("ambiguity-10", "settle-07"),
        fault="At the accounting deadline a statement that looks for what is open misses charges.",
        kind="sql",
        edits=(
            _ending(
                "done = tx.reload().unsettled_reservations == 0",
                """tx.reload()
    done = not tx.one(
        "SELECT 1 FROM reservations WHERE journey = ? AND falls_due_at IS NOT NULL",
        (tx.row.journey,),
    )""",
            ),
        ),
    ),
    Mutant(
        name="accounting-deadlines-forgotten-at-restart",
        clauses=("settle-10",),
        fault="A store that is opened again no longer sweeps ended journeys.",
        kind="sql",
        edits=(
            Edit(
                file="migrations.py",
                find=_REOPEN,
                replace=f"""{_REOPEN}
    connection.execute(
        "UPDATE journeys INDEXED BY journeys_due SET due_at = NULL"
        " WHERE due_at IS NOT NULL AND finished_at IS NOT NULL"
    )""",
            ),
        ),
    ),
    Mutant(
        name="leases-swept-before-the-deadline",
        clauses=("precedence-12", "deadline-02"),
        fault="Of a lapsed transmission and the deadline a sweep processes the transmission first.",
        kind="logic",
        edits=(
            Edit(
                file="sweeps.py",
                find="    elif row.terminal_reason is None:\n        checkpoint(tx)\n",
                replace="""    elif row.terminal_reason is None and not tx.one(
        "SELECT 1 FROM reservations WHERE journey = ? AND falls_due_at <= ?",
        (row.journey, tx.now),
    ):
        checkpoint(tx)
""",
            ),
        ),
    ),
    Mutant(
        name="in-flight-counted-as-committed",
        clauses=("usage-02", "observe-04"),
        fault="A transmission in flight counts as conservatively committed, not as reserved.",
        kind="sql",
        edits=(
            Edit(
                file="exposure.py",
                find='        case "reserved" | "transmitted":\n',
                replace="""        case "transmitted":
            return Exposure(0, reservation.reserved_tokens, 0)
        case "reserved":
""",
            ),
            Edit(
                file="exposure.py",
                find='"transmitted_outside_groups = transmitted_outside_groups + ?",\n'
                "        (0 if in_group(reservation) else 1,),",
                replace="""(
            "transmitted_outside_groups = transmitted_outside_groups + ?,"
            " reserved_tokens = reserved_tokens - ?,"
            " conservatively_committed_tokens = conservatively_committed_tokens + ?"
        ),
        (0, 0, 0)
        if in_group(reservation)
        else (1, reservation.reserved_tokens, reservation.reserved_tokens),""",
            ),
        ),
    ),
    Mutant(
        name="exposure-of-what-was-observed",
        clauses=("usage-04", "group-04"),
        fault="committed_token_exposure adds observed instead of reconciled tokens to the charge.",
        kind="logic",
        edits=(
            Edit(
                file="observation.py",
                find="committed_token_exposure=row.reconciled_tokens +",
                replace="committed_token_exposure=row.observed_actual_tokens +",
            ),
        ),
    ),
)
