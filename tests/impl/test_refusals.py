"""A refused command leaves every row of the store as it was."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.impl.clients import (
    ACCESS,
    HOUR,
    MINUTE,
    NOW,
    Client,
    begun,
    contents,
    serving,
    start_request,
)

from wayproof.impl.journey import ADVERTISED, JourneyService, Refused
from wayproof.spec.journey.refusals import RefusalCode
from wayproof.spec.journey.vocabulary import Capability

Act = Callable[[Client], Any]


def owner(operation: str, **arguments: Any) -> Act:
    return lambda client: client.send(operation, fencing_token=client.token, **arguments)


def about_run(operation: str, run: int, **arguments: Any) -> Act:
    return lambda client: client.send(
        operation,
        **{"fencing_token": client.token, "workflow_run_id": client.runs[run], **arguments},
    )


def child(operation_id: str, purpose: str, run: int) -> Act:
    return lambda client: client.send(
        "start_workflow_run",
        fencing_token=client.token,
        operation_id=operation_id,
        parent_workflow_run_id=client.runs[run],
        workflow_id="plan",
        purpose=purpose,
    )


def reserve(transmission: str, **changed: Any) -> Act:
    return lambda client: client.send("reserve", **client.reservation(transmission, **changed))


def starting(**changed: Any) -> Act:
    request = {**start_request(), **changed}
    return lambda client: client.service.call("start", request, now=NOW)


def sent(operation: str, **arguments: Any) -> Act:
    return lambda client: client.send(operation, **arguments)


def submit(run: int, request: int, **arguments: Any) -> Act:
    return lambda client: client.send(
        "submit_input",
        workflow_run_id=client.runs[run],
        input_request_id=client.inputs[request],
        **arguments,
    )


REFUSED: tuple[tuple[str, Act], ...] = (
    ("unknown_operation", sent("nonsense")),
    ("unsupported_schema_version", sent("snapshot", access={**ACCESS, "schema_version": "v0"})),
    ("invalid_request", sent("cancel", explanation=7)),
    ("unsupported_cancellation_reason", sent("cancel", reason_code="boredom")),
    ("journey_not_found", sent("cancel", access={**ACCESS, "owner_id": "other"})),
    ("idempotency_conflict", starting(initial_message="other")),
    ("operation_conflict", reserve("open", max_output_tokens=99)),
    ("operation_conflict", child("attempt", "decomposition", 0)),
    ("unknown_workflow_sequence", starting(idempotency_key="2", workflow_sequence_id="none")),
    ("invalid_entry", starting(idempotency_key="2", entry={"kind": "stage", "id": "none"})),
    ("initial_message_unsupported", starting(idempotency_key="2", initial_message="hello")),
    (
        "invalid_route_choice",
        starting(idempotency_key="2", route_choices=[{"transition_id": "t", "option_id": "o"}]),
    ),
    (
        "journey_execution_capability_unavailable",
        lambda client: client.service.call("start", start_request("2", sequence="long"), now=NOW),
    ),
    ("unknown_workflow_run", reserve("new", workflow_run_id="none")),
    ("unknown_transmission", owner("transmit", transmission_id="none")),
    ("fenced", reserve("new", fencing_token=99)),
    ("fenced", sent("report_unsent", fencing_token=99, transmission_id="open")),
    (
        "lease_held",
        sent("claim_lease", operation_id="2", worker_id="w", lease_milliseconds=MINUTE),
    ),
    ("workflow_run_finished", child("2", "decomposition", 1)),
    ("workflow_run_not_active", child("2", "decomposition", 2)),
    ("workflow_run_not_active", about_run("request_input", 3, operation_id="2")),
    ("input_conflict", submit(3, 1, option_id="other")),
    ("invalid_route_choice", submit(2, 0, option_id="other")),
    ("unknown_input_request", submit(2, 1)),
    ("unknown_dispatch_intent", about_run("claim_dispatched_run", 2)),
    ("fenced", about_run("acknowledge_dispatch", 3, fencing_token=99)),
    ("parent_not_failed", child("2", "repair", 0)),
    ("predecessor_unresolved", reserve("new", invocation_id="invocation-open")),
    ("transmission_not_reserved", owner("transmit", transmission_id="sent")),
    (
        "transmission_closed",
        owner("renew_reservation", transmission_id="done", lease_milliseconds=MINUTE),
    ),
    ("reservation_lease_expired", owner("transmit", transmission_id="lapsed")),
    ("journey_incomplete", owner("complete_journey")),
)


def prepared(service: JourneyService) -> Client:
    """A journey in which each of these can be refused."""
    client = begun(service)
    about_run("claim_attempt", 0, operation_id="attempt", counters=["task_attempt_starts"])(client)
    client.reserve("lapsed", lease_milliseconds=1)
    client.reserve("open")
    client.transmit("sent")
    client.transmit("done")
    client.respond("done")
    client.runs += [client.child(f"child-{n}", parent=client.runs[0]) for n in range(2)]
    client.inputs = [client.pause(client.runs[2 + n], f"pause-{n}") for n in range(2)]
    client.submit(client.runs[3], client.inputs[1])
    about_run("finish_workflow_run", 1, outcome="failed")(client)
    client.now += 2
    return client


@pytest.mark.parametrize(("code", "act"), REFUSED, ids=[code for code, _ in REFUSED])
def test_a_refusal_changes_nothing(tmp_path: Path, code: str, act: Act) -> None:
    path = tmp_path / "store.db"
    kept = set(ADVERTISED) - {Capability.DURABLE_DISPATCH}
    with serving(path, capabilities=kept) as service:
        client = prepared(service)
        before = contents(path)
        reply = act(client)
        assert isinstance(reply, Refused)
        assert reply.code == code
        assert contents(path) == before


@pytest.mark.parametrize(
    ("code", "stop"),
    [
        ("journey_cancelling", sent("cancel")),
        ("journey_terminal", owner("fail_journey", reason_code="workflow_failed")),
    ],
)
def test_a_stopped_journey_is_left_as_it_is(tmp_path: Path, code: str, stop: Act) -> None:
    path = tmp_path / "store.db"
    with serving(path) as service:
        client = prepared(service)
        stop(client)
        before = contents(path)
        for act in (
            reserve("new"),
            owner("transmit", transmission_id="open"),
            child("2", "repair", 1),
        ):
            assert act(client).code == code
        assert contents(path) == before


@pytest.mark.parametrize(
    ("code", "act"),
    [
        ("token_budget_exhausted", reserve("new", max_output_tokens=10**7)),
        ("token_reservation_unavailable", reserve("new", max_output_tokens=None)),
        (
            "task_attempt_start_limit_exhausted",
            about_run(
                "claim_attempt",
                0,
                operation_id="2",
                counters=["structured_output_correction_attempts", "task_attempt_starts"],
            ),
        ),
        ("workflow_run_start_limit_exhausted", child("2", "repair", 1)),
        ("provider_retry_limit_exhausted", reserve("new", invocation_id="invocation-done")),
    ],
)
def test_a_refusal_that_ends_the_journey_commits_the_end_and_no_claim(
    tmp_path: Path, code: str, act: Act
) -> None:
    path = tmp_path / "store.db"
    with serving(path) as service:
        client = begun(
            service,
            max_task_attempt_starts=1,
            max_workflow_run_starts=2,
            max_provider_retry_attempts=0,
        )
        about_run("claim_attempt", 0, operation_id="1", counters=["task_attempt_starts"])(client)
        client.transmit("done")
        client.respond("done")
        about_run("finish_workflow_run", 1, outcome="failed")(client)
        before = client.ask("snapshot")
        reply = act(client)
        assert reply.code == code
        after = client.ask("snapshot")
        assert reply.detail["outcome"]["terminal_reason"] == after["terminal_reason"] == code
        assert (after["counters"], after["tokens"]) == (before["counters"], before["tokens"])
        assert after["record_version"] == reply.record_version == before["record_version"] + 1
        assert len(client.ask("list_workflow_runs")["workflow_runs"]) == 2
        assert len(client.ask("list_reservations")["reservations"]) == 1
        assert client.refused("reserve", **client.reservation("new")) == "journey_terminal"


def test_a_stage_for_which_there_is_no_room_ends_the_journey_and_is_not_entered(
    tmp_path: Path,
) -> None:
    with serving(tmp_path / "store.db") as service:
        client = Client(service)
        start = start_request(sequence="long", max_workflow_run_starts=1)
        client.journey_id = service.call("start", start, now=NOW).value["journey_id"]  # type: ignore[union-attr]
        client.begin()
        before = client.ask("snapshot")
        finish = {"workflow_run_id": client.runs[0], "outcome": "completed"}
        reply = client.send("finish_workflow_run", fencing_token=client.token, **finish)
        assert isinstance(reply, Refused)
        assert reply.code == "workflow_run_start_limit_exhausted"
        after = client.ask("snapshot")
        assert after["record_version"] == before["record_version"] + 1
        assert after["terminal_reason"] == "workflow_run_start_limit_exhausted"
        assert after["counters"] == before["counters"]
        (run,) = client.ask("list_workflow_runs")["workflow_runs"]
        assert (run["state"], run["stage_id"]) == ("quarantined", "plan")
        assert client.ask("list_dispatch_intents")["dispatch_intents"] == []


def test_a_takeover_that_is_refused_ends_the_journey(tmp_path: Path) -> None:
    with serving(tmp_path / "store.db") as service:
        for key, sends, code in (
            ("sent", True, "provider_transmission_ambiguous"),
            ("idle", False, "orphan_recovery_unsafe"),
        ):
            client = begun(service, key, deadline_utc="2031-01-01T00:00:00Z")
            if sends:
                client.transmit("t")
            client.now += HOUR
            claim = {"operation_id": "2", "worker_id": "w", "lease_milliseconds": MINUTE}
            assert client.refused("claim_lease", **claim) == code
            assert client.ask("snapshot")["terminal_reason"] == code


def test_every_code_is_among_the_refusals_here() -> None:
    """Those of a full disk and a passed deadline are shown elsewhere in this folder."""
    shown = {code for code, _ in REFUSED}
    missing = {code.value for code in RefusalCode} - shown
    assert missing == {
        *("journey_terminal", "journey_cancelling", "deadline_expired", "persistence_unavailable"),
        *("token_reservation_unavailable", "token_budget_exhausted"),
        *("provider_transmission_ambiguous", "orphan_recovery_unsafe"),
        *(code.value for code in RefusalCode if code.value.endswith("limit_exhausted")),
    }
