"""START_LOGMNR's dictionaries and options, what the session's views show, and the errors of the packages."""

from __future__ import annotations

from collections.abc import Iterator

import oracledb
import pytest
from sandbox.tests.server.mining_lab import Lab, errors_of
from tests.fixtures.fix_sandbox import SandboxProcess

ARCHIVED = "select name from v$archived_log where sequence# >= :1 order by sequence#"


@pytest.fixture
def lab(fresh_sandbox: SandboxProcess) -> Iterator[Lab]:
    fresh_sandbox.create_user("lab")
    lab = Lab(fresh_sandbox)
    lab.mark()
    yield lab
    lab.close()


@pytest.fixture
def admin(fresh_sandbox: SandboxProcess) -> Iterator[oracledb.Cursor]:
    with fresh_sandbox.connect(service="ORCLCDB") as connection, connection.cursor() as cursor:
        cursor.execute("alter database add supplemental log data")
        yield cursor


def logs(lab: Lab) -> list[str]:
    """All there are, archived and current."""
    found = lab.mining.execute(
        "select name from v$archived_log union all select f.member from v$log l, v$logfile f "
        "where l.group# = f.group# and l.status = 'CURRENT'"
    ).fetchall()
    return [name for (name,) in found]


def add(lab: Lab, names: list[str]) -> None:
    for number, name in enumerate(names):
        option = "new" if number == 0 else "addfile"
        lab.mining.execute(f"begin dbms_logmnr.add_logfile(:1, dbms_logmnr.{option}); end;", [name])


def texts(lab: Lab, options: str, names: list[str]) -> list[str]:
    add(lab, names)
    lab.mining.execute(f"begin dbms_logmnr.start_logmnr(options => {options} + dbms_logmnr.no_rowid_in_stmt); end;")
    rows = lab.mining.execute(
        "select sql_redo from v$logmnr_contents where operation_code in (1, 3) and seg_owner in ('LAB', 'UNKNOWN')"
    )
    return [text for (text,) in rows]


def build(lab: Lab) -> None:
    lab.mining.execute("begin dbms_logmnr_d.build(options => dbms_logmnr_d.store_in_redo_logs); end;")


def test_a_dictionary_in_the_redo_knows_the_tables_of_its_time(lab: Lab, admin: oracledb.Cursor) -> None:
    lab.run("create table a (id number)")
    build(lab)
    ((begin, end),) = lab.mining.execute(
        "select dictionary_begin, dictionary_end from v$archived_log where dictionary_begin = 'YES'"
    ).fetchall()
    assert (begin, end) == ("YES", "YES")
    lab.run("insert into a values (1)", "alter table a add (b number)", "insert into a values (2, 3)")
    lab.commit()
    lab.run("drop table a purge")
    untracked = texts(lab, "dbms_logmnr.dict_from_redo_logs", logs(lab))
    assert untracked == [
        'insert into "LAB"."A"("ID") values (\'1\');',
        'insert into "LAB"."A"("COL 1","COL 2") values (HEXTORAW(\'c103\'),HEXTORAW(\'c104\'));',
    ]
    tracked = texts(lab, "dbms_logmnr.dict_from_redo_logs + dbms_logmnr.ddl_dict_tracking", logs(lab))
    assert tracked == [
        'insert into "LAB"."A"("ID") values (\'1\');',
        'insert into "LAB"."A"("ID","B") values (\'2\',\'3\');',
    ]


def test_a_dictionary_in_the_redo_knows_the_names_of_its_time(lab: Lab, admin: oracledb.Cursor) -> None:
    lab.run("create table a (id number)", "rename a to b")
    build(lab)
    lab.run("insert into b values (1)", "alter table b rename to c", "insert into c values (2)", "rename c to d")
    lab.run("insert into d values (3)", "create table b (id number)", "insert into b values (4)")
    lab.commit()
    lab.run("drop table d", "flashback table d to before drop rename to e", "insert into e values (5)")
    lab.commit()
    tracked = texts(lab, "dbms_logmnr.dict_from_redo_logs + dbms_logmnr.ddl_dict_tracking", logs(lab))
    names = ("B", "C", "D", "B", "E")
    assert tracked == [f'insert into "LAB"."{name}"("ID") values (\'{n}\');' for n, name in enumerate(names, 1)]
    untracked = texts(lab, "dbms_logmnr.dict_from_redo_logs", logs(lab))
    assert [text.split('"')[3] for text in untracked if "UNKNOWN" not in text] == ["B"] * 4
    online = texts(lab, "dbms_logmnr.dict_from_online_catalog", logs(lab))
    assert [text.split('"')[3] for text in online] == ["E", "E", "E", "B", "E"]


def test_without_a_dictionary_nothing_is_known(lab: Lab) -> None:
    lab.run("create table a (id number)", "insert into a values (1)")
    lab.commit()
    (text,) = texts(lab, "dbms_logmnr.skip_corruption", logs(lab))
    assert text.startswith('insert into "UNKNOWN"."OBJ# ')


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ("dict_from_redo_logs", 1371),
        ("dict_from_redo_logs + dbms_logmnr.dict_from_online_catalog", 1296),
        ("dict_from_online_catalog + dbms_logmnr.ddl_dict_tracking", 1283),
        ("dict_from_redo_logs + dbms_logmnr.ddl_dict_tracking", 1347),
        ("continuous_mine", 44609),
    ],
)
def test_options_that_cannot_be(lab: Lab, options: str, code: int) -> None:
    add(lab, logs(lab))
    sql = f"begin dbms_logmnr.start_logmnr(options => dbms_logmnr.{options}); end;"
    assert f"ORA-{code:05d}" in errors_of(lab.mining.connection, sql)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("startscn => 10, endscn => 5", 1281),
        ("starttime => date '2026-02-01', endtime => date '2026-01-01'", 1282),
        ("dictfilename => 'd'", 44613),
        ("startscn => 1", 1291),
    ],
)
def test_ranges(lab: Lab, arguments: str, code: int) -> None:
    add(lab, logs(lab))
    sql = f"begin dbms_logmnr.start_logmnr({arguments}, options => dbms_logmnr.dict_from_online_catalog); end;"
    assert f"ORA-{code:05d}" in errors_of(lab.mining.connection, sql)


def test_building_needs_supplemental_logging(lab: Lab) -> None:
    sql = "begin dbms_logmnr_d.build(options => dbms_logmnr_d.store_in_redo_logs); end;"
    assert "ORA-01354" in errors_of(lab.mining.connection, sql)
    flat = "begin dbms_logmnr_d.build('d', '/tmp', dbms_logmnr_d.store_in_flat_file); end;"
    assert "ORA-44613" in errors_of(lab.mining.connection, flat)


def test_status_of_the_listed_logs(lab: Lab, admin: oracledb.Cursor) -> None:
    for _ in range(3):
        admin.execute("alter system switch logfile")
    names = logs(lab)
    add(lab, names)
    status = "select thread_sqn, status from v$logmnr_logs order by thread_id, thread_sqn"
    assert [state for _, state in lab.mining.execute(status).fetchall()] == [0, 0, 0, 0]
    ((begin,),) = lab.mining.execute("select first_change# from v$archived_log where sequence# = 2").fetchall()
    start = f"begin dbms_logmnr.start_logmnr(startscn => {begin}, options => dbms_logmnr.dict_from_online_catalog); end;"
    lab.mining.execute(start)
    assert lab.mining.execute(status).fetchall() == [(1, 2), (2, 1), (3, 0), (4, 0)]


def test_a_gap_is_named(lab: Lab, admin: oracledb.Cursor) -> None:
    for _ in range(3):
        admin.execute("alter system switch logfile")
    names = logs(lab)
    add(lab, [names[0], names[3]])
    start = "begin dbms_logmnr.start_logmnr(options => dbms_logmnr.dict_from_online_catalog); end;"
    assert "ORA-01291" in errors_of(lab.mining.connection, start)
    missing = lab.mining.execute("select filename, info from v$logmnr_logs where status = 4").fetchall()
    assert missing == [
        ("MISSING LOG FILE(s) FOR THREAD NUMBER 1, SEQUENCE NUMBER(s) 2 TO 3", "MISSING LOG FILE(s)"),
    ]
    add(lab, names)
    lab.mining.execute(start)
    assert lab.mining.execute("select count(*) from v$logmnr_logs where status = 4").fetchall() == [(0,)]


def test_the_list_must_not_change_while_it_is_read(lab: Lab) -> None:
    lab.run("create table a (id number)")
    lab.cursor.executemany("insert into a values (:1)", [(n,) for n in range(2000)])
    lab.commit()
    lab.start()
    with lab.mining.connection.cursor() as reading:
        reading.prefetchrows = reading.arraysize = 2
        reading.execute("select sql_redo from v$logmnr_contents")
        reading.fetchmany(4)
        ((name,),) = lab.mining.execute("select filename from v$logmnr_logs").fetchall()
        lab.mining.execute("begin dbms_logmnr.remove_logfile(:1); end;", [name])
        with pytest.raises(oracledb.DatabaseError, match="ORA-01315"):
            reading.fetchall()


def test_a_file_that_is_refused_leaves_the_list_as_it_was(lab: Lab) -> None:
    lab.run("create table a (id number)")
    lab.cursor.executemany("insert into a values (:1)", [(n,) for n in range(2000)])
    lab.commit()
    lab.start()
    listed = "select filename from v$logmnr_logs"
    ((name,),) = lab.mining.execute(listed).fetchall()
    with lab.mining.connection.cursor() as reading:
        reading.prefetchrows = reading.arraysize = 2
        reading.execute("select sql_redo from v$logmnr_contents where seg_name = 'A'")
        reading.fetchmany(4)
        for file, option, error in (
            (name, "addfile", "ORA-01289"),
            ("nowhere.arc", "addfile", "ORA-01284"),
            ("nowhere.arc", "new", "ORA-01284"),
            (name, "new + 40", "ORA-01283"),
        ):
            add_one = f"begin dbms_logmnr.add_logfile('{file}', dbms_logmnr.{option}); end;"
            assert error in errors_of(lab.mining.connection, add_one)
        assert lab.mining.execute(listed).fetchall() == [(name,)]
        assert len(reading.fetchall()) == 1997, "the query of before goes on"


def test_string_literals_follow_the_session(lab: Lab) -> None:
    lab.run("create table t (d date, s timestamp, i interval day to second, n number)")
    lab.run(
        "insert into t values (date '2026-02-28', timestamp '2026-02-28 01:02:03.5', interval '1 2:3:4' day to second, 1)"
    )
    lab.commit()
    assert lab.redo(options=" + dbms_logmnr.string_literals_in_stmt") == [
        'insert into "LAB"."T"("D","S","I","N") values '
        "('2026-02-28 00:00:00','2026-02-28 01:02:03.500000000','+01 02:03:04.000000','1');"
    ]
    lab.mining.execute("alter session set nls_date_format = 'DD/MM/YYYY' nls_timestamp_format = 'HH24:MI'")
    assert lab.redo(options=" + dbms_logmnr.string_literals_in_stmt") == [
        'insert into "LAB"."T"("D","S","I","N") values (\'28/02/2026\',\'01:02\',\'+01 02:03:04.000000\',\'1\');'
    ]


def test_process_memory_is_shown(lab: Lab) -> None:
    names = ("session uga memory", "session uga memory max", "session pga memory", "session pga memory max")
    sql = "select value from v$statname n, v$mystat m where n.name = :1 and n.statistic# = m.statistic#"
    for name in names:
        ((value,),) = lab.mining.execute(sql, [name]).fetchall()
        assert value > 0
    assert lab.mining.execute("select count(*) from v$process where pga_used_mem > 0").fetchone()[0] > 0
    assert lab.mining.execute("select count(*) from v$sesstat").fetchone()[0] > 0
