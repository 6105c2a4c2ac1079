"""Micro-batches that the driver's own process reads and scans, in place of Spark's tasks: compiled code takes a twentieth of their CPU.

Spark plans a micro-batch, and its checkpoint says from where to where it goes; the records of it are not read by Spark then.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from minercdc.config.sections import ValueConfig
from minercdc.errors import MinerCdcError
from minercdc.lake.spark.arrow import takes_arrow
from minercdc.lake.stream.record_source import RecordSource
from minercdc.lake.stream.scanned_batch import BatchScan
from minercdc.native.decoding import decode

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

log = logging.getLogger(__name__)

_MOST_RECORDS = 250_000  # of a micro-batch; by default it has at most 200,000
_MOST_BYTES = 128 * 1024 * 1024  # of what is kept of them, here and twice in the JVM; records of 500 bytes
_BETWEEN_LOOKS = 1_000  # records


class ScannedRecords(NamedTuple):
    """A micro-batch.

    :param records: how many were read, tombstones among them.
    :param rows: by topic, as `BatchScan.rows` has them; none where all records are tombstones, or no table's.
    """

    records: int
    rows: Mapping[str, pa.RecordBatch]


class DriverScans:
    """Reads micro-batches of a source; for one thread.

    :param values: how the connector writes values.
    :param are_json: keys and values are JSON with no registry.
    """

    def __init__(self, source: RecordSource, values: ValueConfig, *, are_json: bool) -> None:
        self._source, self._values = source, values
        self._runs = are_json and decode is not None and takes_arrow()

    def read(self, begin: str | None, end: str, most: int) -> ScannedRecords | None:
        """The records between two offsets as Spark's checkpoint has them; None where Spark has to read them.

        :param most: they are so many, at most.
        """
        if not self._runs or most > _MOST_RECORDS:
            return None
        try:
            return self._read(begin, end)
        except MinerCdcError as error:  # Spark's own attempt says what is wrong, if it still is
            log.debug("a micro-batch is read by Spark: %s", error)
            return None

    def _read(self, begin: str | None, end: str) -> ScannedRecords | None:
        scan, count = BatchScan(self._values), 0
        with closing(self._source.between(begin, end)) as records:
            for count, record in enumerate(records, 1):
                if not scan.add(record):
                    log.debug(
                        "compiled code leaves offset %d of %s: Spark reads the micro-batch", record.offset, record.topic
                    )
                    return None
                if count % _BETWEEN_LOOKS == 0 and scan.size > _MOST_BYTES:
                    return None
        rows = scan.rows()
        return None if rows is None else ScannedRecords(count, rows)
