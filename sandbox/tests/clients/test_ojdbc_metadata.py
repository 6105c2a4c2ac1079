"""DatabaseMetaData and cursors through ojdbc11: what tools read of a schema first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sandbox.tests.clients.jdbc import CURSOR, Jvm, named_rows, rows, sql_errors
from tests.fixtures.fix_sandbox import SandboxProcess


@pytest.fixture(scope="module")
def connection(jvm: Jvm, server: SandboxProcess) -> Iterator[Any]:
    connection = jvm.connect(server)
    statement = connection.createStatement()
    with sql_errors():
        statement.executeUpdate("create table parent (id number(10) primary key, name varchar2(30) not null, at timestamp)")
        statement.executeUpdate("create table child (id number(10) primary key, parent_id number(10) references parent)")
        statement.executeUpdate("create index child_parent on child (parent_id)")
        statement.executeUpdate("insert into parent select 1, 'one', systimestamp from dual")
    yield connection
    connection.close()


def test_columns(connection: Any) -> None:
    with sql_errors():
        found = named_rows(connection.getMetaData().getColumns(None, "APP", "PARENT", "%"))
    shown = [(c["COLUMN_NAME"], c["TYPE_NAME"], c["COLUMN_SIZE"], c["IS_NULLABLE"], c["ORDINAL_POSITION"]) for c in found]
    assert shown == [
        ("ID", "NUMBER", "10", "NO", "1"),
        ("NAME", "VARCHAR2", "30", "NO", "2"),
        ("AT", "TIMESTAMP(6)", "11", "YES", "3"),
    ]


def test_indexes(connection: Any) -> None:
    with sql_errors():
        found = named_rows(connection.getMetaData().getIndexInfo(None, "APP", "CHILD", False, True))
    named = {(index["INDEX_NAME"], index["NON_UNIQUE"], index["COLUMN_NAME"]) for index in found if index["INDEX_NAME"]}
    assert ("CHILD_PARENT", "1", "PARENT_ID") in named
    assert [unique for _, unique, column in named if column == "ID"] == ["0"]


def test_foreign_keys(connection: Any) -> None:
    data = connection.getMetaData()
    with sql_errors():
        imported = named_rows(data.getImportedKeys(None, "APP", "CHILD"))
        exported = named_rows(data.getExportedKeys(None, "APP", "PARENT"))
    assert imported == exported
    assert [(k["PKTABLE_NAME"], k["PKCOLUMN_NAME"], k["FKTABLE_NAME"], k["FKCOLUMN_NAME"]) for k in imported] == [
        ("PARENT", "ID", "CHILD", "PARENT_ID")
    ]


@pytest.mark.parametrize("question", ["getProcedures", "getFunctions"])
def test_there_are_no_programs(connection: Any, question: str) -> None:
    with sql_errors():
        assert rows(getattr(connection.getMetaData(), question)(None, "APP", "%")) == []


def test_cursors_from_blocks(jvm: Jvm, connection: Any) -> None:
    call = connection.prepareCall("begin open ? for select name from parent where id = ?; end;")
    for number, expected in ((1, [["one"]]), (2, [])):
        call.registerOutParameter(1, CURSOR)
        call.setInt(2, number)
        with sql_errors():
            call.execute()
            assert rows(call.getObject(1)) == expected


def test_implicit_results(connection: Any) -> None:
    call = connection.prepareCall(
        "declare c sys_refcursor; begin open c for select name from parent; dbms_sql.return_result(c); end;"
    )
    with sql_errors():
        call.execute()
        assert call.getMoreResults()
        assert rows(call.getResultSet()) == [["one"]]


def test_type_info_names_what_the_release_has(connection: Any) -> None:
    with sql_errors():
        found = {row["TYPE_NAME"] for row in named_rows(connection.getMetaData().getTypeInfo())}
    assert {"NUMBER", "VARCHAR2", "DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "RAW", "CLOB", "BLOB", "NCLOB"} <= found
