"""Token exposure: one formula for ordinary transmissions and for authoritative groups."""

from collections.abc import Iterable

from wayproof.model.journey.state import State, Totals, Transmission
from wayproof.spec.journey.vocabulary import MAXIMUM_INTEGER, Idempotency, ReservationState

OPEN = (ReservationState.RESERVED, ReservationState.TRANSMITTED)


def group_of(state: State, transmission: Transmission) -> tuple[Transmission, ...]:
    """The group of a transmission: its invocation's members under an authoritative
    idempotency contract, otherwise itself alone."""
    if transmission.idempotency is Idempotency.NONE:
        return (transmission,)
    return tuple(
        member
        for member in state.transmissions
        if member.invocation_id == transmission.invocation_id
    )


def exposure_of(group: Iterable[Transmission]) -> Totals:
    """One group's exposure: the maximum of what its members stand for, attributed to
    reconciled, then conservative, then reserved, each only what it adds beyond those before."""
    reconciled = conservative = outstanding = 0
    for member in group:
        if member.state is ReservationState.RECONCILED:
            reconciled = max(reconciled, member.actual_tokens or 0)
        elif member.state is ReservationState.EXPIRED_CONSERVATIVELY:
            conservative = max(conservative, member.reserved_tokens)
        elif member.state in OPEN:
            outstanding = max(outstanding, member.reserved_tokens)
    return Totals(
        reconciled=reconciled,
        conservative=max(0, conservative - reconciled),
        reserved=max(0, outstanding - max(reconciled, conservative)),
    )


def replace_group(totals: Totals, before: Totals, after: Totals) -> Totals:
    """The journey's totals once one group's exposure changed from ``before`` to ``after``."""
    return Totals(
        reconciled=totals.reconciled - before.reconciled + after.reconciled,
        conservative=totals.conservative - before.conservative + after.conservative,
        reserved=totals.reserved - before.reserved + after.reserved,
    )


def with_transmissions(state: State, changed: Iterable[Transmission]) -> State:
    """The state with some transmissions of one group replaced, and the totals with them."""
    by_id = {transmission.transmission_id: transmission for transmission in changed}
    one = next(iter(by_id.values()))
    before = exposure_of(group_of(state, find_transmission(state, one.transmission_id) or one))
    state = state._replace(
        transmissions=tuple(by_id.get(t.transmission_id, t) for t in state.transmissions)
    )
    after = exposure_of(group_of(state, one))
    return state._replace(totals=replace_group(state.totals, before, after))


def with_reservation(state: State, added: Transmission) -> State:
    """The state with one more reservation, and the totals with it."""
    before = exposure_of(group_of(state, added)) if is_grouped(added) else Totals()
    state = state._replace(transmissions=(*state.transmissions, added))
    after = exposure_of(group_of(state, added))
    return state._replace(
        totals=replace_group(state.totals, before, after),
        estimated=min(state.estimated + added.estimated_prompt_tokens, MAXIMUM_INTEGER),
    )


def is_grouped(transmission: Transmission) -> bool:
    """Whether the provider promises at most one execution for the whole invocation."""
    return transmission.idempotency is Idempotency.AUTHORITATIVE


def find_transmission(state: State, transmission_id: str) -> Transmission | None:
    """The transmission of that id."""
    for transmission in state.transmissions:
        if transmission.transmission_id == transmission_id:
            return transmission
    return None
