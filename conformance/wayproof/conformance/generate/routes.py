"""Stories of whole journeys from stage to stage, and of what happens to one on its way: edits of
the registry, restarts, expiry, cancellation, takeovers, and other journeys beside it."""

from collections.abc import Iterator
from typing import Any, Final

from wayproof.conformance.generate import settings
from wayproof.conformance.generate.menus import Scope, start
from wayproof.conformance.generate.phrases import (
    begin,
    child,
    complete,
    deliver,
    finish,
    lease,
    pause,
    reserve,
    submit,
    take_over,
    transmit,
    usage,
)
from wayproof.conformance.generate.scripts import (
    Action,
    Draft,
    Reconfigure,
    Restart,
    Script,
    Setting,
    Sweep,
    Tick,
    owned,
)
from wayproof.conformance.generate.settings import DEADLINE, MIDNIGHT, REGISTRY, SHORT_LEASE

FORK: Final = Scope(sequence="fork")
GATED: Final = Scope(sequence="gated")
BUILD: Final = Scope(sequence="build")
CHAIN: Final = Scope(sequence="chain")
SOLO: Final = Scope()

FORK_BEGUN: Final[Script] = (start(FORK), lease(), begin())
AT_THE_CHOICE: Final[Script] = (*FORK_BEGUN, finish(1, "completed"))
"""Run 1 is done, run 2 waits for input request 1."""
LARGE: Final[Script] = (*AT_THE_CHOICE, submit(1, 2, "large"))
"""Runs 3 and 4 are queued."""
PAUSED: Final[Script] = (start(SOLO), lease(), begin(), pause(1, 1))
"""Run 1 waits for input request 1."""
LOOK: Final[Script] = (owned("list_workflow_runs"), owned("list_dispatch_intents"))


def run_through(run: int) -> Script:
    """The run of that number is acknowledged, taken over and completed."""
    return (deliver(run), take_over(run), finish(run, "completed"))


BUILD_TO_THE_END: Final[Script] = (
    start(BUILD),
    lease(),
    begin(),
    submit(1, 1, "new_app"),
    *run_through(2),
    *run_through(3),
    submit(2, 4, "with_database"),
    submit(3, 5, "own"),
    take_over(6),
    reserve(1, 30, workflow_run_id="$R6"),
    transmit(1),
    take_over(7),
    usage(1, 12),
    finish(7, "completed"),
    finish(6, "completed"),
    *run_through(8),
    take_over(9),
    finish(9, "failed"),
    child(1, 9, "repair"),
    finish(10, "completed"),
    take_over(11),
    pause(1, 11),
    submit(4, 11),
    take_over(11),
    finish(11, "completed"),
    complete(),
)
"""The whole of it: two choices, two parallel members, a repair and a review that waits."""


def drafts() -> Iterator[Draft]:
    """Every story."""
    yield from _whole()
    yield from _choices()
    yield from _edits()
    yield from _stops()
    yield from _recoveries()
    yield from _neighbours()


def _draft(
    family: str,
    topic: str,
    title: str,
    script: Script,
    *,
    within: Setting = settings.FORK,
    focus: int = 0,
) -> Draft:
    return Draft(
        family=family, topic=topic, setting=within, script=script, focus=focus, title=title
    )


def _whole() -> Iterator[Draft]:
    yield _draft(
        "dispatch",
        "journeys",
        "a build from its first choice to its review, settled",
        (*BUILD_TO_THE_END, *LOOK, Sweep()),
        within=settings.BUILD,
    )
    restarted: list[Action] = []
    for action in BUILD_TO_THE_END:
        restarted += (action, Restart(), action)
    yield _draft(
        "dispatch",
        "journeys",
        "the same build, with a restart after every step and every request delivered twice",
        (*restarted, *LOOK, Sweep()),
        within=settings.BUILD,
    )
    yield _draft(
        "dispatch",
        "journeys",
        "a build that skips the database",
        (
            start(BUILD, route_choices=[_choice("app_type_selector", "new_app")]),
            lease(),
            begin(),
            take_over(2),
            finish(2, "completed"),
            take_over(3),
            finish(3, "completed"),
            submit(1, 4, "without_database"),
            *LOOK,
            complete(),
        ),
        within=settings.BUILD,
    )
    for option in ("small", "large"):
        yield _draft(
            "dispatch",
            "journeys",
            f"a gated journey, {option}, its gate passed by itself",
            (
                *(start(GATED), lease(), begin(), submit(1, 1, option)),
                *run_through(2),
                *LOOK,
                *run_through(4),
                complete(),
                owned("terminal_outcome"),
            ),
            within=settings.GATED,
        )


def _choice(transition: str, option: str) -> dict[str, str]:
    return {"transition_id": transition, "option_id": option}


def _choices() -> Iterator[Draft]:
    for option in ("small", "large"):
        chosen = start(FORK, route_choices=[_choice("depth", option)])
        yield _draft(
            "route",
            "chosen-at-start",
            f"{option}, chosen at start, is passed without waiting",
            (chosen, lease(), begin(), finish(1, "completed"), *LOOK, begin(), complete()),
            focus=3,
        )
    for option, code in (("back", "leads back"), ("foreign", "is another sequence's")):
        yield _draft(
            "route",
            "chosen-at-start",
            f"an option that {code} is not offered at start",
            (start(FORK, route_choices=[_choice("depth", option)]), start(FORK)),
        )
    yield _draft(
        "route",
        "chosen-at-start",
        "a gate and a review offer no option",
        (
            start(GATED, route_choices=[_choice("gate", "small")]),
            start(GATED, route_choices=[_choice("review", "small")]),
            start(GATED, route_choices=[_choice("size", "small")]),
        ),
        within=settings.GATED,
    )
    yield _draft(
        "route",
        "choices",
        "a choice that is delayed by a refinement leads on when that has ended",
        (
            *AT_THE_CHOICE,
            child(1, 2, "refinement"),
            submit(1, 2, "small"),
            finish(3, "completed"),
            *LOOK,
            submit(1, 2, "small"),
            finish(3, "completed"),
        ),
        focus=4,
    )
    yield _draft(
        "route",
        "choices",
        "two choices in a row, of which the second skips nothing",
        (
            start(BUILD),
            lease(),
            begin(),
            submit(1, 1, "new_app"),
            take_over(2),
            finish(2, "completed"),
            take_over(3),
            finish(3, "completed"),
            submit(2, 4, "with_database"),
            submit(2, 5, "own"),
            submit(3, 4, "own"),
            submit(3, 5, "with_database"),
            submit(3, 5, "managed"),
            *LOOK,
        ),
        within=settings.BUILD,
        focus=8,
    )


def _edited(transition: str, options: list[dict[str, Any]]) -> Reconfigure:
    part = settings.registry_of("fork")
    return Reconfigure(
        {
            **part,
            "transitions": [
                {**t, "options": options} if t["id"] == transition else t
                for t in part["transitions"]
            ],
        }
    )


def _edits() -> Iterator[Draft]:
    edits: dict[str, Reconfigure] = {
        "its options are others": _edited("depth", [{"id": "new"}]),
        "an option leads elsewhere": _edited(
            "depth", [{"id": "small"}, {"id": "large", "route_to": "Check"}]
        ),
        "it is empty": Reconfigure({name: [] for name in REGISTRY}),
    }
    for what, edit in edits.items():
        for option in ("large", "small", "new"):
            yield _draft(
                "route",
                "pinned-choices",
                f"{option}, chosen after the registry was edited: {what}",
                (
                    *AT_THE_CHOICE,
                    edit,
                    Restart(),
                    submit(1, 2, option),
                    submit(1, 2, option),
                    *LOOK,
                ),
                focus=6,
            )
        yield _draft(
            "route",
            "pinned-choices",
            f"the next stage is that of the pinned sequence: {what}",
            (
                *(*LARGE, edit, take_over(3), take_over(4), finish(4, "completed")),
                *(Restart(), finish(3, "completed"), *LOOK),
            ),
            focus=6,
        )


def _stops() -> Iterator[Draft]:
    ends: dict[str, Script] = {
        "cancelled": (owned("cancel"), Sweep()),
        "failed": (owned("fail_journey", fencing_token="$F1", reason_code="workflow_failed"),),
        "timed out": (Tick(MIDNIGHT + DEADLINE), Sweep()),
        "at its deadline, unswept": (Tick(MIDNIGHT + DEADLINE),),
        "cancelling": (owned("cancel"),),
    }
    places: dict[str, tuple[Script, Setting, Script]] = {
        "with a choice pending": (AT_THE_CHOICE, settings.FORK, (submit(1, 2, "large"),)),
        "with two runs queued": (LARGE, settings.FORK, (take_over(3), deliver(4), take_over(4))),
        "with one run acknowledged and one taken over": (
            (*LARGE, deliver(3), take_over(4)),
            settings.FORK,
            (take_over(3), take_over(4), finish(4, "completed"), finish(4, "failed")),
        ),
        "with a run paused": (PAUSED, settings.ORDINARY, (submit(1, 1), finish(1, "completed"))),
        "with a run queued again": (
            (*PAUSED, submit(1, 1)),
            settings.ORDINARY,
            (take_over(1), submit(1, 1), deliver(1), finish(1, "completed")),
        ),
    }
    for where, (script, within, requests) in places.items():
        for how, stop in ends.items():
            for request in requests:
                yield _draft(
                    "dispatch",
                    "stopped",
                    f"a journey {how} {where}: {request.operation}",  # type: ignore[union-attr]
                    (*script, *stop, request, Restart(), request, *LOOK, Sweep()),
                    within=within,
                    focus=len(script) + len(stop),
                )


def _recoveries() -> Iterator[Draft]:
    short = lease(lasts=SHORT_LEASE)
    again = lease(operation="lease-2")
    late = Tick(MIDNIGHT + SHORT_LEASE)
    yield _draft(
        "lease",
        "outbox",
        "what is queued is taken over under the next lease, not under the lapsed one",
        (
            *(start(FORK), short, begin(), finish(1, "completed"), submit(1, 2, "large")),
            *(deliver(3), late, take_over(3), deliver(4), Restart(), again),
            *(take_over(3, "$F1"), take_over(3, "$F2"), take_over(3, "$F2"), deliver(3, "$F2")),
            *(take_over(4, "$F2"), *LOOK),
        ),
        focus=7,
    )
    yield _draft(
        "lease",
        "waiting",
        "a choice is accepted while nobody holds the lease, and dispatched under the next",
        (
            *(start(FORK), short, begin(), finish(1, "completed"), late, submit(1, 2, "small")),
            *(take_over(3), again, take_over(3, "$F2"), finish(3, "completed", "$F2")),
            *(complete("$F2"), Sweep()),
        ),
        focus=5,
    )
    yield _draft(
        "lease",
        "waiting",
        "a review outlives three owners",
        (
            *(start(SOLO), short, begin(), pause(1, 1), late, again, Restart()),
            *(submit(1, 1), finish(1, "completed", "$F2"), take_over(1, "$F2")),
            *(pause(2, 1, "$F2"), submit(1, 1), submit(2, 1), take_over(1, "$F2")),
            *(finish(1, "completed", "$F2"), complete("$F2")),
        ),
        within=settings.ORDINARY,
        focus=4,
    )
    yield _draft(
        "lease",
        "waiting",
        "an active run beside one that waits is still an orphan",
        (
            *(start(Scope(sequence="pair")), short, begin(), pause(1, 1), late, again),
            *(submit(1, 1), owned("terminal_outcome")),
        ),
        within=settings.PARALLEL,
        focus=5,
    )
    yield _draft(
        "lease",
        "waiting",
        "a call in flight of a paused run is still ambiguous",
        (
            *(start(SOLO), short, begin(), reserve(1, 30), transmit(1), pause(1, 1), late),
            *(again, submit(1, 1), usage(1, 12), Sweep()),
        ),
        within=settings.ORDINARY,
        focus=7,
    )


def _neighbours() -> Iterator[Draft]:
    beside = start(FORK, idempotency_key="key-2")
    stranger = start(FORK, access="$stranger")
    for who, second, access in (
        ("of the same owner", beside, "$owner"),
        ("of a stranger", stranger, "$stranger"),
    ):
        other = {"journey": "$J2", "access": access}
        yield _draft(
            "access",
            "stages",
            f"runs and inputs of a journey {who} are not those of this one",
            (
                *AT_THE_CHOICE,
                second,
                lease(journey="$J2", access=access),
                owned("begin_journey", **other, fencing_token="$F2"),
                owned(
                    "finish_workflow_run",
                    **other,
                    fencing_token="$F2",
                    workflow_run_id="$R3",
                    outcome="completed",
                ),
                submit(2, 4, "large"),
                submit(2, 2, "large"),
                submit(1, 4, "large"),
                submit(1, 2, "large", journey="$J2", access=access),
                submit(1, 4, "large", journey="$J2", access=access),
                submit(2, 4, "small", journey="$J2", access=access),
                take_over(5),
                deliver(5),
                pause(1, 3),
                submit(1, 2, "large"),
                owned("list_dispatch_intents"),
                owned("list_dispatch_intents", **other),
            ),
            focus=8,
        )
