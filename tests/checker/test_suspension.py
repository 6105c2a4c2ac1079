"""The randomised checker with suspended tables: supplemental logging comes and goes while sessions write over two redo threads, Kafka
transactions fail, and DDL comes in the middle of the initial snapshot. At the end every topic is its table.

`MINERCDC_SEEDS` and `MINERCDC_SEED` as for the checker. Engine, encoder, capture and chunk reader are the real ones; Kafka is a list.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import oracledb
import pytest
from tests.checker.signalled import configured
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.lab import Lab
from tests.unit.messages.test_envelope import encoder
from tests.unit.pipeline.test_suspension import Fold, NoHistory, Topics

from minercdc.capture.logminer.prerequisites import LogMinerPrerequisites
from minercdc.pipeline.engine import run
from minercdc.pipeline.pipeline import Begun, Bounds, Initial, Pipeline, PipelineFactory
from minercdc.pipeline.suspension import Suspensions
from minercdc.schema.table import TableSchema
from minercdc.schema.tables import Tables
from minercdc.signals.stage_builder import CapturedTables, resumptions_of, signal_stage
from minercdc.snapshot.incremental import reader, resuming
from minercdc.stream.contracts import Record, SignalActions, Snapshot, StopFlag
from minercdc.stream.counters.connector import Counters
from minercdc.stream.events import Event, SchemaChange
from minercdc.stream.offset import Offset, SnapshotState

SEEDS = int(os.environ.get("MINERCDC_SEEDS", "3"))
FIRST_SEED = int(os.environ.get("MINERCDC_SEED", "7000"))
STEPS = 120
PATIENCE_SECONDS = 60.0
LOGGED = "alter table {} {} supplemental log data (all) columns"

pytestmark = pytest.mark.timeout(240)
_names = (f"cu{i}" for i in itertools.count())


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits does so for a moment only, and a table may be repaired as often as it breaks."""
    monkeypatch.setattr(reader, "_WAIT_SECONDS", 0.02)
    monkeypatch.setattr(reader, "_LONGEST_WAIT_SECONDS", 0.1)
    monkeypatch.setattr(resuming, "_LOOK_SECONDS", 0.05)
    monkeypatch.setattr(resuming, "_GUESSES", 1000)
    monkeypatch.setattr(resuming, "_DELETES_PER_STEP", 3)


class Kafka(Topics):
    """Commits fail now and then, with and without effect."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__()
        self.chance = chance
        self.changes: list[SchemaChange] = []

    def commit(self, offset: Offset) -> None:
        self.kill_at = self.commits + 1 if self.chance.random() < 0.04 else -1
        self.durable = self.chance.random() < 0.5
        super().commit(offset)

    def rows(self, topic: str) -> dict[int, str]:
        """What a reader of a topic holds."""
        found: dict[int, str] = {}
        for record in list(self.records):
            if record.topic == topic and record.key is not None:
                value: dict[str, Any] = json.loads(record.value) if record.value else {"op": "d"}
                key = json.loads(record.key)["ID"]
                if value["op"] == "d":
                    found.pop(key, None)
                else:
                    found[key] = value["after"]["V"]
        return found


class TopicOf(Fold):
    """`TopicMemory` of any topic of `Kafka`."""

    def __init__(self, kafka: Kafka) -> None:
        super().__init__(kafka, kafka.chance)
        self._kafka = kafka
        self._topic = ""

    def begin(self, table: TableSchema, marks: tuple[tuple[int, int], ...]) -> None:
        super().begin(table, marks)
        self._topic = f"shop.{table.id}"

    def gone(self, most: int) -> Sequence[bytes]:
        assert not self._kafka.open
        alive: dict[bytes, bool] = {}
        for place, record in enumerate(self._kafka.records):
            if record.topic == self._topic and record.key is not None:
                is_delete = record.value is None or json.loads(record.value)["op"] == "d"
                alive[record.key] = not is_delete and place < self._mark
        return [key for key, untouched in alive.items() if untouched][:most]


class History(NoHistory):
    """Structures, remembered with the records: those of a commit that failed are forgotten."""

    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka

    def entry(self, change: SchemaChange, position: object) -> Record:
        self._kafka.changes.append(change)
        return Record("history", None, str(len(self._kafka.changes) - 1).encode())

    def recover(self, mark: int | None) -> Iterator[SchemaChange]:
        places = [int(record.value or b"") for record in self._kafka.records if record.topic == "history"]
        return iter([self._kafka.changes[place] for place in places])


def pipeline_of(lab: Lab, kafka: Kafka) -> Pipeline:
    suspensions = Suspensions()
    history = History(kafka)
    config = configured(lab, "scn", kafka.chance.choice([2, 5, 50]))

    def begin(offset: Offset | None) -> Begun:
        tables = Tables()
        for change in history.recover(None):
            tables.apply(change)
        opened = lab.capture(tables, on_failure="suspend", unread=suspensions.unread)

        def initial() -> Initial:
            if offset is not None and offset.position is not None:
                return Initial()
            return Initial(AlteredSnapshot(lab, lab.snapshot(tables, **{"snapshot.fetch.size": 5}), kafka.chance))

        def signals() -> SignalActions:
            needed, captured = LogMinerPrerequisites(), CapturedTables(tables, lab.filters)
            resumptions = resumptions_of(config, suspensions, captured, TopicOf(kafka), needed)
            return signal_stage(config, opened, captured, resumptions)

        return Begun(offset, opened, initial, signals)

    bounds = Bounds(kafka.chance.choice([3, 20]), 1 << 20, 0.0)
    return Pipeline(
        "logminer",
        kafka,
        encoder(),
        history,
        begin,
        bounds,
        lambda _: False,
        suspensions=suspensions,
        suspends=lambda _: True,
    )


class AlteredSnapshot:
    """An initial snapshot with DDL on table C in the middle of it, in every run."""

    def __init__(self, lab: Lab, snapshot: Snapshot, chance: random.Random) -> None:
        self._lab = lab
        self._snapshot = snapshot
        self._at = chance.randrange(25)
        self._ddl = chance.choice(
            ["alter table c drop column w", "alter table c rename column w to w2", "alter table c modify w varchar2(30)", ""]
        )

    def take(self, state: SnapshotState | None, stop: StopFlag) -> Iterator[Event]:
        for number, event in enumerate(self._snapshot.take(state, stop)):
            if number == self._at and self._ddl:
                with suppress(oracledb.DatabaseError):  # the column is gone already, or a session holds the table
                    self._lab.run(self._ddl)
            yield event


def write(sessions: list[oracledb.Connection], chance: random.Random, numbers: Iterator[int]) -> None:
    """A statement, and sometimes the end of its transaction. One session writes at a time: it would wait for rows of another."""
    session = next((one for one in sessions if one.transaction_in_progress), chance.choice(sessions))
    table, key, number = chance.choice("abc"), chance.randrange(30), next(numbers)
    statements = (
        f"insert into {table} (id, v) values ({number}, 'new')",
        f"update {table} set v = 'v{number}' where mod(id, 30) = {key}",
        f"update {table} set v = 'v{number}' where mod(id, 10) = {key % 10}",
        f"delete from {table} where mod(id, 30) = {key}",
    )
    session.cursor().execute(chance.choice(statements))
    if chance.random() < 0.7:
        session.commit() if chance.random() < 0.85 else session.rollback()


def alter(lab: Lab, kind: str, script: list[str]) -> bool:
    """Add or drop the log group of A; whether no session held the table."""
    try:
        lab.run(LOGGED.format("a", kind))
    except oracledb.DatabaseError as error:
        if error.args[0].code != 54:
            raise
        return False
    script.append(kind)
    return True


def play(sandbox: SandboxProcess, directory: Path, seed: int, script: list[str]) -> None:
    """One history. Raises AssertionError when a topic is not its table in the end."""
    chance = random.Random(seed)
    lab = Lab(sandbox, next(_names), directory, committed=chance.random() < 0.5, **{"poll.interval.ms": 1})
    lab.run(
        *(f"create table {table} (id number(10) primary key, v varchar2(20))" for table in "ab"),
        "create table c (id number(10) primary key, w varchar2(20), v varchar2(20))",
        *(LOGGED.format(table, "add") for table in "abc"),
        *(f"insert into {table} (id, v) select level + 1000, 'old' from dual connect by level <= 12" for table in "abc"),
    )
    lab.app.commit()
    kafka, counters, stop = Kafka(random.Random(seed + 1)), Counters(), threading.Event()
    failure: list[BaseException] = []

    def live() -> None:
        try:
            run(PipelineFactory(lambda: pipeline_of(lab, kafka), -1, 0.02, time.monotonic, counters), stop)
        except BaseException as error:
            failure.append(error)

    running, numbers = threading.Thread(target=live), itertools.count(100)
    sessions = [sandbox.connect(lab.schema.lower(), lab.schema.lower(), service=sandbox.service + end) for end in ("", "_2")]
    logged = True
    running.start()
    try:
        for _ in range(STEPS):
            write(sessions, chance, numbers)
            if chance.random() < 0.05 and alter(lab, "drop" if logged else "add", script):
                logged = not logged
            if chance.random() < 0.1:
                time.sleep(0.02)
        for session in sessions:
            session.commit()
        if not script:  # the seed altered nothing, or the table was locked whenever it tried to
            assert alter(lab, "drop", script)
            logged = False
            write(sessions, chance, numbers)
            for session in sessions:
                session.commit()
        if not logged:
            assert alter(lab, "add", script)
        lab.run("insert into b values (7, 'the last')")
        lab.app.commit()
        await_true(
            lambda: all(kafka.rows(f"shop.{lab.schema}.{t.upper()}") == source(lab, t) for t in "abc"),
            failure,
            kafka,
            sessions,
        )
    finally:
        stop.set()
        running.join()
        for session in (*sessions, lab.app):
            session.close()
    assert not failure, failure
    script.append(f"left out: {counters.left_out}")


def source(lab: Lab, table: str) -> dict[int, str]:
    with lab.app.cursor() as cursor:
        cursor.execute(f"select id, v from {table}")
        return dict(cursor.fetchall())


def await_true(done: Any, failure: list[BaseException], kafka: Kafka, sessions: Sequence[oracledb.Connection]) -> None:
    """Both redo threads are written to meanwhile: what is complete does not go beyond an idle one, whose instance would write by itself."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    for turn in itertools.count():
        if done():
            return
        assert not failure, failure
        assert time.monotonic() < deadline, f"not equal in time: {kafka.offset!r}"
        if turn % 20 == 19:
            for session in sessions:
                session.cursor().execute("update b set v = v where id = 7")
                session.commit()
        time.sleep(0.02)


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + SEEDS))
def test_a_table_that_is_suspended_now_and_then_ends_as_it_is(
    two_threads: SandboxProcess, tmp_path: Path, seed: int
) -> None:
    script: list[str] = []
    try:
        play(two_threads, tmp_path, seed, script)
    except Exception as error:
        pytest.fail(f"seed {seed}: {error!r}\n" + "\n".join(script))
    assert len(script) > 1, "nothing happened"
