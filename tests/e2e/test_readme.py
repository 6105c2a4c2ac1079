"""What README and the first pipeline say to type, typed: servers, connector, a row, its record, a signal."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.e2e.connector import MinerCdc, run_to_end

from minercdc.local.ports import free_port

pytestmark = pytest.mark.usefixtures("own_interpreters")

ROOT = Path(__file__).parents[2]


def blocks(page: str, heading: str) -> list[str]:
    """The fenced blocks of a section."""
    text = (ROOT / page).read_text(encoding="utf-8")
    section = re.split(r"(?m)^## ", text.partition(f"\n## {heading}\n")[2])[0]
    return re.findall(r"(?ms)^```\w*\n(.*?)^```", section)


class Typed:
    """Commands of a page, on free ports and with files of a test's own.

    :param name: of the file of connectors/ that they use.
    :ivar config: the file that they use here.
    """

    def __init__(self, directory: Path, name: str = "sandbox.yaml") -> None:
        self._directory = directory
        self._name = f"connectors/{name}"
        self._ports = {"1521": free_port(), "9092": free_port(), "8089": free_port()}
        text = (ROOT / self._name).read_text().replace("lake.path: lake", f"lake.path: {directory / 'lake'}")
        self.config = directory / name
        self.config.write_text(self.with_ports(text) + f"minercdc.state.dir: {directory / 'state'}\n")

    def with_ports(self, text: str) -> str:
        for documented, free in self._ports.items():
            text = re.sub(rf"\b{documented}\b", str(free), text)
        return text

    def arguments(self, line: str) -> list[str]:
        """Those of `minercdc` in a line of shell."""
        words = shlex.split(self.with_ports(line.replace(" & ", " ")).replace(self._name, str(self.config)), comments=True)
        return [str(ROOT / word) if word.startswith("signals/") else word for word in words[words.index("minercdc") + 1 :]]

    def script(self, lines: str) -> str:
        """The lines, for a shell."""
        return self.with_ports(lines).replace(self._name, str(self.config))

    def serving(self, line: str, processes: ExitStack) -> MinerCdc:
        """The server that a line starts, once it is ready."""
        where = ["--data", str(self._directory / "kafka")] if "minercdc kafka" in line else []
        arguments = self.arguments(line)
        server = processes.enter_context(MinerCdc([*arguments, *where], self._directory / f"{arguments[0]}.log"))
        server.await_output(r"ready 127\.0\.0\.1:\d+", 60)
        return server


PASSWORD = {"MINERCDC_PASSWORD": "minercdc"}


def pasted(script: str, directory: Path) -> str:
    """What a shell prints that is given all lines at once, as from the page's button that copies them. What they leave running ends."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "TMPDIR": str(directory),
    }
    shell = subprocess.Popen(
        ["bash", "-c", f'{script}\njobs=$(jobs -p); kill $jobs; for job in $jobs; do wait $job; echo "ended with $?"; done'],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = shell.communicate(timeout=240)
    except subprocess.TimeoutExpired:
        os.killpg(shell.pid, signal.SIGTERM)  # a broker outlives a command that is killed
        output, _ = shell.communicate(timeout=30)
    return output


def test_the_ten_lines_print_what_readme_says(tmp_path: Path) -> None:
    typed = Typed(tmp_path)
    commands, printed = blocks("README.md", "Try it")[:2]
    install, _, lines = commands.partition("\n")
    assert install.startswith("make install && ")
    output = pasted(typed.script(lines), tmp_path)
    found = [re.sub(r"^\S+ | SCN \d+$", "", line) for line in output.splitlines() if re.search(r" SCN \d+$", line)]
    assert [line for line in found if line.startswith("SHOP.ORDERS ")] == printed.splitlines(), output
    assert re.findall(r"(?m)^ended with (\d+)$", output) == ["0"] * 3, "sandbox, broker and connector"
    assert len(re.findall("(?m)^stopped$", output)) >= 2, output
    assert "Traceback" not in output


def test_the_parts_on_their_own(tmp_path: Path) -> None:
    typed = Typed(tmp_path)
    servers, program, signal = blocks("docs/first-pipeline.md", "The parts on their own")
    sandbox, kafka, connector = servers.splitlines()
    with ExitStack() as processes:
        serving = [typed.serving(line, processes) for line in (sandbox, kafka)]
        running = processes.enter_context(MinerCdc(typed.arguments(connector), tmp_path / "run.log", environment=PASSWORD))
        running.await_log("streaming: ", 60)
        read = subprocess.run(
            [sys.executable, "-c", typed.with_ports(program)], capture_output=True, text=True, check=True, timeout=60
        )
        ended = run_to_end(typed.arguments(signal), tmp_path / "signal.log", environment=PASSWORD)
        for one in (running, *serving):
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
