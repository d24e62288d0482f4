from collections.abc import Generator

import pytest

NOT_RUN = "NOT RUN: "
"""How the reason of a skip begins that leaves something unchecked on this machine."""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(
    terminalreporter: "pytest.TerminalReporter",
) -> Generator[None, None, None]:
    """Say last, where it is seen, what this machine could not check."""
    yield
    for reason in sorted(set(not_run(terminalreporter.stats.get("skipped", [])))):
        terminalreporter.write_line(reason, red=True, bold=True)


def not_run(reports: list[pytest.TestReport]) -> Generator[str, None, None]:
    """What the skipped tests say that was not run."""
    for report in reports:
        if isinstance(report.longrepr, tuple):
            _, marker, reason = report.longrepr[2].partition(NOT_RUN)
            if marker:
                yield marker + reason
