"""Ids that this store makes, fencing tokens, and operations that are answered once."""

import json
import secrets
from typing import Any, Final

from wayproof.impl.journey.transaction import Transaction
from wayproof.spec.journey.digests import canonical_json
from wayproof.spec.journey.encoding import encode
from wayproof.spec.journey.refusals import Refusal, RefusalCode
from wayproof.spec.journey.requests import (
    ClaimAttemptRequest,
    ClaimLeaseRequest,
    RequestInputRequest,
    StartWorkflowRunRequest,
)

_NOT_INPUTS: Final = frozenset({"access", "journey_id", "fencing_token", "operation_id"})

CountedRequest = (
    ClaimLeaseRequest | RequestInputRequest | StartWorkflowRunRequest | ClaimAttemptRequest
)
"""A request that is identified by its operation id."""


def new_journey_id() -> str:
    """An opaque id that nobody can guess."""
    return f"journey-{secrets.token_hex(16)}"


def new_workflow_run_id() -> str:
    """An opaque id that nobody can guess."""
    return f"run-{secrets.token_hex(16)}"


def new_input_request_id() -> str:
    """An opaque id that nobody can guess."""
    return f"input-{secrets.token_hex(16)}"


def is_live(tx: Transaction, fencing_token: int) -> bool:
    """Whether a token is that of the journey's present owner."""
    return fencing_token == tx.row.fencing_token and tx.now < tx.row.owner_lease_expires_at


def require_live(tx: Transaction, fencing_token: int) -> None:
    """Refuse any token but the live one.

    Raises:
        Refusal: ``fenced``.
    """
    if not is_live(tx, fencing_token):
        raise Refusal(RefusalCode.FENCED)


def recorded_answer(tx: Transaction, request: CountedRequest) -> Any:
    """The answer that this operation id was given before; None for a new one.

    Raises:
        Refusal: ``operation_conflict`` if it was another operation, or had other inputs.
    """
    found = tx.one(
        "SELECT operation, inputs, answer FROM operations WHERE journey = ? AND operation_id = ?",
        (tx.row.journey, request.operation_id),
    )
    if found is None:
        return None
    operation, inputs, answer = found
    if (operation, inputs) != (type(request).__name__, _inputs(request)):
        raise Refusal(RefusalCode.OPERATION_CONFLICT)
    return json.loads(answer)


def record_answer(tx: Transaction, request: CountedRequest, answer: object) -> Any:
    """Record what this operation id is answered, in the commit that carries it out."""
    value = encode(answer)
    tx.set_once(
        "INSERT INTO operations (journey, operation_id, operation, inputs, answer)"
        " VALUES (?, ?, ?, ?, ?)",
        (
            tx.row.journey,
            request.operation_id,
            type(request).__name__,
            _inputs(request),
            canonical_json(value).decode(),
        ),
    )
    return value


def _inputs(request: CountedRequest) -> str:
    fields = encode(request)
    inputs = {name: value for name, value in fields.items() if name not in _NOT_INPUTS}
    return canonical_json(inputs).decode()
