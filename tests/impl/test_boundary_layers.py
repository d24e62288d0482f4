"""Layers beneath the reservation boundary: they cannot send again, and it is told if they try."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.impl.clients import begun, serving
from tests.impl.elsewhere import run
from tests.impl.provider import (
    BUSY,
    FINE,
    PARTS,
    PROVIDER,
    Recorder,
    Scene,
    Served,
    boundary,
    invoke,
    states,
)

from wayproof.impl.journey.boundary import AmbiguousTransmissionError
from wayproof.impl.journey.grants import (
    Answer,
    Grant,
    NotSentError,
    Outgoing,
    Send,
    UnclaimedTransmissionError,
)
from wayproof.spec.journey.vocabulary import Idempotency


@pytest.fixture
def scene(tmp_path: Path) -> Any:
    path = tmp_path / "store.db"
    with serving(path) as service:
        client = begun(service, max_provider_retry_attempts=2)
        yield client, Recorder(path), Served(client)


async def sends_twice(outgoing: Outgoing, send: Send) -> Answer:
    """A retry layer of a provider's library, as it may lie beneath a naive hook."""
    answer = await send(outgoing)
    return await send(outgoing) if answer.failed else answer


async def retries_and_tells_nobody(outgoing: Outgoing, send: Send) -> Answer:
    first = await send(outgoing)
    try:
        return await send(outgoing)
    except UnclaimedTransmissionError:
        return first


async def retries_after_a_reset(outgoing: Outgoing, send: Send) -> Answer:
    try:
        return await send(outgoing)
    except ConnectionResetError:
        return await send(outgoing)


async def races(outgoing: Outgoing, send: Send) -> Answer:
    return (await asyncio.gather(send(outgoing), send(outgoing)))[0]


async def enlarges(outgoing: Outgoing, send: Send) -> Answer:
    return await send(replace(outgoing, parts=(*outgoing.parts, "and a thousand words more")))


class Remembers:
    """A layer that keeps a grant, and sends by it when everything is over."""

    send: Send | None = None

    async def __call__(self, outgoing: Outgoing, send: Send) -> Answer:
        self.send, self.outgoing = send, outgoing
        return FINE

    async def later(self) -> None:
        assert self.send is not None
        with pytest.raises(UnclaimedTransmissionError):
            await self.send(self.outgoing)


LAYERS: list[tuple[Any, Any, int]] = [
    (sends_twice, BUSY, 1),
    (retries_and_tells_nobody, FINE, 1),
    (retries_after_a_reset, ConnectionResetError(), 1),
    (races, FINE, 1),
    (enlarges, FINE, 0),
]


def sends_nothing_unclaimed(
    scene: Scene, layer: Callable[[Outgoing, Send], Awaitable[Answer]], says: Any, leave: int
) -> None:
    client, provider, served = scene
    provider.script = [says]
    with pytest.raises(UnclaimedTransmissionError):
        invoke(boundary(client, served, provider, layer=layer), attempts=3)
    assert len(provider.arrivals) == leave
    assert [arrival.state for arrival in provider.arrivals] == ["transmitted"] * leave
    assert len(states(client)) == 1


@pytest.mark.parametrize(("layer", "says", "leave"), LAYERS)
def test_a_layer_beneath_cannot_send_again_and_is_told(
    scene: Scene, layer: Any, says: Any, leave: int
) -> None:
    sends_nothing_unclaimed(scene, layer, says, leave)


def test_a_grant_that_is_kept_lets_nothing_leave_later(scene: Scene) -> None:
    client, provider, served = scene
    layer = Remembers()
    with pytest.raises(NotSentError):  # an answer that it made up by itself counts for nothing
        invoke(boundary(client, served, provider, layer=layer))
    run(layer.later())
    assert not provider.arrivals
    assert states(client) == [("t-1", "reconciled", 0)]


def test_a_response_that_comes_after_the_report_is_not_believed(scene: Scene) -> None:
    client, provider, served = scene
    sending: list[asyncio.Task[Answer]] = []

    async def slow() -> Answer:
        await asyncio.sleep(0.05)
        return FINE

    async def leaves_early(outgoing: Outgoing, send: Send) -> Answer:
        sending.append(asyncio.ensure_future(send(outgoing)))
        await asyncio.sleep(0.01)
        return FINE

    async def work() -> None:
        idempotent = replace(PROVIDER, idempotency=Idempotency.AUTHORITATIVE)
        made = boundary(client, served, provider, layer=leaves_early, provider=idempotent)
        with pytest.raises(AmbiguousTransmissionError):
            await made.invoke("call", PARTS)
        with pytest.raises(UnclaimedTransmissionError):
            await sending[0]

    provider.script = [slow]
    run(work())
    assert states(client) == [("t-1", "expired_conservatively", None)]


def test_a_layer_that_breaks_before_it_sends_is_told_with_its_error(scene: Scene) -> None:
    client, provider, served = scene

    async def breaks(outgoing: Outgoing, send: Send) -> Answer:
        raise KeyError("no such model")

    with pytest.raises(NotSentError) as raised:
        invoke(boundary(client, served, provider, layer=breaks))
    assert isinstance(raised.value.__cause__, KeyError)
    assert states(client) == [("t-1", "reconciled", 0)]


def sends_always(monkeypatch: pytest.MonkeyPatch) -> None:
    """A grant that is never spent."""

    async def call(self: Grant, outgoing: Outgoing) -> Answer:
        self.seen = "in_flight"
        self.answer = await self._send(outgoing)
        self.seen = "answered"
        return self.answer

    monkeypatch.setattr(Grant, "__call__", call)


@pytest.mark.parametrize(("layer", "says", "leave"), LAYERS)
def test_a_grant_that_is_never_spent_is_noticed(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, layer: Any, says: Any, leave: int
) -> None:
    sends_always(monkeypatch)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        sends_nothing_unclaimed(scene, layer, says, leave)
