"""The demo ends what it started when it is stopped, and with what it found when it is not."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import oracledb
import pytest

from minercdc.local.demo import play

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


def test_the_last_line_says_what_was_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(signal, "signal", lambda number, handler: None)
    monkeypatch.setattr(play, "_fetch_jars", lambda console, jars: None)
    monkeypatch.setattr(play._Demo, "run", lambda self: ([], 6, 9701))
    monkeypatch.setattr(tempfile, "mkdtemp", lambda prefix: str(tmp_path / prefix))
    monkeypatch.setattr(oracledb.defaults, "fetch_decimals", oracledb.defaults.fetch_decimals)  # is set, and given back
    assert play.play(None) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "verified: 6 tables, 9701 rows, 0 differences"
