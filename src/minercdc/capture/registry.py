"""Adapters by the value of `database.connection.adapter`, and whether a stored offset fits one."""

from __future__ import annotations

from dataclasses import replace

from minercdc.capture.adapter import AdapterFactory
from minercdc.config import extensions
from minercdc.errors import ConfigError
from minercdc.stream.offset import Offset


def adapter_names() -> tuple[str, ...]:
    """The adapters that are installed: ours, and those of other packages."""
    return tuple(extensions.installed(extensions.ADAPTERS))


def adapter_factory(name: str) -> AdapterFactory:
    """The factory of the adapter `name`. Raises ConfigError when there is none, or it cannot be imported."""
    found: AdapterFactory = extensions.loaded(extensions.ADAPTERS, name, "database.connection.adapter")
    return found


def adopt(offset: Offset | None, name: str, *, handover_scn: int | None) -> Offset | None:
    """The part of a stored offset that the adapter `name` uses: all of its own family's; of another family's, all but its
    position, snapshot and partly delivered transaction. None when nothing is stored. An offset with neither position nor snapshot
    is returned as it is. Nothing is stored here.

    :param handover_scn: `minercdc.handover.scn`: the adapter goes on from it in place of that position; None when not given.
    :raises ConfigError: the offset holds a position of another family, and there is no `handover_scn`; or only an unfinished
        snapshot of another family.
    """
    if offset is None or _family(offset.adapter) == _family(name) or (offset.position is None and offset.snapshot is None):
        return offset
    if handover_scn is None or offset.position is None:
        unfinished = " unfinished snapshot" if offset.position is None else " position"
        raise ConfigError(
            [f"database.connection.adapter={name} cannot continue from the stored{unfinished} of {offset.adapter}"],
            hint=f"Set it back to {offset.adapter}; or, once its snapshot is finished, set minercdc.handover.scn to an SCN up to"
            f" which {offset.adapter} has delivered every commit; or use another connector name.",
        )
    return replace(offset, position=None, partial=None, snapshot=None)


def _family(name: str) -> str:
    return adapter_factory(name).family if name in adapter_names() else name
