"""A command that begins with its imports done is like `python -m minercdc` in what tests look at."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.connector import MinerCdc
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.forked import ForkedProcess, ForkServer

from minercdc.local.ports import free_port


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[MinerCdc]:
    """A connector that waits for its broker."""
    config = tmp_path / "c.yaml"
    config.write_text(
        "name: x\ntopic.prefix: x\ndatabase.hostname: x\ndatabase.user: u\ndatabase.password: p\ndatabase.dbname: d\n"
        f"minercdc.kafka.bootstrap.servers: 127.0.0.1:{free_port()}\n"
    )
    with MinerCdc(["run", str(config)], tmp_path / "run.log") as command:
        yield command


def test_it_is_a_process_of_its_own_that_can_be_killed(waiting: MinerCdc) -> None:
    assert isinstance(waiting.process, ForkedProcess)
    waiting.await_log("records: topics x")
    assert os.getsid(waiting.process.pid) == waiting.process.pid
    with pytest.raises(subprocess.TimeoutExpired):
        waiting.process.wait(0.1)
    waiting.kill()
    assert waiting.process.returncode == waiting.process.poll() == -signal.SIGKILL


def test_a_sandbox_is_forked_too_and_ends_with_the_status_of_its_signal() -> None:
    stopped, killed = SandboxProcess(), SandboxProcess()
    assert isinstance(stopped.process, ForkedProcess)
    with stopped.connect(), killed.connect():
        assert killed.kill() == ""
    assert stopped.stop() == (0, "")
    assert killed.process.returncode == -signal.SIGKILL


def test_output_status_and_usage_are_those_of_the_module(tmp_path: Path) -> None:
    for arguments in (["config", str(tmp_path / "missing.yaml")], ["signal", "--help"], ["verify"]):
        with MinerCdc(arguments, tmp_path / "forked.log") as command:
            forked = command.await_end()
        done = subprocess.run([sys.executable, "-m", "minercdc", *arguments], capture_output=True, text=True, check=False)
        assert (forked.status, forked.output, forked.errors) == (done.returncode, done.stdout, done.stderr)


def test_a_variable_that_imports_read_takes_an_interpreter(tmp_path: Path) -> None:
    server = ForkServer()
    with (tmp_path / "output").open("wb") as output:
        assert server.start(["config"], {**os.environ, "MINERCDC_NATIVE": "0"}, output, output) is None
        assert server.start(["config"], {**os.environ, "PYTHONPATH": "/x"}, output, output) is None
        process = server.start(["config"], {**os.environ, "MINERCDC_NAME": "x"}, output, output)
        assert process is not None
        assert process.wait(30) == 0
    assert "database.hostname" in (tmp_path / "output").read_text()
