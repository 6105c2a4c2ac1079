"""`minercdc run --standby`: it takes over when the owner dies or hangs; nothing is lost, and nothing comes twice.

`MINERCDC_TAKEOVERS` is `KILLS,FREEZES`: how many of each are timed (`make standby`: 50,20).
"""

from __future__ import annotations

import json
import os
import re
import signal
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from tests.e2e.connector import MinerCdc
from tests.e2e.lab import Lab

from minercdc.local.ports import free_port

KILLS, FREEZES = map(int, os.environ.get("MINERCDC_TAKEOVERS", "1,1").split(","))
# `make standby` measures; beside other tests the bounds are only that a standby takes over at all.
BOUNDS = (10.0, 5.0, 20.0) if "MINERCDC_TAKEOVERS" in os.environ else (120.0, 120.0, 120.0)
KILL_SECONDS, PORT_SECONDS, FREEZE_SECONDS = BOUNDS
TAKING = r"taking over connector"


class Instances:
    """Instances of one connector, each with a directory and a port of its own."""

    def __init__(self, lab: Lab, processes: ExitStack, *, ports: bool) -> None:
        self.lab = lab
        self._processes = processes
        self._ports = ports
        self._count = 0
        self.port_of: dict[str, int] = {}

    def start(self, *, standby: bool, **changes: object) -> MinerCdc:
        self._count += 1
        number = self._count
        settings: dict[str, object] = {"minercdc_state_dir": self.lab.directory / f"state{number}", **changes}
        log = f"instance{number}.log"
        if self._ports:
            self.port_of[log] = free_port()
            settings["minercdc_http_port"] = self.port_of[log]
        config = self.lab.config(f"instance{number}.yaml", **settings)
        options = ["--standby"] if standby else []
        command = ["run", "--log-interval", "0.1", *options, str(config)]
        return self._processes.enter_context(MinerCdc(command, self.lab.directory / log))

    def health(self, instance: MinerCdc, page: str = "health") -> dict[str, Any]:
        with urlopen(f"http://127.0.0.1:{self.port_of[instance.log.name]}/{page}", timeout=5) as answer:
            return dict(json.loads(answer.read()))


def streams(instance: MinerCdc, since: int = 0) -> bool:
    """Whether it streams, by its log from a place on."""
    return re.search(r"INFO +streaming: ", instance.text()[since:]) is not None


def await_one(instances: list[MinerCdc], seconds: float, since: dict[str, int]) -> MinerCdc:
    """The first of them that streams."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for instance in instances:
            if streams(instance, since.get(instance.log.name, 0)):
                return instance
        time.sleep(0.02)
    raise AssertionError("none took over:\n" + "\n".join(one.story() for one in instances))


@contextmanager
def writing(lab: Lab) -> Iterator[list[int]]:
    """Rows are inserted meanwhile, two in a transaction; their keys."""
    written, ended = [0, 1, 2], threading.Event()

    def write() -> None:
        with lab.connect() as connection, connection.cursor() as cursor:
            while not ended.is_set():
                keys = [len(written) + 100, len(written) + 101]
                cursor.executemany("INSERT INTO T VALUES (:1, 'x')", [(key,) for key in keys])
                connection.commit()
                written.extend(keys)
                time.sleep(0.05)  # the pace of the rows

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield written
    finally:
        ended.set()
        thread.join()


def assert_delivered(lab: Lab, written: list[int], instance: MinerCdc) -> None:
    """Every row once, in order."""
    records = lab.topics.await_records(lab.topic(), len(written), 60)
    instance.stop_in_order()
    assert [record.key["ID"] for record in lab.topics.records(lab.topic())] == written, (
        "nothing is lost, nothing comes twice"
    )
    assert len(records) == len(written)


def report(what: str, seconds: list[float]) -> None:
    ordered = sorted(seconds)
    print(f"\n{what}: {len(ordered)}, p50 {statistics.median(ordered):.2f} s, max {ordered[-1]:.2f} s")


@pytest.mark.timeout(60 + 30 * KILLS)
@pytest.mark.parametrize("ports", [False, True], ids=["by the group", "by the port"])
def test_the_owner_is_killed(lab: Lab, ports: bool) -> None:
    took = []
    with ExitStack() as processes:
        instances = Instances(lab, processes, ports=ports)
        owner = instances.start(standby=False)
        owner.await_log("streaming:")
        with writing(lab) as written:
            for _ in range(KILLS):
                standby = instances.start(standby=True)
                standby.await_log("owns connector")
                if ports:
                    assert instances.health(standby)["status"] == "STANDBY"
                time.sleep(4)  # it joins, and meets the owner
                assert "taking over" not in standby.text()
                begun = time.monotonic()
                owner.kill()
                await_one([standby], 120, {})
                took.append(time.monotonic() - begun)
                owner = standby
        report("kills", took)
        assert_delivered(lab, written, owner)
    assert max(took) < (PORT_SECONDS if ports else KILL_SECONDS)


@pytest.mark.timeout(60 + 60 * FREEZES)
def test_the_owner_is_frozen(lab: Lab) -> None:
    took = []
    with ExitStack() as processes:
        instances = Instances(lab, processes, ports=True)
        owner = instances.start(standby=True)
        owner.await_log("streaming:")
        standby = instances.start(standby=True)
        standby.await_log("owns connector")
        with writing(lab) as written:
            for _ in range(FREEZES):
                time.sleep(4)  # both are in the group
                places = {one.log.name: len(one.text()) for one in (owner, standby)}
                begun = time.monotonic()
                owner.process.send_signal(signal.SIGSTOP)
                try:
                    await_one([standby], 40, places)
                    took.append(time.monotonic() - begun)
                    time.sleep(2)  # in which the other one writes
                finally:
                    owner.process.send_signal(signal.SIGCONT)
                deadline = time.monotonic() + 40
                while "this one is a standby again" not in owner.text()[places[owner.log.name] :]:
                    assert time.monotonic() < deadline, owner.story()
                    time.sleep(0.02)
                owner, standby = standby, owner
        report("freezes", took)
        assert instances.health(standby)["phase"] == "standby"
        assert_delivered(lab, written, owner)
    assert max(took) < FREEZE_SECONDS


def test_a_plain_instance_that_was_replaced_ends_with_its_own_status(lab: Lab) -> None:
    with ExitStack() as processes:
        instances = Instances(lab, processes, ports=False)
        owner = instances.start(standby=False)
        owner.await_log("streaming:")
        standby = instances.start(standby=True)
        standby.await_log("owns connector")
        owner.process.send_signal(signal.SIGSTOP)
        try:
            standby.await_log("streaming:", 25)
        finally:
            owner.process.send_signal(signal.SIGCONT)
        ended = owner.await_end(40)
        assert (ended.status, ended.message()[:7]) == (4, "MC-6201"), ended.errors
        assert ended.message().splitlines()[0] == f"MC-6201: another instance of connector {lab.name} has taken over"
        time.sleep(3)  # in which it would end, too
        standby.stop_in_order()


def test_one_of_several_takes_over(lab: Lab) -> None:
    with ExitStack() as processes:
        instances = Instances(lab, processes, ports=True)
        owner = instances.start(standby=False)
        owner.await_log("streaming:")
        standbys = [instances.start(standby=True) for _ in range(2)]
        for standby in standbys:
            standby.await_log("owns connector")
        time.sleep(6)  # they join, and meet the owner
        owner.kill()
        lab.insert(100, 10)
        one = await_one(standbys, 20, {})
        time.sleep(10)  # in which the other one would take over, too
        (other,) = [standby for standby in standbys if standby is not one]
        assert (streams(other), "taking over" in other.text()) == (False, False), other.story()
        assert instances.health(other)["status"] == "STANDBY"
        assert instances.health(other, "ready")["status"] == "UP"
        assert instances.health(one)["status"] == "UP"
        one.stop_in_order()
        other.await_log("streaming:", 15)
        assert_delivered(lab, [0, 1, 2, *range(100, 110)], other)


def test_a_standby_alone_starts_and_its_offset_cannot_be_moved(lab: Lab) -> None:
    with ExitStack() as processes:
        standby = Instances(lab, processes, ports=False).start(standby=True)
        standby.await_log("no instance has claimed the name yet", 20)
        standby.await_log("streaming:", 20)
        refused = lab.minercdc(
            "offsets", "reset", str(lab.config()), "--yes"
        )  # of another machine: another minercdc.state.dir
        assert (refused.status, "is running; stop it first" in refused.errors) == (2, True), refused.errors
        standby.stop_in_order()
    assert "is removed" in lab.minercdc("offsets", "reset", str(lab.config()), "--yes").output


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"minercdc.kafka.transactional": "false"}, "minercdc.kafka.transactional: --standby needs true"),
        (
            {"debezium.sink.type": "segments", "minercdc.sink.path": "out"},
            "debezium.sink.type: --standby needs kafka, not segments",
        ),
    ],
)
def test_what_cannot_be_fenced_is_refused(lab: Lab, changes: dict[str, str], reason: str, tmp_path: Path) -> None:
    given = {name.replace(".", "_"): value for name, value in changes.items()}
    if "minercdc_sink_path" in given:
        given["minercdc_sink_path"] = str(tmp_path / "out")
    ended = lab.minercdc("run", "--standby", str(lab.config(**given)))
    assert (ended.status, reason in ended.errors) == (2, True), ended.errors
