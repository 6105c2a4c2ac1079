"""Iceberg tables in an object store by Iceberg's own access to it (S3FileIO), for which Hadoop has no file system; the catalog is a database."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.connector import MinerCdc
from tests.spark.connector import Connector
from tests.spark_iceberg.test_catalogs import ORDERS
from tests.spark_s3.object_store import ObjectStore

from minercdc.config.load import parse_properties
from minercdc.local.jars import fetch
from minercdc.local.kafka_broker import KafkaBroker
from minercdc.stream.events import Op

pytestmark = pytest.mark.timeout(1800)

IDENTITY, SECRET = "lake-of-tests", "open-sesame-42"
_BUNDLE = ("org.apache.iceberg:iceberg-aws-bundle:1.12.0",)
_DRIVER = ("org.xerial:sqlite-jdbc:3.50.3.0",)
_PATIENCE_S = 600.0


@pytest.fixture
def store() -> Iterator[ObjectStore]:
    with ObjectStore(IDENTITY, SECRET) as running:
        yield running


@pytest.fixture
def properties(broker: KafkaBroker, prefix: str, store: ObjectStore, tmp_path: Path) -> dict[str, str]:
    """Those of docs/how-to/lake-on-a-cluster.md, and what each lake of a test has."""
    of_catalog = {
        "name": "lakehouse",
        "type": "jdbc",
        "uri": f"jdbc:sqlite:{tmp_path}/catalog.db",
        "jdbc.schema-version": "V1",
        "warehouse": "s3://lakes/warehouse",
        "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        "client.region": "us-east-1",
        "s3.endpoint": store.uri,
        "s3.path-style-access": "true",
        "s3.access-key-id": "${env:LAKE_ACCESS_KEY}",
        "s3.secret-access-key": "${env:LAKE_SECRET_KEY}",
    }
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
        "minercdc.lake.path": str(tmp_path / "lake"),
        "minercdc.lake.retention.ms": "0",
        "minercdc.lake.format": "iceberg",
        "minercdc.lake.spark.jars": ",".join(map(str, [*fetch("iceberg-aws", _BUNDLE), *fetch("sqlite-jdbc", _DRIVER)])),
        **{f"minercdc.lake.catalog.{name}": value for name, value in of_catalog.items()},
    }


def rows_in(store: ObjectStore, database: Path) -> dict[int, str]:
    """The rows of ORDERS as pyiceberg reads them; none before there is such a table."""
    from pyiceberg.catalog.sql import SqlCatalog  # type: ignore[import-not-found,unused-ignore]
    from pyiceberg.exceptions import NoSuchTableError  # type: ignore[import-not-found,unused-ignore]

    of_store = {
        "s3.endpoint": store.uri,
        "s3.access-key-id": IDENTITY,
        "s3.secret-access-key": SECRET,
        "s3.region": "us-east-1",
    }
    catalog: Any = SqlCatalog("lakehouse", uri=f"sqlite:///{database}", warehouse="s3://lakes/warehouse", **of_store)
    try:
        found: list[dict[str, Any]] = catalog.load_table("SHOP.ORDERS").scan().to_arrow().to_pylist()
    except NoSuchTableError:
        return {}
    assert len({row["ID"] for row in found}) == len(found)
    return {row["ID"]: row["STATE"] for row in found}


def until(lake: MinerCdc, what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not what():
        assert lake.process.poll() is None, lake.story()
        assert time.monotonic() < deadline, lake.story()
        time.sleep(0.02)


def test_tables_in_an_object_store_outlive_a_kill_and_are_maintained(
    properties: dict[str, str], store: ObjectStore, tmp_path: Path
) -> None:
    plain = {**properties, **{name: "x" for name, value in properties.items() if value.startswith("${")}}
    connector, file, database = Connector(parse_properties(plain)), tmp_path / "lake.properties", tmp_path / "catalog.db"
    file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    keys = {"LAKE_ACCESS_KEY": IDENTITY, "LAKE_SECRET_KEY": SECRET}
    rows: dict[int, str] = {}

    def inserted(count: int) -> None:
        for _ in range(count):
            key = len(rows)
            connector.change(Op.CREATE, None, (str(key), f"state {key}"), row_id=f"AAA{key:015}")
            rows[key] = f"state {key}"
            connector.commit()

    connector.structure(ORDERS)
    inserted(5)
    try:
        lake = MinerCdc(["lake", str(file)], tmp_path / "killed.log", environment=keys)
        until(lake, lambda: len(rows_in(store, database)) == 5)
        inserted(5)
        until(lake, lambda: len(rows_in(store, database)) > 5)
        lake.process.kill()
        lake.process.wait()
        inserted(5)
        lake = MinerCdc(["lake", str(file)], tmp_path / "last.log", environment=keys)
        until(lake, lambda: rows_in(store, database) == rows)
        assert lake.stop().status == 0, lake.story()
    finally:
        connector.sink.close()
    optimize = MinerCdc(["lake", "optimize", str(file)], tmp_path / "optimize.log", environment=keys)
    ended = optimize.await_end(_PATIENCE_S)
    assert ended.status == 0, ended.output + ended.errors
    assert rows_in(store, database) == rows
    assert SECRET not in ended.output + ended.errors + lake.text()
