"""The two images of the Dockerfile, on the engine that answers."""

from __future__ import annotations

import fcntl
import os
import shlex
import ssl
import tempfile
from pathlib import Path

from tests.containers.engine import EngineError, build_program, command, install

ROOT = Path(__file__).parents[2]
CONNECTOR, LAKE = "minercdc:local", "minercdc-lake:local"
OFFICIAL_BASE, OWN_BASE = "python:3.11-slim", "minercdc-base:local"
_CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"
_PULL_SECONDS, _BUILD_SECONDS = 120.0, 1200.0


def build(may_make_base: bool) -> None:
    """Build both images from what is in the working tree; a second build takes what has not changed from the engine's cache.

    :param may_make_base: without a registry make the base from Debian's packages, which takes root.
    :raises EngineError: no base, or a build fails.
    """
    with (ROOT / "Dockerfile").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the processes of one test run share the engine
        base = _base(may_make_base)
        builder, environment = build_program()
        for target, image in (("lake", LAKE), ("connector", CONNECTOR)):  # without BuildKit the first build makes both
            arguments = ["--build-arg", f"BASE={base}", "--build-arg", "NATIVE=required"]
            options = ["--network", "host", *arguments, "--target", target, "--tag", image]
            command(builder, "build", *options, str(ROOT), seconds=_BUILD_SECONDS, env=environment)


def present(image: str) -> bool:
    """Does the engine have it?"""
    try:
        command("docker", "image", "inspect", image)
    except EngineError:
        return False
    return True


def obtainable(image: str) -> bool:
    """Does the engine have it, or get it from a registry?"""
    if present(image):
        return True
    try:
        command("docker", "pull", "--quiet", image, seconds=_PULL_SECONDS)
    except EngineError:
        return False
    return True


def _base(may_make: bool) -> str:
    if present(OWN_BASE):
        return OWN_BASE
    if obtainable(OFFICIAL_BASE):
        return OFFICIAL_BASE
    if not may_make:
        raise EngineError(f"no registry gives {OFFICIAL_BASE}; `make containers` makes a base from Debian's packages")
    _make_base()
    return OWN_BASE


def _make_base() -> None:
    """Debian with Python 3.11, and the certificates that this machine trusts, since a build may go through its proxy."""
    if os.geteuid():
        raise EngineError(f"no registry gives {OFFICIAL_BASE}, and making a base takes root")
    install(["mmdebstrap"])
    packages = "python3,python3-venv,python-is-python3,ca-certificates"
    options = [
        "--variant=minbase",
        f"--include={packages}",
        '--aptopt=Acquire::Languages "none"',
        "--dpkgopt=force-unsafe-io",
    ]
    options.append("--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr")  # without it a package merges it, which takes Perl
    options += [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "man", "locale")]
    trusted = os.environ.get("SSL_CERT_FILE") or ssl.get_default_verify_paths().cafile
    if trusted:
        options.append(f"--customize-hook=upload {shlex.quote(trusted)} /{_CERTIFICATES}")
    names = ("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
    environment = " ".join(f"{name}=/{_CERTIFICATES}" for name in names)
    with tempfile.TemporaryDirectory(prefix="minercdc-base-") as directory:
        archive = f"{directory}/base.tar"
        command("mmdebstrap", *options, "bookworm", archive, env=_with_sbin())
        command("docker", "import", "-c", f"ENV {environment}", archive, OWN_BASE)


def _with_sbin() -> dict[str, str]:
    return {**os.environ, "PATH": os.environ.get("PATH", "") + os.pathsep + "/usr/sbin:/sbin"}
