"""The configurations that are explored: each a journey, a menu of requests and a clock, chosen so
that one mechanism meets every order of events that it can meet.

Every menu holds requests that are right, repeated, too late or of a stale owner; an id that is
used twice is a replay or a conflict.
"""

from collections.abc import Callable
from typing import Final, Literal

from wayproof.model.journey.configuration import Configuration
from wayproof.model.journey.example import (
    CORRECTION,
    DAY,
    SECOND,
    TASK,
    ambiguous,
    attempt,
    begin,
    cancel,
    claim,
    complete,
    fail,
    finish,
    heartbeat,
    read,
    renew,
    reserve,
    response,
    start_run,
    terms,
    transmit,
    unsent,
)
from wayproof.model.journey.staged import STAGED
from wayproof.spec.journey.requests import (
    ListReservationsRequest,
    ListWorkflowRunsRequest,
    SettledResultRequest,
    SnapshotRequest,
    TerminalOutcomeRequest,
)
from wayproof.spec.journey.vocabulary import MAXIMUM_INTEGER, CancellationReason, FailureReason

Bounds = Literal["small", "full"]
"""How much is explored: ``small`` in seconds, ``full`` in a minute or so."""


def ceiling(full: bool) -> Configuration:
    """Three ordinary calls of two runs under a ceiling that holds two of them."""
    more = (response("b", 4), reserve("d", None)) if full else ()
    return Configuration(
        mechanism="one ceiling for all runs: reserve, release, reconcile below, reserve again",
        terms=terms("Builder", "Designer", deadline=3 * SECOND),
        menu=(
            reserve("a", 6),
            reserve("b", 4, run="run-2", lease=SECOND),
            reserve("c", 5),
            transmit("a"),
            response("a", 2),
            unsent("b"),
            *more,
        ),
        clock=(0, SECOND),
    )


def groups(full: bool) -> Configuration:
    """Members of one authoritative group under a ceiling that holds the greatest once."""
    more = (reserve("x", 3, grouped=True),) if full else ()
    return Configuration(
        mechanism="an authoritative group: charged at its maximum, settled by one response",
        terms=terms(deadline=4 * SECOND),
        menu=(
            reserve("m1", 6, of="group", grouped=True, lease=SECOND),
            reserve("m2", 8, of="group", grouped=True, lease=SECOND),
            transmit("m1"),
            transmit("m2"),
            response("m1", 5),
            *((response("m2", 0), *more) if full else ()),
        ),
        clock=(0, SECOND),
    )


def ambiguity(full: bool) -> Configuration:
    """An ordinary call, its successors, and everything that can be said of them."""
    more = (response("a", None), response("b", 4), unsent("a")) if full else ()
    return Configuration(
        mechanism="ambiguous, malformed and unresolved calls, and what a successor needs",
        terms=terms(deadline=3 * SECOND, max_provider_retry_attempts=1),
        menu=(
            reserve("a", 3, of="call", lease=SECOND),
            reserve("b", 4, of="call"),
            reserve("c", 2, of="call"),
            transmit("a"),
            transmit("b"),
            ambiguous("a"),
            response("a", 0),
            *more,
        ),
        clock=(0, SECOND),
    )


def leases(full: bool) -> Configuration:
    """Two workers, leases that expire, and what a takeover finds."""
    more = (
        reserve("b", 2, grouped=True),
        transmit("b"),
    )
    return Configuration(
        mechanism="owner leases, heartbeats, fencing and takeovers",
        terms=terms(deadline=5 * SECOND),
        prefix=(),
        menu=(
            claim("worker-1", lease=SECOND),
            claim("worker-2", lease=SECOND),
            heartbeat(1, 2 * SECOND),
            begin(),
            begin(token=2),
            reserve("a", 2),
            transmit("a"),
            finish(),
            unsent("a"),
            *(more if full else ()),
        ),
        clock=(0, SECOND, 2 * SECOND) if full else (0, SECOND),
    )


def renewals(full: bool) -> Configuration:
    """One call whose lease is renewed by its owner, and by another one."""
    more = (transmit("a", token=2), ambiguous("a")) if full else ()
    return Configuration(
        mechanism="leases of reservations: renewed in flight, lapsed, and of another owner",
        terms=terms(deadline=4 * SECOND),
        prefix=(claim("worker-1", lease=2 * SECOND), begin()),
        menu=(
            reserve("a", 2, lease=SECOND, grouped=True),
            renew("a", 2 * SECOND),
            renew("a", 2 * SECOND, token=2),
            transmit("a"),
            unsent("a"),
            unsent("a", token=2),
            finish(),
            claim("worker-2", lease=SECOND),
            *more,
        ),
        clock=(0, SECOND, 2 * SECOND),
    )


def counters(full: bool) -> Configuration:
    """Every counter at or just below its limit."""
    more = (attempt("correction", CORRECTION), start_run("child", "decomposition")) if full else ()
    return Configuration(
        mechanism="the six counters at their limits, claimed together and again",
        terms=terms(
            deadline=2 * SECOND,
            max_workflow_run_starts=3,
            max_task_attempt_starts=2,
            max_provider_retry_attempts=1,
            max_structured_output_correction_attempts=1,
            max_workflow_repair_starts=1,
            max_app_refinement_starts=0,
        ),
        menu=(
            attempt("one"),
            attempt("both", TASK, CORRECTION),
            attempt("again", TASK, CORRECTION),
            attempt("one", CORRECTION),
            start_run("repair", "repair"),
            start_run("again", "repair", parent="run-2"),
            start_run("refinement", "refinement"),
            finish(outcome="failed"),
            finish("run-2", outcome="failed"),
            *more,
        ),
        clock=(0,),
    )


def retries(full: bool) -> Configuration:
    """Successors of calls that were never sent, against one provider retry."""
    more = (attempt("correction", CORRECTION), transmit("a")) if full else ()
    return Configuration(
        mechanism="provider retries, conflicts of known ids, and the ceiling before the counter",
        terms=terms("Builder", "Designer", deadline=2 * SECOND, max_provider_retry_attempts=1),
        menu=(
            reserve("a", 3, of="call"),
            reserve("b", 3, of="call"),
            reserve("c", 11, of="call"),
            reserve("a", 4, of="call"),
            reserve("c", 3, of="call", grouped=True),
            reserve("c", 3, of="call", run="run-2"),
            reserve("d", 1, of="call"),
            unsent("a"),
            unsent("b"),
            *more,
        ),
        clock=(0,),
    )


def entry(full: bool) -> Configuration:
    """Two entry members against one workflow-run start."""
    return Configuration(
        mechanism="the entry stage without room for all of its members",
        terms=terms("Builder", "Designer", deadline=2 * SECOND, max_workflow_run_starts=1),
        prefix=(),
        menu=(
            claim("worker-1", lease=SECOND),
            claim("worker-2", lease=SECOND),
            begin(),
            begin(token=2),
            cancel(),
            fail(FailureReason.TOKEN_RESERVATION_UNAVAILABLE),
            complete(),
            read(TerminalOutcomeRequest),
        ),
        clock=(0, SECOND, 2 * SECOND, 4 * SECOND),
    )


def cancellation(full: bool) -> Configuration:
    """A cancellation with work in flight, up to its cutoff and past the deadline."""
    more = (
        cancel(CancellationReason.OPERATOR_REQUESTED),
        finish(outcome="failed"),
        heartbeat(1, DAY),
        attempt("one"),
        ambiguous("a"),
    )
    return Configuration(
        mechanism="cancellation: cooperative stop, cutoff, quiet end, and the deadline meanwhile",
        terms=terms(deadline=SECOND + 1),
        menu=(
            cancel(),
            finish(),
            reserve("a", 2),
            transmit("a"),
            complete(),
            fail(),
            *(more if full else ()),
        ),
        clock=(0, SECOND, SECOND + 1),
    )


def settlement(full: bool) -> Configuration:
    """A journey that ends with calls in flight, up to the accounting deadline and past it."""
    more = (unsent("b"), response("a", None)) if full else ()
    return Configuration(
        mechanism="settlement: early, at the accounting deadline, failed, and late usage",
        terms=terms(deadline=2 * SECOND),
        menu=(
            reserve("a", 3),
            reserve("b", 4),
            transmit("a"),
            response("a", 2),
            fail(),
            read(SettledResultRequest),
            *more,
        ),
        clock=(0, 2 * SECOND, 4 * SECOND),
    )


def overshoot(full: bool) -> Configuration:
    """More usage than was reserved, while running, cancelling and ended."""
    more = (finish(), ambiguous("a"), unsent("a")) if full else ()
    return Configuration(
        mechanism="overshoot, conflicting and repeated usage, while running and after the end",
        terms=terms(deadline=2 * SECOND),
        menu=(
            reserve("a", 3),
            transmit("a"),
            response("a", 3),
            response("a", 12),
            cancel(),
            *more,
        ),
        clock=(0, 2 * SECOND),
    )


def runs(full: bool) -> Configuration:
    """Parallel members, children, repairs of repairs, and completion."""
    more = (
        start_run("child", "decomposition", parent="run-2"),
        start_run("child", "repair"),
        start_run("refined", "refinement"),
        finish("run-3"),
        finish("run-4"),
    )
    return Configuration(
        mechanism="parallel members, child runs, repairs that supersede, and completion",
        terms=terms("Builder", "Designer", deadline=2 * SECOND),
        menu=(
            finish(),
            finish(outcome="failed"),
            finish("run-2"),
            finish("run-3", outcome="failed"),
            start_run("repair", "repair"),
            start_run("again", "repair", parent="run-3"),
            start_run("lost", "repair", parent="run-9"),
            complete(),
            read(ListWorkflowRunsRequest),
            *(more if full else ()),
        ),
        clock=(0,),
    )


def deadline(full: bool) -> Configuration:
    """Every kind of request in the millisecond before the deadline, and at it."""
    more = (reserve("b", 6), ambiguous("a"), attempt("two"))
    return Configuration(
        mechanism="the deadline: the last millisecond before it, and it",
        terms=terms(deadline=2 * SECOND, max_task_attempt_starts=1),
        menu=(
            reserve("a", 6),
            transmit("a"),
            response("a", 8),
            attempt("one"),
            finish(),
            complete(),
            fail(),
            cancel(),
            *(more if full else ()),
        ),
        clock=(2 * SECOND - 1, 2 * SECOND),
    )


def magnitude(full: bool) -> Configuration:
    """Amounts near the greatest integer that a record can hold."""
    half = 2**52
    more = (reserve("b2", half - 1, of="b", grouped=True),) if full else ()
    return Configuration(
        mechanism="token totals at the greatest integer, and usage that none can hold",
        terms=terms(deadline=2 * SECOND, tokens=MAXIMUM_INTEGER),
        menu=(
            reserve("a", half),
            reserve("b", half - 1, grouped=True),
            transmit("a"),
            transmit("b"),
            response("a", MAXIMUM_INTEGER),
            response("b", half),
            read(ListReservationsRequest),
            read(SnapshotRequest),
            *more,
        ),
        clock=(0,),
    )


_TABLE: Final[tuple[Callable[[bool], Configuration], ...]] = (
    ceiling,
    groups,
    ambiguity,
    leases,
    renewals,
    counters,
    retries,
    entry,
    cancellation,
    settlement,
    overshoot,
    runs,
    deadline,
    magnitude,
    *STAGED,
)


def configurations(bounds: Bounds = "full") -> dict[str, Configuration]:
    """Every configuration by name."""
    return {make.__name__: make(bounds == "full") for make in _TABLE}
