"""Makes the adapters `logminer` and `logminer_unbuffered`, which mine redo by LogMiner."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import replace
from datetime import timedelta
from typing import Final

from minercdc.capture.adapter import Adapter, CaptureContext
from minercdc.capture.database_identity import pdb_ids
from minercdc.capture.logminer.capture import LogMinerCapture
from minercdc.capture.logminer.kept.copies import KeptCopies
from minercdc.capture.logminer.kept.files import KeptFiles
from minercdc.capture.logminer.kept.keeping import KeepingRules, captured_tables
from minercdc.capture.logminer.open_at import mine_from
from minercdc.capture.logminer.position import LogMinerPosition
from minercdc.capture.logminer.prerequisites import LogMinerPrerequisites
from minercdc.capture.logminer.session.flush import RedoFlush
from minercdc.capture.logminer.session.query import ContainerNames
from minercdc.capture.logminer.start import missing, start_position
from minercdc.config.load import ConnectorConfig
from minercdc.errors import MinerCdcError
from minercdc.stream.offset import Position


class LogMinerFactory:
    """The `capture.adapter.AdapterFactory` of `logminer` and `logminer_unbuffered`: opens an adapter that mines redo by LogMiner.

    :param committed: let LogMiner hold back what is not committed (COMMITTED_DATA_ONLY) instead of buffering it here.
    """

    family = "logminer"
    reads_redo = True
    prerequisites = LogMinerPrerequisites()

    def __init__(self, *, committed: bool) -> None:
        self._committed = committed

    def open(self, context: CaptureContext) -> Adapter:
        """An adapter that has connected to nothing yet, for all pluggable databases of `context`. It knows the open transactions
        only when they are buffered here; its `unreadable` raises TypeError for a position of another adapter."""
        config, connect = context.config, context.connect_root
        pdbs = tuple(pdb.database for pdb in context.pdbs)
        container: ContainerNames = pdbs or (context.database if config.database.database_pdb_name else None)
        flushed = config.log_mining.minercdc_log_mining_flush_table
        name, topic = _directory_name(config), context.open_transactions_topic
        copies = KeptCopies(topic, name, context.counters.spent) if topic is not None else None
        files = KeptFiles(config.capture.minercdc_state_dir, name, copies)
        rules = self._rules(context, container)
        flush = RedoFlush(context.connect_pdb, flushed) if flushed else None
        capture = LogMinerCapture(context, container, committed=self._committed, flush=flush, files=files, rules=rules)

        def unreadable(position: Position) -> MinerCdcError | None:
            if not isinstance(position, LogMinerPosition):
                raise TypeError(f"{type(position).__name__} is not a position of LogMiner")
            return missing(connect, position, config.log_mining, files, rules, context.secondary)

        return Adapter(
            capture,
            lambda scn, begun: replace(start_position(connect, scn, begun, pdbs), pdb_ids=pdb_ids(context.places)),
            lambda scn: mine_from(connect, scn, container, context.containers),
            unreadable,
            None if self._committed else capture,
        )

    def _rules(self, context: CaptureContext, container: ContainerNames) -> KeepingRules | None:
        mining = context.config.log_mining
        if self._committed or context.config.capture.lob_enabled or sys.byteorder != "little":
            return None
        keeps = mining.minercdc_log_mining_buffer_durable != "none"
        after = timedelta(milliseconds=mining.minercdc_log_mining_buffer_durable_after_ms) if keeps else None
        return KeepingRules(after, captured_tables(context.mined, container, (pdb.mined for pdb in context.pdbs)))

    def own_tables(self, config: ConnectorConfig) -> frozenset[tuple[str, str]]:
        """(Schema, name) of the table of `minercdc.log.mining.flush.table`, in capitals; empty when that is not set."""
        flushed = config.log_mining.minercdc_log_mining_flush_table
        return frozenset([(config.database.session_user.upper(), flushed.upper())] if flushed else ())


def _directory_name(config: ConnectorConfig) -> str:
    """The name of the directory for kept transactions. It depends on prefix and sink, too: connectors of one name that differ in
    these have offsets of their own, and may share `minercdc.state.dir`."""
    sink = config.sink
    what = config.identity.topic_prefix, sink.debezium_sink_type, sink.minercdc_sink_path
    return f"{config.identity.name}-{hashlib.sha256(repr(what).encode()).hexdigest()[:8]}"


BUFFERED: Final = LogMinerFactory(committed=False)
UNBUFFERED: Final = LogMinerFactory(committed=True)
