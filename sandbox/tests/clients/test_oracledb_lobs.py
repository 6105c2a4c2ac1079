"""LOBs, LONGs and the newer types through python-oracledb thin."""

from __future__ import annotations

from collections.abc import Iterator

import oracledb
import pytest
from sandbox.tests.clients.lob_values import LONG_BYTES, LONG_TEXT, TABLE
from tests.fixtures.fix_sandbox import SandboxProcess

UNITS = len(LONG_TEXT.encode("utf-16-be")) // 2


@pytest.fixture(scope="module")
def schema(server: SandboxProcess) -> SandboxProcess:
    with server.connect("app", "app") as connection, connection.cursor() as cursor:
        cursor.execute(TABLE)
        cursor.execute("insert into lobs values (1, 'small', 'national', hextoraw('cafe'))")
        cursor.execute("insert into lobs values (2, null, empty_clob(), empty_blob())")
        cursor.execute("insert into lobs values (:1, :2, :3, :4)", [3, LONG_TEXT, LONG_TEXT, LONG_BYTES])
        connection.commit()
    return server


@pytest.fixture
def cursor(schema: SandboxProcess) -> Iterator[oracledb.Cursor]:
    with schema.connect("app", "app") as connection, connection.cursor() as cursor:
        yield cursor


def read(cursor: oracledb.Cursor, column: str, row: int) -> oracledb.LOB:
    (lob,) = cursor.execute(f"select {column} from lobs where id = :1", [row]).fetchone() or (None,)
    assert isinstance(lob, oracledb.LOB)
    return lob


def test_locators_have_their_size_and_read(cursor: oracledb.Cursor) -> None:
    assert [(read(cursor, c, 1).size(), read(cursor, c, 1).read()) for c in "cnb"] == [
        (5, "small"), (8, "national"), (2, b"\xca\xfe"),
    ]  # fmt: skip
    assert [read(cursor, c, 3).size() for c in "cnb"] == [UNITS, UNITS, len(LONG_BYTES)]
    assert read(cursor, "c", 3).read() == read(cursor, "n", 3).read() == LONG_TEXT
    assert read(cursor, "b", 3).read() == LONG_BYTES
    assert (read(cursor, "c", 3).read(6, 3), read(cursor, "b", 3).read(257, 3)) == ("a\u00e9\u4e2d", b"\0\1\2")
    assert [read(cursor, c, 2).size() for c in "nb"] == [0, 0]
    assert cursor.execute("select c from lobs where id = 2").fetchone() == (None,)


def test_lobs_come_whole_when_wanted(cursor: oracledb.Cursor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracledb.defaults, "fetch_lobs", False)
    rows = cursor.execute("select id, c, n, b from lobs where id < :1 order by id", [4]).fetchall()
    assert rows == [
        (1, "small", "national", b"\xca\xfe"),
        (2, None, None, None),
        (3, LONG_TEXT, LONG_TEXT, LONG_BYTES),
    ]


def test_writing_through_a_locator(cursor: oracledb.Cursor) -> None:
    cursor.execute("insert into lobs (id, c) values (10, :1)", ["x" * 12])
    lob = read(cursor, "c", 10)
    lob.write("HELLO", 5)
    assert lob.read() == "xxxxHELLOxxx"
    lob.trim(7)
    assert (lob.read(), lob.size()) == ("xxxxHEL", 7)
    assert read(cursor, "c", 10).read() == "xxxxHEL"
    assert lob.getchunksize() > 0
    lob.open()
    assert lob.isopen()
    lob.close()
    assert not lob.isopen()


def test_a_row_must_be_locked_to_write_its_lob(cursor: oracledb.Cursor) -> None:
    with pytest.raises(oracledb.DatabaseError, match="ORA-22920"):
        read(cursor, "c", 1).write("x")
    (lob,) = cursor.execute("select c from lobs where id = 1 for update").fetchone() or (None,)
    assert lob is not None
    lob.write("S")
    assert read(cursor, "c", 1).read() == "Small"


def test_temporary_lobs(cursor: oracledb.Cursor) -> None:
    text = cursor.connection.createlob(oracledb.DB_TYPE_CLOB, LONG_TEXT)
    national = cursor.connection.createlob(oracledb.DB_TYPE_NCLOB, "n\u4e2d")
    data = cursor.connection.createlob(oracledb.DB_TYPE_BLOB)
    data.write(b"xyz")
    text.write("START")
    cursor.execute("insert into lobs values (20, :1, :2, :3)", [text, national, data])
    del text, national, data  # the next call frees them
    cursor.connection.ping()
    assert [read(cursor, c, 20).read() for c in "cnb"] == [
        "START" + LONG_TEXT[4:],  # five units are four characters
        "n\u4e2d",
        b"xyz",
    ]


def test_lobs_by_type_and_returned(cursor: oracledb.Cursor) -> None:
    cursor.setinputsizes(oracledb.DB_TYPE_CLOB, oracledb.DB_TYPE_NCLOB, oracledb.DB_TYPE_BLOB)
    cursor.execute("insert into lobs values (30, :1, :2, :3)", [LONG_TEXT, LONG_TEXT, LONG_BYTES])
    assert read(cursor, "c", 30).read() == LONG_TEXT
    made = cursor.var(oracledb.DB_TYPE_CLOB)
    cursor.execute("insert into lobs values (31, empty_clob(), null, null) returning c into :1", [made])
    made.getvalue()[0].write("by its locator")
    assert read(cursor, "c", 31).read() == "by its locator"
    cursor.execute("begin :1 := to_clob('from a block'); end;", [made])
    assert made.getvalue().read() == "from a block"


@pytest.mark.parametrize(("kind", "value"), [("long", "x" * 70_000), ("long raw", b"\1\2" * 40_000)])
def test_long_columns(cursor: oracledb.Cursor, kind: str, value: str | bytes) -> None:
    name = kind.replace(" ", "_") + "s"
    cursor.execute(f"create table {name} (id number, v {kind}, last varchar2(5))")
    cursor.execute(f"insert into {name} values (1, :1, 'end')", [value])
    cursor.execute(f"insert into {name} values (2, null, 'end')")
    assert cursor.execute(f"select id, v, last from {name} order by id").fetchall() == [(1, value, "end"), (2, None, "end")]


def test_xml_comes_as_text(cursor: oracledb.Cursor) -> None:
    cursor.execute("create table documents (id number, d xmltype)")
    cursor.execute("insert into documents values (1, xmltype('<a>1</a>'))")
    cursor.execute("insert into documents values (2, :1)", ["<b/>"])
    found = [lob.read() for (lob,) in cursor.execute("select d from documents order by id")]
    assert found == ["<a>1</a>", "<b/>"]


def test_row_ids_as_columns(cursor: oracledb.Cursor) -> None:
    cursor.execute("create table places (u urowid, r rowid)")
    cursor.execute("insert into places select rowid, rowid from lobs where id = 1")
    expected = cursor.execute("select rowid, rowid from lobs where id = 1").fetchone()
    assert cursor.execute("select u, r from places").fetchone() == expected


def test_booleans_are_of_23ai(server: SandboxProcess, cursor: oracledb.Cursor) -> None:
    if cursor.connection.version.startswith("19."):
        with pytest.raises(oracledb.DatabaseError, match="ORA-00902"):
            cursor.execute("create table flags (id number, f boolean)")
        return
    cursor.execute("create table flags (id number, f boolean)")
    cursor.executemany("insert into flags values (:1, :2)", [(1, True), (2, False), (3, None)])
    assert cursor.execute("select f from flags order by id").fetchall() == [(True,), (False,), (None,)]


def test_a_bfile_is_a_name_that_cannot_be_read(cursor: oracledb.Cursor) -> None:
    cursor.execute("create table files (id number, f bfile)")
    cursor.execute("insert into files values (1, bfilename('DOCS', 'b\u00e9.txt'))")
    cursor.execute("insert into files values (2, null)")
    (lob,), nothing = cursor.execute("select f from files order by id").fetchall()
    assert [column.type_code for column in cursor.description or ()] == [oracledb.DB_TYPE_BFILE]
    assert lob.getfilename() == ("DOCS", "b\u00e9.txt")
    assert nothing == (None,)
    with pytest.raises(oracledb.DatabaseError, match="ORA-22285"):
        lob.read()
    with pytest.raises(oracledb.DatabaseError, match="ORA-00932"):
        cursor.execute("insert into files values (3, 'a.txt')")
    with pytest.raises(oracledb.DatabaseError, match="ORA-00932"):
        cursor.execute("select f from files order by f")
