"""LogMiner as a connector drives it through JDBC: container switches, log files, a mining session, contents in big pieces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sandbox.tests.clients.jdbc import Jvm, rows, sql_errors
from tests.fixtures.fix_sandbox import SandboxProcess

FETCH_SIZE = 10_000
CHANGES = 2500
CONTENTS = (
    "SELECT SCN, SQL_REDO, OPERATION_CODE, TIMESTAMP, XID, CSF, TABLE_NAME, SEG_OWNER, OPERATION, USERNAME, ROW_ID, ROLLBACK, "
    "RS_ID, STATUS, INFO, SSN, THREAD# FROM V$LOGMNR_CONTENTS WHERE SCN > ? AND SCN <= ? AND (OPERATION_CODE IN (1,2,3,6,7,36) "
    "AND (SEG_OWNER IS NULL OR SEG_OWNER NOT IN ('SYS','SYSTEM'))) ORDER BY SCN"
)


@pytest.fixture(scope="module")
def changed(server: SandboxProcess) -> tuple[str, str]:
    """SCNs around some changes of one's own."""
    with server.connect("app", "app") as connection, connection.cursor() as cursor:
        cursor.execute("create table orders (id number(10) primary key, v varchar2(100))")
        first = _scn(server)
        cursor.executemany("insert into orders values (:1, :2)", [(n, f"order {n}") for n in range(CHANGES)])
        connection.commit()
        cursor.execute("update orders set v = 'it''s' where id = 7")
        connection.commit()
    return first, _scn(server)


def _scn(server: SandboxProcess) -> str:
    with server.connect() as connection:
        (scn,) = connection.cursor().execute("select current_scn from v$database").fetchone() or (0,)
        return str(scn)


@pytest.fixture
def connection(jvm: Jvm, server: SandboxProcess) -> Iterator[Any]:
    url = f"jdbc:oracle:thin:@//{server.host}:{server.port}/{server.root_service}"
    connection = jvm.connect(server, "c##minercdc", "minercdc", url)
    yield connection
    connection.close()


def test_containers(connection: Any) -> None:
    statement = connection.createStatement()
    with sql_errors():
        for name in ("ORCLPDB1", "cdb$root"):
            statement.execute(f"alter session set container={name}")
            found = rows(statement.executeQuery("select sys_context('userenv', 'con_name') from dual"))
            assert found == [[name.upper()]]


def test_contents_of_a_mining_session(connection: Any, changed: tuple[str, str]) -> None:
    statement = connection.createStatement()
    with sql_errors():
        statement.execute("ALTER SESSION SET NLS_DATE_FORMAT = 'YYYY-MM-DD HH24:MI:SS'")
        logs = rows(
            statement.executeQuery(
                "SELECT MIN(F.MEMBER), L.SEQUENCE# FROM V$LOG L, V$LOGFILE F WHERE L.GROUP# = F.GROUP# AND L.STATUS = 'CURRENT' "
                "GROUP BY L.GROUP#, L.SEQUENCE#"
            )
        )
        add = connection.prepareCall("{ call SYS.DBMS_LOGMNR.ADD_LOGFILE(LOGFILENAME => ?, OPTIONS => DBMS_LOGMNR.NEW) }")
        add.setString(1, logs[0][0])
        add.execute()
        connection.prepareCall(
            f"BEGIN sys.dbms_logmnr.start_logmnr(startScn => '{changed[0]}', endScn => '{changed[1]}', OPTIONS => "
            "DBMS_LOGMNR.DICT_FROM_ONLINE_CATALOG + DBMS_LOGMNR.NO_ROWID_IN_STMT); END;"
        ).execute()
        query = connection.prepareStatement(CONTENTS)
        query.setFetchSize(FETCH_SIZE)
        query.setString(1, changed[0])
        query.setString(2, changed[1])
        found = rows(query.executeQuery())
        connection.prepareCall("BEGIN SYS.DBMS_LOGMNR.END_LOGMNR(); END;").execute()
    inserts = [row for row in found if row[2] == "1"]
    assert [row[1] for row in inserts] == [
        f'insert into "APP"."ORDERS"("ID","V") values (\'{n}\',\'order {n}\');' for n in range(CHANGES)
    ]
    assert [row[1] for row in found if row[2] == "3"] == [
        'update "APP"."ORDERS" set "V" = \'it\'\'s\' where "V" = \'order 7\';'
    ]
    assert [row[8] for row in found if row[2] in ("6", "7")] == ["START", "COMMIT"] * 2
    assert {row[7] for row in inserts} == {"APP"}
