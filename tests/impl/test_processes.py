"""Several real processes, or threads, on one journey."""

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from tests.impl.clients import NOW, Client, begun, rows, serving, start_request, started

from wayproof.impl.journey import Answered, JourneyService, Refused, reservations
from wayproof.impl.journey.transaction import Transaction

PROCESSES = 4


def together(path: Path, work: Callable[[JourneyService, int], Any], **options: Any) -> list[Any]:
    """What each of several processes makes of the work, all at once."""
    context = get_context("fork")
    barrier, results = context.Barrier(PROCESSES, timeout=30), context.Queue()

    def take_part(number: int) -> None:
        with serving(path, **options) as service:
            barrier.wait()
            results.put(work(service, number))

    processes = [context.Process(target=take_part, args=(n,)) for n in range(PROCESSES)]
    for process in processes:
        process.start()
    found = [results.get(timeout=60) for _ in processes]
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * PROCESSES
    return found


def replies_to_reservations(client: Client, number: int, attempts: int) -> Counter[str]:
    replies: Counter[str] = Counter()
    for attempt in range(attempts):
        reply = client.send("reserve", **client.reservation(f"t-{number}-{attempt}"))
        replies["granted" if isinstance(reply, Answered) else reply.code.value] += 1
    return replies


def test_no_update_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with serving(path) as service:
        client = begun(service)
        version = client.ask("snapshot")["record_version"]

    def work(service: JourneyService, number: int) -> None:
        mine = client.elsewhere(service)
        for attempt in range(50):
            mine.transmit(f"t-{number}-{attempt}")
            mine.respond(f"t-{number}-{attempt}", 7)

    together(path, work)
    with serving(path) as service:
        snapshot = client.elsewhere(service).ask("snapshot")
    assert snapshot["tokens"]["reconciled_tokens"] == PROCESSES * 50 * 7
    assert snapshot["tokens"]["reserved_tokens"] == 0
    assert snapshot["record_version"] == version + PROCESSES * 50 * 3
    ordinals = rows(path, "SELECT ordinal FROM reservations ORDER BY ordinal")
    assert ordinals == [(n,) for n in range(1, PROCESSES * 50 + 1)]


def test_the_ceiling_is_met_and_never_passed(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with serving(path) as service:
        client = begun(service, max_total_tokens=100 * 30 + 29)

    def work(service: JourneyService, number: int) -> Counter[str]:
        return replies_to_reservations(client.elsewhere(service), number, 60)

    replies: Counter[str] = sum(together(path, work), Counter())
    assert replies["granted"] == 100
    assert replies["token_budget_exhausted"] == 1
    assert set(replies) == {"granted", "token_budget_exhausted", "journey_terminal"}
    assert rows(path, "SELECT count(*), sum(reserved_tokens) FROM reservations") == [(100, 3000)]


def test_a_counter_stops_at_its_maximum(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with serving(path) as service:
        client = begun(service, max_task_attempt_starts=70)

    def work(service: JourneyService, number: int) -> int:
        mine, granted = client.elsewhere(service), 0
        for attempt in range(40):
            reply = mine.send(
                "claim_attempt",
                fencing_token=mine.token,
                operation_id=f"attempt-{number}-{attempt}",
                workflow_run_id=mine.runs[0],
                counters=["task_attempt_starts"],
            )
            granted += isinstance(reply, Answered)
        return granted

    assert sum(together(path, work)) == 70
    assert rows(path, "SELECT task_attempt_starts, terminal_reason FROM journeys") == [
        (70, "task_attempt_start_limit_exhausted")
    ]


def test_one_key_starts_one_journey(tmp_path: Path) -> None:
    path = tmp_path / "store.db"

    def work(service: JourneyService, number: int) -> Any:
        reply = service.call("start", start_request(), now=NOW)
        assert isinstance(reply, Answered)
        return reply.value["journey_id"]

    assert len(set(together(path, work))) == 1
    assert rows(path, "SELECT count(*) FROM journeys") == [(1,)]


def test_one_worker_gets_the_lease(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with serving(path) as service:
        client = started(service)

    def work(service: JourneyService, number: int) -> Any:
        reply = client.elsewhere(service).send(
            "claim_lease",
            operation_id=f"claim-{number}",
            worker_id=f"worker-{number}",
            lease_milliseconds=1000,
        )
        return reply.code.value if isinstance(reply, Refused) else reply.value["fencing_token"]

    assert Counter(together(path, work)) == {1: 1, "lease_held": PROCESSES - 1}


def test_processes_that_sweep_at_once_end_each_journey_once(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with serving(path) as service:
        for number in range(30):
            started(service, f"key-{number}").ask("cancel")

    together(path, lambda service, number: service.sweep(now=NOW))
    found = rows(path, "SELECT lifecycle_state, record_version FROM journeys")
    assert found == [("cancelled", 3)] * 30


def test_threads_share_a_store(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with serving(path) as service:
        client = begun(service, max_total_tokens=100 * 30 + 29)
        counts: list[Counter[str]] = []
        threads = [
            Thread(target=lambda n=n: counts.append(replies_to_reservations(client, n, 30)))
            for n in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    replies: Counter[str] = sum(counts, Counter())
    assert replies["granted"] == 100
    assert replies["token_budget_exhausted"] == 1
    assert replies.total() == 240


def test_what_was_acknowledged_before_a_kill_is_there(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with serving(path, synchronous="FULL") as service:
        client = begun(service)
    moments = random.Random(7)
    acknowledged: list[str] = []
    for number in range(12):
        reading, writing = os.pipe()
        process = os.fork()
        if not process:
            with serving(path, synchronous="FULL") as service:
                mine = client.elsewhere(service)
                for attempt in range(10_000):
                    mine.reserve(f"t-{number}-{attempt}")
                    os.write(writing, f"t-{number}-{attempt}\n".encode())
            os._exit(1)
        os.close(writing)
        with os.fdopen(reading) as lines:
            acknowledged.append(lines.readline().strip())
            time.sleep(moments.uniform(0, 0.03))
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            acknowledged += [line.strip() for line in lines]
    made = {t for (t,) in rows(path, "SELECT transmission_id FROM reservations")}
    assert set(acknowledged) <= made
    assert len(made) <= len(acknowledged) + 12
    [(total,)] = rows(path, "SELECT reserved_tokens FROM journeys")
    assert total == 30 * len(made)


def test_a_check_outside_the_transaction_would_pass_the_ceiling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fault that the tests above are for, planted: a ceiling that trusts what was read."""
    path = tmp_path / "store.db"
    with serving(path) as service:
        client = begun(service, max_total_tokens=100 * 30 + 29)

    def claim_what_was_read(tx: Transaction, estimate: int, delta: int, *, is_retry: bool) -> None:
        tx.connection.execute("COMMIT")
        time.sleep(0.001)
        tx.connection.execute("BEGIN IMMEDIATE")
        tx.connection.execute(
            "UPDATE journeys SET reserved_tokens = ?", (tx.row.reserved_tokens + delta,)
        )

    monkeypatch.setattr(reservations, "_claim", claim_what_was_read)
    monkeypatch.setattr(reservations, "_GRANT", "SELECT 1" + ", ?" * 14)
    monkeypatch.setattr(Transaction, "set_once", Transaction.one)

    def work(service: JourneyService, number: int) -> Counter[str]:
        return replies_to_reservations(client.elsewhere(service), number, 60)

    replies: Counter[str] = sum(together(path, work), Counter())
    assert replies["granted"] > 100
