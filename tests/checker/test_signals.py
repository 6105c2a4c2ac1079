"""The randomised checker with signals: incremental and blocking snapshots while sessions change the tables, in both ways of
mining, with both kinds of marks and without, killed and disturbed anywhere.

After the last snapshot every table rebuilt from the events is the source, though rows were there before the connector was;
no image of a row is older than one before it, and no snapshot reads a row twice. `MINERCDC_SEEDS` and `MINERCDC_SEED` as for the
checker, which is checked itself by taking rules away.
"""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.checker.signalled import SIGNALS, SignalledConnector, check_reads, rebuilt, send
from tests.checker.test_checker import _fault
from tests.checker.workload import TABLES, Workload
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.lab import Lab

from minercdc.oracle.scn import written_scn
from minercdc.signals.stage import SignalStage
from minercdc.snapshot.incremental import reader
from minercdc.snapshot.incremental.chunks import IncrementalSnapshots
from minercdc.snapshot.incremental.reader import ChunkReader
from minercdc.snapshot.incremental.window import Changes, Chunk
from minercdc.stream.events import Event, Notification
from minercdc.stream.offset import SignalState

SEEDS = int(os.environ.get("MINERCDC_SEEDS", "3"))
FIRST_SEED = int(os.environ.get("MINERCDC_SEED", "5000"))
STEPS = 60
STRATEGIES = ("scn", "insert_insert", "insert_delete")

pytestmark = [
    pytest.mark.timeout(240),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning"),
]
_names = (f"cs{i}" for i in itertools.count())


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers try again at once."""
    monkeypatch.setattr(reader, "_WAIT_SECONDS", 0.02)
    monkeypatch.setattr(reader, "_LONGEST_WAIT_SECONDS", 0.1)


def play(sandbox: SandboxProcess, directory: Path, seed: int, strategy: str, script: list[str]) -> None:
    """One history. Raises AssertionError when what was delivered is not what is there."""
    chance = random.Random(seed)
    schema = next(_names)
    lab = Lab(sandbox, schema, directory, committed=chance.random() < 0.5, **{"poll.interval.ms": 1, "query.fetch.size": 7})
    lab.run(
        f"create table {SIGNALS} (id varchar2(42) primary key, type varchar2(32), data varchar2(2048))",
        f"alter table {SIGNALS} add supplemental log data (all) columns",
        f"grant select, insert, delete on {SIGNALS} to c##minercdc",
    )
    services = [sandbox.service] * 3
    if chance.random() < 0.5:
        services[1] += "_2"
    workload = Workload(sandbox, schema, seed, services)
    workload.script = script
    for _ in range(40):
        workload.step()
    workload.finish()
    connector = SignalledConnector(lab, seed, strategy, script)
    faults = sandbox.connect()
    try:
        for step in range(STEPS):
            workload.step()
            _disturb(connector, workload, faults, chance, script)
            if chance.random() < 0.08:
                _signal(lab, chance, script, f"s{step}")
            if chance.random() < 0.04:
                _bad_signal(lab, chance, script, f"bad{step}")
        faults.cursor().execute("call dbms_sandbox.clear_faults()")
        faults.cursor().execute(f"call dbms_sandbox.release_strand('{schema.upper()}')")
        workload.finish()
        send(lab, script, "resume", "resume-snapshot")
        send(lab, script, "last", "execute-snapshot", data_collections=[f".*[.]{schema.upper()}[.](ITEM|PAIR|WIDE)"])
        connector.until_done("last")
        check_reads(connector.kept)
        _check_answers(connector.kept, script)
        for table in TABLES:
            rows = sorted(str(sorted(row.items())) for row in rebuilt(connector.kept, table))
            assert rows == sorted(str(sorted(row.items())) for row in workload.contents(table)), f"contents of {table}"
    finally:
        faults.cursor().execute("call dbms_sandbox.clear_faults()")
        connector.kill()
        workload.close()
        faults.close()
        lab.app.close()


def _disturb(
    connector: SignalledConnector, workload: Workload, faults: Any, chance: random.Random, script: list[str]
) -> None:
    choice = chance.random()
    if choice < 0.30:
        connector.pump_beside(chance.randrange(1, 60), workload.step)
    elif choice < 0.35:
        connector.kill()
    elif choice < 0.37:
        connector.change_mode()
    elif choice < 0.39:
        _fault(faults, chance, script)


def _signal(lab: Lab, chance: random.Random, script: list[str], identity: str) -> None:
    kind = chance.choice(["execute-snapshot"] * 5 + ["pause-snapshot", "resume-snapshot", "stop-snapshot"])
    tables = chance.sample(list(TABLES), chance.randrange(1, 4))
    collections = [f"ORCLPDB1.{lab.schema}.{table}" for table in tables]
    if kind == "execute-snapshot":
        type_ = chance.choice(["incremental", "incremental", "blocking"])
        send(lab, script, identity, kind, data_collections=collections, type=type_)
    elif kind == "stop-snapshot":
        send(lab, script, identity, kind, data_collections=collections[:1])
    else:
        send(lab, script, identity, kind)


def _bad_signal(lab: Lab, chance: random.Random, script: list[str], identity: str) -> None:
    """One that cannot be done: it is refused, or fails the table it names, and nothing else."""
    table = f"ORCLPDB1.{lab.schema}.{chance.choice(list(TABLES))}"
    execute = "execute-snapshot"
    condition = chance.choice(["NOPE = 1", "1/0 = 1", "ID = :x", "ID = (SELECT N FROM NOPE)", "ID LIKE"])
    select = chance.choice(
        ["SELECT * FROM NOPE", "SELECT ID FROM DUAL", f"SELECT 1/0 ID FROM {table.partition('.')[2]}", "nonsense"]
    )
    filters = {False: condition, True: select}
    blocking = chance.random() < 0.5
    bad: list[tuple[str, dict[str, object]]] = [
        (execute, {"data_collections": ["(.*.*.*.*.*.*.*a){12}b"]}),
        (execute, {"data_collections": ["(?!x).*"]}),
        (execute, {"data_collections": ["("]}),
        (execute, {}),
        ("explode\x1b[31m", {}),
        (
            execute,
            {
                "data_collections": [table],
                "type": "blocking" if blocking else "incremental",
                "additional_conditions": [{"data-collection": table, "filter": filters[blocking]}],
            },
        ),
    ]
    kind, data = chance.choice([*bad, *bad[-1:] * 5])
    send(lab, script, identity, kind, **data)


def _check_answers(events: Sequence[Event], script: Sequence[str]) -> None:
    """Every signal that cannot be done was answered, once."""
    sent = [line.split()[1].rstrip(":") for line in script if line.startswith("signal bad")]
    finals = ("REFUSED", "COMPLETED", "ABORTED")
    for identity in sent:
        answers = [
            e.type for e in events if isinstance(e, Notification) and (e.id, e.aggregate_type) == (identity, "Signal")
        ]
        assert len([answer for answer in answers if answer in finals]) == 1, (identity, answers)


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + SEEDS))
def test_snapshots_among_changes_leave_what_is_there(two_threads: SandboxProcess, tmp_path: Path, seed: int) -> None:
    script: list[str] = []
    strategy = STRATEGIES[seed % len(STRATEGIES)]
    try:
        play(two_threads, tmp_path, seed, strategy, script)
    except Exception as error:
        pytest.fail(f"seed {seed}, {strategy}: {error!r}\n" + "\n".join(script[-60:]))


# ---- the checker, checked ----


def _rows_are_not_compared(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Changes, "current", lambda self, rows, floor: rows)


def _a_chunk_does_not_wait_for_the_stream(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(IncrementalSnapshots, "_is_deliverable", lambda *_: True)


def _chunks_may_be_older_than_what_was_emitted(patch: pytest.MonkeyPatch) -> None:
    """And the written SCN lags, as it does while another redo thread is idle."""
    start = ChunkReader.start
    patch.setattr(ChunkReader, "start", lambda self, table, state, surrogate, _: start(self, table, state, surrogate, 0))
    patch.setattr(reader, "reached_scn", lambda connection: written_scn(connection) - 200)


def _progress_is_not_stored(patch: pytest.MonkeyPatch) -> None:
    through = SignalStage.through

    def forgetful(self: SignalStage, events: Any, start: Any, state: SignalState, *rest: Any) -> Any:
        left = [replace(one, tables=tuple(replace(table, last=()) for table in one.tables)) for one in state.snapshots]
        return through(self, events, start, replace(state, snapshots=tuple(left)), *rest)

    patch.setattr(SignalStage, "through", forgetful)


def _a_chunk_of_another_shape_is_delivered(patch: pytest.MonkeyPatch) -> None:
    deliver_outcome = IncrementalSnapshots._deliver_outcome

    def blind(self: IncrementalSnapshots, state: Any, snapshot: Any, table: Any, outcome: Any, time_us: int) -> Any:
        if isinstance(outcome, Chunk) and (shape := self._shape(outcome.rows.schema.id)):
            outcome.rows = replace(outcome.rows, schema=shape)
        return deliver_outcome(self, state, snapshot, table, outcome, time_us)

    patch.setattr(IncrementalSnapshots, "_deliver_outcome", blind)


# Each with the strategy it concerns.
MUTATIONS: dict[str, tuple[str, Callable[[pytest.MonkeyPatch], None]]] = {
    "rows are not compared with what the stream emitted": ("scn", _rows_are_not_compared),
    "rows between marks are not compared with what the stream emitted": ("insert_insert", _rows_are_not_compared),
    "a chunk does not wait for the stream": ("scn", _a_chunk_does_not_wait_for_the_stream),
    "a chunk is older than what was emitted": ("scn", _chunks_may_be_older_than_what_was_emitted),
    "progress is not stored": ("scn", _progress_is_not_stored),
    "a chunk of another shape is delivered": ("scn", _a_chunk_of_another_shape_is_delivered),
}


@pytest.mark.skipif(
    SEEDS < 30, reason="a search of minutes (make torture); tests/unit/signals/test_stage.py takes rules away, too"
)
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("rule", MUTATIONS)
def test_a_missing_rule_is_found_out(
    two_threads: SandboxProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rule: str
) -> None:
    strategy, mutate = MUTATIONS[rule]
    mutate(monkeypatch)
    for seed in range(100):
        try:
            play(two_threads, tmp_path, seed, strategy, [])
        except Exception:  # any way of failing will do
            return
    pytest.fail("nothing was noticed in 100 histories")
