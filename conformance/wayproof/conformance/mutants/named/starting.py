"""Mutants that start journeys wrongly: policies, capabilities, entries, keys."""

from typing import Final

from wayproof.conformance.mutants.mutant import Edit, Mutant

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
        equivalent="Seen in the handshake, which a check judges once, not in a vector.",
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
            "entry_position = _entry_position(definition, request)",
            """from dataclasses import replace
            open_view = replace(definition, entrypoints=self._registry.entrypoints)
            entry_position = _entry_position(open_view, request)""",
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
        name="stage-entered-by-anybody",
        clauses=("start-05",),
        fault="A start that refines nothing may enter by a stage.",
        kind="logic",
        edits=_starts(
            'elif any(each.role == "refinement_patch" for each in request.semantic_references):',
            "else:",
        ),
    ),
    Mutant(
        name="any-reference-refines",
        clauses=("start-05",),
        fault="Whatever reference a start carries, it may enter by a stage.",
        kind="logic",
        edits=_starts('each.role == "refinement_patch"', "each.role"),
    ),
    Mutant(
        name="message-taken-everywhere",
        clauses=("start-06",),
        fault="An entry that accepts no message is entered with one.",
        kind="logic",
        edits=_starts("            _require_message_supported(definition, request)\n", ""),
    ),
    Mutant(
        name="empty-message-is-none",
        clauses=("start-06",),
        fault="An empty message is taken for none at an entry that accepts none.",
        kind="logic",
        edits=_starts(
            "if request.initial_message is None:\n        return",
            "if not request.initial_message:\n        return",
        ),
    ),
    Mutant(
        name="stage-takes-a-message",
        clauses=("start-06",),
        fault="Only entrypoints are asked whether they accept a message.",
        kind="logic",
        edits=_starts(
            'if request.entry.kind != "entrypoint" or request.entry.id',
            'if request.entry.kind == "entrypoint" and request.entry.id',
        ),
    ),
    Mutant(
        name="message-looked-at-after-the-choices",
        clauses=("start-06",),
        fault="A wrong route choice is found before a message that is not accepted.",
        kind="logic",
        edits=_starts(
            """            _require_message_supported(definition, request)
            _require_routes(definition, request.route_choices)
""",
            """            _require_routes(definition, request.route_choices)
            _require_message_supported(definition, request)
""",
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
        name="semantic-references-not-hashed",
        clauses=("compiler-01", "idempotency-04"),
        fault="A start repeated with other references is answered like a replay.",
        kind="logic",
        edits=_hashed_with("replace(request, semantic_references=())"),
    ),
)
