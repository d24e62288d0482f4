"""Mutants that draw the bounds of a transaction wrongly, whatever it is about."""

from typing import Final

from wayproof.conformance.mutants.mutant import Edit, Mutant
from wayproof.conformance.mutants.named import SAME_SCOPE

_VERSIONED: Final = "WHERE journey = ? AND record_version = ?{guard}"
_NOTED: Final = "SET {assignments} WHERE journey = ? AND record_version = ?"
_SERVE: Final = "return do(lambda: self._serve(_HANDLERS[operation], request, now))"
_START: Final = "return self._turns.write(lambda: self._starts.start(request, now))"
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
                find='                self._connection.execute("COMMIT")\n',
                replace="                if not self.deferring:\n"
                '                    self._connection.execute("COMMIT")\n',
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
        clauses=("lifecycle-15", "outcome-07"),
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
    ),
    Mutant(
        name="lost-commit-answered",
        clauses=("lifecycle-17", "lifecycle-18"),
        fault="A command whose commit fails is answered as if it had been committed.",
        kind="transaction",
        edits=(
            Edit(
                file="connection.py",
                find='                self._connection.execute("COMMIT")\n',
                replace="""                try:
                    self._connection.execute("COMMIT")
                except sqlite3.Error:
                    self._roll_back()
""",
            ),
        ),
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
)
