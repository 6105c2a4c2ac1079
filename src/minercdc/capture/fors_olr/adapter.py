"""Makes the adapter `fors_olr`, which gets changes from FORS Oracle Logical Replicator."""

from __future__ import annotations

from typing import Final

from minercdc.capture.adapter import Adapter, CaptureContext
from minercdc.capture.database_identity import elsewhere, here
from minercdc.capture.fors_olr.capture import ForsCapture
from minercdc.capture.fors_olr.position import ForsPosition
from minercdc.capture.logminer.open_at import mine_from
from minercdc.capture.server_prerequisites import ServerPrerequisites
from minercdc.config.load import ConnectorConfig


class ForsFactory:
    """The `capture.adapter.AdapterFactory` of `fors_olr`: opens an adapter that gets changes from the server's TCP port."""

    family = "fors_olr"
    reads_redo = True
    prerequisites = ServerPrerequisites("FORS Oracle Logical Replicator does not send values of columns of these types")

    def open(self, context: CaptureContext) -> Adapter:
        """An adapter that has connected to nothing yet. Whether redo of a position is there, only the server knows, once
        streaming begins: `unreadable` says only whether it is of this database. Open transactions are not known."""
        container = context.database if context.config.database.database_pdb_name else None
        return Adapter(
            ForsCapture(context),
            lambda scn, begun: here(context.connect_pdb, ForsPosition(scn + 1, begun=min(begun, scn))),
            # An SCN of the past: redo shows what was open there.
            lambda scn: mine_from(context.connect_root, scn, container, context.containers),
            # Only the server knows which redo it can read: it answers StartSCN.
            lambda position: elsewhere(context.connect_pdb, position),
        )

    def own_tables(self, config: ConnectorConfig) -> frozenset[tuple[str, str]]:
        """Empty: nothing is written to the source."""
        return frozenset()


FORS_OLR: Final = ForsFactory()
