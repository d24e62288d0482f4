"""Where a journey goes: the stages of its pinned definition, and what follows each of them.

Positions are those of the sequence's steps; the position behind the last step is the end.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from wayproof.impl.journey.transaction import LostUpdateError, Transaction
from wayproof.spec.journey.definitions import (
    OptionDeclaration,
    ResolvedDefinition,
    StepDeclaration,
    TransitionDeclaration,
)
from wayproof.spec.journey.validation import decode_record
from wayproof.spec.journey.vocabulary import TransitionType

_MOST_KEPT: Final = 256

_kept: dict[str, tuple["Stage", ...]] = {}
"""Stages by digest, which names one definition for good: it is read and decoded once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One step of a sequence, as it is executed."""

    stage_id: str
    position: int
    workflows: tuple[str, ...]
    """What runs in it, in order; nothing in a transition that no workflow passes."""
    is_choice: bool
    """Whether it waits for an option."""
    leads_to: Mapping[str, int]
    """The position to which each option leads that this sequence offers here."""

    def following(self, option_id: str | None) -> int:
        """The position of what comes next, behind a choice by the chosen option."""
        return self.position + 1 if option_id is None else self.leads_to[option_id]


def pinned_stages(tx: Transaction) -> tuple[Stage, ...]:
    """The stages of the journey's pinned definition, whatever the registry says by now."""
    digest = tx.row.definition_digest
    stages = _kept.get(digest)
    if stages is None:
        found = tx.one("SELECT definition FROM definitions WHERE definition_digest = ?", (digest,))
        if found is None:
            raise LostUpdateError("a pinned definition is gone")
        stages = stages_of(decode_record(ResolvedDefinition, json.loads(found[0])))
        if len(_kept) >= _MOST_KEPT:
            _kept.clear()
        _kept[digest] = stages
    return stages


def stages_of(definition: ResolvedDefinition) -> tuple[Stage, ...]:
    """The stages of a definition, by position."""
    declared = {transition.id: transition for transition in definition.transitions}
    offered = offered_options(definition)
    return tuple(
        _stage(definition, position, step, declared.get(step.transition or ""), offered)
        for position, step in enumerate(definition.sequence.steps)
    )


def offered_options(definition: ResolvedDefinition) -> dict[str, frozenset[str]]:
    """The options that each transition offers to this sequence, at start and later.

    A choice made at start holds for every step that is this transition, so that each must lead to
    a later step. Where none is, for the transition of an entrypoint, an option leads nowhere.
    """
    steps = definition.sequence.steps
    return {
        transition.id: frozenset(
            option.id
            for option in transition.options
            if option.sequence in (None, definition.sequence.id)
            and all(
                _target(steps, position, option) is not None
                for position, step in enumerate(steps)
                if step.transition == transition.id
            )
        )
        for transition in definition.transitions
    }


def _stage(
    definition: ResolvedDefinition,
    position: int,
    step: StepDeclaration,
    transition: TransitionDeclaration | None,
    offered: Mapping[str, frozenset[str]],
) -> Stage:
    workflows = step.workflows
    # A transition that nobody declared is passed by nothing: it waits for what is never offered.
    is_choice = step.transition is not None
    leads_to: dict[str, int] = {}
    if transition is not None:
        is_choice = transition.transition_type is TransitionType.USER_CHOICE_CONTEXT
        if transition.route_to is not None:
            workflows = (transition.route_to,)
        for option in transition.options:
            target = _target(definition.sequence.steps, position, option)
            if target is not None and option.id in offered[transition.id]:
                leads_to[option.id] = target
    return Stage(
        stage_id=step.stage_id,
        position=position,
        workflows=workflows,
        is_choice=is_choice,
        leads_to=leads_to,
    )


def _target(
    steps: Sequence[StepDeclaration], position: int, option: OptionDeclaration
) -> int | None:
    """Where an option leads from that position; None if that is no later step."""
    if option.route_to is None:
        return position + 1
    for later in range(position + 1, len(steps)):
        if option.route_to == steps[later].transition or option.route_to in steps[later].workflows:
            return later
    return None
