import ast
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.conformance import planted, stories
from typer.testing import CliRunner

from wayproof.conformance.cli import app
from wayproof.conformance.mutants import catalogue
from wayproof.conformance.mutants.catalogue import (
    Candidate,
    CatalogueError,
    candidates_of,
    check_candidates,
    parse_excuses,
)
from wayproof.conformance.mutants.copies import import_copy, sources_of
from wayproof.conformance.mutants.load import (
    PACKAGE,
    MutantBrokenError,
    MutantOutOfDateError,
    load_mutant,
    mutated_sources,
)
from wayproof.conformance.mutants.mutant import Edit, Mutant
from wayproof.conformance.mutants.run import Game, Outcome, in_order, play_games
from wayproof.conformance.protocol.sqlite_backend import SqliteBackend
from wayproof.conformance.report.mutants import exit_code, state_of
from wayproof.conformance.run.player import play
from wayproof.conformance.run.verdict import Verdict
from wayproof.conformance.vectors.format import Vector
from wayproof.conformance.vectors.suite import write_suite

SOURCES = {"a.py": "one = 1\ntwo = 2\n", "b.py": "one = 1\none = 1\n"}


def mutant(*edits: tuple[str, str, str]) -> Mutant:
    made = tuple(Edit(file=file, find=find, replace=new) for file, find, new in edits)
    return replace(planted.DEAD, name="m", edits=made)


def play_all(
    *mutants: Mutant,
    suite: Sequence[Vector] = stories.STORIES,
    seconds: float = 30,
    **given: Any,
) -> Any:
    """The outcome of each mutant, by name."""
    games = [
        Game(candidate=c, vectors=in_order(c, suite), **given)
        for c in map(planted.candidate, mutants)
    ]
    return {o.candidate.name: o for o in play_games(games, jobs=2, seconds=seconds)}


# Loading


def test_edits_are_made_at_their_places_in_the_text_as_it_was() -> None:
    swapped = mutant(("a.py", "one", "two"), ("a.py", "two", "one"))
    assert mutated_sources(swapped, SOURCES) == {**SOURCES, "a.py": "two = 1\none = 2\n"}


@pytest.mark.parametrize(
    ("edits", "told"),
    [
        ([], "edits nothing"),
        ([("c.py", "one", "")], "no c.py"),
        ([("a.py", "three", "")], "a.py: 'three' does not stand there"),
        ([("b.py", "one", "")], "b.py: 'one' stands there 2 times"),
        ([("a.py", "", "x")], "does not stand there"),
        ([("a.py", "one", "one")], "nothing is changed"),
        ([("a.py", "one = 1", "x"), ("a.py", "1\ntwo", "y")], "two edits overlap"),
    ],
)
def test_an_edit_that_does_not_fit(edits: list[tuple[str, str, str]], told: str) -> None:
    with pytest.raises(MutantOutOfDateError, match=f"mutant m.*{told}"):
        mutated_sources(mutant(*edits), SOURCES)


def test_a_mutant_that_cannot_be_made() -> None:
    with pytest.raises(MutantBrokenError, match="m cannot be made: SyntaxError"):
        load_mutant(mutant(("service.py", planted.CALL, "    def (\n")))
    with pytest.raises(MutantBrokenError, match="StoreUnavailableError"):
        load_mutant(mutant(("schema.py", "CREATE TABLE journeys", "CREATE TABEL journeys")))


def test_a_copy_is_complete_and_apart() -> None:
    copy = import_copy(PACKAGE, sources_of(PACKAGE), "copy")
    other = import_copy(PACKAGE, sources_of(PACKAGE), "other")
    assert copy.SqliteJourneyStore is not other.SqliteJourneyStore
    modules = [m for name, m in sys.modules.items() if name.startswith(copy.__name__)]
    assert len(modules) > 10
    for module in modules:
        for value in vars(module).values():
            assert not str(getattr(value, "__module__", "")).startswith(PACKAGE)
    backend = SqliteBackend(package=copy)
    capabilities = backend.hello().capabilities
    assert all(play(s, backend, capabilities).verdict is Verdict.PASS for s in stories.STORIES)
    backend.close()


def test_the_package_itself_is_never_touched() -> None:
    files = {file.name: file.read_bytes() for file in _folder().glob("*.py")}
    before = SqliteBackend()
    load_mutant(planted.REFUSES).close()
    after = SqliteBackend()
    for backend in (before, after):
        assert play(stories.RESERVED, backend, backend.hello().capabilities).verdict == "pass"
        backend.close()
    assert files == {file.name: file.read_bytes() for file in _folder().glob("*.py")}


def _folder() -> Path:
    return Path(str(sys.modules[PACKAGE].__file__)).parent


# Playing


def test_every_way_to_be_killed_and_not_to_be() -> None:
    outcomes = play_all(planted.DEAD, planted.REFUSES, planted.RAISES, planted.EXITS)
    outcomes |= play_all(planted.LOOPS, seconds=3)
    assert outcomes["dead"].kills == () and outcomes["dead"].played == len(stories.STORIES)
    kills = {name: outcome.kill for name, outcome in outcomes.items() if outcome.kill}
    assert {name: kill.how for name, kill in kills.items()} == {
        "refuses": "fail",
        "raises": "fault",
        "loops": "silence",
        "exits": "fault",
    }
    assert {kill.vector for kill in kills.values()} == {"hand/reserved/0001"}
    assert kills["refuses"].clauses == ("reservation-01",) and kills["refuses"].step == 3
    assert kills["raises"].note.endswith("RuntimeError: planted")
    assert "within 3 seconds" in kills["loops"].note and "with 7" in kills["exits"].note
    assert {state_of(outcomes[name]) for name in kills} == {"killed"}
    assert state_of(outcomes["dead"]) == "survived"


def test_a_mutant_that_does_not_fit_is_neither_killed_nor_alive() -> None:
    outcomes = play_all(mutant(("service.py", "nowhere", "")), planted.REFUSES)
    assert "does not stand there" in outcomes["m"].problem
    assert state_of(outcomes["m"]) == "not judged" and not outcomes["m"].kills
    assert exit_code(outcomes.values()) == 3


def test_a_vector_that_the_sound_backend_fails_kills_nothing() -> None:
    unanswerable = replace(stories.RESERVE, expect=stories.ok(None))
    wrong = stories.story("wrong/0001", stories.start(), stories.LEASE, stories.BEGIN, unanswerable)
    outcome = play_all(planted.DEAD, suite=[wrong])["dead"]
    assert outcome.unsound == (wrong.id,) and not outcome.kills
    assert exit_code([outcome]) == 3


def test_what_a_mutant_prints_is_not_part_of_the_report(capfd: pytest.CaptureFixture[str]) -> None:
    play_all(planted.SPEAKS)
    told = capfd.readouterr()
    assert told.out == "" and "said on stdout" in told.err


def test_the_vectors_about_its_clauses_come_first() -> None:
    about_both = replace(planted.DEAD, clauses=("reservation-01", "access-10"))
    ordered = in_order(planted.candidate(about_both), stories.STORIES)
    first = [v.id for v in ordered if "reservation-01" in {c for s in v.steps for c in s.clauses}]
    assert [v.id for v in ordered][: len(first)] == first and first
    about_second = [v.id for v in ordered if "access-10" in v.clauses]
    assert [v.id for v in ordered][len(first) :][: len(about_second)] == about_second
    assert sorted(v.id for v in ordered) == sorted(v.id for v in stories.STORIES)


def test_every_topic_has_its_turn_before_one_has_a_second() -> None:
    names = ("a/a/0001", "a/a/0002", "a/a/0003", "b/b/0001", "b/b/0002")
    alike = [stories.story(name, *stories.RESERVED.steps) for name in names]
    ordered = in_order(planted.candidate(planted.DEAD), alike)
    told = [vector.id.removeprefix("hand/") for vector in ordered]
    assert told == ["a/a/0001", "b/b/0001", "a/a/0002", "b/b/0002", "a/a/0003"]


def test_all_vectors_are_played_if_that_is_wanted() -> None:
    outcome = play_all(planted.NEVER_BEGINS, enough=lambda kills: False)["never-begins"]
    beginning = [
        s.id
        for s in stories.STORIES
        if any(getattr(step, "operation", "") == "begin_journey" for step in s.steps)
    ]
    assert len(beginning) > 1
    assert sorted(kill.vector for kill in outcome.kills) == sorted(beginning)
    assert outcome.played == len(stories.STORIES)
    assert outcome.share == len(beginning) / len(stories.STORIES)


# Judging


def test_an_excuse_must_be_true() -> None:
    excused = replace(planted.DEAD, equivalent="It does nothing.")
    wrongly = replace(planted.REFUSES, equivalent="It does nothing.")
    outcomes = play_all(excused, wrongly)
    assert state_of(outcomes["dead"]) == "excused"
    assert state_of(outcomes["refuses"]) == "wrongly excused"
    assert exit_code([outcomes["dead"]]) == 0
    assert exit_code([outcomes["refuses"]]) == 1


def command(
    monkeypatch: pytest.MonkeyPatch, folder: Path, mutants: Sequence[Mutant], *arguments: str
) -> Any:
    """Run ``wayproof mutants`` with these mutants and the hand-written vectors."""
    write_suite(folder / "journey", stories.STORIES)
    held: tuple[Candidate, ...] = tuple(map(planted.candidate, mutants))
    monkeypatch.setattr(catalogue, "candidates_of", lambda sets: held)
    return CliRunner().invoke(app, ["mutants", *arguments, "--vectors", str(folder)])


def test_a_survivor_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    done = command(monkeypatch, tmp_path, [planted.DEAD, planted.REFUSES])
    assert done.exit_code == 1
    survived = f"dead survived {len(stories.STORIES)} vectors: Nothing at all is wrong."
    assert survived in done.stdout.splitlines()
    assert done.stdout.splitlines()[-1] == "named: 1 of 2 killed, 1 by fail, 1 survived"


def test_all_killed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    excused = replace(planted.DEAD, equivalent="It does nothing.")
    done = command(monkeypatch, tmp_path, [planted.REFUSES, planted.RAISES, excused], "--json")
    assert done.exit_code == 0
    told = json.loads(done.stdout)
    assert {m["name"]: m["state"] for m in told["mutants"]} == {
        "refuses": "killed",
        "raises": "killed",
        "dead": "excused",
    }
    assert told["mutants"][0]["killed_by"]["vector"] == "hand/reserved/0001"


def test_what_is_excused_is_played_if_that_is_wanted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wrongly = replace(planted.REFUSES, equivalent="It does nothing.")
    passed = command(monkeypatch, tmp_path, [wrongly])
    assert (passed.exit_code, "excused: It does nothing." in passed.stdout) == (0, True)
    found = command(monkeypatch, tmp_path, [wrongly], "--excused")
    assert (found.exit_code, "refuses wrongly excused" in found.stdout) == (1, True)


def test_the_matrix_names_every_vector_that_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    done = command(monkeypatch, tmp_path, [planted.NEVER_BEGINS], "--json", "--matrix")
    (told,) = json.loads(done.stdout)["mutants"]
    assert done.exit_code == 0
    assert told["played"] == len(stories.STORIES) > len(told["failed"]) > 1
    assert told["share"] == round(len(told["failed"]) / told["played"], 4)


@pytest.mark.parametrize(
    "arguments", [["nothing-*"], ["refuses", "--write-score"], ["--matrix", "--served"]]
)
def test_wrong_input(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: list[str]) -> None:
    assert command(monkeypatch, tmp_path, [planted.REFUSES], *arguments).exit_code == 2


# The catalogue


def test_every_written_mutant_is_in_order_and_fits_the_source() -> None:
    sources = sources_of(PACKAGE)
    mutants = list(_written())
    assert [c.name for c in candidates_of(("named", "blind"))]
    for written in mutants:
        for file, text in mutated_sources(written, sources).items():
            ast.parse(text, file)


def _written() -> list[Mutant]:
    return [m for name in ("named", "blind") for m in catalogue.written_mutants(name)]


def test_mutants_that_are_not_as_they_have_to_be() -> None:
    good = planted.candidate(planted.DEAD)
    check_candidates([good])
    for bad, told in (
        ([good, good], "two mutants are called dead"),
        ([replace(good, clauses=())], "breaks no clause"),
        ([replace(good, clauses=("lease-99",))], "lease-99, which is no clause"),
    ):
        with pytest.raises(CatalogueError, match=told):
            check_candidates(bad)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[excused]]\nname = 'a'", "not a name and a reason"),
        ("[[excused]]\nname = 'a'\nreason = 1", "not a name and a reason"),
        ("[[excused]]\nname = 'a'\nreason = ' '", "no reason"),
        ("[[excused]]\nname = 'a'\nreason = 'b'\n" * 2, "stands twice"),
    ],
)
def test_excuses_that_excuse_nothing(text: str, told: str) -> None:
    with pytest.raises(CatalogueError, match=told):
        parse_excuses(text)


def test_an_excuse_of_what_is_generated_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "parse_excuses", lambda text: {"generated-gone": "It was."})
    with pytest.raises(CatalogueError, match="generated-gone is generated no more"):
        candidates_of(("generated",))


def test_outcomes_of_nothing_have_no_share() -> None:
    assert Outcome(candidate=planted.candidate(planted.DEAD)).share == 0.0
