"""The results document as lines of JSON, written while a check goes on.

One record on each line: the header, the results in the order of their ids, the times, the end. A
file without its end was cut off, and is refused. Of the codes of :class:`ResultsProblem`,
``not_utf8``, ``not_json`` and ``bad_record`` are of one line; ``unsupported_format``,
``no_header``, ``no_end``, ``out_of_order`` and ``wrong_counts`` of how the lines stand together.
"""

import heapq
import json
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import IO, Annotated, Final, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from wayproof.conformance.report.results import (
    FORMAT,
    End,
    Entry,
    Header,
    Report,
    Times,
    end_of,
    entry_of,
    header_of,
)
from wayproof.conformance.report.summary import Summary
from wayproof.conformance.run.check import Begun, Check
from wayproof.conformance.run.verdict import Result, Verdict
from wayproof.conformance.vectors.format import Vector
from wayproof.conformance.vectors.writer import to_json

Record = Header | Entry | Times | End

_R = TypeVar("_R", Header, Entry, Times, End)

_TEXTS: Final = ("note", "trace", "replay", "message")
"""Fields of a result that are left out when they are empty."""


class ResultsProblem(Exception):
    """A results document that cannot be used: the code, one sentence, and the line."""

    def __init__(self, code: str, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.line = line
        self.file: Path | None = None

    def __str__(self) -> str:
        line = f"line {self.line}" if self.line else ""
        place = ", ".join(part for part in (str(self.file or ""), line) if part)
        return ": ".join(part for part in (place, self.code, self.message) if part)


class Recorder:
    """Writes the results of a check as they come, each as soon as all before it are written."""

    def __init__(self, file: IO[bytes] | None = None) -> None:
        self._file = file
        self.report: Report | None = None
        """The whole document, once it has ended."""
        self._header: Header | None = None
        self._entries: list[Entry] = []
        self._waiting: list[tuple[str, int, Entry]] = []
        """A heap of what has come before its turn."""
        self._expected: list[str] = []
        """The ids that have not come, the first one last."""
        self._arrived: set[str] = set()

    def begin(self, check: Check, begun: Begun) -> None:
        """Write the header."""
        self._expected = sorted(begun.ids, reverse=True)
        self._header = self._written(header_of(check, begun))

    def hear(self, result: Result, vector: Vector | None) -> None:
        """Write a result, and those that have waited for it; or let it wait."""
        assert self._header is not None
        entry = entry_of(result, vector, self._header.command)
        heapq.heappush(self._waiting, (entry.id, len(self._arrived), entry))
        self._arrived.add(entry.id)
        while self._expected and self._expected[-1] in self._arrived:
            self._expected.pop()
        while self._waiting and not (self._expected and self._expected[-1] < self._waiting[0][0]):
            self._release()

    def end(self, summary: Summary) -> None:
        """Write what still waits, the times and the end."""
        assert self._header is not None
        while self._waiting:
            self._release()
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        times = Times(finished=now, milliseconds=round(summary.seconds * 1000))
        self.report = Report(
            header=self._header,
            entries=tuple(self._entries),
            times=self._written(times),
            end=self._written(end_of(summary)),
        )

    def _release(self) -> None:
        self._entries.append(self._written(heapq.heappop(self._waiting)[2]))

    def _written(self, record: _R) -> _R:
        line = record_line(record)
        if self._file is not None:
            self._file.write(line)
            self._file.flush()
        # Read again, so that the formats are made from just what a reader of the file has.
        read = _parsed(line)
        assert isinstance(read, type(record))
        return read


def record_line(record: Record) -> bytes:
    """A record's line, ended by LF."""
    document = to_json(record)
    for text in _TEXTS:
        if document.get(text) == "":
            del document[text]
    line = json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return line.encode(errors="replace") + b"\n"  # half a surrogate pair is no character


def read_records(file: Path) -> Iterator[Record]:
    """The records of a file, one at a time.

    Raises:
        ResultsProblem: when it comes to what no results document holds there.
        OSError: if it cannot be read.
    """
    number = 0
    counts: Counter[Verdict] = Counter()
    previous: Record | None = None
    try:
        with file.open("rb") as lines:
            for number, line in enumerate(lines, start=1):  # noqa: B007 - the handler reports it
                record = _parsed(line)
                _check_place(record, previous)
                if isinstance(record, Entry):
                    counts[record.verdict] += 1
                elif isinstance(record, End) and record.counts != {v: counts[v] for v in Verdict}:
                    raise ResultsProblem("wrong_counts", "the end counts other results")
                yield record
                previous = record
        if not isinstance(previous, End):
            number += 1
            raise ResultsProblem("no_end", "the end is missing: the run was cut off")
    except ResultsProblem as problem:
        problem.file, problem.line = file, number
        raise


def read_report(file: Path) -> Report:
    """The whole document.

    Raises:
        ResultsProblem, OSError: see :func:`read_records`.
    """
    header: Header | None = None
    entries: list[Entry] = []
    times: Times | None = None
    end: End | None = None
    for record in read_records(file):
        if isinstance(record, Entry):
            entries.append(record)
        elif isinstance(record, Header):
            header = record
        elif isinstance(record, Times):
            times = record
        else:
            end = record
    assert header and times and end, "read_records has seen them"
    return Report(header=header, entries=tuple(entries), times=times, end=end)


def _check_place(record: Record, previous: Record | None) -> None:
    if previous is None:
        if not isinstance(record, Header):
            raise ResultsProblem("no_header", "the first record is the header")
        return
    ordered = {
        Header: False,
        Entry: isinstance(previous, Header)
        or (isinstance(record, Entry) and isinstance(previous, Entry) and previous.id < record.id),
        Times: isinstance(previous, Header | Entry),
        End: isinstance(previous, Times),
    }[type(record)]
    if not ordered:
        raise ResultsProblem(
            "out_of_order", "a header, results by ascending id, the times and the end; each once"
        )


def _parsed(line: bytes) -> Record:
    try:
        document = json.loads(line.decode())
    except UnicodeError:
        raise ResultsProblem("not_utf8", "not all of it is UTF-8") from None
    except (ValueError, RecursionError):
        raise ResultsProblem("not_json", "the line is no JSON value, or is cut off") from None
    told = document.get("format", FORMAT) if isinstance(document, dict) else FORMAT
    if told != FORMAT:
        raise ResultsProblem("unsupported_format", f"{FORMAT} is read, not {told!r}")
    try:
        return _adapter().validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = "".join(f"/{part}" for part in first["loc"])
        raise ResultsProblem("bad_record", f"{place or '/'}: {first['msg']}") from None


@cache
def _adapter() -> TypeAdapter[Record]:
    return TypeAdapter(Annotated[Record, Field(discriminator="record")])
