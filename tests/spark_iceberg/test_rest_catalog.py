"""A lake in a REST catalog: read by SQL name and by pyiceberg, over a kill of the lake; and what a user reads when the catalog is down."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.connector import MinerCdc
from tests.spark.connector import Connector
from tests.spark.test_lake_features import EVERY, FULL, ordered
from tests.spark_iceberg.rest_catalog import RefusingCatalog, RestCatalog

from minercdc.config.load import parse_properties
from minercdc.errors import LakeError
from minercdc.lake import start
from minercdc.local.kafka_broker import KafkaBroker
from minercdc.local.ports import free_port
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import Op

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ORDERS = TableSchema(
    TableId("D", "SHOP", "ORDERS"),
    (Column("ID", "NUMBER", 9, 0, nullable=False), Column("STATE", "VARCHAR2", 20)),
    key=(0,),
)
CREDENTIAL = "lake:sesame-open-42"
_PATIENCE_S = 600.0  # what ends then hangs


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestCatalog]:
    with RestCatalog(tmp_path_factory.mktemp("catalog")) as running:
        yield running


@pytest.fixture
def properties(broker: KafkaBroker, prefix: str, tmp_path: Path) -> dict[str, str]:
    return {
        "name": prefix,
        "topic.prefix": prefix,
        "database.hostname": "x",
        "database.user": "u",
        "database.password": "p",
        "database.dbname": "D",
        "minercdc.kafka.bootstrap.servers": broker.bootstrap_servers,
        "minercdc.lake.path": str(tmp_path / "lake"),
        "minercdc.lake.trigger.interval.ms": "0",
        "minercdc.lake.merge.interval.ms": "0",
        "minercdc.lake.format": "iceberg",
        "minercdc.lake.catalog.name": f"lakehouse_{prefix}",
        "minercdc.lake.catalog.type": "rest",
        "minercdc.lake.catalog.credential": CREDENTIAL,
    }


def applied(catalog: RestCatalog) -> int:
    """The SCN up to which the catalog's own metadata says that SHOP.ORDERS has all changes; 0 while there is no table."""
    try:
        with urllib.request.urlopen(f"{catalog.uri}/v1/namespaces/SHOP/tables/ORDERS", timeout=30) as answer:
            snapshots = json.load(answer)["metadata"]["snapshots"]
    except urllib.error.HTTPError as error:
        error.close()
        return 0
    found = [json.loads(one["summary"]["minercdc.applied"]) for one in snapshots if "minercdc.applied" in one["summary"]]
    return max((int(one["minercdc"]["scn"]) for one in found), default=0)


def await_applied(lake: MinerCdc, catalog: RestCatalog, scn: int) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while applied(catalog) < scn:
        assert lake.process.poll() is None, lake.story()
        assert time.monotonic() < deadline, lake.story()
        time.sleep(0.02)


def by_name(spark: SparkSession, catalog: str, uri: str, name: str) -> list[dict[str, Any]]:
    """A table as a session of a user has it, who has the catalog and nothing of ours."""
    plain = spark.newSession()
    settings = {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "rest", ".uri": uri, ".credential": "user:secret"}
    for end, value in settings.items():
        plain.conf.set(f"spark.sql.catalog.{catalog}{end}", value)
    return [row.asDict(recursive=True) for row in plain.table(f"{catalog}.{name}").collect()]


def by_pyiceberg(uri: str, name: str) -> list[dict[str, Any]]:
    from pyiceberg.catalog.rest import RestCatalog as Client  # type: ignore[import-not-found,unused-ignore]

    table: Any = Client("lakehouse", uri=uri).load_table(name)
    return list(table.scan().to_arrow().to_pylist())


def by_duckdb(uri: str, name: str) -> list[dict[str, Any]]:
    import duckdb
    from duckdb_extensions import import_extension

    with duckdb.connect() as connection:
        for extension in ("avro", "httpfs", "iceberg"):
            import_extension(extension)  # from its package: no download
            connection.load_extension(extension)
        connection.execute(f"ATTACH '' AS lakehouse (TYPE iceberg, ENDPOINT '{uri}', AUTHORIZATION_TYPE 'none')")
        return list(connection.sql(f"SELECT * FROM lakehouse.{name}").to_arrow_table().to_pylist())


def test_a_lake_in_a_rest_catalog_goes_on_after_a_kill(
    spark: SparkSession, properties: dict[str, str], catalog: RestCatalog, tmp_path: Path
) -> None:
    given = {**properties, "minercdc.lake.catalog.uri": catalog.uri}
    connector = Connector(parse_properties(given))
    rows: dict[int, str] = {}
    file = tmp_path / "lake.properties"
    by_reference = {**given, "minercdc.lake.catalog.credential": "${env:CATALOG_CREDENTIAL}"}
    file.write_text("".join(f"{name}={value}\n" for name, value in by_reference.items()))
    environment = {"CATALOG_CREDENTIAL": CREDENTIAL}

    def change(key: int) -> None:
        """Insert a row, or update it; every third one is deleted again."""
        new = f"state {connector.scn}"
        if key in rows and key % 3 == 0:
            connector.change(Op.DELETE, (str(key), rows.pop(key)), None)
        else:
            op, before = (Op.UPDATE, (str(key), rows[key])) if key in rows else (Op.CREATE, None)
            rows[key] = new
            connector.change(op, before, (str(key), new))
        connector.commit()

    try:
        connector.structure(ORDERS)
        for key in range(20):
            change(key)
        lake = MinerCdc(["lake", str(file)], tmp_path / "killed.log", environment=environment)
        try:
            await_applied(lake, catalog, 1)
            for key in range(10):
                change(key)
        finally:
            lake.process.kill()
            lake.process.wait()
        for key in range(5, 25):
            change(key)
        again = MinerCdc(["lake", str(file)], tmp_path / "again.log", environment=environment)
        try:
            await_applied(again, catalog, connector.scn)
            ended = again.stop()
        finally:
            again.process.kill()
            again.process.wait()
    finally:
        connector.sink.close()
    assert ended.status == 0, again.story()
    readers = (partial(by_name, spark, given["minercdc.lake.catalog.name"]), by_pyiceberg, by_duckdb)
    for read in readers:
        assert {row["ID"]: row["STATE"] for row in read(catalog.uri, "SHOP.ORDERS")} == rows
    assert "sesame" not in lake.text() + again.text()


def test_other_readers_read_every_type_as_spark_does(
    spark: SparkSession, properties: dict[str, str], catalog: RestCatalog
) -> None:
    named = {"minercdc.lake.catalog.table.name": "typed.${schema:lower}_${table:lower}"}
    given = {**properties, **named, "minercdc.lake.catalog.uri": catalog.uri}
    connector, empty = Connector(parse_properties(given)), (None,) * len(FULL)
    lake = start(spark, parse_properties(given))
    try:
        connector.structure(EVERY)
        for number, row in ((1, FULL), (2, empty), (3, FULL), (4, FULL)):
            connector.change(Op.CREATE, None, (str(number), *row))
        connector.commit()
        lake.process_all_available()
        connector.change(Op.UPDATE, ("3", *FULL), ("3", *empty))
        connector.change(Op.DELETE, ("4", *FULL), None)
        connector.commit()
        lake.process_all_available()
    finally:
        lake.stop()
        connector.sink.close()
    expected = ordered(by_name(spark, given["minercdc.lake.catalog.name"], catalog.uri, "typed.lab_every"))
    assert [row["ID"] for row in expected] == [1, 2, 3]
    for read in (by_pyiceberg, by_duckdb):
        assert ordered(read(catalog.uri, "typed.lab_every")) == expected, read.__name__


def message_of(spark: SparkSession, given: Mapping[str, str]) -> str:
    with pytest.raises(LakeError) as raised:
        start(spark, parse_properties(dict(given)))
    return str(raised.value)


def test_a_catalog_that_is_down_is_named_with_its_property(spark: SparkSession, properties: dict[str, str]) -> None:
    uri = f"http://127.0.0.1:{free_port()}"
    text = message_of(spark, {**properties, "minercdc.lake.catalog.uri": uri})
    assert f"at {uri} does not answer: Connect to {uri} failed: Connection refused" in text
    assert "minercdc.lake.catalog.uri" in text


@pytest.mark.parametrize("name", ["credential", "token"])
def test_a_catalog_that_refuses_is_named_with_the_property_of_the_credentials(
    spark: SparkSession, properties: dict[str, str], name: str, caplog: pytest.LogCaptureFixture
) -> None:
    del properties["minercdc.lake.catalog.credential"]
    with RefusingCatalog() as refusing:
        given = {**properties, "minercdc.lake.catalog.uri": refusing.uri, f"minercdc.lake.catalog.{name}": CREDENTIAL}
        text = message_of(spark, given)
    assert f"at {refusing.uri} refuses the lake: Not authorized:" in text
    assert f"minercdc.lake.catalog.{name}" in text
    assert any("sesame-open-42" in asked for asked in refusing.asked)
    assert "sesame" not in text + caplog.text
