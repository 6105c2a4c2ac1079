"""Small programs in the cache directory that Spark starts in place of Java and Python."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from shlex import quote

# Spark begins PYTHONPATH with its archives of PySpark. Python keeps no compiled code of an archive, so each process that Spark starts would
# compile PySpark anew: more than a second of CPU, and on a busy machine longer than Spark waits for some of them.
_PYTHON = """\
#!/bin/sh
# Starts Python with PySpark as it is installed, in place of the archives that Spark puts before everything.
kept=
IFS=:
set -f
for place in $PYTHONPATH; do
    case "$place" in
        {archives}) ;;
        *) kept="$kept$place:" ;;
    esac
done
export PYTHONPATH="$kept"{installed}
exec {python} "$@"
"""


def python_program(python: str, directory: Path) -> str:
    """A program that starts Python for Spark's workers, with the PySpark of this process instead of Spark's archives of it; `python` itself
    where the cache does not have it and cannot be written.

    :param python: the program that it becomes.
    :param directory: of the cache.
    """
    import py4j
    import pyspark

    home = Path(pyspark.__file__).parent
    installed = dict.fromkeys(str(Path(package.__file__).parents[1]) for package in (pyspark, py4j))
    text = _PYTHON.format(
        archives="|".join(f"{quote(str(one))}/*" for one in dict.fromkeys((home, home.resolve()))),
        installed=quote(os.pathsep.join(installed)),
        python=quote(python),
    )
    try:
        return str(program(directory / "python" / python.strip("/").replace("/", "-"), text))
    except OSError:  # as in an image: it works, and starts later
        return python


def program(path: Path, text: str) -> Path:
    """The path, which has an executable file of this text then; one that is there stays, so the cache may be read-only.

    :raises OSError: it cannot be written.
    """
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(f".{os.getpid()}")
        fresh.write_text(text)
        fresh.chmod(fresh.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
        fresh.rename(path)
    return path
