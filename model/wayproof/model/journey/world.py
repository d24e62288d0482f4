"""The thin world around journeys: starts, access, and finding the journey that is asked for."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from wayproof.model.journey.stages import offered
from wayproof.model.journey.state import State, Terms
from wayproof.model.journey.step import runs_to_start, step, swept
from wayproof.model.journey.transition import Answered, Reply, realises
from wayproof.spec.journey import requests
from wayproof.spec.journey.constraints import to_milliseconds
from wayproof.spec.journey.definitions import (
    Registry,
    ResolvedDefinition,
    required_capabilities,
    resolve_definition,
)
from wayproof.spec.journey.digests import creation_scope, definition_digest, request_hash
from wayproof.spec.journey.records import JourneyExecutionPolicy, JourneyStarted
from wayproof.spec.journey.refusals import Refusal, RefusalCode
from wayproof.spec.journey.vocabulary import COUNTER_POLICY_FIELDS, Capability, Counter

FreshIds = Callable[[str, int], tuple[str, ...]]
"""Makes that many new server-made ids of a kind (``journey`` or ``run``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Journey:
    """One journey of a world."""

    terms: Terms
    request_hash: str
    state: State


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """All journeys of one namespace, its registry and what it advertises."""

    registry: Registry
    capabilities: frozenset[Capability]
    journeys: tuple[Journey, ...] = ()

    def find(self, journey_id: str) -> Journey | None:
        """The journey of that id."""
        return next((j for j in self.journeys if j.terms.journey_id == journey_id), None)

    def with_state(self, journey_id: str, state: State) -> "World":
        """The world with one journey's state replaced."""
        return replace(
            self,
            journeys=tuple(
                replace(j, state=state) if j.terms.journey_id == journey_id else j
                for j in self.journeys
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A world's answer: the world after it, the reply, the labels, and the journey concerned."""

    world: World
    reply: Reply | Refusal
    labels: tuple[str, ...]
    journey_id: str | None

    @property
    def record_version(self) -> int | None:
        """The concerned journey's record version after it."""
        journey = None if self.journey_id is None else self.world.find(self.journey_id)
        return None if journey is None else journey.state.record_version


def serve(world: World, request: requests.Request, now: int, fresh_ids: FreshIds) -> Served:
    """Serve one decoded request at ``now`` (milliseconds since 1970 UTC)."""
    if isinstance(request, requests.JourneyStartRequest):
        return start(world, request, now, fresh_ids)
    journey = authorized(world, request)
    if journey is None:
        return refused(world, RefusalCode.JOURNEY_NOT_FOUND)
    transition = step(
        journey.terms, journey.state, request, now, run_ids_for(journey, request, fresh_ids)
    )
    return Served(
        world=world.with_state(journey.terms.journey_id, transition.state),
        reply=transition.reply,
        labels=transition.labels,
        journey_id=journey.terms.journey_id,
    )


@realises(
    {
        "decode.unknown_operation": "precedence-10",
        "decode.unsupported_schema_version": "policy-01",
        "decode.unsupported_cancellation_reason": "reason-09",
        "decode.invalid_request": (
            "policy-01 policy-02 policy-04 policy-05 policy-06 policy-07 policy-08 policy-09 "
            "policy-10 policy-11 start-01 start-02 start-07 access-01 compiler-02 compiler-04 "
            "reason-10 identity-01 identity-04 precedence-10"
        ),
    }
)
def undecodable(world: World, refusal: Refusal) -> Served:
    """A request that decoding refuses; the store is not even looked at."""
    return Served(world=world, reply=refusal, labels=(f"decode.{refusal.code}",), journey_id=None)


def run_ids_for(
    journey: Journey, request: requests.Request, fresh_ids: FreshIds
) -> tuple[str, ...]:
    """The fresh run ids that a request may need."""
    return fresh_ids("run", runs_to_start(journey.terms, journey.state, request))


@realises(
    {
        "refused.journey_not_found": (
            "access-04 access-05 access-06 access-08 access-09 access-10 access-11 access-12 "
            "identity-03"
        ),
    }
)
def authorized(world: World, request: requests.JourneyRequest) -> Journey | None:
    """The journey that a request names, if its creation scope is that of the access; unknown
    and foreign are one answer."""
    journey = world.find(request.journey_id)
    if journey is None or journey.terms.creation_scope != creation_scope(request.access):
        return None
    return journey


def refused(
    world: World,
    code: RefusalCode,
    concerns: str | None = None,
    **detail: object,
) -> Served:
    """A refusal of the world itself; it changes nothing."""
    label = f"refused.{code}" if code is RefusalCode.JOURNEY_NOT_FOUND else f"start.{code}"
    return Served(world=world, reply=Refusal(code, detail), labels=(label,), journey_id=concerns)


@realises(
    {
        "start.created": (
            "start-09 identity-01 identity-02 definition-01 definition-02 definition-05 "
            "definition-06 "
            "definition-03 definition-04 definition-07 definition-08 route-05 policy-03 "
            "policy-13 access-02 access-03 idempotency-07 compiler-01 "
            "settle-01"
        ),
        "start.replayed": "idempotency-01 idempotency-02 idempotency-03 idempotency-08",
        "start.idempotency_conflict": "idempotency-04 idempotency-05 idempotency-06",
        "start.unknown_workflow_sequence": "start-03 start-07",
        "start.invalid_entry": "start-03 start-04 start-05 start-07",
        "start.initial_message_unsupported": "start-06 start-07",
        "start.invalid_route_choice": "route-01 route-02 route-03 route-04 start-07",
        "start.journey_execution_capability_unavailable": (
            "capability-02 capability-03 capability-04 capability-05 capability-06"
        ),
    }
)
def start(
    world: World, request: requests.JourneyStartRequest, now: int, fresh_ids: FreshIds
) -> Served:
    """Start a journey, once for its creation scope, key and request hash."""
    definition = resolve_definition(world.registry, request.workflow_sequence_id)
    digest = None if definition is None else definition_digest(definition)
    hashed = request_hash(request, digest)
    scope = creation_scope(request.access)
    for journey in world.journeys:
        if (journey.terms.creation_scope, _key(journey)) == (scope, request.idempotency_key):
            journey_id = journey.terms.journey_id
            if journey.request_hash != hashed:
                code = RefusalCode.IDEMPOTENCY_CONFLICT
                return refused(world, code, concerns=journey_id, journey_id=journey_id)
            return Served(
                world=world,
                reply=Answered(_started(journey)),
                labels=("start.replayed",),
                journey_id=journey_id,
            )
    if definition is None or digest is None:
        return refused(world, RefusalCode.UNKNOWN_WORKFLOW_SEQUENCE)
    position = entry_position(definition, request)
    if position is None:
        return refused(world, RefusalCode.INVALID_ENTRY)
    if request.initial_message is not None and not accepts_message(definition, request):
        return refused(world, RefusalCode.INITIAL_MESSAGE_UNSUPPORTED)
    if not all_choices_valid(definition, request):
        return refused(world, RefusalCode.INVALID_ROUTE_CHOICE)
    missing = required_capabilities(definition) - world.capabilities
    if missing:
        ordered = [capability.value for capability in Capability if capability in missing]
        return refused(world, RefusalCode.CAPABILITY_UNAVAILABLE, missing=ordered)
    journey = Journey(
        terms=Terms(
            journey_id=fresh_ids("journey", 1)[0],
            creation_scope=scope,
            idempotency_key=request.idempotency_key,
            definition=definition,
            definition_digest=digest,
            entry_position=position,
            choices=tuple((c.transition_id, c.option_id) for c in request.route_choices),
            policy=request.policy,
            created_at=now,
            deadline=to_milliseconds(request.policy.deadline_utc),
            max_total_tokens=request.policy.max_total_tokens,
            limits=limits(request.policy),
            cancellation_grace=1000 * request.policy.cancellation_grace_seconds,
            settlement_grace=1000 * request.policy.accounting_settlement_grace_seconds,
        ),
        request_hash=hashed,
        state=State(),
    )
    return Served(
        world=replace(world, journeys=(*world.journeys, journey)),
        reply=Answered(_started(journey)),
        labels=("start.created",),
        journey_id=journey.terms.journey_id,
    )


def _key(journey: Journey) -> str:
    return journey.terms.idempotency_key


def _started(journey: Journey) -> JourneyStarted:
    return JourneyStarted(
        journey_id=journey.terms.journey_id, definition_digest=journey.terms.definition_digest
    )


def limits(policy: JourneyExecutionPolicy) -> tuple[int | None, ...]:
    """The policy's limit of each counter, in policy order."""
    return tuple(getattr(policy, COUNTER_POLICY_FIELDS[counter]) for counter in Counter)


def entry_position(
    definition: ResolvedDefinition, request: requests.JourneyStartRequest
) -> int | None:
    """Index of the step at which the entry enters the sequence; None if it does not, or if it is
    a stage and the start is no refinement of something."""
    if request.entry.kind == "entrypoint":
        known = any(entry.id == request.entry.id for entry in definition.entrypoints)
        return 0 if known else None
    if not any(r.role == "refinement_patch" for r in request.semantic_references):
        return None
    for position, declared in enumerate(definition.sequence.steps):
        if declared.stage_id == request.entry.id:
            return position
    return None


def accepts_message(definition: ResolvedDefinition, request: requests.JourneyStartRequest) -> bool:
    """Whether the entry is an entrypoint that takes an initial message."""
    return request.entry.kind == "entrypoint" and any(
        entry.accepts_initial_message
        for entry in definition.entrypoints
        if entry.id == request.entry.id
    )


def all_choices_valid(
    definition: ResolvedDefinition, request: requests.JourneyStartRequest
) -> bool:
    """Whether every route choice is one of the pinned transitions' options for this sequence,
    and no transition is chosen twice."""
    chosen = [choice.transition_id for choice in request.route_choices]
    return len(set(chosen)) == len(chosen) and all(
        choice.option_id in offered(definition, choice.transition_id)
        for choice in request.route_choices
    )


def sweep_world(world: World, now: int) -> tuple[World, tuple[str, ...]]:
    """Sweep every journey; the labels of everything that was due."""
    labels: list[str] = []
    for journey in world.journeys:
        state, applied = swept(journey.terms, journey.state, now)
        world = world.with_state(journey.terms.journey_id, state)
        labels.extend(applied)
    return world, tuple(labels)
