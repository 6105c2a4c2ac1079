"""The randomised checker over `fors_olr`, and over `logminer` on the same history: both deliver the same transactions and tables.

The server cuts connections, damages answers, refuses commands, restarts and loses its state; the connector is killed. The histories are of
one redo thread, and without DDL on the tables, which the server takes for granted.
"""

from __future__ import annotations

import itertools
import os
import random
from pathlib import Path
from typing import Any

import pytest
from tests.checker.connector import Connector
from tests.checker.judge import check_transactions, replica
from tests.checker.served import Confirming, ServedLab, captured_as, work
from tests.checker.test_checker import _sorted
from tests.checker.test_olr import SingleInstance, changes, instance
from tests.checker.workload import Workload
from tests.fors_server import wire
from tests.fors_server.printing import Style
from tests.fors_server.server import ForsServer
from tests.olr_server.feed import Feed
from tests.sandbox_capture.lab import Lab

__all__ = ["instance"]

SEEDS = int(os.environ.get("MINERCDC_SEEDS", "6"))
FIRST_SEED = int(os.environ.get("MINERCDC_SEED", "7000"))
STEPS = 120

pytestmark = pytest.mark.timeout(240)
_names = (f"cf{i}" for i in itertools.count())


class ForsLab(ServedLab):
    """See `ServedLab`."""

    adapter = "fors_olr"
    server: ForsServer

    def server_settings(self) -> dict[str, str]:
        more = {"minercdc.fors.timeout.ms": "3000", "minercdc.fors.empty.lob": "empty"}
        return {**more, **self.server.properties(), "minercdc.fors.interval.ms": "1"}


class WithoutDdl(Workload):
    """Leaves out DDL."""

    def _ddl(self, session: Any) -> None:
        self._say("no DDL")


def fault(server: ForsServer, chance: random.Random, script: list[str]) -> None:
    """Something that goes wrong at the server."""
    what = chance.choice(["cut", "cut", "shorten", "replace", "refuse", "restart", "restart", "forget"])
    script.append(f"server: {what}")
    place = server.data + chance.randrange(1, 20)
    if what == "cut":
        server.faults.cut_after = server.bytes + chance.randrange(1, 3000)
    elif what == "shorten":
        server.faults.damage[place] = lambda answer: wire.Writer(server.style.order).frame(wire.DATA, answer[6:-1])
    elif what == "replace":
        junk = chance.randbytes(20)
        server.faults.damage[place] = lambda _: wire.Writer(server.style.order).frame(wire.DATA, b"\x00" + junk)
    elif what == "refuse":
        server.faults.refuse[chance.choice([wire.LAST_COMMITED_SCN, wire.BACK_TO_SCN, wire.GET_STATUS])] = (1, "no")
    elif what == "restart":
        server.restart()
    else:
        server.forget()


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + SEEDS))
def test_what_was_committed_comes_once(instance: SingleInstance, tmp_path: Path, seed: int) -> None:
    chance, schema = random.Random(seed), next(_names)
    lobs = chance.random() < 0.5
    settings: dict[str, Any] = {"poll.interval.ms": 1, "lob.enabled": lobs}
    lab = ForsLab(instance, schema, tmp_path, **settings)
    lab.run("create table marker (n number(10) primary key)")
    workload = WithoutDdl(instance, schema, seed, [instance.service] * 4, lobs=lobs)
    feed = Feed(instance, [schema], tmp_path / "feed")
    style = Style(chance.choice(["little", "big"]), chance.choice(["oracle", "text"]), piece=chance.choice([5, 8_000]))
    block = random.Random(seed + 9).choice([1, 1, 40])
    lab.server = server = ForsServer(feed, style=style, queue=chance.choice([1, 3, 100]), block=block)
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
        assert [one[: 7 if block == 1 else 6] for one in changes(connector.kept)] == [
            one[: 7 if block == 1 else 6] for one in changes(redo.kept)
        ]
        for table in workload.tables:
            rows = sorted(map(str, map(_sorted, replica(connector.kept, table))))
            assert rows == sorted(map(str, map(_sorted, workload.contents(table)))), f"contents of {table}"
        assert server.violations == 0
    except Exception as error:
        pytest.fail(f"seed {seed}: {error!r}\n" + "\n".join(workload.script[-150:]))
    finally:
        connector.kill()
        redo.kill()
        server.close()
        workload.close()
        lab.app.close()
