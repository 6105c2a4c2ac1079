"""Spark SQL text: identifiers and literals."""

from __future__ import annotations


def quoted(name: str) -> str:
    """A name as an identifier, in backticks."""
    return "`" + name.replace("`", "``") + "`"


def unquoted(identifier: str) -> str:
    """The name of an identifier, which may be quoted."""
    return identifier[1:-1].replace("``", "`") if identifier.startswith("`") else identifier


def literal(text: str) -> str:
    """Text as a string literal of Spark SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def as_text(value: str, spark_type: str) -> str:
    """SQL of a value's text in the form that the lake has where a type is kept as text.

    Numbers have no superfluous zeros, times without zone nine digits of a second.

    :param value: SQL of it, of type `spark_type`.
    """
    if spark_type.startswith("DECIMAL"):
        text = f"CAST({value} AS STRING)"
        return f"if(contains({text}, '.'), rtrim('.', rtrim('0', {text})), {text})"
    if spark_type == "TIMESTAMP_NTZ":
        return f"concat(date_format({value}, 'yyyy-MM-dd HH:mm:ss.SSSSSS'), '000')"
    return f"CAST({value} AS STRING)"


def in_type(value: str, spark_type: str, wanted: str) -> str:
    """SQL of a value of type `spark_type` in the type `wanted`; a value that does not fit is what Spark's CAST makes of it."""
    if spark_type == wanted:
        return value
    return as_text(value, spark_type) if wanted == "STRING" else f"CAST({value} AS {wanted})"
