"""Room of LOBs: whose nodes they are, and when those of dropped and truncated tables are freed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from minercdc_sandbox.database import SandboxDatabase
from minercdc_sandbox.server import sandbox_database
from minercdc_sandbox.session import SandboxSession

BIG = "rpad(to_clob('x'), 4000, 'y') || rpad('z', 4000, 'z') || rpad('z', 4000, 'z')"


@pytest.fixture(params=["memory", "directory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    return tmp_path / "data" if request.param == "directory" else None


@pytest.fixture
def database(place: Path | None) -> Iterator[SandboxDatabase]:
    database = sandbox_database(data_dir=place)
    yield database
    database.close()


def session_of(database: SandboxDatabase) -> SandboxSession:
    return database.open_session("SYSTEM", "ORCLPDB1", {})


def nodes(database: SandboxDatabase) -> int:
    """Without those of temporary LOBs, which go with their session."""
    (count,) = database.storage.db.execute("select count(*) from lob_node where owner>0").fetchone() or (None,)
    assert isinstance(count, int)
    return count


def purge_logs(database: SandboxDatabase, session: SandboxSession) -> None:
    """Switch through all online logs and delete what was archived."""
    for _ in range(database.redo.group_count):
        session.execute("alter system switch logfile")
    for log in database.redo.archived():
        session.execute(f"call dbms_sandbox.purge_log(1, {log.sequence})")


def filled(database: SandboxDatabase) -> SandboxSession:
    session = session_of(database)
    session.execute("create table doc (id number, c clob)")
    session.execute(f"insert into doc select level, {BIG} from dual connect by level <= 3", commit=True)
    return session


@pytest.mark.parametrize("statement", ["drop table doc purge", "truncate table doc", "drop table doc"])
def test_room_is_given_back_with_the_last_log(database: SandboxDatabase, statement: str) -> None:
    session = filled(database)
    assert nodes(database) > 6
    session.execute(statement)
    if statement == "drop table doc":
        purge_logs(database, session)
        assert nodes(database) > 6, "the recycle bin keeps it"
        session.execute("purge recyclebin")
    assert nodes(database) > 6, "LogMiner can still show them"
    purge_logs(database, session)
    assert nodes(database) == 0


def test_copies_in_other_tables_stay(database: SandboxDatabase) -> None:
    session = filled(database)
    session.execute("create table kept as select * from doc where id = 1")
    session.execute("insert into kept select * from doc where id = 2", commit=True)
    session.execute("alter table kept move")
    session.execute("drop table doc purge")
    purge_logs(database, session)
    assert nodes(database) > 2
    rows = session.execute("select dbms_lob.getlength(c) n, to_char(substr(c, 12000, 1)) t from kept").rows
    assert rows is not None
    assert [row[1] for row in rows.fetch(9)] == ["z", "z"]
    session.execute("truncate table kept")
    purge_logs(database, session)
    assert nodes(database) == 0


def test_values_that_rows_had_go_too(database: SandboxDatabase) -> None:
    session = filled(database)
    session.execute("update doc set c = c || 'more'")
    session.execute("rollback")
    session.execute("update doc set c = 'short'", commit=True)
    session.execute("begin for r in (select c from doc for update) loop dbms_lob.writeappend(r.c, 3, 'abc'); end loop; end;")
    session.execute("commit")
    session.execute("drop table doc purge")
    purge_logs(database, session)
    assert nodes(database) == 0


def test_after_a_restart(tmp_path: Path) -> None:
    database = sandbox_database(data_dir=tmp_path)
    session = filled(database)
    session.execute("drop table doc purge")
    database.close()
    again = sandbox_database(data_dir=tmp_path)
    assert nodes(again) > 6
    purge_logs(again, session_of(again))
    assert again.storage.db.execute("select count(*) from lob_node").fetchall() == [(0,)]
    again.close()


def test_rows_of_temporary_tables_leave_nothing(database: SandboxDatabase) -> None:
    session = session_of(database)
    session.execute("create global temporary table work (c clob) on commit delete rows")
    session.execute(f"insert into work values ({BIG})")
    assert nodes(database) > 2
    session.execute("commit")
    assert nodes(database) == 0
