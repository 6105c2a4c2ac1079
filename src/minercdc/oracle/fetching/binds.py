"""Bind variables that turn Row text back into exactly the value it was read from, by type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import oracledb

ROWID: Final = "ROWID"


@dataclass(frozen=True, slots=True)
class Bind:
    """How Row text of one type is bound.

    :param sql: expression with the value; `{}` stands for the placeholder.
    :param kind: driver type of the variable; `convert` makes its value from Row text.
    """

    sql: str
    kind: Any
    convert: Callable[[str], object] = str


_TEXT, _NATIONAL = Bind("{}", oracledb.DB_TYPE_VARCHAR), Bind("{}", oracledb.DB_TYPE_NVARCHAR)
_NUMBER = Bind("{}", oracledb.DB_TYPE_NUMBER, Decimal)
_DATE = "SYYYY-MM-DD HH24:MI:SS"


def _signed(text: str) -> str:
    """Row text with a blank before it unless it has a sign, which is there for years BC only: format element S of SQL takes
    that."""
    return text if text.startswith("-") else f" {text}"


BINDS: Final[Mapping[str, Bind]] = {
    "NUMBER": _NUMBER,
    "FLOAT": _NUMBER,
    "BINARY_FLOAT": Bind("{}", oracledb.DB_TYPE_BINARY_FLOAT, float),
    "BINARY_DOUBLE": Bind("{}", oracledb.DB_TYPE_BINARY_DOUBLE, float),
    "CHAR": _TEXT,
    "VARCHAR2": _TEXT,
    "NCHAR": _NATIONAL,
    "NVARCHAR2": _NATIONAL,
    "RAW": Bind("{}", oracledb.DB_TYPE_RAW, bytes.fromhex),
    "DATE": Bind(f"TO_DATE({{}}, '{_DATE}')", oracledb.DB_TYPE_VARCHAR, _signed),
    "TIMESTAMP": Bind(f"TO_TIMESTAMP({{}}, '{_DATE}.FF9')", oracledb.DB_TYPE_VARCHAR, _signed),
    "TIMESTAMP WITH LOCAL TIME ZONE": Bind(f"TO_TIMESTAMP({{}}, '{_DATE}.FF9')", oracledb.DB_TYPE_VARCHAR, _signed),
    "TIMESTAMP WITH TIME ZONE": Bind(f"TO_TIMESTAMP_TZ({{}}, '{_DATE}.FF9 TZH:TZM')", oracledb.DB_TYPE_VARCHAR, _signed),
    "INTERVAL YEAR TO MONTH": Bind("TO_YMINTERVAL({})", oracledb.DB_TYPE_VARCHAR),
    "INTERVAL DAY TO SECOND": Bind("TO_DSINTERVAL({})", oracledb.DB_TYPE_VARCHAR),
    ROWID: Bind("CHARTOROWID({})", oracledb.DB_TYPE_VARCHAR),
}
