"""The model of Oracle and the sandbox: both write a random history, and what the connector's own queries find of it obeys the same rules."""

from __future__ import annotations

import random
from collections import defaultdict
from contextlib import closing
from typing import Any, Final

import oracledb
import pytest
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.simulate.oracle import SimConnection
from tests.simulate.source import ITEM, OWNER, PAIR, Source, Table
from tests.simulate.tasks import Process

from minercdc.capture.logminer.logs.redo_logs import LogFile, begin_scn, read_logs, read_threads, select_logs
from minercdc.capture.logminer.position import LogMinerPosition, RedoAddress
from minercdc.capture.logminer.session.logminer_session import MiningSession
from minercdc.capture.logminer.session.query import build_query, committed_query
from minercdc.capture.logminer.session.row import PARTIAL_XID, LogMinerRow, OpCode
from minercdc.capture.logminer.sql_redo.dml import RedoDecoder
from minercdc.errors import MiningSessionError, SourceError
from minercdc.oracle.dictionary.tables import read_tables
from minercdc.oracle.open_transactions import oldest_undecided_scn, open_transactions
from minercdc.oracle.scn import current_scn, database_identity, host_clock, last_redo, written_scn
from minercdc.schema.table import TableId, TableSchema
from minercdc.stream.events import Op, Row

CHANGES: Final = (OpCode.INSERT, OpCode.UPDATE, OpCode.DELETE)
ENDS: Final = (OpCode.COMMIT, OpCode.ROLLBACK)


class Model:
    """The simulation's, with one redo thread or several, by its seed."""

    container: str | None = None

    def __init__(self, seed: int) -> None:
        self._time = 0.0
        self.source = Source(seed, 40, 0, lambda: self._time, lambda line: None)
        self.begin = self.source.scn
        for _ in range(400):
            self._step()

    def _step(self) -> None:
        self._time += 0.2
        self.source.step()
        self.source.passed(self._time)

    def finish(self) -> None:
        while not self.source.done:
            self._step()
        self._time += 60
        self.source.passed(self._time)

    def connect(self) -> Any:
        return SimConnection(self.source, lambda *_: "", lambda: None, lambda size: size, Process("one"))

    pdb = connect


class Sandbox:
    """The Oracle-compatible server: sessions that do what the model's do."""

    def __init__(self, server: SandboxProcess, seed: int) -> None:
        self._server, self._chance, self._number = server, random.Random(seed), 0
        self.container: str | None = server.service
        server.create_user(OWNER)
        with server.connect(OWNER, OWNER) as owner, owner.cursor() as cursor:
            cursor.execute("CREATE TABLE ITEM (ID NUMBER(10) PRIMARY KEY, NOTE VARCHAR2(40), VER NUMBER(12))")
            cursor.execute("CREATE TABLE PAIR (A NUMBER(5), B VARCHAR2(10), VER NUMBER(12), PRIMARY KEY (A, B))")
            for table in ("ITEM", "PAIR"):
                cursor.execute(f"ALTER TABLE {table} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS")
        with closing(self.connect()) as root:
            self.begin = int(current_scn(root))
        # Each session has keys of its own: none waits for another.
        self._sessions = [server.connect(OWNER, OWNER) for _ in range(3)]
        for _ in range(250):
            self._step()

    def _step(self) -> None:
        chance, number = self._chance, self._chance.randrange(3)
        session = self._sessions[number]
        self._number += 1
        choice = chance.random()
        with session.cursor() as cursor:
            if choice < 0.04:
                with closing(self.connect()) as root, root.cursor() as admin:
                    admin.execute("ALTER SYSTEM SWITCH LOGFILE")
            elif choice < 0.2:
                session.rollback() if chance.random() < 0.2 else session.commit()
            elif choice < 0.25:
                cursor.execute("SAVEPOINT S")
                cursor.execute(f"UPDATE ITEM SET VER = {self._number} WHERE MOD(ID, 3) = {number}")
                cursor.execute("ROLLBACK TO SAVEPOINT S")
            elif choice < 0.5:
                row = 3 * self._number + number, chance.choice((None, "it's", "plain")), self._number
                cursor.execute("INSERT INTO ITEM VALUES (:1, :2, :3)", row)
            elif choice < 0.6:
                key = 3 * self._number + number, chance.choice("bc")
                cursor.execute("INSERT INTO PAIR VALUES (:1, :2, :3)", (*key, self._number))
            elif choice < 0.75:
                cursor.execute(
                    f"UPDATE ITEM SET NOTE = 'x', VER = {self._number} WHERE MOD(ID, 3) = {number} AND ROWNUM = 1"
                )
            elif choice < 0.85:
                change = f"A = A + 30000, VER = {self._number}"
                cursor.execute(f"UPDATE PAIR SET {change} WHERE MOD(A, 3) = {number} AND A < 30000 AND ROWNUM = 1")
            else:
                table, key_column = chance.choice((("ITEM", "ID"), ("PAIR", "A")))
                cursor.execute(f"DELETE FROM {table} WHERE MOD({key_column}, 3) = {number} AND ROWNUM = 1")

    def finish(self) -> None:
        for session in self._sessions:
            session.commit()
            session.close()

    def connect(self) -> oracledb.Connection:
        return self._server.connect(service=self._server.root_service)

    def pdb(self) -> oracledb.Connection:
        return self._server.connect()


@pytest.fixture(params=["model 1", "model 3", "model 7", "sandbox 1"])
def subject(request: pytest.FixtureRequest) -> Any:
    kind, seed = request.param.split()
    return Model(int(seed)) if kind == "model" else Sandbox(request.getfixturevalue("fresh_sandbox"), int(seed))


def listed(connection: oracledb.Connection, begin: int) -> tuple[tuple[LogFile, ...], int]:
    """The logs that a first pass reads, and where it starts."""
    threads = read_threads(connection)
    logs = read_logs(connection, begin_scn(LogMinerPosition(start_scn=begin), threads))
    selection = select_logs(logs, threads, {}, begin, 1000)
    return selection.files, selection.start_scn


def mined(subject: Any, marks: Any = (), *, committed: bool = False) -> list[LogMinerRow]:
    """What a pass from the begin on shows of the tables."""
    session = MiningSession(subject.connect(), 50)
    try:
        files, start = listed(session.connection, subject.begin)
        session.use_logs(files)
        session.start(start, committed=committed)
        sql, binds = (
            committed_query(0, subject.container, frozenset(("SYS",)))
            if committed
            else build_query(dict(marks), subject.container, frozenset(("SYS",)))
        )
        rows = [LogMinerRow._make(row) for batch in session.rows(sql, binds) for row in batch]
    finally:
        session.close()
    return [row for row in rows if row.owner in (None, OWNER)]


def by_xid(rows: list[LogMinerRow]) -> dict[bytes, list[LogMinerRow]]:
    """Of transactions that changed one of the tables, from their START on."""
    found: dict[bytes, list[LogMinerRow]] = defaultdict(list)
    for row in rows:
        found[bytes(row.xid)].append(row)
    return {
        xid: its for xid, its in found.items() if its[0].code == OpCode.START and any(row.code in CHANGES for row in its)
    }


def without_undone(rows: list[LogMinerRow]) -> list[LogMinerRow]:
    """Each undo row takes out the latest change of its row."""
    kept: list[LogMinerRow] = []
    for row in rows:
        if row.rollback:
            at = max(i for i, one in enumerate(kept) if one.row_id == row.row_id and one.object_id == row.object_id)
            del kept[at]
        elif row.code in CHANGES:
            kept.append(row)
    return kept


def test_the_scn_moves_with_each_look_and_what_is_written_follows(subject: Any) -> None:
    connection = subject.connect()
    first, second = current_scn(connection), current_scn(connection)
    assert first < second
    assert written_scn(connection) <= current_scn(connection)
    assert min(scn for _, scn in last_redo(connection)) == written_scn(connection)
    assert database_identity(connection).resetlogs >= 1
    times = [host_clock(connection) for _ in range(2)]
    assert times[0][0] <= times[1][0]
    connection.close()


def test_the_logs_of_a_thread_follow_each_other_up_to_the_current_one(subject: Any) -> None:
    connection = subject.connect()
    logs = read_logs(connection, 0)
    threads = read_threads(connection)
    assert {log.thread for log in logs} == {thread.number for thread in threads}
    for thread in threads:
        own = [log for log in logs if log.thread == thread.number]
        assert [log.sequence for log in own] == list(range(own[0].sequence, own[0].sequence + len(own)))
        assert [log.current for log in own] == [False] * (len(own) - 1) + [True]
        assert [log.next_scn for log in own[:-1]] == [log.first_scn for log in own[1:]]
        assert len({log.name for log in own}) == len(own)
        assert own[-1].first_scn <= thread.last_scn + 1, "nothing may have been written to it yet"
    connection.close()


def test_each_transaction_is_a_start_changes_and_an_end_in_order_of_address(subject: Any) -> None:
    rows = mined(subject)
    transactions = by_xid(rows)
    assert len(transactions) > 5
    for thread in {row.thread for row in rows}:
        places = [(row.rs_id, row.ssn) for row in rows if row.thread == thread]
        assert places == sorted(places)
    for its in transactions.values():
        codes = [row.code for row in its]
        assert codes.count(OpCode.START) == 1
        assert [code for code in codes if code in ENDS] == codes[-1:] or not set(codes) & set(ENDS)
        changes = [row for row in its if row.code in CHANGES]
        assert all(its[0].scn <= row.scn for row in changes)
        assert all(row.scn <= its[-1].scn for row in changes)
        assert [row.scn for row in changes] == sorted(row.scn for row in changes)
        assert {(row.owner, row.table) for row in changes} <= {(OWNER, "ITEM"), (OWNER, "PAIR")}
        assert all(row.owner is None and row.table is None for row in its if row.code not in CHANGES)
        assert len({row.thread for row in its}) == 1
        if codes[-1] == OpCode.ROLLBACK:
            assert without_undone(its) == []


def test_open_transactions_are_those_without_an_end_and_none_began_before_the_oldest(subject: Any) -> None:
    connection = subject.connect()
    oldest, is_open = oldest_undecided_scn(connection), open_transactions(connection)
    begun = by_xid(mined(subject))
    unfinished = {xid: its for xid, its in begun.items() if its[-1].code not in ENDS}
    assert set(unfinished) <= is_open, "redo of an open one may not be written yet, but not the other way round"
    assert not is_open & {xid for xid, its in begun.items() if its[-1].code in ENDS}
    assert all(oldest <= its[0].scn for its in unfinished.values())
    connection.close()


def test_a_pass_from_a_mark_shows_what_follows_it(subject: Any) -> None:
    rows = mined(subject)
    thread = max({row.thread for row in rows}, key=lambda one: sum(row.thread == one for row in rows))
    own = [row for row in rows if row.thread == thread]
    mark = own[len(own) // 2].rs_id
    later = [row for row in mined(subject, {thread: RedoAddress(mark.strip())}.items()) if row.thread == thread]
    assert [row.rs_id for row in later] == [row.rs_id for row in own if row.rs_id >= mark]


def test_undo_of_a_transaction_that_began_before_the_logs_has_a_partial_xid(subject: Any) -> None:
    subject.finish()
    session = MiningSession(subject.connect(), 50)
    files, _ = listed(session.connection, subject.begin)
    by_thread: dict[int, list[LogFile]] = defaultdict(list)
    for log in files:
        by_thread[log.thread].append(log)
    whole = by_xid(mined(subject))
    begun_in = {xid: int(its[0].rs_id.strip()[2:8], 16) for xid, its in whole.items()}
    seen = 0
    for cut in range(1, max(len(logs) for logs in by_thread.values())):
        if any(len(logs) <= cut for logs in by_thread.values()):
            break
        later = [log for logs in by_thread.values() for log in logs[cut:]]
        session.use_logs(later)
        session.start(max(logs[cut].first_scn for logs in by_thread.values()))
        first = {thread: logs[cut].sequence for thread, logs in by_thread.items()}
        sql, binds = build_query({}, subject.container, frozenset(("SYS",)))
        for batch in session.rows(sql, binds):
            for fetched in batch:
                row = LogMinerRow._make(fetched)
                of = [xid for xid in whole if xid[:4] == bytes(row.xid)[:4] and begun_in[xid] < first[row.thread]]
                if bytes(row.xid)[4:] == PARTIAL_XID:
                    assert row.rollback or row.code == OpCode.ROLLBACK
                    assert of, "only of one that began before"
                    seen += 1
                elif row.code in CHANGES and bytes(row.xid) in whole and begun_in[bytes(row.xid)] < first[row.thread]:
                    assert not row.rollback
    session.close()


def test_whole_transactions_come_in_order_of_commit_without_what_was_undone(subject: Any) -> None:
    subject.finish()
    plain = by_xid(mined(subject))
    rows = mined(subject, committed=True)
    whole = by_xid(rows)
    expected = {xid for xid, its in plain.items() if its[-1].code == OpCode.COMMIT and without_undone(its)}
    assert {xid for xid, its in whole.items() if any(row.code in CHANGES for row in its)} == expected
    ends = [row.scn for row in rows if row.code == OpCode.COMMIT]
    assert ends == sorted(ends)
    order = [bytes(row.xid) for row in rows if bytes(row.xid) in whole]
    assert len([xid for i, xid in enumerate(order) if i == 0 or order[i - 1] != xid]) == len(whole), "one after the other"
    for xid in expected:
        assert [row.sql for row in whole[xid] if row.code in CHANGES] == [row.sql for row in without_undone(plain[xid])]


def test_redo_up_to_an_scn_makes_the_table_as_of_it(subject: Any) -> None:
    subject.finish()
    committed = sorted(
        (its for its in by_xid(mined(subject)).values() if its[-1].code == OpCode.COMMIT), key=lambda its: its[-1].scn
    )
    connection = subject.pdb()
    schemas = {
        schema.id.table: schema
        for schema in read_tables(connection, [TableId("DB", OWNER, name) for name in ("ITEM", "PAIR")])
    }
    decoders = {name: RedoDecoder(schema) for name, schema in schemas.items()}
    base = {name: table_at(connection, schemas[name], subject.begin) for name in schemas}
    for at in range(0, len(committed), max(len(committed) // 5, 1)):
        scn = committed[at][-1].scn
        tables = {name: dict(rows) for name, rows in base.items()}
        for its in committed[: at + 1]:
            for row in without_undone(its):
                assert row.table is not None
                assert row.sql is not None
                apply(tables[row.table], decoders[row.table].decode(row.sql.rstrip(";")), schemas[row.table])
        for name, schema in schemas.items():
            assert tables[name] == table_at(connection, schema, scn), f"{name} as of {scn}"
    connection.close()


def table_at(connection: oracledb.Connection, schema: TableSchema, scn: int) -> dict[Row, Row]:
    columns = ", ".join(f'"{column.name}"' for column in schema.columns)
    with connection.cursor() as cursor:
        cursor.execute(f'SELECT ROWID, {columns} FROM "{OWNER}"."{schema.id.table}" AS OF SCN {scn}')
        rows = [tuple(None if value is None else str(value) for value in row[1:]) for row in cursor]
    return {tuple(row[i] for i in schema.key): row for row in rows}


def apply(table: dict[Row, Row], change: tuple[Op, Row | None, Row | None], schema: TableSchema) -> None:
    _, before, after = change
    if before is not None:
        old = tuple(before[i] for i in schema.key)
        assert table.pop(old) == before, "redo has the row as it was"
    if after is not None:
        table[tuple(after[i] for i in schema.key)] = after


def test_logs_that_do_not_cover_the_range_are_refused(subject: Any) -> None:
    subject.finish()
    session = MiningSession(subject.connect(), 50)
    files, start = listed(session.connection, subject.begin)
    thread = max({log.thread for log in files}, key=lambda one: sum(log.thread == one for log in files))
    own = [log for log in files if log.thread == thread]
    assert len(own) > 2
    session.use_logs([log for log in files if log != own[1]])
    with pytest.raises(MiningSessionError) as caught:
        session.start(start)
    assert caught.value.ora_code == 1291
    session.close()


def test_a_log_that_is_not_there_is_refused(subject: Any) -> None:
    session = MiningSession(subject.connect(), 50)
    with pytest.raises(SourceError) as caught:
        session.use_logs([LogFile("/nowhere/1_1.arc", 1, 1, 1, 2, False, True, 1)])
    assert caught.value.ora_code == 1284
    session.close()


def test_the_tables_are_described(subject: Any) -> None:
    with closing(subject.pdb()) as connection:
        found = read_tables(connection, [TableId("DB", OWNER, table.name) for table in (ITEM, PAIR)])
    assert [of_model(table) for table in (ITEM, PAIR)] == [
        ([(column.name, column.type_name, column.length) for column in schema.columns], schema.key) for schema in found
    ]


def of_model(table: Table) -> tuple[list[tuple[str, str, int]], tuple[int, ...]]:
    return list(table.columns), tuple(range(table.key))
