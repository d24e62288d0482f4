"""What the reservation boundary sends, reports, retries and keeps back."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.impl.clients import HOUR, MINUTE, NOW, Client, begun, serving
from tests.impl.elsewhere import SCOPE, Hands, run
from tests.impl.provider import BUSY, ESTIMATE, FINE, PARTS, PROVIDER, Recorder, Served, boundary

from wayproof.impl.journey.boundary import (
    AmbiguousTransmissionError,
    InProcess,
    ProviderFailedError,
    QuarantinedError,
    ReservationBoundary,
)
from wayproof.impl.journey.deadlines import Clocks, DeadlineReachedError
from wayproof.impl.journey.grants import (
    Answer,
    Grant,
    NotSentError,
    Outgoing,
    Send,
    TruncatedResponseError,
    UnclaimedTransmissionError,
    UncorrelatedResponseError,
)
from wayproof.spec.journey.refusals import Refusal
from wayproof.spec.journey.vocabulary import Idempotency

Scene = tuple[Client, Recorder, Served]


@pytest.fixture
def scene(tmp_path: Path) -> Any:
    path = tmp_path / "store.db"
    with serving(path) as service:
        client = begun(service, max_provider_retry_attempts=2)
        yield client, Recorder(path), Served(client)


def invoke(made: ReservationBoundary, **options: Any) -> Answer:
    return run(made.invoke("call", PARTS, **options))


def states(client: Client) -> list[tuple[str, str, int | None]]:
    listed = client.ask("list_reservations", after=0, limit=1000)["reservations"]
    return [(each["transmission_id"], each["state"], each["actual_tokens"]) for each in listed]


def lifecycle(client: Client) -> tuple[str, str | None]:
    snapshot = client.ask("snapshot")
    return snapshot["lifecycle_state"], snapshot["terminal_reason"]


def test_a_request_leaves_once_it_is_durably_transmitted(scene: Scene) -> None:
    client, provider, served = scene
    assert invoke(boundary(client, served, provider)) == FINE
    assert [arrival.state for arrival in provider.arrivals] == ["transmitted"]
    assert served.asked == ["reserve", "transmit", "report_response", "snapshot"]
    assert states(client) == [("t-1", "reconciled", 20)]
    (reserved,) = client.ask("list_reservations", after=0, limit=1)["reservations"]
    assert reserved["estimated_prompt_tokens"] == ESTIMATE
    assert reserved["reserved_tokens"] == ESTIMATE + 50


def test_what_leaves_is_what_was_reserved_for(scene: Scene) -> None:
    client, provider, served = scene
    invoke(boundary(client, served, provider))
    assert provider.requests == [
        Outgoing(invocation_id="call", transmission_id="t-1", parts=PARTS, max_output_tokens=50)
    ]


@pytest.mark.parametrize("wrong", [{"byte_level": False}, {"max_output_tokens": None}])
def test_without_a_conservative_amount_the_journey_fails_and_nothing_leaves(
    scene: Scene, wrong: dict[str, Any]
) -> None:
    client, provider, served = scene
    with pytest.raises(Refusal) as refused:
        invoke(boundary(client, served, provider, provider=replace(PROVIDER, **wrong)))
    assert refused.value.code == "token_reservation_unavailable"
    assert not provider.arrivals
    assert lifecycle(client) == ("failed", "token_reservation_unavailable")


def test_what_is_over_the_ceiling_does_not_leave(scene: Scene) -> None:
    client, provider, served = scene
    enormous = replace(PROVIDER, max_output_tokens=1_000_000)
    with pytest.raises(Refusal) as refused:
        invoke(boundary(client, served, provider, provider=enormous))
    assert refused.value.code == "token_budget_exhausted"
    assert not provider.arrivals


# Retries


def test_each_retry_claims_a_reservation_of_its_own(scene: Scene) -> None:
    client, provider, served = scene
    provider.script = [BUSY, NotSentError("refused to connect")]
    assert invoke(boundary(client, served, provider), attempts=3) == FINE
    assert states(client) == [
        ("t-1", "reconciled", 0),
        ("t-2", "reconciled", 0),
        ("t-3", "reconciled", 20),
    ]
    assert [arrival.state for arrival in provider.arrivals] == ["transmitted"] * 3
    counters = client.ask("snapshot")["counters"]
    assert counters["provider_retry_attempts"]["claimed"] == 2


def test_the_journeys_counter_stops_retries_that_the_local_limit_allows(scene: Scene) -> None:
    client, provider, served = scene
    provider.script = [BUSY] * 9
    with pytest.raises(Refusal) as refused:
        invoke(boundary(client, served, provider), attempts=9)
    assert refused.value.code == "provider_retry_limit_exhausted"
    assert len(provider.arrivals) == 3


@pytest.mark.parametrize(
    ("says", "error"),
    [
        (BUSY, ProviderFailedError),
        (replace(BUSY, may_retry=False), ProviderFailedError),
        (NotSentError("down"), NotSentError),
    ],
)
def test_the_local_limit_stops_retries_that_the_journey_allows(
    scene: Scene, says: Answer | Exception, error: type[Exception]
) -> None:
    client, provider, served = scene
    provider.script = [says] * 9
    with pytest.raises(error):
        invoke(boundary(client, served, provider), attempts=2)
    allowed = 1 if isinstance(says, Answer) and not says.may_retry else 2
    assert len(provider.arrivals) == allowed
    assert lifecycle(client) == ("running", None)


def test_no_attempt_is_no_call(scene: Scene) -> None:
    client, provider, served = scene
    with pytest.raises(ValueError, match="no attempt"):
        invoke(boundary(client, served, provider), attempts=0)
    assert not served.asked


# Usage


@pytest.mark.parametrize("usage", [None, "20", 20.0, -1, True])
def test_usage_that_is_no_number_is_charged_and_never_taken_for_zero(
    scene: Scene, usage: Any
) -> None:
    client, provider, served = scene
    provider.script = [replace(FINE, usage=usage)]
    assert invoke(boundary(client, served, provider)).output == "fine"
    assert states(client) == [("t-1", "expired_conservatively", None)]
    assert client.ask("snapshot")["tokens"]["committed_token_exposure"] == ESTIMATE + 50


def test_an_error_response_without_usage_permits_a_retry_and_is_charged(scene: Scene) -> None:
    client, provider, served = scene
    provider.script = [replace(BUSY, usage=None)]
    assert invoke(boundary(client, served, provider), attempts=2) == FINE
    assert [state for _, state, _ in states(client)] == ["expired_conservatively", "reconciled"]


# Ambiguity


async def for_ever() -> Answer:
    await asyncio.sleep(60)
    raise AssertionError("nobody waits that long")


@pytest.mark.parametrize(
    ("says", "cause"),
    [
        (ConnectionResetError(), "connection_reset"),
        (TruncatedResponseError(), "truncated_response"),
        (UncorrelatedResponseError(), "uncorrelated_response"),
        (TimeoutError(), "client_timeout"),
        (for_ever, "client_timeout"),
    ],
)
def test_what_nobody_can_know_is_never_sent_again(scene: Scene, says: Any, cause: str) -> None:
    client, provider, served = scene
    provider.script = [says]
    with pytest.raises(AmbiguousTransmissionError, match=cause):
        invoke(boundary(client, served, provider), attempts=5, timeout_seconds=0.05)
    assert len(provider.arrivals) == 1
    assert states(client) == [("t-1", "expired_conservatively", None)]
    assert lifecycle(client) == ("failed", "provider_transmission_ambiguous")


def test_an_idempotent_provider_is_asked_again_under_the_same_invocation(scene: Scene) -> None:
    client, provider, served = scene
    provider.script = [ConnectionResetError()]
    idempotent = replace(PROVIDER, idempotency=Idempotency.AUTHORITATIVE)
    assert invoke(boundary(client, served, provider, provider=idempotent), attempts=2) == FINE
    assert {arrival.invocation_id for arrival in provider.arrivals} == {"call"}
    assert lifecycle(client) == ("running", None)
    assert client.ask("snapshot")["tokens"]["committed_token_exposure"] == 20


# Lost answers of the store


class Losing(Served):
    """A store whose answers get lost, after or before what they answer was committed."""

    def __init__(self, client: Client, operation: str, *, committed: bool) -> None:
        super().__init__(client)
        self.operation, self.committed = operation, committed

    async def call(self, operation: str, arguments: Any, *, now: int) -> Any:
        if operation == self.operation and not self.committed:
            raise OSError("lost")
        reply = await super().call(operation, arguments, now=now)
        if operation == self.operation:
            raise OSError("lost")
        return reply


@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize("operation", ["reserve", "transmit"])
def test_nothing_leaves_without_a_granted_answer(
    scene: Scene, operation: str, committed: bool
) -> None:
    client, provider, _ = scene
    losing = Losing(client, operation, committed=committed)
    with pytest.raises(OSError, match="lost"):
        invoke(boundary(client, losing, provider), attempts=5)
    assert not provider.arrivals
    if operation == "transmit":
        left = ("reconciled", 0) if committed else ("released_untransmitted", None)
        assert states(client) == [("t-1", *left)]


@pytest.mark.parametrize("committed", [True, False])
def test_an_output_whose_usage_is_not_durable_is_kept_back(scene: Scene, committed: bool) -> None:
    client, provider, _ = scene
    losing = Losing(client, "report_response", committed=committed)
    with pytest.raises(OSError, match="lost"):
        invoke(boundary(client, losing, provider), attempts=5)
    assert len(provider.arrivals) == 1


def test_a_refused_transmission_is_released_and_does_not_leave(scene: Scene) -> None:
    client, provider, _ = scene

    class Cancelled(Served):
        async def call(self, operation: str, arguments: Any, *, now: int) -> Any:
            if operation == "transmit":
                client.ask("cancel", reason_code="caller_requested")
            return await super().call(operation, arguments, now=now)

    with pytest.raises(Refusal) as refused:
        invoke(boundary(client, Cancelled(client), provider))
    assert refused.value.code == "journey_cancelling"
    assert not provider.arrivals
    assert states(client) == [("t-1", "released_untransmitted", None)]


# A journey that does not go on


def test_an_answer_that_comes_after_a_cancellation_is_quarantined(scene: Scene) -> None:
    client, provider, served = scene

    async def late() -> Answer:
        client.ask("cancel", reason_code="caller_requested")
        return FINE

    provider.script = [late]
    with pytest.raises(QuarantinedError):
        invoke(boundary(client, served, provider))
    assert states(client) == [("t-1", "reconciled", 20)]


def test_an_overshoot_is_recorded_and_its_output_quarantined(scene: Scene) -> None:
    client, provider, served = scene
    provider.script = [replace(FINE, usage=ESTIMATE + 51)]
    with pytest.raises(QuarantinedError):
        invoke(boundary(client, served, provider))
    assert lifecycle(client) == ("budget_exceeded", "token_budget_exhausted")


@pytest.mark.parametrize("stubborn", [True, False])
def test_a_call_in_flight_at_a_monotonic_expiry_is_stopped(scene: Scene, stubborn: bool) -> None:
    client, provider, _ = scene
    utc, monotonic = Hands(), Hands(0)
    commands = InProcess(client.service, SCOPE, client.journey_id)

    async def slow() -> Answer:
        utc.now -= MINUTE  # set back
        monotonic.now += HOUR
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            if not stubborn:
                raise
        return FINE

    provider.script = [slow]
    clocks = Clocks(utc=utc, monotonic=monotonic)
    with pytest.raises(DeadlineReachedError):
        invoke(boundary(client, commands, provider, clocks=clocks), attempts=5)
    assert lifecycle(client) == ("timed_out", "deadline_expired")
    left = ("reconciled", 20) if stubborn else ("expired_conservatively", None)
    assert states(client) == [("t-1", *left)]


def test_a_task_that_is_cancelled_reports_before_it_goes(scene: Scene) -> None:
    client, provider, served = scene
    provider.script = [for_ever]

    async def work() -> None:
        task = asyncio.create_task(boundary(client, served, provider).invoke("call", PARTS))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(work())
    assert states(client) == [("t-1", "expired_conservatively", None)]


def test_a_lease_is_renewed_while_its_call_is_in_flight(scene: Scene) -> None:
    client, provider, served = scene

    async def slow() -> Answer:
        await asyncio.sleep(0.2)
        return FINE

    provider.script = [slow]
    assert invoke(boundary(client, served, provider, lease_milliseconds=150)) == FINE
    assert 2 <= served.asked.count("renew_reservation") <= 5


def test_a_layer_that_waits_longer_than_its_lease_sends_nothing(scene: Scene) -> None:
    client, provider, served = scene
    clocks = Clocks(utc=Hands(), monotonic=(hands := Hands(0)))

    async def queueing(outgoing: Outgoing, send: Send) -> Answer:
        hands.now += MINUTE
        return await send(outgoing)

    made = boundary(
        client, served, provider, clocks=clocks, layer=queueing, lease_milliseconds=MINUTE
    )
    with pytest.raises(NotSentError):
        invoke(made)
    assert not provider.arrivals
    assert states(client) == [("t-1", "reconciled", 0)]


# Layers beneath the boundary


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


def test_the_deadline_keeps_back_what_is_granted(scene: Scene) -> None:
    client, provider, served = scene
    utc = Hands()
    clocks = Clocks(utc=utc, monotonic=Hands(0))

    async def late(outgoing: Outgoing, send: Send) -> Answer:
        utc.now = NOW + HOUR
        return await send(outgoing)

    with pytest.raises(DeadlineReachedError):
        invoke(boundary(client, served, provider, clocks=clocks, layer=late))
    assert not provider.arrivals
    assert lifecycle(client) == ("timed_out", "deadline_expired")
