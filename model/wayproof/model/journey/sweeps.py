"""What falls due by time, one internal step each, and the sweep that takes them in order."""

from wayproof.model.journey.accounting import settle_if_final
from wayproof.model.journey.lifecycle import close_accounting, cut_off, end_cancelled, expire
from wayproof.model.journey.reports import charge_ambiguous
from wayproof.model.journey.state import State, Terms, Transmission
from wayproof.model.journey.totals import OPEN, with_transmissions
from wayproof.model.journey.transition import realises
from wayproof.spec.journey.vocabulary import (
    LifecycleState,
    ReservationState,
    WorkflowRunState,
)

Step = tuple[State, tuple[str, ...]]
"""The state after internal steps, and their labels in order."""


@realises({"cancellation.quiet": "cancel-11 cancel-14 cancel-16 lifecycle-09 reason-03"})
def quiet(terms: Terms, state: State, now: int) -> State | None:
    """A cancelling journey without an active run is cancelled; None if it is not due."""
    if state.lifecycle is LifecycleState.CANCELLING and not any(
        run.state is WorkflowRunState.ACTIVE for run in state.runs
    ):
        return end_cancelled(terms, state, now)
    return None


@realises(
    {
        "lease.released": "reservation-15",
        "lease.charged": "reservation-07 group-09 group-03 usage-02 ambiguity-09",
        "lease.ambiguous": "ambiguity-08 reservation-07",
    }
)
def lapse(terms: Terms, state: State, transmission: Transmission, now: int) -> tuple[State, str]:
    """The lease of an open reservation lapsed: a reserved one proves that nothing was sent, a
    transmitted one may have been executed."""
    if transmission.state is ReservationState.RESERVED:
        return release(state, transmission, now), "lease.released"
    state, ended = charge_ambiguous(terms, state, transmission, now)
    return state, "lease.ambiguous" if ended else "lease.charged"


def release(state: State, transmission: Transmission, now: int) -> State:
    """Release a reservation that was never transmitted."""
    released = transmission._replace(state=ReservationState.RELEASED_UNTRANSMITTED)
    return settle_if_final(with_transmissions(state, [released]), now)


def is_lapsed(transmission: Transmission, now: int) -> bool:
    """Whether an open reservation's lease has expired."""
    return transmission.state in OPEN and now >= transmission.lease_expires_at


def sweep(terms: Terms, state: State, now: int) -> Step:
    """Take everything that is due, in the contract's order: deadline, cancellation, reservation
    leases by ordinal, accounting deadline."""
    labels: list[str] = []
    for label, due in (
        ("deadline.expired", expire),
        ("cancellation.cutoff", cut_off),
        ("cancellation.quiet", quiet),
    ):
        after = due(terms, state, now)
        if after is not None:
            state = after
            labels.append(label)
    for transmission in state.transmissions:
        if is_lapsed(transmission, now):
            state, label = lapse(terms, state, transmission, now)
            labels.append(label)
    closed = close_accounting(state, now)
    if closed is not None:
        state = closed
        labels.append("accounting.deadline")
    return state, tuple(labels)
