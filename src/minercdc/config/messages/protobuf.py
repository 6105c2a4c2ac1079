"""Properties of Connect's ProtobufConverter, beside those of the registry."""

from __future__ import annotations

from pydantic import Field

from minercdc.config.messages.registries import SAME
from minercdc.config.section import Section


class ProtobufConfig(Section):
    """How messages and schemas in Protobuf are written."""

    value_converter_optional_for_nullables: bool = Field(
        False,
        description="Of Protobuf: nullable fields have the label `optional`, so that readers can distinguish null from 0 or an empty text.",
    )
    key_converter_optional_for_nullables: bool = Field(False, description=SAME)
    value_converter_wrapper_for_nullables: bool = Field(
        False, description="Of Protobuf: nullable fields of plain types are `google.protobuf.StringValue` and the like."
    )
    key_converter_wrapper_for_nullables: bool = Field(False, description=SAME)
    value_converter_scrub_invalid_names: bool = Field(
        False,
        description="Of Protobuf: replace characters that names must not have, `EMP$ID` by `EMP_24ID`; otherwise such a table is suspended.",
    )
    key_converter_scrub_invalid_names: bool = Field(False, description=SAME)
    value_converter_skip_known_types: bool = Field(
        True,
        description="Of Protobuf: do not register `confluent/type/decimal.proto` and `confluent/meta.proto` as references;"
        " Confluent's registry has them, others may need `false`.",
    )
    key_converter_skip_known_types: bool = Field(True, description=SAME)
