"""The text of CREATE TABLE that schema changes of a snapshot have: read with the structures, left out without the grant."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import oracledb
import pytest
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.lab import Lab

from minercdc.errors import TransientSourceError
from minercdc.oracle.connect import connect
from minercdc.oracle.dictionary.create_table_text import read_ddl
from minercdc.schema.table import TableId
from minercdc.schema.tables import Tables
from minercdc.snapshot.initial.locks import lock_of
from minercdc.snapshot.initial.snapshot_scn import Described, Place, describe, fix_now

BODY = '"T" \n   (\t"ID" NUMBER(9,0), \n\t"V" VARCHAR2(9) NOT NULL ENABLE, \n\t  PRIMARY KEY ("ID")'


@pytest.fixture
def lab(sandbox: SandboxProcess, tmp_path: Path) -> Iterator[Lab]:
    made = Lab(sandbox, f"d{uuid.uuid4().hex[:12]}", tmp_path)
    made.run("create table t (id number(9) primary key, v varchar2(9) not null)", "create index ix on t (v)")
    yield made
    made.app.close()


def test_a_snapshots_schema_changes_have_the_text(lab: Lab) -> None:
    with connect(lab.config, "pdb") as connection:
        where = ([Place(connection, lab.filter, lab.sandbox.service)], lock_of(lab.connector_config("fail").snapshot))
        fixed = fix_now(*where, described=Described(ddl=True))
        (change,) = describe(Tables(), fixed.schemas, fixed.scn, 0, ddl=fixed.ddl)
        assert fix_now(*where).ddl == {}, "it is read only where schema changes are published"
    table, index, nothing = change.ddl.split(";")
    assert table.startswith(f'\n  CREATE TABLE "{lab.schema}".{BODY}')
    assert index.strip().startswith("CREATE INDEX")
    assert nothing == ""


def test_the_parameters_of_the_session_are_set_back(lab: Lab) -> None:
    with connect(lab.config, "pdb") as connection, connection.cursor() as cursor:
        read_ddl(connection, [lab.table("t")])
        cursor.execute("SELECT TO_CHAR(DBMS_METADATA.GET_DDL('TABLE', 'T', :owner)) FROM DUAL", owner=lab.schema)
        assert ";" not in cursor.fetchone()[0]


def test_tables_of_others_need_the_role(lab: Lab, caplog: pytest.LogCaptureFixture) -> None:
    """SELECT on the table is not enough: DBMS_METADATA shows another user's table with SELECT_CATALOG_ROLE only."""
    other = f"{lab.schema}_o".lower()
    with lab.sandbox.connect() as admin, admin.cursor() as cursor:
        cursor.execute(f"create user {other} identified by {other} quota unlimited on users")
        cursor.execute(f"grant create session, create table to {other}")
    lab.run(f"grant select on t to {other}")
    caplog.set_level(logging.INFO)
    with lab.sandbox.connect(other, other) as connection:
        connection.cursor().execute("create table own (id number)")
        found = read_ddl(connection, [lab.table("t"), lab.table("t")._replace(schema=other.upper(), table="OWN")])
    assert [table.table for table in found] == ["OWN"]
    (line,) = caplog.records
    assert line.levelno == logging.INFO
    assert line.getMessage().startswith(f"the schema change of {lab.schema}.T has no ddl: ")
    assert "ORA-31603" in line.getMessage()
    assert "GRANT SELECT_CATALOG_ROLE" in line.getMessage()


class _Refusing:
    """A connection whose calls of DBMS_METADATA fail."""

    def __init__(self, error: oracledb.Error) -> None:
        self._error = error

    def cursor(self) -> _Refusing:
        return self

    def __enter__(self) -> _Refusing:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def execute(self, *_: Any) -> None:
        raise self._error


def failing(code: int, text: str) -> Any:
    detail = type("_Detail", (), {"code": code, "full_code": f"ORA-{code:05d}", "__str__": lambda _: text})()
    return _Refusing(oracledb.DatabaseError(detail))


def test_a_package_that_cannot_be_used_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    table = TableId("D", "S", "T")
    assert read_ddl(failing(6550, "ORA-06550: PLS-00201: 'DBMS_METADATA' must be declared"), [table]) == {}
    (line,) = caplog.records
    assert (line.levelno, "PLS-00201" in line.getMessage()) == (logging.WARNING, True)


def test_a_broken_connection_is_no_missing_text() -> None:
    with pytest.raises(TransientSourceError):
        read_ddl(failing(3113, "ORA-03113: end-of-file"), [TableId("D", "S", "T")])
