"""Another process on a store, and the port of this one."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import pytest
from tests.impl.clients import ACCESS, NOW, REGISTRY, Client, serving, start_request

from wayproof.impl.journey import JourneyService, SqliteJourneyPort, open_port
from wayproof.spec.journey.records import ExecutionAccess
from wayproof.spec.journey.requests import JourneyStartRequest
from wayproof.spec.journey.validation import decode_record

SCOPE: Final = decode_record(ExecutionAccess, ACCESS)

Result = TypeVar("Result")


class Hands:
    """A clock that stands still until it is moved."""

    def __init__(self, now: int = NOW) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


def request(key: str = "key", **changed: Any) -> JourneyStartRequest:
    """A start of one journey; ``changed`` changes its policy."""
    return decode_record(JourneyStartRequest, start_request(key, **changed))


@asynccontextmanager
async def ported(path: Path, **options: Any) -> AsyncIterator[SqliteJourneyPort]:
    """The port of this process, by default at a clock that stands still."""
    given = {"namespace": "test", "registry": REGISTRY, "synchronous": "NORMAL", "now": Hands()}
    async with open_port(path, **{**given, **options}) as port:
        yield port


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """Run to the end, or fail: nothing here may wait for ever."""

    async def bounded() -> Result:
        async with asyncio.timeout(20):
            return await work

    return asyncio.run(bounded())


@contextmanager
def forked(work: Callable[[Connection], object]) -> Iterator[tuple[Connection, BaseProcess]]:
    """Another process, which is killed at the end. To be made while this one has one thread."""
    context = get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=work, args=(theirs,), daemon=True)
    process.start()
    theirs.close()  # so that the death of the process is the end of the pipe
    try:
        yield ours, process
    finally:
        process.kill()
        process.join()


class _Remote:
    """A namespace that another process serves."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe

    def call(self, operation: str, arguments: object, *, now: int) -> Any:
        self._pipe.send((operation, arguments, now))
        return self._pipe.recv()


@contextmanager
def serving_elsewhere(path: Path) -> Iterator[JourneyService]:
    """A namespace of a store, as another process has it open."""

    def serve(pipe: Connection) -> None:
        with serving(path) as service:
            while True:
                operation, arguments, now = pipe.recv()
                pipe.send(service.call(operation, arguments, now=now))

    with forked(serve) as (pipe, _):
        yield cast(JourneyService, _Remote(pipe))


def completed(client: Client) -> None:
    """Let a journey that runs complete."""
    for run_id in client.runs:
        client.owner("finish_workflow_run", workflow_run_id=run_id, outcome="completed")
    client.owner("complete_journey")


def counted_looks(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    looks: list[str] = []
    sweep_one = JourneyService.sweep_one

    def counting(self: JourneyService, access: Any, journey_id: str, *, now: int) -> None:
        looks.append(journey_id)
        sweep_one(self, access, journey_id, now=now)

    monkeypatch.setattr(JourneyService, "sweep_one", counting)
    return lambda: len(looks)
