"""The randomised checker over `txlog`: seeded histories, faults, kills and restarts of the database.

Compared is what the adapter can know: transactions in the order of (commit SCN, TXN), no row twice under one of them; and wherever it says
that all is delivered up to an SCN, the last images are the tables as of that SCN, but for rows that were deleted or had another key.
Whether rows change their image between two polls is up to the kills and pauses.
"""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.checker.connector import Connector
from tests.checker.faults import work_through_faults
from tests.checker.test_checker import Cluster
from tests.checker.test_flashback import WithoutDdl
from tests.sandbox_capture.txlog_lab import TxlogLab, folded

from minercdc.capture.txlog.position import TxlogPosition
from minercdc.stream.events import ChangeEvent, Event, Progress

SEEDS = int(os.environ.get("MINERCDC_SEEDS", "6"))
FIRST_SEED = int(os.environ.get("MINERCDC_SEED", "9000"))
STEPS = 120

pytestmark = pytest.mark.timeout(240)
_names = (f"ct{i}" for i in itertools.count())


class Marked(Connector):
    """The marker's row has TXN, too."""

    def _has(self, marker: int) -> bool:
        row = self.kept[-2]
        return isinstance(row, ChangeEvent) and row.schema.id.table == "MARKER" and (row.after or ("",))[0] == str(marker)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    server = Cluster(tmp_path_factory.mktemp("cluster"))
    yield server
    assert server.stop()[0] == 0


def check_order(events: list[Event]) -> None:
    """Transactions follow each other, each whole and with its own rows."""
    places: list[tuple[int, str]] = []
    for (scn, txn), some in itertools.groupby(
        (event for event in events if isinstance(event, ChangeEvent) and event.tx is not None),
        key=lambda event: (event.tx.commit_scn, event.tx.id) if event.tx else (0, ""),
    ):
        rows = list(some)
        assert [event.seq for event in rows] == list(range(1, len(rows) + 1))
        places.append((scn, txn))
    assert places == sorted(set(places)), "transactions are out of order, or come twice"


def check_images(lab: TxlogLab, events: list[Event], tables: list[str]) -> int:
    """At each end of a poll that the database can look back to: the last images. Returns how many were looked at."""
    looked = 0
    for at, event in enumerate(events):
        position = event.position if isinstance(event, Progress) else None
        whole = isinstance(position, TxlogPosition) and not position.scn and isinstance(event, Progress)
        before = next((one for one in reversed(events[:at]) if not isinstance(one, Progress)), None)
        if not whole or before is None or looked >= 40:
            continue
        assert isinstance(position, TxlogPosition)
        looked += 1
        for table in tables:
            meant, found = lab.contents(table, position.since), folded(events[: at + 1], table)
            stale = {key: (row, found.get(key)) for key, row in meant.items() if found.get(key) != row}
            assert not stale, f"{table} as of SCN {position.since}: {stale}"
    return looked


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + SEEDS))
def test_the_last_images_are_the_tables(cluster: Cluster, tmp_path: Path, seed: int) -> None:
    chance, schema = random.Random(seed), next(_names)
    tick: dict[str, Any] = {"poll.interval.ms": 1}
    lab = TxlogLab(cluster, schema, tmp_path, **tick)
    lab.settings = {"minercdc.txlog.chunk.rows": chance.choice([1, 3, 20_000])}
    lab.run("create table marker (n number(10) primary key)")
    services = [cluster.service + chance.choice(["", "", "_2", "_3"]) for _ in range(4)]
    workload = WithoutDdl(cluster, schema, seed, services)
    lab.prepare()
    lab.install()
    if chance.random() < 0.3:
        lab.run("begin dbms_scheduler.disable('J_COALESCE_LOG'); end;")
    connector = Marked(lab, seed, workload.script)
    try:
        work_through_faults(cluster, lab, workload, connector, chance, STEPS)
        check_order(connector.kept)
        tables = list(workload.tables)
        for table in tables:
            found = folded(connector.kept, table)
            assert {key: found.get(key) for key in lab.contents(table)} == lab.contents(table), f"contents of {table}"
        if lab.settings["minercdc.txlog.chunk.rows"] == 20_000:
            check_images(lab, connector.kept, tables)
    except Exception as error:
        pytest.fail(f"seed {seed}: {error}\n" + "\n".join(workload.script[-150:]))
    finally:
        connector.kill()
        workload.close()
        lab.app.close()
