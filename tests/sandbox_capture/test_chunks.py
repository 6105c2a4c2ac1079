"""Chunks read from the sandbox: every type of key, quoted and composite keys, conditions, shapes that change meanwhile."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.lab import Lab
from tests.sandbox_capture.test_capture import make_lab

from minercdc.oracle.connect import connect
from minercdc.oracle.present_scn import present_scn
from minercdc.schema.table import TableId, TableSchema
from minercdc.snapshot.incremental.keyset import order_of
from minercdc.snapshot.incremental.outcome import Began, Failed, Outcome
from minercdc.snapshot.incremental.reader import ChunkReader, Pace
from minercdc.snapshot.incremental.watermarks import Marks
from minercdc.snapshot.incremental.window import Chunk
from minercdc.stream.events import Row
from minercdc.stream.offset import TableRead

PATIENCE_SECONDS = 120.0


@pytest.fixture
def lab(sandbox: SandboxProcess, tmp_path: Path) -> Iterator[Lab]:
    lab = make_lab(sandbox, tmp_path)
    yield lab
    lab.app.close()


class Shapes:
    """The stream's picture of one table, which tests move."""

    def __init__(self, lab: Lab, table: TableId) -> None:
        self._lab = lab
        self._table = table
        self.schema: TableSchema | None = None
        self.asked = 0
        self.refresh()

    def refresh(self) -> None:
        self.schema = self._lab.read_table(self._table)

    def __call__(self, table: TableId) -> TableSchema | None:
        self.asked += 1
        return self.schema


def reader(lab: Lab, shapes: Shapes, chunk: int, marks: Marks | None = None) -> ChunkReader:
    return ChunkReader(lambda _: connect(lab.config, "pdb"), shapes, Pace(chunk), marks)


def next_outcome(found: ChunkReader) -> Outcome:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (outcome := found.first()) is None:
        assert time.monotonic() < deadline, "nothing was read in time"
        time.sleep(0.005)
    found.take()
    return outcome


def read_all(found: ChunkReader) -> list[Chunk]:
    """Until the final chunk; fails when the table cannot be read."""
    chunks: list[Chunk] = []
    while True:
        outcome = next_outcome(found)
        assert not isinstance(outcome, Failed), outcome.error
        if isinstance(outcome, Began) and not outcome.maximum:
            return chunks
        if isinstance(outcome, Chunk):
            chunks.append(outcome)
            if outcome.final:
                return chunks


def texts(chunk: Chunk) -> list[Row]:
    rows = chunk.rows
    return [row for _, row in rows.convert(rows.rows)] if len(rows) else []


def rows_of(lab: Lab, name: str, chunk: int, state: TableRead | None = None, surrogate: str = "") -> list[Row]:
    table = lab.table("x")._replace(table=name)
    found = reader(lab, Shapes(lab, table), chunk)
    found.start(table, state or TableRead(str(table)), surrogate, 0)
    try:
        return [row for part in read_all(found) for row in texts(part)]
    finally:
        found.stop()


KEYS = {
    "number(9)": "{n}",
    "number": "{n} / 8 - 3",
    "float": "{n} / 8 - 3",
    "binary_double": "{n} / 8 - 3",
    "varchar2(20)": "'key ''' || {n}",
    "char(8)": "'k' || {n}",
    "nvarchar2(20)": "'\u0416' || {n}",
    "raw(4)": "hextoraw(to_char({n}, 'FM0XXXXXXX'))",
    "date": "date '-0060-02-28' + {n} * 400",
    "timestamp(9)": "timestamp '1969-12-31 23:59:59.999999995' + numtodsinterval({n} / 1000, 'SECOND')",
    "interval day to second": "numtodsinterval({n} - 10, 'MINUTE')",
    "interval year to month": "numtoyminterval({n} - 10, 'MONTH')",
}


@pytest.mark.parametrize("kind", KEYS)
def test_every_type_of_key_can_be_read_in_order_of(lab: Lab, kind: str) -> None:
    lab.run(f"create table k (id {kind} primary key, n number(4))")
    for n in range(23):
        lab.run(f"insert into k values ({KEYS[kind].format(n=n)}, {n})")
    lab.app.commit()
    assert sorted(int(str(row[1])) for row in rows_of(lab, "K", 4)) == list(range(23))


def test_composite_and_quoted_keys_go_on_where_they_were(lab: Lab) -> None:
    lab.run(
        'create table "od d" ("a ""A" number(3), b varchar2(5), "c" date, v number, primary key (b, "a ""A"))'.replace(
            '""', ""
        )
    )
    with lab.app.cursor() as cursor:
        cursor.executemany('insert into "od d" values (:1, :2, sysdate, 0)', [(n % 7, f"k{n // 7}") for n in range(60)])
    lab.app.commit()
    rows = rows_of(lab, "od d", 8)
    keys = [(str(row[1]), int(str(row[0]))) for row in rows]
    assert keys == sorted({(f"k{n // 7}", n % 7) for n in range(60)})
    order = ("B", "a A")
    later = rows_of(lab, "od d", 8, TableRead("x", "", order, ("k3", "4"), ("k6", "2")))
    assert [(str(row[1]), int(str(row[0]))) for row in later] == [key for key in keys if ("k3", 4) < key <= ("k6", 2)]


def test_a_surrogate_that_repeats_misses_no_row_and_one_that_may_be_null_is_refused(lab: Lab) -> None:
    lab.run("create table k (id number(9) primary key, day number(2) not null, maybe number(2))")
    with lab.app.cursor() as cursor:
        cursor.executemany("insert into k values (:1, :2, null)", [(n, n % 3) for n in range(40)])
    lab.app.commit()
    assert sorted(int(str(row[0])) for row in rows_of(lab, "K", 5, surrogate="day")) == list(range(40))
    assert sorted(int(str(row[0])) for row in rows_of(lab, "K", 5, surrogate="ROWID")) == list(range(40))
    table = lab.table("k")
    found = reader(lab, Shapes(lab, table), 5)
    for surrogate, reason in (("maybe", "may be null"), ("nothing", "has no column")):
        found.start(table, TableRead(str(table)), surrogate, 0)
        outcome = next_outcome(found)
        assert isinstance(outcome, Failed)
        assert reason in outcome.error.message
    found.stop()


def test_a_table_without_a_key_is_read_by_rowid(lab: Lab) -> None:
    lab.run("create table k (v number)")
    with lab.app.cursor() as cursor:
        cursor.executemany("insert into k values (:1)", [(n % 2,) for n in range(30)])
    lab.app.commit()
    schema = lab.read_table(lab.table("k"))
    assert schema is not None
    assert order_of(schema) == ("ROWID",)
    assert len(rows_of(lab, "K", 4)) == 30


def test_a_condition_selects_rows_and_a_wrong_one_ends_the_table_with_the_reason(lab: Lab) -> None:
    lab.run("create table k (id number(9) primary key, color varchar2(5))")
    with lab.app.cursor() as cursor:
        cursor.executemany("insert into k values (:1, :2)", [(n, "blue" if n % 2 else "red") for n in range(20)])
    lab.app.commit()
    state = TableRead("K", "color = 'blue' or id = 0")
    assert [int(str(row[0])) for row in rows_of(lab, "K", 3, state)] == [0, *range(1, 20, 2)]
    table = lab.table("k")
    found = reader(lab, Shapes(lab, table), 5)
    found.start(table, TableRead("K", "colour = 'blue'"), "", 0)
    outcome = next_outcome(found)
    assert isinstance(outcome, Failed)
    assert "ORA-00904" in outcome.error.message
    found.stop()


def test_a_condition_that_fails_at_every_try_ends_the_table(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """ORA-01306 and ORA-01466 pass elsewhere."""
    monkeypatch.setattr("minercdc.snapshot.incremental.reader._WAIT_SECONDS", 0.01)
    lab.run("create table k (id number(4) primary key)")
    lab.run("insert into k values (1)")
    lab.app.commit()
    table = lab.table("x")._replace(table="K")
    for condition in ("exists (select 1 from v$logmnr_contents)", "id in (select id from k as of scn 1)"):
        found = reader(lab, Shapes(lab, table), 4)
        found.start(table, TableRead(str(table), condition), "", 0)
        try:
            assert isinstance(next_outcome(found), Failed)
        finally:
            found.stop()


def test_a_column_that_the_stream_still_knows_but_is_gone_is_waited_for(lab: Lab) -> None:
    lab.run("create table k (id number(9) primary key, old number)", "insert into k values (1, 1)")
    lab.app.commit()
    table = lab.table("k")
    shapes = Shapes(lab, table)
    lab.run("alter table k drop column old", "insert into k values (2)")
    lab.app.commit()
    found = reader(lab, shapes, 5)
    found.start(table, TableRead("K"), "", 0)
    assert isinstance(next_outcome(found), Began)
    asked, deadline = shapes.asked, time.monotonic() + PATIENCE_SECONDS
    while shapes.asked < asked + 3:  # it asks again, as the column is gone
        assert time.monotonic() < deadline
        time.sleep(0.005)
    assert found.first() is None
    shapes.refresh()
    (part,) = read_all(found)
    assert texts(part) == [("1",), ("2",)]
    found.stop()


@pytest.mark.parametrize(
    ("columns", "granted", "says"),
    [
        ("signal_id varchar2(42), type varchar2(32), data varchar2(2048)", "select, insert, delete", "ORA-00904"),
        ("id varchar2(42), type varchar2(32), data varchar2(2048)", "select, insert", "ORA-01031"),
        ("type varchar2(42), id varchar2(32), data varchar2(2048)", "select, insert, delete", "it is not there by its ID"),
        ("id varchar2(42), type varchar2(32)", "select, insert, delete", "ORA-00913"),
    ],
)
def test_a_table_is_given_up_when_its_marks_cannot_be_written_or_deleted(
    lab: Lab, columns: str, granted: str, says: str
) -> None:
    lab.run("create table k (id number(9) primary key)", f"create table marks ({columns})", "insert into k values (1)")
    with lab.app.cursor() as cursor:
        cursor.execute(f"grant {granted} on marks to c##minercdc")
    lab.app.commit()
    table = lab.table("k")
    found = reader(lab, Shapes(lab, table), 3, Marks(lab.table("marks"), "delete"))
    found.start(table, TableRead("K"), "", 0)
    assert isinstance(next_outcome(found), Began)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not isinstance(outcome := found.first(), Failed):  # no chunk is left before it that waits for its mark
        assert time.monotonic() < deadline, outcome
        time.sleep(0.005)
    assert says in outcome.error.message
    assert "minercdc check" in outcome.error.hint
    found.stop()


@pytest.mark.parametrize("rows", [(), ("insert into k values (3)",)])
def test_the_end_is_not_that_of_a_table_which_has_the_name_by_now(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, rows: tuple[str, ...]
) -> None:
    """The stream has not come to the RENAME. Taken for the table's, the end of another one would cut off what lies after it."""
    monkeypatch.setattr("minercdc.snapshot.incremental.reader._WAIT_SECONDS", 0.01)
    lab.run("create table k (id number(9) primary key)", "insert into k values (9)")
    lab.app.commit()
    table = lab.table("k")
    shapes = Shapes(lab, table)
    with connect(lab.config, "pdb") as connection:
        emitted = present_scn(connection)
    lab.run("rename k to k_old", "create table k (id number(9) primary key)", *rows)
    lab.app.commit()
    found = reader(lab, shapes, 2)
    found.start(table, TableRead(str(table)), "", emitted)
    outcome = next_outcome(found)
    found.stop()
    assert isinstance(outcome, Failed)
    assert outcome.scn > emitted  # so that it is given up only when the stream has come past the RENAME
    assert "K_OLD" in outcome.error.message


@pytest.mark.parametrize("close_by", ["insert", "delete"])
def test_marks_stand_around_each_chunk(lab: Lab, close_by: str) -> None:
    lab.run(
        "create table k (id number(9) primary key)",
        "create table marks (id varchar2(42) primary key, type varchar2(32), data varchar2(2048))",
    )
    with lab.app.cursor() as cursor:
        cursor.executemany("insert into k values (:1)", [(n,) for n in range(7)])
        cursor.execute("grant select, insert, delete on marks to c##minercdc")
    lab.app.commit()
    table = lab.table("k")
    marks = Marks(lab.table("marks"), "insert" if close_by == "insert" else "delete")
    found = reader(lab, Shapes(lab, table), 3, marks)
    found.start(table, TableRead("K"), "", 0)
    chunks = read_all(found)
    deadline = time.monotonic() + PATIENCE_SECONDS
    expected = {f"{part.window}{end}" for part in chunks for end in ("-open", "-close")} if close_by == "insert" else set()
    # The SCN is read after the mark is there.
    while {row[0] for row in lab.rows("marks")} != expected or not all(part.closed_scn for part in chunks):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert [len(part.rows) for part in chunks] == [3, 3, 1]
    assert all(part.ceiling == 0 for part in chunks)
    assert all(part.closed_scn > part.floor for part in chunks)
    found.stop()
