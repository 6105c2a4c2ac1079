"""Makes JSON of values of the driver, and values of that JSON."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, TypeAlias

from minercdc.errors import ConfigError
from minercdc.stream.offset import JsonValue

Row: TypeAlias = tuple[Any, ...]


def to_json(value: object) -> JsonValue:
    """A value as JSON. What JSON has no type for is an object with one member, which names its type.

    :raises ConfigError: the value is of a type that no statement of the connector returns.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return {"float": repr(value)}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    if isinstance(value, datetime):
        return {"datetime": value.isoformat()}
    if isinstance(value, timedelta):
        return {"timedelta": [value.days, value.seconds, value.microseconds]}
    raise ConfigError([f"a value of type {type(value).__name__} cannot be recorded"])


def from_json(value: Any) -> Any:
    """The value of which `to_json` made this JSON. Raises ValueError or KeyError for an object that `to_json` does not make."""
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    match kind:
        case "float":
            return float(content)
        case "bytes":
            return bytes.fromhex(content)
        case "decimal":
            return Decimal(content)
        case "datetime":
            return datetime.fromisoformat(content)
        case "timedelta":
            return timedelta(*content)
    raise KeyError(kind)
