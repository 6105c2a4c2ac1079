"""Oracle's values beside the lake's: which SQL makes one of the other, and in which text both can be compared.

Oracle's rows come as text (`oracle_table`), each column in one of two forms:

    row     Row text of `values/`: plain digits, `YYYY-MM-DD HH24:MI:SS.nnnnnnnnn`, lower-case hex, the text itself
    topic   what a record of the topic would hold: times with zone, intervals, BOOLEAN, bytes that the lake keeps as text
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from minercdc.schema.table import Column

Form: TypeAlias = Literal["row", "topic"]

_NUMBERS = frozenset({"NUMBER", "FLOAT"})
_FLOATS = frozenset({"BINARY_FLOAT", "BINARY_DOUBLE"})
_TIMES = frozenset({"DATE", "TIMESTAMP"})
_BYTES = frozenset({"RAW", "LONG RAW", "BLOB"})
_PADDED = frozenset({"CHAR", "NCHAR"})
_NEVER_EMPTY = frozenset({"VARCHAR2", "NVARCHAR2"})
_TOPIC = frozenset({"INTERVAL YEAR TO MONTH", "INTERVAL DAY TO SECOND", "BOOLEAN"})
_MICROS = 26  # characters of YYYY-MM-DD HH:MM:SS.ffffff


@dataclass(frozen=True, slots=True)
class OracleValue:
    """One column on both sides.

    :param column: in Oracle.
    :param kind: Spark type of the lake's column.
    """

    column: Column
    kind: str

    @property
    def form(self) -> Form:
        """The form in which Oracle's value is read; see the module."""
        name = self.column.type_name
        if name in _TOPIC or name.endswith("TIME ZONE") or (name in _BYTES and self.kind != "BINARY"):
            return "topic"
        return "row"

    def typed(self, text: str) -> str:
        """SQL of the lake's value from SQL of Oracle's text; a timestamp of Spark keeps microseconds only."""
        if self.column.type_name in _BYTES and self.kind == "BINARY":
            return f"unhex({text})"
        if self.column.type_name in _TIMES and self.kind == "TIMESTAMP_NTZ":
            return f"CAST({_microseconds(text)} AS TIMESTAMP_NTZ)"
        return text if self.kind == "STRING" else f"CAST({text} AS {self.kind})"

    def of_oracle(self, text: str) -> str:
        """SQL of the text to compare, from SQL of Oracle's text."""
        name, kind = self.column.type_name, self.kind
        if name in _NUMBERS:
            return f"CAST(CAST({text} AS {kind}) AS STRING)" if kind in ("DOUBLE", "FLOAT") else _plain(text)
        if name in _FLOATS:
            return f"CAST(CAST({text} AS {_float(kind)}) AS STRING)"
        if name in _TIMES and kind == "TIMESTAMP_NTZ":
            # A value that a timestamp of Spark cannot hold keeps its own text: it differs from all that the lake may have.
            micros = _nine_digits(f"CAST(try_cast({_microseconds(text)} AS TIMESTAMP_NTZ) AS STRING)")
            rest = f"rpad(substring(ltrim('-', {text}), {_MICROS + 1}), 3, '0')"
            return f"coalesce(concat(left({micros}, length({micros}) - 3), {rest}), {text})"
        if name in _TIMES:
            return _nine_digits(text)
        if name in _PADDED:
            return f"rtrim(' ', {text})"
        if name in _BYTES and kind == "BINARY":
            return f"upper({text})"
        return text if kind == "STRING" else f"CAST(CAST({text} AS {kind}) AS STRING)"

    def of_lake(self, value: str) -> str:
        """SQL of the text to compare, from SQL of the lake's value."""
        name, text = self.column.type_name, f"CAST({value} AS STRING)"
        if name in _NUMBERS:
            return text if self.kind in ("DOUBLE", "FLOAT") else _plain(text)
        if name in _FLOATS:
            return f"CAST(CAST({value} AS {_float(self.kind)}) AS STRING)"
        if name in _TIMES:
            return _nine_digits(text)
        if name in _PADDED:
            return f"rtrim(' ', {text})"
        if name in _NEVER_EMPTY:
            return f"nullif({text}, '')"
        return f"hex({value})" if name in _BYTES and self.kind == "BINARY" else text


def row_hash(values: list[str]) -> str:
    """SQL of a 64-bit hash over texts to compare, where the place of a null counts: xxhash64 alone passes over nulls.

    :param values: SQL of the texts.
    """
    return f"xxhash64({', '.join(f'{value} IS NULL, {value}' for value in values)})"


def _float(kind: str) -> str:
    return kind if kind in ("FLOAT", "DOUBLE") else "DOUBLE"


def _plain(text: str) -> str:
    """SQL of digits without superfluous zeros after the point, from SQL of digits."""
    return f"if(contains({text}, '.'), rtrim('.', rtrim('0', {text})), {text})"


def _microseconds(text: str) -> str:
    """SQL of a time as Spark reads it: six digits of fraction, and the year 0 before 1 AD, which Oracle calls -0001."""
    year = f"lpad(CAST(CAST(substring({text}, 2, 4) AS INT) - 1 AS STRING), 4, '0')"
    return f"if(startswith({text}, '-'), concat('-', {year}, substring({text}, 6, {_MICROS - 4})), left({text}, {_MICROS}))"


def _nine_digits(text: str) -> str:
    fraction = f"if(contains({text}, '.'), substring_index({text}, '.', -1), '')"
    return f"concat(substring_index({text}, '.', 1), '.', rpad({fraction}, 9, '0'))"
