"""The table that the benchmark prints: machine facts, then a line per measurement."""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import dataclass
from importlib.metadata import version

import psutil
from rich.console import Console
from rich.table import Table

from minercdc import native


@dataclass(frozen=True, slots=True)
class Measure:
    """One measurement.

    :param rows: what was done, in rows; 0 where rows mean nothing.
    :param cpu: CPU seconds of `process`.
    :param target: as text, such as `20,000 /cpu s`.
    """

    stage: str
    process: str
    rows: int
    wall: float
    cpu: float
    target: str = ""

    @property
    def rate(self) -> float:
        """Rows per CPU second of the process that does the stage."""
        return self.rows / self.cpu if self.cpu else 0.0


def machine() -> list[str]:
    """What the numbers depend on."""
    load = os.getloadavg()[0]
    memory = psutil.virtual_memory().total / 2**30
    packages = ", ".join(f"{name} {version(name)}" for name in ("oracledb", "confluent-kafka", "apsw"))
    return [
        f"{os.cpu_count()} cores, {memory:.0f} GiB, load {load:.1f} when begun; {_cpu_model()}",
        f"{platform.system()} {platform.release()}, Python {platform.python_version()} of {sys.base_prefix}, {packages}",
        f"path in use: {native.PATH}",
    ]


def _cpu_model() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "cpu unknown")
    except OSError:
        return platform.processor() or "cpu unknown"


def show(measures: list[Measure], facts: list[str], console: Console) -> None:
    """Print it."""
    for fact in facts:
        console.print(fact, highlight=False)
    table = Table()
    table.add_column("stage")
    table.add_column("process")
    for name in ("rows", "wall s", "cpu s", "rows / cpu s", "rows / wall s"):
        table.add_column(name, justify="right")
    table.add_column("target")
    for m in measures:
        per_cpu, per_wall = (f"{m.rate:,.0f}", f"{m.rows / m.wall:,.0f}") if m.rows else ("", "")
        table.add_row(
            m.stage, m.process, f"{m.rows:,}" if m.rows else "", f"{m.wall:.3f}", f"{m.cpu:.3f}", per_cpu, per_wall, m.target
        )
    console.print(table)
