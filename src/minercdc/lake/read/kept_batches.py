"""Arrow batches that are kept until all have come: in memory, and in a temporary file once they are many."""

from __future__ import annotations

from collections.abc import Iterator
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

_MOST_BYTES = 128 * 1024 * 1024  # in memory


class KeptBatches:
    """Keeps batches of one schema in order; a context manager that removes its file.

    :param most: bytes in memory.
    """

    def __init__(self, most: int = _MOST_BYTES) -> None:
        self._most, self._size = most, 0
        self._batches: list[pa.RecordBatch] = []
        self._file: IO[bytes] | None = None
        self._writer: Any = None

    def add(self, batch: pa.RecordBatch) -> None:
        """Keep one more batch. Raises OSError when the disk is full."""
        self._size += batch.nbytes
        if self._writer is None and self._size <= self._most:
            self._batches.append(batch)
            return
        import pyarrow as pa

        if self._writer is None:
            self._file = TemporaryFile()  # noqa: SIM115  # closed at the end of the context
            self._writer = pa.ipc.new_stream(self._file, batch.schema)
        self._writer.write_batch(batch)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        yield from self._batches
        if self._writer is not None and self._file is not None:
            import pyarrow as pa

            self._writer.close()
            self._file.seek(0)
            yield from pa.ipc.open_stream(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()
