import pytest

from wayproof.spec.journey.clauses import ClauseRegisterError, clauses, parse_register

GOOD = """
[[clause]]
id = "lease-01"
text = "At most one worker holds the owner lease."
section = "Decision"
capability = "none"
observability = "black_box"
reason = ""
rulings = [27]
status = "active"
"""


def test_the_register_is_read_in_its_order() -> None:
    register = clauses()
    assert len(register) > 100
    assert all(name == clause.id for name, clause in register.items())
    assert parse_register(GOOD)["lease-01"].rulings == (27,)
    assert parse_register(GOOD)["lease-01"].capability is None


@pytest.mark.parametrize(
    ("good", "bad", "problem"),
    [
        ("lease-01", "Lease 1", "malformed"),
        ("lease-01", "lease-1", "malformed"),
        ("At most one worker holds the owner lease.", " ", "no sentence"),
        ("Decision", "Indecision", "no such section"),
        ('"none"', '"flight"', "no such capability"),
        ("black_box", "grey_box", "no such observability"),
        ("black_box", "white_box", "is not said"),
        ('"active"', '"done"', "no such status"),
        ("[27]", '["27"]', "rulings"),
        ("[27]", "27", "rulings"),
        ('reason = ""', "reason = 0", "no string"),
        ('reason = ""', "", "fields are not"),
        ('reason = ""', 'reason = ""\nhint = ""', "fields are not"),
        (GOOD, GOOD + GOOD, "stands twice"),
        (GOOD, "", "is empty"),
    ],
)
def test_a_fault_in_the_register_is_found(good: str, bad: str, problem: str) -> None:
    assert good in GOOD
    with pytest.raises(ClauseRegisterError, match=problem):
        parse_register(GOOD.replace(good, bad, 1))
