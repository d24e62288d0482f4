"""Mutants of the outbox: intents that are lost, closed too early or delivered twice."""

from typing import Final

from wayproof.conformance.mutants.mutant import Edit, Mutant
from wayproof.conformance.mutants.named import SAME_SCOPE

_IS_OPEN: Final = 'is_open = state in ("recorded", "acknowledged")'
_ACKNOWLEDGED: Final = "_set_state(tx, run, state, guard=\"state = 'recorded'\")"
_BOTH: Final = "state IN ('recorded', 'acknowledged')"
_TAKEN_OVER: Final = "active_runs = active_runs + 1"
_ORDINAL: Final = '"SELECT state FROM dispatch_intents WHERE journey = ? AND ordinal = ?"'
_UNKNOWN: Final = """\
    if found is None:
        raise Refusal(RefusalCode.UNKNOWN_DISPATCH_INTENT)
"""
_LIVE: Final = "    require_live(tx, request.fencing_token)\n"
_GOING: Final = "    require_going(tx)\n"


def _dispatch(find: str, replace: str) -> Edit:
    return Edit(file="dispatch.py", find=find, replace=replace)


def _outbox(find: str, replace: str) -> Edit:
    return Edit(file="outbox.py", find=find, replace=replace)


ONE_MORE_START: Final = (
    "workflow_run_starts = coalesce("
    "min(workflow_run_starts + 1, max_workflow_run_starts), workflow_run_starts + 1)"
)
"""An assignment that claims another start, unless none is left."""

MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        name="run-taken-over-twice",
        clauses=("dispatch-03",),
        fault="A second take-over of one run is told that it has newly claimed it.",
        kind="logic",
        edits=(_dispatch("newly_claimed=is_open", "newly_claimed=True"),),
    ),
    Mutant(
        name="taken-over-run-always-active",
        clauses=("dispatch-03",),
        fault="A repeated take-over answers active, even of a run that has ended since.",
        kind="logic",
        edits=(
            _dispatch(
                "WorkflowRunState.ACTIVE if is_open else WorkflowRunState(run.state)",
                "WorkflowRunState.ACTIVE",
            ),
        ),
    ),
    Mutant(
        name="acknowledgement-deletes-the-intent",
        clauses=("dispatch-04",),
        fault="An intent is taken out of the outbox as soon as a dispatcher has received it.",
        kind="sql",
        edits=(
            _dispatch(
                _ACKNOWLEDGED,
                'tx.set_once("DELETE FROM dispatch_intents WHERE journey = ? AND ordinal = ?",'
                " (tx.row.journey, run.dispatch_ordinal))",
            ),
        ),
    ),
    Mutant(
        name="acknowledgement-closes-the-intent",
        clauses=("dispatch-04", "dispatch-02"),
        fault="An acknowledged intent counts as claimed, so that nobody takes its run over.",
        kind="logic",
        edits=(_dispatch('state = "acknowledged"\n', 'state = "claimed"\n'),),
    ),
    Mutant(
        name="acknowledged-intents-not-listed-as-open",
        clauses=("dispatch-04",),
        fault="The list of open intents leaves out those that a dispatcher acknowledged.",
        kind="sql",
        edits=(
            _dispatch("INDEXED BY open_intents", ""),
            _dispatch(f"AND {_BOTH}", "AND state = 'recorded'"),
        ),
    ),
    Mutant(
        name="acknowledged-intent-not-delivered",
        clauses=("dispatch-04", "dispatch-02"),
        fault="A run whose intent was acknowledged before a crash is never taken over.",
        kind="logic",
        edits=(_dispatch(_IS_OPEN, 'is_open = state == "recorded"'),),
    ),
    Mutant(
        name="claimed-intent-acknowledged-again",
        clauses=("dispatch-04", "dispatch-03"),
        fault="An acknowledgement that arrives late opens an intent that was claimed.",
        kind="logic",
        edits=(
            _dispatch('if state == "recorded":', 'if state in ("recorded", "claimed"):'),
            _dispatch("guard=\"state = 'recorded'\"", "guard=\"state IN ('recorded', 'claimed')\""),
        ),
    ),
    Mutant(
        name="acknowledgement-raises-no-version",
        clauses=("observe-12", "dispatch-04"),
        fault="An acknowledgement is committed under the record version before it.",
        kind="transaction",
        edits=(
            _dispatch(
                'tx.change("dispatch_intents = dispatch_intents",'
                " guard=\" AND lifecycle_state = 'running'\")",
                'tx.note("dispatch_intents = dispatch_intents")',
            ),
        ),
    ),
    Mutant(
        name="repeated-acknowledgement-raises-the-version",
        clauses=("observe-13", "dispatch-03"),
        fault="Each delivery of one acknowledgement is a commit of its own.",
        kind="logic",
        edits=(
            _dispatch('if state == "recorded":', 'if state in ("recorded", "acknowledged"):'),
            _dispatch("guard=\"state = 'recorded'\"", f'guard="{_BOTH}"'),
        ),
    ),
    Mutant(
        name="take-over-claims-a-start",
        clauses=("dispatch-05",),
        fault="A run start that was claimed with the stage is claimed again with the take-over.",
        kind="sql",
        edits=(_dispatch(_TAKEN_OVER, f"{_TAKEN_OVER}, {ONE_MORE_START}"),),
    ),
    Mutant(
        name="dispatch-past-the-deadline",
        clauses=("dispatch-05", "deadline-11"),
        fault="A delivery looks at the state of the journey, and not at its deadline.",
        kind="logic",
        edits=(_dispatch(_GOING, f'    if tx.row.lifecycle_state != "running":\n    {_GOING}'),),
    ),
    Mutant(
        name="cancelling-journey-answers-deliveries",
        clauses=("cancel-08", "dispatch-05"),
        fault="A cancelling journey answers a delivery with the state of the run.",
        kind="logic",
        edits=(_dispatch(_GOING, "    require_going(tx, or_cancelling=True)\n"),),
    ),
    Mutant(
        name="delivery-without-the-lease",
        clauses=("lease-04", "dispatch-05"),
        fault="A worker whose lease has lapsed takes a queued run over.",
        kind="logic",
        edits=(
            _dispatch(
                _LIVE,
                """    if request.fencing_token != tx.row.fencing_token:
        require_live(tx, request.fencing_token)
""",
            ),
        ),
    ),
    Mutant(
        name="intent-looked-up-after-the-token",
        clauses=("precedence-10",),
        fault="A wrong token hides that no intent names the run.",
        kind="logic",
        edits=(_dispatch(_UNKNOWN + _LIVE, _LIVE + _UNKNOWN),),
    ),
    Mutant(
        name="intent-looked-up-after-the-checkpoint",
        clauses=("precedence-10",),
        fault="A delivery that no intent names lets the deadline take effect.",
        kind="logic",
        edits=(_dispatch(_UNKNOWN + _LIVE + _GOING, _LIVE + _GOING + _UNKNOWN),),
    ),
    Mutant(
        name="intent-of-the-version-before",
        clauses=("dispatch-01",),
        fault="An intent shows the record version before that of the commit that recorded it.",
        kind="logic",
        edits=(_outbox("tx.next_version", "tx.row.record_version"),),
    ),
    Mutant(
        name="intent-recorded-anew-by-its-acknowledgement",
        clauses=("dispatch-01", "dispatch-04"),
        fault="An acknowledged intent shows the record version of its acknowledgement.",
        kind="sql",
        edits=(
            _dispatch(
                '"UPDATE dispatch_intents SET state = ? WHERE',
                "\"UPDATE dispatch_intents SET created_version = iif(?1 = 'acknowledged',\"\n"
                '        f" {tx.next_version}, created_version), state = ?1"\n'
                '        f" WHERE',
            ),
        ),
    ),
    Mutant(
        name="first-intent-of-the-run-delivered",
        clauses=("dispatch-02", "idempotency-11"),
        fault="A run that was queued again is looked up by its first intent, which is claimed.",
        kind="sql",
        edits=(
            _dispatch(
                _ORDINAL,
                '"SELECT state FROM dispatch_intents WHERE journey = ?1 AND workflow_run_id ="\n'
                '        " (SELECT workflow_run_id FROM dispatch_intents"\n'
                '        " WHERE journey = ?1 AND ordinal = ?2) ORDER BY ordinal LIMIT 1"',
            ),
        ),
    ),
    Mutant(
        name="resumed-run-starts-anew",
        clauses=("idempotency-11", "observe-07"),
        fault="The start of a run is moved to the moment at which it was taken over again.",
        kind="sql",
        edits=(_dispatch("started_at = coalesce(started_at, ?)", "started_at = ?"),),
    ),
    Mutant(
        name="every-intent-listed-as-open",
        clauses=("dispatch-04",),
        fault="Who asks for open intents alone receives the others too.",
        kind="logic",
        edits=(_dispatch("_OPEN_INTENTS if request.open_only else _INTENTS", "_INTENTS"),),
    ),
    Mutant(
        name="pages-of-intents-overlap",
        clauses=("dispatch-02",),
        fault="A page of intents begins with the last one of the page before.",
        kind="sql",
        edits=(
            _dispatch(
                "AND ordinal > ? ORDER BY ordinal LIMIT ?",
                "AND ordinal >= ? ORDER BY ordinal LIMIT ?",
            ),
        ),
    ),
    Mutant(
        name="cancellation-leaves-its-intents",
        clauses=("dispatch-06", "cancel-08"),
        fault="Intents of a cancelling journey stay open until it has ended.",
        kind="transaction",
        edits=(Edit(file="lifecycle.py", find="        suppress_open_intents(tx)\n", replace=""),),
    ),
    Mutant(
        name="end-leaves-its-intents",
        clauses=("dispatch-06",),
        fault="The end of a running journey leaves its intents open.",
        kind="transaction",
        edits=(Edit(file="ending.py", find="    suppress_open_intents(tx)\n", replace=""),),
    ),
    Mutant(
        name="acknowledged-intents-not-suppressed",
        clauses=("dispatch-06",),
        fault="A stop suppresses intents that nobody has acknowledged, and no others.",
        kind="sql",
        edits=(
            _outbox("INDEXED BY open_intents ", ""),
            _outbox(f"AND {_BOTH}", "AND state = 'recorded'"),
        ),
    ),
    Mutant(
        name="claimed-intents-suppressed-too",
        clauses=("dispatch-06",),
        fault="A stop marks intents as suppressed whose runs were taken over.",
        kind="sql",
        edits=(
            _outbox("INDEXED BY open_intents ", ""),
            _outbox(f" AND {_BOTH}", ""),
        ),
    ),
    Mutant(
        name="intents-of-the-scope-suppressed",
        clauses=("dispatch-06",),
        fault="The stop of one journey suppresses the intents of every journey of its scope.",
        kind="sql",
        edits=(_outbox("WHERE journey = ? AND", f"WHERE journey IN ({SAME_SCOPE}) AND"),),
    ),
    Mutant(
        name="acknowledged-intents-closed-at-the-opening",
        clauses=("dispatch-02", "lifecycle-18"),
        fault="A store that is opened again takes acknowledged intents for delivered.",
        kind="sql",
        edits=(
            Edit(
                file="store.py",
                find="            migrate(connection, self._turns, MIGRATIONS)\n",
                replace="            migrate(connection, self._turns, MIGRATIONS)\n"
                "            self._turns.write(lambda: connection.execute(\n"
                "                \"UPDATE dispatch_intents SET state = 'claimed'\"\n"
                "                \" WHERE state = 'acknowledged'\"))\n",
            ),
        ),
    ),
    Mutant(
        name="open-intents-lost-at-the-opening",
        clauses=("dispatch-02", "lifecycle-18"),
        fault="The outbox is emptied of what is open when the store is opened again.",
        kind="sql",
        edits=(
            Edit(
                file="store.py",
                find="            migrate(connection, self._turns, MIGRATIONS)\n",
                replace="            migrate(connection, self._turns, MIGRATIONS)\n"
                "            self._turns.write(lambda: connection.execute(\n"
                '                "DELETE FROM dispatch_intents"\n'
                f'                " WHERE {_BOTH}"))\n',
            ),
        ),
    ),
)
