"""The owner's network is cut, in a network namespace of its own: a standby takes over, and the owner finds out when the network is back.

Needs root and `ip`, which Linux containers have too; skipped without.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.e2e.connector import MinerCdc
from tests.e2e.lab import Lab
from tests.fixtures.fix_sandbox import SandboxProcess

from minercdc.local.kafka_broker import KafkaBroker

_NEW_NETWORK = 0x40000000  # CLONE_NEWNET
_SECONDS = 120.0


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


class Network:
    """A namespace that is linked to ours.

    :ivar here, there: addresses of the link's two ends.
    """

    def __init__(self) -> None:
        number = os.getpid() % 250
        self.name, self._link = f"minercdc{os.getpid()}", f"mc{os.getpid()}"
        self.here, self.there = f"10.213.{number}.1", f"10.213.{number}.2"
        ip("netns", "add", self.name)
        ip("link", "add", self._link, "type", "veth", "peer", "name", "eth0", "netns", self.name)
        ip("address", "add", f"{self.here}/30", "dev", self._link)
        ip("link", "set", self._link, "up")
        for device in ("lo", "eth0"):
            ip("-n", self.name, "link", "set", device, "up")
        ip("-n", self.name, "address", "add", f"{self.there}/30", "dev", "eth0")

    def enter(self) -> None:
        """Of the process that calls this; before it does anything else."""
        descriptor = os.open(f"/var/run/netns/{self.name}", os.O_RDONLY)
        if ctypes.CDLL(None, use_errno=True).setns(descriptor, _NEW_NETWORK):
            raise OSError(ctypes.get_errno(), "setns")

    def cut(self) -> None:
        ip("-n", self.name, "link", "set", "eth0", "down")

    def restore(self) -> None:
        ip("-n", self.name, "link", "set", "eth0", "up")

    def remove(self) -> None:
        ip("netns", "del", self.name)


@pytest.fixture
def network() -> Iterator[Network]:
    if os.geteuid() or shutil.which("ip") is None:
        pytest.skip("needs root and ip")
    try:
        made = Network()
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no network namespaces: {error.stderr!r}")
    yield made
    made.remove()


@pytest.fixture
def linked(network: Network, tmp_path: Path, make_lab: Callable[..., Lab]) -> Iterator[Lab]:
    """A lab whose servers listen at our end of the link."""
    database = SandboxProcess((), "--host", network.here)
    try:
        with database.connect(service=database.root_service) as connection:
            connection.cursor().execute("ALTER DATABASE ADD SUPPLEMENTAL LOG DATA")
        with KafkaBroker(tmp_path / "kafka", host=network.here) as broker:
            yield make_lab(broker.bootstrap_servers, server=database)
    finally:
        database.stop()


@pytest.mark.timeout(180)
@pytest.mark.parametrize("standby", [False, True], ids=["a plain owner", "an owner that is a standby again"])
def test_the_owners_network_is_cut(linked: Lab, network: Network, standby: bool) -> None:
    with ExitStack() as processes:

        def start(number: int, options: list[str], host: str, limit: Callable[[], None] | None) -> MinerCdc:
            config = linked.config(
                f"i{number}.yaml",
                minercdc_state_dir=linked.directory / f"state{number}",
                minercdc_http_port=8089,
                minercdc_http_host=host,
                minercdc_http_token="a token of at least some length",
                minercdc_kafka_timeout_ms=5000,
            )
            command = ["run", "--log-interval", "0.1", *options, str(config)]
            return processes.enter_context(MinerCdc(command, linked.directory / f"i{number}.log", limit=limit))

        owner = start(1, ["--standby"] if standby else [], network.there, network.enter)
        owner.await_log("streaming:")
        other = start(2, ["--standby"], network.here, None)
        other.await_log("owns connector")
        time.sleep(4)  # both are in the group
        linked.insert(10, 5)
        linked.topics.await_records(linked.topic(), 8)
        network.cut()
        linked.insert(20, 5)
        other.await_log("streaming:", _SECONDS)
        assert "out of the consumer group" in other.text()
        linked.insert(30, 5)
        linked.topics.await_records(linked.topic(), 18)
        network.restore()
        if standby:
            owner.await_log("this one is a standby again", 60)
        else:
            ended = owner.await_end(60)
            assert (ended.status, ended.message()[:7]) == (4, "MC-6201"), ended.errors
        linked.insert(40, 5)
        records = linked.topics.await_records(linked.topic(), 23)
        other.stop_in_order()
    keys = [0, 1, 2, *(start + number for start in (10, 20, 30, 40) for number in range(5))]
    assert [record.key["ID"] for record in records] == keys, "nothing is lost, and nothing comes twice"
