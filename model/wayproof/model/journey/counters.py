"""The six journey-wide counters: claimed before what they count, never given back."""

from collections.abc import Iterable

from wayproof.model.journey.guards import refuse_ended
from wayproof.model.journey.lifecycle import end_over_budget
from wayproof.model.journey.state import State, Terms
from wayproof.model.journey.transition import Transition, realises
from wayproof.spec.journey.refusals import RefusalCode
from wayproof.spec.journey.vocabulary import COUNTER_EXHAUSTION_REASONS, Counter

POLICY_ORDER = tuple(Counter)


@realises(
    {
        "counter.workflow_run_start_limit_exhausted": "counter-01 counter-07 run-03",
        "counter.task_attempt_start_limit_exhausted": "counter-02 counter-07",
        "counter.provider_retry_limit_exhausted": "counter-03 counter-07",
        "counter.structured_output_correction_limit_exhausted": "counter-04 counter-07",
        "counter.workflow_repair_limit_exhausted": "counter-05 counter-07",
        "counter.app_refinement_limit_exhausted": (
            "counter-06 counter-07 counter-11 reason-04 lifecycle-07"
        ),
    }
)
def exhausted(
    terms: Terms, state: State, now: int, claims: dict[Counter, int]
) -> Transition | None:
    """End the journey for the first counter, in policy order, that the claims would take past
    its limit. All or nothing: no counter is claimed then."""
    for index, counter in enumerate(POLICY_ORDER):
        limit = terms.limits[index]
        if limit is not None and state.counters[index] + claims.get(counter, 0) > limit:
            reason = COUNTER_EXHAUSTION_REASONS[counter]
            ended = end_over_budget(terms, state, now, reason)
            return refuse_ended(terms, ended, RefusalCode(reason), f"counter.{reason}")
    return None


def claimed(state: State, counters: Iterable[Counter], times: int = 1) -> State:
    """The state with each counter claimed that often."""
    named = set(counters)
    return state._replace(
        counters=tuple(
            count + times if counter in named else count
            for counter, count in zip(POLICY_ORDER, state.counters, strict=True)
        )
    )
