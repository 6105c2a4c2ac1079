"""The interface of type families: what each provides for one column, how its values are read, and how they are written.

    redo literal  --Reading.literals-->  Row text  --Writing.to_json-->  fragment of a JSON document
    driver value  --Reading.from_driver-->  (the same Row text)

A family is a module with `reading(column)` and `writing(column, handling)`; `codec` chooses among the families.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

Convert: TypeAlias = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class FieldType:
    """A Kafka Connect field type.

    :param type: int8, int16, int32, int64, float32, float64, boolean, string, bytes or struct.
    :param name: semantic name such as `io.debezium.time.Timestamp`, None for a plain type.
    :param version, parameters: of its schema; None and {} for none.
    :param fields: of a struct, (name, type) in order.
    """

    type: str
    name: str | None = None
    version: int | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    fields: tuple[tuple[str, FieldType], ...] = ()


@dataclass(frozen=True, slots=True)
class ValueHandling:
    """How types with a choice are rendered; each attribute is a Debezium property's value.

    :param decimal: `decimal.handling.mode`.
    :param time_precision: `time.precision.mode`.
    :param interval: `interval.handling.mode`.
    :param binary: `binary.handling.mode`.
    :param unavailable: `unavailable.value.placeholder`.
    :param legacy_decimal: `legacy.decimal.handling.strategy`.
    """

    decimal: Literal["precise", "string", "double"] = "precise"
    time_precision: Literal[
        "adaptive", "adaptive_time_microseconds", "connect", "isostring", "microseconds", "nanoseconds"
    ] = "adaptive"
    interval: Literal["numeric", "string"] = "numeric"
    binary: Literal["bytes", "base64", "base64-url-safe", "hex"] = "bytes"
    unavailable: str = "__debezium_unavailable_value"
    legacy_decimal: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """How one column's values become Row text.

    :param literals: function name of a redo literal (`''` for a bare quoted one) -> conversion of the text between
        its quotes, apostrophes already undoubled; None stands for "as it is".
    :param select: quoted column name -> SELECT expression.
    :param from_driver: non-null value as python-oracledb fetched it -> Row text.
    :param follows: EMPTY_BLOB() is no value of the type: the value follows in rows of its own, or redo does not hold it.
    :param spellings: `Writing.to_json` takes a literal's text unconverted, too; only comparing values needs the conversion.
    """

    literals: Mapping[str, Convert | None]
    select: Callable[[str], str]
    from_driver: Callable[[object], str]
    spellings: bool = False
    follows: bool = False

    def as_spelled(self) -> Reading:
        """With `spellings`, a copy that takes the text of literals as it is, for values that are not compared: the
        conversions take longer than everything else. Otherwise this reading itself."""
        return replace(self, literals=dict.fromkeys(self.literals)) if self.spellings else self


@dataclass(frozen=True, slots=True)
class Writing:
    """How one column's Row text is written.

    :param field: its type in the Connect schema.
    :param to_json: Row text -> JSON fragment; raises ValueDecodeError when the text does not fit the type. Text of
        BINARY_FLOAT and BINARY_DOUBLE is not checked.
    """

    field: FieldType
    to_json: Convert


def as_is(quoted: str) -> str:
    """The SELECT expression of a column that is read unchanged: its quoted name."""
    return quoted
