"""One process of a machine has a connector; another one that is started there says who has it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from minercdc.errors import FencedError
from minercdc.stream.process_lock import is_owned, owning, owning_name

_OWNER = """
import sys, time
from pathlib import Path
from minercdc.stream.process_lock import owning, owning_name
with owning(Path(sys.argv[1]), "a/b"), owning_name(sys.argv[1], "a/b"):
    print("owns", flush=True)
    sys.stdin.read()
"""


@contextmanager
def owner(directory: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", _OWNER, str(directory)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "owns\n"
        try:
            yield process
        finally:
            process.kill()


def test_a_second_process_is_refused_with_the_first_ones_id(tmp_path: Path) -> None:
    with owner(tmp_path) as first:
        with (
            pytest.raises(FencedError, match=rf"connector a/b runs here already \(pid {first.pid}\)"),
            owning(tmp_path, "a/b", patience=0),
        ):
            pass
        with owning(tmp_path, "another", patience=0), owning(tmp_path, "a/b", refuse=False, patience=0):
            pass
    with owning(tmp_path, "a/b", patience=0):
        assert (tmp_path / "owner-a%2Fb").read_text().split()[0] == str(os.getpid())


def test_one_that_is_stopping_is_waited_for(tmp_path: Path) -> None:
    with owner(tmp_path) as first:
        threading.Timer(0.3, first.kill).start()
        with owning(tmp_path, "a/b", patience=30):
            assert first.wait() == -signal.SIGKILL


def freeze(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGSTOP)
    deadline = time.monotonic() + 10
    while os.waitpid(process.pid, os.WUNTRACED | os.WNOHANG) == (0, 0):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_frozen_one_has_it_no_longer(tmp_path: Path) -> None:
    with owner(tmp_path) as first:
        freeze(first)
        with owning(tmp_path, "a/b", patience=0):
            pass
        first.send_signal(signal.SIGCONT)


@pytest.mark.skipif(sys.platform != "linux", reason="abstract addresses are Linux's")
def test_a_second_process_is_refused_by_the_connector_s_identity_whatever_its_directory_is(tmp_path: Path) -> None:
    identity = str(tmp_path)
    with owner(tmp_path) as first:
        with (
            pytest.raises(FencedError, match=rf"connector a/b runs here already \(pid {first.pid}\)"),
            owning_name(identity, "a/b", patience=0),
        ):
            pass
        assert is_owned(identity)
        assert not is_owned(identity + "other")
        with owning_name(identity + "other", "a/b", patience=0), owning_name(identity, "a/b", refuse=False, patience=0):
            pass
        freeze(first)
        with owning_name(identity, "a/b", patience=0):
            pass
        first.send_signal(signal.SIGCONT)
        threading.Timer(0.3, first.kill).start()
        with owning_name(identity, "a/b", patience=30):
            assert first.wait() == -signal.SIGKILL


def test_a_process_of_another_machine_is_left_to_kafka(tmp_path: Path) -> None:
    with owner(tmp_path) as first:
        (tmp_path / "owner-a%2Fb").write_text(f"{first.pid} elsewhere\n")
        with owning(tmp_path, "a/b", patience=0):
            pass
