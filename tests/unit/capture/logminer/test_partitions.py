"""Rows of partitions that are gone when redo is read: LogMiner names them `OBJ# n`, and n says whose they are, or it is said loudly."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from tests.unit.capture.logminer.redo import ITEM, ITEM_ID, NOON, A, B, C, Dictionary, Miner, Redo, changes, schema_changes

from minercdc.capture.logminer.buffer.assembler import Assembly
from minercdc.capture.logminer.buffer.buffered import BufferedAssembly
from minercdc.capture.logminer.buffer.committed import CommittedAssembly
from minercdc.capture.logminer.session.row import OpCode
from minercdc.errors import UnplacedRowError
from minercdc.messages.table_changes import remembered, table_of
from minercdc.schema.table import Key, TableId
from minercdc.stream.events import ChangeEvent, Event, UndecodableRow

KEYS = (Key("P", ("ID",), "PK", deferrable=True), Key("I", ("QTY",), "I1", enabled=False))
PARTED = replace(
    ITEM, stored=("ID", "QTY"), parts=frozenset([101, 102]), keys=KEYS, parts_from="ROWS", listed_at=NOON - timedelta(days=1)
)
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
    found = table_of(document)
    assert (found.parts, found.keys, found.parts_from) == (split.after.parts, KEYS, "ROWS")
    assert found.listed_at == split.after.listed_at


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
    """Staging tables, which are made, loaded, exchanged and purged, are known by DDL on them or by a row with their name."""
    redo = Redo()
    redo.ddl(A, "create table elsewhere.stage (id number)", owner="ELSEWHERE", table="STAGE", object_id=600)
    copy = "create table elsewhere.copy as select a.*, b.* from a, b"
    redo.ddl(A, copy, owner="ELSEWHERE", table="COPY", object_id=602)
    redo.ddl(A, "truncate table elsewhere.old", owner="ELSEWHERE", table="OLD", object_id=603)
    redo.ddl(A, "alter table elsewhere.x frobnicate", owner="ELSEWHERE", table="X", object_id=604)
    redo.start(B)
    redo.insert(B, 1, owner="ELSEWHERE", table="OTHER", object_id=601)
    for object_id in (600, 601, 602, 603, 604):
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


@both_modes
@pytest.mark.parametrize(
    ("gone_tables", "columns", "suspended"),
    [
        ([ITEM_ID], '"ID","QTY"', [("LAB.ITEM", "MC-4303")]),
        ([ITEM_ID, LEDGER.id], '"ID"', [("LAB.ITEM", "MC-4303"), ("LAB.LEDGER", "MC-4303")]),
        ([ITEM_ID], '"COL 1","COL 2"', [("LAB.ITEM", "MC-4303")]),
        ([ITEM_ID], '"ID","OTHER"', []),
        ([ITEM_ID], '"COL 1","COL 2","COL 3"', []),
        ([], '"ID","QTY"', []),
    ],
)
def test_a_row_of_an_unknown_partition_in_the_recycle_bin_may_be_of_a_table_that_is_gone(
    tmp_path: Path, assembly: Assembled, gone_tables: list[TableId], columns: str, suspended: list[tuple[str, str]]
) -> None:
    """DROP TABLE without PURGE: LogMiner prints the name that the table has in the recycle bin, not whose it was."""
    redo = Redo()
    redo.start(A)
    values = ",".join(["HEXTORAW('c102')"] * (columns.count(",") + 1))
    sql = f'insert into "LAB"."BIN$Xk+3==$0"({columns}) values ({values});'
    redo.dml(OpCode.INSERT, A, sql, table="BIN$Xk+3==$0", object_id=500, row_id="r1")
    redo.insert(A, 7, table="PLAIN", object_id=89)
    redo.commit(A)
    dictionary = Dictionary({}, gone=gone_tables)
    miner = Miner(tmp_path, tables=[PARTED, LEDGER, PLAIN], assembly=assembly, ids=dictionary, on_failure="suspend")
    events = miner.read(redo.rows)
    assert unplaced(events) == suspended
    assert changes(events) == [("c", "7")]


AT = NOON + timedelta(seconds=101)  # of the first row


@both_modes
@pytest.mark.parametrize(
    ("statement", "made", "suspended"),
    [
        ("alter table ledger add partition n values less than (9)", {"N": (112, AT)}, []),
        (
            "alter table ledger add partition n values less than (9), partition m values (7)",
            {"N": (112, AT)},
            ["LAB.LEDGER"],
        ),
        ("alter table ledger add partition n values less than (9)", {}, ["LAB.LEDGER"]),
        ("alter table ledger add partition n values less than (9)", {"N": (999, AT + timedelta(seconds=1))}, ["LAB.LEDGER"]),
        ("alter table ledger add partition values less than (9)", {"SYS_P5": (112, AT)}, ["LAB.LEDGER"]),
        ('alter table ledger split partition p at (5) into (partition n, partition "m")', {"N": (1, AT), "m": (2, AT)}, []),
        ("alter table ledger split partition p at (5)", {"N": (112, AT)}, ["LAB.LEDGER"]),
        ("alter table ledger merge partitions p, q into partition n", {"N": (112, AT)}, []),
        ("alter table ledger drop partition p", {}, []),
        ("alter table ledger exchange partition p with table x", {}, []),
        ("alter table ledger coalesce partition", {}, []),
        ("alter table ledger modify partition by hash (id) partitions 4", {}, ["LAB.LEDGER"]),
        ("alter table ledger set interval (10)", {}, ["LAB.LEDGER"]),
        ("alter table ledger add column_of number", {}, []),
    ],
)
def test_a_row_may_be_of_a_partition_that_ddl_made_and_the_dictionary_lacks_by_then(
    tmp_path: Path, assembly: Assembled, statement: str, made: dict[str, tuple[int, datetime]], suspended: list[str]
) -> None:
    """What rows make is not known from DDL; all else is, and a row of a table that is not captured suspends nothing."""
    ledger = replace(LEDGER, parts_from="DDL")
    redo = Redo()
    redo.ddl(A, statement, table="LEDGER", object_id=88)
    redo.start(B)
    gone(redo, B, "c102", 500)
    redo.commit(B)
    dictionary = Dictionary({ledger.id: [111, 112]}, made=made)
    miner = Miner(tmp_path, tables=[ledger], assembly=assembly, ids=dictionary, on_failure="suspend")
    assert [name for name, _ in unplaced(miner.read(redo.rows))] == suspended


def test_rows_after_the_list_of_partitions_was_taken_are_in_none_that_ddl_made_before(tmp_path: Path) -> None:
    redo = Redo()
    redo.ddl(A, "alter table ledger split partition p at (5)", table="LEDGER", object_id=88)
    gone(redo, B, "c102", 500)
    redo.scn = 150
    gone(redo, C, "c102", 501)
    redo.commit(B)
    redo.commit(C)
    ledger = replace(LEDGER, parts_from="DDL")
    miner = Miner(tmp_path, tables=[ledger], ids=Dictionary({ledger.id: [111, 112]}), on_failure="suspend")
    events = miner.read(redo.rows)
    assert len(unplaced(events)) == 1


def test_of_a_table_that_an_earlier_release_stored_partitions_of_before_are_not_known(tmp_path: Path) -> None:
    """The first list says which there are now; it is kept, and another start changes nothing."""
    old = replace(LEDGER, parts_from="", listed_at=None)
    dictionary = Dictionary({ITEM_ID: [101], LEDGER.id: [111]}, rows_make=[ITEM_ID])
    item = replace(PARTED, parts_from="", listed_at=None)
    miner = Miner(tmp_path, tables=[item, old], ids=dictionary, on_failure="suspend")
    found = {str(change.table): change.after for change in miner.shapes.begin(5, 0)}
    listed = {name: (after.parts_from, after.listed_at) for name, after in found.items() if after is not None}
    now = NOON + timedelta(seconds=105)
    assert listed == {"LAB.ITEM": ("ROWS", now), "LAB.LEDGER": ("DDL", now)}
    assert list(miner.shapes.begin(6, 0)) == []
    redo = Redo()
    gone(redo, A, "c102", 500)
    redo.scn = 150
    gone(redo, A, "c102", 501)
    redo.commit(A)
    assert unplaced(miner.read(redo.rows)) == [("LAB.ITEM", "MC-4303"), ("LAB.LEDGER", "MC-4303"), ("LAB.ITEM", "MC-4303")]


@both_modes
def test_rows_of_before_and_after_an_exchange_are_of_the_tables_they_were_written_to(
    tmp_path: Path, assembly: Assembled
) -> None:
    """Table and partition keep their object ids, and exchange those of their data only, which LogMiner's DATA_OBJ# is not."""
    loaded = replace(PLAIN, id=TableId("DB", "LAB", "LOADED"), object_id=120)
    redo = Redo()
    for transaction, number in ((A, 1), (C, 11)):
        redo.start(transaction)
        redo.insert(transaction, number, object_id=101)
        redo.insert(transaction, number + 1, table="LOADED", object_id=120)
        redo.insert(transaction, number + 2, table="OBJ# 101", owner="UNKNOWN", object_id=101)
        redo.insert(transaction, number + 3, table="OBJ# 120", owner="UNKNOWN", object_id=120)
        redo.commit(transaction)
        if number == 1:
            redo.ddl(B, "alter table item exchange partition p with table loaded without validation")
    events = Miner(tmp_path, tables=[PARTED, loaded], assembly=assembly, ids=Dictionary({ITEM_ID: [101, 102]})).read(
        redo.rows
    )
    found = [(str(event.schema.id), event.after) for event in events if isinstance(event, ChangeEvent)]
    assert [name for name, _ in found] == ["LAB.ITEM", "LAB.LOADED"] * 4
    assert [row[0] for _, row in found if row is not None] == ["1", "2", "3", "4", "11", "12", "13", "14"]
