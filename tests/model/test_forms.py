"""The two readings of the requests' schemas, the decoder's and the contracts' own, agree."""

from typing import Any

import pytest
from tests.model.evidence import walked
from tests.spec.malformations import BadRequest, bad_requests
from tests.spec.samples import good_request

from wayproof.model.journey.properties.forms import FORMS, Fault, faults
from wayproof.spec.journey.operations import OPERATIONS


def test_every_operation_has_a_form() -> None:
    assert set(FORMS) == set(OPERATIONS)


@pytest.mark.parametrize("operation", sorted(OPERATIONS))
def test_a_good_request_has_no_fault(operation: str) -> None:
    assert faults(operation, good_request(operation)) == ()


@pytest.mark.parametrize("operation", sorted(OPERATIONS))
def test_a_bad_request_has_a_fault_where_decoding_finds_one(operation: str) -> None:
    bad_ones = list(bad_requests(operation))
    assert bad_ones
    assert [str(bad) for bad in bad_ones if not _is_found(bad)] == []


def _is_found(bad: BadRequest) -> bool:
    pointers = [fault.pointer for fault in faults(bad.operation, bad.arguments)]
    return any(bad.pointer in (pointer, pointer.rpartition("/")[0]) for pointer in pointers)


def test_both_readings_agree_on_random_requests() -> None:
    called = [played.step for played in walked() if played.step.operation in OPERATIONS]
    malformed = [step for step in called if faults(step.operation, step.arguments)]
    assert len(malformed) > 500
    assert malformed == [step for step in called if step.request is None]


@pytest.mark.parametrize(
    ("operation", "change", "fault"),
    [
        ("start", {"initial_message": "\u2603" * 10_000}, None),
        ("cancel", {"explanation": "\ud800"}, Fault("/explanation", "text")),
        ("claim_lease", {"lease_milliseconds": 0}, Fault("/lease_milliseconds", "number")),
        ("cancel", {"reason_code": "bored"}, Fault("/reason_code", "choice")),
        ("report_response", {"usage": {"any": ["thing"]}}, None),
        ("teleport", {}, Fault("", "operation")),
    ],
)
def test_a_fault_is_named(operation: str, change: dict[str, Any], fault: Fault | None) -> None:
    good = good_request(operation) if operation in OPERATIONS else {}
    assert faults(operation, {**good, **change}) == (() if fault is None else (fault,))


def test_a_whole_request_may_be_too_large() -> None:
    good = good_request("start")
    references = [{"role": "semantic_graph", "reference": "\\" * 256}] * 32
    choices = [{"transition_id": "x" * 128, "option_id": "x" * 128}] * 32
    large = {
        **good,
        "initial_message": "\U0001f6cd" * 10_000,
        "semantic_references": references,
        "route_choices": choices,
    }
    assert faults("start", large) == (Fault("", "size"),)
