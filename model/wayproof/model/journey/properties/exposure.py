"""What reservation records add up to, recomputed from the records alone.

Independent of the model's running totals: one pass over all records for each question, by the
definition of a group's exposure. Slow, plain, and used wherever a property needs a total.
"""

from collections.abc import Iterable
from typing import NamedTuple

from wayproof.model.journey.state import Transmission
from wayproof.spec.journey.vocabulary import MAXIMUM_INTEGER, Idempotency, ReservationState


class Exposure(NamedTuple):
    """Token totals, each counting an authoritative group once."""

    reconciled: int
    conservative: int
    outstanding: int

    @property
    def total(self) -> int:
        """All that counts against the ceiling."""
        return self.reconciled + self.conservative + self.outstanding


def stands_for(record: Transmission) -> int:
    """What one transmission stands for, seen alone."""
    if record.state is ReservationState.RELEASED_UNTRANSMITTED:
        return 0
    if record.state is ReservationState.RECONCILED:
        assert record.actual_tokens is not None
        return record.actual_tokens
    return record.reserved_tokens


def groups(records: Iterable[Transmission]) -> list[list[Transmission]]:
    """The records, parted into authoritative groups and groups of one, in order."""
    parted: dict[tuple[str, str], list[Transmission]] = {}
    for record in records:
        if record.idempotency is Idempotency.AUTHORITATIVE:
            key = ("group", record.invocation_id)
        else:
            key = ("single", record.transmission_id)
        parted.setdefault(key, []).append(record)
    return list(parted.values())


def exposure_of(records: Iterable[Transmission]) -> Exposure:
    """The exposure of all groups of some records: each the greatest of what its members stand
    for, counted first as reconciled, then as conservative, then as outstanding."""
    reconciled = conservative = outstanding = 0
    for group in groups(records):
        known = certain = every = 0
        for record in group:
            amount = stands_for(record)
            every = max(every, amount)
            if record.state is ReservationState.RECONCILED:
                known = max(known, amount)
            if record.state not in (ReservationState.RESERVED, ReservationState.TRANSMITTED):
                certain = max(certain, amount)
        reconciled += known
        conservative += certain - known
        outstanding += every - certain
    return Exposure(reconciled, conservative, outstanding)


def estimate_of(records: Iterable[Transmission]) -> int:
    """The prompt estimates of all records, each once; it stops at the greatest integer."""
    return min(sum(record.estimated_prompt_tokens for record in records), MAXIMUM_INTEGER)
