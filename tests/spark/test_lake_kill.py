"""The lake stopped at every boundary: what was appended, merged or recorded is neither lost nor done twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from shutil import copyfile
from typing import TYPE_CHECKING

import pytest
from tests.spark.connector import Connector
from tests.spark.histories import killed
from tests.spark.reading import TABLE, lake

from minercdc.config.load import ConnectorConfig
from minercdc.lake import start
from minercdc.lake.stream.change_log import ChangeLog
from minercdc.lake.table.formats import format_of
from minercdc.lake.table.state import StateTable
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import Op

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TableSchema(
    TableId("PDB", "LAB", "T"),
    (Column("ID", "NUMBER", 9, 0, nullable=False), Column("V", "VARCHAR2", 20)),
    key=(0,),
)
# Owner, method, and whether it had done its work. What follows on one has the next one's state of before.
BOUNDARIES: list[tuple[type, str, bool]] = [
    (ChangeLog, "append_rows", False),
    (ChangeLog, "arrivals", False),
    (ChangeLog, "append_rows", True),
    (TABLE, "take", False),
    (TABLE, "fill", False),
    (TABLE, "merge_rows", False),
    (TABLE, "merge_rows", True),
    (StateTable, "append", False),
    (StateTable, "append", True),
]

# Where Spark reads the records itself, and compiled code does not.
OF_SPARK: list[tuple[type, str, bool]] = [
    (ChangeLog, "append", False),
    (ChangeLog, "arrivals", False),
    (TABLE, "merge", False),
]


def test_a_lake_that_is_stopped_at_any_boundary_goes_on_without_loss_or_repeat(
    spark: SparkSession,
    config: ConnectorConfig,
    connector: Connector,
    sync: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    is_stopped_and_goes_on(spark, config, connector, sync, monkeypatch, BOUNDARIES)


@pytest.mark.usefixtures("read_by_spark")
def test_so_does_one_whose_micro_batches_spark_reads(
    spark: SparkSession,
    config: ConnectorConfig,
    connector: Connector,
    sync: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    is_stopped_and_goes_on(spark, config, connector, sync, monkeypatch, OF_SPARK)


def is_stopped_and_goes_on(
    spark: SparkSession,
    config: ConnectorConfig,
    connector: Connector,
    sync: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
    boundaries: Sequence[tuple[type, str, bool]],
) -> None:
    table, rows = T, {}
    connector.structure(table)
    for number in range(16):
        rows[number] = ["v"]
        connector.change(Op.CREATE, None, (str(number), "v"), row_id=f"R{number}")
    connector.commit()
    sync()
    for turn, (owner, method, after) in enumerate(boundaries):
        added = Column(f"C{turn}", "VARCHAR2", 20, default=f"'default {turn}'")
        wider = replace(table, columns=(*table.columns, added), version=table.version + 1)
        connector.alter(table, f"ALTER TABLE lab.t ADD (c{turn} VARCHAR2(20) DEFAULT 'default {turn}')", wider)
        table = wider
        for values in rows.values():
            values.append(f"default {turn}")
        before = rows[turn]
        rows[turn] = [f"changed {turn}", *before[1:]]
        connector.change(Op.UPDATE, (str(turn), *before), (str(turn), *rows[turn]), row_id=f"R{turn}")
        if turn % 2 == 0:
            gone = 15 - turn // 2
            connector.change(Op.DELETE, (str(gone), *rows.pop(gone)), None, row_id=f"R{gone}")
        rows[100 + turn] = ["new"] * (len(table.columns) - 1)
        connector.change(Op.CREATE, None, (str(100 + turn), *rows[100 + turn]), row_id=f"R{100 + turn}")
        connector.commit()
        with killed(monkeypatch, owner, method, after=after) as calls, suppress(Exception):
            sync()
        assert calls, f"{method} was not called"
        sync()
        found = {row["ID"]: [row[column.name] for column in table.columns[1:]] for row in lake(spark, config, table)}
        assert found == rows, f"killed {'after' if after else 'before'} {owner.__name__}.{method}"
    log = format_of(config).changes(spark).read()
    assert log.count() == log.select("topic", "partition", "offset").distinct().count()


def written(lake: Path) -> list[Path]:
    """The files of a lake but Hadoop's checksums, in the order in which they were written."""
    found = [path for path in lake.rglob("*") if path.is_file() and path.suffix != ".crc"]
    return sorted(found, key=lambda path: path.stat().st_mtime_ns)


def as_killed(lake: Path, files: list[Path], done: int, copy: Path) -> None:
    """A copy of the lake as a kill leaves it that comes after `done` of its files are written, in the middle of the next one. In its directories,
    save those of the checkpoint, are files that are not the lake's."""
    for path in files[:done]:
        target = copy / path.relative_to(lake)
        target.parent.mkdir(parents=True, exist_ok=True)
        copyfile(path, target)
    if done < len(files):
        cut = files[done].relative_to(lake)
        (copy / cut).parent.mkdir(parents=True, exist_ok=True)
        # A parquet file is under its name before it is whole; all others are renamed when they are.
        name = cut.name if cut.suffix == ".parquet" or cut.name == "_connector" else f".{cut.name}.0b5f.tmp"
        (copy / cut).with_name(name).write_bytes(files[done].read_bytes()[: files[done].stat().st_size // 2])
    for directory in {copy, *(path for path in copy.rglob("*") if path.is_dir() and "_checkpoint" not in path.parts)}:
        (directory / "notes.txt").write_text("not ours")


def test_a_lake_that_is_killed_at_any_step_of_its_first_minute_starts_again(
    spark: SparkSession, config: ConnectorConfig, connector: Connector, sync: Callable[[], None], tmp_path: Path
) -> None:
    """A kill leaves a beginning of what is written: the lake goes on from each."""
    empty = replace(T, id=T.id._replace(table="EMPTY"))
    connector.structure(T)
    for number in range(3):
        connector.change(Op.CREATE, None, (str(number), "v"))
    connector.structure(empty)
    connector.change(Op.CREATE, None, ("1", "goes"), empty)
    connector.truncate(empty)
    connector.commit()
    sync()
    original = Path(config.lake.minercdc_lake_path)
    files = written(original)
    names = [str(path.relative_to(original)) for path in files]
    assert {"_connector", "_checkpoint/metadata", "_checkpoint/offsets/0", "_checkpoint/commits/0"} <= set(names)
    assert {f"{name}/_delta_log/{0:020}.json" for name in ("_changes", "_state", "LAB/T", "LAB/EMPTY")} <= set(names)
    # Files of rows are nothing before the commit that names them.
    cuts = [i for i, path in enumerate(files) if path.suffix != ".parquet" and "sources" not in path.parts]
    for done in cuts:
        copy = tmp_path / f"killed-{done}"
        as_killed(original, files, done, copy)
        again = replace(config, lake=config.lake.model_copy(update={"minercdc_lake_path": str(copy)}))
        running = start(spark, again)
        try:
            running.process_all_available()
        finally:
            running.stop()
        found = {table.id.table: [row["ID"] for row in lake(spark, again, table)] for table in (T, empty)}
        assert found == {"T": [0, 1, 2], "EMPTY": []}, f"killed while {names[done]} was written"
