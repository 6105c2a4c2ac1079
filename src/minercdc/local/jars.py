"""Fetches jars into the user's cache, once, with the Ivy that PySpark ships, which knows the repository and verifies checksums.

A set is fetched into a directory that is renamed when complete, so that a broken download is never taken for a good one; a lock
file keeps two processes from fetching the same set.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

from minercdc.errors import LocalServiceError
from minercdc.local.java import NO_TRACES, find_java, trust_store_options

_ARCHIVE = "tar.gz"
Advance = Callable[[int, int], None]  # jars done, jars in all


def cache_directory() -> Path:
    """Where downloads are kept: $MINERCDC_CACHE, else `minercdc` under the user's cache directory. It need not be there
    yet."""
    if given := os.environ.get("MINERCDC_CACHE"):
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "minercdc"


def fetch(name: str, artifacts: Sequence[str], advance: Advance | None = None) -> list[Path]:
    """Paths of the jars of a set, fetched unless they are cached; for the parameters and errors see `fetch_directory`."""
    return sorted(fetch_directory(name, artifacts, advance).glob("*.jar"))


def fetch_directory(name: str, artifacts: Sequence[str], advance: Advance | None = None) -> Path:
    """The directory of a set's jars and unpacked archives, fetched unless it is cached.

    :param name: of the set, part of its directory's name.
    :param artifacts: each `group:artifact:version`, or `group:artifact:version:classifier@tar.gz` for an archive.
    :param advance: called with the jars done and the jars in all after each download.
    :raises LocalServiceError: PySpark or Java is missing, or the download failed; finished jars are kept for the next try.
    :raises OSError: the cache cannot be written.
    :raises ValueError: as `trust_store_options`.
    """
    digest = hashlib.sha256("\n".join(artifacts).encode()).hexdigest()[:12]
    cache = cache_directory()
    directory = cache / f"{name}-{digest}"
    if directory.is_dir():  # complete, since it is renamed when it is; the cache may be read-only
        return directory
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / f"{name}-{digest}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not directory.is_dir():
            _download(artifacts, cache, directory, advance)
    return directory


def forget_downloads() -> None:
    """Delete Ivy's own cache, which is of use only while a set is incomplete."""
    shutil.rmtree(cache_directory() / "ivy", ignore_errors=True)


def _download(artifacts: Sequence[str], cache: Path, directory: Path, advance: Advance | None) -> None:
    partial = directory.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    ivy_file = partial / "ivy.xml"
    ivy_file.write_text(_ivy_module(artifacts))
    command = [
        *(str(find_java()), NO_TRACES),
        *trust_store_options(partial),
        "-jar",
        str(_ivy_jar()),
        *("-cache", str(cache / "ivy"), "-ivy", str(ivy_file), "-types", "jar", "bundle", _ARCHIVE),
        *("-retrieve", str(partial / "[artifact]-[revision](-[classifier]).[ext]")),
    ]
    lines: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        done = 0
        for line in process.stdout:
            lines.append(line)
            if "SUCCESSFUL" in line and advance:
                done += 1
                advance(done, len(artifacts))
    archives = list(partial.glob(f"*.{_ARCHIVE}"))
    fetched = len(archives) + len(list(partial.glob("*.jar")))
    if process.returncode or fetched != len(artifacts):
        raise LocalServiceError(
            f"only {fetched} of {len(artifacts)} jars could be fetched: {_failure(lines)}",
            hint="check the connection to the Maven repository and run the command again; finished jars are kept",
        )
    for archive in archives:
        with tarfile.open(archive) as content:
            content.extractall(partial, filter="data")
        archive.unlink()
    for leftover in (ivy_file, partial / "trust.p12"):
        leftover.unlink(missing_ok=True)
    partial.rename(directory)


def _ivy_module(artifacts: Sequence[str]) -> str:
    dependencies = "".join(map(_ivy_dependency, artifacts))
    return (
        '<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven"><info organisation="minercdc" module="jars"/>'
        f'<configurations><conf name="default"/></configurations><dependencies>{dependencies}</dependencies></ivy-module>'
    )


def _ivy_dependency(artifact: str) -> str:
    group, name, version, *classified = artifact.split(":")
    attributes = f'org={quoteattr(group)} name={quoteattr(name)} rev={quoteattr(version)} transitive="false"'
    if not classified:
        return f'<dependency {attributes} conf="default->master"/>'
    classifier, _, kind = classified[0].partition("@")
    wanted = f'name={quoteattr(name)} type="{kind}" ext="{kind}" m:classifier={quoteattr(classifier)}'
    return f'<dependency {attributes} conf="default->master"><artifact {wanted}/></dependency>'


def _ivy_jar() -> Path:
    try:
        import pyspark
    except ImportError:
        raise LocalServiceError(
            "PySpark is not installed; its Ivy downloads the jars", hint="pip install 'minercdc[local]'"
        ) from None
    return next((Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar"))


def _failure(lines: Sequence[str]) -> str:
    useful = [line.strip() for line in lines if any(word in line for word in ("not found", "ERROR", "FAILED", "Exception"))]
    return "; ".join(useful[:3]) or (lines[-1].strip() if lines else "no output")
