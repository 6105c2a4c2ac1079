"""What ends the use of compiled code in merges, and for which tables."""

from __future__ import annotations

import pytest

from minercdc.lake.merge.compiled import CompiledReads
from minercdc.lake.merge.latest import FEW_ROWS
from minercdc.native.decoding import decode

pytestmark = pytest.mark.skipif(decode is None, reason="the extension was not built")

OF_SPARK = (
    "Job aborted due to stage failure: Task 0 in stage 7.0 failed 1 times: org.apache.spark.api.python.PythonException: Traceback "
    '(most recent call last):\n  File "worker.py", line 1, in main\n{}\n\tat org.apache.spark.api.python.BasePythonRunner.run'
)


def test_few_records_are_decoded_in_sql() -> None:
    reads = CompiledReads()
    assert [reads.takes("S.T", rows) for rows in (FEW_ROWS - 1, FEW_ROWS)] == [False, True]


def test_a_record_that_is_left_ends_it_for_its_table() -> None:
    reads = CompiledReads()
    left = RuntimeError(OF_SPARK.format("minercdc.lake.read.native_columns.RecordLeft: record 3 of 9"))
    assert reads.goes_on(left, "S.T")
    assert [reads.takes(table, FEW_ROWS) for table in ("S.T", "S.OTHER")] == [False, True]


def test_workers_without_the_code_end_it_for_all_tables(caplog: pytest.LogCaptureFixture) -> None:
    reads = CompiledReads()
    missing = "ModuleNotFoundError: No module named 'minercdc'"
    assert reads.goes_on(RuntimeError(OF_SPARK.format(missing)), "S.T")
    assert not reads.takes("S.OTHER", FEW_ROWS)
    assert missing in caplog.text


def test_an_error_of_another_kind_is_the_merges_own() -> None:
    reads = CompiledReads()
    assert not reads.goes_on(RuntimeError("DELTA_CONCURRENT_APPEND"), "S.T")
    assert reads.takes("S.T", FEW_ROWS)
