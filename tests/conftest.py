"""Fixtures live in plugins, one per server."""

import os
import sys

import pytest
from hypothesis import settings
from tests.examples import examples

pytest_plugins = [
    "tests.fixtures.fix_containers",
    "tests.fixtures.fix_kafka",
    "tests.fixtures.fix_sandbox",
    "tests.fixtures.fix_spark",
]

settings.register_profile(
    "minercdc", max_examples=examples(100), deadline=None
)  # a busy machine decides no test; pytest's timeout ends one that hangs
settings.load_profile("minercdc")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Print a failure when it happens: a run that its time limit cuts off has no summary."""
    if report.failed and os.environ.get("CI") and "PYTEST_XDIST_WORKER" not in os.environ:
        print(
            f"\n{report.nodeid} failed in {report.when} after {report.duration:.0f} s\n{report.longreprtext}",
            file=sys.stderr,
        )
