"""python -m bench.peer: Debezium and minercdc on the same sandbox and redo.

Debezium is unmodified, in its own embedded engine, on a Java of its own; all threads of both processes count.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from tests.parity.debezium import VERSION

from bench.peer.connectors import Target
from bench.peer.database import compare_database
from bench.peer.latency import compare_latency
from bench.peer.pipeline import compare_pipeline
from bench.peer.rates import rounds
from bench.peer.text import compare_text
from bench.peer.works import WORKS
from bench.report import machine

_OTHERS = ("text", "latency", "database", "pipeline")


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(prog="bench.peer", description=__doc__)
    more = f"{', '.join([*WORKS, *_OTHERS])}; default all of these"
    parser.add_argument("work", nargs="*", help=f"of {more}")
    parser.add_argument("--minutes", type=int, default=6, help="of the workload of database")
    parser.add_argument("--changes", type=int, default=100_000, help="of a round of pipeline")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--target", choices=("kafka", "nowhere", "both"), default="both")
    given = parser.parse_args()
    names = given.work or [*WORKS, *_OTHERS]
    if unknown := sorted(set(names) - set(WORKS) - set(_OTHERS)):
        parser.error(f"no such work: {', '.join(unknown)}")
    targets: Sequence[Target] = ("kafka", "nowhere") if given.target == "both" else (given.target,)
    console = Console(width=140)
    for fact in machine():
        console.print(fact, highlight=False)
    if measured := [name for name in names if name in WORKS]:
        _compare_rates(measured, targets, given.rounds, console)
    if "text" in names:
        compare_text(console)
    if "latency" in names:
        compare_latency(console)
    if "database" in names:
        compare_database(console, given.minutes)
    if "pipeline" in names:
        compare_pipeline(console, given.rounds, given.changes)


def _compare_rates(names: Sequence[str], targets: Sequence[Target], number: int, console: Console) -> None:
    table = Table(
        "path", "records go", *(f"{who}, rows / cpu s" for who in (f"Debezium {VERSION}", "minercdc")), "ratio", "MiB"
    )
    for name in names:
        # Of an incremental snapshot only its own topic shows how far it is.
        for target in ("kafka",) if WORKS[name].incremental else targets:
            console.print(f"{name}, {target} ..", highlight=False)
            rates = rounds(WORKS[name], target, number, console)
            shown = (_shown(rates.debezium), _shown(rates.minercdc), _shown(rates.ratios(), 2))
            table.add_row(WORKS[name].name, target, *shown, f"{rates.memory:.0f}")
    heaps = " and ".join(sorted({WORKS[name].heap for name in names}))
    console.print(f"Debezium: embedded engine, heap {heaps}; medians of {number} rounds, lowest to highest", highlight=False)
    console.print(table)


def _shown(values: Sequence[float], digits: int = 0) -> str:
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:,.{digits}f} ({low:,.{digits}f} to {high:,.{digits}f})"


if __name__ == "__main__":
    main()
