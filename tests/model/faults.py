"""Faults to plant: each takes a step that was right and makes it wrong in one way."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from wayproof.model.journey import example
from wayproof.model.journey.properties.contract import JourneyStep, WorldStep
from wayproof.model.journey.state import Run, State, Terms
from wayproof.model.journey.transition import Answered, Refused
from wayproof.model.journey.world import Journey
from wayproof.spec.journey.records import ExecutionAccess
from wayproof.spec.journey.refusals import Refusal, RefusalCode
from wayproof.spec.journey.requests import SnapshotRequest
from wayproof.spec.journey.vocabulary import (
    ReservationState,
    WorkflowRunState,
)

JourneyFault = Callable[[JourneyStep], JourneyStep]
WorldFault = Callable[[WorldStep], WorldStep]


def left(**fields: Any) -> JourneyFault:
    """The step leaves the journey with other fields."""
    return lambda step: replace(step, after=step.after._replace(**fields))


def untouched(step: JourneyStep) -> JourneyStep:
    """The step does nothing at all."""
    return replace(step, after=step.before)


def ends_as(lifecycle: Any, reason: str | None = None) -> JourneyFault:
    """The step leaves the journey in another state, for another reason if one is given."""

    def plant(step: JourneyStep) -> JourneyStep:
        after = step.after._replace(lifecycle=lifecycle)
        return replace(
            step, after=after if reason is None else after._replace(terminal_reason=reason)
        )

    return plant


def turned(lifecycle: Any) -> JourneyFault:
    """The step moves the journey exactly where it should not: there if it stayed, and nowhere
    if it moved."""

    def plant(step: JourneyStep) -> JourneyStep:
        moved = step.after.lifecycle is not step.before.lifecycle
        return untouched(step) if moved else ends_as(lifecycle)(step)

    return plant


def recounted(step: JourneyStep) -> JourneyStep:
    """The step claims each counter once more."""
    return left(counters=tuple(count + 1 for count in step.after.counters))(step)


def reread(step: JourneyStep) -> JourneyStep:
    """The step raises the record version, whether or not anything changed."""
    return left(record_version=step.before.record_version + 1)(step)


def unversioned(step: JourneyStep) -> JourneyStep:
    """The step leaves the record version as it was."""
    return left(record_version=step.before.record_version)(step)


def declined(code: RefusalCode) -> JourneyFault:
    """The request is refused with another code."""
    return lambda step: replace(step, reply=Refused(code))


def carried_out(step: JourneyStep) -> JourneyStep:
    """The request is answered instead of refused."""
    return replace(step, reply=Answered(None))


def answers_with(record: object) -> JourneyFault:
    """The request is answered with something else."""
    return lambda step: replace(step, reply=Answered(record))


def shown(**fields: Any) -> JourneyFault:
    """The record answered has other fields, if it has such fields."""
    return shown_by(lambda record: fields if all(hasattr(record, name) for name in fields) else {})


def shown_by(change: Callable[[Any], dict[str, Any]]) -> JourneyFault:
    """The record answered has other fields, made of what they were."""

    def plant(step: JourneyStep) -> JourneyStep:
        changed = {} if step.answer is None else change(step.answer)
        return replace(step, reply=Answered(replace(step.answer, **changed))) if changed else step

    return plant


def with_runs(change: Callable[[Run], Run]) -> JourneyFault:
    """The step leaves every run changed."""
    return lambda step: left(runs=tuple(map(change, step.after.runs)))(step)


def finished(run: Run) -> Run:
    """The run, completed."""
    return run._replace(state=WorkflowRunState.COMPLETED)


def without_news(step: JourneyStep) -> JourneyStep:
    """The step leaves every reservation as it was."""
    return left(transmissions=step.before.transmissions)(step)


def one_more_reservation(step: JourneyStep) -> JourneyStep:
    """The step records its last reservation twice."""
    return left(transmissions=(*step.after.transmissions, *step.after.transmissions[-1:]))(step)


def all_sent(step: JourneyStep) -> JourneyStep:
    """The step makes everything reserved transmitted."""
    sent = tuple(
        record._replace(state=ReservationState.TRANSMITTED)
        if record.state is not ReservationState.TRANSMITTED
        else record
        for record in step.after.transmissions
    )
    return left(transmissions=sent)(step)


# Of whole worlds


def forgotten(step: WorldStep) -> WorldStep:
    """The step loses every journey."""
    return replace(step, after=replace(step.after, journeys=()))


def created_anyway(step: WorldStep) -> WorldStep:
    """The step adds a journey that nobody asked for."""
    added = Journey(terms=example.terms(deadline=1), request_hash="", state=State())
    return replace(step, after=replace(step.after, journeys=(*step.after.journeys, added)))


def created_twice(step: WorldStep) -> WorldStep:
    """The step adds its journey twice, under one name."""
    journeys = step.after.journeys
    return replace(step, after=replace(step.after, journeys=(*journeys, journeys[-1])))


_SOMETHING = SnapshotRequest(
    access=ExecutionAccess(
        schema_version="wayproof.journey.execution_access.v1", tenant_id="t", owner_id="o"
    ),
    journey_id="j",
)


def let_through(step: WorldStep) -> WorldStep:
    """Decoding takes a request that it should refuse, and it is answered."""
    return replace(step, request=step.request or _SOMETHING, reply=Answered(None))


def turned_away(code: RefusalCode) -> WorldFault:
    """The request is refused with that code, and nothing is changed."""
    return lambda step: replace(step, reply=Refusal(code), after=step.before)


def undecoded(step: WorldStep) -> WorldStep:
    """Decoding refuses a request that is well formed."""
    refusal = Refusal(RefusalCode.INVALID_REQUEST)
    return replace(step, request=None, reply=refusal, after=step.before)


def told(detail: dict[str, Any]) -> WorldFault:
    """The refusal carries another detail."""

    def plant(step: WorldStep) -> WorldStep:
        assert step.code is not None
        return replace(step, reply=Refusal(step.code, detail))

    return plant


def answered(**fields: Any) -> WorldFault:
    """The record answered has other fields, if it has such fields."""

    def plant(step: WorldStep) -> WorldStep:
        if not all(hasattr(step.answer, name) for name in fields):
            return step
        return replace(step, reply=Answered(replace(step.answer, **fields)))

    return plant


def with_terms(change: Callable[[Terms], Terms]) -> WorldFault:
    """The step leaves every journey with other terms."""
    return _with_journeys(lambda journey: replace(journey, terms=change(journey.terms)))


def with_states(change: Callable[[State], State]) -> WorldFault:
    """The step leaves every journey in another state."""
    return _with_journeys(lambda journey: replace(journey, state=change(journey.state)))


def _with_journeys(change: Callable[[Journey], Journey]) -> WorldFault:
    return lambda step: replace(
        step, after=replace(step.after, journeys=tuple(map(change, step.after.journeys)))
    )


def renamed_runs(step: WorldStep) -> WorldStep:
    """The step gives every run one and the same id."""
    return with_states(
        lambda state: state._replace(
            runs=tuple(run._replace(workflow_run_id="run") for run in state.runs)
        )
    )(step)
