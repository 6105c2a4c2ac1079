"""Reads the checkpoint of the lake's stream: Structured Streaming's own record of the micro-batches that are done.

metadata     JSON with the stream's id
offsets/N    how far the records are read with micro-batch N, in the last line
commits/N    micro-batch N is done

Beside that, the lake keeps there, in the file `minercdc-change-log`, the identity of the table that has the records.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from minercdc.errors import LakeError
from minercdc.lake.spark.hadoop_files import HadoopFiles

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_CHANGE_LOG: Final = "minercdc-change-log"


class Checkpoint:
    """One checkpoint, which need not be there yet.

    :param path: its directory, an absolute path or a URI.
    """

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._path = path
        self._files = HadoopFiles(spark, path)

    def last(self) -> int | None:
        """The number of the newest micro-batch that is done; None before the first one."""
        return max((int(name) for name in self._files.names("commits") if name.isdigit()), default=None)

    def stream_id(self) -> str:
        """The id of the stream, which stays the same at each start.

        :raises LakeError: the stream was never started.
        """
        return str(json.loads(self._text("metadata"))["id"])

    def offset(self, number: int) -> str:
        """How far the records are read with a micro-batch, in the source's own form.

        :raises LakeError: the checkpoint does not have the micro-batch.
        """
        return self._text(f"offsets/{number}").splitlines()[-1]

    def change_log(self) -> str:
        """The identity of the change log that has the records of the micro-batches (`LogTable.identity`), as `note_change_log` noted it last;
        '' where an older version began the checkpoint."""
        text = (self._files.read(_CHANGE_LOG) or b"").decode()
        return text.strip() if text.endswith("\n") else ""  # else a kill has left it half written

    def note_change_log(self, identity: str) -> None:
        """Note which change log has the records, unless that is noted."""
        if self.change_log() != identity:
            self._files.delete(_CHANGE_LOG)
            self._files.write(_CHANGE_LOG, f"{identity}\n".encode())

    def remove_leftovers(self) -> None:
        """Remove the files that a kill has left of the first micro-batch, which were to be renamed: Spark begins no stream beside them."""
        found = [(place, name) for place in ("offsets", "commits", "state") for name in self._files.names(place)]
        if not any(name.isdigit() for _, name in found):
            for place, name in found:
                if name.startswith("."):
                    self._files.delete(f"{place}/{name}")

    def _text(self, name: str) -> str:
        content = self._files.read(name)
        if content is None:
            raise LakeError(f"the checkpoint {self._path} has no {name}")
        return content.decode()
