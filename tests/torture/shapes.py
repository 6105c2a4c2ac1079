"""A seeded history of tables whose structure changes: rows and DDL of one session, by the structure of the moment.

What the tables hold in the end is for the database to say; only statements that it refuses are left out.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import oracledb

# Types of a column, each of which the next one is wider than.
_WIDER = (
    ("NUMBER(5)", "NUMBER(9)", "NUMBER(12,2)", "NUMBER(20,4)", "NUMBER"),
    ("VARCHAR2(20)", "VARCHAR2(60)", "VARCHAR2(400)"),
    ("DATE", "TIMESTAMP(6)"),
    ("RAW(8)", "RAW(32)"),
    ("CLOB",),
    ("TIMESTAMP(9)",),
    ("FLOAT",),
)
_LONG = re.compile(r"'[^']{61,}'")  # left out of the script
_KEYS = 14
_TABLES = 4


@dataclass
class _Table:
    """A table of the moment.

    :ivar columns: name -> type, without the key.
    :ivar key: name of the key's column; '' for a table without a key.
    """

    name: str
    key: str
    columns: dict[str, str] = field(default_factory=dict)


class Shapes:
    """The history under way.

    :param settled: called before DDL on a table with large values: whether the connector has delivered all that is committed. LogMiner
        does not know large values of rows that it meets only after such DDL.
    :ivar script: the statements so far.
    """

    def __init__(self, connection: oracledb.Connection, seed: int, settled: Callable[[], bool]) -> None:
        self._connection = connection
        self._settled = settled
        self._chance = random.Random(seed)
        self._number = 0
        self._tables: list[_Table] = []
        self._free: list[str] = []  # names of tables that were dropped or renamed
        self.script: list[str] = []
        for _ in range(_TABLES):
            self._create()
        for _ in range(20):
            self._change(self._chance.choice(self._tables))
        connection.commit()

    def step(self) -> None:
        """One thing happens."""
        table, choice = self._chance.choice(self._tables), self._chance.random()
        if choice < 0.62:
            self._change(table)
        elif choice < 0.76:
            self._connection.commit()
        elif choice < 0.80:
            self._connection.rollback()
        elif choice < 0.84:
            self._undone(table)
        else:
            self._connection.commit()
            self._ddl(table)

    def finish(self) -> None:
        self._connection.commit()

    def without_key(self) -> list[str]:
        return [table.name for table in self._tables if not table.key]

    # ---- rows ----

    def _undone(self, table: _Table) -> None:
        self._run("SAVEPOINT s")
        self._change(table)
        self._change(self._chance.choice(self._tables))
        self._run("ROLLBACK TO SAVEPOINT s")

    def _change(self, table: _Table) -> None:
        kind, key = self._chance.random(), self._chance.randrange(_KEYS)
        where = f"{table.key} = {key}" if table.key else f"ROWNUM <= {self._chance.randrange(1, 3)}"
        if kind < 0.45 or not table.columns:
            values = {name: self._value(kind) for name, kind in table.columns.items()}
            if table.key:
                values[table.key] = str(key)
            self._run(f"INSERT INTO {table.name} ({', '.join(values)}) VALUES ({', '.join(values.values())})")
        elif kind < 0.72:
            some = self._chance.sample(sorted(table.columns), self._chance.randrange(1, min(len(table.columns), 3) + 1))
            sets = ", ".join(f"{name} = {self._value(table.columns[name])}" for name in some)
            self._run(f"UPDATE {table.name} SET {sets} WHERE {where}")
        elif kind < 0.86 and table.key:
            self._run(f"UPDATE {table.name} SET {table.key} = {self._chance.randrange(_KEYS)} WHERE {where}")
        elif kind < 0.90 and table.key:  # keys are shifted: each row takes the one of another
            self._run(f"UPDATE {table.name} SET {table.key} = {table.key} + 1 WHERE {table.key} > {key}")
        else:
            self._run(f"DELETE FROM {table.name} WHERE {where}")

    def _value(self, kind: str) -> str:
        chance = self._chance
        if chance.random() < 0.12:
            return "NULL"
        if kind == "NUMBER":
            return chance.choice(["0.1", "-12345678901234567890.5", "1E-20", str(chance.randrange(10**9))])
        if kind.startswith("NUMBER"):
            precision, _, scale = kind[7:-1].partition(",")
            whole = int(precision) - int(scale or 0)
            number = str(chance.randrange(10 ** min(whole, chance.choice([1, 5, whole]))))
            return chance.choice(["", "-"]) + number + (f".{chance.randrange(100):02}" if scale else "")
        if kind.startswith("VARCHAR2"):
            size = int(kind[9:-1])
            text = "".join(chance.choices("ab,'\"éЖ", k=chance.randrange(1, size // 4 + 2)))
            return "'" + text.replace("'", "''") + "'"
        if kind == "DATE":
            return f"DATE '{chance.choice([1, 1582, 1970, 2026, 9999]):04}-02-{chance.randrange(1, 28):02}'"
        if kind.startswith("TIMESTAMP"):
            digits = "123456789" if kind == "TIMESTAMP(9)" else "123456"
            return (
                f"TIMESTAMP '20{chance.randrange(10, 40)}-07-04 12:13:14.{digits[: chance.randrange(1, len(digits) + 1)]}'"
            )
        if kind.startswith("RAW"):
            return f"HEXTORAW('{chance.randbytes(chance.randrange(1, int(kind[4:-1]) + 1)).hex()}')"
        if kind == "FLOAT":
            return chance.choice(["1.5", "0.1", "-2E10"])
        size = chance.choice([5, 300, 3900])
        return "'" + "".join(chance.choices("xyz é", k=size)) + "'"

    # ---- DDL ----

    def _ddl(self, table: _Table) -> None:
        steps = [self._add, self._add, self._drop_column, self._rename_column, self._widen, self._widen]
        steps += [self._truncate, self._replace, self._rename, self._move]
        if "CLOB" not in table.columns.values() or self._settled():
            self._chance.choice(steps)(table)

    def _new(self, prefix: str) -> str:
        self._number += 1
        return f"{prefix}{self._number}"

    @staticmethod
    def _types(table: _Table) -> Sequence[tuple[str, ...]]:
        """LogMiner does not know the ROWID of an INSERT with large values, so a table with such needs a key."""
        return [family for family in _WIDER if table.key or family[0] != "CLOB"]

    def _create(self) -> None:
        again = self._free and self._chance.random() < 0.6
        name = self._free.pop(self._chance.randrange(len(self._free))) if again else self._new("S")
        table = _Table(name, self._new("K") if self._chance.random() < 0.75 else "")
        key = f"{table.key} NUMBER(9) PRIMARY KEY, " if table.key else ""
        for _ in range(self._chance.randrange(1, 5)):
            table.columns[self._new("C")] = self._chance.choice(self._types(table))[0]
        columns = ", ".join(f"{column} {kind}" for column, kind in table.columns.items())
        assert self._run(f"CREATE TABLE {name} ({key}{columns})")
        assert self._run(f"ALTER TABLE {name} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS")
        self._tables.append(table)

    def _add(self, table: _Table) -> None:
        kind = self._chance.choice(self._types(table))[0]
        name = self._new("C")
        default = ""
        if kind[:3] in ("NUM", "VAR", "DAT") and self._chance.random() < 0.6:
            default = f" DEFAULT {self._value(kind)}"
            default += " NOT NULL" if "NULL" not in default and self._chance.random() < 0.4 else ""
        if self._run(f"ALTER TABLE {table.name} ADD ({name} {kind}{default})"):
            table.columns[name] = kind

    def _drop_column(self, table: _Table) -> None:
        name = self._chance.choice(sorted(table.columns))
        if len(table.columns) > 1 and self._run(f"ALTER TABLE {table.name} DROP COLUMN {name}"):
            del table.columns[name]

    def _rename_column(self, table: _Table) -> None:
        old = self._chance.choice([*sorted(table.columns), *([table.key] if table.key else [])])
        new = self._new("K" if old == table.key else "C")
        if self._run(f"ALTER TABLE {table.name} RENAME COLUMN {old} TO {new}"):
            if old == table.key:
                table.key = new
            else:
                table.columns[new] = table.columns.pop(old)

    def _widen(self, table: _Table) -> None:
        name = self._chance.choice(sorted(table.columns))
        family = next(family for family in _WIDER if table.columns[name] in family)
        wider = family[family.index(table.columns[name]) + 1 :]
        if wider and self._run(f"ALTER TABLE {table.name} MODIFY ({name} {wider[0]})"):
            table.columns[name] = wider[0]

    def _truncate(self, table: _Table) -> None:
        self._run(f"TRUNCATE TABLE {table.name}")

    def _replace(self, table: _Table) -> None:
        """Drop it, and create one, of its name or another."""
        if self._run(f"DROP TABLE {table.name} PURGE"):
            self._tables.remove(table)
            self._free.append(table.name)
            self._create()

    def _rename(self, table: _Table) -> None:
        name = self._new("S")
        if self._run(f"ALTER TABLE {table.name} RENAME TO {name}"):
            self._free.append(table.name)
            table.name = name

    def _move(self, table: _Table) -> None:
        if table.key or self._chance.random() < 0.3:
            self._run(f"ALTER TABLE {table.name} MOVE")

    def _run(self, statement: str) -> bool:
        """Whether the database took the statement; one that it refuses leaves traces in redo all the same."""
        shown = _LONG.sub("'..'", statement)
        with suppress(oracledb.DatabaseError), self._connection.cursor() as cursor:
            cursor.execute(statement)
            self.script.append(shown)
            return True
        self.script.append(f"-- refused: {shown}")
        return False
