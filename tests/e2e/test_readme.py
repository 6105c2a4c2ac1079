"""What README says to type, typed: servers, connector, a row, its record, a signal."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.e2e.connector import MinerCdc, run_to_end

from minercdc.local.ports import free_port

pytestmark = pytest.mark.usefixtures("own_interpreters")

ROOT = Path(__file__).parents[2]


def blocks(heading: str) -> list[str]:
    """The fenced blocks of a section."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = re.split(r"(?m)^## ", text.partition(f"\n## {heading}\n")[2])[0]
    return re.findall(r"(?ms)^```\w+\n(.*?)^```", section)


def test_the_parts_on_their_own(tmp_path: Path) -> None:
    ports = {"1521": free_port(), "9092": free_port(), "8089": free_port()}
    config = (ROOT / "connectors" / "sandbox.yaml").read_text()

    def with_ports(text: str) -> str:
        for documented, free in ports.items():
            text = re.sub(rf"\b{documented}\b", str(free), text)
        return text

    (tmp_path / "sandbox.yaml").write_text(with_ports(config) + f"minercdc.state.dir: {tmp_path / 'state'}\n")
    servers, program, signal = blocks("The parts on their own")

    def arguments(line: str) -> list[str]:
        words = shlex.split(
            with_ports(line).replace("connectors/sandbox.yaml", str(tmp_path / "sandbox.yaml")), comments=True
        )
        return [str(ROOT / word) if word.startswith("signals/") else word for word in words[words.index("minercdc") + 1 :]]

    sandbox, kafka, connector = servers.splitlines()
    password = {"MINERCDC_PASSWORD": "minercdc"}
    with ExitStack() as processes:
        serving = []
        for number, line in enumerate((sandbox, kafka)):
            where = ["--data", str(tmp_path / "kafka")] if "kafka" in line else []
            server = processes.enter_context(MinerCdc([*arguments(line), *where], tmp_path / f"server{number}.log"))
            server.await_output(r"ready 127\.0\.0\.1:\d+", 60)
            serving.append(server)
        running = processes.enter_context(MinerCdc(arguments(connector), tmp_path / "run.log", environment=password))
        running.await_log("streaming: ", 60)
        read = subprocess.run(
            [sys.executable, "-c", with_ports(program)], capture_output=True, text=True, check=True, timeout=60
        )
        ended = run_to_end(arguments(signal), tmp_path / "signal.log", environment=password)
        for one in (running, *serving):  # a broker outlives a command that is killed
            one.stop_in_order()
    assert re.findall(r'"ORDER_ID":(\d+)', "".join(line.partition(" ")[0] for line in read.stdout.splitlines())) == [
        "10",
        "11",
        "12",
        "13",
    ]
    assert read.stdout.count('"op":"r"') == 3
    assert read.stdout.count('"op":"c"') == 1
    assert ended.status == 0
    assert ended.output.splitlines()[-1].startswith("Signal COMPLETED"), ended.output
