"""A journey's client over one open store, and what a store holds, for looking at from outside."""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from wayproof.impl.journey import (
    ADVERTISED,
    Answered,
    JourneyService,
    Refused,
    Reply,
    SqliteJourneyStore,
)
from wayproof.spec.journey.constraints import format_moment, from_milliseconds
from wayproof.spec.journey.definitions import (
    EntrypointDeclaration,
    Registry,
    SequenceDeclaration,
    StepDeclaration,
    WorkflowDeclaration,
)
from wayproof.spec.journey.vocabulary import Capability

NOW: Final = 1_893_456_000_000
HOUR: Final = 3_600_000
MINUTE: Final = 60_000

ACCESS: Final[dict[str, Any]] = {
    "schema_version": "wayproof.journey.execution_access.v1",
    "tenant_id": "tenant",
    "owner_id": "owner",
}
REFINING: Final[dict[str, Any]] = {
    "semantic_references": [{"role": "refinement_patch", "reference": "sha256:1"}]
}
"""What lets a start enter by a stage."""

REGISTRY: Final = Registry(
    workflows=(WorkflowDeclaration(id="plan"), WorkflowDeclaration(id="draw")),
    entrypoints=(EntrypointDeclaration(id="front", sequence="build"),),
    workflow_sequences=(
        SequenceDeclaration(id="build", steps=(StepDeclaration(workflows=("plan", "draw")),)),
        SequenceDeclaration(
            id="long",
            steps=(StepDeclaration(workflows=("plan",)), StepDeclaration(workflows=("draw",))),
        ),
    ),
)


def policy(**changed: Any) -> dict[str, Any]:
    """A policy with a deadline in one hour."""
    return {
        "schema_version": "mozaiks.journey_execution_policy.v1",
        "deadline_utc": format_moment(from_milliseconds(NOW + HOUR)),
        "max_total_tokens": 1_000_000,
        "cancellation_mode": "cooperative",
        "cancellation_grace_seconds": 60,
        "accounting_settlement_grace_seconds": 120,
        "partial_artifact_policy": {"on_non_success": "delete"},
        **changed,
    }


def start_request(key: str = "key", *, sequence: str = "build", **changed: Any) -> dict[str, Any]:
    """A start of one journey; ``changed`` changes its policy."""
    return {
        "schema_version": "wayproof.journey.start_request.v1",
        "access": ACCESS,
        "idempotency_key": key,
        "workflow_sequence_id": sequence,
        "entry": {"kind": "stage", "id": "plan"}
        if sequence == "long"
        else {"kind": "entrypoint", "id": "front"},
        **(REFINING if sequence == "long" else {}),
        "policy": policy(**changed),
    }


@contextmanager
def serving(
    path: Path,
    namespace: str = "test",
    *,
    registry: Registry = REGISTRY,
    capabilities: Iterable[Capability] = ADVERTISED,
    **options: Any,
) -> Iterator[JourneyService]:
    """A namespace of a store for as long as it is needed."""
    with SqliteJourneyStore(path, **{"synchronous": "NORMAL", **options}) as store:
        yield store.namespace(namespace, registry=registry, capabilities=capabilities)


class Client:
    """Sends requests for one journey, at a clock that stands still until it is moved."""

    def __init__(self, service: JourneyService, journey_id: str = "", **known: Any) -> None:
        self.service = service
        self.journey_id = journey_id
        self.now = known.pop("now", NOW)
        self.token: int = known.pop("token", 0)
        self.runs: list[str] = known.pop("runs", [])
        self.inputs: list[str] = known.pop("inputs", [])

    def elsewhere(self, service: JourneyService) -> "Client":
        """The same client, as another process with the same knowledge."""
        known = {"now": self.now, "token": self.token, "runs": self.runs, "inputs": self.inputs}
        return Client(service, self.journey_id, **known)

    def send(self, operation: str, **arguments: Any) -> Reply:
        """One request, whatever is replied."""
        named = {"access": ACCESS, "journey_id": self.journey_id, **arguments}
        return self.service.call(operation, named, now=self.now)

    def ask(self, operation: str, **arguments: Any) -> Any:
        """One request that must be answered."""
        reply = self.send(operation, **arguments)
        assert isinstance(reply, Answered), (operation, reply)
        return reply.value

    def refused(self, operation: str, **arguments: Any) -> str:
        """One request that must be refused: with what code."""
        reply = self.send(operation, **arguments)
        assert isinstance(reply, Refused), (operation, reply)
        return reply.code.value

    def owner(self, operation: str, **arguments: Any) -> Any:
        """One request of the owner that must be answered."""
        return self.ask(operation, fencing_token=self.token, **arguments)

    def lease(self, operation_id: str = "lease", *, milliseconds: int = HOUR) -> None:
        """Become the journey's owner."""
        granted = self.ask(
            "claim_lease",
            operation_id=operation_id,
            worker_id="worker",
            lease_milliseconds=milliseconds,
        )
        self.token = granted["fencing_token"]

    def begin(self) -> None:
        """Become the owner, and start the entry stage."""
        self.lease()
        self.runs = self.owner("begin_journey")["workflow_run_ids"]

    def child(self, operation_id: str, purpose: str = "decomposition", *, parent: str) -> str:
        """Start a child run of a run."""
        started = self.owner(
            "start_workflow_run",
            operation_id=operation_id,
            parent_workflow_run_id=parent,
            workflow_id="plan",
            purpose=purpose,
        )
        run: str = started["workflow_run_ids"][0]
        return run

    def pause(self, run: str, operation_id: str) -> str:
        """Pause a run: until which input."""
        asked = self.owner("request_input", operation_id=operation_id, workflow_run_id=run)
        input_request_id: str = asked["input_request_id"]
        return input_request_id

    def submit(self, run: str, input_request_id: str, option_id: str | None = None) -> Any:
        """Answer what a run waits for."""
        return self.ask(
            "submit_input",
            workflow_run_id=run,
            input_request_id=input_request_id,
            option_id=option_id,
        )

    def finish(self, run: str, outcome: str = "completed") -> Any:
        """Report the end of a run."""
        return self.owner("finish_workflow_run", workflow_run_id=run, outcome=outcome)

    def reservation(self, transmission: str, **changed: Any) -> dict[str, Any]:
        """The arguments of a reservation."""
        return {
            "fencing_token": self.token,
            "workflow_run_id": self.runs[0],
            "invocation_id": f"invocation-{transmission}",
            "transmission_id": transmission,
            "idempotency": "none",
            "estimated_prompt_tokens": 10,
            "max_output_tokens": 20,
            "lease_milliseconds": 10 * MINUTE,
            **changed,
        }

    def reserve(self, transmission: str, **changed: Any) -> None:
        """Reserve one transmission."""
        self.ask("reserve", **self.reservation(transmission, **changed))

    def transmit(self, transmission: str, **changed: Any) -> None:
        """Reserve one transmission and let it leave."""
        self.reserve(transmission, **changed)
        self.owner("transmit", transmission_id=transmission)

    def respond(self, transmission: str, usage: Any = 25) -> None:
        """Report the provider's response."""
        self.ask("report_response", transmission_id=transmission, usage=usage)


def started(service: JourneyService, key: str = "key", **changed: Any) -> Client:
    """The client of a new journey; ``changed`` changes its policy."""
    reply = service.call("start", start_request(key, **changed), now=NOW)
    assert isinstance(reply, Answered), reply
    return Client(service, reply.value["journey_id"])


def begun(service: JourneyService, key: str = "key", **changed: Any) -> Client:
    """The client of a new journey that runs."""
    client = started(service, key, **changed)
    client.begin()
    return client


def contents(path: Path) -> list[str]:
    """Everything that a store holds, as SQL."""
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


def rows(path: Path, query: str, *values: Any) -> list[Any]:
    """What a query of one's own finds in a store."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query, values).fetchall()
