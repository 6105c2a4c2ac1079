"""Oracle's JDBC driver (ojdbc11 thin), unmodified, against both profiles."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from sandbox.tests.clients.jdbc import Jvm, SqlError, named_rows, rows, sql_errors
from tests.fixtures.fix_sandbox import SandboxProcess

LONG_QUERY = "select count(*) from v$parameter a, v$parameter b, v$parameter c, v$parameter d, v$parameter e, v$parameter f, v$parameter g, v$parameter h"
KINDS = (
    "id number(10) primary key, i number(10), n number, bf binary_float, bd binary_double, v varchar2(100), c char(5), "
    "nv nvarchar2(50), nc nchar(4), d date, ts timestamp(9), tz timestamp(6) with time zone, r raw(50), "
    "ym interval year to month, ds interval day to second"
)


@pytest.fixture(scope="module")
def schema(server: SandboxProcess) -> SandboxProcess:
    with server.connect("app", "app") as connection, connection.cursor() as cursor:
        cursor.execute("create table t (id number(10) primary key, v varchar2(4000))")
        cursor.execute(f"create table kinds ({KINDS})")
        cursor.execute("create index t_v on t (v)")
        cursor.executemany("insert into t values (:1, :2)", [(n, f"v{n}") for n in range(1000)])
        connection.commit()
    return server


@pytest.fixture
def connection(jvm: Jvm, schema: SandboxProcess) -> Iterator[Any]:
    connection = jvm.connect(schema)
    connection.setAutoCommit(False)
    yield connection
    with sql_errors():
        connection.rollback()
        connection.close()


def query(connection: Any, sql: str) -> list[list[str | None]]:
    with sql_errors():
        return rows(connection.createStatement().executeQuery(sql))


def test_values_of_every_type_go_in_and_come_out(jvm: Jvm, connection: Any) -> None:
    java, sql = jvm.java, jvm.sql
    insert = connection.prepareStatement(f"insert into kinds values ({', '.join('?' * 15)})")
    insert.setLong(1, 1)
    insert.setInt(2, -5)
    insert.setBigDecimal(3, Decimal("123456789012345.678"))
    insert.setFloat(4, 1.5)
    insert.setDouble(5, 2.25)
    insert.setString(6, "h\u00e9")
    insert.setString(7, "ab")
    insert.setNString(8, "\u4e2d\U0001f600")
    insert.setNString(9, "n")
    insert.setDate(10, sql.Date.valueOf("2024-02-29"))
    insert.setTimestamp(11, sql.Timestamp.valueOf("2024-02-29 01:02:03.123456789"))
    insert.setObject(12, java.time.OffsetDateTime.parse("2024-02-29T01:02:03.5+05:30"))
    insert.setBytes(13, b"\xca\xfe")
    insert.setObject(14, java.time.Period.of(3, 2, 0))
    insert.setObject(15, java.time.Duration.parse("P1DT2H3M4.5S"))
    assert insert.executeUpdate() == 1
    assert query(connection, "select * from kinds where id = 1") == [
        [
            "1", "-5", "123456789012345.678", "1.5", "2.25", "h\u00e9", "ab   ", "\u4e2d\U0001f600", "n   ",
            "2024-02-29 00:00:00", "2024-02-29 01:02:03.123456789", "2024-02-29 01:02:03.5 +5:30", "CAFE", "3-2", "1 2:3:4.5",
        ]
    ]  # fmt: skip


def test_nulls_of_every_type(jvm: Jvm, connection: Any) -> None:
    kinds = (
        *("INTEGER", "NUMERIC", "REAL", "DOUBLE", "VARCHAR", "CHAR", "NVARCHAR", "NCHAR", "DATE", "TIMESTAMP"),
        *("TIMESTAMP_WITH_TIMEZONE", "VARBINARY", "NULL", "NULL"),
    )
    insert = connection.prepareStatement(f"insert into kinds values (2, {', '.join('?' * 14)})")
    for position, kind in enumerate(kinds, 1):
        insert.setNull(position, getattr(jvm.types, kind))
    assert insert.executeUpdate() == 1
    assert query(connection, "select * from kinds where id = 2") == [["2", *[None] * 14]]


def test_result_metadata(connection: Any) -> None:
    data = connection.createStatement().executeQuery("select id, n, v, tz, r from kinds").getMetaData()
    described = [
        (data.getColumnName(n), data.getColumnTypeName(n), data.getPrecision(n), data.getScale(n), data.isNullable(n))
        for n in range(1, 6)
    ]
    assert described == [
        ("ID", "NUMBER", 10, 0, 0),
        ("N", "NUMBER", 0, -127, 1),
        ("V", "VARCHAR2", 100, 0, 1),
        ("TZ", "TIMESTAMP WITH TIME ZONE", 0, 6, 1),
        ("R", "RAW", 50, 0, 1),
    ]


def test_metadata_of_a_prepared_query_before_it_ran(connection: Any) -> None:
    statement = connection.prepareStatement("select id, v from t where id = ?")
    data = statement.getMetaData()
    assert [(data.getColumnName(n), data.getPrecision(n)) for n in (1, 2)] == [("ID", 10), ("V", 4000)]
    statement.setInt(1, 5)
    assert rows(statement.executeQuery()) == [["5", "v5"]]


def test_fetch_in_pieces(connection: Any) -> None:
    statement = connection.createStatement()
    statement.setFetchSize(37)
    assert rows(statement.executeQuery("select id from t order by id")) == [[str(n)] for n in range(1000)]


def test_batches_return_their_counts(connection: Any) -> None:
    insert = connection.prepareStatement("insert into t values (?, ?)")
    for number in range(2000, 3000):
        insert.setInt(1, number)
        insert.setString(2, "x" * (number % 900))
        insert.addBatch()
    assert list(insert.executeBatch()) == [1] * 1000
    update = connection.prepareStatement("update t set v = 'x' where id < ?")
    for number in (3, 0, 10):
        update.setInt(1, number)
        update.addBatch()
    assert list(update.executeBatch()) == [3, 0, 10]


def test_generated_row_id(jvm: Jvm, connection: Any) -> None:
    insert = connection.prepareStatement("insert into t values (?, 'made')", jvm.sql.Statement.RETURN_GENERATED_KEYS)
    for number in (5000, 5001):
        insert.setInt(1, number)
        assert insert.executeUpdate() == 1
        ((row_id,),) = rows(insert.getGeneratedKeys())
        assert query(connection, f"select id from t where rowid = '{row_id}'") == [[str(number)]]


def test_generated_keys_by_name_and_by_place(jvm: Jvm, connection: Any) -> None:
    with sql_errors():
        connection.createStatement().executeUpdate(
            "create table keyed (id number(10) generated by default as identity, v varchar2(30), d date default date '2026-01-02',"
            " t timestamp(3), n number)"
        )
        by_name = connection.prepareStatement("insert into keyed (v) values (?)", jvm.strings("id", "D", "V"))
        for number in (1, 2):
            by_name.setString(1, f"v{number}")
            assert by_name.executeUpdate() == 1
            assert rows(by_name.getGeneratedKeys()) == [[str(number), "2026-01-02 00:00:00", f"v{number}"]]
        places = jvm.gateway.new_array(jvm.gateway.jvm.int, 1)
        places[0] = 1
        by_place = connection.prepareStatement("insert into app.keyed (v) values ('x')", places)
        assert by_place.executeUpdate() == 1
        assert rows(by_place.getGeneratedKeys()) == [["3"]]
        connection.createStatement().executeUpdate("drop table keyed purge")
    with pytest.raises(SqlError, match="ORA-00942"), sql_errors():
        connection.prepareStatement("insert into missing values (5002, 'x')", jvm.strings("ID")).executeUpdate()
    assert connection.isValid(5)


def test_returning_into(jvm: Jvm, connection: Any) -> None:
    update = connection.prepareStatement("update t set v = ? where id < 2 returning id, v into ?, ?")
    for text in ("one", "two"):
        update.setString(1, text)
        update.registerReturnParameter(2, jvm.types.INTEGER)
        update.registerReturnParameter(3, jvm.types.VARCHAR, 100)
        assert update.executeUpdate() == 2
        assert sorted(rows(update.getReturnResultSet())) == [["0", text], ["1", text]]


def test_row_id_binds(jvm: Jvm, connection: Any) -> None:
    found = connection.createStatement().executeQuery("select rowid from t where id = 77")
    found.next()
    row_id = found.getRowId(1)
    again = connection.prepareStatement("select id from t where rowid = ?")
    again.setRowId(1, row_id)
    assert rows(again.executeQuery()) == [["77"]]
    again.setNull(1, jvm.types.ROWID)
    assert rows(again.executeQuery()) == []


def test_transactions_and_savepoints(jvm: Jvm, schema: SandboxProcess, connection: Any) -> None:
    statement = connection.createStatement()
    statement.executeUpdate("insert into t values (6000, 'a')")
    savepoint = connection.setSavepoint("a")
    statement.executeUpdate("delete from t")
    connection.rollback(savepoint)
    other = jvm.connect(schema)
    assert query(connection, "select count(*) from t") == [["1001"]]
    assert query(other, "select count(*) from t") == [["1000"]]
    connection.rollback()
    assert query(connection, "select count(*) from t") == [["1000"]]
    other.close()


def test_out_and_in_out_parameters(jvm: Jvm, connection: Any) -> None:
    call = connection.prepareCall("begin ? := ? + 1; ? := ? || '!'; end;")
    for number in (41, 42):
        call.registerOutParameter(1, jvm.types.INTEGER)
        call.setInt(2, number)
        call.registerOutParameter(3, jvm.types.VARCHAR)
        call.setString(4, "x")
        with sql_errors():
            call.execute()
        assert (call.getInt(1), call.getString(3)) == (number + 1, "x!")


@pytest.mark.parametrize("how", ["timeout", "cancel"])
def test_long_query_ends_when_cancelled(connection: Any, how: str) -> None:
    statement = connection.createStatement()
    if how == "timeout":
        statement.setQueryTimeout(1)
    else:
        threading.Timer(0.3, statement.cancel).start()
    begun = time.monotonic()
    with pytest.raises(SqlError, match="ORA-01013"), sql_errors():
        statement.executeQuery(LONG_QUERY).next()
    assert time.monotonic() - begun < 10
    assert query(connection, "select 9 from dual") == [["9"]]


def test_errors_carry_code_and_leave_the_session_usable(connection: Any) -> None:
    with pytest.raises(SqlError, match="ORA-00942") as caught:
        query(connection, "select * from nowhere")
    assert caught.value.code == 942
    assert connection.isValid(5)


def test_logon_is_refused_as_by_oracle(jvm: Jvm, schema: SandboxProcess) -> None:
    where = f"jdbc:oracle:thin:@//{schema.host}:{schema.port}/nowhere"
    for expected, arguments in (
        (1017, {"password": "wrong"}),
        (1017, {"user": "unknown"}),
        (12514, {"url": where}),
        (12505, {"url": f"jdbc:oracle:thin:@{schema.host}:{schema.port}:nowhere"}),
    ):
        with pytest.raises(SqlError) as caught:
            jvm.connect(schema, **arguments)
        assert caught.value.code == expected


def test_locked_account(jvm: Jvm, schema: SandboxProcess) -> None:
    schema.create_user("locked")
    with schema.connect() as admin:
        admin.cursor().execute("alter user locked account lock")
    with pytest.raises(SqlError, match="ORA-28000"):
        jvm.connect(schema, "locked", "locked")


def test_client_info_reaches_the_session(connection: Any) -> None:
    for name, value in (("MODULE", "mod"), ("ACTION", "act"), ("CLIENTID", "me"), ("ECID", "ec")):
        connection.setClientInfo(f"OCSID.{name}", value)
    sql = "select sys_context('userenv', 'module'), sys_context('userenv', 'action'), sys_context('userenv', 'client_identifier') from dual"
    assert query(connection, sql) == [["mod", "act", "me"]]
    connection.setClientInfo("OCSID.ACTION", "")
    assert query(connection, sql) == [["mod", None, "me"]]


def test_statement_cache(connection: Any) -> None:
    connection.setImplicitCachingEnabled(True)
    connection.setStatementCacheSize(2)
    for number in range(20):
        statement = connection.prepareStatement(f"select ? + {number % 4} from dual")
        statement.setInt(1, 1)
        assert rows(statement.executeQuery()) == [[str(1 + number % 4)]]
        statement.close()


def test_scrollable_result(jvm: Jvm, connection: Any) -> None:
    result_set = jvm.sql.ResultSet
    statement = connection.createStatement(result_set.TYPE_SCROLL_INSENSITIVE, result_set.CONCUR_READ_ONLY)
    result = statement.executeQuery("select id from t order by id")
    assert (result.last(), result.getInt(1)) == (True, 999)
    assert (result.absolute(5), result.getInt(1)) == (True, 4)
    assert (result.previous(), result.getInt(1)) == (True, 3)


def test_database_and_tables(connection: Any, server: SandboxProcess) -> None:
    data = connection.getMetaData()
    assert data.getDatabaseProductName() == "Oracle"
    assert data.getDatabaseMajorVersion() in (19, 23)
    assert str(data.getDatabaseMajorVersion()) in data.getDatabaseProductVersion()
    assert [row["TABLE_NAME"] for row in named_rows(data.getTables(None, "APP", "%", None))] == ["KINDS", "T"]
    assert ["APP", None] in rows(data.getSchemas())
    assert rows(data.getCatalogs()) == []
    assert [row["COLUMN_NAME"] for row in named_rows(data.getPrimaryKeys(None, "APP", "T"))] == ["ID"]
    assert connection.getSchema() == "APP"


@pytest.mark.parametrize(
    "zone", ["Europe/Berlin", "US/Pacific", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "UTC"]
)
@pytest.mark.parametrize("wall", ["1950-06-15T12:00", "2026-01-15T12:00", "2026-07-15T12:00"])
def test_named_time_zones(jvm: Jvm, connection: Any, zone: str, wall: str) -> None:
    zoned = jvm.java.time.ZonedDateTime.of(jvm.java.time.LocalDateTime.parse(wall), jvm.java.time.ZoneId.of(zone))
    with sql_errors():
        insert = connection.prepareStatement("insert into kinds (id, tz) values (3, ?)")
        insert.setObject(1, zoned)
        insert.executeUpdate()
        text = "to_char(tz, 'YYYY-MM-DD\"T\"HH24:MI TZR')"
        found = connection.createStatement().executeQuery(f"select tz, {text} from kinds where id = 3")
        assert found.next()
        assert found.getString(2) == f"{wall} {zone}"
        classes = [jvm.java.lang.Class.forName(f"java.time.{name}") for name in ("ZonedDateTime", "OffsetDateTime")]
        assert [found.getObject(1, kind).toString() for kind in classes] == [
            *(zoned.toString(), zoned.toOffsetDateTime().toString())
        ]
        assert found.getString(1) == f"{wall.replace('T', ' ')}:00.0 {zone}"
        found.close()
