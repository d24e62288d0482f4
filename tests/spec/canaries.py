"""Requests that carry a secret, to see that it never comes back."""

from typing import Any

from tests.spec.malformations import field_pointers, with_value

SECRET = "sk-canary-0f2b"


def secret_requests(operation: str, good: dict[str, Any]) -> list[Any]:
    """Requests that carry the secret in every value, and in the names of unknown fields."""
    spoilt: list[Any] = [SECRET, [SECRET], {SECRET: SECRET}, good | {SECRET: {SECRET: SECRET}}]
    for pointer in sorted(field_pointers(operation)):
        path = tuple(int(part) if part.isdigit() else part for part in pointer.split("/")[1:])
        for value in (SECRET, f"{SECRET}\x00", [SECRET], {SECRET: SECRET}, {f"/{SECRET}~": 1}):
            spoilt.append(with_value(good, path, value))
    return spoilt
