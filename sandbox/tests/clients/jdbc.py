"""Java's JDBC API from Python: py4j's gateway in a packaged Java with the ojdbc jar; nothing is compiled."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import py4j.java_gateway
import py4j.protocol
import pyspark
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError
from tests.fixtures.fix_sandbox import SandboxProcess

from minercdc.local.jars import fetch
from minercdc.local.java import find_java

OJDBC = "com.oracle.database.jdbc:ojdbc11:23.26.1.0.0"
READ_TIMEOUT = "20000"  # milliseconds: bytes the driver waits for in vain fail the test instead of hanging it
CURSOR = -10  # oracle.jdbc.OracleTypes.CURSOR


class SqlError(Exception):
    """A java.sql.SQLException: error code and text, without the driver's link to the documentation."""

    def __init__(self, error: Any) -> None:
        super().__init__(error.getMessage().split("\n\nhttps://")[0])
        self.code = int(error.getErrorCode()) if hasattr(error, "getErrorCode") else 0
        self.error = error


@contextlib.contextmanager
def sql_errors() -> Iterator[None]:
    """Raise SqlError for what Java threw.

    A SparkSession in the same process replaces the function by which py4j raises Java's exceptions with one that calls Spark's own
    JVM about them; this JVM is another one.
    """
    try:
        with mock.patch.object(py4j.java_gateway, "get_return_value", py4j.protocol.get_return_value):
            yield
    except Py4JJavaError as error:
        raise SqlError(error.java_exception) from None


class Jvm:
    """A Java process with the driver loaded.

    :raises LocalServiceError: there is no Java or the jar cannot be fetched.
    """

    def __init__(self) -> None:
        jars = fetch("ojdbc", [OJDBC])
        gateway_jar = next((Path(pyspark.__file__).parent / "jars").glob("py4j-*.jar"))
        port, self._process = launch_gateway(
            jarpath=str(gateway_jar),
            classpath=":".join(map(str, jars)),
            java_path=str(find_java()),
            die_on_exit=True,
            return_proc=True,
        )
        self.gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auto_convert=True))
        self.java = self.gateway.jvm.java
        self.oracle = self.gateway.jvm.oracle
        self.sql = self.java.sql
        self.types = self.sql.Types

    def stop(self) -> None:
        self.gateway.shutdown()
        self._process.stdin.close()  # the gateway ends with it
        self._process.wait(10)
        self._process.stdout.close()

    def strings(self, *values: str) -> Any:
        """A String[]."""
        array = self.gateway.new_array(self.java.lang.String, len(values))
        for position, value in enumerate(values):
            array[position] = value
        return array

    def connect(self, server: SandboxProcess, user: str = "app", password: str = "app", url: str = "") -> Any:
        """A java.sql.Connection. Raises SqlError."""
        properties = self.java.util.Properties()
        for name, value in (("user", user), ("password", password), ("oracle.jdbc.ReadTimeout", READ_TIMEOUT)):
            properties.put(name, value)
        with sql_errors():
            return self.sql.DriverManager.getConnection(url or f"jdbc:oracle:thin:@//{server.dsn}", properties)


def rows(result: Any) -> list[list[str | None]]:
    """All rows of a ResultSet as text."""
    count = result.getMetaData().getColumnCount()
    found = []
    while result.next():
        found.append([result.getString(n) for n in range(1, count + 1)])
    result.close()
    return found


def named_rows(result: Any) -> list[dict[str, str | None]]:
    """All rows of a ResultSet as text by column label."""
    data = result.getMetaData()
    names = [data.getColumnLabel(n) for n in range(1, data.getColumnCount() + 1)]
    return [dict(zip(names, row, strict=True)) for row in rows(result)]
