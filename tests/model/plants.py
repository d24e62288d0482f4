"""Faults of reservations, totals, counters, runs and leases: how a right step is made wrong."""

from collections.abc import Callable
from typing import Any

from tests.model.faults import (
    JourneyFault,
    ends_as,
    left,
)

from wayproof.model.journey.properties.contract import JourneyStep
from wayproof.model.journey.state import Lease, Run, Transmission
from wayproof.spec.journey.vocabulary import (
    AccountingStatus,
    LifecycleState,
)


def records(**fields: Any) -> JourneyFault:
    """The step leaves every reservation with other fields."""
    return lambda step: _changed(step, lambda record: record._replace(**fields))


def named_record(**fields: Any) -> JourneyFault:
    """The step leaves the reservation that the request names with other fields."""

    def plant(step: JourneyStep) -> JourneyStep:
        name = getattr(step.request, "transmission_id", None)
        return _changed(step, lambda r: r._replace(**fields) if r.transmission_id == name else r)

    return plant


def other_records(**fields: Any) -> JourneyFault:
    """The step leaves every other reservation with other fields."""

    def plant(step: JourneyStep) -> JourneyStep:
        name = getattr(step.request, "transmission_id", None)
        return _changed(step, lambda r: r if r.transmission_id == name else r._replace(**fields))

    return plant


def _changed(step: JourneyStep, change: Callable[[Transmission], Transmission]) -> JourneyStep:
    return left(transmissions=tuple(map(change, step.after.transmissions)))(step)


def more_tokens(**amounts: int) -> JourneyFault:
    """The step leaves totals that are off by some amounts."""

    def plant(step: JourneyStep) -> JourneyStep:
        totals = step.after.totals
        return left(
            totals=totals._replace(**{n: getattr(totals, n) + a for n, a in amounts.items()})
        )(step)

    return plant


def stale_totals(step: JourneyStep) -> JourneyStep:
    """The step leaves the totals as they were."""
    return left(totals=step.before.totals)(step)


def without_evidence(step: JourneyStep) -> JourneyStep:
    """The step records no discrepancy."""
    return left(discrepancies=step.before.discrepancies)(step)


def other_evidence(step: JourneyStep) -> JourneyStep:
    """The step records what it records with another number."""
    changed = tuple(
        d if d in step.before.discrepancies else d._replace(reported_tokens=77)
        for d in step.after.discrepancies
    )
    return left(discrepancies=changed)(step)


def repeated_evidence(step: JourneyStep) -> JourneyStep:
    """The step records its last discrepancy again."""
    found = step.after.discrepancies
    return left(discrepancies=(*found, *found[-1:]))(step)


def reserved_after_all(step: JourneyStep) -> JourneyStep:
    """The refused request leaves a reservation: the last one again, under its name."""
    name = getattr(step.request, "transmission_id", "other")
    added = tuple(r._replace(transmission_id=name) for r in step.before.transmissions[-1:])
    return left(transmissions=(*step.before.transmissions, *added))(step)


def without_record(step: JourneyStep) -> JourneyStep:
    """The step loses its last reservation."""
    return left(transmissions=step.after.transmissions[:-1])(step)


def observed_twice(step: JourneyStep) -> JourneyStep:
    """The step observes once more, or at all, what is reported."""
    usage = getattr(step.request, "usage", 1) or 1
    return left(observed=step.after.observed + usage)(step)


def settled(status: AccountingStatus) -> JourneyFault:
    """The step makes accounting final."""

    def plant(step: JourneyStep) -> JourneyStep:
        return left(accounting=status, settled_at=step.now, settled_discrepancies=0)(step)

    return plant


still_pending = left(
    accounting=AccountingStatus.PENDING, settled_at=None, settled_discrepancies=None
)


def regranted(step: JourneyStep) -> JourneyStep:
    """The step grants one lease more, for a long time."""
    lease = step.before.lease
    return left(lease=Lease(1 if lease is None else lease.fencing_token + 1, 10**9))(step)


def forgotten_lease(step: JourneyStep) -> JourneyStep:
    """The step leaves the lease as it was."""
    return left(lease=step.before.lease)(step)


def extra_run(step: JourneyStep) -> JourneyStep:
    """The step starts one run more: the last one again."""
    return left(runs=(*step.after.runs, *step.after.runs[-1:]))(step)


def reordered(step: JourneyStep) -> JourneyStep:
    """The step leaves its runs in another order."""
    return left(runs=step.after.runs[::-1])(step)


def new_run(**fields: Any) -> JourneyFault:
    """The step starts its last run with other fields."""

    def plant(step: JourneyStep) -> JourneyStep:
        *others, last = step.after.runs
        return left(runs=(*others, last._replace(**fields)))(step)

    return plant


def uncounted(step: JourneyStep) -> JourneyStep:
    """The step claims nothing."""
    return left(counters=step.before.counters)(step)


def refunded(step: JourneyStep) -> JourneyStep:
    """The step gives claims back."""
    return left(counters=tuple(max(0, count - 1) for count in step.after.counters))(step)


def half_claimed(step: JourneyStep) -> JourneyStep:
    """The step claims the first of its counters alone."""
    counters = list(step.before.counters)
    for place, (before, after) in enumerate(
        zip(step.before.counters, step.after.counters, strict=True)
    ):
        if before != after:
            counters[place] = after
            break
    else:
        counters[0] += 1
    return left(counters=tuple(counters))(step)


def both(first: JourneyFault, second: JourneyFault) -> JourneyFault:
    """Two faults that make one."""
    return lambda step: second(first(step))


def without_parent(run: Run) -> Run:
    """The run, as if nothing had spawned it."""
    return run._replace(parent_workflow_run_id=None)


def under_another_parent(run: Run) -> Run:
    """The run, as if an unknown run had spawned it."""
    return run._replace(parent_workflow_run_id="run-9")


def ended_otherwise(step: JourneyStep) -> JourneyStep:
    """The step ends the journey as failed, as if for what it reports."""
    return ends_as(LifecycleState.FAILED, "workflow_failed")(step)


over_budget = ends_as(LifecycleState.BUDGET_EXCEEDED, "token_budget_exhausted")
