"""Applies what a custom converter (`converters`) makes of a column: another type, and a function that makes its values."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from minercdc.errors import ConfigError, ValueDecodeError
from minercdc.schema.table import Column, TableId
from minercdc.values.codec import Codec
from minercdc.values.family import FieldType

_INTEGERS: Final = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
_PLAIN: Final[Mapping[str, tuple[type, ...]]] = {
    "float32": (float, int),
    "float64": (float, int),
    "boolean": (bool,),
    "string": (str,),
    "bytes": (bytes,),
}


@dataclass(frozen=True, slots=True)
class Conversion:
    """What a custom converter returns for a column: the type of its field, and how its values are made.

    :param type: int8, int16, int32, int64, float32, float64, boolean, string or bytes.
    :param convert: Oracle's own text of a value, as `minercdc.stream.rows` describes it, to a value of the type (`bytes` for bytes),
        or None. It gets no nulls, and must give the same for the same text. If it raises, or gives a value that is none of
        the type, the row cannot be encoded.
    :param name, version, parameters: of the field's schema; None and {} for none.
    """

    type: str
    convert: Callable[[str], Any]
    name: str | None = None
    version: int | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)


ColumnConverter: TypeAlias = Callable[[TableId, Column], "Conversion | None"]
"""Gives the conversion of a column of a table; None for one that the converter leaves as it is."""


def converted(codec: Codec, column: Column, conversion: Conversion, converter: str) -> Codec:
    """The codec of a converted column: `codec` with another field, and another `to_json`, which raises ValueDecodeError when
    `Conversion.convert` fails or gives a value that is none of the type.

    :param converter: its name in `converters`.
    :raises ConfigError: the conversion is of no known type.
    """
    if conversion.type not in _INTEGERS and conversion.type not in _PLAIN:
        raise ConfigError(
            [f"converters: {converter} gives column {column.name} the type {conversion.type}, which there is not"]
        )
    kind = FieldType(conversion.type, conversion.name, conversion.version, conversion.parameters)

    def to_json(text: str) -> str:
        if not isinstance(text, str):  # UNAVAILABLE, which the printer sorts out
            raise ValueDecodeError(f"redo does not hold column {column.name}")
        try:
            return _json(conversion.convert(text), conversion.type)
        except Exception as error:  # of code that is not ours
            raise ValueDecodeError(f"converter {converter} failed at column {column.name}: {error!r}") from error

    return replace(codec, field=kind, to_json=to_json)


def _json(value: Any, kind: str) -> str:
    if value is None:
        return "null"
    if bits := _INTEGERS.get(kind):
        if type(value) is not int or not -(1 << bits - 1) <= value < 1 << bits - 1:
            raise TypeError(f"{value!r} is no {kind}")
    elif not isinstance(value, _PLAIN[kind]) or (kind.startswith("float") and isinstance(value, bool)):
        raise TypeError(f"{value!r} is no {kind}")
    if kind == "bytes":
        return f'"{base64.b64encode(value).decode()}"'
    if value != value or value in (float("inf"), float("-inf")):  # no number of JSON; as values.number writes them
        return '"NaN"' if value != value else '"Infinity"' if value > 0 else '"-Infinity"'
    return json.dumps(value, ensure_ascii=False)
