"""The randomised checker over `flashback`, and over `logminer` on the same history: both fold to the same transactions and tables.

What row versions do not show is left out of the comparison: images between those of two transactions, and the order within one.
DDL is not part of these histories: it demotes tables, which tests/e2e/test_flashback.py judges by the topics.
"""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.checker.connector import Connector
from tests.checker.faults import work_through_faults
from tests.checker.judge import check_transactions, replica
from tests.checker.test_checker import Cluster, _sorted
from tests.checker.workload import Change, Workload, _Session
from tests.sandbox_capture.flashback_lab import FlashbackLab
from tests.sandbox_capture.lab import Lab

from minercdc.stream.events import ChangeEvent, Event

SEEDS = int(os.environ.get("MINERCDC_SEEDS", "6"))
FIRST_SEED = int(os.environ.get("MINERCDC_SEED", "3000"))
STEPS = 120

pytestmark = pytest.mark.timeout(240)
_names = (f"cf{i}" for i in itertools.count())


class WithoutDdl(Workload):
    """In place of DDL all commit."""

    def _ddl(self, session: _Session) -> None:
        self.finish()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    server = Cluster(tmp_path_factory.mktemp("cluster"))
    yield server
    assert server.stop()[0] == 0


def net(changes: Sequence[Change]) -> dict[tuple[str, tuple[str, ...]], tuple[bool, bool]]:
    """Per key that a transaction touched: whether it was there before, and is there afterwards."""
    found: dict[tuple[str, tuple[str, ...]], tuple[bool, bool]] = {}
    for change in changes:
        for key, there in ((change.before, False), (change.after, True)):
            if key is not None:
                before, _ = found.get((change.table, key), (not there, False))
                found[change.table, key] = before, there
    return {key: ends for key, ends in found.items() if any(ends)}


def check_net(events: Sequence[Event], expected: dict[str, list[Change]]) -> None:
    """Every committed transaction that left something is there once, in order of commit, with what it left."""
    rows = [event for event in events if isinstance(event, ChangeEvent) and event.schema.id.table != "MARKER"]
    found = [(xid, list(some)) for xid, some in itertools.groupby(rows, key=lambda event: event.tx.id if event.tx else "")]
    meant = {xid: ends for xid, changes in expected.items() if (ends := net(changes))}
    assert [xid for xid, _ in found] == list(meant)
    for xid, some in found:
        assert net([_change(event) for event in some]) == meant[xid], f"transaction {xid}"
        assert [event.seq for event in some] == list(range(1, len(some) + 1))


def _change(event: ChangeEvent) -> Change:
    schema = event.schema

    def key(row: Any) -> tuple[str, ...] | None:
        return None if row is None else tuple(str(row[place]) for place in schema.key)

    return Change(schema.id.table, event.op.value, key(event.before), key(event.after))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + SEEDS))
def test_both_adapters_fold_to_what_was_committed(cluster: Cluster, tmp_path: Path, seed: int) -> None:
    chance, schema = random.Random(seed), next(_names)
    lobs = chance.random() < 0.5
    mining: dict[str, Any] = {"poll.interval.ms": 1, "lob.enabled": lobs}
    lab = FlashbackLab(cluster, schema, tmp_path, **mining)
    lab.settings = {
        "minercdc.flashback.order": chance.choice(["strict", "found"]),
        "minercdc.flashback.threads": chance.choice([1, 3]),
    }
    services = [cluster.service + chance.choice(["", "", "_2", "_3"]) for _ in range(4)]
    lab.run("create table marker (n number(10) primary key)")
    workload = WithoutDdl(cluster, schema, seed, services, lobs=lobs)
    connector = Connector(lab, seed, workload.script)
    mined = Lab.__new__(Lab)
    mined.__dict__.update(lab.__dict__)
    redo = Connector(mined, seed, [])
    try:
        work_through_faults(cluster, lab, workload, connector, chance, STEPS)
        redo.until(1)
        check_transactions(redo.kept, workload.expected)
        check_net(connector.kept, workload.expected)
        for table in workload.tables:
            rows = sorted(map(str, map(_sorted, replica(connector.kept, table))))
            assert rows == sorted(map(str, map(_sorted, replica(redo.kept, table)))), f"contents of {table}"
            assert rows == sorted(map(str, map(_sorted, workload.contents(table)))), f"contents of {table}"
    except Exception as error:
        pytest.fail(f"seed {seed}: {error}\n" + "\n".join(workload.script[-150:]))
    finally:
        connector.kill()
        redo.kill()
        workload.close()
        lab.app.close()
