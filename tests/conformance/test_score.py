from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import ValidationError
from tests.conformance import planted, stories

from wayproof.conformance.mutants import score
from wayproof.conformance.mutants.catalogue import Candidate, candidates_of
from wayproof.conformance.mutants.run import Game, Kill, in_order, play_games
from wayproof.conformance.mutants.score import (
    SCORE_FILE,
    Score,
    problems_of,
    read_score,
    score_of,
    write_score,
)
from wayproof.conformance.mutants.serving import (
    Service,
    clauses_to_serve,
    closeness_of,
    serve,
)
from wayproof.conformance.report.mutants import serving_document
from wayproof.conformance.vectors import VECTORS
from wayproof.conformance.vectors.suite import read_suite
from wayproof.spec.journey.clauses import clauses

REFUSES = planted.candidate(planted.REFUSES)
NEVER_BEGINS = planted.candidate(replace(planted.NEVER_BEGINS, clauses=("lifecycle-01",)))
DEAD = planted.candidate(planted.DEAD)
RAISES = planted.candidate(planted.RAISES)
GENERATED = replace(REFUSES, name="generated-refuses", set="generated")
CLOSE = Service(mutant="refuses", vector="hand/reserved/0001", closeness="step")


def served(*candidates: Candidate, clause: str = "reservation-01") -> Service | None:
    return serve([clause], candidates, stories.STORIES).served.get(clause)


# Serving


def test_a_clause_is_served_by_a_failure_at_a_step_about_it() -> None:
    assert served(REFUSES) == CLOSE


def test_a_clause_that_nothing_fails_for_is_not_served() -> None:
    serving = serve(["reservation-01", "lease-02"], [DEAD, RAISES], stories.STORIES)
    assert serving.served == {}
    assert serving.unserved == {"reservation-01": ("dead", "raises"), "lease-02": ()}
    assert serving_document(serving)["unserved"]["lease-02"] == []


def test_an_excused_mutant_serves_nothing() -> None:
    assert served(replace(REFUSES, excuse="It is not so bad.")) is None


def test_a_mutant_made_for_the_clause_comes_first_and_a_generated_one_last() -> None:
    also = replace(REFUSES, name="also", clauses=("lease-02", "reservation-01"))
    for order in ([GENERATED, also, REFUSES], [REFUSES, also, GENERATED]):
        assert served(*order) == CLOSE
        assert served(*(c for c in order if c is not REFUSES)) == replace(CLOSE, mutant="also")
    assert served(GENERATED) == replace(CLOSE, mutant="generated-refuses")


def test_another_step_of_the_vector_serves_loosely() -> None:
    never = replace(NEVER_BEGINS, name="never", clauses=("reservation-01",))
    assert served(never) == Service(mutant="never", vector="hand/reserved/0001", closeness="vector")
    assert served(never, GENERATED) == replace(CLOSE, mutant="generated-refuses")


def test_only_a_divergence_serves() -> None:
    kill = Kill(vector="hand/reserved/0001", how="fault", step=3, clauses=("reservation-01",))
    assert closeness_of(kill, "reservation-01", stories.RESERVED) is None
    told = replace(kill, how="fail")
    assert closeness_of(told, "reservation-01", stories.RESERVED) == "step"
    by_tag = replace(told, clauses=("observe-12",))
    assert closeness_of(by_tag, "reservation-01", stories.RESERVED) == "step"
    elsewhere = replace(by_tag, step=0)
    assert closeness_of(elsewhere, "reservation-01", stories.RESERVED) == "vector"
    assert closeness_of(elsewhere, "lease-02", stories.RESERVED) is None


def test_what_has_to_be_served() -> None:
    register = clauses()
    wanted = clauses_to_serve()
    assert len(wanted) > 100
    for clause in register.values():
        judged = clause.observability == "black_box" and clause.status == "active"
        assert (clause.id in wanted) is judged


# The score

MUTANTS = [REFUSES, NEVER_BEGINS, DEAD, GENERATED]


@pytest.fixture(scope="module")
def made() -> Score:
    games = [Game(candidate=c, vectors=in_order(c, stories.STORIES)) for c in MUTANTS]
    return score_of(play_games(games), serve(clauses_to_serve(), MUTANTS, stories.STORIES))


def test_what_a_score_holds(made: Score) -> None:
    assert made.sets["named"] == score.SetScore(killed=2, total=3, excused=0)
    assert made.sets["generated"] == score.SetScore(killed=1, total=1, excused=0)
    assert made.survivors == ("dead",)
    assert set(made.kills) == {"refuses", "never-begins"}
    assert made.kills["refuses"] == "hand/reserved/0001"
    assert made.served["reservation-01"] == ("refuses", "hand/reserved/0001")
    assert set(made.served) == {"reservation-01", "lifecycle-01"}
    assert {*made.served, *made.unserved} == set(clauses_to_serve())


def test_a_score_without_a_verdict_is_none() -> None:
    lost = planted.candidate(replace(planted.DEAD, edits=()))
    with pytest.raises(ValueError, match="edits nothing"):
        score_of(play_games([Game(candidate=lost, vectors=stories.STORIES)]), serve([], [], []))


def test_a_score_is_written_and_read(made: Score, tmp_path: Path) -> None:
    file = tmp_path / "mutants" / "score.json"
    write_score(made, file)
    first = file.read_bytes()
    assert read_score(file) == made
    write_score(read_score(file), file)
    assert file.read_bytes() == first
    file.write_bytes(first.replace(b'"killed"', b'"kiled"'))
    with pytest.raises(ValidationError):
        read_score(file)


def problems(told: Score, mutants: list[Candidate] | None = None) -> list[str]:
    return problems_of(told, MUTANTS if mutants is None else mutants, stories.STORIES, jobs=2)


def test_a_true_score_has_no_problems(made: Score) -> None:
    assert problems(made) == []


def test_every_untrue_word_of_a_score_is_found(made: Score) -> None:
    never = "hand/foreign/0001"
    nowhere = {**made.served, "reservation-01": ("refuses", never)}
    for untrue, told in (
        (replace(made, kills={**made.kills, "refuses": never}), f"{never} does not kill refuses"),
        (replace(made, kills={"never-begins": "hand/whole/0001"}), "does not tell of refuses"),
        (replace(made, kills={**made.kills, "gone": never}), "there is no mutant gone"),
        (replace(made, kills={**made.kills, "refuses": "a/b/0001"}), "no vector a/b/0001"),
        (replace(made, survivors=()), "does not tell of dead"),
        (replace(made, served=nowhere), f"reservation-01 is not served by refuses and {never}"),
        (replace(made, loosely_served=("reservation-01",)), "reservation-01 is not served by"),
        (replace(made, unserved=made.unserved[1:]), f"the clause {made.unserved[0]} is in"),
    ):
        assert any(told in problem for problem in problems(untrue)), told
    broken = planted.candidate(replace(planted.REFUSES, edits=()))
    assert "mutant refuses edits nothing" in problems(made, [broken, *MUTANTS[1:]])


@pytest.mark.slow
def test_the_committed_score_holds() -> None:
    if not SCORE_FILE.is_file():
        pytest.skip("NOT CHECKED: NO SCORE IS COMMITTED YET (wayproof mutants --write-score)")
    suite = read_suite(VECTORS / "journey")
    assert problems_of(read_score(SCORE_FILE), candidates_of(), suite, jobs=2) == []
