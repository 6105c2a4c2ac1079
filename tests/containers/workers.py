"""A standalone Spark cluster in containers of a stack's network: a master, workers, and `minercdc lake` as the driver."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from tests.containers.engine import EngineError, command
from tests.containers.images import LAKE, ROOT
from tests.containers.stack import Stack, await_said, await_true

from minercdc.local.ports import free_port

_SECONDS = 900.0  # ends what hangs only
_ON_ITS_WAY_SECONDS = 3.0  # for what an executor has sent before it was paused
_SPARK_CLASS = """
import os, sys, pyspark
from minercdc.local.spark import prepare_java
os.environ["JAVA_HOME"] = str(prepare_java())
os.environ["SPARK_HOME"] = home = os.path.dirname(pyspark.__file__)
os.execv(home + "/bin/spark-class", ["spark-class", *sys.argv[1:]])
"""
# Ten Java processes live for a minute on these cores: compiling for long runs, each would take them from the others.
_QUICK_JAVA = "JDK_JAVA_OPTIONS=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class ContainerCluster:
    """A master and two workers of one core each, from `start` to `remove`, and the lake that they write.

    :ivar master: address of the master, within the stack's network.
    """

    def __init__(self, stack: Stack, directory: Path) -> None:
        self._stack = stack
        self._config = directory / "cluster.yaml"
        self._volume = f"{stack.project}_cluster"
        self._driver = self._name("driver")
        self._names: list[str] = []
        self._port = free_port()
        self.master = f"spark://{self._name('master')}:7077"
        self.workers: list[str] = []

    def _name(self, what: str) -> str:
        return f"{self._stack.project}-{what}"

    def start(self) -> None:
        """Start master and workers."""
        given = (ROOT / "compose" / "connector.yaml").read_text(encoding="utf-8")
        settings = {
            "trigger.interval.ms": 500,
            "merge.interval.ms": 1000,
            "spark.master": self.master,
            "spark.driver.host": self._driver,
            "spark.driver.bindAddress": "0.0.0.0",
            "spark.executor.memory": "700m",
            "spark.sql.shuffle.partitions": 2,
            "spark.sql.adaptive.enabled": "false",
            "spark.sql.streaming.pollingDelay": "200ms",
            "spark.ui.liveUpdate.period": 0,  # each task that starts or ends is seen at once
        }
        self._config.write_text(given + "".join(f"minercdc.lake.{name}: {value}\n" for name, value in settings.items()))
        self._config.chmod(0o644)
        self._spark("master", "master.Master", "--host", self._name("master"), "--port", "7077")
        await_said(self._name("master"), "I have been elected leader", _SECONDS)
        for _ in range(2):
            self.add_worker()

    def remove(self) -> None:
        """Remove all that was started, and the lake."""
        for name in self._names:
            with suppress(EngineError):
                command("docker", "rm", "--force", name)
        with suppress(EngineError):
            command("docker", "volume", "rm", self._volume)

    def _spark(self, what: str, kind: str, *arguments: str) -> str:
        """A daemon of Spark in a container; its name."""
        program = ["-c", _SPARK_CLASS, f"org.apache.spark.deploy.{kind}", *arguments]
        return self._run(what, "--detach", "--entrypoint", "python", LAKE, *program)

    def _run(self, what: str, *arguments: str) -> str:
        name = self._name(what)
        self._names.append(name)
        volume = ["--volume", f"{self._volume}:/var/lib/lake", "--tmpfs", "/tmp:exec"]
        options = ["--network", self._stack.network, "--hostname", name, "--env", _QUICK_JAVA, *volume]
        command("docker", "run", "--name", name, *options, *arguments, seconds=_SECONDS)
        return name

    def add_worker(self) -> None:
        """Start a worker, and wait until the master has it."""
        work = ("--cores", "1", "--memory", "1g", "--work-dir", "/tmp/work")
        what = f"worker{len(self.workers)}"
        self.workers.append(self._spark(what, "worker.Worker", "--host", self._name(what), *work, self.master))
        await_said(self.workers[-1], "Successfully registered with master", _SECONDS)

    def kill_working(self) -> None:
        """Kill the container of a worker, with all that runs in it, in the middle of a task, whichever worker has one.

        A container that is paused ends no task: what the driver still has as running there after a while is not done.

        :raises AssertionError: no task is lost with it.
        """
        failed, killed = 0, ""

        def kill_one() -> bool:
            nonlocal failed, killed
            for worker in self._working():
                command("docker", "pause", worker)
                time.sleep(_ON_ITS_WAY_SECONDS)
                if worker in self._working():
                    failed, killed = self._failed_tasks(), worker
                    command("docker", "rm", "--force", worker)
                    return True
                command("docker", "unpause", worker)
            return False

        self._await("a worker runs a task", kill_one)
        self._await(f"the driver lost a task of {killed}", lambda: self._failed_tasks() > failed)

    def _working(self) -> list[str]:
        """Workers on which, as the driver has it, a task runs."""
        return [one["hostPort"].partition(":")[0] for one in self._application("executors") if one["activeTasks"]]

    def _failed_tasks(self) -> int:
        """How many runs of tasks have failed since the driver started."""
        return sum(stage["numFailedTasks"] for stage in self._application("stages"))

    def _application(self, what: str) -> list[dict[str, Any]]:
        """What Spark's monitoring API, on the driver's port, says about the application."""
        base = f"http://localhost:{self._port}/api/v1/applications"
        return _got(f"{base}/{_got(base)[0]['id']}/{what}")

    def start_lake(self) -> None:
        """`minercdc lake` with the cluster's master, until `stop_lake`."""
        self._run("driver", "--detach", "--publish", f"127.0.0.1:{self._port}:4040", *self._lake("lake"))

    def stop_lake(self) -> int:
        """Stop it in order; its status."""
        command("docker", "stop", "--time", "60", self._driver)
        return int(command("docker", "wait", self._driver))

    def verify(self) -> str:
        """Output of `minercdc lake verify` with the cluster's master."""
        command("docker", "rm", self._driver)
        self._run("driver", "--detach", *self._lake("lake", "verify"))
        command("docker", "wait", self._driver, seconds=_SECONDS)
        return self.log()

    def _lake(self, *words: str) -> list[str]:
        return [
            *self._stack.connector_environment(),
            "--volume",
            f"{self._config}:/etc/cluster.yaml:ro",
            LAKE,
            *words,
            "/etc/cluster.yaml",
        ]

    def log(self) -> str:
        """What the driver has written, both streams."""
        return command("docker", "logs", self._driver)

    def await_merge(self, scn: int) -> None:
        """Wait until all tables are at a later SCN.

        :raises AssertionError: the driver ends, or they are not in time; with its log.
        """
        reached = re.compile(r"all tables are at SCN (\d+)")
        self._await(f"tables after SCN {scn}", lambda: any(int(found) > scn for found in reached.findall(self.log())))

    def _await(self, what: str, condition: Callable[[], object]) -> None:
        def met() -> bool:
            if command("docker", "inspect", "--format", "{{.State.Running}}", self._driver).strip() != "true":
                raise AssertionError(f"the driver has ended before {what}")
            try:
                return bool(condition())
            except OSError:  # the driver does not answer, or has ended, which is seen next
                return False

        try:
            await_true(what, met, _SECONDS)
        except AssertionError as error:
            logs = "".join(
                f"\n{name}:\n{command('docker', 'logs', name)[-3000:]}" for name in (self._name("master"), self._driver)
            )
            raise AssertionError(f"{error}{logs}") from None


def _got(address: str) -> list[dict[str, Any]]:
    with urlopen(address, timeout=_SECONDS) as answer:
        found: list[dict[str, Any]] = json.load(answer)
    return found


@contextmanager
def container_cluster(stack: Stack, directory: Path) -> Iterator[ContainerCluster]:
    """A cluster while the context lasts.

    :param directory: for its configuration.
    """
    cluster = ContainerCluster(stack, directory)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.remove()
