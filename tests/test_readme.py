"""What the README shows is what the repository holds."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FRESH = 200


def test_the_verdict_counts_the_vectors_that_are_there() -> None:
    manifest = json.loads((ROOT / "conformance/vectors/journey/manifest.json").read_bytes())
    shown = re.search(r"^(\d+) vectors, \d+ commands in", README, re.MULTILINE)
    assert shown is not None
    assert int(shown[1]) == manifest["vectors"] + FRESH
    assert f"of these {FRESH} fresh" in README


def test_every_command_that_it_names_is_there() -> None:
    from wayproof.conformance.cli import COMMANDS  # noqa: PLC0415 - the text comes first

    named = set(re.findall(r"`wayproof (\w+)", README))
    assert named >= {"check", "explain", "matrix"} and named <= set(COMMANDS)


def test_every_file_that_it_points_to_is_there() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


def test_every_make_target_that_it_names_is_there() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"`make ([a-z]+)`", README)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
