"""Builders of redo for tests: rows as LogMiner would show them, in the order they are written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tests.native_pair import IS_NATIVE, taken_apart

from minercdc.capture.logminer.buffer.assembler import Assembly, Pass
from minercdc.capture.logminer.buffer.buffered import BufferedAssembly
from minercdc.capture.logminer.buffer.delivery import Delivery
from minercdc.capture.logminer.buffer.transactions import transaction_buffer
from minercdc.capture.logminer.kept.copies import KeptCopies
from minercdc.capture.logminer.kept.files import KeptFiles
from minercdc.capture.logminer.kept.keeping import KeepingRules, load
from minercdc.capture.logminer.position import LogMinerPosition
from minercdc.capture.logminer.session.containers import Container, Containers
from minercdc.capture.logminer.session.host_clock import HostClock
from minercdc.capture.logminer.session.row import PLACEHOLDER_ROW_ID, ContinuationJoiner, LogMinerRow, OpCode
from minercdc.capture.logminer.sql_redo.decoding import DecodingOptions, TransactionDecoder
from minercdc.capture.logminer.tables.captured_tables import ShapeTracker
from minercdc.oracle.dictionary.dependent_tables import Child
from minercdc.oracle.dictionary.object_ids import Listing, StoredNow
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.schema.table_filter import TableFilter
from minercdc.schema.tables import Tables
from minercdc.stream.events import ChangeEvent, ChangeRun, Event, Progress, SchemaChange

ITEM_ID = TableId("DB", "LAB", "ITEM")
ITEM = TableSchema(ITEM_ID, (Column("ID", "NUMBER", 10, 0), Column("QTY", "NUMBER", 12, 3)), (0,), object_id=77)
ANY_PASS = Pass((), {})
NOON = datetime(2026, 3, 1, 12, 0, 0)


def xid(number: int) -> bytes:
    """An XID whose undo segment and slot are its own."""
    return number.to_bytes(2, "little") + b"\x07\x00" + (1000 + number).to_bytes(4, "little")


A, B, C = xid(1), xid(2), xid(3)


def partial(full: bytes) -> bytes:
    return full[:4] + b"\xff\xff\xff\xff"


@dataclass
class Redo:
    """One thread's redo. Every call writes one row; SCN and address go up by themselves unless given."""

    thread: int = 1
    scn: int = 100
    block: int = 0
    sequence: int = 1
    rows: list[LogMinerRow] = field(default_factory=list)

    def row(self, code: int, transaction: bytes, sql: str | None, **other: Any) -> LogMinerRow:
        if "rs_id" not in other:
            self.block += 1
        self.scn = other.get("scn", self.scn + 1)
        values: dict[str, Any] = {
            "scn": self.scn,
            "code": code,
            "thread": self.thread,
            "rs_id": f" 0x{self.sequence:06x}.{self.block:08x}.0010 ",
            "ssn": 0,
            "xid": transaction,
            "con_id": 3,
            "owner": None,
            "table": None,
            "row_id": PLACEHOLDER_ROW_ID,
            "rollback": 0,
            "csf": 0,
            "status": 0,
            "info": None,
            "timestamp": NOON + timedelta(seconds=self.scn),
            "user": None,
            "client_id": None,
            "object_id": 0,
            "start_scn": None,
            "sql": sql,
        }
        row = LogMinerRow(**{**values, **other})
        self.rows.append(row)
        return row

    def start(self, transaction: bytes, **other: Any) -> None:
        self.row(OpCode.START, transaction, "set transaction read write;", user="APP", **other)

    def commit(self, transaction: bytes, **other: Any) -> None:
        self.row(OpCode.COMMIT, transaction, "commit;", **other)

    def rollback(self, transaction: bytes, **other: Any) -> None:
        self.row(OpCode.ROLLBACK, transaction, "rollback;", **other)

    def insert(self, transaction: bytes, key: int, qty: int = 0, **other: Any) -> None:
        sql = f"""insert into "LAB"."ITEM"("ID","QTY") values ('{key}','{qty}');"""
        self.dml(OpCode.INSERT, transaction, sql, **{"row_id": f"r{key}", **other})

    def update(self, transaction: bytes, key: int, old: int, new: int, **other: Any) -> None:
        sql = f"""update "LAB"."ITEM" set "QTY" = '{new}' where "ID" = '{key}' and "QTY" = '{old}';"""
        self.dml(OpCode.UPDATE, transaction, sql, **{"row_id": f"r{key}", **other})

    def delete(self, transaction: bytes, key: int, qty: int = 0, **other: Any) -> None:
        sql = f"""delete from "LAB"."ITEM" where "ID" = '{key}' and "QTY" = '{qty}';"""
        self.dml(OpCode.DELETE, transaction, sql, **{"row_id": f"r{key}", **other})

    def undo_insert(self, transaction: bytes, key: int, **other: Any) -> None:
        sql = f"""delete from "LAB"."ITEM" where ROWID = 'r{key}'"""
        self.dml(OpCode.DELETE, transaction, sql, row_id=f"r{key}", rollback=1, **other)

    def undo_update(self, transaction: bytes, key: int, old: int, **other: Any) -> None:
        sql = f"""update "LAB"."ITEM" set "QTY" = '{old}'"""
        self.dml(OpCode.UPDATE, transaction, sql, row_id=f"r{key}", rollback=1, **other)

    def dml(self, code: int, transaction: bytes, sql: str, **other: Any) -> None:
        values = {"owner": "LAB", "table": "ITEM", **other}
        is_item = (values["owner"], values["table"]) == ("LAB", "ITEM")
        self.row(code, transaction, sql, **{"object_id": 77 if is_item else 0, **values})

    def ddl(self, transaction: bytes, sql: str, **other: Any) -> None:
        values = {"owner": "LAB", "table": "ITEM", "object_id": 77, "info": "USER DDL (PlSql=0 RecDep=0)", **other}
        self.row(OpCode.DDL, transaction, sql, **values)


class Dictionary:
    """Object ids as they are now (`partitions.DictionaryIds`).

    :param present: of the partitions of each table.
    :param altered: time of the last DDL of each table; without one, the table is gone.
    :param temporary: names of temporary tables.
    :param made: names of partitions, their ids and when they were made.
    :param rows_make: the tables whose partitions rows make.
    :param children: the tables that refer to each table.
    :param copied: names of the columns of tables and views.
    :param stored: the stored columns of each table.
    :param gone: tables that it does not have any more.
    """

    def __init__(
        self,
        present: dict[TableId, Iterable[int]],
        altered: dict[TableId, datetime] | None = None,
        temporary: Iterable[TableId] = (),
        *,
        made: dict[str, tuple[int, datetime]] | None = None,
        rows_make: Iterable[TableId] = (),
        children: dict[TableId, tuple[Child, ...]] | None = None,
        copied: dict[TableId, tuple[str, ...]] | None = None,
        stored: dict[TableId, StoredNow] | None = None,
        gone: Iterable[TableId] = (),
    ) -> None:
        self.present, self.times, self.temporary = present, altered or {}, frozenset(temporary)
        self.made, self.rows_make = made or {}, frozenset(rows_make)
        self.referring, self.copied = children or {}, copied or {}
        self.stored = stored or {}
        self.gone = frozenset(gone)

    def parts(self, tables: Iterable[TableSchema]) -> dict[TableId, frozenset[int]]:
        return {table.id: frozenset(self.present[table.id]) for table in tables if table.id in self.present}

    def listing(self, table: TableSchema) -> Listing | None:
        if table.id not in self.present:
            return None
        ids, source = frozenset(self.present[table.id]), self.sources([table])[table.id]
        return Listing(ids, self.made, source, self.host_time(""))

    def sources(self, tables: Iterable[TableSchema]) -> dict[TableId, str]:
        return {table.id: "ROWS" if table.id in self.rows_make else "DDL" for table in tables}

    def children(self, table: TableId) -> tuple[Child, ...]:
        return self.referring.get(table, ())

    def clustered(self, cluster: TableId) -> tuple[int, ...]:
        return tuple(self.present.get(cluster, ()))

    def altered(self, tables: Iterable[TableSchema], since: datetime) -> frozenset[TableId]:
        return frozenset(table.id for table in tables if self.times.get(table.id, since) >= since)

    def stored_now(self, tables: Iterable[TableSchema], scn: int) -> dict[TableId, StoredNow]:
        return {table.id: self.stored[table.id] for table in tables if table.id in self.stored}

    def present_name(self, table: TableSchema) -> TableId | None:
        return None if table.id in self.gone else table.id

    def is_temporary(self, table: TableId) -> bool:
        return table in self.temporary

    def host_time(self, database: str) -> datetime:
        return NOON + timedelta(seconds=105)

    def columns_since(self, table: TableId, since: datetime) -> tuple[str, ...]:
        return self.copied.get(table, ())


class Miner:
    """The capture over in-memory redo: what the assembly yields, pass by pass.

    :ivar usual_pass: of `read`.
    """

    def __init__(
        self,
        directory: Path,
        start: LogMinerPosition | None = None,
        *,
        tables: Iterable[TableSchema] = (ITEM,),
        memory_max: int = 1 << 30,
        dictionary: dict[TableId, TableSchema] | None = None,
        assembly: Callable[..., Assembly] = BufferedAssembly,
        keep: KeepingRules | None = None,
        copies: KeptCopies | None = None,
        **decoder: Any,
    ) -> None:
        self.usual_pass = ANY_PASS
        self.files = KeptFiles(directory, "test", copies)
        found = dictionary or {}
        self.tables = Tables(tables)
        unlogged = decoder.pop("unlogged", lambda _: "")
        ids = decoder.pop("ids", None)
        self.shapes = ShapeTracker(self.tables, TableFilter(schema_include=["LAB"]), "DB", found.get, unlogged, ids=ids)
        clock = HostClock()
        wants = decoder.pop("wants", None)
        parts = {name: decoder.pop(name) for name in ("counters", "reselect", "unread") if name in decoder}
        options = DecodingOptions(**{"native": IS_NATIVE, "runs": IS_NATIVE, **decoder})
        self.decoder = TransactionDecoder(self.shapes, clock, options, **parts)
        files = self.files if keep else None
        self.buffer = transaction_buffer(memory_max, directory, native_rows=self.decoder.scans, files=files)
        loaded = load(start or LogMinerPosition(), self.files, keep, self.buffer)
        self.lost = loaded.lost
        delivery = Delivery(loaded.position, Containers([Container("", self.shapes, self.decoder)]), clock, wants)
        self.assembly: Assembly = assembly(loaded.position, self.buffer, delivery, lobs=options.lobs)
        if keep:
            assert isinstance(self.assembly, BufferedAssembly)
            self.assembly.keep(self.files, keep, loaded)

    def read(self, rows: Iterable[LogMinerRow], begun: Pass | None = None) -> list[Event]:
        """One pass over redo, selected as the capture does: per thread from the marked record on."""
        begun = begun or self.usual_pass
        marks = self.assembly.marks()
        self.assembly.begin_pass(begun)
        taken = self.assembly.take_fetched([tuple(row) for row in requested(rows, marks)], ContinuationJoiner())
        return [*taken_apart(taken), *taken_apart(self.assembly.end_pass(begun))]

    def take(self, rows: Iterable[LogMinerRow]) -> Iterator[Event]:
        """`Assembly.take`."""
        return taken_apart(self.assembly.take(rows))


def unprinted(events: Iterable[Event]) -> Iterator[Event]:
    """In place of `taken_apart` where encoding, which takes long, is not what a test is about."""
    for event in events:
        if isinstance(event, ChangeRun):
            yield from event.events()
        else:
            yield event


def requested(rows: Iterable[LogMinerRow], marks: Any) -> Iterator[LogMinerRow]:
    for row in rows:
        mark = marks.get(row.thread)
        if mark is None or row.rs_id.strip() >= mark.rs_id or not row.rs_id.strip(" 0x."):
            yield row


def changes(events: Iterable[Event]) -> list[tuple[str, str]]:
    """Operation and key of the row changes."""
    found = []
    for event in events:
        if isinstance(event, ChangeEvent):
            image = event.after or event.before
            assert image is not None
            found.append((event.op.value, str(image[0])))
    return found


def positions(events: Iterable[Event]) -> list[LogMinerPosition]:
    found = []
    for event in events:
        if isinstance(event, Progress):
            assert isinstance(event.position, LogMinerPosition)
            found.append(event.position)
    return found


def schema_changes(events: Iterable[Event]) -> list[SchemaChange]:
    return [event for event in events if isinstance(event, SchemaChange)]
