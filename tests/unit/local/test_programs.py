"""The program by which Spark starts its Python processes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from minercdc.local.programs import program, python_program

HOME = Path(pyspark.__file__).parent
SHOW = "import json, sys, pyspark; print(json.dumps([sys.argv[1:], pyspark.__file__, sys.path]))"


@pytest.mark.parametrize("home", [HOME, HOME.resolve()], ids=["as imported", "resolved"])
def test_workers_import_pyspark_as_it_is_installed_and_not_from_an_archive(tmp_path: Path, home: Path) -> None:
    archives = [str(home / "python" / "lib" / "pyspark.zip"), str(home / "jars" / "spark-core.jar")]
    own = tmp_path / "a place * of a user"
    own.mkdir()
    started = subprocess.run(
        [python_program(sys.executable, tmp_path), "-c", SHOW, "two words"],
        env={"PYTHONPATH": ":".join([*archives, str(own)])},
        capture_output=True,
        text=True,
        check=True,
    )
    arguments, found, places = json.loads(started.stdout)
    assert arguments == ["two words"]
    assert Path(found).resolve() == (HOME / "__init__.py").resolve()
    assert not set(archives) & set(places)
    assert places[1:3] == [str(own), str(HOME.parent)]


def test_python_itself_is_the_program_where_the_cache_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "python").write_text("no directory")
    assert python_program(sys.executable, tmp_path) == sys.executable


def test_a_program_that_is_there_is_not_written_again(tmp_path: Path) -> None:
    path = program(tmp_path / "bin" / "x", "#!/bin/sh\nexit 3\n")
    before = path.stat()
    assert program(path, path.read_text()).stat().st_mtime_ns == before.st_mtime_ns
    assert subprocess.run([path], check=False).returncode == 3
    program(path, "#!/bin/sh\nexit 4\n")
    assert subprocess.run([path], check=False).returncode == 4
    assert [one.name for one in path.parent.iterdir()] == ["x"]
