"""Mutants that mistake the order of checks, or the reason of an end."""

from typing import Final

from wayproof.conformance.mutants.mutant import Edit, Mutant
from wayproof.conformance.mutants.named import FROM_ANY_STATE

_COMPLETE: Final = "require_going(tx)\n    row = tx.row"
_FAIL: Final = "end(tx, LifecycleState.FAILED, request.reason_code)"


def _lifecycle(find: str, replace: str) -> Edit:
    return Edit(file="lifecycle.py", find=find, replace=replace)


def _failing(body: str) -> tuple[Edit, ...]:
    return (_lifecycle(_FAIL, body),)


MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        name="cancelling-journey-times-out",
        clauses=("precedence-01", "cancel-13"),
        fault="A deadline that expires while a journey is cancelling makes it timed_out.",
        kind="logic",
        edits=(
            FROM_ANY_STATE,
            Edit(
                file="ending.py",
                find='if row.lifecycle_state == "cancelling":\n        if',
                replace='if row.lifecycle_state == "cancelling" and tx.now < row.deadline:\n'
                "        if",
            ),
        ),
    ),
    Mutant(
        name="exhausted-counter-ends-a-cancelling-journey",
        clauses=("precedence-02", "lifecycle-09"),
        fault="Counters are looked at before the journey's cancellation.",
        kind="logic",
        edits=(
            FROM_ANY_STATE,
            Edit(
                file="runs.py",
                find="require_going(tx)\n    require_active(run)\n    wanted",
                replace="""require_going(tx, or_cancelling=True)
    if tx.row.lifecycle_state == "cancelling":
        require_room(tx, {Counter(counter.value): 1 for counter in request.counters})
        raise Refusal(RefusalCode.JOURNEY_CANCELLING)
    require_active(run)
    wanted""",
            ),
        ),
    ),
    Mutant(
        name="stopped-journey-completes",
        clauses=("precedence-03", "lifecycle-09"),
        fault="A cancelling journey whose runs have all stopped can be completed.",
        kind="logic",
        edits=(
            FROM_ANY_STATE,
            _lifecycle(_COMPLETE, _COMPLETE.replace("(tx)", "(tx, or_cancelling=True)")),
        ),
    ),
    Mutant(
        name="ceiling-before-deadline",
        clauses=("precedence-04", "deadline-07"),
        fault="A reservation over the ceiling at the deadline makes the journey budget_exceeded.",
        kind="logic",
        edits=(
            Edit(
                file="reservations.py",
                find="require_going(tx)\n    require_active(run)\n",
                replace="""wanted = request.estimated_prompt_tokens or 0
    wanted += request.max_output_tokens or 0
    held = row.reconciled_tokens + row.conservatively_committed_tokens + row.reserved_tokens
    if row.lifecycle_state == "running" and latest is None:
        if held + wanted > row.max_total_tokens:
            end_and_refuse(
                tx, LifecycleState.BUDGET_EXCEEDED, TerminalReason.TOKEN_BUDGET_EXHAUSTED
            )
    require_going(tx)
    require_active(run)
""",
            ),
        ),
    ),
    Mutant(
        name="counter-before-ceiling",
        clauses=("precedence-06",),
        fault="A reservation that exceeds the ceiling and the retries gives the retries as reason.",
        kind="logic",
        edits=(
            Edit(
                file="reservations.py",
                find="if exposure + delta > row.max_total_tokens:",
                replace="""if latest is not None:
        require_room(tx, _RETRY)
    if exposure + delta > row.max_total_tokens:""",
            ),
        ),
    ),
    Mutant(
        name="cancellation-recorded-after-the-end",
        clauses=("precedence-07", "cancel-05"),
        fault="A cancellation that comes after the end is written into the ended journey.",
        kind="sql",
        edits=(
            _lifecycle(
                "return snapshot_of(tx.row)",
                """if tx.row.terminal_reason is not None and tx.row.cancellation_reason is None:
        tx.change(
            "cancellation_reason = ?, cancellation_requested_at = ?, cancellation_deadline = ?",
            (
                request.reason_code.value,
                tx.now,
                after(tx.now, 1000 * tx.row.cancellation_grace_seconds),
            ),
        )
        tx.reload()
    return snapshot_of(tx.row)""",
            ),
        ),
    ),
    Mutant(
        name="heartbeat-skips-the-checkpoint",
        clauses=("precedence-08", "lifecycle-06"),
        fault="A heartbeat past the deadline keeps a running journey going.",
        kind="logic",
        edits=(
            Edit(
                file="leases.py",
                find="require_going(tx, or_cancelling=True)",
                replace="""if tx.row.lifecycle_state != "running":
        require_going(tx, or_cancelling=True)""",
            ),
        ),
    ),
    Mutant(
        name="cancelling-unsent-report-skips-the-checkpoint",
        clauses=("precedence-08", "cancel-12"),
        fault="A report of nothing sent does not let the cancellation cutoff take effect.",
        kind="logic",
        edits=(
            Edit(
                file="reports.py",
                find="raise Refusal(RefusalCode.FENCED)\n    reservation = _after_checkpoint("
                "tx, reservation)",
                replace="""raise Refusal(RefusalCode.FENCED)
    if tx.row.lifecycle_state != "cancelling":
        reservation = _after_checkpoint(tx, reservation)""",
            ),
        ),
    ),
    Mutant(
        name="unknown-run-looked-up-after-the-checkpoint",
        clauses=("precedence-10", "run-08"),
        fault="A claim for an unknown run lets the deadline take effect, and is refused with it.",
        kind="transaction",
        edits=(
            Edit(
                file="runs.py",
                find="run = known_run(tx, request.workflow_run_id)\n"
                "    require_live(tx, request.fencing_token)\n    require_going(tx)\n",
                replace="""require_live(tx, request.fencing_token)
    require_going(tx)
    run = known_run(tx, request.workflow_run_id)
""",
            ),
        ),
    ),
    Mutant(
        name="failure-fenced-after-the-checkpoint",
        clauses=("precedence-10", "lease-04"),
        fault="A failure with a wrong token past the deadline makes the journey timed_out.",
        kind="transaction",
        edits=(
            _lifecycle(
                "require_live(tx, request.fencing_token)\n    require_going(tx)\n    end(",
                "require_going(tx)\n    require_live(tx, request.fencing_token)\n    end(",
            ),
        ),
    ),
    Mutant(
        name="predecessor-looked-at-after-the-ceiling",
        clauses=("precedence-11", "ambiguity-06"),
        fault="A successor of an open transmission that is over the ceiling ends the journey.",
        kind="logic",
        edits=(
            Edit(
                file="reservations.py",
                find='if not authoritative and latest is not None and latest[2] in ("reserved",'
                ' "transmitted"):',
                replace="""opened = row.reconciled_tokens + row.conservatively_committed_tokens
    wanted = (request.estimated_prompt_tokens or 0) + (request.max_output_tokens or 0)
    if not authoritative and opened + row.reserved_tokens + wanted > row.max_total_tokens:
        end_and_refuse(tx, LifecycleState.BUDGET_EXCEEDED, TerminalReason.TOKEN_BUDGET_EXHAUSTED)
    if not authoritative and latest is not None and latest[2] in ("reserved", "transmitted"):""",
            ),
        ),
    ),
    Mutant(
        name="cutoff-given-as-the-reason",
        clauses=("reason-01", "reason-03"),
        fault="A journey that is cancelled at its cutoff ends with a reason of its own.",
        kind="logic",
        edits=(
            Edit(
                file="ending.py",
                find="if tx.now >= effective_cutoff(tx):\n            end_cancelled(tx)",
                replace="if tx.now >= effective_cutoff(tx):\n"
                '            end(tx, LifecycleState.CANCELLED, "cancellation_grace_expired")',
            ),
        ),
    ),
    Mutant(
        name="timed-out-orphan-has-another-reason",
        clauses=("reason-02", "reason-05"),
        fault="A running journey that nobody owned at its deadline has the reason"
        " orphan_recovery_unsafe.",
        kind="logic",
        edits=(
            Edit(
                file="ending.py",
                find="end(tx, LifecycleState.TIMED_OUT, TerminalReason.DEADLINE_EXPIRED)",
                replace="""owned = tx.now < row.owner_lease_expires_at or not row.active_runs
            orphaned = TerminalReason.ORPHAN_RECOVERY_UNSAFE
            end(
                tx,
                LifecycleState.TIMED_OUT,
                TerminalReason.DEADLINE_EXPIRED if owned else orphaned,
            )""",
            ),
        ),
    ),
    Mutant(
        name="cancelled-at-the-request-of-the-caller",
        clauses=("reason-03",),
        fault="Every cancelled journey has the reason caller_requested.",
        kind="sql",
        edits=(
            Edit(
                file="ending.py",
                find='tx.row.cancellation_reason or ""',
                replace='"caller_requested"',
            ),
        ),
    ),
    Mutant(
        name="retry-limit-recorded-as-the-token-budget",
        clauses=("reason-04", "counter-03"),
        fault="The refusal names the retries, the journey's reason is token_budget_exhausted.",
        kind="logic",
        edits=(
            Edit(
                file="reservations.py",
                find="require_room(tx, _RETRY)",
                replace="""try:
            require_room(tx, _RETRY)
        except Refusal:
            tx.change("terminal_reason = 'token_budget_exhausted'")
            raise""",
            ),
        ),
    ),
    Mutant(
        name="cause-of-the-ambiguity-given-as-the-reason",
        clauses=("reason-05", "ambiguity-07"),
        fault="A truncated response ends the journey with the reason truncated_response.",
        kind="logic",
        edits=(
            Edit(
                file="reports.py",
                find="        reservation = expire(tx, reservation)\n",
                replace="""        was_running = tx.row.lifecycle_state == "running"
        reservation = expire(tx, reservation)
        if was_running and tx.row.terminal_reason and request.cause == "truncated_response":
            tx.change("terminal_reason = ?", (request.cause.value,))
""",
            ),
        ),
    ),
    Mutant(
        name="failure-without-repairs-left-has-another-reason",
        clauses=("reason-06", "reason-05"),
        fault="A workflow failure has the reason workflow_repair_limit_exhausted if no repair is"
        " left.",
        kind="logic",
        edits=_failing(
            """reason: str = request.reason_code
    if tx.row.max_workflow_repair_starts == tx.row.workflow_repair_starts:
        reason = TerminalReason.WORKFLOW_REPAIR_LIMIT_EXHAUSTED
    end(tx, LifecycleState.FAILED, reason)"""
        ),
    ),
    Mutant(
        name="lost-store-recorded-as-a-workflow-failure",
        clauses=("reason-07", "reason-05"),
        fault="lifecycle_persistence_unavailable is recorded as workflow_failed.",
        kind="logic",
        edits=_failing(
            """reason: str = request.reason_code
    if reason == TerminalReason.LIFECYCLE_PERSISTENCE_UNAVAILABLE:
        reason = TerminalReason.WORKFLOW_FAILED
    end(tx, LifecycleState.FAILED, reason)"""
        ),
    ),
    Mutant(
        name="unmountable-boundary-exceeds-the-budget",
        clauses=("transmission-03", "reason-04"),
        fault="A failure with token_reservation_unavailable ends the journey budget_exceeded.",
        kind="logic",
        edits=_failing(
            """unavailable = request.reason_code == TerminalReason.TOKEN_RESERVATION_UNAVAILABLE
    state = LifecycleState.BUDGET_EXCEEDED if unavailable else LifecycleState.FAILED
    end(tx, state, request.reason_code)"""
        ),
    ),
)
