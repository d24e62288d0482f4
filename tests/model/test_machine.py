"""A long life of one journey, with arbitrary amounts and moments: every step is checked as the
exploration checks it, and mostly keeps the journey alive."""

from collections import Counter as Tally
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from wayproof.model.journey import example, totals
from wayproof.model.journey.explore import (
    Edge,
    Move,
    converges,
    edge_faults,
    edges,
    serve,
    state_faults,
)
from wayproof.model.journey.properties.loading import load_properties
from wayproof.model.journey.state import State, Totals
from wayproof.spec.journey.requests import Request
from wayproof.spec.journey.vocabulary import (
    MAXIMUM_INTEGER,
    CancellationReason,
    FailureReason,
    LifecycleState,
    ReservationState,
)

load_properties()

TERMS = example.terms(
    "Builder",
    "Designer",
    deadline=60_000,
    tokens=100_000,
    cancellation_grace=5_000,
    settlement_grace=10_000,
    max_workflow_run_starts=8,
    max_task_attempt_starts=6,
    max_provider_retry_attempts=6,
    max_structured_output_correction_attempts=4,
    max_workflow_repair_starts=3,
)
YOUTH = 15
"""Steps before anything ends the journey on purpose."""

LEASES = st.integers(1, 20_000) | st.just(example.DAY)
AMOUNTS = st.integers(1, 2_000) | st.integers(1, 120_000)
USAGES = st.integers(0, 2_000) | st.sampled_from((None, 0, 10**6, MAXIMUM_INTEGER))
CALLS = st.sampled_from(("call-1", "call-2", "call-3"))
GROUPS = st.sampled_from(("group-1", "group-2"))

lived: Tally[str] = Tally()
"""How many steps were served in each lifecycle state, over all examples of a run."""


class Life(RuleBasedStateMachine):
    """One journey, from its first lease to whatever becomes of it."""

    def __init__(self) -> None:
        super().__init__()
        self.state = State()
        self.now = 0
        self.steps = 0

    # What is there to ask about

    def transmission(self, data: st.DataObject, *states: ReservationState) -> str:
        """A transmission, in one of these states if there is one."""
        records = self.state.transmissions
        fitting = [t for t in records if t.state in states] or records
        return str(data.draw(st.sampled_from([t.transmission_id for t in fitting])))

    def run(self, data: st.DataObject) -> str:
        """A run."""
        return str(data.draw(st.sampled_from([r.workflow_run_id for r in self.state.runs])))

    def token(self, transmission_id: str | None = None) -> int:
        """The owner's token, or that of a reservation."""
        for record in self.state.transmissions:
            if record.transmission_id == transmission_id:
                return record.fencing_token
        return 1 if self.state.lease is None else self.state.lease.fencing_token

    # Taking a step, and checking it

    def take(self, edge: Edge) -> None:
        faults = edge_faults(TERMS, self.state, edge)
        faults += state_faults(TERMS, edge.after, self.now)
        assert not faults, (faults, edge)
        lived[self.state.lifecycle] += 1
        self.state = edge.after
        self.steps += 1

    def ask(self, request: Request) -> None:
        self.take(serve(TERMS, self.state, request, self.now))

    def has_runs(self) -> bool:
        return bool(self.state.runs)

    def has_transmissions(self) -> bool:
        return bool(self.state.transmissions)

    def is_old(self) -> bool:
        return self.steps > YOUTH

    # What keeps it alive

    @initialize(lease=st.sampled_from((example.DAY, example.DAY, 5_000)))
    def begin(self, lease: int) -> None:
        self.ask(example.claim("worker-1", lease))
        self.ask(example.begin())

    @precondition(has_runs)
    @rule(data=st.data(), amount=AMOUNTS, call=CALLS, lease=LEASES)
    def reserve(self, data: st.DataObject, amount: int, call: str, lease: int) -> None:
        self.reserve_one(data, amount, call, lease, grouped=False)

    @precondition(has_runs)
    @rule(data=st.data(), amount=AMOUNTS, call=GROUPS, lease=LEASES)
    def reserve_member(self, data: st.DataObject, amount: int, call: str, lease: int) -> None:
        self.reserve_one(data, amount, call, lease, grouped=True)

    def reserve_one(
        self, data: st.DataObject, amount: int, call: str, lease: int, *, grouped: bool
    ) -> None:
        known = [t.workflow_run_id for t in self.state.transmissions if t.invocation_id == call]
        self.ask(
            example.reserve(
                f"t-{len(self.state.transmissions) + 1}",
                amount,
                of=call,
                lease=lease,
                grouped=grouped,
                run=known[0] if known else self.run(data),
                token=self.token(),
            )
        )

    @precondition(has_transmissions)
    @rule(data=st.data())
    def transmit(self, data: st.DataObject) -> None:
        name = self.transmission(data, ReservationState.RESERVED)
        self.ask(example.transmit(name, self.token(name)))

    @precondition(has_transmissions)
    @rule(data=st.data(), lease=LEASES)
    def renew(self, data: st.DataObject, lease: int) -> None:
        name = self.transmission(data, ReservationState.RESERVED, ReservationState.TRANSMITTED)
        self.ask(example.renew(name, lease, self.token(name)))

    @precondition(has_transmissions)
    @rule(data=st.data(), usage=USAGES)
    def respond(self, data: st.DataObject, usage: int | None) -> None:
        name = self.transmission(
            data, ReservationState.TRANSMITTED, ReservationState.EXPIRED_CONSERVATIVELY
        )
        self.ask(example.response(name, usage))

    @precondition(has_transmissions)
    @rule(data=st.data())
    def respond_within_the_reservation(self, data: st.DataObject) -> None:
        name = self.transmission(data, ReservationState.TRANSMITTED)
        (record,) = [t for t in self.state.transmissions if t.transmission_id == name]
        usage = data.draw(st.integers(0, record.reserved_tokens))
        self.ask(example.response(name, usage))

    @precondition(has_transmissions)
    @rule(data=st.data())
    def report_unsent(self, data: st.DataObject) -> None:
        name = self.transmission(data, *ReservationState)
        self.ask(example.unsent(name, self.token(name)))

    @precondition(has_runs)
    @rule(
        data=st.data(),
        place=st.integers(1, 8),
        counters=st.sampled_from(
            ((example.TASK,), (example.CORRECTION,), (example.TASK, example.CORRECTION))
        ),
    )
    def claim_attempt(self, data: st.DataObject, place: int, counters: Any) -> None:
        run, token = self.run(data), self.token()
        self.ask(example.attempt(f"attempt-{place}", *counters, run=run, token=token))

    @precondition(has_runs)
    @rule(
        data=st.data(),
        place=st.integers(1, 8),
        purpose=st.sampled_from(("decomposition", "repair", "refinement")),
    )
    def start_run(self, data: st.DataObject, place: int, purpose: Any) -> None:
        parent, token = self.run(data), self.token()
        self.ask(example.start_run(f"child-{place}", purpose, parent=parent, token=token))

    @precondition(has_runs)
    @rule(data=st.data(), outcome=st.sampled_from(("completed", "failed")))
    def finish_run(self, data: st.DataObject, outcome: Any) -> None:
        self.ask(example.finish(self.run(data), outcome, token=self.token()))

    @precondition(has_runs)
    @rule(data=st.data(), place=st.integers(1, 4))
    def pause(self, data: st.DataObject, place: int) -> None:
        self.ask(example.pause(f"pause-{place}", self.run(data), token=self.token()))

    @precondition(lambda self: bool(self.state.inputs))
    @rule(data=st.data())
    def resume(self, data: st.DataObject) -> None:
        asked = data.draw(st.sampled_from(self.state.inputs))
        self.ask(
            example.submit(asked.workflow_run_id, number=int(asked.input_request_id.split("-")[1]))
        )

    @precondition(lambda self: bool(self.state.intents))
    @rule(data=st.data(), acknowledged=st.booleans())
    def deliver(self, data: st.DataObject, acknowledged: bool) -> None:
        run = data.draw(st.sampled_from(self.state.intents)).workflow_run_id
        delivery = example.acknowledge if acknowledged else example.take_over
        self.ask(delivery(run, token=self.token()))

    @rule(lease=LEASES)
    def heartbeat(self, lease: int) -> None:
        self.ask(example.heartbeat(self.token(), lease))

    @rule(later=st.integers(1, 500) | st.integers(1, 5_000))
    def time_passes(self, later: int) -> None:
        self.now += later

    @rule()
    def sweep(self) -> None:
        *_, swept = (e for e in edges(TERMS, self.state, self.now, ()) if e.move is Move.SWEEP)
        self.take(swept)

    @rule(data=st.data())
    def take_what_is_due(self, data: st.DataObject) -> None:
        """As an eager backend may."""
        due = [e for e in edges(TERMS, self.state, self.now, ()) if e.move is Move.EAGER]
        if due:
            self.take(data.draw(st.sampled_from(due)))

    # What may end it

    @precondition(is_old)
    @rule(place=st.integers(2, 4), lease=LEASES)
    def take_over(self, place: int, lease: int) -> None:
        self.ask(example.claim(f"worker-{place}", lease))

    @precondition(lambda self: self.is_old() and self.has_transmissions())
    @rule(data=st.data())
    def report_ambiguous(self, data: st.DataObject) -> None:
        self.ask(example.ambiguous(self.transmission(data, ReservationState.TRANSMITTED)))

    @precondition(is_old)
    @rule(reason=st.sampled_from(CancellationReason))
    def cancel(self, reason: CancellationReason) -> None:
        self.ask(example.cancel(reason))

    @precondition(is_old)
    @rule()
    def complete(self) -> None:
        self.ask(example.complete(self.token()))

    @precondition(lambda self: self.is_old() and self.has_runs())
    @rule()
    def finish_and_complete(self) -> None:
        for run in self.state.runs:
            self.ask(example.finish(run.workflow_run_id, token=self.token()))
        self.ask(example.complete(self.token()))

    @precondition(is_old)
    @rule(reason=st.sampled_from(FailureReason))
    def fail(self, reason: FailureReason) -> None:
        self.ask(example.fail(reason, self.token()))

    @precondition(is_old)
    @rule(later=st.sampled_from([10_000, 80_000, 500_000]))
    def much_time_passes(self, later: int) -> None:
        self.now += later

    def teardown(self) -> None:
        assert converges(TERMS, self.state, self.now)


LIVES = settings(
    max_examples=160,
    stateful_step_count=50,
    deadline=None,
    database=None,
    derandomize=True,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)


def test_every_step_of_a_long_life_is_right() -> None:
    lived.clear()
    run_state_machine_as_test(Life, settings=LIVES)
    alive = lived[LifecycleState.RUNNING] + lived[LifecycleState.PENDING]
    assert alive > sum(lived.values()) / 2, lived
    assert set(lived) == set(LifecycleState)


exposure_of = totals.exposure_of


def summed(group: Any) -> Totals:
    """A group counts at the sum of its members."""
    parts = [exposure_of([member]) for member in group]
    return Totals(*(sum(amounts) for amounts in zip(*parts, strict=True)))


def test_a_planted_fault_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(totals, "exposure_of", summed)
    with pytest.raises(
        AssertionError, match=r"member_asks_for_its_increase_only|group_counts_at_its_maximum"
    ):
        run_state_machine_as_test(Life, settings=LIVES)
