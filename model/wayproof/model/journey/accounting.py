"""Settlement: accounting becomes final apart from the outcome, and within finite time."""

from wayproof.model.journey.state import State, Transmission
from wayproof.model.journey.totals import with_transmissions
from wayproof.model.journey.transition import realises
from wayproof.spec.journey.vocabulary import (
    TERMINAL_STATES,
    AccountingStatus,
    ReservationState,
)

SETTLED = (ReservationState.RECONCILED, ReservationState.RELEASED_UNTRANSMITTED)
_AT_THE_DEADLINE = {
    ReservationState.RESERVED: ReservationState.RELEASED_UNTRANSMITTED,
    ReservationState.TRANSMITTED: ReservationState.EXPIRED_CONSERVATIVELY,
}


def is_settled(transmission: Transmission) -> bool:
    """Whether a transmission's final usage is known."""
    return transmission.state in SETTLED


def with_status(state: State, status: AccountingStatus, now: int) -> State:
    """Make accounting final; from here on nothing of it changes."""
    return state._replace(
        accounting=status, settled_at=now, settled_discrepancies=len(state.discrepancies)
    )


@realises({"accounting.settled_early": "settle-01 settle-03 settle-04 settle-09 outcome-09"})
def settle_if_final(state: State, now: int) -> State:
    """A terminal journey whose every reservation is reconciled or released is settled at once;
    a conservatively expired one keeps it pending, since usage may still arrive."""
    if (
        state.lifecycle in TERMINAL_STATES
        and state.accounting is AccountingStatus.PENDING
        and all(map(is_settled, state.transmissions))
    ):
        return with_status(state, AccountingStatus.SETTLED, now)
    return state


def finalise(state: State, now: int) -> State:
    """The accounting deadline: what is still reserved is released, what is still transmitted is
    charged in full, and the final dispositions decide the status."""
    for transmission in state.transmissions:
        final = _AT_THE_DEADLINE.get(transmission.state)
        if final is not None:
            state = with_transmissions(state, [transmission._replace(state=final)])
    settled = all(map(is_settled, state.transmissions))
    status = AccountingStatus.SETTLED if settled else AccountingStatus.SETTLEMENT_FAILED
    return with_status(state, status, now)
