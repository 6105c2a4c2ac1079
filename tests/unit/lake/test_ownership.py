"""The claim to a lake, on a file system in memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from tests.native_pair import parsed

from minercdc.config.load import ConnectorConfig
from minercdc.errors import ConfigError, LakeError
from minercdc.lake.table import ownership


class Exists(Py4JJavaError):  # type: ignore[misc]
    def __init__(self) -> None:
        self.java_exception = SimpleNamespace(toString=lambda: "file exists")

    def __str__(self) -> str:
        return "file exists"


class Files:
    """Hadoop's FileSystem with one file.

    :ivar text: what the file holds; None without it.
    :ivar reads: how often it was read.
    :ivar meanwhile: what another process does before the file is made.
    """

    def __init__(self) -> None:
        self.text: str | None = None
        self.reads = 0
        self.meanwhile: Callable[[], None] = lambda: None

    def exists(self, path: object) -> bool:
        return self.text is not None

    def create(self, path: object, overwrite: bool) -> Any:
        self.meanwhile()
        if self.text is not None and not overwrite:
            raise Exists
        self.text = ""
        return SimpleNamespace(writeBytes=self._write, close=lambda: None)

    def open(self, path: object) -> Any:
        self.reads += 1
        return SimpleNamespace(close=lambda: None)

    def _write(self, text: str) -> None:
        self.text = text


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> Files:
    files = Files()
    classes = {
        "org.apache.hadoop.fs.Path": lambda _: SimpleNamespace(getFileSystem=lambda _: files),
        "org.apache.commons.io.IOUtils": SimpleNamespace(toString=lambda *_: files.text),
    }
    monkeypatch.setattr(ownership, "java_class", lambda _, name: classes[name])
    monkeypatch.setattr(ownership, "_WRITING_SECONDS", 0.0)
    return files


def connector(name: str, **more: str) -> ConnectorConfig:
    return parsed(
        {
            "name": name,
            "topic.prefix": name,
            "database.hostname": "h",
            "database.user": "u",
            "database.password": "p",
            "database.dbname": "d",
            "minercdc.kafka.bootstrap.servers": "127.0.0.1:1",
            "minercdc.lake.path": "/lake",
            **more,
        }
    )


def claim(name: str, first: Callable[[], None] = lambda: None, more: Mapping[str, str] = MappingProxyType({})) -> None:
    spark: Any = SimpleNamespace(_jsc=SimpleNamespace(hadoopConfiguration=lambda: None))
    ownership.claim(spark, connector(name, **more), first=first)


def test_a_lake_is_of_the_first_connector(files: Files) -> None:
    claim("one")
    claim("one")
    with pytest.raises(ConfigError, match="is the lake of connector one"):
        claim("two")


def test_a_lake_keeps_the_names_that_it_was_begun_with(files: Files) -> None:
    def named(template: str) -> dict[str, str]:
        return {"minercdc.lake.format": "iceberg", "minercdc.lake.catalog.table.name": template}

    claim("one", more=named("${schema}.${table:lower}"))
    claim("one", more=named("${schema}.${table:lower}"))
    with pytest.raises(ConfigError, match=r"was begun with \$\{schema\}.\$\{table:lower\}.* now it is not set"):
        claim("one")
    files.text = json.dumps({"name": "one", "topic.prefix": "one"})  # of an earlier version
    claim("one")
    with pytest.raises(ConfigError, match="was begun with no template"):
        claim("one", more=named("x.${schema}_${table}"))


def test_what_refuses_a_lake_is_asked_before_it_is_taken_and_after_its_owner(files: Files) -> None:
    def refuse() -> None:
        raise LakeError("there is no change log")

    with pytest.raises(LakeError, match="no change log"):
        claim("one", refuse)
    assert files.text is None, "nothing was written"
    claim("one")
    files.reads = 0
    with pytest.raises(LakeError, match="no change log"):
        claim("one", refuse)
    assert files.reads == 1
    with pytest.raises(ConfigError, match="is the lake of connector one"):
        claim("two", refuse)


def test_of_two_that_begin_at_once_one_has_the_lake(files: Files) -> None:
    def other() -> None:
        files.meanwhile = lambda: None
        files.text = json.dumps({"name": "one", "topic.prefix": "one"})

    files.meanwhile = other
    with pytest.raises(ConfigError, match="is the lake of connector one"):
        claim("two")
    assert json.loads(files.text or "")["name"] == "one"


def test_a_file_that_a_kill_left_half_written_is_replaced(files: Files) -> None:
    files.text = '{"name": "on'
    claim("two")
    assert json.loads(files.text or "")["name"] == "two"


@pytest.mark.parametrize(
    ("cause", "message", "hint"),
    [
        (
            "java.lang.RuntimeException: java.lang.ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found",
            "Spark does not have the file system of s3a",
            "minercdc.lake.spark.jars.packages",
        ),
        (
            'org.apache.hadoop.fs.UnsupportedFileSystemException: No FileSystem for scheme "gs"',
            "file system of s3a",
            "hadoop-aws",
        ),
        ("java.nio.file.AccessDeniedException: lakes: 403", "lakes: 403", "minercdc.lake.spark.hadoop."),
        ("NoAuthWithAWSException: No AWS Credentials provided", "No AWS Credentials", "minercdc.lake.spark.hadoop."),
        ("java.io.FileNotFoundException: Not a directory", "Not a directory", "creatable"),
    ],
)
def test_a_path_that_cannot_be_used_is_named_with_what_to_do(cause: str, message: str, hint: str) -> None:
    error = ownership.unusable("s3a://lakes/orders", cause)
    assert str(error).startswith("MC-8001: the lake at s3a://lakes/orders cannot be read or written: ")
    assert message in str(error)
    assert hint in str(error.hint)
