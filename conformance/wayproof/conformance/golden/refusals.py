"""Inputs that have no canonical form, or no place in a record: each is refused."""

import json
from collections.abc import Iterator
from typing import Any, Final

from wayproof.conformance.golden.cases import FalseClaim
from wayproof.conformance.golden.definitions import REGISTRY
from wayproof.conformance.golden.requests import REQUEST
from wayproof.conformance.vectors.changes import apply_changes
from wayproof.spec.journey.definitions import Registry
from wayproof.spec.journey.refusals import Refusal
from wayproof.spec.journey.requests import JourneyStartRequest
from wayproof.spec.journey.validation import decode_record

_SHORT: Final[dict[str, Any]] = {
    **{name: REQUEST[name] for name in REQUEST if name not in ("route_choices", "access")},
    "access": {
        name: REQUEST["access"][name] for name in ("schema_version", "tenant_id", "owner_id")
    },
    "policy": {
        **{name: value for name, value in REQUEST["policy"].items() if not name.startswith("max_")},
        "max_total_tokens": REQUEST["policy"]["max_total_tokens"],
    },
}
"""Few optional fields."""

_TOKENS: Final = "/policy/max_total_tokens"
_DEADLINE: Final = "/policy/deadline_utc"

_SPELLED: Final = (
    ("fraction of zero", "1.0 is written as no integer, so it is none.", "100000", "100000.0"),
    ("exponent", "1e5 is written as no integer, so it is none.", "100000", "1e5"),
    ("fraction", "Records hold integers alone.", "100000", "1.5"),
    ("2**53", "A reader of doubles cannot tell it from 2**53+1.", "100000", "9007199254740992"),
    ("far too large", "Larger integers are refused alike.", "100000", "1" + 40 * "0"),
    ("lone surrogate", "It stands for no character and has no UTF-8.", "Build a", "\\ud800"),
    (
        "name that is not ASCII",
        "No record has one, so that sorting by character and by UTF-16 unit is the same.",
        '"idempotency_key"',
        '"cl\\u00e9": 1, "idempotency_key"',
    ),
)
"""Name, why, and what of the good request's text is replaced."""

_MOMENTS: Final = (
    ("half a millisecond", "Moments are whole milliseconds.", "2030-01-01T01:00:00.0005Z"),
    ("other offset", "The instant would be equal; only UTC is read.", "2030-01-01T02:00:00+01:00"),
    ("minus zero", "In RFC 3339 it says that the offset is unknown.", "2030-01-01T01:00:00-00:00"),
    ("small z", "The letters are capital.", "2030-01-01T01:00:00z"),
    ("space for T", "The letters are capital, and there.", "2030-01-01 01:00:00Z"),
    ("leap second", "A minute has 60 seconds.", "2030-01-01T00:59:60Z"),
    ("no such day", "A day that its month does not have.", "2030-02-29T01:00:00Z"),
    ("before 1970", "Moments begin with 1970.", "1969-12-31T23:59:59.999Z"),
)

_BY_SCHEMA: Final[tuple[tuple[str, str, dict[str, Any]], ...]] = (
    ("true", "A boolean is no integer.", {_TOKENS: True}),
    ("number as a text", "A text is no integer.", {_TOKENS: "100000"}),
    ("moment as a number", "A moment is a text.", {_DEADLINE: 1893459600000}),
    ("null list", "A list may be absent, and is not null.", {"/route_choices": None}),
    ("null policy", "A required field is not null.", {"/policy": None}),
    ("identifier", "An identifier is ASCII.", {"/idempotency_key": "cl\u00e9"}),
    ("control character", "No text has one but tab and line breaks.", {"/initial_message": "\0"}),
)


def refusal_entries() -> Iterator[dict[str, Any]]:
    """Every refused input, with the rule of the page that refuses it.

    Raises:
        FalseClaim: if one is accepted.
    """
    good = json.dumps(_SHORT)
    for name, why, old, new in _SPELLED:
        if good.count(old) != 1:
            raise FalseClaim(f"{name}: {old} does not stand once in the request")
        yield _refused(name, why, "canonical", good.replace(old, new))
    for name, why, moment in _MOMENTS:
        yield _refused(name, why, "moment", _changed({_DEADLINE: moment}))
    for name, why, changes in _BY_SCHEMA:
        yield _refused(name, why, "schema", _changed(changes))
    twice = {**REGISTRY, "workflows": [*REGISTRY["workflows"], REGISTRY["workflows"][0]]}
    why = "Ids are unique within each list of a registry."
    yield _refused("id twice", why, "schema", json.dumps(twice), Registry)


def _refused(
    name: str, why: str, rule: str, text: str, record: type = JourneyStartRequest
) -> dict[str, Any]:
    try:
        decode_record(record, json.loads(text))
    except Refusal as refusal:
        kind = "registry" if record is Registry else "start"
        answer = {"code": refusal.code.value, **refusal.detail}
        return {"name": name, "why": why, "rule": rule, "kind": kind, "input": text, **answer}
    raise FalseClaim(f"{name} is accepted")


def _changed(changes: dict[str, Any]) -> str:
    return json.dumps(apply_changes(_SHORT, changes))
