"""What a variant is: a backend that behaves otherwise than ours, and what allows it to."""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final, TypeVar

from wayproof.conformance.protocol.backend import Backend

MODULES: Final = ("timing", "early", "naming", "replies", "stores")
"""The modules that hold variants, in the order in which they are listed."""

Make = Callable[[], Backend]


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One allowed way of being different."""

    name: str
    """Unique, in words joined by hyphens."""
    why: str
    """What it does otherwise, and why it may."""
    clauses: tuple[str, ...]
    rulings: tuple[int, ...]
    protocol: tuple[str, ...]
    """What allows it: clauses and rulings of the contract, and parts of the protocol by the names
    of its module, such as ``Refused.detail``."""
    place: str
    """What ``wayproof check --backend`` calls it."""
    make: Make


_found: dict[str, Variant] = {}
Made = TypeVar("Made", bound=Make)


def variant(
    *,
    clauses: tuple[str, ...] = (),
    rulings: tuple[int, ...] = (),
    protocol: tuple[str, ...] = (),
) -> Callable[[Made], Made]:
    """Make a variant of a function that makes its backend; its docstring says why it is allowed."""

    def register(make: Made) -> Made:
        name = make.__name__.replace("_", "-")
        if name in _found and _found[name].place != _place(make):
            raise ValueError(f"two variants are named {name}")
        _found[name] = Variant(
            name=name,
            why=" ".join((make.__doc__ or "").split()),
            clauses=clauses,
            rulings=rulings,
            protocol=protocol,
            place=_place(make),
            make=make,
        )
        return make

    return register


def _place(make: Make) -> str:
    return f"python:{make.__module__}:{make.__name__}"


@cache
def variants() -> Mapping[str, Variant]:
    """Every variant by name, module by module."""
    for module in MODULES:
        importlib.import_module(f"{__package__}.{module}")
    order = [f"python:{__package__}.{module}:" for module in MODULES]

    def position(found: Variant) -> int:
        return next(n for n, start in enumerate(order) if found.place.startswith(start))

    return {v.name: v for v in sorted(_found.values(), key=position)}
