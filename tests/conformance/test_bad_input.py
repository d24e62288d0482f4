"""A bad request changes nothing and reveals nothing, on the model and on the SQLite store.

The world that is asked holds one running journey with an active run and a reservation. Every
request names them rightly, so that one malformed field is all that is wrong with it; the bad
requests are sent before the deadline and after it, when any request that got further than
decoding would end the journey.
"""

import json
import logging
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest
from tests.spec.canaries import SECRET, secret_requests
from tests.spec.malformations import (
    CROSS_FIELD,
    MALFORMED_USAGE,
    at,
    bad_requests,
    with_value,
)
from tests.spec.samples import START, good_request

from wayproof.conformance.protocol.backend import Answer, Backend, Refused, Reply, World, WorldSetup
from wayproof.conformance.protocol.load import load_backend
from wayproof.conformance.protocol.sqlite_backend import SqliteBackend
from wayproof.spec.journey.operations import OPERATIONS

OPENED = 1_893_456_000_000
"""2030-01-01T00:00:00Z; the deadline of the good start is an hour later."""

AFTER_THE_DEADLINE = OPENED + 2 * 3_600_000

REGISTRY = {
    "workflows": [{"id": "Builder"}],
    "entrypoints": [
        {
            "id": "styled_entry",
            "sequence": "styled",
            "transition": "style",
            "accepts_initial_message": True,
        }
    ],
    "transitions": [{"id": "style", "options": [{"id": "plain"}]}],
    "workflow_sequences": [{"id": "styled", "steps": [{"workflows": ["Builder"]}]}],
}

DECODING = frozenset(
    {
        "unknown_operation",
        "unsupported_schema_version",
        "invalid_request",
        "unsupported_cancellation_reason",
    }
)

every_operation = pytest.mark.parametrize("operation", OPERATIONS)
_WORLDS = count(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """A world with one running journey, and the names of what is in it."""

    backend: Backend
    world: World
    names: dict[str, str]
    """The names that the good requests use, and what they stand for in this world."""

    def good(self, operation: str) -> dict[str, Any]:
        """The good request of an operation, about this journey."""
        named: dict[str, Any] = self._named(good_request(operation))
        return named

    def call(self, operation: str, arguments: Any) -> Reply:
        return self.world.call(operation, arguments)

    def answered(self, operation: str, **changes: Any) -> Any:
        """The value that a good request, with changes, is answered with."""
        reply = self.call(operation, self.good(operation) | changes)
        assert isinstance(reply, Answer), f"{operation}: {reply}"
        return reply.value

    def observation(self) -> list[Any]:
        """Everything that can be read of the journey."""
        reads = (name for name, operation in OPERATIONS.items() if not operation.mutates)
        return [self.answered(read) for read in reads]

    def dump(self) -> str:
        """The logical content of the store, for a backend that has one."""
        if not isinstance(self.backend, SqliteBackend):
            return ""
        connection = sqlite3.connect(self.backend.store.path)
        try:
            return "\n".join(connection.iterdump())
        finally:
            connection.close()

    def _named(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._named(entry) for key, entry in value.items()}
        if isinstance(value, list):
            return [self._named(entry) for entry in value]
        return self.names.get(value, value) if isinstance(value, str) else value


@pytest.fixture(scope="module", params=["model", "sqlite"])
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    loaded = load_backend(request.param)
    yield loaded
    loaded.close()


@pytest.fixture
def situation(backend: Backend) -> Situation:
    """A running journey with an active run and one transmission, reserved and not sent."""
    world = backend.open(f"bad-input-{next(_WORLDS)}", WorldSetup(registry=REGISTRY, now=OPENED))
    names: dict[str, str] = {}
    situation = Situation(backend=backend, world=world, names=names)
    names["journey-1"] = situation.answered("start")["journey_id"]
    assert situation.answered("claim_lease", lease_milliseconds=86_400_000)["fencing_token"] == 1
    (names["run-1"],) = situation.answered("begin_journey")["workflow_run_ids"]
    situation.answered("reserve", lease_milliseconds=86_400_000)
    return situation


def cross_field_requests(operation: str, good: dict[str, Any]) -> Iterator[tuple[Any, str]]:
    for what, path, spoil, _ in CROSS_FIELD.get(operation, ()):
        yield with_value(good, path, spoil(at(good, path))), what


@every_operation
def test_a_good_request_gets_past_decoding(operation: str, situation: Situation) -> None:
    reply = situation.call(operation, situation.good(operation))
    assert isinstance(reply, Answer) or reply.code not in DECODING
    assert reply != Refused(code="journey_not_found")


@pytest.mark.parametrize("now", [OPENED, AFTER_THE_DEADLINE], ids=["in time", "too late"])
@every_operation
def test_a_bad_request_gets_its_code_and_changes_nothing(
    operation: str, situation: Situation, now: int
) -> None:
    situation.world.tick(now)
    observed, dumped = situation.observation(), situation.dump()
    wrong = []
    for bad in bad_requests(operation, situation.good(operation)):
        reply = situation.call(operation, bad.arguments)
        expected = {"pointer": bad.pointer} | ({"problem": bad.problem} if bad.problem else {})
        if reply != Refused(code=bad.code, detail=expected):
            wrong.append(f"{bad}: {reply}")
    for arguments, what in cross_field_requests(operation, situation.good(operation)):
        reply = situation.call(operation, arguments)
        if not isinstance(reply, Refused) or reply.code != "invalid_request":
            wrong.append(f"{operation} {what}: {reply}")
    assert wrong == []
    assert situation.observation() == observed
    assert situation.dump() == dumped


@pytest.mark.parametrize("name", ["", "Start", "snapshot ", "no_such_operation"])
def test_an_unknown_operation_is_refused_and_changes_nothing(
    name: str, situation: Situation
) -> None:
    situation.world.tick(AFTER_THE_DEADLINE)
    observed, dumped = situation.observation(), situation.dump()
    assert situation.call(name, situation.good("cancel")) == Refused(code="unknown_operation")
    assert situation.observation() == observed
    assert situation.dump() == dumped


@every_operation
def test_a_bad_request_of_a_stranger_reveals_no_more_than_one_of_the_owner(
    operation: str, situation: Situation
) -> None:
    good = situation.good(operation) | {"access": {**START["access"], "owner_id": "stranger"}}
    bad = [case for case in bad_requests(operation, good) if not case.pointer.startswith("/access")]
    own = [
        case
        for case in bad_requests(operation, situation.good(operation))
        if not case.pointer.startswith("/access")
    ]
    for foreign, mine in zip(bad, own, strict=True):
        assert situation.call(operation, foreign.arguments) == situation.call(
            operation, mine.arguments
        )


@every_operation
def test_no_refusal_and_no_log_repeats_a_secret(
    operation: str,
    situation: Situation,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    refused = 0
    for arguments in secret_requests(operation, situation.good(operation)):
        reply = situation.call(operation, arguments)
        if isinstance(reply, Refused):
            refused += 1
            assert SECRET not in repr(reply)
    assert refused > 0
    written = capfd.readouterr()
    assert SECRET not in caplog.text + written.out + written.err


def test_no_read_publishes_the_initial_message_or_an_explanation(situation: Situation) -> None:
    request = situation.good("start") | {"idempotency_key": "key-2", "initial_message": SECRET}
    reply = situation.call("start", request)
    assert isinstance(reply, Answer)
    situation.names["journey-1"] = reply.value["journey_id"]
    replies = [reply.value, situation.answered("cancel", explanation=SECRET)]
    assert replies[-1]["lifecycle_state"] == "cancelling"
    assert SECRET not in json.dumps([*replies, *situation.observation()])


REPORTED = f"{SECRET}-reported"
"""A secret of its own: the other one may be a name in the store that all these tests share."""


def open_transmission(situation: Situation, transmission: str) -> None:
    situation.names["transmission-1"] = transmission
    situation.names["invocation-1"] = f"call-of-{transmission}"
    situation.answered("reserve", lease_milliseconds=86_400_000)
    situation.answered("transmit")


@pytest.mark.parametrize("usage", MALFORMED_USAGE, ids=lambda usage: type(usage).__name__)
def test_malformed_usage_is_charged_and_recorded(usage: Any, situation: Situation) -> None:
    open_transmission(situation, "transmission-2")
    before = situation.answered("snapshot")

    reading = situation.answered("report_response", usage=usage)

    assert reading == {
        "transmission_id": "transmission-2",
        "state": "expired_conservatively",
        "actual_tokens": None,
    }
    after = situation.answered("snapshot")
    assert after["lifecycle_state"] == "running"
    assert after["record_version"] > before["record_version"]
    assert after["tokens"] == before["tokens"] | {
        "reserved_tokens": before["tokens"]["reserved_tokens"] - 200,
        "conservatively_committed_tokens": 200,
        "committed_token_exposure": 200,
    }
    (discrepancy,) = situation.answered("list_discrepancies")["discrepancies"]
    assert discrepancy["kind"] == "malformed_usage"
    assert discrepancy["transmission_id"] == "transmission-2"
    assert discrepancy["reported_tokens"] is None


def test_usage_that_is_not_reported_at_all_is_a_bad_request(situation: Situation) -> None:
    open_transmission(situation, "transmission-2")
    request = situation.good("report_response")
    del request["usage"]
    assert situation.call("report_response", request) == Refused(
        code="invalid_request", detail={"pointer": "/usage", "problem": "missing"}
    )
    assert situation.answered("list_reservations")["reservations"][1]["state"] == "transmitted"


@pytest.mark.parametrize(
    "usage",
    [REPORTED, {REPORTED: REPORTED}, [REPORTED] * 10_000, {"deep": [[[{REPORTED: [REPORTED]}]]]}],
    ids=["text", "object", "long list", "nested"],
)
def test_malformed_usage_leaves_no_trace_of_its_text(usage: Any, situation: Situation) -> None:
    open_transmission(situation, "transmission-2")
    reading = situation.answered("report_response", usage=usage)
    assert reading["state"] == "expired_conservatively"
    assert REPORTED not in json.dumps([reading, *situation.observation()])
    assert REPORTED not in situation.dump()


def test_a_backend_that_lets_a_bad_request_change_something_is_caught(backend: Backend) -> None:
    """The comparisons above can fail: a sweep after each bad request is seen."""
    world = backend.open(f"bad-input-{next(_WORLDS)}", WorldSetup(registry=REGISTRY, now=OPENED))
    situation = Situation(backend=backend, world=world, names={})
    situation.names["journey-1"] = situation.answered("start")["journey_id"]
    world.tick(AFTER_THE_DEADLINE)
    observed, dumped = situation.observation(), situation.dump()
    call: Callable[[str, Any], Reply] = world.call

    assert call("cancel", None) == Refused(
        code="invalid_request", detail={"pointer": "", "problem": "wrong_type"}
    )
    world.sweep()

    assert situation.observation() != observed
    assert situation.dump() != dumped or not isinstance(backend, SqliteBackend)
