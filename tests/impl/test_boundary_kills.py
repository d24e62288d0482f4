"""Processes that are killed at every step of the reservation boundary: nothing has left that was
not durably transmitted, and everything that left is charged.
"""

import os
import signal
from collections.abc import Callable, Mapping
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from tests.impl.clients import HOUR, NOW, Client, begun, rows, serving
from tests.impl.elsewhere import forked, run
from tests.impl.provider import BUSY, FINE, PARTS, Arrival, Served, boundary, state_in

from wayproof.impl.journey.boundary import ReservationBoundary
from wayproof.impl.journey.grants import Answer, Grant, Outgoing

SCRIPT = (BUSY, FINE, FINE)
"""What the provider answers to two calls: the first needs a retry."""

Step = Callable[[], None]


def killing(at: int) -> Step:
    """Counts steps, and kills this process at one of them."""
    passed = 0

    def step() -> None:
        nonlocal passed
        passed += 1
        if passed == at:
            os.kill(os.getpid(), signal.SIGKILL)

    return step


class Stepping(Served):
    """A store that takes a step before and after each request."""

    def __init__(self, client: Client, step: Step) -> None:
        super().__init__(client)
        self.step = step

    async def call(self, operation: str, arguments: Mapping[str, Any], *, now: int) -> Any:
        self.step()
        reply = await super().call(operation, arguments, now=now)
        self.step()
        return reply


def adapter_killed(path: Path, client: Client, at: int) -> tuple[list[Arrival], bool]:
    """Two calls from a process that dies at a step; what had reached the provider, and whether
    the process came through."""

    def adapt(pipe: Connection) -> None:
        step = killing(at)

        async def send(outgoing: Outgoing) -> Answer:
            step()
            pipe.send(outgoing)
            step()
            answer: Answer = pipe.recv()
            step()
            return answer

        with serving(path) as service:
            made = boundary(client, Stepping(client.elsewhere(service), step), send)
            for invocation in ("first", "second"):
                run(made.invoke(invocation, PARTS, attempts=2))
        pipe.send(None)

    arrivals: list[Arrival] = []
    with forked(adapt) as (pipe, process):
        while True:
            try:
                outgoing = pipe.recv()
            except (EOFError, ConnectionResetError):
                break
            if outgoing is None:
                return arrivals, True
            arrivals.append(arrived(path, outgoing))
            try:
                pipe.send(SCRIPT[len(arrivals) - 1] if len(arrivals) <= len(SCRIPT) else FINE)
            except BrokenPipeError:
                break
        process.join(10)
    return arrivals, False


def arrived(path: Path, outgoing: Outgoing) -> Arrival:
    """A request that reached the provider, and how its reservation stood in the file then."""
    state = state_in(path, outgoing.transmission_id)
    return Arrival(outgoing.transmission_id, outgoing.invocation_id, state)


@contextmanager
def dying_store(path: Path, at: int) -> Any:
    """A namespace that another process serves until it dies, before or after a commit."""

    def serve(pipe: Connection) -> None:
        step = killing(at)
        with serving(path) as service:
            while True:
                operation, arguments, now = pipe.recv()
                step()
                reply = service.call(operation, arguments, now=now)
                step()
                pipe.send(reply)

    class Remote:
        def __init__(self, pipe: Connection) -> None:
            self.pipe = pipe

        def call(self, operation: str, arguments: object, *, now: int) -> Any:
            self.pipe.send((operation, arguments, now))
            return self.pipe.recv()

    with forked(serve) as (pipe, _):
        yield Remote(pipe)


def store_killed(path: Path, client: Client, at: int) -> tuple[list[Arrival], bool]:
    """The same two calls, and it is the store's process that dies."""
    arrivals: list[Arrival] = []

    async def send(outgoing: Outgoing) -> Answer:
        arrivals.append(arrived(path, outgoing))
        return SCRIPT[len(arrivals) - 1] if len(arrivals) <= len(SCRIPT) else FINE

    with dying_store(path, at) as remote:
        made = boundary(client, Served(client.elsewhere(remote)), send)
        try:
            for invocation in ("first", "second"):
                run(made.invoke(invocation, PARTS, attempts=2))
        except (EOFError, OSError):
            return arrivals, False
    return arrivals, True


Killed = Callable[[Path, Client, int], tuple[list[Arrival], bool]]


def check(folder: Path, killed: Killed) -> int:
    """Kill at the first step, the second, and so on, until nothing is left to kill.

    Returns:
        How many steps there were.

    Raises:
        AssertionError: if something had left that was not durably transmitted, or that is not
            charged in the end.
    """
    for at in range(1, 200):
        path = folder / f"{at}.db"
        with serving(path) as service:
            client = begun(service)
        arrivals, survived = killed(path, client, at)
        assert {arrival.state for arrival in arrivals} <= {"transmitted"}
        sent = [arrival.transmission_id for arrival in arrivals]
        assert len(sent) == len(set(sent))
        recovered(path, client, sent)
        if survived:
            assert [arrival.invocation_id for arrival in arrivals] == ["first", "first", "second"]
            return at - 1
    raise AssertionError("it never came through")


def recovered(path: Path, client: Client, sent: list[str]) -> None:
    """Another process recovers the store: each request that left is accounted for."""
    with serving(path) as service:
        service.sweep(now=NOW + 2 * HOUR)
        late = client.elsewhere(service)
        late.now = NOW + 2 * HOUR
        assert late.ask("snapshot")["lifecycle_state"] in ("timed_out", "failed")
    left = dict(rows(path, "SELECT transmission_id, state FROM reservations"))
    assert set(left.values()) <= {
        "reconciled",
        "released_untransmitted",
        "expired_conservatively",
    }
    for transmission_id in sent:
        assert left[transmission_id] != "released_untransmitted"


def test_an_adapter_that_is_killed_at_any_step_has_sent_nothing_unclaimed(tmp_path: Path) -> None:
    steps = check(tmp_path, adapter_killed)
    # Three transmissions of three requests and one call each, and two reads at the end.
    assert steps == 3 * (3 * 2 + 3) + 3 * 2


def test_a_store_that_is_killed_at_any_step_lets_nothing_unclaimed_leave(tmp_path: Path) -> None:
    assert check(tmp_path, store_killed) == 3 * 3 * 2 + 3 * 2


# Planted faults


def planted(monkeypatch: pytest.MonkeyPatch, claim: Any) -> None:
    monkeypatch.setattr(ReservationBoundary, "_claim", claim)


def granted(self: ReservationBoundary, invocation_id: str, transmission_id: str) -> Grant:
    outgoing = Outgoing(
        invocation_id=invocation_id,
        transmission_id=transmission_id,
        parts=PARTS,
        max_output_tokens=50,
    )
    return Grant(outgoing, self.send, lambda: True)


async def reserve(self: ReservationBoundary, invocation_id: str, transmission_id: str) -> None:
    await self._ask(
        "reserve",
        fencing_token=self.run.fencing_token,
        workflow_run_id=self.run.workflow_run_id,
        invocation_id=invocation_id,
        transmission_id=transmission_id,
        idempotency="none",
        estimated_prompt_tokens=24,
        max_output_tokens=50,
        lease_milliseconds=HOUR,
    )


def reserves_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reservation is taken for leave to send."""

    async def claim(self: ReservationBoundary, invocation_id: str, _: Any) -> Grant:
        transmission_id = self.transmission_id()
        await reserve(self, invocation_id, transmission_id)
        return granted(self, invocation_id, transmission_id)

    planted(monkeypatch, claim)


def goes_ahead_without_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the store does not answer, the request leaves all the same."""

    async def claim(self: ReservationBoundary, invocation_id: str, _: Any) -> Grant:
        transmission_id = self.transmission_id()
        await reserve(self, invocation_id, transmission_id)
        with suppress(EOFError, OSError):
            await self._ask(
                "transmit", fencing_token=self.run.fencing_token, transmission_id=transmission_id
            )
        return granted(self, invocation_id, transmission_id)

    planted(monkeypatch, claim)


def claims_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    """The request leaves first, and is claimed while it is under way."""
    claim = ReservationBoundary._claim

    async def early(self: ReservationBoundary, invocation_id: str, parts: Any) -> Grant:
        sent = granted(self, invocation_id, "t-early")
        answer = await self.send(sent.outgoing)
        grant = await claim(self, invocation_id, parts)
        grant.seen, grant.answer = "answered", answer
        return grant

    planted(monkeypatch, early)


def retries_under_one_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    """A retry uses the transmission that was claimed for the first attempt."""
    claims: dict[str, Grant] = {}
    claim = ReservationBoundary._claim

    async def once(self: ReservationBoundary, invocation_id: str, parts: Any) -> Grant:
        call = self.run.journey_id + invocation_id
        if call in claims:
            return Grant(claims[call].outgoing, self.send, lambda: True)
        claims[call] = await claim(self, invocation_id, parts)
        return claims[call]

    planted(monkeypatch, once)


@pytest.mark.parametrize(
    "plant",
    [
        reserves_alone,
        goes_ahead_without_an_answer,
        claims_afterwards,
        retries_under_one_claim,
    ],
)
def test_these_kills_find_planted_faults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plant: Callable[[pytest.MonkeyPatch], None]
) -> None:
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        check(tmp_path, store_killed)
