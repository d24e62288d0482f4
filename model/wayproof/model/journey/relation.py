"""The relation: everything that the contract allows a backend to do, of which the model's own
:mod:`step` is one deterministic choice.

An eager backend may take any due step by itself, at any moment after it fell due, and may release
a reservation early that can no longer be transmitted.
"""

from wayproof.model.journey.guards import is_live
from wayproof.model.journey.lifecycle import close_accounting, cut_off, expire
from wayproof.model.journey.state import State, Terms, Transmission
from wayproof.model.journey.step import step, versioned
from wayproof.model.journey.sweeps import is_lapsed, lapse, quiet, release
from wayproof.model.journey.transition import Reply, realises
from wayproof.spec.journey import requests
from wayproof.spec.journey.vocabulary import LifecycleState, ReservationState


@realises({"lease.released_early": "reservation-15"})
def internal_steps(terms: Terms, state: State, now: int) -> tuple[tuple[State, str], ...]:
    """Every single step that a backend may take by itself now, each with its label.

    At or after the deadline a lapsed lease cannot end the journey before the deadline does, so
    the deadline is then the only step.
    """
    expired = expire(terms, state, now)
    if expired is not None:
        return ((expired, "deadline.expired"),)
    steps: list[tuple[State, str]] = []
    for label, after in (
        ("cancellation.cutoff", cut_off(terms, state, now)),
        ("cancellation.quiet", quiet(terms, state, now)),
        ("accounting.deadline", close_accounting(state, now)),
    ):
        if after is not None:
            steps.append((after, label))
    for transmission in state.transmissions:
        if is_lapsed(transmission, now):
            steps.append(lapse(terms, state, transmission, now))
        elif may_release_early(state, transmission, now):
            steps.append((release(state, transmission, now), "lease.released_early"))
    return tuple(steps)


def may_release_early(state: State, transmission: Transmission, now: int) -> bool:
    """Whether a reserved reservation can never be transmitted any more."""
    return transmission.state is ReservationState.RESERVED and (
        state.lifecycle not in (LifecycleState.PENDING, LifecycleState.RUNNING)
        or not is_live(state, transmission.fencing_token, now)
    )


def settled_states(terms: Terms, state: State, now: int) -> frozenset[State]:
    """Every state that a backend may be in now: the given one, and each that any number of
    internal steps leads to."""
    reached = {state}
    frontier = [state]
    while frontier:
        before = frontier.pop()
        for after, _label in internal_steps(terms, before, now):
            raised = versioned(before, after)
            if raised not in reached:
                reached.add(raised)
                frontier.append(raised)
    return frozenset(reached)


def allowed(
    terms: Terms, state: State, request: requests.Request, now: int, run_ids: tuple[str, ...] = ()
) -> frozenset[tuple[State, Reply]]:
    """The relation: every answer to a request, with the state that goes with it, whether or not
    what is due was taken before. :func:`step` is one of them."""
    return frozenset(
        (transition.state, transition.reply)
        for before in settled_states(terms, state, now)
        for transition in (step(terms, before, request, now, run_ids),)
    )
