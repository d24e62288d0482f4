"""The generator tells what every allowed world agrees on, and nothing more."""

from collections.abc import Iterator

import pytest

from wayproof.conformance.generate import settings, tags
from wayproof.conformance.generate.belief import closure, play_script
from wayproof.conformance.generate.histories import histories
from wayproof.conformance.generate.menus import Scope, reserve, start
from wayproof.conformance.generate.phrases import BEGUN
from wayproof.conformance.generate.recorder import record
from wayproof.conformance.generate.scripts import Action, Draft, Script, Sweep, Tick, owned
from wayproof.conformance.generate.selection import Candidate, merged, select
from wayproof.conformance.generate.settings import DEADLINE, MIDNIGHT, ORDINARY
from wayproof.conformance.generate.situations import explore
from wayproof.conformance.vectors.format import CallStep, ExpectedOneOf, ExpectedRefusal
from wayproof.conformance.vectors.writer import seal, vector_line
from wayproof.model.journey.properties.contract import JOURNEY_CONTRACTS, Contract


def draft(*script: Action, focus: int = 0) -> Draft:
    return Draft(
        family="lifecycle",
        topic="test",
        setting=ORDINARY,
        script=script,
        focus=focus,
        title="a test",
    )


def test_a_due_step_leaves_what_a_vector_expects_open() -> None:
    script: Script = (*BEGUN, Tick(MIDNIGHT + DEADLINE), owned("snapshot"), Sweep())
    *_, tick, read, swept = record(draft(*script), 1).steps
    assert tick.digest is None
    assert isinstance(read, CallStep) and isinstance(read.expect, ExpectedOneOf)
    assert swept.digest is not None


def test_before_the_due_instant_nothing_is_open() -> None:
    script: Script = (*BEGUN, Tick(MIDNIGHT + DEADLINE - 1), owned("snapshot"))
    *_, tick, read = record(draft(*script), 1).steps
    assert tick.digest is not None
    assert isinstance(read, CallStep) and not isinstance(read.expect, ExpectedOneOf)


def test_a_late_request_is_refused_in_every_allowed_world() -> None:
    late = owned("complete_journey", fencing_token="$F1")
    *_, step = record(draft(*BEGUN, Tick(MIDNIGHT + DEADLINE), late), 1).steps
    assert isinstance(step, CallStep) and isinstance(step.expect, ExpectedOneOf)
    cases = step.expect.one_of
    assert all(isinstance(case, ExpectedRefusal) for case in cases)
    codes = {case.err.code for case in cases if isinstance(case, ExpectedRefusal)}
    assert codes == {"deadline_expired", "journey_terminal"}


def test_the_lazy_world_stands_first() -> None:
    taken = play_script(ORDINARY, (*BEGUN, Tick(MIDNIGHT + DEADLINE)))
    after = taken[-1].after
    worlds = closure(after.worlds, after.now)
    assert [world.journeys[0].state.lifecycle.value for world in worlds] == ["running", "timed_out"]


def test_situations_come_by_the_length_of_their_stories() -> None:
    lengths = [
        sum(not isinstance(action, Sweep) for action in situation.script)
        for situation in explore(ORDINARY, Scope(attempts=False), 200)
    ]
    assert len(lengths) == 200 and lengths[0] == 1
    assert max(lengths[:50]) <= min(lengths[150:])


def test_only_what_shows_something_new_is_kept() -> None:
    def candidates() -> Iterator[Candidate]:
        for goals in ({"a"}, {"a"}, {"a", "b"}, {"b"}):
            yield Candidate(draft=draft(start(Scope())), goals=frozenset(goals))

    assert [sorted(map(str, c.goals)) for c in select(candidates())] == [["a", "b"]]


def test_what_changes_nothing_is_told_in_one_breath() -> None:
    quiet = [
        Candidate(
            draft=draft(start(Scope()), owned(read), Sweep(), focus=1),
            goals=frozenset({read}),
            quiet=True,
        )
        for read in ("snapshot", "terminal_outcome")
    ]
    (one,) = merged(quiet)
    assert [type(action).__name__ for action in one.script] == ["Call", "Call", "Call", "Sweep"]


def test_histories_are_the_same_bytes_each_time() -> None:
    def lines() -> list[bytes]:
        return [vector_line(seal(record(told, 1))) for told in histories()]

    assert lines() == lines()


def test_a_broken_contract_stops_the_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    tags.load_contracts()
    never = Contract(name="never", clauses=("ceiling-01",), check=lambda _step: False)
    monkeypatch.setitem(JOURNEY_CONTRACTS, "never", never)
    with pytest.raises(tags.ContractBroken):
        record(draft(*BEGUN), 1)


def test_amounts_are_named_by_what_is_left() -> None:
    situation = next(s for s in explore(ORDINARY, Scope(), 50) if s.state.runs)
    request = reserve(situation.state, estimate=0, output=settings.CEILING)
    taken = play_script(ORDINARY, (*situation.script, request))
    assert taken[-1].labels == ("reserve.granted",)
