"""format("minercdc.relay"): batches of whole windows, also after a restart; a query that fell off."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import StreamingQueryException
from tests.spark.test_direct import Target
from tests.unit.relay.filling import Filling, change, insert
from tests.unit.relay.test_http import serving

from minercdc.lake.source.relay import RelayStream, Windows
from minercdc.stream.events import Op

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark


def stream(spark: SparkSession, url: str, **options: str) -> DataFrame:
    return spark.readStream.format("minercdc.relay").options(url=url, **options).load()


def shown(rows: list[dict[str, Any]]) -> list[tuple[object, ...]]:
    return [(row["scn"], row["seq"], row["source"], row["deleted"], row["key"], json.loads(row["row"])) for row in rows]


def test_a_query_reads_windows_and_goes_on_after_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    filling, target = Filling(tmp_path), Target(tmp_path)
    filling.buffer.start_after(5)
    filling.put(insert(1, 10), insert(2, 10), insert(3, 20))
    filling.commit(complete=20)
    with serving(filling) as url:
        target.run(stream(spark, url))
        row = {"v": "x"}
        assert shown(target.rows()) == [
            *((10, 1, "a.T", False, "1", {"id": 1, **row}), (10, 2, "a.T", False, "2", {"id": 2, **row})),
            (20, 1, "a.T", False, "3", {"id": 3, **row}),
        ]
        filling.put(change(Op.DELETE, ("1", "x"), None, 30))
        filling.commit(complete=30)
        target.run(stream(spark, url, sources="a.T"))
        assert shown(target.rows()[3:]) == [(30, 1, "a.T", True, "1", {"id": 1, **row})]
        filling.buffer.clear(40)
        filling.put(insert(9, 50))
        filling.commit(complete=50)
        with pytest.raises(StreamingQueryException, match="does not hold the client's place"):
            target.run(stream(spark, url))


def test_an_offset_never_goes_back_to_before_a_restart_of_the_relay(tmp_path: Path) -> None:
    filling = Filling(tmp_path)
    filling.buffer.start_after(5)
    filling.put(insert(1, 10))
    filling.commit(complete=10)
    with serving(filling) as url:
        planned = RelayStream(url, (), "earliest")
        assert planned.latestOffset({"scn": 50}, None) == {"scn": 50}
        assert planned.latestOffset() == {"scn": 10}
        assert planned.partitions({"scn": 5}, {"scn": 50}) == [Windows(5, 50)]
        assert planned.latestOffset() == {"scn": 50}
        planned.prepareForTriggerAvailableNow()
        assert RelayStream(url, (), "earliest").latestOffset({"scn": 5}, None) == {"scn": 10}
        filling.put(insert(2, 60))
        filling.commit(complete=60)
        assert planned.latestOffset({"scn": 50}, None) == {"scn": 50}
        assert RelayStream(url, (), "earliest").latestOffset({"scn": 50}, None) == {"scn": 60}
