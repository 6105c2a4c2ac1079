"""A declarative pipeline of Spark whose table is fed by `read_changes`: the example of docs/how-to/lake-on-a-cluster.md, run by `spark-pipelines`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pyspark
import pytest
from tests.spark.connector import Connector
from tests.spark.lakes import lake_config, lake_properties

from minercdc.local.jars import fetch
from minercdc.local.kafka_broker import KafkaBroker
from minercdc.local.spark import prepare_java
from minercdc.local.spark_artifacts import installed_spark, topic_jars
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import Op

DOCS = Path(__file__).parents[2] / "docs" / "how-to" / "lake-on-a-cluster.md"
ORDERS = TableSchema(
    TableId("D", "SHOP", "ORDERS"),
    (Column("ORDER_ID", "NUMBER", 9, 0, nullable=False), Column("STATE", "VARCHAR2", 20)),
    key=(0,),
)
_SPEC = """\
name: orders
storage: {storage}
libraries:
  - glob:
      include: transformations/**
"""


def example() -> str:
    """The Python of the docs' section about pipelines."""
    section = DOCS.read_text().partition("## Feed a declarative pipeline")[2].partition("\n## ")[0]
    return section.partition("```python\n")[2].partition("```")[0]


@pytest.mark.timeout(900)
def test_a_tables_changes_feed_a_pipeline(broker: KafkaBroker, prefix: str, tmp_path: Path) -> None:
    properties = lake_properties(broker, prefix, tmp_path)
    (tmp_path / "orders.yaml").write_text(json.dumps(properties))
    connector = Connector(lake_config(properties))
    (tmp_path / "spark-pipeline.yml").write_text(_SPEC.format(storage=(tmp_path / "storage").as_uri()))
    (tmp_path / "transformations").mkdir()
    (tmp_path / "transformations" / "orders.py").write_text(example())
    try:
        connector.structure(ORDERS)
        for number in range(3):
            connector.change(Op.CREATE, None, (str(number), "new"))
        connector.change(Op.UPDATE, ("1", "new"), ("1", "paid"))
        connector.change(Op.DELETE, ("2", "new"), None)
        connector.commit()
        run(tmp_path)
    finally:
        connector.sink.close()
    rows = pq.read_table(tmp_path / "warehouse" / "order_changes").sort_by("commit_scn").to_pylist()
    assert [(row["op"], row["key"]["ORDER_ID"], (row["after"] or {}).get("STATE")) for row in rows] == [
        ("c", 0, "new"),
        ("c", 1, "new"),
        ("c", 2, "new"),
        ("u", 1, "paid"),
        ("d", 2, None),
    ]


def run(directory: Path) -> None:
    settings = {
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraClassPath": os.pathsep.join(map(str, fetch("spark", topic_jars(installed_spark())))),
    }
    (directory / "conf").mkdir(exist_ok=True)
    (directory / "conf" / "spark-defaults.conf").write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    home = Path(pyspark.__file__).parent
    ended = subprocess.run(
        [home / "bin" / "spark-pipelines", "run"],
        cwd=directory,
        env={
            **os.environ,
            "SPARK_HOME": str(home),
            "SPARK_CONF_DIR": str(directory / "conf"),
            "JAVA_HOME": str(prepare_java()),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
        },
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert ended.returncode == 0, (ended.stdout + ended.stderr)[-6000:]
