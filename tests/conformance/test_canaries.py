"""What callers, workers and adapters write comes back only where the contract gives it back.

Every text that an operation takes, the usage of a provider and the registry carry a canary of
their own: a secret, a prompt, a path, a stack trace. All replies, refusals and reads of a story in
several situations are searched for all of them.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import pytest
from tests.conformance.canary_play import (
    A_PART,
    ENDINGS,
    FREE_TEXTS,
    OPENED,
    SECRET,
    Place,
    Play,
    begun,
    planted_fields,
    play_on,
    registry,
)

from wayproof.conformance.protocol.backend import (
    Answer,
    Backend,
    Refused,
    Reply,
    World,
    WorldSetup,
)
from wayproof.conformance.protocol.load import load_backend
from wayproof.conformance.protocol.sqlite_backend import SqliteBackend
from wayproof.spec.journey.operations import OPERATIONS

GIVEN_BACK: Final[frozenset[Place]] = frozenset(
    (origin, place)
    for origin, places in {
        "claim_attempt /operation_id": ("claim_attempt /operation_id",),
        "registry sequence": ("cancel /workflow_sequence_id", "snapshot /workflow_sequence_id"),
        "registry workflow": (
            "cancel /current_stage",
            "snapshot /current_stage",
            "list_workflow_runs /workflow_runs/*/stage_id",
            "list_workflow_runs /workflow_runs/*/workflow_id",
            "terminal_outcome /workflow_runs/*/workflow_id",
            "settled_result /outcome/workflow_runs/*/workflow_id",
        ),
        "reserve /invocation_id": ("list_reservations /reservations/*/invocation_id",),
        "reserve /transmission_id": (
            "list_reservations /reservations/*/transmission_id",
            "list_discrepancies /discrepancies/*/transmission_id",
            "reserve /transmission_id",
            "transmit /transmission_id",
            "report_response /transmission_id",
            "report_unsent /transmission_id",
            "report_ambiguity /transmission_id",
        ),
    }.items()
    for place in places
)
"""What the contract's records name: the sequence and its workflows, invocations and transmissions,
and a claim by its operation id."""


@pytest.fixture(params=["model", "sqlite"])
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    loaded = load_backend(request.param)
    yield loaded
    loaded.close()


@pytest.mark.parametrize("end", ENDINGS)
def test_a_canary_comes_back_only_where_the_contract_gives_it_back(
    end: Callable[[Play], None],
    backend: Backend,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    assert play_on(backend, end).came_back() == GIVEN_BACK
    written = capfd.readouterr()
    assert SECRET not in caplog.text + written.out + written.err


def test_every_text_carries_a_canary_and_is_accepted_if_it_is_the_callers_own(
    backend: Backend,
) -> None:
    play = play_on(backend)
    fields = {f"{name} {pointer}" for name in OPERATIONS for pointer in planted_fields(name)}
    assert fields <= set(play.planted.values())
    named = {play.planted[mark] for mark in play.planted for n in play.names.values() if mark in n}
    assert play.accepted == named | {"report_response /usage"}
    assert named >= FREE_TEXTS | {"claim_lease /worker_id", "start /idempotency_key"}


def test_every_operation_answers_and_the_refusals_are_of_many_kinds(backend: Backend) -> None:
    plays = [play_on(backend, end) for end in ENDINGS]
    heard = [(said, value) for play in plays for said, value in play.heard if value is not None]
    assert set(OPERATIONS) <= {said for said, _ in heard}
    assert {value["code"] for said, value in heard if said.endswith("!")} >= {
        "unknown_operation",
        "invalid_request",
        "journey_not_found",
        "idempotency_conflict",
        "operation_conflict",
        "unknown_workflow_sequence",
        "unknown_workflow_run",
        "unknown_transmission",
        "journey_cancelling",
        "journey_terminal",
        "deadline_expired",
        "token_budget_exhausted",
    }


def test_a_store_that_fails_does_not_say_where_it_is_and_why() -> None:
    backend = SqliteBackend()
    try:
        play = Play()
        setup = WorldSetup(registry=registry(play), now=OPENED)
        play.world = backend.open("canaries", setup)
        begun(play)
        backend.store.database.conn.execute("PRAGMA query_only = ON")
        for operation, *own in (
            ("start", "idempotency_key", "initial_message"),
            ("start_workflow_run", "operation_id"),
            ("reserve", "transmission_id", "invocation_id"),
            ("cancel", "explanation"),
        ):
            mine = {name: play.canary(f"{operation} /{name}") for name in own}
            reply = play.ask(operation, play.good(operation) | mine)
            assert reply == Refused(code="persistence_unavailable"), operation
        backend.store.database.conn.execute("PRAGMA query_only = OFF")
    finally:
        backend.close()


# Planted faults


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaky:
    """A world that says more than it should."""

    inner: World
    leak: Callable[[str, Any, Reply], Reply]

    def call(self, operation: str, arguments: Any) -> Reply:
        return self.leak(operation, arguments, self.inner.call(operation, arguments))

    def tick(self, now: int) -> None:
        self.inner.tick(now)

    def sweep(self) -> None:
        self.inner.sweep()

    def reconfigure(self, registry: Mapping[str, Any]) -> None:
        self.inner.reconfigure(registry)

    def restart(self) -> None:
        self.inner.restart()

    def close(self) -> None:
        self.inner.close()


def tells_the_explanation(operation: str, arguments: Any, reply: Reply) -> Reply:
    if operation != "cancel" or isinstance(reply, Refused):
        return reply
    return replace(reply, value={**reply.value, "note": arguments["explanation"]})


def tells_a_piece_of_the_explanation(operation: str, arguments: Any, reply: Reply) -> Reply:
    if operation != "cancel" or isinstance(reply, Refused):
        return reply
    piece = arguments["explanation"].partition(" ")[2][:40]
    return replace(reply, value={**reply.value, "note": piece})


def repeats_the_unknown(operation: str, arguments: Any, reply: Reply) -> Reply:
    if isinstance(reply, Answer) or reply.code != "unknown_transmission":
        return reply
    return replace(reply, detail={"message": f"no {arguments['transmission_id']}"})


def names_unknown_fields(operation: str, arguments: Any, reply: Reply) -> Reply:
    if isinstance(reply, Answer) or reply.detail.get("problem") != "unknown_field":
        return reply
    return replace(reply, detail={**reply.detail, "fields": dict.fromkeys(arguments, True)})


def shows_the_worker(operation: str, arguments: Any, reply: Reply) -> Reply:
    if operation != "claim_lease" or isinstance(reply, Refused):
        return reply
    return replace(reply, value={**reply.value, "owner": [arguments["worker_id"]]})


def traces_malformed_usage(operation: str, arguments: Any, reply: Reply) -> Reply:
    if operation != "report_response" or isinstance(reply, Refused):
        return reply
    return replace(reply, value={**reply.value, "cause": f"ValueError: {arguments['usage']}"})


@pytest.mark.parametrize(
    ("leak", "leaked"),
    [
        (tells_the_explanation, ("cancel /explanation", "cancel /note")),
        (tells_a_piece_of_the_explanation, (A_PART, "cancel /note")),
        (repeats_the_unknown, ("transmit /transmission_id", "transmit! /detail/message")),
        (names_unknown_fields, ("cancel (unknown name)", "cancel! /detail/fields/(name)")),
        (shows_the_worker, ("claim_lease /worker_id", "claim_lease /owner/*")),
        (traces_malformed_usage, ("report_response /usage", "report_response /cause")),
    ],
)
def test_a_leak_is_found(
    leak: Callable[[str, Any, Reply], Reply], leaked: Place, backend: Backend
) -> None:
    play = play_on(backend, around=lambda world: Leaky(inner=world, leak=leak))
    assert leaked in play.came_back() - GIVEN_BACK
