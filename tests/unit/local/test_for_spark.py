"""What `python -m minercdc.local.spark_jars` and `.java_home` print for Spark's own programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from minercdc.errors import LocalServiceError
from minercdc.local import java_home, spark_jars


def test_the_jars_of_the_installed_spark_are_printed_as_spark_takes_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(spark_jars, "installed_spark", lambda: "4.1.4")
    monkeypatch.setattr(
        spark_jars, "fetch", lambda name, wanted: [Path(f"/{name}/{one.split(':')[1]}.jar") for one in wanted]
    )
    spark_jars.main([])
    printed = capsys.readouterr().out.strip().split(",")
    assert "/spark/delta-spark_4.1_2.13.jar" in printed
    spark_jars.main(["iceberg"])
    assert "/spark/iceberg-spark-runtime-4.1_2.13.jar" in capsys.readouterr().out.strip().split(",")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["hudi"], "hudi is no format of tables; there are delta, iceberg"),
        (["iceberg"], "MC-7001: there is no Iceberg for Spark 4.2\n  hint: Iceberg exists for Spark 4.0, 4.1"),
    ],
)
def test_jars_that_there_are_not_end_with_one_message(
    arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_jars, "installed_spark", lambda: "4.2.0")
    with pytest.raises(SystemExit) as ended:
        spark_jars.main(arguments)
    assert str(ended.value.code).startswith(message)


def test_the_java_for_spark_is_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(java_home, "prepare_java", lambda: Path("/cache/java/home"))
    java_home.main()
    assert capsys.readouterr().out == "/cache/java/home\n"

    def none() -> Path:
        raise LocalServiceError("no Java")

    monkeypatch.setattr(java_home, "prepare_java", none)
    with pytest.raises(SystemExit, match="no Java"):
        java_home.main()
