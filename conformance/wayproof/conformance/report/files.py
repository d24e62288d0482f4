"""Writing the formats that people and other programs read from one results document."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from wayproof.conformance.report.html import html_document
from wayproof.conformance.report.junit import junit_document
from wayproof.conformance.report.markdown import markdown_document
from wayproof.conformance.report.ndjson import Recorder
from wayproof.conformance.report.results import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """Where each format is written; None where it is not wanted."""

    ndjson: Path | None = None
    html: Path | None = None
    junit: Path | None = None
    markdown: Path | None = None


class UnwritableError(Exception):
    """A file that cannot be written; the message says which and why."""


@contextmanager
def recording(files: Files) -> Iterator[Recorder | None]:
    """What listens to a check for these files; None if none is wanted.

    The results are written as they come, the others at the end, if the recorder was told of one.

    Raises:
        UnwritableError: at once if a file cannot be written, so that no run is in vain.
    """
    made = [file for file in (files.html, files.junit, files.markdown) if file is not None]
    if files.ndjson is None and not made:
        yield None
        return
    with ExitStack() as stack:
        try:
            for file in made:
                file.open("ab").close()
            lines = None if files.ndjson is None else stack.enter_context(files.ndjson.open("wb"))
        except OSError as error:
            raise UnwritableError(str(error)) from error
        recorder = Recorder(lines)
        yield recorder
        if recorder.report is not None:
            write_files(recorder.report, files)


def write_files(report: Report, files: Files) -> None:
    """Write what is wanted of a document. What stood there is replaced.

    Raises:
        UnwritableError: if a file cannot be written.
    """
    try:
        if files.html is not None:
            files.html.write_bytes(html_document(report).encode())
        if files.junit is not None:
            files.junit.write_bytes(junit_document(report))
        if files.markdown is not None:
            files.markdown.write_bytes(markdown_document(report).encode())
    except OSError as error:
        raise UnwritableError(str(error)) from error
