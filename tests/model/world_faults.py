"""For every contract on the steps of a world, the faults that it must find."""

from dataclasses import replace
from typing import Final

from tests.model.faults import (
    WorldFault,
    answered,
    created_anyway,
    created_twice,
    forgotten,
    let_through,
    renamed_runs,
    told,
    turned_away,
    undecoded,
    with_states,
    with_terms,
)

from wayproof.model.journey.properties.contract import WorldStep
from wayproof.model.journey.state import Run, State
from wayproof.spec.journey.definitions import Registry
from wayproof.spec.journey.refusals import RefusalCode
from wayproof.spec.journey.vocabulary import LifecycleState

_moved = with_states(lambda state: state._replace(lifecycle=LifecycleState.RUNNING))
_overdue = with_states(lambda state: state._replace(lifecycle=LifecycleState.TIMED_OUT))
_uncancelled = with_states(lambda state: state._replace(cancellation=None))
_back = with_states(lambda state: State())
_other_scope = with_terms(lambda terms: terms._replace(creation_scope=("t", "o", None, None)))
_other_deadline = with_terms(lambda terms: terms._replace(deadline=terms.deadline + 1))
_unlimited = with_terms(lambda terms: terms._replace(limits=(7,) * len(terms.limits)))
_repinned = with_terms(lambda terms: terms._replace(definition_digest="sha256:0"))
_renamed = with_terms(lambda terms: terms._replace(journey_id="journey-of-nobody"))


def _other_members(run: Run) -> Run:
    return run._replace(workflow_id="Other")


_other_runs = with_states(lambda state: state._replace(runs=tuple(map(_other_members, state.runs))))


def _published(reason: str) -> WorldFault:
    """The snapshot that answers a cancellation shows this as its reason."""

    def plant(step: WorldStep) -> WorldStep:
        reading = step.answer.cancellation
        if reading is None:
            return step
        return answered(cancellation=replace(reading, reason_code=reason))(step)

    return plant


def _recorded(reason: str) -> WorldFault:
    """The cancellation is recorded for another reason."""

    def change(state: State) -> State:
        cancellation = state.cancellation
        return (
            state
            if cancellation is None
            else state._replace(cancellation=cancellation._replace(reason=reason))
        )

    return with_states(change)


_malformed = (let_through, created_anyway)
_not_started = (turned_away(RefusalCode.INVALID_REQUEST), created_twice)
_found = (let_through, turned_away(RefusalCode.FENCED), _overdue)
_mispinned = (answered(definition_digest="sha256:0"), _repinned)
_reused = (told({}), turned_away(RefusalCode.INVALID_REQUEST), _moved)
_repeated = (answered(journey_id="journey-of-nobody"), created_anyway, _moved)
_incapable = (
    let_through,
    told({"missing": []}),
    told({"missing": ["bounded_only_v1"]}),
)


def _other_registry(step: WorldStep) -> WorldStep:
    return replace(step, after=replace(step.after, registry=Registry()))


WORLD_FAULTS: Final[dict[str, tuple[WorldFault, ...]]] = {
    # access
    "access_is_needed": (let_through, turned_away(RefusalCode.JOURNEY_NOT_FOUND)),
    "start_persists_its_scope": (_other_scope,),
    "creation_scope_stays": (_other_scope, turned_away(RefusalCode.JOURNEY_NOT_FOUND)),
    "tenant_and_owner_are_enough": _not_started,
    "another_owner_observes_nothing": (let_through, turned_away(RefusalCode.FENCED)),
    "another_owner_sees_no_settled_result": (let_through,),
    "another_owner_cancels_nothing": _found,
    "another_owner_does_no_work": _found,
    "another_workspace_is_foreign": _found,
    "foreign_and_unknown_are_refused_alike": (told({"journey_id": "j"}), let_through),
    "access_comes_before_the_store": (
        turned_away(RefusalCode.FENCED),
        turned_away(RefusalCode.JOURNEY_TERMINAL),
    ),
    "refused_access_changes_nothing": (_overdue,),
    # cancel, deadline, lifecycle
    "restart_keeps_cancellations": (_uncancelled, forgotten),
    "restart_keeps_deadlines": (_other_deadline, forgotten),
    "restart_keeps_every_change": (_back, forgotten),
    # capability
    "no_other_field_lowers_the_requirement": _incapable,
    "missing_capability_refuses_the_start": (let_through,),
    "refusal_lists_what_is_missing": _incapable,
    "every_policy_requires_seven": _incapable,
    "several_steps_require_dispatch": (
        let_through,
        told({"missing": []}),
        turned_away(RefusalCode.CAPABILITY_UNAVAILABLE),
    ),
    # compiler
    "well_formed_reference_is_accepted": _not_started,
    "malformed_reference_is_refused": _malformed,
    "unknown_role_is_refused": _malformed,
    # definition
    "start_pins_the_content": _mispinned,
    "snapshot_shows_the_pinned_version": (answered(definition_digest="sha256:0"),),
    "every_part_of_the_view_counts": _mispinned,
    "nothing_beside_the_view_counts": _mispinned,
    "order_of_declarations_does_not_count": _mispinned,
    "overlays_count": _mispinned,
    "presentation_does_not_count": (_other_registry,),
    "edits_leave_journeys_alone": (_repinned, forgotten),
    "journey_follows_what_it_pinned": (answered(definition_digest="sha256:0"), _other_runs),
    "semantic_references_do_not_count": _mispinned,
    # idempotency
    "repeated_start_answers_its_journey": _repeated,
    "repeated_start_answers_in_every_state": _repeated,
    "key_reused_for_other_work_conflicts": _reused,
    "key_reused_with_other_policy_conflicts": _reused,
    "key_reused_after_an_edit_conflicts": _reused,
    "key_of_another_scope_is_free": (turned_away(RefusalCode.IDEMPOTENCY_CONFLICT),),
    "spelling_does_not_matter": (turned_away(RefusalCode.IDEMPOTENCY_CONFLICT), *_repeated),
    # identity
    "proposed_id_is_refused": _malformed,
    "made_ids_are_unique": (renamed_runs, created_twice),
    "ids_survive_restart": (_renamed, renamed_runs, forgotten),
    "other_id_names_no_journey": (let_through, _moved),
    "other_name_of_an_identity_is_refused": (let_through,),
    # policy
    "other_policy_version_is_refused": _malformed,
    "unclear_deadline_is_refused": _malformed,
    "policy_is_valid_whatever_the_clock_says": (undecoded, *_not_started),
    "ceiling_is_positive": (let_through, undecoded),
    "maxima_of_starts_are_positive": (let_through, undecoded),
    "maxima_of_retries_may_be_zero": (let_through, undecoded),
    "cancellation_is_cooperative": _malformed,
    "graces_are_positive": (let_through, undecoded),
    "disposition_and_moment_go_together": (let_through, undecoded),
    "numbers_are_exact_integers": (let_through,),
    "unknown_field_of_a_policy_is_refused": _malformed,
    "policy_never_changes": (_unlimited, _other_deadline, let_through),
    # precedence
    "malformed_request_ends_nothing": (
        let_through,
        _moved,
        turned_away(RefusalCode.JOURNEY_TERMINAL),
    ),
    # reason
    "absent_reason_is_caller_requested": (_recorded("operator_requested"), _uncancelled),
    "unregistered_reason_is_refused": (let_through, _recorded("bored"), _moved),
    "explanation_is_bounded": (let_through, _moved),
    "explanation_is_not_published": (
        _published("It is no longer needed."),
        _recorded("It is no longer needed."),
    ),
    # route
    "foreign_transition_is_refused": (let_through, created_anyway),
    "unknown_option_is_refused": (let_through, created_anyway),
    "foreign_option_is_refused": (let_through, created_anyway),
    "option_that_leads_nowhere_is_refused": (let_through, created_anyway),
    "second_choice_is_refused": (let_through, created_anyway),
    "choices_may_come_later": _not_started,
    # start
    "incomplete_start_is_refused": _malformed,
    "second_entry_is_refused": _malformed,
    "unknown_sequence_or_entrypoint_is_refused": (
        turned_away(RefusalCode.INVALID_ROUTE_CHOICE),
        created_anyway,
    ),
    "entry_of_another_sequence_is_refused": (let_through, created_anyway),
    "stage_is_entered_by_a_refinement_only": (let_through, created_anyway),
    "unwelcome_message_is_refused": (let_through, created_anyway),
    "refused_start_leaves_nothing": (created_anyway,),
    "started_journey_survives_restart": (forgotten, _moved),
    "started_journey_is_pending": (_moved, *_not_started),
}
"""Names of contracts, and the faults of which each must find at least one step's."""
