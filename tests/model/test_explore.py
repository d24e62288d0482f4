"""The exploration: complete, the same each time, and able to find a fault by the shortest way."""

import json
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from wayproof.conformance.commands import explore as command
from wayproof.model.journey import accounting, explore, lifecycle, sweeps, totals
from wayproof.model.journey import configurations as configurations_module
from wayproof.model.journey.configurations import configurations
from wayproof.model.journey.example import BEGUN, reserve, terms
from wayproof.model.journey.properties.contract import JOURNEY_CONTRACTS
from wayproof.model.journey.properties.legality import illegal_changes
from wayproof.model.journey.state import Discrepancy, Lease, State, Terms, Totals
from wayproof.model.journey.step import step, swept, versioned
from wayproof.model.journey.transition import RULES, Transition
from wayproof.spec.journey.vocabulary import (
    AccountingStatus,
    DiscrepancyKind,
    LifecycleState,
    ReservationState,
    WorkflowRunState,
)

SMALL = configurations("small")


@pytest.mark.parametrize("name", SMALL)
def test_small_bounds_hold(name: str) -> None:
    found = explore.explore(SMALL[name])
    assert found.violation is None
    assert found.finished
    assert found.states > 10
    assert found.edges > found.states
    assert found.deepest > 5


@pytest.mark.slow
def test_full_bounds_hold_and_apply_every_rule_of_a_journey() -> None:
    results = [explore.explore(entry) for entry in configurations("full").values()]
    assert all(found.violation is None and found.finished for found in results)
    applied = frozenset[str]().union(*(found.labels for found in results))
    of_worlds = {label for label in RULES if label.startswith(("start.", "decode.", "restart."))}
    unseen = {rule for rule in RULES if rule not in applied} - of_worlds
    # Facts about every commit, which no label tells, and access, which is the world's.
    assert unseen == {
        "accounting.settled_early",
        "journey.ended",
        "refused.journey_not_found",
        "version.raised",
    }


def test_the_same_configuration_gives_the_same_report() -> None:
    assert explore.explore(SMALL["groups"]) == explore.explore(SMALL["groups"])


def test_it_says_when_it_did_not_finish() -> None:
    found = explore.explore(SMALL["deadline"], max_states=100)
    assert not found.finished
    assert found.violation is None
    assert 100 < found.states < 200


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    explore.explore(SMALL["entry"], progress=lambda states, edges: told.append((states, edges)))
    assert told


def test_every_move_is_taken() -> None:
    configuration = SMALL["renewals"]
    state = State()
    for request in configuration.prefix:
        state = explore.serve(configuration.terms, state, request, 0).after
    state = explore.serve(configuration.terms, state, configuration.menu[0], 0).after
    moves = {
        edge.move for edge in explore.edges(configuration.terms, state, 2000, configuration.menu)
    }
    assert moves == {explore.Move.REQUEST, explore.Move.SWEEP, explore.Move.EAGER}


# Faults planted in the rules

exposure_of, finalise = totals.exposure_of, accounting.finalise


def summed(group: Any) -> Totals:
    """A group counts at the sum of its members."""
    parts = [exposure_of([member]) for member in group]
    return Totals(*(sum(amounts) for amounts in zip(*parts, strict=True)))


def forgiving(known: Terms, state: State, request: Any, now: int, fresh: Any = ()) -> Transition:
    """A reservation over the ceiling is refused, and the journey goes on."""
    answered = step(known, state, request, now, fresh)
    over = "reserve.over_the_ceiling" in answered.labels
    return answered._replace(state=state) if over else answered


def hopeful(state: State, now: int) -> State:
    """What was sent and never answered is let go at the accounting deadline."""
    freed = tuple(
        record._replace(state=ReservationState.RELEASED_UNTRANSMITTED)
        if record.state is ReservationState.TRANSMITTED
        else record
        for record in state.transmissions
    )
    return finalise(state._replace(transmissions=freed), now)


def hasty(known: Terms, state: State, now: int) -> tuple[State, tuple[str, ...]]:
    """A sweep releases what is reserved, whether or not its lease has expired."""
    after, labels = swept(known, state, now)
    for record in after.transmissions:
        if record.state is ReservationState.RESERVED:
            return versioned(state, sweeps.release(after, record, now)), labels
    return after, labels


def never(*_: Any) -> None:
    """Something that falls due never takes effect."""


ENDLESS = "time and sweeps alone never end and settle it"

PLANTED: dict[str, tuple[Any, str, Any, str, str, int]] = {
    "a sum for a maximum": (totals, "exposure_of", summed, "groups", "group-02", 4),
    "a refusal that ends nothing": (explore, "step", forgiving, "ceiling", "ceiling-06", 4),
    "calls that are let go": (lifecycle, "finalise", hopeful, "settlement", "settle-05", 7),
    "a cutoff that is not": (sweeps, "cut_off", never, "cancellation", ENDLESS, 3),
    "accounting without an end": (sweeps, "close_accounting", never, "settlement", ENDLESS, 3),
    "a hasty sweep": (
        explore,
        "swept",
        hasty,
        "ceiling",
        "the relation does not allow this step",
        4,
    ),
}
"""Module, name, wrong rule, configuration, what it breaks, steps of the shortest way to it."""


def broken_by(violation: explore.Violation) -> set[str]:
    """The faults of a violation, and the clauses of the contracts among them."""
    contracts = [JOURNEY_CONTRACTS[f] for f in violation.faults if f in JOURNEY_CONTRACTS]
    return {*violation.faults, *(clause for c in contracts for clause in c.clauses)}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found_by_the_shortest_way(
    fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, name, wrong, configuration, broken, length = PLANTED[fault]
    monkeypatch.setattr(module, name, wrong)
    violation = explore.explore(SMALL[configuration]).violation
    assert violation is not None
    assert broken in broken_by(violation)
    assert len(violation.trace) == length
    moments = [edge.now for edge in violation.trace]
    assert moments == sorted(moments)


# Legal changes, by the tables of the vocabulary

ENDED = State(
    lifecycle=LifecycleState.FAILED,
    terminal_reason="workflow_failed",
    finished_at=1,
    accounting_deadline=2,
    lease=Lease(2, 9),
    counters=(1, 0, 0, 0, 0, 0),
    estimated=5,
    discrepancies=(Discrepancy("a", DiscrepancyKind.MALFORMED_USAGE, None, 1),),
)


def with_record(state: ReservationState) -> State:
    """A running journey with one reservation in that state."""
    known, first = terms(deadline=1000), State()
    for request in (*BEGUN, reserve("a", 3)):
        first = explore.serve(known, first, request, 0).after
    return first._replace(
        transmissions=tuple(record._replace(state=state) for record in first.transmissions)
    )


SENT = with_record(ReservationState.TRANSMITTED)
RELEASED = with_record(ReservationState.RELEASED_UNTRANSMITTED)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (ENDED, ENDED._replace(lifecycle=LifecycleState.RUNNING), "illegal lifecycle transition"),
        (State(), State(lifecycle=LifecycleState.CANCELLED), "illegal lifecycle transition"),
        (ENDED, ENDED._replace(terminal_reason="other"), "an outcome changed"),
        (
            ENDED._replace(accounting=AccountingStatus.SETTLED),
            ENDED,
            "illegal accounting transition",
        ),
        (SENT, RELEASED, "illegal reservation transition"),
        (RELEASED, SENT, "illegal reservation transition"),
        (SENT, SENT._replace(transmissions=()), "a reservation was removed"),
        (
            SENT,
            SENT._replace(
                transmissions=tuple(t._replace(reserved_tokens=1) for t in SENT.transmissions)
            ),
            "what a reservation was granted with changed",
        ),
        (SENT, SENT._replace(runs=()), "a run was removed"),
        (
            SENT,
            SENT._replace(runs=tuple(run._replace(workflow_id="other") for run in SENT.runs)),
            "what a run was started with changed",
        ),
        (
            SENT._replace(
                runs=tuple(run._replace(state=WorkflowRunState.FAILED) for run in SENT.runs)
            ),
            SENT,
            "illegal change of a run",
        ),
        (ENDED, ENDED._replace(discrepancies=()), "a discrepancy was changed or removed"),
        (ENDED, ENDED._replace(counters=(0,) * 6), "a counter fell"),
        (ENDED, ENDED._replace(estimated=4), "a sum that never falls fell"),
        (ENDED, ENDED._replace(lease=Lease(1, 9)), "a fencing token fell"),
        (ENDED, ENDED._replace(record_version=3), "the record version rose by more than one"),
    ],
)
def test_an_illegal_change_is_named(before: State, after: State, said: str) -> None:
    assert illegal_changes(before, before) == ()
    assert any(change.startswith(said) for change in illegal_changes(before, after))


# The command

app = typer.Typer()
app.command()(command.explore)


def test_the_command_reports_each_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = (configurations_module.entry, configurations_module.retries)
    monkeypatch.setattr(configurations_module, "_TABLE", quick)
    result = CliRunner().invoke(app, ["--bounds", "small"])
    assert result.exit_code == 0, result.output
    rows = result.output.splitlines()
    assert [row.split()[:2] for row in rows[:2]] == [["entry", "holds"], ["retries", "holds"]]
    assert rows[2].startswith("2 configurations, ")


def test_the_command_prints_one_document() -> None:
    result = CliRunner().invoke(app, ["entry", "--bounds", "small", "--json"])
    assert result.exit_code == 0
    document = json.loads(result.output)
    assert document["holds"] is True
    (entry,) = document["configurations"]
    assert (entry["name"], entry["finished"], entry["violation"]) == ("entry", True, None)
    assert "counter.workflow_run_start_limit_exhausted" in entry["labels"]


def test_the_command_refuses_an_unknown_configuration() -> None:
    result = CliRunner().invoke(app, ["nowhere"])
    assert result.exit_code == 2
    assert "nowhere" in result.output


def test_the_command_says_when_it_did_not_finish() -> None:
    result = CliRunner().invoke(app, ["deadline", "--bounds", "small", "--max-states", "50"])
    assert result.exit_code == 3
    assert "not finished" in result.output


def test_the_command_prints_the_shortest_way_to_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(totals, "exposure_of", summed)
    result = CliRunner().invoke(app, ["groups", "--bounds", "small"])
    assert result.exit_code == 1
    assert "VIOLATED" in result.output
    assert "broken: member_asks_for_its_increase_only (group-02)" in result.output
    assert "the shortest way to it has 4 steps:" in result.output
    assert "  1. at 0 ms: claim_lease operation_id=worker-1" in result.output
    assert "  4. at 0 ms: reserve " in result.output
    document = CliRunner().invoke(app, ["groups", "--bounds", "small", "--json"])
    assert document.exit_code == 1
    assert json.loads(document.output)["holds"] is False
