"""Mutants that confuse who may ask, and which journey is asked about."""

from typing import Final

from wayproof.conformance.mutants.mutant import Edit, Mutant
from wayproof.conformance.mutants.named import SAME_SCOPE

_WHERE: Final = "WHERE journey_id = ? AND namespace = ? AND creation_scope = ?"
_NOT_FOUND: Final = "raise Refusal(RefusalCode.JOURNEY_NOT_FOUND)"
_CALL: Final = "self._serve(_HANDLERS[operation], request, now)"
_METHOD: Final = "    def _sweep(self, journey: int, now: int) -> None:"


def _authorized(predicate: str) -> tuple[Edit, ...]:
    """Another reading of who is authorized; ?1 is the journey's id, ?3 the scope that is shown."""
    replaced = f"WHERE journey_id = ?1 AND namespace = ?2 AND {predicate}"
    return (Edit(file="transaction.py", find=_WHERE, replace=replaced),)


def _opened_otherwise(handlers: str, predicate: str) -> tuple[Edit, ...]:
    """Some operations look only at a part of the scope; ?3 is the tenant that is shown."""
    return (
        Edit(
            file="service.py",
            find="tx = open_authorized(",
            replace=f"""opened = open_otherwise if handler in {handlers} else open_authorized
        tx = opened(""",
        ),
        Edit(
            file="service.py",
            find="import open_authorized, open_key",
            replace="import open_authorized, open_key, open_otherwise",
        ),
        Edit(
            file="transaction.py",
            find="def open_key(",
            replace=f"""def open_otherwise(connection, namespace, access, journey_id, now):
    found = connection.execute(
        f"SELECT {{JOURNEY_COLUMNS}} FROM journeys"
        " WHERE journey_id = ?1 AND namespace = ?2 AND {predicate}",
        (journey_id, namespace, access.tenant_id),
    ).fetchone()
    if found is None:
        {_NOT_FOUND}
    return Transaction.opened(connection, now, JourneyRow._make(found))


def open_key(""",
        ),
    )


def _before_access(body: str) -> tuple[Edit, ...]:
    """Something that the service does before it looks at who asks."""
    return (
        Edit(file="service.py", find=_CALL, replace=_CALL.replace("_serve", "_serve_early")),
        Edit(
            file="service.py",
            find=_METHOD,
            replace=f"""    def _serve_early(self, handler, request, now):
        found = self._connection.execute(
            "SELECT journey, record_version FROM journeys WHERE journey_id = ? AND namespace = ?",
            (request.journey_id, self._namespace),
        ).fetchone()
{body}

{_METHOD}""",
        ),
    )


MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        name="journey-found-by-its-key",
        clauses=("identity-03", "access-10"),
        fault="An idempotency key in place of a journey_id finds the journey that it started.",
        kind="sql",
        edits=(
            Edit(
                file="transaction.py",
                find=_WHERE,
                replace="WHERE (journey_id = ?1 OR journey IN (SELECT journey FROM starts"
                " WHERE namespace = ?2 AND creation_scope = ?3 AND idempotency_key = ?1))"
                " AND namespace = ?2 AND creation_scope = ?3",
            ),
        ),
    ),
    Mutant(
        name="journey-found-by-a-run",
        clauses=("identity-03",),
        fault="A run id in place of a journey_id finds the journey of the run.",
        kind="sql",
        edits=(
            Edit(
                file="transaction.py",
                find="found = connection.execute(_AUTHORIZED, values).fetchone()",
                replace="""found = connection.execute(_AUTHORIZED, values).fetchone()
    if found is None:
        found = connection.execute(
            f"SELECT {JOURNEY_COLUMNS} FROM journeys WHERE journey IN"
            " (SELECT journey FROM workflow_runs WHERE workflow_run_id = ?)"
            " AND namespace = ? AND creation_scope = ?",
            values,
        ).fetchone()""",
            ),
        ),
    ),
    Mutant(
        name="transmissions-known-across-journeys",
        clauses=("identity-05", "reservation-13"),
        fault="A transmission_id that another journey of the scope has used is known here too.",
        kind="sql",
        edits=(
            Edit(
                file="transaction.py",
                find="FROM reservations WHERE journey = ? AND",
                replace=f"FROM reservations WHERE journey IN ({SAME_SCOPE}) AND",
            ),
        ),
    ),
    Mutant(
        name="invocations-known-across-journeys",
        clauses=("identity-05", "counter-13"),
        fault="An invocation_id that another journey of the scope has used has a predecessor here.",
        kind="sql",
        edits=(
            Edit(
                file="reservations.py",
                find="WHERE journey = ? AND invocation_id = ? ORDER BY ordinal",
                replace=f"WHERE journey IN ({SAME_SCOPE}) AND invocation_id = ? ORDER BY ordinal",
            ),
        ),
    ),
    Mutant(
        name="workspace-not-persisted",
        clauses=("access-02", "access-09"),
        fault="The workspace of the creation scope is not written, so its owner is refused.",
        kind="sql",
        edits=(
            Edit(
                file="starts.py",
                find='"workflow_sequence_id": request.workflow_sequence_id,',
                replace='"workflow_sequence_id": request.workflow_sequence_id,\n'
                '                "creation_scope": " ".join((request.access.tenant_id,'
                ' request.access.owner_id, "", request.access.build_scope_id or "")),',
            ),
        ),
    ),
    Mutant(
        name="start-needs-a-workspace-or-a-build-scope",
        clauses=("access-03", "access-02"),
        fault="A start that belongs to no workspace and no build scope is refused.",
        kind="logic",
        edits=(
            Edit(
                file="starts.py",
                find="if definition is None or digest is None:",
                replace="""if request.access.workspace_id is request.access.build_scope_id:
            return Refused(code=RefusalCode.INVALID_REQUEST)
        if definition is None or digest is None:""",
            ),
        ),
    ),
    Mutant(
        name="completed-journeys-are-public",
        clauses=("access-04",),
        fault="Everybody may read a journey that has completed.",
        kind="sql",
        edits=_authorized("(creation_scope = ?3 OR lifecycle_state = 'completed')"),
    ),
    Mutant(
        name="final-accounting-is-public",
        clauses=("access-05",),
        fault="Everybody may read a journey whose accounting is final.",
        kind="sql",
        edits=_authorized("(creation_scope = ?3 OR settled_at IS NOT NULL)"),
    ),
    Mutant(
        name="cancelled-by-the-whole-tenant",
        clauses=("access-06",),
        fault="Every owner of the tenant may cancel a journey.",
        kind="sql",
        edits=_opened_otherwise("(lifecycle.cancel,)", "creation_scope LIKE ?3 || ' %'"),
    ),
    Mutant(
        name="evidence-accepted-from-anyone",
        clauses=("access-08",),
        fault="Responses and ambiguities are recorded whoever reports them.",
        kind="sql",
        edits=_opened_otherwise(
            "(reports.report_response, reports.report_ambiguity)", "?3 IS NOT NULL"
        ),
    ),
    Mutant(
        name="lease-claimed-by-the-whole-tenant",
        clauses=("access-08",),
        fault="Every owner of the tenant may claim the lease of a journey.",
        kind="sql",
        edits=_opened_otherwise("(leases.claim_lease,)", "creation_scope LIKE ?3 || ' %'"),
    ),
    Mutant(
        name="left-out-build-scope-matches-any",
        clauses=("access-09",),
        fault="An access without a build scope is authorized for every one of its workspace.",
        kind="sql",
        edits=_authorized("substr(creation_scope, 1, length(?3)) = ?3"),
    ),
    Mutant(
        name="additional-build-scope-ignored",
        clauses=("access-09",),
        fault="An access with a build scope is authorized for a journey that has none.",
        kind="sql",
        edits=_authorized("substr(?3, 1, length(creation_scope)) = creation_scope"),
    ),
    Mutant(
        name="foreign-journey-betrayed-by-a-detail",
        clauses=("access-10",),
        fault="The refusal for a foreign journey has a detail that one for an unknown has not.",
        kind="sql",
        edits=(
            Edit(
                file="transaction.py",
                find=_NOT_FOUND,
                replace="""exists = connection.execute(
            "SELECT 1 FROM journeys WHERE journey_id = ? AND namespace = ?", values[:2]
        ).fetchone()
        raise Refusal(RefusalCode.JOURNEY_NOT_FOUND, {"access": "denied"} if exists else {})""",
            ),
        ),
    ),
    Mutant(
        name="transmission-looked-up-before-access",
        clauses=("access-11",),
        fault="A foreign caller learns that a journey has no such transmission.",
        kind="transaction",
        edits=_before_access(
            """        named = getattr(request, "transmission_id", None)
        if found is not None and named is not None and handler is not reservations.reserve:
            tx = open_key(self._connection, found[0], now)
            if tx.reservation(named) is None:
                from wayproof.spec.journey.refusals import RefusalCode
                raise Refusal(RefusalCode.UNKNOWN_TRANSMISSION)
        return self._serve(handler, request, now)"""
        ),
    ),
    Mutant(
        name="replay-answered-before-access",
        clauses=("access-11", "access-08"),
        fault="A foreign caller who repeats a known operation id is given the recorded answer.",
        kind="sql",
        edits=_before_access(
            """        named = getattr(request, "operation_id", None)
        recorded = None
        if found is not None and named is not None:
            recorded = self._connection.execute(
                "SELECT answer FROM operations WHERE journey = ? AND operation_id = ?"
                " AND operation = ?",
                (found[0], named, type(request).__name__),
            ).fetchone()
        try:
            return self._serve(handler, request, now)
        except Refusal:
            if recorded is None:
                raise
            import json
            return Answered(value=json.loads(recorded[0]), record_version=found[1])"""
        ),
    ),
    Mutant(
        name="foreign-request-lets-the-deadline-take-effect",
        clauses=("access-12",),
        fault="A refused access commits what is overdue for the journey.",
        kind="transaction",
        edits=_before_access(
            """        try:
            return self._serve(handler, request, now)
        except Refusal as refusal:
            if found is not None:
                from wayproof.impl.journey.ending import checkpoint
                checkpoint(open_key(self._connection, found[0], now))
            return Refused(code=refusal.code, detail=refusal.detail)"""
        ),
        equivalent=(
            "What is overdue may take effect at any moment, the moment of a refusal included; only"
            " who sees the commits happen could tell why."
        ),
    ),
)
