"""Who writes the redo."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.native_pair import IS_NATIVE
from tests.unit.capture.logminer.redo import Miner, Redo, xid

from minercdc.capture.logminer.buffer.assembler import Pass
from minercdc.capture.logminer.buffer.committed import CommittedAssembly
from minercdc.capture.logminer.logs.redo_logs import LogFile
from minercdc.capture.logminer.position import RedoAddress
from minercdc.capture.logminer.session.measuring import read_through
from minercdc.stream.counters.redo import OTHERS, RedoWritten


@pytest.mark.parametrize(
    "native", [False, pytest.param(True, marks=pytest.mark.skipif(not IS_NATIVE, reason="no extension"))]
)
def test_rows_and_bytes_are_counted_per_table_once(tmp_path: Path, native: bool) -> None:
    redo, one = Redo(), xid(1)
    redo.start(one)
    redo.insert(one, 1)
    redo.dml(1, one, 'insert into "OUT"."NOISE"("A") values (\'ж\')', owner="OUT", table="NOISE")
    redo.dml(1, one, 'insert into "OUT"."NOISE"("A") values (\'x\')', owner="OUT", table="NOISE")
    redo.undo_insert(one, 1)
    redo.commit(one)
    miner = Miner(tmp_path, runs=native)
    miner.read(redo.rows)
    counted, captured = miner.assembly.counted()
    texts: dict[str, list[str]] = {"ITEM": [], "NOISE": []}
    for row in redo.rows:
        if row.table in texts:
            texts[row.table].append(row.sql or "")
    found: dict[str, tuple[int, int]] = {}
    for _, table, rows, size in counted:
        before = found.get(str(table), (0, 0))
        found[str(table)] = before[0] + rows, before[1] + size
    assert found == {table: (len(sql), sum(len(text.encode()) for text in sql)) for table, sql in texts.items()}
    assert captured == {("LAB", "ITEM")}
    miner.read(redo.rows)
    assert miner.assembly.counted()[0] == [], "a pass that reads them again counts nothing"


def test_transactions_that_logminer_shows_again_are_counted_once(tmp_path: Path) -> None:
    redo = Redo()
    for number in (1, 2):
        redo.start(xid(number))
        redo.insert(xid(number), number)
        redo.dml(1, xid(number), "insert into x", owner="OUT", table="NOISE")
        redo.commit(xid(number))
    miner = Miner(tmp_path, assembly=CommittedAssembly, runs=False)
    begun = Pass((LogFile("log", 1, 1, 0, 1 << 60),), {})
    miner.read(redo.rows[:5], begun)
    assert rows_of(miner) == {"ITEM": 1, "NOISE": 1}, "the second has no COMMIT yet"
    miner.read(redo.rows, begun)
    assert rows_of(miner) == {"ITEM": 1, "NOISE": 1}, "the second only"
    miner.read(redo.rows, begun)
    assert rows_of(miner) == {}


def rows_of(miner: Miner) -> dict[str, int]:
    return {str(table): rows for _, table, rows, _ in miner.assembly.counted()[0]}


def test_many_tables_are_counted_together_but_captured_ones_apart() -> None:
    written = RedoWritten()
    written.add([("S", f"T{number}", 1, 10) for number in range(1500)], frozenset())
    written.add([("S", "OURS", 1, 7)], frozenset({("S", "OURS")}))
    tables = {(one.schema, one.table): one for one in written.tables()}
    assert len(tables) == 1002
    assert tables[OTHERS, OTHERS].rows == 500
    assert (tables["S", "OURS"].captured, tables["S", "OURS"].bytes) == (True, 7)
    assert sum(one.rows for one in tables.values()) == 1501


def test_redo_read_through_is_the_distance_of_the_marks() -> None:
    files = tuple(LogFile(f"log{number}", 1, number, 0, 0, bytes=10_000) for number in (5, 6, 7))
    at = {1: RedoAddress("0x000005.00000002.0010")}
    assert read_through(at, {1: RedoAddress("0x000005.00000004.0000")}, files) == 2 * 512 - 16
    assert read_through(at, {1: RedoAddress("0x000007.00000001.0000")}, files) == 2 * 10_000 - (2 * 512 + 16) + 512
    assert read_through(at, at, files) == 0
    assert read_through({}, at, files) == 0, "the first mark is no distance"
