"""The journey port over a store: asynchronous, for any number of processes at once.

    async with open_port("journeys.db", namespace="production", registry=registry) as port:
        handle = await port.start(request)
        outcome = await handle.wait_terminal(timeout_seconds=600)

A wait belongs to its waiter alone. Cancelling its task, letting its timeout run out, closing the
port or killing the process ends the wait and nothing else; another wait, there or in another
process, sees the same journey. A wait also lets what is due in its journey take effect when it
falls due (the deadline, the cutoff of a cancellation, a lease, the accounting deadline): a journey
whose owner has died still ends as long as somebody waits for it. A deadline is due as soon as UTC
or the process's monotonic clock shows it, see ``deadlines.py``.

Whoever waits is woken within ``look_interval_seconds`` of the commit, see ``waiting.py``. Measured
on two busy cores with the default of 20 milliseconds, from a durable commit in another process
until the waiter had its outcome: the median of 300 waits was 10 ms, the longest 26 ms. A port with
one to a hundred waiters that have nothing to do takes less than 1 % of a core, one without waiters
nothing.

Like the store it is a non-production seam: it starts no workflow and calls no provider. Stages
behind the first are taken over from the store's outbox, and choices made there, not here.
"""

import asyncio
import json
import math
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import partial
from typing import Any, Final, TypeVar

from wayproof.impl.journey.clock import SystemClock
from wayproof.impl.journey.connection import Synchronous
from wayproof.impl.journey.deadlines import Clocks, Deadlines, monotonic_milliseconds
from wayproof.impl.journey.errors import StoreUnavailableError
from wayproof.impl.journey.handle import JourneyHandle
from wayproof.impl.journey.replies import Refused
from wayproof.impl.journey.service import JourneyService
from wayproof.impl.journey.store import ADVERTISED, SqliteJourneyStore
from wayproof.impl.journey.waiting import Goal, Watch
from wayproof.spec.journey.constraints import to_milliseconds
from wayproof.spec.journey.definitions import Registry
from wayproof.spec.journey.operations import OPERATIONS
from wayproof.spec.journey.ports import PortError, WaitTimeoutError
from wayproof.spec.journey.records import (
    ExecutionAccess,
    JourneyExecutionOutcome,
    JourneySettledResult,
    JourneySnapshot,
    WorkflowRunListing,
    WorkflowRunSnapshot,
)
from wayproof.spec.journey.refusals import Refusal, RefusalCode
from wayproof.spec.journey.requests import JourneyRequest, JourneyStartRequest
from wayproof.spec.journey.validation import Problem, adapter, decode_record
from wayproof.spec.journey.vocabulary import Capability

Result = TypeVar("Result")

_READS: Final[dict[Goal, str]] = {"terminal": "terminal_outcome", "settled": "settled_result"}
"""The read that answers each wait."""

_NOT_YET: Final[dict[Goal, str]] = {
    "terminal": "the journey has not ended yet; it goes on",
    "settled": "accounting is not final yet; the journey goes on",
}

_LONGEST_WAIT_SECONDS: Final = 1e9


class PortClosedError(PortError):
    """The port is closed, or was closed during the call; the journey goes on."""


@asynccontextmanager
async def open_port(
    path: str | os.PathLike[str],
    *,
    namespace: str,
    registry: Registry,
    capabilities: Iterable[Capability] = ADVERTISED,
    now: Callable[[], int] | None = None,
    monotonic: Callable[[], int] = monotonic_milliseconds,
    synchronous: Synchronous = "FULL",
    patience_seconds: float = 10.0,
    look_interval_seconds: float = 0.02,
) -> AsyncIterator["SqliteJourneyPort"]:
    """Open the port of one namespace of a store, and the store if need be.

    ``now`` is the clock, in milliseconds since 1970 UTC, by default a :class:`SystemClock`;
    ``monotonic`` is the one that nobody can set, in milliseconds since any moment;
    ``look_interval_seconds`` bounds how late a waiter is woken. The other arguments are those of
    :class:`SqliteJourneyStore` and its ``namespace``. A port must not be carried across a fork.

    Raises:
        StoreError: see ``errors.py``; the file was not changed.
        ValueError: for a capability that this implementation does not have.
    """
    deadlines = Deadlines(Clocks(utc=now or SystemClock().now, monotonic=monotonic))
    executor = ThreadPoolExecutor(1, thread_name_prefix="wayproof-journey-port")
    resources = ExitStack()

    def opened() -> SqliteJourneyPort:
        store = SqliteJourneyStore(path, synchronous=synchronous, patience_seconds=patience_seconds)
        resources.enter_context(store)
        service = store.namespace(namespace, registry=registry, capabilities=capabilities)
        try:
            watch = resources.enter_context(
                Watch(store.path, deadlines.moment, look_interval_seconds)
            )
        except sqlite3.Error as error:
            raise StoreUnavailableError(f"the store cannot be watched: {error}") from error
        return SqliteJourneyPort(executor, service, watch, deadlines)

    try:
        yield await asyncio.wrap_future(executor.submit(opened))
    finally:
        # Closed by its own thread after all that was asked before, even if nobody waits for it.
        closing = executor.submit(resources.close)
        executor.shutdown(wait=False)
        await asyncio.shield(asyncio.wrap_future(closing))
        executor.shutdown()  # its thread has nothing left to do, and is gone at once


class SqliteJourneyPort:
    """``JourneyExecutionPort`` over one namespace of a store. Made by :func:`open_port`.

    All its work on the store is done by one thread, with a connection that no other thread uses;
    no event loop is ever blocked by it. What every method answers and refuses stands in
    ``wayproof.spec.journey.ports``; each also raises :class:`PortClosedError`, and ``Refusal``
    with ``persistence_unavailable``.

    A task that is cancelled while it starts or cancels a journey does not know whether that was
    done. Both can be asked again: they do nothing twice.
    """

    def __init__(
        self, executor: Executor, service: JourneyService, watch: Watch, deadlines: Deadlines
    ) -> None:
        self._executor = executor
        self._service = service
        self._watch = watch
        self._deadlines = deadlines

    def handle(self, journey_id: str, access: ExecutionAccess) -> JourneyHandle:
        """A handle of a journey that was started anywhere, by whoever has its creation scope.

        It looks at nothing yet: an unknown or foreign journey is refused by its methods.
        """
        return JourneyHandle(port=self, journey_id=journey_id, access=access)

    async def start(self, request: JourneyStartRequest) -> JourneyHandle:
        """Start a journey, or find the one that this request started."""
        started = await self._ask("start", _json(request))
        deadline = to_milliseconds(request.policy.deadline_utc)
        await self._by_thread(partial(self._deadlines.meet, started.journey_id, deadline))
        return self.handle(started.journey_id, request.access)

    async def snapshot(self, journey_id: str, access: ExecutionAccess) -> JourneySnapshot:
        """The journey at one committed record version."""
        snapshot: JourneySnapshot = await self._ask("snapshot", _named(journey_id, access))
        return snapshot

    async def list_workflow_runs(
        self, journey_id: str, access: ExecutionAccess
    ) -> tuple[WorkflowRunSnapshot, ...]:
        """All workflow runs, in the order of the contract."""
        listing: WorkflowRunListing = await self._ask(
            "list_workflow_runs", _named(journey_id, access)
        )
        return listing.workflow_runs

    async def wait_terminal(
        self, journey_id: str, access: ExecutionAccess, timeout_seconds: float | None = None
    ) -> JourneyExecutionOutcome:
        """Wait until execution has ended.

        It looks at least once, however short the timeout, and a look that has begun is finished:
        that may take as long as the store's patience when another writer holds the store.
        """
        outcome: JourneyExecutionOutcome = await self._wait(
            "terminal", _named(journey_id, access), timeout_seconds
        )
        return outcome

    async def terminal_outcome(
        self, journey_id: str, access: ExecutionAccess
    ) -> JourneyExecutionOutcome | None:
        """The outcome, or None while the journey has not ended. What is due stays due."""
        outcome: JourneyExecutionOutcome | None = await self._ask(
            "terminal_outcome", _named(journey_id, access)
        )
        return outcome

    async def wait_settled(
        self, journey_id: str, access: ExecutionAccess, timeout_seconds: float | None = None
    ) -> JourneySettledResult:
        """Wait until accounting is final; see :meth:`wait_terminal`."""
        result: JourneySettledResult = await self._wait(
            "settled", _named(journey_id, access), timeout_seconds
        )
        return result

    async def settled_result(
        self, journey_id: str, access: ExecutionAccess
    ) -> JourneySettledResult | None:
        """The settled result, or None while accounting is pending. What is due stays due."""
        result: JourneySettledResult | None = await self._ask(
            "settled_result", _named(journey_id, access)
        )
        return result

    async def cancel(
        self, journey_id: str, access: ExecutionAccess, reason_code: str = "caller_requested"
    ) -> JourneySnapshot:
        """Ask for a cooperative stop."""
        snapshot: JourneySnapshot = await self._ask(
            "cancel", {**_named(journey_id, access), "reason_code": reason_code}
        )
        return snapshot

    async def _ask(self, operation: str, arguments: object) -> Any:
        """The reply record of one request; None where the catalogue allows null."""
        return await self._by_thread(partial(self._reply, operation, arguments))

    async def _wait(self, goal: Goal, arguments: object, timeout_seconds: float | None) -> Any:
        time = asyncio.get_running_loop().time
        began_at = time()
        request = await self._by_thread(partial(decode_record, JourneyRequest, arguments))
        _require_timeout(timeout_seconds)
        give_up_at = (
            None
            if timeout_seconds is None
            else began_at + min(timeout_seconds, _LONGEST_WAIT_SECONDS)
        )
        await self._by_thread(partial(self._meet, request))
        with self._watch.bell(request.journey_id, goal) as bell:
            while True:
                bell.silence()
                found = await self._by_thread(partial(self._look, goal, request, arguments))
                if found is not None:
                    return found
                if self._watch.ended:
                    raise PortClosedError("the port was closed during the wait")
                if give_up_at is not None and time() >= give_up_at:
                    raise WaitTimeoutError(_NOT_YET[goal])
                try:
                    async with asyncio.timeout_at(give_up_at):
                        await bell.heard()
                except TimeoutError:
                    raise WaitTimeoutError(_NOT_YET[goal]) from None

    async def _by_thread(self, work: Callable[[], Result]) -> Result:
        try:
            future = self._executor.submit(work)
        except RuntimeError as error:
            raise PortClosedError("the port is closed") from error
        return await asyncio.wrap_future(future)

    def _look(self, goal: Goal, request: JourneyRequest, arguments: object) -> Any:
        """What is waited for, once all that is due has taken effect; None if it is not there."""
        now = self._deadlines.moment(request.journey_id)
        self._service.sweep_one(request.access, request.journey_id, now=now)
        found = self._reply(_READS[goal], arguments)
        if found is not None:
            self._deadlines.forget(request.journey_id)
        return found

    def _meet(self, request: JourneyRequest) -> None:
        """Derive the deadline of this process; a journey is met no later than its first wait."""
        now = self._deadlines.clocks.utc()
        deadline = self._service.deadline_of(request.access, request.journey_id, now=now)
        self._deadlines.meet(request.journey_id, deadline)

    def _reply(self, operation: str, arguments: Any) -> Any:
        now = self._deadlines.moment(arguments.get("journey_id", ""))
        reply = self._service.call(operation, arguments, now=now)
        if isinstance(reply, Refused):
            raise Refusal(reply.code, reply.detail)
        if reply.value is None:
            return None
        return adapter(OPERATIONS[operation].reply).validate_json(json.dumps(reply.value))


def _named(journey_id: str, access: ExecutionAccess) -> dict[str, Any]:
    return {"access": _json(access), "journey_id": journey_id}


def _json(value: object) -> Any:
    """A request as JSON, whatever it holds: nobody has checked its fields yet. A moment keeps its
    offset and its microseconds, so that one which the contract does not allow is still refused.
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple):
        return [_json(entry) for entry in value]
    return value.isoformat() if isinstance(value, datetime) else value


def _require_timeout(timeout_seconds: object) -> None:
    if timeout_seconds is None:
        return
    if isinstance(timeout_seconds, bool) or not isinstance(timeout_seconds, int | float):
        problem = Problem.WRONG_TYPE
    elif 0 <= timeout_seconds < math.inf:  # not so for NaN
        return
    else:
        problem = Problem.OUT_OF_BOUNDS
    detail = {"pointer": "/timeout_seconds", "problem": problem.value}
    raise Refusal(RefusalCode.INVALID_REQUEST, detail)
