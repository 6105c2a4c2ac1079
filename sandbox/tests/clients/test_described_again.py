"""A cursor that a client cached is executed again after DDL: rows of the new layout come under its description (go-ora's: test_goora)."""

from __future__ import annotations

import itertools
from typing import Any

import oracledb
import pytest
from sandbox.tests.clients.jdbc import Jvm, SqlError, sql_errors
from tests.fixtures.fix_sandbox import SandboxProcess

# Columns after the first one, and what the one row has in them.
LAYOUTS = {
    "": "",
    "v varchar2(20)": "'text'",
    "r raw(10)": "hextoraw('CAFE')",
    "v number, w date": "1, date '2020-01-02'",
    "c clob": "'long text'",
    "b blob": "hextoraw('BEEF')",
    "v number, w clob": "3, 'long text'",
    "l long": "'long'",
}
CHANGES = list(itertools.permutations(LAYOUTS, 2))
QUERY = "select * from laid_out"


def lay_out(cursor: oracledb.Cursor, layout: str) -> None:
    cursor.execute("begin execute immediate 'drop table laid_out purge'; exception when others then null; end;")
    cursor.execute(f"create table laid_out (a number{', ' + layout if layout else ''})")
    cursor.execute(f"insert into laid_out values (7{', ' + LAYOUTS[layout] if layout else ''})")
    cursor.connection.commit()


@pytest.fixture(scope="module")
def ddl(server: SandboxProcess) -> oracledb.Cursor:
    return server.connect("app", "app").cursor()


def found(cursor: oracledb.Cursor, query: str) -> tuple[list[Any], list[Any]]:
    """Names and values; a LOB's content, whether it came as a locator or whole."""
    (row,) = cursor.execute(query).fetchall()
    return [column[0] for column in cursor.description or ()], [
        cell.read() if hasattr(cell, "read") else cell for cell in row
    ]


@pytest.mark.parametrize("locators", [True, False])
def test_python_oracledb(
    server: SandboxProcess, ddl: oracledb.Cursor, monkeypatch: pytest.MonkeyPatch, locators: bool
) -> None:
    monkeypatch.setattr(oracledb.defaults, "fetch_lobs", locators)
    for before, after in CHANGES:
        with server.connect("app", "app") as connection:
            lay_out(ddl, before)
            found(connection.cursor(), QUERY)
            lay_out(ddl, after)
            fresh = found(connection.cursor(), QUERY + " fresh")
            assert [found(connection.cursor(), QUERY) for _ in range(2)] == [fresh] * 2, (before, after)


def read(statement: Any) -> list[tuple[str, str | None]]:
    """Types and values of the one row."""
    with sql_errors():
        result = statement.executeQuery()
        data = result.getMetaData()
        assert result.next()
        row = []
        for n in range(1, data.getColumnCount() + 1):
            kind = data.getColumnTypeName(n)
            row.append((kind, result.getBytes(n).hex() if kind == "BLOB" else result.getString(n)))
        result.close()
    return row


@pytest.mark.parametrize("cached", [True, False])
def test_ojdbc(jvm: Jvm, server: SandboxProcess, ddl: oracledb.Cursor, cached: bool) -> None:
    for before, after in CHANGES:
        connection = jvm.connect(server)
        if cached:
            connection.setImplicitCachingEnabled(True)
            connection.setStatementCacheSize(10)
        lay_out(ddl, before)
        statement = connection.prepareStatement(QUERY)
        known = len(read(statement))
        lay_out(ddl, after)
        fresh = read(connection.prepareStatement(QUERY + " fresh"))
        for _ in range(2):
            if cached:
                statement.close()
                statement = connection.prepareStatement(QUERY)
            if "LOB" in fresh[-1][0] and len(fresh) > known:
                # The driver has no room for a LOB in a column that it did not know (an index error of its own otherwise).
                with pytest.raises(SqlError, match="ORA-01007"):
                    read(statement)
            else:
                assert read(statement) == fresh, (before, after)
        assert read(connection.prepareStatement("select 1 from dual")) == [("NUMBER", "1")]
        connection.close()
