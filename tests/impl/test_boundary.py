"""What the reservation boundary sends, reports, retries and keeps back."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.impl.clients import HOUR, MINUTE, NOW, Client, begun, serving
from tests.impl.elsewhere import SCOPE, Hands, run
from tests.impl.provider import (
    BUSY,
    ESTIMATE,
    FINE,
    PARTS,
    PROVIDER,
    Recorder,
    Scene,
    Served,
    boundary,
    invoke,
    lifecycle,
    states,
)

from wayproof.impl.journey.boundary import (
    AmbiguousTransmissionError,
    InProcess,
    ProviderFailedError,
    QuarantinedError,
)
from wayproof.impl.journey.deadlines import Clocks, DeadlineReachedError
from wayproof.impl.journey.grants import (
    Answer,
    NotSentError,
    Outgoing,
    Send,
    TruncatedResponseError,
    UncorrelatedResponseError,
)
from wayproof.spec.journey.refusals import Refusal
from wayproof.spec.journey.vocabulary import Idempotency


@pytest.fixture
def scene(tmp_path: Path) -> Any:
    path = tmp_path / "store.db"
    with serving(path) as service:
        client = begun(service, max_provider_retry_attempts=2)
        yield client, Recorder(path), Served(client)


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
        await asyncio.sleep(0.5)
        return FINE

    provider.script = [slow]
    assert invoke(boundary(client, served, provider, lease_milliseconds=150)) == FINE
    assert 2 <= served.asked.count("renew_reservation") <= 10


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


# The page


def test_the_example_of_the_page_prints_what_the_page_says(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    client, _, _ = scene
    page = (Path(__file__).resolve().parents[2] / "docs/boundary.md").read_text(encoding="utf-8")
    program = page.partition("```python\n")[2].partition("```")[0]
    printed = page.partition("```text\n")[2].partition("```")[0]
    names: dict[str, Any] = {}
    exec(program, names)
    names["serve"](
        client.service, SCOPE, client.journey_id, client.runs[0], client.token, NOW + HOUR, Hands()
    )
    assert printed and capsys.readouterr().out == printed
