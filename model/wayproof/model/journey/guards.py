"""What an operation checks before it does anything, in the order of the ladder.

Each guard returns the refusing transition, or None. The ladder itself stands in
``wayproof.spec.journey.refusals``.
"""

from dataclasses import replace

from wayproof.model.journey.lifecycle import checkpoint, is_terminal, summary
from wayproof.model.journey.state import Operation, Run, State, Terms
from wayproof.model.journey.transition import Answered, Refused, Transition, realises
from wayproof.spec.journey.records import ExecutionAccess
from wayproof.spec.journey.refusals import RefusalCode
from wayproof.spec.journey.requests import OwnerRequest, Request
from wayproof.spec.journey.vocabulary import (
    UNFINISHED_RUN_STATES,
    LifecycleState,
    WorkflowRunState,
)

NOBODY = ExecutionAccess(
    schema_version="wayproof.journey.execution_access.v1", tenant_id="-", owner_id="-"
)
"""Stands where an access was, in recorded inputs: who asks again does not matter."""


def answer(state: State, record: object, *labels: str) -> Transition:
    """Carry out: the state after it, and the record."""
    return Transition(state, Answered(record), labels)


def refuse(state: State, code: RefusalCode, *labels: str) -> Transition:
    """Refuse, and change nothing."""
    return Transition(state, Refused(code), labels)


def refuse_ended(terms: Terms, state: State, code: RefusalCode, *labels: str) -> Transition:
    """Refuse, and carry how the journey ended."""
    return Transition(state, Refused(code, summary(terms, state)), labels)


def blank(request: Request) -> Request:
    """The inputs of a request: without who asks and with which token."""
    if isinstance(request, OwnerRequest):
        return replace(request, access=NOBODY, fencing_token=1)
    return replace(request, access=NOBODY)


@realises(
    {
        "replay.operation": "idempotency-09 counter-10 run-10 observe-13",
        "refused.operation_conflict": "idempotency-10",
    }
)
def replayed(state: State, operation_id: str, request: Request) -> Transition | None:
    """A known operation id answers what was recorded, whatever has happened since; with other
    inputs it is a conflict."""
    for operation in state.operations:
        if operation.operation_id == operation_id:
            if operation.request == blank(request):
                return answer(state, operation.reply, "replay.operation")
            return refuse(state, RefusalCode.OPERATION_CONFLICT, "refused.operation_conflict")
    return None


def recorded(state: State, operation_id: str, request: Request, reply: object) -> State:
    """The state that remembers an operation id with its inputs and reply."""
    operation = Operation(operation_id, blank(request), reply)
    return state._replace(operations=(*state.operations, operation))


@realises({"refused.unknown_workflow_run": "run-08 precedence-10"})
def find_run(state: State, workflow_run_id: str) -> Run | Transition:
    """The run of that id, or the refusal."""
    for run in state.runs:
        if run.workflow_run_id == workflow_run_id:
            return run
    return refuse(state, RefusalCode.UNKNOWN_WORKFLOW_RUN, "refused.unknown_workflow_run")


@realises(
    {
        "run.finished": "run-07 precedence-11",
        "run.not_active": "run-07 precedence-11 dispatch-02 observe-15",
    }
)
def active_run(state: State, run: Run) -> Transition | None:
    """Only an active run may start or end anything."""
    if run.state is WorkflowRunState.ACTIVE:
        return None
    if run.state in UNFINISHED_RUN_STATES:
        return refuse(state, RefusalCode.WORKFLOW_RUN_NOT_ACTIVE, "run.not_active")
    return refuse(state, RefusalCode.WORKFLOW_RUN_FINISHED, "run.finished")


def is_live(state: State, fencing_token: int, now: int) -> bool:
    """Whether a token is the latest granted one and its lease has not expired."""
    lease = state.lease
    return lease is not None and fencing_token == lease.fencing_token and now < lease.expires_at


@realises({"refused.fenced": "lease-04 precedence-10 run-02"})
def fenced(state: State, fencing_token: int, now: int) -> Transition | None:
    """Any token but the live one is refused."""
    if is_live(state, fencing_token, now):
        return None
    return refuse(state, RefusalCode.FENCED, "refused.fenced")


@realises(
    {
        "refused.deadline_expired": (
            "deadline-05 deadline-06 deadline-07 deadline-08 deadline-09 deadline-12"
        ),
        "refused.journey_terminal": (
            "lifecycle-03 lifecycle-16 lease-05 precedence-07 outcome-06 outcome-07"
        ),
        "refused.journey_cancelling": "cancel-06 cancel-07 precedence-02 precedence-03 lease-06",
    }
)
def stopped(
    terms: Terms, state: State, now: int, *, while_cancelling: bool = False
) -> Transition | State:
    """Pass the checkpoint and refuse what a stopped journey does not accept; otherwise the
    state after the checkpoint (nothing was due then: it is the same).

    ``while_cancelling`` lets a cancelling journey pass.
    """
    state, labels = checkpoint(terms, state, now)
    if labels == ("deadline.expired",):
        code, label = RefusalCode.DEADLINE_EXPIRED, "refused.deadline_expired"
    elif is_terminal(state):
        code, label = RefusalCode.JOURNEY_TERMINAL, "refused.journey_terminal"
    elif state.lifecycle is LifecycleState.CANCELLING and not while_cancelling:
        return refuse(state, RefusalCode.JOURNEY_CANCELLING, "refused.journey_cancelling")
    else:
        return state
    return refuse_ended(terms, state, code, *labels, label)
