"""The canonical public projection: everything that the reads of a world show, and no more.

For each journey that has a name, by name::

    {"J": {"snapshot": {...}, "workflow_runs": [...], "outcome": {...} | null,
           "settled": {...} | null, "reservations": [...], "discrepancies": [...]}}

and, where durable_dispatch is required, ``"dispatch_intents": [...]``; read by the access that
created it. Identities are names and record versions are left out (:meth:`Names.abstract`); both are
checked here by what the contract does promise of them: the order of runs, and versions that fit
together.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from wayproof.conformance.protocol.backend import World
from wayproof.conformance.run.exchange import (
    Answered,
    Declined,
    Mismatch,
    StoreUnavailable,
    ask,
)
from wayproof.conformance.run.names import NamedJourney, Names
from wayproof.conformance.vectors.format import JsonValue
from wayproof.spec.journey.records import WorkflowRunListing
from wayproof.spec.journey.refusals import RefusalCode

PAGE: Final = 100
"""How many records are asked for at once."""

READS: Final = frozenset(
    {
        "snapshot",
        "list_workflow_runs",
        "terminal_outcome",
        "settled_result",
        "list_reservations",
        "list_discrepancies",
    }
)
"""The operations that every projection is made of."""

OUTBOX: Final = ("durable_dispatch", "list_dispatch_intents", "dispatch_intents")
"""A capability, the read that is made where it is required, and the field that it fills."""


Created = Mapping[str, Sequence[int]]
"""The version at which each record of a list was created, by the field that holds the list."""

CREATED: Final = ("reservations", "dispatch_intents")
"""The lists whose records say it. Of reservations no two are of one version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What the reads show at one moment."""

    projection: dict[str, JsonValue]
    versions: Mapping[str, int]
    """The record version of each journey, by its id."""
    created: Mapping[str, Created]
    """What says at which version it was created, by the id of the journey."""


def observe(world: World, names: Names, requires: Collection[str] = ()) -> Observation:
    """Read every named journey of a world, with what these required capabilities show.

    Raises:
        HarnessFault: if the adapter breaks.
        StoreUnavailable: if a read is refused because of the store.
        Mismatch: if one is refused otherwise, or answers what the contract never allows.
    """
    projection: dict[str, JsonValue] = {}
    versions: dict[str, int] = {}
    created: dict[str, Created] = {}
    for journey in names.journeys:
        shown = _read_journey(world, journey, requires)
        versions[journey.journey_id] = shown["snapshot"]["record_version"]
        created[journey.journey_id] = {
            field: [record["created_version"] for record in shown[field]]
            for field in CREATED
            if field in shown
        }
        projection[journey.name] = names.abstract(shown, journey.journey_id)
    return Observation(projection=projection, versions=versions, created=created)


def versions_now(world: World, names: Names) -> dict[str, int]:
    """The record version of each named journey, by its id."""
    return {
        journey.journey_id: _read(world, journey, "snapshot").value["record_version"]
        for journey in names.journeys
    }


def check_run_order(listing: WorkflowRunListing) -> None:
    """Check that runs stand in the contract's order.

    Raises:
        Mismatch: if they do not.
    """
    runs = [
        (run.sequence_position, run.member_ordinal, run.created_at, run.workflow_run_id)
        for run in listing.workflow_runs
    ]
    if runs != sorted(runs):
        raise Mismatch(
            "order",
            [run[-1] for run in sorted(runs)],
            [run[-1] for run in runs],
            ("observe-10",),
        )


def _read_journey(
    world: World, journey: NamedJourney, requires: Collection[str]
) -> dict[str, JsonValue]:
    snapshot = _read(world, journey, "snapshot").value
    listing = _read(world, journey, "list_workflow_runs")
    check_run_order(listing.record)
    runs = listing.value["workflow_runs"]
    outcome = _read(world, journey, "terminal_outcome").value
    if outcome is not None:
        listed = [run["workflow_run_id"] for run in runs]
        ended = [run["workflow_run_id"] for run in outcome["workflow_runs"]]
        if listed != ended:
            raise Mismatch("order", listed, ended, ("observe-11",))
    reservations = _read_pages(world, journey, "list_reservations", "reservations")
    capability, read, field = OUTBOX
    intents = _read_pages(world, journey, read, field) if capability in requires else None
    _check_versions(snapshot, listing.value, reservations, intents or [])
    return {
        **({} if intents is None else {field: intents}),
        "snapshot": snapshot,
        "workflow_runs": runs,
        "outcome": outcome,
        "settled": _read(world, journey, "settled_result").value,
        "reservations": reservations,
        "discrepancies": _read_pages(world, journey, "list_discrepancies", "discrepancies"),
    }


def _read(world: World, journey: NamedJourney, operation: str, **paging: int) -> Answered:
    arguments = {"access": journey.access, "journey_id": journey.journey_id, **paging}
    reply = ask(world, operation, arguments)
    if isinstance(reply, Declined) and reply.code == RefusalCode.PERSISTENCE_UNAVAILABLE:
        raise StoreUnavailable(f"{operation} found the store unavailable")
    if not isinstance(reply, Answered):
        raise Mismatch("read", f"an answer to {operation}", reply.code)
    return reply


def _read_pages(world: World, journey: NamedJourney, operation: str, field: str) -> list[JsonValue]:
    records: list[JsonValue] = []
    while True:
        after = records[-1]["ordinal"] if records else 0
        page = _read(world, journey, operation, after=after, limit=PAGE).value[field]
        ordinals = [after, *(record["ordinal"] for record in page)]
        if len(page) > PAGE or any(b <= a for a, b in pairwise(ordinals)):
            raise Mismatch("order", f"at most {PAGE} ordinals that rise from {after}", ordinals)
        records += page
        if len(page) < PAGE:
            return records


def _check_versions(
    snapshot: JsonValue,
    listing: JsonValue,
    reservations: list[JsonValue],
    intents: list[JsonValue],
) -> None:
    """A later read never shows an earlier version, nor a record that is of the future."""
    version = snapshot["record_version"]
    if listing["record_version"] < version:
        raise Mismatch("version", f"at least {version}", listing["record_version"], ("observe-12",))
    created = [record["created_version"] for record in reservations]
    rising = all(a < b for a, b in pairwise(created))
    if created and not (rising and created[-1] <= listing["record_version"]):
        raise Mismatch(
            "version", f"created_version rising up to {version}", created, ("observe-12",)
        )
    recorded = [record["created_version"] for record in intents]
    if recorded != sorted(recorded) or any(at > listing["record_version"] for at in recorded):
        raise Mismatch(
            "version", f"created_version never falling, up to {version}", recorded, ("observe-12",)
        )
