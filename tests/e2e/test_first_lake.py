"""What the tutorial of the lake says to type, typed: servers, connector, lake, both programs, and the proof."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.e2e.connector import PATIENCE_SECONDS, MinerCdc, run_to_end
from tests.e2e.test_readme import PASSWORD, Typed, blocks

pytestmark = pytest.mark.usefixtures("own_interpreters")

PAGE = "docs/first-lake.md"
SPARK_SECONDS = 3 * PATIENCE_SECONDS


def test_the_tutorial_of_the_lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in PASSWORD.items():
        monkeypatch.setenv(name, value)
    typed = Typed(tmp_path, "lake.yaml")
    parts, *_ = blocks(PAGE, "1. Start the parts")
    look, *_ = blocks(PAGE, "2. See that the tables are there")
    query, *_ = blocks(PAGE, "3. Query several tables as of one SCN")
    change, *_ = blocks(PAGE, "4. Change a row, and look again")
    verify, *_ = blocks(PAGE, "5. Prove it")
    sandbox, kafka, connector, lake = parts.splitlines()
    status, show = look.splitlines()

    def printed(line: str, name: str) -> str:
        ended = run_to_end(typed.arguments(line), tmp_path / f"{name}.log", timeout=SPARK_SECONDS)
        assert ended.status == 0, ended.message()
        return ended.output

    def program(text: str) -> str:
        text = typed.with_ports(text).replace("connectors/lake.yaml", str(typed.config))
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=SPARK_SECONDS)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def shown_within(order: str) -> None:
        deadline = time.monotonic() + SPARK_SECONDS
        while order not in printed(show, "show"):
            assert time.monotonic() < deadline, f"order {order} is not shown"

    with ExitStack() as processes:
        servers = [typed.serving(line, processes) for line in (sandbox, kafka)]
        running = processes.enter_context(MinerCdc(typed.arguments(connector), tmp_path / "run.log"))
        running.await_log("streaming: ", 60)
        keeping = processes.enter_context(MinerCdc(typed.arguments(lake), tmp_path / "lake.log"))
        keeping.await_log("all tables are at SCN", SPARK_SECONDS)
        shown_within("10")
        assert "SHOP.CUSTOMERS" in printed(status, "status")
        joined = program(query)
        assert "as of SCN" in joined
        assert "Grace" in joined
        program(change)
        shown_within("13")
        assert "verified: 2 tables, 6 rows, 0 differences" in printed(verify, "verify")
        for one in (keeping, running, *servers):
            one.stop_in_order()
