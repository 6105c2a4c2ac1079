"""What an older PySpark than ours needs in tests: ``-p tests.older_spark``."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """PySpark 4.1 leaves sockets to Python's garbage collection; 3.5 asks for pandas' version by a module that Python 3.11 deprecates."""
    config.addinivalue_line("filterwarnings", "ignore::pytest.PytestUnraisableExceptionWarning")
    config.addinivalue_line("filterwarnings", "ignore:unclosed:ResourceWarning")
    config.addinivalue_line("filterwarnings", "ignore:distutils Version classes are deprecated:DeprecationWarning")
