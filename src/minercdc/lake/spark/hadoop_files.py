"""Files of any file system that Spark's driver reaches, read, written and deleted by this process. A file of this machine is opened
directly."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

from minercdc.lake.spark.jvm import java_class

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class HadoopFiles:
    """The files under one directory.

    :param root: an absolute path, or a URI.
    """

    def __init__(self, spark: SparkSession, root: str) -> None:
        self._spark = spark
        session: Any = spark
        directory = self._path(root)
        self._system = directory.getFileSystem(session._jsc.hadoopConfiguration())
        self._root = root
        # Hadoop's own files of checksums beside local ones are neither needed nor written here.
        self._local = None
        if str(self._system.getUri().getScheme()) == "file":
            self._local = Path(unquote(urlparse(root).path) if root.startswith("file:") else root)

    def _path(self, name: str) -> Any:
        return java_class(self._spark, "org.apache.hadoop.fs.Path")(name)

    def read(self, name: str) -> bytes | None:
        """What a file has; None where there is none.

        :param name: relative to the root, as are the others.
        """
        if self._local is not None:
            try:
                return (self._local / name).read_bytes()
            except FileNotFoundError:
                return None
        path = self._path(f"{self._root}/{name}")
        if not self._system.exists(path):
            return None
        stream = self._system.open(path)
        try:
            return bytes(java_class(self._spark, "org.apache.commons.io.IOUtils").toByteArray(stream))
        finally:
            stream.close()

    def source(self, name: str) -> Any:
        """A file that is there, as PyArrow's Parquet reader takes it; it is read by parts. To be closed."""
        import pyarrow as pa  # type: ignore[import-untyped]

        if self._local is not None:
            return pa.OSFile(str(self._local / name))
        path = self._path(f"{self._root}/{name}")
        size = int(self._system.getFileStatus(path).getLen())
        return pa.PythonFile(JavaStream(self._system.open(path), size), mode="r")

    def names(self, directory: str) -> list[str]:
        """The names of what is in a directory; none where it is not there."""
        if self._local is not None:
            path = self._local / directory
            return [file.name for file in path.iterdir()] if path.is_dir() else []
        place = self._path(f"{self._root}/{directory}")
        found = self._system.listStatus(place) if self._system.exists(place) else ()
        return [str(file.getPath().getName()) for file in found]

    def delete(self, name: str) -> None:
        """Delete a file, unless it is gone."""
        if self._local is not None:
            (self._local / name).unlink(missing_ok=True)
        else:
            self._system.delete(self._path(f"{self._root}/{name}"), False)

    def write(self, name: str, content: bytes | memoryview) -> None:
        """Write a file that is not there yet."""
        if self._local is not None:
            file = self._local / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
            return
        with TemporaryDirectory(prefix="minercdc-") as directory:
            local = Path(directory) / "content"
            local.write_bytes(content)
            self._system.copyFromLocalFile(False, True, self._path(local.as_uri()), self._path(f"{self._root}/{name}"))


class JavaStream:
    """A stream of Java's that can seek, of Hadoop or Iceberg, as a file of Python's."""

    closed = False

    def __init__(self, stream: Any, size: int) -> None:
        self._stream, self._size, self._at = stream, size, 0

    def read(self, count: int = -1) -> bytes:
        wanted = self._size - self._at if count < 0 else min(count, self._size - self._at)
        if wanted <= 0:
            return b""
        self._stream.seek(self._at)
        found = bytes(self._stream.readNBytes(wanted))
        self._at += len(found)
        return found

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (0, self._at, self._size)[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return False

    def flush(self) -> None:
        """Nothing is written."""

    def close(self) -> None:
        self.closed = True
        self._stream.close()
