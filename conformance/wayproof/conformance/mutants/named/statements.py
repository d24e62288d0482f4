"""Mutants of single statements: a predicate, an order, a bound or a column that is not there."""

from typing import Final

from wayproof.conformance.mutants.mutant import Edit, Mutant
from wayproof.conformance.mutants.named import NO_COUNTER_CHECK, SAME_SCOPE

_DUE: Final = "AND due_at <= ?"
_LAPSED: Final = "WHERE journey = ? AND falls_due_at <= ? ORDER BY ordinal"
_OPEN: Final = "AND falls_due_at IS NOT NULL ORDER BY ordinal"
_UNFINISHED: Final = "WHERE journey = ? AND finished_at IS NULL"
_LATEST: Final = "ORDER BY ordinal DESC LIMIT 1"
_SIBLINGS: Final = "WHERE journey = ? AND invocation_id = ? AND idempotency = 'authoritative'\""
_COLUMNS: Final = "**{field: getattr(policy, field) for field in COUNTER_POLICY_FIELDS.values()}"


def _sweeps(find: str, replace: str) -> tuple[Edit, ...]:
    return (Edit(file="sweeps.py", find=find, replace=replace),)


def _ending(find: str, replace: str) -> tuple[Edit, ...]:
    return (Edit(file="ending.py", find=find, replace=replace),)


def _exposure(find: str, replace: str) -> tuple[Edit, ...]:
    return (Edit(file="exposure.py", find=find, replace=replace),)


def _runs(find: str, replace: str) -> tuple[Edit, ...]:
    return (Edit(file="runs.py", find=find, replace=replace),)


def _observation(find: str, replace: str) -> tuple[Edit, ...]:
    return (Edit(file="observation.py", find=find, replace=replace),)


MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        name="sweep-passes-over-pending-journeys",
        clauses=("deadline-02", "lifecycle-06"),
        fault="A sweep does not look for journeys that have not begun.",
        kind="sql",
        edits=_sweeps(_DUE, f"{_DUE} AND lifecycle_state <> 'pending'"),
    ),
    Mutant(
        name="sweep-passes-over-cancelling-journeys",
        clauses=("cancel-11", "cancel-12"),
        fault="A sweep does not look for cancelling journeys.",
        kind="sql",
        edits=_sweeps(_DUE, f"{_DUE} AND lifecycle_state <> 'cancelling'"),
    ),
    Mutant(
        name="sweep-passes-over-ended-journeys",
        clauses=("settle-07", "settle-05"),
        fault="A sweep does not look for journeys that have ended.",
        kind="sql",
        edits=_sweeps(_DUE, f"{_DUE} AND finished_at IS NULL"),
    ),
    Mutant(
        name="new-journey-never-due",
        clauses=("deadline-02", "lifecycle-06"),
        fault="The start does not write when a sweep has to look at the journey.",
        kind="sql",
        edits=(
            Edit(
                file="starts.py",
                find='"due_at": to_milliseconds(request.policy.deadline_utc)',
                replace='"due_at": None',
            ),
        ),
    ),
    Mutant(
        name="sweep-passes-over-transmissions-in-flight",
        clauses=("reservation-07", "ambiguity-08"),
        fault="A sweep lets only the leases of reserved reservations lapse.",
        kind="sql",
        edits=_sweeps(_LAPSED, _LAPSED.replace(" ORDER", " AND state = 'reserved' ORDER")),
    ),
    Mutant(
        name="sweep-passes-over-reserved-reservations",
        clauses=("reservation-15",),
        fault="A sweep lets only the leases of transmissions in flight lapse.",
        kind="sql",
        edits=_sweeps(_LAPSED, _LAPSED.replace(" ORDER", " AND state = 'transmitted' ORDER")),
    ),
    Mutant(
        name="sweep-passes-over-groups",
        clauses=("group-03", "group-09"),
        fault="A sweep does not let the leases of group members lapse.",
        kind="sql",
        edits=_sweeps(_LAPSED, _LAPSED.replace(" ORDER", " AND idempotency = 'none' ORDER")),
    ),
    Mutant(
        name="sweep-takes-one-lease",
        clauses=("reservation-15", "reservation-07"),
        fault="A sweep processes only the first of several lapsed leases of a journey.",
        kind="sql",
        edits=_sweeps(_LAPSED, f"{_LAPSED} LIMIT 1"),
    ),
    Mutant(
        name="reserved-left-at-the-accounting-deadline",
        clauses=("settle-06",),
        fault="At the accounting deadline only transmissions in flight are closed.",
        kind="sql",
        edits=_ending(_OPEN, _OPEN.replace(" ORDER", " AND state = 'transmitted' ORDER")),
    ),
    Mutant(
        name="one-reservation-closed-at-the-accounting-deadline",
        clauses=("settle-05", "settle-06"),
        fault="At the accounting deadline only the first of several open reservations is closed.",
        kind="sql",
        edits=_ending(_OPEN, f"{_OPEN} LIMIT 1"),
    ),
    Mutant(
        name="children-not-quarantined",
        clauses=("outcome-03", "cancel-15"),
        fault="The end of a journey quarantines the runs of its entry stage alone.",
        kind="sql",
        edits=_ending(_UNFINISHED, f"{_UNFINISHED} AND purpose = 'entry'"),
    ),
    Mutant(
        name="completed-runs-quarantined-too",
        clauses=("outcome-02", "run-09"),
        fault="The end of a journey quarantines runs that have completed.",
        kind="sql",
        edits=(
            *_ending(
                _UNFINISHED,
                "WHERE journey = ? AND (finished_at IS NULL"
                " OR state = 'completed' AND chosen_option_id IS NULL)",
            ),
            *_ending("UPDATE workflow_runs INDEXED BY unfinished_runs", "UPDATE workflow_runs"),
        ),
    ),
    Mutant(
        name="run-end-ends-every-active-run",
        clauses=("run-09", "lifecycle-12"),
        fault="The end of one run is written into every active run of its journey.",
        kind="sql",
        edits=_runs(
            """    tx.set_once(
        "UPDATE workflow_runs SET state = ?, finished_at = ?"
        " WHERE journey = ? AND workflow_run_id = ? AND state = 'active'",
        (state, tx.now, tx.row.journey, run.workflow_run_id),""",
            """    tx.connection.execute(
        "UPDATE workflow_runs SET state = ?, finished_at = ?"
        " WHERE journey = ? AND state = 'active'",
        (state, tx.now, tx.row.journey),""",
        ),
    ),
    Mutant(
        name="repair-supersedes-every-failure",
        clauses=("run-07", "lifecycle-12"),
        fault="A repair marks all failed runs of its journey superseded.",
        kind="sql",
        edits=_runs(
            """        tx.set_once(
            "UPDATE workflow_runs SET superseded = 1 WHERE journey = ? AND workflow_run_id = ?"
            " AND state = 'failed' AND superseded = 0",
            (tx.row.journey, parent.workflow_run_id),""",
            """        tx.connection.execute(
            "UPDATE workflow_runs SET superseded = 1 WHERE journey = ?"
            " AND state = 'failed' AND superseded = 0",
            (tx.row.journey,),""",
        ),
    ),
    Mutant(
        name="run-of-another-journey-claims-attempts",
        clauses=("precedence-10", "run-08"),
        fault="A run of another journey is no unknown run to claim_attempt.",
        kind="sql",
        edits=_runs(
            "    run = known_run(tx, request.workflow_run_id)\n"
            "    require_live(tx, request.fencing_token)\n    require_going(tx)\n",
            """    from wayproof.impl.journey.rows import RUN_COLUMNS
    found = tx.one(
        f"SELECT {RUN_COLUMNS} FROM workflow_runs WHERE workflow_run_id = ? AND journey IN"
        " (SELECT journey FROM journeys WHERE namespace ="
        " (SELECT namespace FROM journeys WHERE journey = ?))",
        (request.workflow_run_id, tx.row.journey),
    )
    if found is None:
        raise Refusal(RefusalCode.UNKNOWN_WORKFLOW_RUN)
    run = RunRow._make(found)
    require_live(tx, request.fencing_token)
    require_going(tx)
""",
        ),
    ),
    Mutant(
        name="begin-replayed-with-its-children",
        clauses=("idempotency-09", "run-10"),
        fault="A repeated begin_journey answers every run of the journey.",
        kind="sql",
        edits=(
            Edit(
                file="entering.py",
                find="FROM workflow_runs INDEXED BY stage_runs",
                replace="FROM workflow_runs",
            ),
            Edit(
                file="entering.py",
                find="WHERE journey = ? AND entered_by = ?",
                replace="WHERE journey = ?1 AND (entered_by = ?2 OR ?2 = '')",
            ),
        ),
    ),
    Mutant(
        name="operation-ids-known-across-journeys",
        clauses=("idempotency-10", "identity-05"),
        fault="An operation id that another journey of the scope has used is known here too.",
        kind="sql",
        edits=(
            Edit(
                file="identities.py",
                find="FROM operations WHERE journey = ? AND operation_id = ?",
                replace=f"FROM operations WHERE journey IN ({SAME_SCOPE}) AND operation_id = ?",
            ),
        ),
    ),
    Mutant(
        name="every-lease-renewed-with-one",
        clauses=("reservation-18", "reservation-15"),
        fault="A renewal is written into every open reservation of the journey.",
        kind="sql",
        edits=(
            Edit(
                file="reservations.py",
                find="""        tx.set_once(
            "UPDATE reservations SET lease_expires_at = ?, falls_due_at = ?"
            " WHERE journey = ? AND ordinal = ? AND falls_due_at IS NOT NULL",
            (expires_at, expires_at, tx.row.journey, reservation.ordinal),""",
                replace="""        tx.connection.execute(
            "UPDATE reservations SET lease_expires_at = ?, falls_due_at = ?"
            " WHERE journey = ? AND falls_due_at IS NOT NULL",
            (expires_at, expires_at, tx.row.journey),""",
            ),
        ),
    ),
    Mutant(
        name="every-group-settled-with-one",
        clauses=("group-08", "group-05"),
        fault="A response settles the transmitted members of every group of the journey.",
        kind="sql",
        edits=_exposure(_SIBLINGS, _SIBLINGS.replace("invocation_id = ?", "? IS NOT NULL")),
    ),
    Mutant(
        name="groups-joined-across-invocations",
        clauses=("group-08", "usage-02"),
        fault="All authoritative transmissions of a journey count as one group.",
        kind="sql",
        edits=_exposure("AND invocation_id = ?2 AND", "AND ?2 IS NOT NULL AND"),
    ),
    Mutant(
        name="predecessor-is-the-first-transmission",
        clauses=("ambiguity-06", "ambiguity-01"),
        fault="Of several predecessors the first is looked at, not the latest.",
        kind="sql",
        edits=(Edit(file="reservations.py", find=_LATEST, replace="ORDER BY ordinal LIMIT 1"),),
    ),
    Mutant(
        name="reservations-listed-by-their-names",
        clauses=("reservation-01",),
        fault="Reservations are listed in the order of their transmission_id.",
        kind="sql",
        edits=_observation(
            'ordinal > ?"\n    " ORDER BY ordinal LIMIT ?"',
            'ordinal > ?"\n    " ORDER BY transmission_id LIMIT ?"',
        ),
    ),
    Mutant(
        name="page-of-reservations-not-limited",
        clauses=("reservation-01",),
        fault="A page of reservations is never shorter than a hundred.",
        kind="sql",
        edits=_observation(
            'ordinal > ?"\n    " ORDER BY ordinal LIMIT ?"',
            'ordinal > ?"\n    " ORDER BY ordinal LIMIT max(?, 100)"',
        ),
    ),
    Mutant(
        name="discrepancies-listed-by-their-kinds",
        clauses=("usage-08",),
        fault="Discrepancies are listed in the order of their transmission_id and kind.",
        kind="sql",
        edits=_observation(
            '" WHERE journey = ? AND ordinal > ? ORDER BY ordinal LIMIT ?"',
            '" WHERE journey = ? AND ordinal > ? ORDER BY transmission_id, kind LIMIT ?"',
        ),
    ),
    Mutant(
        name="settlement-grace-in-the-wrong-column",
        clauses=("settle-02", "policy-12"),
        fault="The cancellation grace is stored as the settlement grace.",
        kind="sql",
        edits=(
            Edit(
                file="starts.py",
                find="policy.accounting_settlement_grace_seconds,",
                replace="policy.cancellation_grace_seconds,",
            ),
        ),
    ),
    Mutant(
        name="repair-and-refinement-limits-exchanged",
        clauses=("counter-06", "counter-05"),
        fault="The maxima of repairs and refinements are stored in each other's column.",
        kind="sql",
        edits=(
            Edit(
                file="starts.py",
                find=_COLUMNS,
                replace=_COLUMNS
                + ',\n        "max_workflow_repair_starts": policy.max_app_refinement_starts,'
                '\n        "max_app_refinement_starts": policy.max_workflow_repair_starts',
            ),
        ),
    ),
    Mutant(
        name="retention-moment-not-stored",
        clauses=("outcome-04",),
        fault="The moment of retain_until is lost when the journey is written.",
        kind="sql",
        edits=(
            Edit(
                file="starts.py",
                find='"retain_until": None if retain_until is None else',
                replace='"retain_until": None if retain_until is not None else',
            ),
            Edit(
                file="starts.py",
                find="retain_until = artifacts.retain_until_utc",
                replace="retain_until = artifacts.retain_until_utc or policy.deadline_utc",
            ),
        ),
    ),
    Mutant(
        name="observed-total-is-the-greatest-usage",
        clauses=("usage-03", "identity-06"),
        fault="observed_actual_tokens holds the greatest usage, not the sum.",
        kind="sql",
        edits=_exposure(
            "observed_actual_tokens = observed_actual_tokens + ?",
            "observed_actual_tokens = max(observed_actual_tokens, ?)",
        ),
    ),
    Mutant(
        name="estimate-falls-with-a-release",
        clauses=("usage-01",),
        fault="A release takes its prompt estimate out of the sum.",
        kind="sql",
        edits=(
            *_exposure(
                "observed_actual_tokens = observed_actual_tokens + ?",
                'estimated_prompt_tokens = estimated_prompt_tokens - ?,"\n'
                '        " observed_actual_tokens = observed_actual_tokens + ?',
            ),
            *_exposure(
                "            actual_tokens or 0,\n",
                "            reservation.estimated_prompt_tokens\n"
                '            * (state.value == "released_untransmitted"),\n'
                "            actual_tokens or 0,\n",
            ),
        ),
    ),
    Mutant(
        name="transmission-in-flight-not-counted",
        clauses=("lease-08", "lease-10"),
        fault="A transmission that is granted is not counted among those in flight.",
        kind="sql",
        edits=(
            *_exposure(
                "transmitted_outside_groups = transmitted_outside_groups + ?",
                "transmitted_outside_groups = transmitted_outside_groups + 0 * ?",
            ),
            *_exposure(
                "transmitted_outside_groups = transmitted_outside_groups - ?",
                "transmitted_outside_groups = transmitted_outside_groups - 0 * ?",
            ),
        ),
    ),
    Mutant(
        name="reconciled-total-holds-the-latest-answer",
        clauses=("transmission-04", "usage-04"),
        fault="The answer of a retry takes the place of its predecessor's in the total.",
        kind="sql",
        edits=_exposure(
            "            now.reconciled - before.reconciled,\n",
            """            now.reconciled
            - before.reconciled
            - (
                tx.one(
                    "SELECT actual_tokens FROM reservations WHERE journey = ?"
                    " AND invocation_id = ? AND ordinal < ? AND state = 'reconciled'"
                    " AND idempotency = 'none' ORDER BY ordinal DESC LIMIT 1",
                    (tx.row.journey, reservation.invocation_id, reservation.ordinal),
                )
                or (0,)
            )[0]
            * (now.reconciled > before.reconciled),
""",
        ),
    ),
    Mutant(
        name="charge-released-by-a-successor",
        clauses=("ceiling-02", "transmission-04"),
        fault="The grant of a successor takes the charge of its predecessor out of the total.",
        kind="sql",
        edits=(
            Edit(
                file="reservations.py",
                find='        "reserved_tokens = reserved_tokens + ?,"',
                replace='        "conservatively_committed_tokens = conservatively_committed_tokens'
                " - coalesce((SELECT r.reserved_tokens FROM reservations AS r"
                " WHERE r.journey = journeys.journey AND r.invocation_id = ?"
                " AND r.state = 'expired_conservatively' AND r.idempotency = 'none'"
                ' ORDER BY r.ordinal DESC LIMIT 1), 0), reserved_tokens = reserved_tokens + ?,"',
            ),
            Edit(
                file="reservations.py",
                find="(delta, estimate, MAXIMUM_INTEGER)",
                replace="(invocation, delta, estimate, MAXIMUM_INTEGER)",
            ),
            Edit(
                file="reservations.py",
                find="def _claim(tx: Transaction, estimate: int, delta: int, *, is_retry: bool)",
                replace="def _claim(tx, estimate, delta, *, is_retry, invocation)",
            ),
            Edit(
                file="reservations.py",
                find="is_retry=latest is not None)",
                replace="is_retry=latest is not None, invocation=request.invocation_id)",
            ),
        ),
    ),
    Mutant(
        name="released-reservation-still-unsettled",
        clauses=("settle-04", "settle-06"),
        fault="A released reservation keeps a journey from being settled.",
        kind="logic",
        edits=_exposure(
            "            settled,\n",
            '            settled * (state.value != "released_untransmitted"),\n',
        ),
    ),
    Mutant(
        name="limits-not-held-across-counters",
        clauses=("counter-11", "counter-04"),
        fault="Of two claimed counters only the first in policy order is held to its maximum.",
        kind="logic",
        edits=(
            NO_COUNTER_CHECK,
            Edit(
                file="runs.py",
                find="    require_room(tx, wanted)\n    tx.change(claims",
                replace="    require_room(tx, {min(wanted, key=list(Counter).index): 1})\n"
                "    tx.change(claims",
            ),
        ),
    ),
)
