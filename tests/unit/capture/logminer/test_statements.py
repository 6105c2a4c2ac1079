"""Statements of any columns, in any order, say what was printed into them."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import NamedTuple

import pytest
from tests.examples import examples

from minercdc.capture.logminer.sql_redo.dml import RedoDecoder, RowChange
from minercdc.errors import RedoSyntaxError
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import UNAVAILABLE, Op, Row, Value

TABLE = TableSchema(
    TableId("DB", "LAB", "WIDE"),
    (
        Column("ID", "NUMBER", 18, 0),
        Column("and", "VARCHAR2", 80),
        Column("A B, C", "VARCHAR2", 80),
        Column("D", "DATE"),
        Column("T", "TIMESTAMP", None, 6),
        Column("R", "RAW", 16),
        Column("N", "NVARCHAR2", 40),
        Column("Q", "NUMBER", 12, 2),
        Column("I", "INTERVAL DAY TO SECOND", 2, 6),
        Column("Z", "TIMESTAMP WITH TIME ZONE", None, 6),
    ),
    (0,),
)
TEXTS = ["x", "it's", "a = 'b' and \"Q\" IS NULL", "where", ", ", "'", "NULL", ") values ('')", "ж"]
DATE, STAMP = "2026-02-28 13:45:59", "2026-02-28 13:45:59.123456"
# As they are printed, and Row text.
LITERALS: dict[str, Sequence[tuple[str, str]]] = {
    "NUMBER": [(f"'{number}'", number) for number in ("-99", "-7", "0", "1", "42")],
    "VARCHAR2": [("'" + text.replace("'", "''") + "'", text) for text in TEXTS],
    "DATE": [(f"TO_DATE('{DATE}', 'YYYY-MM-DD HH24:MI:SS')", DATE)],
    "TIMESTAMP": [(f"TO_TIMESTAMP('{STAMP}')", STAMP)],
    "RAW": [("HEXTORAW('cafe')", "cafe")],
    "NVARCHAR2": [("'plain'", "plain"), (r"UNISTR('\0416 ok')", "Ж ok")],
    "INTERVAL DAY TO SECOND": [("TO_DSINTERVAL('+01 02:03:04.000000')", "1 02:03:04.000000000")],
    "TIMESTAMP WITH TIME ZONE": [(f"TO_TIMESTAMP_TZ('{STAMP} +02:00')", f"{STAMP} +02:00")],
}
NOT_CAPTURED = Column("OTHER", "VARCHAR2", 10)


class Printed(NamedTuple):
    """A statement as LogMiner prints it, and what it says."""

    sql: str
    change: RowChange


def _some(chance: random.Random, least: int, most: int) -> dict[str, tuple[str, Value]]:
    """Literals and values of some columns, null or not, one of which is not captured."""
    columns = chance.sample([*TABLE.columns, NOT_CAPTURED], chance.randint(least, most))
    return {
        column.name: ("NULL", None) if chance.random() < 0.3 else chance.choice(LITERALS[column.type_name])
        for column in columns
    }


def _row(known: dict[str, tuple[str, Value]], other: Row) -> Row:
    return tuple(known[column.name][1] if column.name in known else other[i] for i, column in enumerate(TABLE.columns))


def statement(chance: random.Random) -> Printed:
    kind, alias, end = chance.choice(["insert", "update", "delete"]), chance.choice(["", "a."]), chance.choice(["", ";"])
    nothing: Row = (UNAVAILABLE,) * len(TABLE.columns)
    most = len(TABLE.columns) + 1
    if kind == "insert":
        new = _some(chance, 1, most)
        names, values = ",".join(f'"{name}"' for name in new), ",".join(literal for literal, _ in new.values())
        return Printed(f'insert into "LAB"."WIDE"({names}) values ({values}){end}', (Op.CREATE, None, _row(new, nothing)))
    old = _some(chance, 0, most)
    conditions = [
        f'{alias}"{name}" {"IS NULL" if value is None else "= " + literal}' for name, (literal, value) in old.items()
    ]
    if chance.random() < 0.3:
        conditions.append("ROWID = 'AAASjHAAMAAAACDAAA'")
    where = " where " + " and ".join(conditions) if conditions else ""
    target, before = f'"LAB"."WIDE"{" a" if alias else ""}', _row(old, nothing)
    if kind == "delete":
        return Printed(f"delete from {target}{where}{end}", (Op.DELETE, before, None))
    new = _some(chance, 1, 6)
    assigned = ", ".join(f'{alias}"{name}" = {literal}' for name, (literal, _) in new.items())
    sql = f"update {target} set {assigned}{where}{end}"
    if new.keys() == {NOT_CAPTURED.name}:
        return Printed(sql, (Op.UPDATE, None, None))
    return Printed(sql, (Op.UPDATE, before, _row(new, before)))


@pytest.mark.parametrize("seed", range(examples(20)))
def test_a_statement_says_what_was_printed(seed: int) -> None:
    chance = random.Random(seed)
    decoder = RedoDecoder(TABLE)
    for _ in range(200):
        sql, change = statement(chance)
        assert decoder.decode(sql) == change, sql
    assert decoder.unknown == {"OTHER"}


@pytest.mark.parametrize("seed", range(5))
def test_conditions_are_read_as_those_of_a_delete(seed: int) -> None:
    chance = random.Random(seed)
    decoder = RedoDecoder(TABLE)
    for sql, change in filter(lambda printed: printed.change[0] is Op.DELETE, (statement(chance) for _ in range(400))):
        at = re.match(r'delete from "LAB"."WIDE"(?: a)?', sql).end()  # type: ignore[union-attr]
        assert decoder.row_of(sql, at) == change[1], sql
        with pytest.raises(RedoSyntaxError):
            decoder.row_of(sql.removesuffix(";") + " 'no end", at)
