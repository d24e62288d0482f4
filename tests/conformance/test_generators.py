"""Generated files are up to date, the same on every machine, and a stale one is found."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from wayproof.conformance import progress
from wayproof.conformance.commands.generate import generate
from wayproof.conformance.progress import Progress
from wayproof.conformance.publish import generators
from wayproof.conformance.publish.docstrings import attribute_docstrings
from wayproof.conformance.publish.generators import Generator, stale_files, write_files
from wayproof.conformance.publish.pages import page_files
from wayproof.conformance.publish.schemas import SCHEMA_FOLDER, schema_files
from wayproof.spec.journey import refusals
from wayproof.spec.journey.operations import OPERATIONS
from wayproof.spec.journey.refusals import PRECEDENCE, RefusalCode

ROOT = Path(__file__).parents[2]
FILES = schema_files() | page_files()


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which one generator writes two small files."""

    def files(progress: Progress) -> dict[Path, bytes]:
        progress("making small files", 1, 2)
        return {Path("made/a.txt"): b"a\n", Path("made/deep/b.txt"): b"b\n"}

    small = Generator(name="small", files=files, folders=(Path("made"),))
    monkeypatch.setattr(generators, "GENERATORS", [small])
    (tmp_path / "spec").mkdir()
    return tmp_path


def run(*arguments: str) -> tuple[int, str]:
    application = typer.Typer()
    application.command()(generate)
    result = CliRunner().invoke(application, arguments)
    return result.exit_code, result.output


@pytest.mark.parametrize("path", FILES, ids=str)
def test_the_committed_file_is_what_would_be_written_today(path: Path) -> None:
    assert (ROOT / path).read_bytes() == FILES[path]


def test_no_schema_is_left_over() -> None:
    on_disk = {path.relative_to(ROOT) for path in (ROOT / SCHEMA_FOLDER).rglob("*.json")}
    assert on_disk == {path for path in FILES if path.suffix == ".json"}


def test_what_is_written_does_not_depend_on_the_order_of_sets() -> None:
    program = (
        "import hashlib, wayproof.conformance.publish.generators as g;"
        "f = g.schema_files() | g.page_files();"
        "print(hashlib.sha256(repr(sorted(f.items())).encode()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(digests) == 1


def test_writing_makes_everything_up_to_date(checkout: Path) -> None:
    assert stale_files(checkout) == [Path("made/a.txt"), Path("made/deep/b.txt")]
    assert write_files(checkout) == [Path("made/a.txt"), Path("made/deep/b.txt")]
    assert stale_files(checkout) == []
    assert write_files(checkout) == []


def test_an_edited_file_is_stale(checkout: Path) -> None:
    write_files(checkout)
    (checkout / "made/a.txt").write_bytes(b"a\r\n")
    assert stale_files(checkout) == [Path("made/a.txt")]


def test_a_file_that_nobody_writes_is_stale_and_removed(checkout: Path) -> None:
    write_files(checkout)
    (checkout / "made/old.txt").write_text("old")
    assert stale_files(checkout) == [Path("made/old.txt")]
    write_files(checkout)
    assert not (checkout / "made/old.txt").exists()


def test_two_generators_of_one_file_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Generator(name="one", files=lambda _: {Path("a"): b""})
    monkeypatch.setattr(generators, "GENERATORS", [one, one])
    with pytest.raises(ValueError, match="another generator"):
        generators.generated_files()


def test_the_command_writes_and_then_finds_nothing_stale(checkout: Path) -> None:
    assert run("--check", "--root", str(checkout))[0] == 1
    status, output = run("--root", str(checkout))
    assert status == 0
    assert "written: made/a.txt" in output
    status, output = run("--check", "--root", str(checkout))
    assert (status, output) == (0, "Every generated file is up to date.\n")


def test_the_generators_run_once_and_tell_how_far_they_are(checkout: Path) -> None:
    told: list[tuple[object, ...]] = []
    write_files(checkout, lambda *progress: told.append(progress))
    assert told == [("making small", 0), ("making small files", 1, 2)]


def test_the_command_tells_how_far_it_is(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SECONDS_BEFORE_PLAIN_LINES", 0)
    application = typer.Typer()
    application.command()(generate)
    result = CliRunner().invoke(application, ["--root", str(checkout)])
    assert result.stderr == "making small: 0, 0 s\n"
    assert "written: made/a.txt" in result.stdout


def test_the_command_lists_what_is_stale_and_writes_nothing(checkout: Path) -> None:
    write_files(checkout)
    (checkout / "made/deep/b.txt").unlink()
    status, output = run("--check", "--root", str(checkout))
    assert status == 1
    assert "stale: made/deep/b.txt" in output
    assert not (checkout / "made/deep/b.txt").exists()


def test_the_command_refuses_a_folder_that_is_no_checkout(tmp_path: Path) -> None:
    status, output = run("--root", str(tmp_path))
    assert status == 2
    assert "no checkout" in output
    assert list(tmp_path.iterdir()) == []


def test_the_ladder_that_is_drawn_is_the_ladder() -> None:
    drawn = re.findall(r"[├└]── (\w+_\w+|fenced)\b", refusals.__doc__ or "")
    assert drawn == [code.value for code in PRECEDENCE]


def test_every_refusal_says_what_it_means() -> None:
    assert attribute_docstrings(RefusalCode).keys() == RefusalCode.__members__.keys()


@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_page_has_every_operation_with_its_fields_and_refusals(operation: str) -> None:
    page = FILES[Path("docs/operations.md")].decode()
    section = page.partition(f"\n### {operation}\n")[2].partition("\n### ")[0]
    request = FILES[SCHEMA_FOLDER / f"requests/{operation}.json"].decode()
    for refusal in OPERATIONS[operation].refusals:
        assert f"`{refusal}`" in section
    for name in re.findall(r'^    "(\w+)": \{$', request, re.MULTILINE):
        if name not in ("Identifier", "Reference", "Moment") and name.islower():
            assert f"| `{name}` |" in section
