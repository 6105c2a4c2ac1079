"""Makes the adapter `olr`, which gets changes from OpenLogReplicator."""

from __future__ import annotations

from typing import Final

from minercdc.capture.adapter import Adapter, CaptureContext
from minercdc.capture.database_identity import elsewhere, here
from minercdc.capture.logminer.open_at import mine_from
from minercdc.capture.olr.capture import OlrCapture
from minercdc.capture.olr.position import OlrPosition
from minercdc.capture.server_prerequisites import ServerPrerequisites
from minercdc.config.load import ConnectorConfig


class OlrFactory:
    """The `capture.adapter.AdapterFactory` of `olr`: opens an adapter that gets changes from OpenLogReplicator's TCP port."""

    family = "olr"
    reads_redo = True
    prerequisites = ServerPrerequisites(
        "values of these column types cannot be read from OpenLogReplicator", read=("BOOLEAN",)
    )

    def open(self, context: CaptureContext) -> Adapter:
        """An adapter that has connected to nothing yet. Whether redo of a position is there, only OpenLogReplicator knows, once
        streaming begins: `unreadable` says only whether it is of this database. Open transactions are not known."""
        container = context.database if context.config.database.database_pdb_name else None
        return Adapter(
            OlrCapture(context),
            lambda scn, begun: here(context.connect_pdb, OlrPosition(scn + 1, begun=min(begun, scn))),
            # An SCN of the past: redo shows what was open there.
            lambda scn: mine_from(context.connect_root, scn, container, context.containers),
            # Only the server knows which redo it can read: it answers START.
            lambda position: elsewhere(context.connect_pdb, position),
        )

    def own_tables(self, config: ConnectorConfig) -> frozenset[tuple[str, str]]:
        """Empty: nothing is written to the source."""
        return frozenset()


OLR: Final = OlrFactory()
