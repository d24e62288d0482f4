"""Fresh sequences: tales that no vector file holds, one for each seed, each played as a vector.

Fixed vectors can be over-fitted. A sequence that fails is shrunk to as few actions as still fail,
and the vector of these is handed on with the result.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from random import Random

from wayproof.conformance.generate.belief import Taken, TooManyWorlds
from wayproof.conformance.generate.recorder import Undecidable, record
from wayproof.conformance.generate.scripts import Draft, Script, Setting
from wayproof.conformance.generate.shrink import shrink
from wayproof.conformance.generate.tales import tell
from wayproof.conformance.protocol.backend import Backend
from wayproof.conformance.run.player import play
from wayproof.conformance.run.verdict import Result, Verdict
from wayproof.conformance.vectors.format import Vector
from wayproof.conformance.vectors.names import UnknownName
from wayproof.conformance.vectors.writer import seal


def play_fresh(backend: Backend, number: int, seed: int) -> Iterator[Result]:
    """Play the sequences of ``number`` seeds from ``seed`` on: one result for each.

    The first that fails is shrunk, which takes a hundred times as long as to play one; each
    result's ``replay`` plays its own alone on a new store, and shrinks it. A store can play each
    seed once.
    """
    capabilities = backend.hello().capabilities
    found = False
    for this in range(seed, seed + number):
        result = _play_seed(backend, capabilities, this, shrunk=not found)
        found = found or result.verdict is Verdict.FAIL
        name = f"fresh/{this}"
        yield replace(result, id=name, replay=f"--only {name} --fresh 1 --seed {this}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """A story that was played on a backend."""

    script: Script
    """Up to the action at which it fails, if it does."""
    vector: Vector
    result: Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Where stories are played."""

    backend: Backend
    capabilities: Collection[str]
    setting: Setting
    topic: str
    """Which of all stories it is; stories of one topic are numbered."""
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def play(
        self, script: Script, taken: Sequence[Taken] | None = None, *, explained: bool = False
    ) -> Played:
        """Record a story and play it in a namespace of its own.

        Raises:
            Undecidable, UnknownName, TooManyWorlds: if it cannot be told.
        """
        draft = Draft(
            family="fresh",
            topic=self.topic,
            setting=self.setting,
            script=script,
            focus=0,
            title=f"a random sequence of {len(script)} actions, {self.setting.name}",
        )
        vector = record(draft, next(self.numbers), taken, explained=explained)
        result = play(vector, self.backend, self.capabilities)
        end = None if result.divergence is None else result.divergence.step + 1
        return Played(script=script[:end], vector=vector, result=result)

    def failing(self, script: Script, *, explained: bool = False) -> Played | None:
        """Play a story that may be impossible to tell; None unless it fails."""
        try:
            played = self.play(script, explained=explained)
        except (Undecidable, UnknownName, TooManyWorlds):
            return None
        return played if played.result.verdict is Verdict.FAIL else None


def shortest(stage: Stage, failing: Played) -> Result:
    """The result of the shortest story like a failing one that still fails, with its vector."""
    return explained(stage, shrink(failing, stage.failing))


def explained(stage: Stage, failing: Played) -> Result:
    """The result of a failing story with its vector, without whatever came after the failure."""
    last = stage.failing(failing.script, explained=True) or failing
    name = f"fresh/{stage.topic}/0001"
    vector = seal(replace(last.vector, id=name))
    return replace(last.result, id=name, replay=f"--only {name}", vector=vector)


def _play_seed(
    backend: Backend, capabilities: Collection[str], seed: int, *, shrunk: bool
) -> Result:
    tale = tell(Random(seed))
    stage = Stage(
        backend=backend,
        capabilities=capabilities,
        setting=tale.setting,
        topic=f"seed-{seed}",
    )
    played = stage.play(tale.script, tale.taken)
    if played.result.verdict is not Verdict.FAIL:
        return played.result
    return shortest(stage, played) if shrunk else explained(stage, played)
