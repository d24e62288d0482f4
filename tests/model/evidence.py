"""Steps of every kind, and which contracts each puts at stake.

Taken from random walks over worlds, from the first states of every explored configuration, and
from a few stories that neither comes by.
"""

from collections import defaultdict
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from itertools import chain, islice
from typing import Any

from tests.model.walks import SECOND, Walk

from wayproof.model.journey import example
from wayproof.model.journey.configuration import Configuration
from wayproof.model.journey.configurations import configurations
from wayproof.model.journey.explore import Edge, Move, edges, serve
from wayproof.model.journey.properties.contract import (
    JOURNEY_CONTRACTS,
    WORLD_CONTRACTS,
    Contract,
    JourneyStep,
    WorldStep,
)
from wayproof.model.journey.properties.loading import load_properties
from wayproof.model.journey.simulate import Played, Simulation
from wayproof.model.journey.state import State, Terms
from wayproof.model.journey.step import swept
from wayproof.spec.journey.requests import Request
from wayproof.spec.journey.validation import decode
from wayproof.spec.journey.vocabulary import FailureReason

TOPICS = frozenset(
    {
        "access",
        "cancel",
        "capability",
        "compat",
        "compiler",
        "deadline",
        "definition",
        "dispatch",
        "idempotency",
        "identity",
        "inputs",
        "lifecycle",
        "observe",
        "outcome",
        "policy",
        "precedence",
        "reason",
        "route",
        "start",
    }
)
"""The modules whose contracts are checked with this evidence."""

WALKS = 130
WALK_LENGTH = 150
EXPLORED_STATES = 400
KEPT_STEPS = 20
"""How many steps of one operation are kept for each contract."""

Step = JourneyStep | WorldStep


def of_topics(contracts: dict[str, Contract]) -> dict[str, Contract]:
    """The contracts of the topics."""
    load_properties()
    return {
        name: contract
        for name, contract in contracts.items()
        if contract.check.__module__.rpartition(".")[2] in TOPICS
    }


@cache
def walked() -> tuple[Played, ...]:
    """The steps of all walks."""
    return tuple(played for number in range(WALKS) for played in Walk(number).steps(WALK_LENGTH))


@cache
def at_stake() -> dict[str, tuple[Step, ...]]:
    """For each contract of the topics, some of the steps that put it at stake."""
    found: dict[str, dict[str, list[Step]]] = defaultdict(lambda: defaultdict(list))
    journey, world = of_topics(JOURNEY_CONTRACTS), of_topics(WORLD_CONTRACTS)
    steps: list[tuple[dict[str, Contract], Step]] = []
    for played in (*told_of_worlds(), *walked()):
        steps.append((world, played.step))
        steps.extend((journey, step) for step in played.journey_steps)
    for configuration in configurations("small").values():
        steps.extend((journey, step) for step in explored(configuration))
    steps.extend((journey, step) for step in told())
    for contracts, step in steps:
        for name, contract in contracts.items():
            kept = found[name][_operation(step)]
            if len(kept) < KEPT_STEPS and contract.check(step) is not None:
                kept.append(step)
    return {name: tuple(chain.from_iterable(kept.values())) for name, kept in found.items()}


def _operation(step: Step) -> str:
    return step.operation if isinstance(step, WorldStep) else type(step.request).__name__


def explored(configuration: Configuration) -> Iterator[JourneyStep]:
    """The steps out of the first states of a configuration, breadth first."""
    terms = configuration.terms
    first = State()
    for request in configuration.prefix:
        first = serve(terms, first, request, configuration.clock[0]).after
    nodes = [(first, 0)]
    known = set(nodes)
    for state, place in nodes:
        if len(nodes) > EXPLORED_STATES:
            return
        following = [(state, place + 1)] if place + 1 < len(configuration.clock) else []
        for edge in edges(terms, state, configuration.clock[place], configuration.menu):
            if edge.move is not Move.EAGER:
                yield step_of(terms, state, edge)
            following.append((edge.after, place))
        for node in following:
            if node not in known:
                known.add(node)
                nodes.append(node)


def step_of(terms: Terms, before: State, edge: Edge) -> JourneyStep:
    """An edge as a step."""
    return JourneyStep(
        terms=terms,
        before=before,
        request=edge.request,
        now=edge.now,
        after=edge.after,
        reply=edge.reply,
        labels=edge.labels,
    )


def tell(terms: Terms, *requests: tuple[int, Request | None]) -> Iterator[JourneyStep]:
    """The steps of one story: moments and requests, or None for a sweep, after a worker has
    begun the journey."""
    state = State()
    for now, request in (*((0, request) for request in example.BEGUN), *requests):
        if request is None:
            after, labels = swept(terms, state, now)
            edge = Edge(Move.SWEEP, now, None, None, labels, after)
        else:
            edge = serve(terms, state, request, now)
        yield step_of(terms, state, edge)
        state = edge.after


def told() -> Iterator[JourneyStep]:
    """Stories of one journey."""
    yield from tell(
        example.terms(deadline=SECOND),
        (0, example.reserve("a", 3)),
        (0, example.reserve("b", 3)),
        (0, example.transmit("a")),
        (0, example.transmit("b")),
        (0, example.response("a", 2)),
        (0, example.response("b", 2)),
        (0, example.response("b", 2)),
    )
    yield from tell(
        example.terms(deadline=SECOND),
        (0, example.fail(FailureReason.LIFECYCLE_PERSISTENCE_UNAVAILABLE)),
    )
    yield from tell(
        example.terms(deadline=SECOND),
        (0, example.reserve("a", 3)),
        (0, example.transmit("a")),
        (SECOND, example.ambiguous("a")),
    )
    yield from tell(example.terms(deadline=SECOND), (SECOND, example.reserve("a", 99)))
    yield from tell(
        example.terms(deadline=SECOND, settlement_grace=2 * SECOND),
        (0, example.reserve("a", 3, lease=SECOND)),
        (0, example.reserve("b", 3, lease=SECOND)),
        (0, example.transmit("a")),
        (0, example.fail()),
        (2 * SECOND, None),
    )
    yield from tell(
        example.terms(deadline=SECOND, max_provider_retry_attempts=0),
        (0, example.reserve("a", 9, of="call")),
        (0, example.unsent("a")),
        (0, example.reserve("b", 99, of="call")),
    )


def told_of_worlds() -> Iterator[Played]:
    """Stories of starts: the first good ones once more, with one thing wrong."""
    created = (played.step for played in walked() if played.step.labels == ("start.created",))
    for good in islice(created, 3):
        for spoiled in spoiled_starts(good.arguments):
            yield Simulation(good.before, good.now, decode).call("start", spoiled)
        stranger = {**good.arguments["access"], "owner_id": "nobody"}
        cancel = {"access": stranger, "journey_id": good.answer.journey_id}
        yield Simulation(good.after, good.now, decode).call("cancel", cancel)


def spoiled_starts(good: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A start with one bad semantic reference, or one bad field of its policy."""
    for reference in (
        {"role": "spell", "reference": "x"},
        {"role": "semantic_graph", "reference": 1},
    ):
        yield {**deepcopy(good), "semantic_references": [reference]}
    for name, value in (
        ("schema_version", "mozaiks.journey_execution_policy.v2"),
        ("deadline_utc", "2030-01-01T00:00:00"),
        ("cancellation_mode", "immediate"),
        ("max_total_tokens", 0),
        ("max_workflow_run_starts", 0),
        ("max_workflow_repair_starts", -1),
        ("cancellation_grace_seconds", 0),
        ("partial_artifact_policy", {"on_non_success": "retain_until"}),
        ("max_retry_repair_attempts", 1),
    ):
        yield {**deepcopy(good), "policy": {**good["policy"], name: value}}
