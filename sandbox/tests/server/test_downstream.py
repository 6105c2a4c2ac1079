"""The downstream database that DBMS_SANDBOX.OPEN_DOWNSTREAM adds: it receives archived logs, and mines them by their names."""

from __future__ import annotations

from typing import Any

import oracledb
import pytest
from sandbox.tests.server.in_process import connect

from minercdc_sandbox.downstream import DBID, OTHER_DBID, SERVICE
from minercdc_sandbox.server import ROOT_SERVICE, SandboxServer

_ADD = "begin dbms_logmnr.add_logfile(:name, {}); end;"
_START = "begin dbms_logmnr.start_logmnr(options => {}); end;"
_IN_REDO = "dbms_logmnr.dict_from_redo_logs + dbms_logmnr.ddl_dict_tracking"
_BUILD = "begin dbms_logmnr_d.build(options => dbms_logmnr_d.store_in_redo_logs); end;"
_RECEIVED = (
    "select name, thread#, sequence#, first_change#, next_change#, dictionary_begin, source_dbid, status"
    " from v$foreign_archived_log order by sequence#, source_dbid desc"
)
_OF_ITEM = "select seg_owner, sql_redo from v$logmnr_contents where operation in ('INSERT', 'DDL') and sql_redo like '%'"


@pytest.fixture
def source(server: SandboxServer) -> oracledb.Cursor:
    cursor = connect(server, ROOT_SERVICE).cursor()
    cursor.execute("alter database add supplemental log data")
    cursor.execute("create table item (id number, name varchar2(9))")
    cursor.execute("alter system switch logfile")
    cursor.callproc("dbms_sandbox.open_downstream")
    return cursor


@pytest.fixture
def downstream(server: SandboxServer, source: oracledb.Cursor) -> oracledb.Cursor:
    return connect(server, SERVICE).cursor()


def _all(cursor: oracledb.Cursor, sql: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in cursor.execute(sql).fetchall()]


def _log(source: oracledb.Cursor, number: int) -> int:
    """A log with a row, archived; its sequence number."""
    source.execute(f"insert into item values ({number}, 'n{number}')")
    source.connection.commit()
    ((sequence,),) = source.execute("select sequence# from v$log where status = 'CURRENT'").fetchall()
    source.execute("alter system switch logfile")
    return int(sequence)


def _mine(cursor: oracledb.Cursor, names: list[str], options: str) -> list[tuple[Any, ...]]:
    for i, name in enumerate(names):
        cursor.execute(_ADD.format("dbms_logmnr.addfile" if i else "dbms_logmnr.new"), {"name": name})
    cursor.execute(_START.format(options))
    return _all(cursor, _OF_ITEM)


def test_there_is_none_before_it_is_opened(server: SandboxServer) -> None:
    with pytest.raises(oracledb.DatabaseError, match="6001|12514|not registered"):
        connect(server, SERVICE)


def test_it_is_a_database_of_its_own(source: oracledb.Cursor, downstream: oracledb.Cursor) -> None:
    identity = "select name, dbid, database_role, open_mode from v$database"
    assert _all(downstream, identity) == [(SERVICE, DBID, "PRIMARY", "READ WRITE")]
    assert _all(source, identity) != _all(downstream, identity)
    assert _all(downstream, "select table_name from all_tables where table_name = 'ITEM'") == []
    downstream.execute("create table item (other varchar2(3))")
    assert _all(source, "select column_name from all_tab_columns where table_name = 'ITEM' order by 1") == [
        ("ID",),
        ("NAME",),
    ]
    assert _all(source, "select * from v$foreign_archived_log") == []


def test_logs_that_are_archived_since_then_are_received(source: oracledb.Cursor, downstream: oracledb.Cursor) -> None:
    assert _all(downstream, _RECEIVED) == [], "those archived before are not shipped"
    sequence = _log(source, 1)
    ((name, *rest),) = _all(downstream, _RECEIVED)
    columns = "thread#, sequence#, first_change#, next_change#, dictionary_begin, activation#, status"
    assert [tuple(rest)] == _all(source, f"select {columns} from v$archived_log where sequence# = {sequence}")
    assert _all(source, f"select count(*) from v$archived_log where name = '{name}'") == [(0,)]


def test_shipping_stalls_holds_logs_back_and_catches_up(source: oracledb.Cursor, downstream: oracledb.Cursor) -> None:
    def received() -> list[int]:
        return [row[2] for row in _all(downstream, _RECEIVED)]

    first = _log(source, 1)
    source.callproc("dbms_sandbox.hold_log", [1, first + 1])
    _log(source, 2)
    _log(source, 3)
    assert received() == [first, first + 2]
    source.callproc("dbms_sandbox.resume_shipping")
    source.callproc("dbms_sandbox.stall_shipping")
    _log(source, 4)
    _log(source, 5)
    assert received() == [first, first + 1, first + 2]
    source.callproc("dbms_sandbox.purge_log", [1, first])
    source.callproc("dbms_sandbox.purge_log", [1, first + 3])
    source.callproc("dbms_sandbox.resume_shipping")
    assert received() == [first, first + 1, first + 2, first + 4], "what the source has deleted cannot be shipped any more"
    source.callproc("dbms_sandbox.purge_foreign_log", [1, first])
    first_row = _all(downstream, _RECEIVED)[0]
    assert (first_row[0], first_row[7]) == (None, "D")


def test_it_mines_with_a_dictionary_in_the_redo_and_with_none(source: oracledb.Cursor, downstream: oracledb.Cursor) -> None:
    source.execute(_BUILD)
    _log(source, 1)
    source.execute("alter table item add (more date)")
    source.execute("insert into item values (2, 'b', date '2026-01-02')")
    source.connection.commit()
    source.execute("alter system switch logfile")
    source.callproc("dbms_sandbox.purge_log", [1, _all(downstream, _RECEIVED)[1][2]])  # its copy here stays
    names = [row[0] for row in _all(downstream, _RECEIVED)]
    texts = [text for owner, text in _mine(downstream, names, _IN_REDO) if owner == "SYSTEM"]
    assert [text.split(" values")[0] for text in texts] == [
        'insert into "SYSTEM"."ITEM"("ID","NAME")',
        "alter table item add (more date);",
        'insert into "SYSTEM"."ITEM"("ID","NAME","MORE")',
    ]
    without = [text for _, text in _mine(downstream, names, "dbms_logmnr.no_rowid_in_stmt") if text.startswith("insert")]
    assert "(\"COL 1\",\"COL 2\") values (HEXTORAW('c102'),HEXTORAW('6e31'))" in without[0]
    files = _all(downstream, "select distinct db_id, db_name, type from v$logmnr_logs")
    assert files == [(*_all(source, "select dbid, name from v$database")[0], "ARCHIVE")]


def test_what_cannot_be_mined_is_refused(source: oracledb.Cursor, downstream: oracledb.Cursor) -> None:
    first = _log(source, 1)
    _log(source, 2)
    source.callproc("dbms_sandbox.ship_other", [1, first])
    rows = _all(downstream, _RECEIVED)
    assert [(row[2], row[6]) for row in rows] == [(first, rows[0][6]), (first, OTHER_DBID), (first + 1, rows[0][6])]
    (name, other, second) = (row[0] for row in rows)
    with pytest.raises(oracledb.DatabaseError, match="ORA-01371"):
        _mine(downstream, [name, second], _IN_REDO)
    with pytest.raises(oracledb.DatabaseError, match="ORA-01295"):
        _mine(downstream, [name], "dbms_logmnr.dict_from_online_catalog")
    with pytest.raises(oracledb.DatabaseError, match="ORA-01324"):
        _mine(downstream, [name, other], _IN_REDO)
    with pytest.raises(oracledb.DatabaseError, match="ORA-03001"):
        _mine(downstream, [other], _IN_REDO)
    ((own,),) = _all(downstream, "select member from v$logfile where group# = 1")
    with pytest.raises(oracledb.DatabaseError, match="ORA-01324"):
        _mine(downstream, [own, name], _IN_REDO)
    ((of_source,),) = _all(
        source, "select name from v$archived_log where sequence# = (select max(sequence#) from v$archived_log)"
    )
    with pytest.raises(oracledb.DatabaseError, match="ORA-01284"):
        _mine(downstream, [of_source], _IN_REDO)
    source.callproc("dbms_sandbox.reset_logs")
    with pytest.raises(oracledb.DatabaseError, match="ORA-03001"):
        _mine(downstream, [name], _IN_REDO)


@pytest.mark.parametrize("procedure", ["stall_shipping", "resume_shipping"])
def test_faults_of_shipping_need_it(server: SandboxServer, procedure: str) -> None:
    with pytest.raises(oracledb.DatabaseError, match="ORA-20000: OPEN_DOWNSTREAM first"):
        connect(server, ROOT_SERVICE).cursor().callproc(f"dbms_sandbox.{procedure}")
