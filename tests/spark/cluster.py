"""A standalone Spark cluster of processes on the loopback: a master and workers, stopped by their pids."""

from __future__ import annotations

import os
import re
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil
import pyspark

from minercdc.local.spark import prepare_java

_HOST = "127.0.0.1"
_READY_S = 120.0
_AT = re.compile(r"spark://127\.0\.0\.1:\d+")


class Process:
    """A daemon of Spark, in the foreground."""

    def __init__(self, kind: str, log: Path, *arguments: str) -> None:
        home = Path(pyspark.__file__).parent
        environment = os.environ | {
            "JAVA_HOME": str(prepare_java()),  # executors inherit it
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": _HOST,
            "SPARK_DAEMON_MEMORY": "256m",
        }
        self.log = log
        command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}", *arguments]
        with log.open("wb") as output:
            self._process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment)

    def await_log(self, pattern: re.Pattern[str]) -> str:
        deadline = time.monotonic() + _READY_S
        while time.monotonic() < deadline:
            if found := pattern.search(self.log.read_text(errors="replace")):
                return found[0]
            assert self._process.poll() is None, self.log.read_text(errors="replace")[-2000:]
            time.sleep(0.02)
        raise AssertionError(f"no {pattern.pattern} within {_READY_S} s: {self.log.read_text(errors='replace')[-2000:]}")

    def executors(self) -> list[psutil.Process]:
        """Executors that it started and that are alive, each with the Python workers below it."""
        if self._process.poll() is not None:
            return []
        return list(psutil.Process(self._process.pid).children(recursive=True))

    def kill(self) -> None:
        """The machine is gone: daemon and executors at once."""
        below = self.executors()
        if self._process.poll() is None:
            self._process.kill()
        for process in below:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self._process.wait()


class Cluster:
    """A master and two workers of one core each.

    :ivar master: address of the master.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        ports = ("--port", "0", "--webui-port", "0", "--host", _HOST)
        self._master = Process("master.Master", directory / "master.log", *ports)
        self.workers: list[Process] = []
        try:
            self.master = self._master.await_log(_AT)
            for _ in range(2):
                self.add_worker()
        except BaseException:
            self.stop()
            raise

    def add_worker(self) -> None:
        number = len(self.workers)
        work = self._directory / f"worker{number}"
        worker = Process(
            "worker.Worker",
            self._directory / f"worker{number}.log",
            "--port",
            "0",
            "--webui-port",
            "0",
            "--host",
            _HOST,
            "--cores",
            "1",
            "--memory",
            "1g",
            "--work-dir",
            str(work),
            self.master,
        )
        self.workers.append(worker)
        worker.await_log(re.compile("Successfully registered with master"))

    def stop(self) -> None:
        for process in (*self.workers, self._master):
            process.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
