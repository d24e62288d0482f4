"""How a journey ends, and what is overdue for it as a whole.

::

    pending ──begin──> running ──complete──> completed
       │                  ├──fail, ambiguity, unsafe recovery──> failed
       ├──────────────────┼──deadline──> timed_out
       ├──────────────────┼──tokens, counters──> budget_exceeded
       └──────────────────┴──cancel──> cancelling ──quiet or cutoff──> cancelled
"""

from wayproof.model.journey.accounting import finalise, settle_if_final
from wayproof.model.journey.state import Intent, State, Terms
from wayproof.model.journey.transition import realises
from wayproof.spec.journey.constraints import LATEST_MILLISECONDS, from_milliseconds
from wayproof.spec.journey.records import OutcomeSummary
from wayproof.spec.journey.vocabulary import (
    TERMINAL_STATES,
    UNFINISHED_RUN_STATES,
    AccountingStatus,
    DispatchState,
    LifecycleState,
    TerminalReason,
    WorkflowRunState,
)

LIVE = (LifecycleState.PENDING, LifecycleState.RUNNING)


def later(moment: int, milliseconds: int) -> int:
    """That much later, at most the last moment that a record can hold."""
    return min(moment + milliseconds, LATEST_MILLISECONDS)


def is_terminal(state: State) -> bool:
    """Whether nothing leaves the journey's lifecycle state any more."""
    return state.lifecycle in TERMINAL_STATES


def cutoff(terms: Terms, state: State) -> int:
    """The effective stop and quarantine cutoff of a cancelling journey."""
    assert state.cancellation is not None
    return min(state.cancellation.deadline, terms.deadline)


@realises(
    {
        "journey.ended": (
            "cancel-15 settle-02 outcome-02 outcome-03 outcome-04 outcome-07 lifecycle-03 "
            "reason-01 dispatch-06"
        )
    }
)
def end(terms: Terms, state: State, now: int, lifecycle: LifecycleState, reason: str) -> State:
    """Commit a terminal transition: the outcome is fixed, what is unfinished is quarantined,
    and accounting begins its finite settlement."""
    ended = state._replace(
        lifecycle=lifecycle,
        terminal_reason=reason,
        finished_at=now,
        accounting_deadline=later(now, terms.settlement_grace),
        runs=tuple(
            run._replace(state=WorkflowRunState.QUARANTINED, finished_at=now)
            if run.state in UNFINISHED_RUN_STATES
            else run
            for run in state.runs
        ),
        intents=suppressed(state.intents),
    )
    return settle_if_final(ended, now)


def suppressed(intents: tuple[Intent, ...]) -> tuple[Intent, ...]:
    """A stopped journey delivers nothing any more: its open intents are suppressed for good."""
    return tuple(
        intent._replace(state=DispatchState.SUPPRESSED) if is_open(intent) else intent
        for intent in intents
    )


def is_open(intent: Intent) -> bool:
    """Whether an intent still waits for its run to be taken over."""
    return intent.state in (DispatchState.RECORDED, DispatchState.ACKNOWLEDGED)


def end_failed(terms: Terms, state: State, now: int, reason: TerminalReason) -> State:
    """End as failed."""
    return end(terms, state, now, LifecycleState.FAILED, reason)


def end_over_budget(terms: Terms, state: State, now: int, reason: TerminalReason) -> State:
    """End as budget_exceeded."""
    return end(terms, state, now, LifecycleState.BUDGET_EXCEEDED, reason)


@realises(
    {
        "deadline.expired": (
            "lifecycle-06 deadline-04 deadline-01 "
            "deadline-02 precedence-04 precedence-08 precedence-12 "
            "reason-02"
        ),
    }
)
def expire(terms: Terms, state: State, now: int) -> State | None:
    """A pending or running journey at or after its deadline is timed out, whatever is asked of
    it; None if it is not due.

    ::

        running ──┬── deadline ──┬── cancel, reserve, complete, ... ──> timed_out
                  └ everything before the deadline: first commit wins
    """
    if state.lifecycle in LIVE and now >= terms.deadline:
        return end(terms, state, now, LifecycleState.TIMED_OUT, TerminalReason.DEADLINE_EXPIRED)
    return None


@realises(
    {
        "cancellation.cutoff": (
            "cancel-12 cancel-13 precedence-01 lifecycle-09 reason-03 precedence-12"
        ),
    }
)
def cut_off(terms: Terms, state: State, now: int) -> State | None:
    """A cancelling journey at or after its effective cutoff is cancelled; later expiry of the
    deadline cannot make it timed_out. None if it is not due."""
    if state.lifecycle is LifecycleState.CANCELLING and now >= cutoff(terms, state):
        return end_cancelled(terms, state, now)
    return None


def end_cancelled(terms: Terms, state: State, now: int) -> State:
    """End as cancelled, with the reason of the cancellation."""
    assert state.cancellation is not None
    return end(terms, state, now, LifecycleState.CANCELLED, state.cancellation.reason)


@realises(
    {
        "accounting.deadline": (
            "settle-05 settle-06 settle-07 settle-08 settle-10 precedence-12 usage-06"
        ),
    }
)
def close_accounting(state: State, now: int) -> State | None:
    """Pending accounting of a terminal journey becomes final at its deadline; None if it is
    not due."""
    if (
        state.accounting is AccountingStatus.PENDING
        and state.accounting_deadline is not None
        and now >= state.accounting_deadline
    ):
        return finalise(state, now)
    return None


def checkpoint(terms: Terms, state: State, now: int) -> tuple[State, tuple[str, ...]]:
    """Let take effect what is overdue for the journey as a whole, and say what that was."""
    expired = expire(terms, state, now)
    if expired is not None:
        return expired, ("deadline.expired",)
    cancelled = cut_off(terms, state, now)
    if cancelled is not None:
        return cancelled, ("cancellation.cutoff",)
    closed = close_accounting(state, now)
    if closed is not None:
        return closed, ("accounting.deadline",)
    return state, ()


def summary(terms: Terms, state: State) -> OutcomeSummary:
    """How the journey ended, in short."""
    assert state.terminal_reason is not None and state.finished_at is not None
    return OutcomeSummary(
        journey_id=terms.journey_id,
        execution_state=state.lifecycle,
        terminal_reason=state.terminal_reason,
        finished_at=from_milliseconds(state.finished_at),
    )
