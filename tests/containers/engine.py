"""A Docker engine: the one that answers, or one of our own from Debian's packages."""

from __future__ import annotations

import gc
import os
import re
import shutil
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import docker
from docker.errors import DockerException

_LONGEST_SOCKET = 107  # bytes of a unix socket's path
_START_SECONDS = 60.0
_STOP_SECONDS = 60.0
_CGROUPS = Path("/sys/fs/cgroup")
_PACKAGES = {"dockerd": "docker.io", "docker": "docker.io", "docker-compose": "docker-compose", "iptables": "iptables"}


class EngineError(Exception):
    """No engine, image or stack can be had; the text says why."""


def trouble() -> str:
    """Why no engine can be used; empty when one answers."""
    found = ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # the client leaves its socket open where no engine answers
        try:
            client = docker.from_env()
            client.ping()
            client.close()
        except DockerException as error:
            found = str(error)
        gc.collect()
    return found


def command(*arguments: str, seconds: float = 600, **options: object) -> str:
    """Output of a program, both streams.

    :raises EngineError: it fails or takes too long; with the last lines of what it wrote.
    """
    try:
        done = subprocess.run(
            arguments,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
            **options,  # type: ignore[call-overload]
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EngineError(f"{' '.join(arguments)}: {error}") from None
    if done.returncode:
        tail = "\n".join(done.stdout.strip().splitlines()[-15:])
        raise EngineError(f"{' '.join(arguments)} ended with status {done.returncode}:\n{tail}")
    return str(done.stdout)


def install(programs: Sequence[str]) -> None:
    """Have Debian's packages of programs that are missing.

    :raises EngineError: this takes root and apt-get.
    """
    missing = sorted({_PACKAGES.get(program, program) for program in programs if not _which(program)})
    if not missing:
        return
    if os.geteuid() or not _which("apt-get"):
        raise EngineError(f"{', '.join(missing)}: not installed, and installing takes root and apt-get")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}  # no service is started
    command("apt-get", "update", "-qq", env=environment)
    command("apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing, env=environment)


def install_docker() -> None:
    """Have Docker's programs, Compose among them. Raises EngineError as `install`."""
    install(["dockerd", "docker", "iptables", *([] if _has_compose() else ["docker-compose"])])


def _which(program: str) -> str | None:
    return shutil.which(program, path=os.environ.get("PATH", "") + os.pathsep + "/usr/sbin:/sbin")


@contextmanager
def own_engine() -> Iterator[str]:
    """An engine of our own while the context lasts; its value is DOCKER_HOST. Nothing of it is left.

    :raises EngineError: it does not start.
    """
    if os.geteuid():
        raise EngineError("no Docker engine answers, and only root can start one")
    install_docker()
    directory = Path(tempfile.mkdtemp(prefix="minercdc-"))
    socket = directory / "d.sock"
    if len(os.fsencode(socket)) > _LONGEST_SOCKET:
        directory.rmdir()
        raise EngineError(f"{socket} is too long for a unix socket; set TMPDIR to a shorter directory")
    before = None if Path("/sys/class/net/docker0").exists() else command(_program("iptables-save"))
    process = _dockerd(directory, socket)
    try:
        _await(process, socket, directory / "log")
        yield f"unix://{socket}"
    finally:
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if before is not None:  # no other engine used the network that this one made
            _forget_network(before)
        _remove(directory)


def _remove(directory: Path) -> None:
    mounted = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    for place in reversed([place for place in mounted if place.startswith(f"{directory}/")]):  # the engine leaves some
        command(_program("umount"), place)
    shutil.rmtree(directory)


def build_program() -> tuple[str, dict[str, str]]:
    """A `docker` that builds by BuildKit, with its environment; where none does, the first one, which has the engine build.

    A client of version 19.03 to 20.10 has it built in, a later one as the plugin buildx. BuildKit builds no stage that is not needed, and makes
    layers of the results only.
    """
    for directory in os.environ.get("PATH", "").split(os.pathsep):
        if (docker := shutil.which("docker", path=directory)) and _has_buildkit(docker):
            return docker, {**os.environ, "DOCKER_BUILDKIT": "1"}
    return "docker", dict(os.environ)


def containers_cpu_seconds() -> float:
    """CPU seconds of what engines have run in containers since this machine began, whose processes are no descendants of an engine's; what
    BuildKit runs is one. 0 where the cgroups tell nothing."""
    return _cgroup_cpu_seconds("docker") - _cgroup_cpu_seconds("docker/buildkit")


def _cgroup_cpu_seconds(name: str) -> float:
    try:
        return int((_CGROUPS / "cpuacct" / name / "cpuacct.usage").read_text()) / 1e9
    except OSError:  # not cgroups of version 1
        pass
    try:
        said = (_CGROUPS / name / "cpu.stat").read_text()
    except OSError:  # its containers are in cgroups of systemd's, or it has had none
        return 0.0
    return int(said.split("usage_usec ")[1].split()[0]) / 1e6


def _has_buildkit(docker: str) -> bool:
    if not subprocess.run([docker, "buildx", "version"], capture_output=True, check=False).returncode:
        return True
    said = subprocess.run(
        [docker, "version", "--format", "{{.Client.Version}}"], capture_output=True, text=True, check=False
    ).stdout
    found = re.match(r"(\d+)\.", said)
    return found is not None and 19 <= int(found[1]) < 23


def _has_compose() -> bool:
    if _which("docker-compose") or not (docker := _which("docker")):
        return bool(_which("docker-compose"))
    return not subprocess.run([docker, "compose", "version"], capture_output=True, check=False).returncode


def _program(name: str) -> str:
    found = _which(name)
    if found is None:
        raise EngineError(f"{name} is missing")
    return found


def _dockerd(directory: Path, socket: Path) -> subprocess.Popen[bytes]:
    arguments = ["-H", f"unix://{socket}", "--pidfile", str(directory / "pid")]
    for option in ("data-root", "exec-root"):
        arguments += [f"--{option}", str(directory / option)]
    with (directory / "log").open("wb") as log:
        # a session of its own: Ctrl-C reaches the tests alone, which remove their containers before they stop the engine
        return subprocess.Popen(
            [_program("dockerd"), *arguments], stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )


def _await(process: subprocess.Popen[bytes], socket: Path, log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        if socket.exists() and "API listen on" in log.read_text(errors="replace"):
            return
        if process.poll() is not None:
            break
        time.sleep(0.02)
    tail = "\n".join(log.read_text(errors="replace").strip().splitlines()[-5:])
    raise EngineError(f"dockerd does not start:\n{tail}")


_NO_RULES = {
    "filter": ":INPUT ACCEPT\n:FORWARD ACCEPT\n:OUTPUT ACCEPT",
    "nat": ":PREROUTING ACCEPT\n:INPUT ACCEPT\n:OUTPUT ACCEPT\n:POSTROUTING ACCEPT",
}


def _forget_network(rules: str) -> None:
    for table, chains in _NO_RULES.items():
        if f"*{table}\n" not in rules:  # what is not named would stay as the engine left it
            rules += f"*{table}\n{chains}\nCOMMIT\n"
    subprocess.run([_program("iptables-restore")], input=rules, text=True, capture_output=True, check=False)
    if ip := _which("ip"):
        subprocess.run([ip, "link", "delete", "docker0"], capture_output=True, check=False)
