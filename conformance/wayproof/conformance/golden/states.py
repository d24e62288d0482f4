"""Cases of the state digest, and of the way from what the reads answer to a projection."""

import json
from collections.abc import Iterator
from typing import Any, Final

from wayproof.conformance.golden.cases import Case, entry
from wayproof.conformance.golden.requests import REQUEST
from wayproof.conformance.protocol.backend import Answer, JsonValue, World, WorldSetup
from wayproof.conformance.protocol.model_backend import ModelBackend
from wayproof.conformance.run.names import Names
from wayproof.conformance.run.projection import READS, observe
from wayproof.conformance.vectors.changes import apply_changes, state_digest
from wayproof.conformance.vectors.format import REMOVED
from wayproof.spec.journey.digests import canonical_json
from wayproof.spec.journey.operations import OPERATIONS

_OPENED: Final = 1_893_456_000_000
"""2030-01-01T00:00:00Z, an hour before the deadline of the request."""

_REGISTRY: Final[dict[str, Any]] = {
    "workflows": [{"id": "Plan"}, {"id": "Build"}],
    "entrypoints": [
        {
            "id": "shop_entry",
            "sequence": "shop",
            "transition": "style",
            "accepts_initial_message": True,
        }
    ],
    "transitions": [{"id": "style", "options": [{"id": "plain"}]}],
    "workflow_sequences": [{"id": "shop", "steps": [{"workflows": ["Plan", "Build"]}]}],
}

_OWNED: Final = {"access": "$access", "journey_id": "$J", "fencing_token": "$F"}

_STORY: Final[tuple[tuple[str, dict[str, Any], dict[str, str]], ...]] = (
    ("start", {**REQUEST, "access": "$access"}, {"J": "/journey_id"}),
    (
        "claim_lease",
        {
            "access": "$access",
            "journey_id": "$J",
            "operation_id": "lease-1",
            "worker_id": "worker-1",
            "lease_milliseconds": 60_000,
        },
        {"F": "/fencing_token"},
    ),
    # Named in another order than the one in which they stand.
    ("begin_journey", _OWNED, {"R2": "/workflow_run_ids/1", "R1": "/workflow_run_ids/0"}),
    (
        "reserve",
        {
            **_OWNED,
            "workflow_run_id": "$R1",
            "invocation_id": "invocation-1",
            "transmission_id": "transmission-1",
            "idempotency": "none",
            "estimated_prompt_tokens": 100,
            "max_output_tokens": 200,
            "lease_milliseconds": 60_000,
        },
        {},
    ),
    ("fail_journey", {**_OWNED, "reason_code": "workflow_failed"}, {}),
)
"""Operations with their arguments, and what of each answer gets a name."""


def projection_entries() -> Iterator[dict[str, Any]]:
    """What the reads of one journey answer, and the projection that it comes to."""
    backend = ModelBackend()
    world = backend.open("golden", WorldSetup(registry=_REGISTRY, now=_OPENED))
    names = Names({"access": REQUEST["access"]})
    named: list[dict[str, Any]] = []
    for operation, arguments, binds in _STORY:
        sent = names.resolve(arguments)
        names.bind(binds, sent, _answer(world, operation, sent))
        named += [{"name": name, "value": names.resolve(f"${name}")} for name in binds]
    asked = names.resolve({"access": "$access", "journey_id": "$J"})
    answers = {read: _answer(world, read, asked) for read in OPERATIONS if read in READS}
    projection = observe(world, names).projection
    yield {
        "name": "a failed journey",
        "why": "Two parallel runs, one reservation; the second run was named before the first.",
        "names": named,
        "answers": {read: json.dumps(answer) for read, answer in answers.items()},
        "canonical": canonical_json(projection).decode(),
        "digest": state_digest(projection),
    }


def state_entries(projection: str) -> Iterator[dict[str, Any]]:
    """Every case of a state digest; the projection is that of one journey, as JSON text."""
    whole = json.loads(projection)
    yield _entry(Case(name="nothing", why="Before any journey has a name.", text="{}"))
    yield _entry(Case(name="base", why="One journey.", text=json.dumps(whole)))
    runs = whole["J"]["workflow_runs"]
    for name, why, changes in (
        ("null", "A member that is null is not an absent one.", {"/J/settled": REMOVED}),
        ("order", "The order of runs counts.", {"/J/workflow_runs": runs[::-1]}),
    ):
        text = json.dumps(apply_changes(whole, changes))
        yield _entry(Case(name=name, why=why, text=text, differs_from="base"))


def _answer(world: World, operation: str, arguments: JsonValue) -> JsonValue:
    reply = world.call(operation, arguments)
    if not isinstance(reply, Answer):
        raise LookupError(f"{operation} was refused: {reply.code}")
    return reply.value


def _entry(case: Case) -> dict[str, Any]:
    projection = json.loads(case.text)
    return entry(case, canonical_json(projection), digest=state_digest(projection))
