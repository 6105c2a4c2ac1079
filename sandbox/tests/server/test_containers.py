"""Several pluggable databases, and incarnations of the database."""

from __future__ import annotations

import oracledb
import pytest
from sandbox.tests.server.mining_lab import add_all_logs, start_mining
from tests.fixtures.fix_sandbox import SandboxProcess


def fails(code: int, connection: oracledb.Connection, statement: str) -> None:
    with pytest.raises(oracledb.DatabaseError, match=f"ORA-{code:05d}"):
        connection.cursor().execute(statement)


def test_only_a_common_user_with_set_container_leaves_its_container(fresh_sandbox: SandboxProcess) -> None:
    with root(fresh_sandbox) as admin:
        admin.cursor().execute("create user c##some identified by some container=all")
        admin.cursor().execute("grant create session to c##some container=all")
        with fresh_sandbox.connect("c##some", "some", fresh_sandbox.root_service) as some:
            fails(1031, some, "alter session set container = orclpdb1")
            admin.cursor().execute("grant set container to c##some container=all")
            some.cursor().execute("alter session set container = orclpdb1")


def test_logging_is_forced_once_and_no_more(fresh_sandbox: SandboxProcess) -> None:
    with root(fresh_sandbox) as admin, admin.cursor() as cursor:
        for statement, code, shown in (("force logging", 12920, "YES"), ("no force logging", 12921, "NO")):
            cursor.execute(f"alter database {statement}")
            assert cursor.execute("select force_logging from v$database").fetchall() == [(shown,)]
            fails(code, admin, f"alter database {statement}")


def test_privileges_of_roles_are_the_sessions(fresh_sandbox: SandboxProcess) -> None:
    with fresh_sandbox.connect() as admin, admin.cursor() as cursor:
        for statement in ("create role miners", "grant logmining to miners", "create user one identified by one"):
            cursor.execute(statement)
        cursor.execute("grant create session, miners to one")
        with fresh_sandbox.connect("one", "one") as one:
            found = one.cursor().execute("select privilege from session_privs order by 1").fetchall()
            assert found == [("CREATE SESSION",), ("LOGMINING",)]


def test_parameters_of_size_are_recorded(fresh_sandbox: SandboxProcess) -> None:
    with root(fresh_sandbox) as admin, admin.cursor() as cursor:
        cursor.execute("alter system set pga_aggregate_limit = 3G")
        cursor.execute("alter system set archive_lag_target = 900")
        fails(2017, admin, "alter system set archive_lag_target = 'often'")
        sql = "select name, value from v$parameter where name in ('archive_lag_target', 'pga_aggregate_limit') order by 1"
        assert cursor.execute(sql).fetchall() == [("archive_lag_target", "900"), ("pga_aggregate_limit", str(3 << 30))]
        cursor.execute("alter system set cluster_database = true scope = spfile")
        fails(922, admin, "alter system set cluster_database = perhaps")
        assert cursor.execute("select value from v$parameter where name = 'cluster_database'").fetchall() == [("TRUE",)]


def root(server: SandboxProcess) -> oracledb.Connection:
    return server.connect(service=server.root_service)


def test_pluggable_databases_have_users_tables_and_xids_of_their_own(fresh_sandbox: SandboxProcess) -> None:
    fresh_sandbox.create_user("app")
    with root(fresh_sandbox) as admin, fresh_sandbox.connect() as inside:
        fails(65040, inside, "create pluggable database sales admin user boss identified by boss")
        fails(65012, admin, "create pluggable database orclpdb1 admin user boss identified by boss")
        cursor = admin.cursor()
        cursor.execute("create pluggable database sales admin user boss identified by boss")
        with pytest.raises(oracledb.DatabaseError, match="ORA-12514|DPY-6001"):
            fresh_sandbox.connect("boss", "boss", "sales")
        cursor.execute("alter pluggable database sales open")
        fails(65019, admin, "alter pluggable database sales open")
        fails(65046, admin, "alter pluggable database open")
        cursor.execute("alter pluggable database all open")
        cursor.execute("alter pluggable database sales, orclpdb1 open force")
        names = cursor.execute("select con_id, name, open_mode from v$pdbs order by 1").fetchall()
        assert names[1:] == [(3, "ORCLPDB1", "READ WRITE"), (4, "SALES", "READ WRITE")]
        with fresh_sandbox.connect("boss", "boss", "sales") as boss:
            boss.cursor().execute("create user app identified by other")
            boss.cursor().execute("grant connect, resource, unlimited tablespace to app")
        # The same name, another user: each with the password of its own container.
        with pytest.raises(oracledb.DatabaseError, match="ORA-01017"):
            fresh_sandbox.connect("app", "app", "sales")
        with fresh_sandbox.connect("app", "app") as one, fresh_sandbox.connect("app", "other", "sales") as two:
            for number, session in enumerate((one, two)):
                session.cursor().execute("create table item (id number)")
                session.cursor().execute("insert into item values (:1)", [number])
            found = cursor.execute("select con_id, xid from v$transaction").fetchall()
            assert {con_id for con_id, _ in found} == {3, 4}
            for session in (one, two):
                session.commit()
            assert two.cursor().execute("select id from item").fetchall() == [(1,)]
        with fresh_sandbox.connect("c##minercdc", "minercdc", fresh_sandbox.root_service) as miner:
            mining = miner.cursor()
            add_all_logs(mining)
            start_mining(mining)
            rows = mining.execute(
                "select src_con_name, src_con_id, rawtohex(xid) from v$logmnr_contents where operation_code = 7"
            ).fetchall()
            by_name = {pdb: {xid for name, _, xid in rows if name == pdb} for pdb in ("ORCLPDB1", "SALES")}
            assert by_name["ORCLPDB1"] & by_name["SALES"], "the same XID comes in both"
        fails(65025, admin, "drop pluggable database sales including datafiles")
        cursor.execute("alter pluggable database sales close immediate")
        with fresh_sandbox.connect("c##minercdc", "minercdc", fresh_sandbox.root_service) as common:
            common.cursor().execute("alter session set container = sales")
            assert common.cursor().execute("select open_mode from v$pdbs").fetchall() == [("MOUNTED",)]
            assert common.cursor().execute("select 1 from dual").fetchall() == [(1,)]
            for statement in ("select * from shop.item", "select * from all_tables", "delete from shop.item"):
                fails(1219, common, statement)
        cursor.execute("drop pluggable database sales including datafiles")
        assert cursor.execute("select count(*) from v$pdbs where name = 'SALES'").fetchall() == [(0,)]


def test_a_session_in_a_dropped_pdb_is_killed(fresh_sandbox: SandboxProcess) -> None:
    with (
        root(fresh_sandbox) as admin,
        fresh_sandbox.connect("c##minercdc", "minercdc", fresh_sandbox.root_service) as common,
    ):
        admin.cursor().execute("create pluggable database sales admin user boss identified by boss")
        common.cursor().execute("alter session set container = sales")
        admin.cursor().execute("drop pluggable database sales including datafiles")
        fails(28, common, "select 1 from dual")
        admin.cursor().execute("select count(*) from v$session")


def test_redo_of_a_dropped_pdb_is_of_unknown_tables_and_of_no_name(fresh_sandbox: SandboxProcess) -> None:
    fresh_sandbox.create_user("app")
    with root(fresh_sandbox) as admin, admin.cursor() as cursor:
        cursor.execute("create pluggable database sales admin user boss identified by boss")
        cursor.execute("alter pluggable database sales open")
        with fresh_sandbox.connect("boss", "boss", "sales") as boss, fresh_sandbox.connect("app", "app") as app:
            for session in (boss, app):
                session.cursor().execute("create table item (id number, name varchar2(9))")
                session.cursor().executemany("insert into item values (:1, 'a')", [[1], [2]])
                session.commit()
        cursor.execute("alter pluggable database sales close immediate")
        cursor.execute("drop pluggable database sales including datafiles")
        cursor.execute("create pluggable database stock admin user boss identified by boss")
        assert cursor.execute("select con_id from v$pdbs where name = 'STOCK'").fetchall() == [(5,)]
    with fresh_sandbox.connect("c##minercdc", "minercdc", fresh_sandbox.root_service) as miner, miner.cursor() as cursor:
        add_all_logs(cursor)
        start_mining(cursor)
        view, inserts = "from v$logmnr_contents", "operation = 'INSERT'"
        cursor.execute(f"select seg_owner, table_name, status, sql_redo {view} where src_con_id = 4 and {inserts}")
        owner, table, status, redo = cursor.fetchall()[0]
        assert (owner, status, redo.startswith(f'insert into "UNKNOWN"."{table}"("COL 1"')) == ("UNKNOWN", 2, True)
        for condition in ("src_con_name = 'ORCLPDB1'", "src_con_name in ('ORCLPDB1', 'STOCK')"):
            found = cursor.execute(f"select src_con_name, table_name {view} where {condition} and {inserts}").fetchall()
            assert found == [("ORCLPDB1", "ITEM")] * 2
        for query in (
            f"select src_con_name {view}",
            f"select rs_id, sql_redo {view} where src_con_name = 'SALES' and {inserts}",
            f"select rs_id, sql_redo {view} where src_con_name is null and {inserts}",
            f"select rs_id, src_con_name {view} where {inserts}",
            f"select max(src_con_dbid) {view} where {inserts}",
        ):
            with pytest.raises(oracledb.DatabaseError, match=r"ORA-03001: .*SRC_CON_NAME.* of the pluggable database SALES"):
                cursor.execute(query).fetchall()


def test_resetlogs_begins_a_new_incarnation(fresh_sandbox: SandboxProcess) -> None:
    fresh_sandbox.create_user("app")
    with root(fresh_sandbox) as admin:
        cursor = admin.cursor()
        with fresh_sandbox.connect("app", "app") as app:
            app.cursor().execute("create table item (id number)")
            app.cursor().execute("insert into item values (1)")
            app.commit()
        cursor.execute("alter system switch logfile")
        ((old,),) = cursor.execute("select name from v$archived_log").fetchall()
        cursor.execute("call dbms_sandbox.reset_logs()")
        found = cursor.execute(
            "select incarnation#, status, prior_incarnation# from v$database_incarnation order by 1"
        ).fetchall()
        assert found == [(1, "PARENT", 0), (2, "CURRENT", 1)]
        assert cursor.execute("select sequence# from v$log where status = 'CURRENT'").fetchall() == [(1,)]
        changes = cursor.execute("select resetlogs_change#, prior_resetlogs_change# from v$database").fetchone()
        assert changes[0] > changes[1] == 1
        logs = cursor.execute("select distinct resetlogs_id from v$archived_log").fetchall()
        assert len(logs) == 1
        with fresh_sandbox.connect("app", "app") as app:
            app.cursor().execute("insert into item values (2)")
            app.commit()
            assert app.cursor().execute("select id from item order by 1").fetchall() == [(1,), (2,)]
        cursor.execute("alter system switch logfile")
        names = cursor.execute("select sequence#, resetlogs_id, name from v$archived_log order by recid").fetchall()
        assert (names[0][0], names[-1][0]) == (1, 1)
        assert names[0][1] < names[-1][1]
        with fresh_sandbox.connect("c##minercdc", "minercdc", fresh_sandbox.root_service) as miner:
            fails(1287, miner, f"begin dbms_logmnr.add_logfile('{old}', dbms_logmnr.new); end;")
            mining = miner.cursor()
            mining.execute("begin dbms_logmnr.add_logfile(:1, dbms_logmnr.new); end;", [names[-1][2]])
            mining.execute("begin dbms_logmnr.start_logmnr(options => dbms_logmnr.dict_from_online_catalog); end;")
            sql = "select rs_id, scn from v$logmnr_contents where operation_code = 1"
            ((rs_id, scn),) = mining.execute(sql).fetchall()
            assert rs_id.startswith(" 0x000001.")
            assert scn >= changes[0]
