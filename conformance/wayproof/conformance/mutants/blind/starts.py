"""Faults of starting: who may see a journey, what its key stands for, what it has pinned."""

from typing import Final

from wayproof.conformance.mutants.mutant import Edit, Mutant

MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        name="absent-scope-parts-close-up",
        clauses=("access-09", "idempotency-07", "access-02"),
        fault=(
            "Start with workspace w and no build scope; an access with build scope w and no "
            "workspace, otherwise equal, is taken for the same scope and reads the snapshot."
        ),
        kind="logic",
        edits=(
            Edit(
                file="transaction.py",
                find='" ".join(part or "" for part in creation_scope(access))',
                replace='" ".join(part for part in creation_scope(access) if part)',
            ),
        ),
    ),
    Mutant(
        name="unknown-sequence-before-known-key",
        clauses=("idempotency-06",),
        fault=(
            "Start, remove the sequence from the registry, repeat the start: it is refused with "
            "unknown_workflow_sequence, and its caller never learns the journey_id."
        ),
        kind="logic",
        edits=(
            Edit(
                file="starts.py",
                find="        hashed = request_hash(request, digest)\n",
                replace=(
                    "        if definition is None:\n"
                    "            return Refused(code=RefusalCode.UNKNOWN_WORKFLOW_SEQUENCE)\n"
                    "        hashed = request_hash(request, digest)\n"
                ),
            ),
        ),
    ),
    Mutant(
        name="latest-definition-of-the-sequence-governs",
        clauses=("definition-07", "run-01"),
        fault=(
            "Start a journey, add a member to its sequence's step in the registry, start a second "
            "journey, begin the first: it gets the runs of the second one's definition."
        ),
        kind="sql",
        edits=(
            Edit(
                file="stages.py",
                find="digest = tx.row.definition_digest\n",
                replace="""found = tx.one(
        "SELECT definition_digest FROM journeys"
        " WHERE workflow_sequence_id = ? AND namespace ="
        " (SELECT namespace FROM journeys WHERE journey = ?)"
        " ORDER BY journey DESC LIMIT 1",
        (tx.row.workflow_sequence_id, tx.row.journey),
    )
    digest = tx.row.definition_digest if found is None else found[0]
""",
            ),
        ),
    ),
)
