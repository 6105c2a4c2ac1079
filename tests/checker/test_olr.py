"""The randomised checker over `olr`, and over `logminer` on the same history: both deliver the same transactions and tables.

The server cuts connections, loses and damages messages, restarts and loses its state; the connector is killed. The histories are of
one redo thread, since OpenLogReplicator reads no more.
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
from tests.checker.judge import check_transactions, replica
from tests.checker.served import Confirming, ServedLab, captured_as, work
from tests.checker.test_checker import _sorted
from tests.checker.workload import Workload
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.olr_server.feed import Feed
from tests.olr_server.printing import Style
from tests.olr_server.server import OlrServer
from tests.sandbox_capture.lab import Lab

from minercdc.stream.events import ChangeEvent, Event

SEEDS = int(os.environ.get("MINERCDC_SEEDS", "6"))
FIRST_SEED = int(os.environ.get("MINERCDC_SEED", "5000"))
STEPS = 120

pytestmark = pytest.mark.timeout(240)
_names = (f"co{i}" for i in itertools.count())


class OlrLab(ServedLab):
    """See `ServedLab`."""

    adapter = "olr"
    server: OlrServer

    def server_settings(self) -> dict[str, str]:
        given = {"source": self.server.source, "host": self.server.host, "port": str(self.server.port)}
        return {f"openlogreplicator.{name}": value for name, value in given.items()} | {"minercdc.olr.timeout.ms": "2000"}


class SingleInstance(SandboxProcess):
    """A sandbox with one redo thread."""

    def __init__(self) -> None:
        super().__init__()
        with self.connect(service=self.root_service) as admin:
            admin.cursor().execute("alter database add supplemental log data")


@pytest.fixture(scope="module")
def instance() -> Iterator[SingleInstance]:
    server = SingleInstance()
    yield server
    assert server.stop()[0] == 0


def fault(server: OlrServer, chance: random.Random, script: list[str]) -> None:
    """Something that goes wrong at the server."""
    what = chance.choice(["cut", "lose", "damage", "restart", "restart", "forget"])
    script.append(f"server: {what}")
    if what == "cut":
        server.faults.cut_after = server.bytes + chance.randrange(1, 3000)
    elif what == "lose":
        server.faults.drop = server.sent + chance.randrange(1, 20)
    elif what == "damage":
        server.faults.instead[server.sent + chance.randrange(1, 20)] = chance.randbytes(20)
    elif what == "restart":
        server.restart()
    else:
        server.forget()


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + SEEDS))
def test_what_was_committed_comes_once(instance: SingleInstance, tmp_path: Path, seed: int) -> None:
    chance, schema = random.Random(seed), next(_names)
    lobs = chance.random() < 0.5
    settings: dict[str, Any] = {"poll.interval.ms": 1, "lob.enabled": lobs}
    lab = OlrLab(instance, schema, tmp_path, **settings)
    lab.run("create table marker (n number(10) primary key)")
    workload = Workload(instance, schema, seed, [instance.service] * 4, lobs=lobs)
    feed = Feed(instance, [schema], tmp_path / "feed")
    style = Style(chance.choice(["commit", "begin"]), ends=chance.random() < 0.7, block=chance.choice([8, 50]))
    lab.server = server = OlrServer(feed, style=style, checkpoint_seconds=chance.choice([0.0, 0.05, 1e6]))
    workload.script.append(f"server: {style}")
    connector = Confirming(lab, seed, workload.script)
    feed.shapes = list(connector._tables())
    redo = Connector(captured_as(Lab, lab), seed, [])
    try:
        work(workload, connector, chance, STEPS, lambda: fault(server, chance, workload.script))
        lab.run("insert into marker values (1)")
        lab.app.commit()
        connector.until(1)
        redo.until(1)
        check_transactions(connector.kept, workload.expected)
        assert changes(connector.kept) == changes(redo.kept)
        for table in workload.tables:
            rows = sorted(map(str, map(_sorted, replica(connector.kept, table))))
            assert rows == sorted(map(str, map(_sorted, workload.contents(table)))), f"contents of {table}"
    except BaseException as error:  # a timeout, too
        pytest.fail(f"seed {seed}: {error!r}\n" + "\n".join(workload.script[-150:]))
    finally:
        connector.kill()
        redo.kill()
        server.close()
        workload.close()
        lab.app.close()


def changes(events: list[Event]) -> list[tuple[Any, ...]]:
    """What both adapters deliver of each change."""
    return [
        (event.op.value, event.schema.id.table, event.scn, event.seq, event.row_id, event.tx.id, event.tx.commit_scn)
        for event in events
        if isinstance(event, ChangeEvent) and event.tx is not None
    ]
