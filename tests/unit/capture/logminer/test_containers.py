"""Rows of two pluggable databases in one redo: names, object ids and XIDs are the same, and say nothing across containers."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.capture.logminer.redo import ITEM, A, B, Redo, partial, requested, xid

from minercdc.capture.logminer.buffer.assembler import Pass
from minercdc.capture.logminer.buffer.buffered import BufferedAssembly
from minercdc.capture.logminer.buffer.delivery import Delivery
from minercdc.capture.logminer.buffer.transactions import TransactionBuffer
from minercdc.capture.logminer.position import LogMinerPosition
from minercdc.capture.logminer.session.containers import Container, Containers, containers_of, tx_id_in
from minercdc.capture.logminer.session.host_clock import HostClock
from minercdc.capture.logminer.session.query import committed_query
from minercdc.capture.logminer.session.row import ContinuationJoiner
from minercdc.capture.logminer.sql_redo.decoding import TransactionDecoder
from minercdc.capture.logminer.start import with_pdbs
from minercdc.capture.logminer.tables.captured_tables import ShapeTracker
from minercdc.errors import ConfigError, MiningSessionError
from minercdc.schema.table import TableId
from minercdc.schema.table_filter import TableFilter
from minercdc.schema.tables import Tables
from minercdc.stream.events import ChangeEvent, Progress, SchemaChange
from minercdc.values.image import utc_only

SALES, STOCK = 3, 4  # their CON_IDs
NAMES = {SALES: "SALES", STOCK: "STOCK"}


class Mine:
    """The capture of both, over in-memory redo."""

    def __init__(self, directory: Path, start: LogMinerPosition | None = None) -> None:
        self.tables = Tables(replace(ITEM, id=ITEM.id._replace(database=name)) for name in NAMES.values())
        found = []
        for name in NAMES.values():
            wanted = TableFilter(schema_include=["LAB"])
            shapes = ShapeTracker(self.tables, wanted, name, lambda _: None, tx_id=lambda xid, pdb=name: tx_id_in(pdb, xid))  # type: ignore[misc]
            found.append(Container(name, shapes, TransactionDecoder(shapes, HostClock())))
        self.containers = Containers(found)
        position = start or LogMinerPosition(pdbs=tuple(NAMES.values()))
        delivery = Delivery(position, self.containers, HostClock())
        buffer = TransactionBuffer(1 << 30, directory, several=True)
        self.assembly = BufferedAssembly(position, buffer, delivery)
        self.assembly.begin_pass(Pass((), {}))

    def read(self, redo: Redo) -> list[object]:
        """The events of rows that were written since the last call."""
        batch = [(*row, NAMES[row.con_id or 0]) for row in redo.rows]
        redo.rows.clear()
        return list(self._events(batch))

    def _events(self, batch: Sequence[tuple[object, ...]]) -> Iterator[object]:
        for part in self.containers.taken(batch):
            yield from self.assembly.take_fetched(part, ContinuationJoiner())


def changes(events: list[object]) -> list[tuple[str, str, str]]:
    """(Database, id of the transaction, key) of each change."""
    return [
        (event.schema.id.database, event.tx.id, str((event.after or event.before or ("",))[0]))
        for event in events
        if isinstance(event, ChangeEvent) and event.tx
    ]


@pytest.fixture
def mine(tmp_path: Path) -> Mine:
    return Mine(tmp_path)


def test_d34_an_undo_and_a_rollback_are_of_their_own_container(mine: Mine) -> None:
    redo = Redo()
    redo.start(A, con_id=SALES)
    redo.start(A, con_id=STOCK)
    redo.insert(A, 1, con_id=SALES)
    redo.insert(A, 1, con_id=STOCK)
    redo.undo_insert(A, 1, con_id=SALES)
    redo.insert(A, 2, con_id=SALES)
    redo.commit(A, con_id=SALES)
    redo.insert(B, 3, con_id=STOCK)
    redo.rollback(B, con_id=SALES)
    redo.commit(B, con_id=STOCK)
    redo.commit(A, con_id=STOCK)
    a, b = A.hex(), B.hex()
    expected = [("SALES", f"SALES:{a}", "2"), ("STOCK", f"STOCK:{b}", "3"), ("STOCK", f"STOCK:{a}", "1")]
    assert changes(mine.read(redo)) == expected


def test_ddl_changes_the_table_of_its_own_container(mine: Mine) -> None:
    redo = Redo()
    redo.ddl(A, 'alter table "LAB"."ITEM" add (MORE number(3))', con_id=STOCK)
    (change,) = (event for event in mine.read(redo) if isinstance(event, SchemaChange))
    assert (change.table, change.tx_id) == (TableId("STOCK", "LAB", "ITEM"), f"STOCK:{A.hex()}")
    shapes = {table.id.database: len(table.columns) for table in mine.tables}
    assert shapes == {"SALES": len(ITEM.columns), "STOCK": len(ITEM.columns) + 1}


def test_a_transaction_that_is_given_up_takes_none_of_its_xid_with_it(mine: Mine, tmp_path: Path) -> None:
    redo = Redo()
    for con_id in NAMES:
        redo.start(A, con_id=con_id)
        redo.insert(A, 1, con_id=con_id)
    assert mine.read(redo) == []
    (sales,) = (one for one in mine.assembly.open() if one.key[0] == SALES)
    assert mine.containers.tx_id(sales.key) == f"SALES:{A.hex()}"
    mine.assembly.give_up(sales)
    position = LogMinerPosition.from_json(mine.assembly.position().to_json())
    assert position.given_up == {f"{A.hex()}0000000{SALES}"}
    for again in (mine, Mine(tmp_path, position)):
        more = Redo(scn=200, block=200)
        for con_id in NAMES:
            more.insert(A, 2, con_id=con_id)
            more.commit(partial(A), con_id=con_id)  # its START lay before what is read
        assert {name for name, *_ in changes(again.read(more))} == {"STOCK"}
        assert again.assembly.position().given_up == frozenset()


def test_a_con_id_means_the_container_whose_name_its_rows_have(mine: Mine) -> None:
    """A PDB that is unplugged and plugged in again has another CON_ID, and its own may be another's by then."""
    redo = Redo()
    for number in (1, 2):
        redo.insert(A if number == 1 else B, number, con_id=SALES)
        redo.commit(A if number == 1 else B, con_id=SALES)
    names = ["SALES", "SALES", "STOCK", "STOCK"]
    batch = [(*row, name) for row, name in zip(redo.rows, names, strict=True)]
    found: list[object] = []
    for part in mine.containers.taken(batch):
        found += mine.assembly.take_fetched(part, ContinuationJoiner())
    assert [(database, key) for database, _, key in changes(found)] == [("SALES", "1"), ("STOCK", "2")]
    with pytest.raises(MiningSessionError, match="container OTHER, which was not selected"):
        list(mine.containers.taken([(*redo.rows[0], "OTHER")]))


def test_redo_is_counted_under_the_container(mine: Mine) -> None:
    redo = Redo()
    redo.insert(A, 1, con_id=SALES)
    redo.insert(A, 1, con_id=STOCK)
    redo.insert(A, 2, con_id=STOCK)
    mine.read(redo)
    counted, captured = mine.assembly.counted()
    assert sorted((owner, table, rows) for owner, table, rows, _ in counted) == [
        ("SALES.LAB", "ITEM", 1),
        ("STOCK.LAB", "ITEM", 2),
    ]
    assert captured == {("SALES.LAB", "ITEM"), ("STOCK.LAB", "ITEM")}


def test_the_query_of_several_containers_says_of_which_a_row_is() -> None:
    sql, binds = committed_query(7, ("SALES", "STOCK"), frozenset())
    assert "SRC_CON_NAME IN (:container0, :container1)" in sql
    assert sql.partition(" FROM ")[0].endswith("SQL_REDO, SRC_CON_NAME")
    assert binds == {"container0": "SALES", "container1": "STOCK", "from_scn": 7}


@pytest.mark.parametrize(
    ("stored", "wanted", "problem"),
    [
        ((), ("A", "B"), "the offset is of a single database"),
        (("A", "B"), (), "the offset is of A, B"),
        (("A", "B"), ("A", "B", "C"), "C: added since the offset was stored"),
        (("B", "C"), ("B", "A"), "A: added since the offset was stored"),
    ],
)
def test_an_offset_goes_on_with_no_other_databases(stored: tuple[str, ...], wanted: tuple[str, ...], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        with_pdbs(LogMinerPosition(pdbs=stored), wanted)


def test_an_offset_goes_on_without_one_that_is_left_out_and_in_another_order() -> None:
    assert with_pdbs(LogMinerPosition(pdbs=("A", "B", "C")), ("C", "A")).pdbs == ("C", "A")
    assert with_pdbs(LogMinerPosition(), ()) == LogMinerPosition()


def history(seed: int) -> Redo:
    """What both do at the same time: six transactions each with the same XIDs and rows, some undone, some rolled back."""
    chance, redo = random.Random(seed), Redo()
    todo = {(con_id, number): list(range(5)) for con_id in NAMES for number in range(6)}
    while todo:
        con_id, number = place = chance.choice(list(todo))
        step = todo[place].pop(0)
        if not todo[place]:
            del todo[place]
        transaction, key = xid(number), number * 2
        match step:
            case 0:
                redo.start(transaction, con_id=con_id)
            case 1 | 2:
                redo.insert(transaction, key + step - 1, con_id, con_id=con_id)
            case 3 if chance.random() < 0.5:
                redo.undo_insert(transaction, key + 1, con_id=con_id)
            case 4:
                end = redo.rollback if chance.random() < 0.2 else redo.commit
                end(transaction, con_id=con_id)
    return redo


@pytest.mark.parametrize("seed", range(5))
def test_a_kill_at_any_moment_loses_and_repeats_nothing_of_either(tmp_path: Path, seed: int) -> None:
    redo = history(seed)
    rows = list(redo.rows)
    events = Mine(tmp_path).read(redo)
    every = changes(events)
    assert {name for name, *_ in every} == set(NAMES.values())
    for change in events:
        if isinstance(change, ChangeEvent):  # its QTY is the container that wrote it
            assert NAMES[int(str((change.after or ())[1]))] == change.schema.id.database
    for at, event in enumerate(events):
        if not isinstance(event, Progress):
            continue
        assert isinstance(event.position, LogMinerPosition)
        position = LogMinerPosition.from_json(event.position.to_json())
        again = Redo(rows=[*requested(rows, {thread: mark.resume for thread, mark in position.threads.items()})])
        assert changes(events[: at + 1]) + changes(Mine(tmp_path, position).read(again)) == every


class InCharset:
    """A connection to a container that has this character set."""

    def __init__(self, charset: str) -> None:
        self._charset = charset
        self.closed = False

    def cursor(self) -> InCharset:
        return self

    def __enter__(self) -> InCharset:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def execute(self, sql: str, _: object = None) -> None:
        assert "NLS_CHARACTERSET" in sql

    def fetchone(self) -> tuple[str]:
        return (self._charset,)

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize(("pdb", "charset"), [("PDB", "WE8MSWIN1252"), ("", "AL32UTF8")])
def test_stored_text_is_in_the_character_set_of_the_pluggable_database(pdb: str, charset: str) -> None:
    """The root may have another one, in which `C3 A9` is one character."""
    inside, root = InCharset("WE8MSWIN1252"), InCharset("AL32UTF8")
    context: Any = SimpleNamespace(
        tables=Tables(), read_table=None, unlogged=None, object_ids=None, mined=None, database="PDB", pdbs=()
    )
    context.time_zone, context.connect_pdb, context.containers = utc_only, lambda: inside, (inside,) if pdb else ()
    containers = containers_of(context, lambda shapes: TransactionDecoder(shapes, HostClock()))
    containers.begin_session(root)  # type: ignore[arg-type]
    assert containers.only is not None
    assert containers.only.decoder.encoding.charset == charset
    assert inside.closed == bool(pdb)
