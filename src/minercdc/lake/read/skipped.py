"""Finds the reasons why the lake and verify cannot read the records of a connector."""

from __future__ import annotations

from minercdc.config.load import ConnectorConfig
from minercdc.errors import LakeError


def refuse_other_forms(config: ConnectorConfig) -> None:
    """Raise LakeError when the connector's records are in a form that is not read back."""
    if reason := config.converters.not_read_back():
        raise LakeError(
            f"{reason}, which are not read back",
            hint="The lake and verify read Debezium's envelopes: run a connector with other converters for them.",
        )
    if config.transforms:
        names = ", ".join(one.name for one in config.transforms)
        raise LakeError(
            f"the records of this connector are transformed ({names}), and cannot be read back",
            hint="The lake and verify read Debezium's envelopes: run a connector without transforms for them.",
        )
    if config.messages.legacy_decimal_handling_strategy:
        raise LakeError(
            "the numbers of this connector are those of legacy.decimal.handling.strategy, which are not read back",
            hint="Leave legacy.decimal.handling.strategy out for the lake and verify.",
        )
    if config.custom_converters:
        raise LakeError(
            "the columns of this connector are converted (converters), and are not read back",
            hint="Leave converters out for the lake and verify.",
        )
