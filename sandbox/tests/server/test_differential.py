"""Three tellings of one history must agree: the tables, flashback, and the statements that LogMiner prints.

A seeded workload of several sessions runs on schema SRC. Then, through SQL alone:

    SQL_REDO of the committed transactions, replayed on a copy   = SRC, and = SRC AS OF SCN at each of 100 SCNs on the way
    SQL_UNDO of the same, newest first, on the copy              = SRC as it was before
"""

from __future__ import annotations

import datetime
import random
import re
import string
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from typing import Any, NamedTuple

import oracledb
import pytest
from sandbox.tests.server.mining_lab import add_all_logs, start_mining
from tests.fixtures.fix_sandbox import SandboxProcess

NLS = (
    "alter session set nls_date_format = 'SYYYY-MM-DD HH24:MI:SS' nls_timestamp_format = 'SYYYY-MM-DD HH24:MI:SS.FF9'"
    " nls_timestamp_tz_format = 'SYYYY-MM-DD HH24:MI:SS.FF9 TZH:TZM' nls_numeric_characters = '.,'"
)
TABLES = {
    "plain": "id number(10) primary key, name varchar2(60), qty number(12,3), d date",
    "typed": "id number(10) primary key, f binary_double, c char(8), nv nvarchar2(20), ts timestamp(6),"
    " tz timestamp(3) with time zone, ltz timestamp(6) with local time zone, ym interval year to month,"
    " ds interval day to second, r raw(16), n number",
    "pairs": 'a number(5), b varchar2(10), "odd, Name" varchar2(40), "value" number, primary key (a, b)',
}
SESSIONS, STEPS, SCNS = 4, 500, 100
NEVER = 1 << 62


class Mined(NamedTuple):
    """A row of V$LOGMNR_CONTENTS."""

    scn: int
    code: int
    xid: bytes
    row_id: str
    rollback: int
    csf: int
    redo: str
    undo: str


class Workload:
    """Random statements of several sessions, each with keys of its own so that none waits for another."""

    def __init__(self, sandbox: SandboxProcess, seed: int) -> None:
        self.chance = random.Random(seed)
        self.sessions = [sandbox.connect("src", "src") for _ in range(SESSIONS)]
        self.saved = [False] * SESSIONS
        self._admin = sandbox.connect()

    def run(self, steps: int) -> None:
        for _ in range(steps):
            n = self.chance.randrange(SESSIONS)
            choice = self.chance.random()
            session = self.sessions[n]
            with session.cursor() as cursor:
                if choice < 0.12:
                    session.commit()
                    self.saved[n] = False
                elif choice < 0.16:
                    session.rollback()
                    self.saved[n] = False
                elif choice < 0.22:
                    cursor.execute("savepoint s")
                    self.saved[n] = True
                elif choice < 0.26 and self.saved[n]:
                    cursor.execute("rollback to savepoint s")
                elif choice < 0.28:
                    self._admin.cursor().execute("alter system switch logfile")
                else:
                    with suppress(oracledb.IntegrityError):  # a statement that fails halfway is part of the history
                        self._change(cursor, n)
        for session in self.sessions:
            session.commit()
        self.saved = [False] * SESSIONS

    def close(self) -> None:
        for session in (*self.sessions, self._admin):
            session.close()

    def _change(self, cursor: oracledb.Cursor, n: int) -> None:
        chance = self.chance
        key = 100 * n + chance.randrange(25)
        kind = chance.random()
        table = chance.choice(list(TABLES))
        if table == "plain":
            if kind < 0.1:
                rows = [(100 * n + chance.randrange(25), self._text()) for _ in range(4)]
                cursor.executemany("insert into plain (id, name) values (:1, :2)", rows)
            elif kind < 0.45:
                values = [key, self._text(), self._number(), self._moment()]
                cursor.execute("insert into plain values (:1, :2, :3, cast(:4 as date))", values)
            elif kind < 0.6:
                cursor.execute("update plain set qty = nvl(qty, 0) + 1 where id between :1 and :2", [100 * n, key])
            elif kind < 0.75:
                cursor.execute("update plain set name = :1, d = null where id = :2", [self._text(), key])
            elif kind < 0.85:
                cursor.execute("update plain set id = :1 where id = :2", [100 * n + chance.randrange(25), key])
            else:
                cursor.execute("delete from plain where id = :1", [key])
        elif table == "typed":
            if kind < 0.5:
                moment = oracledb.DB_TYPE_TIMESTAMP
                cursor.setinputsizes(None, None, None, None, moment, moment, None, moment)
                cursor.execute(
                    "insert into typed values (:1, :2, :3, :4, :5, from_tz(cast(:6 as timestamp), :7), :8,"
                    " numtoyminterval(:9, 'MONTH'), numtodsinterval(:10, 'SECOND'), :11, :12)",
                    self._typed(key),
                )
            elif kind < 0.8:
                cursor.execute("update typed set n = :1, nv = :2, r = null where id = :3", [*self._two(), key])
            else:
                cursor.execute("delete from typed where id = :1", [key])
        elif kind < 0.5:
            values = [n, f"k{chance.randrange(9)}", self._text(), self._number()]
            cursor.execute("insert into pairs values (:1, :2, :3, :4)", values)
        elif kind < 0.8:
            cursor.execute(
                'update pairs set "odd, Name" = :1 where a = :2 and b = :3', [self._text(), n, f"k{chance.randrange(9)}"]
            )
        else:
            cursor.execute("delete from pairs where a = :1 and b like :2", [n, f"k{chance.randrange(9)}%"])

    def _typed(self, key: int) -> list[Any]:
        chance = self.chance
        double: Any = chance.choice([1.5, -2.25e-12, 3.0e120, 0.1, None])
        zone = chance.choice(["+05:30", "-08:00", "+00:00"])
        return [
            *(key, double, self._text(3), self._text(10), self._moment(), self._moment(), zone, self._moment()),
            *(chance.randrange(-500, 500), chance.randrange(-(10**7), 10**7) / 1000, chance.randbytes(5), self._number()),
        ]

    def _two(self) -> list[Any]:
        return [self._number(), self._text(10)]

    def _text(self, below: int = 20) -> str | None:
        alphabet = string.ascii_letters + "'\"\\;,()|&% \n\u00e9\u0416\u20ac"
        return "".join(self.chance.choices(alphabet, k=self.chance.randrange(below))) or None

    def _number(self) -> Decimal | None:
        return self.chance.choice(
            [None, Decimal(self.chance.randrange(-(10**9), 10**9)) / 1000, Decimal(0), Decimal("-0.5")]
        )

    def _moment(self) -> datetime.datetime:
        start = datetime.datetime(1970, 1, 1)
        return start + datetime.timedelta(microseconds=self.chance.randrange(3 * 10**15))


@pytest.fixture
def lab(fresh_sandbox: SandboxProcess) -> SandboxProcess:
    with fresh_sandbox.connect() as admin:
        admin.cursor().execute("alter database add supplemental log data")
    for schema in ("src", "cpy"):
        fresh_sandbox.create_user(schema)
        with fresh_sandbox.connect(schema, schema) as owner:
            for table, columns in TABLES.items():
                owner.cursor().execute(f"create table {table} ({columns})")
                owner.cursor().execute(f"alter table {table} add supplemental log data (all) columns")
    return fresh_sandbox


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_redo_undo_and_flashback_agree_on_one_history(lab: SandboxProcess, seed: int) -> None:
    workload = Workload(lab, seed)
    workload.run(STEPS // 5)
    first = _scn(lab)
    before = _contents(lab, "src")
    _copy(lab, first)
    workload.run(STEPS)
    workload.close()
    transactions = _transactions(_mine(lab, first))
    assert len(transactions) > 30
    chosen = sorted(workload.chance.sample(range(first, _scn(lab)), SCNS))
    with lab.connect("cpy", "cpy") as copy, lab.connect("src", "src") as source:
        copy.cursor().execute(NLS)
        waiting = iter([*transactions, (NEVER, [])])
        commit, rows = next(waiting)
        for scn in chosen:
            while commit <= scn:
                _run(copy, [row.redo for row in rows])
                commit, rows = next(waiting)
            assert _contents(lab, "cpy", copy) == _contents(lab, "src", source, scn), f"AS OF SCN {scn}"
        while commit < NEVER:
            _run(copy, [row.redo for row in rows])
            commit, rows = next(waiting)
        assert _contents(lab, "cpy", copy) == _contents(lab, "src", source)
        for _, rows in reversed(transactions):
            _run(copy, [row.undo for row in reversed(rows)])
        assert _contents(lab, "cpy", copy) == before == _contents(lab, "src", source, first)


LARGE = "id number(10) primary key, t varchar2(20), c clob, b blob, nc nclob"


def _change_large(cursor: oracledb.Cursor, chance: random.Random) -> None:
    """One statement or DBMS_LOB call on the table of LOBs. A NULL CLOB stays NULL: what LogMiner prints when one gets a long value
    finds no locator to write to (STATUS 2, not re-executable)."""
    key, kind = chance.randrange(12), chance.random()
    text = "".join(chance.choices(string.ascii_letters + "'\\;\n\u00e9\u0416", k=chance.choice([3, 5, 900, 5000, 14000])))
    raw = chance.randbytes(chance.choice([0, 7, 2500, 9000]))
    if kind < 0.35:
        if not cursor.execute("select 1 from large where id = :1", [key]).fetchall():
            cursor.setinputsizes(None, None, oracledb.DB_TYPE_CLOB, oracledb.DB_TYPE_BLOB, oracledb.DB_TYPE_NCLOB)
            cursor.execute("insert into large values (:1, :2, :3, :4, :5)", [key, text[:9], text, raw, text[:3000]])
    elif kind < 0.5:
        cursor.setinputsizes(oracledb.DB_TYPE_CLOB, None, None)
        cursor.execute("update large set c = :1, t = :2 where id = :3", [text, text[:9], key])
    elif kind < 0.6:
        cursor.execute("delete from large where id = :1", [key])
    elif kind < 0.7:
        cursor.execute("update large set b = null, nc = empty_clob(), t = 'cleared' where id = :1", [key])
    else:
        call = chance.choice(
            [
                "dbms_lob.write(l, 5, 1 + trunc(dbms_lob.getlength(l) / 2), 'WRITE')",
                "dbms_lob.writeappend(l, 3, 'END')",
                "dbms_lob.trim(l, trunc(dbms_lob.getlength(l) / 2))",
                "n := 4; dbms_lob.erase(l, n, 2)",
            ]
        )
        column = chance.choice(["c", "nc"])
        cursor.execute(
            f"declare l {'n' if column == 'nc' else ''}clob; n number; begin"
            f" for r in (select id from large where id = :1 and {column} is not null) loop"
            f" select {column} into l from large where id = r.id for update; {call}; end loop; end;",
            [key],
        )


@pytest.mark.parametrize("seed", [4, 5])
def test_the_redo_of_lobs_makes_the_same_lobs(lab: SandboxProcess, seed: int) -> None:
    chance = random.Random(seed)
    for schema in ("src", "cpy"):
        with lab.connect(schema, schema) as owner:
            owner.cursor().execute(f"create table large ({LARGE})")
            owner.cursor().execute("alter table large add supplemental log data (all) columns")
    first = _scn(lab)
    with lab.connect("src", "src") as session, session.cursor() as cursor:
        for _ in range(150):
            _change_large(cursor, chance)
            if chance.random() < 0.3:
                session.commit() if chance.random() < 0.8 else session.rollback()
        session.commit()
    history = _mine_large(lab, first)
    assert sum(len(statements) for _, statements in history) > 100
    with lab.connect("cpy", "cpy") as copy:
        copy.cursor().execute(NLS)
        for scn, statements in history:
            for statement in statements:
                _replay_large(copy, statement)
            copy.commit()
            assert _large(lab, "cpy") == _large(lab, "src", scn), f"AS OF SCN {scn}"
    assert _large(lab, "cpy") == _large(lab, "src")


def _mine_large(lab: SandboxProcess, first: int) -> list[tuple[int, list[str]]]:
    """(commit SCN, statements) of the committed transactions; LOB rows print whole blocks or nothing."""
    waiting: dict[bytes, list[str]] = {}
    found = []
    for row in _joined(_mine(lab, first, codes="1, 2, 3, 9, 10, 11, 29")):
        statements = waiting.setdefault(row.xid, [])
        if row.code == 7:
            found.append((row.scn, waiting.pop(row.xid)))
        elif row.code == 36:
            del waiting[row.xid]
        elif not row.rollback and row.redo:
            statements.append(row.redo)
    return found


def _replay_large(copy: oracledb.Connection, statement: str) -> None:
    with copy.cursor() as cursor:
        try:
            cursor.execute(_LOCAL.sub(r"TO_TIMESTAMP_TZ('\1 +00:00')", statement).replace('"SRC".', '"CPY".'))
        except oracledb.Error as error:
            raise AssertionError(f"{error}: {statement[:400]}") from error


def _large(lab: SandboxProcess, schema: str, scn: int | None = None) -> list[tuple[Any, ...]]:
    flashback = "" if scn is None else f" as of scn {scn}"
    with lab.connect(schema, schema) as owner, owner.cursor() as cursor:
        cursor.execute(f"select id, t, c, b, nc from large{flashback} order by id")
        return [(*row[:2], *(None if lob is None else lob.read() for lob in row[2:])) for row in cursor]


def _scn(lab: SandboxProcess) -> int:
    with lab.connect() as admin:
        ((scn,),) = admin.cursor().execute("select current_scn from v$database").fetchall()
        return int(scn)


def _contents(
    lab: SandboxProcess, schema: str, connection: oracledb.Connection | None = None, scn: int | None = None
) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all tables, in the order of their keys, as text where Python's types are too narrow."""
    own = connection or lab.connect(schema, schema)
    flashback = "" if scn is None else f" as of scn {scn}"
    found = {}
    for table in TABLES:
        order = "1, 2" if table == "pairs" else "1"
        columns = (
            "*"
            if table != "typed"
            else "id, to_char(f), c, nv, ts, to_char(tz, 'YYYY-MM-DD HH24:MI:SS.FF3 TZH:TZM'), ltz, to_char(ym), ds, r, to_char(n)"
        )
        found[table] = own.cursor().execute(f"select {columns} from {table}{flashback} order by {order}").fetchall()
    if connection is None:
        own.close()
    return found


def _copy(lab: SandboxProcess, scn: int) -> None:
    with lab.connect() as admin:
        for table in TABLES:
            admin.cursor().execute(f"insert into cpy.{table} select * from src.{table} as of scn {scn}")
        admin.commit()


def _mine(lab: SandboxProcess, scn: int, codes: str = "1, 2, 3") -> list[Mined]:
    with lab.connect("c##minercdc", "minercdc", lab.root_service) as connection:
        cursor = connection.cursor()
        cursor.execute(NLS)
        cursor.execute("alter session set time_zone = '+00:00'")
        add_all_logs(cursor, scn)
        start_mining(cursor, " + dbms_logmnr.no_rowid_in_stmt + dbms_logmnr.no_sql_delimiter", startscn=scn)
        cursor.execute(
            "select scn, operation_code, xid, row_id, rollback, csf, sql_redo, sql_undo from v$logmnr_contents"
            f" where scn > :1 and (seg_owner = 'SRC' and operation_code in ({codes}) or operation_code in (7, 36))",
            [scn],
        )
        return [Mined(*row) for row in cursor]


def _transactions(rows: list[Mined]) -> list[tuple[int, list[Mined]]]:
    """(commit SCN, rows that were not undone) of the committed transactions, in order of commit."""
    waiting: dict[bytes, list[Mined]] = {}
    found = []
    for row in _joined(rows):
        changes = waiting.setdefault(row.xid, [])
        if row.code == 7:
            found.append((row.scn, waiting.pop(row.xid)))
        elif row.code == 36:
            assert waiting.pop(row.xid) == [], "a rolled back transaction undid all it did"
        elif row.rollback:
            undone = max(at for at, change in enumerate(changes) if change.row_id == row.row_id)
            del changes[undone]
        else:
            changes.append(row)
    assert sorted(found, key=lambda item: item[0]) == found
    return found


def _joined(rows: list[Mined]) -> Iterator[Mined]:
    pieces: list[Mined] = []
    for row in rows:
        pieces.append(row)
        if not row.csf:
            yield row._replace(
                redo="".join(piece.redo or "" for piece in pieces), undo="".join(piece.undo or "" for piece in pieces)
            )
            pieces.clear()


_OWNER = re.compile(r'^(insert into|update|delete from) "SRC"\.')


# WITH LOCAL TIME ZONE is printed in the session's zone (UTC here) without naming it.
_LOCAL = re.compile(r"TO_TIMESTAMP_TZ\('([^']*\.\d{9})'\)")


def _to_copy(text: str) -> str:
    text = _LOCAL.sub(r"TO_TIMESTAMP_TZ('\1 +00:00')", text)
    return _OWNER.sub(lambda head: f'{head[1]} "CPY".', text, count=1)


def _run(connection: oracledb.Connection, statements: list[str]) -> None:
    """Every statement finds exactly the row it is about."""
    with connection.cursor() as cursor:
        for statement in statements:
            text = _to_copy(statement)
            assert text != statement, statement
            try:
                cursor.execute(text)
            except oracledb.Error as error:
                raise AssertionError(f"{error}: {text}") from error
            assert cursor.rowcount == 1, text
    connection.commit()
