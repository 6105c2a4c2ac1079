"""Several small tables that are merged in one round, whose records are read together."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.spark.connector import Connector
from tests.spark.reading import lake

from minercdc.config.load import ConnectorConfig
from minercdc.lake.merge.joint_read import JointRead
from minercdc.lake.merge.pending import Limits
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import Op

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Records that the driver's process has are not read together.
pytestmark = pytest.mark.usefixtures("read_by_spark")
LONG = str(10**38 + 7)
FIRST = TableSchema(
    TableId("PDB", "LAB", "T0"),
    (
        Column("ID", "NUMBER", nullable=False),
        Column("N", "NUMBER"),
        Column("P", "NUMBER", 9, 2),
        Column("T", "VARCHAR2", 20),
    ),
    key=(0,),
)
TABLES = [replace(FIRST, id=FIRST.id._replace(table=f"T{n}"), key=(0,) if n % 3 else ()) for n in range(4)]


@pytest.fixture
def joint(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Topics whose records were read together."""
    read, found = JointRead.records, set[str]()

    def noted(self: JointRead, session: SparkSession, limits: Limits) -> DataFrame | None:
        rows = read(self, session, limits)
        if rows is not None:
            found.add(limits.topic)
        return rows

    monkeypatch.setattr(JointRead, "records", noted)
    return found


def test_each_table_gets_its_own_last_rows(
    spark: SparkSession,
    config: ConnectorConfig,
    connector: Connector,
    sync: Callable[[], None],
    joint: set[str],
) -> None:
    """Rows of tables with and without a key, that come and go within one transaction, in rounds; one has a long number."""
    chance = random.Random(8)
    rows: list[dict[str, tuple[str, str | None, str | None, str]]] = [{} for _ in TABLES]
    for table in TABLES:
        connector.structure(table)
    for round_ in range(3):
        joint.clear()
        for table, there in zip(TABLES, rows, strict=True):
            for step in range(20):
                key = str(chance.randrange(12))
                row = (key, str(chance.randrange(-(10**15), 10**15)), f"{chance.randrange(10**6) / 100}", f"{round_}.{step}")
                before, place = there.get(key), [f"R{key}"]
                if before is None:
                    comes = (Op.CREATE, None, row, table)
                    if chance.random() < 0.3:  # it is gone at the end of its transaction
                        connector.transaction(comes, (Op.DELETE, row, None, table), row_ids=place * 2)
                    else:
                        connector.transaction(comes, row_ids=place)
                        there[key] = row
                elif chance.random() < 0.5:
                    connector.transaction((Op.UPDATE, before, row, table), row_ids=place)
                    there[key] = row
                else:
                    connector.transaction((Op.DELETE, before, None, table), row_ids=place)
                    del there[key]
        if round_ == 1:
            connector.change(Op.CREATE, None, ("77", LONG, None, "long"), TABLES[2], "R77")
            rows[2]["77"] = ("77", LONG, None, "long")
        connector.commit()
        sync()
        assert joint == {f"{config.identity.topic_prefix}.LAB.{table.id.table}" for table in TABLES}
        for table, there in zip(TABLES, rows, strict=True):
            found = {r["ID"]: (r["ID"], r["N"], r["P"], r["T"]) for r in lake(spark, config, table)}
            wanted = {key: (k, n, None if p is None else pytest.approx(float(p)), t) for key, (k, n, p, t) in there.items()}
            assert {key: (k, n, None if p is None else float(p), t) for key, (k, n, p, t) in found.items()} == wanted
