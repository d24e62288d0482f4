"""Contracts of compatibility: every public record says which schema it follows."""

from typing import Final

from wayproof.model.journey.properties.contract import JourneyStep, journey_contract
from wayproof.spec.journey import records

_VERSIONS: Final[dict[type, str]] = {
    records.JourneySnapshot: "wayproof.journey.snapshot.v1",
    records.WorkflowRunSnapshot: "wayproof.journey.workflow_run_snapshot.v1",
    records.JourneyExecutionOutcome: "wayproof.journey.execution_outcome.v1",
    records.JourneySettledResult: "wayproof.journey.settled_result.v1",
    records.ReservationRecord: "wayproof.journey.reservation.v1",
    records.DiscrepancyRecord: "wayproof.journey.discrepancy.v1",
}


@journey_contract("compat-01")
def records_carry_their_version(step: JourneyStep) -> bool | None:
    """Each record that is answered, listed ones included, names its own schema."""
    match step.answer:
        case records.WorkflowRunListing(workflow_runs=shown):
            answered: tuple[object, ...] = shown
        case records.ReservationListing(reservations=shown):
            answered = shown
        case records.DiscrepancyListing(discrepancies=shown):
            answered = shown
        case records.DispatchIntentListing(dispatch_intents=shown):
            answered = shown
        case records.JourneySettledResult(outcome=outcome) as result:
            answered = (result, outcome)
        case other:
            answered = (other,)
    versioned = [record for record in answered if type(record) in _VERSIONS]
    if not versioned:
        return None
    return all(
        getattr(record, "schema_version", None) == _VERSIONS[type(record)] for record in versioned
    )
