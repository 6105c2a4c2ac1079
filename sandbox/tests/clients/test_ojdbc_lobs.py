"""LOBs, LONGs and BOOLEAN through ojdbc11 thin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sandbox.tests.clients.jdbc import Jvm, SqlError, rows, sql_errors
from sandbox.tests.clients.lob_values import LONG_BYTES, LONG_TEXT, TABLE
from tests.fixtures.fix_sandbox import SandboxProcess

PLAIN_TEXT = LONG_TEXT.replace("\U0001f600", "xy")  # ojdbc's setString spoils surrogate pairs between its pieces
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


@pytest.fixture(params=["", "?oracle.jdbc.defaultLobPrefetchSize=-1", "?oracle.jdbc.defaultLobPrefetchSize=1000000"])
def prefetching(request: pytest.FixtureRequest, jvm: Jvm, schema: SandboxProcess) -> Iterator[Any]:
    connection = jvm.connect(schema, url=f"jdbc:oracle:thin:@//{schema.dsn}{request.param}")
    yield connection
    connection.close()


@pytest.fixture
def connection(jvm: Jvm, schema: SandboxProcess) -> Iterator[Any]:
    connection = jvm.connect(schema)
    connection.setAutoCommit(False)
    yield connection
    with sql_errors():
        connection.rollback()
        connection.close()


def stored(connection: Any, row: int) -> tuple[str, bytes]:
    result = connection.createStatement().executeQuery(f"select c, b from lobs where id = {row}")
    result.next()
    return result.getString(1), bytes(result.getBytes(2))


def test_lobs_as_text_and_bytes(prefetching: Any) -> None:
    result = prefetching.createStatement().executeQuery("select id, c, n, b from lobs where id <= 3 order by id")
    found = []
    while result.next():
        data = result.getBytes(4)
        found.append((result.getInt(1), result.getString(2), result.getString(3), None if data is None else bytes(data)))
    assert found == [
        (1, "small", "national", b"\xca\xfe"),
        (2, None, "", b""),
        (3, LONG_TEXT, LONG_TEXT, LONG_BYTES),
    ]


def test_lobs_as_objects(prefetching: Any) -> None:
    result = prefetching.createStatement().executeQuery("select c, b from lobs where id = 3")
    result.next()
    text, data = result.getClob(1), result.getBlob(2)
    assert (text.length(), data.length()) == (UNITS, len(LONG_BYTES))
    assert (text.getSubString(6, 3), bytes(data.getBytes(257, 3))) == ("a\u00e9\u4e2d", b"\0\1\2")


def test_values_too_long_for_a_bind_go_through_temporary_lobs(jvm: Jvm, connection: Any) -> None:
    java = jvm.java
    insert = connection.prepareStatement("insert into lobs values (?, ?, ?, ?)")
    for number in (10, 11):
        insert.setInt(1, number)
        if number == 10:
            insert.setString(2, PLAIN_TEXT)
            insert.setNString(3, LONG_TEXT)
            insert.setBytes(4, LONG_BYTES)
        else:
            insert.setClob(2, java.io.StringReader(LONG_TEXT))
            insert.setNClob(3, java.io.StringReader(LONG_TEXT))
            insert.setBlob(4, java.io.ByteArrayInputStream(LONG_BYTES))
        with sql_errors():
            assert insert.executeUpdate() == 1
    result = connection.createStatement().executeQuery("select c, n, b from lobs where id in (10, 11) order by id")
    for text in (PLAIN_TEXT, LONG_TEXT):
        assert result.next()
        assert (result.getString(1), result.getString(2), bytes(result.getBytes(3))) == (text, LONG_TEXT, LONG_BYTES)


def test_writing_through_locators(jvm: Jvm, connection: Any) -> None:
    connection.createStatement().executeUpdate("insert into lobs values (20, 'small', null, hextoraw('000000'))")
    result = connection.createStatement().executeQuery("select c, b from lobs where id = 20 for update")
    result.next()
    text, data = result.getClob(1), result.getBlob(2)
    with sql_errors():
        text.setString(3, "XYZ12")
        text.truncate(6)
        data.setBytes(2, b"\7\7\7")
    assert stored(connection, 20) == ("smXYZ1", b"\0\7\7\7")


def test_a_row_must_be_locked(connection: Any) -> None:
    result = connection.createStatement().executeQuery("select c from lobs where id = 1")
    result.next()
    with pytest.raises(SqlError, match="ORA-22920"), sql_errors():
        result.getClob(1).setString(1, "x")


def test_temporary_lobs(connection: Any) -> None:
    text, data = connection.createClob(), connection.createBlob()
    with sql_errors():
        text.setString(1, "temporary")
        data.setBytes(1, b"abc")
        insert = connection.prepareStatement("insert into lobs values (30, ?, null, ?)")
        insert.setClob(1, text)
        insert.setBlob(2, data)
        insert.executeUpdate()
        text.free()
        data.free()
    assert stored(connection, 30) == ("temporary", b"abc")


def test_out_parameters(jvm: Jvm, connection: Any) -> None:
    call = connection.prepareCall("begin ? := to_clob('abc'); end;")
    call.registerOutParameter(1, jvm.types.CLOB)
    with sql_errors():
        call.execute()
    assert call.getClob(1).getSubString(1, 10) == "abc"


def test_long_columns(connection: Any) -> None:
    statement = connection.createStatement()
    with sql_errors():
        statement.executeUpdate("create table longs (id number, v long)")
        statement.executeUpdate("create table raws (id number, v long raw)")
        insert = connection.prepareStatement("insert into longs values (1, ?)")
        insert.setString(1, "x" * 70_000)
        insert.executeUpdate()
        insert = connection.prepareStatement("insert into raws values (1, ?)")
        insert.setBytes(1, LONG_BYTES)
        insert.executeUpdate()
        result = statement.executeQuery("select id, v from longs")
        result.next()
        assert (result.getInt(1), result.getString(2)) == (1, "x" * 70_000)
        result = statement.executeQuery("select id, v from raws")
        result.next()
        assert (result.getInt(1), bytes(result.getBytes(2))) == (1, LONG_BYTES)


@pytest.mark.parametrize(("kind", "values"), [("long", ["a", "bc", None, "def"]), ("long raw", ["AA", "BBCC", None, "DD"])])
@pytest.mark.parametrize("columns", ["id, v", "v, id", "v"])
def test_rows_with_a_long_column_are_fetched_one_by_one(
    jvm: Jvm, connection: Any, kind: str, values: list[str | None], columns: str
) -> None:
    with sql_errors():
        statement = connection.createStatement()
        statement.executeUpdate(f"create table many_longs (id number, v {kind})")
        insert = connection.prepareStatement("insert into many_longs values (?, ?)")
        for number, value in enumerate(values):
            insert.setInt(1, number)
            insert.setBytes(2, bytes.fromhex(value or "")) if "raw" in kind else insert.setString(2, value)
            insert.executeUpdate()
        query = connection.prepareStatement(f"select {columns} from many_longs where id >= ? order by id")
        query.setFetchSize(1000)
        for _ in range(2):
            query.setInt(1, 0)
            found = rows(query.executeQuery())
            both = {"id": [str(n) for n in range(len(values))], "v": values}
            assert found == [list(row) for row in zip(*(both[name] for name in columns.split(", ")), strict=True)]
        statement.executeUpdate("drop table many_longs purge")


def test_booleans_are_of_23ai(connection: Any) -> None:
    statement = connection.createStatement()
    if connection.getMetaData().getDatabaseMajorVersion() == 19:
        with pytest.raises(SqlError, match="ORA-00902"), sql_errors():
            statement.executeUpdate("create table flags (id number, f boolean)")
        return
    with sql_errors():
        statement.executeUpdate("create table flags (id number, f boolean)")
        insert = connection.prepareStatement("insert into flags values (?, ?)")
        for number, flag in ((1, True), (2, False)):
            insert.setInt(1, number)
            insert.setBoolean(2, flag)
            insert.executeUpdate()
        result = statement.executeQuery("select f from flags order by id")
        assert result.getMetaData().getColumnTypeName(1) == "BOOLEAN"
        assert [result.next() and result.getBoolean(1) for _ in range(2)] == [True, False]
