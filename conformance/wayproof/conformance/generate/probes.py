"""Everything that may be asked of a world, right or wrong; what leads on stands in ``menus.py``."""

from collections.abc import Iterator
from typing import Any

from wayproof.conformance.generate.menus import (
    Scope,
    claim,
    leading,
    on_transmission,
    reserve,
    run_name,
    token_name,
)
from wayproof.conformance.generate.scripts import Call, call, owned
from wayproof.conformance.generate.settings import LONG_LEASE, SHORT_LEASE
from wayproof.model.journey.state import State
from wayproof.model.journey.world import World
from wayproof.spec.journey.vocabulary import AmbiguityCause

MALFORMED_USAGE: tuple[Any, ...] = (None, -1, "7", True, 2**53, {"tokens": 7}, [7])
"""Usage that is no well-formed number of tokens."""


def probing(world: World, scope: Scope) -> Iterator[Call]:
    """Everything that may be asked, right or wrong, of the first journey."""
    yield from leading(world, scope)
    if not world.journeys:
        return
    state = world.journeys[0].state
    token = token_name(state)
    for read in ("snapshot", "list_workflow_runs", "terminal_outcome", "settled_result"):
        yield owned(read)
    for listing in ("list_reservations", "list_discrepancies"):
        yield owned(listing)
        for after, limit in ((0, 1), (1, 1), (0, 2), (1, 2)):
            yield owned(listing, after=after, limit=limit)
    yield owned("cancel", reason_code="operator_requested")
    yield owned("cancel", reason_code="evaluation_aborted", explanation="the reviewer said stop")
    first = claim(state._replace(lease=None), scope).arguments
    yield call("claim_lease", **first)
    yield call("claim_lease", **{**first, "lease_milliseconds": scope.owner_lease - 1})
    yield call("claim_lease", **{**first, "worker_id": "worker-z"})
    yield call("claim_lease", **{**first, "operation_id": "lease-of-another"})
    yield owned("heartbeat", fencing_token=token, lease_milliseconds=SHORT_LEASE)
    yield owned("heartbeat", fencing_token=token, lease_milliseconds=2 * LONG_LEASE)
    for reason in ("token_reservation_unavailable", "lifecycle_persistence_unavailable"):
        yield owned("fail_journey", fencing_token=token, reason_code=reason)
    yield from _dead_tokens(state)
    yield from _repeated(state, token)
    yield from _amounts(world, scope)
    yield from _reports(state)
    yield from _unknown(token)
    yield from _staged(world, token)


def _dead_tokens(state: State) -> Iterator[Call]:
    tokens: list[Any] = [999]
    if state.lease is not None and state.lease.fencing_token > 1:
        tokens.append(f"$F{state.lease.fencing_token - 1}")
    for token in tokens:
        yield owned("begin_journey", fencing_token=token)
        yield owned("heartbeat", fencing_token=token, lease_milliseconds=LONG_LEASE)
        yield owned("complete_journey", fencing_token=token)
        yield owned("fail_journey", fencing_token=token, reason_code="workflow_failed")
        if state.runs:
            yield reserve(state, token=token)
            yield owned(
                "finish_workflow_run",
                fencing_token=token,
                workflow_run_id="$R1",
                outcome="completed",
            )
            yield owned(
                "claim_attempt",
                fencing_token=token,
                operation_id="attempt-9",
                workflow_run_id="$R1",
                counters=["task_attempt_starts"],
            )
            yield owned(
                "start_workflow_run",
                fencing_token=token,
                operation_id="child-9",
                parent_workflow_run_id="$R1",
                workflow_id="Aside",
                purpose="decomposition",
            )
        for transmission in state.transmissions[:2]:
            for operation in ("transmit", "renew_reservation", "report_unsent"):
                yield on_transmission(operation, transmission, fencing_token=token)


def _repeated(state: State, token: Any) -> Iterator[Call]:
    """Duplicate deliveries: of the same, and of the same identity with other content."""
    for index, run in enumerate(state.runs):
        for outcome in ("completed", "failed"):
            yield owned(
                "finish_workflow_run",
                fencing_token=token,
                workflow_run_id=run_name(index),
                outcome=outcome,
            )
        if run.parent_workflow_run_id is not None:
            parent = next(
                i
                for i, other in enumerate(state.runs)
                if other.workflow_run_id == run.parent_workflow_run_id
            )
            for workflow_id in ("Aside", "Other"):
                yield owned(
                    "start_workflow_run",
                    fencing_token=token,
                    operation_id="child-1",
                    parent_workflow_run_id=run_name(parent),
                    workflow_id=workflow_id,
                    purpose=run.purpose.value,
                )
    for operation in state.operations:
        if operation.operation_id.startswith("attempt-"):
            for counters in (
                ["task_attempt_starts"],
                ["structured_output_correction_attempts"],
            ):
                yield owned(
                    "claim_attempt",
                    fencing_token=token,
                    operation_id=operation.operation_id,
                    workflow_run_id="$R1",
                    counters=counters,
                )
    for transmission in state.transmissions:
        again: dict[str, Any] = {
            "invocation": transmission.invocation_id,
            "transmission": transmission.transmission_id,
            "grouped": transmission.idempotency.value == "authoritative",
            "estimate": transmission.estimated_prompt_tokens,
        }
        yield reserve(state, **again)
        yield reserve(state, **{**again, "output": 21})
        yield reserve(state, **{**again, "estimate": transmission.estimated_prompt_tokens + 1})
        yield reserve(state, **{**again, "lease": 1})
        if transmission.estimated_prompt_tokens:
            yield reserve(
                state,
                **{**again, "estimate": transmission.estimated_prompt_tokens - 1, "output": 21},
            )
        yield reserve(state, **{**again, "invocation": "call-9"})
        yield reserve(state, **{**again, "transmission": "send-9", "grouped": not again["grouped"]})
        if len(state.runs) > 1:
            yield reserve(state, **{**again, "transmission": "send-9"}, run="$R2")


def _amounts(world: World, scope: Scope) -> Iterator[Call]:
    """Reservations one below, at and one above what is left, and such as cannot be formed."""
    journey = world.journeys[0]
    state = journey.state
    if not state.runs:
        return
    left = journey.terms.max_total_tokens - state.totals.exposure
    for output in (left - 1, left, left + 1):
        if output >= 1:
            yield reserve(state, invocation="call-3", estimate=0, output=output)
    yield reserve(state, invocation="call-3", estimate=2**53 - 1, output=2**53 - 1)
    unformed: tuple[tuple[Any, Any], ...] = ((None, 20), (10, None), (None, None))
    for estimate, maximum in unformed:
        yield reserve(state, invocation="call-3", estimate=estimate, output=maximum)
    for transmission in state.transmissions:
        grouped = transmission.idempotency.value == "authoritative"
        again: dict[str, Any] = {"invocation": transmission.invocation_id, "grouped": grouped}
        yield reserve(state, **again, estimate=0, output=1)
        yield reserve(state, **again)
        if left >= 0:
            yield reserve(state, **again, estimate=0, output=left + 1)
            amount = transmission.reserved_tokens + left
            for output in (amount, amount + 1):
                yield reserve(state, **again, estimate=0, output=output)
    for index, _run in enumerate(state.runs[1:], start=1):
        yield reserve(state, invocation="call-4", run=run_name(index))


def _reports(state: State) -> Iterator[Call]:
    for transmission in state.transmissions:
        amount = transmission.reserved_tokens
        numbers = {0, 1, 12, amount - 1, amount, amount + 1, 2**53 - 1}
        if transmission.actual_tokens is not None:
            numbers |= {transmission.actual_tokens, transmission.actual_tokens + 1}
        for usage in (*sorted(numbers), *MALFORMED_USAGE):
            yield on_transmission("report_response", transmission, usage=usage)
        for cause in AmbiguityCause:
            yield on_transmission("report_ambiguity", transmission, cause=cause.value)
        for operation in ("transmit", "renew_reservation", "report_unsent"):
            yield on_transmission(operation, transmission)
        yield on_transmission("renew_reservation", transmission, lease_milliseconds=1)


def _unknown(token: Any) -> Iterator[Call]:
    for operation in ("transmit", "report_unsent"):
        yield owned(operation, fencing_token=token, transmission_id="nowhere")
    yield owned(
        "renew_reservation",
        fencing_token=token,
        transmission_id="nowhere",
        lease_milliseconds=SHORT_LEASE,
    )
    yield owned("report_response", transmission_id="nowhere", usage=1)
    yield owned("report_ambiguity", transmission_id="nowhere", cause="connection_reset")
    yield owned(
        "finish_workflow_run",
        fencing_token=token,
        workflow_run_id="run-of-nobody",
        outcome="completed",
    )
    yield owned(
        "claim_attempt",
        fencing_token=token,
        operation_id="attempt-8",
        workflow_run_id="run-of-nobody",
        counters=["task_attempt_starts"],
    )
    yield owned(
        "start_workflow_run",
        fencing_token=token,
        operation_id="child-8",
        parent_workflow_run_id="run-of-nobody",
        workflow_id="Aside",
        purpose="decomposition",
    )


ANY_OPTION: tuple[str, ...] = ("small", "large", "back", "foreign", "nothing")
"""Options of all transitions, and one of none."""


def _staged(world: World, token: Any) -> Iterator[Call]:
    """Deliveries, pauses, inputs and ends of every run, once a journey has an outbox or inputs."""
    state = world.journeys[0].state
    if not (state.intents or state.inputs):
        return
    yield owned("list_dispatch_intents")
    yield owned("list_dispatch_intents", open_only=True)
    for after, limit in ((0, 1), (1, 1)):
        yield owned("list_dispatch_intents", after=after, limit=limit)
        yield owned("list_dispatch_intents", after=after, limit=limit, open_only=True)
    for index in range(len(state.runs)):
        of_run = {"fencing_token": token, "workflow_run_id": run_name(index)}
        yield owned("acknowledge_dispatch", **of_run)
        yield owned("claim_dispatched_run", **of_run)
        yield owned("claim_dispatched_run", **{**of_run, "fencing_token": 999})
        yield owned("request_input", operation_id="pause-1", **of_run)
        yield owned("request_input", operation_id="pause-9", **of_run)
        for outcome in ("completed", "failed"):
            yield owned("finish_workflow_run", outcome=outcome, **of_run)
        yield owned(
            "claim_attempt",
            operation_id="attempt-9",
            counters=["task_attempt_starts"],
            **of_run,
        )
        yield reserve(state, run=run_name(index), invocation="call-9")
        for purpose in ("decomposition", "repair"):
            yield owned(
                "start_workflow_run",
                fencing_token=token,
                operation_id="child-9",
                parent_workflow_run_id=run_name(index),
                workflow_id="Aside",
                purpose=purpose,
            )
    for number, asked in enumerate(state.inputs, start=1):
        for place, run in enumerate(state.runs):
            own = run.workflow_run_id == asked.workflow_run_id
            for option in (None, *ANY_OPTION) if own else (None,):
                chosen = {} if option is None else {"option_id": option}
                yield owned(
                    "submit_input",
                    workflow_run_id=run_name(place),
                    input_request_id=f"$I{number}",
                    **chosen,
                )
