"""Stories of single mechanisms between stages that no search comes across: what stays open in the
outbox, what keeps a journey from completing, and which end of a run leads on."""

from collections.abc import Iterator
from typing import Final

from wayproof.conformance.generate import settings
from wayproof.conformance.generate.menus import start
from wayproof.conformance.generate.phrases import (
    begin,
    child,
    complete,
    deliver,
    finish,
    lease,
    pause,
    submit,
    take_over,
)
from wayproof.conformance.generate.routes import AT_THE_CHOICE, CHAIN, LARGE, LOOK, PAUSED
from wayproof.conformance.generate.scripts import Call, Draft, Restart, Script, Setting, owned

OPEN: Final = owned("list_dispatch_intents", open_only=True)
CHAIN_BEGUN: Final[Script] = (start(CHAIN), lease(), begin())
QUEUED: Final[Script] = (*CHAIN_BEGUN, finish(1, "completed"))
"""Run 1 is done, run 2 is queued: it is alone in the last stage of two."""


def drafts() -> Iterator[Draft]:
    """Every story."""
    yield from _open()
    yield from _incomplete()
    yield from _joins()
    yield from _without_room()
    yield from _replays()


def _draft(
    family: str,
    topic: str,
    title: str,
    script: Script,
    *,
    focus: int,
    within: Setting = settings.CHAIN,
) -> Draft:
    return Draft(
        family=family, topic=topic, setting=within, script=script, focus=focus, title=title
    )


def _open() -> Iterator[Draft]:
    yield _draft(
        "dispatch",
        "open-intents",
        "an acknowledged intent is listed as open until its run is taken over",
        (*QUEUED, OPEN, deliver(2), OPEN, Restart(), OPEN, take_over(2), OPEN, deliver(2), OPEN),
        focus=len(QUEUED) + 1,
    )
    yield _draft(
        "dispatch",
        "open-intents",
        "of two members one is acknowledged and one taken over; each page shows what is open",
        (
            *(*LARGE, deliver(3), take_over(4), OPEN),
            *(owned("list_dispatch_intents", open_only=True, after=1), take_over(3), OPEN),
            *(owned("list_dispatch_intents", limit=1), owned("list_dispatch_intents", after=1)),
        ),
        within=settings.FORK,
        focus=len(LARGE),
    )
    yield _draft(
        "dispatch",
        "open-intents",
        "what was queued again is open beside its first intent, which stays claimed",
        (
            *(*QUEUED, deliver(2), take_over(2), pause(1, 2), OPEN, submit(1, 2), OPEN),
            *(deliver(2), take_over(2), take_over(2), *LOOK),
        ),
        focus=len(QUEUED) + 4,
    )


def _incomplete() -> Iterator[Draft]:
    places: dict[str, tuple[Script, Setting]] = {
        "while a choice waits": (AT_THE_CHOICE, settings.FORK),
        "while two runs are queued": (LARGE, settings.FORK),
        "while one run is acknowledged": ((*QUEUED, deliver(2)), settings.CHAIN),
        "while a run is paused": (PAUSED, settings.ORDINARY),
        "while a run is queued again": ((*PAUSED, submit(1, 1)), settings.ORDINARY),
        "after a failure in a stage that has a successor": (
            (*CHAIN_BEGUN, finish(1, "failed")),
            settings.CHAIN,
        ),
    }
    for where, (script, within) in places.items():
        yield _draft(
            "lifecycle",
            "stages-to-come",
            f"a journey is not complete {where}",
            (*script, complete(), Restart(), complete(), *LOOK),
            within=within,
            focus=len(script),
        )


def _joins() -> Iterator[Draft]:
    yield _draft(
        "dispatch",
        "joins",
        "a refinement of the stage behind ends beside the only run of the last, and enters nothing",
        (*QUEUED, child(1, 1, "refinement"), finish(3, "completed"), *LOOK, take_over(2)),
        focus=len(QUEUED) + 1,
    )
    refined = (*LARGE, take_over(3), take_over(4), finish(3, "completed"))
    yield _draft(
        "dispatch",
        "joins",
        "a refinement of the first stage ends beside the last member of a later one",
        (
            *(*refined, child(1, 1, "refinement"), finish(5, "completed"), *LOOK),
            *(finish(4, "completed"), *LOOK),
        ),
        within=settings.FORK,
        focus=len(refined) + 1,
    )
    member: tuple[tuple[str, Script], ...] = (
        ("a decomposition of it is active", (child(1, 3, "decomposition"),)),
        ("a refinement of it is active", (child(1, 3, "refinement"),)),
    )
    for what, script in member:
        joined = (*LARGE, take_over(3), take_over(4), *script, finish(4, "completed"))
        yield _draft(
            "dispatch",
            "joins",
            f"a stage goes on while {what}, whatever its members report",
            (*joined, finish(3, "completed"), *LOOK, finish(5, "completed"), *LOOK),
            within=settings.FORK,
            focus=len(joined),
        )
    failed = (*LARGE, take_over(3), take_over(4), finish(3, "failed"))
    yield _draft(
        "dispatch",
        "joins",
        "a failed member holds the stage until its repair has completed, and not its refinement",
        (
            *(*failed, finish(4, "completed"), *LOOK, child(1, 3, "refinement")),
            *(finish(5, "completed"), *LOOK, child(2, 3, "repair"), finish(6, "failed")),
            *(child(3, 6, "repair"), finish(7, "completed"), *LOOK),
        ),
        within=settings.FORK,
        focus=len(failed),
    )


def _without_room() -> Iterator[Draft]:
    spent = (
        *CHAIN_BEGUN,
        *(child(1, 1, "decomposition"), child(2, 1, "decomposition")),
        *(finish(2, "completed"), finish(3, "completed")),
    )
    ended: tuple[Call, ...] = (
        finish(1, "completed"),
        finish(1, "failed"),
        owned("terminal_outcome"),
        owned("snapshot"),
    )
    yield _draft(
        "dispatch",
        "without-room",
        "the last start is spent, so that the end of the stage is that of the journey",
        (*spent, finish(1, "completed"), Restart(), *ended, *LOOK),
        focus=len(spent),
    )
    yield _draft(
        "dispatch",
        "without-room",
        "a run that fails needs no room for the stage behind it",
        (*spent, finish(1, "failed"), *LOOK),
        focus=len(spent),
    )


def _replays() -> Iterator[Draft]:
    resumed = (*CHAIN_BEGUN, pause(1, 1), submit(1, 1), take_over(1), finish(1, "completed"))
    yield _draft(
        "dispatch",
        "replays",
        "a repeated resume names none of the runs that the end of its run has brought about",
        (*resumed, submit(1, 1), Restart(), submit(1, 1), finish(1, "completed"), *LOOK),
        focus=len(resumed),
    )
    waits = (*QUEUED, take_over(2), pause(1, 2))
    yield _draft(
        "dispatch",
        "replays",
        "a repeated completion names its child, and no request for which it waits by now",
        (*waits, finish(1, "completed"), begin(), Restart(), finish(1, "completed"), *LOOK),
        focus=len(waits),
    )
