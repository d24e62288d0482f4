"""The journey-wide counters."""

from collections.abc import Mapping

from wayproof.impl.journey.ending import end_and_refuse
from wayproof.impl.journey.transaction import Transaction
from wayproof.spec.journey.vocabulary import (
    COUNTER_EXHAUSTION_REASONS,
    COUNTER_POLICY_FIELDS,
    Counter,
    LifecycleState,
)


def require_room(tx: Transaction, wanted: Mapping[Counter, int]) -> None:
    """End the journey unless every counter has room for what is wanted, in policy order.

    Raises:
        Refusal: with the reason of the first counter that is exhausted.
    """
    for counter in Counter:
        if counter in wanted:
            limit = getattr(tx.row, COUNTER_POLICY_FIELDS[counter])
            if limit is not None and getattr(tx.row, counter.value) + wanted[counter] > limit:
                end_and_refuse(
                    tx, LifecycleState.BUDGET_EXCEEDED, COUNTER_EXHAUSTION_REASONS[counter]
                )


def claims(wanted: Mapping[Counter, int]) -> str:
    """The assignments that claim them; the table's checks hold every counter to its limit."""
    return ", ".join(f"{counter.value} = {counter.value} + {n}" for counter, n in wanted.items())
