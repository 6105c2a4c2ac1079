"""The tables that are measured and rows for them: the same in every run, whatever the clock says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TypeAlias

import oracledb

BatchRow: TypeAlias = tuple[object, ...]
BATCH = 1000
_DAY = datetime(2024, 2, 28, 23, 59, 1)


@dataclass(frozen=True, slots=True)
class BenchTable:
    """A table of schema BENCH; its first column is its key.

    :param columns: DDL of the columns.
    :param row: the row with key n.
    :param change: assignments of the UPDATE, with binds after the key's.
    """

    name: str
    columns: str
    row: Callable[[int], BatchRow]
    updated: tuple[str, ...]
    new_values: Callable[[int], BatchRow]

    @property
    def ddl(self) -> str:
        """CREATE TABLE with a primary key and all columns logged."""
        return (
            f"CREATE TABLE {self.name} ({self.columns}, CONSTRAINT {self.name}_pk PRIMARY KEY (id));\n"
            f"ALTER TABLE {self.name} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS;\n"
        )

    @property
    def insert(self) -> str:
        places = ", ".join(f":{n + 1}" for n in range(len(self.row(0))))
        return f"INSERT INTO {self.name} VALUES ({places})"

    @property
    def update(self) -> str:
        sets = ", ".join(f"{column} = :{n + 1}" for n, column in enumerate(self.updated))
        return f"UPDATE {self.name} SET {sets} WHERE id = :{len(self.updated) + 1}"

    @property
    def delete(self) -> str:
        return f"DELETE FROM {self.name} WHERE id = :1"


def _narrow(n: int) -> BatchRow:
    return (
        *(n, Decimal(n * 7 % 100_000) / 100, f"customer {n}", f"a note, it's number {n}, of some length"),
        *(_DAY + timedelta(seconds=n), None if n % 5 == 0 else "DE"),
    )


def _middle(n: int) -> BatchRow:
    time = _DAY + timedelta(microseconds=n * 1_234_567)
    return (
        *(n, n % 977, Decimal(n * 13 % 1_000_000) / 1000, -n, f"item {n}", f"description of item {n}"),
        *(None if n % 3 else f"remark {n}", _DAY + timedelta(minutes=n), time, time),
    )


def _wide(n: int) -> BatchRow:
    numbers = tuple(Decimal(n * k % 99_991) / 100 for k in range(1, 11))
    texts = tuple(None if (n + k) % 6 == 0 else f"text {k} of row {n}" for k in range(10))
    return (n, *numbers, *texts, _DAY, _DAY + timedelta(seconds=n), _DAY + timedelta(microseconds=n), n % 2)


NARROW = BenchTable(
    "NARROW",
    "id NUMBER(10) NOT NULL, amount NUMBER(12,2), name VARCHAR2(40), note VARCHAR2(200), made DATE, country VARCHAR2(2)",
    _narrow,
    ("amount", "note"),
    lambda n: (Decimal(n * 11 % 100_000) / 100, f"changed note of {n}"),
)
MIDDLE = BenchTable(
    "MIDDLE",
    "id NUMBER(18) NOT NULL, kind NUMBER(5), price NUMBER(15,3), balance NUMBER, title VARCHAR2(60),"
    " description VARCHAR2(400), remark VARCHAR2(100), due DATE, created TIMESTAMP(6), touched TIMESTAMP(3)",
    _middle,
    ("price", "remark"),
    lambda n: (Decimal(n * 17 % 1_000_000) / 1000, f"changed {n}"),
)
WIDE = BenchTable(
    "WIDE",
    "id NUMBER(18) NOT NULL, "
    + ", ".join(f"n{k} NUMBER(12,2)" for k in range(10))
    + ", "
    + ", ".join(f"t{k} VARCHAR2(80)" for k in range(10))
    + ", d0 DATE, d1 DATE, s0 TIMESTAMP(6), flag NUMBER(1)",
    _wide,
    ("n3", "t7"),
    lambda n: (Decimal(n % 1000) / 100, f"changed {n}"),
)


def _copy(table: BenchTable, name: str) -> BenchTable:
    return BenchTable(name, table.columns, table.row, table.updated, table.new_values)


LOADED = _copy(NARROW, "LOADED")
"""For the insert stage alone."""
SCANNED = _copy(MIDDLE, "SCANNED")
"""For the snapshot stage alone."""
STREAMED = _copy(NARROW, "STREAMED")
"""For the end-to-end stage alone."""
ALL = (NARROW, MIDDLE, WIDE, LOADED, SCANNED, STREAMED)

SIGNALS = "SIGNALS"
SEED = (
    "CONNECT system/oracle@ORCLCDB\n"
    "ALTER DATABASE ADD SUPPLEMENTAL LOG DATA;\n"
    "CONNECT system/oracle@ORCLPDB1\n"
    "CREATE USER bench IDENTIFIED BY bench QUOTA UNLIMITED ON users;\n"
    "GRANT CREATE SESSION, CREATE TABLE TO bench;\n"
    "CONNECT bench/bench@ORCLPDB1\n"
    f"CREATE TABLE {SIGNALS} (id VARCHAR2(42) PRIMARY KEY, type VARCHAR2(32), data VARCHAR2(2048));\n"
    f"GRANT SELECT, INSERT, DELETE ON {SIGNALS} TO c##minercdc;\n" + "".join(table.ddl for table in ALL)
)


def load(connection: oracledb.Connection, table: BenchTable, first: int, count: int) -> None:
    """Insert rows with keys from `first` on, 1000 a call, a commit each."""
    with connection.cursor() as cursor:
        _declare_times(cursor, table)
        for start in range(first, first + count, BATCH):
            cursor.executemany(table.insert, [table.row(n) for n in range(start, min(start + BATCH, first + count))])
            connection.commit()


def _declare_times(cursor: oracledb.Cursor, table: BenchTable) -> None:
    """The driver binds a datetime as DATE by default, and DATE has no fraction of a second."""
    kinds = [oracledb.DB_TYPE_TIMESTAMP if " TIMESTAMP" in column else None for column in _column_texts(table)]
    cursor.setinputsizes(*kinds)


def _column_texts(table: BenchTable) -> list[str]:
    texts = table.columns.replace("NUMBER(12,2)", "NUMBER").replace("NUMBER(15,3)", "NUMBER").split(",")
    assert len(texts) == len(table.row(0))
    return texts


def work(connection: oracledb.Connection, table: BenchTable, first: int, count: int) -> int:
    """Insert `count` rows, update every second, delete every fourth; the number of changes."""
    load(connection, table, first, count)
    changed, gone = range(first, first + count, 2), range(first, first + count, 4)
    with connection.cursor() as cursor:
        for start in range(0, len(changed), BATCH):
            keys = changed[start : start + BATCH]
            cursor.executemany(table.update, [(*table.new_values(n), n) for n in keys])
            connection.commit()
        for start in range(0, len(gone), BATCH):
            cursor.executemany(table.delete, [(n,) for n in gone[start : start + BATCH]])
            connection.commit()
    return count + len(changed) + len(gone)
