"""Several real processes at one outbox, or at one choice."""

import os
import signal
import sqlite3
from collections import Counter
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from tests.impl import building
from tests.impl.clients import Client, rows, serving
from tests.impl.recount import disagreements
from tests.impl.test_processes import PROCESSES, together
from tests.impl.test_stage_totals import begun

from wayproof.impl.journey import Answered, JourneyService, Refused, dispatch
from wayproof.impl.journey.transaction import Transaction

SEQUENCE = "build_in_parallel"
_QUEUED = "SELECT workflow_run_id FROM workflow_runs WHERE state = 'queued'"


def opened(path: Path) -> Client:
    """A journey whose first choice waits."""
    with serving(path, registry=building.REGISTRY) as service:
        return begun(service, SEQUENCE)


def asked(client: Client) -> tuple[str, str]:
    """The run that waits, and for which input."""
    (run,) = (
        run
        for run in client.ask("list_workflow_runs")["workflow_runs"]
        if run["state"] == "waiting"
    )
    return run["workflow_run_id"], run["pending_input_request_id"]


def queued(client: Client) -> list[str]:
    found = client.ask("list_dispatch_intents", open_only=True)["dispatch_intents"]
    return [intent["workflow_run_id"] for intent in found]


def advanced(path: Path, stage: str) -> Client:
    """A journey that stands right before the given stage: one more end enters it."""
    client = opened(path)
    with serving(path, registry=building.REGISTRY) as service:
        mine = client.elsewhere(service)
        while mine.ask("snapshot")["current_stage"] != stage:
            waiting = [
                run
                for run in mine.ask("list_workflow_runs")["workflow_runs"]
                if run["state"] == "waiting"
            ]
            for run in waiting:
                option = building.OPTIONS[run["stage_id"]]
                mine.submit(run["workflow_run_id"], run["pending_input_request_id"], option)
            for run_id in queued(mine) if not waiting else ():
                mine.owner("claim_dispatched_run", workflow_run_id=run_id)
                mine.finish(run_id)
    return client


def test_dispatchers_that_are_told_of_one_run_take_it_over_once(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    client = advanced(path, "DesignDocs+SubscriptionContractDesigner")

    both = [run for (run,) in rows(path, _QUEUED)]
    found: Counter[tuple[str, bool]] = Counter()
    for claimed in together(path, lambda service, n: takeovers(client.elsewhere(service), both)):
        found.update(claimed)
    assert len(both) == 2
    for run in both:
        assert found[run, True] == 1
        assert found[run, False] == PROCESSES - 1
    assert rows(path, "SELECT active_runs, unfinished_runs FROM journeys") == [(2, 2)]
    assert disagreements(path, client.now) == []


def takeovers(client: Client, runs: list[str]) -> list[tuple[str, bool]]:
    """Acknowledge and take over every run; whether each was newly claimed."""
    found = []
    for run in runs:
        client.owner("acknowledge_dispatch", workflow_run_id=run)
        reply = client.owner("claim_dispatched_run", workflow_run_id=run)
        assert reply["state"] == "active"
        found.append((run, reply["newly_claimed"]))
    return found


def test_of_several_choices_one_is_made(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    client = advanced(path, "database_setup_selector")
    with serving(path, registry=building.REGISTRY) as service:
        run, input_request_id = asked(client.elsewhere(service))
    options = ("managed", "own")

    def work(service: JourneyService, number: int) -> tuple[str, Any]:
        option = options[number % 2]
        reply = client.elsewhere(service).send(
            "submit_input",
            workflow_run_id=run,
            input_request_id=input_request_id,
            option_id=option,
        )
        return option, reply.value if isinstance(reply, Answered) else reply.code.value

    found = together(path, work, registry=building.REGISTRY)
    [(chosen,)] = rows(
        path,
        "SELECT chosen_option_id FROM workflow_runs WHERE stage_id = 'database_setup_selector'",
    )
    accepted = [reply for option, reply in found if option == chosen]
    assert len(accepted) == PROCESSES // 2
    assert all(reply == accepted[0] for reply in accepted)
    assert len(accepted[0]["next_workflow_run_ids"]) == 2
    rejected = [reply for option, reply in found if option != chosen]
    assert rejected == ["input_conflict"] * (PROCESSES // 2)
    assert len(rows(path, _QUEUED)) == 2
    assert disagreements(path, client.now) == []


def test_parallel_members_that_end_at_once_enter_the_next_stage_once(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    client = advanced(path, "DesignDocs+SubscriptionContractDesigner")
    with serving(path, registry=building.REGISTRY) as service:
        mine = client.elsewhere(service)
        members = queued(mine)
        for run in members:
            mine.owner("claim_dispatched_run", workflow_run_id=run)

    def work(service: JourneyService, number: int) -> tuple[str, ...]:
        reading = client.elsewhere(service).finish(members[number % 2])
        return tuple(reading["next_workflow_run_ids"])

    entered = Counter(together(path, work, registry=building.REGISTRY))
    # One member was the last; whoever reported its end learns of the same runs, the others of none.
    assert entered[()] == PROCESSES // 2
    ((runs, times),) = ((runs, times) for runs, times in entered.items() if runs)
    assert (len(runs), times) == (2, PROCESSES // 2)
    assert len(rows(path, _QUEUED)) == 1
    assert disagreements(path, client.now) == []


@pytest.mark.parametrize("attempt", range(6))
def test_a_cancellation_and_a_choice_at_once_leave_nothing_to_dispatch(
    tmp_path: Path, attempt: int
) -> None:
    path = tmp_path / "store.db"
    client = advanced(path, "database_setup_selector")
    with serving(path, registry=building.REGISTRY) as service:
        run, input_request_id = asked(client.elsewhere(service))

    def work(service: JourneyService, number: int) -> str:
        mine = client.elsewhere(service)
        if number == attempt % PROCESSES:
            mine.ask("cancel")
            return "cancelled"
        reply = mine.send(
            "submit_input",
            workflow_run_id=run,
            input_request_id=input_request_id,
            option_id="own",
        )
        return reply.code.value if isinstance(reply, Refused) else "accepted"

    found = set(together(path, work, registry=building.REGISTRY))
    assert found <= {"cancelled", "accepted", "journey_cancelling"}
    states = {state for (state,) in rows(path, "SELECT state FROM workflow_runs")}
    assert states <= {"completed", "stopped"}
    intents = {state for (state,) in rows(path, "SELECT state FROM dispatch_intents")}
    assert intents <= {"claimed", "suppressed"}
    assert disagreements(path, client.now) == []


def test_what_was_acknowledged_before_a_kill_is_taken_over_by_the_next(tmp_path: Path) -> None:
    """Acknowledging delivers nothing: a dispatcher that dies behind it has lost nothing."""
    path = tmp_path / "store.db"
    client = advanced(path, "ValueEngine")
    with serving(path, registry=building.REGISTRY) as service:
        (run,) = queued(client.elsewhere(service))
    process = os.fork()
    if not process:
        with serving(path, registry=building.REGISTRY) as service:
            client.elsewhere(service).owner("acknowledge_dispatch", workflow_run_id=run)
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(process, 0)
    with serving(path, registry=building.REGISTRY) as service:
        mine = client.elsewhere(service)
        assert queued(mine) == [run]
        assert takeovers(mine, [run, run]) == [(run, True), (run, False)]


def test_a_claim_outside_the_transaction_would_start_a_run_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fault that the tests above are for, planted: a claim that trusts what was read."""
    path = tmp_path / "store.db"
    client = advanced(path, "ValueEngine")
    run = rows(path, _QUEUED)[0][0]
    latest = dispatch._latest_intent
    everybody_has_read = get_context("fork").Barrier(PROCESSES, timeout=30)

    def read_apart(tx: Transaction, request: Any) -> Any:
        found = latest(tx, request)
        tx.connection.execute("COMMIT")
        everybody_has_read.wait()
        while not tx.connection.in_transaction:
            with suppress(sqlite3.OperationalError):
                tx.connection.execute("BEGIN IMMEDIATE")
        return found

    monkeypatch.setattr(dispatch, "_latest_intent", read_apart)
    monkeypatch.setattr(Transaction, "set_once", Transaction.one)

    def work(service: JourneyService, number: int) -> bool:
        reply = client.elsewhere(service).send(
            "claim_dispatched_run", fencing_token=client.token, workflow_run_id=run
        )
        return isinstance(reply, Answered) and bool(reply.value["newly_claimed"])

    assert sum(together(path, work, registry=building.REGISTRY)) == PROCESSES
