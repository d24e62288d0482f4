"""How fast the SQLite store is, in ratios that hold on any machine; it gates nothing.

    python benchmarks/store.py [--quick] [--json]

Every ratio is taken against a bare compare-and-set of one row with the same settings, in the same
process and in the same round, and is the median over interleaved rounds. "step" is what one model
call costs: reserve, transmit, report_response, each decoded from JSON and answered in JSON.
"""

import argparse
import json
import multiprocessing
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any, Final

from wayproof.impl.journey import Answered, JourneyService, SqliteJourneyStore
from wayproof.impl.journey.connection import PRAGMAS, Synchronous
from wayproof.spec.journey.definitions import (
    Registry,
    SequenceDeclaration,
    StepDeclaration,
    WorkflowDeclaration,
)

NOW: Final = 1_893_456_000_000
ACCESS: Final = {
    "schema_version": "wayproof.journey.execution_access.v1",
    "tenant_id": "tenant",
    "owner_id": "owner",
}
REGISTRY: Final = Registry(
    workflows=(WorkflowDeclaration(id="build"),),
    workflow_sequences=(
        SequenceDeclaration(id="build", steps=(StepDeclaration(workflows=("build",)),)),
    ),
)
LEASE_MILLISECONDS: Final = 3_600_000
PROCESSES: Final = 4
USAGE: Final = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One figure beside the one that was aimed at."""

    name: str
    goal: float
    reached: float
    at_most: bool = False
    """Whether the goal is an upper bound; otherwise it is a lower one."""

    @property
    def met(self) -> bool:
        """Whether the figure is on the right side of its goal."""
        return self.reached <= self.goal if self.at_most else self.reached >= self.goal


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How much is measured."""

    rounds: int
    repetitions: dict[Synchronous, int]
    bare_repetitions: dict[Synchronous, int]
    """Of the yardstick, for each of the others."""
    seconds: float
    """Of each run of several processes."""
    transmissions: int
    """In the journey that has grown long."""


FULL_SCALE: Final = Scale(
    rounds=15,
    repetitions={"FULL": 100, "NORMAL": 1000},
    bare_repetitions={"FULL": 3, "NORMAL": 15},
    seconds=3.0,
    transmissions=100_000,
)
QUICK_SCALE: Final = Scale(
    rounds=7,
    repetitions={"FULL": 30, "NORMAL": 300},
    bare_repetitions={"FULL": 3, "NORMAL": 15},
    seconds=1.0,
    transmissions=10_000,
)


class Client:
    """The owner of one running journey."""

    def __init__(self, service: JourneyService, journey: dict[str, Any]) -> None:
        self._service = service
        self.journey = journey

    def call(self, operation: str, **arguments: Any) -> Any:
        """The answer of one request; a refusal ends the benchmark."""
        named = {"access": ACCESS, "journey_id": self.journey["journey_id"], **arguments}
        reply = self._service.call(operation, named, now=NOW)
        if not isinstance(reply, Answered):
            raise SystemExit(f"{operation} was refused: {reply.code}")
        return reply.value

    def reserve(self, transmission_id: str) -> None:
        """Reserve one transmission of an invocation of its own."""
        self.call(
            "reserve",
            fencing_token=self.journey["fencing_token"],
            workflow_run_id=self.journey["workflow_run_id"],
            invocation_id=f"invocation-{transmission_id}",
            transmission_id=transmission_id,
            idempotency="none",
            estimated_prompt_tokens=10,
            max_output_tokens=20,
            lease_milliseconds=LEASE_MILLISECONDS,
        )

    def finish(self, transmission_id: str) -> None:
        """Transmit it and report its usage."""
        token = self.journey["fencing_token"]
        self.call("transmit", fencing_token=token, transmission_id=transmission_id)
        self.call("report_response", transmission_id=transmission_id, usage=USAGE)

    def step(self, transmission_id: str) -> None:
        """All of one model call."""
        self.reserve(transmission_id)
        self.finish(transmission_id)


def begin(service: JourneyService, key: str) -> Client:
    """Start a journey and become its owner."""
    policy = {
        "schema_version": "mozaiks.journey_execution_policy.v1",
        "deadline_utc": "2031-01-01T00:00:00Z",
        "max_total_tokens": 2**52,
        "cancellation_mode": "cooperative",
        "cancellation_grace_seconds": 10,
        "accounting_settlement_grace_seconds": 10,
        "partial_artifact_policy": {"on_non_success": "delete"},
    }
    start = {
        "schema_version": "wayproof.journey.start_request.v1",
        "access": ACCESS,
        "idempotency_key": key,
        "workflow_sequence_id": "build",
        "entry": {"kind": "stage", "id": "build"},
        "policy": policy,
    }
    reply = service.call("start", start, now=NOW)
    if not isinstance(reply, Answered):
        raise SystemExit(f"start was refused: {reply.code}")
    client = Client(service, {"journey_id": reply.value["journey_id"]})
    lease = client.call(
        "claim_lease",
        operation_id="lease",
        worker_id="worker",
        lease_milliseconds=LEASE_MILLISECONDS,
    )
    client.journey["fencing_token"] = lease["fencing_token"]
    runs = client.call("begin_journey", fencing_token=lease["fencing_token"])
    client.journey["workflow_run_id"] = runs["workflow_run_ids"][0]
    return client


@contextmanager
def opened(path: Path, synchronous: Synchronous) -> Iterator[JourneyService]:
    """A store for as long as it is needed."""
    with SqliteJourneyStore(path, synchronous=synchronous) as store:
        yield store.namespace("benchmark", registry=REGISTRY)


class BareRow:
    """The yardstick: one guarded update of one row in a transaction, and nothing else."""

    def __init__(self, path: Path, synchronous: Synchronous) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None, timeout=0)
        for pragma in (*PRAGMAS, f"synchronous = {synchronous}", "journal_mode = WAL"):
            self.connection.execute(f"PRAGMA {pragma}")
        self.connection.execute(
            "CREATE TABLE cell (id INTEGER PRIMARY KEY, version INTEGER, total INTEGER) STRICT"
        )
        self.connection.execute("INSERT INTO cell VALUES (1, 0, 0)")
        self.version = 0

    def compare_and_set(self) -> None:
        """Add to the total, under a ceiling, if nobody else has."""
        execute = self.connection.execute
        execute("BEGIN IMMEDIATE")
        changed = execute(
            "UPDATE cell SET version = version + 1, total = total + ?"
            " WHERE id = 1 AND version = ? AND total + ? <= ?",
            (1, self.version, 1, 2**52),
        ).rowcount
        execute("COMMIT")
        if changed != 1:
            raise SystemExit("the yardstick lost an update")
        self.version += 1


def seconds_of(work: Callable[[], None], repetitions: int) -> float:
    """How long so many repetitions take, on the wall clock."""
    begun = time.perf_counter()
    for _ in range(repetitions):
        work()
    return time.perf_counter() - begun


def one_process(folder: Path, synchronous: Synchronous, scale: Scale) -> list[Measurement]:
    """Reserve and the whole step against the yardstick."""
    goals = {"FULL": (0.8, 0.25), "NORMAL": (0.3, 0.11)}[synchronous]
    repetitions = scale.repetitions[synchronous]
    reserves, steps = [], []
    with opened(folder / f"one-{synchronous}.db", synchronous) as service:
        client = begin(service, "one")
        bare = BareRow(folder / f"bare-{synchronous}.db", synchronous)
        with closing(bare.connection):
            asked, finished = count(), count()
            for _ in range(scale.rounds):
                # As long as what it is compared with, so that a busy machine slows both alike.
                bare_repetitions = repetitions * scale.bare_repetitions[synchronous]
                yardstick = seconds_of(bare.compare_and_set, bare_repetitions) / bare_repetitions
                reserve = seconds_of(lambda: client.reserve(f"t{next(asked)}"), repetitions)
                finish = seconds_of(lambda: client.finish(f"t{next(finished)}"), repetitions)
                reserves.append(yardstick * repetitions / reserve)
                steps.append(yardstick * repetitions / (reserve + finish))
    return [
        Measurement(
            name=f"reserve / bare row, {synchronous}",
            goal=goals[0],
            reached=statistics.median(reserves),
        ),
        Measurement(
            name=f"step / bare row, {synchronous}",
            goal=goals[1],
            reached=statistics.median(steps),
        ),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """What several processes do together: steps in one journey, for a while."""

    path: Path
    synchronous: Synchronous
    journey: dict[str, Any]
    seconds: float
    name: str


def work_along(shift: Shift, number: int, barrier: Any, results: Any) -> None:
    """Make steps along with the other processes, and say how many."""
    with opened(shift.path, shift.synchronous) as service:
        client = Client(service, shift.journey)
        barrier.wait()
        stop_at = time.perf_counter() + shift.seconds
        steps = 0
        while time.perf_counter() < stop_at:
            client.step(f"{shift.name}-{number}-{steps}")
            steps += 1
        results.put(steps)


def run_processes(shift: Shift, processes: int) -> list[int]:
    """The steps of each process; a process that was refused a command ends the benchmark."""
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(processes), context.Queue()
    workers = [
        context.Process(target=work_along, args=(shift, number, barrier, results))
        for number in range(processes)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if any(worker.exitcode for worker in workers):
        raise SystemExit("a process was refused a command, or failed")
    return [results.get() for _ in workers]


def several_processes(folder: Path, synchronous: Synchronous, scale: Scale) -> list[Measurement]:
    """Several processes on one journey against one process on it."""
    path = folder / f"several-{synchronous}.db"
    throughputs, fairness, made = [], [], 0
    with opened(path, synchronous) as service:
        client = begin(service, "several")
        for number in range(3):
            shift = Shift(
                path=path,
                synchronous=synchronous,
                journey=client.journey,
                seconds=scale.seconds,
                name=f"round-{number}",
            )
            alone = run_processes(replace(shift, name=f"alone-{number}"), 1)
            together = run_processes(shift, PROCESSES)
            throughputs.append(sum(together) / sum(alone))
            fairness.append(min(together) / max(together))
            made += sum(alone) + sum(together)
        tokens = client.call("snapshot")["tokens"]
    lost = made - tokens["reconciled_tokens"] // USAGE
    return [
        Measurement(
            name=f"{PROCESSES} processes / one, {synchronous}",
            goal=0.8,
            reached=statistics.median(throughputs),
        ),
        Measurement(
            name=f"slowest / fastest of {PROCESSES}, {synchronous}",
            goal=0.5,
            reached=statistics.median(fairness),
        ),
        Measurement(name=f"lost updates, {synchronous}", goal=0, reached=abs(lost), at_most=True),
    ]


def growth(folder: Path, scale: Scale) -> list[Measurement]:
    """A step in a long journey against one in a short journey of the same store."""
    latencies: dict[str, list[float]] = {"short": [], "long": []}
    with opened(folder / "growth.db", "NORMAL") as service:
        clients = {name: begin(service, name) for name in latencies}
        for number in range(scale.transmissions):
            clients["long"].step(f"t{number}")
        for number in range(100):
            clients["short"].step(f"t{number}")
        for number in range(1000):
            for name, client in clients.items():
                begun = time.perf_counter()
                client.step(f"late-{number}")
                latencies[name].append(time.perf_counter() - begun)
    reached = statistics.median(latencies["long"]) / statistics.median(latencies["short"])
    name = f"step at {scale.transmissions} / at 100 transmissions"
    return [Measurement(name=name, goal=1.3, reached=reached, at_most=True)]


def measure(scale: Scale) -> Iterator[Measurement]:
    """Every figure, as it is reached."""
    modes: tuple[Synchronous, ...] = ("FULL", "NORMAL")
    with tempfile.TemporaryDirectory(prefix="wayproof-benchmark-") as name:
        folder = Path(name)
        for synchronous in modes:
            yield from one_process(folder, synchronous, scale)
        for synchronous in modes:
            yield from several_processes(folder, synchronous, scale)
        yield from growth(folder, scale)


def main() -> int:
    """Print each figure beside its goal."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="measure less, less precisely")
    parser.add_argument("--json", action="store_true", help="print one JSON list")
    options = parser.parse_args()
    measurements = []
    for measured in measure(QUICK_SCALE if options.quick else FULL_SCALE):
        measurements.append({**asdict(measured), "met": measured.met})
        if not options.json:
            bound = "<=" if measured.at_most else ">="
            verdict = "met" if measured.met else "missed"
            print(
                f"{measured.name:<42} goal {bound} {measured.goal:<5g}"
                f" reached {measured.reached:8.3f}  {verdict}",
                flush=True,
            )
    if options.json:
        print(json.dumps(measurements, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
