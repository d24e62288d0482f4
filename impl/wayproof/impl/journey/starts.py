"""Starting a journey, once for each creation scope and idempotency key."""

import sqlite3
from collections.abc import Set
from functools import cache
from typing import Any, Final

from wayproof.impl.journey.identities import new_journey_id
from wayproof.impl.journey.replies import Answered, Refused, Reply
from wayproof.impl.journey.stages import offered_options
from wayproof.impl.journey.transaction import scope_of
from wayproof.spec.journey.constraints import to_milliseconds
from wayproof.spec.journey.definitions import (
    Registry,
    ResolvedDefinition,
    required_capabilities,
    resolve_definition,
)
from wayproof.spec.journey.digests import canonical_json, definition_digest, request_hash
from wayproof.spec.journey.encoding import encode
from wayproof.spec.journey.records import JourneyStarted, RouteChoice
from wayproof.spec.journey.refusals import Refusal, RefusalCode
from wayproof.spec.journey.requests import JourneyStartRequest
from wayproof.spec.journey.vocabulary import COUNTER_POLICY_FIELDS, Capability

_KNOWN: Final = (
    "SELECT journey_id, definition_digest, record_version, request_hash"
    " FROM starts JOIN journeys USING (journey)"
    " WHERE starts.namespace = ? AND starts.creation_scope = ? AND idempotency_key = ?"
)


class Starts:
    """Starts in one namespace."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        *,
        namespace: str,
        registry: Registry,
        capabilities: Set[Capability],
    ) -> None:
        self._connection = connection
        self._namespace = namespace
        self._registry = registry
        self._capabilities = capabilities
        self._resolve = cache(self._resolve_now)

    def start(self, request: JourneyStartRequest, now: int) -> Reply:
        """Start a journey, or answer what this key started; inside a write transaction."""
        definition, digest = self._resolve(request.workflow_sequence_id)
        hashed = request_hash(request, digest)
        key = (self._namespace, scope_of(request.access), request.idempotency_key)
        known = self._connection.execute(_KNOWN, key).fetchone()
        if known is not None:
            journey_id, digest, version, recorded_hash = known
            if recorded_hash != hashed:
                return Refused(
                    code=RefusalCode.IDEMPOTENCY_CONFLICT,
                    detail={"journey_id": journey_id},
                    record_version=version,
                )
            return _started(journey_id, digest, version)
        if definition is None or digest is None:
            return Refused(code=RefusalCode.UNKNOWN_WORKFLOW_SEQUENCE)
        try:
            entry_position = _entry_position(definition, request)
            _require_message_supported(definition, request)
            _require_routes(definition, request.route_choices)
            self._require_capabilities(definition)
        except Refusal as refusal:
            return Refused(code=refusal.code, detail=refusal.detail)
        journey_id = new_journey_id()
        self._connection.execute(
            "INSERT INTO definitions (definition_digest, definition) VALUES (?, ?)"
            " ON CONFLICT DO NOTHING",
            (digest, canonical_json(encode(definition)).decode()),
        )
        journey = self._insert(
            "journeys",
            {
                "namespace": self._namespace,
                "journey_id": journey_id,
                "creation_scope": key[1],
                "workflow_sequence_id": request.workflow_sequence_id,
                "definition_digest": digest,
                "entry_position": entry_position,
                **_policy(request),
                "lifecycle_state": "pending",
                "accounting_status": "pending",
                "created_at": now,
                "record_version": 1,
                "due_at": to_milliseconds(request.policy.deadline_utc),
            },
        )
        self._insert(
            "starts",
            {
                "journey": journey,
                "namespace": self._namespace,
                "creation_scope": key[1],
                "idempotency_key": request.idempotency_key,
                "request_hash": hashed,
                "request": canonical_json(encode(request)).decode(),
            },
        )
        self._connection.executemany(
            "INSERT INTO route_choices (journey, transition_id, option_id) VALUES (?, ?, ?)",
            [(journey, each.transition_id, each.option_id) for each in request.route_choices],
        )
        return _started(journey_id, digest, 1)

    def _resolve_now(self, sequence_id: str) -> tuple[ResolvedDefinition | None, str | None]:
        definition = resolve_definition(self._registry, sequence_id)
        return definition, None if definition is None else definition_digest(definition)

    def _require_capabilities(self, definition: ResolvedDefinition) -> None:
        required = required_capabilities(definition)
        missing = [c.value for c in Capability if c in required and c not in self._capabilities]
        if missing:
            raise Refusal(RefusalCode.CAPABILITY_UNAVAILABLE, {"missing": missing})

    def _insert(self, table: str, row: dict[str, Any]) -> int | None:
        columns = ", ".join(row)
        values = ", ".join(f":{column}" for column in row)
        return self._connection.execute(
            f"INSERT INTO {table} ({columns}) VALUES ({values})", row
        ).lastrowid


def _started(journey_id: str, digest: str, version: int) -> Answered:
    started = JourneyStarted(journey_id=journey_id, definition_digest=digest)
    return Answered(value=encode(started), record_version=version)


def _policy(request: JourneyStartRequest) -> dict[str, Any]:
    policy = request.policy
    artifacts = policy.partial_artifact_policy
    retain_until = artifacts.retain_until_utc
    return {
        "deadline": to_milliseconds(policy.deadline_utc),
        "max_total_tokens": policy.max_total_tokens,
        "cancellation_grace_seconds": policy.cancellation_grace_seconds,
        "accounting_settlement_grace_seconds": policy.accounting_settlement_grace_seconds,
        "on_non_success": artifacts.on_non_success,
        "retain_until": None if retain_until is None else to_milliseconds(retain_until),
        **{field: getattr(policy, field) for field in COUNTER_POLICY_FIELDS.values()},
    }


def _entry_position(definition: ResolvedDefinition, request: JourneyStartRequest) -> int:
    """Where the sequence is entered: by an entrypoint at its first step, by a refinement at the
    stage that it names."""
    entry = request.entry
    if entry.kind == "entrypoint":
        if any(entrypoint.id == entry.id for entrypoint in definition.entrypoints):
            return 0
    elif any(each.role == "refinement_patch" for each in request.semantic_references):
        for position, step in enumerate(definition.sequence.steps):
            if step.stage_id == entry.id:
                return position
    raise Refusal(RefusalCode.INVALID_ENTRY)


def _require_message_supported(
    definition: ResolvedDefinition, request: JourneyStartRequest
) -> None:
    if request.initial_message is None:
        return
    open_to_messages = {e.id for e in definition.entrypoints if e.accepts_initial_message}
    if request.entry.kind != "entrypoint" or request.entry.id not in open_to_messages:
        raise Refusal(RefusalCode.INITIAL_MESSAGE_UNSUPPORTED)


def _require_routes(definition: ResolvedDefinition, choices: tuple[RouteChoice, ...]) -> None:
    offered = offered_options(definition)
    for choice in choices:
        # pop: no transition is chosen twice.
        if choice.option_id not in offered.pop(choice.transition_id, ()):
            raise Refusal(RefusalCode.INVALID_ROUTE_CHOICE)
