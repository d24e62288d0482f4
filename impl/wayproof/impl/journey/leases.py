"""The owner lease of a journey."""

from typing import Any

from wayproof.impl.journey.ending import after, end_and_refuse, require_going
from wayproof.impl.journey.identities import record_answer, recorded_answer, require_live
from wayproof.impl.journey.transaction import Transaction
from wayproof.spec.journey.constraints import from_milliseconds
from wayproof.spec.journey.encoding import encode
from wayproof.spec.journey.records import LeaseExtended, LeaseGranted
from wayproof.spec.journey.refusals import Refusal, RefusalCode
from wayproof.spec.journey.requests import ClaimLeaseRequest, HeartbeatRequest
from wayproof.spec.journey.vocabulary import LifecycleState, TerminalReason


def claim_lease(tx: Transaction, request: ClaimLeaseRequest) -> Any:
    """Grant the next fencing token, unless somebody holds the lease or left work behind that
    cannot be proved idempotent."""
    answer = recorded_answer(tx, request)
    if answer is not None:
        return answer
    require_going(tx)
    row = tx.row
    if tx.now < row.owner_lease_expires_at:
        raise Refusal(RefusalCode.LEASE_HELD)
    if row.fencing_token:
        # No request leaves a running journey above its ceiling; a store altered from outside may.
        if row.max_total_tokens < (
            row.reconciled_tokens + row.conservatively_committed_tokens + row.reserved_tokens
        ):
            end_and_refuse(
                tx, LifecycleState.BUDGET_EXCEEDED, TerminalReason.TOKEN_BUDGET_EXHAUSTED
            )
        if row.transmitted_outside_groups:
            end_and_refuse(
                tx, LifecycleState.FAILED, TerminalReason.PROVIDER_TRANSMISSION_AMBIGUOUS
            )
        if row.active_runs:
            end_and_refuse(tx, LifecycleState.FAILED, TerminalReason.ORPHAN_RECOVERY_UNSAFE)
    expires_at = after(tx.now, request.lease_milliseconds)
    tx.note("fencing_token = fencing_token + 1, owner_lease_expires_at = ?", (expires_at,))
    granted = LeaseGranted(
        fencing_token=row.fencing_token + 1, lease_expires_at=from_milliseconds(expires_at)
    )
    return record_answer(tx, request, granted)


def heartbeat(tx: Transaction, request: HeartbeatRequest) -> Any:
    """Extend the lease, never shorten it; a cancelling journey accepts it."""
    require_live(tx, request.fencing_token)
    require_going(tx, or_cancelling=True)
    held_until = tx.row.owner_lease_expires_at
    expires_at = max(held_until, after(tx.now, request.lease_milliseconds))
    if expires_at > held_until:
        tx.note("owner_lease_expires_at = ?", (expires_at,))
    return encode(LeaseExtended(lease_expires_at=from_milliseconds(expires_at)))
