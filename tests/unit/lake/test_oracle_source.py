"""What a Spark task loads to read Oracle."""

from __future__ import annotations

import subprocess
import sys


def test_a_task_that_reads_oracle_does_not_load_the_adapters() -> None:
    loaded = "import sys, minercdc.lake.source.oracle_table; print(*sys.modules)"
    names = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True).stdout.split()
    assert "minercdc.oracle.connect" in names
    heavy = {"minercdc.messages.configured", "minercdc.config.load", "minercdc.config.sections", "minercdc.capture.registry"}
    assert not heavy & {*names}
