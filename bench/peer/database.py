"""What both connectors' queries cost the database for the same workload: LogMiner sessions, rows, CPU time, as V$SQLAREA counts them.

The workload: busy and quiet minutes in turns. When it is busy, 200 changes of a captured table and 400 of another one come each second,
and a log ends every twenty seconds. Only the user of the connector counts.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from rich.console import Console
from rich.table import Table
from tests.parity.debezium import VERSION

from bench.peer.connectors import Arrivals, Ours, Theirs
from bench.peer.rates import create_topics, until_quiet, until_streaming
from bench.peer.works import Work, keys, transactions
from bench.processes import Sandbox
from bench.tables import LOADED, NARROW, SEED
from minercdc.local.kafka_broker import KafkaBroker

_USER = "C##MINERCDC"
_WORK = Work("database", (NARROW,), lambda sandbox, rows: transactions([NARROW], [1], sandbox, rows), 1)
_QUERY = "SELECT SQL_ID, SQL_TEXT, EXECUTIONS, ROWS_PROCESSED, CPU_TIME FROM V$SQLAREA WHERE PARSING_SCHEMA_NAME = :1"
_LOG_SECONDS = 20.0


class Spent(NamedTuple):
    """Executions, rows, and microseconds of the database's CPU."""

    executions: int
    rows: int
    cpu: int


@dataclass(slots=True)
class Costs:
    """By kind of statement, as far as V$SQLAREA was read."""

    seen: dict[str, Spent] = field(default_factory=dict)
    executions: Counter[str] = field(default_factory=Counter)
    rows: Counter[str] = field(default_factory=Counter)
    cpu: Counter[str] = field(default_factory=Counter)

    def take(self, now: Mapping[str, tuple[str, Spent]]) -> None:
        """Add what each statement has spent since it was seen last; one whose counts went down has begun again."""
        for sql_id, (text, spent) in now.items():
            last = self.seen.get(sql_id, Spent(0, 0, 0))
            if spent < last:
                last = Spent(0, 0, 0)
            kind = kind_of(text)
            self.executions[kind] += spent.executions - last.executions
            self.rows[kind] += spent.rows - last.rows
            self.cpu[kind] += spent.cpu - last.cpu
            self.seen[sql_id] = spent

    def forget(self) -> None:
        """Count from now on."""
        for counted in (self.executions, self.rows, self.cpu):
            counted.clear()


KINDS = {
    "START_LOGMNR": "LogMiner sessions started",
    "ADD_LOGFILE": "logs added",
    "V$LOGMNR_CONTENTS": "queries of V$LOGMNR_CONTENTS",
    "LAST_REDO_CHANGE#": "looks whether redo was written",
    "": "other statements",
}


def kind_of(sql: str) -> str:
    """Which of `KINDS` a statement is."""
    return next(kind for kind in KINDS if kind in sql.upper())


def compare_database(console: Console, minutes: int) -> None:
    """Print executions, rows and CPU seconds of both, by kind of statement."""
    with TemporaryDirectory(prefix="peer-") as place:
        directory = Path(place)
        broker = KafkaBroker(directory / "kafka")
        try:
            servers = broker.start().bootstrap_servers
            found = [_costs(kind, directory, servers, minutes) for kind in (Theirs, Ours)]
        finally:
            broker.stop()
    head = (f"{who}: {what}" for who in (f"Debezium {VERSION}", "minercdc") for what in ("executions", "rows", "CPU s"))
    table = Table(f"{minutes} min", *head)
    for kind, shown in KINDS.items():
        cells = [(f"{one.executions[kind]:,}", f"{one.rows[kind]:,}", f"{one.cpu[kind] / 1e6:.2f}") for one in found]
        table.add_row(shown, *(cell for line in cells for cell in line))
    console.print(table)


def _costs(kind: type[Ours] | type[Theirs], directory: Path, broker: str, minutes: int) -> Costs:
    own = directory / kind.__name__
    own.mkdir()
    name = f"d{kind.__name__}"
    topic = f"{name}.BENCH.{NARROW.name}"
    create_topics(broker, [topic, name])
    costs = Costs()
    with Sandbox(own, SEED) as sandbox, closing(kind(own, name, _WORK, "kafka", sandbox, broker)) as peer:
        peer.start()
        with closing(Arrivals(broker, [topic])) as arrived:
            until_streaming(peer, arrived, sandbox, _WORK.tables)
            before = until_quiet(arrived)
            costs.take(_statements(sandbox))
            costs.forget()
            done = 0
            for minute in range(minutes):
                until = time.monotonic() + 60
                ended = threading.Event()
                watch = threading.Thread(target=_watch, args=(sandbox, costs, ended))
                watch.start()
                if minute % 2 == 0:
                    done += _busy(sandbox, until)
                while time.monotonic() < until:
                    peer.check()
                    arrived()
                ended.set()
                watch.join()
            while arrived() < before + done:
                peer.check()
        costs.take(_statements(sandbox))
        peer.stop()
    return costs


def _busy(sandbox: Sandbox, until: float) -> int:
    """Changes in transactions of ten rows until then; how many there were of the captured table."""
    done, switched, begun = 0, time.monotonic(), time.monotonic()
    with (
        closing(sandbox.connect()) as application,
        closing(sandbox.connect("system", "oracle", "ORCLCDB")) as admin,
        application.cursor() as cursor,
        admin.cursor() as switching,
    ):
        while (now := time.monotonic()) < until:
            if now - switched > _LOG_SECONDS:
                switching.execute("ALTER SYSTEM SWITCH LOGFILE")
                switched = now
            for table in (NARROW, LOADED, LOADED):
                cursor.executemany(table.insert, [table.row(next(keys)) for _ in range(10)])
                application.commit()
            done += 10
            time.sleep(max(0.0, begun + done / 200 - time.monotonic()))
    return done


def _watch(sandbox: Sandbox, costs: Costs, ended: threading.Event) -> None:
    """Read V$SQLAREA before it forgets what was run."""
    while not ended.wait(5):
        costs.take(_statements(sandbox))


def _statements(sandbox: Sandbox) -> dict[str, tuple[str, Spent]]:
    with closing(sandbox.connect("system", "oracle", "ORCLCDB")) as admin, admin.cursor() as cursor:
        return {sql_id: (text, Spent(*spent)) for sql_id, text, *spent in cursor.execute(_QUERY, [_USER])}
