"""Values as the connector's codecs print them, read by the lake's Spark SQL; type widening in real Delta tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.examples import one_of_each

from minercdc.config.sections import ValueConfig
from minercdc.config.target.lake import LakeConfig
from minercdc.lake.table.defaults import fill_of
from minercdc.lake.table.types import lake_column
from minercdc.lake.table.widening import widened
from minercdc.schema.table import Column
from minercdc.values.codec import ValueHandling, codec_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLACEHOLDER = "__debezium_unavailable_value"
T9 = "2026-02-28 13:45:59.123456789"
OLD = "1500-02-28 23:59:59.000001000"


@dataclass(frozen=True)
class Case:
    type: str
    length: int | None
    scale: int | None
    text: str  # canonical Row text
    wanted: object  # as Spark's CAST AS STRING prints it
    modes: tuple[tuple[str, str], ...] = ()
    number: str = "text"


def modes(**given: str) -> tuple[tuple[str, str], ...]:
    return tuple(given.items())


CASES = [
    *(
        Case("NUMBER", p, s, text, wanted, modes(decimal_handling_mode=mode))
        for mode in ("precise", "string")
        for p, s, text, wanted in (
            (2, 0, "-99", "-99"),
            (4, 0, "-9999", "-9999"),
            (9, 0, "999999999", "999999999"),
            (18, 0, "-999999999999999999", "-999999999999999999"),
            (5, -2, "1234500", "1234500"),
            (38, 0, "9" * 38, "9" * 38),
            (10, 2, "-12.5", "-12.50"),
            (30, -5, "100000", "100000"),
            (38, -10, "1" * 38 + "0" * 10, "1" * 38 + "0" * 10),
            (3, 40, "0." + "0" * 37 + "123", "0." + "0" * 37 + "123"),
            (None, None, "-0.00123", "-0.00123"),
            (None, None, "1" + "0" * 125, "1" + "0" * 125),
        )
    ),
    *(
        Case("FLOAT", 126, None, text, wanted, modes(decimal_handling_mode=mode), number)
        for mode in ("precise", "string")
        for text, wanted, number in (
            ("3.14159", "3.14159", "text"),
            ("-3.14159", "-3.1415900000", "decimal(38,10)"),
            ("9" * 38, "9" * 38, "decimal(38,0)"),
            ("0.1", "0.1", "double"),
            ("1" + "0" * 125, "1.0E125", "double"),
        )
    ),
    Case("BINARY_FLOAT", None, None, "1.1754944e-38", "1.17549435E-38"),
    Case("BINARY_FLOAT", None, None, "-Infinity", "-Infinity"),
    Case("BINARY_DOUBLE", None, None, "4.9e-324", "4.9E-324"),
    Case("BINARY_DOUBLE", None, None, "NaN", "NaN"),
    Case("BOOLEAN", None, None, "true", "true"),
    *(
        Case(kind, None, None, 'O\'Neil\\ "é"', 'O\'Neil\\ "é"')
        for kind in ("VARCHAR2", "CLOB", "NCLOB", "LONG", "XMLTYPE", "JSON", "ROWID")
    ),
    *(
        Case(kind, None, None, "fffb00", "FFFB00", modes(binary_handling_mode=mode))
        for kind in ("RAW", "LONG RAW", "BLOB")
        for mode in ("bytes", "base64", "base64-url-safe", "hex")
    ),
    *(
        Case(kind, None, scale, text, wanted, modes(time_precision_mode=mode))
        for mode in ("adaptive", "adaptive_time_microseconds", "microseconds", "connect", "isostring")
        for kind, scale, text, wanted in (
            ("DATE", None, "1582-10-04 23:59:59", "1582-10-04 23:59:59"),
            ("DATE", None, "0001-01-01 00:00:00", "0001-01-01 00:00:00"),
            ("DATE", None, "9999-12-31 23:59:59", "9999-12-31 23:59:59"),
            ("DATE", None, "1500-02-29 12:00:00", "1500-03-01 12:00:00"),
            ("DATE", None, "-0044-03-15 12:00:00", "-0043-03-15 12:00:00"),
            ("DATE", None, "2026-03-29 02:30:00", "2026-03-29 02:30:00"),  # an hour that Berlin does not have
            ("TIMESTAMP", 3, "1969-12-31 23:59:59.999000000", "1969-12-31 23:59:59.999"),
        )
    ),
    *(
        Case("TIMESTAMP", None, 6, OLD, wanted, modes(time_precision_mode=mode))
        for mode, wanted in (
            ("adaptive", "1500-02-28 23:59:59.000001"),
            ("microseconds", "1500-02-28 23:59:59.000001"),
            ("isostring", "1500-02-28 23:59:59.000001"),
            ("connect", "1500-02-28 23:59:59"),
        )
    ),
    *(
        Case("TIMESTAMP", None, 9, text, wanted, modes(time_precision_mode=mode))
        for mode in ("adaptive", "nanoseconds", "isostring")
        for text, wanted in (
            (T9, T9),
            ("1969-12-31 23:59:59.000000001", "1969-12-31 23:59:59.000000001"),
            ("1970-01-01 00:00:00.000000000", "1970-01-01 00:00:00.000000000"),
            ("1677-09-21 00:12:43.145224192", "1677-09-21 00:12:43.145224192"),
            ("2262-04-11 23:47:16.854775807", "2262-04-11 23:47:16.854775807"),
        )
    ),
    Case("TIMESTAMP", None, 9, T9, T9[:-3], modes(time_precision_mode="microseconds")),
    Case(
        "TIMESTAMP",
        None,
        6,
        "1969-12-31 23:59:59.000001000",
        "1969-12-31 23:59:59.000001",
        modes(time_precision_mode="nanoseconds"),
    ),
    Case("DATE", None, None, "1677-09-22 00:00:01", "1677-09-22 00:00:01", modes(time_precision_mode="nanoseconds")),
    Case("TIMESTAMP WITH TIME ZONE", None, 6, f"{T9[:-3]}000 +05:30", "2026-02-28T13:45:59.123456+05:30"),
    Case("INTERVAL DAY TO SECOND", 2, 6, "-1 02:03:04.500000000", "-93784500000"),
    Case("INTERVAL YEAR TO MONTH", 2, None, "1-2", "P1Y2M0DT0H0M0S", modes(interval_handling_mode="string")),
]


SESSIONS = [("Europe/Berlin", "true"), ("America/New_York", "false")]
"""Time zone, and whether Spark's SQL is the ANSI dialect."""


@pytest.fixture(params=SESSIONS, ids=str)
def session(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[SparkSession]:
    names = ("spark.sql.session.timeZone", "spark.sql.ansi.enabled")
    before = [spark.conf.get(name) for name in names]
    for name, value in zip(names, request.param, strict=True):
        spark.conf.set(name, value)
    yield spark
    for name, value in zip(names, before, strict=True):
        spark.conf.set(name, value or "")


def values_of(given: tuple[tuple[str, str], ...]) -> ValueConfig:
    return ValueConfig.model_validate({name.replace("_", "."): value for name, value in given})


def handling_of(values: ValueConfig) -> ValueHandling:
    return ValueHandling(
        decimal=values.decimal_handling_mode,
        time_precision=values.time_precision_mode,
        interval=values.interval_handling_mode,
        binary=values.binary_handling_mode,
    )


def read(session: SparkSession, cases: list[Case]) -> list[str | None]:
    """What the lake reads of each case, from one JSON document with a member per case."""
    members, types, values = [], [], []
    for i, case in enumerate(cases):
        config = values_of(case.modes)
        source = Column(f"C{i}", case.type, case.length, case.scale)
        column = lake_column(source, config, LakeConfig.model_validate({"minercdc.lake.number": case.number}))
        assert column is not None
        members.append(f'"C{i}":{codec_for(source, handling_of(config)).to_json(case.text)}')
        types.append(f"C{i}: {column.json_type}")
        value = column.value(f"e.C{i}")
        values.append(f"hex({value}) AS C{i}" if column.spark_type == "BINARY" else f"CAST({value} AS STRING) AS C{i}")
    frame = session.createDataFrame([("{" + ",".join(members) + "}",), ("{}",)], "v STRING")
    parsed = frame.selectExpr(f"from_json(v, 'STRUCT<{', '.join(types)}>', map('mode', 'FAILFAST')) AS e")
    row, nulls = parsed.selectExpr(*values).collect()
    assert set(nulls) == {None}
    return list(row)


def test_every_type_is_read_exactly_in_every_mode_zone_and_dialect(session: SparkSession) -> None:
    for start in range(0, len(CASES), 30):
        cases = CASES[start : start + 30]
        found = read(session, cases)
        assert [(c, f) for c, f in zip(cases, found, strict=True) if f != c.wanted] == []


def test_an_instant_is_the_same_in_every_zone(session: SparkSession) -> None:
    source = Column("C", "TIMESTAMP WITH LOCAL TIME ZONE", None, 6)
    column = lake_column(source, ValueConfig.model_validate({}), LakeConfig.model_validate({}))
    assert column is not None
    instants = {
        "2026-03-29 01:30:00.123456000": datetime(2026, 3, 29, 1, 30, 0, 123456),
        "1500-02-29 00:00:00.000000000": datetime(1500, 3, 1),
    }
    members = [codec_for(source, ValueHandling()).to_json(text).strip('"') for text in instants]
    values = [column.value(f"'{member}'") for member in members]
    found = session.sql(f"SELECT {', '.join(f'unix_micros({value})' for value in values)}").collect()[0]
    micros = [(moment - datetime(1970, 1, 1)) // timedelta(microseconds=1) for moment in instants.values()]
    assert dict(zip(instants, found, strict=True)) == dict(zip(instants, micros, strict=True))


TOO_LARGE = [
    Case("NUMBER", None, None, text, "", modes(decimal_handling_mode=mode), number)
    for mode in ("precise", "string")
    for number, text in (
        ("decimal(38,2)", "0.125"),
        ("decimal(38,30)", "123456789"),
        ("decimal(38,0)", "1" + "0" * 40),
    )
]


@pytest.mark.parametrize(
    ("case", "session"),
    one_of_each(TOO_LARGE, SESSIONS),
    indirect=["session"],
    ids=lambda one: f"{one.number} {dict(one.modes)['decimal_handling_mode']}" if isinstance(one, Case) else str(one),
)
def test_a_number_that_does_not_fit_is_an_error_that_names_its_column(session: SparkSession, case: Case) -> None:
    with pytest.raises(Exception, match=r"column C0: a value does not fit DECIMAL\(38,\d+\) \(minercdc.lake.number\)"):
        read(session, [case])


def test_the_placeholder_is_known_and_null_is_none(spark: SparkSession) -> None:
    """Of every type that may lack its value, in every mode: columns of one document."""
    placeholder = "n/a 'ö\\?>"  # base64 of it has characters that a URL has not
    cases = [
        (mode, kind)
        for mode in ("bytes", "base64", "base64-url-safe", "hex")
        for kind in ("VARCHAR2", "CLOB", "XMLTYPE", "RAW", "BLOB")
    ]
    types, conditions, documents = [], [], ["", "", ""]
    for i, (mode, kind) in enumerate(cases):
        given = {"binary.handling.mode": mode, "unavailable.value.placeholder": placeholder}
        values, source = ValueConfig.model_validate(given), Column(f"C{i}", kind)
        column = lake_column(source, values, LakeConfig.model_validate({}))
        assert column is not None
        assert column.unavailable is not None
        types.append(f"C{i}: {column.json_type}")
        conditions.append(f"{column.unavailable(f'e.C{i}')} AS C{i}")
        codec = codec_for(source, handling_of(values))
        is_bytes = column.spark_type == "BINARY"
        printed = [codec.to_json(text.encode().hex() if is_bytes else text) for text in (placeholder, "other")]
        documents = [f'{text},"C{i}":{member}' for text, member in zip(documents, (*printed, "null"), strict=True)]
    frame = spark.createDataFrame([(f"{{{text[1:]}}}",) for text in documents], "v STRING")
    parsed = frame.selectExpr(f"from_json(v, 'STRUCT<{', '.join(types)}>', map('mode', 'FAILFAST')) AS e")
    found = zip(*parsed.selectExpr(*conditions).collect(), strict=True)
    assert dict(zip(cases, found, strict=True)) == dict.fromkeys(cases, (True, False, False))


def test_numbers_and_times_have_no_placeholder() -> None:
    for kind in ("NUMBER", "DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "BINARY_DOUBLE", "BOOLEAN"):
        column = lake_column(Column("C", kind), ValueConfig.model_validate({}), LakeConfig.model_validate({}))
        assert column is not None
        assert column.unavailable is None


TYPES = {
    "TINYINT": -128,
    "SMALLINT": -32768,
    "INT": 2**31 - 1,
    "BIGINT": -(2**63),
    "DECIMAL(7,2)": Decimal("99999.99"),
    "DECIMAL(20,0)": Decimal(10**20 - 1),
    "DECIMAL(38,0)": Decimal(10**38 - 1),
    "DECIMAL(12,10)": Decimal("-99.9999999999"),
    "FLOAT": 1.5,
    "DOUBLE": 4.9e-324,
    "DATE": date(1500, 2, 28),
    "TIMESTAMP_NTZ": datetime(1500, 2, 28, 23, 59, 59, 1),
    "STRING": "text",
    "BINARY": bytearray(b"\x00\xff"),
}


@pytest.mark.parametrize("old", TYPES)
def test_delta_widens_a_column_as_computed_and_keeps_its_values(spark: SparkSession, tmp_path: Path, old: str) -> None:
    wider = {new: kind for new in TYPES if new != old and (kind := widened(old, new)) is not None}
    assert widened(old, old) == old
    columns = {f"c{i}": pair for i, pair in enumerate(wider.items())}
    table, path = f"delta.`{tmp_path}/t`", f"{tmp_path}/t"
    properties = "TBLPROPERTIES ('delta.enableTypeWidening' = 'true', 'delta.feature.timestampNtz' = 'supported')"
    spark.sql(
        f"CREATE TABLE {table} (c {old}, {', '.join(f'{c} {old}' for c in columns)}) USING delta {properties}".replace(
            ", )", ")"
        )
    )
    row = tuple(TYPES[old] for _ in range(len(columns) + 1))
    spark.createDataFrame([row], spark.table(table).schema).write.format("delta").mode("append").save(path)
    for c, (_, kind) in columns.items():
        if kind != old:
            spark.sql(f"ALTER TABLE {table} ALTER COLUMN {c} TYPE {kind}")
    news = [(TYPES[old], *(TYPES[new] for new, _ in columns.values()))]
    new_types = ", ".join([f"c {old}", *(f"{c} {new}" for c, (new, _) in columns.items())])
    casts = ["c", *(f"CAST({c} AS {kind}) AS {c}" for c, (_, kind) in columns.items())]
    spark.createDataFrame(news, new_types).selectExpr(*casts).write.format("delta").mode("append").save(path)
    rows = spark.read.format("delta").load(path).collect()
    assert len(rows) == 2
    for c, (new, kind) in columns.items():
        assert sorted(_as(r[c]) for r in rows) == sorted((_as(TYPES[old]), _as(TYPES[new]))), (old, new, kind)


def _as(value: Any) -> Any:
    return datetime(value.year, value.month, value.day) if type(value) is date else value


def test_fills_are_expressions_of_spark(spark: SparkSession) -> None:
    defaults: list[tuple[Column, str, object]] = [
        (Column("C", "NUMBER", 5, 2), "1E2", Decimal("100.00")),
        (Column("C", "NUMBER", 5, 2), "1.005", Decimal("1.01")),
        (Column("C", "NUMBER", 5, 0), "-2.5", -3),
        (Column("C", "NUMBER"), "1.50E-2", "0.015"),
        (Column("C", "CHAR", 4), "N'a''\\'", "a'\\ "),
        (Column("C", "VARCHAR2", 9), "q'[it's]'", "it's"),
        (Column("C", "DATE"), "DATE '2020-01-01'", datetime(2020, 1, 1)),
        (Column("C", "TIMESTAMP", None, 6), "timestamp'2020-01-01 10:00:00.5'", datetime(2020, 1, 1, 10, 0, 0, 500000)),
        (Column("C", "TIMESTAMP", None, 9), "DATE '2020-01-01'", "2020-01-01 00:00:00.000000000"),
        (Column("C", "BINARY_DOUBLE"), "1e3d", 1000.0),
        (Column("C", "RAW", 4), "'00FF'", bytearray(b"\x00\xff")),
        (Column("C", "DATE"), "NULL", None),
    ]
    selected, wanted = [], []
    for source, default, value in defaults:
        column = lake_column(source, ValueConfig.model_validate({}), LakeConfig.model_validate({}))
        assert column is not None
        fill = fill_of(column, f" {default}\n")
        selected.append(f"struct(CAST({fill} AS {column.spark_type}), upper(typeof({fill})))")
        wanted.append((default, (value, column.spark_type.upper())))
    row = spark.sql(f"SELECT {', '.join(selected)}").collect()[0]
    assert [(default, tuple(one)) for (_, default, _), one in zip(defaults, row, strict=True)] == wanted
