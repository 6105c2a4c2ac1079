"""The output of `verify` and `lake verify`: a progress bar, each difference as it is found, and a final summary."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from minercdc.cli.output import errors, progress
from minercdc.cli.pasting import pasteable

if TYPE_CHECKING:
    from minercdc.lake.maintain.verify import Report, TableReport


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


def end_with(report: Report) -> None:
    """Print the summary; SystemExit with status 1 when something differs, or could not be compared."""
    errors.print(f"compared at SCN {report.scn}", highlight=False)
    sys.stdout.write(f"{report.summary()}\n")
    sys.stdout.flush()
    if not report.equal:
        raise SystemExit(1)
