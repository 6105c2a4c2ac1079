"""`minercdc verify`, and the output of `lake verify`, too: a progress bar, each difference as it is found, and a final summary."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from minercdc.cli.output import AsJson, ConfigFile, OneTable, Verbose, errors, log_to, print_json, progress
from minercdc.cli.pasting import pasteable
from minercdc.cli.stopping import UNFINISHED, Stop

if TYPE_CHECKING:
    from minercdc.lake.maintain.verify import Report, TableReport


def verify(config: ConfigFile, table: OneTable = None, as_json: AsJson = False, verbose: Verbose = False) -> None:
    """Compare the topics with Oracle's tables at the newest SCN that is complete in Kafka; exit status 1 when they differ."""
    Stop(patience=0, status=UNFINISHED)
    from minercdc.config.load import load_config
    from minercdc.operate.verify import verify as compare

    loaded = load_config(config)
    log_to(errors, verbose)
    with comparing() as done:
        report = compare(loaded, table=table, done=done)
    end_with(report, as_json=as_json)


@contextmanager
def comparing() -> Iterator[Callable[[TableReport, int], None]]:
    """A function to call with each table that was compared, and the number of tables: it moves the bar, and prints what differs."""
    with progress("comparing") as bar:
        task = bar.add_task("tables", total=None)

        def done(report: TableReport, total: int) -> None:
            bar.update(task, total=total, advance=1)
            for line in report.lines():
                bar.console.print(pasteable(line), markup=False, highlight=False, soft_wrap=True)

        yield done


def end_with(report: Report, *, as_json: bool = False) -> None:
    """Print the summary; SystemExit with status 1 when something differs, or could not be compared."""
    errors.print(f"compared at SCN {report.scn}", highlight=False)
    if as_json:
        print_json(_document(report))
    else:
        sys.stdout.write(f"{report.summary()}\n")
        sys.stdout.flush()
    if not report.equal:
        raise SystemExit(1)


def _document(report: Report) -> dict[str, object]:
    tables = [
        {"table": one.name, "rows": one.rows, "differences": one.differences, "error": one.failure or None}
        for one in report.tables
    ]
    return {"scn": str(report.scn), "equal": report.equal, "tables": tables}
