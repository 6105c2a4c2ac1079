"""One history in a table of each mode, compared with what the mode makes of it: across merges, kills and a change log that is read again."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.connector import Connector
from tests.spark.reading import frame

from minercdc.config.load import ConnectorConfig
from minercdc.errors import LakeError
from minercdc.lake import start, tables
from minercdc.lake.maintain.rebuild import rebuild
from minercdc.lake.merge.scheduler import Merger
from minercdc.lake.table.formats import format_of
from minercdc.lake.table.state import StateTable
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import UNAVAILABLE, Op, Row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MODES = ("mirror", "soft_delete", "append", "scd2")
KEYED = TableSchema(
    TableId("PDB", "LAB", "KEYED"),
    (Column("ID", "NUMBER", 9, 0, nullable=False), Column("V", "VARCHAR2", 20), Column("NOTE", "CLOB")),
    key=(0,),
)


def in_mode(table: TableSchema, mode: str) -> TableSchema:
    return replace(table, id=table.id._replace(table=f"{table.id.table}_{mode.upper()}"))


@dataclass(frozen=True)
class Change:
    """A change of the source as its history has it: `row` is what the row was, or had been when it was deleted."""

    scn: int
    op: str
    row: tuple[Any, ...]


class Source:
    """One history, written to a table of each mode.

    :ivar changes: all of them, in order; a TRUNCATE has no row.
    """

    def __init__(self, connector: Connector, table: TableSchema, *, lobs: bool = True) -> None:
        self._connector = connector
        self._table = table
        self._lobs = lobs
        self.changes: list[Change] = []
        self.rows: dict[Any, tuple[Any, ...]] = {}
        self._places: dict[Any, str] = {}  # ROWIDs

    def each(self, event: Callable[[TableSchema], None]) -> None:
        """The same for each table, all at one SCN."""
        scn = self._connector.scn
        for mode in MODES:
            self._connector.scn = scn
            event(in_mode(self._table, mode))

    def found(self, *keys: int) -> None:
        """An initial snapshot that reads rows."""
        self.each(lambda table: self._connector.found(table))
        for key in keys:
            row, place = (str(key), "read", f"note {key}"), self._places.setdefault(key, f"R{len(self.changes)}-{key}")
            self.each(lambda table, row=row, place=place: self._connector.read(row, table, place))  # type: ignore[misc]
        for key in sorted(self.rows.keys() - set(keys)):
            del self.rows[key]
        self._note("s", keys)
        for key in keys:
            self.rows[key] = (key, "read", f"note {key}")
            self._note("r", self.rows[key])

    def insert(self, key: int, value: str) -> None:
        self.rows[key] = (key, value, f"note of {value}")
        self._places[key] = f"R{len(self.changes)}"
        self._change(Op.CREATE, None, (str(key), value, f"note of {value}"))
        self._note("c", self.rows[key])

    def update(self, key: int, value: str) -> None:
        """Without its large value, which redo does not hold then."""
        before = self.rows[key]
        self.rows[key] = (key, value, before[2])
        self._change(Op.UPDATE, (str(key), before[1], UNAVAILABLE), (str(key), value, UNAVAILABLE))
        self._note("u", self.rows[key])

    def move(self, key: int, new: int) -> None:
        before = self.rows.pop(key)
        self.rows[new] = (new, *before[1:])
        self._places[new] = self._places[key]
        self._change(Op.UPDATE, (str(key), before[1], UNAVAILABLE), (str(new), before[1], UNAVAILABLE))
        self._note("d", before)
        self._note("c", self.rows[new])

    def delete(self, key: int) -> None:
        before = self.rows.pop(key)
        self._change(Op.DELETE, (str(key), before[1], UNAVAILABLE), None)
        self._note("d", before)

    def vanish(self, key: int) -> None:
        """The row was gone when the connector read the table again."""
        before = self.rows.pop(key)
        self.each(lambda table: self._connector.vanish(table, b'{"ID":%d}' % key))
        self._note("d", before)

    def truncate(self) -> None:
        self.each(self._connector.truncate)
        self.rows.clear()
        self._note("t", ())

    def twice(self, key: int, first: str, last: str) -> None:
        """Two changes in one transaction."""
        rows = [(str(key), value, UNAVAILABLE) for value in (self.rows[key][1], first, last)]
        place = self._places[key]
        self.each(
            lambda table: self._connector.transaction(
                *((Op.UPDATE, rows[i], rows[i + 1], table) for i in (0, 1)), row_ids=[place, place]
            )
        )
        for value in (first, last):
            self.rows[key] = (key, value, self.rows[key][2])
            self._note("u", self.rows[key])

    def _change(self, op: Op, before: Row | None, after: Row | None) -> None:
        row = after or before
        assert row is not None
        place = self._places[int(str(row[0]))]
        self.each(lambda table: self._connector.change(op, before, after, table, place))

    def _note(self, op: str, row: tuple[Any, ...]) -> None:
        self.changes.append(Change(self._connector.scn, op, row))

    # ---- what each mode makes of it ----

    def soft_delete(self) -> list[tuple[Any, ...]]:
        """Each key's last values, and whether it was deleted."""
        found: dict[Any, tuple[Any, ...]] = {}
        for change in self.changes:
            if change.op in "st":
                found = {key: (*row[:-1], True) for key, row in found.items()}
            else:
                found[change.row[0]] = (*change.row, change.op == "d")
        return list(found.values())

    def append(self) -> list[tuple[Any, ...]]:
        """Every change; all rows went, but for those of a snapshot that follow, is a change, too."""
        first, *later = self.changes
        assert first.op == "s"
        nothing = (None,) * len(later[0].row)
        return [(*(nothing if one.op in "st" else one.row), one.op.replace("s", "t"), one.scn) for one in later]

    def scd2(self) -> list[tuple[Any, ...]]:
        """Every version, with the SCNs from and to which it was valid."""
        done: list[tuple[Any, ...]] = []
        valid: dict[Any, tuple[int, tuple[Any, ...]]] = {}

        def close(key: Any, scn: int) -> None:
            since, row = valid.pop(key)
            done.extend([(*row, since, scn)] if since < scn else [])

        for change in self.changes:
            if change.op in "st":
                for key in sorted(valid.keys() - set(change.row)):
                    close(key, change.scn)
                continue
            key = change.row[0]
            if change.op == "r" and key in valid and valid[key][1] == change.row:
                continue
            if key in valid:
                close(key, change.scn)
            if change.op != "d":
                valid[key] = (change.scn, change.row)
        return done + [(*row, since, None) for since, row in valid.values()]

    def mirror(self) -> list[tuple[Any, ...]]:
        return sorted(self.rows.values())


def kept(spark: SparkSession, config: ConnectorConfig, name: str, more: Iterable[str] = ()) -> list[tuple[Any, ...]]:
    """The lake table's rows as any reader sees them, with members of `__cdc`."""
    rows = frame(spark, config, "LAB", name)
    columns = [column for column in rows.columns if column != "__cdc"]
    return sorted((tuple(row) for row in rows.selectExpr(*columns, *(f"__cdc.{one}" for one in more)).collect()), key=str)


def check(spark: SparkSession, config: ConnectorConfig, source: Source, name: str, *, read_all: bool = True) -> None:
    assert kept(spark, config, f"{name}_MIRROR") == sorted(source.mirror(), key=str)
    assert kept(spark, config, f"{name}_SOFT_DELETE", ["deleted"]) == sorted(source.soft_delete(), key=str)
    assert kept(spark, config, f"{name}_APPEND", ["op", "commit_scn"]) == sorted(source.append(), key=str)
    times = ["valid_from_scn", "valid_to_scn", "valid_from", "valid_to"]
    versions = kept(spark, config, f"{name}_SCD2", times)
    assert [row[:-2] for row in versions] == sorted(source.scd2(), key=str)
    zone = UTC
    assert [(at and at.replace(tzinfo=zone).timestamp()) for row in versions for at in row[-2:]] == [
        scn for row in versions for scn in row[-4:-2]
    ]
    if not read_all:
        return
    read = tables(spark, config)
    for mode in MODES:
        rows = read[f"LAB.{name}_{mode.upper()}"].drop("__cdc").collect()
        assert sorted(tuple(row) for row in rows) == source.mirror(), mode


@pytest.fixture
def config(config: ConnectorConfig) -> ConnectorConfig:
    modes = tuple(f"LAB[.].*_{mode}:{mode}" for mode in MODES)
    return replace(config, lake=config.lake.model_copy(update={"minercdc_lake_table_modes": modes}))


def test_every_mode_keeps_one_history(
    spark: SparkSession,
    config: ConnectorConfig,
    connector: Connector,
    sync: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connector.time_us = lambda scn: scn * 1_000_000
    source = Source(connector, KEYED)
    source.found(1, 2, 3)
    source.insert(4, "born")
    source.update(1, "changed")
    source.insert(5, "born and gone")
    source.delete(5)
    source.delete(2)
    connector.commit()
    sync()
    check(spark, config, source, "KEYED", read_all=False)

    source.insert(2, "again")
    source.twice(1, "not to be seen", "before its end")
    source.delete(1)
    source.move(4, 40)
    source.update(40, "moved")
    source.vanish(3)
    source.insert(6, "goes with all")
    source.insert(7, "goes first")
    source.delete(7)
    source.truncate()
    source.insert(2, "after")
    source.insert(8, "after")
    source.update(8, "after all")
    connector.commit()
    with monkeypatch.context() as patch:  # killed after the tables' commits, before that of the record
        patch.setattr(Merger, "_publish", _killed)
        with pytest.raises(LakeError, match="killed"):
            sync()
    sync()
    check(spark, config, source, "KEYED", read_all=False)

    connector.scn += 10
    source.found(8, 9)  # a second snapshot
    source.update(9, "streamed")
    source.delete(8)
    connector.commit()
    shutil.rmtree(f"{config.lake.minercdc_lake_path}/_checkpoint")  # all is read again
    sync()
    check(spark, config, source, "KEYED")

    entries = ("LAB.KEYED_APPEND:scd2", *config.lake.minercdc_lake_table_modes)
    other = replace(config, lake=config.lake.model_copy(update={"minercdc_lake_table_modes": entries}))
    source.insert(50, "later")
    connector.commit()
    lake = start(spark, other)
    try:
        lake.process_all_available()
    finally:
        lake.stop()
    failed = StateTable(spark, format_of(other).state(spark)).read().failed
    assert list(failed) == ["LAB.KEYED_APPEND"]
    assert "is configured as scd2" in failed["LAB.KEYED_APPEND"]
    assert rebuild(spark, other, "LAB.KEYED_APPEND").source == "the change log"
    for table in ("KEYED_APPEND", "KEYED_SCD2"):
        found = kept(spark, config, table, ["valid_from_scn", "valid_to_scn"])
        assert found == sorted(source.scd2(), key=str), table


def _killed(*_: object) -> None:
    raise LakeError("killed")


OLD = TableSchema(
    TableId("PDB", "LAB", "ALTERED"),
    (Column("ID", "NUMBER", 9, 0, nullable=False), Column("V", "VARCHAR2", 20)),
    key=(0,),
)
WIDER = replace(OLD, columns=(*OLD.columns, Column("W", "NUMBER", 3, 0, default="7")), version=2)
NAMED = replace(WIDER, columns=(WIDER.columns[0], Column("NAME", "VARCHAR2", 20), WIDER.columns[2]), version=3)
REKEYED = replace(NAMED, key=(1,), version=4)
MADE_AGAIN = replace(NAMED, columns=NAMED.columns[:2], version=5)


def test_ddl_and_another_key_in_every_mode(
    spark: SparkSession, config: ConnectorConfig, connector: Connector, sync: Callable[[], None]
) -> None:
    states: dict[int, set[tuple[str, str]]] = {}  # SCN -> ID and name of the source's rows
    rows: dict[str, str] = {}

    def each(event: Callable[[TableSchema], None], table: TableSchema, **changed: str | None) -> None:
        """An event of the table in every mode; the source's rows by ID then."""
        scn = connector.scn
        for mode in MODES:
            connector.scn = scn
            event(in_mode(table, mode))
        for key, value in changed.items():
            if value is None:
                del rows[key[1:]]
            else:
                rows[key[1:]] = value
        states[connector.scn] = set(rows.items())

    def change(table: TableSchema, op: Op, before: Row | None, after: Row | None, **changed: str | None) -> None:
        each(lambda one: connector.change(op, before, after, one, f"R{(after or before or ())[0]}"), table, **changed)

    def alter(before: TableSchema, what: str, after: TableSchema) -> None:
        def altered(one: TableSchema) -> None:
            statement = f'ALTER TABLE "LAB"."{one.id.table}" {what}'
            connector.alter(one, statement, replace(after, id=one.id))

        each(altered, before)

    def create(one: TableSchema) -> None:
        connector.scn += 1
        connector.structure(one, ddl=f'CREATE TABLE "LAB"."{one.id.table}" (..)')

    each(create, OLD)
    for key, value in (("1", "a"), ("2", "b"), ("3", "c")):
        change(OLD, Op.CREATE, None, (key, value), **{f"k{key}": value})
    change(OLD, Op.DELETE, ("3", "c"), None, k3=None)
    connector.commit()
    sync()

    alter(OLD, "ADD (W NUMBER(3) DEFAULT 7)", WIDER)
    change(WIDER, Op.CREATE, None, ("4", "d", "1"), k4="d")
    alter(WIDER, "RENAME COLUMN V TO NAME", NAMED)
    change(NAMED, Op.UPDATE, ("1", "a", "7"), ("1", "A", "7"), k1="A")
    alter(NAMED, "DROP PRIMARY KEY ADD PRIMARY KEY (NAME)", REKEYED)
    change(REKEYED, Op.UPDATE, ("1", "A", "7"), ("1", "AA", "7"), k1="AA")
    change(REKEYED, Op.CREATE, None, ("9", "c", "0"), k9="c")  # the name of a row that was deleted under the earlier key
    change(REKEYED, Op.UPDATE, ("2", "b", "7"), ("22", "b", "8"), k2=None, k22="b")
    altered = connector.scn
    each(connector.drop, REKEYED, **{f"k{key}": None for key in rows})
    del states[connector.scn]  # until a table of its name is created, the lake's keeps its last rows
    each(create, MADE_AGAIN)
    change(MADE_AGAIN, Op.CREATE, None, ("4", "new"), k4="new")
    connector.commit()
    sync()

    for scn in (altered, connector.scn):
        read = tables(spark, config, scn)
        for mode in MODES if scn == connector.scn else ("mirror", "append"):  # read from the change log
            found = read[f"LAB.ALTERED_{mode.upper()}"].selectExpr("CAST(ID AS STRING)", "NAME").collect()
            assert {tuple(row) for row in found} == states[scn], (mode, scn)
    assert kept(spark, config, "ALTERED_MIRROR") == [(4, "new")]
    gone = [(1, "A"), (1, "AA"), (22, "b"), (3, "c"), (4, "d"), (9, "c")]
    expected = sorted([*((*row, True) for row in gone), (4, "new", False)], key=str)
    assert kept(spark, config, "ALTERED_SOFT_DELETE", ["deleted"]) == expected
    versions = kept(spark, config, "ALTERED_SCD2", ["valid_from_scn", "valid_to_scn"])
    for scn, state in states.items():
        valid = [(str(row[0]), row[1]) for row in versions if row[2] <= scn and (row[3] is None or row[3] > scn)]
        assert sorted(valid) == sorted(state), scn
    changes = [row[2] for row in kept(spark, config, "ALTERED_APPEND", ["op"])]
    assert Counter(changes) == {"c": 7, "u": 2, "d": 2, "t": 2, "r": 3}, "when the key changed, three rows were there"
