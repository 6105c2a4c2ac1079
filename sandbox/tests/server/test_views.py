"""Every query of LogMiner connectors on the dictionary, and the answers they rely on."""

from __future__ import annotations

import datetime as dt

import oracledb
import pytest
from tests.fixtures.fix_sandbox import SandboxProcess

from minercdc_sandbox.sql_area import sql_id as sql_area_id


@pytest.fixture(scope="module")
def root(sandbox: SandboxProcess) -> oracledb.Connection:
    return sandbox.connect("c##minercdc", "minercdc", sandbox.root_service)


@pytest.fixture(scope="module")
def app(sandbox: SandboxProcess) -> oracledb.Connection:
    sandbox.create_user("app")
    connection = sandbox.connect("app", "app")
    cursor = connection.cursor()
    cursor.execute(
        "create table item (id number(10) primary key, name varchar2(80) not null, qty number(12,3), any_n number, whole number(*,0), "
        "f float, code char(3 char), d date default sysdate, t timestamp(3), r raw(16), constraint item_uk unique (name, code))"
    )
    cursor.execute("create index item_d on item (d)")
    cursor.execute("alter table item add supplemental log data (all) columns")
    cursor.execute("alter table item add supplemental log group g1 (id, name) always")
    cursor.execute("comment on table item is 'things'")
    cursor.execute("create table gone (id number)")
    return connection


def rows_of(connection: oracledb.Connection, sql: str, *binds: object) -> list[tuple[object, ...]]:
    with connection.cursor() as cursor:
        return list(cursor.execute(sql, list(binds)).fetchall())


STATEMENTS = """
SELECT 1 FROM DUAL
SELECT CURRENT_TIMESTAMP FROM DUAL
SELECT VERSION FROM V$INSTANCE
SELECT BANNER FROM V$VERSION WHERE BANNER LIKE '%Oracle%Database%'
SELECT BANNER_FULL FROM V$VERSION WHERE BANNER_FULL LIKE 'Oracle%Database%'
SELECT DATABASE_ROLE, OPEN_MODE, NAME, DB_UNIQUE_NAME, DBID, PLATFORM_NAME, CDB FROM V$DATABASE
SELECT SYS_CONTEXT('USERENV','CON_NAME') FROM DUAL
SELECT SYSTIMESTAMP FROM DUAL
SELECT VALUE FROM NLS_DATABASE_PARAMETERS WHERE PARAMETER='NLS_CHARACTERSET'
SELECT VALUE FROM V$PARAMETER WHERE UPPER(NAME)=UPPER('max_string_size')
SELECT INCARNATION#, RESETLOGS_CHANGE#, PRIOR_RESETLOGS_CHANGE#, STATUS, RESETLOGS_ID, PRIOR_INCARNATION# FROM V$DATABASE_INCARNATION
SELECT LOG_MODE FROM V$DATABASE
SELECT SUPPLEMENTAL_LOG_DATA_ALL, SUPPLEMENTAL_LOG_DATA_MIN, SUPPLEMENTAL_LOG_DATA_PK, SUPPLEMENTAL_LOG_DATA_SR FROM V$DATABASE
SELECT CURRENT_SCN FROM V$DATABASE
SELECT STATUS, TYPE FROM V$ARCHIVE_DEST_STATUS WHERE DEST_NAME='LOG_ARCHIVE_DEST_1'
SELECT COUNT(1) FROM V$ARCHIVE_DEST_STATUS WHERE STATUS='VALID' AND TYPE='LOCAL'
SELECT DEST_ID FROM V$ARCHIVE_DEST_STATUS WHERE TYPE='LOCAL' AND STATUS='VALID' AND ROWNUM=1
SELECT MIN(F.MEMBER) AS FILE_NAME, L.FIRST_CHANGE# FIRST_CHANGE, L.NEXT_CHANGE# NEXT_CHANGE, L.ARCHIVED, L.STATUS, 'ONLINE' AS TYPE, L.SEQUENCE# AS SEQ, 'NO' AS DICT_START, 'NO' AS DICT_END, L.THREAD# AS THREAD, L.BYTES FROM V$LOGFILE F, V$LOG L WHERE L.STATUS='CURRENT' AND F.GROUP# = L.GROUP# GROUP BY F.GROUP#, L.FIRST_CHANGE#, L.NEXT_CHANGE#, L.STATUS, L.ARCHIVED, L.SEQUENCE#, L.THREAD#, L.BYTES
SELECT A.NAME AS FILE_NAME, A.FIRST_CHANGE# FIRST_CHANGE, A.NEXT_CHANGE# NEXT_CHANGE, 'YES', NULL, 'ARCHIVED', A.SEQUENCE# AS SEQ, A.DICTIONARY_BEGIN, A.DICTIONARY_END, A.THREAD# AS THREAD, A.BLOCKS*A.BLOCK_SIZE FROM V$ARCHIVED_LOG A, V$DATABASE D, V$ARCHIVE_DEST_STATUS DS WHERE A.NAME IS NOT NULL AND A.ARCHIVED = 'YES' AND A.STATUS = 'A' AND A.NEXT_CHANGE# > 1 AND A.DEST_ID = DS.DEST_ID AND DS.DEST_NAME = 'LOG_ARCHIVE_DEST_1' AND A.RESETLOGS_CHANGE# = D.RESETLOGS_CHANGE# AND A.RESETLOGS_TIME = D.RESETLOGS_TIME AND A.FIRST_TIME >= SYSDATE - (10/24) ORDER BY 7
SELECT MIN(FIRST_CHANGE#) FROM (SELECT MIN(FIRST_CHANGE#) AS FIRST_CHANGE# FROM V$LOG UNION SELECT MIN(FIRST_CHANGE#) AS FIRST_CHANGE# FROM V$ARCHIVED_LOG WHERE STATUS='A')
SELECT SEQUENCE# FROM V$LOG WHERE STATUS='CURRENT' ORDER BY SEQUENCE#
SELECT F.MEMBER, R.STATUS FROM V$LOGFILE F, V$LOG R WHERE F.GROUP#=R.GROUP# ORDER BY 2
SELECT 'TOTAL', COUNT(1) FROM V$ARCHIVED_LOG A, V$ARCHIVE_DEST_STATUS DS WHERE A.FIRST_TIME > TRUNC(SYSDATE) AND A.DEST_ID = DS.DEST_ID
SELECT GROUP#, BYTES FROM V$LOG ORDER BY 1
SELECT MAX(BYTES) FROM V$LOG
SELECT MAX(NEXT_CHANGE#) FROM V$ARCHIVED_LOG WHERE NEXT_CHANGE# <= 100 AND DICTIONARY_BEGIN='YES'
SELECT * FROM V$LOGFILE
SELECT * FROM V$LOG
SELECT * FROM V$ARCHIVED_LOG WHERE FIRST_TIME >= SYSDATE-2
SELECT * FROM V$LOG_HISTORY WHERE FIRST_TIME >= SYSDATE-1
SELECT * FROM V$THREAD
SELECT FILENAME AS NAME FROM V$LOGMNR_LOGS
SELECT FILENAME, THREAD_ID, THREAD_SQN, LOW_SCN, NEXT_SCN, DICTIONARY_BEGIN, DICTIONARY_END, TYPE, INFO FROM V$LOGMNR_LOGS ORDER BY THREAD_ID, THREAD_SQN
SELECT START_SCN, END_SCN, REQUIRED_START_SCN, OPTIONS, STATUS, INFO FROM V$LOGMNR_PARAMETERS
SELECT d.CURRENT_SCN, t.XID, t.START_SCN FROM V$DATABASE d LEFT OUTER JOIN V$TRANSACTION t ON t.START_SCN < d.CURRENT_SCN
SELECT d.CURRENT_SCN, t.XID, t.START_SCN FROM V$DATABASE d LEFT OUTER JOIN GV$TRANSACTION t ON t.START_SCN < d.CURRENT_SCN
SELECT VALUE FROM v$statname n, v$mystat m WHERE n.name='session pga memory' AND n.statistic#=m.statistic#
SELECT SID, SERIAL#, USERNAME, PROGRAM FROM V$SESSION
SELECT NAME, OPEN_MODE FROM V$PDBS
SELECT * FROM V$CONTAINERS
SELECT GRANTEE, PRIVILEGE FROM DBA_SYS_PRIVS
SELECT GRANTED_ROLE FROM USER_ROLE_PRIVS
SELECT * FROM SESSION_PRIVS
SELECT PARAMETER, VALUE FROM NLS_SESSION_PARAMETERS
""".strip().splitlines()


@pytest.mark.parametrize("statement", STATEMENTS, ids=range(len(STATEMENTS)))
def test_connectors_statements_run(root: oracledb.Connection, statement: str) -> None:
    rows = rows_of(root, statement)
    may_be_empty = ("V$PDBS", "V$ARCHIVED_LOG", "V$LOG_HISTORY", "V$LOGMNR", "DICTIONARY_BEGIN")
    assert rows or any(name in statement for name in may_be_empty)


def test_tables_and_their_columns(app: oracledb.Connection) -> None:
    tables = rows_of(app, "select table_name from all_tables where owner = 'APP' and iot_name is null and nested = 'NO'")
    assert ("ITEM",) in tables
    assert rows_of(
        app, "select count(1) from all_all_tables where owner=:1 and table_name=:2 and table_type is null", "APP", "ITEM"
    ) == [(1,)]
    columns = rows_of(
        app,
        "select column_name, data_type, data_length, data_precision, data_scale, nullable, char_length, char_used, column_id, "
        "hidden_column, virtual_column from all_tab_cols where owner = 'APP' and table_name = 'ITEM' order by column_id",
    )
    assert [row[:8] for row in columns] == [
        ("ID", "NUMBER", 22, 10, 0, "N", 0, None),
        ("NAME", "VARCHAR2", 80, None, None, "N", 80, "B"),
        ("QTY", "NUMBER", 22, 12, 3, "Y", 0, None),
        ("ANY_N", "NUMBER", 22, None, None, "Y", 0, None),
        ("WHOLE", "NUMBER", 22, None, 0, "Y", 0, None),
        ("F", "FLOAT", 22, 126, None, "Y", 0, None),
        ("CODE", "CHAR", 12, None, None, "Y", 3, "C"),
        ("D", "DATE", 7, None, None, "Y", 0, None),
        ("T", "TIMESTAMP(3)", 11, None, 3, "Y", 0, None),
        ("R", "RAW", 16, None, None, "Y", 0, None),
    ]
    assert [row[8:] for row in columns] == [(n, "NO", "NO") for n in range(1, 11)]
    assert rows_of(app, "select data_default from user_tab_columns where table_name = 'ITEM' and column_name = 'D'") == [
        ("sysdate",)
    ]


def test_keys_and_indexes(app: oracledb.Connection) -> None:
    keys = rows_of(
        app,
        "select c.constraint_type, cc.column_name, cc.position from all_constraints c, all_cons_columns cc where c.owner = cc.owner "
        "and c.constraint_name = cc.constraint_name and c.table_name = 'ITEM' and c.constraint_type in ('P', 'U') order by 1, 3",
    )
    assert keys == [("P", "ID", 1), ("U", "NAME", 1), ("U", "CODE", 2)]
    indexes = rows_of(
        app,
        "select i.uniqueness, ic.column_name from all_indexes i join all_ind_columns ic on ic.index_owner = i.owner and "
        "ic.index_name = i.index_name where i.table_name = 'ITEM' order by 1, ic.column_position, 2",
    )
    assert sorted(indexes) == [("NONUNIQUE", "D"), ("UNIQUE", "CODE"), ("UNIQUE", "ID"), ("UNIQUE", "NAME")]


def test_log_groups_objects_and_comments(app: oracledb.Connection, root: oracledb.Connection) -> None:
    groups = rows_of(
        app,
        "select log_group_type, always from all_log_groups where owner = :1 and table_name = :2 order by 1",
        "APP",
        "ITEM",
    )
    assert groups == [("ALL COLUMN LOGGING", "ALWAYS"), ("USER LOG GROUP", "ALWAYS")]
    assert rows_of(app, "select column_name from all_log_group_columns where log_group_name = 'G1' order by position") == [
        ("ID",),
        ("NAME",),
    ]
    ((object_id, data_object_id, ddl),) = rows_of(
        app,
        "select object_id, data_object_id, last_ddl_time from all_objects where object_name = 'ITEM' and owner = 'APP' and object_type = 'TABLE'",
    )
    assert isinstance(object_id, int)
    assert isinstance(data_object_id, int)
    assert isinstance(ddl, dt.datetime)
    assert rows_of(app, "select comments from all_tab_comments where table_name = 'ITEM'") == [("things",)]
    assert rows_of(root, "select count(*) from all_tables where owner = 'APP'") == [(0,)]
    root.cursor().execute("alter session set container = ORCLPDB1")
    assert rows_of(root, "select count(*) from dba_tables where owner = 'APP' and table_name = 'ITEM'") == [(1,)]
    root.cursor().execute("alter session set container = cdb$root")


def test_recycle_bin(app: oracledb.Connection) -> None:
    app.cursor().execute("drop table gone")
    ((name, original),) = rows_of(app, "select object_name, original_name from user_recyclebin")
    assert str(name).startswith("BIN$")
    assert original == "GONE"
    assert rows_of(app, "select owner, original_name from dba_recyclebin where object_name = :1", name) == [("APP", "GONE")]


def test_logs_follow_a_switch(sandbox: SandboxProcess, root: oracledb.Connection) -> None:
    ((before, first),) = rows_of(root, "select sequence#, first_change# from v$log where status = 'CURRENT'")
    with sandbox.connect() as system, system.cursor() as cursor:
        cursor.execute("alter system switch logfile")
    ((after, now_first),) = rows_of(root, "select sequence#, first_change# from v$log where status = 'CURRENT'")
    assert (after, now_first) > (before, first)
    assert rows_of(
        root, "select first_change#, next_change#, status, deleted from v$archived_log where sequence# = :1", before
    ) == [(first, now_first, "A", "NO")]
    assert rows_of(root, "select sequence#, current_group# from v$thread") == rows_of(
        root, "select sequence#, group# from v$log where status = 'CURRENT'"
    )
    assert rows_of(root, "select next_change# from v$log where status = 'CURRENT'") == [(18446744073709551615,)]


def test_open_transactions(app: oracledb.Connection, sandbox: SandboxProcess) -> None:
    app.cursor().execute("insert into item (id, name) values (1, 'a')")
    with sandbox.connect(service=sandbox.root_service) as root:
        sql = "select t.xid, t.start_scn, d.current_scn from v$transaction t, v$database d"
        ((xid, start, scn),) = rows_of(root, sql)
        assert isinstance(xid, bytes)
        assert len(xid) == 8
        assert isinstance(start, int)
        assert isinstance(scn, int)
        assert start < scn
        app.rollback()
        assert rows_of(root, "select count(*) from v$transaction") == [(0,)]


def test_the_root_shows_pluggable_databases_by_container_data(
    app: oracledb.Connection, root: oracledb.Connection, sandbox: SandboxProcess
) -> None:
    """Security Guide, "Container Data Objects": of a common user without it, rows of the root only."""
    counts = ("v$transaction", "v$pdbs", f"cdb_tables where owner = '{app.username.upper()}'")
    app.cursor().execute("insert into item (id, name) values (1, 'a')")
    with sandbox.connect("c##minercdc", "minercdc") as inside, sandbox.connect(service=sandbox.root_service) as admin:
        for view in counts:
            assert rows_of(root, f"select count(*) from {view}") == [(0,)]
            assert rows_of(inside, f"select count(*) from {view}") != [(0,)]
        admin.cursor().execute("alter user c##minercdc set container_data = all container = current")
        for view in counts:
            assert rows_of(root, f"select count(*) from {view}") != [(0,)]
        admin.cursor().execute("alter user c##minercdc set container_data = default container = current")
        assert rows_of(root, "select count(*) from v$transaction") == [(0,)]
        with pytest.raises(oracledb.DatabaseError, match="ORA-03001"):
            admin.cursor().execute("alter user c##minercdc set container_data = all for v$session")
    app.rollback()


@pytest.mark.parametrize(("how", "left"), [("commit", 1), ("rollback", 0)])
def test_a_transaction_in_doubt_is_ended_by_force(
    app: oracledb.Connection, sandbox: SandboxProcess, how: str, left: int
) -> None:
    with sandbox.connect() as admin, admin.cursor() as cursor:
        cursor.execute("create table doubted (id number)")
        cursor.execute(f"grant all on doubted to {app.username}")
        app.cursor().execute("insert into system.doubted values (1)")
        cursor.execute(f"call dbms_sandbox.leave_in_doubt('{app.username.upper()}')")
        assert rows_of(admin, "select count(*) from v$transaction") == [(0,)]
        ((local_id, state),) = rows_of(admin, "select local_tran_id, state from dba_2pc_pending")
        assert state == "prepared"
        with pytest.raises(oracledb.DatabaseError, match="ORA-01591"):
            cursor.execute("lock table doubted in exclusive mode wait 10")
        with (
            sandbox.connect("c##minercdc", "minercdc") as other,
            pytest.raises(oracledb.DatabaseError, match="ORA-01031"),
        ):
            other.cursor().execute(f"{how} force '{local_id}'")
        with pytest.raises(oracledb.DatabaseError, match="ORA-02058"):
            cursor.execute(f"{how} force '1.2.3'")
        cursor.execute(f"{how} force '{local_id}'")
        assert rows_of(admin, "select count(*) from dba_2pc_pending") == [(0,)]
        assert rows_of(admin, "select count(*) from doubted") == [(left,)]
        cursor.execute("drop table doubted purge")


def test_incarnations_of_a_pluggable_database(fresh_sandbox: SandboxProcess) -> None:
    sql = "select status, pdb_incarnation#, incarnation_scn, begin_resetlogs_scn, end_resetlogs_scn from v$pdb_incarnation"
    with fresh_sandbox.connect(service=fresh_sandbox.root_service) as admin:
        ((status, number, *_),) = rows_of(admin, f"{sql} where con_id = 3")
        assert (status, number) == ("CURRENT", 0)
        admin.cursor().execute("call dbms_sandbox.reset_pdb('ORCLPDB1')")
        first, second = rows_of(admin, f"{sql} where con_id = 3 order by 2")
        assert (first[0], second[:2]) == ("PARENT", ("CURRENT", 1))
        numbers = [int(str(number)) for number in (first[4], *second[2:])]
        assert numbers == sorted(set(numbers))


def test_check_constraints_are_shown(sandbox: SandboxProcess) -> None:
    with sandbox.connect() as connection, connection.cursor() as cursor:
        cursor.execute("create table checked (a number not null, b number, constraint a_and_b check (a < b))")
        cursor.execute(
            "select c.constraint_name, c.constraint_type, c.search_condition_vc, l.column_name from all_constraints c"
            " join all_cons_columns l on l.constraint_name = c.constraint_name"
            " where c.table_name = 'CHECKED' and c.generated = 'USER NAME' order by l.column_name"
        )
        assert cursor.fetchall() == [("A_AND_B", "C", "a < b", "A"), ("A_AND_B", "C", "a < b", "B")]
        cursor.execute("drop table checked purge")


def test_roles_of_ones_own_are_roles(sandbox: SandboxProcess) -> None:
    with sandbox.connect() as connection, connection.cursor() as cursor:
        cursor.execute("create role reader")
        cursor.execute("create user role_user identified by x")
        cursor.execute("grant reader, create session to role_user")
        sql = "select granted_role from dba_role_privs where grantee = 'ROLE_USER'"
        assert cursor.execute(sql).fetchall() == [("READER",)]
        assert cursor.execute(sql.replace("granted_role from dba_role", "privilege from dba_sys")).fetchall() == [
            ("CREATE SESSION",)
        ]
        cursor.execute("drop user role_user")
        cursor.execute("drop role reader")


def test_statements_and_their_cost(app: oracledb.Connection, sandbox: SandboxProcess) -> None:
    with app.cursor() as cursor, sandbox.connect(service=sandbox.root_service) as root, root.cursor() as seen:
        cursor.execute("create table counted (id number)")
        for start in (0, 10):
            cursor.executemany("insert into counted values (:1)", [(start + n,) for n in range(5)])
        app.commit()
        cursor.arraysize = 4
        cursor.prefetchrows = 4
        cursor.execute("select id from counted").fetchall()
        with pytest.raises(oracledb.DatabaseError, match="ORA-00942"):
            cursor.execute("select * from counted_not")
        seen.execute(
            "SELECT SQL_TEXT, EXECUTIONS, ROWS_PROCESSED, FETCHES, PARSING_SCHEMA_NAME, SQL_ID, CPU_TIME, ELAPSED_TIME "
            "FROM V$SQLAREA WHERE SQL_TEXT LIKE '%counted%' AND SQL_TEXT NOT LIKE '%SQLAREA%'"
        )
        rows = {row[0]: row[1:] for row in seen}
    assert rows["insert into counted values (:1)"][:3] == (2, 10, 0)
    executions, fetched, fetches, schema, sql_id, cpu, elapsed = rows["select id from counted"]
    assert (executions, fetched, fetches, schema) == (1, 10, 3, app.username.upper())
    assert sql_id == sql_area_id("select id from counted")
    assert cpu > 0
    assert elapsed > 0
    assert rows["select * from counted_not"][0] == 0


def test_sql_id() -> None:
    assert sql_area_id("select * from dual") == "a5ks9fhw2v9s1"
