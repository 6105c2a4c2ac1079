"""A database in a directory: what a server that was stopped, or killed at any moment, comes back with."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import oracledb
import pytest
from sandbox.tests.server.mining_lab import add_all_logs, start_mining
from tests.fixtures.fix_sandbox import SandboxProcess


@contextmanager
def running(directory: Path, *arguments: str) -> Iterator[SandboxProcess]:
    server = SandboxProcess((), "--data", str(directory), *arguments)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            assert server.stop() == (0, "")


def mined(server: SandboxProcess, columns: str, where: str) -> list[tuple[object, ...]]:
    """Rows of V$LOGMNR_CONTENTS over all logs there are."""
    with server.connect("c##minercdc", "minercdc", server.root_service) as connection:
        cursor = connection.cursor()
        add_all_logs(cursor)
        start_mining(cursor)
        cursor.execute(f"select {columns} from v$logmnr_contents where {where}")
        return list(cursor)


def test_an_orderly_stop_keeps_everything(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        server.create_user("app")
        with server.connect("app", "app") as connection:
            cursor = connection.cursor()
            cursor.execute("create table item (id number primary key, name varchar2(20), d date default sysdate)")
            cursor.executemany("insert into item (id, name) values (:1, :2)", [(n, f"item {n}") for n in range(1000)])
            connection.commit()
            cursor.execute("update item set name = 'x' where id = 7")
            connection.commit()
            before = cursor.execute("select rowid, id, name, d from item order by id").fetchall()
        with server.connect() as connection:
            ((scn,),) = connection.cursor().execute("select current_scn from v$database").fetchall()
        redo = mined(server, "rs_id, ssn, sql_redo", "table_name = 'ITEM' and operation_code in (1, 3)")
    with running(tmp_path) as server, server.connect("app", "app") as connection:
        cursor = connection.cursor()
        assert cursor.execute("select rowid, id, name, d from item order by id").fetchall() == before
        assert mined(server, "rs_id, ssn, sql_redo", "table_name = 'ITEM' and operation_code in (1, 3)") == redo
        with pytest.raises(oracledb.IntegrityError, match="ORA-00001"):
            cursor.execute("insert into item (id) values (7)")
        cursor.execute(f"select count(*) from item as of scn {scn} where name = 'x'")
        assert cursor.fetchall() == [(1,)]
        cursor.execute("insert into item (id) values (5000)")
        connection.commit()
        assert cursor.execute(f"select count(*) from item as of scn {scn}").fetchall() == [(1000,)]


def test_a_kill_loses_open_transactions_and_nothing_else(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        server.create_user("app")
        with server.connect("app", "app") as connection:
            cursor = connection.cursor()
            cursor.execute("create table item (id number primary key, name varchar2(20))")
            cursor.execute("alter table item add supplemental log data (all) columns")
            cursor.executemany("insert into item values (:1, 'kept')", [(n,) for n in range(10)])
            connection.commit()
            # Enough for its redo to leave the private strand.
            cursor.execute("update item set name = 'lost' where id < 5")
            cursor.execute("delete from item where id = 9")
            for number in range(100, 200):
                cursor.execute("insert into item values (:1, 'lost')", [number])
            with server.connect("app", "app") as other:
                other.cursor().execute("insert into item values (50, 'kept')")
                other.commit()
            ((xid,),) = server.connect().cursor().execute("select xid from v$transaction").fetchall()
            server.kill()
            with suppress(oracledb.Error):
                connection.close()
    with running(tmp_path) as server, server.connect("app", "app") as connection:
        rows = connection.cursor().execute("select id, name from item order by id").fetchall()
        assert rows == [(n, "kept") for n in (*range(10), 50)]
        connection.cursor().execute("update item set name = 'again' where id = 1")  # no lock is left
        changes = mined(server, "operation_code, rollback", f"xid = hextoraw('{xid.hex()}')")
        assert changes[0] == (6, 0)
        assert changes[-1][0] == 36
        done, undone = [c for c in changes if c[1] == 0 and c[0] in (1, 2, 3)], [c for c in changes if c[1] == 1]
        assert len(done) == len(undone) > 0


# python-oracledb leaves the sockets of lost connections to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
def test_acknowledged_commits_survive_a_kill(tmp_path: Path) -> None:
    """Kill the server in the middle of many sessions' commits; and the redo has the same rows as the table."""
    acknowledged: list[int] = []
    turn = random.Random(7)

    def write(server: SandboxProcess, first: int) -> None:
        with suppress(oracledb.Error), server.connect("app", "app") as connection:
            for number in range(first, first + 100_000):
                connection.cursor().execute("insert into item values (:1)", [number])
                connection.commit()
                acknowledged.append(number)

    for run_number in range(4):
        with running(tmp_path) as server:
            if run_number == 0:
                server.create_user("app")
                with server.connect("app", "app") as connection:
                    connection.cursor().execute("create table item (id number primary key)")
            with server.connect("app", "app") as connection:
                found = {number for (number,) in connection.cursor().execute("select id from item")}
            assert set(acknowledged) <= found
            assert len(found - set(acknowledged)) <= 2 * run_number  # committed, but the answer was lost
            redo = mined(
                server, "substr(sql_redo, instr(sql_redo, '(''') + 2)", "operation_code = 1 and table_name = 'ITEM'"
            )
            assert sorted(int(str(text).split("'")[0]) for (text,) in redo) == sorted(found)
            if run_number == 3:
                break
            writers = [threading.Thread(target=write, args=(server, 1_000_000 * (2 * run_number + n))) for n in range(2)]
            for writer in writers:
                writer.start()
            enough = len(acknowledged) + turn.randrange(50, 400)
            while len(acknowledged) < enough:
                assert any(writer.is_alive() for writer in writers)
            server.kill()
            for writer in writers:
                writer.join()


def test_ddl_and_log_switches_survive_a_kill(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        server.create_user("app")
        with server.connect("app", "app") as connection, server.connect() as system:
            cursor = connection.cursor()
            cursor.execute("create table item (id number primary key)")
            cursor.execute("insert into item values (1)")
            system.cursor().execute("alter system switch logfile")
            cursor.execute("alter table item add (name varchar2(10) default 'n' not null)")
            logs = system.cursor().execute("select sequence#, status from v$log order by 1").fetchall()
            server.kill()
            with suppress(oracledb.Error):
                connection.close()
    with running(tmp_path) as server, server.connect("app", "app") as connection:
        cursor = connection.cursor()
        cursor.execute("insert into item (id) values (2)")
        assert cursor.execute("select * from item order by id").fetchall() == [(1, "n"), (2, "n")]
        with server.connect() as system:
            archived = system.cursor().execute("select sequence# from v$archived_log order by 1").fetchall()
        assert {sequence for (sequence,) in archived} >= {s for s, status in logs if status in ("ACTIVE", "INACTIVE")}


def test_an_incarnation_survives_a_kill(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        server.create_user("app")
        with server.connect() as system, server.connect("app", "app") as connection:
            connection.cursor().execute("create table item (id number primary key)")
            system.cursor().execute("alter system set log_archive_dest_2 = 'LOCATION=/second'")
            system.cursor().execute("call dbms_sandbox.reset_logs()")
        with server.connect("app", "app") as connection:
            connection.cursor().execute("insert into item values (1)")
            connection.commit()
            server.kill()
            with suppress(oracledb.Error):
                connection.close()
    with running(tmp_path) as server:
        assert mined(server, "count(*)", "operation_code = 1 and table_name = 'ITEM'") == [(1,)]
        with server.connect() as system:
            cursor = system.cursor()
            assert cursor.execute("select count(*) from v$database_incarnation").fetchall() == [(2,)]
            assert cursor.execute("select count(*) from v$archive_dest_status where status = 'VALID'").fetchall() == [(2,)]


def test_an_archived_log_without_a_record_is_there_after_a_kill(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        with server.connect() as connection:
            connection.cursor().execute("alter database enable public thread 2")
            connection.cursor().execute("alter system archive log current")
        server.kill()
    with running(tmp_path) as server:
        assert mined(server, "count(*)", "thread# = 2 and operation_code < 4") == [(0,)]


def test_a_directory_in_use_is_refused(tmp_path: Path) -> None:
    with running(tmp_path), pytest.raises(RuntimeError, match="ORA-01102"):
        SandboxProcess((), "--data", str(tmp_path))


@pytest.mark.parametrize("divided", ["", "subpartition by hash (id) subpartitions 2"], ids=["", "subpartitions"])
def test_partitions_and_old_versions_survive_a_kill(tmp_path: Path, divided: str) -> None:
    with running(tmp_path) as server:
        server.create_user("app")
        with server.connect("app", "app") as connection:
            cursor = connection.cursor()
            cursor.execute(
                f"create table part (id number primary key, n number) partition by range (id) interval (1000) {divided}"
                " (partition p0 values less than (1000)) enable row movement"
            )
            cursor.executemany("insert into part values (:1, 0)", [(n,) for n in range(3000)])
            connection.commit()
            ((scn,),) = cursor.execute("select max(ora_rowscn) from part").fetchall()
            for _ in range(8):  # enough versions to be moved out of the way
                cursor.execute("update part set n = n + 1")
                connection.commit()
            cursor.execute("alter table part truncate partition for (1500)")
            before = cursor.execute("select rowid, id, n from part order by id").fetchall()
            cursor.execute("insert into part values (1500, 0)")
            cursor.execute("update part set id = 3500 where id = 5")
        server.kill()
    with running(tmp_path) as server, server.connect("app", "app") as connection:
        cursor = connection.cursor()
        assert cursor.execute("select rowid, id, n from part order by id").fetchall() == before
        with pytest.raises(oracledb.DatabaseError, match="ORA-01466"):
            cursor.execute(f"select count(*) from part as of scn {scn}")
        versions = cursor.execute(
            "select count(*) from part versions between scn minvalue and maxvalue where id = 7"
        ).fetchall()
        assert versions == [(1,)]
        cursor.execute("insert into part values (1500, 0)")
        assert cursor.execute("select count(*) from part partition for (1500)").fetchall() == [(1,)]
        cursor.execute("update part set n = n + 1 where id < 100")
        connection.commit()
        shown = mined(
            server, "distinct seg_name, data_obj#", "table_name = 'PART' and operation_code = 3 and row_id is not null"
        )
        sql = "select 'PART,' || subobject_name, object_id from user_objects where data_object_id > 0 and subobject_name is not null"
        assert set(shown) <= set(cursor.execute(sql))


def test_time_zone_regions_are_the_same_after_a_restart(tmp_path: Path) -> None:
    """Values hold the number of their region."""
    shown = "select to_char(t, 'YYYY-MM-DD HH24:MI TZR') from item order by 1"
    with running(tmp_path) as server:
        server.create_user("app")
        with server.connect("app", "app") as connection:
            cursor = connection.cursor()
            cursor.execute("create table item (t timestamp with time zone)")
            for region in ("Europe/Berlin", "America/New_York", "Asia/Tokyo"):
                cursor.execute(f"insert into item values (timestamp '2024-07-01 12:00:00 {region}')")
            connection.commit()
            before = cursor.execute(shown).fetchall()
        assert [text for (text,) in before] == [
            f"2024-07-01 12:00 {region}" for region in ("America/New_York", "Asia/Tokyo", "Europe/Berlin")
        ]
    with running(tmp_path) as server, server.connect("app", "app") as connection:
        cursor = connection.cursor()
        cursor.execute("select timestamp '2024-07-01 12:00:00 Asia/Tokyo' from dual where 1 = 0")
        assert cursor.execute(shown).fetchall() == before
