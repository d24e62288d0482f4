"""The readable difference of two projections, and the exact digest of one."""

import hashlib
from collections.abc import Mapping

from wayproof.conformance.vectors.format import REMOVED, Changes, JsonValue
from wayproof.spec.journey.digests import canonical_json


class UnfittingChange(Exception):
    """A change whose place does not exist in the value that it is applied to."""


def state_digest(projection: JsonValue) -> str:
    """The first 32 hexadecimal digits of the SHA-256 of the canonical JSON."""
    return hashlib.sha256(canonical_json(projection)).hexdigest()[:32]


def differences(before: JsonValue, after: JsonValue) -> dict[str, tuple[JsonValue, JsonValue]]:
    """Each place where two values differ, with both of its values; an absent one is REMOVED.

    Objects are compared field by field and lists by index; what exists on one side only is one
    difference as a whole.
    """
    found: dict[str, tuple[JsonValue, JsonValue]] = {}
    _compare(before, after, "", found)
    return found


def changes_between(before: JsonValue, after: JsonValue) -> dict[str, JsonValue]:
    """JSON Pointer to new value for each difference; :data:`REMOVED` for what is gone."""
    return {pointer: new for pointer, (_, new) in differences(before, after).items()}


def apply_changes(before: JsonValue, changes: Changes) -> JsonValue:
    """The value after its changes; ``before`` stays as it is.

    What is new is set in ascending order, so that lists grow from their end; what is removed
    goes in descending order, so that lists shrink from theirs.

    Raises:
        UnfittingChange: if a place does not exist.
    """
    after = copied(before)
    places = sorted(changes, key=_order)
    for place in (p for p in places if changes[p] != REMOVED):
        _set(after, place, copied(changes[place]))
    for place in (p for p in reversed(places) if changes[p] == REMOVED):
        _remove(after, place)
    return after


def value_at(value: JsonValue, pointer: str) -> JsonValue:
    """What stands at a JSON Pointer.

    Raises:
        UnfittingChange: if nothing stands there.
    """
    for part in _parts(pointer):
        value = _step_into(value, part, pointer)
    return value


def copied(value: JsonValue) -> JsonValue:
    """A copy that shares nothing; unlike ``copy.deepcopy``'s, not even one part with another."""
    if isinstance(value, Mapping):
        return {key: copied(part) for key, part in value.items()}
    return [copied(part) for part in value] if isinstance(value, list | tuple) else value


def _compare(
    before: JsonValue, after: JsonValue, place: str, found: dict[str, tuple[JsonValue, JsonValue]]
) -> None:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted({*before, *after}):
            _compare_part(
                before.get(key, REMOVED),
                after.get(key, REMOVED),
                f"{place}/{key.replace('~', '~0').replace('/', '~1')}",
                found,
            )
    elif isinstance(before, list) and isinstance(after, list):
        for index in range(max(len(before), len(after))):
            _compare_part(
                before[index] if index < len(before) else REMOVED,
                after[index] if index < len(after) else REMOVED,
                f"{place}/{index}",
                found,
            )
    elif not _same(before, after):
        found[place] = (before, after)


def _same(before: JsonValue, after: JsonValue) -> bool:
    if type(before) is type(after) and before == after:
        return True
    # By bytes, since Python holds 1, 1.0 and True equal.
    return canonical_json(before) == canonical_json(after)


def _compare_part(
    before: JsonValue, after: JsonValue, place: str, found: dict[str, tuple[JsonValue, JsonValue]]
) -> None:
    if before is REMOVED or after is REMOVED:
        found[place] = (before, after)
    else:
        _compare(before, after, place, found)


def _order(pointer: str) -> list[tuple[int, str]]:
    return [(int(p) if p.isdecimal() else 0, p) for p in _parts(pointer)]


def _parts(pointer: str) -> list[str]:
    return [p.replace("~1", "/").replace("~0", "~") for p in pointer.split("/")[1:]]


def _step_into(value: JsonValue, part: str, pointer: str) -> JsonValue:
    if isinstance(value, Mapping) and part in value:
        return value[part]
    if isinstance(value, list) and part.isdecimal() and int(part) < len(value):
        return value[int(part)]
    raise UnfittingChange(f"nothing stands at {pointer}")


def _set(value: JsonValue, pointer: str, new: JsonValue) -> None:
    *path, last = _parts(pointer)
    for part in path:
        value = _step_into(value, part, pointer)
    if isinstance(value, dict):
        value[last] = new
    elif isinstance(value, list) and last.isdecimal() and int(last) < len(value):
        value[int(last)] = new
    elif isinstance(value, list) and last == str(len(value)):
        value.append(new)
    else:
        raise UnfittingChange(f"nothing can be set at {pointer}")


def _remove(value: JsonValue, pointer: str) -> None:
    *path, last = _parts(pointer)
    for part in path:
        value = _step_into(value, part, pointer)
    _step_into(value, last, pointer)
    if isinstance(value, list):
        if int(last) != len(value) - 1:
            raise UnfittingChange(f"{pointer} is not the last of its list")
        value.pop()
    else:
        del value[last]
