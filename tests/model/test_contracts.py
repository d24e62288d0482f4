"""The step contracts: the model keeps them, each comes into play, and each finds its faults."""

import pytest
from tests.model.evidence import at_stake, of_topics, walked
from tests.model.journey_faults import JOURNEY_FAULTS
from tests.model.stage_faults import STAGE_FAULTS, STAGE_WORLD_FAULTS
from tests.model.world_faults import WORLD_FAULTS

from wayproof.model.journey.properties.contract import (
    JOURNEY_CONTRACTS,
    WORLD_CONTRACTS,
    judge,
)

FAULTS = {**JOURNEY_FAULTS, **STAGE_FAULTS, **WORLD_FAULTS, **STAGE_WORLD_FAULTS}
CONTRACTS = {**of_topics(JOURNEY_CONTRACTS), **of_topics(WORLD_CONTRACTS)}


def test_the_model_keeps_every_contract_on_random_walks() -> None:
    """Contracts of all topics, on every step of every walk."""
    for played in walked():
        assert judge(WORLD_CONTRACTS, played.step).broken == (), played.step
        for step in played.journey_steps:
            assert judge(JOURNEY_CONTRACTS, step).broken == (), step


@pytest.mark.parametrize("name", sorted(CONTRACTS))
def test_the_model_keeps_what_is_at_stake(name: str) -> None:
    """Every contract comes into play, and is kept whenever it does."""
    steps = at_stake()[name]
    assert steps and all(CONTRACTS[name].check(step) for step in steps)


def test_no_contract_lacks_a_planted_fault() -> None:
    """A contract that nothing was planted against may be one that cannot fail."""
    assert set(FAULTS) == set(CONTRACTS)


def _plantings() -> list[tuple[str, int]]:
    return [(name, place) for name in sorted(FAULTS) for place in range(len(FAULTS[name]))]


@pytest.mark.parametrize(("name", "place"), _plantings())
def test_the_fault_is_found(name: str, place: int) -> None:
    """Among the steps at stake there is one that the fault makes wrong, and it is found."""
    contract, plant = CONTRACTS[name], FAULTS[name][place]
    assert any(
        contract.check(plant(step)) is False  # type: ignore[operator]
        for step in at_stake()[name]
    )
