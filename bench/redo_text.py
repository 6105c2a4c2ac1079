"""SQL_REDO as a busy order-entry application would leave it, without any database: a table of 6 columns and one of 25, half the
rows each; 30 % inserts, 60 % updates of a few columns chosen at random, 10 % deletes; every optional column null at times. So
hardly two updates have the same form, names and notes have apostrophes and letters of all kinds, and old values are those
that an earlier row gave.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import Op, Scn, TransactionInfo

Literal: TypeAlias = str
_Make: TypeAlias = Callable[[random.Random], Literal]

# As in a real file of customers, most letters are ASCII and few names have an apostrophe.
_FIRST_NAMES = (
    "Ada", "Björn", "Carol", "Chloé", "Dmitri", "Eve", "Fatou", "Grace", "Iris", "Ivan", "Niamh", "Søren", "Tom", "N'Golo",
)  # fmt: skip
_LAST_NAMES = (
    "Adeyemi", "Baker", "Chen", "D'Arcy", "Fischer", "Haddad", "Müller", "Novak", "Rossi", "Silva", "Walker",
)  # fmt: skip
_CITIES = ("Boston", "Graz", "L'Hospitalet", "Lima", "Malmö", "Nairobi", "Osaka", "Zürich")
_WORDS = (
    "at", "bell", "box", "by", "customer's", "don't", "door", "floor", "fragile", "gift", "green", "it", "leave", "nine",
    "outside", "parcel", "phone", "porch", "ring", "second", "seven", "the", "two", "wish",
)  # fmt: skip
_STATES = ("NEW", "PAID", "PACKED", "SHIPPED", "RETURNED")
_NATIONAL = ("Доставка", "東京都港区", "Łódź – księgarnia")
_FIRST_DAY = datetime(2025, 1, 1)
_PEOPLE_KEYS, _ORDER_KEYS = 1_000, 10_000_000_000
_EXISTING = 2_000


@dataclass(frozen=True, slots=True)
class Statement:
    """One mined row.

    :param schema: of its table.
    """

    schema: TableSchema
    op: Op
    sql: str
    scn: Scn
    seq: int
    tx: TransactionInfo
    row_id: str
    rs_id: str


@dataclass(frozen=True, slots=True)
class _Table:
    schema: TableSchema
    makes: tuple[_Make, ...]
    most_assigned: int

    @property
    def name(self) -> str:
        return f'"{self.schema.id.schema}"."{self.schema.id.table}"'


def _quoted(text: str) -> Literal:
    return "'" + text.replace("'", "''") + "'"


def _whole(most: int) -> _Make:
    return lambda chance: f"'{chance.randint(0, most)}'"


def _amount(least: float, most: float, places: int = 2) -> _Make:
    def make(chance: random.Random) -> Literal:
        # As Oracle prints NUMBER: no zero before the point, none after the last digit.
        text = f"{chance.uniform(least, most):.{places}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
        return _quoted(
            "0" if text in ("-0", "") else text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text
        )

    return make


def _one_of(texts: tuple[str, ...]) -> _Make:
    return lambda chance: _quoted(chance.choice(texts))


def _words(least: int, most: int) -> _Make:
    return lambda chance: _quoted(" ".join(chance.choices(_WORDS, k=chance.randint(least, most))))


def _moment(chance: random.Random) -> datetime:
    return _FIRST_DAY + timedelta(microseconds=chance.randrange(4 * 10**13))


def _date(chance: random.Random) -> Literal:
    return f"TO_DATE('{_moment(chance):%Y-%m-%d %H:%M:%S}', 'YYYY-MM-DD HH24:MI:SS')"


def _timestamp(chance: random.Random) -> Literal:
    return f"TO_TIMESTAMP('{_moment(chance):%Y-%m-%d %H:%M:%S.%f}000')"


def _national(chance: random.Random) -> Literal:
    if chance.random() < 0.5:
        return _words(1, 4)(chance)
    return "UNISTR('" + "".join(f"\\{ord(char):04X}" for char in chance.choice(_NATIONAL)) + "')"


def _raw(chance: random.Random) -> Literal:
    return f"HEXTORAW('{chance.randbytes(16).hex()}')"


def _optional(null_share: float, make: _Make) -> _Make:
    return lambda chance: "NULL" if chance.random() < null_share else make(chance)


def _table(name: str, most_assigned: int, columns: list[tuple[Column, _Make]]) -> _Table:
    schema = TableSchema(TableId("ORCLPDB1", "SHOP", name), tuple(column for column, _ in columns), (0,))
    return _Table(schema, tuple(make for _, make in columns), most_assigned)


def _number(name: str, length: int | None = 10, scale: int | None = 0) -> Column:
    return Column(name, "NUMBER", length, scale)


def _text(name: str, length: int = 100) -> Column:
    return Column(name, "VARCHAR2", length)


def _person(chance: random.Random) -> Literal:
    return _quoted(f"{chance.choice(_FIRST_NAMES)} {chance.choice(_LAST_NAMES)}")


PEOPLE = _table("PEOPLE", 3, [
    (_number("ID"), _whole(0)), (_text("FIRST_NAME"), _one_of(_FIRST_NAMES)), (_text("LAST_NAME"), _one_of(_LAST_NAMES)),
    (_text("EMAIL"), _optional(0.1, lambda chance: f"'user{chance.randrange(10**6)}@example.com'")),
    (_number("CREDIT", 12, 2), _optional(0.2, _amount(-50_000, 50_000))), (Column("CREATED_AT", "TIMESTAMP", None, 6), _timestamp),
])  # fmt: skip

ORDERS = _table("ORDERS", 5, [
    (_number("ORDER_ID", 18), _whole(0)), (_number("PERSON_ID"), _whole(10**9)), (_text("STATE"), _one_of(_STATES)),
    (Column("ORDERED", "DATE"), _date), (Column("CREATED_AT", "TIMESTAMP", None, 6), _timestamp),
    (Column("UPDATED_AT", "TIMESTAMP", None, 6), _timestamp), (Column("SHIPPED", "DATE"), _optional(0.5, _date)),
    (_number("TOTAL", 12, 2), _amount(0, 99_999)), (_number("TAX", 12, 2), _amount(0, 9_999)),
    (_number("DISCOUNT", 12, 2), _optional(0.6, _amount(-99, 99))), (_text("CURRENCY", 3), _one_of(("EUR", "USD", "JPY"))),
    (_number("QUANTITY"), _whole(9_999)), (_number("PRIORITY"), _whole(9)), (_number("DEPOT"), _whole(9_999)),
    (_text("RECIPIENT"), _person), (_text("STREET"), lambda chance: f"'{chance.randint(1, 999)} High Street'"),
    (_text("FLAT"), _optional(0.8, lambda chance: f"'Flat {chance.randint(1, 99)}'")), (_text("CITY"), _one_of(_CITIES)),
    (_text("POSTCODE"), lambda chance: f"'{chance.randrange(10**5):05d}'"), (_text("COUNTRY"), _one_of(("DE", "FR", "US"))),
    (_text("NOTES", 1000), _optional(0.5, _words(2, 20))), (Column("LOCAL_NOTE", "NVARCHAR2", 100), _optional(0.7, _national)),
    (_number("WEIGHT", None, None), _optional(0.2, _amount(0, 500, 4))), (Column("CHECKSUM", "RAW", 16), _optional(0.3, _raw)),
    (_text("REFERENCE"), _optional(0.2, lambda chance: f"'REF-{chance.getrandbits(64):016X}'")),
])  # fmt: skip


class _Rows:
    """What a table holds, so that a WHERE has what is really there."""

    def __init__(self, table: _Table, first_key: int, chance: random.Random) -> None:
        self._table, self._next, self._chance = table, first_key, chance
        self._rows = [self._new() for _ in range(_EXISTING)]

    def _new(self) -> list[Literal]:
        self._next += 1
        return [f"'{self._next}'", *(make(self._chance) for make in self._table.makes[1:])]

    def change(self) -> tuple[Op, str]:
        """Do something to a row; the statement that LogMiner would print."""
        kind = self._chance.random()
        if kind < 0.3:
            self._rows.append(self._new())
            names = ",".join(f'"{column.name}"' for column in self._table.schema.columns)
            return Op.CREATE, f"insert into {self._table.name}({names}) values ({','.join(self._rows[-1])});"
        at = self._chance.randrange(len(self._rows))
        where = self._where(self._rows[at])
        if kind >= 0.9:
            self._rows[at] = self._rows[-1]
            self._rows.pop()
            return Op.DELETE, f"delete from {self._table.name}{where};"
        row, columns = list(self._rows[at]), self._table.schema.columns
        assigned = sorted(self._chance.sample(range(1, len(columns)), self._chance.randint(1, self._table.most_assigned)))
        for i in assigned:
            row[i] = self._table.makes[i](self._chance)
        self._rows[at] = row
        sets = (f'"{columns[i].name}" = {row[i]}' for i in assigned)
        return Op.UPDATE, f"update {self._table.name} set {', '.join(sets)}{where};"

    def _where(self, row: list[Literal]) -> str:
        conditions = (
            f'"{column.name}" IS NULL' if value == "NULL" else f'"{column.name}" = {value}'
            for column, value in zip(self._table.schema.columns, row, strict=True)
        )
        return " where " + " and ".join(conditions)


def statements(count: int) -> Iterator[Statement]:
    """`count` rows in transactions of 1 to 50; the same in every run."""
    chance = random.Random(20_261_121)
    tables = ((_Rows(PEOPLE, _PEOPLE_KEYS, chance), PEOPLE), (_Rows(ORDERS, _ORDER_KEYS, chance), ORDERS))
    scn, done, transactions, time_us = 25_000_000, 0, 0, 1_772_352_000_000_000
    while done < count:
        size = min(chance.randint(1, 50), count - done)
        transactions, done = transactions + 1, done + size
        xid = f"{chance.randint(1, 30):02x}00{chance.randint(0, 33):02x}00{transactions:08x}"
        tx = TransactionInfo(xid, Scn(scn + 1), Scn(scn + 3 * size), time_us, time_us + 1000 * size, 1, "APP")
        for seq in range(1, size + 1):
            rows, table = tables[chance.random() < 0.5]
            op, sql = rows.change()
            scn += chance.randint(1, 3)
            row_id = "AAASjHAAM" + "".join(chance.choices("ABCDEFGHIJabcdefghij0123456789+/", k=9))
            rs_id = f"0x{scn >> 16:06x}.{scn & 0xFFFFFFFF:08x}.{chance.randint(16, 500):04x}"
            yield Statement(table.schema, op, sql, Scn(scn), seq, tx, row_id, rs_id)
        time_us += chance.choice((0, 5_000, 300_000))
