"""One seeded history through `logminer`, `flashback` and `olr`, each killed at random: all fold to the same tables, `olr` delivers the events
of `logminer`, and `flashback` what they amount to in each transaction, with the same images.
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
from tests.checker.served import Confirming, captured_as
from tests.checker.test_checker import _sorted
from tests.checker.test_flashback import WithoutDdl
from tests.checker.test_olr import OlrLab, SingleInstance, instance
from tests.olr_server.feed import Feed
from tests.olr_server.printing import Style
from tests.olr_server.server import OlrServer
from tests.sandbox_capture.flashback_lab import FlashbackLab
from tests.sandbox_capture.lab import Lab, canonical

from minercdc.schema.table import TableSchema
from minercdc.stream.events import ChangeEvent, Event, Row

__all__ = ["instance"]

SEEDS = int(os.environ.get("MINERCDC_SEEDS", "3"))
FIRST_SEED = int(os.environ.get("MINERCDC_SEED", "11000"))
STEPS = 120

pytestmark = pytest.mark.timeout(240)
_names = (f"cs{i}" for i in itertools.count())
Image = tuple[str | None, ...] | None


def rows(events: list[Event]) -> list[ChangeEvent]:
    return [event for event in events if isinstance(event, ChangeEvent) and event.tx is not None]


def images(event: ChangeEvent) -> tuple[Any, Any]:
    return canonical(event.schema, event.before), canonical(event.schema, event.after)


def facts(events: list[Event]) -> list[tuple[Any, ...]]:
    """All that `logminer` and `olr` deliver of each change."""
    return [
        (*(one.op, one.schema.id.table, *images(one), one.scn, one.seq, one.row_id), one.tx.id, one.tx.commit_scn)
        for one in rows(events)
        if one.tx is not None
    ]


def net(events: list[Event]) -> list[tuple[str, int, dict[tuple[str, Image], tuple[Image, Image]]]]:
    """Of each transaction its XID, its commit SCN, and the first and last image of each row that it left or found."""
    found = []
    for (xid, scn), some in itertools.groupby(rows(events), key=lambda e: (e.tx.id, e.tx.commit_scn) if e.tx else ("", 0)):
        ends: dict[tuple[str, Image], tuple[Image, Image]] = {}
        for event in some:
            before, after = images(event)
            table = event.schema.id.table
            if before is not None:
                at = table, _key(event.schema, event.before)
                ends[at] = ends.get(at, (before, None))[0], None
            if after is not None:
                at = table, _key(event.schema, event.after)
                ends[at] = ends.get(at, (None, None))[0], after
        if left := {at: pair for at, pair in ends.items() if any(pair)}:
            found.append((xid, int(scn), left))
    return found


def _key(schema: TableSchema, row: Row | None) -> Image:
    return tuple(str((row or ())[place]) for place in schema.key)


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + SEEDS))
def test_three_adapters_deliver_the_same(instance: SingleInstance, tmp_path: Path, seed: int) -> None:
    chance, schema = random.Random(seed), next(_names)
    quick: dict[str, Any] = {"poll.interval.ms": 1}
    served = OlrLab(instance, schema, tmp_path, **quick)
    served.run("create table marker (n number(10) primary key)")
    workload = WithoutDdl(instance, schema, seed, [instance.service] * 4)
    feed = Feed(instance, [schema], tmp_path / "feed")
    served.server = OlrServer(feed, style=Style(chance.choice(["commit", "begin"])))
    labs = {"olr": served, "flashback": captured_as(FlashbackLab, served), "logminer": captured_as(Lab, served)}
    connectors = {
        name: (Confirming if name == "olr" else Connector)(lab, seed, workload.script) for name, lab in labs.items()
    }
    feed.shapes = list(connectors["olr"]._tables())
    try:
        for _ in range(STEPS):
            workload.step()
            connector, choice = connectors[chance.choice(list(connectors))], chance.random()
            if choice < 0.3:
                connector.pump(chance.randrange(1, 40))
            elif choice < 0.4:
                connector.kill()
        workload.finish()
        served.run("insert into marker values (1)")
        served.app.commit()
        for connector in connectors.values():
            connector.until(1)
        kept = {name: connector.kept for name, connector in connectors.items()}
        check_transactions(kept["logminer"], workload.expected)
        assert facts(kept["olr"]) == facts(kept["logminer"])
        assert net(kept["flashback"]) == net(kept["logminer"])
        for table in workload.tables:
            meant = sorted(map(str, map(_sorted, workload.contents(table))))
            for name, events in kept.items():
                assert sorted(map(str, map(_sorted, replica(events, table)))) == meant, f"{table} by {name}"
    except BaseException as error:  # a timeout, too
        pytest.fail(f"seed {seed}: {error!r}\n" + "\n".join(workload.script[-150:]))
    finally:
        for connector in connectors.values():
            connector.kill()
        served.server.close()
        workload.close()
        served.app.close()
