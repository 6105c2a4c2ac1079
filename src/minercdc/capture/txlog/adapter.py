"""Makes the adapter `txlog`, which selects rows by what triggers noted."""

from __future__ import annotations

from minercdc.capture.adapter import Adapter, CaptureContext
from minercdc.capture.txlog.capture import TxlogCapture
from minercdc.capture.txlog.names import OWN_TABLES
from minercdc.capture.txlog.noted import begin_after
from minercdc.capture.txlog.position import TxlogPosition
from minercdc.capture.txlog.prerequisites import TxlogPrerequisites
from minercdc.config.load import ConnectorConfig


class TxlogFactory:
    """The `capture.adapter.AdapterFactory` of `txlog`: opens an adapter that selects rows by what triggers noted."""

    family = "txlog"
    reads_redo = False
    prerequisites = TxlogPrerequisites()

    def open(self, context: CaptureContext) -> Adapter:
        """An adapter that has connected to nothing yet. The position after a snapshot is its SCN. `unreadable` always gives None:
        minercdc removes nothing from the log of transactions, and whether others did is not looked at."""
        config = context.config
        capture = TxlogCapture(
            *(context.connect_pdb, context.tables, context.mined, config.txlog, config.capture),
            database=context.database,
            split=context.split,
        )
        return Adapter(capture, lambda scn, _: TxlogPosition(scn), lambda scn: begin_after(context, scn), lambda _: None)

    def own_tables(self, config: ConnectorConfig) -> frozenset[tuple[str, str]]:
        """The tables that `minercdc txlog install` makes, with `*` for the schema, as they may be in any."""
        return frozenset(("*", name) for name in OWN_TABLES)
