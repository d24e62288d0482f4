"""Contracts on the six journey-wide counters (clauses ``counter-``)."""

from wayproof.model.journey.properties.contract import (
    JourneyStep,
    WorldStep,
    journey_contract,
    world_contract,
)
from wayproof.model.journey.properties.entering import run_starts, wanted
from wayproof.model.journey.properties.situation import (
    earlier_of_invocation,
    identity_is_known,
    increase,
    is_newly_granted,
    is_terminal,
    nothing_changed,
    proceeds,
    remembered,
    run_is_active,
    workflow_run,
)
from wayproof.model.journey.state import State
from wayproof.spec.journey.requests import (
    ClaimAttemptRequest,
    ClaimLeaseRequest,
    FinishWorkflowRunRequest,
    ReserveRequest,
    StartWorkflowRunRequest,
)
from wayproof.spec.journey.vocabulary import (
    Counter,
    LifecycleState,
    ReservationState,
    WorkflowRunState,
)

PLACES = {counter: place for place, counter in enumerate(Counter)}
OWN_COUNTER = {
    "repair": Counter.WORKFLOW_REPAIR_STARTS,
    "refinement": Counter.APP_REFINEMENT_STARTS,
}
"""What a child run counts against, besides the workflow-run starts."""

REASONS = {
    Counter.WORKFLOW_RUN_STARTS: "workflow_run_start_limit_exhausted",
    Counter.TASK_ATTEMPT_STARTS: "task_attempt_start_limit_exhausted",
    Counter.PROVIDER_RETRY_ATTEMPTS: "provider_retry_limit_exhausted",
    Counter.STRUCTURED_OUTPUT_CORRECTION_ATTEMPTS: "structured_output_correction_limit_exhausted",
    Counter.WORKFLOW_REPAIR_STARTS: "workflow_repair_limit_exhausted",
    Counter.APP_REFINEMENT_STARTS: "app_refinement_limit_exhausted",
}


def count(state: State, counter: Counter) -> int:
    """How many of a counter were claimed."""
    return state.counters[PLACES[counter]]


def risen(step: JourneyStep) -> dict[Counter, int]:
    """By how much each counter changed."""
    return {
        counter: after - before
        for counter, before, after in zip(
            Counter, step.before.counters, step.after.counters, strict=True
        )
        if after != before
    }


def parent_is_due(step: JourneyStep, request: StartWorkflowRunRequest) -> bool:
    """Whether the parent is as the purpose of the child run needs it."""
    parent = workflow_run(step.before, request.parent_workflow_run_id)
    if parent is None:
        return False
    if request.purpose == "decomposition":
        return parent.state is WorkflowRunState.ACTIVE
    if request.purpose == "repair":
        return parent.state is WorkflowRunState.FAILED and not parent.superseded
    return True


@remembered
def claims(step: JourneyStep) -> dict[Counter, int]:
    """What a request that gets as far as the counters claims of each."""
    request = step.request
    if wanted(step) is not None:
        starts = run_starts(step)
        return {Counter.WORKFLOW_RUN_STARTS: starts} if starts else {}
    if isinstance(request, StartWorkflowRunRequest):
        if proceeds(step) and parent_is_due(step, request):
            claimed = {Counter.WORKFLOW_RUN_STARTS: 1}
            if request.purpose in OWN_COUNTER:
                claimed[OWN_COUNTER[request.purpose]] = 1
            return claimed
    elif isinstance(request, ClaimAttemptRequest):
        if proceeds(step) and run_is_active(step.before, request.workflow_run_id):
            return {Counter(counter): 1 for counter in request.counters}
    elif isinstance(request, ReserveRequest) and earlier_of_invocation(step):
        more = increase(step)
        if more is not None and step.before.totals.exposure + more <= step.terms.max_total_tokens:
            return {Counter.PROVIDER_RETRY_ATTEMPTS: 1}
    return {}


def without_room(step: JourneyStep, claimed: dict[Counter, int]) -> list[Counter]:
    """The counters that the claims would take past their limit, in policy order."""
    return [
        counter
        for counter, limit in zip(Counter, step.terms.limits, strict=True)
        if limit is not None
        and counter in claimed
        and count(step.before, counter) + claimed[counter] > limit
    ]


def _ended_by(step: JourneyStep, counter: Counter) -> bool:
    """Whether the journey ended, whole, for want of room in a counter."""
    after = step.after
    return (
        step.code is not None
        and step.code.value == REASONS[counter]
        and after.lifecycle is LifecycleState.BUDGET_EXCEEDED
        and after.terminal_reason == REASONS[counter]
        and after.counters == step.before.counters
        and len(after.runs) == len(step.before.runs)
        and after.transmissions == step.before.transmissions
    )


def _exhausts(step: JourneyStep, counter: Counter) -> bool | None:
    if without_room(step, claims(step))[:1] != [counter]:
        return None
    return _ended_by(step, counter)


@journey_contract("counter-01")
def workflow_run_starts_end_at_their_limit(step: JourneyStep) -> bool | None:
    """At stake when a run start finds no room in the workflow-run starts."""
    if not isinstance(step.request, StartWorkflowRunRequest) and wanted(step) is None:
        return None
    return _exhausts(step, Counter.WORKFLOW_RUN_STARTS)


@journey_contract("counter-02")
def task_attempts_end_at_their_limit(step: JourneyStep) -> bool | None:
    """At stake when a task attempt finds no room in its counter."""
    if not isinstance(step.request, ClaimAttemptRequest):
        return None
    return _exhausts(step, Counter.TASK_ATTEMPT_STARTS)


@journey_contract("counter-03")
def provider_retries_end_at_their_limit(step: JourneyStep) -> bool | None:
    """At stake when a successor transmission finds no room in the provider retries."""
    if not isinstance(step.request, ReserveRequest):
        return None
    return _exhausts(step, Counter.PROVIDER_RETRY_ATTEMPTS)


@journey_contract("counter-04")
def corrections_end_at_their_limit(step: JourneyStep) -> bool | None:
    """At stake when a structured-output correction finds no room in its counter."""
    if not isinstance(step.request, ClaimAttemptRequest):
        return None
    return _exhausts(step, Counter.STRUCTURED_OUTPUT_CORRECTION_ATTEMPTS)


@journey_contract("counter-05")
def repairs_end_at_their_limit(step: JourneyStep) -> bool | None:
    """At stake when a repair finds no room in its counter."""
    if not isinstance(step.request, StartWorkflowRunRequest):
        return None
    return _exhausts(step, Counter.WORKFLOW_REPAIR_STARTS)


@journey_contract("counter-06")
def refinements_end_at_their_limit(step: JourneyStep) -> bool | None:
    """At stake when a refinement finds no room in its counter."""
    if not isinstance(step.request, StartWorkflowRunRequest):
        return None
    return _exhausts(step, Counter.APP_REFINEMENT_STARTS)


@journey_contract("counter-07")
def last_claim_is_granted(step: JourneyStep) -> bool | None:
    """At stake when a claim takes a counter exactly to its limit, or finds a limit of 0."""
    claimed = claims(step)
    if not claimed:
        return None
    limits = dict(zip(Counter, step.terms.limits, strict=True))
    short = without_room(step, claimed)
    if short:
        return _ended_by(step, short[0]) if limits[short[0]] == 0 else None
    if not any(count(step.before, c) + n == limits[c] for c, n in claimed.items()):
        return None
    return step.code is None and risen(step) == claimed and not is_terminal(step.after)


@journey_contract("counter-08")
def claims_of_all_runs_count_together(step: JourneyStep) -> bool | None:
    """At stake when a limited counter that was claimed before is claimed in a journey of
    several runs."""
    claimed = claims(step)
    if not claimed or len(step.before.runs) < 2:
        return None
    limits = dict(zip(Counter, step.terms.limits, strict=True))
    shared = [c for c in claimed if limits[c] is not None and count(step.before, c) > 0]
    if not shared:
        return None
    if without_room(step, claimed):
        return is_terminal(step.after) and not risen(step)
    return risen(step) == claimed


@journey_contract("counter-09")
def claims_stay_consumed(step: JourneyStep) -> bool | None:
    """At stake when a claim is granted, and when what was claimed fails, is never sent, or
    loses its worker."""
    claimed = claims(step)
    if claimed and not without_room(step, claimed):
        return risen(step) == claimed
    if not any(step.before.counters):
        return None
    request = step.request
    if isinstance(request, FinishWorkflowRunRequest):
        lost = request.outcome == "failed" and not identity_is_known(step)
    elif isinstance(request, ClaimLeaseRequest):
        lost = step.before.lease is not None and step.now >= step.before.lease.expires_at
    else:
        lost = _some_never_left(step)
    return step.after.counters == step.before.counters if lost else None


def _some_never_left(step: JourneyStep) -> bool:
    if step.after.transmissions is step.before.transmissions:
        return False
    return any(
        before.state is ReservationState.RESERVED
        and after.state is ReservationState.RELEASED_UNTRANSMITTED
        for before, after in zip(step.before.transmissions, step.after.transmissions, strict=False)
    )


@world_contract("counter-09")
def claims_outlive_a_restart(step: WorldStep) -> bool | None:
    """At stake when a process restarts after something was claimed."""
    if step.operation != "restart":
        return None
    claimed = [j.state.counters for j in step.before.journeys]
    if not any(map(any, claimed)):
        return None
    return claimed == [j.state.counters for j in step.after.journeys]


@journey_contract("counter-10")
def repeated_claim_consumes_nothing(step: JourneyStep) -> bool | None:
    """At stake when an operation id that claimed counters is asked for again with the same
    inputs."""
    request = step.request
    if not isinstance(request, ClaimAttemptRequest | StartWorkflowRunRequest):
        return None
    for known in step.before.operations:
        if known.operation_id == request.operation_id:
            if not _same_claim(known.request, request):
                return None
            return nothing_changed(step) and step.answer == known.reply
    return None


def _same_claim(known: object, request: ClaimAttemptRequest | StartWorkflowRunRequest) -> bool:
    if isinstance(known, ClaimAttemptRequest) and isinstance(request, ClaimAttemptRequest):
        return (known.workflow_run_id, known.counters) == (
            request.workflow_run_id,
            request.counters,
        )
    if isinstance(known, StartWorkflowRunRequest) and isinstance(request, StartWorkflowRunRequest):
        return (known.parent_workflow_run_id, known.workflow_id, known.purpose) == (
            request.parent_workflow_run_id,
            request.workflow_id,
            request.purpose,
        )
    return False


@journey_contract("counter-11")
def several_claims_are_one(step: JourneyStep) -> bool | None:
    """At stake when a request claims several counters at once."""
    if not isinstance(step.request, ClaimAttemptRequest | StartWorkflowRunRequest):
        return None
    claimed = claims(step)
    if len(claimed) < 2:
        return None
    short = without_room(step, claimed)
    return _ended_by(step, short[0]) if short else risen(step) == claimed


@journey_contract("counter-12")
def child_run_is_a_run_start_too(step: JourneyStep) -> bool | None:
    """At stake when a child run is started."""
    request = step.request
    if not isinstance(request, StartWorkflowRunRequest):
        return None
    if step.answer is None or identity_is_known(step):
        return None
    expected = {Counter.WORKFLOW_RUN_STARTS: 1}
    if request.purpose in OWN_COUNTER:
        expected[OWN_COUNTER[request.purpose]] = 1
    return risen(step) == expected


@journey_contract("counter-13")
def only_successors_are_retries(step: JourneyStep) -> bool | None:
    """At stake when a transmission is granted its reservation."""
    if not is_newly_granted(step):
        return None
    expected = {Counter.PROVIDER_RETRY_ATTEMPTS: 1} if earlier_of_invocation(step) else {}
    return risen(step) == expected


@journey_contract("counter-14")
def correction_is_no_retry(step: JourneyStep) -> bool | None:
    """At stake when a structured-output correction is granted, and when a new invocation is
    reserved after one."""
    correction = Counter.STRUCTURED_OUTPUT_CORRECTION_ATTEMPTS
    if isinstance(step.request, ClaimAttemptRequest):
        claimed = claims(step)
        if correction not in claimed or without_room(step, claimed):
            return None
        change = risen(step)
        return change.get(correction) == 1 and Counter.PROVIDER_RETRY_ATTEMPTS not in change
    if not is_newly_granted(step) or earlier_of_invocation(step):
        return None
    return not risen(step) if count(step.before, correction) else None
