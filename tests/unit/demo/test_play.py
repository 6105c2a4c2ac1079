"""The demo ends what it started when it is stopped."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import oracledb
import pytest

from minercdc.demo import play


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("at", ["fetching", "running"])
def test_a_signal_unwinds(number: signal.Signals, at: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[str] = []

    def fetch(_console: object) -> None:
        if at == "fetching":
            signal.raise_signal(number)

    def run(self: Any) -> tuple[list[Any], int, int]:
        self._stack.callback(ended.append, "the processes")
        signal.raise_signal(number)
        return [], 0, 0

    monkeypatch.setattr(oracledb.defaults, "fetch_decimals", oracledb.defaults.fetch_decimals)
    monkeypatch.setattr(play, "_fetch_jars", fetch)
    monkeypatch.setattr(play._Demo, "run", run)
    # as `python -m minercdc` leaves them: handlers that do not raise
    before = {one: signal.signal(one, lambda _number, _frame: None) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        assert play.play(tmp_path) == 130
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
    assert ended == (["the processes"] if at == "running" else [])
