"""The notebook of docs/ runs as it is, and what it shows is right; so does the job of plain Spark in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.connector import Connector

from minercdc.config.load import ConnectorConfig
from minercdc.lake.read.message_types import message_schema
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import Op

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
ORDERS = TableSchema(
    TableId("ORCLPDB1", "SHOP", "ORDERS"),
    (
        Column("ORDER_ID", "NUMBER", 9, 0, nullable=False),
        Column("STATUS", "VARCHAR2", 10),
        Column("TOTAL", "NUMBER", 10, 2),
        Column("CREATED", "DATE"),
    ),
    key=(0,),
)


def code_cells(notebook: Path) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(notebook.read_text())["cells"] if cell["cell_type"] == "code"]


def test_the_notebook_runs(
    spark: SparkSession,
    config: ConnectorConfig,
    connector: Connector,
    sync: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    connector.structure(ORDERS)
    connector.change(Op.CREATE, None, ("1", "NEW", "10.5", "2026-09-21 10:30:00"))
    connector.change(Op.CREATE, None, ("2", "NEW", None, None))
    connector.change(Op.UPDATE, ("2", "NEW", None, None), ("2", "PAID", None, None))
    connector.change(Op.DELETE, ("1", "NEW", "10.5", "2026-09-21 10:30:00"), None)
    connector.commit()
    sync()
    for name, value in (
        ("NAME", config.identity.name),
        ("TOPIC_PREFIX", config.identity.topic_prefix),
        ("PASSWORD", "p"),
        ("KAFKA_BOOTSTRAP_SERVERS", config.kafka.bootstrap_servers),
        ("LAKE_PATH", str(config.lake.minercdc_lake_path)),
    ):
        monkeypatch.setenv(f"MINERCDC_{name}", value)
    monkeypatch.chdir(ROOT)
    names: dict[str, Any] = {}
    for cell in code_cells(ROOT / "docs" / "lake.ipynb"):
        exec(cell, names)
    assert f"as of SCN {connector.scn}: 1 orders" in capsys.readouterr().out
    typed = {
        (row["op"], row["changes"]) for row in spark.sql("SELECT op, count(*) AS changes FROM changes GROUP BY op").collect()
    }
    assert typed == {("c", 2), ("u", 1), ("d", 1)}
    plain = [row.asDict(recursive=True) for row in spark.sql("SELECT * FROM plain ORDER BY source.commit_scn").collect()]
    assert [(row["op"], (row["before"] or {}).get("STATUS"), (row["after"] or {}).get("STATUS")) for row in plain] == [
        ("c", None, "NEW"),
        ("c", None, "NEW"),
        ("u", "NEW", "PAID"),
        ("d", "NEW", None),
    ]
    assert plain[0]["source"]["table"] == "ORDERS"
    key = spark.sql(
        f"SELECT from_json('{{\"ORDER_ID\": 7}}', '{message_schema(config, 'SHOP.ORDERS').key}') AS k"
    ).collect()[0]["k"]
    assert key["ORDER_ID"] == 7
