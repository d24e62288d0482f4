"""The life of one reservation: every legal transition, its lease, its owner, its identity."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.acceptance.driver import Journeys, refused, tokens


def test_a_reservation_record_is_literal(journey: Journeys) -> None:
    """reserved records identities, conservative amount, owner, lease expiry and version."""
    j = journey.running()
    j.tick(2_000)
    granted = j.reserve("t1", prompt=60, output=40, invocation="call-1", lease=30_000)
    assert granted == {"transmission_id": "t1", "reserved_tokens": 100}
    assert j.reservations() == [
        {
            "schema_version": "wayproof.journey.reservation.v1",
            "journey_id": j.id,
            "workflow_run_id": j.run,
            "invocation_id": "call-1",
            "transmission_id": "t1",
            "ordinal": 1,
            "idempotency": "none",
            "state": "reserved",
            "estimated_prompt_tokens": 60,
            "reserved_tokens": 100,
            "actual_tokens": None,
            "fencing_token": j.token,
            "lease_expires_at": "2030-01-01T00:00:32.000Z",
            "created_at": "2030-01-01T00:00:02.000Z",
            "created_version": j.version(),
        }
    ]


def test_a_reservation_counts_at_once(journey: Journeys) -> None:
    """estimated_prompt_tokens before a call; reserved_tokens is outstanding worst case."""
    j = journey.running()
    j.reserve("t1", prompt=60, output=40)
    j.reserve("t2", prompt=0, output=1)
    assert j.tokens() == tokens(reserved=101)
    assert j.snapshot()["tokens"]["estimated_prompt_tokens"] == 60


def test_reserved_becomes_transmitted(journey: Journeys) -> None:
    """Allowed transitions: reserved to transmitted, which keeps the amount outstanding."""
    j = journey.running()
    j.reserve("t1", prompt=60, output=40)
    assert j.transmit("t1") == {
        "transmission_id": "t1",
        "state": "transmitted",
        "actual_tokens": None,
    }
    assert j.tokens() == tokens(reserved=100)


def test_reserved_becomes_released_by_its_owner(journey: Journeys) -> None:
    """Allowed transitions: reserved to released_untransmitted, and the amount is free."""
    j = journey.running(max_total_tokens=100)
    j.reserve("t1", prompt=60, output=40)
    assert j.unsent("t1")["state"] == "released_untransmitted"
    assert j.tokens() == tokens()
    j.reserve("t2", prompt=60, output=40)
    assert [r["state"] for r in j.reservations()] == ["released_untransmitted", "reserved"]


def test_reserved_is_released_when_its_lease_expires(journey: Journeys) -> None:
    """A crash while reserved proves no transmission: released, charged nothing, kept on record."""
    j = journey.running()
    j.reserve("t1", prompt=60, output=40, lease=10_000)
    j.sweep_at(9_999)
    assert j.reservation_state("t1") == "reserved"
    j.sweep_at(10_000)
    assert j.reservation_state("t1") == "released_untransmitted"
    assert j.tokens() == tokens()
    assert j.state() == ("running", None)


def test_an_owner_that_lost_its_lease_can_still_prove_non_transmission(journey: Journeys) -> None:
    """Proof of non-transmission resolves a reservation (ruling 14: by its owner at any time)."""
    j = journey.pending()
    j.claim_lease(lease=10_000)
    j.begin()
    j.reserve("t1")
    j.tick(10_000)
    assert j.unsent("t1")["state"] == "released_untransmitted"


def test_transmitted_becomes_reconciled(journey: Journeys) -> None:
    """Allowed transitions: transmitted to reconciled; the unused reservation is released."""
    j = journey.running(max_total_tokens=130)
    j.send("t1", prompt=60, output=40)
    assert j.response("t1", 30) == {
        "transmission_id": "t1",
        "state": "reconciled",
        "actual_tokens": 30,
    }
    assert j.tokens() == tokens(reconciled=30)
    j.reserve("t2", prompt=60, output=40)
    assert j.tokens() == tokens(reserved=100, reconciled=30)


def test_transmitted_expires_conservatively_at_its_lease(journey: Journeys) -> None:
    """A crash after transmitted cannot release: the full amount is committed at lease expiry."""
    j = journey.running()
    j.send("t1", prompt=60, output=40, lease=10_000)
    j.sweep_at(9_999)
    assert j.tokens() == tokens(reserved=100)
    j.sweep_at(10_000)
    assert j.reservation_state("t1") == "expired_conservatively"
    assert j.tokens() == tokens(conservative=100)


def test_a_transmitted_reservation_is_never_released(journey: Journeys) -> None:
    """From transmitted there is no way to released: proof is an explicit zero (ruling 14)."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    assert j.unsent("t1") == {
        "transmission_id": "t1",
        "state": "reconciled",
        "actual_tokens": 0,
    }
    assert j.tokens() == tokens()


def test_expired_becomes_reconciled_while_accounting_is_pending(journey: Journeys) -> None:
    """expired_conservatively is provisional: usage replaces the conservative commitment."""
    j = journey.running()
    j.send("t1", prompt=60, output=40, lease=10_000)
    j.sweep_at(10_000)
    j.response("t1", 70)
    assert j.reservation_state("t1") == "reconciled"
    assert j.tokens() == tokens(reconciled=70)
    assert j.accounting() == "settled"


def test_reconciled_is_final(journey: Journeys) -> None:
    """reconciled is a final state: no later report changes it."""
    j = journey.running()
    j.send("t1", prompt=60, output=40)
    j.response("t1", 70)
    j.unsent("t1")
    j.ambiguity("t1")
    with refused("transmission_not_reserved"):
        j.transmit("t1")
    assert j.reservation_state("t1") == "reconciled"
    assert j.tokens() == tokens(reconciled=70)
    assert j.evidence() == [("t1", "conflicting_usage", 0)]
    assert j.state() == ("running", None)


def test_released_is_final(journey: Journeys) -> None:
    """released_untransmitted is a final state: neither transmission nor usage revives it."""
    j = journey.running()
    j.reserve("t1")
    j.unsent("t1")
    with refused("transmission_not_reserved"):
        j.transmit("t1")
    j.response("t1", 70)
    j.ambiguity("t1")
    assert j.unsent("t1")["state"] == "released_untransmitted"
    assert j.tokens() == tokens()
    assert j.evidence() == [("t1", "usage_of_unsent", 70)]
    assert j.state() == ("running", None)


def test_reserved_is_never_reconciled_nor_charged(journey: Journeys) -> None:
    """The only ways out of reserved are transmitted and released_untransmitted (ruling 53)."""
    j = journey.running()
    j.reserve("t1", prompt=60, output=40)
    assert j.response("t1", 70)["state"] == "reserved"
    assert j.ambiguity("t1")["state"] == "reserved"
    assert j.tokens() == tokens(reserved=100)
    assert j.evidence() == [("t1", "usage_of_unsent", 70)]
    assert j.state() == ("running", None)


def test_a_transmission_is_granted_once(journey: Journeys) -> None:
    """One grant lets one request leave; the state stays transmitted (ruling 35)."""
    j = journey.running()
    j.send("t1")
    before = j.snapshot()
    with refused("transmission_not_reserved"):
        j.transmit("t1")
    assert j.snapshot() == before
    assert j.reservation_state("t1") == "transmitted"


def test_a_lapsed_reservation_cannot_be_transmitted(journey: Journeys) -> None:
    """A reservation past its lease is never sent (ruling 14); one moment earlier it may be."""
    j = journey.running()
    j.reserve("t1", lease=10_000)
    j.reserve("t2", lease=10_000)
    j.tick(9_999)
    assert j.transmit("t1")["state"] == "transmitted"
    j.response("t1", 0)
    j.tick(10_000)
    # The second code is an eager backend's, which has released it by itself.
    with refused("reservation_lease_expired", "transmission_not_reserved"):
        j.transmit("t2")
    j.sweep()
    assert j.reservation_state("t2") == "released_untransmitted"


def test_transmitting_does_not_renew_the_lease(journey: Journeys) -> None:
    """The lease runs from the claim (ruling 15)."""
    j = journey.running()
    j.reserve("t1", lease=10_000)
    j.tick(9_000)
    j.transmit("t1")
    assert j.reservation("t1")["lease_expires_at"] == "2030-01-01T00:00:10.000Z"
    j.sweep_at(10_000)
    assert j.reservation_state("t1") == "expired_conservatively"


def test_a_renewed_lease_keeps_a_slow_call_alive(journey: Journeys) -> None:
    """Lease expiry is what ends a call (ruling 15: its owner may renew it)."""
    j = journey.running()
    j.send("t1", lease=10_000)
    j.tick(8_000)
    assert j.renew("t1", 10_000) == {"lease_expires_at": "2030-01-01T00:00:18.000Z"}
    j.sweep_at(17_999)
    assert j.reservation_state("t1") == "transmitted"
    assert j.state() == ("running", None)
    j.sweep_at(18_000)
    assert j.reservation_state("t1") == "expired_conservatively"


def test_a_renewal_never_shortens_a_lease(journey: Journeys) -> None:
    """Ruling 15: a renewal extends."""
    j = journey.running()
    j.reserve("t1", lease=10_000)
    assert j.renew("t1", 1) == {"lease_expires_at": "2030-01-01T00:00:10.000Z"}


def test_a_closed_transmission_has_no_lease_to_renew(journey: Journeys) -> None:
    """A final state stays final."""
    j = journey.running()
    j.send("t1")
    j.response("t1", 5)
    with refused("transmission_closed"):
        j.renew("t1", 10_000)


def test_a_lapsed_lease_cannot_be_renewed(journey: Journeys) -> None:
    """Once expired, the reservation is released or charged: an owner cannot take it back."""
    j = journey.running()
    j.reserve("t1", lease=10_000)
    j.tick(10_000)
    # The second code is an eager backend's, which has released it by itself.
    with refused("reservation_lease_expired", "transmission_closed"):
        j.renew("t1", 10_000)
    j.sweep()
    assert j.reservation_state("t1") == "released_untransmitted"


def test_a_duplicate_claim_reserves_once(journey: Journeys) -> None:
    """Duplicate claim of one transmission_id returns the same record and amount."""
    j = journey.running()
    granted = j.reserve("t1", prompt=60, output=40)
    version = j.version()
    j.tick(5_000)
    assert j.reserve("t1", prompt=60, output=40) == granted
    assert j.tokens() == tokens(reserved=100)
    assert j.version() == version
    assert len(j.reservations()) == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"prompt": 61},
        {"output": 41},
        {"prompt": 40, "output": 60},
        {"invocation": "another-call"},
        {"group": True},
        {"lease": 1_000},
    ],
    ids=str,
)
def test_a_claim_with_other_inputs_conflicts(journey: Journeys, changed: dict[str, Any]) -> None:
    """A duplicate claim with other inputs fails an input-hash conflict and reserves nothing."""
    j = journey.running()
    j.reserve("t1", prompt=60, output=40)
    before = j.snapshot()
    with refused("operation_conflict"):
        j.reserve("t1", **{"prompt": 60, "output": 40, **changed})
    assert j.snapshot() == before


def test_a_duplicate_claim_after_the_end_lets_nothing_leave(journey: Journeys) -> None:
    """The recorded claim is returned, and the fence still refuses transmission."""
    j = journey.running()
    granted = j.reserve("t1")
    j.fail()
    assert j.reserve("t1") == granted
    with refused("journey_terminal"):
        j.transmit("t1")


def test_an_invocation_belongs_to_one_run_and_one_contract(journey: Journeys) -> None:
    """Reservations are children of one logical invocation, with one idempotency contract."""
    j = journey.running(workflow_sequence_id="pair")
    j.reserve("t1", invocation="call-1")
    j.unsent("t1")
    with refused("operation_conflict"):
        j.reserve("t2", invocation="call-1", run=j.runs_begun[1])
    with refused("operation_conflict"):
        j.reserve("t2", invocation="call-1", group=True)
    assert len(j.reservations()) == 1


def test_an_unknown_transmission_is_refused_everywhere(journey: Journeys) -> None:
    """Every physical transmission is preceded by its own durable claim."""
    j = journey.running()
    commands: list[Callable[[], Any]] = [
        lambda: j.transmit("nobody"),
        lambda: j.renew("nobody", 1_000),
        lambda: j.unsent("nobody"),
        lambda: j.response("nobody", 5),
        lambda: j.ambiguity("nobody"),
    ]
    for command in commands:
        with refused("unknown_transmission"):
            command()
    assert j.tokens() == tokens()


def test_a_crash_before_and_a_crash_after_transmission_differ(journey: Journeys) -> None:
    """Recovery releases what was reserved and charges what was transmitted."""
    j = journey.running()
    j.reserve("t1", prompt=60, output=40, lease=10_000)
    j.send("t2", prompt=50, output=20, lease=10_000)
    j.restart()
    j.sweep_at(10_000)
    assert j.reservation_state("t1") == "released_untransmitted"
    assert j.reservation_state("t2") == "expired_conservatively"
    assert j.tokens() == tokens(conservative=70)
    assert len(j.reservations()) == 2  # nothing was sent again


def test_a_finished_run_makes_no_calls(journey: Journeys) -> None:
    """A call belongs to a run that is under way; a finished one progresses nothing."""
    j = journey.running()
    j.reserve("t1")
    j.finish()
    with refused("workflow_run_finished"):
        j.reserve("t2")
    with refused("workflow_run_finished"):
        j.transmit("t1")
    assert j.state() == ("running", None)


def test_only_the_owner_of_a_reservation_may_use_it(journey: Journeys) -> None:
    """A reservation records its owner; a stale or foreign fencing token moves nothing."""
    j = journey.running()
    j.reserve("t1")
    before = j.snapshot()
    for token in (j.token + 1, 9_999):
        with refused("fenced"):
            j.transmit("t1", token=token)
        with refused("fenced"):
            j.renew("t1", 1_000, token=token)
        with refused("fenced"):
            j.unsent("t1", token=token)
    assert j.snapshot() == before


def test_reservations_are_read_page_by_page(journey: Journeys) -> None:
    """Records stay readable in the order in which they were granted."""
    j = journey.running()
    for number in (1, 2, 3):
        j.reserve(f"t{number}")
    assert [r["transmission_id"] for r in j.reservations(limit=2)] == ["t1", "t2"]
    assert [r["transmission_id"] for r in j.reservations(after=2)] == ["t3"]
    assert j.reservations(after=3) == []
    with refused("invalid_request"):
        j.reservations(limit=0)
