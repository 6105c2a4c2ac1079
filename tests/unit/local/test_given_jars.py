"""What the driver's JVM has on its class path beside our own jars."""

from __future__ import annotations

from pathlib import Path

from minercdc.local.spark import _given_jars


def test_jars_of_the_user_are_on_the_class_path_once_where_they_are_files(tmp_path: Path) -> None:
    own, named, other = (tmp_path / name for name in ("own.jar", "named one.jar", "other.jar"))
    for one in (own, named, other):
        one.touch()
    uri = named.as_uri()
    text = f"{uri},{other},{own},{tmp_path}/gone.jar,hdfs://host/far.jar"
    assert _given_jars({"spark.jars": text}, [own]) == [named, other]
    assert _given_jars({}, [own]) == []
