"""Mutants that start journeys wrongly: capabilities, keys, pinned definitions, entries, routes."""

from typing import Final

from wayproof.conformance.mutants.mutant import Edit, Mutant

_DIGEST: Final = "definition_digest(definition)"
_HASHED: Final = "hashed = request_hash(request, digest)"
_KEY: Final = "AND idempotency_key = ?"
_RETURN: Final = "return _started(journey_id, digest, 1)"
_TRY_ROUTES: Final = "_require_routes(definition, request.route_choices)"


def _starts(find: str, replace: str) -> tuple[Edit, ...]:
    return (Edit(file="starts.py", find=find, replace=replace),)


def _refused_afterwards(check: str) -> str:
    """A check that refuses when everything has been written, and so commits it."""
    return f"""try:
            {check}
        except Refusal as refusal:
            return Refused(code=refusal.code, detail=refusal.detail)
        {_RETURN}"""


def _hashed_with(changes: str) -> tuple[Edit, ...]:
    return _starts(
        _HASHED,
        f"from dataclasses import replace\n        hashed = request_hash({changes}, digest)",
    )


MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        name="start-refused-after-its-deadline",
        clauses=("policy-03", "start-07"),
        fault="A start whose deadline has already passed is refused as invalid.",
        kind="logic",
        edits=_starts(
            "if definition is None or digest is None:",
            """if to_milliseconds(request.policy.deadline_utc) <= now:
            return Refused(code=RefusalCode.INVALID_REQUEST)
        if definition is None or digest is None:""",
        ),
    ),
    Mutant(
        name="retention-not-before-the-deadline",
        clauses=("policy-03", "outcome-04"),
        fault="A retain_until_utc before the deadline is moved to the deadline.",
        kind="logic",
        edits=_starts(
            "else to_milliseconds(retain_until),",
            "else max(to_milliseconds(retain_until), to_milliseconds(policy.deadline_utc)),",
        ),
    ),
    Mutant(
        name="zero-limit-stored-as-null",
        clauses=("policy-06", "counter-07"),
        fault="The statement that stores a policy turns a maximum of 0 into none.",
        kind="sql",
        edits=_starts(
            'f":{column}" for column in row',
            'f"nullif(:{column}, 0)" if column.startswith("max_") else f":{column}"'
            " for column in row",
        ),
    ),
    Mutant(
        name="absent-retry-limit-coalesced",
        clauses=("policy-13",),
        fault="A journey without a maximum of provider retries is given one of 3.",
        kind="sql",
        edits=_starts(
            'f":{column}" for column in row',
            'f"coalesce(:{column}, 3)" if column == "max_provider_retry_attempts"'
            ' else f":{column}" for column in row',
        ),
    ),
    Mutant(
        name="conflicting-start-raises-the-ceiling",
        clauses=("policy-12", "idempotency-05"),
        fault="A start refused for a conflict writes its higher ceiling into the journey.",
        kind="sql",
        edits=_starts(
            "if recorded_hash != hashed:",
            """if recorded_hash != hashed:
                self._connection.execute(
                    "UPDATE journeys SET max_total_tokens = max(max_total_tokens, ?)"
                    " WHERE journey_id = ?",
                    (request.policy.max_total_tokens, journey_id),
                )""",
        ),
    ),
    Mutant(
        name="unpublished-capability-advertised",
        clauses=("capability-01",),
        fault="The backend advertises live_model, which the published list does not have.",
        kind="logic",
        edits=(
            Edit(
                file="store.py",
                find="ADVERTISED: Final = (",
                replace="""from enum import StrEnum

class _Planned(StrEnum):
    LIVE_MODEL = "live_model"

ADVERTISED: Final = (
    _Planned.LIVE_MODEL,""",
            ),
        ),
    ),
    Mutant(
        name="chosen-routes-need-no-capability",
        clauses=("capability-02",),
        fault="A start that chooses a route is not asked for any capability.",
        kind="logic",
        edits=_starts(
            "self._require_capabilities(definition)\n",
            "request.route_choices or self._require_capabilities(definition)\n",
        ),
    ),
    Mutant(
        name="refused-capability-keeps-the-journey",
        clauses=("capability-03", "start-07"),
        fault="Capabilities are looked at after the journey was written, and their refusal"
        " commits it.",
        kind="transaction",
        edits=(
            *_starts("self._require_capabilities(definition)\n", "pass\n"),
            *_starts(_RETURN, _refused_afterwards("self._require_capabilities(definition)")),
        ),
    ),
    Mutant(
        name="one-missing-capability-named",
        clauses=("capability-04",),
        fault="Of several missing capabilities the refusal names the first alone.",
        kind="logic",
        edits=_starts('{"missing": missing}', '{"missing": missing[:1]}'),
    ),
    Mutant(
        name="settlement-not-required",
        clauses=("capability-05",),
        fault="A start is accepted although accounting_settlement is withheld.",
        kind="logic",
        edits=_starts(
            "required = required_capabilities(definition)",
            "required = required_capabilities(definition) - {Capability.ACCOUNTING_SETTLEMENT}",
        ),
    ),
    Mutant(
        name="one-step-needs-no-dispatch",
        clauses=("capability-06",),
        fault="A single transition step does not require durable_dispatch.",
        kind="logic",
        edits=_starts(
            "required = required_capabilities(definition)",
            """required = required_capabilities(definition)
        if len(definition.sequence.steps) == 1:
            required -= {Capability.DURABLE_DISPATCH}""",
        ),
    ),
    Mutant(
        name="steps-before-the-entry-not-counted",
        clauses=("capability-06",),
        fault="A sequence of several steps that is entered at its last one does not require"
        " durable_dispatch.",
        kind="logic",
        edits=_starts(
            "self._require_capabilities(definition)\n",
            """steps = definition.sequence.steps
            if entry_position < len(steps) - 1 or steps[-1].transition or len(steps) == 1:
                self._require_capabilities(definition)
""",
        ),
    ),
    Mutant(
        name="sequence-without-entrypoints-takes-any",
        clauses=("start-03",),
        fault="A sequence that declares no entrypoint accepts every one.",
        kind="logic",
        edits=_starts(
            "if any(entrypoint.id == entry.id for entrypoint in definition.entrypoints):",
            """if not definition.entrypoints or any(
            entrypoint.id == entry.id for entrypoint in definition.entrypoints
        ):""",
        ),
    ),
    Mutant(
        name="entrypoint-of-another-sequence-accepted",
        clauses=("start-04",),
        fault="An entrypoint is looked up in the whole registry, not in its sequence.",
        kind="logic",
        edits=_starts(
            "entry_position = _entry_position(definition, request.entry)",
            """from dataclasses import replace
            open_view = replace(definition, entrypoints=self._registry.entrypoints)
            entry_position = _entry_position(open_view, request.entry)""",
        ),
    ),
    Mutant(
        name="stage-named-by-one-of-its-members",
        clauses=("start-04",),
        fault="The id of one of several parallel workflows is taken for the stage.",
        kind="logic",
        edits=_starts(
            "if step.stage_id == entry.id:",
            "if entry.id in (step.stage_id, *step.workflows):",
        ),
    ),
    Mutant(
        name="refused-route-keeps-the-journey",
        clauses=("start-07", "route-01"),
        fault="Route choices are looked at after the journey was written, and their refusal"
        " commits it.",
        kind="transaction",
        edits=(
            *_starts(_TRY_ROUTES, "pass"),
            *_starts(_RETURN, _refused_afterwards(_TRY_ROUTES)),
        ),
    ),
    Mutant(
        name="starts-kept-in-a-temporary-table",
        clauses=("start-08", "idempotency-02"),
        fault="Which key started which journey is lost when the store is closed.",
        kind="sql",
        edits=(
            Edit(
                file="migrations.py",
                find="turns.alone(lambda: _turn_to_log(connection))",
                replace="""turns.alone(lambda: _turn_to_log(connection))
    connection.execute("CREATE TEMP TABLE starts AS SELECT * FROM main.starts LIMIT 0")""",
            ),
        ),
    ),
    Mutant(
        name="entered-stage-claims-a-refinement",
        clauses=("start-09",),
        fault="A start that enters at a stage consumes an app refinement.",
        kind="logic",
        edits=_starts(
            '"record_version": 1,',
            '"record_version": 1,\n                "app_refinement_starts": int('
            'request.entry.kind == "stage" and request.policy.max_app_refinement_starts != 0),',
        ),
    ),
    Mutant(
        name="replay-joined-by-scope",
        clauses=("idempotency-01",),
        fault="A replayed start names the oldest journey of its creation scope.",
        kind="sql",
        edits=_starts(
            "FROM starts JOIN journeys USING (journey)",
            "FROM starts JOIN journeys USING (namespace, creation_scope)",
        ),
    ),
    Mutant(
        name="key-free-after-the-end",
        clauses=("idempotency-02",),
        fault="The key of a journey that has ended starts another one.",
        kind="sql",
        edits=(
            *_starts(_KEY, f"{_KEY} AND terminal_reason IS NULL"),
            *_starts('f"INSERT INTO {table}', 'f"INSERT OR REPLACE INTO {table}'),
        ),
    ),
    Mutant(
        name="initial-message-not-hashed",
        clauses=("idempotency-04",),
        fault="A start repeated with another initial message is answered like a replay.",
        kind="logic",
        edits=_hashed_with("replace(request, initial_message=None)"),
    ),
    Mutant(
        name="empty-message-hashed-as-none",
        clauses=("idempotency-04",),
        fault="An empty initial message and an absent one have the same hash.",
        kind="logic",
        edits=_hashed_with("replace(request, initial_message=request.initial_message or None)"),
    ),
    Mutant(
        name="settlement-grace-not-hashed",
        clauses=("idempotency-05",),
        fault="A start repeated with another settlement grace is answered like a replay.",
        kind="logic",
        edits=_hashed_with(
            "replace(request, policy=replace("
            "request.policy, accounting_settlement_grace_seconds=1))"
        ),
    ),
    Mutant(
        name="definition-not-hashed",
        clauses=("idempotency-06",),
        fault="A start repeated after the registry has changed is answered like a replay.",
        kind="logic",
        edits=_starts(_HASHED, "hashed = request_hash(request, None)"),
    ),
    Mutant(
        name="conflict-does-not-name-its-journey",
        clauses=("idempotency-06",),
        fault="idempotency_conflict leaves out the journey_id.",
        kind="logic",
        edits=_starts('detail={"journey_id": journey_id},', "detail={},"),
    ),
    Mutant(
        name="scope-of-a-key-compared-as-a-prefix",
        clauses=("idempotency-07",),
        fault="A start without a build scope meets the key of the same owner's build scope.",
        kind="sql",
        edits=_starts("starts.creation_scope = ?", "starts.creation_scope LIKE ? || '%'"),
    ),
    Mutant(
        name="hash-of-the-request-as-sent",
        clauses=("idempotency-08",),
        fault="An optional field that is null hashes differently from an absent one.",
        kind="logic",
        edits=(
            Edit(
                file="service.py",
                find="self._starts.start(request, now)",
                replace="self._starts.start(request, now, arguments)",
            ),
            *_starts(
                "def start(self, request: JourneyStartRequest, now: int)",
                "def start(self, request: JourneyStartRequest, now: int, sent: Any)",
            ),
            *_starts(_HASHED, f"{_HASHED} + canonical_json(sent).decode()"),
        ),
    ),
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
        name="definition-of-the-latest-start",
        clauses=("definition-07",),
        fault="The entry stage is read from what the latest start of that sequence pinned.",
        kind="sql",
        edits=(
            Edit(
                file="runs.py",
                find='"SELECT definition FROM definitions WHERE definition_digest = ?"',
                replace='"SELECT definition FROM journeys AS own JOIN journeys AS latest'
                " USING (namespace, workflow_sequence_id) JOIN definitions"
                " ON definitions.definition_digest = latest.definition_digest"
                ' WHERE own.journey = ? ORDER BY latest.journey DESC LIMIT 1"',
            ),
            Edit(
                file="runs.py",
                find="(tx.row.definition_digest,)",
                replace="(tx.row.journey,)",
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
            "if choice.option_id not in allowed.pop(choice.transition_id, ()):",
            """options = {o.id for t in definition.transitions for o in t.options}
        if allowed.pop(choice.transition_id, None) is None or choice.option_id not in options:""",
        ),
    ),
    Mutant(
        name="option-of-another-sequence-accepted",
        clauses=("route-03",),
        fault="Which sequence an option is for is not looked at.",
        kind="logic",
        edits=_starts("if option.sequence in (None, definition.sequence.id)", "if option.id"),
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
    Mutant(
        name="semantic-references-not-hashed",
        clauses=("compiler-01", "idempotency-04"),
        fault="A start repeated with other references is answered like a replay.",
        kind="logic",
        edits=_hashed_with("replace(request, semantic_references=())"),
    ),
)
