"""The names of one play: which server-made identity, and which constant, a ``$NAME`` stands for.

Nothing is scrubbed. An identity is named when it is first answered; from then on it is written
as its name wherever it stands as the whole value of an identity field, and every other identity
is written ``$?1``, ``$?2`` and so on, in the order in which they came up.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from wayproof.conformance.run.exchange import Mismatch
from wayproof.conformance.vectors.changes import UnfittingChange, value_at
from wayproof.conformance.vectors.format import JsonValue
from wayproof.conformance.vectors.names import REFERENCE, literal, map_strings, substitute

IDENTITY_FIELDS: Final = {
    "journey_id": "journey",
    "workflow_run_id": "run",
    "workflow_run_ids": "run",
    "next_workflow_run_ids": "run",
    "input_request_id": "input",
    "next_input_request_id": "input",
    "pending_input_request_id": "input",
    "parent_workflow_run_id": "run",
    "fencing_token": "token",
}
"""The fields that hold server-made identities, and the kind of each."""

COMPARED_BY_ORDER: Final = frozenset({"record_version", "created_version"})
"""Fields that no projection and no expectation holds: they may rise by any amount."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedJourney:
    """A journey that a reply gave a name to."""

    name: str
    journey_id: str
    access: JsonValue
    """Of the start that made it."""


class Names:
    """The names of one play, as far as it has come."""

    def __init__(self, constants: Mapping[str, JsonValue]) -> None:
        self.journeys: list[NamedJourney] = []
        """In the order in which they were named."""
        self._values: dict[str, JsonValue] = dict(constants)
        self._identities: dict[tuple[JsonValue, ...], str] = {}
        self._unnamed: dict[tuple[JsonValue, ...], str] = {}

    def resolve(self, value: JsonValue) -> JsonValue:
        """The value to send: each ``$NAME`` replaced by what it stands for.

        Raises:
            UnknownName: if a name stands for nothing by now.
        """
        return substitute(value, self._values)

    def bind(self, binds: Mapping[str, str], arguments: JsonValue, answer: JsonValue) -> None:
        """Name parts of an answer to ``arguments`` (as they were sent), by JSON Pointer.

        Raises:
            Mismatch: if such a part is absent, or is a server-made identity that is not new.
        """
        sent = arguments if isinstance(arguments, Mapping) else {}
        for name, pointer in binds.items():
            try:
                value = value_at(answer, pointer)
            except UnfittingChange:
                raise Mismatch("reply", f"something at {pointer}", answer) from None
            self._values[name] = value
            field = next(p for p in reversed(pointer.split("/")) if not p.isdecimal())
            kind = IDENTITY_FIELDS.get(field)
            if kind is None:
                continue
            journey_id = value if kind == "journey" else sent.get("journey_id")
            key = _key(kind, value, journey_id)
            self._require_new(kind, key)
            self._identities[key] = f"${name}"
            if kind == "journey":
                self.journeys.append(
                    NamedJourney(name=name, journey_id=value, access=sent.get("access"))
                )

    def abstract(self, value: JsonValue, journey_id: str | None = None) -> JsonValue:
        """An observed value as vectors write it.

        Identities become names, literal strings are escaped, record versions are left out, and
        workflow runs stand in the order in which they were named: the contract's own order ends
        with the id, which every backend makes otherwise.

        ``journey_id`` is that of the request; a record that carries one goes by its own.
        """
        if isinstance(value, Mapping):
            own = value.get("journey_id", journey_id)
            return {
                key: self._abstract_field(key, part, own)
                for key, part in value.items()
                if key not in COMPARED_BY_ORDER
            }
        if isinstance(value, list):
            return [self.abstract(part, journey_id) for part in value]
        return literal(value)

    def expected(self, value: JsonValue) -> JsonValue:
        """An expectation with its constants replaced, so that it compares with an abstract value.

        A name that stands for nothing, since the reply that should have made it did not come,
        stays as it is: nothing that is observed is equal to it.
        """
        identities = set(self._identities.values())

        def replaced(text: str) -> JsonValue:
            name = REFERENCE.fullmatch(text)
            if name is None or text in identities or name[1] not in self._values:
                return text
            return literal(self._values[name[1]])

        return map_strings(value, replaced)

    def _position(self, run: JsonValue) -> int:
        """Where a run's record stands: in the order of naming, behind all if it has no name."""
        known = list(self._identities)
        key = ("run", run.get("workflow_run_id") if isinstance(run, Mapping) else None)
        return known.index(key) if key in self._identities else len(known)

    def _abstract_field(self, field: str, value: JsonValue, journey_id: JsonValue) -> JsonValue:
        kind = IDENTITY_FIELDS.get(field)
        if kind is None:
            if field == "workflow_runs" and isinstance(value, list):
                value = sorted(value, key=self._position)
            return self.abstract(value, journey_id)
        if isinstance(value, list):
            return [self._abstract_field(field, part, journey_id) for part in value]
        if isinstance(value, str) or type(value) is int:
            key = _key(kind, value, journey_id)
            unnamed = f"$?{len(self._unnamed) + 1}"
            return self._identities.get(key) or self._unnamed.setdefault(key, unnamed)
        return self.abstract(value, journey_id)

    def _require_new(self, kind: str, key: tuple[JsonValue, ...]) -> None:
        if key in self._identities:
            raise Mismatch("identity", "an id that names nothing else", key[1], ("identity-02",))
        if kind == "token":
            earlier = [k[1] for k in self._identities if k[0] == "token" and k[2] == key[2]]
            if any(token >= key[1] for token in earlier):
                raise Mismatch("order", f"a token above {max(earlier)}", key[1], ("lease-03",))


def _key(kind: str, value: JsonValue, journey_id: JsonValue) -> tuple[JsonValue, ...]:
    # A fencing token is unique within its journey only.
    return (kind, value, journey_id) if kind == "token" else (kind, value)
