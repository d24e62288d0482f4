"""Histories worth telling at length, and what only several journeys can show."""

from collections.abc import Iterator
from typing import Final

from wayproof.conformance.generate import settings
from wayproof.conformance.generate.owners import OWNERS
from wayproof.conformance.generate.phrases import (
    BEGUN,
    LAPSE,
    ambiguous,
    child,
    finish,
    group,
    reserve,
    transmit,
    unsent,
    usage,
)
from wayproof.conformance.generate.probes import MALFORMED_USAGE
from wayproof.conformance.generate.scripts import (
    Draft,
    Script,
    Sweep,
    Tick,
    owned,
)
from wayproof.conformance.generate.settings import (
    LONG_LEASE,
    MIDNIGHT,
    RESERVATION_LEASE,
)
from wayproof.conformance.generate.stories import drain

HISTORIES: Final[dict[str, tuple[str, Script]]] = {
    "one call, paid and completed": (
        "reservation",
        group(reserve(1, 30), transmit(1), usage(1, 12)),
    ),
    "what is left over can be reserved again, to the last token": (
        "reservation",
        group(reserve(1, 60), transmit(1), usage(1, 10), reserve(2, 90)),
    ),
    "one token more than is left over ends it": (
        "reservation",
        (*BEGUN, reserve(1, 60), transmit(1), usage(1, 10), reserve(2, 91)),
    ),
    "a group of three, charged once at its greatest": (
        "retry",
        group(
            *(reserve(1, 20, group="g"), reserve(2, 50, group="g"), reserve(3, 40, group="g")),
            *(transmit(1), transmit(2), transmit(3)),
            *LAPSE,
            usage(3, 15),
        ),
    ),
    "a group's greatest member released, the next greatest counts": (
        "retry",
        group(
            reserve(1, 20, group="g"),
            reserve(2, 90, group="g"),
            unsent(2),
            reserve(3, 80),
            reserve(4, 21, group="g", lease_milliseconds=1),
        ),
    ),
    "a zero of one member leaves its siblings as they are": (
        "retry",
        group(
            reserve(1, 30, group="g"),
            transmit(1),
            reserve(2, 40, group="g"),
            transmit(2),
            usage(1, 0),
            usage(2, 35),
        ),
    ),
    "an unsent member leaves its siblings as they are": (
        "retry",
        group(
            reserve(1, 30, group="g"),
            transmit(1),
            reserve(2, 40, group="g"),
            transmit(2),
            unsent(2),
            *LAPSE,
            usage(1, 30),
        ),
    ),
    "positive usage settles siblings in flight and expired, not reserved ones": (
        "retry",
        group(
            reserve(1, 30, group="g"),
            transmit(1),
            *LAPSE,
            reserve(2, 30, group="g"),
            transmit(2),
            reserve(3, 30, group="g"),
            usage(2, 25),
            transmit(3),
            usage(3, 26),
        ),
    ),
    "a group at the ceiling admits a member that adds nothing": (
        "retry",
        group(reserve(1, 100, group="g"), reserve(2, 100, group="g"), unsent(1), unsent(2)),
    ),
    "a group at the ceiling does not admit one token more": (
        "retry",
        (*BEGUN, reserve(1, 100, group="g"), reserve(2, 101, group="g")),
    ),
    "a group's reconciled usage covers a later member": (
        "retry",
        group(
            reserve(1, 100, group="g"),
            transmit(1),
            usage(1, 90),
            reserve(2, 95, group="g"),
            reserve(3, 5),
            unsent(2),
        ),
    ),
    "two groups are two": (
        "retry",
        (
            *BEGUN,
            reserve(1, 50, group="g"),
            reserve(2, 50, group="h"),
            reserve(3, 50, group="g"),
            reserve(4, 51, group="h"),
        ),
    ),
    "an overshoot below the ceiling ends it": (
        "accounting",
        (*BEGUN, reserve(1, 30), transmit(1), usage(1, 31), usage(1, 31)),
    ),
    "an overshoot beyond the ceiling is told as it is": (
        "accounting",
        (*BEGUN, reserve(1, 30), transmit(1), usage(1, 500)),
    ),
    "three calls in flight when the deadline strikes": (
        "accounting",
        (
            *BEGUN,
            *(reserve(n, 10, lease_milliseconds=LONG_LEASE) for n in (1, 2, 3)),
            *(transmit(n) for n in (1, 2)),
            Tick(MIDNIGHT + settings.DEADLINE),
            Sweep(),
            usage(1, 5),
            transmit(3),
            unsent(3),
            usage(2, None),
            usage(2, 7),
            usage(2, 8),
        ),
    ),
    "late usage reconciles a failed journey to settled": (
        "accounting",
        (*BEGUN, reserve(1, 30), transmit(1), ambiguous(1), usage(1, 4)),
    ),
    "a 429 without usage permits a retry, and stays charged": (
        "retry",
        group(
            reserve(1, 30),
            transmit(1),
            usage(1, None),
            reserve(2, 30, invocation_id="call-1"),
            transmit(2),
            usage(2, 10),
        ),
    ),
    "a charged predecessor frees no capacity for its retry": (
        "retry",
        (
            *BEGUN,
            reserve(1, 60),
            transmit(1),
            usage(1, None),
            reserve(2, 41, invocation_id="call-1"),
        ),
    ),
    "an explicit zero frees the whole reservation": (
        "retry",
        group(
            reserve(1, 100),
            transmit(1),
            usage(1, 0),
            reserve(2, 100, invocation_id="call-1"),
            unsent(2),
        ),
    ),
    "renewed in time, a slow call ends nothing": (
        "lease",
        group(
            reserve(1, 30),
            transmit(1),
            Tick(MIDNIGHT + RESERVATION_LEASE - 1),
            owned(
                "renew_reservation",
                fencing_token="$F1",
                transmission_id="send-1",
                lease_milliseconds=RESERVATION_LEASE,
            ),
            *LAPSE,
            usage(1, 30),
        ),
    ),
    "transmitting alone does not renew": (
        "lease",
        (
            *BEGUN,
            reserve(1, 30),
            Tick(MIDNIGHT + RESERVATION_LEASE - 1),
            transmit(1),
            *LAPSE,
        ),
    ),
    "malformed of every kind, then the truth": (
        "accounting",
        group(
            reserve(1, 30),
            transmit(1),
            *(usage(1, value) for value in MALFORMED_USAGE),
            usage(1, 7),
            usage(1, None),
        ),
    ),
    "evidence about what was never sent": (
        "accounting",
        group(
            reserve(1, 30),
            usage(1, 5),
            usage(1, 6),
            usage(1, None),
            ambiguous(1),
            unsent(1),
            usage(1, 5),
            ambiguous(1),
            unsent(1),
        ),
    ),
    "everything arrives once more after settlement": (
        "accounting",
        (
            *group(reserve(1, 30), transmit(1), usage(1, 12)),
            *(usage(1, 12), usage(1, 13), usage(1, None), ambiguous(1), unsent(1)),
        ),
    ),
}
"""Title -> family and story."""


def histories() -> Iterator[Draft]:
    """The histories above, to the end of their accounting."""
    for title, (family, script) in (HISTORIES | OWNERS).items():
        yield Draft(
            family=family,
            topic="histories",
            setting=settings.ORDINARY,
            script=drain(settings.ORDINARY, script),
            focus=1,
            title=title,
        )
    yield _shared_retries()
    yield from _read_again()
    yield from _huge()
    yield from _last_hour()


def _shared_retries() -> Draft:
    """In a setting of one retry."""
    script: Script = (
        *BEGUN,
        reserve(1, 10),
        unsent(1),
        reserve(2, 10),
        reserve(3, 10, invocation_id="call-1"),
        unsent(2),
        reserve(4, 10, invocation_id="call-2"),
    )
    return Draft(
        family="counter",
        topic="histories",
        setting=settings.LIMITED,
        script=drain(settings.LIMITED, script),
        focus=len(BEGUN),
        title="the retries of all calls share one counter",
    )


def _read_again() -> Iterator[Draft]:
    """What a read answered is old after two changes that leave its sums as they were. Nothing is
    read between them, so that what was kept of the first read could still be answered."""
    runs = owned("list_workflow_runs")
    two = (child(1, 1, "decomposition"), runs, child(2, 1, "decomposition"))
    snapshot = owned("snapshot")
    reservations = owned("list_reservations", after=0, limit=10)
    stories: dict[str, tuple[str, Script]] = {
        "as many runs are active, but others": (
            "run",
            (*two, finish(2, "completed"), runs),
        ),
        "as much is reserved, but by another": (
            "reservation",
            (reserve(1, 30), reservations, reserve(2, 30), unsent(1), reservations),
        ),
        "the totals are the same, the version is not": (
            "reservation",
            (reserve(1, 30), snapshot, reserve(2, 30), unsent(2), snapshot),
        ),
    }
    for title, (family, script) in stories.items():
        yield Draft(
            family=family,
            topic="read-again",
            setting=settings.ORDINARY,
            script=(*BEGUN, *script),
            focus=len(BEGUN) + len(script) - 1,
            title=title,
        )


def _huge() -> Iterator[Draft]:
    most = 2**53 - 1
    stories: dict[str, Script] = {
        "the greatest amounts fit exactly": (
            *BEGUN,
            reserve(1, most),
            transmit(1),
            usage(1, most),
        ),
        "usage that would take a total past the greatest integer is malformed": (
            *BEGUN,
            reserve(1, most - 30),
            transmit(1),
            usage(1, most - 30),
            reserve(2, 30),
            transmit(2),
            usage(2, most),
            usage(2, 30),
        ),
        "usage of a group that would take the observed sum past the greatest integer": (
            *BEGUN,
            reserve(1, most, group="g"),
            transmit(1),
            usage(1, most),
            reserve(2, 30, group="g"),
            transmit(2),
            usage(2, 30),
        ),
        "an estimate that would take their sum past the greatest integer": (
            *BEGUN,
            reserve(1, 1, estimated_prompt_tokens=most - 2),
            unsent(1),
            reserve(2, 1, estimated_prompt_tokens=most - 2),
            unsent(2),
            reserve(3, 1, estimated_prompt_tokens=most - 1),
        ),
        "the last token of the greatest ceiling": (
            *BEGUN,
            reserve(1, most - 1),
            reserve(2, 1),
            reserve(3, 1),
        ),
    }
    for title, script in stories.items():
        yield Draft(
            family="reservation",
            topic="greatest-amounts",
            setting=settings.HUGE,
            script=drain(settings.HUGE, script),
            focus=len(BEGUN),
            title=title,
        )


def _last_hour() -> Iterator[Draft]:
    """What would fall due after the end of the calendar falls due at its end."""
    stories: dict[str, Script] = {
        "a failure": (
            *BEGUN,
            reserve(1, 30, lease_milliseconds=2 * LONG_LEASE),
            transmit(1),
            owned("fail_journey", fencing_token="$F1", reason_code="workflow_failed"),
        ),
        "a cancellation": (*BEGUN, reserve(1, 30), transmit(1), owned("cancel")),
    }
    for title, script in stories.items():
        yield Draft(
            family="accounting",
            topic="end-of-the-calendar",
            setting=settings.LAST_HOUR,
            script=(*script, Sweep(), Tick(settings.LAST_HOUR.now + LONG_LEASE - 1), Sweep()),
            focus=len(BEGUN),
            title=f"{title} in the last hour of the year 9999",
        )
