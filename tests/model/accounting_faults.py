"""For every contract on reservations, totals, counters, runs and leases, the faults that it must
find."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from tests.model.faults import (
    JourneyFault,
    WorldFault,
    answers_with,
    carried_out,
    declined,
    ends_as,
    left,
    recounted,
    shown,
    untouched,
    unversioned,
    with_runs,
    with_states,
    without_news,
)

from wayproof.model.journey.properties.contract import JourneyStep, WorldStep
from wayproof.model.journey.state import Lease, Run, State, Transmission
from wayproof.model.journey.transition import Answered
from wayproof.spec.journey.constraints import LATEST_MOMENT
from wayproof.spec.journey.refusals import RefusalCode
from wayproof.spec.journey.vocabulary import (
    AccountingStatus,
    LifecycleState,
    ReservationState,
    WorkflowRunPurpose,
    WorkflowRunState,
)

S = LifecycleState
A = AccountingStatus
R = ReservationState
C = RefusalCode


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


def _without_parent(run: Run) -> Run:
    return run._replace(parent_workflow_run_id=None)


def _of_a_parent(run: Run) -> Run:
    return run._replace(parent_workflow_run_id="run-9")


def ended_otherwise(step: JourneyStep) -> JourneyStep:
    """The step ends the journey as failed, as if for what it reports."""
    return ends_as(S.FAILED, "workflow_failed")(step)


over_budget = ends_as(S.BUDGET_EXCEEDED, "token_budget_exhausted")

NOT_STARTED: Final = (uncounted, recounted)

ACCOUNTING_FAULTS: Final[dict[str, tuple[JourneyFault, ...]]] = {
    # ambiguity
    "settled_predecessor_permits_a_successor": (declined(C.PREDECESSOR_UNRESOLVED),),
    "explicit_zero_permits_a_successor": (
        declined(C.PREDECESSOR_UNRESOLVED),
        named_record(state=R.RELEASED_UNTRANSMITTED),
        without_news,
    ),
    "response_without_usage_charges_and_permits_a_successor": (
        declined(C.PREDECESSOR_UNRESOLVED),
        named_record(state=R.RECONCILED, actual_tokens=0),
        over_budget,
        without_evidence,
        more_tokens(conservative=-1),
    ),
    "sibling_need_not_wait": (declined(C.PREDECESSOR_UNRESOLVED), without_record),
    "unresolved_predecessor_refuses_a_successor": (
        carried_out,
        reserved_after_all,
        ended_otherwise,
    ),
    "reported_ambiguity_fails_the_journey": (
        ends_as(S.RUNNING),
        ended_otherwise,
        named_record(state=R.TRANSMITTED),
    ),
    "lapsed_ordinary_transmission_fails_the_journey": (ends_as(S.RUNNING), ended_otherwise),
    "ambiguity_after_the_stop_changes_no_outcome": (
        ends_as(S.FAILED, "provider_transmission_ambiguous"),
        without_news,
    ),
    "ambiguous_journey_is_not_settled": (settled(A.SETTLED), still_pending),
    # ceiling
    "granted_exactly_within_the_ceiling": (
        carried_out,
        declined(C.TOKEN_BUDGET_EXHAUSTED),
        without_record,
        reserved_after_all,
    ),
    "ordinary_successor_asks_for_its_full_amount": (
        declined(C.TOKEN_BUDGET_EXHAUSTED),
        carried_out,
    ),
    "charge_is_replaced_in_one_commit": (
        stale_totals,
        unversioned,
        left(record_version=99),
        named_record(state=R.EXPIRED_CONSERVATIVELY, actual_tokens=None),
    ),
    "unused_part_is_free_again": (stale_totals, declined(C.TOKEN_BUDGET_EXHAUSTED)),
    "all_runs_and_workers_share_the_ceiling": (carried_out, reserved_after_all),
    "refused_reservation_ends_the_journey": (
        ends_as(S.RUNNING),
        declined(C.PREDECESSOR_UNRESOLVED),
        ended_otherwise,
        recounted,
    ),
    "lapsed_reservation_still_counts": (
        records(state=R.RELEASED_UNTRANSMITTED),
        declined(C.RESERVATION_LEASE_EXPIRED),
    ),
    "amount_is_prompt_plus_output": (
        shown(reserved_tokens=99),
        named_record(reserved_tokens=99),
    ),
    "no_estimate_no_reservation": (
        over_budget,
        ends_as(S.RUNNING),
        declined(C.INVALID_REQUEST),
    ),
    "overshoot_ends_a_running_journey": (
        ends_as(S.RUNNING),
        ended_otherwise,
        over_budget,
    ),
    "overshoot_counts_in_full": (
        named_record(actual_tokens=1),
        more_tokens(reconciled=-1),
        without_evidence,
        other_evidence,
    ),
    "overshoot_after_the_stop_changes_no_outcome": (over_budget,),
    "unmountable_boundary_fails_the_journey": (
        untouched,
        ended_otherwise,
        declined(C.TOKEN_RESERVATION_UNAVAILABLE),
    ),
    "every_transmission_counts": (stale_totals, left(estimated=0)),
    "successor_needs_its_own_reservation": (
        without_record,
        carried_out,
        declined(C.TOKEN_BUDGET_EXHAUSTED),
    ),
    # counter
    "workflow_run_starts_end_at_their_limit": (untouched, carried_out, recounted, extra_run),
    "task_attempts_end_at_their_limit": (untouched, carried_out, recounted),
    "provider_retries_end_at_their_limit": (
        untouched,
        carried_out,
        recounted,
        reserved_after_all,
        over_budget,
    ),
    "corrections_end_at_their_limit": (untouched, carried_out, recounted, over_budget),
    "repairs_end_at_their_limit": (untouched, carried_out, recounted, extra_run),
    "refinements_end_at_their_limit": (untouched, carried_out, recounted, extra_run),
    "last_claim_is_granted": (
        uncounted,
        declined(C.TASK_ATTEMPT_START_LIMIT_EXHAUSTED),
        carried_out,
        over_budget,
    ),
    "claims_of_all_runs_count_together": (*NOT_STARTED, untouched),
    "claims_stay_consumed": (refunded, uncounted),
    "repeated_claim_consumes_nothing": (recounted, carried_out, extra_run),
    "several_claims_are_one": (half_claimed, carried_out, uncounted),
    "child_run_is_a_run_start_too": (uncounted, half_claimed, recounted),
    "only_successors_are_retries": (uncounted, recounted),
    "correction_is_no_retry": (uncounted, recounted),
    # group
    "group_counts_at_its_maximum": (stale_totals, more_tokens(reserved=4)),
    "member_asks_for_its_increase_only": (
        declined(C.TOKEN_BUDGET_EXHAUSTED),
        more_tokens(reserved=6),
        carried_out,
    ),
    "expired_members_are_charged_once": (more_tokens(conservative=6), stale_totals),
    "group_is_attributed_in_order": (
        more_tokens(conservative=-1, reserved=1),
        more_tokens(reconciled=-1, conservative=1),
    ),
    "positive_usage_settles_the_sent_siblings": (
        other_records(state=R.TRANSMITTED, actual_tokens=None),
        other_records(actual_tokens=0),
        observed_twice,
        more_tokens(reconciled=1),
        both(without_news, stale_totals),
    ),
    "zero_settles_no_sibling": (other_records(state=R.RECONCILED, actual_tokens=0),),
    "ordinary_response_settles_itself_alone": (other_records(state=R.RECONCILED, actual_tokens=1),),
    "only_one_invocation_forms_a_group": (
        carried_out,
        declined(C.TOKEN_BUDGET_EXHAUSTED),
        other_records(state=R.RECONCILED, actual_tokens=1),
    ),
    "lapsed_member_does_not_end_the_journey": (
        ends_as(S.FAILED, "provider_transmission_ambiguous"),
    ),
    # lease
    "one_owner_at_a_time": (carried_out, regranted),
    "holder_extends_before_the_expiry_only": (
        forgotten_lease,
        regranted,
        shown(lease_expires_at=LATEST_MOMENT),
        carried_out,
    ),
    "expired_lease_is_granted_anew": (
        forgotten_lease,
        shown(fencing_token=1),
        declined(C.ORPHAN_RECOVERY_UNSAFE),
    ),
    "only_the_live_token_commands": (carried_out, regranted, declined(C.JOURNEY_TERMINAL)),
    "terminal_journey_grants_no_lease": (
        regranted,
        carried_out,
        ends_as(S.FAILED, "orphan_recovery_unsafe"),
    ),
    "cancelling_journey_grants_no_lease": (regranted, carried_out, ends_as(S.RUNNING)),
    "ambiguous_takeover_fails_the_journey": (
        regranted,
        carried_out,
        declined(C.ORPHAN_RECOVERY_UNSAFE),
        records(state=R.EXPIRED_CONSERVATIVELY),
        ends_as(S.RUNNING),
    ),
    "unproven_takeover_fails_the_journey": (
        regranted,
        carried_out,
        ends_as(S.RUNNING),
        records(state=R.RELEASED_UNTRANSMITTED),
    ),
    "safe_takeover_goes_on": (recounted, ended_otherwise, declined(C.ORPHAN_RECOVERY_UNSAFE)),
    # reservation
    "grant_adds_one_record": (
        without_record,
        left(transmissions=()),
        untouched,
        records(transmission_id="same"),
    ),
    "grant_is_recorded_whole": (
        named_record(state=R.TRANSMITTED),
        named_record(invocation_id="other"),
        named_record(reserved_tokens=1),
        named_record(fencing_token=9),
        named_record(lease_expires_at=1),
        named_record(created_version=1),
        unversioned,
    ),
    "owner_transmits_within_the_lease": (
        named_record(state=R.RESERVED),
        carried_out,
        declined(C.RESERVATION_LEASE_EXPIRED),
    ),
    "transmission_is_granted_once": (
        carried_out,
        named_record(state=R.TRANSMITTED, actual_tokens=9),
        declined(C.TRANSMISSION_CLOSED),
    ),
    "release_frees_the_amount": (
        stale_totals,
        named_record(state=R.RESERVED),
        carried_out,
    ),
    "usage_reconciles_a_transmitted_one": (
        named_record(actual_tokens=77),
        named_record(state=R.EXPIRED_CONSERVATIVELY),
        carried_out,
    ),
    "usage_reconciles_an_expired_one": (
        named_record(actual_tokens=77),
        without_news,
        carried_out,
    ),
    "lapsed_transmission_is_charged": (
        without_news,
        stale_totals,
        records(state=R.RELEASED_UNTRANSMITTED),
    ),
    "expired_is_only_ever_reconciled": (
        named_record(state=R.TRANSMITTED),
        named_record(state=R.RELEASED_UNTRANSMITTED),
        named_record(lease_expires_at=10**9),
    ),
    "transmitted_is_never_released": (
        named_record(state=R.RELEASED_UNTRANSMITTED, actual_tokens=None),
        named_record(state=R.TRANSMITTED, actual_tokens=None),
    ),
    "usage_of_a_reserved_one_is_evidence": (
        named_record(state=R.RECONCILED, actual_tokens=1),
        named_record(state=R.EXPIRED_CONSERVATIVELY),
        without_evidence,
        other_evidence,
    ),
    "closed_reservation_stays": (
        named_record(state=R.TRANSMITTED),
        named_record(actual_tokens=77),
        records(state=R.EXPIRED_CONSERVATIVELY),
        without_evidence,
    ),
    "repeated_claim_answers_the_record": (
        shown(reserved_tokens=99),
        declined(C.OPERATION_CONFLICT),
        more_tokens(reserved=1),
        recounted,
    ),
    "changed_claim_is_a_conflict": (
        carried_out,
        named_record(reserved_tokens=99),
        declined(C.FENCED),
    ),
    "lapsed_reservation_is_released": (
        without_news,
        stale_totals,
        records(state=R.EXPIRED_CONSERVATIVELY),
        left(transmissions=()),
    ),
    "late_transmission_is_refused": (
        carried_out,
        named_record(state=R.TRANSMITTED),
        named_record(state=R.RELEASED_UNTRANSMITTED),
    ),
    "only_the_owner_moves_a_reservation": (
        carried_out,
        declined(C.FENCED),
        named_record(state=R.RELEASED_UNTRANSMITTED),
    ),
    "owner_renews_and_transmitting_does_not": (
        named_record(lease_expires_at=10**9),
        named_record(lease_expires_at=0),
        shown(lease_expires_at=LATEST_MOMENT),
    ),
    "records_and_totals_change_together": (
        stale_totals,
        left(record_version=99),
        unversioned,
        lambda step: replace(
            step,
            reply=Answered(
                replace(step.answer, tokens=replace(step.answer.tokens, reserved_tokens=99))
            ),
        ),
    ),
    # run
    "entry_stage_starts_one_run_each": (
        left(runs=()),
        extra_run,
        answers_with(None),
        with_runs(lambda run: run._replace(workflow_run_id="same")),
        new_run(purpose=WorkflowRunPurpose.REPAIR),
    ),
    "only_the_owner_dispatches_the_entry_stage": (carried_out, ends_as(S.RUNNING)),
    "entry_runs_are_run_starts": (
        uncounted,
        recounted,
        ends_as(S.RUNNING),
        left(runs=("run",)),
    ),
    "parallel_members_keep_their_order": (reordered, new_run(member_ordinal=0)),
    "child_names_its_parent": (
        with_runs(_without_parent),
        with_runs(_of_a_parent),
        new_run(workflow_id="Other"),
        new_run(purpose=WorkflowRunPurpose.ENTRY),
        extra_run,
    ),
    "child_stands_where_its_parent_does": (
        new_run(stage_id="other"),
        new_run(sequence_position=9),
        new_run(member_ordinal=9),
    ),
    "purpose_needs_its_parent": (
        declined(C.WORKFLOW_RUN_FINISHED),
        declined(C.PARENT_NOT_FAILED),
        carried_out,
        recounted,
    ),
    "parent_is_a_run_of_the_journey": (carried_out, recounted, declined(C.FENCED)),
    "outcome_of_a_run_is_recorded_once": (
        carried_out,
        declined(C.OPERATION_CONFLICT),
        shown(state=WorkflowRunState.QUARANTINED),
        with_runs(lambda run: run._replace(state=WorkflowRunState.COMPLETED)),
    ),
    "repeated_start_answers_the_same_run": (
        shown(workflow_run_ids=("run-9",)),
        extra_run,
        declined(C.OPERATION_CONFLICT),
    ),
    # settle
    "final_accounting_stays": (
        still_pending,
        left(settled_at=10**9),
        left(settled_discrepancies=99),
    ),
    "end_fixes_the_accounting_deadline": (
        left(accounting_deadline=None),
        left(accounting_deadline=1),
    ),
    "live_journey_is_never_settled": (settled(A.SETTLED),),
    "last_disposition_settles": (
        still_pending,
        settled(A.SETTLEMENT_FAILED),
        left(settled_at=10**9),
    ),
    "deadline_charges_what_was_sent": (
        without_news,
        stale_totals,
        records(state=R.RELEASED_UNTRANSMITTED),
    ),
    "deadline_releases_what_was_not": (
        without_news,
        stale_totals,
        records(state=R.EXPIRED_CONSERVATIVELY),
    ),
    "settlement_fails_at_the_deadline_only": (
        still_pending,
        settled(A.SETTLED),
        settled(A.SETTLEMENT_FAILED),
    ),
    "report_at_the_deadline_is_too_late": (
        still_pending,
        observed_twice,
        left(settled_discrepancies=99),
        named_record(state=R.RECONCILED, actual_tokens=2),
        without_news,
    ),
    "reconciled_in_time_counts_as_reconciled": (still_pending, settled(A.SETTLEMENT_FAILED)),
    "finishing_twice_changes_nothing": (
        left(settled_at=10**9),
        left(record_version=99),
        left(finished_at=1),
    ),
    # usage
    "estimates_are_summed_and_never_fall": (left(estimated=0), left(estimated=10**6)),
    "outstanding_and_charged_are_summed": (
        stale_totals,
        more_tokens(reserved=1),
        more_tokens(conservative=1),
    ),
    "own_first_report_is_observed_once": (observed_twice, left(observed=0)),
    "reconciled_usage_is_summed": (
        more_tokens(reconciled=1),
        stale_totals,
        lambda step: replace(
            step,
            reply=Answered(
                replace(
                    step.answer,
                    tokens=replace(step.answer.tokens, committed_token_exposure=99),
                )
            ),
        ),
    ),
    "every_number_in_range_reconciles": (
        named_record(state=R.EXPIRED_CONSERVATIVELY, actual_tokens=None),
        named_record(actual_tokens=77),
    ),
    "malformed_usage_is_never_zero": (
        named_record(state=R.RECONCILED, actual_tokens=0),
        stale_totals,
        without_evidence,
        left(observed=77),
    ),
    "first_report_stands": (
        named_record(actual_tokens=77),
        observed_twice,
        without_evidence,
        repeated_evidence,
    ),
    "one_discrepancy_of_a_kind": (repeated_evidence, left(discrepancies=())),
    "late_usage_is_reconciled_while_pending": (
        without_news,
        named_record(state=R.EXPIRED_CONSERVATIVELY, actual_tokens=None),
        stale_totals,
        ends_as(S.RUNNING),
    ),
    "usage_after_the_end_of_accounting_is_evidence": (
        without_evidence,
        other_evidence,
        named_record(state=R.RECONCILED, actual_tokens=1),
        observed_twice,
        more_tokens(reconciled=1),
        still_pending,
    ),
}


def _released(state: State) -> State:
    return state._replace(transmissions=())


def _unclaimed(state: State) -> State:
    return state._replace(counters=(0,) * len(state.counters))


def _ownerless(state: State) -> State:
    return state._replace(lease=None)


def _unsettled(state: State) -> State:
    return state._replace(accounting=AccountingStatus.PENDING, settled_at=None)


def _postponed(state: State) -> State:
    return state._replace(accounting_deadline=10**15)


def _let_through(step: WorldStep) -> WorldStep:
    return replace(step, reply=Answered(None))


ACCOUNTING_WORLD_FAULTS: Final[dict[str, tuple[WorldFault, ...]]] = {
    "restart_retransmits_nothing": (with_states(_released),),
    "claims_outlive_a_restart": (with_states(_unclaimed),),
    "leases_outlive_a_restart": (with_states(_ownerless),),
    "settlement_outlives_a_restart": (with_states(_unsettled), with_states(_postponed)),
    "accounting_starts_pending": (
        with_states(lambda state: state._replace(accounting=AccountingStatus.SETTLED)),
    ),
    "parent_of_another_journey_is_unknown": (_let_through, with_states(_unclaimed)),
}
