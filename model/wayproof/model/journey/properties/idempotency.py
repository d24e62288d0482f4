"""Contracts of idempotency: what is known is answered from the record, or is a conflict."""

from dataclasses import fields
from typing import Any

from wayproof.model.journey.properties.contract import (
    JourneyStep,
    WorldStep,
    journey_contract,
    world_contract,
)
from wayproof.model.journey.properties.due import exhausted_counter
from wayproof.model.journey.properties.forms import START
from wayproof.model.journey.properties.situation import (
    LIVE,
    OF_OPERATION_ID,
    nothing_changed,
    workflow_run,
)
from wayproof.model.journey.properties.starting import (
    closed_view,
    created,
    digest_of,
    is_due_to_start,
    is_well_formed_start,
    known_journey,
    repeats,
)
from wayproof.model.journey.state import Operation
from wayproof.model.journey.world import Journey
from wayproof.spec.journey.refusals import Refusal, RefusalCode
from wayproof.spec.journey.requests import (
    BeginJourneyRequest,
    FinishWorkflowRunRequest,
    JourneyStartRequest,
    Request,
)
from wayproof.spec.journey.vocabulary import LifecycleState


def _replayed(step: WorldStep) -> Journey | None:
    """The journey of a start that was made before."""
    journey = known_journey(step) if is_well_formed_start(step) else None
    return journey if journey is not None and repeats(step, journey) else None


def _answers(step: WorldStep, journey: Journey) -> bool:
    """Whether a start answered the handle of a journey that was there, and changed nothing."""
    answer = step.answer
    return (
        answer is not None
        and (answer.journey_id, answer.definition_digest)
        == (journey.terms.journey_id, journey.terms.definition_digest)
        and step.after == step.before
    )


@world_contract("idempotency-01")
def repeated_start_answers_its_journey(step: WorldStep) -> bool | None:
    """Equal scope, key and hash answer the existing journey, and create nothing."""
    journey = _replayed(step)
    return None if journey is None else _answers(step, journey)


@world_contract("idempotency-02")
def repeated_start_answers_in_every_state(step: WorldStep) -> bool | None:
    """Also when the journey has moved on, or its deadline has passed."""
    journey = _replayed(step)
    if journey is None or (
        journey.state.lifecycle is LifecycleState.PENDING and step.now < journey.terms.deadline
    ):
        return None
    return _answers(step, journey)


def _conflicting(step: WorldStep) -> tuple[Journey, JourneyStartRequest, str | None] | None:
    """The journey of a start that reuses its key for something else, the request, and the digest
    of what it names now."""
    journey = known_journey(step) if is_well_formed_start(step) else None
    request = step.request
    if journey is None or not isinstance(request, JourneyStartRequest) or repeats(step, journey):
        return None
    view = closed_view(step.before.registry, request.workflow_sequence_id)
    return journey, request, None if view is None else digest_of(view)


def _conflicts(step: WorldStep, journey: Journey) -> bool:
    return (
        step.code is RefusalCode.IDEMPOTENCY_CONFLICT
        and isinstance(step.reply, Refusal)
        and dict(step.reply.detail) == {"journey_id": journey.terms.journey_id}
        and step.after == step.before
    )


@world_contract("idempotency-04")
def key_reused_for_other_work_conflicts(step: WorldStep) -> bool | None:
    """Another sequence, entry, choice, message or semantic-compiler reference is a conflict."""
    conflict = _conflicting(step)
    if conflict is None:
        return None
    journey, request, digest = conflict
    same_sequence = request.workflow_sequence_id == journey.terms.definition.sequence.id
    if same_sequence and (request.policy, digest) != (
        journey.terms.policy,
        journey.terms.definition_digest,
    ):
        return None
    return _conflicts(step, journey)


@world_contract("idempotency-05")
def key_reused_with_other_policy_conflicts(step: WorldStep) -> bool | None:
    """Any other field of the policy is a conflict."""
    conflict = _conflicting(step)
    if conflict is None:
        return None
    journey, request, digest = conflict
    if request.policy == journey.terms.policy or digest != journey.terms.definition_digest:
        return None
    return _conflicts(step, journey)


@world_contract("idempotency-06")
def key_reused_after_an_edit_conflicts(step: WorldStep) -> bool | None:
    """The same sequence with another content is a conflict that names the journey."""
    conflict = _conflicting(step)
    if conflict is None:
        return None
    journey, request, digest = conflict
    if (
        request.workflow_sequence_id != journey.terms.definition.sequence.id
        or digest == journey.terms.definition_digest
    ):
        return None
    return _conflicts(step, journey)


@world_contract("idempotency-07")
def key_of_another_scope_is_free(step: WorldStep) -> bool | None:
    """The same key in another creation scope starts a journey of its own."""
    if is_due_to_start(step) is None:
        return None
    key = step.arguments["idempotency_key"]
    if all(journey.terms.idempotency_key != key for journey in step.before.journeys):
        return None
    return created(step) is not None


@world_contract("idempotency-08")
def spelling_does_not_matter(step: WorldStep) -> bool | None:
    """A repeated start that spells out nulls, or orders its members otherwise, is the same."""
    if step.operation != "start" or not _spelled_otherwise(step.arguments):
        return None
    journey = _replayed(step)
    return None if journey is None else _answers(step, journey)


def _spelled_otherwise(arguments: Any) -> bool:
    """Whether a start states a null, or does not begin with its schema version."""
    if not isinstance(arguments, dict) or next(START(arguments, ""), None) is not None:
        return False
    parts = (arguments, arguments["access"], arguments["policy"])
    return any(None in part.values() or next(iter(part)) != "schema_version" for part in parts)


def _known_operation(step: JourneyStep) -> tuple[Operation, Request] | None:
    """What is recorded under the operation id of a request, and the request."""
    request = step.request
    if isinstance(request, OF_OPERATION_ID):
        for known in step.before.operations:
            if known.operation_id == request.operation_id:
                return known, request
    return None


def _asks_the_same(known: Operation, request: Request) -> bool:
    """Whether operation and inputs are equal, whoever asks and with whatever token."""
    return type(known.request) is type(request) and all(
        getattr(known.request, member.name) == getattr(request, member.name)
        for member in fields(request)
        if member.name not in ("access", "fencing_token")
    )


@journey_contract("idempotency-09")
def known_operation_is_answered_first(step: JourneyStep) -> bool | None:
    """A known operation id is answered from the record, though the journey has ended, is
    stopping, is overdue or has no claim left."""
    known = _known_operation(step)
    if known is None or not _asks_the_same(*known):
        return None
    if (
        step.before.lifecycle in LIVE
        and step.now < step.terms.deadline
        and exhausted_counter(step) is None
    ):
        return None
    return step.code is None and step.answer == known[0].reply and nothing_changed(step)


@journey_contract("idempotency-09")
def known_beginning_and_end_are_answered_first(step: JourneyStep) -> bool | None:
    """So is a beginning that was made, and a run's end that was reported: their identities are
    the journey's entry stage and the run."""
    request, before = step.request, step.before
    if before.lifecycle in LIVE and step.now < step.terms.deadline:
        return None
    if isinstance(request, BeginJourneyRequest) and before.started_at is not None:
        entry = tuple(r.workflow_run_id for r in before.runs if r.purpose == "entry")
        return getattr(step.answer, "workflow_run_ids", None) == entry and nothing_changed(step)
    if isinstance(request, FinishWorkflowRunRequest):
        run = workflow_run(before, request.workflow_run_id)
        if run is not None and run.state in ("stopped", request.outcome):
            return getattr(step.answer, "state", None) is run.state and nothing_changed(step)
    return None


@journey_contract("idempotency-10")
def operation_reused_conflicts(step: JourneyStep) -> bool | None:
    """A known operation id with other content is a conflict, and changes nothing."""
    known = _known_operation(step)
    if known is None or _asks_the_same(*known):
        return None
    return step.code is RefusalCode.OPERATION_CONFLICT and nothing_changed(step)
