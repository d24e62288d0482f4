"""Mutants that lend a journey to the wrong worker, or take it over wrongly."""

from typing import Final

from wayproof.conformance.mutants.mutant import Edit, Mutant

_GOING: Final = "    require_going(tx)\n"
_HELD: Final = "if tx.now < row.owner_lease_expires_at:"
_RECOVER: Final = "    if row.fencing_token:\n"
_ORPHANS: Final = "        if row.active_runs:\n"
_OPEN: Final = "        if row.transmitted_outside_groups:\n"


def _leases(find: str, replace: str) -> Edit:
    return Edit(file="leases.py", find=find, replace=replace)


MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        name="holder-claims-again",
        clauses=("lease-01", "lease-03"),
        fault="The worker that holds the lease may claim it again before it has expired.",
        kind="sql",
        edits=(
            _leases(
                _HELD,
                """last = tx.one(
        "SELECT json_extract(inputs, '$.worker_id') FROM operations WHERE journey = ?"
        " AND operation = 'ClaimLeaseRequest'"
        " ORDER BY json_extract(answer, '$.fencing_token') DESC LIMIT 1",
        (row.journey,),
    )
    held = tx.now < row.owner_lease_expires_at
    if held and (last is None or last[0] != request.worker_id):""",
            ),
            _leases(_RECOVER, "    if row.fencing_token and not held:\n"),
        ),
    ),
    Mutant(
        name="heartbeat-shortens-the-lease",
        clauses=("lease-02",),
        fault="A heartbeat with a shorter lease brings its expiry forward.",
        kind="logic",
        edits=(
            _leases(
                "expires_at = max(held_until, after(tx.now, request.lease_milliseconds))\n"
                "    if expires_at > held_until:",
                "expires_at = after(tx.now, request.lease_milliseconds)\n"
                "    if expires_at != held_until:",
            ),
        ),
    ),
    Mutant(
        name="heartbeat-revives-the-lease",
        clauses=("lease-02", "lease-04"),
        fault="A lapsed lease that nobody has taken over can be extended.",
        kind="logic",
        edits=(
            _leases(
                "require_live(tx, request.fencing_token)\n    require_going(tx, or",
                """if request.fencing_token != tx.row.fencing_token:
        raise Refusal(RefusalCode.FENCED)
    require_going(tx, or""",
            ),
        ),
    ),
    Mutant(
        name="lease-held-at-its-expiry",
        clauses=("lease-03",),
        fault="At its expiry itself a lease cannot be claimed by another worker.",
        kind="logic",
        edits=(_leases(_HELD, "if tx.now <= row.owner_lease_expires_at and row.fencing_token:"),),
    ),
    Mutant(
        name="token-granted-again-before-the-begin",
        clauses=("lease-03", "lease-04"),
        fault="Whoever takes over a journey that has not begun gets the token of its predecessor.",
        kind="sql",
        edits=(
            _leases(
                "fencing_token = fencing_token + 1, owner",
                "fencing_token = CASE WHEN started_at IS NULL THEN 1"
                " ELSE fencing_token + 1 END, owner",
            ),
            _leases(
                "fencing_token=row.fencing_token + 1,",
                "fencing_token=1 if row.started_at is None else row.fencing_token + 1,",
            ),
        ),
    ),
    Mutant(
        name="token-live-at-its-expiry",
        clauses=("lease-04", "lease-02"),
        fault="At the expiry of its lease itself a token is still live.",
        kind="sql",
        edits=(
            Edit(
                file="identities.py",
                find="return fencing_token == tx.row.fencing_token and"
                " tx.now < tx.row.owner_lease_expires_at",
                replace="""return bool(
        tx.one(
            "SELECT 1 FROM journeys WHERE journey = ?"
            " AND fencing_token = ? AND ? <= owner_lease_expires_at",
            (tx.row.journey, fencing_token, tx.now),
        )
    )""",
            ),
        ),
    ),
    Mutant(
        name="older-tokens-are-live",
        clauses=("lease-04",),
        fault="Every token up to the latest is live as long as the latest lease is.",
        kind="sql",
        edits=(
            Edit(
                file="identities.py",
                find="return fencing_token == tx.row.fencing_token and"
                " tx.now < tx.row.owner_lease_expires_at",
                replace="""return bool(
        tx.one(
            "SELECT 1 FROM journeys WHERE journey = ?"
            " AND fencing_token >= ? AND ? < owner_lease_expires_at",
            (tx.row.journey, fencing_token, tx.now),
        )
    )""",
            ),
        ),
    ),
    Mutant(
        name="attempts-claimed-with-a-lapsed-lease",
        clauses=("lease-04",),
        fault="claim_attempt looks at the token only, not at whether its lease has lapsed.",
        kind="logic",
        edits=(
            Edit(
                file="runs.py",
                find="require_live(tx, request.fencing_token)\n    require_going(tx)\n"
                "    require_active(run)",
                replace="""if request.fencing_token != tx.row.fencing_token:
        from wayproof.impl.journey.identities import RefusalCode as codes
        raise Refusal(codes.FENCED)
    require_going(tx)
    require_active(run)""",
            ),
        ),
    ),
    Mutant(
        name="completion-needs-no-live-token",
        clauses=("lease-04", "outcome-07"),
        fault="A worker whose lease was taken over can still complete the journey.",
        kind="logic",
        edits=(
            Edit(
                file="lifecycle.py",
                find="require_live(tx, request.fencing_token)\n    require_going(tx)\n    row",
                replace="""if not 0 < request.fencing_token <= tx.row.fencing_token:
        raise Refusal(RefusalCode.FENCED)
    require_going(tx)
    row""",
            ),
        ),
    ),
    Mutant(
        name="ended-journey-grants-a-lease",
        clauses=("lease-05", "lifecycle-16"),
        fault="The lease of a terminal journey can be claimed.",
        kind="logic",
        edits=(
            _leases(_GOING, "    if tx.row.terminal_reason is None:\n        require_going(tx)\n"),
            _leases(_RECOVER, "    if row.fencing_token and row.terminal_reason is None:\n"),
        ),
    ),
    Mutant(
        name="cancelling-journey-grants-a-lease",
        clauses=("lease-06", "cancel-06"),
        fault="The lapsed lease of a cancelling journey can be claimed.",
        kind="logic",
        edits=(
            _leases(_GOING, "    require_going(tx, or_cancelling=True)\n"),
            _leases(_RECOVER, '    if row.fencing_token and row.lifecycle_state == "running":\n'),
        ),
    ),
    Mutant(
        name="takeover-charges-what-is-in-flight",
        clauses=("lease-08",),
        fault="A takeover that finds an ambiguous transmission charges it in the same commit.",
        kind="transaction",
        edits=(
            _leases(
                _OPEN,
                _OPEN
                + """            from wayproof.impl.journey.ending import _OPEN, close_unreported
            from wayproof.impl.journey.rows import ReservationRow
            for found in tx.connection.execute(_OPEN, (row.journey,)).fetchall():
                close_unreported(tx, ReservationRow._make(found))
""",
            ),
        ),
    ),
    Mutant(
        name="orphan-before-ambiguity",
        clauses=("lease-08", "lease-09"),
        fault="A takeover with an active run and a transmission in flight says"
        " orphan_recovery_unsafe.",
        kind="logic",
        edits=(
            _leases(_OPEN, "        if row.transmitted_outside_groups and not row.active_runs:\n"),
        ),
    ),
    Mutant(
        name="takeover-refusal-rolled-back",
        clauses=("lease-08", "lease-09"),
        fault="A refused takeover rolls back the end that it reports.",
        kind="transaction",
        edits=(
            Edit(
                file="service.py",
                find="# Committed like an answer: nothing was written but the end that it reports.",
                replace="""if refusal.code in (
                "provider_transmission_ambiguous", "orphan_recovery_unsafe"
            ):
                raise""",
            ),
        ),
    ),
    Mutant(
        name="group-member-in-flight-ends-a-takeover",
        clauses=("lease-08", "lease-10"),
        fault="A takeover does not tell an authoritative transmission in flight from another.",
        kind="sql",
        edits=(
            _leases(
                _OPEN,
                """        if tx.one(
            "SELECT 1 FROM reservations WHERE journey = ? AND state = 'transmitted'",
            (row.journey,),
        ):
""",
            ),
        ),
    ),
    Mutant(
        name="resolved-transmission-still-counts-as-open",
        clauses=("lease-10", "lease-08"),
        fault="A transmission that was reconciled still makes a takeover ambiguous.",
        kind="sql",
        edits=(
            Edit(
                file="exposure.py",
                find="transmitted_outside_groups = transmitted_outside_groups - ?",
                replace="transmitted_outside_groups = transmitted_outside_groups - ? * 0",
            ),
        ),
    ),
    Mutant(
        name="child-run-is-no-orphan",
        clauses=("lease-09",),
        fault="A takeover looks for active runs of the entry stage alone.",
        kind="sql",
        edits=(
            _leases(
                _ORPHANS,
                """        if tx.one(
            "SELECT 1 FROM workflow_runs WHERE journey = ? AND state = 'active'"
            " AND purpose = 'entry'",
            (row.journey,),
        ):
""",
            ),
        ),
    ),
    Mutant(
        name="every-started-journey-is-an-orphan",
        clauses=("lease-10",),
        fault="A takeover of a journey that has begun fails it although no run is active.",
        kind="sql",
        edits=(
            _leases(
                _ORPHANS,
                """        begun = "SELECT 1 FROM workflow_runs WHERE journey = ?"
        if tx.one(begun, (row.journey,)):
""",
            ),
        ),
    ),
    Mutant(
        name="takeover-claims-a-run-start",
        clauses=("lease-10", "counter-01"),
        fault="A takeover of a running journey consumes a workflow-run start, if one is left.",
        kind="sql",
        edits=(
            _leases(
                _ORPHANS,
                """        if row.started_at is not None and not row.active_runs:
            tx.change(
                "workflow_run_starts = min(workflow_run_starts + 1,"
                " coalesce(max_workflow_run_starts, workflow_run_starts + 1))"
            )
"""
                + _ORPHANS,
            ),
        ),
    ),
    Mutant(
        name="leases-end-at-restart",
        clauses=("lease-11", "lease-01"),
        fault="A store that is opened again takes every lease for expired.",
        kind="sql",
        edits=(
            Edit(
                file="migrations.py",
                find="turns.alone(lambda: _turn_to_log(connection))",
                replace="""turns.alone(lambda: _turn_to_log(connection))
    connection.execute(
        "UPDATE journeys INDEXED BY journeys_due SET owner_lease_expires_at = 0"
        " WHERE due_at IS NOT NULL"
    )""",
            ),
        ),
    ),
    Mutant(
        name="refused-takeover-recorded-as-granted",
        clauses=("lease-05", "precedence-09"),
        fault="A takeover that ends the journey leaves a grant under its operation id.",
        kind="transaction",
        edits=(
            _leases(
                _RECOVER,
                """    expires_at = after(tx.now, request.lease_milliseconds)
    granted = LeaseGranted(
        fencing_token=row.fencing_token + 1, lease_expires_at=from_milliseconds(expires_at)
    )
    recorded = record_answer(tx, request, granted)
"""
                + _RECOVER,
            ),
            _leases("return record_answer(tx, request, granted)", "return recorded"),
        ),
    ),
)
