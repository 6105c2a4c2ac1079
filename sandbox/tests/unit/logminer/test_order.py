"""Redo order: two threads merged by SCN, and a private strand bound late."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from minercdc_sandbox.database import SandboxDatabase
from minercdc_sandbox.logminer import contents
from minercdc_sandbox.logminer.logs import logs_covering
from minercdc_sandbox.logminer.mining import Mining, Option
from minercdc_sandbox.logminer.reading import MiningRange, ReadingMemory
from minercdc_sandbox.server import sandbox_database
from minercdc_sandbox.session import SandboxSession
from minercdc_sandbox.sql import number
from minercdc_sandbox.sql.nls import Nls

_PLACES = {column.name: at for at, column in enumerate(contents.COLUMNS)}


@pytest.fixture
def database() -> Iterator[SandboxDatabase]:
    database = sandbox_database()
    yield database
    database.close()


def session_of(database: SandboxDatabase, thread: int = 1) -> SandboxSession:
    session = database.open_session("SYSTEM", "ORCLPDB1", {})
    session.client.thread = thread
    return session


def mined(
    database: SandboxDatabase, start: int, options: Option = Option.DICT_FROM_ONLINE_CATALOG
) -> list[tuple[int, int, int]]:
    """(SCN, thread, operation code) of the rows from `start` on."""
    wanted = MiningRange(start)
    files = logs_covering(database.redo, wanted)
    mining = Mining(files, wanted, options, database.redo, database.catalog, None, ReadingMemory())
    names = ("SCN", "THREAD#", "OPERATION_CODE")
    found = []
    for row in mining.rows(Nls()):
        cells = [row[_PLACES[name]] for name in names]
        scn, thread, code = (number.to_int(cell) for cell in cells if isinstance(cell, bytes))
        found.append((scn, thread, code))
    return found


def test_threads_are_merged_by_scn(database: SandboxDatabase) -> None:
    database.redo.add_thread(2)
    one, two = session_of(database), session_of(database, 2)
    one.execute("create table t (id number primary key)")
    start = database.clock.read()
    for turn in range(3):
        one.execute(f"insert into t values ({turn})", commit=True)
        two.execute(f"insert into t values ({10 + turn})", commit=True)
    rows = mined(database, start)
    assert [scn for scn, _, _ in rows] == sorted(scn for scn, _, _ in rows)
    assert [(thread, code) for _, thread, code in rows] == [(t, code) for t in (1, 2) * 3 for code in (6, 1, 7)]
    assert mined(database, start, Option.DICT_FROM_ONLINE_CATALOG | Option.COMMITTED_DATA_ONLY) == rows


def test_a_strand_bound_late_brings_lower_scns(database: SandboxDatabase) -> None:
    early, late = session_of(database), session_of(database)
    early.execute("create table t (id number primary key)")
    start = database.clock.read()
    early.execute("insert into t values (1)")
    late.execute("insert into t values (2)", commit=True)
    assert [code for _, _, code in mined(database, start)] == [6, 1, 7]
    early.commit()
    rows = mined(database, start)
    assert [code for _, _, code in rows] == [6, 1, 7, 6, 1, 7]
    assert rows[3][0] < rows[0][0], "the first transaction's redo reached the log last, with its own SCN"
