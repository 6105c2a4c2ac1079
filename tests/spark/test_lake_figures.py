"""What a running lake says of itself."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from tests.spark.connector import Connector

from minercdc.config.load import ConnectorConfig
from minercdc.lake import start
from minercdc.messages.topics import TopicNames
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import Op

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GOOD = TableSchema(
    TableId("PDB", "LAB", "GOOD"),
    (Column("ID", "NUMBER", 9, 0, nullable=False), Column("V", "VARCHAR2", 20)),
    key=(0,),
)
BAD = replace(GOOD, id=GOOD.id._replace(table="BAD"))


def test_figures_count_what_was_read_and_merged_and_name_what_is_in_trouble(
    spark: SparkSession, config: ConnectorConfig, connector: Connector
) -> None:
    from minercdc.stream.contracts import Record

    connector.time_us = lambda scn: scn * 1_000_000
    for table in (GOOD, BAD):
        connector.structure(table)
        for number in range(3):
            connector.change(Op.CREATE, None, (str(number), "v"), table)
    topic = TopicNames(config).of_table(BAD.id)
    connector.write(Record(topic, b"k", b'"no envelope"'))
    connector.commit()
    lake = start(spark, config)
    try:
        lake.process_all_available()
        figures = lake.figures
        good, bad = figures.tables["LAB.GOOD"], figures.tables["LAB.BAD"]
        assert figures.complete_scn == good.scn == connector.scn
        assert (good.merged, good.waiting, good.failures, good.failure, good.lag(1e9)) == (3, 0, 0, "", 0.0)
        assert good.merges.count == 1
        assert (bad.merged, bad.waiting, bad.failures) == (0, 4, 1)
        assert "not change events" in bad.failure
        assert bad.lag(1000.0) == 1000.0 - 104  # the commit time of its first row
        deadline = time.monotonic() + 60
        while figures.records < 7:  # Spark reports later what it has read itself
            assert time.monotonic() < deadline, "Spark reported no micro-batch"
            time.sleep(0.02)
    finally:
        lake.stop()
    assert figures.records == 7
    assert figures.triggers.count >= 1
