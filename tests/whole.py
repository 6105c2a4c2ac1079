"""The whole suite, part by part: ``python -m tests.whole [PART ...]``, or ``make test-all``.

A part that has passed on these very sources is not run again, so that a run which was cut off goes on where it was. Without names, all parts
are run that have not passed. The last lines are one table of all parts; the exit code is 1 unless all requested parts passed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import sysconfig
import time
import venv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / ".test-all"
_CLOSING = re.compile(r"\b(\d+) (passed|failed|error|errors|skipped)\b")
_CPU = re.compile(r"^\d+ tests took (\d+) s of CPU", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Part:
    """Tests that are run by one call of pytest.

    :param arguments: of pytest.
    :param environment: variables beside those of the process.
    :param holds: what is tested, in a few words.
    :param packages: that take the place of those of the same names; the part has a Python of its own then.
    """

    holds: str
    arguments: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    packages: Sequence[str] = ()


_FILES = ("-n", "3", "--dist", "loadfile")
_LOGMINER = [
    f"tests/sandbox_capture/test_{name}.py"
    for name in (
        "capture",
        "faults",
        "generated_types",
        "json",
        "kept",
        "lobs",
        "number_extremes",
        "oddities",
        "open_at",
        "renames",
        "types",
    )
]
_PURE = [
    f"tests/unit/{name}"
    for name in (
        "capture",
        "messages",
        "native",
        "pipeline",
        "signals",
        "sinks",
        "snapshot",
        "stream",
        "test_read_runs.py",
        "values",
    )
]
_PYTHON = {"MINERCDC_NATIVE": "0"}
# The lake's rules on another Spark; what reads segments needs Spark 4.2.
_LAKE = [
    f"tests/spark/test_lake{name}.py"
    for name in (
        "",
        "_changes",
        "_compiled",
        "_consistency",
        "_ddl",
        "_gaps",
        "_joint_read",
        "_kill",
        "_latest",
        "_maintenance",
        "_modes",
        "_old_keys",
        "_rebuild",
        "_scanned",
        "_second_snapshot",
        "_snapshot",
        "_trouble",
    )
]
_ON_ICEBERG = [
    *_LAKE,
    *(
        f"tests/spark/test_lake_{name}.py"
        for name in ("avro", "figures", "handover", "mode_kills", "several_pdbs", "verify")
    ),
    "tests/spark_iceberg",
]
_OLDER = ["tests/spark/test_native_delta.py", "tests/spark_older"]
# What reads topics alone: `read_changes`, and the SQL that it decodes with.
_READING = ["tests/spark/test_lake_changes.py", "tests/spark_reading"]

_DUCKDB = [
    "duckdb==1.5.5",
    "duckdb-extensions==1.5.5",
    *(f"duckdb-extension-{name}==1.5.5" for name in ("avro", "httpfs", "iceberg")),
]

PARTS: Mapping[str, Part] = {
    "unit": Part("pure tests of product and sandbox; the site", (*_FILES, "tests/unit", "tests/site", "sandbox/tests/unit")),
    "capture": Part("every adapter on the sandbox", (*_FILES, "tests/sandbox_capture", "tests/conformance")),
    "kafka": Part("a real broker; Debezium's messages", (*_FILES, "tests/kafka", "tests/parity")),
    "e2e": Part("all processes", (*_FILES, "tests/e2e")),
    "spark": Part("real Spark and Delta", (*_FILES, "tests/spark")),
    "spark40": Part("the lake on Spark 4.0", ("-n", "0", "-p", "tests.older_spark", *_LAKE, *_OLDER), packages=["pyspark==4.0.2"]),
    "spark41": Part("the lake on Spark 4.1", ("-n", "0", "-p", "tests.older_spark", *_LAKE, *_OLDER), packages=["pyspark==4.1.4"]),
    "iceberg": Part(
        "the lake on Iceberg",
        ("-n", "0", "-p", "tests.older_spark", "-p", "tests.iceberg", *_ON_ICEBERG),
        packages=["pyspark==4.1.4", "pyiceberg[sql-sqlite]==0.12.0", *_DUCKDB],
    ),
    "spark35": Part(
        "topics read on Spark 3.5",
        ("-n", "0", "-p", "tests.older_spark", *_READING, "tests/spark/test_lake_decimals.py"),
        packages=["pyspark==3.5.9"],
    ),
    "connect": Part(
        "topics read over Spark Connect",
        ("-n", "0", "-p", "tests.older_spark", "-p", "tests.connect", *_READING, "tests/spark_pipeline"),
        packages=["pyspark==4.1.4", "grpcio-status>=1.76", "zstandard>=0.25"],
    ),
    "s3": Part("the lake in an object store", ("-n", "0", "tests/spark_s3")),
    "sandbox": Part("the sandbox to drivers of Python, Java and Go", (*_FILES, "sandbox/tests/server", "sandbox/tests/clients")),
    "models": Part("checker, simulation, torture; mutations of each", (*_FILES, "tests/checker", "tests/simulate", "tests/torture")),
    "python": Part("all that native code does, on the Python path", (*_FILES, *_PURE, *_LOGMINER, "tests/conformance"), _PYTHON),
    "containers": Part("images and Compose file", ("-n", "0", "--start-engine", "tests/containers"), {"MINERCDC_CLUSTER": "1"}),
    "fuzz": Part("ten million damaged statements", ("-n", "0", "tests/unit/native/test_sanitized.py"), {"MINERCDC_INPUTS": "10000000"}),
    "seeds": Part(
        "hundreds of seeds and kills",
        ("-n", "2", "tests/torture", "tests/checker"),
        {"MINERCDC_KILLS": "50", "MINERCDC_SEEDS": "200", "MINERCDC_LAKE_SEEDS": "100", "MINERCDC_KEPT_ROWS": "200000"},
    ),
    "soak": Part("an hour of steady work", ("-n", "0", "tests/torture/test_soak.py"), {"MINERCDC_SOAK_MINUTES": "60"}),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Result:
    """How a part ended."""

    sources: str
    exit_code: int
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    cpu_seconds: float = 0.0
    seconds: float = 0.0


def sources() -> str:
    """A digest of all files that git knows or could know: another one means other tests or other code."""
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True
    ).stdout.decode().split("\0")  # fmt: skip
    digest = hashlib.sha256()
    for name in sorted(filter(None, names)):
        path = ROOT / name
        if path.is_file():
            digest.update(f"{name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def stored(part: str) -> Result | None:
    """How a part ended last."""
    path = RESULTS / f"{part}.json"
    return Result(**json.loads(path.read_text())) if path.exists() else None


def run(name: str, digest: str) -> Result:
    """Run a part; its output goes on to the terminal and to a file beside the result."""
    part = PARTS[name]
    RESULTS.mkdir(exist_ok=True)
    began = time.monotonic()
    environment = {
        **os.environ,
        **part.environment,
        "MINERCDC_EXAMPLES": "all",
        "MINERCDC_DURATIONS": str(RESULTS / f"{name}.durations.json"),
    }
    try:
        python = python_of(name, part.packages)
    except subprocess.CalledProcessError as error:
        print(f"{name}: its packages cannot be had: {error}")
        return _store(name, Result(digest, error.returncode))
    command = [python, "-m", "pytest", "-q", "-p", "tests.durations", *part.arguments]
    with (
        (RESULTS / f"{name}.log").open("w") as log,
        subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process,
    ):
        assert process.stdout
        for line in process.stdout:
            sys.stdout.write(line)
            log.write(line)
    return _store(
        name, result_of((RESULTS / f"{name}.log").read_text(), digest, process.returncode, time.monotonic() - began)
    )


def _store(name: str, result: Result) -> Result:
    (RESULTS / f"{name}.json").write_text(json.dumps(asdict(result)))
    return result


def python_of(name: str, packages: Sequence[str]) -> str:
    """The Python of a part: this one, or one of its own with its packages and, after them, those of this one. It is made where it is not
    there."""
    if not packages:
        return sys.executable
    directory = RESULTS / f"{name}-python"
    made, wanted = directory / "packages", "\n".join(packages)
    python = directory / "bin" / "python"
    if not made.exists() or made.read_text() != wanted:
        venv.create(directory, clear=True, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages], check=True)
        (own,) = directory.glob("lib/python*/site-packages")
        # `addsitedir` reads the files of editable packages there, too.
        (own / "zz_after.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
        made.write_text(wanted)
    return str(python)


def result_of(output: str, digest: str, exit_code: int, seconds: float) -> Result:
    """What pytest's closing lines say."""
    counts = {word.rstrip("s"): int(number) for number, word in _CLOSING.findall(output.rstrip().rpartition("\n")[2])}
    cpu = _CPU.search(output)
    return Result(
        digest,
        exit_code,
        counts.get("passed", 0),
        counts.get("failed", 0) + counts.get("error", 0),
        counts.get("skipped", 0),
        float(cpu[1]) if cpu else 0.0,
        round(seconds),
    )


def table(results: Mapping[str, Result | None], digest: str) -> Iterable[str]:
    """One line a part."""
    yield f"{'part':<12}{'':<22}{'passed':>8}{'failed':>8}{'skipped':>8}{'CPU s':>8}{'s':>8}  {'what'}"
    for name, part in PARTS.items():
        result = results.get(name)
        if result is None:
            yield f"{name:<12}{'not run':<54}{'':<8}  {part.holds}"
            continue
        state = "passed" if result.exit_code == 0 else f"FAILED (exit code {result.exit_code})"
        if result.sources != digest:
            state += ", older sources"
        figures = (result.passed, result.failed, result.skipped, round(result.cpu_seconds), round(result.seconds))
        yield f"{name:<12}{state:<22}" + "".join(f"{figure:>8}" for figure in figures) + f"  {part.holds}"


def main(names: Sequence[str]) -> int:
    """Run the parts and print the table.

    :raises SystemExit: there is no part of a given name.
    """
    if unknown := [name for name in names if name not in PARTS]:
        raise SystemExit(f"no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    digest = sources()
    asked = list(names or PARTS)
    for name in asked:
        last = stored(name)
        if last is not None and last.sources == digest and last.exit_code == 0:
            print(f"{name} has passed on these sources; rm {(RESULTS / name).relative_to(ROOT)}.json runs it again")
            continue
        run(name, digest)
    results = {name: stored(name) for name in PARTS}
    print(*table(results, digest), sep="\n")
    done = [results[name] for name in asked]
    return 0 if all(one is not None and one.exit_code == 0 and one.sources == digest for one in done) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
