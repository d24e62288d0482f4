"""Playing one vector on one backend, up to the first divergence."""

import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Final

from wayproof.conformance.protocol.backend import Backend, World, WorldSetup
from wayproof.conformance.run.exchange import (
    Answered,
    Declined,
    HarnessFault,
    Mismatch,
    StoreUnavailable,
    ask,
    guarded,
)
from wayproof.conformance.run.names import Names
from wayproof.conformance.run.projection import Observation, check_run_order, observe, versions_now
from wayproof.conformance.run.seen import Seen
from wayproof.conformance.run.verdict import Divergence, Result, Verdict
from wayproof.conformance.vectors.changes import differences, state_digest
from wayproof.conformance.vectors.format import (
    CallStep,
    ExpectedAnswer,
    ExpectedOneOf,
    ExpectedRefusal,
    JsonValue,
    ReconfigureStep,
    Step,
    SweepStep,
    TickStep,
    Vector,
)
from wayproof.conformance.vectors.names import UnknownName
from wayproof.conformance.vectors.reader import expected_states
from wayproof.spec.journey.constraints import parse_moment, to_milliseconds
from wayproof.spec.journey.digests import canonical_json
from wayproof.spec.journey.operations import OPERATIONS
from wayproof.spec.journey.refusals import RefusalCode
from wayproof.spec.journey.rulings import load_rulings

COMPARED_DETAIL: Final = ("outcome", "missing", "journey_id")
"""What the contract fixes of a refusal's detail; the rest only explains."""


def play(vector: Vector, backend: Backend, capabilities: Collection[str]) -> Result:
    """Play a vector in a new namespace of a backend that advertises ``capabilities``."""
    result = Result(
        id=vector.id,
        title=vector.title,
        level=vector.level,
        clauses=vector.at_stake,
        verdict=Verdict.NOT_APPLICABLE,
        replay=f"--only {vector.id}",
    )
    missing = [needed for needed in vector.requires if needed not in capabilities]
    if missing:
        return replace(result, note=f"needs {', '.join(missing)}")
    started = time.perf_counter()
    game = _Game(vector)
    note, trace = "", ""
    at_stake: tuple[str, ...] = ()
    try:
        world = guarded(lambda: backend.open(vector.id, _setup(vector)))
        with _closing(world):
            game.play(world)
        verdict = Verdict.PASS if game.divergence is None else Verdict.FAIL
    except HarnessFault as fault:
        verdict = Verdict.HARNESS_FAULT
        note, trace = f"{fault.message}, at {game.place()}", fault.trace
        at_stake = game.at_stake()
    except (StoreUnavailable, UnknownName) as reason:
        verdict, note = Verdict.UNDECIDED, f"{reason}, at {game.place()}"
    return replace(
        result,
        verdict=verdict,
        divergence=game.divergence,
        note=note,
        at_stake=at_stake,
        trace=trace,
        transitions=tuple(sorted(game.transitions)),
        commands=game.commands,
        seconds=time.perf_counter() - started,
    )


class _Game:
    """One play: the names and record versions seen so far, and the step that it has come to."""

    def __init__(self, vector: Vector) -> None:
        self.vector = vector
        self.names = Names(vector.config.constants)
        self.divergence: Divergence | None = None
        self.commands = 0
        self.transitions: set[tuple[str, str]] = set()
        """Lifecycle transitions that were seen and are as expected."""
        self._step = -1
        self._seen: defaultdict[str, Seen] = defaultdict(Seen)
        """By the id of the journey."""
        self._now = self._looked = to_milliseconds(parse_moment(vector.start.now))
        """The clock, and when the states were read last."""

    def play(self, world: World) -> None:
        """Carry out the steps until one diverges."""
        for index, step in enumerate(self.vector.steps):
            self._step = index
            self.commands += 1
            try:
                self._carry_out(world, step)
            except Mismatch as mismatch:
                self.divergence = self._divergence(world, step, mismatch)
                return

    def place(self) -> str:
        """Where the play has come to, in words."""
        if self._step < 0:
            return "the opening"
        step = self.vector.steps[self._step]
        return f"step {self._step + 1} of {len(self.vector.steps)}, {_action(step)}"

    def at_stake(self) -> tuple[str, ...]:
        """What the step is about that the play has come to; nothing before the first."""
        return self._clauses(self.vector.steps[self._step]) if self._step >= 0 else ()

    def _carry_out(self, world: World, step: Step) -> None:
        if isinstance(step, CallStep):
            self._call(world, step)
            return
        if isinstance(step, TickStep):
            now = to_milliseconds(parse_moment(step.to))
            guarded(lambda: world.tick(now))
            self._now = now
        elif isinstance(step, SweepStep):
            guarded(world.sweep)
        elif isinstance(step, ReconfigureStep):
            guarded(lambda: world.reconfigure(step.registry))
        else:
            guarded(world.restart)
        if _tells_state(step):
            self._compare_state(self._observe(world, step), step)

    def _call(self, world: World, step: CallStep) -> None:
        arguments = self.names.resolve(step.arguments)
        reply = ask(world, step.operation, arguments)
        if isinstance(reply, Answered):
            if step.operation == "list_workflow_runs":
                check_run_order(reply.record)
            self.names.bind(step.bind, arguments, reply.value)
        journey_id = _concerned(arguments, reply)
        self._compare_reply(step, reply, journey_id)
        self._compare_version(step, reply, journey_id)
        if _tells_state(step):
            observation = self._observe(world, step)
            shown = observation.versions.get(journey_id or "")
            decided = step.digest is not None
            if journey_id and shown and reply.record_version is None and decided:
                self._see_version(step, journey_id, shown)
            self._compare_state(observation, step)

    def _compare_reply(
        self, step: CallStep, reply: Answered | Declined, journey_id: str | None
    ) -> None:
        observed = self._abstract_reply(reply, journey_id)
        cases = [self._expected(case) for case in _cases(step)]
        if any(canonical_json(observed) == canonical_json(case) for case in cases):
            return
        if isinstance(reply, Declined) and reply.code == RefusalCode.PERSISTENCE_UNAVAILABLE:
            raise StoreUnavailable("the store could not commit")
        expected = cases[0] if len(cases) == 1 else {"one_of": cases}
        codes = [case.get("err", {}).get("code") for case in cases]
        code = observed.get("err", {}).get("code")
        kind = "code" if code not in codes else "reply" if code is None else "detail"
        raise Mismatch(kind, expected, observed)

    def _abstract_reply(
        self, reply: Answered | Declined, journey_id: str | None
    ) -> dict[str, JsonValue]:
        if isinstance(reply, Answered):
            return {"ok": self.names.abstract(reply.value, journey_id)}
        detail = {key: part for key, part in reply.detail.items() if key in COMPARED_DETAIL}
        if reply.code == RefusalCode.JOURNEY_NOT_FOUND and (
            reply.detail or reply.record_version is not None
        ):
            raise Mismatch(
                "detail",
                {"err": {"code": reply.code}},
                {"detail": dict(reply.detail), "record_version": reply.record_version},
                ("access-10",),
            )
        return {"err": {"code": reply.code, "detail": self.names.abstract(detail, journey_id)}}

    def _expected(self, case: ExpectedAnswer | ExpectedRefusal) -> dict[str, JsonValue]:
        if isinstance(case, ExpectedAnswer):
            return {"ok": self.names.expected(case.ok)}
        return {"err": {"code": case.err.code, "detail": self.names.expected(case.err.detail)}}

    def _compare_version(
        self, step: CallStep, reply: Answered | Declined, journey_id: str | None
    ) -> None:
        version = reply.record_version
        if isinstance(reply, Answered):
            shown = reply.value.get("record_version") if isinstance(reply.value, dict) else None
            if shown is not None and version not in (None, shown):
                raise Mismatch("version", f"{version}, as the reply says", shown, ("observe-11",))
            version = version or shown
            mutates = OPERATIONS[step.operation].mutates  # reads need not tell the version
            if version is None and mutates and step.version != "any":
                raise Mismatch("version", "a reply with its record version", None)
        if version is not None and journey_id is not None:
            self._see_version(step, journey_id, version)

    def _see_version(self, step: CallStep, journey_id: str, version: int) -> None:
        self._seen[journey_id].see_version(version, step.version, self._clauses(step))

    def _observe(self, world: World, step: Step) -> Observation:
        """What the reads show. Where something is due it may take effect between two of them; so
        what fits none of the allowed states, or is of another version already, is read again."""
        for _ in range(RE_READS if step.digest_one_of else 0):
            observation = observe(world, self.names, self.vector.requires)
            if state_digest(observation.projection) not in step.digest_one_of:
                continue
            if versions_now(world, self.names) == observation.versions:
                return observation
        return observe(world, self.names, self.vector.requires)

    def _compare_state(self, observation: Observation, step: Step) -> None:
        found = state_digest(observation.projection)
        if step.digest_one_of and found not in step.digest_one_of:
            raise Mismatch(
                "state",
                f"one of the {len(step.digest_one_of)} states that are allowed while something"
                " is due",
                observation.projection,
            )
        if step.digest is not None and found != step.digest:
            raise Mismatch(
                "state", f"a state with the digest {step.digest}", observation.projection
            )
        for journey in self.names.journeys:
            seen = self._seen[journey.journey_id]
            moved = seen.see_state(
                observation.projection[journey.name],
                observation.versions[journey.journey_id],
                observation.created[journey.journey_id],
                since=self._looked,
                now=self._now,
                certain=step.digest is not None,
            )
            if moved:
                self.transitions.add(moved)
        self._looked = self._now

    def _divergence(self, world: World, step: Step, mismatch: Mismatch) -> Divergence:
        expected_after = expected_states(self.vector)
        known = [state for state in expected_after[: self._step] if state is not None]
        expected, observed = mismatch.expected, mismatch.observed
        found: Mapping[str, tuple[JsonValue, JsonValue]] = {}
        after = expected_after[self._step]
        if after is not None:
            try:
                found = differences(
                    after, observe(world, self.names, self.vector.requires).projection
                )
            except (HarnessFault, Mismatch, StoreUnavailable):
                found = {}  # what broke the reads is told already, or comes after the divergence
        elif mismatch.kind == "state" and known:
            found = differences(known[-1], mismatch.observed)
        if mismatch.kind == "state" and after is not None:
            expected = {pointer: values[0] for pointer, values in found.items()}
            observed = {pointer: values[1] for pointer, values in found.items()}
        rests_on = self.vector.rests_on if step.rests_on is None else step.rests_on
        if known and after is not None and _share(found, differences(known[-1], after)):
            rests_on = tuple(number for number in rests_on if number not in CHANGE_NOTHING)
        return Divergence(
            step=self._step,
            action=_action(step),
            kind=mismatch.kind,
            expected=expected,
            observed=observed,
            clauses=mismatch.clauses or self._clauses(step),
            rests_on=() if mismatch.clauses else rests_on,
            before=known[-1] if known else {},
            differences=found,
        )

    def _clauses(self, step: Step) -> tuple[str, ...]:
        return step.clauses or self.vector.clauses


RE_READS: Final = 3
"""How often a state that is not allowed, or does not last, is read again before it counts."""


CHANGE_NOTHING: Final = frozenset(
    ruling.number for ruling in load_rulings() if ruling.changes_nothing
)
"""The rulings that no change rests on: a change that did not come breaks the contract itself."""


def _share(some: Iterable[str], others: Iterable[str]) -> bool:
    """Whether a place is, or lies within, or holds one of other places."""
    nested = [f"{pointer}/" for pointer in others]
    return any(
        f"{pointer}/".startswith(other) or other.startswith(f"{pointer}/")
        for pointer in some
        for other in nested
    )


def _tells_state(step: Step) -> bool:
    return step.digest is not None or bool(step.digest_one_of)


def _cases(step: CallStep) -> Iterator[ExpectedAnswer | ExpectedRefusal]:
    if isinstance(step.expect, ExpectedOneOf):
        yield from step.expect.one_of
    else:
        yield step.expect


def _concerned(arguments: JsonValue, reply: Answered | Declined) -> str | None:
    """The journey that a request names, or that its reply does."""
    told = reply.value if isinstance(reply, Answered) else reply.detail
    for source in (arguments, told):
        journey_id = source.get("journey_id") if isinstance(source, Mapping) else None
        if isinstance(journey_id, str):
            return journey_id
    return None


def _action(step: Step) -> str:
    if isinstance(step, CallStep):
        return f"call {step.operation}"
    return f"tick to {step.to}" if isinstance(step, TickStep) else step.do


def _setup(vector: Vector) -> WorldSetup:
    return WorldSetup(
        registry=vector.config.registry,
        now=to_milliseconds(parse_moment(vector.start.now)),
        withheld_capabilities=vector.config.withheld_capabilities,
    )


@contextmanager
def _closing(world: World) -> Iterator[None]:
    """Close the world at the end. What went wrong before outweighs what goes wrong with that."""
    try:
        yield
    except BaseException:
        with suppress(HarnessFault):
            guarded(world.close)
        raise
    guarded(world.close)
