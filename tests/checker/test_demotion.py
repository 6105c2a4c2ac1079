"""The randomised checker with demoted tables: DDL and lost undo come while sessions write, Kafka transactions fail, and the connector is
killed. At the end every topic is its table.

`MINERCDC_SEEDS` and `MINERCDC_SEED` as for the checker. Engine, encoder, capture and chunk reader are the real ones; Kafka is a list.
"""

from __future__ import annotations

import itertools
import os
import random
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import oracledb
import pytest
from tests.checker.signalled import configured
from tests.checker.test_suspension import History, Kafka, TopicOf, await_true, impatient, source, write
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.flashback_lab import FlashbackLab
from tests.unit.messages.test_envelope import encoder

from minercdc.capture.flashback.prerequisites import FlashbackPrerequisites
from minercdc.pipeline.engine import run
from minercdc.pipeline.pipeline import Begun, Bounds, Initial, Pipeline, PipelineFactory
from minercdc.pipeline.suspension import Suspensions
from minercdc.schema.tables import Tables
from minercdc.signals.stage_builder import CapturedTables, resumptions_of, signal_stage
from minercdc.stream.contracts import SignalActions
from minercdc.stream.counters.connector import Counters
from minercdc.stream.offset import Offset

SEEDS = int(os.environ.get("MINERCDC_SEEDS", "4"))
FIRST_SEED = int(os.environ.get("MINERCDC_SEED", "8000"))
STEPS = 120
FAULTS = ("30052, at => 'execute'", "1555, at => 'fetch'", "1555, at => 'execute'", "3113, at => 'execute'")

pytestmark = pytest.mark.timeout(240)
_names = (f"cd{i}" for i in itertools.count())
__all__ = ["impatient"]


def pipeline_of(lab: FlashbackLab, kafka: Kafka) -> Pipeline:
    suspensions, history = Suspensions(), History(kafka)
    config = configured(lab, "scn", kafka.chance.choice([2, 5, 50]))

    def begin(offset: Offset | None) -> Begun:
        tables = Tables()
        for change in history.recover(None):
            tables.apply(change)

        def initial() -> Initial:
            taken = offset is not None and offset.position is not None
            return Initial(None if taken else lab.snapshot(tables, **{"snapshot.fetch.size": 5}))

        def signals() -> SignalActions:
            needed, captured = FlashbackPrerequisites(), CapturedTables(tables, lab.filters)
            resumptions = resumptions_of(config, suspensions, captured, TopicOf(kafka), needed, redo=False)
            return signal_stage(config, None, captured, resumptions)

        return Begun(offset, lab.capture(tables, split=lambda: suspensions.split), initial, signals)

    bounds = Bounds(kafka.chance.choice([3, 20]), 1 << 20, 0.0)
    return Pipeline(
        "flashback",
        kafka,
        encoder(),
        history,
        begin,
        bounds,
        lambda _: False,
        suspensions=suspensions,
        suspends=lambda _: True,
    )


class Trouble:
    """What happens to the tables besides changes of their rows."""

    def __init__(self, lab: FlashbackLab, chance: random.Random, script: list[str]) -> None:
        self._lab, self._chance, self._script = lab, chance, script
        self._admin = lab.sandbox.connect()
        self._numbers = itertools.count()

    def strike(self) -> None:
        chance = self._chance.random()
        table = self._chance.choice("abc")
        if chance < 0.5:
            matching = f"username => 'C##MINERCDC', matching => '\"{table.upper()}\" VERSIONS'"
            fault = f"call dbms_sandbox.fail_call({self._chance.choice(FAULTS)}, {matching}, nth => 1)"
            self._script.append(fault)
            self._admin.cursor().execute(fault)
            return
        statement = self._chance.choice(
            [
                f"alter table {table} add (x{next(self._numbers)} number default 7)",
                f"create index i{next(self._numbers)} on {table} (v, id)",
                f"truncate table {table}",
                f"alter table {table} modify (v varchar2({30 + next(self._numbers)}))",
                "drop table c purge",
            ]
        )
        with suppress(oracledb.DatabaseError):  # a session holds the table
            self._lab.run(statement)
            self._script.append(statement)
            if statement.startswith("drop"):
                self._lab.run("create table c (id number(10) primary key, w varchar2(20), v varchar2(20))")

    def close(self) -> None:
        self._admin.cursor().execute("call dbms_sandbox.clear_faults()")
        self._admin.close()


def change_keys(sessions: Sequence[oracledb.Connection], chance: random.Random) -> None:
    """Rows swap their keys, move on, or are deleted and come again in one transaction."""
    session = next((one for one in sessions if one.transaction_in_progress), sessions[0])
    table, key = chance.choice("abc"), 1000 + chance.randrange(1, 12)
    statements = [
        [f"update {table} set id = {2 * key + 1} - id where id in ({key}, {key + 1})"],
        [f"delete from {table} where id = {key}", f"insert into {table} (id, v) values ({key}, 'again')"],
        [f"update {table} set id = id + 1 where id between {key} and {key + 3}"],
    ]
    with suppress(oracledb.IntegrityError):
        for statement in chance.choice(statements):
            session.cursor().execute(statement)
    session.commit()


def play(sandbox: SandboxProcess, directory: Path, seed: int, script: list[str]) -> None:
    """One history. Raises AssertionError when a topic is not its table in the end."""
    chance = random.Random(seed)
    mining: dict[str, Any] = {"poll.interval.ms": 1}
    lab = FlashbackLab(sandbox, next(_names), directory, **mining)
    lab.settings = {
        "minercdc.flashback.order": chance.choice(["strict", "found"]),
        "minercdc.flashback.versions": chance.choice(["all", "all", "last"]),
        "minercdc.flashback.interval.ms": chance.choice([1, 30]),
    }
    script.append(str(lab.settings))
    lab.run(
        *(f"create table {table} (id number(10) primary key, v varchar2(20))" for table in "ab"),
        "create table c (id number(10) primary key, w varchar2(20), v varchar2(20))",
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
    sessions = [sandbox.connect(lab.schema.lower(), lab.schema.lower()) for _ in range(2)]
    trouble = Trouble(lab, chance, script)
    running.start()
    try:
        for _ in range(STEPS):
            write(sessions, chance, numbers)
            if chance.random() < 0.1:
                change_keys(sessions, chance)
            if chance.random() < 0.08:
                trouble.strike()
            if chance.random() < 0.3:
                time.sleep(0.02)
        for session in sessions:
            session.commit()
        trouble.close()
        lab.run("insert into b (id, v) values (7, 'the last')")
        lab.app.commit()
        await_true(
            lambda: all(kafka.rows(f"shop.{lab.schema}.{t.upper()}") == source(lab, t) for t in "abc"),
            failure,
            kafka,
            sessions,
        )
    except AssertionError as error:
        for table in "abc":
            script.append(
                f"{table}: topic {kafka.rows(f'shop.{lab.schema}.{table.upper()}')}\n   table {source(lab, table)}"
            )
        raise error
    finally:
        stop.set()
        running.join()
        for session in (*sessions, lab.app):
            session.close()
    assert not failure, failure


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + SEEDS))
def test_tables_that_are_demoted_now_and_then_end_as_they_are(sandbox: SandboxProcess, tmp_path: Path, seed: int) -> None:
    script: list[str] = []
    try:
        play(sandbox, tmp_path, seed, script)
    except Exception as error:
        pytest.fail(f"seed {seed}: {error!r}\n" + "\n".join(script))
    assert len(script) > 1, "nothing happened"
