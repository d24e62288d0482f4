"""Backends that take single internal steps by themselves, of some kinds or in another order.

These wrap the model, which can say what each internal step is (``internal_steps``); so a step
that the contract does not allow cannot be taken by mistake.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Final

from wayproof.conformance.generate.belief import world_instants
from wayproof.conformance.protocol.backend import Backend, JsonValue, Reply, World
from wayproof.conformance.protocol.model_backend import ModelBackend, ModelWorld
from wayproof.conformance.variants.variant import variant
from wayproof.conformance.variants.wrapping import PassingWorld, WrappedBackend
from wayproof.model.journey.relation import internal_steps
from wayproof.model.journey.state import State
from wayproof.model.journey.step import versioned

Due = tuple[str, str, State]
"""An internal step that may be taken now: the journey, the step's label, the state after it."""

Choose = Callable[[list[Due], Random], Due | None]
"""Which of the steps that may be taken is taken next; None for no more."""

EARLY: Final = "lease.released_early"
LAPSES: Final = ("lease.released", "lease.charged", "lease.ambiguous")


@dataclass(frozen=True, slots=True, kw_only=True)
class Habit:
    """What a backend does by itself, and when."""

    choose: Choose
    at_calls: bool = False
    """Before and after each request."""
    at_ticks: bool = False
    """When the clock has moved."""
    at_instants: bool = False
    """At every instant that the clock passes and at which something falls due."""
    in_place_of_sweeps: bool = False
    """Sweeps that are asked for are made of single commits too."""


class HabitualWorld(PassingWorld):
    """A world of the model that takes internal steps by itself."""

    inner: ModelWorld

    def __init__(self, inner: ModelWorld, habit: Habit) -> None:
        super().__init__(inner)
        self._habit = habit
        self._random = Random(1)

    def call(self, operation: str, arguments: JsonValue) -> Reply:
        """Serve one request."""
        if self._habit.at_calls:
            self._act()
        reply = self.inner.call(operation, arguments)
        if self._habit.at_calls:
            self._act()
        return reply

    def tick(self, now: int) -> None:
        """Move the clock, at one stroke or from instant to instant."""
        while self._habit.at_instants:
            passed = [i for i in world_instants(self.inner.world) if self.inner.now < i < now]
            if not passed:
                break
            self.inner.tick(min(passed))
            self._act()
        self.inner.tick(now)
        if self._habit.at_ticks:
            self._act()

    def sweep(self) -> None:
        """Let everything that is due take effect."""
        if self._habit.in_place_of_sweeps:
            self._act()
        self.inner.sweep()

    def _act(self) -> None:
        while True:
            taken = self._habit.choose(list(self._due()), self._random)
            if taken is None:
                return
            journey_id, _label, state = taken
            self.inner.world = self.inner.world.with_state(journey_id, state)

    def _due(self) -> Iterator[Due]:
        for journey in self.inner.world.journeys:
            for state, label in internal_steps(journey.terms, journey.state, self.inner.now):
                yield journey.terms.journey_id, label, versioned(journey.state, state)


def _habitual(habit: Habit) -> Backend:
    def wrap(inner: World) -> World:
        assert isinstance(inner, ModelWorld)
        return HabitualWorld(inner, habit)

    return WrappedBackend(ModelBackend(), wrap)


def first_of(*labels: str) -> Choose:
    """The first due step of these kinds."""
    return lambda due, _random: next((d for d in due if d[1] in labels), None)


def last_of(*labels: str) -> Choose:
    """The last due step of these kinds."""
    return lambda due, _random: next((d for d in reversed(due) if d[1] in labels), None)


def any_of(due: list[Due], random: Random) -> Due | None:
    """One of all that may be taken, whichever."""
    return random.choice(due) if due else None


def perhaps(due: list[Due], random: Random) -> Due | None:
    """One of all that may be taken, or none."""
    return random.choice(due) if due and random.random() < 0.5 else None


def as_swept(due: list[Due], _random: Random) -> Due | None:
    """The step that a sweep takes first."""
    return min((d for d in due if d[1] in _RANKS), key=lambda d: _RANKS[d[1]], default=None)


_RANKS: Final = {
    "deadline.expired": 1,
    "cancellation.cutoff": 2,
    "cancellation.quiet": 2,
    "lease.released": 3,
    "lease.charged": 3,
    "lease.ambiguous": 3,
    "accounting.deadline": 4,
}
"""The order of a sweep."""


@variant(clauses=("deadline-01",), rulings=(4,))
def times_out_by_itself() -> Backend:
    """Lets deadlines take effect at once, and nothing else: a due item may take effect by itself
    while others wait for a sweep."""
    return _habitual(Habit(choose=first_of("deadline.expired"), at_calls=True, at_ticks=True))


@variant(rulings=(4, 9))
def cancels_once_quiet() -> Backend:
    """Ends a cancelling journey in the very next commit after its last run stopped, or right after
    the cancellation if none is active: nothing is left to wait for."""
    return _habitual(Habit(choose=first_of("cancellation.quiet"), at_calls=True))


@variant(rulings=(4, 9))
def cancels_at_the_cutoff_by_itself() -> Backend:
    """Ends a cancelling journey exactly at its cutoff, whoever still runs."""
    habit = Habit(choose=first_of("cancellation.cutoff"), at_instants=True, at_ticks=True)
    return _habitual(habit)


@variant(rulings=(4, 14))
def expires_leases_by_itself() -> Backend:
    """Releases or charges a reservation when its lease lapses, without a sweep."""
    return _habitual(Habit(choose=first_of(*LAPSES), at_calls=True, at_ticks=True))


@variant(rulings=(4, 14))
def expires_later_leases_first() -> Backend:
    """Of several lapsed leases takes the latest reservation first: each is due by itself, and only
    the deadline has to come before."""
    return _habitual(Habit(choose=last_of(*LAPSES), at_calls=True, at_ticks=True))


@variant(rulings=(4, 23))
def closes_accounting_by_itself() -> Backend:
    """Makes accounting final at its deadline, also before the leases that lapsed meanwhile: it
    decides them all alike."""
    return _habitual(Habit(choose=first_of("accounting.deadline"), at_calls=True, at_ticks=True))


@variant(rulings=(4,))
def has_exact_timers() -> Backend:
    """Takes everything at the very instant at which it falls due, also at instants that the clock
    only passes: that is the earliest moment allowed."""
    return _habitual(Habit(choose=as_swept, at_instants=True, at_ticks=True, at_calls=True))


@variant(rulings=(4,))
def has_exact_timers_for_deadlines() -> Backend:
    """Has a timer for the deadlines of journeys and of accounting, and leaves the rest to
    sweeps."""
    choose = first_of("deadline.expired", "accounting.deadline")
    return _habitual(Habit(choose=choose, at_instants=True, at_ticks=True))


@variant(rulings=(14, 52))
def releases_early_once_stopped() -> Backend:
    """Releases what is reserved as soon as its journey is cancelling or terminal, or its token is
    dead, instead of waiting for its lease: it can never be transmitted any more."""
    return _habitual(Habit(choose=first_of(EARLY), at_calls=True, at_ticks=True))


@variant(rulings=(14, 52))
def releases_early_when_the_token_dies() -> Backend:
    """Releases what is reserved when its owner's lease runs out, and only then: at that instant,
    also if the clock only passes it."""
    return _habitual(Habit(choose=first_of(EARLY), at_instants=True, at_ticks=True))


@variant(rulings=(4, 52))
def takes_due_steps_in_any_order() -> Backend:
    """Takes everything that it may take by itself, in a random order: what is due at one moment is
    independent, but for the deadline, which comes first."""
    return _habitual(Habit(choose=any_of, at_calls=True, at_ticks=True))


@variant(rulings=(4, 52))
def takes_due_steps_at_times() -> Backend:
    """Takes some of what it may take by itself, now and then: it may, and it need not."""
    return _habitual(Habit(choose=perhaps, at_calls=True, at_ticks=True))


@variant(rulings=(4, 52))
def takes_due_steps_at_instants() -> Backend:
    """Takes some of what it may take by itself, also at instants that the clock only passes."""
    return _habitual(Habit(choose=perhaps, at_calls=True, at_instants=True, at_ticks=True))


@variant(clauses=("observe-12",), rulings=(26,))
def sweeps_piecemeal() -> Backend:
    """Makes of one sweep several commits, one for each item, each with its own record version."""
    return _habitual(Habit(choose=as_swept, in_place_of_sweeps=True))


@variant(clauses=("observe-12",), rulings=(4, 26))
def sweeps_piecemeal_in_any_order() -> Backend:
    """Sweeps item by item in a random order, and releases early what it comes across."""
    return _habitual(Habit(choose=any_of, in_place_of_sweeps=True))
