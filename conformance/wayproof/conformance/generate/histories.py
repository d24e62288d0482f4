"""Histories worth telling at length, and what only several journeys can show."""

from collections.abc import Iterator
from typing import Any, Final

from wayproof.conformance.generate import settings
from wayproof.conformance.generate.menus import MALFORMED_USAGE, Scope, start
from wayproof.conformance.generate.scripts import (
    Action,
    Call,
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


def _lease(
    journey: str = "$J",
    access: str = "$owner",
    operation: str = "lease-1",
    lasts: int = LONG_LEASE,
) -> Call:
    return owned(
        "claim_lease",
        journey=journey,
        access=access,
        operation_id=operation,
        worker_id="worker-1",
        lease_milliseconds=lasts,
    )


def _beat(lasts: int, token: str = "$F1") -> Call:
    return owned("heartbeat", fencing_token=token, lease_milliseconds=lasts)


def _begin(token: str = "$F1") -> Call:
    return owned("begin_journey", fencing_token=token)


def _finish(run: int, outcome: str, token: str = "$F1") -> Call:
    return owned(
        "finish_workflow_run",
        fencing_token=token,
        workflow_run_id=f"$R{run}",
        outcome=outcome,
    )


def _child(number: int, parent: int, purpose: str) -> Call:
    return owned(
        "start_workflow_run",
        fencing_token="$F1",
        operation_id=f"child-{number}",
        parent_workflow_run_id=f"$R{parent}",
        workflow_id="Aside",
        purpose=purpose,
    )


def _complete(token: str = "$F1") -> Call:
    return owned("complete_journey", fencing_token=token)


def _reserve(number: int, amount: int, *, group: str = "", **more: Any) -> Call:
    return owned(
        "reserve",
        **{
            "fencing_token": "$F1",
            "workflow_run_id": "$R1",
            "invocation_id": group or f"call-{number}",
            "transmission_id": f"send-{number}",
            "idempotency": "authoritative" if group else "none",
            "estimated_prompt_tokens": 0,
            "max_output_tokens": amount,
            "lease_milliseconds": RESERVATION_LEASE,
            **more,
        },
    )


def _transmit(number: int) -> Call:
    return owned("transmit", fencing_token="$F1", transmission_id=f"send-{number}")


def _usage(number: int, usage: Any) -> Call:
    return owned("report_response", transmission_id=f"send-{number}", usage=usage)


def _unsent(number: int) -> Call:
    return owned("report_unsent", fencing_token="$F1", transmission_id=f"send-{number}")


def _ambiguous(number: int, cause: str = "client_timeout") -> Call:
    return owned("report_ambiguity", transmission_id=f"send-{number}", cause=cause)


BEGUN: Final[Script] = (
    start(Scope()),
    _lease(),
    owned("begin_journey", fencing_token="$F1"),
)
FINISHED: Final[Script] = (
    owned("finish_workflow_run", fencing_token="$F1", workflow_run_id="$R1", outcome="completed"),
    owned("complete_journey", fencing_token="$F1"),
)
LAPSE: Final[Script] = (Tick(MIDNIGHT + RESERVATION_LEASE), Sweep())


def _group(*middle: Action) -> Script:
    return (*BEGUN, *middle, *FINISHED)


OWNERS: Final[dict[str, tuple[str, Script]]] = {
    "a heartbeat keeps the token live past the first expiry": (
        "lease",
        (
            start(Scope()),
            _lease(lasts=1000),
            Tick(MIDNIGHT + 999),
            _beat(2000),
            Tick(MIDNIGHT + 2998),
            _begin(),
            Tick(MIDNIGHT + 2999),
            _finish(1, "completed"),
            _lease(operation="lease-2"),
        ),
    ),
    "a short heartbeat does not shorten a long lease": (
        "lease",
        (
            start(Scope()),
            _lease(lasts=5000),
            _beat(1),
            Tick(MIDNIGHT + 4999),
            _begin(),
            _lease(operation="lease-2"),
        ),
    ),
    "a heartbeat at the expiry comes too late": (
        "lease",
        (
            start(Scope()),
            _lease(lasts=1000),
            Tick(MIDNIGHT + 1000),
            _beat(5000),
            _lease(operation="lease-2"),
            _beat(5000),
            _beat(5000, "$F2"),
            _begin(),
            _begin("$F2"),
        ),
    ),
    "a finished journey's work is taken over and completed": (
        "lease",
        (
            start(Scope()),
            _lease(lasts=1000),
            _begin(),
            _finish(1, "completed"),
            Tick(MIDNIGHT + 1000),
            _complete(),
            _lease(operation="lease-2", lasts=1000),
            _complete(),
            _lease(operation="lease-1", lasts=1000),
            Tick(MIDNIGHT + 2000),
            _lease(operation="lease-3"),
            _complete("$F2"),
            _complete("$F3"),
        ),
    ),
    "a run is repaired once, and its repair answers for it": (
        "run",
        (
            *BEGUN,
            _finish(1, "failed"),
            _complete(),
            _child(1, 1, "repair"),
            _child(2, 1, "repair"),
            _finish(2, "failed"),
            _complete(),
            _child(3, 1, "repair"),
            _child(4, 2, "repair"),
            _complete(),
            _finish(3, "completed"),
            _complete(),
        ),
    ),
    "every child counts as a start, and no purpose fits every parent": (
        "run",
        (
            *BEGUN,
            _child(1, 1, "repair"),
            _child(1, 1, "decomposition"),
            _child(2, 2, "refinement"),
            _finish(1, "completed"),
            _child(3, 1, "decomposition"),
            _child(3, 1, "repair"),
            _child(3, 1, "refinement"),
            _finish(2, "failed"),
            _child(5, 2, "decomposition"),
            _child(5, 2, "refinement"),
            owned("list_workflow_runs"),
        ),
    ),
    "a finished run starts nothing more, whatever its calls stand at": (
        "run",
        (
            *BEGUN,
            _child(1, 1, "decomposition"),
            _reserve(1, 10, workflow_run_id="$R2", lease_milliseconds=LONG_LEASE),
            _finish(2, "completed"),
            _reserve(2, 10, workflow_run_id="$R2", invocation_id="call-1"),
            _reserve(3, 500, workflow_run_id="$R2", invocation_id="call-1"),
            _reserve(4, 500, workflow_run_id="$R2"),
            _transmit(1),
            _unsent(1),
        ),
    ),
    "a call in flight outlives its run, and makes a takeover ambiguous": (
        "lease",
        (
            start(Scope()),
            _lease(lasts=1000),
            _begin(),
            _reserve(1, 10, lease_milliseconds=LONG_LEASE),
            _transmit(1),
            _finish(1, "completed"),
            Tick(MIDNIGHT + 1000),
            _lease(operation="lease-2"),
            _usage(1, 5),
        ),
    ),
    "a call that was charged does not stand in the way of a takeover": (
        "lease",
        (
            start(Scope()),
            _lease(lasts=1000),
            _begin(),
            _reserve(1, 10, lease_milliseconds=LONG_LEASE),
            _transmit(1),
            _usage(1, None),
            _finish(1, "completed"),
            Tick(MIDNIGHT + 1000),
            _lease(operation="lease-2"),
            _complete("$F2"),
            _usage(1, 5),
        ),
    ),
    "the third transmission of a call looks at the second, not at the first": (
        "retry",
        (
            *BEGUN,
            _reserve(1, 10),
            _unsent(1),
            _reserve(2, 10, invocation_id="call-1"),
            _reserve(3, 10, invocation_id="call-1"),
            _transmit(2),
            _reserve(3, 10, invocation_id="call-1"),
            _usage(2, 3),
            _reserve(3, 10, invocation_id="call-1"),
        ),
    ),
    "a renewed reservation is replayed as it was asked for": (
        "reservation",
        (
            *BEGUN,
            _reserve(1, 10),
            owned(
                "renew_reservation",
                fencing_token="$F1",
                transmission_id="send-1",
                lease_milliseconds=2 * RESERVATION_LEASE,
            ),
            _reserve(1, 10),
            _reserve(1, 10, lease_milliseconds=2 * RESERVATION_LEASE),
        ),
    ),
}
"""Title -> family and story: of owners, of runs and of their calls."""


HISTORIES: Final[dict[str, tuple[str, Script]]] = {
    "one call, paid and completed": (
        "reservation",
        _group(_reserve(1, 30), _transmit(1), _usage(1, 12)),
    ),
    "what is left over can be reserved again, to the last token": (
        "reservation",
        _group(_reserve(1, 60), _transmit(1), _usage(1, 10), _reserve(2, 90)),
    ),
    "one token more than is left over ends it": (
        "reservation",
        (*BEGUN, _reserve(1, 60), _transmit(1), _usage(1, 10), _reserve(2, 91)),
    ),
    "a group of three, charged once at its greatest": (
        "retry",
        _group(
            *(_reserve(1, 20, group="g"), _reserve(2, 50, group="g"), _reserve(3, 40, group="g")),
            *(_transmit(1), _transmit(2), _transmit(3)),
            *LAPSE,
            _usage(3, 15),
        ),
    ),
    "a group's greatest member released, the next greatest counts": (
        "retry",
        _group(
            _reserve(1, 20, group="g"),
            _reserve(2, 90, group="g"),
            _unsent(2),
            _reserve(3, 80),
            _reserve(4, 21, group="g", lease_milliseconds=1),
        ),
    ),
    "a zero of one member leaves its siblings as they are": (
        "retry",
        _group(
            _reserve(1, 30, group="g"),
            _transmit(1),
            _reserve(2, 40, group="g"),
            _transmit(2),
            _usage(1, 0),
            _usage(2, 35),
        ),
    ),
    "an unsent member leaves its siblings as they are": (
        "retry",
        _group(
            _reserve(1, 30, group="g"),
            _transmit(1),
            _reserve(2, 40, group="g"),
            _transmit(2),
            _unsent(2),
            *LAPSE,
            _usage(1, 30),
        ),
    ),
    "positive usage settles siblings in flight and expired, not reserved ones": (
        "retry",
        _group(
            _reserve(1, 30, group="g"),
            _transmit(1),
            *LAPSE,
            _reserve(2, 30, group="g"),
            _transmit(2),
            _reserve(3, 30, group="g"),
            _usage(2, 25),
            _transmit(3),
            _usage(3, 26),
        ),
    ),
    "a group at the ceiling admits a member that adds nothing": (
        "retry",
        _group(_reserve(1, 100, group="g"), _reserve(2, 100, group="g"), _unsent(1), _unsent(2)),
    ),
    "a group at the ceiling does not admit one token more": (
        "retry",
        (*BEGUN, _reserve(1, 100, group="g"), _reserve(2, 101, group="g")),
    ),
    "a group's reconciled usage covers a later member": (
        "retry",
        _group(
            _reserve(1, 100, group="g"),
            _transmit(1),
            _usage(1, 90),
            _reserve(2, 95, group="g"),
            _reserve(3, 5),
            _unsent(2),
        ),
    ),
    "two groups are two": (
        "retry",
        (
            *BEGUN,
            _reserve(1, 50, group="g"),
            _reserve(2, 50, group="h"),
            _reserve(3, 50, group="g"),
            _reserve(4, 51, group="h"),
        ),
    ),
    "an overshoot below the ceiling ends it": (
        "accounting",
        (*BEGUN, _reserve(1, 30), _transmit(1), _usage(1, 31), _usage(1, 31)),
    ),
    "an overshoot beyond the ceiling is told as it is": (
        "accounting",
        (*BEGUN, _reserve(1, 30), _transmit(1), _usage(1, 500)),
    ),
    "three calls in flight when the deadline strikes": (
        "accounting",
        (
            *BEGUN,
            *(_reserve(n, 10, lease_milliseconds=LONG_LEASE) for n in (1, 2, 3)),
            *(_transmit(n) for n in (1, 2)),
            Tick(MIDNIGHT + settings.DEADLINE),
            Sweep(),
            _usage(1, 5),
            _transmit(3),
            _unsent(3),
            _usage(2, None),
            _usage(2, 7),
            _usage(2, 8),
        ),
    ),
    "late usage reconciles a failed journey to settled": (
        "accounting",
        (*BEGUN, _reserve(1, 30), _transmit(1), _ambiguous(1), _usage(1, 4)),
    ),
    "a 429 without usage permits a retry, and stays charged": (
        "retry",
        _group(
            _reserve(1, 30),
            _transmit(1),
            _usage(1, None),
            _reserve(2, 30, invocation_id="call-1"),
            _transmit(2),
            _usage(2, 10),
        ),
    ),
    "a charged predecessor frees no capacity for its retry": (
        "retry",
        (
            *BEGUN,
            _reserve(1, 60),
            _transmit(1),
            _usage(1, None),
            _reserve(2, 41, invocation_id="call-1"),
        ),
    ),
    "an explicit zero frees the whole reservation": (
        "retry",
        _group(
            _reserve(1, 100),
            _transmit(1),
            _usage(1, 0),
            _reserve(2, 100, invocation_id="call-1"),
            _unsent(2),
        ),
    ),
    "renewed in time, a slow call ends nothing": (
        "lease",
        _group(
            _reserve(1, 30),
            _transmit(1),
            Tick(MIDNIGHT + RESERVATION_LEASE - 1),
            owned(
                "renew_reservation",
                fencing_token="$F1",
                transmission_id="send-1",
                lease_milliseconds=RESERVATION_LEASE,
            ),
            *LAPSE,
            _usage(1, 30),
        ),
    ),
    "transmitting alone does not renew": (
        "lease",
        (
            *BEGUN,
            _reserve(1, 30),
            Tick(MIDNIGHT + RESERVATION_LEASE - 1),
            _transmit(1),
            *LAPSE,
        ),
    ),
    "malformed of every kind, then the truth": (
        "accounting",
        _group(
            _reserve(1, 30),
            _transmit(1),
            *(_usage(1, usage) for usage in MALFORMED_USAGE),
            _usage(1, 7),
            _usage(1, None),
        ),
    ),
    "evidence about what was never sent": (
        "accounting",
        _group(
            _reserve(1, 30),
            _usage(1, 5),
            _usage(1, 6),
            _usage(1, None),
            _ambiguous(1),
            _unsent(1),
            _usage(1, 5),
            _ambiguous(1),
            _unsent(1),
        ),
    ),
    "everything arrives once more after settlement": (
        "accounting",
        (
            *_group(_reserve(1, 30), _transmit(1), _usage(1, 12)),
            *(_usage(1, 12), _usage(1, 13), _usage(1, None), _ambiguous(1), _unsent(1)),
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
    yield _several_journeys()
    yield _foreign_parts()
    yield from _huge()


def _several_journeys() -> Draft:
    script: Script = (
        start(Scope()),
        start(Scope(), idempotency_key="key-2"),
        start(Scope(), access="$stranger"),
        _lease(),
        _lease("$J2"),
        _lease("$J3", "$stranger"),
        owned("begin_journey", fencing_token="$F1"),
        owned("begin_journey", journey="$J2", fencing_token="$F2"),
        _reserve(1, 100),
        _reserve(1, 100, journey="$J2", fencing_token="$F2", workflow_run_id="$R2"),
        owned("cancel", journey="$J2"),
        owned("cancel", journey="$J3", access="$stranger"),
        Sweep(),
        _transmit(1),
        _usage(1, 100),
        *FINISHED,
    )
    return _wide(script, "three journeys of two tenants do not touch each other")


def _foreign_parts() -> Draft:
    script: Script = (
        start(Scope()),
        start(Scope(), idempotency_key="key-2"),
        _lease(),
        _lease("$J2"),
        owned("begin_journey", fencing_token="$F1"),
        owned("begin_journey", journey="$J2", fencing_token="$F2"),
        _reserve(1, 10),
        owned(
            "finish_workflow_run",
            journey="$J2",
            fencing_token="$F2",
            workflow_run_id="$R1",
            outcome="completed",
        ),
        owned("transmit", journey="$J2", fencing_token="$F2", transmission_id="send-1"),
        owned("report_response", journey="$J2", transmission_id="send-1", usage=3),
        owned(
            "start_workflow_run",
            journey="$J2",
            fencing_token="$F2",
            operation_id="child-1",
            parent_workflow_run_id="$R1",
            workflow_id="Aside",
            purpose="decomposition",
        ),
        owned("snapshot", journey="$R1"),
        owned("snapshot", journey="key-1"),
        owned("snapshot", journey="solo"),
        owned("cancel", journey="$R2"),
    )
    return _wide(script, "another journey's runs and transmissions are unknown here")


def _wide(script: Script, title: str) -> Draft:
    return Draft(
        family="access",
        topic="several-journeys",
        setting=settings.ORDINARY,
        script=drain(settings.ORDINARY, script),
        focus=0,
        title=title,
    )


def _huge() -> Iterator[Draft]:
    most = 2**53 - 1
    stories: dict[str, Script] = {
        "the greatest amounts fit exactly": (
            *BEGUN,
            _reserve(1, most),
            _transmit(1),
            _usage(1, most),
        ),
        "usage that would take a total past the greatest integer is malformed": (
            *BEGUN,
            _reserve(1, most - 30),
            _transmit(1),
            _usage(1, most - 30),
            _reserve(2, 30),
            _transmit(2),
            _usage(2, most),
            _usage(2, 30),
        ),
        "the last token of the greatest ceiling": (
            *BEGUN,
            _reserve(1, most - 1),
            _reserve(2, 1),
            _reserve(3, 1),
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
