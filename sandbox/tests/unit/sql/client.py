"""A client for tests: runs SQL through a session and turns cells into Python values."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from minercdc_sandbox.database import SandboxDatabase
from minercdc_sandbox.interfaces import BindType, Cell, ColumnDescription, OraError, OraType, Result
from minercdc_sandbox.session import SandboxSession
from minercdc_sandbox.sql import number, temporal


def to_cell(value: object) -> tuple[Cell, BindType]:
    """A bind as a driver would send it."""
    if value is None or isinstance(value, str):
        return value, BindType(OraType.VARCHAR2, len(value or "") or 1)
    if isinstance(value, (int, Decimal)):
        return number.encode(value), BindType(OraType.NUMBER, 22)
    if isinstance(value, bytes):
        return value, BindType(OraType.RAW, len(value))
    assert isinstance(value, datetime)
    moment = (value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond * 1000)
    return temporal.encode(moment), BindType(OraType.TIMESTAMP, 11)


def to_python(cell: Cell, column: ColumnDescription) -> Any:
    if cell is None or isinstance(cell, str):
        return cell
    if column.type is OraType.NUMBER:
        value = number.decode(cell)
        return int(value) if value == int(value) else value
    if column.type in (OraType.DATE, OraType.TIMESTAMP, OraType.TIMESTAMP_TZ):
        moment = temporal.decode(cell)
        return datetime(*moment[:6]) + timedelta(microseconds=moment[6] // 1000)
    return cell


class SqlClient:
    """One connected session."""

    def __init__(self, session: SandboxSession) -> None:
        self.session = session

    def run(self, sql: str, *binds: object) -> Result:
        cells = [to_cell(bind) for bind in binds]
        return self.session.execute(sql, [t for _, t in cells], [tuple(c for c, _ in cells)])

    def many(self, sql: str, rows: list[tuple[object, ...]], **options: bool) -> Result:
        cells = [[to_cell(value) for value in row] for row in rows]
        return self.session.execute(sql, [t for _, t in cells[0]], [tuple(c for c, _ in row) for row in cells], **options)

    def rows(self, sql: str, *binds: object) -> list[tuple[Any, ...]]:
        result = self.run(sql, *binds)
        assert result.rows is not None
        assert result.columns is not None
        found: list[tuple[Any, ...]] = []
        while batch := result.rows.fetch(100):
            found += [tuple(to_python(c, d) for c, d in zip(row, result.columns, strict=True)) for row in batch]
            if len(batch) < 100:
                break
        return found

    def one(self, sql: str, *binds: object) -> Any:
        """The only value of the only row."""
        [(value,)] = self.rows(sql, *binds)
        return value

    def value(self, expression: str, *binds: object) -> Any:
        return self.one(f"select {expression} from dual", *binds)

    def fails(self, code: int, sql: str, *binds: object) -> OraError:
        """The statement must raise this ORA- error."""
        with pytest.raises(OraError) as caught:
            self.rows(sql, *binds) if sql.lstrip().lower().startswith(("select", "with")) else self.run(sql, *binds)
        assert caught.value.number == code, caught.value
        return caught.value


def connect(db: SandboxDatabase, user: str = "SHOP", service: str = "ORCLPDB1") -> SqlClient:
    """A new session; the user is made when it is not there."""
    if user == "SHOP" and db.catalog.user(3, user) is None:
        admin = connect(db, "SYSTEM")
        admin.run('create user shop identified by "Shop1" quota unlimited on users')
        admin.run(
            "grant create session, create table, create view, create sequence, create synonym, create procedure, create trigger, create job, "
            "select any dictionary to shop"
        )
        admin.run("grant execute on sys.dbms_flashback to shop")
        admin.run("grant execute on sys.dbms_alert to shop")
        admin.session.close()
    return SqlClient(db.open_session(user, service, {"program": "test", "machine": "host"}))
