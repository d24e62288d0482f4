"""What the pinned sequence asks for next, worked out apart from the rules.

Contracts compare what a step created with :func:`wanted_at`; nothing here looks at the model's own
planning of stages.
"""

from typing import NamedTuple

from wayproof.model.journey.state import Terms
from wayproof.spec.journey.definitions import OptionDeclaration
from wayproof.spec.journey.vocabulary import TransitionType


class Wanted(NamedTuple):
    """One run that entering a stage must create."""

    position: int
    member_ordinal: int
    workflow_id: str | None
    passed_with: str | None = None
    """The option that start chose for it."""
    waits: bool = False
    passed: bool = False


def stages_of(terms: Terms) -> list[tuple[str, tuple[str, ...], TransitionType | None]]:
    """Every stage in order: its id, the workflows that run there, and what passes it."""
    declared = {t.id: t for t in terms.definition.transitions}
    stages: list[tuple[str, tuple[str, ...], TransitionType | None]] = []
    for step in terms.definition.sequence.steps:
        if step.transition is None:
            stages.append((step.stage_id, step.workflows, None))
        elif (transition := declared.get(step.transition)) is None:
            # Nobody declared it, so nothing is ever offered.
            stages.append((step.stage_id, (), TransitionType.USER_CHOICE_CONTEXT))
        else:
            session = () if transition.route_to is None else (transition.route_to,)
            stages.append((step.stage_id, session, transition.transition_type))
    return stages


def _option(terms: Terms, stage_id: str, option_id: str | None) -> OptionDeclaration | None:
    for transition in terms.definition.transitions:
        if transition.id == stage_id:
            return next((o for o in transition.options if o.id == option_id), None)
    return None


def leads_to(terms: Terms, position: int, option_id: str | None) -> int | None:
    """The position behind a stage, passed with an option; None if the option leads nowhere."""
    option = _option(terms, stages_of(terms)[position][0], option_id)
    if option is None or option.route_to is None:
        return position + 1
    steps = terms.definition.sequence.steps
    ahead = [at for at, step in enumerate(steps) if at > position]
    fitting = [
        at
        for at in ahead
        if steps[at].transition == option.route_to or option.route_to in steps[at].workflows
    ]
    return min(fitting, default=None)


def is_offered(terms: Terms, position: int, option_id: str) -> bool:
    """Whether the transition at a position offers an option to this sequence."""
    stage_id = stages_of(terms)[position][0]
    option = _option(terms, stage_id, option_id)
    return (
        option is not None
        and option.sequence in (None, terms.definition.sequence.id)
        and all(
            leads_to(terms, at, option_id) is not None
            for at, stage in enumerate(stages_of(terms))
            if stage[0] == stage_id
        )
    )


def wanted_at(terms: Terms, position: int | None) -> list[Wanted]:
    """Every run that entering the stage at a position must create, in order."""
    stages, wanted = stages_of(terms), list[Wanted]()
    while position is not None and position < len(stages):
        stage_id, workflows, passed_by = stages[position]
        if workflows:
            return wanted + [Wanted(position, n, w) for n, w in enumerate(workflows)]
        option = dict(terms.choices).get(stage_id)
        if passed_by is TransitionType.USER_CHOICE_CONTEXT and option is None:
            return [*wanted, Wanted(position, 0, None, waits=True)]
        wanted.append(Wanted(position, 0, None, passed_with=option, passed=True))
        position = leads_to(terms, position, option)
    return wanted
