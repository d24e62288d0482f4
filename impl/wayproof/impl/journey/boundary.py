"""The reservation boundary: no request leaves for a provider without its own durable claim.

For each physical transmission, in this order: form a conservative amount, reserve it, make the
transmission durable, send, report what became of it. Every retry begins anew, with a transmission
id and a reservation of its own; nothing below may retry, see ``grants.py`` (clauses
``transmission-01`` and ``transmission-02``).

A process may die at any of these steps. Before the commit that makes the transmission durable
nothing has left, and the reservation is released; after it the reservation is charged unless a
report says better. So the boundary keeps nothing of its own, and needs no clean-up.

A reference, for adapters to be built by or compared with: it knows no provider, and like the store
it is a non-production seam.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol
from uuid import uuid4

from wayproof.impl.journey.deadlines import (
    Clocks,
    DeadlineReachedError,
    ProcessDeadline,
    stop_at_deadline,
)
from wayproof.impl.journey.estimates import Provider, prompt_bound
from wayproof.impl.journey.grants import (
    Answer,
    Grant,
    NotSentError,
    Outgoing,
    Send,
    UnclaimedTransmissionError,
)
from wayproof.impl.journey.replies import Refused, Reply
from wayproof.impl.journey.service import JourneyService
from wayproof.spec.journey.encoding import encode
from wayproof.spec.journey.records import ExecutionAccess
from wayproof.spec.journey.refusals import Refusal
from wayproof.spec.journey.vocabulary import Idempotency, LifecycleState

Layer = Callable[[Outgoing, Send], Awaitable[Answer]]
"""What lies between the boundary and the point at which a request leaves, such as the library of a
provider. It gets a ``Send`` that works once."""


class AmbiguousTransmissionError(Exception):
    """Nobody can know whether the provider executed the request; that was reported."""


class QuarantinedError(Exception):
    """The provider answered, and the journey does not go on: what it put out is kept from it."""


class ProviderFailedError(Exception):
    """The provider answered with an error, and no further attempt is allowed here."""


class Commands(Protocol):
    """The store as the boundary needs it: a ``JourneyService``, here or in another process."""

    async def call(self, operation: str, arguments: Mapping[str, Any], *, now: int) -> Reply:
        """Serve one request of the catalogue. An exception says nothing about its commit."""

    async def checkpoint(self, *, now: int) -> None:
        """Let what is due in the boundary's journey take effect at that moment."""


class InProcess:
    """A service of this process. Its commits block the event loop for as long as they take."""

    def __init__(self, service: JourneyService, access: ExecutionAccess, journey_id: str) -> None:
        self._service = service
        self._access = access
        self._journey_id = journey_id

    async def call(self, operation: str, arguments: Mapping[str, Any], *, now: int) -> Reply:
        """See :meth:`Commands.call`."""
        return self._service.call(operation, arguments, now=now)

    async def checkpoint(self, *, now: int) -> None:
        """See :meth:`Commands.checkpoint`."""
        self._service.sweep_one(self._access, self._journey_id, now=now)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnedRun:
    """The workflow run on whose behalf requests are sent, and the owner that sends them."""

    access: ExecutionAccess
    journey_id: str
    workflow_run_id: str
    fencing_token: int


async def direct(outgoing: Outgoing, send: Send) -> Answer:
    """No layer at all."""
    return await send(outgoing)


def _unique() -> str:
    return f"t-{uuid4().hex}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationBoundary:
    """The one way from a workflow run to its provider.

    ``send`` is reached through a :class:`Grant` and no other way, and a grant is made once the
    store has answered that the transmission is durable.
    """

    commands: Commands
    send: Send = field(repr=False)
    provider: Provider
    run: OwnedRun
    deadline: ProcessDeadline
    clocks: Clocks
    layer: Layer = direct
    lease_milliseconds: int = 60_000
    """How long a reservation holds when its owner dies; renewed while its call is in flight."""
    transmission_id: Callable[[], str] = _unique

    async def invoke(
        self,
        invocation_id: str,
        parts: tuple[str, ...],
        *,
        attempts: int = 1,
        timeout_seconds: float | None = None,
    ) -> Answer:
        """Call the provider once, by as many transmissions as it takes and ``attempts`` allows.

        Args:
            invocation_id: the logical call; unique within its journey.
            parts: every text that is sent, as it is sent.
            attempts: the local limit; each retry is counted by the journey too.
            timeout_seconds: of one transmission. The journey's deadline ends it if it comes first.

        Raises:
            Refusal: of ``reserve`` or ``transmit``; nothing left for it. Also of a report: its
                answer is kept back, since it is not durable what it used.
            AmbiguousTransmissionError: the request may have been executed; the journey failed,
                or goes on if the provider's idempotency is authoritative.
            NotSentError, ProviderFailedError: the last attempt came to nothing.
            UnclaimedTransmissionError: something below tried to retry; it sent nothing.
            QuarantinedError, DeadlineReachedError: the journey does not go on.
        """
        for left in reversed(range(attempts)):
            try:
                answer = await self._attempt(invocation_id, parts, timeout_seconds)
            except NotSentError:
                if not left:
                    raise
                continue
            except AmbiguousTransmissionError:
                if not left or self.provider.idempotency is not Idempotency.AUTHORITATIVE:
                    raise
                continue
            if not answer.failed:
                return answer
            if not (left and answer.may_retry):
                raise ProviderFailedError("the provider answered with an error")
        raise ValueError("no attempt is allowed")

    async def _attempt(
        self, invocation_id: str, parts: tuple[str, ...], timeout_seconds: float | None
    ) -> Answer:
        """One transmission, from its reservation to its report."""
        grant = await self._claim(invocation_id, parts)
        failure = await self._failure_of(grant, timeout_seconds)
        stopped = isinstance(failure, DeadlineReachedError) or not isinstance(
            failure, Exception | None
        )
        try:
            await self._report(grant)
        except Exception as error:
            if failure is not None and stopped:
                raise failure from error
            raise
        if failure is not None and stopped:
            raise failure
        if grant.refusals:
            raise UnclaimedTransmissionError("a layer below the boundary tried to send again")
        if grant.seen == "in_flight":
            raise AmbiguousTransmissionError(grant.cause.value) from failure
        if grant.answer is None:
            raise NotSentError("nothing left") from failure
        if not await self._goes_on():
            raise QuarantinedError("the journey does not go on")
        return grant.answer

    async def _claim(self, invocation_id: str, parts: tuple[str, ...]) -> Grant:
        """Reserve one transmission and make it durable; only then is there a grant."""
        transmission_id, maximum = self.transmission_id(), self.provider.max_output_tokens
        covered_until = self.clocks.monotonic() + self.lease_milliseconds
        await self._ask(
            "reserve",
            fencing_token=self.run.fencing_token,
            workflow_run_id=self.run.workflow_run_id,
            invocation_id=invocation_id,
            transmission_id=transmission_id,
            idempotency=self.provider.idempotency.value,
            estimated_prompt_tokens=prompt_bound(parts, self.provider),
            max_output_tokens=maximum,
            lease_milliseconds=self.lease_milliseconds,
        )
        try:
            await self._ask(
                "transmit", fencing_token=self.run.fencing_token, transmission_id=transmission_id
            )
        except BaseException:
            # Refused, or its answer was lost: it is never asked again, and nothing has left.
            with suppress(Exception):
                await self._report_unsent(transmission_id)
            raise
        if maximum is None:
            raise AssertionError("nothing is reserved without a maximum output")

        def still_covered() -> bool:
            now = self.clocks.monotonic()
            return now < covered_until and not self.deadline.reached(self.clocks)

        outgoing = Outgoing(
            invocation_id=invocation_id,
            transmission_id=transmission_id,
            parts=parts,
            max_output_tokens=maximum,
        )
        return Grant(outgoing, self.send, still_covered)

    async def _failure_of(
        self, grant: Grant, timeout_seconds: float | None
    ) -> BaseException | None:
        """Let the request leave, and wait for what comes back; what the layers return or raise
        says less than what the grant has seen.
        """

        async def through_layers() -> None:
            async with asyncio.timeout(timeout_seconds):
                await self.layer(grant.outgoing, grant)

        async def make_durable(now: int) -> None:
            await self.commands.checkpoint(now=now)

        renewing = asyncio.create_task(self._renew(grant.outgoing.transmission_id))
        try:
            await stop_at_deadline(through_layers(), self.deadline, self.clocks, make_durable)
        except BaseException as failure:  # whatever it is, it is reported first
            return failure
        finally:
            grant.close()
            renewing.cancel()
        return None

    async def _report(self, grant: Grant) -> None:
        """Say what became of a transmission, by what left and what came back."""
        transmission_id = grant.outgoing.transmission_id
        if grant.answer is not None:
            await self._ask(
                "report_response", transmission_id=transmission_id, usage=grant.answer.usage
            )
        elif grant.seen == "in_flight":
            await self._ask(
                "report_ambiguity", transmission_id=transmission_id, cause=grant.cause.value
            )
        else:
            await self._report_unsent(transmission_id)

    async def _report_unsent(self, transmission_id: str) -> None:
        token = self.run.fencing_token
        await self._ask("report_unsent", fencing_token=token, transmission_id=transmission_id)

    async def _renew(self, transmission_id: str) -> None:
        """Extend the reservation for as long as its call is in flight."""
        with suppress(Exception):  # without a renewal it lapses, and is charged
            while True:
                await asyncio.sleep(self.lease_milliseconds / 3000)
                await self._ask(
                    "renew_reservation",
                    fencing_token=self.run.fencing_token,
                    transmission_id=transmission_id,
                    lease_milliseconds=self.lease_milliseconds,
                )

    async def _goes_on(self) -> bool:
        state = (await self._ask("snapshot"))["lifecycle_state"]
        return state == LifecycleState.RUNNING and not self.deadline.reached(self.clocks)

    async def _ask(self, operation: str, **arguments: Any) -> Any:
        named = {"access": encode(self.run.access), "journey_id": self.run.journey_id, **arguments}
        now = self.deadline.moment(self.clocks)
        reply = await self.commands.call(operation, named, now=now)
        if isinstance(reply, Refused):
            raise Refusal(reply.code, reply.detail)
        return reply.value
