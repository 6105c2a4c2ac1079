"""Decides by `snapshot.mode` what a start of the connector does before it streams. Pure.

    mode                  rows of the tables      structures           stream   when redo is gone
    initial               first start             first start          yes      stops
    initial_only          first start             first start          no       -
    no_data               never                   first start          yes      stops
    always                every start             every start          yes      -
    recovery              never                   every start          yes      stops
    when_needed           first start             first start          yes      new snapshot
    configuration_based   as five properties say
    custom                as a Python callable says

"First start" means: nothing was stored yet, or an interrupted snapshot was. A restart within the process is no start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from minercdc.config.plugin import load_callable
from minercdc.config.sections import SnapshotConfig
from minercdc.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Start:
    """Facts that are known when a connector starts.

    :param offset_exists: something was stored by an earlier run.
    :param snapshot_under_way: what was stored is an unfinished snapshot.
    """

    offset_exists: bool
    snapshot_under_way: bool

    @property
    def is_first(self) -> bool:
        """Whether it is a first start: nothing was stored yet, or an unfinished snapshot was."""
        return not self.offset_exists or self.snapshot_under_way


@dataclass(frozen=True, slots=True)
class Steps:
    """What a start does; a callable of `snapshot.mode=custom` returns one.

    :param data: read the tables' rows, which includes their structures.
    :param schema: read the tables' structures.
    :param stream: go on with the changes.
    :param again_on_schema_error: read the structures again when the schema history cannot be used.
    :param again_on_data_error: take a new snapshot when redo of the stored position is gone.
    """

    data: bool
    schema: bool
    stream: bool = True
    again_on_schema_error: bool = False
    again_on_data_error: bool = False


Decision: TypeAlias = Callable[[Start], Steps]

_DECISIONS: Mapping[str, Decision] = {
    "initial": lambda start: Steps(start.is_first, start.is_first),
    "initial_only": lambda start: Steps(start.is_first, start.is_first, stream=False),
    "no_data": lambda start: Steps(False, start.is_first),
    "always": lambda start: Steps(True, True),
    "recovery": lambda start: Steps(False, True, again_on_schema_error=True),
    "when_needed": lambda start: Steps(start.is_first, start.is_first, again_on_data_error=True),
}


def decision_of(config: SnapshotConfig) -> Decision:
    """The function that `snapshot.mode` names, from the facts of a start to its steps.

    :raises ConfigError: `snapshot.mode.custom.name` names nothing that can be called. The returned function raises it, too,
        when what is named there returns no Steps.
    """
    mode = config.snapshot_mode
    if mode == "configuration_based":
        return lambda _start: Steps(
            config.snapshot_mode_configuration_based_snapshot_data,
            config.snapshot_mode_configuration_based_snapshot_schema,
            config.snapshot_mode_configuration_based_start_stream,
            config.snapshot_mode_configuration_based_snapshot_on_schema_error,
            config.snapshot_mode_configuration_based_snapshot_on_data_error,
        )
    if mode == "custom":
        return _custom(config.snapshot_mode_custom_name or "")
    return _DECISIONS[mode]


def _custom(name: str) -> Decision:
    called = load_callable(name, "snapshot.mode.custom.name", "start")

    def decide(start: Start) -> Steps:
        steps = called(start)
        if not isinstance(steps, Steps):
            raise ConfigError([f"snapshot.mode.custom.name: {name} returned {steps!r}, not minercdc.SnapshotSteps"])
        return steps

    return decide
