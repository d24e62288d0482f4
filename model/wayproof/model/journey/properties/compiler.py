"""Contracts of semantic-compiler references: typed, bounded and opaque."""

import re
from typing import Final

from wayproof.model.journey.properties.contract import WorldStep, world_contract
from wayproof.model.journey.properties.starting import (
    created,
    is_due_to_start,
    only_fault,
    refused_as_malformed,
)

_REFERENCE: Final = re.compile(r"/semantic_references/\d+/reference")
_ROLE: Final = re.compile(r"/semantic_references/\d+/role")


@world_contract("compiler-01")
def well_formed_reference_is_accepted(step: WorldStep) -> bool | None:
    """Whatever a reference says, the start is accepted, and its hash depends on it."""
    if is_due_to_start(step) is None or not step.arguments.get("semantic_references"):
        return None
    return created(step) is not None


@world_contract("compiler-02")
def malformed_reference_is_refused(step: WorldStep) -> bool | None:
    """A reference that is no text, or too long a one, is refused."""
    if step.operation != "start" or not only_fault(
        step,
        lambda fault: fault.kind == "text" and bool(_REFERENCE.fullmatch(fault.pointer)),
    ):
        return None
    return refused_as_malformed(step)


@world_contract("compiler-04")
def unknown_role_is_refused(step: WorldStep) -> bool | None:
    """A reference of a role that the contract does not name is refused."""
    if step.operation != "start" or not only_fault(
        step,
        lambda fault: fault.kind == "choice" and bool(_ROLE.fullmatch(fault.pointer)),
    ):
        return None
    return refused_as_malformed(step)
