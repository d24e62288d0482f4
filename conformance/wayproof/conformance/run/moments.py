"""When what is new on a record can have been committed.

A vector says which states are allowed, not which of them belong together; so this is checked of
what the backend itself showed before: a moment of a commit that was not shown then lies between
that look and this one.
"""

from collections.abc import Mapping
from typing import Final

from wayproof.conformance.run.exchange import Mismatch
from wayproof.conformance.vectors.format import JsonValue
from wayproof.spec.journey.constraints import format_moment, from_milliseconds

COMMIT_MOMENTS: Final = {
    "created_at": ("observe-03",),
    "started_at": ("observe-03",),
    "finished_at": ("observe-03",),
    "settled_at": ("observe-03",),
    "cancellation_requested_at": ("observe-06",),
    "recorded_at": ("usage-08",),
}
"""The fields that say when something was committed, and the clauses that want them."""

Moments = Mapping[tuple[str, str], str]
"""Each moment of a commit that a projection shows, by the record and the field."""


def committed_moments(projection: Mapping[str, JsonValue]) -> Moments:
    """Those of one journey. What only repeats them, as the outcome does, is left out."""
    records = {
        "snapshot": projection["snapshot"],
        **{run["workflow_run_id"]: run for run in projection["workflow_runs"]},
        **{f"reservation {one['ordinal']}": one for one in projection["reservations"]},
        **{f"discrepancy {one['ordinal']}": one for one in projection["discrepancies"]},
        **{f"intent {one['ordinal']}": one for one in projection.get("dispatch_intents", ())},
    }
    return {
        (name, field): record[field]
        for name, record in records.items()
        for field in COMMIT_MOMENTS
        if record.get(field) is not None
    }


def check_moments(before: Moments, after: Moments, since: int, now: int) -> None:
    """Check every moment that is shown for the first time; ``since`` and ``now`` are when the
    projections were read.

    Raises:
        Mismatch: if one lies before ``since`` or after ``now``.
    """
    first, last = (format_moment(from_milliseconds(moment)) for moment in (since, now))
    for (record, field), moment in after.items():
        if (record, field) not in before and not first <= moment <= last:
            expected = {"record": record, field: {"at_least": first, "at_most": last}}
            observed = {"record": record, field: moment}
            raise Mismatch("moment", expected, observed, COMMIT_MOMENTS[field])
