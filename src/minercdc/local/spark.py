"""A Spark session with the Kafka source and Delta or Iceberg, on the Java that `find_java` gives: of this machine alone, or on a cluster's master."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse

from minercdc.errors import LocalServiceError
from minercdc.local.delta_log import FEW_PARTITIONS, SNAPSHOT_PARTITIONS
from minercdc.local.jars import Advance, cache_directory, fetch
from minercdc.local.java import find_java
from minercdc.local.programs import program, python_program
from minercdc.local.spark_artifacts import Format, installed_spark, newest_java, spark_jars

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Spark's launcher always requests a module that the packaged runtime lacks; without it Spark only loses an optimisation. A signal to the process
# group (Ctrl-C, `kill -- -PID`, systemd) is for Python, which ends Spark in order; the JVM ends when its standard input does. SIGUSR1
# kills it. However it ends, its temporary directory goes.
_SHIM = """\
#!/bin/sh
# Starts Java without the option that names a module this runtime may not have, and removes its temporary directory at its end.
scratch=
for argument do
    shift
    case "$argument" in
        --add-modules=jdk.incubator.vector) continue ;;
        -Djava.io.tmpdir=*/{prefix}*) scratch=${{argument#*=}} ;;
    esac
    set -- "$@" "$argument"
done
test -n "$scratch" || exec "{java}" -XX:-UsePerfData "$@"  # the launcher, or another program that JAVA_HOME leads here
trap '' HUP INT TERM
java= killed=
trap 'killed=1; test -z "$java" || kill -KILL $java' USR1  # before Java is there, or the signal would end this program alone
exec 3<&0
"{java}" -XX:-UsePerfData "$@" <&3 3<&- &
java=$!
exec 3<&- 2>/dev/null  # the shell has nothing to say about its end
test -z "$killed" || kill -KILL $java
wait $java
status=$?
while kill -0 $java 2>/dev/null; do wait $java; status=$?; done
rm -rf "$scratch"
exit $status
"""
_PREFIX = "minercdc-spark-"  # of the names of temporary directories

_LOG4J = f"-Dlog4j2.configurationFile={Path(__file__).with_name('spark-log4j2.properties')}"

_JAVA_OPTIONS = "spark.driver.extraJavaOptions"

SECRETS = "(?i)secret|password|token|access[.-]?key|credential|authorization"
"""Settings whose values Spark's pages and logs do not show: its own choice, and a catalog's credentials."""
_SUBMIT = "PYSPARK_SUBMIT_ARGS"  # what PySpark adds to the arguments of the JVM's launcher
_ESCAPED = str.maketrans(
    {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", " ": "\\ ", ":": "\\:", "=": "\\=", "#": "\\#", "!": "\\!"}
)

SETTINGS: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",  # small batches on few cores
    "spark.sql.adaptive.enabled": "false",  # twice the jobs, for partitions that are small anyway
    "spark.sql.streaming.pollingDelay": "200ms",  # between looks for new data while there is none; 10 ms cost a tenth of a core
    SNAPSHOT_PARTITIONS: FEW_PARTITIONS,
}

DELTA: Mapping[str, str] = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
"""The settings with which a session knows Delta."""


def iceberg_of_directories(path: str) -> dict[str, str]:
    """The settings with which a session knows the Iceberg tables in the directories of `path`, as those of catalog `minercdc`."""
    catalog = "spark.sql.catalog.minercdc"
    return {
        catalog: "org.apache.iceberg.spark.SparkCatalog",
        f"{catalog}.type": "hadoop",
        f"{catalog}.warehouse": path,
    }


# Java looks a class up in one jar after another, and Spark has 300: a tenth of a young session's time. The jars that have most classes
# come first.
_FIRST = [
    "spark-catalyst_*",
    "spark-core_*",
    "scala-library-*",
    "spark-sql_*",
    "spark-sql-api_*",
    "scala-reflect-*",
    "parquet-column-*",
    "hadoop-client-api-*",
    "log4j-core-*",
    "jackson-databind-*",
    "parquet-jackson-*",
    "janino-*",
    "parquet-encoding-*",
    "hadoop-client-runtime-*",
    "parquet-format-structures-*",
    "parquet-hadoop-*",
    "spark-network-common_*",
    "antlr4-runtime-*",
]


def local_spark(
    name: str, *, advance: Advance | None = None, settings: Mapping[str, str] | None = None, form: Format = "delta"
) -> SparkSession:
    """Start a Spark session of two threads, in a JVM that this process starts. One that is running already is returned.

    Sets JAVA_HOME, PYSPARK_PYTHON and SPARK_LOCAL_IP in the environment of the process, and removes SPARK_HOME.

    :param name: of the application.
    :param advance: called with the jars done and the jars in all while they are fetched.
    :param settings: of Spark; they win over ours.
    :param form: the format of tables whose jars it has; the settings of another one than Delta are in `settings`.
    :raises LocalServiceError: PySpark, a jar or Java is missing, the JVM did not start, or as `spark_jars`.
    :raises OSError: the cache cannot be written.
    :raises ValueError: as `fetch_directory`.
    """
    jars = _prepared(advance, form)
    os.environ["PYSPARK_PYTHON"] = python_program(sys.executable, cache_directory())
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    ours = {
        **SETTINGS,
        **(DELTA if form == "delta" else {}),
        "spark.master": "local[2]",
        "spark.driver.memory": "1500m",
        _JAVA_OPTIONS: f"-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m {_LOG4J}",
    }
    return _started(name, jars, {**ours, **(settings or {})})


def cluster_spark(
    name: str, *, python: str, settings: Mapping[str, str], advance: Advance | None = None, form: Format = "delta"
) -> SparkSession:
    """Start a Spark session on the cluster of `spark.master`, with the driver in this process. One that is running is returned.

    The jars are sent to the executors, beside those of `spark.jars`. Sets JAVA_HOME and PYSPARK_PYTHON in the environment of the
    process, and removes SPARK_HOME.

    :param python: program that executors run.
    :param settings: of Spark.
    :param name, advance, form: see `local_spark`.
    :raises LocalServiceError: PySpark, a jar or Java is missing, the JVM did not start, or as `spark_jars`.
    :raises OSError: the cache cannot be written.
    :raises ValueError: as `fetch_directory`.
    """
    jars = _prepared(advance, form)
    os.environ["PYSPARK_PYTHON"] = python
    sent = ",".join([*filter(None, [settings.get("spark.jars")]), *map(str, jars)])
    ours = {
        "spark.ui.showConsoleProgress": "false",
        SNAPSHOT_PARTITIONS: FEW_PARTITIONS,
        _JAVA_OPTIONS: _LOG4J,
    }
    return _started(name, jars, {**ours, **settings, "spark.jars": sent})


def _prepared(advance: Advance | None, form: Format) -> list[Path]:
    """Prepare the process for PySpark: fetch jars unless they are cached, set JAVA_HOME, and remove SPARK_HOME. Returns the jars."""
    jars = fetch("spark", spark_jars(installed_spark(), form), advance)
    os.environ["JAVA_HOME"] = str(prepare_java())
    os.environ.pop("SPARK_HOME", None)  # another installation's jars would not fit
    return jars


def _given_jars(settings: Mapping[str, str], known: Sequence[Path]) -> list[Path]:
    """The files of this machine that `spark.jars` names, but for those that are known. What is on the class path, as a format of tables, does
    not see those that Spark itself loads from there, as the client of an object store."""
    named = [
        Path(unquote(urlparse(one).path) if one.startswith("file:") else one)
        for one in settings.get("spark.jars", "").split(",")
    ]
    return [path for path in named if path.is_file() and path not in known]


def _started(name: str, jars: Sequence[Path], settings: Mapping[str, str]) -> SparkSession:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    given = settings.get("spark.driver.extraClassPath")
    class_path = os.pathsep.join(
        [*([given] if given else []), *map(str, [*jars, *_first_jars(), *_given_jars(settings, jars)])]
    )
    scratch = _scratch()
    Path(scratch).mkdir(mode=0o700, exist_ok=True)  # the JVM of an earlier session has removed it
    computed = {
        "spark.driver.extraClassPath": class_path,
        _JAVA_OPTIONS: f'{settings[_JAVA_OPTIONS]} "-Djava.io.tmpdir={scratch}"',
    }
    builder = SparkSession.builder.appName(name)
    whole = {"spark.sql.warehouse.dir": f"{scratch}/warehouse", **settings, **computed}
    try:
        with _private(whole, Path(scratch)) as kept_back:
            for key, value in whole.items():
                if key not in kept_back:
                    builder = builder.config(key, value)
            return builder.getOrCreate()
    except (PySparkException, OSError, RuntimeError) as error:
        shutil.rmtree(scratch, ignore_errors=True)
        raise LocalServiceError(f"Spark did not start: {error}") from None


@contextmanager
def _private(settings: Mapping[str, str], directory: Path) -> Iterator[frozenset[str]]:
    """Have a JVM that is started in the block read the secrets of some settings from a file: PySpark gives settings on the command line, which
    all users of the machine see. Yields their names."""
    from pyspark import SparkContext

    secrets = {name: value for name, value in settings.items() if re.search(SECRETS, name)}
    before = os.environ.get(_SUBMIT)
    runs = SparkContext._gateway is not None  # its command line is written
    if not secrets or runs or "--properties-file" in (before or ""):
        yield frozenset()
        return
    file = directory / "settings"
    file.touch(mode=0o600)
    file.write_text(properties_text(secrets))
    os.environ[_SUBMIT] = f"--properties-file {shlex.quote(str(file))} --load-spark-defaults {before or 'pyspark-shell'}"
    try:
        yield frozenset(secrets)
    finally:
        file.unlink(missing_ok=True)
        if before is None:
            del os.environ[_SUBMIT]
        else:
            os.environ[_SUBMIT] = before


def properties_text(settings: Mapping[str, str]) -> str:
    """Settings as a file of Java's properties has them."""
    return "".join(f"{name.translate(_ESCAPED)}={value.translate(_ESCAPED)}\n" for name, value in settings.items())


def _first_jars() -> list[Path]:
    import pyspark

    directory = Path(pyspark.__file__).with_name("jars")
    return [jar for pattern in _FIRST for jar in directory.glob(pattern)]


@cache
def _scratch() -> str:
    """Temporary directory of all that the JVM of this process writes; its program removes it (`prepare_java`)."""
    return tempfile.mkdtemp(prefix=_PREFIX)


def kill_java() -> None:
    """Kill the JVMs that this process has started for Spark, also one that is starting: they would print errors once this process is gone. Their
    temporary directories go with them. Does not wait for that: what works with a JVM fails without it."""
    for child in _spark_children():
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGUSR1)
    if _scratch.cache_info().currsize:  # one that was about to be started has no program yet that removes it
        shutil.rmtree(_scratch(), ignore_errors=True)


def end_java(seconds: float = 5.0) -> None:
    """As `kill_java`, and wait for their ends, at most so long."""
    kill_java()
    deadline = time.monotonic() + seconds
    while _spark_children() and time.monotonic() < deadline:
        time.sleep(0.02)


def _spark_children() -> list[int]:
    """Process ids of the children of this process that run Spark's JVM, or start it; [] where the system does not list them."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError):
            state, parent = (process / "stat").read_text().rpartition(")")[2].split()[:2]
            if int(parent) == os.getpid() and state != "Z" and f"/{_PREFIX}".encode() in (process / "cmdline").read_bytes():
                found.append(int(process.name))
    return found


def prepare_java() -> Path:
    """A JAVA_HOME whose `bin/java` starts the Java of `find_java` without the option that the packaged runtime refuses.

    It is made in the cache directory when it is not there.

    :raises LocalServiceError: there is no Java on which the installed Spark runs, or no Spark that is supported.
    :raises OSError: the cache cannot be written.
    """
    spark = installed_spark()
    java = find_java(newest=newest_java(spark), program=f"Spark {spark}")
    home = cache_directory() / "java" / java.as_posix().strip("/").replace("/", "-")
    program(home / "bin" / "java", _SHIM.format(java=java, prefix=_PREFIX))
    return home
