"""Evidence about transmissions: accepted in every lifecycle state, never moves work forward.

What a report may change while accounting is pending, by the state of its transmission::

                              unsent            usage n           malformed         ambiguous
    reserved                  released          discrepancy       discrepancy       -
    transmitted               reconciled 0      reconciled n      conservative      conservative *
    expired_conservatively    reconciled 0      reconciled n      discrepancy       -
    reconciled                (0: -)            (same n: -)       discrepancy       -
    released_untransmitted    -                 discrepancy       discrepancy       -

    * ends a running journey, unless the provider's idempotency is authoritative
"""

from wayproof.model.journey.accounting import settle_if_final
from wayproof.model.journey.guards import answer
from wayproof.model.journey.lifecycle import checkpoint, end_failed, end_over_budget
from wayproof.model.journey.reservations import foreign_token, known_transmission, reading
from wayproof.model.journey.state import Discrepancy, State, Terms, Transmission
from wayproof.model.journey.totals import (
    find_transmission,
    group_of,
    is_grouped,
    with_transmissions,
)
from wayproof.model.journey.transition import Transition, realises
from wayproof.spec.journey.requests import (
    ReportAmbiguityRequest,
    ReportResponseRequest,
    ReportUnsentRequest,
)
from wayproof.spec.journey.vocabulary import (
    MAXIMUM_INTEGER,
    AccountingStatus,
    DiscrepancyKind,
    LifecycleState,
    ReservationState,
    TerminalReason,
)

NEVER_SENT = (ReservationState.RESERVED, ReservationState.RELEASED_UNTRANSMITTED)
SENT = (ReservationState.TRANSMITTED, ReservationState.EXPIRED_CONSERVATIVELY)


def with_discrepancy(
    state: State, transmission: Transmission, kind: DiscrepancyKind, reported: int | None, now: int
) -> State:
    """The state with the evidence recorded, at most once for each transmission and kind."""
    for known in state.discrepancies:
        if known.transmission_id == transmission.transmission_id and known.kind is kind:
            return state
    evidence = Discrepancy(transmission.transmission_id, kind, reported, now)
    return state._replace(discrepancies=(*state.discrepancies, evidence))


def answered(state: State, transmission_id: str, now: int, *labels: str) -> Transition:
    """Settle if that was the last open disposition, and answer how the transmission stands."""
    state = settle_if_final(state, now)
    transmission = find_transmission(state, transmission_id)
    assert transmission is not None
    return answer(state, reading(transmission), *labels)


def is_final(state: State) -> bool:
    """Whether accounting can no longer change."""
    return state.accounting is not AccountingStatus.PENDING


@realises(
    {
        "report_unsent.released": "reservation-05 reservation-10",
        "report_unsent.reconciled": "reservation-10 ambiguity-02 group-06",
        "report_unsent.repeated": "reservation-12",
        "report_unsent.conflicting": "usage-07 usage-08",
        "report_unsent.late": "usage-10 reservation-09",
    }
)
def report_unsent(terms: Terms, state: State, request: ReportUnsentRequest, now: int) -> Transition:
    """The reservation's own owner proves that nothing left the adapter. It settles only its own
    transmission: nothing is proven about siblings."""
    transmission = known_transmission(state, request.transmission_id)
    if isinstance(transmission, Transition):
        return transmission
    refused = foreign_token(state, transmission, request.fencing_token)
    if refused is not None:
        return refused
    state, labels = checkpoint(terms, state, now)
    transmission = known_transmission(state, request.transmission_id)
    assert not isinstance(transmission, Transition)
    if transmission.state is ReservationState.RESERVED:
        released = transmission._replace(state=ReservationState.RELEASED_UNTRANSMITTED)
        state, label = with_transmissions(state, [released]), "report_unsent.released"
    elif transmission.state in SENT and not is_final(state):
        zero = transmission._replace(state=ReservationState.RECONCILED, actual_tokens=0)
        state, label = with_transmissions(state, [zero]), "report_unsent.reconciled"
    elif transmission.state is ReservationState.EXPIRED_CONSERVATIVELY:
        kind = DiscrepancyKind.LATE_USAGE
        state, label = with_discrepancy(state, transmission, kind, 0, now), "report_unsent.late"
    elif transmission.actual_tokens:
        kind = DiscrepancyKind.CONFLICTING_USAGE
        state = with_discrepancy(state, transmission, kind, 0, now)
        label = "report_unsent.conflicting"
    else:
        label = "report_unsent.repeated"
    return answered(state, request.transmission_id, now, *labels, label)


@realises(
    {
        "report_response.malformed": "usage-06 usage-08",
        "report_response.charged": "usage-06 ambiguity-03 ambiguity-04 reservation-08",
    }
)
def malformed(state: State, transmission: Transmission, now: int) -> tuple[State, str]:
    """Missing or malformed usage: a transmitted one is charged in full, and the journey goes on;
    the evidence is recorded, the value is not."""
    label = "report_response.malformed"
    if transmission.state is ReservationState.TRANSMITTED:
        charged = transmission._replace(state=ReservationState.EXPIRED_CONSERVATIVELY)
        state, label = with_transmissions(state, [charged]), "report_response.charged"
    return with_discrepancy(state, transmission, DiscrepancyKind.MALFORMED_USAGE, None, now), label


def well_formed(state: State, transmission: Transmission, usage: object) -> int | None:
    """The usage as a number of tokens; None if it is no integer from 0 to 2**53-1, or would take
    a token total past that."""
    if type(usage) is not int or not 0 <= usage <= MAXIMUM_INTEGER:
        return None
    if transmission.state in SENT and not is_final(state):
        after = reconcile(state, transmission, usage)
        if max(after.observed, after.totals.exposure) > MAXIMUM_INTEGER:
            return None
    return usage


def reconcile(state: State, transmission: Transmission, usage: int) -> State:
    """Replace what a transmission stood for by its actual usage, in one step. Positive usage in
    an authoritative group settles every sent sibling with it: at most one was executed."""
    settled = [transmission]
    if usage > 0 and is_grouped(transmission):
        settled = [
            member
            for member in group_of(state, transmission)
            if member.state in SENT or member.transmission_id == transmission.transmission_id
        ]
    state = with_transmissions(
        state,
        [m._replace(state=ReservationState.RECONCILED, actual_tokens=usage) for m in settled],
    )
    return state._replace(observed=state.observed + usage)


@realises(
    {
        "report_response.reconciled": (
            "reservation-06 reservation-08 usage-03 usage-04 usage-05 usage-09 ceiling-03 "
            "ceiling-04 group-05 group-06 group-07 transmission-04 reservation-19 outcome-08"
        ),
        "report_response.overshot": "ceiling-12 ceiling-13",
        "report_response.overshot_running": "ceiling-11 ceiling-12 lifecycle-07",
        "report_response.repeated": "usage-07 identity-06",
        "report_response.conflicting": "usage-07 usage-08",
        "report_response.late": "usage-10 settle-08 outcome-10",
        "report_response.unsent": "reservation-11 reservation-12",
    }
)
def report_response(
    terms: Terms, state: State, request: ReportResponseRequest, now: int
) -> Transition:
    """An authoritative terminal response of the provider, error responses included.

    ::

        conservative 8 ── usage 3, accounting pending ──> reconciled 3, never 0 in between
        conservative 8 ── accounting deadline ── usage 3 ──> settlement_failed, late_usage 3
    """
    transmission = known_transmission(state, request.transmission_id)
    if isinstance(transmission, Transition):
        return transmission
    state, labels = checkpoint(terms, state, now)
    transmission = known_transmission(state, request.transmission_id)
    assert not isinstance(transmission, Transition)
    usage = well_formed(state, transmission, request.usage)
    if usage is None:
        state, label = malformed(state, transmission, now)
        return answered(state, request.transmission_id, now, *labels, label)
    if transmission.state in NEVER_SENT:
        kind = DiscrepancyKind.USAGE_OF_UNSENT
        state = with_discrepancy(state, transmission, kind, usage, now)
        label = "report_response.unsent"
    elif transmission.state is ReservationState.RECONCILED:
        label = "report_response.repeated"
        if usage != transmission.actual_tokens:
            kind = DiscrepancyKind.CONFLICTING_USAGE
            state = with_discrepancy(state, transmission, kind, usage, now)
            label = "report_response.conflicting"
    elif is_final(state):
        kind = DiscrepancyKind.LATE_USAGE
        state = with_discrepancy(state, transmission, kind, usage, now)
        label = "report_response.late"
    else:
        state = reconcile(state, transmission, usage)
        label = "report_response.reconciled"
        if usage > transmission.reserved_tokens:
            state, label = overshoot(terms, state, transmission, usage, now)
    return answered(state, request.transmission_id, now, *labels, label)


def overshoot(
    terms: Terms, state: State, transmission: Transmission, usage: int, now: int
) -> tuple[State, str]:
    """More was used than reserved: recorded as it is; a running journey starts nothing more."""
    kind = DiscrepancyKind.USAGE_OVER_RESERVATION
    state = with_discrepancy(state, transmission, kind, usage, now)
    if state.lifecycle is LifecycleState.RUNNING:
        reason = TerminalReason.TOKEN_BUDGET_EXHAUSTED
        return end_over_budget(terms, state, now, reason), "report_response.overshot_running"
    return state, "report_response.overshot"


@realises(
    {
        "report_ambiguity.ended": "ambiguity-07 ambiguity-10",
        "report_ambiguity.charged": "ambiguity-07 ambiguity-09 deadline-10",
        "report_ambiguity.unchanged": "reservation-11 reservation-12",
    }
)
def report_ambiguity(
    terms: Terms, state: State, request: ReportAmbiguityRequest, now: int
) -> Transition:
    """Nobody can know whether the provider executed a transmission: charged in full, and without
    an authoritative idempotency contract the running journey fails."""
    transmission = known_transmission(state, request.transmission_id)
    if isinstance(transmission, Transition):
        return transmission
    state, labels = checkpoint(terms, state, now)
    transmission = known_transmission(state, request.transmission_id)
    assert not isinstance(transmission, Transition)
    label = "report_ambiguity.unchanged"
    if transmission.state is ReservationState.TRANSMITTED:
        state, ended = charge_ambiguous(terms, state, transmission, now)
        label = "report_ambiguity.ended" if ended else "report_ambiguity.charged"
    return answered(state, request.transmission_id, now, *labels, label)


def charge_ambiguous(
    terms: Terms, state: State, transmission: Transmission, now: int
) -> tuple[State, bool]:
    """Charge a transmission whose disposition is unknown; whether that ended the journey."""
    charged = transmission._replace(state=ReservationState.EXPIRED_CONSERVATIVELY)
    state = with_transmissions(state, [charged])
    if is_grouped(transmission) or state.lifecycle is not LifecycleState.RUNNING:
        return state, False
    reason = TerminalReason.PROVIDER_TRANSMISSION_AMBIGUOUS
    return end_failed(terms, state, now, reason), True
