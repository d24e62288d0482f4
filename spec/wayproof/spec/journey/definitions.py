"""The registry that journeys are started from, and the closed view that a start pins.

Seed: "Illustrative Public Contract" and "Relationship To The Semantic Compiler". The shape is
that of a sequence registry of version 3, reduced to what execution depends on.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from wayproof.spec.journey.constraints import MAXIMUM_IDENTIFIER, Identifier, Items, Reference
from wayproof.spec.journey.records import STRICT
from wayproof.spec.journey.vocabulary import (
    DEFINITION_CAPABILITIES,
    POLICY_CAPABILITIES,
    Capability,
    TransitionType,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowDeclaration:
    """One workflow that sequences may name, and the workflows that it depends on."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    id: Identifier
    startup_mode: Identifier | None = None
    dependencies: Annotated[tuple[Identifier, ...], Items(64)] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextVariable:
    """One variable that an option sets for the stages after it."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    name: Identifier
    value: Reference


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionDeclaration:
    """One option of a transition; valid only for ``sequence``, if it names one.

    ``route_to`` is a later stage: its transition, or a workflow of it. Steps between are skipped
    then; without it the next step follows (ruling 55).
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    id: Identifier
    sequence: Identifier | None = None
    route_to: Identifier | None = None
    context_variables: Annotated[tuple[ContextVariable, ...], Items(32)] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TransitionDeclaration:
    """What stands between two stages: by default a choice that a caller makes.

    Options belong to a ``user_choice_context``, and only to it; ``route_to``, the workflow whose
    session is opened, to a ``chat_session``.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    id: Identifier
    transition_type: TransitionType = TransitionType.USER_CHOICE_CONTEXT
    options: Annotated[tuple[OptionDeclaration, ...], Items(64)] = ()
    route_to: Identifier | None = None

    def __post_init__(self) -> None:
        is_choice = self.transition_type is TransitionType.USER_CHOICE_CONTEXT
        if is_choice != bool(self.options):
            raise ValueError("options go with a user_choice_context, and only with it")
        is_session = self.transition_type is TransitionType.CHAT_SESSION
        if is_session != (self.route_to is not None):
            raise ValueError("route_to goes with a chat_session, and only with it")


@dataclass(frozen=True, slots=True, kw_only=True)
class EntrypointDeclaration:
    """One public way into a sequence, perhaps with a transition that may be chosen at start, and
    perhaps open to an initial message of the caller."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    id: Identifier
    sequence: Identifier
    transition: Identifier | None = None
    accepts_initial_message: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDeclaration:
    """One step of a sequence: parallel member workflows, or one transition; never both."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    workflows: Annotated[tuple[Identifier, ...], Items(16)] = ()
    transition: Identifier | None = None

    def __post_init__(self) -> None:
        if bool(self.workflows) == (self.transition is not None):
            raise ValueError("a step has either workflows or a transition")
        if len(self.stage_id) > MAXIMUM_IDENTIFIER:
            raise ValueError("a step's stage id is longer than an identifier may be")

    @property
    def stage_id(self) -> str:
        """The stage's identity: its transition, or its workflows joined by ``+``."""
        return self.transition or "+".join(self.workflows)


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceDeclaration:
    """One ordered sequence of steps."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    id: Identifier
    steps: Annotated[tuple[StepDeclaration, ...], Items(64, minimum=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlay:
    """Declarations that replace those of the same id, or are added. Ids are unique within each
    list."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    workflows: Annotated[tuple[WorkflowDeclaration, ...], Items(1000)] = ()
    entrypoints: Annotated[tuple[EntrypointDeclaration, ...], Items(1000)] = ()
    transitions: Annotated[tuple[TransitionDeclaration, ...], Items(1000)] = ()
    workflow_sequences: Annotated[tuple[SequenceDeclaration, ...], Items(1000)] = ()

    def __post_init__(self) -> None:
        for declarations in (
            self.workflows,
            self.entrypoints,
            self.transitions,
            self.workflow_sequences,
        ):
            if len({declared.id for declared in declarations}) != len(declarations):
                raise ValueError("an id is declared twice")


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry(Overlay):
    """Everything that a start may name, with the overlays that are applied to it, in order, before
    a sequence is resolved. As it is written it may carry ``ui`` and ``meta`` members besides."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    pack_name: Identifier | None = None
    version: Literal[3] | None = None
    overlays: Annotated[tuple[Overlay, ...], Items(16)] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedDefinition:
    """The closed view of one sequence: all that execution of it can depend on, and no more."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    sequence: SequenceDeclaration
    entrypoints: tuple[EntrypointDeclaration, ...]
    transitions: tuple[TransitionDeclaration, ...]
    workflows: tuple[WorkflowDeclaration, ...]


def resolve_definition(registry: Registry, sequence_id: str) -> ResolvedDefinition | None:
    """The closed view of a sequence, overlays applied: its steps, its entrypoints, the transitions
    that either names and the workflows that it names, each list ordered by id; None if unknown."""
    registry = _overlaid(registry)
    sequence = next((s for s in registry.workflow_sequences if s.id == sequence_id), None)
    if sequence is None:
        return None
    entrypoints = [e for e in registry.entrypoints if e.sequence == sequence_id]
    transitions = {e.transition for e in entrypoints} | {s.transition for s in sequence.steps}
    workflows = {workflow for step in sequence.steps for workflow in step.workflows}
    workflows |= {t.route_to for t in registry.transitions if t.id in transitions and t.route_to}
    return ResolvedDefinition(
        sequence=sequence,
        entrypoints=tuple(sorted(entrypoints, key=lambda e: e.id)),
        transitions=tuple(
            sorted((t for t in registry.transitions if t.id in transitions), key=lambda t: t.id)
        ),
        workflows=tuple(
            sorted((w for w in registry.workflows if w.id in workflows), key=lambda w: w.id)
        ),
    )


Declared = TypeVar(
    "Declared",
    WorkflowDeclaration,
    EntrypointDeclaration,
    TransitionDeclaration,
    SequenceDeclaration,
)


def _overlaid(registry: Registry) -> Registry:
    for overlay in registry.overlays:
        registry = replace(
            registry,
            workflows=_replaced(registry.workflows, overlay.workflows),
            entrypoints=_replaced(registry.entrypoints, overlay.entrypoints),
            transitions=_replaced(registry.transitions, overlay.transitions),
            workflow_sequences=_replaced(registry.workflow_sequences, overlay.workflow_sequences),
        )
    return registry


def _replaced(
    declared: tuple[Declared, ...], overlaid: tuple[Declared, ...]
) -> tuple[Declared, ...]:
    by_id = {each.id: each for each in declared + overlaid}
    return tuple(by_id[name] for name in by_id)


def required_capabilities(definition: ResolvedDefinition) -> frozenset[Capability]:
    """What a start needs: derived from the policy's version and the pinned definition alone."""
    steps = definition.sequence.steps
    if len(steps) > 1 or steps[0].transition is not None:
        return POLICY_CAPABILITIES | DEFINITION_CAPABILITIES
    return POLICY_CAPABILITIES
