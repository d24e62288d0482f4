"""What only several journeys of one store can show: that they do not touch each other."""

from collections.abc import Iterator

from wayproof.conformance.generate import settings
from wayproof.conformance.generate.menus import Scope, start
from wayproof.conformance.generate.phrases import FINISHED, lease, reserve, transmit, usage
from wayproof.conformance.generate.scripts import Call, Draft, Script, Sweep, owned
from wayproof.conformance.generate.settings import LONG_LEASE
from wayproof.conformance.generate.stories import drain


def drafts() -> Iterator[Draft]:
    """Every story of neighbours."""
    yield _several_journeys()
    yield _foreign_parts()


def _several_journeys() -> Draft:
    script: Script = (
        start(Scope()),
        start(Scope(), idempotency_key="key-2"),
        start(Scope(), access="$stranger"),
        lease(),
        lease("$J2"),
        lease("$J3", "$stranger"),
        owned("begin_journey", fencing_token="$F1"),
        owned("begin_journey", journey="$J2", fencing_token="$F2"),
        reserve(1, 100),
        reserve(1, 100, journey="$J2", fencing_token="$F2", workflow_run_id="$R2"),
        owned("cancel", journey="$J2"),
        owned("cancel", journey="$J3", access="$stranger"),
        Sweep(),
        transmit(1),
        usage(1, 100),
        *FINISHED,
    )
    return _wide(script, "three journeys of two tenants do not touch each other")


def _foreign_parts() -> Draft:
    script: Script = (
        start(Scope()),
        start(Scope(), idempotency_key="key-2"),
        lease(),
        lease("$J2"),
        owned("begin_journey", fencing_token="$F1"),
        owned("begin_journey", journey="$J2", fencing_token="$F2"),
        reserve(1, 10),
        *_on_parts_of_another(),
        owned("snapshot", journey="$R1"),
        owned("snapshot", journey="key-1"),
        owned("snapshot", journey="solo"),
        owned("cancel", journey="$R2"),
    )
    return _wide(script, "another journey's runs and transmissions are unknown here")


def _on_parts_of_another() -> Iterator[Call]:
    """Every request of the second journey that can name a run or transmission of the first."""
    yield owned(
        "finish_workflow_run",
        journey="$J2",
        fencing_token="$F2",
        workflow_run_id="$R1",
        outcome="completed",
    )
    yield owned(
        "claim_attempt",
        journey="$J2",
        fencing_token="$F2",
        operation_id="attempt-1",
        workflow_run_id="$R1",
        counters=["task_attempt_starts"],
    )
    yield reserve(2, 10, journey="$J2", fencing_token="$F2", workflow_run_id="$R1")
    for number, purpose in enumerate(("decomposition", "refinement", "repair"), start=1):
        yield owned(
            "start_workflow_run",
            journey="$J2",
            fencing_token="$F2",
            operation_id=f"child-{number}",
            parent_workflow_run_id="$R1",
            workflow_id="Aside",
            purpose=purpose,
        )
    yield owned("transmit", journey="$J2", fencing_token="$F2", transmission_id="send-1")
    yield owned("report_unsent", journey="$J2", fencing_token="$F2", transmission_id="send-1")
    yield owned(
        "renew_reservation",
        journey="$J2",
        fencing_token="$F2",
        transmission_id="send-1",
        lease_milliseconds=LONG_LEASE,
    )
    yield owned("report_response", journey="$J2", transmission_id="send-1", usage=3)
    yield owned("report_ambiguity", journey="$J2", transmission_id="send-1", cause="client_timeout")


def _wide(script: Script, title: str) -> Draft:
    return Draft(
        family="access",
        topic="several-journeys",
        setting=settings.ORDINARY,
        script=drain(settings.ORDINARY, script),
        focus=0,
        title=title,
    )
