"""Which process of this machine runs a connector: locks on files in `minercdc.state.dir`, and an address of the machine."""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path
from socket import gethostname
from urllib.parse import quote

from minercdc.errors import FencedError, StateDirectoryError

_PATIENCE_SECONDS = 5.0  # an orderly end takes less


@contextmanager
def running(directory: Path, connector: str) -> Iterator[None]:
    """Within the context `is_running` is true, at the longest until the process ends. Several processes may be in it at a time.

    :param directory: `minercdc.state.dir`, which has to exist.
    :param connector: its name.
    :raises StateDirectoryError: the file cannot be made.
    """
    descriptor = _made(_running_file(directory, connector))
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)


def is_running(directory: Path, connector: str) -> bool:
    """Whether a process on this machine runs the connector with this directory; False, too, when that cannot be read."""
    try:
        descriptor = os.open(_running_file(directory, connector), os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


@contextmanager
def owning(directory: Path, connector: str, *, refuse: bool = True, patience: float = _PATIENCE_SECONDS) -> Iterator[None]:
    """Within the context this process is the one of this machine that has the connector, for others that use the directory.

    A process that was stopped (SIGSTOP) has it no longer: Kafka decides then, as it does between machines.

    :param directory: `minercdc.state.dir`, which has to exist.
    :param connector: its name.
    :param refuse: False: go on where another one has it.
    :param patience: seconds in which one that is just stopping may end.
    :raises FencedError: another process has it.
    :raises StateDirectoryError: the file cannot be made.
    """
    path = directory / f"owner-{quote(connector, safe='')}"
    descriptor = _made(path)
    try:
        deadline = time.monotonic() + patience
        while not _locked(descriptor):
            owner = _owner(descriptor)
            if not refuse or owner is None or _is_stopped(owner):
                break
            _wait_for(connector, owner, deadline)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def owning_name(
    identity: str, connector: str, *, refuse: bool = True, patience: float = _PATIENCE_SECONDS
) -> Iterator[None]:
    """As `owning`, for processes of one user of this machine whose directories may be others: a relative `minercdc.state.dir` is
    another one in each working directory. Does nothing but on Linux, whose abstract addresses end with their process.

    :param identity: what is one connector's only, as its name and Kafka's addresses.
    :raises FencedError: another process has it.
    """
    address = _address_of(identity)
    with closing(socket.socket(socket.AF_UNIX)) as own:
        deadline = time.monotonic() + patience
        while sys.platform == "linux" and not _bound(own, address):
            owner = _listener(address)
            if not refuse or owner is None or _is_stopped(owner):
                break
            _wait_for(connector, owner, deadline)
        yield


def is_owned(identity: str) -> bool:
    """Whether a process of this user, on this machine, is within `owning_name`."""
    return bool(_listener(_address_of(identity)))


def _address_of(identity: str) -> bytes:
    return b"\0minercdc-" + sha256(f"{os.geteuid()} {identity}".encode()).hexdigest().encode()


def _wait_for(connector: str, owner: int, deadline: float) -> None:
    """Give another owner a moment to end.

    :param owner: its process id, 0 where that is not known.
    """
    if time.monotonic() >= deadline:
        raise FencedError(
            f"connector {connector} runs here already" + (f" (pid {owner})" if owner else ""),
            hint="Stop that process first; or start this one with --standby, which takes over when it dies.",
        )
    time.sleep(0.1)


def _bound(own: socket.socket, address: bytes) -> bool:
    """Take the address; False where another process has it."""
    try:
        own.bind(address)
        own.listen()
    except OSError:
        return False
    return True


def _listener(address: bytes) -> int | None:
    """Process id of who has the address, 0 where it cannot be learned; None for another user's, and for one of another container."""
    if sys.platform != "linux":
        return None
    with closing(socket.socket(socket.AF_UNIX)) as asking:
        asking.setblocking(False)
        try:
            asking.connect(address)
            pid, uid, _ = struct.unpack("3i", asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        except OSError:  # it has just ended, or too many asked before
            return 0
        return int(pid) if pid and uid == os.geteuid() else None


def _locked(descriptor: int) -> bool:
    """Take the lock, and write down who has it; False where another one has it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()} {gethostname()}\n".encode(), 0)
    return True


def _owner(descriptor: int) -> int | None:
    """Process id of who has the lock, 0 where it is not written down yet; None for one of another machine."""
    pid, _, host = os.pread(descriptor, 300, 0).decode(errors="replace").strip().partition(" ")
    if not pid.isdigit():
        return 0
    return int(pid) if host == gethostname() else None


def _is_stopped(pid: int) -> bool:
    """Whether a process is stopped by a signal, as far as the system says it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in ("T", "t")
    except (OSError, IndexError):
        return False


def _made(path: Path) -> int:
    """Open a file for a lock, and make it where it is missing."""
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StateDirectoryError(
            f"making {path.absolute()} failed: {error.strerror or error}",
            hint="Set minercdc.state.dir to a directory that can be written.",
        ) from error


def _running_file(directory: Path, connector: str) -> Path:
    return directory / f"running-{quote(connector, safe='')}"
