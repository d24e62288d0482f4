"""Loading: the modules of this folder register what they state when they are imported."""

import pkgutil
from functools import cache
from importlib import import_module

from wayproof.model.journey import properties


@cache
def load_properties() -> None:
    """Import every module of properties, so that all contracts and invariants are known; all
    but those that are written for another tool to run."""
    for module in pkgutil.iter_modules(properties.__path__, f"{properties.__name__}."):
        if not module.name.endswith("crosshair_contracts"):
            import_module(module.name)
