"""A state machine that asks a backend whatever the menus offer, and compares it with the model.

Hypothesis chooses the actions. Each run of the machine is a story, judged as a vector by the
recorder and the player that judge everything else; so what diverges is shrunk by Hypothesis to the
fewest and simplest actions, and their vector is a file that anybody can play.
"""

import shlex
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, ClassVar, Final

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as some
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from wayproof.conformance.generate.belief import world_instants
from wayproof.conformance.generate.fresh import Played, Stage, shortest
from wayproof.conformance.generate.scripts import Call, Restart, Sweep, Tick
from wayproof.conformance.generate.tales import STAGES
from wayproof.conformance.generate.unfolding import Role, Unfolding
from wayproof.conformance.protocol.backend import Backend
from wayproof.conformance.protocol.load import load_backend
from wayproof.conformance.report.failure import failure_text
from wayproof.conformance.run.verdict import Result, Verdict
from wayproof.conformance.vectors.names import UnknownName
from wayproof.conformance.vectors.suite import write_suite
from wayproof.model.journey.lifecycle import LIVE

OWNING: Final = (
    "claim_lease",
    "begin_journey",
    "start_workflow_run",
    "claim_attempt",
    "finish_workflow_run",
    "claim_dispatched_run",
    "acknowledge_dispatch",
    "request_input",
    "submit_input",
)
SPENDING: Final = ("reserve", "transmit", "renew_reservation")
REPORTING: Final = ("report_unsent", "report_response", "report_ambiguity")
ENDING: Final = ("complete_journey", "fail_journey", "cancel")


class Diverged(AssertionError):
    """The backend did what the contract does not allow. The message tells the shortest story that
    shows it, names the file of its vector and ends with the command that plays it."""


class _Found(AssertionError):
    """A story that diverges, not yet as short as it can be."""

    def __init__(self, stage: Stage, played: Played) -> None:
        super().__init__("a story diverges")
        self.stage = stage
        self.played = played


@dataclass(frozen=True, slots=True, kw_only=True)
class Opponent:
    """The backend that is compared with the model."""

    backend: Backend
    numbers: Iterator[int] = field(default_factory=lambda: count(1))


def compare(name: str, folder: Path, *, examples: int = 100, steps: int = 30) -> None:
    """Compare a backend with the model in so many stories of at most so many actions; the same
    stories each time.

    ``name`` is one of ``wayproof check --backend``; ``folder`` is new, or empty.

    Raises:
        Diverged: if the backend diverges.
        BackendLoadError: if it cannot be made.
        FileExistsError: if there is something in the folder.
    """
    if folder.exists() and any(folder.iterdir()):
        raise FileExistsError(f"{folder} is not empty")
    backend = load_backend(name)

    class Compared(JourneyMachine):
        opponent = Opponent(backend=backend)

    try:
        run_state_machine_as_test(
            Compared,
            settings=settings(
                max_examples=examples,
                stateful_step_count=steps,
                deadline=None,
                database=None,
                derandomize=True,
                report_multiple_bugs=False,
                phases=(Phase.generate, Phase.shrink),
                suppress_health_check=list(HealthCheck),
            ),
        )
    except _Found as found:
        raise _diverged(name, folder, shortest(found.stage, found.played)) from None
    finally:
        backend.close()


def _diverged(name: str, folder: Path, result: Result) -> Diverged:
    assert result.vector is not None
    write_suite(folder / "journey", [result.vector])
    file = folder / "journey" / "fresh" / "differential.jsonl"
    command = ["wayproof", "check", "--fresh", "0", "--backend", name]
    again = shlex.join([*command, "--vectors", str(folder)])
    return Diverged(f"{name} diverges; vector: {file}\n" + failure_text(result, again))


class JourneyMachine(RuleBasedStateMachine):
    """One story, told on the model by Hypothesis and played on a backend when it is over."""

    opponent: ClassVar[Opponent]

    def __init__(self) -> None:
        super().__init__()
        self.story: Unfolding | None = None

    @initialize(place=some.integers(0, len(STAGES) - 1), begun=some.booleans())
    def open(self, place: int, begun: bool) -> None:
        """Choose where it is told, and start a journey there, perhaps also its entry stage."""
        _, setting, scope = STAGES[place]
        self.story = Unfolding(setting, scope)
        self.story.start_journey()
        for operation in ("claim_lease", "begin_journey") if begun else ():
            role = self.story.roles[0]
            for call in list(_offered(self.story, role, (operation,))):
                self.story.go_on(call, role)

    @rule(data=some.data())
    def own(self, data: Any) -> None:
        """Ask what an owner asks."""
        self._ask(data, OWNING)

    @rule(data=some.data())
    def spend(self, data: Any) -> None:
        """Ask what comes before a transmission."""
        self._ask(data, SPENDING)

    @rule(data=some.data())
    def report(self, data: Any) -> None:
        """Report what became of one."""
        self._ask(data, REPORTING)

    @rule(data=some.data())
    def end(self, data: Any) -> None:
        """Ask for the end of a journey."""
        self._ask(data, ENDING)

    @rule(data=some.data())
    def ask_anything(self, data: Any) -> None:
        """Ask whatever can be asked, right or wrong."""
        self._ask(data, None)

    @rule(milliseconds=some.sampled_from((1, 500, 1000)))
    def wait(self, milliseconds: int) -> None:
        """Let a little time pass."""
        self._move_to(self._story().moment.now + milliseconds)

    @rule(which=some.integers(0, 2), offset=some.sampled_from((0, -1, 1)))
    def pass_time(self, which: int, offset: int) -> None:
        """Move the clock to one of the next due instants, or a millisecond beside it."""
        moment = self._story().moment
        later = sorted(i for i in world_instants(moment.world) if i > moment.now)
        if later:
            self._move_to(later[min(which, len(later) - 1)] + offset)

    @rule(offset=some.sampled_from((0, -1, 1)))
    def pass_deadline(self, offset: int) -> None:
        """Move the clock to the next deadline, or a millisecond beside it."""
        deadline = self._next_deadline()
        if deadline is not None:
            self._story().go_on(Tick(max(self._story().moment.now, deadline + offset)))

    @rule()
    def sweep(self) -> None:
        """Let what is due take effect."""
        self._story().go_on(Sweep())

    @rule()
    def restart(self) -> None:
        """Let the process die."""
        self._story().go_on(Restart())

    @precondition(lambda self: self.story is not None and len(self.story.roles) == 1)
    @rule(by_stranger=some.booleans())
    def start_another(self, by_stranger: bool) -> None:
        """Start a second journey."""
        self._story().start_journey(by_stranger=by_stranger)

    def teardown(self) -> None:
        """Play the story on the backend.

        Raises:
            _Found: if that diverges from what the contract allows.
        """
        if self.story is None or not self.story.taken:
            return
        stage = Stage(
            backend=self.opponent.backend,
            capabilities=self.opponent.backend.hello().capabilities,
            setting=self.story.setting,
            topic="differential",
            numbers=self.opponent.numbers,
        )
        played = stage.play(self.story.script, self.story.taken)
        if played.result.verdict is not Verdict.PASS:
            raise _Found(stage, played)

    def _story(self) -> Unfolding:
        assert self.story is not None, "open comes first"
        return self.story

    def _next_deadline(self) -> int | None:
        journeys = self._story().moment.world.journeys
        live = [j.terms.deadline for j in journeys if j.state.lifecycle in LIVE]
        return min(live, default=None)

    def _move_to(self, instant: int) -> None:
        """Move the clock on, but not past a deadline: that is done on purpose only."""
        now, deadline = self._story().moment.now, self._next_deadline()
        if instant >= now and (deadline is None or now >= deadline or instant < deadline):
            self._story().go_on(Tick(instant))

    def _ask(self, data: Any, operations: Collection[str] | None) -> None:
        story = self._story()
        role = data.draw(some.sampled_from(story.roles))
        calls = list(_offered(story, role, operations))
        if calls:
            story.go_on(calls[data.draw(some.integers(0, len(calls) - 1))], role)


def _offered(story: Unfolding, role: Role, operations: Collection[str] | None) -> Iterator[Call]:
    """What these operations can change by now; or everything that can be asked."""
    for offered in story.menu(role, whole=operations is None):
        try:
            call = role.renamed(offered)
        except UnknownName:  # of another journey's run
            continue
        if operations is None or (call.operation in operations and _counts(story, call)):
            yield call


def _counts(story: Unfolding, call: Call) -> bool:
    """Whether it changes something, and ends a journey only if that is its purpose."""
    foreseen = story.foreseen(call)
    if story.ends_a_journey(foreseen):
        return call.operation in ENDING
    return foreseen.world != story.moment.world
