"""All tables as of one commit SCN, whatever has been merged of each."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.spark.connector import Connector
from tests.spark.reading import frame

from minercdc.config.load import ConnectorConfig
from minercdc.errors import LakeError
from minercdc.lake import start, tables
from minercdc.lake.merge import scheduler as merger
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import Op

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEFT = TableSchema(
    TableId("PDB", "BANK", "LEFT"),
    (Column("ID", "NUMBER", 9, 0, nullable=False), Column("AMOUNT", "NUMBER", 9, 0)),
    key=(0,),
)
RIGHT = replace(LEFT, id=LEFT.id._replace(table="RIGHT"))


def test_money_that_moves_between_tables_is_never_lost_at_any_scn(
    spark: SparkSession, config: ConnectorConfig, connector: Connector, sync: Callable[[], None]
) -> None:
    random.seed(17)
    held = {(table.id.table, number): 100 for table in (LEFT, RIGHT) for number in range(5)}
    for table in (LEFT, RIGHT):
        connector.structure(table)
    connector.transaction(
        *((Op.CREATE, None, (str(i), "100"), table) for table in (LEFT, RIGHT) for i in range(5)),
    )
    first = connector.scn
    connector.commit()
    sync()
    for turn in range(30):
        source, target = random.sample(sorted(held), 2)
        amount = random.randrange(50)
        changes = []
        for account, change in ((source, -amount), (target, amount)):
            table = LEFT if account[0] == "LEFT" else RIGHT
            before = (str(account[1]), str(held[account]))
            held[account] += change
            changes.append((Op.UPDATE, before, (str(account[1]), str(held[account])), table))
        connector.transaction(*changes)
        if turn % 10 == 9:
            connector.commit()
            sync()
    for scn in (None, first, *random.sample(range(first, connector.scn + 1), 4)):
        found = tables(spark, config, scn)
        total = sum(found[name].agg({"AMOUNT": "sum"}).collect()[0][0] for name in ("BANK.LEFT", "BANK.RIGHT"))
        assert total == 1000, f"at SCN {found.scn}"
        assert sorted(found) == ["BANK.LEFT", "BANK.RIGHT"]
    latest = tables(spark, config)
    assert latest.scn == connector.scn
    rows = {("LEFT", r["ID"]): r["AMOUNT"] for r in latest["BANK.LEFT"].collect()}
    rows |= {("RIGHT", r["ID"]): r["AMOUNT"] for r in latest["BANK.RIGHT"].collect()}
    assert rows == held


def test_what_is_not_complete_is_not_merged_and_cannot_be_read(
    spark: SparkSession, config: ConnectorConfig, connector: Connector, sync: Callable[[], None]
) -> None:
    connector.structure(LEFT)
    connector.change(Op.CREATE, None, ("1", "100"))
    complete = connector.scn
    connector.commit()
    connector.change(Op.CREATE, None, ("2", "100"))
    connector.commit(complete=complete)  # one thread of redo lags
    sync()
    assert [r["ID"] for r in tables(spark, config)["BANK.LEFT"].collect()] == [1]
    with pytest.raises(LakeError, match="not complete in the lake yet"):
        tables(spark, config, connector.scn)
    connector.commit()
    sync()
    assert sorted(r["ID"] for r in tables(spark, config)["BANK.LEFT"].collect()) == [1, 2]
    assert [r["ID"] for r in tables(spark, config, complete)["BANK.LEFT"].collect()] == [1]


def test_a_table_that_was_not_merged_is_completed_from_the_change_log(
    spark: SparkSession, config: ConnectorConfig, connector: Connector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merger, "_PUBLISH_S", 0.0)
    never = config.lake.model_copy(update={"minercdc_lake_merge_interval_ms": 10**9})
    config = replace(config, lake=never)
    connector.structure(LEFT)
    for number in ("1", "2", "3"):
        connector.change(Op.CREATE, None, (number, "100"))
    connector.commit()
    lake = start(spark, config)
    try:
        lake.process_all_available()
        connector.change(Op.UPDATE, ("1", "100"), ("1", "7"))
        connector.change(Op.DELETE, ("2", "100"), None)
        connector.change(Op.CREATE, None, ("4", "4"))
        connector.commit()
        lake.query.processAllAvailable()
        deadline = time.monotonic() + 60
        while (found := tables(spark, config)).scn < connector.scn:
            assert time.monotonic() < deadline, "the SCN was not published"
            time.sleep(0.5)  # a look is a job of Spark
    finally:
        lake.stop()
    merged = frame(spark, config, "BANK", "LEFT")
    assert sorted((r["ID"], r["AMOUNT"]) for r in merged.collect()) == [(1, 100), (2, 100), (3, 100)]
    assert sorted((r["ID"], r["AMOUNT"]) for r in found["BANK.LEFT"].collect()) == [(1, 7), (3, 100), (4, 4)]
