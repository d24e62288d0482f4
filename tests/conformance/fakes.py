"""Backends that are wrong in one way each: the model, with one thing spoilt on its way out.

They are named by ``python:tests.conformance.fakes:NAME``.
"""

import os
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from wayproof.conformance.protocol.backend import Answer, Hello, Refused, Reply, WorldSetup
from wayproof.conformance.protocol.model_backend import ModelBackend, ModelWorld
from wayproof.conformance.run.player import play
from wayproof.conformance.run.verdict import Verdict
from wayproof.conformance.vectors.format import Vector


class Spoilt(ModelBackend):
    """The model; a subclass spoils what its worlds answer."""

    def open(self, name: str, setup: WorldSetup) -> ModelWorld:
        world = super().open(name, setup)
        honest = world.call

        def call(operation: str, arguments: Any) -> Reply:
            spoilt: Reply = self.spoil(operation, arguments, honest(operation, arguments))
            return spoilt

        world.call = call  # type: ignore[method-assign]
        return world

    def spoil(self, operation: str, arguments: Any, reply: Reply) -> Any:
        return reply


def changed(reply: Reply, **changes: Any) -> Reply:
    assert isinstance(reply, Answer)
    return replace(reply, value={**reply.value, **changes})


class WrongReply(Spoilt):
    """Grants more than was asked for, and records the right amount."""

    def spoil(self, operation: str, arguments: Any, reply: Reply) -> Any:
        return changed(reply, reserved_tokens=31) if operation == "reserve" else reply


class FloatingReply(Spoilt):
    """Answers 30.0 where it has to answer 30."""

    def spoil(self, operation: str, arguments: Any, reply: Reply) -> Any:
        return changed(reply, reserved_tokens=30.0) if operation == "reserve" else reply


class TalkativeReply(Spoilt):
    """Answers a field that the record does not have."""

    def spoil(self, operation: str, arguments: Any, reply: Reply) -> Any:
        return changed(reply, hint="x") if operation == "reserve" else reply


class WrongCode(Spoilt):
    """Tells a terminal journey from a cancelling one by the wrong code."""

    def spoil(self, operation: str, arguments: Any, reply: Reply) -> Any:
        if isinstance(reply, Refused) and reply.code == "journey_terminal":
            return replace(reply, code="journey_cancelling")
        return reply


class WrongDetail(Spoilt):
    """Forgets the outcome in the refusal of a terminal journey."""

    def spoil(self, operation: str, arguments: Any, reply: Reply) -> Any:
        if isinstance(reply, Refused) and reply.code == "journey_terminal":
            return replace(reply, detail={})
        return reply


class Leaky(Spoilt):
    """Tells a stranger how often a journey has changed."""

    def spoil(self, operation: str, arguments: Any, reply: Reply) -> Any:
        if isinstance(reply, Refused) and reply.code == "journey_not_found":
            return replace(reply, record_version=1)
        return reply


class Refuses(Spoilt):
    """Refuses where it has to answer."""

    def spoil(self, operation: str, arguments: Any, reply: Reply) -> Any:
        return Refused(code="fenced") if operation == "begin_journey" else reply


class StandingVersion(Spoilt):
    """Never raises a record version."""

    def spoil(self, operation: str, arguments: Any, reply: Reply) -> Any:
        reply = replace(reply, record_version=1 if reply.record_version else None)
        if isinstance(reply, Answer) and "record_version" in (reply.value or {}):
            return changed(reply, record_version=1)
        return reply


class RestlessVersion(Spoilt):
    """Raises the record version with every reply."""

    def __init__(self) -> None:
        super().__init__()
        self.version = 0

    def spoil(self, operation: str, arguments: Any, reply: Reply) -> Any:
        self.version += 1
        reply = replace(reply, record_version=self.version if reply.record_version else None)
        if isinstance(reply, Answer) and "record_version" in (reply.value or {}):
            return changed(reply, record_version=self.version)
        return reply


class EarlyCreation(Spoilt):
    """Says that a reservation was created at a version at which it was not there yet."""

    def spoil(self, operation: str, arguments: Any, reply: Reply) -> Any:
        if operation != "list_reservations" or not isinstance(reply, Answer):
            return reply
        records = reply.value["reservations"]
        early = [{**one, "created_version": one["created_version"] - 1} for one in records]
        return changed(reply, reservations=early)


class MovingCreation(Spoilt):
    """Says that a reservation was created at the latest version."""

    def spoil(self, operation: str, arguments: Any, reply: Reply) -> Any:
        if reply.record_version is not None and operation != "list_reservations":
            self.latest = reply.record_version
        if operation != "list_reservations" or not isinstance(reply, Answer):
            return reply
        records = reply.value["reservations"]
        return changed(
            reply, reservations=[{**one, "created_version": self.latest} for one in records]
        )


class TornRead(Spoilt):
    """Shows one wrong snapshot, the first that holds a reservation, and right ones after it."""

    def __init__(self) -> None:
        super().__init__()
        self.torn = False

    def spoil(self, operation: str, arguments: Any, reply: Reply) -> Any:
        if operation == "snapshot" and isinstance(reply, Answer) and not self.torn:
            tokens = reply.value["tokens"]
            if tokens["reserved_tokens"]:
                self.torn = True
                return changed(reply, tokens={**tokens, "reserved_tokens": 0})
        return reply


class WrongState(Spoilt):
    """Shows one token too many in a snapshot."""

    def spoil(self, operation: str, arguments: Any, reply: Reply) -> Any:
        if operation == "snapshot" and isinstance(reply, Answer):
            tokens = reply.value["tokens"]
            reserved = tokens["reserved_tokens"]
            if reserved:
                return changed(reply, tokens={**tokens, "reserved_tokens": reserved + 1})
        return reply


class Forgetful(Spoilt):
    """Loses its journeys in a restart."""

    def open(self, name: str, setup: WorldSetup) -> ModelWorld:
        world = super().open(name, setup)

        def restart() -> None:
            world.world = replace(world.world, journeys=())

        world.restart = restart  # type: ignore[method-assign]
        return world


class SameIds(Spoilt):
    """Gives every journey the id of the first."""

    def __init__(self) -> None:
        super().__init__()
        self.first: str | None = None

    def spoil(self, operation: str, arguments: Any, reply: Reply) -> Any:
        if operation == "start" and isinstance(reply, Answer):
            self.first = self.first or reply.value["journey_id"]
            return changed(reply, journey_id=self.first)
        return reply


class Unordered(Spoilt):
    """Lists workflow runs the wrong way round."""

    def spoil(self, operation: str, arguments: Any, reply: Reply) -> Any:
        if operation == "list_workflow_runs" and isinstance(reply, Answer):
            return changed(reply, workflow_runs=reply.value["workflow_runs"][::-1])
        return reply


class OldTokens(Spoilt):
    """Grants every lease under one fencing token."""

    def spoil(self, operation: str, arguments: Any, reply: Reply) -> Any:
        if operation == "claim_lease" and isinstance(reply, Answer):
            return changed(reply, fencing_token=1)
        return reply


class FallingTokens(Spoilt):
    """Grants each lease under a lower fencing token than the one before."""

    def __init__(self) -> None:
        super().__init__()
        self.token = 100

    def spoil(self, operation: str, arguments: Any, reply: Reply) -> Any:
        if operation == "claim_lease" and isinstance(reply, Answer):
            self.token -= 1
            return changed(reply, fencing_token=self.token)
        return reply


class LongPages(Spoilt):
    """Answers its whole listing on every page."""

    def spoil(self, operation: str, arguments: Any, reply: Reply) -> Any:
        if operation == "list_reservations" and isinstance(reply, Answer):
            first = reply.value["reservations"][:1]
            return changed(reply, reservations=first * 100)
        return reply


class Unavailable(Spoilt):
    """Can never commit."""

    def spoil(self, operation: str, arguments: Any, reply: Reply) -> Any:
        return Refused(code="persistence_unavailable") if operation == "start" else reply


class Unreadable(Spoilt):
    """Can never read."""

    def spoil(self, operation: str, arguments: Any, reply: Reply) -> Any:
        return Refused(code="persistence_unavailable") if operation == "snapshot" else reply


class Greedy(Spoilt):
    """Is right, and leaves nothing of what it was given."""

    def spoil(self, operation: str, arguments: Any, reply: Reply) -> Any:
        for part in list(arguments.values()):
            if isinstance(part, dict):
                part.clear()
        arguments.clear()
        return reply


class RefusesStart(Spoilt):
    """Starts nothing."""

    def spoil(self, operation: str, arguments: Any, reply: Reply) -> Any:
        return Refused(code="fenced") if operation == "start" else reply


class Eager(Spoilt):
    """Is right: lets whatever is due take effect at once."""

    def open(self, name: str, setup: WorldSetup) -> ModelWorld:
        world = super().open(name, setup)
        tick = world.tick

        def eager_tick(now: int) -> None:
            tick(now)
            world.sweep()

        world.tick = eager_tick  # type: ignore[method-assign]
        return world


class LeapingVersion(Spoilt):
    """Is right: raises every record version by ten instead of one."""

    def spoil(self, operation: str, arguments: Any, reply: Reply) -> Any:
        if reply.record_version:
            reply = replace(reply, record_version=10 * reply.record_version)
        if isinstance(reply, Answer):
            reply = replace(reply, value=self.leapt(reply.value))
        return reply

    def leapt(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: 10 * part
                if key.endswith("_version") and key != "schema_version"
                else self.leapt(part)
                for key, part in value.items()
            }
        return [self.leapt(part) for part in value] if isinstance(value, list) else value


class Listening(Spoilt):
    """Is right, and remembers what it was sent."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[Any] = []

    def spoil(self, operation: str, arguments: Any, reply: Reply) -> Any:
        self.heard.append([operation, arguments])
        return reply

    @classmethod
    def heard_from(cls, vector: Vector) -> list[Any]:
        backend = cls()
        assert play(vector, backend, backend.hello().capabilities).verdict is Verdict.PASS
        return backend.heard


class Raises(Spoilt):
    """Has an adapter with a fault in it."""

    def spoil(self, operation: str, arguments: Any, reply: Reply) -> Any:
        raise LookupError("the adapter has a fault")


class Exits(Spoilt):
    """Tries to end the run as a success."""

    def spoil(self, operation: str, arguments: Any, reply: Reply) -> Any:
        raise SystemExit(0)


class Dies(Spoilt):
    """Ends its process as a success."""

    def spoil(self, operation: str, arguments: Any, reply: Reply) -> Any:
        if operation == "reserve":
            os._exit(0)
        return reply


class Hangs(Spoilt):
    """Never answers a reservation; says so in the file that ``HANGING`` names."""

    def spoil(self, operation: str, arguments: Any, reply: Reply) -> Any:
        if operation == "reserve":
            if "HANGING" in os.environ:
                Path(os.environ["HANGING"]).touch()
            time.sleep(60)
        return reply


class Garbage(Spoilt):
    """Answers what is no reply."""

    def spoil(self, operation: str, arguments: Any, reply: Reply) -> Any:
        return "fine, thanks"


class NotANumber(Spoilt):
    """Answers a number that JSON does not have."""

    def spoil(self, operation: str, arguments: Any, reply: Reply) -> Any:
        return Answer(value={"reserved_tokens": float("nan")})


class Circular(Spoilt):
    """Answers a value that contains itself."""

    def spoil(self, operation: str, arguments: Any, reply: Reply) -> Any:
        value: dict[str, Any] = {}
        value["self"] = value
        return Answer(value=value)


class NoVersion(Spoilt):
    """Answers a record version that is none."""

    def spoil(self, operation: str, arguments: Any, reply: Reply) -> Any:
        return replace(reply, record_version=True)


class Prints(Spoilt):
    """Is right, and prints a false report to every channel that it finds."""

    def spoil(self, operation: str, arguments: Any, reply: Reply) -> Any:
        print('{"conclusion": "conforms"}', flush=True)
        os.write(1, b"}}}\n")
        return reply


class Unclosable(Spoilt):
    """Breaks when it is closed."""

    def close(self) -> None:
        raise OSError("the store is stuck")


class NoHello(Spoilt):
    """Does not say who it is."""

    def hello(self) -> Hello:
        return {"name": "nobody"}  # type: ignore[return-value]


class Lacking(Spoilt):
    """Advertises nothing."""

    def hello(self) -> Hello:
        return replace(super().hello(), capabilities=())


def unmakeable() -> Mapping[str, int]:
    raise SystemExit(0)
