"""What a user reads whose Spark is older than what segments need."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.spark.segments import opened, segment_config

from minercdc.config.load import load_config
from minercdc.errors import LakeError
from minercdc.lake import read_changes, start
from minercdc.schema.table import Column, TableId, TableSchema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TableSchema(TableId("PDB", "LAB", "T"), (Column("ID", "NUMBER", 9, 0, nullable=False),), key=(0,))


@pytest.fixture
def file(tmp_path: Path, prefix: str) -> Path:
    given = segment_config(tmp_path, name=prefix, minercdc_lake_path=tmp_path / "lake")
    connector = opened(given)
    connector.structure(T)
    connector.commit()
    connector.sink.close()
    return given


def test_a_lake_of_segments_is_refused_by_name(spark: SparkSession, file: Path) -> None:
    with pytest.raises(LakeError, match=r"needs Spark 4[.]2 or later") as raised:
        start(spark, load_config(file))
    assert "read the topics" in str(raised.value)


def test_a_stream_of_a_table_in_segments_is_refused_by_name(spark: SparkSession, file: Path) -> None:
    with pytest.raises(LakeError, match=r"needs Spark 4[.]2 or later"):
        read_changes(spark, load_config(file), table="LAB.T")
