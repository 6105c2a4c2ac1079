"""Options of the transformations and predicates, by the names of the Java classes that they have in Kafka Connect and
Debezium."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, Field, field_validator, model_validator

from minercdc.config.debezium.java_regex import unknown_group
from minercdc.config.section import CommaList
from minercdc.config.transforms.field_options import (
    Cast,
    ExtractField,
    Flatten,
    HeaderFrom,
    HoistField,
    InsertField,
    MaskField,
    OfSide,
    ReplaceField,
    SetSchemaMetadata,
    TimestampConverter,
    ValueToKey,
)
from minercdc.config.transforms.option_form import Options, Pairs, Regex

_OFFSET = re.compile(r"[+-]\d\d:\d\d(:\d\d)?")


def _have_groups(option: str, pattern: str, replacement: str) -> None:
    """Raise ValueError, with the option's name, for a replacement with a group that the pattern does not have."""
    if group := unknown_group(pattern, replacement):
        raise ValueError(f"{option}: {replacement} has {group}, and the pattern {pattern} has no such group")


def added_name(text: str, prefix: str) -> str:
    """Name of the field or header that `[STRUCT.]FIELD[:NAME]` of add.fields or add.headers adds."""
    place, _, alias = text.partition(":")
    return prefix + (alias or place.replace(".", "_"))


class Unwrap(Options):
    """Options of ExtractNewRecordState, which makes a plain row of an envelope."""

    delete_tombstone_handling_mode: (
        Literal["drop", "tombstone", "rewrite", "rewrite-with-tombstone", "delete-to-tombstone"] | None
    ) = None
    drop_tombstones: bool | None = None
    delete_handling_mode: Literal["drop", "none", "rewrite"] | None = None
    add_fields: CommaList = ()
    add_fields_prefix: str = "__"
    add_headers: CommaList = ()
    add_headers_prefix: str = "__"
    route_by_field: str = ""
    drop_fields_header_name: str = ""
    drop_fields_from_key: bool = False
    drop_fields_keep_schema_compatible: bool = True
    replace_null_with_default: bool = False

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.is_legacy and self.delete_tombstone_handling_mode is not None:
            raise ValueError("delete.tombstone.handling.mode does not go with drop.tombstones and delete.handling.mode")
        for field in (*self.add_fields, *self.add_headers):
            if not re.fullmatch(r"[^.:]+(\.[^.:]+)?(:[^:]+)?", field):
                raise ValueError(f"add.fields, add.headers: {field} is not of the form [STRUCT.]FIELD[:NAME]")
        self._refuse_twice()
        return self

    def _refuse_twice(self) -> None:
        """Raise ValueError where two of the fields that each row gets would have one name, which no table's rows can have."""
        taken = {"__deleted": "the marker of rewritten deletes"} if self.rewrites_deletes else {}
        for field in self.add_fields:
            name = added_name(field, self.add_fields_prefix)
            if name in taken:
                given = field.partition(":")[0]
                raise ValueError(
                    f"add.fields: {taken[name]} and {field} would both be named {name}; write {given}:OTHER_NAME"
                )
            taken[name] = field

    @property
    def rewrites_deletes(self) -> bool:
        """Whether a delete becomes the row before, with `__deleted`."""
        return self.delete_handling_mode == "rewrite" or (self.delete_tombstone_handling_mode or "").startswith("rewrite")

    @property
    def is_legacy(self) -> bool:
        """Whether the options of before `delete.tombstone.handling.mode` are given."""
        return self.drop_tombstones is not None or self.delete_handling_mode is not None


class ChangedFields(Options):
    """Options of ExtractChangedRecordState, which names the changed, and the unchanged, fields in headers; '' for no such
    header."""

    header_changed_name: str = ""
    header_unchanged_name: str = ""


class LogicalTable(Options):
    """Options of ByLogicalTableRouter, which gives records of several tables one topic, by a regular expression of their own
    topics."""

    topic_regex: Regex
    topic_replacement: str = Field(min_length=1)
    key_enforce_uniqueness: bool = True
    key_field_name: str = "__dbz__physicalTableIdentifier"
    key_field_regex: Regex = ""
    key_field_replacement: str = ""
    schema_name_adjustment_mode: Literal["none", "avro", "avro_unicode"] = "none"
    logical_table_cache_size: int = 16

    @model_validator(mode="after")
    def _replacement(self) -> Self:
        if self.key_field_regex and not self.key_field_replacement:
            raise ValueError("key.field.replacement: needed with key.field.regex")
        _have_groups("topic.replacement", self.topic_regex, self.topic_replacement)
        _have_groups("key.field.replacement", self.key_field_regex, self.key_field_replacement)
        return self


class Router(Options):
    """Options of RegexRouter, which gives records another topic, by a regular expression of their own."""

    regex: Regex
    replacement: str

    @model_validator(mode="after")
    def _groups(self) -> Self:
        _have_groups("replacement", self.regex, self.replacement)
        return self


class Expression(Options):
    """Options that Filter and ContentBasedRouter have in common: language (CEL only), which topics, and what becomes of records
    without value."""

    language: str
    topic_regex: Regex = ""
    null_handling_mode: Literal["keep", "drop", "evaluate"] = "keep"

    @field_validator("language")
    @classmethod
    def _known(cls, language: str) -> str:
        if language.strip().lower() != "cel":
            raise ValueError(f"{language} cannot run without Java; write the expression in CEL and set language=cel")
        return "cel"


class FilterByExpression(Expression):
    """Options of Debezium's Filter, which keeps the records that a CEL expression is true of."""

    condition: str


class RouteByExpression(Expression):
    """Options of ContentBasedRouter, which gives records the topic that a CEL expression returns."""

    topic_expression: str


class DropAll(Options):
    """Options, none, of Kafka's Filter, which leaves out all records that its predicate is true of."""


class Outbox(Options):
    """Options of EventRouter, which makes messages of the rows of an outbox table. `table_field_event_type` has no effect, as in
    Debezium."""

    table_field_event_id: str = "id"
    table_field_event_key: str = ""
    table_field_event_type: str = "type"
    table_field_event_timestamp: str = ""
    table_field_event_payload: str = "payload"
    table_field_event_schema_version: str = ""
    table_fields_additional_placement: Pairs = ()
    table_fields_additional_error_on_missing: bool = True
    table_expand_json_payload: bool = False
    table_json_payload_null_behavior: Literal["ignore", "optional_bytes"] = "ignore"
    table_op_invalid_behavior: Literal["warn", "error", "fatal"] = "warn"
    route_by_field: str = "aggregatetype"
    route_topic_regex: Regex = "(?<routedByValue>.*)"
    route_topic_replacement: str = "outbox.event.${routedByValue}"
    route_tombstone_on_empty_payload: bool = False
    tracing_span_context_field: str = ""
    tracing_operation_name: str = ""
    tracing_with_context_field_only: str = ""

    @model_validator(mode="after")
    def _placements(self) -> Self:
        for placed in self.table_fields_additional_placement:
            if len(placed) not in (2, 3) or placed[1].lower() not in ("header", "envelope", "partition"):
                raise ValueError(
                    f"table.fields.additional.placement: {':'.join(placed)} is not FIELD:header|envelope|partition[:NAME]"
                )
        for option in ("tracing_span_context_field", "tracing_operation_name", "tracing_with_context_field_only"):
            if getattr(self, option):
                raise ValueError(
                    f"{option.replace('_', '.')}: not supported; spans are OpenTelemetry's for Java. To pass on a trace"
                    " context, place its column in a header: table.fields.additional.placement=FIELD:header"
                )
        _have_groups("route.topic.replacement", self.route_topic_regex, self.route_topic_replacement)
        return self


class HeaderToValue(Options):
    """Options of HeaderToValue, which moves or copies headers into fields of the value. `headers` and `fields` go in pairs."""

    headers: CommaList = Field(min_length=1)
    fields_: CommaList = Field(alias="fields", min_length=1)
    operation: Literal["move", "copy"]

    @model_validator(mode="after")
    def _paired(self) -> Self:
        if len(self.headers) != len(self.fields_):
            raise ValueError("headers and fields: both lists must have the same length")
        return self


class InsertHeader(Options):
    """Options of InsertHeader, which adds a header with a constant."""

    header: str
    value_literal: str


class DropHeaders(Options):
    """Options of DropHeaders, which takes headers out."""

    headers: CommaList = Field(min_length=1)


def _zone(name: str) -> str:
    if not _OFFSET.fullmatch(name):
        try:
            ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError(
                f"{name} is neither a time zone such as America/Los_Angeles nor an offset such as +08:00"
            ) from None
    return name


class TimezoneConverter(Options):
    """Options of TimezoneConverter, which converts times to a time zone."""

    converted_timezone: Annotated[str, AfterValidator(_zone)]
    include_list: CommaList = ()
    exclude_list: CommaList = ()

    @model_validator(mode="after")
    def _one_list(self) -> Self:
        if self.include_list and self.exclude_list:
            raise ValueError("include.list and exclude.list: only one of them may be given")
        rules = (*self.include_list, *self.exclude_list)
        for rule in rules:
            if rule.count(":") > 2 or ":" not in rules[0]:
                raise ValueError(f"{rule} is not of the form source:TABLE[:FIELD], topic:TOPIC[:FIELD] or NAME:FIELD")
        return self


class TopicNameMatches(Options):
    """Options of a predicate that is true of records whose topic matches a pattern as a whole."""

    pattern: Regex


class HasHeaderKey(Options):
    """Options of a predicate that is true of records that have a header of this name."""

    name: str


class RecordIsTombstone(Options):
    """Options, none, of a predicate that is true of records without value."""


_KAFKA = "org.apache.kafka.connect.transforms."
_DEBEZIUM = "io.debezium.transforms."
_PREDICATES = f"{_KAFKA}predicates."

SIDED: Mapping[str, type[OfSide]] = {
    f"{_KAFKA}{kind.__name__}": kind
    for kind in (
        ReplaceField,
        MaskField,
        InsertField,
        ExtractField,
        HoistField,
        Flatten,
        HeaderFrom,
        Cast,
        TimestampConverter,
        SetSchemaMetadata,
    )
}
"""Transformations whose type ends in `$Key` or `$Value`."""

TRANSFORMATIONS: Mapping[str, type[Options]] = {
    f"{_DEBEZIUM}ExtractNewRecordState": Unwrap,
    f"{_DEBEZIUM}ExtractChangedRecordState": ChangedFields,
    f"{_DEBEZIUM}ByLogicalTableRouter": LogicalTable,
    f"{_DEBEZIUM}ContentBasedRouter": RouteByExpression,
    f"{_DEBEZIUM}Filter": FilterByExpression,
    f"{_DEBEZIUM}outbox.EventRouter": Outbox,
    f"{_DEBEZIUM}HeaderToValue": HeaderToValue,
    f"{_DEBEZIUM}TimezoneConverter": TimezoneConverter,
    f"{_KAFKA}RegexRouter": Router,
    f"{_KAFKA}ValueToKey": ValueToKey,
    f"{_KAFKA}InsertHeader": InsertHeader,
    f"{_KAFKA}DropHeaders": DropHeaders,
    f"{_KAFKA}Filter": DropAll,
    **{f"{name}${side}": kind for name, kind in SIDED.items() for side in ("Key", "Value")},
}

PREDICATES: Mapping[str, type[Options]] = {
    f"{_PREDICATES}TopicNameMatches": TopicNameMatches,
    f"{_PREDICATES}HasHeaderKey": HasHeaderKey,
    f"{_PREDICATES}RecordIsTombstone": RecordIsTombstone,
}
