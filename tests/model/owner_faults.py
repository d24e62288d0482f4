"""For every contract on counters, runs and leases, and on what a restart leaves, the faults that it
must find."""

from dataclasses import replace
from typing import Final

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
    with_runs,
    with_states,
)
from tests.model.plants import (
    ended_otherwise,
    extra_run,
    forgotten_lease,
    half_claimed,
    new_run,
    over_budget,
    records,
    refunded,
    regranted,
    reordered,
    reserved_after_all,
    uncounted,
    under_another_parent,
    without_parent,
)

from wayproof.model.journey.properties.contract import WorldStep
from wayproof.model.journey.state import State
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

OWNER_FAULTS: Final[dict[str, tuple[JourneyFault, ...]]] = {
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
    "claims_of_all_runs_count_together": (uncounted, recounted, untouched),
    "claims_stay_consumed": (refunded, uncounted),
    "repeated_claim_consumes_nothing": (recounted, carried_out, extra_run),
    "several_claims_are_one": (half_claimed, carried_out, uncounted),
    "child_run_is_a_run_start_too": (uncounted, half_claimed, recounted),
    "only_successors_are_retries": (uncounted, recounted),
    "correction_is_no_retry": (uncounted, recounted),
    # lease
    "one_owner_at_a_time": (carried_out, regranted, forgotten_lease, shown(fencing_token=7)),
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
        with_runs(without_parent),
        with_runs(under_another_parent),
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


WORLD_FAULTS: Final[dict[str, tuple[WorldFault, ...]]] = {
    "restart_retransmits_nothing": (with_states(_released),),
    "claims_outlive_a_restart": (with_states(_unclaimed),),
    "leases_outlive_a_restart": (with_states(_ownerless),),
    "settlement_outlives_a_restart": (with_states(_unsettled), with_states(_postponed)),
    "accounting_starts_pending": (
        with_states(lambda state: state._replace(accounting=AccountingStatus.SETTLED)),
    ),
    "parent_of_another_journey_is_unknown": (_let_through, with_states(_unclaimed)),
}
