"""One example journey, and every request of it written short.

For explorations and tests. Moments are milliseconds, counted from the journey's start.
"""

from typing import Any, Final, Literal, TypeVar

from wayproof.model.journey.state import Terms
from wayproof.model.journey.world import limits
from wayproof.spec.journey import requests
from wayproof.spec.journey.constraints import from_milliseconds, to_milliseconds
from wayproof.spec.journey.definitions import (
    EntrypointDeclaration,
    OptionDeclaration,
    Registry,
    ResolvedDefinition,
    SequenceDeclaration,
    StepDeclaration,
    TransitionDeclaration,
    WorkflowDeclaration,
    resolve_definition,
)
from wayproof.spec.journey.digests import creation_scope, definition_digest
from wayproof.spec.journey.records import (
    ExecutionAccess,
    JourneyExecutionPolicy,
    PartialArtifactPolicy,
)
from wayproof.spec.journey.vocabulary import (
    AmbiguityCause,
    AttemptCounter,
    CancellationReason,
    FailureReason,
    Idempotency,
    TransitionType,
)

SECOND: Final = 1000
DAY: Final = 86_400_000

ACCESS: Final = ExecutionAccess(
    schema_version="wayproof.journey.execution_access.v1", tenant_id="tenant", owner_id="owner"
)
JOURNEY_ID: Final = "journey-1"


TRANSITIONS: Final = (
    TransitionDeclaration(
        id="size",
        options=(
            OptionDeclaration(id="small", route_to="Checker"),
            OptionDeclaration(id="large"),
            OptionDeclaration(id="other", sequence="another"),
        ),
    ),
    TransitionDeclaration(id="gate", transition_type=TransitionType.WORKFLOW_COMPLETE),
    TransitionDeclaration(
        id="review", transition_type=TransitionType.CHAT_SESSION, route_to="Reviewer"
    ),
)
"""The transitions that a stage of an example may be, by id."""


def definition(*stages: tuple[str, ...]) -> ResolvedDefinition:
    """A sequence of these stages, each its parallel members, or one transition's id."""
    transitions = {transition.id for transition in TRANSITIONS}
    steps = tuple(
        StepDeclaration(transition=stage[0])
        if stage[0] in transitions
        else StepDeclaration(workflows=stage)
        for stage in stages
    )
    resolved = resolve_definition(
        Registry(
            workflows=tuple(
                WorkflowDeclaration(id=name)
                for name in sorted({w for step in steps for w in step.workflows} | {"Reviewer"})
            ),
            entrypoints=(EntrypointDeclaration(id="entry", sequence="sequence"),),
            transitions=TRANSITIONS,
            workflow_sequences=(SequenceDeclaration(id="sequence", steps=steps),),
        ),
        "sequence",
    )
    assert resolved is not None
    return resolved


def terms(
    *members: str,
    deadline: int,
    tokens: int = 10,
    cancellation_grace: int = SECOND,
    settlement_grace: int = 2 * SECOND,
    stages: tuple[tuple[str, ...], ...] = (),
    choices: tuple[tuple[str, str], ...] = (),
    **counter_limits: int,
) -> Terms:
    """A journey of one stage with these members, or of several ``stages``; moments and graces in
    milliseconds, graces in whole seconds."""
    policy = JourneyExecutionPolicy(
        schema_version="mozaiks.journey_execution_policy.v1",
        deadline_utc=from_milliseconds(deadline),
        max_total_tokens=tokens,
        cancellation_mode="cooperative",
        cancellation_grace_seconds=cancellation_grace // SECOND,
        accounting_settlement_grace_seconds=settlement_grace // SECOND,
        partial_artifact_policy=PartialArtifactPolicy(on_non_success="delete"),
        **counter_limits,
    )
    pinned = definition(*(stages or (members or ("Builder",),)))
    return Terms(
        journey_id=JOURNEY_ID,
        creation_scope=creation_scope(ACCESS),
        idempotency_key="key",
        definition=pinned,
        definition_digest=definition_digest(pinned),
        entry_position=0,
        choices=choices,
        policy=policy,
        created_at=0,
        deadline=to_milliseconds(policy.deadline_utc),
        max_total_tokens=policy.max_total_tokens,
        limits=limits(policy),
        cancellation_grace=cancellation_grace,
        settlement_grace=settlement_grace,
    )


Asked = TypeVar("Asked", bound=requests.JourneyRequest)


def _asks(request: type[Asked], **fields: Any) -> Asked:
    return request(access=ACCESS, journey_id=JOURNEY_ID, **fields)


def claim(operation_id: str, lease: int = DAY) -> requests.ClaimLeaseRequest:
    """A worker claims the journey for ``lease`` milliseconds."""
    return _asks(
        requests.ClaimLeaseRequest,
        operation_id=operation_id,
        worker_id="worker",
        lease_milliseconds=lease,
    )


def heartbeat(token: int, lease: int) -> requests.HeartbeatRequest:
    """An owner extends its lease."""
    return _asks(requests.HeartbeatRequest, fencing_token=token, lease_milliseconds=lease)


def begin(token: int = 1) -> requests.BeginJourneyRequest:
    """The owner starts the entry stage."""
    return _asks(requests.BeginJourneyRequest, fencing_token=token)


def acknowledge(run: str, token: int = 1) -> requests.AcknowledgeDispatchRequest:
    """The owner's dispatcher acknowledges the intent of a run."""
    return _asks(requests.AcknowledgeDispatchRequest, fencing_token=token, workflow_run_id=run)


def take_over(run: str, token: int = 1) -> requests.ClaimDispatchedRunRequest:
    """A worker of the owner takes over a queued run."""
    return _asks(requests.ClaimDispatchedRunRequest, fencing_token=token, workflow_run_id=run)


def pause(operation_id: str, run: str = "run-1", token: int = 1) -> requests.RequestInputRequest:
    """The owner pauses a run until its input."""
    return _asks(
        requests.RequestInputRequest,
        fencing_token=token,
        operation_id=operation_id,
        workflow_run_id=run,
    )


def submit(run: str, option: str | None = None, number: int = 1) -> requests.SubmitInputRequest:
    """A caller answers the run's input request of that number."""
    return _asks(
        requests.SubmitInputRequest,
        workflow_run_id=run,
        input_request_id=f"input-{number}-of-{run}",
        option_id=option,
    )


def start_run(
    operation_id: str,
    purpose: Literal["decomposition", "repair", "refinement"],
    parent: str = "run-1",
    token: int = 1,
) -> requests.StartWorkflowRunRequest:
    """The owner starts a child run."""
    return _asks(
        requests.StartWorkflowRunRequest,
        fencing_token=token,
        operation_id=operation_id,
        parent_workflow_run_id=parent,
        workflow_id="Child",
        purpose=purpose,
    )


def finish(
    run: str = "run-1", outcome: Literal["completed", "failed"] = "completed", token: int = 1
) -> requests.FinishWorkflowRunRequest:
    """The owner reports that a run ended."""
    return _asks(
        requests.FinishWorkflowRunRequest,
        fencing_token=token,
        workflow_run_id=run,
        outcome=outcome,
    )


TASK: Final = AttemptCounter.TASK_ATTEMPT_STARTS
CORRECTION: Final = AttemptCounter.STRUCTURED_OUTPUT_CORRECTION_ATTEMPTS


def attempt(
    operation_id: str, *counters: AttemptCounter, run: str = "run-1", token: int = 1
) -> requests.ClaimAttemptRequest:
    """The owner claims attempt counters."""
    return _asks(
        requests.ClaimAttemptRequest,
        fencing_token=token,
        operation_id=operation_id,
        workflow_run_id=run,
        counters=counters or (TASK,),
    )


def complete(token: int = 1) -> requests.CompleteJourneyRequest:
    """The owner completes the journey."""
    return _asks(requests.CompleteJourneyRequest, fencing_token=token)


def fail(
    reason: FailureReason = FailureReason.WORKFLOW_FAILED, token: int = 1
) -> requests.FailJourneyRequest:
    """The owner fails the journey."""
    return _asks(requests.FailJourneyRequest, fencing_token=token, reason_code=reason)


def cancel(
    reason: CancellationReason = CancellationReason.CALLER_REQUESTED,
) -> requests.CancelRequest:
    """The caller asks for a stop."""
    return _asks(requests.CancelRequest, reason_code=reason)


def reserve(
    transmission_id: str,
    amount: int | None,
    *,
    of: str | None = None,
    lease: int = DAY,
    grouped: bool = False,
    run: str = "run-1",
    token: int = 1,
) -> requests.ReserveRequest:
    """An adapter reserves ``amount`` tokens, one of them output; ``of`` names the invocation
    where it is not the transmission's own."""
    return _asks(
        requests.ReserveRequest,
        fencing_token=token,
        workflow_run_id=run,
        invocation_id=of or transmission_id,
        transmission_id=transmission_id,
        idempotency=Idempotency.AUTHORITATIVE if grouped else Idempotency.NONE,
        estimated_prompt_tokens=None if amount is None else amount - 1,
        max_output_tokens=1,
        lease_milliseconds=lease,
    )


def transmit(transmission_id: str, token: int = 1) -> requests.TransmitRequest:
    """An adapter makes a transmission durable."""
    return _asks(requests.TransmitRequest, fencing_token=token, transmission_id=transmission_id)


def renew(transmission_id: str, lease: int, token: int = 1) -> requests.RenewReservationRequest:
    """An adapter renews a reservation's lease."""
    return _asks(
        requests.RenewReservationRequest,
        fencing_token=token,
        transmission_id=transmission_id,
        lease_milliseconds=lease,
    )


def unsent(transmission_id: str, token: int = 1) -> requests.ReportUnsentRequest:
    """An adapter proves that nothing left."""
    return _asks(requests.ReportUnsentRequest, fencing_token=token, transmission_id=transmission_id)


def response(transmission_id: str, usage: int | None) -> requests.ReportResponseRequest:
    """An adapter reports a response; None is malformed usage."""
    return _asks(requests.ReportResponseRequest, transmission_id=transmission_id, usage=usage)


def ambiguous(transmission_id: str) -> requests.ReportAmbiguityRequest:
    """An adapter reports that nobody can know."""
    return _asks(
        requests.ReportAmbiguityRequest,
        transmission_id=transmission_id,
        cause=AmbiguityCause.CLIENT_TIMEOUT,
    )


def read(request: type[Asked]) -> Asked:
    """A read."""
    return _asks(request)


BEGUN: Final[tuple[requests.Request, ...]] = (claim("worker-1"), begin())
"""A worker claims the journey for a day, and begins it."""
