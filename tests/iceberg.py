"""The lake's tests on Iceberg: ``-p tests.iceberg``, in a Python whose PySpark has an Iceberg (`make test-all PART=iceberg`).

A test of Delta's own, or of readers of Delta, is left out; each entry is the beginning of test ids, with the reason.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import pytest

os.environ["MINERCDC_LAKE_FORMAT"] = "iceberg"

DELTA_ONLY: Mapping[str, str] = {
    "tests/spark/test_lake.py::test_a_session_that_is_not_ours_reads_deltas_logs": "a setting of Delta",
    "tests/spark/test_lake_ddl.py::test_a_log_without_a_commit_is_no_table": "a directory of Delta's log that a kill left",
    "tests/spark/test_lake_kill.py::test_a_lake_that_is_killed_at_any_step": "copies a lake: Iceberg's metadata names files by their whole paths",
    "tests/spark/test_lake_maintenance.py::test_optimize_and_vacuum_by_hand": "statements of Delta",
    "tests/spark/test_lake_scanned.py": "compiled code beside SQL, which no format changes, and how PyArrow appends to Delta's log",
    "tests/spark/test_lake_features.py": "table features of Delta, and its readers",
    "tests/spark/test_lake_segments.py": "Spark before 4.2 reads no segments, and there is no Iceberg for 4.2",
    "tests/spark/test_lake_maintenance.py::test_tables_are_clustered": "reads Delta's own description of the clustering",
}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is Delta's alone."""
    left_out = [item for item in items if item.nodeid.startswith(tuple(DELTA_ONLY))]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
