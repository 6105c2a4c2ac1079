"""Classes of the driver's JVM."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from minercdc.lake.spark.jvm import java_class


class _Gateway:
    """Py4J's client, with a JVM that answers every command."""

    converters = None
    gateway_property = SimpleNamespace(pool=None)

    def __init__(self) -> None:
        self.commands: list[str] = []

    def send_command(self, command: str) -> str:
        self.commands.append(command)
        return "yv"


def test_a_class_is_taken_by_its_full_name_without_a_search_for_its_packages() -> None:
    gateway = _Gateway()
    spark: Any = SimpleNamespace(sparkContext=SimpleNamespace(_gateway=SimpleNamespace(_gateway_client=gateway)))
    java_class(spark, "org.apache.hadoop.fs.Path")("/lake")
    assert gateway.commands == ["i\norg.apache.hadoop.fs.Path\ns/lake\ne\n"]
