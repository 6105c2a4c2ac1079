"""A standalone Spark cluster in containers of a stack's network: a master, workers, and `minercdc lake` as the driver."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.containers.engine import EngineError, command
from tests.containers.images import LAKE, ROOT
from tests.containers.stack import Stack, await_said, await_true

SECONDS = 300.0
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
        }
        self._config.write_text(given + "".join(f"minercdc.lake.{name}: {value}\n" for name, value in settings.items()))
        self._config.chmod(0o644)
        self._spark("master", "master.Master", "--host", self._name("master"), "--port", "7077")
        await_said(self._name("master"), "I have been elected leader", SECONDS)
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
        command("docker", "run", "--name", name, *options, *arguments, seconds=SECONDS)
        return name

    def add_worker(self) -> None:
        """Start a worker, and wait until the master has it."""
        work = ("--cores", "1", "--memory", "1g", "--work-dir", "/tmp/work")
        what = f"worker{len(self.workers)}"
        self.workers.append(self._spark(what, "worker.Worker", "--host", self._name(what), *work, self.master))
        await_said(self.workers[-1], "Successfully registered with master", SECONDS)

    def kill_busy(self, number: int) -> None:
        """Kill a worker's container, with all that runs in it, once it has an executor."""
        worker = self.workers[number]
        await_true(f"{worker} has an executor", lambda: "CoarseGrainedExecutorBackend" in self._processes(worker), SECONDS)
        command("docker", "kill", worker)

    def _processes(self, name: str) -> str:
        return command("docker", "top", name)

    def start_lake(self) -> None:
        """`minercdc lake` with the cluster's master, until `stop_lake`."""
        self._run("driver", "--detach", *self._lake("lake"))

    def stop_lake(self) -> int:
        """Stop it in order; its status."""
        command("docker", "stop", "--time", "60", self._driver)
        return int(command("docker", "wait", self._driver))

    def verify(self) -> str:
        """Output of `minercdc lake verify` with the cluster's master."""
        command("docker", "rm", self._driver)
        self._run("driver", "--detach", *self._lake("lake", "verify"))
        command("docker", "wait", self._driver, seconds=SECONDS)
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

    def merged_to(self) -> int:
        """The SCN that the driver's log names last, 0 for none."""
        return max(map(int, re.findall(r"all tables are at SCN (\d+)", self.log())), default=0)


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
