"""One golden case, and what it may claim about another one."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One input, as JSON text: the spelling is part of the case."""

    name: str
    """Unique in its section."""
    why: str
    """One sentence."""
    text: str
    same_as: str | None = None
    """The case of the same section that has the same canonical bytes."""
    differs_from: str | None = None
    """The case of the same section that has other ones."""


class FalseClaim(Exception):
    """A case that is not what it says of itself."""


def entry(case: Case, canonical: bytes, **outcome: Any) -> dict[str, Any]:
    """How a case stands in the file: without the claims that it does not make, and if it is the
    same as another one, without the canonical text that stands there."""
    claims = {"same_as": case.same_as, "differs_from": case.differs_from}
    return {
        "name": case.name,
        "why": case.why,
        "input": case.text,
        **{claim: other for claim, other in claims.items() if other is not None},
        **({} if case.same_as else {"canonical": canonical.decode()}),
        **outcome,
    }


def section(entries: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The entries of a section, once every claim among them is seen to be true.

    Raises:
        FalseClaim: if a name stands twice, or a claim is not true.
    """
    written = list(entries)
    digests = {each["name"]: each["digest"] for each in written}
    if len(digests) != len(written):
        raise FalseClaim("a name stands twice")
    for each in written:
        if "same_as" in each and digests[each["same_as"]] != each["digest"]:
            raise FalseClaim(f"{each['name']} is not the same as {each['same_as']}")
        if "differs_from" in each and digests[each["differs_from"]] == each["digest"]:
            raise FalseClaim(f"{each['name']} does not differ from {each['differs_from']}")
    return written
