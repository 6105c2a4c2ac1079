"""The report of a second run: ``-p tests.again`` names the tests that pass now though they failed before. It makes no run green."""

from __future__ import annotations

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    broken = {report.nodeid for report in terminalreporter.getreports("error")}
    for report in terminalreporter.getreports("passed"):
        if report.when == "call" and report.nodeid not in broken:
            terminalreporter.write_line(f"passed only when run again: {report.nodeid}")
