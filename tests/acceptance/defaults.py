"""What a scenario starts from unless it says otherwise: registry, policy, access and start."""

from typing import Any

MIDNIGHT = 1_893_456_000_000
"""2030-01-01T00:00:00.000Z in milliseconds since 1970."""

HOUR = 3_600_000

REGISTRY: dict[str, Any] = {
    "workflows": [{"id": name} for name in ("Builder", "Designer", "Coder")],
    "entrypoints": [
        {"id": "solo_entry", "sequence": "solo"},
        {"id": "pair_entry", "sequence": "pair"},
        {"id": "styled_entry", "sequence": "styled", "transition": "style"},
    ],
    "transitions": [
        {
            "id": "style",
            "options": [
                {"id": "plain"},
                {"id": "fancy", "sequence": "styled"},
                {"id": "elsewhere", "sequence": "solo"},
            ],
        },
        {"id": "unrelated", "options": [{"id": "plain"}]},
    ],
    "workflow_sequences": [
        {"id": "solo", "steps": [{"workflows": ["Builder"]}]},
        {"id": "pair", "steps": [{"workflows": ["Designer", "Coder"]}]},
        {"id": "styled", "steps": [{"workflows": ["Builder"]}]},
        {"id": "chain", "steps": [{"workflows": ["Designer"]}, {"workflows": ["Coder"]}]},
    ],
}
"""One member, two parallel members, one with a choice at its entrypoint, and one of two stages."""

REFINEMENT = [{"role": "refinement_patch", "reference": "patch@1"}]
"""What an internal refinement re-entry works on (ruling 61)."""

DELETE = {"on_non_success": "delete"}

REQUEST_FIELDS = frozenset(
    {
        "access",
        "idempotency_key",
        "workflow_sequence_id",
        "entry",
        "route_choices",
        "initial_message",
        "semantic_references",
    }
)


def policy(**changes: Any) -> dict[str, Any]:
    """The small default policy, with changes."""
    return {
        "schema_version": "mozaiks.journey_execution_policy.v1",
        "deadline_utc": "2030-01-01T00:10:00.000Z",
        "max_total_tokens": 1000,
        "cancellation_mode": "cooperative",
        "cancellation_grace_seconds": 30,
        "accounting_settlement_grace_seconds": 60,
        "partial_artifact_policy": DELETE,
        **changes,
    }


def access(**changes: Any) -> dict[str, Any]:
    """The access of the usual caller, with changes."""
    return {
        "schema_version": "wayproof.journey.execution_access.v1",
        "tenant_id": "acme",
        "owner_id": "olive",
        **changes,
    }


def start_request(**changes: Any) -> dict[str, Any]:
    """A start of the one-member sequence by its public entrypoint, with changes."""
    return {
        "schema_version": "wayproof.journey.start_request.v1",
        "access": access(),
        "idempotency_key": "key-1",
        "workflow_sequence_id": "solo",
        "entry": {"kind": "entrypoint", "id": "solo_entry"},
        "policy": policy(),
        **changes,
    }
