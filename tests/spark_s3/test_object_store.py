"""A lake in an object store with S3's interface: killed while it writes, and what a user reads whose keys are refused."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyarrow import fs  # type: ignore[import-untyped]
from tests.e2e.connector import MinerCdc
from tests.spark.connector import Connector
from tests.spark_s3.object_store import ObjectStore

from minercdc.config.load import parse_properties
from minercdc.lake.table.format import Applied
from minercdc.lake.table.native_delta.log import info_of
from minercdc.local.kafka_broker import KafkaBroker
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import Op

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ORDERS = TableSchema(
    TableId("D", "SHOP", "ORDERS"),
    (Column("ID", "NUMBER", 9, 0, nullable=False), Column("STATE", "VARCHAR2", 20)),
    key=(0,),
)
IDENTITY, SECRET = "lake-user", "sesame-open-42"
_PATIENCE_S = 600.0  # what ends then hangs

pytestmark = pytest.mark.timeout(1800)  # the first run fetches Hadoop's module for S3: 700 MB


@pytest.fixture(scope="module")
def store() -> Iterator[ObjectStore]:
    with ObjectStore(IDENTITY, SECRET) as running:
        yield running


@pytest.fixture
def properties(broker: KafkaBroker, prefix: str, store: ObjectStore) -> dict[str, str]:
    """Those of docs/how-to/lake-on-a-cluster.md, and what each lake of a test has."""
    return {
        "name": prefix,
        "topic.prefix": prefix,
        "database.hostname": "x",
        "database.user": "u",
        "database.password": "p",
        "database.dbname": "D",
        "minercdc.kafka.bootstrap.servers": broker.bootstrap_servers,
        "minercdc.lake.trigger.interval.ms": "0",
        "minercdc.lake.merge.interval.ms": "0",
        "minercdc.lake.path": f"s3a://lakes/{prefix}",
        "minercdc.lake.spark.jars.packages": "org.apache.hadoop:hadoop-aws:3.5.0",
        "minercdc.lake.spark.hadoop.fs.s3a.endpoint": store.uri,
        "minercdc.lake.spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
        "minercdc.lake.spark.hadoop.fs.s3a.path.style.access": "true",
        "minercdc.lake.spark.hadoop.fs.s3a.access.key": "${env:LAKE_ACCESS_KEY}",
        "minercdc.lake.spark.hadoop.fs.s3a.secret.key": "${env:LAKE_SECRET_KEY}",
    }


Started = Callable[[str, str], MinerCdc]


@pytest.fixture
def started(properties: dict[str, str], tmp_path: Path) -> Iterator[Started]:
    """Starts the lake: name of its log, and secret key -> the command."""
    file = tmp_path / "lake.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    running = []

    def start(name: str, secret: str) -> MinerCdc:
        keys = {"LAKE_ACCESS_KEY": IDENTITY, "LAKE_SECRET_KEY": secret}
        running.append(MinerCdc(["lake", str(file)], tmp_path / f"{name}.log", environment=keys))
        return running[-1]

    yield start
    for one in running:
        one.process.kill()
        one.process.wait()


class StoredTable:
    """A Delta table, as the store has it.

    :param path: with the bucket.
    """

    def __init__(self, store: ObjectStore, path: str) -> None:
        self._files, self._path = store.files, path

    def commits(self) -> list[bytes]:
        """Its commits, the newest first."""
        listed = self._files.get_file_info(fs.FileSelector(f"{self._path}/_delta_log", allow_not_found=True))
        paths = sorted((one.path for one in listed if one.path.endswith(".json")), reverse=True)
        return [self._files.open_input_stream(path).read() for path in paths]

    def applied(self) -> int:
        """The SCN up to which it has all changes; 0 while there is none."""
        found = (Applied.from_json(info_of(commit).get("userMetadata")) for commit in self.commits())
        return next((one.scn for one in found if one is not None), 0)

    def rows(self, spark: SparkSession, copy: Path) -> DataFrame:
        """Its rows, read from a copy of its objects."""
        fs.copy_files(self._path, str(copy), source_filesystem=self._files, destination_filesystem=fs.LocalFileSystem())
        return spark.read.format("delta").load(str(copy))


def until(lake: MinerCdc, what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not what():
        assert lake.process.poll() is None, lake.story()
        assert time.monotonic() < deadline, lake.story()
        time.sleep(0.02)


def on_command_lines(text: str) -> list[str]:
    """The processes whose arguments have a text."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (process / "cmdline").read_bytes()
        except OSError:  # it has ended
            continue
        if text.encode() in arguments and int(process.name) != os.getpid():
            found.append(process.name)
    return found


def test_a_lake_in_an_object_store_goes_on_after_kills(
    spark: SparkSession, properties: dict[str, str], store: ObjectStore, started: Started, tmp_path: Path
) -> None:
    """Each kill is between a commit to the change log, or to the table, and the next: what it leaves half done is done by the next start."""
    plain = {**properties, **{name: "x" for name, value in properties.items() if value.startswith("${")}}
    connector = Connector(parse_properties(plain))
    table, changes = (StoredTable(store, f"lakes/{properties['name']}/{name}") for name in ("SHOP/ORDERS", "_changes"))
    rows: dict[int, str] = {}

    def change(key: int) -> None:
        """Insert a row, or update it; every third one is deleted again."""
        new, row_id = f"state {connector.scn}", f"AAA{key:015}"
        if key in rows and key % 3 == 0:
            connector.change(Op.DELETE, (str(key), rows.pop(key)), None, row_id=row_id)
        else:
            op, before = (Op.UPDATE, (str(key), rows[key])) if key in rows else (Op.CREATE, None)
            rows[key] = new
            connector.change(op, before, (str(key), new), row_id=row_id)
        connector.commit()

    try:
        connector.structure(ORDERS)
        for key in range(20):
            change(key)
        lakes = []
        for number, killed_at in enumerate((table, changes, table)):
            lake = started(f"killed-{number}", SECRET)
            lakes.append(lake)
            until(lake, lambda: table.applied() > 0)
            assert not on_command_lines(SECRET)
            before = len(killed_at.commits())
            for key in range(number, number + 10):
                change(key)
            until(lake, lambda at=killed_at, known=before: len(at.commits()) > known)  # type: ignore[misc]
            lake.process.kill()
            lake.process.wait()
            for key in range(15 - number, 25):
                change(key)
        last = started("last", SECRET)
        lakes.append(last)
        until(last, lambda: table.applied() >= connector.scn)
        change(30)
        until(last, lambda: table.applied() >= connector.scn)
        assert last.stop().status == 0, last.story()
    finally:
        connector.sink.close()
    assert {row["ID"]: row["STATE"] for row in table.rows(spark, tmp_path / "table").collect()} == rows
    log = changes.rows(spark, tmp_path / "changes")
    assert log.count() == log.select("topic", "partition", "offset").distinct().count()
    assert any(b"STREAMING UPDATE" in commit for commit in table.commits()), "none was merged by the driver's process"
    assert "sesame" not in "".join(lake.text() for lake in lakes)


def test_keys_that_are_refused_end_the_lake_with_the_path(properties: dict[str, str], started: Started) -> None:
    ended = started("refused", "sesame-wrong-42").await_end(_PATIENCE_S)
    assert ended.status != 0
    said = ended.errors + ended.output
    assert f"the lake at s3a://lakes/{properties['name']} cannot be read or written" in said
    assert "sesame" not in said
    assert "Traceback" not in said
