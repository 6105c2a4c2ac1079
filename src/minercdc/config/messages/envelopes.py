"""Refuses transformations that remove the envelope, if the converter needs envelopes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from minercdc.config.messages.converters import CLOUD_EVENTS, ConverterConfig
from minercdc.config.section import Section
from minercdc.config.transforms.chain import Transformation

_LEAVE_NONE = (".ExtractNewRecordState", ".EventRouter", ".ExtractField$Value", ".HoistField$Value", ".Flatten$Value")


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
