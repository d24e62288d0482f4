"""Mutants that draw the bounds of a transaction wrongly, whatever it is about."""

from typing import Final

from wayproof.conformance.mutants.mutant import Edit, Mutant
from wayproof.conformance.mutants.named import SAME_SCOPE

_VERSIONED: Final = "WHERE journey = ? AND record_version = ?{guard}"
_NOTED: Final = "SET {assignments} WHERE journey = ? AND record_version = ?"
_SERVE: Final = "return do(lambda: self._serve(_HANDLERS[operation], request, now))"
_START: Final = "return self._turns.write(lambda: self._starts.start(request, now))"
_REPORTS: Final = "# Committed like an answer: nothing was written but the end that it reports."
_HANDLED: Final = "value = handler(tx, request)"

ANY_VERSION: Final = (
    Edit(file="transaction.py", find=_VERSIONED, replace="WHERE journey = ? AND ? > 0{guard}"),
    Edit(
        file="transaction.py",
        find=_NOTED,
        replace="SET {assignments} WHERE journey = ? AND ? > 0",
    ),
)
"""Changes no longer compare the record version on which they were decided."""

MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        name="answered-before-the-commit",
        clauses=("lifecycle-18", "start-08"),
        fault="A command is answered first and committed with the next one, or never.",
        kind="transaction",
        edits=(
            Edit(
                file="connection.py",
                find="                self._patiently(self._commit)\n",
                replace="                if not self.deferring:\n"
                "                    self._commit()\n",
            ),
            Edit(
                file="connection.py",
                find='        self._connection.execute("BEGIN IMMEDIATE")',
                replace="        if self._connection.in_transaction:\n"
                '            self._connection.execute("COMMIT")\n'
                '        self._connection.execute("BEGIN IMMEDIATE")',
            ),
            Edit(
                file="connection.py",
                find='            self._connection.execute("BEGIN")',
                replace="            if self._connection.in_transaction:\n"
                '                self._connection.execute("COMMIT")\n'
                '            self._connection.execute("BEGIN")',
            ),
            Edit(
                file="connection.py",
                find="        self._lock = Lock()\n",
                replace="        self._lock = Lock()\n        self.deferring = False\n",
            ),
            Edit(
                file="store.py",
                find="            migrate(connection, self._turns, MIGRATIONS)\n",
                replace="            migrate(connection, self._turns, MIGRATIONS)\n"
                "            self._turns.deferring = True\n",
            ),
        ),
    ),
    Mutant(
        name="decided-on-the-row-of-the-last-command",
        clauses=("lifecycle-03", "lifecycle-15", "outcome-07"),
        fault="A command decides on the journey as the command before it left it, whatever a sweep"
        " has done since.",
        kind="transaction",
        edits=(
            *ANY_VERSION,
            Edit(
                file="service.py",
                find=_HANDLED,
                replace="""writes = handler.__module__.rpartition(".")[2] != "observation"
            if writes and tx.row.journey in self._rows:
                tx.row = self._rows[tx.row.journey]
            value = handler(tx, request)
            if writes:
                self._rows[tx.row.journey] = tx.reload()""",
            ),
            Edit(
                file="service.py",
                find="        self._namespace = namespace\n",
                replace="        self._namespace = namespace\n        self._rows: dict = {}\n",
            ),
        ),
    ),
    Mutant(
        name="decided-on-a-read-before-the-transaction",
        clauses=("lifecycle-15", "ceiling-05", "counter-08"),
        fault="The journey is read in one transaction and changed in another, without comparing"
        " versions.",
        kind="transaction",
        edits=(
            *ANY_VERSION,
            Edit(
                file="service.py",
                find=_SERVE,
                replace="""self._opened = self._turns.read(
                lambda: open_authorized(
                    self._connection, self._namespace, request.access, request.journey_id, now
                )
            )
            return do(lambda: self._serve(_HANDLERS[operation], request, now))""",
            ),
            Edit(
                file="service.py",
                find=_HANDLED,
                replace="value = handler(tx := self._opened, request)",
            ),
        ),
        equivalent="Only clients that race in real time see it, and vectors do not race.",
    ),
    Mutant(
        name="key-looked-up-before-the-transaction",
        clauses=("idempotency-03", "idempotency-01"),
        fault="Whether a key is known is read before the transaction that claims it, and no index"
        " makes it unique.",
        kind="transaction",
        edits=(
            Edit(
                file="service.py",
                find=_START,
                replace=f"""self._turns.read(lambda: self._starts.look(request))
                {_START}""",
            ),
            Edit(
                file="starts.py",
                find="known = self._connection.execute(_KNOWN, key).fetchone()",
                replace="known = self._known",
            ),
            Edit(
                file="starts.py",
                find="    def _resolve_now(",
                replace="""    def look(self, request):
        key = (self._namespace, scope_of(request.access), request.idempotency_key)
        self._known = self._connection.execute(_KNOWN, key).fetchone()

    def _resolve_now(""",
            ),
            Edit(
                file="schema.py",
                find="UNIQUE (namespace, creation_scope, idempotency_key)",
                replace="CHECK (idempotency_key <> '')",
            ),
            Edit(
                file="schema.py",
                find="_INDEXES: Final = (",
                replace="_INDEXES: Final = (\n"
                '    "CREATE INDEX starts_by_key ON starts'
                ' (namespace, creation_scope, idempotency_key)",',
            ),
        ),
        equivalent="Only clients that race in real time see it, and vectors do not race.",
    ),
    Mutant(
        name="lost-commit-answered",
        clauses=("lifecycle-17", "lifecycle-18"),
        fault="A command whose commit fails is answered as if it had been committed.",
        kind="transaction",
        edits=(
            Edit(
                file="connection.py",
                find="                self._patiently(self._commit)\n",
                replace="""                try:
                    self._commit()
                except sqlite3.Error:
                    self._roll_back()
""",
            ),
        ),
        equivalent="Only a store that cannot commit shows it, and vectors cannot break a store.",
    ),
    Mutant(
        name="version-answered-from-before-the-commit",
        clauses=("observe-12", "observe-11"),
        fault="A reply carries the record version at which its command began.",
        kind="transaction",
        edits=(
            Edit(
                file="service.py",
                find="        tx = open_authorized(\n",
                replace="        tx = opened = open_authorized(\n",
            ),
            Edit(
                file="service.py",
                find=_HANDLED,
                replace="version = opened.version\n            value = handler(tx, request)",
            ),
            Edit(
                file="service.py",
                find="return Answered(value=value, record_version=tx.version)",
                replace="return Answered(value=value, record_version=version)",
            ),
        ),
    ),
    Mutant(
        name="completion-answered-from-before-its-commit",
        clauses=("outcome-02", "lifecycle-08"),
        fault="complete_journey answers a summary of the running journey.",
        kind="transaction",
        edits=(
            Edit(
                file="lifecycle.py",
                find="    end(tx, LifecycleState.COMPLETED, TerminalReason.JOURNEY_COMPLETED)\n"
                "    return outcome_summary(tx)",
                replace="    summary = outcome_summary(tx)\n"
                "    end(tx, LifecycleState.COMPLETED, TerminalReason.JOURNEY_COMPLETED)\n"
                "    return summary",
            ),
        ),
    ),
    Mutant(
        name="cancellation-without-the-journey",
        clauses=("lifecycle-04", "access-02"),
        fault="A cancellation stops every running journey of its creation scope.",
        kind="sql",
        edits=(
            Edit(
                file="lifecycle.py",
                find="        tx.reload()\n        schedule(tx)",
                replace=f"""        tx.connection.execute(
            "UPDATE journeys SET lifecycle_state = 'cancelling', cancellation_reason = ?,"
            " cancellation_requested_at = ?, cancellation_deadline = ?"
            " WHERE journey IN ({SAME_SCOPE}) AND lifecycle_state = 'running'",
            (
                request.reason_code.value,
                tx.now,
                after(tx.now, 1000 * tx.row.cancellation_grace_seconds),
                tx.row.journey,
            ),
        )
        tx.reload()
        schedule(tx)""",
            ),
        ),
    ),
    Mutant(
        name="status-decided-before-the-reservations-are-closed",
        clauses=("settle-06", "settle-04"),
        fault="At the accounting deadline the status is decided on the row from before the close.",
        kind="transaction",
        edits=(
            Edit(
                file="ending.py",
                find="done = tx.reload().unsettled_reservations == 0",
                replace="done = tx.row.unsettled_reservations == 0\n    tx.reload()",
            ),
        ),
    ),
    Mutant(
        name="sweep-settles-on-the-row-before-its-releases",
        clauses=("settle-04", "reservation-15"),
        fault="A sweep that releases the last reservation of an ended journey does not settle it.",
        kind="transaction",
        edits=(
            Edit(
                file="sweeps.py",
                find="    tx.reload()\n    settle_if_done(tx)",
                replace="    settle_if_done(tx)\n    tx.reload()",
            ),
        ),
    ),
    Mutant(
        name="refused-child-left-behind",
        clauses=("precedence-09", "counter-06"),
        fault="A child run is written before its counters are looked at, and the refusal commits"
        " it.",
        kind="transaction",
        edits=(
            Edit(
                file="runs.py",
                find="    require_room(tx, wanted)\n    run = RunRow(",
                replace="    run = RunRow(",
            ),
            Edit(
                file="runs.py",
                find="    if is_repair:\n        tx.set_once(",
                replace="    require_room(tx, wanted)\n    if is_repair:\n        tx.set_once(",
            ),
        ),
    ),
    Mutant(
        name="refused-entry-runs-left-behind",
        clauses=("run-03", "precedence-09"),
        fault="The entry runs are written before their counter is looked at, and the refusal"
        " commits them.",
        kind="transaction",
        edits=(
            Edit(file="entering.py", find="    require_room(tx, wanted)\n", replace=""),
            Edit(
                file="entering.py",
                find="            create_run(tx, run)\n",
                replace="            create_run(tx, run)\n        require_room(tx, self.wanted)\n",
            ),
        ),
    ),
    Mutant(
        name="counter-refusal-rolled-back",
        clauses=("lifecycle-07", "counter-01"),
        fault="A claim that exceeds its counter rolls back the end that it reports.",
        kind="transaction",
        edits=(
            Edit(
                file="service.py",
                find=_REPORTS,
                replace="""if refusal.code.endswith("_limit_exhausted"):
                raise""",
            ),
        ),
    ),
    Mutant(
        name="terminal-refusal-rolls-back-the-checkpoint",
        clauses=("precedence-08", "settle-08"),
        fault="A request refused with journey_terminal rolls back what was overdue.",
        kind="transaction",
        edits=(
            Edit(
                file="service.py",
                find=_REPORTS,
                replace="""if refusal.code == "journey_terminal":
                raise""",
            ),
        ),
    ),
    Mutant(
        name="ceiling-refusal-rolled-back",
        clauses=("precedence-05", "ceiling-06"),
        fault="A reservation over the ceiling rolls back the end that it reports.",
        kind="transaction",
        edits=(
            Edit(
                file="service.py",
                find=_REPORTS,
                replace="""if refusal.code == "token_budget_exhausted":
                raise""",
            ),
        ),
    ),
    Mutant(
        name="absent-amount-refusal-rolled-back",
        clauses=("ceiling-09", "transmission-03"),
        fault="A reservation without an amount rolls back the end that it reports.",
        kind="transaction",
        edits=(
            Edit(
                file="service.py",
                find=_REPORTS,
                replace="""if refusal.code == "token_reservation_unavailable":
                raise""",
            ),
        ),
    ),
    Mutant(
        name="report-settles-in-a-commit-of-its-own",
        clauses=("settle-04", "outcome-09"),
        fault="The report that leaves nothing to reconcile is committed, and the settlement after"
        " it is rolled back.",
        kind="transaction",
        edits=(
            Edit(
                file="reports.py",
                find="        tx.reload()\n        settle_if_done(tx)",
                replace="""        tx.reload()
        before = tx.version
        tx.connection.execute("SAVEPOINT settlement")
        settle_if_done(tx)
        tx.connection.execute("ROLLBACK TO settlement")
        tx.connection.execute("RELEASE settlement")
        tx.version = before""",
            ),
        ),
    ),
    Mutant(
        name="ambiguity-answered-from-before-its-commit",
        clauses=("ambiguity-07", "reservation-07"),
        fault="report_ambiguity answers how the transmission stood before.",
        kind="transaction",
        edits=(
            Edit(
                file="reports.py",
                find="        reservation = expire(tx, reservation)\n",
                replace="        expire(tx, reservation)\n",
            ),
        ),
    ),
    Mutant(
        name="stop-report-answered-from-before-its-commit",
        clauses=("cancel-10", "run-09"),
        fault="A stop report answers the outcome that it was sent with.",
        kind="transaction",
        edits=(
            Edit(
                file="runs.py",
                find="return _reading(run.workflow_run_id, state, entered)",
                replace="return _reading(run.workflow_run_id, request.outcome, entered)",
            ),
        ),
    ),
)
