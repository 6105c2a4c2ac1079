"""An object store with S3's interface for tests: S3Proxy, which checks signatures and has conditional writes, over the memory of a JVM that ends
with the test. Over a directory it would not show the markers of empty directories that Hadoop writes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyspark

from minercdc.local.jars import fetch
from minercdc.local.java import find_java

_JETTY, _JACKSON, _JCLOUDS = "12.1.10", "3.2.0", "2.7.0"
_SERVER = (
    "org.gaul:s3proxy:3.2.0",
    *(f"org.apache.jclouds:jclouds-{name}:{_JCLOUDS}" for name in ("blobstore", "core")),
    f"org.apache.jclouds.api:s3:{_JCLOUDS}",  # for classes that S3Proxy names
    *(f"org.eclipse.jetty:jetty-{name}:{_JETTY}" for name in ("http", "io", "security", "server", "session", "util")),
    f"org.eclipse.jetty.ee10:jetty-ee10-servlet:{_JETTY}",
    *(f"tools.jackson.core:jackson-{name}:{_JACKSON}" for name in ("core", "databind")),
    f"tools.jackson.dataformat:jackson-dataformat-xml:{_JACKSON}",
    "com.fasterxml.jackson.core:jackson-annotations:2.22",
    "com.fasterxml.woodstox:woodstox-core:7.2.1",
    "org.codehaus.woodstox:stax2-api:4.3.0",
    "com.google.guava:guava:33.6.0-jre",
    "com.google.guava:failureaccess:1.0.3",
    "com.google.inject:guice:7.0.0",
    "com.google.inject.extensions:guice-assistedinject:7.0.0",
    "com.google.code.gson:gson:2.11.0",
    "aopalliance:aopalliance:1.0",
    "jakarta.activation:jakarta.activation-api:2.1.3",
    "jakarta.annotation:jakarta.annotation-api:2.0.0",
    "jakarta.inject:jakarta.inject-api:2.0.1",
    "jakarta.servlet:jakarta.servlet-api:6.0.0",
    "jakarta.ws.rs:jakarta.ws.rs-api:3.0.0",
    "jakarta.xml.bind:jakarta.xml.bind-api:4.0.2",
    *(f"org.glassfish.jaxb:{name}:4.0.5" for name in ("jaxb-core", "jaxb-runtime", "txw2")),
    "com.sun.istack:istack-commons-runtime:4.1.2",
    "org.eclipse.angus:angus-activation:2.0.2",
    "org.slf4j:slf4j-api:2.0.18",
)


class ObjectStore:
    """A running store on 127.0.0.1, with one bucket, `lakes`.

    :param identity, secret: the one pair of keys that it knows.
    :ivar uri: its address.
    """

    def __init__(self, identity: str, secret: str) -> None:
        self._identity, self._secret = identity, secret
        self.uri = ""

    def __enter__(self) -> Self:
        from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

        port, token, self._process = launch_gateway(
            jarpath=str(next(Path(pyspark.__file__).with_name("jars").glob("py4j-*.jar"))),
            classpath=os.pathsep.join(map(str, fetch("s3proxy", _SERVER))),
            javaopts=["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Xmx512m"],
            die_on_exit=True,
            enable_auth=True,
            java_path=str(find_java()),
            redirect_stderr=subprocess.DEVNULL,
            return_proc=True,
        )
        gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
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
        memory = jvm.org.jclouds.ContextBuilder.newBuilder(jvm.org.jclouds.blobstore.TransientApiMetadata()).credentials(
            "any", "any"
        )
        store = memory.build(jvm.java.lang.Class.forName("org.jclouds.blobstore.BlobStoreContext")).getBlobStore()
        store.createContainerInLocation(None, "lakes")
        builder = jvm.org.gaul.s3proxy.S3Proxy.builder().endpoint(jvm.java.net.URI.create("http://127.0.0.1:0"))
        signed = jvm.org.gaul.s3proxy.AuthenticationType.AWS_V4
        server = builder.awsAuthentication(signed, self._identity, self._secret).blobStore(store).build()
        server.start()
        return int(server.getPort())

    @property
    def files(self) -> Any:
        """PyArrow's file system of the store."""
        from pyarrow import fs  # type: ignore[import-untyped]

        return fs.S3FileSystem(
            access_key=self._identity, secret_key=self._secret, endpoint_override=self.uri, region="us-east-1"
        )

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
