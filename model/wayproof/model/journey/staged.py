"""Configurations of several stages: routes, the outbox, pauses, and what stops them."""

from wayproof.model.journey.configuration import Configuration
from wayproof.model.journey.example import (
    SECOND,
    acknowledge,
    begin,
    cancel,
    claim,
    complete,
    finish,
    pause,
    read,
    reserve,
    start_run,
    submit,
    take_over,
    terms,
    transmit,
)
from wayproof.spec.journey.requests import ListDispatchIntentsRequest, ListWorkflowRunsRequest


def advancement(full: bool) -> Configuration:
    """Two stages, the second of two members, against starts that hold all or one of them."""
    more = (acknowledge("run-3"), complete(), start_run("child", "decomposition"))
    return Configuration(
        mechanism="from stage to stage: the join, the outbox, and what a stop leaves of it",
        terms=terms(
            deadline=3 * SECOND,
            stages=(("Builder",), ("Checker", "Builder")),
            max_workflow_run_starts=3,
        ),
        menu=(
            finish(),
            finish("run-1", outcome="failed"),
            acknowledge("run-2"),
            take_over("run-2"),
            take_over("run-3"),
            finish("run-2"),
            start_run("repair", "repair", parent="run-1"),
            cancel(),
            read(ListDispatchIntentsRequest),
            *(more if full else ()),
        ),
        clock=(0, 3 * SECOND),
    )


def crowded(full: bool) -> Configuration:
    """A choice behind which there are more members than starts are left."""
    return Configuration(
        mechanism="a stage without room: nothing of its commit remains but the end",
        terms=terms(
            deadline=3 * SECOND,
            stages=(("Builder",), ("size",), ("Checker", "Builder"), ("Checker",)),
            max_workflow_run_starts=2,
        ),
        menu=(
            finish(),
            submit("run-2", "large"),
            submit("run-2", "small"),
            start_run("child", "decomposition"),
            take_over("run-3"),
            complete(),
            cancel(),
        ),
        clock=(0, SECOND),
    )


def routes(full: bool) -> Configuration:
    """A choice between two ways, one of which skips a stage; the last stage is a review."""
    more = (take_over("run-2"), take_over("run-3"), finish("run-2"))
    return Configuration(
        mechanism="a choice that waits, is made once, and leads on or skips a stage",
        terms=terms(
            deadline=3 * SECOND, stages=(("size",), ("Builder",), ("Checker",), ("review",))
        ),
        prefix=(claim("worker-1", lease=SECOND),),
        menu=(
            begin(),
            submit("run-1", "small"),
            submit("run-1", "large"),
            submit("run-1", "other"),
            submit("run-1"),
            submit("run-1", "small", number=2),
            submit("run-2"),
            start_run("beside", "refinement"),
            claim("worker-2", lease=3 * SECOND),
            take_over("run-2", token=2),
            read(ListWorkflowRunsRequest),
            *(more if full else ()),
        ),
        clock=(0, SECOND, 3 * SECOND),
    )


def chosen(full: bool) -> Configuration:
    """A choice that start made, and a gate that passes by itself."""
    return Configuration(
        mechanism="stages that are passed at once, with the choice that start made",
        terms=terms(
            deadline=2 * SECOND,
            stages=(("size",), ("Builder",), ("gate",), ("Checker",)),
            choices=(("size", "large"),),
        ),
        prefix=(claim("worker-1"),),
        menu=(
            begin(),
            submit("run-1", "large"),
            take_over("run-2"),
            finish("run-2"),
            take_over("run-4"),
            finish("run-4"),
            complete(),
            cancel(),
        ),
        clock=(0, 2 * SECOND),
    )


def pauses(full: bool) -> Configuration:
    """One run that is paused, resumed and taken over again, with a call in flight."""
    more = (
        reserve("a", 2, lease=SECOND),
        transmit("a"),
        pause("second"),
        submit("run-1", number=2),
    )
    return Configuration(
        mechanism="a pause for input: without a lease, resumed once, stopped by time and callers",
        terms=terms(deadline=3 * SECOND),
        prefix=(claim("worker-1", lease=SECOND), begin()),
        menu=(
            pause("first"),
            submit("run-1"),
            submit("run-1", "small"),
            take_over("run-1"),
            claim("worker-2", lease=3 * SECOND),
            take_over("run-1", token=2),
            finish(),
            finish(token=2),
            cancel(),
            read(ListWorkflowRunsRequest),
            *(more if full else ()),
        ),
        clock=(0, SECOND, 3 * SECOND),
    )


STAGED = (advancement, crowded, routes, chosen, pauses)
"""The configurations of this module."""
