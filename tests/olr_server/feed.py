"""What the redo of a sandbox holds, for the server to send: committed transactions, DDL, and how far it is read.

It is read by LogMiner, with the shapes that the statements of DDL give.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from tests.e2e.connector import Database
from tests.native_pair import taken_apart

from minercdc.capture.adapter import CaptureContext
from minercdc.capture.registry import adapter_factory
from minercdc.capture.table_selection import table_filter
from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.oracle.connect import connect, database_name
from minercdc.oracle.dictionary.tables import read_tables
from minercdc.oracle.scn import database_time_zone
from minercdc.schema.table import TableId, TableSchema
from minercdc.schema.tables import Tables
from minercdc.stream.counters.connector import Counters
from minercdc.stream.events import ChangeEvent, Progress, SchemaChange, TransactionInfo


@dataclass(frozen=True)
class Committed:
    """A transaction."""

    info: TransactionInfo
    changes: Sequence[ChangeEvent]


@dataclass(frozen=True)
class Checkpoint:
    """Redo is read up to an SCN."""

    scn: int
    time_us: int


Unit = Committed | SchemaChange | Checkpoint


@dataclass
class Feed:
    """Reads in a thread of its own, once it is started.

    :param schemas: whose tables are read.
    :param shapes: of the tables where reading begins, as far as they are not to be looked up.
    :param settings: of the connector that reads.
    :ivar units: so far, in order.
    :ivar error: why it ended.
    """

    sandbox: Database
    schemas: Sequence[str]
    directory: Path
    shapes: Sequence[TableSchema] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    units: list[Unit] = field(default_factory=list)
    error: BaseException | None = None

    def __post_init__(self) -> None:
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._grown: Callable[[], None] = lambda: None

    def start(self, scn: int, grown: Callable[[], None]) -> None:
        """Read redo from an SCN on; what was committed at or before it is left out. `grown` is called when `units` has."""
        self._grown = grown
        self._config = self._connector()
        self._thread = threading.Thread(target=self._run, args=(scn,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(30)

    def _run(self, scn: int) -> None:
        try:
            self._read(scn)
        except BaseException as error:
            self.error = error
            self._grown()
            if not self._stop.is_set():
                raise

    def _connector(self) -> ConnectorConfig:
        return parse_properties(
            {
                "topic.prefix": "olr",
                "database.hostname": self.sandbox.host,
                "database.port": str(self.sandbox.port),
                "database.user": "C##MINERCDC",
                "database.password": "minercdc",
                "database.dbname": self.sandbox.root_service,
                "database.pdb.name": self.sandbox.service,
                "schema.include.list": ",".join(name.upper() for name in self.schemas),
                "lob.enabled": "true",
                "minercdc.lob.reselect": "none",
                "minercdc.kafka.bootstrap.servers": "127.0.0.1:1",
                "minercdc.state.dir": str(self.directory),
                "poll.interval.ms": "20",
                **self.settings,
            }
        )

    def _read(self, scn: int) -> None:
        database = self._config.database
        context = CaptureContext(
            config=self._config,
            tables=Tables(self.shapes),
            mined=table_filter(self._config),
            database=database_name(database),
            connect_root=lambda: connect(database, "root"),
            connect_pdb=lambda: connect(database, "pdb"),
            read_table=self._read_table,
            time_zone=self._time_zone,
            counters=Counters(),
            reselect=None,
            unread=lambda _: frozenset(),
            unlogged=lambda _: "",
            record_key=lambda schema: schema.key,
        )
        opened = adapter_factory("logminer").open(context)
        pending: list[ChangeEvent] = []
        reached = 0
        with closing(opened.capture):
            for event in taken_apart(opened.capture.stream(opened.start_position(scn, scn), self._stop)):
                if isinstance(event, ChangeEvent):
                    pending.append(event)
                elif isinstance(event, SchemaChange):
                    reached = max(reached, event.scn)
                    if event.ddl:
                        self.units.append(event)
                elif isinstance(event, Progress) and event.committed is not None:
                    reached = max(reached, event.committed.commit_scn)
                    self.units.append(Committed(event.committed, pending))
                    pending = []
                elif isinstance(event, Progress):
                    if event.complete_scn >= reached:  # within a pass it is that of the pass before
                        self.units.append(Checkpoint(event.complete_scn, event.time_us))
                else:
                    raise AssertionError(f"{event} is not sent")
                self._grown()

    def _read_table(self, table: TableId) -> TableSchema | None:
        with closing(connect(self._config.database, "pdb")) as connection:
            return next(iter(read_tables(connection, [table])), None)

    def _time_zone(self) -> str:
        with closing(connect(self._config.database, "pdb")) as connection:
            return database_time_zone(connection)
