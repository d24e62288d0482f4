"""The driver that plays operations on a world."""

import pytest
from tests.model.evidence import walked
from tests.model.walks import NOON, REGISTRY, SECOND, Walk

from wayproof.model.journey.simulate import Simulation
from wayproof.model.journey.world import World
from wayproof.spec.journey.definitions import Registry
from wayproof.spec.journey.refusals import RefusalCode
from wayproof.spec.journey.registries import decode_registry
from wayproof.spec.journey.validation import decode
from wayproof.spec.journey.vocabulary import POLICY_CAPABILITIES


def _simulation() -> Simulation:
    registry = decode_registry(REGISTRY)
    return Simulation(World(registry=registry, capabilities=POLICY_CAPABILITIES), NOON, decode)


def test_each_step_begins_where_the_last_one_ended() -> None:
    walk = Walk(3)
    world = walk.simulation.world
    for played in walk.steps(50):
        assert played.step.before == world
        world = played.world
    assert walk.simulation.world == world


def test_a_request_takes_one_step_of_its_journey() -> None:
    for played in walked():
        step = played.step
        if step.operation in ("sweep", "restart", "reconfigure"):
            continue
        refused = step.request is None or step.code is RefusalCode.JOURNEY_NOT_FOUND
        assert len(played.journey_steps) == (0 if refused or step.operation == "start" else 1)
        for taken in played.journey_steps:
            after = played.world.find(taken.terms.journey_id)
            assert after is not None
            assert (taken.after, taken.reply) == (after.state, step.reply)
            assert played.record_version == after.state.record_version


def test_a_start_concerns_its_journey_and_takes_no_step_of_it() -> None:
    created = [played for played in walked() if played.step.labels == ("start.created",)]
    assert created
    for played in created:
        assert played.journey_steps == ()
        assert played.journey_id == played.step.answer.journey_id
        assert played.record_version == 1


def test_a_sweep_takes_a_step_of_every_journey() -> None:
    sweeps = [played for played in walked() if played.step.operation == "sweep"]
    assert any(len(played.journey_steps) > 1 for played in sweeps)
    for played in sweeps:
        assert [step.after for step in played.journey_steps] == [
            journey.state for journey in played.world.journeys
        ]
        assert all(step.request is None for step in played.journey_steps)


def test_a_request_that_cannot_be_decoded_is_a_step_too() -> None:
    simulation = _simulation()
    unknown = simulation.call("teleport", {})
    assert unknown.step.code is RefusalCode.UNKNOWN_OPERATION
    assert unknown.step.request is None
    assert (unknown.journey_steps, unknown.journey_id, unknown.record_version) == ((), None, None)
    assert simulation.call("snapshot", {}).step.code is RefusalCode.INVALID_REQUEST


def test_a_restart_changes_nothing() -> None:
    restarts = [played.step for played in walked() if played.step.operation == "restart"]
    assert restarts
    assert all(step.before == step.after for step in restarts)


def test_an_edit_changes_the_registry_alone() -> None:
    simulation = _simulation()
    played = simulation.reconfigure(Registry())
    assert simulation.world.registry == Registry()
    assert played.step.before.registry != Registry()
    assert played.step.arguments == {
        "workflows": [],
        "entrypoints": [],
        "transitions": [],
        "workflow_sequences": [],
        "overlays": [],
        "pack_name": None,
        "version": None,
    }


def test_the_clock_never_moves_back() -> None:
    simulation = _simulation()
    simulation.tick(NOON + SECOND)
    assert simulation.sweep().step.now == NOON + SECOND
    with pytest.raises(ValueError, match="never moves back"):
        simulation.tick(NOON)


def test_ids_are_new_each_time() -> None:
    made = [
        run.workflow_run_id
        for journey in list(walked())[-1].world.journeys
        for run in journey.state.runs
    ]
    assert made and len(set(made)) == len(made)
