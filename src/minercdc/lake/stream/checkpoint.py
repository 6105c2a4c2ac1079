"""Reads the checkpoint of the lake's stream: Structured Streaming's own record of the micro-batches that are done.

metadata     JSON with the stream's id
offsets/N    how far the records are read with micro-batch N, in the last line
commits/N    micro-batch N is done
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from minercdc.errors import LakeError
from minercdc.lake.spark.hadoop_files import HadoopFiles

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
