"""What one relay keeps, whatever fills it."""

from __future__ import annotations

from dataclasses import dataclass

from minercdc.relay.buffer.progress_file import MaxScnFile, OffsetFile
from minercdc.relay.buffer.windows import EventBuffer
from minercdc.relay.server.statistics import Statistics
from minercdc.sinks.durable_files import OwnerLock


@dataclass(frozen=True, slots=True)
class RelayStore:
    """The buffer of a relay, and the files that say how far it is filled.

    :param buffer: the windows.
    :param offsets: the file with the offset of what fills the buffer.
    :param max_scn: the file with the SCN of the newest window.
    :param owner: of the relay's directory.
    :param statistics: counts what comes into the buffer.
    """

    buffer: EventBuffer
    offsets: OffsetFile
    max_scn: MaxScnFile
    owner: OwnerLock
    statistics: Statistics
