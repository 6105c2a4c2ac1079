"""A Hive metastore for tests: the one of PySpark's own jars over Derby in memory, in a JVM that ends with the test."""

from __future__ import annotations

import contextlib
import subprocess
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyspark

from minercdc.local.java import NO_TRACES, find_java
from minercdc.local.ports import free_port, listening

_PATIENCE_S = 300.0  # what ends then hangs
_HIVE = "org.apache.hadoop.hive"


class HiveMetastore:
    """A running metastore on 127.0.0.1.

    :param directory: of its warehouse and its logs.
    :ivar uri: its address.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._port = free_port()
        self.uri = f"thrift://127.0.0.1:{self._port}"

    def __enter__(self) -> Self:
        from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

        settings = {
            "java.io.tmpdir": str(self._directory),
            "derby.stream.error.file": f"{self._directory}/derby.log",
            "javax.jdo.option.ConnectionURL": "jdbc:derby:memory:metastore;create=true",
            "datanucleus.schema.autoCreateAll": "true",
            "hive.metastore.schema.verification": "false",
            "hive.metastore.warehouse.dir": f"{self._directory}/warehouse",
            # Spark has neither what the other pool of connections is, nor what an asynchronous log takes.
            "datanucleus.connectionPoolingType": "HikariCP",
            "hive.async.log.enabled": "false",
        }
        jars = Path(pyspark.__file__).with_name("jars")
        port, token, self._process = launch_gateway(
            jarpath=str(next(jars.glob("py4j-*.jar"))),
            classpath=f"{jars}/*",
            javaopts=[
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                NO_TRACES,
                *(f"-D{name}={value}" for name, value in settings.items()),
            ],
            die_on_exit=True,
            enable_auth=True,
            java_path=str(find_java()),
            redirect_stderr=subprocess.DEVNULL,
            return_proc=True,
        )
        parameters = GatewayParameters(port=port, auth_token=token, enable_memory_management=False)
        self._gateway = JavaGateway(gateway_parameters=parameters)
        serving = threading.Thread(target=self._serve, daemon=True)
        try:
            # The tables of locks, which else a script of Hive's makes that PySpark does not have.
            self._java("metastore.txn.TxnDbUtil").prepDb(self._java("conf.HiveConf")())
            serving.start()
            deadline = time.monotonic() + _PATIENCE_S
            while not listening("127.0.0.1", self._port):
                assert serving.is_alive(), f"see {self._directory}"
                assert time.monotonic() < deadline
                time.sleep(0.02)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def _serve(self) -> None:
        arguments = self._gateway.new_array(self._gateway.jvm.String, 2)
        arguments[0], arguments[1] = "-p", str(self._port)
        with contextlib.suppress(Exception):  # its JVM is killed
            self._java("metastore.HiveMetaStore").main(arguments)

    def _java(self, name: str) -> Any:
        from py4j.java_gateway import JavaClass

        return JavaClass(f"{_HIVE}.{name}", self._gateway._gateway_client)

    def locks_taken(self) -> int:
        """How many locks were asked for since the start."""
        query = "SELECT NL_NEXT FROM NEXT_LOCK_ID"
        text = self._java("metastore.txn.TxnDbUtil").queryToString(self._java("conf.HiveConf")(), query, False)
        return int(str(text).strip()) - 1

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
