"""Makes the adapter `txlog`, which selects rows by what triggers noted."""

from __future__ import annotations

from contextlib import closing
from typing import Final

from minercdc.capture.adapter import Adapter, CaptureContext
from minercdc.capture.database_identity import here, other_database
from minercdc.capture.txlog.capture import TxlogCapture
from minercdc.capture.txlog.names import OWN_TABLES
from minercdc.capture.txlog.noted import begin_after
from minercdc.capture.txlog.position import TxlogPosition
from minercdc.capture.txlog.prerequisites import TxlogPrerequisites
from minercdc.capture.txlog.purge import gap_after, has_mark, purged_up_to
from minercdc.config.load import ConnectorConfig
from minercdc.errors import MinerCdcError
from minercdc.oracle.dictionary.tables import read_table_ids
from minercdc.stream.offset import Position


class TxlogFactory:
    """The `capture.adapter.AdapterFactory` of `txlog`: opens an adapter that selects rows by what triggers noted."""

    family = "txlog"
    reads_redo = False
    prerequisites = TxlogPrerequisites()

    def open(self, context: CaptureContext) -> Adapter:
        """An adapter that has connected to nothing yet. The position after a snapshot is its SCN. `unreadable` looks whether a
        position is of this database, and whether `minercdc txlog purge` removed what it has not read; it raises TypeError for a position of another adapter."""
        config = context.config
        capture = TxlogCapture(
            context.connect_pdb,
            context.tables,
            context.mined,
            config.txlog,
            config.capture,
            database=context.database,
            split=context.split,
        )
        return Adapter(
            capture,
            lambda scn, _: here(context.connect_pdb, TxlogPosition(scn)),
            lambda scn: begin_after(context, scn),
            lambda position: _gap(context, position),
        )

    def own_tables(self, config: ConnectorConfig) -> frozenset[tuple[str, str]]:
        """The tables that `minercdc txlog install` makes, with `*` for the schema, as they may be in any."""
        return frozenset(("*", name) for name in OWN_TABLES)


def _gap(context: CaptureContext, position: Position) -> MinerCdcError | None:
    if not isinstance(position, TxlogPosition):
        raise TypeError(f"{type(position).__name__} is not a position of txlog")
    with closing(context.connect_pdb()) as connection:
        if gap := other_database(connection, position):
            return gap
        owners = {table.schema for table in read_table_ids(connection, context.mined, context.database)}
        purged = [purged_up_to(connection, owner) for owner in sorted(owners) if has_mark(connection, owner)]
    return gap_after(position, max(purged, default=0))


TXLOG: Final = TxlogFactory()
