"""A small driver that lets a scenario read like the story that it checks.

Times are milliseconds since the world opened, which is 2030-01-01T00:00:00.000Z; moments that
come back are compared as the literal strings that a caller sees. Unless a scenario says
otherwise its journey has the deadline 00:10:00, a ceiling of 1000 tokens, 30 seconds of
cancellation grace and 60 seconds of settlement grace, and its leases outlive it.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from tests.acceptance.defaults import HOUR, MIDNIGHT, REGISTRY, REQUEST_FIELDS, start_request

from wayproof.conformance.protocol.backend import Backend, Refused, World, WorldSetup


class RefusedError(Exception):
    """A call was refused: the scenario that did not expect it fails with this."""

    def __init__(self, refused: Refused) -> None:
        super().__init__(f"{refused.code} {dict(refused.detail)}")
        self.code = refused.code
        self.detail: Mapping[str, Any] = refused.detail
        self.record_version = refused.record_version


@dataclass(slots=True)
class Caught:
    """What a ``with refused(...)`` block caught."""

    code: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)


@contextmanager
def refused(*codes: str) -> Iterator[Caught]:
    """Expect the call in the block to be refused with one of these codes."""
    caught = Caught()
    try:
        yield caught
    except RefusedError as refusal:
        assert refusal.code in codes, f"expected {' or '.join(codes)}, got {refusal}"
        caught.code, caught.detail = refusal.code, refusal.detail
    else:
        raise AssertionError(f"expected {' or '.join(codes)}, but it was answered")


@contextmanager
def refused_late() -> Iterator[Caught]:
    """Expect the refusal of a command at or after the deadline, with the timed-out outcome.

    ``deadline_expired`` if this very command ended the journey, ``journey_terminal`` if an eager
    backend had already ended it by itself: the seed allows both.
    """
    with refused("deadline_expired", "journey_terminal") as caught:
        yield caught
    outcome = caught.detail["outcome"]
    end = (outcome["execution_state"], outcome["terminal_reason"])
    assert end == ("timed_out", "deadline_expired"), f"expected a timed-out journey, got {end}"


def call(world: World, operation: str, arguments: Any) -> Any:
    """The value of an answered request; a refusal is raised."""
    reply = world.call(operation, arguments)
    if isinstance(reply, Refused):
        raise RefusedError(reply)
    return reply.value


class Journey:
    """One journey of a world, as its caller, worker and adapter in one."""

    def __init__(self, world: World, journey_id: str, digest: str, who: Mapping[str, Any]) -> None:
        self.world = world
        self.id = journey_id
        self.digest = digest
        self.who = dict(who)
        self.token = 1
        self.run = "no-run"
        self.runs_begun: list[str] = []

    def call(self, operation: str, **arguments: Any) -> Any:
        """Call any operation of the catalogue on this journey."""
        named = {"access": self.who, "journey_id": self.id, **arguments}
        return call(self.world, operation, named)

    def owned(self, operation: str, token: int | None, **arguments: Any) -> Any:
        """Call an operation that shows a fencing token."""
        shown = self.token if token is None else token
        return self.call(operation, fencing_token=shown, **arguments)

    def seen_by(self, **changes: Any) -> "Journey":
        """The same journey, asked for with another access."""
        other = Journey(self.world, self.id, self.digest, {**self.who, **changes})
        other.token, other.run, other.runs_begun = self.token, self.run, self.runs_begun
        return other

    # Time

    def tick(self, milliseconds: int) -> None:
        """Move the clock to so many milliseconds after midnight."""
        self.world.tick(MIDNIGHT + milliseconds)

    def sweep_at(self, milliseconds: int) -> None:
        """Move the clock, and let what is due by then take effect."""
        self.tick(milliseconds)
        self.world.sweep()

    def sweep(self) -> None:
        """Let what is due now take effect."""
        self.world.sweep()

    def restart(self) -> None:
        """The process dies and comes back."""
        self.world.restart()

    # Reads

    def snapshot(self) -> Any:
        """The journey's snapshot."""
        return self.call("snapshot")

    def state(self) -> tuple[str, str | None]:
        """Lifecycle state and terminal reason."""
        snapshot = self.snapshot()
        return snapshot["lifecycle_state"], snapshot["terminal_reason"]

    def version(self) -> int:
        """The record version."""
        return int(self.snapshot()["record_version"])

    def accounting(self) -> str:
        """The accounting status."""
        return str(self.snapshot()["accounting_status"])

    def tokens(self) -> dict[str, int]:
        """The token totals, without the prompt estimates, by short names."""
        totals = self.snapshot()["tokens"]
        return {
            "reserved": totals["reserved_tokens"],
            "conservative": totals["conservatively_committed_tokens"],
            "reconciled": totals["reconciled_tokens"],
            "observed": totals["observed_actual_tokens"],
            "exposure": totals["committed_token_exposure"],
        }

    def claimed(self, counter: str) -> int:
        """How many claims of a counter were granted."""
        return int(self.snapshot()["counters"][counter]["claimed"])

    def runs(self) -> Any:
        """All workflow runs, in order."""
        return self.call("list_workflow_runs")["workflow_runs"]

    def run_states(self) -> list[str]:
        """The states of all runs, in order."""
        return [run["state"] for run in self.runs()]

    def reservations(self, **page: int) -> Any:
        """The reservation records."""
        return self.call("list_reservations", **page)["reservations"]

    def reservation(self, transmission: str) -> Any:
        """The reservation record of one transmission."""
        return next(r for r in self.reservations() if r["transmission_id"] == transmission)

    def reservation_state(self, transmission: str) -> str:
        """The state of one reservation."""
        return str(self.reservation(transmission)["state"])

    def discrepancies(self, **page: int) -> Any:
        """The discrepancy records."""
        return self.call("list_discrepancies", **page)["discrepancies"]

    def evidence(self) -> list[tuple[str, str, int | None]]:
        """Transmission, kind and number of every discrepancy."""
        return [
            (d["transmission_id"], d["kind"], d["reported_tokens"]) for d in self.discrepancies()
        ]

    def outcome(self) -> Any:
        """The execution outcome, or None."""
        return self.call("terminal_outcome")

    def settled(self) -> Any:
        """The settled result, or None."""
        return self.call("settled_result")

    # Caller

    def cancel(self, **arguments: Any) -> Any:
        """Ask for a cooperative stop."""
        return self.call("cancel", **arguments)

    # Worker

    def claim_lease(
        self, operation: str = "lease-1", worker: str = "worker-1", lease: int = HOUR
    ) -> Any:
        """Become the owner; later calls of this driver show the token that is granted."""
        grant = self.call(
            "claim_lease", operation_id=operation, worker_id=worker, lease_milliseconds=lease
        )
        self.token = grant["fencing_token"]
        return grant

    def heartbeat(self, lease: int, token: int | None = None) -> Any:
        """Extend the owner lease."""
        return self.owned("heartbeat", token, lease_milliseconds=lease)

    def begin(self, token: int | None = None) -> Any:
        """Start the entry stage; later calls mean its first run."""
        reply = self.owned("begin_journey", token)
        self.runs_begun = list(reply["workflow_run_ids"])
        self.run = self.runs_begun[0]
        return reply

    def start_run(
        self,
        operation: str,
        purpose: str,
        parent: str | None = None,
        workflow: str = "Helper",
        token: int | None = None,
    ) -> str:
        """Start a child run and give its id."""
        reply = self.owned(
            "start_workflow_run",
            token,
            operation_id=operation,
            parent_workflow_run_id=parent or self.run,
            workflow_id=workflow,
            purpose=purpose,
        )
        (child,) = reply["workflow_run_ids"]
        return str(child)

    def finish(
        self, outcome: str = "completed", run: str | None = None, token: int | None = None
    ) -> Any:
        """Report that a run ended."""
        return self.owned(
            "finish_workflow_run", token, workflow_run_id=run or self.run, outcome=outcome
        )

    def claim(
        self, operation: str, *counters: str, run: str | None = None, token: int | None = None
    ) -> Any:
        """Claim attempt counters."""
        return self.owned(
            "claim_attempt",
            token,
            operation_id=operation,
            workflow_run_id=run or self.run,
            counters=list(counters),
        )

    def complete(self, token: int | None = None) -> Any:
        """Complete the journey."""
        return self.owned("complete_journey", token)

    def fail(self, reason: str = "workflow_failed", token: int | None = None) -> Any:
        """Fail the journey."""
        return self.owned("fail_journey", token, reason_code=reason)

    # Adapter

    def reserve(
        self,
        transmission: str,
        *,
        prompt: int | None = 60,
        output: int | None = 40,
        invocation: str | None = None,
        group: bool = False,
        run: str | None = None,
        lease: int = HOUR,
        token: int | None = None,
    ) -> Any:
        """Reserve one transmission: of an invocation of its own unless one is named."""
        return self.owned(
            "reserve",
            token,
            workflow_run_id=run or self.run,
            invocation_id=invocation or f"call-of-{transmission}",
            transmission_id=transmission,
            idempotency="authoritative" if group else "none",
            estimated_prompt_tokens=prompt,
            max_output_tokens=output,
            lease_milliseconds=lease,
        )

    def transmit(self, transmission: str, token: int | None = None) -> Any:
        """Make a transmission durable."""
        return self.owned("transmit", token, transmission_id=transmission)

    def send(self, transmission: str, **arguments: Any) -> None:
        """Reserve a transmission and make it durable."""
        self.reserve(transmission, **arguments)
        self.transmit(transmission)

    def renew(self, transmission: str, lease: int, token: int | None = None) -> Any:
        """Extend a reservation's lease."""
        return self.owned(
            "renew_reservation", token, transmission_id=transmission, lease_milliseconds=lease
        )

    def unsent(self, transmission: str, token: int | None = None) -> Any:
        """Prove that nothing left the adapter."""
        return self.owned("report_unsent", token, transmission_id=transmission)

    def response(self, transmission: str, usage: Any) -> Any:
        """Report an authoritative terminal response."""
        return self.call("report_response", transmission_id=transmission, usage=usage)

    def ambiguity(self, transmission: str, cause: str = "client_timeout") -> Any:
        """Report that nobody can know what became of a transmission."""
        return self.call("report_ambiguity", transmission_id=transmission, cause=cause)


_NUMBERS = count(1)


class Journeys:
    """Opens worlds of one backend, and journeys in them."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._worlds: list[World] = []

    def world(
        self, registry: Mapping[str, Any] | None = None, withheld: tuple[str, ...] = ()
    ) -> World:
        """Open a new world at midnight."""
        world = self._backend.open(
            f"acceptance-{next(_NUMBERS)}",
            WorldSetup(registry=registry or REGISTRY, now=MIDNIGHT, withheld_capabilities=withheld),
        )
        self._worlds.append(world)
        return world

    def pending(self, world: World | None = None, **changes: Any) -> Journey:
        """A journey just started; changes concern the request's fields or its policy's."""
        request = start_request()
        for name, value in changes.items():
            (request if name in REQUEST_FIELDS else request["policy"])[name] = value
        if request["workflow_sequence_id"] != "solo" and "entry" not in changes:
            request["entry"] = {
                "kind": "entrypoint",
                "id": f"{request['workflow_sequence_id']}_entry",
            }
        world = world or self.world()
        started = call(world, "start", request)
        return Journey(
            world, started["journey_id"], started["definition_digest"], request["access"]
        )

    def running(self, world: World | None = None, **changes: Any) -> Journey:
        """A journey that a worker has claimed and begun."""
        journey = self.pending(world, **changes)
        journey.claim_lease()
        journey.begin()
        return journey

    def close(self) -> None:
        """Close every world."""
        for world in self._worlds:
            world.close()


def tokens(
    reserved: int = 0, conservative: int = 0, reconciled: int = 0, observed: int | None = None
) -> dict[str, int]:
    """Expected totals; the exposure is by definition reconciled plus conservatively committed,
    and the observed usage is the reconciled usage unless a scenario says otherwise."""
    return {
        "reserved": reserved,
        "conservative": conservative,
        "reconciled": reconciled,
        "observed": reconciled if observed is None else observed,
        "exposure": conservative + reconciled,
    }
