"""The connector with all rows in the logs before it starts: nothing but its own work, as it lags.

catch_up    transactions of 1000 rows, and of one row; natively and by Python in turns
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

from bench.processes import Connector, Sandbox
from bench.report import Measure
from bench.stages import Bench
from bench.tables import NARROW, STREAMED, BenchTable, load
from minercdc import native

_ROUNDS = 3
_PATIENCE = 120.0


def catch_up(sandbox: Sandbox, directory: Path, broker: str) -> Iterator[Measure]:
    """From `streaming from` in the log until a `read_committed` consumer has the last record."""
    bench, paths = Bench(directory, sandbox, broker), ["0"] if native.rows is None else ["1", "0"]
    for table, rows, what in ((STREAMED, 100_000, "1000 rows"), (NARROW, 15_000, "one row")):
        turns = [(f"catch_{table.name.lower()}_{turn}_{path}", path) for turn, path in product(range(_ROUNDS), paths)]
        for name, path in turns:
            with _connector(directory, name, table, sandbox, broker, path) as connector:
                connector.await_text("streaming from", _PATIENCE)
                time.sleep(2)  # the position is stored
        _fill(sandbox, table, rows)
        for name, path in turns:
            with bench.topic(name, table) as arrived, _connector(directory, name, table, sandbox, broker, path) as connector:
                connector.await_text("streaming from", _PATIENCE)
                wall, cpu = time.monotonic(), connector.cpu()
                while arrived() < rows:
                    connector.check()
                    if time.monotonic() - wall > _PATIENCE:
                        raise TimeoutError(f"see {connector.log}")
                stage = f"catching up, transactions of {what}, {'native' if path == '1' else 'Python'}"
                yield Measure(stage, "connector", rows, time.monotonic() - wall, connector.cpu() - cpu)


def _connector(directory: Path, name: str, table: BenchTable, sandbox: Sandbox, broker: str, path: str) -> Connector:
    more, environment = ("snapshot.mode: no_data",), {"MINERCDC_NATIVE": path}
    return Connector(directory, name, f"BENCH.{table.name}", sandbox, broker, more, environment)


def _fill(sandbox: Sandbox, table: BenchTable, rows: int) -> None:
    with sandbox.connect() as application:
        if table is STREAMED:
            load(application, table, 0, rows)
            return
        with application.cursor() as cursor:
            for n in range(rows):
                cursor.execute(table.insert, table.row(n))
                application.commit()


CATCH_UP_STAGES: dict[str, Callable[[Sandbox, Path, str], Iterator[Measure]]] = {"catch_up": catch_up}
