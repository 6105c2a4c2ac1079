"""Transformations that choose the topic by its name: RegexRouter, ByLogicalTableRouter."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import regex

from minercdc.config.debezium.java_regex import REFERENCE, group_of
from minercdc.config.transforms.options import LogicalTable, Router
from minercdc.errors import ValueDecodeError
from minercdc.messages.formats.connect import Schema
from minercdc.messages.transforms.record import BySchema, ConnectRecord, Transform, Typed, to_json
from minercdc.messages.transforms.schemas import STRING, bare, distinct, fields_of, member

SECONDS = 1.0  # for one name; a pattern that backtracks without end is a mistake


def replacing(pattern: str, replacement: str) -> Callable[[str], str | None]:
    """A function that puts a replacement in place of a whole text; None for a text that the pattern does not match. Both are written as
    in Java: `$1` and `${name}` stand for groups, all of which the pattern has. The function raises ValueDecodeError for a text that the
    pattern is not done with in a second."""
    compiled = regex.compile(pattern)

    @lru_cache(maxsize=4096)
    def replaced(text: str) -> str | None:
        try:
            match = compiled.fullmatch(text, timeout=SECONDS)
        except TimeoutError:
            raise ValueDecodeError(f"the pattern {pattern} did not finish matching {text} within {SECONDS:.0f} s") from None
        return None if match is None else _expanded(replacement, match)

    return replaced


def _expanded(replacement: str, match: Any) -> str:
    def group(found: re.Match[str]) -> str:
        wanted = group_of(found)
        return str(found[1]) if wanted is None else match.group(wanted) or ""

    return REFERENCE.sub(group, replacement)


def regex_router(options: Router) -> Transform:
    """The transformation RegexRouter: a record whose topic matches gets another one, others stay. It raises
    ValueDecodeError as `replacing`."""
    replaced = replacing(options.regex, options.replacement)

    def transform(record: ConnectRecord) -> ConnectRecord:
        topic = replaced(record.topic)
        return record if topic is None else record.with_topic(topic)

    return transform


def logical_table(options: LogicalTable, adjust: Callable[[str], str]) -> Transform:
    """The transformation ByLogicalTableRouter: a record whose topic matches gets the topic of the logical table, that name in its
    schemas, and with `key.enforce.uniqueness` in its key the field by which the tables differ. It raises DecodeError for a record
    that it does not fit.

    :param adjust: makes a schema's name of a topic's.
    """
    topic_of = replacing(options.topic_regex, options.topic_replacement)
    key_of = replacing(options.key_field_regex, options.key_field_replacement) if options.key_field_regex else None
    by_topic: dict[str, tuple[BySchema[Schema], BySchema[Schema]]] = {}

    def of_topic(topic: str) -> tuple[BySchema[Schema], BySchema[Schema]]:
        found = by_topic.get(topic)
        if found is None:
            name = adjust(topic)
            found = by_topic[topic] = (
                BySchema(lambda schema: _key_schema(schema, name, options)),
                BySchema(lambda schema: _envelope_schema(schema, name)),
            )
        return found

    def new_key(key: Typed, schema: Schema, topic: str) -> Typed:
        if not options.key_enforce_uniqueness:
            return Typed(schema, key.text)
        table = (key_of(topic) if key_of else None) or topic
        named = to_json({options.key_field_name: table})
        return Typed(schema, key.text[:-1] + b"," + named[1:] if key.text != b"{}" else named)

    def transform(record: ConnectRecord) -> ConnectRecord:
        topic = topic_of(record.topic)
        if not topic:
            return record
        of_key, of_value = of_topic(topic)
        key, value = record.key, record.value
        if key is not None:
            key = new_key(key, of_key(key.schema), record.topic)
        if value is not None and record.is_envelope:
            value = Typed(of_value(value.schema), value.text)
        return ConnectRecord(topic, key, value, record.headers, record.partition, record.timestamp_ms)

    return transform


def _key_schema(schema: Schema, name: str, options: LogicalTable) -> Schema:
    fields = [*fields_of(schema, "key.enforce.uniqueness: the key")]
    if options.key_enforce_uniqueness:
        fields.append(member(STRING, options.key_field_name))
    return {**schema, "fields": distinct(fields), "name": f"{name}.Key"}


def _envelope_schema(schema: Schema, name: str) -> Schema:
    fields = [
        {**field, "name": f"{name}.Value"} if field["field"] in ("before", "after") else field
        for field in fields_of(bare(schema), "the envelope")
    ]
    return {**schema, "fields": fields, "name": f"{name}.Envelope"}
