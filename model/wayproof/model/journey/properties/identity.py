"""Contracts of identity: who makes which id, and that each names one thing."""

from collections.abc import Iterator
from typing import Final

from wayproof.model.journey.properties.contract import (
    JourneyStep,
    WorldStep,
    journey_contract,
    world_contract,
)
from wayproof.model.journey.properties.forms import faults
from wayproof.model.journey.properties.situation import is_newly_granted, named, settles
from wayproof.model.journey.properties.starting import only_fault, refused_as_malformed
from wayproof.model.journey.state import Transmission
from wayproof.model.journey.world import World
from wayproof.spec.journey import requests
from wayproof.spec.journey.encoding import encode
from wayproof.spec.journey.records import ReservationListing
from wayproof.spec.journey.refusals import RefusalCode
from wayproof.spec.journey.vocabulary import Idempotency, ReservationState

_PROPOSALS: Final = {
    "start": frozenset({"/journey_id", "/workflow_run_id"}),
    "begin_journey": frozenset({"/workflow_run_id", "/workflow_run_ids"}),
    "start_workflow_run": frozenset({"/workflow_run_id", "/workflow_run_ids"}),
    "finish_workflow_run": frozenset({"/next_workflow_run_ids"}),
    "submit_input": frozenset({"/next_workflow_run_ids"}),
    "request_input": frozenset({"/input_request_id"}),
}
"""Where a request would propose an id for what it makes."""


@world_contract("identity-01")
def proposed_id_is_refused(step: WorldStep) -> bool | None:
    """A start that proposes a journey's id, or a run start that proposes a run's, is refused."""
    proposals = _PROPOSALS.get(step.operation)
    if proposals is None or not only_fault(
        step, lambda fault: fault.kind == "unknown" and fault.pointer in proposals
    ):
        return None
    return refused_as_malformed(step)


def _made(world: World) -> Iterator[str]:
    """Every id that the server made."""
    for journey in world.journeys:
        yield journey.terms.journey_id
        for run in journey.state.runs:
            yield run.workflow_run_id


@world_contract("identity-02")
def made_ids_are_unique(step: WorldStep) -> bool | None:
    """An id that is made while there are others equals none of them, of whatever tenant."""
    if step.code is not None or step.operation not in (
        "start",
        "begin_journey",
        "start_workflow_run",
        "finish_workflow_run",
        "submit_input",
    ):
        return None
    before, after = list(_made(step.before)), list(_made(step.after))
    if not before or len(after) == len(before):
        return None
    return len(set(after)) == len(after) and set(before) < set(after)


@world_contract("identity-02")
def ids_survive_restart(step: WorldStep) -> bool | None:
    """The ids of journeys and runs are the same after a restart."""
    if step.operation != "restart" or not step.before.journeys:
        return None
    return list(_made(step.before)) == list(_made(step.after))


@world_contract("identity-03")
def other_id_names_no_journey(step: WorldStep) -> bool | None:
    """A run id, idempotency key or sequence id in place of a journey_id names no journey."""
    request = step.request
    if not isinstance(request, requests.JourneyRequest):
        return None
    named_id = request.journey_id
    if step.before.find(named_id) is not None or not _names_something_else(step.before, named_id):
        return None
    return step.code is RefusalCode.JOURNEY_NOT_FOUND and step.after == step.before


def _names_something_else(world: World, named_id: str) -> bool:
    return (
        named_id in _made(world)
        or any(named_id == journey.terms.idempotency_key for journey in world.journeys)
        or any(named_id == sequence.id for sequence in world.registry.workflow_sequences)
    )


@world_contract("identity-04")
def other_name_of_an_identity_is_refused(step: WorldStep) -> bool | None:
    """A request that calls its sequence or journey by another name is refused."""
    if not isinstance(step.arguments, dict):
        return None
    name = "workflow_sequence_id" if step.operation == "start" else "journey_id"
    if name in step.arguments:
        return None
    found = sorted((fault.kind, fault.pointer) for fault in faults(step.operation, step.arguments))
    if [kind for kind, _ in found] != ["missing", "unknown"] or found[0][1] != f"/{name}":
        return None
    return refused_as_malformed(step)


@journey_contract("identity-04")
def records_use_the_one_name(step: JourneyStep) -> bool | None:
    """A snapshot names journey and sequence, a reservation its invocation, each as they were
    given."""
    terms = step.terms
    if isinstance(step.request, requests.SnapshotRequest) and step.code is None:
        shown = encode(step.answer)
        return isinstance(shown, dict) and (
            shown.get("journey_id"),
            shown.get("workflow_sequence_id"),
        ) == (terms.journey_id, terms.definition.sequence.id)
    if isinstance(step.answer, ReservationListing) and step.answer.reservations:
        recorded = {r.transmission_id: r.invocation_id for r in step.before.transmissions}
        return all(
            (r.journey_id, r.invocation_id) == (terms.journey_id, recorded.get(r.transmission_id))
            for r in step.answer.reservations
        )
    return None


@journey_contract("identity-05")
def reservation_records_its_ids(step: JourneyStep) -> bool | None:
    """A granted reservation is recorded under the ids of its one transmission and one call."""
    request = step.request
    if not isinstance(request, requests.ReserveRequest) or not is_newly_granted(step):
        return None
    return [
        (record.invocation_id, record.workflow_run_id)
        for record in step.after.transmissions
        if record.transmission_id == request.transmission_id
    ] == [(request.invocation_id, request.workflow_run_id)]


@journey_contract("identity-05")
def known_id_names_nothing_new(step: JourneyStep) -> bool | None:
    """A transmission that is known is not recorded again, and a call of one run, or of one
    promise of the provider, is never that of another."""
    request = step.request
    if not isinstance(request, requests.ReserveRequest):
        return None
    known = any(
        record.transmission_id == request.transmission_id
        or (
            record.invocation_id == request.invocation_id
            and (record.workflow_run_id, record.idempotency)
            != (request.workflow_run_id, request.idempotency)
        )
        for record in step.before.transmissions
    )
    if not known:
        return None
    return step.after.transmissions == step.before.transmissions


@journey_contract("identity-06")
def equal_reports_count_for_each_transmission(step: JourneyStep) -> bool | None:
    """Usage that another transmission reported too counts once more for this one."""
    record, usage = named(step), settles(step)
    if (
        record is None
        or not usage
        or record.idempotency is not Idempotency.NONE
        or not any(_is_reconciled_with(other, usage) for other in step.before.transmissions)
    ):
        return None
    return step.after.observed == step.before.observed + usage and (
        step.after.totals.reconciled == step.before.totals.reconciled + usage
    )


def _is_reconciled_with(record: Transmission, usage: int) -> bool:
    return record.state is ReservationState.RECONCILED and record.actual_tokens == usage


@journey_contract("identity-06")
def repeated_report_counts_once(step: JourneyStep) -> bool | None:
    """Usage that this transmission reported before does not count again."""
    request, record = step.request, named(step)
    if not isinstance(request, requests.ReportResponseRequest) or record is None:
        return None
    usage = request.usage
    if type(usage) is not int or usage == 0 or not _is_reconciled_with(record, usage):
        return None
    return (step.after.observed, step.after.totals.reconciled) == (
        step.before.observed,
        step.before.totals.reconciled,
    )
