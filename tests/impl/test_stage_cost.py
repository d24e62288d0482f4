"""However many runs, intents and stages lie behind a journey, a command does the same work."""

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from tests.impl.clients import (
    ACCESS,
    NOW,
    REFINING,
    Client,
    policy,
    serving,
)
from tests.impl.measures import Work, work_of

from wayproof.impl.journey import Answered, JourneyService, dispatch
from wayproof.spec.journey.definitions import (
    OptionDeclaration,
    Registry,
    SequenceDeclaration,
    StepDeclaration,
    TransitionDeclaration,
    WorkflowDeclaration,
)

ROUNDS = {"young": 1, "old": 25}
"""How many workflows and choices of the sequence lie behind."""
CHILDREN = {"young": 10, "old": 600}
PAUSES = {"young": 10, "old": 400}
NUMBERS = count()
PAIR = (StepDeclaration(workflows=("plan",)), StepDeclaration(transition="route"))
REGISTRY = Registry(
    workflows=(WorkflowDeclaration(id="plan"),),
    transitions=(TransitionDeclaration(id="route", options=(OptionDeclaration(id="on"),)),),
    workflow_sequences=(SequenceDeclaration(id="endless", steps=PAIR * 32),),
)

Prepared = Callable[[], object]


class Traveller(Client):
    """The owner of a journey through the endless sequence."""

    def last(self) -> dict[str, str]:
        """The run that was entered last, and for what it waits."""
        listed = self.ask("list_workflow_runs")["workflow_runs"]
        runs = [run for run in listed if run["purpose"] in ("entry", "advancement")]
        found: dict[str, str] = runs[-1]
        return found

    def take_over(self) -> str:
        """Take over the workflow that is queued."""
        run = self.last()["workflow_run_id"]
        self.owner("claim_dispatched_run", workflow_run_id=run)
        return run

    def choose(self) -> None:
        """Pass the choice that waits."""
        run = self.last()
        self.submit(run["workflow_run_id"], run["pending_input_request_id"], "on")

    def paused(self, run: str) -> str:
        """Pause a run: until which input."""
        return self.pause(run, f"pause-{next(NUMBERS)}")

    def resumed(self, run: str) -> None:
        """Let a run be paused, answered and taken over again."""
        self.submit(run, self.paused(run))
        self.owner("claim_dispatched_run", workflow_run_id=run)


def travelled(service: JourneyService, age: str, key: str) -> Traveller:
    """A journey of that age, at an active workflow."""
    start = {
        "schema_version": "wayproof.journey.start_request.v1",
        "access": ACCESS,
        "idempotency_key": key,
        "workflow_sequence_id": "endless",
        "entry": {"kind": "stage", "id": "plan"},
        **REFINING,
        "policy": policy(),
    }
    reply = service.call("start", start, now=NOW)
    assert isinstance(reply, Answered)
    client = Traveller(service, reply.value["journey_id"])
    client.begin()
    run = client.runs[0]
    for _ in range(ROUNDS[age]):
        client.finish(run)
        client.choose()
        run = client.take_over()
    for _ in range(CHILDREN[age]):
        client.finish(client.child(f"child-{next(NUMBERS)}", parent=run))
    for _ in range(PAUSES[age]):
        client.resumed(run)
    client.runs = [run]
    return client


def acknowledge(client: Traveller) -> Prepared:
    run = client.child(f"child-{next(NUMBERS)}", parent=client.runs[0])
    client.submit(run, client.paused(run))
    return lambda: client.owner("acknowledge_dispatch", workflow_run_id=run)


def take_over(client: Traveller) -> Prepared:
    run = client.child(f"child-{next(NUMBERS)}", parent=client.runs[0])
    client.submit(run, client.paused(run))
    return lambda: client.owner("claim_dispatched_run", workflow_run_id=run)


def take_over_again(client: Traveller) -> Prepared:
    return lambda: client.owner("claim_dispatched_run", workflow_run_id=client.runs[0])


def pause(client: Traveller) -> Prepared:
    run = client.child(f"child-{next(NUMBERS)}", parent=client.runs[0])
    return lambda: client.paused(run)


def resume(client: Traveller) -> Prepared:
    run = client.child(f"child-{next(NUMBERS)}", parent=client.runs[0])
    asked = client.paused(run)
    return lambda: client.submit(run, asked)


def replay_input(client: Traveller) -> Prepared:
    run = client.child(f"child-{next(NUMBERS)}", parent=client.runs[0])
    asked = client.paused(run)
    client.submit(run, asked)
    return lambda: client.submit(run, asked)


def finish_a_child(client: Traveller) -> Prepared:
    run = client.child(f"child-{next(NUMBERS)}", parent=client.runs[0])
    return lambda: client.finish(run)


def open_intents(client: Traveller) -> Prepared:
    return lambda: client.ask("list_dispatch_intents", open_only=True, limit=2)


def page_of_intents(client: Traveller) -> Prepared:
    return lambda: client.ask("list_dispatch_intents", after=1, limit=5)


def replay_begin(client: Traveller) -> Prepared:
    return lambda: client.owner("begin_journey")


def incomplete(client: Traveller) -> Prepared:
    return lambda: client.refused("complete_journey", fencing_token=client.token)


SITUATIONS = (
    *(acknowledge, take_over, take_over_again, pause, resume, replay_input, finish_a_child),
    *(open_intents, page_of_intents, replay_begin, incomplete),
)


def enter_a_choice(client: Traveller) -> Prepared:
    return lambda: client.finish(client.runs[0])


def replay_finish(client: Traveller) -> Prepared:
    client.finish(client.runs[0])
    return lambda: client.finish(client.runs[0])


def enter_a_workflow(client: Traveller) -> Prepared:
    client.finish(client.runs[0])
    run = client.last()
    return lambda: client.submit(run["workflow_run_id"], run["pending_input_request_id"], "on")


def cancel(client: Traveller) -> Prepared:
    client.finish(client.runs[0])
    client.choose()
    return lambda: client.ask("cancel")


def fail(client: Traveller) -> Prepared:
    client.submit(client.runs[0], client.paused(client.runs[0]))
    return lambda: client.owner("fail_journey", reason_code="workflow_failed")


PARTINGS = (enter_a_choice, replay_finish, enter_a_workflow, cancel, fail)
"""Situations behind which a journey is no longer the same."""


@pytest.fixture(scope="module")
def works(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Work]]:
    path = tmp_path_factory.mktemp("cost") / "store.db"
    found: dict[str, dict[str, Work]] = {"young": {}, "old": {}}
    with serving(path, registry=REGISTRY) as service:
        for age, measured in found.items():
            client = travelled(service, age, age)
            for situation in SITUATIONS:
                works = [work_of(service, path, situation(client)) for _ in range(3)]
                measured[situation.__name__] = min(works, key=lambda work: work.pages)
            for situation in PARTINGS:
                parting = travelled(service, age, f"{age}-{situation.__name__}")
                measured[situation.__name__] = work_of(service, path, situation(parting))
    return found


@pytest.mark.parametrize("name", [situation.__name__ for situation in (*SITUATIONS, *PARTINGS)])
def test_a_command_does_the_same_work_in_an_old_journey(
    works: dict[str, dict[str, Work]], name: str
) -> None:
    young, old = works["young"][name], works["old"][name]
    assert [sql.split()[0] for sql in old.statements] == [
        sql.split()[0] for sql in young.statements
    ]
    assert len(old.statements) <= 15
    # What a level more of an index costs, and never a row for each run or intent.
    assert old.instructions <= young.instructions + 40
    # Rows by random ids share pages while there are few; then each may split a page of its tree.
    assert old.pages <= 16


def test_a_definition_is_read_once(works: dict[str, dict[str, Work]]) -> None:
    for measured in works.values():
        for work in measured.values():
            assert not [sql for sql in work.statements if "FROM definitions" in sql]


def test_a_statement_that_goes_through_the_outbox_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fault that this is for, planted: the open intents are sought among all."""
    through = dispatch._OPEN_INTENTS.replace("INDEXED BY open_intents", "")
    through = through.replace("state IN", "state || '' IN")
    monkeypatch.setattr(dispatch, "_OPEN_INTENTS", through)
    path = tmp_path / "store.db"
    instructions = []
    with serving(path, registry=REGISTRY) as service:
        for age in ROUNDS:
            client = travelled(service, age, age)
            instructions.append(work_of(service, path, open_intents(client)).instructions)
    assert instructions[1] > instructions[0] + 40
