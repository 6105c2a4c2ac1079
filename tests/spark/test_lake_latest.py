"""The last change of each row, however many changes there are."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from minercdc.lake.merge.latest import FEW_ROWS, latest_records
from minercdc.lake.read.homes import homes
from minercdc.lake.read.native_columns import ReadPlan, read_batches
from minercdc.native.decoding import decode

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_COLUMNS = (
    "batch BIGINT, partition INT, offset BIGINT, key STRING, value STRING, op STRING, scn BIGINT, commit_scn BIGINT, seq BIGINT,"
    " commit_time TIMESTAMP, row_id STRING"
)
IMAGES = '{"before":null,"after":null}'
ORDERED = ("op", "commit_scn", "seq", "row_id", "offset")


@pytest.mark.parametrize("count", [1, FEW_ROWS, 10**6 + 1])
def test_the_last_record_of_each_key_is_taken_by_commit_scn_and_number(spark: SparkSession, count: int) -> None:
    """Each way of finding them, chosen by `count`."""
    chance = random.Random(5)
    rows = []
    for offset in range(300):
        key, commit = chance.randrange(40), chance.randrange(60)
        rows.append((1, 0, offset, f'{{"ID":{key}}}', f"v{offset}", "u", commit, commit, offset, None, f"R{key}"))
    last: dict[str, tuple[int, int, str]] = {}
    for row in rows:
        last[row[3]] = max(last.get(row[3], (-1, -1, "")), (row[7], row[8], row[4]))
    chance.shuffle(rows)
    found = latest_records(spark.createDataFrame(rows, _COLUMNS), ["key"], unplaced=False, count=count).collect()
    assert sorted((r["key"], r["value"]) for r in found) == sorted((key, value) for key, (_, _, value) in last.items())


@pytest.mark.parametrize("ends", ["d", "c"])
def test_without_a_key_the_last_change_of_a_rowid_counts(spark: SparkSession, ends: str) -> None:
    """A row that was inserted and deleted in one transaction is gone; one that takes the ROWID of a deleted one is there."""
    first = "c" if ends == "d" else "d"
    rows = [(1, 0, n, None, f"v{n}", op, 7, 9, n, None, "R1") for n, op in enumerate((first, ends))]
    (found,) = latest_records(spark.createDataFrame(rows, _COLUMNS), ["row_id"], unplaced=False, count=2).collect()
    assert (found["op"], found["value"]) == (ends, "v1")


@pytest.mark.skipif(decode is None, reason="the extension was not built")
@pytest.mark.parametrize("seed", range(3))
def test_compiled_code_finds_the_last_change_of_rows_without_a_rowid(spark: SparkSession, seed: int) -> None:
    """Which ones are of one row, by the ROWIDs of the others; two rows may have had one key."""
    chance, rows = random.Random(seed), []
    for offset in range(240):
        key, scn, seq = chance.randrange(40), chance.randrange(3), chance.randrange(3)
        row_id = chance.choice([None, None, f"R{key}", f"Q{key}"])
        rows.append((1, 0, offset, f'{{"ID":{key}}}', IMAGES, chance.choice("cud"), scn, scn, seq, None, row_id))
    found = latest_records(spark.createDataFrame(rows, _COLUMNS), ["key"], unplaced=True, count=len(rows)).collect()
    batches = list(batches_of(rows, 50))
    plan = ReadPlan((), (), value_wrapped=False, key_wrapped=False, before=False)
    parts = read_batches(plan, ORDERED, "key", iter(batches), homes(batches))
    here = [offset for part in parts for offset in part.column("offset").to_pylist()]
    assert sorted(here) == sorted(row["offset"] for row in found)


def batches_of(rows: list[tuple[Any, ...]], size: int) -> Iterator[pa.RecordBatch]:
    names = [column.split()[0] for column in _COLUMNS.split(", ")]
    for at in range(0, len(rows), size):
        columns = dict(zip(names, zip(*rows[at : at + size], strict=True), strict=True))
        kinds = {name: pa.string() if name in ("key", "value", "op", "row_id") else pa.int64() for name in names}
        yield pa.RecordBatch.from_pydict({name: pa.array(columns[name], kind) for name, kind in kinds.items()})
