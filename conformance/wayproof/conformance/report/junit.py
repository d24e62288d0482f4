"""The results as JUnit XML, as GitHub, GitLab and Jenkins read it.

One suite for each family and topic. A declared failure is skipped, so that it does not make the
build red; a declaration that has become stale is a failure. Times stand on the root alone.
"""

from itertools import groupby
from typing import Final
from xml.etree import ElementTree

from wayproof.conformance.report.results import Entry, Report
from wayproof.conformance.report.text import writable
from wayproof.conformance.run.verdict import Verdict

_TAGS: Final = {
    Verdict.FAIL: "failure",
    Verdict.STALE_KNOWN: "failure",
    Verdict.UNDECIDED: "error",
    Verdict.HARNESS_FAULT: "error",
    Verdict.KNOWN_FAIL: "skipped",
    Verdict.NOT_APPLICABLE: "skipped",
}
_COUNTS: Final = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def junit_document(report: Report) -> bytes:
    """The XML, in UTF-8."""
    root = ElementTree.Element("testsuites", name=writable(report.end.conclusion))
    _count(root, report.entries)
    root.set("time", f"{report.times.milliseconds / 1000:.3f}")
    for topic, entries in groupby(report.entries, key=lambda entry: entry.topic):
        root.append(_suite(topic, tuple(entries)))
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _suite(topic: str, entries: tuple[Entry, ...]) -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", name=writable(topic))
    _count(suite, entries)
    for entry in entries:
        names = {"classname": topic.replace("/", "."), "name": entry.id}
        case = ElementTree.SubElement(suite, "testcase", {k: writable(v) for k, v in names.items()})
        if entry.verdict in _TAGS:
            told = ElementTree.SubElement(case, _TAGS[entry.verdict])
            told.set("type", entry.divergence.kind if entry.divergence else str(entry.verdict))
            told.set("message", writable(_in_short(entry)))
            if _TAGS[entry.verdict] != "skipped":
                told.text = writable(entry.message)
    return suite


def _in_short(entry: Entry) -> str:
    if entry.note:
        return f"{entry.verdict}: {entry.note}"
    if entry.divergence is None:
        return str(entry.verdict)
    step, action = entry.divergence.step + 1, entry.divergence.action
    return f"{', '.join(entry.divergence.clauses)}: step {step}, {action}"


def _count(element: ElementTree.Element, entries: tuple[Entry, ...]) -> None:
    tags = [_TAGS.get(entry.verdict) for entry in entries]
    element.set("tests", str(len(entries)))
    for name, tag in _COUNTS.items():
        element.set(name, str(tags.count(tag)))
