"""Statements of every type and spelling, whole and damaged: both paths give the same events, records and errors."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples, one_of_each
from tests.native_pair import IS_NATIVE, Pair, taken_apart
from tests.unit.capture.logminer.redo import A, Redo
from tests.unit.capture.logminer.test_dml import FIXTURES
from tests.unit.capture.logminer.test_fuzz import damaged
from tests.unit.capture.logminer.test_statements import TABLE as ANY_ORDER
from tests.unit.capture.logminer.test_statements import statement

from minercdc.capture.logminer.buffer.transactions import transaction_buffer
from minercdc.capture.logminer.position import RedoAddress
from minercdc.capture.logminer.session.host_clock import HostClock
from minercdc.capture.logminer.session.row import LogMinerRow, OpCode
from minercdc.capture.logminer.sql_redo.decoding import DecodingOptions, TransactionDecoder
from minercdc.capture.logminer.tables.captured_tables import ShapeTracker
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.schema.table_filter import TableFilter
from minercdc.schema.tables import Tables
from minercdc.stream.events import ChangeRun, Scn, TransactionInfo
from minercdc.values.codec import ValueHandling

pytestmark = pytest.mark.skipif(not IS_NATIVE, reason="the extension is not in use")

INFO = TransactionInfo("0a001f00b3020000", Scn(90), Scn(1000), 1_700_000_000_123_456, 1_700_000_001_000_000, 1, 'A"B')
CHOICES: dict[str, tuple[str, ...]] = {
    "decimal": ("precise", "string", "double"),
    "time_precision": ("adaptive", "connect", "isostring", "microseconds", "nanoseconds"),
    "interval": ("numeric", "string"),
    "binary": ("bytes", "base64", "base64-url-safe", "hex"),
}
HANDLINGS = [
    ValueHandling(**{name: one[i % len(one)] for name, one in CHOICES.items()})  # type: ignore[arg-type]
    for i in range(max(map(len, CHOICES.values())))
]
NUMBERS = ["0", "1", "-1", ".5", "-.5", "12.50", "1.5E+3", "9" * 38, "-" + "9" * 38, "9" * 39, "0." + "0" * 30 + "1", "-0",
    "-0.00", "007", "+5", "5.", ".", "-", "", " 5", "1_0", "127", "128", "-128", "-129", "32767.99", "1" * 70, "12x", "1e999", "٣"]  # fmt: skip
FLOATS = [
    "1.5",
    "7.25E+003",
    "1.00000001E-001",
    "Nan",
    "-Inf",
    "1e39",
    "1e400",
    "-0",
    "-0.0E+000",
    "3.4028235E+038",
    "1e-46",
    ".1",
    "1.",
    "e5",
]
DATES = ["2026-02-28 13:45:59", "1969-12-31 23:59:59", "0001-01-01 00:00:00", "9999-12-31 23:59:59", "1500-02-29 00:00:00",
    "-4712-01-01 00:00:00", "0000-01-01 00:00:00", "2026-13-01 00:00:00", "2026-01-01 24:00:00", "09-JUN-21", "2026-02-28", "2262-04-11 23:47:16",
    "2262-04-12 00:00:00", "1677-09-21 00:12:44", "1677-09-20 00:00:00", "2026-02-28T13:45:59", ""]  # fmt: skip
FRACTIONS = ["", ".", ".1", ".120", ".123456", ".123456789", ".000000000", ".999999999", ".1234567891", ".x"]
OFFSETS = ["", " +00:00", " -00:00", " +05:30", " -11:00", " +5:30", " UTC", "+05:30"]
STAMPS = ["".join(parts) for parts in itertools.product(DATES, ["", ".123456789"], ["", " +05:30"])]
STAMPS += ["".join(parts) for parts in itertools.product(DATES[:1], FRACTIONS, OFFSETS)]
TEXTS = ["", "x", "it''s", "''", "''''", "a\"b\\c", "\x00\x01\b\t\n\x0b\f\r\x1f\x7f", "ж", "\U0001f600", "é", "\ud800", "a'',''b", "NULL", "🙂''x" * 40]  # fmt: skip
UNISTRS = [r"\00E9t\00e9", r"\D83D\DE00", r"\D83D", r"\DE00\D83D", r"\D83Dx", r"\\", r"\\\\0041", r"\0022\005C\0027", r"\004", r"\x", "\\", r"it''s \0416", r"\0''04"]  # fmt: skip
RAWS = ["", "00", "deadBEEF", "abc", "zz", "0a0b0c0d0e", "ff" * 100, "d''e"]
IMAGES = ["ff4a5a010016000131", "FF4A5A010016000130", "ff4a5a010016000a33087878787878787878", "ff4a5a01", ""]
MONTHS = ["+01-02", "-01-02", "1-2", "-0-0", "+00-11", "999999999-11", "9999999999-1", "1 2", ""]
SECONDS = ["+01 02:03:04.5", "-01 02:03:04.000000", "0 0:0:0", "-0 00:00:00.000000001", "-0 00:00:00.", "999999999 23:59:59.999999999",
    "+9999999999 0:0:0", "1 2:3", "-5 00:00:00"]  # fmt: skip

SPELLINGS: dict[str, list[tuple[str, Sequence[str]]]] = {
    "NUMBER": [("", NUMBERS)],
    "FLOAT": [("", NUMBERS)],
    "BINARY_FLOAT": [("", FLOATS)],
    "BINARY_DOUBLE": [("", FLOATS)],
    "VARCHAR2": [("", TEXTS), ("UNISTR", UNISTRS)],
    "NVARCHAR2": [("", TEXTS), ("UNISTR", UNISTRS)],
    "CHAR": [("", TEXTS)],
    "RAW": [("HEXTORAW", RAWS), ("", RAWS)],
    "DATE": [("TO_DATE", DATES), ("TO_TIMESTAMP", STAMPS)],
    "TIMESTAMP": [("TO_TIMESTAMP", STAMPS), ("TO_DATE", DATES)],
    "TIMESTAMP WITH TIME ZONE": [("TO_TIMESTAMP_TZ", STAMPS)],
    "TIMESTAMP WITH LOCAL TIME ZONE": [("TO_TIMESTAMP", STAMPS)],
    "INTERVAL YEAR TO MONTH": [("TO_YMINTERVAL", MONTHS)],
    "INTERVAL DAY TO SECOND": [("TO_DSINTERVAL", SECONDS)],
    "CLOB": [("", TEXTS)],
    "BLOB": [("HEXTORAW", RAWS)],
    "XMLTYPE": [("", TEXTS)],
    "JSON": [
        ("/* JSON */ HEXTORAW", IMAGES),
        ("HEXTORAW", IMAGES),
        ("/* JSON */ ", ["{}"]),
        ("/* Json */ HEXTORAW", IMAGES[:1]),
    ],
}
SIZES: dict[str, list[tuple[int | None, int | None]]] = {
    "NUMBER": [(None, None), (5, 0), (18, 0), (19, 0), (38, 0), (12, 2), (38, 38), (5, -2), (38, -10), (None, 0), (2, 9)],
    "TIMESTAMP": [(None, 0), (None, 3), (None, 6), (None, 9), (None, None)],
    "TIMESTAMP WITH TIME ZONE": [(None, 0), (None, 4), (None, 9), (None, None)],
}


def columns_of(type_name: str) -> list[Column]:
    return [Column(f"C{i}", type_name, *size) for i, size in enumerate(SIZES.get(type_name, [(40, None)]))]


def row_of(sql: str, code: int, schema: TableSchema, **other: Any) -> LogMinerRow:
    id_ = schema.id
    return Redo().row(code, A, sql, owner=id_.schema, table=id_.table, object_id=5, row_id="AAASjHAAMAAAACDAAA", **other)


def code_of(sql: str) -> OpCode:
    return {"u": OpCode.UPDATE, "d": OpCode.DELETE}.get(sql[:1], OpCode.INSERT)


def check(schema: TableSchema, statements: Sequence[str], *settings: Any, lobs: bool = False, **properties: Any) -> int:
    """Both paths alike, in runs and one by one; how many rows were printed natively."""
    rows = [row_of(sql, code_of(sql), schema) for sql in statements]
    pair = Pair(*settings, **properties)
    seen = []
    for one_by_one, runs in ((False, False), (True, False), (False, True)):
        shapes = ShapeTracker(Tables([schema]), TableFilter(), schema.id.database, lambda _: None, lambda _: "")
        options = DecodingOptions(on_failure="skip", lobs=lobs, native=one_by_one, runs=runs)
        decoder = TransactionDecoder(shapes, HostClock(), options)
        buffer = transaction_buffer(1 << 30, Path("unused"), native_rows=runs)
        for row in rows:
            buffer.append(row, RedoAddress(row.rs_id.strip(), 1))
        transaction = buffer.open()[0]
        events = decoder.events(transaction, INFO)
        if runs:
            events = list(events)  # type: ignore[assignment]
            assert all(len(event.rows) for event in events if isinstance(event, ChangeRun))
        seen.append(list(taken_apart(events, pair)))
    assert seen[0] == seen[1] == seen[2]
    return pair.printed


def literals(type_name: str) -> list[str]:
    found = ["NULL", "EMPTY_CLOB()", "EMPTY_BLOB()", "Unsupported Type", "OTHER('x')", "''"]
    found += [f"/* JSON */ {one}" for one in (*found, "")] + [
        "/* JSON */NULL",
        "/*JSON*/ NULL",
        "/* JSON */ /* JSON */ NULL",
        "/* JSON",
    ]
    for function, texts in SPELLINGS[type_name]:
        found += [f"{function}('{text}')" if function else f"'{text}'" for text in texts]
    return [*found, f"TO_DATE('{DATES[0]}', 'YYYY-MM-DD HH24:MI:SS')", "UNISTR('a') || UNISTR('b')"]


USES = {**{f"value {i}": (one, False) for i, one in enumerate(HANDLINGS)}, "key": (HANDLINGS[0], True)}


@pytest.mark.parametrize(("type_name", "use"), one_of_each(list(SPELLINGS), list(USES), by_day=3))
def test_every_spelling_of_every_type(type_name: str, use: str) -> None:
    """Each literal by itself, inserted, set and as a condition: in a value, and in a key, which is compared."""
    (handling, key), printed = USES[use], 0
    for column in columns_of(type_name):
        where = f""""ID" = '1' and "{column.name}" """
        statements = []
        for literal in literals(type_name):
            statements.append(f"""insert into "S"."T"("ID","{column.name}") values ('1',{literal});""")
            statements.append(f"""update "S"."T" set "{column.name}" = {literal} where {where}IS NULL""")
            statements.append(f"""delete from "S"."T" where {where}= {literal}""")
            statements.append(f"""update "S"."T" set "ID" = '1' where {where}= {literal};""")
        schema = TableSchema(TableId("D", "S", "T"), (Column("ID", "NUMBER", 10, 0), column), (0, 1) if key else (0,))
        printed += check(schema, statements, handling, lobs=type_name in ("CLOB", "BLOB", "XMLTYPE", "JSON"))
    assert printed > 5


@pytest.mark.parametrize("lobs", [False, True], ids=["hidden", "read"])
def test_rows_with_json_are_printed_natively_where_its_values_are_not(lobs: bool) -> None:
    columns = (Column("ID", "NUMBER", 10, 0), Column("J", "JSON"), Column("V", "VARCHAR2", 9))
    schema = TableSchema(TableId("D", "S", "T"), columns, (0,))
    image = f"/* JSON */ HEXTORAW('{IMAGES[0]}')"
    statements = [
        f"""insert into "S"."T"("ID","J","V") values ('1',{image},'x')""",
        """insert into "S"."T"("ID","J","V") values ('1',/* JSON */ EMPTY_BLOB(),'x')""",
        f"""update "S"."T" set "J" = {image}, "V" = 'y' where "ID" = '1' and "V" = 'x'""",
        f"""delete from "S"."T" where "ID" = '1' and "J" = {image} and "V" = 'y'""",
        """update "S"."T" set "V" = 'z' where "ID" = '1' and "V" = 'x'""",
    ]
    assert check(schema, statements, lobs=lobs) == (1 if lobs else 5)


@pytest.mark.parametrize("seed", range(10))
def test_statements_of_any_columns(seed: int) -> None:
    chance = random.Random(seed)
    assert check(ANY_ORDER, [statement(chance).sql for _ in range(300)]) > 40


@pytest.mark.parametrize("seed", range(examples(10)))
def test_statements_with_parts_lost_or_doubled(seed: int) -> None:
    """A literal or what lies between two, or both."""
    chance = random.Random(seed)
    damaged_ones = []
    for _ in range(300):
        parts = statement(chance).sql.split("'")
        at = chance.randrange(len(parts))
        lost = parts[:at] + parts[at + chance.randint(1, 2) :]
        damaged_ones.append("'".join(lost if chance.random() < 0.5 else [*parts, *parts[at:]]))
    check(ANY_ORDER, damaged_ones)


PROPERTIES: list[dict[str, Any]] = [
    {"value_converter_schemas_enable": "true", "key_converter_schemas_enable": "true"},
    {"tombstones_on_delete": "false", "skipped_operations": "u,t"},
    {"minercdc_keyless_table_key": "rowid"},
    {"skipped_operations": "c,d"},
    {"column_mask_with_3_chars": r"S\.T\.V"},
    {"column_truncate_to_1_chars": r"S\.T\..*"},
    {"column_mask_with_2_chars": r"S\.T\.ID"},  # which is no text: every row is an error
    {"column_propagate_source_type": ".*", "value_converter_schemas_enable": "true"},
    {"skip_messages_without_change": "true"},
    {"minercdc_source_sequence": "true"},
    {"log_mining_buffer_track_username": "false"},
    {"converters": "flag", "flag_type": "io.debezium.connector.oracle.converters.NumberOneToBooleanConverter"},
]


@pytest.mark.parametrize("properties", PROPERTIES, ids=range(len(PROPERTIES)))
@pytest.mark.parametrize("key", [(), (0,), (2, 0)], ids=str)
def test_keys_frames_and_tombstones(properties: dict[str, Any], key: tuple[int, ...]) -> None:
    columns = (
        Column("ID", "NUMBER", 10, 0),
        Column("HIDDEN", "VARCHAR2", 9),
        Column('k"\\', "NUMBER", 9, 2),
        Column("V", "VARCHAR2", 9),
    )
    schema = TableSchema(TableId("D", "S", "T"), columns, key)
    where = """where "ID" = '1' and "HIDDEN" = 'h' and "V" IS NULL"""
    statements = [
        """insert into "S"."T"("ID","HIDDEN","V") values ('1','h',NULL)""",
        f"""update "S"."T" set "V" = 'x' {where}""",
        f"""update "S"."T" set "ID" = '1' {where}""",
        f"""update "S"."T" set "ID" = '1.0' {where}""",
        f"""update "S"."T" set "ID" = '2' {where}""",
        f"""delete from "S"."T" {where}""",
        f"""update "S"."T" set "OTHER" = 'x' {where}""",
        f"""update "S"."T" set "OTHER" = 'x', "V" = '2' {where}""",
        """update "S"."T" set "V" = 'x' where "V" IS NULL""",
        """delete from "S"."T" where "V" IS NULL""",
    ]
    check(schema, statements, **properties)


ANY_SCHEMA = TableSchema(
    TableId("D", "S", "T"),
    (Column("ID", "NUMBER", 10, 0), *(Column(f"C{i}", name, None, 6) for i, name in enumerate(SPELLINGS, 1))),
    (0,),
)


@st.composite
def any_statement(draw: st.DrawFn) -> str:
    columns = ANY_SCHEMA.columns

    def value(column: Column) -> str:
        return draw(st.sampled_from(literals(column.type_name)))

    chosen = draw(st.lists(st.sampled_from(columns), min_size=1, max_size=6))
    if draw(st.booleans()):
        names = ",".join(f'"{column.name}"' for column in chosen)
        return f'insert into "S"."T"({names}) values ({",".join(map(value, chosen))})'
    conditions = " and ".join([""""ID" = '5'"""] + [f'"{column.name}" = {value(column)}' for column in chosen])
    if draw(st.booleans()):
        return f'delete from "S"."T" where {conditions};'
    assigned = ", ".join(
        f'"{column.name}" = {value(column)}' for column in draw(st.lists(st.sampled_from(columns), min_size=1, max_size=3))
    )
    return f'update "S"."T" set {assigned} where {conditions};'


@settings(max_examples=examples(150))
@given(statements=st.lists(any_statement(), min_size=1, max_size=4), handling=st.sampled_from(HANDLINGS))
def test_any_statement(statements: list[str], handling: ValueHandling) -> None:
    check(ANY_SCHEMA, statements, handling)


@settings(max_examples=examples(150))
@given(statement=any_statement(), data=st.data(), handling=st.sampled_from(HANDLINGS))
def test_damaged_statements(statement: str, data: st.DataObject, handling: ValueHandling) -> None:
    check(ANY_SCHEMA, [data.draw(damaged((statement,)))], handling, lobs=True)


@pytest.mark.parametrize("lobs", [False, True], ids=["plain", "lobs"])
def test_the_fixtures(lobs: bool) -> None:
    for _, table, sql, _, _ in FIXTURES:
        check(table, [sql], lobs=lobs)


@settings(max_examples=examples(100))
@given(case=st.sampled_from(FIXTURES), data=st.data())
def test_damaged_fixtures(case: tuple[Any, ...], data: st.DataObject) -> None:
    check(case[1], [data.draw(damaged((case[2],)))], lobs=data.draw(st.booleans()))


def test_places_that_are_odd() -> None:
    """SCN, SSN, RS_ID and ROW_ID as no LogMiner prints them."""
    schema = TableSchema(TableId("D", "S", "T"), (Column("ID", "NUMBER", 10, 0),), (0,))
    sql = """insert into "S"."T"("ID") values ('1')"""
    odd: list[dict[str, Any]] = [
        {},
        {"scn": 2**31},
        {"ssn": 2**40},
        {"rs_id": ""},
        {"rs_id": "\tж "},
        {"status": 2},
    ]
    rows = [row_of(sql, OpCode.INSERT, schema, **other) for other in odd]
    rows += [rows[0]._replace(scn=2**62)]
    rows += [rows[0]._replace(row_id=row_id) for row_id in (None, "", 'a"b', "ж")]
    seen = []
    for runs in (False, True):
        shapes = ShapeTracker(Tables([schema]), TableFilter(), "D", lambda _: None, lambda _: "")
        decoder = TransactionDecoder(shapes, HostClock(), DecodingOptions(on_failure="skip", runs=runs))
        buffer = transaction_buffer(1 << 30, Path("unused"), native_rows=runs)
        for row in rows:
            buffer.append(row, RedoAddress(row.rs_id.strip(), 1))
        transaction = buffer.open()[0]
        seen.append(list(taken_apart(decoder.events(transaction, INFO))))
    assert seen[0] == seen[1]
    assert len(seen[0]) == len(rows)


def test_rows_beyond_a_run() -> None:
    schema = TableSchema(TableId("D", "S", "T"), (Column("ID", "NUMBER", 10, 0),), (0,))
    statements = [f"""insert into "S"."T"("ID") values ('{i}')""" if i % 501 else "nonsense" for i in range(3000)]
    assert check(schema, statements) == 3000 - len([i for i in range(3000) if i % 501 == 0])
