"""Builds the chain from the configuration's transformations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import regex

from minercdc.config import extensions
from minercdc.config.messages.registries import Side
from minercdc.config.transforms import field_options
from minercdc.config.transforms import options as options_of
from minercdc.config.transforms.chain import Predicate, Transformation
from minercdc.config.transforms.option_form import ExtensionOptions, Options
from minercdc.errors import ConfigError
from minercdc.messages.transforms import (
    casts,
    expressions,
    fields,
    headers,
    outbox,
    routing,
    time_zones,
    unwrap,
)
from minercdc.messages.transforms.chain import Chain, Step
from minercdc.messages.transforms.drawings import draw_of
from minercdc.messages.transforms.record import ConnectRecord, Transform
from minercdc.messages.transforms.routing import SECONDS
from minercdc.schema.name_adjustment import schema_name

# By the class of the options.
_PLAIN: dict[type[Options], Callable[[Any], Transform]] = {
    options_of.Unwrap: unwrap.unwrap,
    options_of.ChangedFields: unwrap.changed_fields,
    options_of.LogicalTable: lambda o: routing.logical_table(o, schema_name(o.schema_name_adjustment_mode)),
    options_of.Router: routing.regex_router,
    options_of.FilterByExpression: expressions.filter_by_expression,
    options_of.RouteByExpression: expressions.route_by_expression,
    options_of.DropAll: lambda _: lambda _: None,
    options_of.Outbox: outbox.event_router,
    field_options.ValueToKey: fields.value_to_key,
    options_of.HeaderToValue: headers.header_to_value,
    options_of.InsertHeader: headers.insert_header,
    options_of.DropHeaders: headers.drop_headers,
    options_of.TimezoneConverter: time_zones.time_zone_converter,
}
_OF_SIDE: dict[type[Options], Callable[[Any, Side], Transform]] = {
    field_options.ReplaceField: fields.replace_field,
    field_options.MaskField: fields.mask_field,
    field_options.InsertField: fields.insert_field,
    field_options.ExtractField: fields.extract_field,
    field_options.HoistField: fields.hoist_field,
    field_options.Flatten: fields.flatten,
    field_options.HeaderFrom: headers.header_from,
    field_options.SetSchemaMetadata: fields.set_schema_metadata,
    field_options.Cast: casts.cast,
    field_options.TimestampConverter: casts.timestamp_converter,
}


def chain_of(transformations: Sequence[Transformation]) -> Chain:
    """The chain of a configuration.

    :raises ConfigError: an expression or format cannot be compiled; all such problems are listed.
    """
    steps, problems = [], []
    for one in transformations:
        try:
            steps.append(Step(one.name, _made(one), _applies(one.predicate), draw_of(one.options, _side_of(one))))
        except ConfigError as error:
            problems += [f"transforms.{one.name}.{problem}" for problem in error.problems]
        except ValueError as error:
            problems.append(f"transforms.{one.name}.{error}")
    if problems:
        raise ConfigError(problems)
    return Chain(steps)


def _made(one: Transformation) -> Transform:
    kind = type(one.options)
    if isinstance(one.options, ExtensionOptions):
        return _of_extension(one.type, one.options.given)
    if kind in _PLAIN:
        return _PLAIN[kind](one.options)
    return _OF_SIDE[kind](one.options, _side_of(one))


def _side_of(one: Transformation) -> Side:
    return "key" if one.type.endswith("$Key") else "value"


def _of_extension(type_: str, options: Mapping[str, str]) -> Transform:
    """The transformation of another package; what it raises for its options is a problem of the configuration."""
    made = extensions.loaded(extensions.TRANSFORMS, type_, "type")
    try:
        transform: Transform = made(options)
    except Exception as error:  # code of another package
        raise ConfigError([f"type: {type_} refuses its options: {error}"]) from error
    return transform


def _applies(predicate: Predicate | None) -> Callable[[ConnectRecord], bool] | None:
    if predicate is None:
        return None
    holds = _holds(predicate.options)
    return (lambda record: not holds(record)) if predicate.negate else holds


def _holds(options: Options) -> Callable[[ConnectRecord], bool]:
    if isinstance(options, options_of.TopicNameMatches):
        pattern = regex.compile(options.pattern)
        return lambda record: pattern.fullmatch(record.topic, timeout=SECONDS) is not None
    if isinstance(options, options_of.HasHeaderKey):
        wanted = options.name
        return lambda record: any(name == wanted for name, _ in record.headers)
    assert isinstance(options, options_of.RecordIsTombstone)
    return lambda record: record.value is None
