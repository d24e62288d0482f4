"""For every contract on reservations and totals, the faults that it must find."""

from dataclasses import replace
from typing import Final

from tests.model.faults import (
    JourneyFault,
    carried_out,
    declined,
    ends_as,
    left,
    recounted,
    shown,
    untouched,
    unversioned,
    without_news,
)
from tests.model.plants import (
    both,
    ended_otherwise,
    more_tokens,
    named_record,
    observed_twice,
    other_evidence,
    other_records,
    over_budget,
    records,
    repeated_evidence,
    reserved_after_all,
    settled,
    stale_totals,
    still_pending,
    without_evidence,
    without_record,
)

from wayproof.model.journey.transition import Answered
from wayproof.spec.journey.constraints import LATEST_MOMENT
from wayproof.spec.journey.refusals import RefusalCode
from wayproof.spec.journey.vocabulary import (
    AccountingStatus,
    LifecycleState,
    ReservationState,
)

S = LifecycleState
A = AccountingStatus
R = ReservationState
C = RefusalCode

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
