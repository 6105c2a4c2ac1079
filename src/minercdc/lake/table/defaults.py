"""The value that older rows of a lake table get when a column is added with a DEFAULT."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal, localcontext

from minercdc.lake.spark.sql import literal
from minercdc.lake.table.types import TEXT_TYPES, LakeColumn
from minercdc.lake.table.widening import INTEGER_DIGITS, precision_of

_NUMERIC_LITERAL = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?)[fFdD]?", re.ASCII)
_TEXT_LITERAL = re.compile(r"[nN]?'((?:[^']|'')*)'", re.DOTALL)
_QUOTED_LITERAL = re.compile(r"[nN]?[qQ]'(?:\[(.*)\]|\{(.*)\}|\((.*)\)|<(.*)>|([^\s\[{(<'])(.*)\5)'", re.DOTALL)
_TIME_LITERAL = re.compile(
    r"(?:DATE\s*'(\d{4}-\d\d-\d\d)'|TIMESTAMP\s*'(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.(\d{0,9}))?')",
    re.IGNORECASE | re.ASCII,
)


def fill_of(column: LakeColumn, default: str) -> str | None:
    """Spark SQL of an Oracle DEFAULT's value in the type of the lake's column.

    None when it is no literal (SYSDATE: Oracle evaluated it at the DDL, and redo does not hold the value), or a literal that
    this does not convert to the column's type.

    :param default: its text in the DDL.
    """
    text = default.strip()
    if text.upper() == "NULL":
        return f"CAST(NULL AS {column.spark_type})"
    if column.spark_type == "BOOLEAN":
        return text.upper() if text.upper() in ("TRUE", "FALSE") else None
    if number := _NUMERIC_LITERAL.fullmatch(text):
        return _number_fill(column, number[1])
    if time := _TIME_LITERAL.fullmatch(text):
        return _time_fill(column, time[1] or time[2], time[3] or "")
    if (content := _text_of(text)) is None:
        return None
    if column.source is None or column.source.type_name in TEXT_TYPES:
        return _text_fill(column, content) if column.spark_type == "STRING" else None
    if column.spark_type == "BINARY" and re.fullmatch(r"([0-9A-Fa-f]{2})*", content):
        return f"X'{content}'" if content else "CAST(NULL AS BINARY)"
    number = _NUMERIC_LITERAL.fullmatch(content.strip())
    return _number_fill(column, number[1]) if number else None


def _text_of(literal_: str) -> str | None:
    if found := _TEXT_LITERAL.fullmatch(literal_):
        return found[1].replace("''", "'")
    if found := _QUOTED_LITERAL.fullmatch(literal_):
        return next(part for part in (*found.groups()[:4], found[6]) if part is not None)
    return None


def _text_fill(column: LakeColumn, content: str) -> str:
    source = column.source
    if source and source.type_name in ("CHAR", "NCHAR"):
        content = content.ljust(source.length or 0) if content else ""
    lob = source is not None and source.type_name in ("CLOB", "NCLOB")
    return literal(content) if content or lob else "CAST(NULL AS STRING)"  # the empty text is null


def _number_fill(column: LakeColumn, text: str) -> str | None:
    """SQL of a number as Oracle converts it to the column's type: rounded half up to its scale; None where that is not known."""
    value, kind = Decimal(text), column.spark_type
    if kind in ("FLOAT", "DOUBLE"):
        return f"CAST('{text}' AS {kind})"
    if kind == "STRING":
        if column.source is not None and column.source.type_name in ("NUMBER", "FLOAT"):
            return literal(_digits(value, max(column.source.scale or 0, 0)))
        return (
            _text_fill(column, _digits(value, 0)) if value == value.to_integral_value() and value.adjusted() < 38 else None
        )
    if kind.startswith("DECIMAL") or kind in INTEGER_DIGITS:
        scale = precision_of(kind)[1] if kind.startswith("DECIMAL") else 0
        with localcontext(prec=200):
            rounded = value.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP)
        return f"CAST('{rounded:f}' AS {kind})"
    return None


def _digits(value: Decimal, places: int) -> str:
    """Plain notation without zeros at the end, but with at least `places` digits after the point."""
    whole, _, fraction = f"{value:f}".lstrip("+").partition(".")
    fraction = fraction.rstrip("0").ljust(places, "0")
    return f"{whole}.{fraction}" if fraction else "0" if whole == "-0" else whole


def _time_fill(column: LakeColumn, moment: str, fraction: str) -> str | None:
    source = column.source
    digits = 0 if source is None or source.type_name == "DATE" else 6 if source.scale is None else source.scale
    if len(fraction.rstrip("0")) > digits or (source is not None and source.type_name not in ("DATE", "TIMESTAMP")):
        return None  # of another zone, or rounded by Oracle
    if column.spark_type == "STRING":
        return literal(f"{moment if len(moment) > 10 else moment + ' 00:00:00'}.{fraction:0<9}")
    if column.spark_type != "TIMESTAMP_NTZ":
        return None
    return f"TIMESTAMP_NTZ'{moment}.{fraction}'" if fraction else f"TIMESTAMP_NTZ'{moment}'"
