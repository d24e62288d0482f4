"""Mutants that show a journey, its outcome or its result as they are not."""

from typing import Final

from wayproof.conformance.mutants.mutant import Edit, Mutant
from wayproof.conformance.mutants.named import FROM_ANY_STATE, SAME_SCOPE

_ORDER: Final = "ORDER BY sequence_position, member_ordinal, created_at, workflow_run_id"
_QUARANTINED: Final = "SET state = 'quarantined',"
_FINISHED: Final = "NULL, finished_at = ?"
_DISPOSITION: Final = (
    "disposition, retain_until = ArtifactDisposition(row.on_non_success), row.retain_until"
)
_FINAL: Final = '"accounting_status = ?, settled_at = ?, settled_discrepancies = discrepancies"'


def _observation(find: str, replace: str) -> Edit:
    return Edit(file="observation.py", find=find, replace=replace)


def _ending(find: str, replace: str) -> Edit:
    return Edit(file="ending.py", find=find, replace=replace)


MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        name="reason-shown-while-cancelling",
        clauses=("observe-01", "reason-01"),
        fault="A cancelling journey already shows its terminal reason.",
        kind="logic",
        edits=(
            _observation(
                "            terminal_reason=row.terminal_reason,\n",
                "            terminal_reason=row.terminal_reason or row.cancellation_reason,\n",
            ),
        ),
    ),
    Mutant(
        name="current-stage-cleared-at-the-end",
        clauses=("observe-02",),
        fault="An ended journey shows no current stage.",
        kind="sql",
        edits=(_ending('" active_runs = 0, ', '" current_stage = NULL, active_runs = 0, '),),
    ),
    Mutant(
        name="runs-of-the-whole-scope-listed",
        clauses=("observe-02", "observe-11"),
        fault="The run listing shows the runs of every journey of the creation scope.",
        kind="sql",
        edits=(
            _observation(
                "FROM workflow_runs WHERE journey = ?",
                f"FROM workflow_runs WHERE journey IN ({SAME_SCOPE})",
            ),
        ),
    ),
    Mutant(
        name="settled-when-it-fell-due",
        clauses=("observe-03", "settle-07"),
        fault="settled_at is the accounting deadline, not the moment of the commit.",
        kind="sql",
        edits=(
            _ending(
                "(status.value, tx.now)",
                "(status.value, min(tx.now, tx.row.accounting_deadline or tx.now))",
            ),
        ),
    ),
    Mutant(
        name="timed-out-at-its-deadline",
        clauses=("observe-03",),
        fault="finished_at of a timed-out journey is its deadline, not the moment of the commit.",
        kind="logic",
        edits=(
            _ending(
                "str(reason),\n            tx.now,",
                "str(reason),\n"
                "            min(tx.now, tx.row.deadline)\n"
                "            if state is LifecycleState.TIMED_OUT else tx.now,",
            ),
        ),
    ),
    Mutant(
        name="reconciled-shown-as-observed",
        clauses=("observe-04", "usage-03"),
        fault="observed_actual_tokens shows reconciled_tokens.",
        kind="logic",
        edits=(
            _observation(
                "observed_actual_tokens=row.observed_actual_tokens",
                "observed_actual_tokens=row.reconciled_tokens",
            ),
        ),
    ),
    Mutant(
        name="unlimited-counter-shown-as-zero",
        clauses=("observe-05", "policy-13"),
        fault="A counter without a maximum shows no claims.",
        kind="logic",
        edits=(
            _observation(
                "claimed=getattr(row, counter.value),",
                "claimed=getattr(row, counter.value)\n"
                "                        * (getattr(row, COUNTER_POLICY_FIELDS[counter])"
                " is not None),",
            ),
        ),
    ),
    Mutant(
        name="cancellation-no-longer-shown-at-the-end",
        clauses=("observe-06", "cancel-01"),
        fault="The snapshot of a cancelled journey shows no cancellation.",
        kind="logic",
        edits=(
            _observation(
                "if row.cancellation_reason is None:",
                "if row.cancellation_reason is None or row.terminal_reason is not None:",
            ),
        ),
    ),
    Mutant(
        name="quarantined-when-it-started",
        clauses=("observe-07", "outcome-03"),
        fault="A quarantined run shows its start as its end.",
        kind="sql",
        edits=(_ending(_FINISHED, "NULL, finished_at = coalesce(started_at, created_at) + 0 * ?"),),
    ),
    Mutant(
        name="runs-ordered-by-their-start",
        clauses=("observe-10", "outcome-02"),
        fault="Runs of one stage are listed by start before member ordinal.",
        kind="sql",
        edits=(
            _observation(
                _ORDER, "ORDER BY sequence_position, created_at, member_ordinal, workflow_run_id"
            ),
        ),
    ),
    Mutant(
        name="latest-runs-first",
        clauses=("observe-10",),
        fault="Of the runs with one position and ordinal the latest is listed first.",
        kind="sql",
        edits=(_observation("created_at, workflow_run_id", "created_at DESC, workflow_run_id"),),
    ),
    Mutant(
        name="listing-kept-while-equally-many-runs-are-active",
        clauses=("observe-11", "observe-02"),
        fault="The run listing is read again only when the number of active runs has changed.",
        kind="transaction",
        edits=(
            _observation(
                "runs = tuple(_run_snapshot(tx.row, run) for run in _runs(tx))",
                """key = tx.row.journey_id
    count = tx.row.active_runs
    if _KEPT.get(key, (None,))[0] != count:
        _KEPT[key] = (count, tuple(_run_snapshot(tx.row, run) for run in _runs(tx)))
    runs = _KEPT[key][1]""",
            ),
            _observation(
                "def list_workflow_runs(", "_KEPT: dict = {}\n\n\ndef list_workflow_runs("
            ),
        ),
    ),
    Mutant(
        name="discrepancy-leaves-the-version",
        clauses=("observe-12", "usage-08"),
        fault="A report that only leaves a discrepancy does not raise the record version.",
        kind="transaction",
        edits=(
            Edit(
                file="reports.py",
                find='tx.change("discrepancies = discrepancies + 1")',
                replace='tx.note("discrepancies = discrepancies + 1")',
            ),
        ),
    ),
    Mutant(
        name="replay-raises-the-version",
        clauses=("observe-13", "idempotency-09"),
        fault="The replay of a known operation id raises the record version.",
        kind="transaction",
        edits=(
            Edit(
                file="identities.py",
                find="return json.loads(answer)",
                replace='tx.change("reservations = reservations")\n    return json.loads(answer)',
            ),
        ),
    ),
    Mutant(
        name="snapshot-shows-what-is-overdue",
        clauses=("observe-14", "lifecycle-18"),
        fault="A snapshot lets overdue moments take effect in a transaction that it rolls back.",
        kind="transaction",
        edits=(
            _observation(
                "return snapshot_of(tx.row)",
                """from wayproof.impl.journey.ending import checkpoint
    checkpoint(tx)
    return snapshot_of(tx.row)""",
            ),
        ),
    ),
    Mutant(
        name="lapsed-reservation-shown-as-released",
        clauses=("observe-14", "reservation-19"),
        fault="The listing shows a reserved reservation past its lease as released.",
        kind="logic",
        edits=(
            _observation(
                "found = tx.connection.execute(_RESERVATIONS,"
                " (tx.row.journey, request.after, request.limit))",
                """found = [
        ReservationRow._make(each)
        for each in tx.connection.execute(
            _RESERVATIONS, (tx.row.journey, request.after, request.limit)
        )
    ]
    found = [
        each._replace(state="released_untransmitted")
        if each.state == "reserved" and tx.now >= each.lease_expires_at
        else each
        for each in found
    ]""",
            ),
        ),
    ),
    Mutant(
        name="closing-the-store-cancels-running-journeys",
        clauses=("lifecycle-04", "observe-16"),
        fault="A process that goes away asks its running journeys to stop.",
        kind="sql",
        edits=(
            Edit(
                file="store.py",
                find='every acknowledged command is already durable."""',
                replace='''every acknowledged command is already durable."""
        if not self.database.conn.in_transaction:
            self.database.conn.execute(
                "UPDATE journeys INDEXED BY journeys_due SET lifecycle_state = 'cancelling',"
                " cancellation_reason = 'operator_requested',"
                " cancellation_requested_at = started_at, cancellation_deadline = deadline,"
                " record_version = record_version + 1 WHERE due_at IS NOT NULL"
                " AND lifecycle_state = 'running'"
            )''',
            ),
        ),
    ),
    Mutant(
        name="outcome-once-no-run-is-active",
        clauses=("outcome-01",),
        fault="terminal_outcome answers as soon as all runs of a running journey have completed.",
        kind="logic",
        edits=(
            _observation(
                "return None if tx.row.terminal_reason is None else encode(_outcome(tx))",
                """going = tx.row.terminal_reason is None and (
        tx.row.lifecycle_state != "running" or tx.row.active_runs or tx.row.unrepaired_failures
    )
    return None if going else encode(_outcome(tx))""",
            ),
        ),
    ),
    Mutant(
        name="superseded-runs-left-out-of-the-outcome",
        clauses=("outcome-02",),
        fault="The outcome does not show failed runs that a repair has superseded.",
        kind="sql",
        edits=(
            _observation(
                "for run in _runs(tx)\n        ),",
                """for run in map(
                RunRow._make,
                tx.connection.execute(
                    _RUNS.replace("journey = ?", "journey = ? AND superseded = 0"),
                    (row.journey,),
                ),
            )
        ),""",
            ),
        ),
    ),
    Mutant(
        name="cutoff-stops-the-active-runs",
        clauses=("outcome-03", "cancel-15"),
        fault="Runs that are active at the cancellation cutoff stand in the outcome as stopped.",
        kind="sql",
        edits=(
            _ending(
                _QUARANTINED,
                "SET state = (SELECT iif(cancellation_reason IS NULL, 'quarantined', 'stopped')"
                " FROM journeys WHERE journeys.journey = workflow_runs.journey),",
            ),
        ),
    ),
    Mutant(
        name="passed-retention-shown-as-delete",
        clauses=("outcome-04",),
        fault="An outcome whose retain_until_utc has passed says delete.",
        kind="logic",
        edits=(
            _observation(
                _DISPOSITION,
                _DISPOSITION
                + """
        if retain_until is not None and retain_until <= (row.finished_at or 0):
            disposition, retain_until = ArtifactDisposition.DELETE, None""",
            ),
        ),
    ),
    Mutant(
        name="cancelled-artifacts-follow-their-normal-lifecycle",
        clauses=("outcome-04",),
        fault="The outcome of a cancelled journey treats its artifacts like those of a completed"
        " one.",
        kind="logic",
        edits=(
            _observation(
                'if row.lifecycle_state == "completed":',
                'if row.lifecycle_state in ("completed", "cancelled"):',
            ),
        ),
    ),
    Mutant(
        name="settlement-moves-the-end",
        clauses=("outcome-06", "outcome-08"),
        fault="The commit that makes accounting final overwrites finished_at.",
        kind="sql",
        edits=(
            _ending(_FINAL, _FINAL.replace("settled_at = ?", "settled_at = ?, finished_at = ?")),
            _ending("(status.value, tx.now)", "(status.value, tx.now, tx.now)"),
        ),
    ),
    Mutant(
        name="failure-overrides-a-completion",
        clauses=("outcome-07", "lifecycle-03"),
        fault="A failure that comes after the completion replaces the outcome.",
        kind="sql",
        edits=(
            FROM_ANY_STATE,
            Edit(
                file="lifecycle.py",
                find="require_going(tx)\n    end(",
                replace='if tx.row.lifecycle_state != "completed":\n        require_going(tx)\n'
                "    end(",
            ),
        ),
    ),
    Mutant(
        name="resolved-ambiguity-changes-the-reason",
        clauses=("outcome-08", "outcome-06"),
        fault="Once its ambiguous transmission is reconciled, the reason becomes workflow_failed.",
        kind="sql",
        edits=(
            _ending(
                _FINAL,
                _FINAL.replace(
                    "settled_at = ?",
                    "terminal_reason = CASE WHEN terminal_reason ="
                    " 'provider_transmission_ambiguous' AND unsettled_reservations = 0"
                    " THEN 'workflow_failed' ELSE terminal_reason END, settled_at = ?",
                ),
            ),
        ),
    ),
    Mutant(
        name="failed-settlement-has-no-result",
        clauses=("outcome-09",),
        fault="settled_result answers nothing when settlement has failed.",
        kind="logic",
        edits=(
            _observation(
                "if row.settled_at is None:",
                'if row.settled_at is None or row.accounting_status != "settled":',
            ),
        ),
    ),
    Mutant(
        name="result-counts-later-discrepancies",
        clauses=("outcome-10", "usage-10"),
        fault="The settled result counts discrepancies that were recorded after it.",
        kind="sql",
        edits=(
            _observation(
                "discrepancy_count=row.settled_discrepancies or 0",
                "discrepancy_count=row.discrepancies",
            ),
        ),
    ),
    Mutant(
        name="result-without-its-charge",
        clauses=("outcome-11",),
        fault="The settled result of a failed settlement shows no conservative charge.",
        kind="logic",
        edits=(
            _observation(
                "            tokens=_tokens(row),\n            discrepancy_count=row.settled",
                "            tokens=_tokens(row._replace(conservatively_committed_tokens=0)),\n"
                "            discrepancy_count=row.settled",
            ),
        ),
    ),
    Mutant(
        name="result-with-the-version-of-the-outcome",
        clauses=("compat-01",),
        fault="The settled result carries the schema version of the outcome.",
        kind="logic",
        edits=(
            _observation(
                "wayproof.journey.settled_result.v1", "wayproof.journey.execution_outcome.v1"
            ),
        ),
    ),
)
