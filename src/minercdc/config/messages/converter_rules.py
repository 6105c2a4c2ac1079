"""What contradicts converters in other sections: transformations that remove the envelope, a prefix that names no schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from minercdc.config.messages.converters import APICURIO_AVRO, AVRO, CLOUD_EVENTS, PROTOBUF, ConverterConfig
from minercdc.config.section import Section
from minercdc.config.transforms.chain import Transformation
from minercdc.schema.name_adjustment import NAME

_LEAVE_NONE = (".ExtractNewRecordState", ".EventRouter", ".ExtractField$Value", ".HoistField$Value", ".Flatten$Value")
_FORMATS: Final = {AVRO: "Avro", APICURIO_AVRO: "Avro", PROTOBUF: "Protobuf"}


def without_envelope(converters: Section, transformations: Sequence[Transformation]) -> Iterator[str]:
    """What does not go with CloudEvents, a line each. Debezium's CloudEventsConverter makes a CloudEvent of an envelope, and null of every
    other value, so that such rows would be lost there without an error."""
    assert isinstance(converters, ConverterConfig)
    if converters.value_converter != CLOUD_EVENTS:
        return
    for one in transformations:
        if one.type.endswith(_LEAVE_NONE):
            yield (
                f"transforms.{one.name}.type: {one.type} removes the envelope, but value.converter={CLOUD_EVENTS} needs"
                " envelopes to make CloudEvents; remove one of them"
            )


def prefix_in_schemas(sections: Mapping[str, Any], transformations: Sequence[Transformation]) -> Iterator[str]:
    """A problem when a part of `topic.prefix` is no name of the format, and nothing adjusts names: no record of any table could be
    written. Transformations may give schemas other names; then nothing is said."""
    converters, prefix = sections["converters"], sections["identity"].topic_prefix
    if transformations or sections["values"].schema_name_adjustment_mode != "none":
        return
    formats = [_FORMATS[one] for one in (converters.key_converter, converters.value_converter) if one in _FORMATS]
    wrong = [part for part in str(prefix).split(".") if not NAME.fullmatch(part)]
    if formats and wrong:
        yield (
            f"topic.prefix: the names of all schemas begin with {prefix}, and {wrong[0]} is not a valid name in {formats[0]}: use letters, digits"
            " and _, not beginning with a digit; schema.name.adjustment.mode=avro replaces other characters"
        )
