"""Whatever the age of a journey, a command does the same work."""

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.impl.clients import HOUR, MINUTE, NOW, Client, begun, serving, started
from tests.impl.measures import Work, work_of

from wayproof.impl.journey import JourneyService, reservations

YOUNG, OLD = 20, 1500

NUMBERS = count()


def grow(client: Client, transmissions: int) -> None:
    """Let a journey have that many transmissions behind it, a tenth of them of one group."""
    for _ in range(transmissions // 10):
        for _ in range(9):
            name = f"past-{next(NUMBERS)}"
            client.transmit(name)
            client.respond(name, None if next(NUMBERS) % 7 == 0 else 5)
        name = f"past-{next(NUMBERS)}"
        client.transmit(name, invocation_id="group", idempotency="authoritative")


def new(client: Client, state: str, **changed: Any) -> str:
    """A transmission in that state."""
    name = f"new-{next(NUMBERS)}"
    client.reserve(name, **changed)
    if state == "transmitted":
        client.owner("transmit", transmission_id=name)
    return name


Prepared = Callable[[], object]
GROUP = {"invocation_id": "group", "idempotency": "authoritative"}


def reserve(client: Client) -> Prepared:
    return lambda: client.reserve(f"new-{next(NUMBERS)}")


def reserve_in_group(client: Client) -> Prepared:
    return lambda: client.reserve(f"new-{next(NUMBERS)}", **GROUP)


def retry(client: Client) -> Prepared:
    name = new(client, "transmitted")
    client.respond(name, None)
    return lambda: client.reserve(f"{name}-again", invocation_id=f"invocation-{name}")


def replay_reserve(client: Client) -> Prepared:
    name = new(client, "reserved")
    return lambda: client.reserve(name)


def transmit(client: Client) -> Prepared:
    name = new(client, "reserved")
    return lambda: client.owner("transmit", transmission_id=name)


def renew(client: Client) -> Prepared:
    name = new(client, "transmitted")
    return lambda: client.owner(
        "renew_reservation", transmission_id=name, lease_milliseconds=20 * MINUTE
    )


def respond(client: Client) -> Prepared:
    name = new(client, "transmitted")
    return lambda: client.respond(name, 3)


def respond_in_group(client: Client) -> Prepared:
    # A zero, because a positive number settles every sibling, which is work for each.
    name = new(client, "transmitted", **GROUP)
    return lambda: client.respond(name, 0)


def respond_malformed(client: Client) -> Prepared:
    name = new(client, "transmitted")
    return lambda: client.respond(name, "many")


def unsent(client: Client) -> Prepared:
    name = new(client, "reserved")
    return lambda: client.owner("report_unsent", transmission_id=name)


def ambiguous_in_group(client: Client) -> Prepared:
    name = new(client, "transmitted", **GROUP)
    return lambda: client.ask("report_ambiguity", transmission_id=name, cause="client_timeout")


def claim_attempt(client: Client) -> Prepared:
    return lambda: client.owner(
        "claim_attempt",
        operation_id=f"attempt-{next(NUMBERS)}",
        workflow_run_id=client.runs[0],
        counters=["task_attempt_starts"],
    )


def start_child(client: Client) -> Prepared:
    return lambda: client.owner(
        "start_workflow_run",
        operation_id=f"child-{next(NUMBERS)}",
        parent_workflow_run_id=client.runs[0],
        workflow_id="plan",
        purpose="decomposition",
    )


def replay_begin(client: Client) -> Prepared:
    return lambda: client.owner("begin_journey")


def heartbeat(client: Client) -> Prepared:
    return lambda: client.owner("heartbeat", lease_milliseconds=HOUR)


def snapshot(client: Client) -> Prepared:
    return lambda: client.ask("snapshot")


def page_of_reservations(client: Client) -> Prepared:
    return lambda: client.ask("list_reservations", after=10, limit=5)


def sweep(client: Client) -> Prepared:
    name = new(client, "reserved", lease_milliseconds=MINUTE)

    def lapse() -> None:
        client.service.sweep(now=NOW + MINUTE)

    assert name
    return lapse


def cancel(client: Client) -> Prepared:
    return lambda: client.ask("cancel")


SITUATIONS = (
    *(reserve, reserve_in_group, retry, replay_reserve, transmit, renew),
    *(respond, respond_in_group, respond_malformed, unsent, ambiguous_in_group),
    *(claim_attempt, start_child, replay_begin, heartbeat),
    *(snapshot, page_of_reservations, sweep, cancel),
)


def measured(service: JourneyService, path: Path, client: Client) -> dict[str, Work]:
    """The work of each command; of three times, because a page may be just full."""
    found = {}
    for situation in SITUATIONS:
        works = [work_of(service, path, situation(client)) for _ in range(3)]
        found[situation.__name__] = min(works, key=lambda work: (work.pages, work.instructions))
    return found


@pytest.fixture(scope="module")
def works(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Work]]:
    path = tmp_path_factory.mktemp("cost") / "store.db"
    found = {}
    with serving(path) as service:
        for age, transmissions in (("young", YOUNG), ("old", OLD)):
            client = begun(service, age)
            grow(client, transmissions)
            found[age] = measured(service, path, client)
    return found


@pytest.mark.parametrize("name", [situation.__name__ for situation in SITUATIONS])
def test_a_command_does_the_same_work_in_an_old_journey(
    works: dict[str, dict[str, Work]], name: str
) -> None:
    young, old = works["young"][name], works["old"][name]
    assert [sql.split()[0] for sql in old.statements] == [
        sql.split()[0] for sql in young.statements
    ]
    assert len(old.statements) <= 13
    # What a level more of an index costs, and never a row for each transmission.
    assert old.instructions <= young.instructions + 40
    assert old.pages <= young.pages + 1


def test_a_model_call_takes_few_statements_and_pages(works: dict[str, dict[str, Work]]) -> None:
    reserving, transmitting, responding = (
        works["old"][name] for name in ("reserve", "transmit", "respond")
    )
    assert (len(reserving.statements), reserving.pages) == (8, 5)
    assert (len(transmitting.statements), transmitting.pages) == (7, 2)
    assert (len(responding.statements), responding.pages) == (6, 3)


def test_a_statement_that_goes_through_the_journey_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fault that this is for, planted: the planner is left to choose."""
    chosen = reservations._LATEST_OF_INVOCATION.replace("INDEXED BY invocations", "")
    monkeypatch.setattr(reservations, "_LATEST_OF_INVOCATION", chosen)
    path = tmp_path / "store.db"
    instructions = []
    with serving(path) as service:
        for age, transmissions in (("young", YOUNG), ("old", 200)):
            client = begun(service, age)
            grow(client, transmissions)
            instructions.append(work_of(service, path, reserve(client)).instructions)
    assert instructions[1] > instructions[0] + 40


def test_a_sweep_looks_at_due_journeys_only_and_commits_each(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    found = []
    with serving(path) as service:
        for due, idle in ((5, 0), (5, 100)):
            for number in range(idle):
                started(service, f"idle-{number}")
            for number in range(due):
                started(service, f"due-{idle}-{number}").ask("cancel")
            found.append(work_of(service, path, lambda: service.sweep(now=NOW)))
    for work in found:
        assert work.statements.count("BEGIN IMMEDIATE") == 5
        assert work.statements.count("COMMIT") == 5
    assert found[1].instructions <= found[0].instructions + 40


def test_a_sweep_leaves_other_namespaces_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with serving(path) as here, serving(path, "elsewhere") as there:
        client = started(there)
        client.ask("cancel")
        here.sweep(now=NOW + HOUR)
        assert client.ask("snapshot")["lifecycle_state"] == "cancelling"
        assert Client(here, client.journey_id).refused("snapshot") == "journey_not_found"
        there.sweep(now=NOW + HOUR)
        assert client.ask("snapshot")["lifecycle_state"] == "cancelled"
