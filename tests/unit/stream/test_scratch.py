"""Temporary directories go, however the process ends."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.examples import every_other

from minercdc.stream.temporary import remove_temporary_directories, temporary_directory

# A command that is in the middle of something when it is stopped; twice: it has no patience then.
_COMMAND = """
import sys, time
from minercdc.cli.stopping import Stop
from minercdc.stream.temporary import temporary_directory
stop = Stop(patience=None if sys.argv[1] == "twice" else 0, status=130)
with temporary_directory("minercdc-verify-") as directory:
    open(directory + "/rows", "w").close()
    print("begun", flush=True)
    time.sleep(60)  # until it is stopped
"""


def test_they_go_with_their_context_or_all_at_once() -> None:
    with temporary_directory("minercdc-x-") as first:
        assert Path(first).is_dir()
    assert not Path(first).exists()
    with temporary_directory("minercdc-x-") as second:
        (Path(second) / "file").touch()
        remove_temporary_directories()
        assert not Path(second).exists()


@pytest.mark.parametrize(
    ("number", "times"),
    every_other([(signal.SIGTERM, "once"), (signal.SIGINT, "once"), (signal.SIGINT, "twice"), (signal.SIGTERM, "twice")]),
)
def test_a_signal_leaves_none(tmp_path: Path, number: signal.Signals, times: str) -> None:
    command = [sys.executable, "-c", _COMMAND, times]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={"TMPDIR": str(tmp_path)}) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        assert len(list(tmp_path.iterdir())) == 1
        process.send_signal(number)
        while times == "twice" and process.poll() is None:
            process.send_signal(number)
        assert process.wait(30) in (130, 128 + number)
    assert list(tmp_path.iterdir()) == []
