"""The contracts on reservations, totals, counters, runs and leases: the model keeps them, each
comes into play, and each finds the faults that are planted against it."""

from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from tests.model.accounting_faults import ACCOUNTING_FAULTS
from tests.model.evidence import explored, tell, walked
from tests.model.owner_faults import OWNER_FAULTS, WORLD_FAULTS

from wayproof.model.journey import example
from wayproof.model.journey.configurations import configurations
from wayproof.model.journey.properties.contract import (
    JOURNEY_CONTRACTS,
    WORLD_CONTRACTS,
    Contract,
    JourneyStep,
    WorldStep,
)
from wayproof.model.journey.properties.loading import load_properties
from wayproof.model.journey.world import Journey, World, serve
from wayproof.spec.journey.definitions import Registry
from wayproof.spec.journey.vocabulary import Capability

TOPICS = frozenset(
    {
        "ambiguity",
        "ceiling",
        "counter",
        "group",
        "lease",
        "reservation",
        "run",
        "settle",
        "usage",
    }
)
"""The modules whose contracts are checked here."""

KEPT_STEPS = 40
"""How many steps of each source are kept for each contract."""

FAULTS: dict[str, tuple[Callable[[Any], Any], ...]] = {
    **ACCOUNTING_FAULTS,
    **OWNER_FAULTS,
    **WORLD_FAULTS,
}


def of_topics(contracts: dict[str, Contract]) -> dict[str, Contract]:
    load_properties()
    return {
        name: contract
        for name, contract in contracts.items()
        if contract.check.__module__.rpartition(".")[2] in TOPICS
    }


CONTRACTS = {**of_topics(JOURNEY_CONTRACTS), **of_topics(WORLD_CONTRACTS)}


def told() -> Iterator[JourneyStep]:
    """Stories that no small exploration and no walk comes by."""
    ten = example.terms(deadline=10_000)
    yield from tell(
        ten,
        (0, example.reserve("a", 4, of="call")),
        (0, example.transmit("a")),
        (0, example.response("a", None)),
        (0, example.reserve("b", 3, of="call")),
        (0, example.transmit("b")),
        (0, example.response("a", 2)),
        (0, example.reserve("c", 5, of="call")),
        (0, example.response("b", 3)),
        (0, example.reserve("d", 6, of="call")),
    )
    yield from tell(
        ten,
        (0, example.reserve("a", 4, of="call", grouped=True)),
        (0, example.reserve("b", 3, of="call", grouped=True)),
        (0, example.transmit("a")),
        (0, example.transmit("b")),
        (0, example.response("a", 0)),
    )
    yield from tell(
        ten,
        (0, example.reserve("a", 6, of="call")),
        (0, example.transmit("a")),
        (0, example.response("a", None)),
        (0, example.reserve("b", 6, of="call")),
    )


def under_another_parent() -> WorldStep:
    """A child run that is asked for under a run of another journey."""
    own = example.terms(deadline=1000)
    *_, begun = tell(own)
    other = begun.after._replace(
        runs=tuple(run._replace(workflow_run_id="foreign") for run in begun.after.runs)
    )
    world = World(
        registry=Registry(),
        capabilities=frozenset(Capability),
        journeys=(
            Journey(terms=own, request_hash="", state=begun.after),
            Journey(terms=own._replace(journey_id="other"), request_hash="", state=other),
        ),
    )
    request = example.start_run("child", "refinement", parent="foreign")
    served = serve(world, request, 0, lambda kind, amount: ("fresh",) * amount)
    return WorldStep(
        operation="start_workflow_run",
        arguments=None,
        request=request,
        now=0,
        before=world,
        after=served.world,
        reply=served.reply,
        labels=served.labels,
    )


@cache
def at_stake() -> dict[str, tuple[JourneyStep | WorldStep, ...]]:
    """For each contract, some of the steps that put it at stake."""
    journey, world = of_topics(JOURNEY_CONTRACTS), of_topics(WORLD_CONTRACTS)
    sources: list[Iterable[JourneyStep | WorldStep]] = [
        told(),
        *map(explored, configurations("small").values()),
        (step for played in walked() for step in played.journey_steps),
        (played.step for played in walked()),
        [under_another_parent()],
    ]
    found: dict[str, list[JourneyStep | WorldStep]] = defaultdict(list)
    for source in sources:
        kept: Tally[str] = Tally()
        for step in source:
            contracts = journey if isinstance(step, JourneyStep) else world
            for name, contract in contracts.items():
                if kept[name] < KEPT_STEPS and contract.check(step) is not None:
                    kept[name] += 1
                    found[name].append(step)
    return {name: tuple(steps) for name, steps in found.items()}


@pytest.mark.parametrize("name", sorted(CONTRACTS))
def test_the_model_keeps_what_is_at_stake(name: str) -> None:
    steps = at_stake().get(name, ())
    assert steps, "the contract never comes into play"
    assert all(CONTRACTS[name].check(step) for step in steps)


def test_no_contract_lacks_a_planted_fault() -> None:
    """A contract that nothing was planted against may be one that cannot fail."""
    assert set(FAULTS) == set(CONTRACTS)


def _plantings() -> list[tuple[str, int]]:
    return [(name, place) for name in sorted(FAULTS) for place in range(len(FAULTS[name]))]


def _can_be_planted(plant: Callable[[Any], Any], step: JourneyStep | WorldStep) -> bool:
    """Whether a fault says anything of this step: some change what the answer shows."""
    try:
        return bool(plant(step) != step)
    except (TypeError, AttributeError):
        return False


@pytest.mark.parametrize(("name", "place"), _plantings())
def test_the_fault_is_found(name: str, place: int) -> None:
    """Among the steps at stake there is one that the fault makes wrong, and it is found."""
    contract, plant = CONTRACTS[name], FAULTS[name][place]
    assert any(
        contract.check(plant(step)) is False
        for step in at_stake()[name]
        if _can_be_planted(plant, step)
    )


def test_a_planted_fault_can_be_missed() -> None:
    """The search for a fault is no formality: a fault that breaks nothing is not found."""
    contract = CONTRACTS["grant_is_recorded_whole"]
    renamed = [replace(step, labels=("other",)) for step in at_stake()[contract.name]]
    assert not any(contract.check(step) is False for step in renamed)
