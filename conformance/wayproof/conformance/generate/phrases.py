"""The phrases that histories are told in: one request each, on the first journey by default."""

from typing import Any, Final

from wayproof.conformance.generate.menus import Scope, start
from wayproof.conformance.generate.scripts import Action, Call, Script, Sweep, Tick, owned
from wayproof.conformance.generate.settings import LONG_LEASE, MIDNIGHT, RESERVATION_LEASE


def lease(
    journey: str = "$J",
    access: str = "$owner",
    operation: str = "lease-1",
    lasts: int = LONG_LEASE,
) -> Call:
    """Claim the owner lease for ``lasts`` milliseconds."""
    return owned(
        "claim_lease",
        journey=journey,
        access=access,
        operation_id=operation,
        worker_id="worker-1",
        lease_milliseconds=lasts,
    )


def beat(lasts: int, token: str = "$F1") -> Call:
    """Extend it by heartbeat."""
    return owned("heartbeat", fencing_token=token, lease_milliseconds=lasts)


def begin(token: str = "$F1") -> Call:
    """Begin the journey."""
    return owned("begin_journey", fencing_token=token)


def finish(run: int, outcome: str, token: str = "$F1") -> Call:
    """Report the end of the run of that number."""
    return owned(
        "finish_workflow_run",
        fencing_token=token,
        workflow_run_id=f"$R{run}",
        outcome=outcome,
    )


def attempt(number: int, token: str = "$F1") -> Call:
    """Claim a task attempt of the first run."""
    return owned(
        "claim_attempt",
        fencing_token=token,
        operation_id=f"attempt-{number}",
        workflow_run_id="$R1",
        counters=["task_attempt_starts"],
    )


def child(number: int, parent: int, purpose: str, token: str = "$F1") -> Call:
    """Start a child of the run of number ``parent``."""
    return owned(
        "start_workflow_run",
        fencing_token=token,
        operation_id=f"child-{number}",
        parent_workflow_run_id=f"$R{parent}",
        workflow_id="Aside",
        purpose=purpose,
    )


def complete(token: str = "$F1") -> Call:
    """Complete the journey."""
    return owned("complete_journey", fencing_token=token)


def reserve(number: int, amount: int, *, group: str = "", **more: Any) -> Call:
    """Reserve transmission ``send-N`` of that amount; in a group, of one invocation."""
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


def transmit(number: int) -> Call:
    """Make transmission ``send-N`` durable."""
    return owned("transmit", fencing_token="$F1", transmission_id=f"send-{number}")


def usage(number: int, usage: Any) -> Call:
    """Report a response with that usage."""
    return owned("report_response", transmission_id=f"send-{number}", usage=usage)


def unsent(number: int) -> Call:
    """Prove that ``send-N`` never left."""
    return owned("report_unsent", fencing_token="$F1", transmission_id=f"send-{number}")


def ambiguous(number: int, cause: str = "client_timeout") -> Call:
    """Report that nobody can know."""
    return owned("report_ambiguity", transmission_id=f"send-{number}", cause=cause)


BEGUN: Final[Script] = (
    start(Scope()),
    lease(),
    owned("begin_journey", fencing_token="$F1"),
)
FINISHED: Final[Script] = (
    owned("finish_workflow_run", fencing_token="$F1", workflow_run_id="$R1", outcome="completed"),
    owned("complete_journey", fencing_token="$F1"),
)
LAPSE: Final[Script] = (Tick(MIDNIGHT + RESERVATION_LEASE), Sweep())


def group(*middle: Action) -> Script:
    """A begun journey, these actions, and its completion."""
    return (*BEGUN, *middle, *FINISHED)


def deliver(run: int, token: str = "$F1") -> Call:
    """Acknowledge the intent of the run of that number."""
    return owned("acknowledge_dispatch", fencing_token=token, workflow_run_id=f"$R{run}")


def take_over(run: int, token: str = "$F1") -> Call:
    """Take over the run of that number."""
    return owned("claim_dispatched_run", fencing_token=token, workflow_run_id=f"$R{run}")


def pause(number: int, run: int, token: str = "$F1") -> Call:
    """Pause the run of number ``run`` until its input."""
    return owned(
        "request_input",
        fencing_token=token,
        operation_id=f"pause-{number}",
        workflow_run_id=f"$R{run}",
    )


def submit(request: int, run: int, option: str | None = None, **more: Any) -> Call:
    """Answer the input request of that number, of the run of number ``run``."""
    chosen = {} if option is None else {"option_id": option}
    return owned(
        "submit_input",
        workflow_run_id=f"$R{run}",
        input_request_id=f"$I{request}",
        **chosen,
        **more,
    )
