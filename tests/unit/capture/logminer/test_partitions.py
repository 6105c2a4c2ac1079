"""Rows of partitions that are gone when redo is read: LogMiner names them `OBJ# n`, and n says whose they are, or it is said loudly."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.capture.logminer.redo import ITEM, ITEM_ID, NOON, A, B, C, Dictionary, Miner, Redo, changes, schema_changes

from minercdc.capture.logminer.buffered import BufferedAssembly
from minercdc.capture.logminer.committed import CommittedAssembly
from minercdc.capture.logminer.passes import Assembly
from minercdc.capture.logminer.row import OpCode
from minercdc.errors import UnplacedRowError
from minercdc.events import Event, UndecodableRow
from minercdc.kafka.table_changes import remembered, table_of
from minercdc.schema.table import Key, TableId

KEYS = (Key("P", ("ID",), "PK", deferrable=True), Key("I", ("QTY",), "I1", enabled=False))
PARTED = replace(ITEM, stored=("ID", "QTY"), parts=frozenset([101, 102]), keys=KEYS)
LEDGER = replace(PARTED, id=TableId("DB", "LAB", "LEDGER"), object_id=88, parts=frozenset([111]))
PLAIN = replace(ITEM, id=TableId("DB", "LAB", "PLAIN"), object_id=89)


Assembled = Callable[..., Assembly]
both_modes = pytest.mark.parametrize("assembly", [BufferedAssembly, CommittedAssembly])
GONE = {"status": 2, "info": "Dictionary Mismatch"}


def gone(redo: Redo, transaction: bytes, key: str, object_id: int, columns: str = '"COL 1","COL 2"') -> None:
    """An INSERT of a row whose object the dictionary does not have any more."""
    values = ",".join([f"HEXTORAW('{key}')"] * (columns.count(",") + 1))
    sql = f'insert into "UNKNOWN"."OBJ# {object_id}"({columns}) values ({values});'
    names = {"owner": "UNKNOWN", "table": f"OBJ# {object_id}", "object_id": object_id}
    redo.dml(OpCode.INSERT, transaction, sql, row_id=f"r{key}", **names, **GONE)


def unplaced(events: Iterable[Event]) -> list[tuple[str, str]]:
    return [(str(event.table), event.code) for event in events if isinstance(event, UndecodableRow)]


@both_modes
def test_rows_of_partitions_that_went_belong_to_their_table(tmp_path: Path, assembly: Assembled) -> None:
    redo = Redo()
    redo.start(A)
    gone(redo, A, "c102", 101)
    redo.insert(A, 2, object_id=102)
    nameless = """delete from "UNKNOWN"."OBJ# 102" where "COL 1" = HEXTORAW('c104')"""
    redo.row(OpCode.DELETE, A, nameless, object_id=102, row_id="x", **GONE)
    redo.commit(A)
    miner = Miner(tmp_path, tables=[PARTED], assembly=assembly)
    assert changes(miner.read(redo.rows)) == [("c", "1"), ("c", "2"), ("d", "3")]


@both_modes
def test_ids_become_known_by_a_start_by_a_row_and_by_ddl(tmp_path: Path, assembly: Assembled) -> None:
    """The history keeps them: each time they are in a change that is no message, or in that of the DDL."""
    dictionary = Dictionary({ITEM_ID: [102, 103], LEDGER.id: [111]})
    miner = Miner(tmp_path, tables=[PARTED, LEDGER], assembly=assembly, ids=dictionary)
    (start,) = miner.shapes.begin(5, 0)
    assert (start.ids_only, start.scn, start.after) == (True, 5, PARTED)
    redo = Redo()
    redo.start(A)
    dictionary.present[ITEM_ID] = [103, 104]
    redo.insert(A, 1, object_id=104)
    redo.commit(A)
    (met,) = schema_changes(miner.read(redo.rows))
    redo = Redo(scn=200, block=50)
    dictionary.present[ITEM_ID] = [105, 106]
    redo.ddl(B, "alter table item split partition p at (5) into (partition a, partition b)")
    redo.start(C)
    for number, object_id in enumerate((101, 103, 104, 105), 3):
        gone(redo, C, f"c10{number}", object_id)
    redo.commit(C)
    events = miner.read(redo.rows)
    (split,) = schema_changes(events)
    assert [change.ids_only for change in (met, split)] == [True, False]
    ids = [sorted(change.after.parts or ()) for change in (start, met, split) if change.after]
    assert ids == [[101, 102, 103], [101, 102, 103, 104], [101, 102, 103, 104, 105, 106]]
    assert split.after is not None
    assert split.after.version == PARTED.version
    assert changes(events) == [("c", "2"), ("c", "3"), ("c", "4"), ("c", "5")]
    (document,) = remembered(split)
    assert isinstance(document, dict)
    assert (table_of(document).parts, table_of(document).keys) == (split.after.parts, KEYS)


@both_modes
def test_a_row_of_a_partition_that_came_and_went_suspends_what_it_may_be_of(tmp_path: Path, assembly: Assembled) -> None:
    """Only tables with partitions that were altered since, or are gone, and have at least as many columns."""
    other = replace(LEDGER, id=TableId("DB", "LAB", "CALM"), object_id=90)
    times = {ITEM_ID: NOON.replace(hour=20), other.id: NOON.replace(day=1, hour=2), PLAIN.id: NOON.replace(hour=21)}
    tables, dictionary = [PARTED, LEDGER, other, PLAIN], Dictionary({}, times)
    redo = Redo()
    redo.start(A)
    gone(redo, A, "c102", 500)
    gone(redo, A, "c102", 501, '"COL 1","COL 2","COL 3"')
    gone(redo, A, "c102", 60)  # older than the tables
    redo.insert(A, 7, table="PLAIN", object_id=89)
    redo.commit(A)
    miner = Miner(tmp_path, tables=tables, assembly=assembly, ids=dictionary, on_failure="suspend")
    events = miner.read(redo.rows)
    assert unplaced(events) == [("LAB.ITEM", "MC-4303"), ("LAB.LEDGER", "MC-4303")]
    assert changes(events) == [("c", "7")]
    with pytest.raises(UnplacedRowError):
        Miner(tmp_path, tables=tables, assembly=assembly, ids=dictionary).read(redo.rows)
    both = frozenset(["LAB.ITEM", "LAB.LEDGER"])
    again = Miner(tmp_path, tables=tables, assembly=assembly, ids=dictionary, on_failure="suspend", unread=lambda _: both)
    assert unplaced(again.read(redo.rows)) == []


@both_modes
def test_rows_of_other_tables_that_went_suspend_nothing(tmp_path: Path, assembly: Assembled) -> None:
    """Staging tables, which are made, loaded, exchanged and purged, are known by their CREATE TABLE or by a row with their name."""
    redo = Redo()
    redo.ddl(A, "create table elsewhere.stage (id number)", owner="ELSEWHERE", table="STAGE", object_id=600)
    redo.start(B)
    redo.insert(B, 1, owner="ELSEWHERE", table="OTHER", object_id=601)
    for object_id in (600, 601):
        gone(redo, B, "c102", object_id)
    redo.commit(B)
    miner = Miner(tmp_path, tables=[PARTED], assembly=assembly, ids=Dictionary({}), on_failure="suspend")
    events = miner.read(redo.rows)
    assert (unplaced(events), changes(events)) == ([], [])


def test_partitions_that_left_the_captured_names_are_not_captured(tmp_path: Path) -> None:
    redo = Redo()
    redo.ddl(A, 'alter table item rename to "BIN$zz"')
    redo.insert(B, 5, object_id=101)
    redo.commit(B)
    assert changes(Miner(tmp_path, tables=[PARTED]).read(redo.rows)) == []


def test_a_partitioned_table_that_is_gone_already_may_have_rows_of_unknown_partitions(tmp_path: Path) -> None:
    redo = Redo()
    text = "create table made (id number primary key, d date) partition by hash (id) partitions 4"
    redo.ddl(A, text, table="MADE", object_id=700)
    gone(redo, B, "c102", 702)
    redo.commit(B)
    miner = Miner(tmp_path, ids=Dictionary({}), on_failure="suspend")
    assert unplaced(miner.read(redo.rows)) == [("LAB.MADE", "MC-4303")]
