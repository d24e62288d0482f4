"""The contracts of tokens and counters hold for all amounts, and CrossHair finds what is wrong."""

import inspect
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from wayproof.model.journey.properties import crosshair_contracts

pytestmark = [pytest.mark.proof, pytest.mark.slow]

SECONDS_EACH = 20
"""How long CrossHair may think about one contract; all together take about ten seconds."""

CONTRACTS: dict[str, Callable[..., bool]] = {
    name: function
    for name, function in vars(crosshair_contracts).items()
    if inspect.isfunction(function) and "post: _" in (function.__doc__ or "")
}


def crosshair(target: str, folder: Path) -> list[str]:
    """What CrossHair says of a module or a file, line by line; run where it keeps no state."""
    command = [sys.executable, "-m", "crosshair", "check", "--report_all"]
    command += ["--analysis_kind=PEP316", f"--per_condition_timeout={SECONDS_EACH}", target]
    finished = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, cwd=folder
    )
    assert not finished.stderr, finished.stderr
    return finished.stdout.splitlines()


def test_every_contract_is_confirmed_over_all_paths(tmp_path: Path) -> None:
    said = crosshair(crosshair_contracts.__name__, tmp_path)
    verdicts = [line.rpartition("info: ")[2] for line in said]
    assert len(CONTRACTS) == 10
    assert verdicts == ["Confirmed over all paths."] * len(CONTRACTS), said


PLANTED = {
    "granted_reservations_stay_within_the_ceiling": (
        "reservations.with_reservation = lambda state, added: state._replace("
        "transmissions=(*state.transmissions, added))"
    ),
    "granted_members_stay_within_the_ceiling": "totals.exposure_of = summed",
    "usage_replaces_a_charge_without_a_gap": "totals.replace_group = added",
    "exposure_never_counts_too_little": "totals.replace_group = lambda kept, *_: kept",
    "group_is_charged_at_its_maximum": "totals.exposure_of = summed",
    "positive_usage_settles_the_group": "reports.is_grouped = lambda transmission: False",
    "overshoot_is_above_its_own_reservation": (
        "reports.overshoot = lambda terms, state, *_: (state, 'report_response.overshot')"
    ),
    "no_total_passes_the_greatest_integer": "reports.MAXIMUM_INTEGER = 2**60",
    "attempts_stay_within_their_limits": "ownership.exhausted = lambda *_: None",
    "retries_stay_within_their_limit": "reservations.exhausted = lambda *_: None",
}
"""For each contract one wrong rule."""

WRONG_RULES = """
from wayproof.model.journey import ownership, reports, reservations, totals
from wayproof.model.journey.state import Totals

exposure_of = totals.exposure_of


def summed(group):
    parts = [exposure_of([member]) for member in group]
    return Totals(*(sum(amounts) for amounts in zip(*parts)))


def added(kept, before, after):
    return Totals(*(k + max(0, a - b) for k, b, a in zip(kept, before, after)))

"""


def under_a_wrong_rule(name: str) -> str:
    """A module with a copy of one contract, and one wrong rule beneath it. It is a copy, because
    CrossHair takes the contract of a function for granted where that is called."""
    return (
        f"{WRONG_RULES}\n{PLANTED[name]}\n"
        f"from {crosshair_contracts.__name__} import *\n\n\n"
        f"{inspect.getsource(CONTRACTS[name])}"
    )


def test_no_contract_lacks_a_planted_fault() -> None:
    assert set(PLANTED) == set(CONTRACTS)


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found(name: str, tmp_path: Path) -> None:
    planted = tmp_path / f"planted_{name}.py"
    planted.write_text(under_a_wrong_rule(name), encoding="utf-8")
    said = crosshair(str(planted), tmp_path)
    assert any(f"error: false when calling {name}(" in line for line in said), said
