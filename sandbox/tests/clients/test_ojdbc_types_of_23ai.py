"""BOOLEAN, JSON and VECTOR through ojdbc: literals and binds, values and metadata."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import oracledb
import pytest
from sandbox.tests.clients.jdbc import Jvm, named_rows, rows, sql_errors
from tests.fixtures.fix_sandbox import SandboxProcess

DOCUMENT = '{"a":[1,null,"x",2.5],"b":{"c":true}}'
BOOLEAN, JSON, VECTOR, VECTOR_DOUBLE = 16, 2016, -105, -107


@pytest.fixture(scope="module")
def schema(sandbox: SandboxProcess) -> SandboxProcess:
    sandbox.create_user("app")
    with sandbox.connect("app", "app") as connection, connection.cursor() as cursor:
        cursor.execute("create table n (id number(3), b boolean, j json, v vector(2, float64))")
        cursor.execute(f"insert into n values (1, true, '{DOCUMENT}', '[1.5,2]')")
        connection.commit()
    return sandbox


@pytest.fixture
def connection(jvm: Jvm, schema: SandboxProcess) -> Iterator[Any]:
    connection = jvm.connect(schema)
    connection.setAutoCommit(False)
    yield connection
    with sql_errors():
        connection.rollback()
        connection.close()


def first(connection: Any, sql: str) -> Any:
    """The ResultSet of a query, on its first row."""
    with sql_errors():
        found = connection.createStatement().executeQuery(sql)
        found.next()
        return found


def java_class(jvm: Jvm, name: str) -> Any:
    return jvm.java.lang.Class.forName(name)


def test_values_and_types(jvm: Jvm, connection: Any) -> None:
    row = first(connection, "select b, j, v from n where id = 1")
    described = row.getMetaData()
    assert [(described.getColumnTypeName(n), described.getColumnType(n)) for n in (1, 2, 3)] == [
        *(("BOOLEAN", BOOLEAN), ("JSON", JSON), ("VECTOR", VECTOR)),
    ]
    with sql_errors():
        assert row.getBoolean(1) is True
        assert row.getString(2) == DOCUMENT
        assert str(row.getObject(2, java_class(jvm, "oracle.sql.json.OracleJsonValue")).toString()) == DOCUMENT
        assert list(row.getObject(3, java_class(jvm, "[D"))) == [1.5, 2.0]


def test_binds_come_back(jvm: Jvm, connection: Any) -> None:
    vector = jvm.gateway.new_array(jvm.gateway.jvm.double, 2)
    vector[0], vector[1] = 1.25, -2.0
    factory = jvm.oracle.sql.json.OracleJsonFactory()
    document = factory.createJsonTextValue(jvm.java.io.StringReader(DOCUMENT))
    with sql_errors():
        insert = connection.prepareStatement("insert into n values (2, ?, ?, ?)")
        insert.setBoolean(1, False)
        insert.setObject(2, document, JSON)
        insert.setObject(3, vector, VECTOR_DOUBLE)
        assert insert.executeUpdate() == 1
        assert rows(connection.createStatement().executeQuery("select b, j, v from n where id = 2")) == [
            ["false", DOCUMENT, "[1.25E+000,-2.0E+000]"]
        ]
        statement = connection.prepareStatement("select id from n where b = ?")
        statement.setBoolean(1, True)
        assert rows(statement.executeQuery()) == [["1"]]


def test_documents_of_other_drivers_are_read(schema: SandboxProcess, jvm: Jvm, connection: Any) -> None:
    with schema.connect("app", "app") as other, other.cursor() as cursor:
        cursor.setinputsizes(oracledb.DB_TYPE_JSON)
        cursor.execute("insert into n (id, j) values (3, :1)", [{"k": [1, "two", None, {"three": 3.5}]}])
        other.commit()
    assert first(connection, "select j from n where id = 3").getString(1) == '{"k":[1,"two",null,{"three":3.5}]}'


def test_metadata_of_columns_and_types(connection: Any) -> None:
    with sql_errors():
        columns = named_rows(connection.getMetaData().getColumns(None, "APP", "N", None))
        assert [(c["COLUMN_NAME"], c["TYPE_NAME"], c["DATA_TYPE"]) for c in columns] == [
            *(("ID", "NUMBER", "2"), ("B", "BOOLEAN", str(BOOLEAN)), ("J", "JSON", str(JSON)), ("V", "VECTOR", str(VECTOR))),
        ]
        types = {row["TYPE_NAME"]: row["DATA_TYPE"] for row in named_rows(connection.getMetaData().getTypeInfo())}
    assert types["VARCHAR2"] == "12"
    assert (types["BOOLEAN"], types["JSON"], types["VECTOR"]) == (str(BOOLEAN), str(JSON), str(VECTOR))


def test_booleans_of_blocks(connection: Any) -> None:
    with sql_errors():
        call = connection.prepareCall("begin ? := not ?; end;")
        call.registerOutParameter(1, BOOLEAN)
        call.setBoolean(2, False)
        call.execute()
        assert call.getBoolean(1) is True
