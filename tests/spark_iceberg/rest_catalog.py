"""An Iceberg REST catalog for tests: Iceberg's own servlet over a JDBC catalog on SQLite, in a JVM that ends with the test; and a catalog that
refuses everyone.

By hand, until Ctrl-C: `python -m tests.spark_iceberg.rest_catalog DIRECTORY PORT`.
"""

from __future__ import annotations

import http.server
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyspark

from minercdc.local.jars import fetch
from minercdc.local.java import find_java

_ICEBERG, _JETTY = "1.11.0", "12.0.16"
_SERVER = (
    *(f"org.apache.iceberg:iceberg-{name}:{_ICEBERG}" for name in ("api", "bundled-guava", "common", "core")),
    *(f"org.eclipse.jetty:jetty-{name}:{_JETTY}" for name in ("http", "io", "security", "server", "session", "util")),
    f"org.eclipse.jetty.ee10:jetty-ee10-servlet:{_JETTY}",
    "jakarta.servlet:jakarta.servlet-api:6.0.0",
    "org.apache.httpcomponents.client5:httpclient5:5.5",
    "org.apache.httpcomponents.core5:httpcore5:5.3.4",
    "org.apache.httpcomponents.core5:httpcore5-h2:5.3.4",
    "com.github.ben-manes.caffeine:caffeine:3.2.2",
    "org.xerial:sqlite-jdbc:3.50.3.0",
)
# Fetched by itself: a set has one jar of a module. The servlet is in Iceberg's tests.
_SERVLET = (f"org.apache.iceberg:iceberg-core:{_ICEBERG}:tests@jar",)


class RestCatalog:
    """A running catalog on 127.0.0.1.

    :param directory: of its database and its warehouse.
    :param port: 0 for a free one.
    :ivar uri: its address.
    """

    def __init__(self, directory: Path, port: int = 0) -> None:
        self._directory = directory
        self._port = port
        self.uri = ""

    def __enter__(self) -> Self:
        from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

        jars = [*fetch("iceberg-rest", _SERVER), *fetch("iceberg-rest-servlet", _SERVLET)]
        spark = Path(pyspark.__file__).with_name("jars")  # for what these need: Hadoop, Jackson, a logger
        port, token, self._process = launch_gateway(
            jarpath=str(next(spark.glob("py4j-*.jar"))),
            classpath=os.pathsep.join([*map(str, jars), f"{spark}/*"]),
            javaopts=["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"],
            die_on_exit=True,
            enable_auth=True,
            java_path=str(find_java()),
            redirect_stderr=subprocess.DEVNULL,
            return_proc=True,
        )
        parameters = GatewayParameters(port=port, auth_token=token, enable_memory_management=False)
        gateway = JavaGateway(gateway_parameters=parameters)
        try:
            self.uri = f"http://127.0.0.1:{self._served(gateway.jvm)}"
        except BaseException:
            self.__exit__(None, None, None)
            raise
        finally:
            gateway.close()
        return self

    def _served(self, jvm: Any) -> int:
        """Start to serve; returns the port."""
        properties = jvm.java.util.HashMap()
        properties.put("uri", f"jdbc:sqlite:{self._directory}/catalog.db")
        properties.put("warehouse", f"{self._directory}/warehouse")
        properties.put("jdbc.schema-version", "V1")
        catalog = jvm.org.apache.iceberg.jdbc.JdbcCatalog()
        catalog.setConf(jvm.org.apache.hadoop.conf.Configuration())
        catalog.initialize("backend", properties)
        rest = jvm.org.apache.iceberg.rest
        servlets = jvm.org.eclipse.jetty.ee10.servlet
        context = servlets.ServletContextHandler()
        context.addServlet(servlets.ServletHolder(rest.RESTCatalogServlet(rest.RESTCatalogAdapter(catalog))), "/*")
        server = jvm.org.eclipse.jetty.server.Server(jvm.java.net.InetSocketAddress("127.0.0.1", self._port))
        server.setHandler(context)
        server.start()
        return int(server.getConnectors()[0].getLocalPort())

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()


class RefusingCatalog:
    """A catalog on 127.0.0.1 that answers every request with 401.

    :ivar asked: bodies and tokens of the requests.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []
        asked = self.asked

        class Refusal(http.server.BaseHTTPRequestHandler):
            def _refuse(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                asked.append(self.rfile.read(length).decode() + str(self.headers.get("Authorization", "")))
                error = {"message": "no such client", "type": "NotAuthorizedException", "code": 401}
                of_oauth = {"error": "invalid_client", "error_description": "no such client"}
                body = json.dumps(of_oauth if self.path.endswith("/tokens") else {"error": error}).encode()
                self.send_response(401)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_HEAD = _refuse

            def log_message(self, format: str, *args: Any) -> None:
                del format, args

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refusal)
        self.uri = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


if __name__ == "__main__":
    place = Path(sys.argv[1]).absolute()
    place.mkdir(parents=True, exist_ok=True)
    stopping = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, stopping)
    with RestCatalog(place, int(sys.argv[2])) as catalog:
        print(f"ready {catalog.uri}", flush=True)
        signal.sigwait(stopping)
