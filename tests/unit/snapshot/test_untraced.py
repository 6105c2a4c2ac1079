"""DDL that moves rows, or makes some go or come without redo of them, while a snapshot reads its table."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.unit.signals.model import TABLE, At, ModelReader, T, World, stage_of

from minercdc.schema.table import TableId, TableNames, TableSchema
from minercdc.snapshot.incremental.chunks import IncrementalSnapshots
from minercdc.snapshot.incremental.known_tables import KnownTables
from minercdc.snapshot.incremental.outcome import Began, Outcome
from minercdc.snapshot.incremental.untraced import Untraced, untraced_by
from minercdc.stream.events import Event, Progress, SchemaChange, Scn
from minercdc.stream.offset import AdHocSnapshot, SignalState, TableRead

BY_KEY = TableRead("S.T", order=("ID",), last=("4",), maximum=("9",), rows=4, chunks=2)
BY_ROWID = replace(BY_KEY, order=("ROWID",), last=("R4",), maximum=("R9",))
MOVE = "ALTER TABLE T MOVE"
EXCHANGE = "ALTER TABLE T EXCHANGE PARTITION P WITH TABLE X"
DDL_SCN = 70


class Starts(ModelReader):
    """Reads nothing; keeps from where, and as of which SCN at the earliest, it was to read."""

    def __init__(self) -> None:
        self.starts: list[tuple[TableRead, int]] = []

    def start(self, table: TableId, state: TableRead, surrogate: str, least_scn: int) -> None:
        self.starts.append((state, least_scn))

    def first(self) -> Outcome | None:
        return None

    def floor(self) -> int:
        return 0

    def stop(self) -> None:
        pass


def changed(ddl: str, *, truncate: bool = False, before: TableSchema | None = TABLE) -> SchemaChange:
    return SchemaChange(T, before, TABLE, ddl, Scn(DDL_SCN), 0, truncate=truncate)


def through(change: SchemaChange, table: TableRead) -> tuple[list[tuple[TableRead, int]], TableRead]:
    """What the reader was started with, and the table's state in the last Progress."""
    reader = Starts()
    world = World([], random.Random(1), threads=False)
    stage = stage_of(world, 2)
    known = KnownTables(world.tables.find, lambda _: None, TableNames("PDB"))
    stage._incremental = IncrementalSnapshots(reader, known)

    def stream() -> Iterator[Event]:
        yield Progress(At(0, 50), Scn(50), 0)
        yield change
        yield Progress(At(1, 60), Scn(60), 0)

    state = SignalState(snapshots=(AdHocSnapshot("i", False, ("PDB.S.T",), (table,)),))
    events = list(stage.through(stream(), At(0, 50), state, threading.Event()))
    last = events[-1]
    assert isinstance(last, Progress)
    assert last.signals is not None
    return reader.starts, last.signals.snapshots[0].tables[0]


@pytest.mark.parametrize(
    ("ddl", "table", "again"),
    [
        (MOVE, BY_ROWID, True),
        ("ALTER TABLE T SHRINK SPACE", BY_ROWID, True),
        (MOVE, BY_KEY, False),
        (EXCHANGE, BY_KEY, True),
        (EXCHANGE, BY_ROWID, True),
        ("ALTER TABLE T DROP PARTITION P", BY_KEY, True),
        ("FLASHBACK TABLE T TO BEFORE DROP", BY_KEY, True),
        ("TRUNCATE TABLE P CASCADE", BY_KEY, True),
    ],
)
def test_what_was_read_before_rows_moved_or_went_is_not_delivered_after_it(ddl: str, table: TableRead, again: bool) -> None:
    starts, state = through(changed(ddl), table)
    expected = replace(table, order=(), last=(), maximum=()) if again else table
    assert state == expected
    assert starts == [(table, 50), (expected, DDL_SCN)]


@pytest.mark.parametrize("ddl", ["RENAME T_NEW TO T", "CREATE TABLE T (ID NUMBER)", "CREATE TABLE T AS SELECT * FROM X", ""])
@pytest.mark.parametrize("table", [BY_KEY, BY_ROWID])
def test_another_table_of_the_name_is_read_from_its_first_row(table: TableRead, ddl: str) -> None:
    """T was dropped, or has another name, and T_NEW, which is not captured, takes its name with its rows."""
    starts, state = through(changed(ddl, before=None), table)
    expected = replace(table, order=(), last=(), maximum=())
    assert state == expected
    assert starts == [(table, 50), (expected, DDL_SCN)]


@pytest.mark.parametrize("ddl", ["ALTER TABLE T ADD (C NUMBER)", "COMMENT ON TABLE T IS 'x'", ""])
def test_other_ddl_lets_the_reader_read_on(ddl: str) -> None:
    assert through(changed(ddl), BY_ROWID) == ([(BY_ROWID, 50)], BY_ROWID)


RENAMED = replace(TABLE, columns=(replace(TABLE.columns[0], name="OLD_ID"), *TABLE.columns[1:]), key=())
RETYPED = replace(TABLE, columns=(replace(TABLE.columns[0], type_name="VARCHAR2"), *TABLE.columns[1:]))


def padded(length: int) -> TableSchema:
    return replace(TABLE, columns=(replace(TABLE.columns[0], type_name="CHAR", length=length), *TABLE.columns[1:]))


@pytest.mark.parametrize(
    ("before", "after"),
    [(TABLE, RENAMED), (RENAMED, TABLE), (TABLE, RETYPED), (padded(5), padded(10))],
    ids=["gone", "another", "another type", "more blanks"],
)
def test_a_table_is_not_read_on_after_a_key_of_another_column(before: TableSchema, after: TableSchema) -> None:
    """The key gets another column step by step: the last key of the old one says nothing about the rows to come. Nor does one with
    fewer blanks: a bind variable is compared without padding, so that the last row of all would lie after the last key."""
    expected = replace(BY_KEY, order=(), last=(), maximum=())
    change = SchemaChange(T, before, after, "ALTER TABLE T RENAME COLUMN A TO B", Scn(DDL_SCN), 0)
    starts, state = through(change, BY_KEY)
    assert state == expected
    assert starts == [(BY_KEY, 50), (expected, DDL_SCN)]
    assert through(change, BY_ROWID) == ([(BY_ROWID, 50)], BY_ROWID)


@pytest.mark.parametrize(
    ("ddl", "again"),
    [
        ("ALTER TABLE T MODIFY (ID CHAR(5 CHAR))", True),
        ('ALTER TABLE T MODIFY "ID" CHARACTER(5)', True),  # by NLS_LENGTH_SEMANTICS of the session
        ("ALTER TABLE T MODIFY (ID NOT NULL)", False),
        ("ALTER TABLE T MODIFY (MORE CHAR(5 CHAR))", False),
    ],
)
@pytest.mark.parametrize("table", [BY_KEY, BY_ROWID])
def test_blanks_that_come_without_another_shape_are_seen_in_the_statement(ddl: str, again: bool, table: TableRead) -> None:
    """CHAR(5 BYTE) becomes CHAR(5 CHAR): text of several bytes a character gets blanks. The key is compared with the stream's."""
    change = SchemaChange(T, padded(5), padded(5), ddl, Scn(DDL_SCN), 0)
    expected = replace(table, order=(), last=(), maximum=()) if again else table
    starts, state = through(change, table)
    assert state == expected
    assert starts == ([(table, 50), (expected, DDL_SCN)] if again else [(table, 50)])


def test_the_length_of_other_columns_says_nothing_of_the_order() -> None:
    other = replace(TABLE.columns[1], type_name="CHAR", length=9)
    before = replace(TABLE, columns=(TABLE.columns[0], replace(other, length=5)))
    change = SchemaChange(T, before, replace(TABLE, columns=(TABLE.columns[0], other)), "", Scn(DDL_SCN), 0)
    assert through(change, BY_KEY) == ([(BY_KEY, 50)], BY_KEY)


def test_a_paused_snapshot_that_is_gone_leaves_no_pause_to_the_next() -> None:
    """As by a RENAME of a table that is resumed: the next snapshot would wait without end."""
    snapshots = IncrementalSnapshots(Starts(), KnownTables(lambda _: TABLE, lambda _: None, TableNames("PDB")))
    assert list(snapshots.step(SignalState(paused=True), 50, 50, 0)) == [((), SignalState())]
    held = SignalState((AdHocSnapshot("i", False, ("PDB.S.T",), (TableRead("S.T"),)),), paused=True)
    assert list(snapshots.step(held, 50, 50, 0)) == []


def test_an_order_of_columns_that_were_renamed_meanwhile_is_not_taken() -> None:
    """The reader looks for the last key while the stream passes the DDL."""
    reader = Starts()
    reader.first = lambda: Began(("ID",), ("9",), TABLE.version - 1)  # type: ignore[method-assign]
    read = TableRead("S.T")
    state = SignalState(snapshots=(AdHocSnapshot("i", False, ("PDB.S.T",), (read,)),))
    snapshots = IncrementalSnapshots(reader, KnownTables(lambda _: TABLE, lambda _: None, TableNames("PDB")))
    steps = snapshots.step(state, 50, 50, 0)
    assert next(steps) == ((), state)
    assert reader.starts == [(read, 50), (read, 50)]


def test_a_truncate_of_the_whole_table_is_a_change_of_the_stream() -> None:
    assert untraced_by(changed("TRUNCATE TABLE T", truncate=True)) is Untraced.NOTHING


def test_a_blocking_snapshot_goes_on_after_a_rowid_no_more_once_rows_have_others() -> None:
    """Its SCN is to be fixed again; without an SCN that the stream comes to, nothing is read."""
    world = World([], random.Random(1), threads=False)
    stage = stage_of(world, 2)

    def stream() -> Iterator[Event]:
        yield changed(MOVE)
        yield Progress(At(0, 0), Scn(0), 0)

    read = TableRead("S.T", last=("R004",), rows=4)
    state = SignalState(snapshots=(AdHocSnapshot("b", True, ("PDB.S.T",), (read,)),))
    *_, last = stage.through(stream(), At(0, 0), state, threading.Event())
    assert isinstance(last, Progress)
    assert last.signals is not None
    assert [one.tables for one in last.signals.snapshots] == [(replace(read, last=()),)]
