"""The converters that a configuration names: those of Debezium that are built in, and the user's own in Python."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from minercdc.config.messages.custom_converters import (
    ONE_TO_BOOLEAN,
    RAW_TO_STRING,
    TO_ZERO_SCALE,
    CustomConverter,
)
from minercdc.config.plugin import load_callable, with_arguments
from minercdc.errors import ConfigError
from minercdc.schema.patterns import configured_pattern
from minercdc.schema.table import Column, TableId
from minercdc.values.codec import Codec, ValueHandling, codec_for
from minercdc.values.conversion import ColumnConverter, Conversion, converted

Change = Callable[[TableId, Column, Codec], Codec | None]
"""The codec of a column that a converter takes; None for one that it leaves."""


def column_codecs(
    converters: Sequence[CustomConverter], handling: ValueHandling
) -> Callable[[TableId, Column, Codec], Codec]:
    """A function from a column's codec to the one to use: that of the first converter that takes the column.

    The function raises ConfigError for what a converter returns that is no Conversion, or one of a type that there is not. What a
    converter of the user's own raises passes through.

    :param handling: how the codecs of the columns' types represent values.
    :raises ConfigError: a converter cannot be loaded, or an option is wrong.
    """
    changes = [_change(one, handling) for one in converters]

    def codec_of(table: TableId, column: Column, codec: Codec) -> Codec:
        return next((made for change in changes if (made := change(table, column, codec)) is not None), codec)

    return codec_of


def _change(converter: CustomConverter, handling: ValueHandling) -> Change:
    options = converter.options
    if converter.type == TO_ZERO_SCALE:
        return _to_zero_scale(options.get("decimal.mode", "precise"), handling, converter.name)
    if converter.type == ONE_TO_BOOLEAN:
        return _by(converter.name, _selected(options, converter.name, _one_to_boolean))
    if converter.type == RAW_TO_STRING:
        charset = options.get("charset", "UTF-8")
        try:
            codecs.lookup(charset)
        except LookupError:
            raise ConfigError([f"{converter.name}.charset: unknown character set {charset}"]) from None
        return _by(converter.name, _selected(options, converter.name, lambda column: _raw_to_string(column, charset)))
    return _by(converter.name, _own(converter))


def _own(converter: CustomConverter) -> ColumnConverter:
    """The user's converter, made with its options."""
    of_property = f"{converter.name}.type"
    make = load_callable(converter.type, of_property, "options")
    try:
        made = make(dict(converter.options))
    except ConfigError:
        raise
    except Exception as error:  # the user's own code
        raise ConfigError([f"{of_property}: {converter.type} raised {error!r} for its options"]) from error
    return with_arguments(made, f"what {converter.type} gives", of_property, "table", "column")


def _by(name: str, convert: ColumnConverter) -> Change:
    def change(table: TableId, column: Column, codec: Codec) -> Codec | None:
        conversion = convert(table, column)
        if conversion is None:
            return None
        if not isinstance(conversion, Conversion):
            raise ConfigError([f"converters: {name} returned {conversion!r}, not minercdc.values.conversion.Conversion"])
        return converted(codec, column, conversion, name)

    return change


def _selected(options: Mapping[str, str], name: str, convert: Callable[[Column], Conversion | None]) -> ColumnConverter:
    """A converter of the columns that the option `selector` names, `SCHEMA.TABLE.COLUMN`; of all without it."""
    try:
        patterns = [configured_pattern(part.strip()) for part in options.get("selector", ".*").split(",")]
    except ValueError as error:
        raise ConfigError([f"{name}.selector: {error}"]) from None

    def selected(table: TableId, column: Column) -> Conversion | None:
        full = f"{table.schema}.{table.table}.{column.name}"
        return convert(column) if any(pattern.matches(full) for pattern in patterns) else None

    return selected


def _one_to_boolean(column: Column) -> Conversion | None:
    if column.type_name != "NUMBER" or column.length != 1 or column.scale not in (0, None):
        return None
    return Conversion("boolean", lambda text: int(text) > 0)


def _raw_to_string(column: Column, charset: str) -> Conversion | None:
    if column.type_name != "RAW":
        return None
    return Conversion("string", lambda text: bytes.fromhex(text).decode(charset))


def _to_zero_scale(mode: str, handling: ValueHandling, name: str) -> Change:
    if mode not in ("precise", "string", "double"):
        raise ConfigError([f"{name}.decimal.mode: {mode} is not one of precise, string, double"])
    as_wanted = replace(handling, decimal=mode)  # type: ignore[arg-type]  # one of its words, as the line above says

    def change(table: TableId, column: Column, codec: Codec) -> Codec | None:
        scale = column.scale or 0
        if column.type_name != "NUMBER" or scale >= 0:
            return None
        made = codec_for(replace(column, length=(column.length or 38) - scale, scale=0), as_wanted)
        return replace(codec, field=made.field, to_json=made.to_json)

    return change
