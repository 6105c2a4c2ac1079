"""Connections to the model of the database: answers to the queries that the connector sends, known by their texts' parts and their binds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Final, Self

import oracledb
from tests.simulate.source import OWNER, TABLES, Log, Source, Table, Tx, Values
from tests.simulate.tasks import Killed, Process

from minercdc.capture.logminer.session.row import PARTIAL_XID, LogMinerRow, OpCode

_FROM = re.compile(r'FROM "LAB"\."(\w+)"(?: AS OF SCN (\d+))?')
_FIRST = re.compile(r"FETCH FIRST (\d+) ROWS? ONLY")
_SCN = re.compile(r" AND SCN >= (\d+)")
_NOWHERE = 1 << 62


class _Detail:
    """What the driver puts into an exception."""

    def __init__(self, code: int, text: str) -> None:
        self.code, self.full_code, self.message = code, f"ORA-{code:05}", text
        self.isrecoverable = False

    def __str__(self) -> str:
        return f"{self.full_code}: {self.message}"


def ora(code: int, text: str) -> oracledb.DatabaseError:
    return oracledb.DatabaseError(_Detail(code, text))


class SimVariable:
    """As oracledb.Var, of one value."""

    def __init__(self) -> None:
        self.value: object = None

    def setvalue(self, _: int, value: object) -> None:
        self.value = value


class SimConnection:
    """As oracledb.Connection.

    :param call: to be called at each call to the database with its name and the faults it can meet; returns the fault, '' for none.
    :param between: source time passes.
    """

    def __init__(
        self,
        source: Source,
        call: Callable[..., str],
        between: Callable[[], None],
        fetch: Callable[[int], int],
        owner: Process,
    ) -> None:
        self.source, self._call, self.between, self.fetch = source, call, between, fetch
        self._owner = owner
        self.files: list[Log] = []
        self.committed_only = False
        self.healthy = True
        self.call_timeout = 0

    def call(self, what: str, *faults: str) -> str:
        """Raises Killed when it comes of a process that is dead, as when Python closes what that has left open."""
        if self._owner.dead:
            raise Killed
        return self._call(what, *faults)

    def cursor(self) -> SimCursor:
        return SimCursor(self)

    def is_healthy(self) -> bool:
        return self.healthy

    def cancel(self) -> None:
        self.call("database cancel")

    def close(self) -> None:
        self.call("database close")
        self.healthy = False

    def commit(self) -> None:
        pass

    def rollback(self) -> None:
        self.call("database rollback")

    def fetch_df_batches(self, *_: Any, **__: Any) -> Iterator[Any]:
        raise oracledb.NotSupportedError("the model gives no columns")
        yield


class SimCursor:
    """As oracledb.Cursor."""

    def __init__(self, connection: SimConnection) -> None:
        self._connection = connection
        self._rows: Iterator[tuple[Any, ...]] = iter(())
        self.arraysize = self.prefetchrows = 100
        self.outputtypehandler: Any = None
        self._mines = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def close(self) -> None:
        pass

    def var(self, *_: Any, **__: Any) -> SimVariable:
        return SimVariable()

    def callproc(self, name: str, given: Sequence[Any] = ()) -> None:
        raise AssertionError(f"the model has no {name}")

    def execute(self, sql: str, binds: Mapping[str, Any] | None = None) -> Self:
        connection = self._connection
        if not connection.healthy:
            raise ora(3113, "end-of-file on communication channel")
        known = next((one for one in _ANSWERS if one[0] in sql), None)
        assert known is not None, f"the model does not know: {sql}"
        part, answer, faults = known
        self._fail(connection.call(f"database {part}", *faults))
        self._mines = answer is _contents
        self._rows = iter(answer(connection, sql, binds or {}))
        return self

    def _fail(self, fault: str) -> None:
        if fault == "lost connection":
            self._connection.healthy = False
            raise ora(3113, "end-of-file on communication channel")
        if fault == "mining":
            raise ora(310, "archived log contains another sequence")

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        self._fail(self._connection.call("database fetch", "lost connection", *(("mining",) if self._mines else ())))
        most = self._connection.fetch(size or self.arraysize)
        found = []
        for row in self._rows:
            found.append(row)
            if len(found) >= most:
                break
        return found

    def fetchone(self) -> tuple[Any, ...] | None:
        return next(self._rows, None)

    def fetchall(self) -> list[tuple[Any, ...]]:
        return list(self._rows)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self._rows


Rows = Iterator[tuple[Any, ...]] | list[tuple[Any, ...]]


def _nothing(*_: Any) -> Rows:
    return []


def _online(connection: SimConnection, sql: str, binds: Mapping[str, Any]) -> Rows:
    found = []
    for thread in connection.source.threads.values():
        for log in thread.logs[-3:]:
            status = "CURRENT" if log.current else "ACTIVE"
            found.append((log.thread, log.sequence, log.first_scn, log.next_scn or _NOWHERE, status, log.online_name, 1000))
    return found


def _begins(connection: SimConnection, sql: str, binds: Mapping[str, Any]) -> Rows:
    return [(log.thread, log.sequence, log.first_scn) for t in connection.source.threads.values() for log in t.logs[-3:]]


def _archived(connection: SimConnection, sql: str, binds: Mapping[str, Any]) -> Rows:
    return [
        (log.thread, log.sequence, log.first_scn, log.next_scn, log.archived_name, "LOG_ARCHIVE_DEST_1", 1000, 0)
        for log in connection.source.logs()
        if log.archived and not log.purged and log.next_scn > binds["scn"]
    ]


def _ended(connection: SimConnection, sql: str, binds: Mapping[str, Any]) -> Rows:
    found: dict[int, int] = {}
    for log in connection.source.logs():
        if log.next_scn and log.next_scn <= binds["scn"]:
            found[log.thread] = max(found.get(log.thread, 0), log.sequence)
    return list(found.items())


def _history(connection: SimConnection, sql: str, binds: Mapping[str, Any]) -> Rows:
    ended: dict[int, list[tuple[int, int, int]]] = {}
    for log in connection.source.logs():
        if log.next_scn:
            ended.setdefault(log.thread, []).append((log.sequence, log.first_scn, log.next_scn))
    return [
        (thread, max(one[0] for one in logs), min(one[1] for one in logs), max(one[2] for one in logs))
        for thread, logs in ended.items()
    ]


def _threads(connection: SimConnection, sql: str, binds: Mapping[str, Any]) -> Rows:
    return [(t.number, "OPEN", "PUBLIC", t.last_scn, 1, 0) for t in connection.source.threads.values()]


def _last_redo(connection: SimConnection, sql: str, binds: Mapping[str, Any]) -> Rows:
    return [(t.number, t.last_scn) for t in connection.source.threads.values()]


def _written(connection: SimConnection, sql: str, binds: Mapping[str, Any]) -> Rows:
    return [(min(t.last_scn for t in connection.source.threads.values()),)]


def _count_threads(connection: SimConnection, sql: str, binds: Mapping[str, Any]) -> Rows:
    return [(len(connection.source.threads),)]


def _current_scn(connection: SimConnection, sql: str, binds: Mapping[str, Any]) -> Rows:
    return [(connection.source.next_scn(),)]


def _oldest(connection: SimConnection, sql: str, binds: Mapping[str, Any]) -> Rows:
    return [(min((tx.start_scn for tx in connection.source.open_transactions()), default=None),)]


def _open_xids(connection: SimConnection, sql: str, binds: Mapping[str, Any]) -> Rows:
    return [(tx.xid,) for tx in connection.source.open_transactions()]


def _clock(connection: SimConnection, sql: str, binds: Mapping[str, Any]) -> Rows:
    return [(connection.source.time().isoformat(sep=" ", timespec="microseconds"), "+00:00")]


def _add_log(connection: SimConnection, sql: str, binds: Mapping[str, Any]) -> Rows:
    if "DBMS_LOGMNR.NEW" in sql:
        connection.files.clear()
    name = binds["name"]
    for log in connection.source.logs():
        online = log in connection.source.threads[log.thread].logs[-3:]
        if (online and log.online_name == name) or (log.archived_name == name and log.archived and not log.purged):
            connection.files.append(log)
            return []
    raise ora(1284, f"file {name} cannot be opened")


def _start_mining(connection: SimConnection, sql: str, binds: Mapping[str, Any]) -> Rows:
    """The listed logs have to cover the range in every thread: an online log may be another one than when it was looked up."""
    connection.committed_only = "COMMITTED_DATA_ONLY" in sql
    for thread in connection.source.threads:
        listed = sorted((log for log in connection.files if log.thread == thread), key=lambda log: log.sequence)
        numbers = [log.sequence for log in listed]
        if not listed or listed[0].first_scn > binds["scn"] or numbers != [*range(numbers[0], numbers[0] + len(numbers))]:
            raise ora(1291, "missing log file")
    return []


def _contents(connection: SimConnection, sql: str, binds: Mapping[str, Any]) -> Rows:
    """V$LOGMNR_CONTENTS: LogMiner comes to the end of one thread after the other, while the source goes on; and merges them by SCN."""
    files: dict[int, list[Log]] = {}
    for log in connection.files:
        files.setdefault(log.thread, []).append(log)
    read: list[tuple[int, int, int, LogMinerRow, Tx]] = []
    for thread in sorted(files):
        highest = 0
        for log in files[thread]:
            for place, (row, tx) in enumerate(log.rows):
                highest = max(highest, row.scn)
                read.append((highest, thread, log.sequence << 32 | place, row, tx))
        connection.between()
    read.sort(key=lambda one: one[:3])
    firsts = {thread: min(log.sequence for log in logs) for thread, logs in files.items()}
    if connection.committed_only:
        return _whole(read, firsts, int(binds["from_scn"]))
    return _plain(read, firsts, sql, binds)


def _plain(read: list[Any], firsts: Mapping[int, int], sql: str, binds: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    least = int(scn[1]) if (scn := _SCN.search(sql)) else 0
    marks = {int(name[4:]): value for name, value in binds.items() if name.startswith("mark")}
    for _, thread, _, row, tx in read:
        if row.scn < least or (thread in marks and row.rs_id < marks[thread]):
            continue
        if (row.rollback or row.code == OpCode.ROLLBACK) and tx.started < firsts[thread]:
            yield tuple(row._replace(xid=row.xid[:4] + PARTIAL_XID))
        else:
            yield tuple(row)


def _whole(read: list[Any], firsts: Mapping[int, int], from_scn: int) -> Iterator[tuple[Any, ...]]:
    """COMMITTED_DATA_ONLY: what was committed, without what was undone, in order of commit."""
    there: dict[int, list[LogMinerRow]] = {}
    for _, thread, _, row, tx in read:
        if tx.started < firsts[thread]:
            continue
        rows = there.setdefault(id(tx), [])
        if row.rollback:
            for place in reversed(range(len(rows))):
                if rows[place].row_id == row.row_id and rows[place].object_id == row.object_id:
                    del rows[place]
                    break
            continue
        rows.append(row)
        if row.code == OpCode.COMMIT and row.scn >= from_scn:
            yield from map(tuple, rows)


def _tables(connection: SimConnection, sql: str, binds: Mapping[str, Any]) -> Rows:
    return [(OWNER, name) for name in TABLES]


def _statistics(connection: SimConnection, sql: str, binds: Mapping[str, Any]) -> Rows:
    return [(name, 10) for name in TABLES]


def _named(binds: Mapping[str, Any]) -> list[Table]:
    names = {value for bind, value in binds.items() if bind != "owner"}
    return [TABLES[name] for name in sorted(names & set(TABLES))]


def _columns(connection: SimConnection, sql: str, binds: Mapping[str, Any]) -> Rows:
    return [
        (
            *(table.name, "YES", "NO", place + 1, "NO", name, kind, 22 if kind == "NUMBER" else length),
            *((0, length, 0) if kind == "NUMBER" else (length, None, None)),
            "N" if place < table.key else "Y",
            None,
        )
        for table in _named(binds)
        for place, (name, kind, length) in enumerate(table.columns)
    ]


def _keys(connection: SimConnection, sql: str, binds: Mapping[str, Any]) -> Rows:
    return [
        (
            *(table.name, "P", f"{table.name}_PK", "ENABLED", "VALIDATED", f"{table.name}_PK", name),
            *(binds["owner"], "NOT DEFERRABLE", None),
        )
        for table in _named(binds)
        for name in table.names[: table.key]
    ]


def _objects(connection: SimConnection, sql: str, binds: Mapping[str, Any]) -> Rows:
    return [(table.name, table.object_id) for table in _named(binds)]


def _names(connection: SimConnection, sql: str, binds: Mapping[str, Any]) -> Rows:
    """What tables are called, by their object ids; none had DDL."""
    wanted = set(binds.values())
    return [
        (table.object_id, OWNER, table.name, datetime(2020, 1, 1)) for table in TABLES.values() if table.object_id in wanted
    ]


def _select(connection: SimConnection, sql: str, binds: Mapping[str, Any]) -> Rows:
    """Rows of a table, as of an SCN: all in order of ROWID, or a chunk in order of key."""
    match = _FROM.search(sql)
    assert match is not None, sql
    table, scn = TABLES[match[1]], int(match[2]) if match[2] else None
    if scn is not None and scn > connection.source.scn:
        raise ora(8181, "specified number is not a valid system change number")
    rows = list(connection.source.rows_at(table.name, scn))
    if not (first := _FIRST.search(sql)):
        rows.sort()
        last, begin, until = binds.get("last"), binds.get("first"), binds.get("until")
        return [
            (row_id, *values)
            for row_id, values in rows
            if (last is None or row_id > last) and (begin is None or row_id >= begin) and (until is None or row_id < until)
        ]
    rows.sort(key=lambda row: _order(table, row[1]))
    if " DESC" in sql:
        return [tuple(values[: table.key]) for _, values in rows[-1:]]
    after, most = _bound(table, binds, "l"), _bound(table, binds, "m")
    found = [
        (row_id, *values)
        for row_id, values in rows
        if (after is None or _order(table, values) > after) and (most is None or _order(table, values) <= most)
    ]
    return found[: int(first[1])]


def _order(table: Table, values: Values) -> tuple[Any, ...]:
    return tuple(
        Decimal(value or 0) if kind == "NUMBER" else value
        for value, (_, kind, _) in zip(values[: table.key], table.columns, strict=False)
    )


def _bound(table: Table, binds: Mapping[str, Any], prefix: str) -> tuple[Any, ...] | None:
    if f"{prefix}0" not in binds:
        return None
    return tuple(binds[f"{prefix}{i}"].value for i in range(table.key))


_LOST: Final = ("lost connection",)
_ANSWERS: Final[list[tuple[str, Callable[..., Rows], tuple[str, ...]]]] = [
    ("DBA_2PC_PENDING", _nothing, ()),
    ("CON_UID", lambda *_: [(7,)], ()),
    ("V$PDB_INCARNATION", lambda *_: [(1,)], ()),
    ("V$LOGMNR_CONTENTS", _contents, ("lost connection", "mining")),
    ("ADD_LOGFILE", _add_log, ("mining",)),
    ("START_LOGMNR", _start_mining, ("lost connection", "mining")),
    ("END_LOGMNR", _nothing, ()),
    ("FROM V$LOG L", _online, _LOST),
    ("FIRST_CHANGE# FROM V$LOG WHERE", _begins, _LOST),
    ("FROM V$ARCHIVED_LOG", _archived, _LOST),
    ("MIN(H.FIRST_CHANGE#)", _history, _LOST),
    ("FROM V$LOG_HISTORY", _ended, _LOST),
    ("COUNT(*) FROM V$THREAD", _count_threads, ()),
    ("MIN(LAST_REDO_CHANGE#)", _written, _LOST),
    ("SELECT THREAD#, LAST_REDO_CHANGE#", _last_redo, _LOST),
    ("SELECT THREAD#, STATUS", _threads, _LOST),
    ("'cluster_database'", lambda *_: [(0,)], ()),
    ("CURRENT_SCN", _current_scn, _LOST),
    ("RESETLOGS_CHANGE#", lambda *_: [(7, 1)], ()),
    ("CON_DBID", lambda *_: [(7,)], ()),
    ("MIN(START_SCN)", _oldest, _LOST),
    ("SELECT XID FROM", _open_xids, ()),
    ("TO_CHAR(SYSTIMESTAMP", _clock, _LOST),
    ("'CON_ID'", lambda *_: [(1,)], ()),
    ("DBTIMEZONE", lambda *_: [("+00:00",)], ()),
    ("NLS_CHARACTERSET", lambda *_: [("AL32UTF8",)], ()),
    ("V$MYSTAT", lambda *_: [(1000,)], ()),
    ("NUM_ROWS", _statistics, _LOST),
    ("FROM ALL_TABLES", _tables, _LOST),
    ("FROM ALL_TAB_COLS", _columns, _LOST),
    ("SEARCH_CONDITION_VC", _nothing, ()),
    ("FROM ALL_CONSTRAINTS", _keys, _LOST),
    ("FROM ALL_INDEXES", _nothing, ()),
    ("SYSDATE FROM DUAL", lambda connection, _, __: [(connection.source.time().replace(microsecond=0),)], _LOST),
    ("'TABLE PARTITION'", _nothing, _LOST),
    ("SELECT OBJECT_ID, OWNER", _names, _LOST),
    ("FROM ALL_OBJECTS", _objects, _LOST),
    ("FROM DBA_EXTENTS", _nothing, _LOST),
    ("DBMS_METADATA.SET_TRANSFORM_PARAM", _nothing, ()),
    ("DBMS_METADATA.GET_DDL", lambda _, __, binds: [(f'CREATE TABLE "{binds["owner"]}"."{binds["name"]}" (..);',)], _LOST),
    ("LOCK TABLE", _nothing, ()),
    ("ALTER SESSION", _nothing, ()),
    ('FROM "LAB".', _select, _LOST),
]
