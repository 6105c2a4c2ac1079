"""Which jars go with which Spark."""

from __future__ import annotations

import pytest

from minercdc.errors import LocalServiceError
from minercdc.local.spark_artifacts import newest_java, spark_avro, spark_jars, topic_jars


@pytest.mark.parametrize("spark", ["4.0.2", "4.1.4", "4.2.0", "4.2.1"])
def test_a_spark_gets_the_jars_of_its_minor_version(spark: str) -> None:
    minor = spark[:3]
    jars = spark_jars(spark)
    assert any(f":delta-spark_{minor}_2.13:" in jar for jar in jars)
    assert spark_avro(spark) in jars
    assert {jar.rpartition(":")[2][:3] for jar in jars if jar.startswith("org.apache.spark:")} == {minor}


@pytest.mark.parametrize(("spark", "iceberg"), [("4.0.2", "4.0_2.13:1.11.0"), ("4.1.4", "4.1_2.13:1.12.0")])
def test_iceberg_comes_in_place_of_delta(spark: str, iceberg: str) -> None:
    jars = spark_jars(spark, "iceberg")
    assert f"org.apache.iceberg:iceberg-spark-runtime-{iceberg}" in jars
    assert not any("delta" in jar for jar in jars)


def test_a_spark_without_iceberg_is_refused_with_those_that_have_it() -> None:
    with pytest.raises(LocalServiceError, match="there is no Iceberg for Spark 4.2") as refused:
        spark_jars("4.2.0", "iceberg")
    assert refused.value.hint == "Iceberg exists for Spark 4.0, 4.1: pip install 'minercdc[iceberg]'"


def test_another_spark_is_refused_with_those_that_are_supported() -> None:
    with pytest.raises(LocalServiceError, match="Spark 3.5.9 is not supported") as refused:
        spark_jars("3.5.9")
    assert "4.0, 4.1, 4.2" in str(refused.value.hint)


def test_an_older_spark_reads_topics_with_jars_of_its_own_scala() -> None:
    assert topic_jars("4.2.0") == spark_jars("4.2.0")[:4]
    assert topic_jars("3.5.9") == (
        "org.apache.spark:spark-sql-kafka-0-10_2.12:3.5.7",
        "org.apache.spark:spark-token-provider-kafka-0-10_2.12:3.5.7",
        "org.apache.kafka:kafka-clients:3.4.1",
        "org.apache.commons:commons-pool2:2.11.1",
    )
    assert spark_avro("3.5.9") == "org.apache.spark:spark-avro_2.12:3.5.7"
    with pytest.raises(LocalServiceError, match="Spark 3.4.4 is not supported"):
        topic_jars("3.4.4")


def test_a_spark_with_an_older_hadoop_does_not_run_on_the_newest_java() -> None:
    assert [newest_java(spark) for spark in ("3.5.9", "4.0.2", "4.1.4", "4.2.0")] == [22, 22, 22, None]
