"""How Spark's JVM is started: it outlives a signal to the process group, and however it ends, its temporary directory goes."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark import SparkContext

from minercdc.local import spark
from minercdc.local.spark import end_java, prepare_java

# In place of Java: says how it was called, and runs until its standard input ends.
_JAVA = """#!/bin/sh
for argument do printf '%s\\n' "$argument"; done
echo ready
cat >/dev/null
exit 7
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The program that Spark takes for Java."""
    java = tmp_path / "jdk" / "java"
    java.parent.mkdir()
    java.write_text(_JAVA)
    java.chmod(0o755)
    monkeypatch.setenv("MINERCDC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(spark, "find_java", lambda **_: java)
    monkeypatch.setattr(
        spark, "_PREFIX", "minercdc-spark-test"
    )  # or the JVM of the session that tests share would be killed, too
    return prepare_java() / "bin" / "java"


@pytest.mark.parametrize(("installed", "newest"), [("4.1.4", 22), ("4.2.0", None)])
def test_spark_gets_no_java_that_is_too_new_for_it(
    installed: str, newest: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def find_java(newest: int | None, program: str) -> Path:
        asked.append((newest, program))
        return tmp_path / "java"

    monkeypatch.setenv("MINERCDC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(spark, "installed_spark", lambda: installed)
    monkeypatch.setattr(spark, "find_java", find_java)
    prepare_java()
    assert asked == [(newest, f"Spark {installed}")]


@contextmanager
def started(program: Path, scratch: Path) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    scratch.mkdir()
    (scratch / "blockmgr-1").mkdir()
    arguments = ["-Xmx1g", f"-Djava.io.tmpdir={scratch}", "--add-modules=jdk.incubator.vector", "Main", "two words"]
    with subprocess.Popen(
        [program, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        lines = []
        while (line := process.stdout.readline().rstrip("\n")) != "ready":
            lines.append(line)
        try:
            yield process, lines
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def scratch_of(directory: Path) -> Path:
    return directory / "minercdc-spark-test"


def test_it_ends_with_its_standard_input_and_not_by_a_signal_to_the_group(program: Path, tmp_path: Path) -> None:
    scratch = scratch_of(tmp_path)
    with started(program, scratch) as (process, lines):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.killpg(process.pid, number)
        time.sleep(0.1)  # in which it would end
        assert process.poll() is None
        assert scratch.exists()
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(10) == 7
    assert lines == ["-XX:-UsePerfData", "-Xmx1g", f"-Djava.io.tmpdir={scratch}", "Main", "two words"]
    assert not scratch.exists()


def test_another_program_that_java_home_leads_to_it_ends_by_a_signal(program: Path) -> None:
    with subprocess.Popen([program, "Main"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        while process.stdout.readline() != "ready\n":
            pass
        process.terminate()
        assert process.wait(10) == -signal.SIGTERM


def test_it_is_killed_with_all_that_it_left(program: Path, tmp_path: Path) -> None:
    scratch = scratch_of(tmp_path)
    with started(program, scratch) as (process, _):
        end_java()
        assert process.wait(10) != 0
        assert not scratch.exists()
        assert process.stdin is not None
        process.stdin.close()  # ends what the program in place of Java has started
        assert process.stderr is not None
        assert process.stderr.read() == "", "the last line is the command's own"


def test_it_has_one_directory_for_all_that_is_temporary(program: Path, tmp_path: Path) -> None:
    """Java's own option says where; Spark's block manager, its files and artifacts follow it."""
    del program
    spark._scratch.cache_clear()
    try:
        one = Path(spark._scratch())
        assert one.parent == tmp_path
        assert one.name.startswith("minercdc-spark-")
        assert spark._scratch() == str(one)
    finally:
        spark._scratch.cache_clear()


@pytest.mark.parametrize("before", [None, "--name mine pyspark-shell"])
def test_secrets_are_in_a_file_of_the_user_and_on_no_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str | None
) -> None:
    """As long as the JVM starts."""
    monkeypatch.setattr(SparkContext, "_gateway", None)
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    if before is not None:
        monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", before)
    secrets = {"spark.hadoop.fs.s3a.secret.key": "a=b\\c #1", "spark.sql.catalog.lake.credential": "me:open\nsesame é"}
    with spark._private({"spark.master": "local", **secrets}, tmp_path) as kept_back:
        assert kept_back == secrets.keys()
        file, *rest = os.environ["PYSPARK_SUBMIT_ARGS"].removeprefix("--properties-file ").split(" ")
        assert rest == ["--load-spark-defaults", *(before or "pyspark-shell").split(" ")]
        assert Path(file).stat().st_mode & 0o777 == 0o600
        assert Path(file).read_text() == (
            "spark.hadoop.fs.s3a.secret.key=a\\=b\\\\c\\ \\#1\nspark.sql.catalog.lake.credential=me\\:open\\nsesame\\ é\n"
        )
    assert not Path(file).exists()
    assert os.environ.get("PYSPARK_SUBMIT_ARGS") == before


def test_settings_without_secrets_and_of_a_jvm_that_runs_take_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SparkContext, "_gateway", None)
    with spark._private({"spark.master": "local"}, tmp_path) as kept_back:
        assert not kept_back
    monkeypatch.setattr(SparkContext, "_gateway", object())
    with spark._private({"spark.hadoop.fs.s3a.secret.key": "x"}, tmp_path) as kept_back:
        assert not kept_back
    assert not list(tmp_path.iterdir())
