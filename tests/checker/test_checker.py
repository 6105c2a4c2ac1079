"""The randomised checker: seeded histories, faults and kills; what came out must be what was committed, in both modes.

`MINERCDC_SEEDS` says how many (6; `make torture` 200), `MINERCDC_SEED` where they begin. A failing seed is run again with
fewer steps, and the shortest history that fails is printed as a script.

The checker is checked itself: mutations.py takes one rule of the capture away at a time, and each must be found out.
"""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.checker import neighbour
from tests.checker.connector import Connector
from tests.checker.judge import check_transactions, replica
from tests.checker.mutations import MUTATIONS
from tests.checker.neighbour import Neighbour
from tests.checker.workload import Workload
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.lab import Lab

SEEDS = int(os.environ.get("MINERCDC_SEEDS", "6"))
FIRST_SEED = int(os.environ.get("MINERCDC_SEED", "1000"))
STEPS = 120
RETRIABLE = (28, 308, 310, 1089, 3113, 4030, 12528)

pytestmark = pytest.mark.timeout(240)
_names = (f"ck{i}" for i in itertools.count())


class Cluster(SandboxProcess):
    """A sandbox with four redo threads, which is kept in a directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        super().__init__((), "--data", str(directory))
        with self.connect() as admin:
            admin.cursor().execute("alter database add supplemental log data")
            for thread in (2, 3, 4):
                admin.cursor().execute(f"alter database enable public thread {thread}")
        neighbour.make(self)

    def restart(self) -> None:
        """Killed, and started again where it was."""
        self.kill()
        super().__init__((), "--data", str(self._directory), "--port", str(self.port))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    server = Cluster(tmp_path_factory.mktemp("cluster"))
    yield server
    assert server.stop()[0] == 0


def play(
    sandbox: Cluster,
    directory: Path,
    seed: int,
    steps: int = STEPS,
    script: list[str] | None = None,
    *,
    altering: bool = False,
    undoing: bool = False,
    **more: Any,
) -> Connector:
    """One history with its connector. Raises AssertionError when they disagree.

    :param altering: the history has DDL on partitions and keys.
    :param undoing: changes are undone in a later pass than they were read in.
    :param more: properties of the connector.
    """
    chance = random.Random(seed)
    schema = next(_names)
    lobs = chance.random() < 0.5 and more.get("lob.enabled", True)
    settings: dict[str, Any] = {"poll.interval.ms": 1, "query.fetch.size": 7, "lob.enabled": lobs}
    settings |= more
    settings |= {f"log.mining.log.backoff.{delay}.delay.ms": 1 for delay in ("initial", "max")}
    lab = Lab(sandbox, schema, directory, committed=chance.random() < 0.5, **settings)
    services = [sandbox.service + chance.choice(["", "", "_2", "_3", "_4"]) for _ in range(4)]
    lab.run("create table marker (n number(10) primary key)")
    unseen = not lobs and random.Random(seed + 3).random() < 0.5
    workload = Workload(sandbox, schema, seed, services, lobs=lobs, unseen=unseen, altering=altering)
    if script is not None:
        workload.script = script
    connector = Connector(lab, seed, workload.script)
    faults = sandbox.connect()
    beside, later = random.Random(seed + 2), random.Random(seed + 4)
    other = Neighbour(sandbox, schema, seed) if beside.random() < 0.5 else None
    if beside.random() < 0.3:
        workload.script.append("admin: undo rows without redo address")
        faults.cursor().execute(f"call dbms_sandbox.hide_addresses('{schema.upper()}')")
    try:
        for _ in range(steps):
            workload.step()
            if other is not None:
                other.step()
            if beside.random() < 0.02:
                _catch_in_the_middle(workload, connector, beside.randrange(4))
            if undoing and later.random() < 0.05:
                _undo_in_a_later_pass(workload, connector, later.randrange(4))
            choice = chance.random()
            if choice < 0.15:
                connector.pump(chance.randrange(1, 40))
            elif choice < 0.19:
                connector.kill()
            elif choice < 0.21:
                connector.change_mode()
            elif choice < 0.24:
                _fault(faults, chance, workload.script)
            elif choice < 0.245:
                sandbox.restart()
                workload.reconnect()
                lab.app, faults = lab.session(), sandbox.connect()
                if other is not None:
                    other.reconnect()
        faults.cursor().execute("call dbms_sandbox.clear_faults()")
        faults.cursor().execute(f"call dbms_sandbox.release_strand('{schema.upper()}')")
        workload.finish()
        lab.run("insert into marker values (1)")
        lab.app.commit()
        connector.until(1)
        check_transactions(connector.kept, workload.expected)
        for table in workload.tables:
            rows = sorted(map(str, map(_sorted, replica(connector.kept, table))))
            assert rows == sorted(map(str, map(_sorted, workload.contents(table)))), f"contents of {table}"
        return connector
    finally:
        faults.cursor().execute("call dbms_sandbox.clear_faults()")
        faults.cursor().execute(f"call dbms_sandbox.show_addresses('{schema.upper()}')")
        connector.kill()
        if other is not None:
            other.close()
        workload.close()
        faults.close()
        lab.app.close()


def _catch_in_the_middle(workload: Workload, connector: Connector, place: int) -> None:
    """All commit while a pass is under way, which is past the end of some redo threads and not yet of others."""
    connector.pump(30)
    workload.fill_log(place)
    connector.pump(4)
    workload.commit_each(place + 1)
    connector.pump(20)


def _undo_in_a_later_pass(workload: Workload, connector: Connector, place: int) -> None:
    """LogMiner does not see the START of the transaction then, so undo rows have a partial XID. Where large values are not read, one
    is undone, too."""
    workload.change_after_savepoint(place)
    connector.read_on()
    workload.undo_to_savepoint(place)
    if workload.unseen:
        workload.undo_unseen(place)


def _sorted(row: dict[str, str]) -> list[tuple[str, str]]:
    return sorted(row.items())


def _fault(faults: Any, chance: random.Random, script: list[str]) -> None:
    at = chance.choice(["connect", "execute", "fetch"])
    what = chance.choice([f"fail_call({chance.choice(RETRIABLE)}, ", "drop_connection("])
    matching = "" if at == "connect" else ", matching => 'LOGMNR'"
    call = f"call dbms_sandbox.{what}at => '{at}', username => 'C##MINERCDC', nth => {chance.randrange(1, 6)}{matching})"
    script.append(f"admin: {call}")
    faults.cursor().execute(call)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + SEEDS))
def test_what_comes_out_is_what_was_committed(cluster: Cluster, tmp_path: Path, seed: int) -> None:
    try:
        play(cluster, tmp_path, seed, altering=bool(seed % 2), undoing=seed % 3 == 0)
    except Exception as error:
        script = _shortest(cluster, tmp_path, seed)
        pytest.fail(f"seed {seed}: {error}\n" + "\n".join(script))


def _shortest(sandbox: Cluster, directory: Path, seed: int) -> list[str]:
    """The script of the shortest beginning of the history that fails; the whole one's if only that does."""
    script: list[str] = []
    for steps in (10, 20, 40, 80, STEPS):
        script = []
        try:
            play(sandbox, directory, seed, steps, script, altering=bool(seed % 2), undoing=seed % 3 == 0)
        except Exception:
            break
    return script


# ---- the checker, checked ----


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("rule", MUTATIONS)
def test_a_missing_rule_is_found_out(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rule: str) -> None:
    mutation = MUTATIONS[rule]
    monkeypatch.setattr("tests.sandbox_capture.lab.IS_NATIVE", False)  # the rules that are taken away are those of Python
    mutation.remove(monkeypatch)
    for seed in (mutation.seed, *range(40)):
        try:
            play(cluster, tmp_path, seed, altering=mutation.altering, undoing=mutation.undoing)
        except Exception:  # any way of failing will do
            return
    pytest.fail(f"nothing was noticed up to seed {seed}")
