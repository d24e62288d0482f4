"""Mutants that pin the wrong definition, or accept routes that it does not have."""

from typing import Final

from wayproof.conformance.mutants.mutant import Edit, Mutant

_DIGEST: Final = "definition_digest(definition)"
_TRY_ROUTES: Final = "_require_routes(definition, request.route_choices)"


def _starts(find: str, replace: str) -> tuple[Edit, ...]:
    return (Edit(file="starts.py", find=find, replace=replace),)


def _overlaid(overlays: str) -> tuple[Edit, ...]:
    """Resolve sequences under these overlays."""
    return (
        *_starts(
            "resolve_definition(self._registry, sequence_id)",
            f"resolve_definition(replace(self._registry, overlays={overlays}), sequence_id)",
        ),
        *_starts(
            "from functools import cache",
            "from dataclasses import replace\nfrom functools import cache",
        ),
    )


MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        name="registry-pinned-instead-of-the-sequence",
        clauses=("definition-01", "definition-03"),
        fault="The pinned version is the digest of the whole registry.",
        kind="logic",
        edits=(
            *_starts(_DIGEST, "digest_of(encode(self._registry))"),
            *_starts("import canonical_json, ", "import canonical_json, digest_of, "),
        ),
    ),
    Mutant(
        name="entrypoint-transitions-not-pinned",
        clauses=("definition-02",),
        fault="A transition that only an entrypoint names does not change the pinned version.",
        kind="logic",
        edits=_starts(
            _DIGEST,
            "definition_digest(ResolvedDefinition("
            "sequence=definition.sequence, entrypoints=definition.entrypoints,"
            " workflows=definition.workflows, transitions=tuple("
            "t for t in definition.transitions"
            " if t.id in {s.transition for s in definition.sequence.steps})))",
        ),
    ),
    Mutant(
        name="every-transition-pinned",
        clauses=("definition-03",),
        fault="A transition that the sequence does not refer to changes its pinned version.",
        kind="logic",
        edits=_starts(
            _DIGEST,
            "definition_digest(ResolvedDefinition("
            "sequence=definition.sequence, entrypoints=definition.entrypoints,"
            " workflows=definition.workflows, transitions=tuple("
            "sorted(self._registry.transitions, key=lambda t: t.id))))",
        ),
    ),
    Mutant(
        name="workflows-pinned-in-the-order-of-the-file",
        clauses=("definition-04",),
        fault="The order in which the registry declares workflows changes the pinned version.",
        kind="logic",
        edits=_starts(
            _DIGEST,
            "definition_digest(ResolvedDefinition("
            "sequence=definition.sequence, entrypoints=definition.entrypoints,"
            " transitions=definition.transitions, workflows=tuple("
            "w for w in self._registry.workflows if w in definition.workflows)))",
        ),
    ),
    Mutant(
        name="overlays-not-applied",
        clauses=("definition-05",),
        fault="A sequence is resolved without the overlays.",
        kind="logic",
        edits=_overlaid("()"),
    ),
    Mutant(
        name="first-overlay-alone",
        clauses=("definition-05",),
        fault="Only the first of several overlays is applied.",
        kind="logic",
        edits=_overlaid("self._registry.overlays[:1]"),
    ),
    Mutant(
        name="overlays-in-reverse",
        clauses=("definition-05",),
        fault="Of two overlays of one declaration the first decides.",
        kind="logic",
        edits=_overlaid("self._registry.overlays[::-1]"),
    ),
    Mutant(
        name="overlays-of-sequences-alone",
        clauses=("definition-05",),
        fault="An overlay replaces sequences, and no transition or entrypoint.",
        kind="logic",
        edits=_overlaid(
            "tuple(replace(o, transitions=(), entrypoints=()) for o in self._registry.overlays)"
        ),
    ),
    Mutant(
        name="definition-of-the-latest-start",
        clauses=("definition-07",),
        fault="The entry stage is read from what the latest start of that sequence pinned.",
        kind="sql",
        edits=(
            Edit(
                file="stages.py",
                find="digest = tx.row.definition_digest\n",
                replace="""latest = tx.one(
        "SELECT latest.definition_digest FROM journeys AS own JOIN journeys AS latest"
        " USING (namespace, workflow_sequence_id) WHERE own.journey = ?"
        " ORDER BY latest.journey DESC LIMIT 1",
        (tx.row.journey,),
    )
    digest = tx.row.definition_digest if latest is None else latest[0]
""",
            ),
        ),
    ),
    Mutant(
        name="edited-registry-pinned-again",
        clauses=("definition-07", "definition-01"),
        fault="When the registry is edited, journeys that have not begun pin its new definition.",
        kind="sql",
        edits=_starts(
            "self._resolve = cache(self._resolve_now)",
            """self._resolve = cache(self._resolve_now)
        for sequence in registry.workflow_sequences:
            definition, digest = self._resolve(sequence.id)
            connection.execute(
                "INSERT INTO definitions (definition_digest, definition) VALUES (?, ?)"
                " ON CONFLICT DO NOTHING",
                (digest, canonical_json(encode(definition)).decode()),
            )
            connection.execute(
                "UPDATE journeys INDEXED BY journeys_due SET definition_digest = ?"
                " WHERE namespace = ? AND due_at IS NOT NULL AND workflow_sequence_id = ?"
                " AND lifecycle_state = 'pending'",
                (digest, namespace, sequence.id),
            )""",
        ),
    ),
    Mutant(
        name="semantic-reference-pinned-as-the-version",
        clauses=("definition-08",),
        fault="A reference to a compilation plan becomes the pinned version.",
        kind="logic",
        edits=_starts(
            "journey_id = new_journey_id()",
            """digest = next(
            (r.reference for r in request.semantic_references if r.role == "compilation_plan"),
            digest,
        )
        journey_id = new_journey_id()""",
        ),
    ),
    Mutant(
        name="route-of-another-sequence-accepted",
        clauses=("route-01",),
        fault="Transitions are looked up in the whole registry, not in the closed view.",
        kind="logic",
        edits=_starts(
            _TRY_ROUTES,
            "_require_routes(ResolvedDefinition("
            "sequence=definition.sequence, entrypoints=(), workflows=(),"
            " transitions=self._registry.transitions), request.route_choices)",
        ),
    ),
    Mutant(
        name="option-of-another-transition-accepted",
        clauses=("route-02",),
        fault="An option is looked up among those of all transitions of the sequence.",
        kind="logic",
        edits=_starts(
            "if choice.option_id not in offered.pop(choice.transition_id, ()):",
            """options = {o.id for t in definition.transitions for o in t.options}
        if offered.pop(choice.transition_id, None) is None or choice.option_id not in options:""",
        ),
    ),
    Mutant(
        name="option-of-another-sequence-accepted",
        clauses=("route-03",),
        fault="Which sequence an option is for is not looked at.",
        kind="logic",
        edits=(
            Edit(
                file="stages.py",
                find="if option.sequence in (None, definition.sequence.id)",
                replace="if option.id",
            ),
        ),
    ),
    Mutant(
        name="equal-choices-merged",
        clauses=("route-04",),
        fault="The same choice given twice is accepted.",
        kind="logic",
        edits=_starts("for choice in choices:", "for choice in dict.fromkeys(choices):"),
    ),
    Mutant(
        name="entrypoint-route-demanded",
        clauses=("route-05",),
        fault="A start that leaves the transition of an entrypoint open is refused.",
        kind="logic",
        edits=_starts(
            "raise Refusal(RefusalCode.INVALID_ROUTE_CHOICE)",
            """raise Refusal(RefusalCode.INVALID_ROUTE_CHOICE)
    if any(entrypoint.transition in allowed for entrypoint in definition.entrypoints):
        raise Refusal(RefusalCode.INVALID_ROUTE_CHOICE)""",
        ),
    ),
    Mutant(
        name="semantic-reference-must-be-a-digest",
        clauses=("compiler-01",),
        fault="A semantic-compiler reference that does not look like a digest is refused.",
        kind="logic",
        edits=_starts(
            "if definition is None or digest is None:",
            """if not all(r.reference.startswith("sha256:") for r in request.semantic_references):
            return Refused(code=RefusalCode.INVALID_REQUEST)
        if definition is None or digest is None:""",
        ),
    ),
)
