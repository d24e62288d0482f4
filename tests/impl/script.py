"""A journey in which every operation that changes something does so at least once."""

from collections.abc import Callable
from typing import Any, Final

from tests.impl.clients import MINUTE, NOW, Client, start_request

from wayproof.impl.journey import Answered

Step = tuple[str, Callable[[Client], Any]]


def _start(client: Client) -> Any:
    reply = client.service.call("start", start_request(), now=client.now)
    assert isinstance(reply, Answered)
    client.journey_id = reply.value["journey_id"]
    return reply.value


def _lease(client: Client) -> Any:
    client.lease()
    return client.token


def _begin(client: Client) -> Any:
    client.runs = client.owner("begin_journey")["workflow_run_ids"]
    return client.runs


def _repair(client: Client) -> Any:
    repair = client.owner(
        "start_workflow_run",
        operation_id="repair",
        parent_workflow_run_id=client.runs[0],
        workflow_id="mend",
        purpose="repair",
    )
    client.runs = [*repair["workflow_run_ids"], client.runs[1]]
    return client.runs


def _sweep_after(milliseconds: int) -> Callable[[Client], Any]:
    def sweep(client: Client) -> Any:
        client.now = NOW + milliseconds
        client.service.sweep(now=client.now)
        return client.ask("snapshot")

    return sweep


def _reserve(transmission: str, **changed: Any) -> Step:
    return (
        f"reserve {transmission}",
        lambda client: client.ask("reserve", **client.reservation(transmission, **changed)),
    )


def _transmit(transmission: str) -> Step:
    return (
        f"transmit {transmission}",
        lambda client: client.owner("transmit", transmission_id=transmission),
    )


def _respond(transmission: str, usage: Any) -> Step:
    return (
        f"respond {transmission} {usage}",
        lambda client: client.ask("report_response", transmission_id=transmission, usage=usage),
    )


def _finish(run: int, outcome: str) -> Step:
    return (
        f"finish {run} {outcome}",
        lambda client: client.owner(
            "finish_workflow_run", workflow_run_id=client.runs[run], outcome=outcome
        ),
    )


def _pause(client: Client) -> Any:
    client.inputs = [client.pause(client.runs[1], "pause")]
    return client.inputs


def _take_over(client: Client) -> Any:
    return client.owner("claim_dispatched_run", workflow_run_id=client.runs[1])


_GROUP: Final = {"invocation_id": "group", "idempotency": "authoritative"}

STEPS: Final[tuple[Step, ...]] = (
    ("start", _start),
    ("claim_lease", _lease),
    ("begin_journey", _begin),
    ("heartbeat", lambda client: client.owner("heartbeat", lease_milliseconds=90 * MINUTE)),
    (
        "claim_attempt",
        lambda client: client.owner(
            "claim_attempt",
            operation_id="attempt",
            workflow_run_id=client.runs[0],
            counters=["task_attempt_starts", "structured_output_correction_attempts"],
        ),
    ),
    ("request_input", _pause),
    ("submit_input", lambda client: client.submit(client.runs[1], client.inputs[0])),
    (
        "acknowledge_dispatch",
        lambda client: client.owner("acknowledge_dispatch", workflow_run_id=client.runs[1]),
    ),
    ("claim_dispatched_run", _take_over),
    _reserve("plain"),
    _transmit("plain"),
    (
        "renew",
        lambda client: client.owner(
            "renew_reservation", transmission_id="plain", lease_milliseconds=20 * MINUTE
        ),
    ),
    _respond("plain", 17),
    _respond("plain", 18),
    _reserve("unsent"),
    (
        "report_unsent",
        lambda client: client.owner("report_unsent", transmission_id="unsent"),
    ),
    _reserve("retried", invocation_id="invocation-unsent"),
    _transmit("retried"),
    _respond("retried", None),
    _respond("retried", 30),
    _reserve("lost", **_GROUP),
    _transmit("lost"),
    (
        "report_ambiguity",
        lambda client: client.ask(
            "report_ambiguity", transmission_id="lost", cause="client_timeout"
        ),
    ),
    _reserve("sibling", **_GROUP, max_output_tokens=50),
    _transmit("sibling"),
    _reserve("answered", **_GROUP),
    _transmit("answered"),
    _respond("answered", 12),
    _reserve("late"),
    _transmit("late"),
    _reserve("lapsing", lease_milliseconds=MINUTE),
    ("sweep a lease", _sweep_after(MINUTE)),
    _finish(0, "failed"),
    ("repair", _repair),
    ("cancel", lambda client: client.ask("cancel", reason_code="operator_requested")),
    _finish(0, "completed"),
    _finish(1, "completed"),
    ("sweep the cancellation", _sweep_after(2 * MINUTE)),
    _respond("lapsing", 1),
    ("sweep the accounting deadline", _sweep_after(4 * MINUTE)),
    _respond("late", 29),
)
"""Each step, in order, with a name."""
