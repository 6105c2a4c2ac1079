"""From topics to lake tables with Spark, beside the least that a job has to do and beside the job that one writes first.

With `--format both` each job runs over the same topics for Delta, then for Iceberg.

lake          100,000 changes of one table of 10 columns, each job in a warm JVM of its own
lake_small    8 tables with 100 changes each, right after Spark's start
lake_wide     200 tables with 500 changes each; only when named
lake_updates  100 updates of a million rows, and what they leave on disk after maintenance without retention; only when named
lake_tiny     100 merges of 12 rows into 40, and what they leave on disk before maintenance; only when named
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from bench.capacity_stages import Seen
from bench.processes import SECRET, Connector, Sandbox
from bench.report import Measure
from bench.tables import MIDDLE, SCANNED, BenchTable, load, work

_CHANGES = 100_000
_WARM = 2_000
_MANY = 1_000_000
_PATIENCE_S = 1800


def lake(sandbox: Sandbox, directory: Path, broker: str, formats: Sequence[str]) -> Iterator[Measure]:
    """One large table: append, the straightforward job, the lake."""
    warm = replace(SCANNED, name="LAKEWARM")
    _create(sandbox, [warm])
    app = sandbox.connect()
    with _connector(directory, "warm", "BENCH.LAKEWARM", sandbox, broker) as connector:
        seen = Seen(broker, "warm.BENCH.LAKEWARM")
        seen.until(work(app, warm, 0, _WARM), connector)
        seen.close()
    with _connector(directory, "lake", "BENCH.MIDDLE", sandbox, broker) as connector:
        seen = Seen(broker, "lake.BENCH.MIDDLE")
        changes = work(app, MIDDLE, 0, _CHANGES * 4 // 7)
        seen.until(changes, connector)
        seen.close()
    for form in formats:
        for job in ("append", "plain", "lake"):
            for step, (wall, cpu) in _run(job, form, directory, "lake", "warm").items():
                target = "1.5 x append" if job == "lake" and step == "merged" else ""
                yield Measure(f"{form}, {job}: {step}, 10 columns", "Spark", changes, wall, cpu, target)


def lake_small(sandbox: Sandbox, directory: Path, broker: str, formats: Sequence[str]) -> Iterator[Measure]:
    """Few changes of several tables."""
    targets = {"readable": "8 cpu s", "merged": "20 cpu s"}
    for form, job, step, wall, cpu in _many(sandbox, directory, broker, formats, "small", 8, 100):
        target = targets.get(step, "") if job == "lake" else ""
        yield Measure(f"{form}, {job}: {step}, 8 tables x 100", "Spark", 800, wall, cpu, target)


def lake_wide(sandbox: Sandbox, directory: Path, broker: str, formats: Sequence[str]) -> Iterator[Measure]:
    """Many tables."""
    for form, job, step, wall, cpu in _many(sandbox, directory, broker, formats, "wide", 200, 500):
        target = "240 s wall" if step == "merged" else ""
        yield Measure(f"{form}, {job}: {step}, 200 tables x 500", "Spark", 100_000, wall, cpu, target)


def _many(
    sandbox: Sandbox, directory: Path, broker: str, formats: Sequence[str], name: str, tables: int, changes: int
) -> Iterator[tuple[str, str, str, float, float]]:
    """(format, job, step, wall and CPU seconds) of each step."""
    of_10_columns = [replace(MIDDLE, name=f"{name}{n}".upper()) for n in range(tables)]
    _create(sandbox, of_10_columns)
    app = sandbox.connect()
    with _connector(directory, name, f"BENCH.{name.upper()}.*", sandbox, broker) as connector:
        for table in of_10_columns:
            load(app, table, 0, changes)
        seen = Seen(broker, f"{name}.BENCH.{of_10_columns[-1].name}")
        seen.until(changes, connector)
        seen.close()
    jobs = ("plain", "lake") if name == "small" else ("lake",)
    for form in formats:
        for job in jobs:
            for step, (wall, cpu) in _run(job, form, directory, name).items():
                yield form, job, step, wall, cpu


def lake_updates(sandbox: Sandbox, directory: Path, broker: str, formats: Sequence[str]) -> Iterator[Measure]:
    """A few updates, spread over a large table that is maintained before and after."""
    app = sandbox.connect()
    more = ("minercdc.lake.retention.ms: 0", "minercdc.lake.max.offsets.per.trigger: 1000000")
    with _connector(directory, "updates", "BENCH.MIDDLE", sandbox, broker, more) as connector:
        seen = Seen(broker, "updates.BENCH.MIDDLE")
        load(app, MIDDLE, 0, _MANY)
        seen.until(_MANY, connector)
        first = {form: _run("maintained", form, directory, "updates") for form in formats}
        before = {form: _size(_lake_of(directory, "updates", form)) for form in formats}
        with app.cursor() as cursor:
            keys = range(0, _MANY, _MANY // 100)
            cursor.executemany(MIDDLE.update, [(*MIDDLE.new_values(n), n) for n in keys])
        app.commit()
        seen.until(_MANY + 100, connector)
        seen.close()
        second = {form: _run("maintained", form, directory, "updates") for form in formats}
    for form in formats:
        for step, rows, found in (("rows", _MANY, first[form]), ("updates", 100, second[form])):
            for name, (wall, cpu) in found.items():
                yield Measure(f"{form}, lake: {rows} {step} {name}", "Spark", rows, wall, cpu)
        grown = _size(_lake_of(directory, "updates", form)) - before[form]
        left = f"100 updates leave {grown / 1024:,.0f} KiB of {before[form] / 2**20:,.0f} MiB"
        yield Measure(f"{form}, lake: {left}", "disk", 0, 0, 0, "1024 KiB")


def lake_tiny(sandbox: Sandbox, directory: Path, broker: str, formats: Sequence[str]) -> Iterator[Measure]:
    """Tiny transactions, each merged on its own."""
    for form in formats:
        name = f"tiny{form}"
        tiny, lake = replace(MIDDLE, name=name.upper()), _lake_of(directory, name, form)
        table = lake / "BENCH" / tiny.name
        _create(sandbox, [tiny])
        app = sandbox.connect()
        more = ("minercdc.lake.merge.interval.ms: 0",)
        with _connector(directory, name, f"BENCH.{tiny.name}", sandbox, broker, more) as connector:
            load(app, tiny, 0, 40)
            with _beside("followed", form, directory, name) as steps:
                _await_version(table, 1, connector)
                for n in range(100):
                    version = _versions(table)
                    keys = [(n * 12 + k) * 7 % 40 for k in range(12)]
                    with app.cursor() as cursor:
                        cursor.executemany(tiny.update, [(*tiny.new_values(n + key), key) for key in keys])
                    app.commit()
                    _await_version(table, version + 1, connector)
        for step, (wall, cpu) in steps.items():
            yield Measure(f"{form}, lake: {step}, 100 x 12 rows", "Spark", 1_240, wall, cpu)
        left = f"{_versions(table)} versions of {_size(table) / 1024:,.0f} KiB, in a lake of {_size(lake) / 1024:,.0f} KiB"
        yield Measure(f"{form}, lake: {left}", "disk", 0, 0, 0, "2.5 x Delta" if form == "iceberg" else "")


def _versions(table: Path) -> int:
    """Commits of a lake table of either format, from its directory."""
    return sum(len(list(table.glob(files))) for files in ("_delta_log/*.json", "metadata/snap-*.avro"))


def _await_version(table: Path, version: int, connector: Connector) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while _versions(table) < version:
        connector.check()
        if time.monotonic() > deadline:
            raise TimeoutError(f"{table.name} has no version {version} of its own")
        time.sleep(0.02)


def _lake_of(directory: Path, name: str, form: str) -> Path:
    return directory / f"{name}-{form}-lake"


def _size(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())


def _create(sandbox: Sandbox, tables: list[BenchTable]) -> None:
    with sandbox.connect() as connection, connection.cursor() as cursor:
        for table in tables:
            for statement in table.ddl.strip().split(";\n"):
                cursor.execute(statement.rstrip(";"))


def _connector(
    directory: Path, name: str, tables: str, sandbox: Sandbox, broker: str, settings: tuple[str, ...] = ()
) -> Connector:
    """A connector that streams, for the jobs that come later."""
    more = (*settings, "minercdc.lake.trigger.interval.ms: 0", "tombstones.on.delete: false")
    connector = Connector(directory, name, tables, sandbox, broker, more)
    connector.await_text("streaming from", 60)
    return connector


def _with_lake(directory: Path, name: str, form: str) -> str:
    """The file of a connector's configuration with a lake of a format."""
    file = directory / f"{name}-{form}.yaml"
    lines = (f"path: {_lake_of(directory, name, form)}", f"format: {form}", f"catalog.name: bench_{name}")
    file.write_text((directory / f"{name}.yaml").read_text() + "".join(f"minercdc.lake.{line}\n" for line in lines))
    return str(file)


def _run(job: str, form: str, directory: Path, name: str, *warm: str) -> dict[str, tuple[float, float]]:
    """Run a job in a process of its own; its steps.

    :param form: of the lake's tables.
    """
    with _beside(job, form, directory, name, *warm) as steps:
        pass
    return steps


@contextmanager
def _beside(job: str, form: str, directory: Path, name: str, *warm: str) -> Iterator[dict[str, tuple[float, float]]]:
    """Run a job beside the block, whose end ends its standard input; its steps are there once it has ended."""
    steps: dict[str, tuple[float, float]] = {}
    command = [sys.executable, "-m", "bench.lake_job", job, *(_with_lake(directory, one, form) for one in (name, *warm))]
    log = directory / f"{job}-{form}.log"
    with (
        log.open("w") as errors,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env={**os.environ, **SECRET}, text=True
        ) as running,
    ):
        try:
            yield steps
            out, _ = running.communicate(timeout=_PATIENCE_S)
        finally:
            running.kill()
    if running.returncode:
        raise RuntimeError(f"{job} ended with status {running.returncode}: {log.read_text()[-2000:]}")
    steps.update(json.loads(out.splitlines()[-1]))


Stage = Callable[[Sandbox, Path, str], Iterator[Measure]]
FORMATS: Mapping[str, Sequence[str]] = {"delta": ("delta",), "iceberg": ("iceberg",), "both": ("delta", "iceberg")}


def lake_stages(formats: str) -> dict[str, Stage]:
    """The stages, by their names.

    :param formats: of the tables; a name of `FORMATS`.
    """
    stages = {
        "lake": lake,
        "lake_small": lake_small,
        "lake_wide": lake_wide,
        "lake_updates": lake_updates,
        "lake_tiny": lake_tiny,
    }
    return {name: partial(stage, formats=FORMATS[formats]) for name, stage in stages.items()}
