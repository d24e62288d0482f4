"""The innermost point at which a request leaves, and the grant that it costs.

A :class:`Grant` stands where the provider is called. It lets one request leave, the one that was
reserved for and durably transmitted, and never another: whoever asks again, be it a retry layer of
a provider's library above this point, is refused and sends nothing (clause ``transmission-02``,
ruling 67). What became of the request is told by what the grant saw, not by what came back through
the layers above it.

One thing cannot be seen from here: a ``send`` that sends twice by itself. It has to make one
attempt for each call; ``transmission_id`` goes with the request, so that the receiving side, or a
proxy in front of it, can count.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

from wayproof.spec.journey.vocabulary import AmbiguityCause


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """One physical request, exactly as its reservation was made for it."""

    invocation_id: str
    """The key under which a provider with an idempotency contract executes at most once."""
    transmission_id: str
    parts: tuple[str, ...]
    max_output_tokens: int
    """The maximum that was reserved, and that the provider has to be asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An authoritative terminal response of the provider, an error response included."""

    output: Any = None
    """Absent in an error response."""
    usage: Any = None
    """The number of tokens as the provider said it, whatever that was; None if it said nothing,
    which is no zero."""
    failed: bool = False
    """Whether it is an error response."""
    may_retry: bool = False
    """Whether it permits another transmission; it says nothing about what this one used."""


Send = Callable[[Outgoing], Awaitable[Answer]]
"""Lets one request physically leave, once, and waits for its response.

It raises :class:`NotSentError` if it can prove that nothing left; anything else that it raises
leaves open whether the provider has executed the request."""


class NotSentError(Exception):
    """Nothing left the process: a proof, not a guess from an error of the connection."""


class TruncatedResponseError(Exception):
    """The response broke off before its end."""


class UncorrelatedResponseError(Exception):
    """A response came that cannot be said to answer this transmission."""


class UnclaimedTransmissionError(RuntimeError):
    """Something asked to send without a grant of its own, and was refused: a retry layer beneath
    the reservation boundary, another request than the granted one, or one that comes too late."""


Seen = Literal["untouched", "not_sent", "in_flight", "answered"]
"""What a grant knows of its request. ``untouched``: nobody asked to send it; ``in_flight``: it may
have left, and no response was seen."""


class Grant:
    """Lets one request leave, once, for as long as it is open. Made by the boundary alone."""

    def __init__(self, outgoing: Outgoing, send: Send, still_covered: Callable[[], bool]) -> None:
        self.outgoing = outgoing
        self._send = send
        self._still_covered = still_covered
        self._tickets = [object()]
        self._closed = False
        self.seen: Seen = "untouched"
        self.answer: Answer | None = None
        self.refusals = 0
        """How often something asked to send that had no leave to."""
        self.cause = AmbiguityCause.CONNECTION_RESET
        """Why nobody can know, while ``seen`` is ``in_flight``."""

    async def __call__(self, outgoing: Outgoing) -> Answer:
        """Send the request.

        Raises:
            UnclaimedTransmissionError: if it was sent before, is not the granted one, or the
                grant was closed; nothing leaves.
            NotSentError: if its reservation no longer covers it, or ``send`` proves that nothing
                left.
        """
        if outgoing is not self.outgoing:
            self.refusals += 1
            raise UnclaimedTransmissionError("this is not the request that was reserved for")
        try:
            self._tickets.pop()  # one of several threads gets it
        except IndexError:
            self.refusals += 1
            raise UnclaimedTransmissionError("the grant is spent, or closed") from None
        if not self._still_covered():
            self.seen = "not_sent"
            raise NotSentError("the reservation no longer covers it")
        self.seen = "in_flight"
        try:
            answer = await self._send(outgoing)
        except NotSentError:
            if not self._closed:
                self.seen = "not_sent"
            raise
        except BaseException as error:
            self.cause = _cause_of(error)
            raise
        if self._closed:
            raise UnclaimedTransmissionError("nobody waited for the response")
        self.seen, self.answer = "answered", answer
        return answer

    def close(self) -> None:
        """Let nothing leave any more, whoever still holds the grant, and believe no response that
        comes later: what is known now is what is reported."""
        self._closed = True
        self._tickets.clear()


def _cause_of(error: BaseException) -> AmbiguityCause:
    if isinstance(error, TruncatedResponseError):
        return AmbiguityCause.TRUNCATED_RESPONSE
    if isinstance(error, UncorrelatedResponseError):
        return AmbiguityCause.UNCORRELATED_RESPONSE
    if isinstance(error, ConnectionError):
        return AmbiguityCause.CONNECTION_RESET
    return AmbiguityCause.CLIENT_TIMEOUT  # whatever else ended it: nobody waited for the response
