"""Options of the transformations that change fields, or a schema's name. All but `ValueToKey` have a form for keys and one for
values."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from minercdc.config.section import CommaList, property_of
from minercdc.config.transforms.option_form import Options, Pairs


class OfSide(Options):
    """Options of a transformation that has a form for keys, `$Key`, and one for values, `$Value`."""


class ReplaceField(OfSide):
    """Options of ReplaceField, which leaves fields out, or gives them other names. `blacklist` and `whitelist` are older names
    of `exclude` and `include`."""

    exclude: CommaList = ()
    blacklist: CommaList = ()
    include: CommaList = ()
    whitelist: CommaList = ()
    renames: Pairs = ()
    replace_null_with_default: bool = False

    @model_validator(mode="after")
    def _renamed(self) -> Self:
        if wrong := [pair for pair in self.renames if len(pair) != 2]:
            raise ValueError(f"renames: {':'.join(wrong[0])} is not OLD:NEW")
        return self


class MaskField(OfSide):
    """Options of MaskField, which puts `replacement`, or without it the empty value of the field's type (0, '', false), in
    place of values."""

    fields_: CommaList = Field(alias="fields", min_length=1)
    replacement: str | None = None
    replace_null_with_default: bool = False


class InsertField(OfSide):
    """Options of InsertField, which adds fields with a constant or the topic. `*_field` is the name of the field that gets it;
    those of time, partition and offset are refused."""

    static_field: str = ""
    static_value: str | None = None
    topic_field: str = ""
    replace_null_with_default: bool = False
    timestamp_field: str = ""
    partition_field: str = ""
    offset_field: str = ""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        for name in ("timestamp_field", "partition_field", "offset_field"):
            if getattr(self, name):
                raise ValueError(
                    f"{property_of(name)}: not known before the record is in Kafka; add.fields of unwrap has source.ts_ms"
                )
        if self.static_field and self.static_value is None:
            raise ValueError("static.value: needed with static.field")
        if not self.static_field and not self.topic_field:
            raise ValueError("static.field or topic.field: needed, else nothing is inserted")
        return self


class ExtractField(OfSide):
    """Options of ExtractField, which puts the value of one field in place of the whole key or value."""

    field: str
    field_syntax_version: Literal["V1", "V2"] = "V1"
    replace_null_with_default: bool = False


class HoistField(OfSide):
    """Options of HoistField, which puts the whole key or value into a struct with one field."""

    field: str


class Flatten(OfSide):
    """Options of Flatten, which puts the fields of structs beside each other, with joined names."""

    delimiter: str = "."


class Cast(OfSide):
    """Options of Cast, which gives fields, or the whole key or value, another type. `spec` has (FIELD, TYPE), or (TYPE,) for
    the whole."""

    spec: Pairs
    replace_null_with_default: bool = False

    @model_validator(mode="after")
    def _types(self) -> Self:
        for part in self.spec:
            if len(part) > 2 or part[-1].lower() not in CAST_TYPES:
                raise ValueError(f"spec: {':'.join(part)} is not FIELD:TYPE, with one of the types {', '.join(CAST_TYPES)}")
        return self


CAST_TYPES = ("int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string")


class TimestampConverter(OfSide):
    """Options of TimestampConverter, which converts times between Connect's types, texts and numbers. `field` '': the whole key
    or value."""

    field: str = ""
    target_type: Literal["string", "unix", "Date", "Time", "Timestamp"]
    format: str = ""
    unix_precision: Literal["seconds", "milliseconds", "microseconds", "nanoseconds"] = "milliseconds"
    replace_null_with_default: bool = False

    @model_validator(mode="after")
    def _formatted(self) -> Self:
        if self.target_type == "string" and not self.format:
            raise ValueError("format: needed with target.type=string")
        return self


class SetSchemaMetadata(OfSide):
    """Options of SetSchemaMetadata, which gives a schema another name or version; '' and None leave it."""

    schema_name: str = ""
    schema_version: int | None = None
    replace_null_with_default: bool = False


class HeaderFrom(OfSide):
    """Options of HeaderFrom, which moves or copies fields into headers. `fields` and `headers` go in pairs."""

    fields_: CommaList = Field(alias="fields", min_length=1)
    headers: CommaList = Field(min_length=1)
    operation: Literal["move", "copy"]
    replace_null_with_default: bool = False

    @model_validator(mode="after")
    def _paired(self) -> Self:
        if len(self.headers) != len(self.fields_):
            raise ValueError("fields and headers: both lists must have the same length")
        return self


class ValueToKey(Options):
    """Options of ValueToKey, which makes the key from fields of the value."""

    fields_: CommaList = Field(alias="fields", min_length=1)
    replace_null_with_default: bool = False
