"""A provider that remembers what reached it, and a boundary that leads to it."""

import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from tests.impl.clients import HOUR, NOW, Client
from tests.impl.elsewhere import SCOPE, Hands

from wayproof.impl.journey.boundary import Commands, OwnedRun, ReservationBoundary
from wayproof.impl.journey.deadlines import Clocks, derive
from wayproof.impl.journey.estimates import Provider
from wayproof.impl.journey.grants import Answer, Outgoing

PROVIDER = Provider(byte_level=True, tokens_per_request=3, tokens_per_part=4, max_output_tokens=50)
PARTS = ("Be brief.", "Grüße!")
ESTIMATE = 3 + 4 + 9 + 4 + 8

FINE = Answer(output="fine", usage=20)
BUSY = Answer(failed=True, usage=0, may_retry=True)


@dataclass(frozen=True)
class Arrival:
    """One request that reached the provider, and how its reservation stood in the store then."""

    transmission_id: str
    invocation_id: str
    state: str | None


def state_in(path: Path, transmission_id: str) -> str | None:
    """How a transmission stands in a store file, read by nobody else's connection."""
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT state FROM reservations WHERE transmission_id = ?"
        found = connection.execute(query, (transmission_id,)).fetchone()
    return found[0] if found else None


@dataclass
class Recorder:
    """The provider: it answers by a script, and then that all is fine."""

    path: Path
    script: list[Answer | BaseException | Callable[[], Awaitable[Answer]]] = field(
        default_factory=list
    )
    arrivals: list[Arrival] = field(default_factory=list)
    requests: list[Outgoing] = field(default_factory=list)

    async def __call__(self, outgoing: Outgoing) -> Answer:
        self.requests.append(outgoing)
        state = state_in(self.path, outgoing.transmission_id)
        self.arrivals.append(Arrival(outgoing.transmission_id, outgoing.invocation_id, state))
        says = self.script.pop(0) if self.script else FINE
        if isinstance(says, BaseException):
            raise says
        return says if isinstance(says, Answer) else await says()


class Served:
    """A service as the boundary wants it; ``service`` may be served by another process."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.asked: list[str] = []

    async def call(self, operation: str, arguments: Mapping[str, Any], *, now: int) -> Any:
        self.asked.append(operation)
        return self.client.service.call(operation, arguments, now=now)

    async def checkpoint(self, *, now: int) -> None:
        self.asked.append("checkpoint")
        self.client.service.sweep_one(SCOPE, self.client.journey_id, now=now)


def boundary(
    client: Client,
    commands: Commands,
    send: Callable[[Outgoing], Awaitable[Answer]],
    **changed: Any,
) -> ReservationBoundary:
    """The boundary of a client's first run, at clocks that stand still; ids are t-1, t-2, ..."""
    clocks = changed.pop("clocks", Clocks(utc=Hands(), monotonic=Hands(0)))
    numbers = count(1)
    given = {
        "provider": PROVIDER,
        "lease_milliseconds": HOUR,
        "transmission_id": lambda: f"t-{next(numbers)}",
        **changed,
    }
    return ReservationBoundary(
        commands=commands,
        send=send,
        run=OwnedRun(
            access=SCOPE,
            journey_id=client.journey_id,
            workflow_run_id=client.runs[0],
            fencing_token=client.token,
        ),
        deadline=derive(NOW + HOUR, clocks),
        clocks=clocks,
        **given,
    )
