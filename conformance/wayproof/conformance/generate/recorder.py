"""Turn a story into a vector: play it, and write down what every allowed world agrees on."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, Literal

from wayproof.conformance.generate.belief import (
    Branch,
    Moment,
    Taken,
    closure,
    play_script,
)
from wayproof.conformance.generate.scripts import (
    Call,
    Draft,
    Reconfigure,
    Restart,
    Sweep,
    Tick,
)
from wayproof.conformance.generate.tags import tags
from wayproof.conformance.run.names import NamedJourney, Names
from wayproof.conformance.run.projection import OUTBOX
from wayproof.conformance.vectors.changes import changes_between, state_digest
from wayproof.conformance.vectors.format import (
    MOST_DIGESTS,
    CallStep,
    Config,
    Expectation,
    ExpectedAnswer,
    ExpectedOneOf,
    ExpectedRefusal,
    Origin,
    ReconfigureStep,
    RefusalExpectation,
    RestartStep,
    Start,
    Step,
    SweepStep,
    TickStep,
    Vector,
)
from wayproof.model.journey import views
from wayproof.model.journey.state import State
from wayproof.model.journey.transition import Answered, Refused
from wayproof.model.journey.world import World
from wayproof.spec.journey.clauses import clauses as clause_register
from wayproof.spec.journey.constraints import format_moment, from_milliseconds
from wayproof.spec.journey.definitions import required_capabilities
from wayproof.spec.journey.digests import canonical_json
from wayproof.spec.journey.encoding import encode
from wayproof.spec.journey.operations import OPERATIONS
from wayproof.spec.journey.refusals import Refusal

COMPARED_DETAILS: Final = ("outcome", "missing", "journey_id")
"""The parts of a refusal's detail that the contract fixes."""

GENERATOR: Final = "journey"


class Undecidable(Exception):
    """The allowed worlds differ where a vector must know: whether a name is given."""


def record(
    draft: Draft, number: int, taken: Sequence[Taken] | None = None, *, explained: bool = True
) -> Vector:
    """The vector of a story; ``taken`` is the story as it was played, if it was played already.

    Not ``explained``, it judges just the same, but cannot be written into a file: clauses and
    rulings are left out, which take most of the time.

    Raises:
        Undecidable: if a name is bound in some allowed worlds only.
        ContractBroken: if the model broke a contract on the way.
    """
    taken = taken or play_script(draft.setting, draft.script)
    return _Recording(draft, taken, explained).vector(number)


def is_decidable(taken: Taken) -> bool:
    """Whether all allowed worlds give the names that an action's reply gives, or none does."""
    return len({_binds(branch) for branch in taken.branches}) <= 1


class _Recording:
    def __init__(self, draft: Draft, taken: Sequence[Taken], explained: bool) -> None:
        self.draft = draft
        self.explained = explained
        self.names = Names(draft.setting.constants)
        self.known: dict[str, Any] = {}
        """The last projection that all allowed worlds agreed on."""
        self.seen: set[str] = set()
        """The journeys whose record version the runner saw at the last step."""
        self.taken = taken
        self.requires = frozenset(self._required())
        self.telling = True
        """Whether states are told: from the last step that leads to the focus on, and from the
        one before it where that only moves the clock. What comes before is the focus of shorter
        stories."""
        self._projected: dict[tuple[State, ...], tuple[str, Any]] = {}
        """Digest and projection of each world that was shown since the last name was given."""

    def vector(self, number: int) -> Vector:
        steps = tuple(self._step(index, taken) for index, taken in enumerate(self.taken))
        focus = steps[self.draft.focus :]
        if not any(step.clauses for step in focus):
            focus = steps  # the story ends where nothing is at stake: it is about the way there
        clauses = tuple(dict.fromkeys(clause for step in focus for clause in step.clauses))
        rests_on = {ruling for step in focus for ruling in step.rests_on or ()}
        return Vector(
            id=f"{self.draft.family}/{self.draft.topic}/{number:04d}",
            title=self.draft.title,
            why=clause_register()[clauses[0]].text if clauses else "",
            clauses=clauses,
            rests_on=tuple(sorted(rests_on)),
            requires=tuple(sorted(self.requires)),
            config=Config(
                registry=self.draft.setting.registry,
                withheld_capabilities=self.draft.setting.withheld,
                constants=self.draft.setting.constants,
            ),
            start=Start(now=_moment(self.draft.setting.now)),
            steps=steps,
            origin=Origin(
                generator=GENERATOR,
                labels=tuple("+".join(taken.labels) or "-" for taken in self.taken),
            ),
        )

    def _required(self) -> set[str]:
        world = self.taken[-1].after.world
        asked = (taken.action.operation for taken in self.taken if isinstance(taken.action, Call))
        needed = {OPERATIONS[name].capability.value for name in asked if name in OPERATIONS}
        for journey in world.journeys:
            needed |= {c.value for c in required_capabilities(journey.terms.definition)}
        return needed

    def _step(self, index: int, taken: Taken) -> Step:
        self.telling = index >= self._first_told()
        clauses, rests_on = tags(taken) if self.explained else ((), ())
        match taken.action:
            case Call():
                return self._call(taken, clauses, rests_on)
            case Tick(to=to):
                return TickStep(to=_moment(to), **self._state(taken.after))
            case Sweep():
                shown = self._state(taken.after)
                return SweepStep(clauses=clauses, rests_on=rests_on, **shown)
            case Restart():
                return RestartStep(clauses=RESTART_CLAUSES, **self._state(taken.after))
            case Reconfigure(registry=registry):
                shown = self._state(taken.after)
                presents = '"ui"' in (text := json.dumps(registry)) or '"meta"' in text
                clauses = ("definition-07", *(("definition-06",) if presents else ()))
                return ReconfigureStep(registry=registry, clauses=clauses, **shown)

    def _first_told(self) -> int:
        lead = self.draft.focus - 1
        return lead - 1 if lead >= 0 and isinstance(self.taken[lead].action, Tick) else lead

    def _call(self, taken: Taken, clauses: tuple[str, ...], rests_on: tuple[int, ...]) -> Step:
        action = taken.action
        assert isinstance(action, Call)
        own = taken.branches[0]
        if not is_decidable(taken):
            raise Undecidable(action.operation)
        if taken.bound:
            sent = self.names.resolve(action.arguments)
            self.names.bind(taken.bound, sent, encode(_record(own)))
            self._projected.clear()
        return CallStep(
            operation=action.operation,
            arguments=action.arguments,
            bind=taken.bound,
            expect=self._expectation(taken),
            version=self._version(taken.branches),
            clauses=clauses,
            rests_on=rests_on,
            **self._state(taken.after, _tells_version(taken)),
        )

    def _version(self, branches: tuple[Branch, ...]) -> Literal["raised", "same", "any"]:
        """How the record version after the call compares with the last one that was seen."""
        journey_id = branches[0].played.journey_id
        if journey_id is None:
            return "any"
        pairs = [(b.before.find(journey_id), b.played.world.find(journey_id)) for b in branches]
        states = [(old.state, new.state) for old, new in pairs if old and new]
        if states and all(new.record_version > old.record_version for old, new in states):
            return "raised"
        if journey_id in self.seen and states and all(new == old for old, new in states):
            return "same"
        return "any"

    def _expectation(self, taken: Taken) -> Expectation:
        replies = {
            canonical_json(_expected_json(reply)): reply
            for reply in (self._reply(branch) for branch in taken.branches)
        }
        cases = tuple(replies.values())
        return cases[0] if len(cases) == 1 else ExpectedOneOf(one_of=cases)

    def _reply(self, branch: Branch) -> ExpectedAnswer | ExpectedRefusal:
        played = branch.played
        reply = played.step.reply
        if isinstance(reply, Answered):
            value = encode(reply.record)
            return ExpectedAnswer(ok=self.names.abstract(value, played.journey_id))
        detail: dict[str, Any] = {}
        if isinstance(reply, Refused) and reply.outcome is not None:
            detail = {"outcome": encode(reply.outcome)}
        elif isinstance(reply, Refusal):
            detail = {k: v for k, v in reply.detail.items() if k in COMPARED_DETAILS}
        assert isinstance(reply, Refused | Refusal)
        return ExpectedRefusal(
            err=RefusalExpectation(
                code=reply.code.value, detail=self.names.abstract(detail, played.journey_id)
            )
        )

    def _state(self, moment: Moment, concerned: str | None = None) -> dict[str, Any]:
        """The fields that say how everything stands, or may stand."""
        self.seen = {concerned} if concerned is not None else set()
        if not self.telling:
            return {}
        shown = [self._shown(world) for world in closure(moment.worlds, moment.now)]
        digest, projection = shown[0]
        allowed = tuple(sorted({other for other, _ in shown}))
        if len(allowed) > MOST_DIGESTS:
            return {}
        self.seen = {journey.terms.journey_id for journey in moment.world.journeys}
        if len(allowed) > 1:
            return {"digest_one_of": allowed}
        changes = changes_between(self.known, projection)
        self.known = projection
        return {"changes": changes, "digest": digest}

    def _shown(self, world: World) -> tuple[str, Any]:
        key = tuple(journey.state for journey in world.journeys)
        if key not in self._projected:
            projection = project(world, self.names, self.requires)
            self._projected[key] = (state_digest(projection), projection)
        return self._projected[key]


RESTART_CLAUSES: Final = (
    "deadline-03",
    "identity-02",
    "lease-11",
    "lifecycle-18",
    "policy-12",
    "settle-10",
    "start-08",
    "transmission-06",
)
"""What a state that differs after a restart breaks."""


def project(world: World, names: Names, requires: Collection[str] = ()) -> dict[str, Any]:
    """The canonical projection of a model's world, as its reads would show it."""
    return {
        named.name: names.abstract(_journey(world, named, requires), named.journey_id)
        for named in names.journeys
    }


def _journey(world: World, named: NamedJourney, requires: Collection[str]) -> Mapping[str, Any]:
    journey = world.find(named.journey_id)
    assert journey is not None
    terms, state = journey.terms, journey.state
    outcome = views.outcome(terms, state) if state.finished_at is not None else None
    intents = [
        encode(views.dispatch_intent(terms, ordinal, entry))
        for ordinal, entry in enumerate(state.intents, start=1)
    ]
    capability, _, field = OUTBOX
    return {
        **({field: intents} if capability in requires else {}),
        "snapshot": encode(views.snapshot(terms, state)),
        "workflow_runs": [
            encode(views.run_snapshot(terms, state, run)) for run in views.ordered(state.runs)
        ],
        "outcome": encode(outcome),
        "settled": encode(views.settled_result(terms, state)),
        "reservations": [
            encode(views.reservation(terms, ordinal, entry))
            for ordinal, entry in enumerate(state.transmissions, start=1)
        ],
        "discrepancies": [
            encode(views.discrepancy(terms, ordinal, entry))
            for ordinal, entry in enumerate(state.discrepancies, start=1)
        ],
    }


def _moment(milliseconds: int) -> str:
    return format_moment(from_milliseconds(milliseconds))


def _record(branch: Branch) -> object:
    reply = branch.played.step.reply
    assert isinstance(reply, Answered)
    return reply.record


def _tells_version(taken: Taken) -> str | None:
    """The journey whose record version a call's reply must tell; None if it need not: only
    answers to requests that may change something, and two of the reads, have to."""
    action = taken.action
    assert isinstance(action, Call)
    operation = OPERATIONS.get(action.operation)
    if operation is None or not (operation.mutates or action.operation in SHOW_VERSION):
        return None
    if any(not isinstance(branch.played.step.reply, Answered) for branch in taken.branches):
        return None
    return taken.branches[0].played.journey_id


SHOW_VERSION: Final = ("snapshot", "list_workflow_runs")
"""The reads whose record shows the record version."""


def _binds(branch: Branch) -> bool:
    labels = branch.played.step.labels
    return bool(labels) and labels[-1] in BINDING_LABELS


BINDING_LABELS: Final = frozenset(
    {
        "start.created",
        "claim_lease.granted",
        "begin_journey.begun",
        "start_workflow_run.started",
        "finish_workflow_run.advanced",
        "request_input.waiting",
        "submit_input.chosen",
    }
)
"""The rules whose answers give names."""


def _expected_json(case: ExpectedAnswer | ExpectedRefusal) -> Any:
    if isinstance(case, ExpectedAnswer):
        return {"ok": case.ok}
    return {"err": {"code": case.err.code, "detail": dict(case.err.detail)}}
