"""Contracts on usage and what it adds up to (clauses ``usage-``)."""

from wayproof.model.journey.properties.contract import JourneyStep, journey_contract
from wayproof.model.journey.properties.exposure import estimate_of, exposure_of
from wayproof.model.journey.properties.settle import accounting_of
from wayproof.model.journey.properties.situation import (
    SENT,
    accounting_is_open,
    changed_transmissions,
    closes_accounting,
    is_terminal,
    named,
    named_after,
    settles,
    token_is_right,
    usage_of,
)
from wayproof.model.journey.properties.standing import (
    EXPIRED,
    RECONCILED,
    evidence_of,
    left_evidence,
    same_but_state,
)
from wayproof.model.journey.state import State
from wayproof.spec.journey.records import JourneySettledResult, JourneySnapshot
from wayproof.spec.journey.requests import (
    ReportAmbiguityRequest,
    ReportResponseRequest,
    ReportUnsentRequest,
)
from wayproof.spec.journey.vocabulary import (
    AccountingStatus,
    DiscrepancyKind,
    ReservationState,
)


@journey_contract("usage-01")
def estimates_are_summed_and_never_fall(step: JourneyStep) -> bool | None:
    """At stake when a reservation is granted or changes."""
    if not changed_transmissions(step):
        return None
    return step.after.estimated == estimate_of(step.after.transmissions)


def _states(state: State) -> list[ReservationState]:
    return [record.state for record in state.transmissions]


@journey_contract("usage-02")
def outstanding_and_charged_are_summed(step: JourneyStep) -> bool | None:
    """At stake when a reservation changes its state or is granted."""
    if not changed_transmissions(step) or _states(step.before) == _states(step.after):
        return None
    expected = exposure_of(step.after.transmissions)
    totals = step.after.totals
    return (totals.reserved, totals.conservative) == (expected.outstanding, expected.conservative)


@journey_contract("usage-03")
def own_first_report_is_observed_once(step: JourneyStep) -> bool | None:
    """At stake when a response states a number."""
    usage = usage_of(step)
    if usage is None:
        return None
    first = settles(step) is not None
    return step.after.observed == step.before.observed + (usage if first else 0)


@journey_contract("usage-04")
def reconciled_usage_is_summed(step: JourneyStep) -> bool | None:
    """At stake when a reservation becomes reconciled, and when committed tokens are read."""
    if isinstance(step.answer, JourneySnapshot | JourneySettledResult):
        tokens = step.answer.tokens
        committed = tokens.reconciled_tokens + tokens.conservatively_committed_tokens
        if not step.before.transmissions:
            return None
        return tokens.committed_token_exposure == committed
    if not changed_transmissions(step):
        return None
    if _states(step.before).count(RECONCILED) == _states(step.after).count(RECONCILED):
        return None
    return step.after.totals.reconciled == exposure_of(step.after.transmissions).reconciled


@journey_contract("usage-05")
def every_number_in_range_reconciles(step: JourneyStep) -> bool | None:
    """At stake when a response with a well-formed number reaches a sent transmission while
    accounting is open."""
    if not isinstance(step.request, ReportResponseRequest):
        return None
    record, usage = named(step), settles(step)
    if record is None or usage is None:
        return None
    return named_after(step) == record._replace(state=RECONCILED, actual_tokens=usage)


@journey_contract("usage-06")
def malformed_usage_is_never_zero(step: JourneyStep) -> bool | None:
    """At stake when a response without well-formed usage reaches a sent transmission."""
    record = named(step)
    if not isinstance(step.request, ReportResponseRequest) or record is None:
        return None
    if record.state not in SENT or usage_of(step) is not None:
        return None
    return (
        same_but_state(record, named_after(step), EXPIRED)
        and exposure_of(step.after.transmissions) == tuple(step.after.totals)
        and step.after.observed == step.before.observed
        and left_evidence(step, record, DiscrepancyKind.MALFORMED_USAGE, None)
    )


@journey_contract("usage-07")
def first_report_stands(step: JourneyStep) -> bool | None:
    """At stake when a reconciled transmission is reported again, with a number."""
    record = named(step)
    if record is None or record.state is not RECONCILED:
        return None
    evidence = evidence_of(step)
    if isinstance(step.request, ReportResponseRequest):
        if usage_of(step) is None:
            return None
    elif not isinstance(step.request, ReportUnsentRequest) or not token_is_right(step):
        return None
    if named_after(step) != record or step.after.observed != step.before.observed:
        return False
    if evidence is None:
        return step.after.discrepancies == step.before.discrepancies
    return left_evidence(step, record, *evidence)


@journey_contract("usage-08")
def one_discrepancy_of_a_kind(step: JourneyStep) -> bool | None:
    """At stake when a report is evidence of a kind that its transmission already has."""
    if not step.before.discrepancies:
        return None
    record, evidence = named(step), evidence_of(step)
    if record is None or evidence is None:
        return None
    known = [(d.transmission_id, d.kind) for d in step.before.discrepancies]
    if (record.transmission_id, evidence[0]) not in known:
        return None
    return step.after.discrepancies == step.before.discrepancies


@journey_contract("usage-09")
def late_usage_is_reconciled_while_pending(step: JourneyStep) -> bool | None:
    """At stake when usage reaches a sent transmission of a terminal journey in time."""
    record, usage = named(step), settles(step)
    if record is None or usage is None or not is_terminal(step.before):
        return None
    after = named_after(step)
    return (
        after == record._replace(state=RECONCILED, actual_tokens=usage)
        and exposure_of(step.after.transmissions) == tuple(step.after.totals)
        and step.after.lifecycle is step.before.lifecycle
    )


@journey_contract("usage-10")
def usage_after_the_end_of_accounting_is_evidence(step: JourneyStep) -> bool | None:
    """At stake when a report of usage, or of none, finds accounting final."""
    record, before, after = named(step), step.before, step.after
    if record is None or isinstance(step.request, ReportAmbiguityRequest):
        return None
    if not isinstance(step.request, ReportResponseRequest | ReportUnsentRequest):
        return None
    if accounting_is_open(step) or not token_is_right(step):
        return None
    evidence = evidence_of(step)
    if evidence is None:
        kept = after.discrepancies == before.discrepancies
    else:
        kept = left_evidence(step, record, *evidence)
    if before.accounting is AccountingStatus.PENDING:
        return kept and closes_accounting(step) and after.observed == before.observed
    return (
        kept
        and accounting_of(after) == accounting_of(before)
        and after.transmissions == before.transmissions
        and (after.totals, after.observed, after.estimated)
        == (before.totals, before.observed, before.estimated)
    )
