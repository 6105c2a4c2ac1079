"""The page of types, Oracle -> topic -> Spark, made from the code that converts; docs/types.md is its output."""

from __future__ import annotations

from minercdc.config.page_lines import wrapped
from minercdc.config.section import leaving_out
from minercdc.config.sections import ValueConfig
from minercdc.config.target.lake import LakeConfig
from minercdc.lake.table.types import lake_column
from minercdc.schema.table import Column
from minercdc.values.codec import FieldType, ValueHandling, codec_for

_ROWS: tuple[tuple[str, str, int | None, int | None, str, str], ...] = (
    # declared, type, length, scale, sample Row text, remark
    ("NUMBER(2)", "NUMBER", 2, 0, "-7", ""),
    ("NUMBER(4)", "NUMBER", 4, 0, "1234", ""),
    ("NUMBER(9)", "NUMBER", 9, 0, "123456789", ""),
    ("NUMBER(18)", "NUMBER", 18, 0, "123456789012345678", ""),
    ("NUMBER(38), INTEGER", "NUMBER", 38, 0, "12345678901234567890", ""),
    ("NUMBER(10,2)", "NUMBER", 10, 2, "12.5", ""),
    ("NUMBER(5,-2)", "NUMBER", 5, -2, "1200", "rounded to hundreds by Oracle"),
    (
        "NUMBER(3,40)",
        "NUMBER",
        3,
        40,
        "0.0000000000000000000000000000000000000123",
        "no DECIMAL of Spark has 40 digits: text",
    ),
    (
        "NUMBER",
        "NUMBER",
        None,
        None,
        "-0.00123",
        "up to 40 digits and an exponent of +-130: text, all digits kept; see `minercdc.lake.number`",
    ),
    ("FLOAT(126)", "FLOAT", 126, None, "3.14159", "a NUMBER with binary precision: text, all digits kept"),
    ("BINARY_FLOAT", "BINARY_FLOAT", None, None, "1.5", ""),
    ("BINARY_DOUBLE", "BINARY_DOUBLE", None, None, "NaN", "NaN and infinities as strings in the topic"),
    ("VARCHAR2(80)", "VARCHAR2", 80, None, "O'Neil", "Oracle stores the empty string as null"),
    ("CHAR(4)", "CHAR", 4, None, "ab  ", "blanks kept"),
    ("NVARCHAR2(80), NCHAR", "NVARCHAR2", 80, None, "Zoe", ""),
    ("DATE", "DATE", None, None, "2026-02-28 13:45:59", "wall clock, no zone"),
    ("TIMESTAMP(3)", "TIMESTAMP", None, 3, "2026-02-28 13:45:59.123000000", ""),
    ("TIMESTAMP(6)", "TIMESTAMP", None, 6, "2026-02-28 13:45:59.123456000", ""),
    (
        "TIMESTAMP(9)",
        "TIMESTAMP",
        None,
        9,
        "2026-02-28 13:45:59.123456789",
        "Spark holds microseconds: text with nine digits; years 1677 to 2262 only, an error beyond",
    ),
    ("RAW(16)", "RAW", 16, None, "00ff10", ""),
    (
        "TIMESTAMP(6) WITH LOCAL TIME ZONE",
        "TIMESTAMP WITH LOCAL TIME ZONE",
        None,
        6,
        "2026-02-28 13:45:59.500000000",
        "an instant; text beyond 6 digits",
    ),
    ("TIMESTAMP(6) WITH TIME ZONE", "TIMESTAMP WITH TIME ZONE", None, 6, "2026-02-28 13:45:59.500000000 +05:30", ""),
    ("INTERVAL DAY TO SECOND", "INTERVAL DAY TO SECOND", 2, 6, "+01 02:03:04.500000", ""),
    ("VARCHAR2(32767)", "VARCHAR2", 32767, None, "long", "beyond 4000 bytes: needs `lob.enabled`"),
    ("CLOB, NCLOB", "CLOB", None, None, "text", "needs `lob.enabled`; an empty LOB is the empty text, not null"),
    ("BLOB", "BLOB", None, None, "00ff10", "needs `lob.enabled`"),
    ("XMLTYPE", "XMLTYPE", None, None, "<a/>", "needs `lob.enabled`; binary or CLOB storage"),
    ("LONG", "LONG", None, None, "text", ""),
    ("LONG RAW", "LONG RAW", None, None, "00ff10", ""),
    ("BOOLEAN", "BOOLEAN", None, None, "true", "snapshots, and `olr` in JSON: LogMiner shows no changes of its table"),
    ("JSON", "JSON", None, None, '{"a":1}', "needs `lob.enabled`; changes need a source that logs them ([below](#json))"),
    ("VECTOR", "VECTOR", None, None, "[1.0E+000]", "snapshots only, as LogMiner shows no changes either"),
)

_INTRODUCTION = """\
# Types: Oracle, topic, Spark

Look up here what becomes of a column. Made by `minercdc types`; do not edit. The topic's form is that of the default modes (`decimal.handling.mode=precise`,
`time.precision.mode=adaptive`, `binary.handling.mode=bytes`); `string`, `hex` and the others follow Debezium's manual.
The lake reads every mode but `decimal.handling.mode=double`, which it refuses at the start. Its types follow from Oracle's, except that
`time.precision.mode` `connect` and `microseconds` make TIMESTAMP(9) a TIMESTAMP_NTZ, and `minercdc.lake.number` decides on NUMBER without precision and FLOAT.

| Oracle | in the topic | a value there | in Spark | remark |
|---|---|---|---|---|
"""

_CLOSING = """
What does not fit is never cut silently. A value that its topic type cannot hold (a TIMESTAMP(9) of the year 9999 as int64
nanoseconds) is a `ValueDecodeError`, and `event.processing.failure.handling.mode` says what follows.

A value that redo does not hold (a column without supplemental logging) is

* `unavailable.value.placeholder` in character columns;
* the placeholder, encoded as `binary.handling.mode` says, in BLOB and RAW columns;
* null elsewhere, also where numbers and times are printed as text.

`minercdc check` warns of tables where that can happen. Columns of other types (BFILE, UROWID, objects, collections) are left out
of the events, with one warning per table. INVISIBLE columns are columns; virtual ones are not, as redo does not have them.

Large values: with `lob.enabled=false`, the default, CLOB, NCLOB, BLOB, XMLTYPE and JSON columns hold the placeholder, in snapshots
too, and an update of such columns only has no event. Of strings that may be longer than 4000 bytes short values come all the same. Where a savepoint or a failed
statement took a string back to a long value, and redo does not show whether that undid a short value before it in the same transaction, the change to the short one has the placeholder in its place.
With `lob.enabled=true` the placeholder means: not changed by this
statement. Two more values are the placeholder: every LOB in `before`, and a LOB that DBMS_LOB changed in part, if its value was
not given in the same transaction: redo holds the part only (counted, and one warning per table). A statement that LogMiner spreads over
several rows is one event; what DBMS_LOB writes to a row after an INSERT or UPDATE of it in the same transaction is part of that
event, also with changes of other rows between them.

After a change of the key the record of the new key has all large values: those that redo does not hold are read from the row as of
the commit of its transaction, and header `__minercdc.reselect.scn` says so. `minercdc.lob.reselect=unavailable` does that for every
change that leaves a large value open, `none` for no change. Where undo is gone (ORA-01555, ORA-01466), or the row, the placeholder stays
(counted, and one warning per table).

## JSON

Snapshots have the text of JSON_SERIALIZE. LogMiner shows rows of tables with JSON columns only where `ENABLE_GOLDENGATE_REPLICATION` is TRUE
(`minercdc check` says so; the parameter is GoldenGate's, so look into its licence terms); elsewhere each is a row that it does not support. Redo has the
value in binary form (OSON), like a BLOB. The text that is made of it is that of JSON_SERIALIZE: members in the
order of the image, numbers with all their digits, strings for what JSON has no type for: dates and times by ISO 8601 (`"2026-02-28T13:45:59.5"`, `Z` or
an offset where there is a zone), intervals as ISO 8601 durations (`"P1DT2H"`), bytes in hexadecimal digits. Oracle's documentation leaves open
how a second's fraction is padded, how a duration is split into its parts, how BINARY_FLOAT is rounded (nine digits here), and where numbers get an exponent (beyond
40 digits here): there the text from redo may be spelled otherwise than that of a snapshot, with the same value.

An image that is damaged, or that has a form which is not known here (a vector, a time zone region, NaN), is a `ValueDecodeError` that names the
column. A value that is updated in part, as JSON_TRANSFORM may do it, is the placeholder, counted as a LOB that DBMS_LOB changed in part.

## Rows that are not supported

Rows that LogMiner does not support (operation code 255: BOOLEAN, VECTOR, object types, JSON without the parameter above) are failures, which
`event.processing.failure.handling.mode` decides on: `fail` stops, `warn` and `skip` leave the row out. A single value printed as
`Unsupported Type` is the placeholder.
"""


def types_page() -> str:
    """The text of docs/types.md: what the defaults make of each type, without regard to the environment."""
    lines = (
        f"| {one['oracle']} | {one['topic']} | `{one['example']}` | {one['spark'] or '-'} | {one['remark']} |\n"
        for one in types_document()
    )
    return wrapped(_INTRODUCTION + "".join(lines) + _CLOSING)


def types_document() -> list[dict[str, str | None]]:
    """What the defaults make of each type: `oracle`, `topic` (Connect's type), `example` (JSON text of a value), `spark` (None for a type that
    the lake does not have) and `remark`."""
    with leaving_out({*ValueConfig.properties(), *LakeConfig.properties()}):
        values, lake = ValueConfig.model_validate({}), LakeConfig.model_validate({})
    return [_document(row, values, lake) for row in _ROWS]


def _document(
    row: tuple[str, str, int | None, int | None, str, str], values: ValueConfig, lake: LakeConfig
) -> dict[str, str | None]:
    declared, kind, length, scale, sample, remark = row
    column = Column("C", kind, length, scale)
    codec, found = codec_for(column, ValueHandling()), lake_column(column, values, lake)
    return {
        "oracle": declared,
        "topic": _connect(codec.field),
        "example": codec.to_json(sample),
        "spark": str(found.spark_type) if found else None,
        "remark": remark,
    }


def _connect(field: FieldType) -> str:
    name = f" `{field.name}`" if field.name else ""
    parameters = ", ".join(f"{key}={value}" for key, value in field.parameters.items())
    return f"{field.type}{name}" + (f" ({parameters})" if parameters else "")
