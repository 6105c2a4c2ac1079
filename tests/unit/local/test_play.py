"""The demo ends what it started when it is stopped."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

# In a process of its own: a signal to the one that runs the tests can end it.
_PLAY = """
import signal, sys
from pathlib import Path
from minercdc.local.demo import play

number, at, directory = int(sys.argv[1]), sys.argv[2], Path(sys.argv[3])

def fetch(console, jars):
    if at == "fetching":
        signal.raise_signal(number)

def run(self):
    self._stack.callback(print, "ended the processes")
    signal.raise_signal(number)
    return [], 0, 0

play._fetch_jars, play._Demo.run = fetch, run
for one in (signal.SIGINT, signal.SIGTERM):  # as `python -m minercdc` leaves them: handlers that do not raise
    signal.signal(one, lambda number, frame: None)
sys.exit(play.play(directory))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("at", ["fetching", "running"])
def test_a_signal_unwinds(number: signal.Signals, at: str, tmp_path: Path) -> None:
    arguments = [sys.executable, "-c", _PLAY, str(int(number)), at, str(tmp_path)]
    ended = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert ended.returncode == 130, ended.stderr
    assert ("ended the processes" in ended.stdout) == (at == "running")
