"""RENAME TABLE while rows are written: LogMiner shows a row under the name its table has in the dictionary when it is mined, which
may be an older or a newer name than that of its time. The object id does not change."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import oracledb
import pytest
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.lab import Lab, Reader
from tests.sandbox_capture.test_capture import make_lab

from minercdc.stream.events import ChangeEvent

ROUNDS = 12
SWAP = ("rename a to tmp", "rename b to a", "rename tmp to b")
CHAIN = ("alter table b rename to c", "rename a to b", "rename c to a")


@pytest.fixture(params=[False, True], ids=["uncommitted", "committed"])
def lab(request: pytest.FixtureRequest, sandbox: SandboxProcess, tmp_path: Path) -> Iterator[Lab]:
    lab = make_lab(sandbox, tmp_path, committed=request.param)
    lab.run(
        "create table a (id number(10) primary key, one varchar2(10))",
        "create table b (two varchar2(10), id number(10) primary key)",
        *(f"alter table {table} add supplemental log data (all) columns" for table in ("a", "b")),
    )
    yield lab
    lab.app.close()


def write(lab: Lab, name: str, first: int, done: threading.Event) -> None:
    """A row per transaction into the table that has this name now, until `done`."""
    with lab.session() as session, session.cursor() as cursor:
        number = first
        while not done.is_set():
            number += 1
            try:
                cursor.execute(f"insert into {name} (id) values ({number})")
                session.commit()
            except oracledb.DatabaseError as error:
                if error.args[0].code not in (942, 54):
                    raise


def rename(lab: Lab, statement: str) -> None:
    while True:
        try:
            lab.run(statement)
            return
        except oracledb.DatabaseError as error:
            if error.args[0].code != 54:
                raise


@pytest.mark.parametrize("statements", [SWAP, CHAIN], ids=["swap", "chain"])
def test_rows_written_while_tables_change_names_are_their_tables(lab: Lab, statements: Sequence[str]) -> None:
    reader = Reader(lab).take_snapshot(with_rows=False)
    reader.until_marker(1)
    done = threading.Event()
    writers = [
        threading.Thread(target=write, args=(lab, name, first, done))
        for name, first in (("a", 0), ("b", 1_000_000), ("a", 2_000_000))
    ]
    for writer in writers:
        writer.start()
    mining = threading.Thread(target=reader.until, args=(lambda reader: reader.has_marker(2),))
    mining.start()
    for _ in range(ROUNDS):
        for statement in statements:
            rename(lab, statement)
    done.set()
    for writer in writers:
        writer.join()
    lab.run("insert into marker values (2)")
    lab.app.commit()
    mining.join()
    assert reader.has_marker(2), reader.events[-3:]
    expected = [key for table in ("a", "b") for key in ids(lab, table)]
    inserted = [
        (event.schema.object_id, event.after[event.schema.positions()["ID"]])
        for event in reader.events
        if isinstance(event, ChangeEvent) and event.schema.id.table != "MARKER" and event.after
    ]
    assert sorted(int(str(key)) for _, key in inserted) == sorted(expected), (
        "a row was lost, repeated or put into another table"
    )
    for table in ("a", "b"):
        object_id = object_id_of(lab, table)
        its = sorted(int(str(key)) for found, key in inserted if found == object_id)
        assert its == ids(lab, table), f"{table} holds other rows"


def ids(lab: Lab, table: str) -> list[int]:
    with lab.app.cursor() as cursor:
        cursor.execute(f"select id from {table} order by id")
        return [int(key) for (key,) in cursor]


def object_id_of(lab: Lab, table: str) -> int:
    found = lab.read_table(lab.table(table))
    assert found is not None
    return found.object_id


def test_a_view_or_sequence_that_is_renamed_is_no_table(lab: Lab) -> None:
    with lab.sandbox.connect() as admin, admin.cursor() as cursor:
        cursor.execute(f"grant create view, create sequence to {lab.schema}")
    lab.run("create view recent as select id from a", "create sequence numbers")
    reader = Reader(lab).take_snapshot()
    lab.run(
        "rename recent to latest",
        "rename numbers to more",
        "create global temporary table basket (id number(5) primary key)",
    )
    lab.run("rename basket to bag", "insert into bag values (1)")
    reader.until_marker(1)
    assert reader.schema_changes() == []
    assert reader.changes() == []
