"""Canonical JSON, and the two digests that a start is identified by.

Canonical JSON is RFC 8785 for the values that records can hold: strings, booleans, null, lists,
objects with ASCII keys, and integers within ±(2**53-1).
"""

import hashlib
import json
from typing import Any

from wayproof.spec.journey.definitions import ResolvedDefinition
from wayproof.spec.journey.encoding import encode
from wayproof.spec.journey.records import ExecutionAccess
from wayproof.spec.journey.requests import JourneyStartRequest


def canonical_json(value: Any) -> bytes:
    """The canonical bytes of a JSON value."""
    return json.dumps(
        value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
    ).encode()


def digest_of(value: Any) -> str:
    """``sha256:`` and the hexadecimal SHA-256 of a JSON value's canonical bytes."""
    return "sha256:" + hashlib.sha256(canonical_json(value)).hexdigest()


def definition_digest(definition: ResolvedDefinition) -> str:
    """The pinned version of a sequence: the digest of its closed view."""
    return digest_of(encode(definition))


def creation_scope(access: ExecutionAccess) -> tuple[str, str, str | None, str | None]:
    """The authoritative scope of an access: tenant, owner, workspace, build scope."""
    return (access.tenant_id, access.owner_id, access.workspace_id, access.build_scope_id)


def request_hash(request: JourneyStartRequest, definition: str | None) -> str:
    """The canonical hash that tells a replayed start from a changed one.

    It covers the resolved-definition digest, sequence, entry, route choices, creation scope,
    semantic references, the complete policy and the initial message (ruling 43). Equal moments
    have one written form; an absent optional field equals null.
    """
    return digest_of(
        {
            "definition_digest": definition,
            "workflow_sequence_id": request.workflow_sequence_id,
            "entry": encode(request.entry),
            "route_choices": [encode(choice) for choice in request.route_choices],
            "creation_scope": list(creation_scope(request.access)),
            "semantic_references": [encode(r) for r in request.semantic_references],
            "policy": encode(request.policy),
            "initial_message": request.initial_message,
        }
    )
