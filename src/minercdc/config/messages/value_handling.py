"""The settings of the codecs of `values/`, from a configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minercdc.values.family import ValueHandling

if TYPE_CHECKING:
    from minercdc.config.sections import ValueConfig  # takes long to load, and a Spark task has no use for it


def value_handling(config: ValueConfig, *, legacy_decimal: bool = False) -> ValueHandling:
    """The options by which codecs represent decimals, times, intervals, RAW and unavailable values.

    :param legacy_decimal: `legacy.decimal.handling.strategy`.
    """
    return ValueHandling(
        decimal=config.decimal_handling_mode,
        time_precision=config.time_precision_mode,
        interval=config.interval_handling_mode,
        binary=config.binary_handling_mode,
        unavailable=config.unavailable_value_placeholder,
        legacy_decimal=legacy_decimal,
    )
