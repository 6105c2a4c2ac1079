"""Makes the adapter `flashback`, which reads row versions."""

from __future__ import annotations

from typing import Final

from minercdc.capture.adapter import Adapter, CaptureContext
from minercdc.capture.database_identity import elsewhere, here
from minercdc.capture.flashback.capture import FlashbackCapture
from minercdc.capture.flashback.position import FlashbackPosition
from minercdc.capture.flashback.prerequisites import FlashbackPrerequisites
from minercdc.config.load import ConnectorConfig


class FlashbackFactory:
    """The `capture.adapter.AdapterFactory` of `flashback`: opens an adapter that reads row versions from undo."""

    family = "flashback"
    reads_redo = False
    prerequisites = FlashbackPrerequisites()

    def open(self, context: CaptureContext) -> Adapter:
        """An adapter that has connected to nothing yet. `unreadable` says only whether a position is of this database. The
        position after a snapshot is the SCN that follows the snapshot's."""
        config = context.config
        capture = FlashbackCapture(
            context.connect_pdb,
            context.tables,
            context.mined,
            config.flashback,
            config.capture,
            database=context.database,
            split=lambda: bool(context.split()),
            record_key=context.record_key,
        )
        connect = context.connect_pdb
        return Adapter(
            capture,
            lambda scn, _: here(connect, FlashbackPosition(scn + 1)),
            lambda scn: scn,
            # Whether undo is there does not matter: a table whose undo is gone is demoted, and read again.
            lambda position: elsewhere(connect, position),
        )

    def own_tables(self, config: ConnectorConfig) -> frozenset[tuple[str, str]]:
        """Empty: nothing is written to the source."""
        return frozenset()


FLASHBACK: Final = FlashbackFactory()
