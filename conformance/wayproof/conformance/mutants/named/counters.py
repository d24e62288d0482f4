"""Mutants that count claims wrongly."""

from typing import Final

from wayproof.conformance.mutants.mutant import Edit, Mutant
from wayproof.conformance.mutants.named import NO_COUNTER_CHECK

_LIMIT: Final = "limit = getattr(tx.row, COUNTER_POLICY_FIELDS[counter])"
_ROOM: Final = "if limit is not None and getattr(tx.row, counter.value) + wanted[counter] > limit:"
_END: Final = "tx, LifecycleState.BUDGET_EXCEEDED, COUNTER_EXHAUSTION_REASONS[counter]"
_ATTEMPT_ROOM: Final = "require_room(tx, wanted)\n    tx.change(claims"
_RETRIES: Final = "require_room(tx, _RETRY)"


def _limits(find: str, replace: str) -> Edit:
    return Edit(file="limits.py", find=find, replace=replace)


def _runs(find: str, replace: str) -> Edit:
    return Edit(file="runs.py", find=find, replace=replace)


MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        name="exhausted-run-starts-only-refused",
        clauses=("counter-01", "lifecycle-07"),
        fault="A child run for which no start is left is refused, and the journey goes on.",
        kind="logic",
        edits=(
            _limits(
                _ROOM,
                f"""{_ROOM}
                if counter is Counter.WORKFLOW_RUN_STARTS and tx.row.started_at is not None:
                    from wayproof.spec.journey.refusals import Refusal, RefusalCode
                    raise Refusal(RefusalCode.WORKFLOW_RUN_START_LIMIT_EXHAUSTED)""",
            ),
        ),
    ),
    Mutant(
        name="one-task-attempt-too-many",
        clauses=("counter-02", "counter-07"),
        fault="A maximum of N task attempts admits N + 1 of them.",
        kind="logic",
        edits=(
            NO_COUNTER_CHECK,
            _limits(
                _ROOM,
                _ROOM.replace("> limit:", "> limit + (counter is Counter.TASK_ATTEMPT_STARTS):"),
            ),
        ),
    ),
    Mutant(
        name="retries-counted-for-each-invocation",
        clauses=("counter-03", "counter-08"),
        fault="The maximum of provider retries holds for each invocation by itself.",
        kind="sql",
        edits=(
            NO_COUNTER_CHECK,
            Edit(
                file="reservations.py",
                find=_RETRIES,
                replace="""retried = tx.one(
            "SELECT count(*) - 1 FROM reservations WHERE journey = ? AND invocation_id = ?",
            (row.journey, request.invocation_id),
        )
        limit = row.max_provider_retry_attempts
        if retried is not None and limit is not None and retried[0] >= limit:
            end_and_refuse(
                tx,
                LifecycleState.BUDGET_EXCEEDED,
                TerminalReason.PROVIDER_RETRY_LIMIT_EXHAUSTED,
            )""",
            ),
        ),
    ),
    Mutant(
        name="correction-limit-reported-as-task-attempts",
        clauses=("counter-04", "reason-04"),
        fault="Exhausted corrections end the journey with the reason of task attempts.",
        kind="logic",
        edits=(
            _limits(
                _END,
                "tx, LifecycleState.BUDGET_EXCEEDED, COUNTER_EXHAUSTION_REASONS["
                "Counter.TASK_ATTEMPT_STARTS if counter is"
                " Counter.STRUCTURED_OUTPUT_CORRECTION_ATTEMPTS else counter]",
            ),
        ),
    ),
    Mutant(
        name="repairs-compared-with-refinements",
        clauses=("counter-05",),
        fault="The maximum of repairs is compared with the number of refinements.",
        kind="logic",
        edits=(
            NO_COUNTER_CHECK,
            _limits(
                _ROOM,
                "claimed = Counter.APP_REFINEMENT_STARTS"
                " if counter is Counter.WORKFLOW_REPAIR_STARTS else counter\n            "
                + _ROOM.replace("counter.value", "claimed.value"),
            ),
        ),
    ),
    Mutant(
        name="refinement-not-counted",
        clauses=("counter-06", "observe-05"),
        fault="A refinement consumes no app refinement.",
        kind="logic",
        edits=(
            _runs(
                "{Counter.WORKFLOW_RUN_STARTS: 1, Counter.APP_REFINEMENT_STARTS: 1}",
                "{Counter.WORKFLOW_RUN_STARTS: 1}",
            ),
        ),
    ),
    Mutant(
        name="last-repair-refused",
        clauses=("counter-07", "counter-05"),
        fault="Repair number N of a maximum of N ends the journey.",
        kind="logic",
        edits=(
            _limits(
                _ROOM,
                _ROOM.replace("> limit:", "> limit - (counter is Counter.WORKFLOW_REPAIR_STARTS):"),
            ),
        ),
    ),
    Mutant(
        name="zero-maximum-unlimited",
        clauses=("counter-07", "policy-06"),
        fault="A maximum of 0 limits nothing.",
        kind="logic",
        edits=(NO_COUNTER_CHECK, _limits("if limit is not None and", "if limit and")),
    ),
    Mutant(
        name="attempts-counted-for-each-run",
        clauses=("counter-08", "counter-02"),
        fault="The maximum of task attempts holds for each run by itself.",
        kind="sql",
        edits=(
            NO_COUNTER_CHECK,
            _runs(
                _ATTEMPT_ROOM,
                """claimed = tx.one(
        "SELECT count(*) FROM operations WHERE journey = ? AND operation = 'ClaimAttemptRequest'"
        " AND json_extract(inputs, '$.workflow_run_id') = ?",
        (tx.row.journey, run.workflow_run_id),
    )
    tx.row = tx.row._replace(task_attempt_starts=(claimed or (0,))[0])
    require_room(tx, wanted)
    tx.change(claims""",
            ),
        ),
    ),
    Mutant(
        name="failed-run-gives-its-start-back",
        clauses=("counter-09", "counter-01"),
        fault="A run that fails returns its workflow-run start.",
        kind="sql",
        edits=(
            Edit(
                file="runs.py",
                find='"active_runs = active_runs - 1, unfinished_runs = unfinished_runs - 1,"',
                replace='"active_runs = active_runs - 1, unfinished_runs = unfinished_runs - 1,'
                ' workflow_run_starts = workflow_run_starts - ?,"',
            ),
            Edit(
                file="runs.py",
                find="(in_stage, failed, in_stage and failed),",
                replace="(failed, in_stage, failed, in_stage and failed),",
            ),
        ),
    ),
    Mutant(
        name="operations-kept-in-a-temporary-table",
        clauses=("counter-10", "idempotency-09"),
        fault="What operation ids were answered is lost when the store is closed.",
        kind="sql",
        edits=(
            Edit(
                file="migrations.py",
                find="turns.alone(lambda: _turn_to_log(connection))",
                replace="""turns.alone(lambda: _turn_to_log(connection))
    connection.execute("CREATE TEMP TABLE operations AS SELECT * FROM main.operations LIMIT 0")""",
            ),
        ),
    ),
    Mutant(
        name="refused-claim-recorded-as-granted",
        clauses=("counter-10", "precedence-09"),
        fault="A claim that exceeds its counter leaves an answer under its operation id.",
        kind="transaction",
        edits=(
            _runs(
                _ATTEMPT_ROOM,
                """recorded = record_answer(
        tx,
        request,
        AttemptClaimed(operation_id=request.operation_id, counters=request.counters),
    )
    require_room(tx, wanted)
    tx.change(claims""",
            ),
            _runs("return record_answer(tx, request, claimed)", "return recorded"),
        ),
    ),
    Mutant(
        name="counters-checked-last-to-first",
        clauses=("counter-11", "reason-04"),
        fault="Of several exhausted counters the last in policy order gives the reason.",
        kind="logic",
        edits=(_limits("for counter in Counter:", "for counter in reversed(Counter):"),),
    ),
    Mutant(
        name="counters-claimed-one-by-one",
        clauses=("counter-11", "precedence-09"),
        fault="A claim of two counters of which the second is exhausted consumes the first.",
        kind="transaction",
        edits=(
            _runs(
                "require_room(tx, wanted)\n    tx.change(claims(wanted), guard",
                """for counter in Counter:
        if counter in wanted:
            require_room(tx, {counter: 1})
            tx.change(claims({counter: 1}))
    tx.change("reservations = reservations", guard""",
            ),
        ),
    ),
    Mutant(
        name="start-claimed-before-the-repair",
        clauses=("precedence-09", "counter-05"),
        fault="A repair for which no repair is left consumes a workflow-run start.",
        kind="transaction",
        edits=(
            _runs(
                "require_room(tx, wanted)\n    run = RunRow(",
                """for counter in Counter:
        if counter in wanted:
            require_room(tx, {counter: 1})
            tx.change(claims({counter: 1}))
    wanted = {Counter.WORKFLOW_RUN_STARTS: 0}
    run = RunRow(""",
            ),
        ),
    ),
    Mutant(
        name="repair-is-no-run-start",
        clauses=("counter-12", "counter-01"),
        fault="A repair consumes a repair, but no workflow-run start.",
        kind="logic",
        edits=(
            _runs(
                "{Counter.WORKFLOW_RUN_STARTS: 1, Counter.WORKFLOW_REPAIR_STARTS: 1}",
                "{Counter.WORKFLOW_REPAIR_STARTS: 1}",
            ),
        ),
    ),
    Mutant(
        name="successor-of-a-released-transmission-is-no-retry",
        clauses=("counter-13",),
        fault="A successor of a transmission that never left consumes no provider retry.",
        kind="logic",
        edits=(
            Edit(
                file="reservations.py",
                find="    if latest is not None:\n        require_room(tx, _RETRY)",
                replace='    sent = latest is not None and latest[2] != "released_untransmitted"\n'
                "    if sent:\n        require_room(tx, _RETRY)",
            ),
            Edit(
                file="reservations.py",
                find="is_retry=latest is not None",
                replace="is_retry=sent",
            ),
        ),
    ),
    Mutant(
        name="retry-given-back-with-its-reservation",
        clauses=("counter-13", "counter-09"),
        fault="A retry that is reported unsent returns its provider retry.",
        kind="sql",
        edits=(
            Edit(
                file="reports.py",
                find="    elif _awaits_usage(tx, reservation):\n        reservation = close",
                replace="""        tx.change(
            "provider_retry_attempts = provider_retry_attempts - (SELECT count(*) > 0"
            " FROM reservations WHERE journey = ? AND invocation_id = ? AND ordinal < ?)",
            (tx.row.journey, reservation.invocation_id, reservation.ordinal),
        )
    elif _awaits_usage(tx, reservation):
        reservation = close""",
            ),
        ),
    ),
    Mutant(
        name="correction-counted-as-a-retry",
        clauses=("counter-14",),
        fault="A structured-output correction consumes a provider retry as well.",
        kind="logic",
        edits=(
            _runs(
                "wanted = {Counter(counter.value): 1 for counter in request.counters}",
                """wanted = {Counter(counter.value): 1 for counter in request.counters}
    if Counter.STRUCTURED_OUTPUT_CORRECTION_ATTEMPTS in wanted:
        wanted[Counter.PROVIDER_RETRY_ATTEMPTS] = 1""",
            ),
        ),
    ),
)
