"""The journeys of one namespace, served request by request at a stated moment."""

import sqlite3
from collections.abc import Callable, Set
from functools import partial
from typing import Any, Final

from wayproof.impl.journey import (
    dispatch,
    inputs,
    leases,
    lifecycle,
    observation,
    reports,
    reservations,
    runs,
)
from wayproof.impl.journey.connection import Turns
from wayproof.impl.journey.replies import Answered, Refused, Reply
from wayproof.impl.journey.starts import Starts
from wayproof.impl.journey.sweeps import due_journeys, sweep_journey
from wayproof.impl.journey.transaction import open_authorized, open_key
from wayproof.spec.journey.definitions import Registry
from wayproof.spec.journey.operations import OPERATIONS
from wayproof.spec.journey.records import ExecutionAccess
from wayproof.spec.journey.refusals import Refusal
from wayproof.spec.journey.requests import JourneyRequest, JourneyStartRequest
from wayproof.spec.journey.validation import decode
from wayproof.spec.journey.vocabulary import Capability

_HANDLERS: Final[dict[str, Callable[..., Any]]] = {
    "snapshot": observation.snapshot,
    "list_workflow_runs": observation.list_workflow_runs,
    "terminal_outcome": observation.terminal_outcome,
    "settled_result": observation.settled_result,
    "list_reservations": observation.list_reservations,
    "list_discrepancies": observation.list_discrepancies,
    "cancel": lifecycle.cancel,
    "claim_lease": leases.claim_lease,
    "heartbeat": leases.heartbeat,
    "begin_journey": runs.begin_journey,
    "list_dispatch_intents": dispatch.list_dispatch_intents,
    "acknowledge_dispatch": dispatch.acknowledge_dispatch,
    "claim_dispatched_run": dispatch.claim_dispatched_run,
    "request_input": inputs.request_input,
    "submit_input": inputs.submit_input,
    "start_workflow_run": runs.start_workflow_run,
    "finish_workflow_run": runs.finish_workflow_run,
    "claim_attempt": runs.claim_attempt,
    "complete_journey": lifecycle.complete_journey,
    "fail_journey": lifecycle.fail_journey,
    "reserve": reservations.reserve,
    "transmit": reservations.transmit_reservation,
    "renew_reservation": reservations.renew_reservation,
    "report_unsent": reports.report_unsent,
    "report_response": reports.report_response,
    "report_ambiguity": reports.report_ambiguity,
}
"""What carries out each operation on one journey, inside a transaction."""


class JourneyService:
    """One namespace of a store. Made by ``SqliteJourneyStore.namespace``."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        turns: Turns,
        *,
        namespace: str,
        registry: Registry,
        capabilities: Set[Capability],
    ) -> None:
        self._connection = connection
        self._turns = turns
        self._namespace = namespace
        self._starts = Starts(
            connection, namespace=namespace, registry=registry, capabilities=capabilities
        )

    def call(self, operation: str, arguments: object, *, now: int) -> Reply:
        """Serve one request of the catalogue at ``now`` (milliseconds since 1970 UTC).

        An answer, and a refusal that reports the end of a journey, is committed before it is
        returned. Every exception is a fault of this software.
        """
        try:
            request = decode(operation, arguments)
            if isinstance(request, JourneyStartRequest):
                return self._turns.write(lambda: self._starts.start(request, now))
            do = self._turns.write if OPERATIONS[operation].mutates else self._turns.read
            return do(lambda: self._serve(_HANDLERS[operation], request, now))
        except Refusal as refusal:
            return Refused(code=refusal.code, detail=refusal.detail)

    def sweep(self, *, now: int) -> None:
        """Let everything that is due at ``now`` take effect, one commit for each journey.

        Raises:
            Refusal: ``persistence_unavailable``; the journeys before it are swept.
        """
        for journey in self._turns.read(
            lambda: due_journeys(self._connection, self._namespace, now)
        ):
            self._turns.write(partial(self._sweep, journey, now))

    def sweep_one(self, access: ExecutionAccess, journey_id: str, *, now: int) -> None:
        """Let everything that is due at ``now`` in one journey take effect.

        Raises:
            Refusal: ``journey_not_found``, as for every request that names a journey, or
                ``persistence_unavailable``; nothing was changed then.
        """
        opened = partial(
            open_authorized, self._connection, self._namespace, access, journey_id, now
        )
        due_at = self._turns.read(lambda: opened().row.due_at)
        if due_at is not None and due_at <= now:
            self._turns.write(lambda: sweep_journey(opened()))

    def deadline_of(self, access: ExecutionAccess, journey_id: str, *, now: int) -> int:
        """The persisted deadline of one journey, in milliseconds since 1970 UTC.

        Raises:
            Refusal: as :meth:`sweep_one`.
        """
        opened = partial(
            open_authorized, self._connection, self._namespace, access, journey_id, now
        )
        return self._turns.read(lambda: opened().row.deadline)

    def _serve(self, handler: Callable[..., Any], request: JourneyRequest, now: int) -> Reply:
        tx = open_authorized(
            self._connection, self._namespace, request.access, request.journey_id, now
        )
        try:
            value = handler(tx, request)
        except Refusal as refusal:
            # Committed like an answer: nothing was written but the end that it reports.
            return Refused(code=refusal.code, detail=refusal.detail, record_version=tx.version)
        return Answered(value=value, record_version=tx.version)

    def _sweep(self, journey: int, now: int) -> None:
        sweep_journey(open_key(self._connection, journey, now))
