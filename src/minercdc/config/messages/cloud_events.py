"""Properties of Debezium's CloudEventsConverter."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from minercdc.config.section import Section

_Serializer = Literal["json", "avro"]
_Metadata = Literal[
    "value,id:generate,type:generate",
    "value,id:generate,type:generate,traceparent:header",
    "value,id:generate,type:generate,traceparent:header,dataSchemaName:generate",
]
_METADATA: _Metadata = "value,id:generate,type:generate"


class CloudEventsConfig(Section):
    """How events are written as CloudEvents."""

    value_converter_serializer_type: _Serializer = Field(
        "json", description="Of a CloudEvent: its envelope is JSON or Avro; the latter needs `data` in Avro."
    )
    value_converter_data_serializer_type: _Serializer = Field(
        "json",
        description="Of a CloudEvent: its `data` is JSON, or Avro with a registry by `value.converter.avro.schema.registry.url`"
        " or `value.converter.avro.apicurio.registry.url`.",
    )
    value_converter_json_schemas_enable: bool = Field(True, description="Of a CloudEvent: `data` in JSON has its schema.")
    value_converter_extension_attributes_enable: bool = Field(
        True, description="Of a CloudEvent: it has attributes `iodebezium…` from `source`."
    )
    value_converter_schema_cloudevents_name: str = Field(
        "",
        description="Of a CloudEvent in Avro: name of its schema; default `<topic.prefix>.<database>.CloudEvents.Envelope`.",
    )
    value_converter_schema_name_adjustment_mode: Literal["none", "avro", "avro_unicode"] = Field(
        "avro", description="Of a CloudEvent in Avro: how that name is adjusted to Avro."
    )
    value_converter_metadata_source: _Metadata = Field(
        _METADATA,
        description="Of a CloudEvent: source of its attributes. Debezium's defaults are used; minercdc has no headers with them, so `header` for others is refused.",
    )
    minercdc_cloudevents_mode: Literal["structured", "binary"] = Field(
        "structured",
        description="`structured`: the value is the whole event. `binary`: the value is `data` alone, and the attributes are headers"
        " `ce_…` beside `content-type`, by CloudEvents' Kafka binding.",
    )
