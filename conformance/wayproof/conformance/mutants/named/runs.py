"""Mutants that start, number, relate and end workflow runs wrongly."""

from typing import Final

from wayproof.conformance.mutants.mutant import Edit, Mutant

_CONFLICT: Final = 'if run.state not in ("stopped", request.outcome):'


def _runs(find: str, replace: str) -> Edit:
    return Edit(file="runs.py", find=find, replace=replace)


def _entering(find: str, replace: str) -> Edit:
    return Edit(file="entering.py", find=find, replace=replace)


MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        name="run-ids-numbered-within-the-journey",
        clauses=("identity-02",),
        fault="The entry runs of two journeys have the same ids.",
        kind="logic",
        edits=(
            _entering(
                "workflow_run_id=new_workflow_run_id()",
                'workflow_run_id=f"run-{stage.position:016}{ordinal:016}"',
            ),
        ),
    ),
    Mutant(
        name="equal-members-started-once",
        clauses=("run-01", "run-03"),
        fault="A stage that names one workflow twice starts it once.",
        kind="logic",
        edits=(
            Edit(
                file="stages.py",
                find="workflows = step.workflows\n",
                replace="workflows = tuple(dict.fromkeys(step.workflows))\n",
            ),
        ),
    ),
    Mutant(
        name="journey-begun-with-a-lapsed-lease",
        clauses=("run-02", "lease-04"),
        fault="The entry stage can be dispatched with a token whose lease has lapsed.",
        kind="logic",
        edits=(
            _runs(
                "    require_live(tx, request.fencing_token)\n    require_going(tx)\n    first",
                """    if request.fencing_token != tx.row.fencing_token:
        raise Refusal(RefusalCode.FENCED)
    require_going(tx)
    first""",
            ),
        ),
    ),
    Mutant(
        name="entry-stage-claims-one-start",
        clauses=("run-03", "counter-12"),
        fault="A stage of parallel members consumes a single workflow-run start.",
        kind="logic",
        edits=(
            _entering(
                "{Counter.WORKFLOW_RUN_STARTS: len(stage.workflows)}",
                "{Counter.WORKFLOW_RUN_STARTS: min(1, len(stage.workflows))}",
            ),
        ),
    ),
    Mutant(
        name="members-in-the-order-of-their-names",
        clauses=("run-04", "observe-10"),
        fault="Parallel members are numbered by name, not as their step declares them.",
        kind="logic",
        edits=(
            _entering(
                "enumerate(stage.workflows or (None,))",
                "enumerate(sorted(stage.workflows) or (None,))",
            ),
        ),
    ),
    Mutant(
        name="begin-replayed-in-reverse",
        clauses=("run-04", "idempotency-09"),
        fault="A repeated begin_journey answers the run ids of its members backwards.",
        kind="sql",
        edits=(
            _entering(
                "ORDER BY sequence_position, member_ordinal",
                "ORDER BY sequence_position, member_ordinal DESC",
            ),
        ),
    ),
    Mutant(
        name="grandchild-hung-on-the-entry-run",
        clauses=("run-05", "observe-02"),
        fault="The child of a child is recorded as a child of the entry run.",
        kind="sql",
        edits=(
            _runs(
                "parent_workflow_run_id=parent.workflow_run_id",
                "parent_workflow_run_id=parent.parent_workflow_run_id or parent.workflow_run_id",
            ),
        ),
    ),
    Mutant(
        name="child-has-the-first-ordinal",
        clauses=("run-06", "observe-10"),
        fault="A child of the second parallel member is numbered like the first.",
        kind="logic",
        edits=(_runs("member_ordinal=parent.member_ordinal", "member_ordinal=0"),),
    ),
    Mutant(
        name="completed-run-decomposed",
        clauses=("run-07",),
        fault="A run that has completed can be decomposed.",
        kind="logic",
        edits=(
            _runs(
                'if request.purpose == "decomposition":',
                'if request.purpose == "decomposition" and parent.state != "completed":',
            ),
        ),
    ),
    Mutant(
        name="failure-repaired-twice",
        clauses=("run-07", "lifecycle-12"),
        fault="A failed run that a repair has superseded can be repaired again.",
        kind="sql",
        edits=(
            _runs('parent.state != "failed" or parent.superseded', 'parent.state != "failed"'),
            _runs("AND state = 'failed' AND superseded = 0", "AND state = 'failed'"),
            _runs(
                "(in_stage, is_repair, in_stage and is_repair)",
                "(in_stage, *[is_repair and not parent.superseded] * 2)",
            ),
        ),
    ),
    Mutant(
        name="parent-of-another-journey-accepted",
        clauses=("run-08",),
        fault="A run of another journey of the store can be refined.",
        kind="sql",
        edits=(
            _runs(
                "parent = known_run(tx, request.parent_workflow_run_id)",
                """parent = tx.run(request.parent_workflow_run_id)
    if parent is None and request.purpose == "refinement":
        from wayproof.impl.journey.rows import RUN_COLUMNS
        found = tx.one(
            f"SELECT {RUN_COLUMNS} FROM workflow_runs WHERE workflow_run_id = ?",
            (request.parent_workflow_run_id,),
        )
        parent = None if found is None else RunRow._make(found)
    if parent is None:
        raise Refusal(RefusalCode.UNKNOWN_WORKFLOW_RUN)""",
            ),
            Edit(
                file="schema.py",
                find="FOREIGN KEY (journey, parent_workflow_run_id) REFERENCES workflow_runs,\n"
                "    CHECK ((state IN",
                replace="CHECK ((state IN",
            ),
        ),
    ),
    Mutant(
        name="other-outcome-answered-with-the-record",
        clauses=("run-09", "idempotency-10"),
        fault="A completed run that is reported failed answers its record instead of a conflict.",
        kind="logic",
        edits=(_runs(_CONFLICT, "if False:"),),
    ),
    Mutant(
        name="later-outcome-overwrites-the-first",
        clauses=("run-09",),
        fault="A failed run that is reported completed becomes completed.",
        kind="sql",
        edits=(
            _runs(
                _CONFLICT,
                """if run.state == "failed" and request.outcome == "completed" and not (
            run.superseded or tx.row.terminal_reason
        ):
            tx.connection.execute(
                "UPDATE workflow_runs SET state = ? WHERE journey = ? AND workflow_run_id = ?",
                (request.outcome, tx.row.journey, run.workflow_run_id),
            )
            tx.change("unrepaired_failures = unrepaired_failures - 1")
            return _reading(run.workflow_run_id, request.outcome, NOTHING_ENTERED)
        if run.state not in ("stopped", request.outcome):""",
            ),
        ),
    ),
    Mutant(
        name="refinement-not-recorded",
        clauses=("run-10", "counter-10"),
        fault="The repeated start of a refinement starts a second one.",
        kind="transaction",
        edits=(
            _runs(
                "return record_answer(tx, request, started)",
                """if request.purpose == "refinement":
        return encode(started)
    return record_answer(tx, request, started)""",
            ),
        ),
    ),
    Mutant(
        name="replays-refused-after-the-end",
        clauses=("idempotency-09", "run-10"),
        fault="A known operation id of claim_attempt is refused once the journey has ended.",
        kind="logic",
        edits=(
            _runs(
                'all or none."""\n    answer = recorded_answer(tx, request)\n'
                "    if answer is not None:\n",
                'all or none."""\n    answer = recorded_answer(tx, request)\n'
                "    if answer is not None:\n        require_going(tx)\n",
            ),
        ),
    ),
    Mutant(
        name="begin-not-replayed-after-the-end",
        clauses=("idempotency-09",),
        fault="A repeated begin_journey is refused once the journey has ended.",
        kind="logic",
        edits=(
            _runs(
                "if tx.row.started_at is not None:",
                "if tx.row.started_at is not None and tx.row.terminal_reason is None:",
            ),
        ),
    ),
    Mutant(
        name="inputs-compared-without-the-workflow",
        clauses=("idempotency-10",),
        fault="A known operation id with another workflow_id is answered from the record.",
        kind="logic",
        edits=(
            Edit(
                file="identities.py",
                find='frozenset({"access", "journey_id", "fencing_token", "operation_id"})',
                replace="frozenset("
                '{"access", "journey_id", "fencing_token", "operation_id", "workflow_id"})',
            ),
        ),
    ),
    Mutant(
        name="inputs-compared-without-the-lease",
        clauses=("idempotency-10", "lease-01"),
        fault="A known claim of a lease with another length is answered from the record.",
        kind="logic",
        edits=(
            Edit(
                file="identities.py",
                find='frozenset({"access", "journey_id", "fencing_token", "operation_id"})',
                replace="frozenset("
                '{"access", "journey_id", "fencing_token", "operation_id",'
                ' "lease_milliseconds"})',
            ),
        ),
    ),
    Mutant(
        name="inputs-compared-with-the-token",
        clauses=("idempotency-09", "counter-10"),
        fault="A known operation id repeated under a new token is a conflict.",
        kind="logic",
        edits=(
            Edit(
                file="identities.py",
                find='frozenset({"access", "journey_id", "fencing_token", "operation_id"})',
                replace='frozenset({"access", "journey_id", "operation_id"})',
            ),
        ),
    ),
    Mutant(
        name="failed-run-stays-active",
        clauses=("lifecycle-08", "lease-10"),
        fault="A run that failed still counts as active.",
        kind="sql",
        edits=(
            _runs("active_runs = active_runs - 1", "active_runs = active_runs - ?"),
            _runs(
                "(in_stage, failed, in_stage and failed)",
                "(not failed, in_stage, failed, in_stage and failed)",
            ),
        ),
    ),
)
