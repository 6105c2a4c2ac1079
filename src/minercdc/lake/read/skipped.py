"""Finds the reasons why the lake and verify cannot read the records of a connector, or do not get all of them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

from minercdc.config.load import ConnectorConfig
from minercdc.errors import LakeError

_log = logging.getLogger(__name__)

_LACKS: Final[Mapping[str, str]] = {
    "c": "rows that are inserted are not in its tables until they change",
    "u": "rows that change keep their older values in its tables",
    "d": "rows that are deleted stay in its tables",
}


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


def warn_of_skipped(config: ConnectorConfig) -> None:
    """Log a warning where the connector publishes not all operations, so that lake tables are not equal to the source. A TRUNCATE is in the
    schema history, too."""
    skipped = [operation for operation in _LACKS if operation in config.values.skipped_operations]
    if skipped:
        lacks = "; ".join(_LACKS[operation] for operation in skipped)
        _log.warning("skipped.operations has %s, which the lake does not get: %s", ", ".join(skipped), lacks)
