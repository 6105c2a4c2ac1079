"""A connector with signals that is killed and meets faults, and a judge of what it delivered."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence

from tests.checker.connector import Connector
from tests.checker.judge import _key, _named, _reshape
from tests.native_pair import taken_apart
from tests.sandbox_capture.lab import Lab

from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.schema.tables import Tables
from minercdc.signals.stage import SignalStage
from minercdc.signals.stage_builder import CapturedTables, signal_stage
from minercdc.stream.events import ChangeEvent, Event, Notification, Op, Progress, SchemaChange, SnapshotMark
from minercdc.stream.offset import SignalState
from minercdc.stream.signal_answers import INCREMENTAL

PATIENCE_SECONDS = 90.0
SIGNALS = "SIGNALS"


def configured(lab: Lab, strategy: str, chunk: int) -> ConnectorConfig:
    """What `signal_stage` needs of a configuration."""
    given = {
        "topic.prefix": lab.schema.lower(),
        "database.hostname": lab.sandbox.host,
        "database.port": str(lab.sandbox.port),
        "database.user": "C##MINERCDC",
        "database.password": "minercdc",
        "database.dbname": lab.sandbox.root_service,
        "database.pdb.name": lab.sandbox.service,
        "minercdc.kafka.bootstrap.servers": "nowhere:1",
        "schema.include.list": lab.schema,
        "signal.data.collection": f"{lab.sandbox.service}.{lab.schema}.{SIGNALS}",
        "incremental.snapshot.watermarking.strategy": strategy,
        "incremental.snapshot.chunk.size": str(chunk),
        "database.connection.adapter": "logminer_unbuffered" if lab.committed else "logminer",
    }
    return parse_properties(given)


class SignalledConnector(Connector):
    """A run begins with the state of the last commit, too."""

    def __init__(self, lab: Lab, seed: int, strategy: str, script: list[str]) -> None:
        self._strategy = strategy
        self._state = SignalState()
        self._stage: SignalStage | None = None
        super().__init__(lab, seed, script)

    def pump_beside(self, events: int, meanwhile: Callable[[], None]) -> None:
        """Read on, and be killed in the middle of snapshots.

        :param meanwhile: done now and then between two events, so that what is read ahead of the stream is ahead of it.
        """
        self._report_reading(events)
        for _ in range(events):
            event = self._read(commit=self._chance.random() < 0.5)
            if isinstance(event, Progress) and self._chance.random() < 0.3:
                meanwhile()
            if self._state.snapshots and self._in_a_table() and self._chance.random() < 0.1:
                self.kill()

    def _in_a_table(self) -> bool:
        """Whether some of a table's rows are stored as delivered: where a kill says most."""
        return any(table.last for snapshot in self._state.snapshots for table in snapshot.tables)

    def kill(self) -> None:
        """What was not committed is gone."""
        super().kill()
        if self._stage is not None:
            self._stage.close()
            self._stage = None

    def until_done(self, signal: str) -> None:
        """Read until a signal's work is done."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not any(isinstance(e, Notification) and (e.id, e.type) == (signal, "COMPLETED") for e in self.kept[-40:]):
            assert time.monotonic() < deadline, f"{signal} was not done in time: {self._state}"
            self._read(commit=True)

    def _streamed(self, tables: Tables) -> Iterator[Event]:
        assert self._position is not None
        capture = self._lab.capture(tables)
        config = configured(self._lab, self._strategy, self._chance.choice([2, 5, 50]))
        self._stage = signal_stage(config, capture, CapturedTables(tables, self._lab.filters))
        events = capture.stream(self._position, self._stop)
        return taken_apart(self._stage.through(events, self._position, self._state, self._stop))

    def _take(self, event: Event, *, commit: bool) -> None:
        super()._take(event, commit=commit)
        if commit and isinstance(event, Progress) and event.signals is not None:
            self._state = event.signals


def send(lab: Lab, script: list[str], identity: str, kind: str, **data: object) -> None:
    """A signal in a transaction of its own."""
    script.append(f"signal {identity}: {kind} {data}")
    names = {name.replace("_", "-"): value for name, value in data.items()}
    with lab.app.cursor() as cursor:
        cursor.execute(f"insert into {SIGNALS} values (:1, :2, :3)", [identity, kind, json.dumps(names)])
    lab.app.commit()


def rebuilt(events: Sequence[Event], table: str) -> list[dict[str, str]]:
    """What a table amounts to after the events, as columns that are not null.

    Fails where an image is older than one before it: a row read by a snapshot must look as the stream left it, or as the
    next change of it will; a row that was never emitted is older than the connector's time.
    """
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    emitted: set[tuple[str, ...]] = set()
    ahead: dict[tuple[str, ...], dict[str, str]] = {}  # images read that the stream has yet to come to
    for event in events:
        if isinstance(event, SchemaChange) and event.table.table == table and not event.snapshot:
            if event.truncate:
                rows.clear()
            else:
                _reshape(rows, event)
                _reshape(ahead, event)
        elif isinstance(event, ChangeEvent) and event.schema.id.table == table:
            if event.op is Op.READ:
                _read(event, rows, emitted, ahead)
            else:
                _changed(event, rows, emitted, ahead)
    assert not ahead, f"images came before their changes, which never came: {ahead}"
    return list(rows.values())


def check_reads(events: Sequence[Event]) -> None:
    """A row read as of an SCN comes after every change committed before that SCN and before every later one; and no incremental
    snapshot reads a key twice, however often it is killed: its progress is stored with its rows."""
    emitted: dict[
        tuple[str, ...], int
    ] = {}  # SCN of the last commit that was emitted, by table and key; of DDL that emptied it
    read: dict[tuple[str, ...], int] = {}  # SCN of the last read
    once: set[tuple[str, ...]] = set()
    for event in events:
        if isinstance(event, Notification) and event.aggregate_type == INCREMENTAL:
            if event.type in ("TABLE_SCAN_COMPLETED", "ABORTED"):
                once.clear()
        elif isinstance(event, SchemaChange) and event.truncate:
            emitted[(event.table.table,)] = event.scn
        elif isinstance(event, ChangeEvent):
            for key in {(event.schema.id.table, *_key(event.schema, row)) for row in (event.before, event.after) if row}:
                if event.tx is not None:
                    assert event.tx.commit_scn >= read.get(key, 0), f"{key} was read before an older change was emitted"
                    emitted[key] = max(event.tx.commit_scn, emitted.get(key, 0))
                    continue
                newest = max(emitted.get(key, 0), emitted.get(key[:1], 0))
                assert event.scn >= newest, f"{key} is read as of {event.scn} after a change of {newest}"
                read[key] = event.scn
                if event.snapshot is SnapshotMark.INCREMENTAL:  # a blocking one may come in the middle of it
                    assert key not in once, f"{key} is read twice"
                    once.add(key)


_Rows = dict[tuple[str, ...], dict[str, str]]


def _read(event: ChangeEvent, rows: _Rows, emitted: set[tuple[str, ...]], ahead: _Rows) -> None:
    assert event.after is not None
    key, image = _key(event.schema, event.after), _named(event.schema, event.after)
    if key in emitted and rows.get(key) != image:
        ahead[key] = image
    rows[key] = image
    emitted.add(key)


def _changed(event: ChangeEvent, rows: _Rows, emitted: set[tuple[str, ...]], ahead: _Rows) -> None:
    if event.before is not None:
        key = _key(event.schema, event.before)
        emitted.add(key)
        rows.pop(key, None)
    if event.after is not None:
        key = _key(event.schema, event.after)
        rows[key] = _named(event.schema, event.after)
        emitted.add(key)
        if key in ahead:
            assert ahead.pop(key) == rows[key], f"a snapshot's image of {key} was older than what was emitted before"
