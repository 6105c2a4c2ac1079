"""Statements read glue by glue are what the general parser makes of them, or are left to it."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import pytest
from tests.examples import examples

from minercdc.capture.logminer.sql_redo.dml import RedoDecoder
from minercdc.capture.logminer.sql_redo.pieces import split
from minercdc.errors import RedoSyntaxError
from minercdc.schema.table import Column, TableId, TableSchema

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
TEXTS = ["x", "it''s", "a = ''b'' and \"Q\" IS NULL", "where", ", ", "''", "NULL", ") values ('')".replace("'", "''"), "ж"]
DATE, STAMP = "2026-02-28 13:45:59", "2026-02-28 13:45:59.123456"
LITERALS: dict[str, Callable[[random.Random], str]] = {
    "NUMBER": lambda chance: f"'{chance.randrange(-99, 99)}'",
    "VARCHAR2": lambda chance: f"'{chance.choice(TEXTS)}'",
    "DATE": lambda chance: f"TO_DATE('{DATE}', 'YYYY-MM-DD HH24:MI:SS')",
    "TIMESTAMP": lambda chance: f"TO_TIMESTAMP('{STAMP}')",
    "RAW": lambda chance: "HEXTORAW('cafe')",
    "NVARCHAR2": lambda chance: chance.choice(["'plain'", r"UNISTR('\0416 ok')"]),
    "INTERVAL DAY TO SECOND": lambda chance: "TO_DSINTERVAL('+01 02:03:04.000000')",
    "TIMESTAMP WITH TIME ZONE": lambda chance: f"TO_TIMESTAMP_TZ('{STAMP} +02:00')",
}
NOT_CAPTURED = Column("OTHER", "VARCHAR2", 10)


def literal(column: Column, chance: random.Random) -> str:
    return LITERALS[column.type_name](chance)


def statement(chance: random.Random) -> str:
    """As LogMiner prints it: any columns, in any order, null or not, some that are not captured."""
    columns = [*TABLE.columns, NOT_CAPTURED]
    kind, alias, end = chance.choice(["insert", "update", "delete"]), chance.choice(["", "a."]), chance.choice(["", ";"])
    if kind == "insert":
        shown = chance.sample(columns, chance.randint(1, len(columns)))
        values = [chance.choice(["NULL", literal(c, chance), literal(c, chance)]) for c in shown]
        names = ",".join(f'"{c.name}"' for c in shown)
        return f'insert into "LAB"."WIDE"({names}) values ({",".join(values)}){end}'
    conditions = [
        f'{alias}"{c.name}" {chance.choice(["IS NULL", "= " + literal(c, chance), "= " + literal(c, chance)])}'
        for c in chance.sample(columns, chance.randint(0, len(columns)))
    ]
    if chance.random() < 0.3:
        conditions.append("ROWID = 'AAASjHAAMAAAACDAAA'")
    where = " where " + " and ".join(conditions) if conditions else ""
    target = f'"LAB"."WIDE"{" a" if alias else ""}'
    if kind == "delete":
        return f"delete from {target}{where}{end}"
    shown = chance.sample(columns, chance.randint(1, 6))
    assigned = ", ".join(
        f'{alias}"{c.name}" = {chance.choice(["NULL", literal(c, chance), literal(c, chance)])}' for c in shown
    )
    return f"update {target} set {assigned}{where}{end}"


@pytest.mark.parametrize("seed", range(examples(20)))
def test_glue_by_glue_is_what_the_general_parser_reads(seed: int) -> None:
    chance = random.Random(seed)
    decoder = RedoDecoder(TABLE)
    for _ in range(200):
        sql = statement(chance)
        read = decoder._glue.read(sql)
        assert read is not None, sql
        assert read == decoder.decode_generally(sql), sql


@pytest.mark.parametrize("seed", range(examples(10)))
def test_damaged_statements_are_refused_or_read_alike(seed: int) -> None:
    """A piece lost or doubled: whatever glue by glue makes of it, the general parser makes the same, or refuses it."""
    chance = random.Random(seed)
    decoder = RedoDecoder(TABLE)
    for _ in range(300):
        pieces = split(statement(chance))
        at = chance.randrange(len(pieces))
        damaged = pieces[:at] + pieces[at + chance.randint(1, 2) :] if chance.random() < 0.5 else [*pieces, *pieces[at:]]
        if not len(damaged) & 1:
            continue
        sql = "'".join(piece if i % 2 == 0 else piece.replace("'", "''") for i, piece in enumerate(damaged))
        read = decoder._glue.read(sql)
        if read is not None:
            assert read == decoder.decode_generally(sql), sql


@pytest.mark.parametrize("seed", range(5))
def test_conditions_are_read_as_those_of_a_delete(seed: int) -> None:
    chance = random.Random(seed)
    decoder = RedoDecoder(TABLE)
    for sql in filter(lambda sql: sql.startswith("delete"), (statement(chance) for _ in range(400))):
        at = re.match(r'delete from "LAB"."WIDE"(?: a)?', sql).end()  # type: ignore[union-attr]
        assert decoder._glue.read_condition(sql[at:]) == decoder.row_of(sql, at) == decoder.decode_generally(sql)[1], sql
        with pytest.raises(RedoSyntaxError):
            decoder.row_of(sql.removesuffix(";") + " 'no end", at)
