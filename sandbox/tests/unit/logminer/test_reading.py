"""Queries that name a redo address read less, and show the same: against the same query written so that nothing is understood."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from minercdc_sandbox.database import SandboxDatabase
from minercdc_sandbox.interfaces import BindType, OraType
from minercdc_sandbox.logminer.reading import log_bounds, wanted_from
from minercdc_sandbox.server import sandbox_database
from minercdc_sandbox.session import SandboxSession
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.number import integer
from minercdc_sandbox.sql.parse.statements import Parser
from minercdc_sandbox.sql.redo_bounds import NOTHING, first_record

MARK = " 0x000007.00000020.0010 "
CONNECTOR = (
    "(THREAD# NOT IN (1, 2) OR THREAD# IS NULL OR RS_ID = ' 0x000000.00000000.0000 ' OR (THREAD# = 1 AND RS_ID >= :mark))"
)
COLUMNS = "RS_ID, SSN, OPERATION_CODE, SEQUENCE#, XID, USERNAME, ROLLBACK, SQL_REDO"


@pytest.mark.parametrize(
    ("where", "thread", "sequence", "bound"),
    [
        (CONNECTOR, 1, 7, MARK),
        (CONNECTOR, 1, 6, NOTHING),
        (CONNECTOR, 1, 8, MARK),
        (CONNECTOR, 2, 7, NOTHING),
        (CONNECTOR, 3, 7, ""),
        ("RS_ID >= :mark AND RS_ID >= ' 0x000007.00000021.0010 '", 1, 7, " 0x000007.00000021.0010 "),
        (":mark <= RS_ID", 1, 7, MARK),
        (":mark >= RS_ID", 1, 7, ""),
        ("RS_ID = :mark", 1, 7, MARK),
        ("RS_ID = :mark", 1, 8, NOTHING),
        ("RS_ID >= :mark OR SCN > 5", 1, 7, ""),
        ("NOT RS_ID >= :mark", 1, 7, ""),
        ("RS_ID || '' >= :mark", 1, 7, ""),
        ("SCN >= 5 AND THREAD# = 2", 1, 7, NOTHING),
        ("THREAD# = SCN", 1, 7, ""),
        ("THREAD# IS NOT NULL", 1, 7, ""),
        ("SCN IS NULL", 1, 7, ""),
        ("RS_ID >= NULL", 1, 7, ""),
    ],
)
def test_bounds(where: str, thread: int, sequence: int, bound: str) -> None:
    def known(expr: ast.Expr) -> str | int | None:
        if isinstance(expr, ast.Bind):
            return MARK
        if isinstance(expr, ast.Literal) and expr.kind in (ast.LiteralKind.NUMBER, ast.LiteralKind.STRING):
            return int(expr.text) if expr.kind is ast.LiteralKind.NUMBER else expr.text
        return None

    query = Parser(f"SELECT 1 FROM v WHERE {where}").query().body
    assert isinstance(query, ast.Select)
    assert first_record(query.where, known, thread, *log_bounds(sequence)) == bound


@pytest.mark.parametrize(
    ("first", "sequence", "position"),
    [
        ("", 7, 0),
        (MARK, 8, 0),
        (MARK, 6, None),
        (MARK, 7, 31 * 496),
        (" 0x000007.00000020.0011", 7, 31 * 496 + 1),
        (" 0x000007.4x", 7, 0),
        (NOTHING, 7, None),
    ],
)
def test_positions(first: str, sequence: int, position: int | None) -> None:
    assert wanted_from(first, sequence) == position


@pytest.fixture
def database() -> Iterator[SandboxDatabase]:
    database = sandbox_database()
    yield database
    database.close()


def work(database: SandboxDatabase, turns: int) -> None:
    """Transactions that overlap, roll back and insert arrays; more records than a chunk holds."""
    draw = random.Random(11)
    sessions = [database.open_session("SYSTEM", "ORCLPDB1", {}) for _ in range(3)]
    sessions[0].execute("create table t (id number primary key, x varchar2(20))")
    number = 0
    for turn in range(turns):
        session = draw.choice(sessions)
        if turn % 7 == 0:
            many = [_id(number + n) for n in range(1, 41)]
            session.execute("insert into t values (:1, 'many')", [NUMBER], many)
            number += len(many)
        number += 1
        session.execute("insert into t values (:1, 'one')", [NUMBER], [_id(number)])
        session.execute("update t set x = 'two' where id = :1", [NUMBER], [_id(number)])
        if draw.random() < 0.4:
            draw.choice((session.commit, session.rollback))()
    for session in sessions:
        session.commit()


NUMBER = BindType(OraType.NUMBER, 22)


def _id(value: int) -> tuple[bytes]:
    return (integer(value),)


def mine(session: SandboxSession, where: str, mark: str, start: int) -> list[tuple[Any, ...]]:
    session.execute(
        f"begin dbms_logmnr.start_logmnr(startscn => {start}, options => dbms_logmnr.dict_from_online_catalog); end;"
    )
    sql = f"select {COLUMNS} from v$logmnr_contents where {where}"
    binds = [BindType(OraType.VARCHAR2, 40)] if ":" in where else []
    rows = session.execute(sql, binds, [(mark,)]).rows
    assert rows is not None
    return rows.fetch(1 << 20)


@pytest.mark.parametrize("late", [0, 200])
def test_polls_show_what_a_whole_reading_shows(database: SandboxDatabase, late: int) -> None:
    start = database.clock.read()
    work(database, 150)
    database.redo.switch()
    polling, whole = (database.open_session("SYSTEM", "ORCLPDB1", {}) for _ in range(2))
    everything = mine(whole, "RS_ID || '' >= :mark", " ", start + late)
    assert len(everything) > 600
    places = [str(row[0]) for row in everything]
    marks = [places[at] for at in (0, 300, 301, 5, len(places) // 2, len(places) - 1)]
    for mark in marks:
        found = mine(polling, "THREAD# NOT IN (1) OR (THREAD# = 1 AND RS_ID >= :mark)", mark, start + late)
        assert found == [row for row in everything if str(row[0]) >= mark]
    last = marks[-1]
    session = database.open_session("SYSTEM", "ORCLPDB1", {})
    session.execute("insert into t values (-1, 'late')", commit=True)
    for _ in range(2):
        found = mine(polling, "RS_ID >= :mark", last, start + late)
        assert found == mine(whole, "RS_ID || '' >= :mark", last, start + late)
        assert len(found) == 4


@pytest.mark.parametrize(
    "condition", ["1 = 1", "operation_code in (1, 3)", "rownum <= 100", "sequence# > 2 and rownum < 50"]
)
def test_picked_columns_are_those_that_sqlite_would_show(database: SandboxDatabase, condition: str) -> None:
    start = database.clock.read()
    work(database, 60)
    session = database.open_session("SYSTEM", "ORCLPDB1", {})
    mine(session, "1 = 1", "", start)
    tail = f"from v$logmnr_contents where {condition}"
    whole = session.execute(f"select ssn, rs_id, sql_redo || '' {tail}").rows
    picked = session.execute(f"select ssn, rs_id, sql_redo {tail}").rows
    assert whole is not None
    assert picked is not None
    found = []
    while batch := picked.fetch(7):
        found += batch
    assert found == whole.fetch(1 << 20)
    assert len(found) > 30
