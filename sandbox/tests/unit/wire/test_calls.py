"""python-oracledb, unmodified, against the wire with canned answers."""

from __future__ import annotations

import asyncio
import datetime as dt
import socket
import threading
from collections.abc import Sequence
from decimal import Decimal

import oracledb
import pytest

from minercdc_sandbox.interfaces import BatchError, BindType, Cell, ColumnDescription, OraError, OraType, Result
from minercdc_sandbox.wire.listener import Listener
from minercdc_sandbox.wire.packets import PacketStream

from .conftest import CannedDatabase, CannedRows, CannedSession

ONE = b"\xc1\x02"
NUMBER = ColumnDescription("N", OraType.NUMBER, 0, -127, 22)
TEXT = ColumnDescription("T", OraType.VARCHAR2, size=4000)
ALL_TYPES = (
    ColumnDescription("ID", OraType.NUMBER, 10, 0, 22, nullable=False),
    ColumnDescription("AMOUNT", OraType.NUMBER, 12, 2, 22),
    ColumnDescription("NAME", OraType.VARCHAR2, size=80),
    ColumnDescription("CODE", OraType.CHAR, size=3),
    ColumnDescription("DAY", OraType.DATE, size=7),
    ColumnDescription("AT", OraType.TIMESTAMP, scale=6, size=11),
    ColumnDescription("BYTES", OraType.RAW, size=2000),
    ColumnDescription("PLACE", OraType.ROWID, size=10),
    ColumnDescription("RATIO", OraType.BINARY_DOUBLE, size=8),
    ColumnDescription("NOTE", OraType.LONG),
)
ROW: tuple[Cell, ...] = (
    b"\xc1\x08",
    bytes.fromhex("3e3b3366"),
    "Zo\u00eb" + "x" * 300,
    "ab ",
    bytes.fromhex("787e021c0e2e3c"),
    bytes.fromhex("787c01020405061dcd6500"),
    b"\xde\xad" * 500,
    "AAASo8AAMAAAACXAAB",
    bytes.fromhex("c004000000000000"),
    "long" * 20000,
)


def test_connect_reports_version_and_session(connection: oracledb.Connection, database: CannedDatabase) -> None:
    assert connection.thin
    assert connection.version == "23.26.1.2.3"
    assert database.sessions[0].user == "SCOTT"


@pytest.mark.parametrize(("user", "password"), [("scott", "lion"), ("unknown", "tiger")])
def test_wrong_password(dsn: str, user: str, password: str) -> None:
    with pytest.raises(oracledb.DatabaseError, match="ORA-01017"):
        oracledb.connect(user=user, password=password, dsn=dsn)


def test_unknown_service(listener: Listener) -> None:
    with pytest.raises(oracledb.DatabaseError, match="DPY-6001"):
        oracledb.connect(user="scott", password="tiger", dsn=f"127.0.0.1:{listener.address[1]}/nowhere")


def test_long_connect_data_comes_in_a_second_packet(listener: Listener) -> None:
    dsn = f"127.0.0.1:{listener.address[1]}/freepdb1"
    with oracledb.connect(user="scott", password="tiger", dsn=dsn, program="p" * 400) as connection:
        connection.ping()


def test_every_type_and_its_description(connection: oracledb.Connection, database: CannedDatabase) -> None:
    database.canned("select all", ALL_TYPES, [ROW, (ONE,) + (None,) * 9])
    cursor = connection.cursor()
    cursor.execute("select all")
    first, second = cursor.fetchall()
    assert first == (
        7, -42.5, "Zo\u00eb" + "x" * 300, "ab ", dt.datetime(2026, 2, 28, 13, 45, 59),
        dt.datetime(2024, 1, 2, 3, 4, 5, 500000), b"\xde\xad" * 500, "AAASo8AAMAAAACXAAB", 2.5, "long" * 20000,
    )  # fmt: skip
    assert second == (1,) + (None,) * 9
    info = {d.name: (d.type_code, d.internal_size, d.precision, d.scale, d.null_ok) for d in cursor.description or ()}
    assert info["ID"] == (oracledb.DB_TYPE_NUMBER, None, 10, 0, False)
    assert info["AMOUNT"] == (oracledb.DB_TYPE_NUMBER, None, 12, 2, True)
    assert info["NAME"] == (oracledb.DB_TYPE_VARCHAR, 80, None, None, True)
    assert info["AT"][0] is oracledb.DB_TYPE_TIMESTAMP
    assert info["AT"][3] == 6
    assert info["BYTES"] == (oracledb.DB_TYPE_RAW, 2000, None, None, True)


@pytest.mark.parametrize("prefetch", [0, 1, 2, 100, 5000])
@pytest.mark.parametrize("arraysize", [1, 7, 100, 10000])
@pytest.mark.parametrize("count", [0, 1, 100, 2500])
def test_any_fetch_size(
    connection: oracledb.Connection, database: CannedDatabase, prefetch: int, arraysize: int, count: int
) -> None:
    want = [f"row {i}" for i in range(count)]
    database.canned("select n", [TEXT], [(text,) for text in want])
    cursor = connection.cursor()
    cursor.prefetchrows, cursor.arraysize = prefetch, arraysize
    assert [text for (text,) in cursor.execute("select n")] == want
    assert [text for (text,) in cursor.execute("select n")] == want


def test_two_open_cursors(connection: oracledb.Connection, database: CannedDatabase) -> None:
    database.canned("select a", [TEXT], [(f"a{i}",) for i in range(500)])
    database.canned("select b", [TEXT], [(f"b{i}",) for i in range(500)])
    a, b = connection.cursor(), connection.cursor()
    a.arraysize = b.arraysize = 3
    a.execute("select a")
    b.execute("select b")
    pairs = [(a.fetchone(), b.fetchone()) for _ in range(500)]
    assert pairs[-1] == (("a499",), ("b499",))


def _echo(session: CannedSession, types: Sequence[BindType], rows: Sequence[tuple[Cell, ...]]) -> Result:
    session.open_transaction = True
    return Result(row_count=len(rows), row_counts=[1] * len(rows))


def test_binds_arrive_in_oracle_encoding(connection: oracledb.Connection, database: CannedDatabase) -> None:
    sql = "insert :a, :b, :c, :d, :e, :f, :g, :h"
    database.answers[sql] = _echo
    values = [7, -42.5, Decimal("123456789.01"), "Zo\u00eb", dt.datetime(2026, 2, 28, 13, 45, 59), b"\xca\xfe", None, ""]
    connection.cursor().execute(sql, values)
    _, types, rows, *_ = database.seen[-1]
    assert rows == [
        (
            bytes.fromhex("c108"), bytes.fromhex("3e3b3366"), bytes.fromhex("c502182e445a02"), "Zo\u00eb",
            bytes.fromhex("787e021c0e2e3c"), b"\xca\xfe", None, None,
        )
    ]  # fmt: skip
    kinds = [bind.type for bind in types]  # type: ignore[attr-defined]
    assert kinds[:6] == [OraType.NUMBER] * 3 + [OraType.VARCHAR2, OraType.DATE, OraType.RAW]


def test_timestamp_binds_are_always_eleven_bytes(connection: oracledb.Connection, database: CannedDatabase) -> None:
    database.answers["insert :a"] = _echo
    cursor = connection.cursor()
    cursor.setinputsizes(oracledb.DB_TYPE_TIMESTAMP)
    cursor.executemany("insert :a", [(dt.datetime(2024, 1, 2, 3, 4, 5, us),) for us in (0, 500000)])
    assert database.seen[-1][2] == [
        (bytes.fromhex("787c0102040506") + bytes(4),),
        (bytes.fromhex("787c01020405061dcd6500"),),
    ]


def test_array_dml(connection: oracledb.Connection, database: CannedDatabase) -> None:
    database.answers["insert :a, :b"] = _echo
    cursor = connection.cursor()
    want = [(i, "w" * (i % 3000)) for i in range(20000)]
    cursor.executemany("insert :a, :b", want, arraydmlrowcounts=True)
    assert cursor.rowcount == 20000
    assert cursor.getarraydmlrowcounts() == [1] * 20000
    rows = database.seen[-1][2]
    assert [row[1] or "" for row in rows] == [text for _, text in want]  # type: ignore[attr-defined]
    assert connection.transaction_in_progress
    connection.commit()
    assert not connection.transaction_in_progress


def test_wide_binds_come_last_on_the_wire(connection: oracledb.Connection, database: CannedDatabase) -> None:
    database.answers["insert :a, :b, :c"] = _echo
    connection.cursor().execute("insert :a, :b, :c", ["x" * 200000, 7, "y"])
    assert database.seen[-1][2] == [("x" * 200000, b"\xc1\x08", "y")]


def test_batch_errors(connection: oracledb.Connection, database: CannedDatabase) -> None:
    database.answers["insert :a"] = lambda *_: Result(
        row_count=3, batch_errors=[BatchError(2, OraError(1, "unique constraint (S.P) violated"))]
    )
    cursor = connection.cursor()
    cursor.executemany("insert :a", [(i,) for i in range(4)], batcherrors=True)
    (error,) = cursor.getbatcherrors()
    assert (error.code, error.offset) == (1, 2)
    assert error.message.startswith("ORA-00001: unique constraint (S.P) violated")
    assert cursor.rowcount == 3
    assert database.seen[-1][3] is True


def test_error_carries_code_and_offset(connection: oracledb.Connection) -> None:
    with pytest.raises(oracledb.DatabaseError) as caught:
        connection.cursor().execute("select nothing")
    (error,) = caught.value.args
    assert (error.code, error.offset, error.full_code) == (942, 14, "ORA-00942")
    connection.ping()


def test_a_statement_goes_on_after_a_violated_constraint(connection: oracledb.Connection, database: CannedDatabase) -> None:
    def insert(_: CannedSession, __: object, rows: Sequence[tuple[Cell, ...]]) -> Result:
        if rows[0] == (b"\xc1\x02",):
            raise OraError(1, "unique constraint (S.P) violated")
        return Result(row_count=1)

    database.answers["insert :a"] = insert
    cursor = connection.cursor()
    for value in (2, 1, 2, 1, 2):
        try:
            cursor.execute("insert :a", [value])
            assert cursor.rowcount == 1
        except oracledb.IntegrityError:
            assert value == 1


def test_error_in_the_middle_of_a_big_fetch(connection: oracledb.Connection, database: CannedDatabase) -> None:
    class Failing(CannedRows):
        def fetch(self, count: int) -> list[tuple[Cell, ...]]:
            rows = super().fetch(count)
            if not rows:
                raise OraError(1555, "snapshot too old")
            return rows

    database.answers["select n"] = lambda *_: Result(columns=(TEXT,), rows=Failing([("x" * 1001,)] * 3000))
    cursor = connection.cursor()
    cursor.arraysize = cursor.prefetchrows = 10000
    with pytest.raises(oracledb.DatabaseError, match="ORA-01555"):
        cursor.execute("select n").fetchall()
    connection.ping()


def test_block_with_binds(connection: oracledb.Connection, database: CannedDatabase) -> None:
    def block(_: CannedSession, __: object, rows: Sequence[tuple[Cell, ...]]) -> Result:
        return Result(out={0: b"\xc1\x2b", 2: "done"}, out_only=frozenset({0, 2}))

    sql = "begin :o := :i + 1; :s := 'x'; end;"
    database.answers[sql] = block
    cursor = connection.cursor()
    number, text = cursor.var(int), cursor.var(str)
    for given in (41, 42):
        cursor.execute(sql, o=number, i=given, s=text)
        assert (number.getvalue(), text.getvalue()) == (42, "done")
    assert [seen[2][0][1] for seen in database.seen if seen[0] == sql] == [b"\xc1\x2a", b"\xc1\x2b"]  # type: ignore[index]


def test_ref_cursor(connection: oracledb.Connection, database: CannedDatabase) -> None:
    rows = [(f"r{i}",) for i in range(300)]
    inner = Result(columns=(TEXT,), rows=CannedRows(rows))
    database.answers["begin open :c; end;"] = lambda *_: Result(out={0: inner}, out_only=frozenset({0}))
    cursor = connection.cursor()
    opened = cursor.var(oracledb.DB_TYPE_CURSOR)
    cursor.execute("begin open :c; end;", [opened])
    assert opened.getvalue().fetchall() == rows


def _slow(session: CannedSession, *_: object) -> Result:
    if session.cancelled.wait(20):
        raise OraError(1013, "user requested cancel of current operation")
    return Result()


def test_cancel_and_call_timeout(connection: oracledb.Connection, database: CannedDatabase) -> None:
    database.answers["slow"] = _slow
    timer = threading.Timer(0.1, connection.cancel)
    timer.start()
    with pytest.raises(oracledb.DatabaseError, match="ORA-01013"):
        connection.cursor().execute("slow")
    timer.join()
    connection.ping()
    connection.call_timeout = 200
    with pytest.raises(oracledb.DatabaseError, match="DPY-4024"):
        connection.cursor().execute("slow")
    connection.call_timeout = 0
    database.canned("select n", [TEXT], [("still here",)])
    assert connection.cursor().execute("select n").fetchall() == [("still here",)]


@pytest.mark.parametrize(
    ("sent", "pending"),
    [(b"", False), (b"\0\0\0\x0c\x06\0\0\0data", False), (b"\0\0\0\x0b\x0c\0\0\0\1\0\3", True), (None, True)],
)
def test_a_marker_or_the_end_of_the_client_is_a_break(sent: bytes | None, pending: bool) -> None:
    client, server = socket.socketpair()
    with client, server:
        if sent is None:
            client.close()
        else:
            client.sendall(sent)
        assert PacketStream(server).pending_marker() is pending


def test_commit_with_the_call(connection: oracledb.Connection, database: CannedDatabase) -> None:
    database.answers["insert :a"] = _echo
    connection.autocommit = True
    connection.cursor().execute("insert :a", [1])
    assert database.seen[-1][5] is True


def test_piggybacks(connection: oracledb.Connection, database: CannedDatabase) -> None:
    for i in range(60):  # more than the statement cache: closes ride on later calls
        database.canned(f"select {i}", [TEXT], [(str(i),)])
        assert connection.cursor().execute(f"select {i}").fetchall() == [(str(i),)]
    connection.action, connection.module, connection.client_identifier = "act", "mod", "me"
    connection.clientinfo = "info"
    connection.current_schema = "APP"
    assert connection.cursor().execute("select 1").fetchall() == [("1",)]
    session = database.sessions[-1]
    assert (session.action, session.module, session.client_id, session.client_info) == ("act", "mod", "me", "info")
    connection.action, connection.module = "", "other"
    connection.ping()
    assert (session.action, session.module) == (None, "other")
    connection.client_identifier = None  # type: ignore[assignment]
    connection.ping()
    assert (session.client_id, session.module) == (None, "other")
    assert 'ALTER SESSION SET CURRENT_SCHEMA = "APP"' in [seen[0] for seen in database.seen]


def test_pool_and_asyncio_and_pipeline(dsn: str, database: CannedDatabase) -> None:
    database.canned("select n", [TEXT], [("x",)])
    database.answers["insert :a"] = _echo
    pool = oracledb.create_pool(user="scott", password="tiger", dsn=dsn, min=1, max=2)
    with pool.acquire() as one, pool.acquire() as two:
        assert [c.cursor().execute("select n").fetchall() for c in (one, two)] == [[("x",)]] * 2
    pool.close()

    async def concurrently() -> list[object]:
        async with oracledb.connect_async(user="scott", password="tiger", dsn=dsn) as connection:
            database.canned("select n", [TEXT], [("x",)] * 5)
            assert len(await connection.fetchall("select n")) == 5
            database.canned("select n", [TEXT], [("y",)] * 5)
            pipeline = oracledb.create_pipeline()
            pipeline.add_fetchall("select n")
            pipeline.add_execute("insert :a", [5])
            pipeline.add_execute("nonsense")
            pipeline.add_commit()
            results = await connection.run_pipeline(pipeline, continue_on_error=True)
            return [len(results[0].rows or ()), results[1].error, results[2].error and results[2].error.full_code]

    assert asyncio.run(asyncio.wait_for(concurrently(), 20)) == [5, None, "ORA-00942"]


def test_unsupported_calls_are_refused_by_name(connection: oracledb.Connection) -> None:
    with pytest.raises(oracledb.DatabaseError, match="ORA-03001.*Advanced Queuing"):
        connection.queue("q").enqone(connection.msgproperties(payload=b"x"))
    connection.ping()


def test_no_thread_is_left(database: CannedDatabase) -> None:
    before = threading.active_count()
    listener = Listener(database, "127.0.0.1", 0)
    listener.start()
    connection = oracledb.connect(user="scott", password="tiger", dsn=f"127.0.0.1:{listener.address[1]}/freepdb1")
    assert threading.active_count() == before + 3
    listener.stop()
    assert threading.active_count() == before
    assert database.sessions[-1].closed
    with pytest.raises(oracledb.DatabaseError):
        connection.ping()
