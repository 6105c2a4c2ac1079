"""`spark.readStream.format("minercdc.relay")`: a relay's windows as a stream. An offset is the SCN of the last window that was
read, so that a batch holds whole transactions, and the same ones when it is run again. A relay that was started again may not know its
windows yet: the offset stays then, as each window that it went back over would come twice.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from minercdc.errors import ConfigError, LakeError, RelayDataError
from minercdc.relay.client.checkpoint import Checkpoint
from minercdc.relay.client.connection import Connection, SourceInfo
from minercdc.relay.events.event import RelayEvent, whole_events
from minercdc.relay.events.values import row_reader

try:
    from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
except ImportError:  # before Spark 4.2
    SupportsTriggerAvailableNow = object

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

NAME = "minercdc.relay"
_COLUMNS = "scn BIGINT, seq INT, source STRING, deleted BOOLEAN, key STRING, row STRING, time TIMESTAMP"
_OPTIONS = {"url", "sources", "startingposition"}
_ANSWER = 4 * 1024 * 1024
_PATIENCE = 60.0


class RelaySource(DataSource):  # type: ignore[misc]  # PySpark has no types
    """The data source. Options, in upper or lower case:

    :param url: `http://HOST:PORT` of the relay.
    :param sources: names or ids, separated by commas; default all.
    :param startingPosition: of a query without checkpoint: `earliest`, the oldest window that the relay has (default), or
        `latest`.
    :raises ConfigError: an option is unknown, `url` is missing, or `startingPosition` is wrong.
    """

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        given = {name.lower(): value for name, value in options.items()}
        if unknown := given.keys() - _OPTIONS:
            raise ConfigError([f"option {name}: not one of url, sources, startingPosition" for name in sorted(unknown)])
        if "url" not in given:
            raise ConfigError(["option url: needed, http://HOST:PORT of the relay"])
        self._begin = given.get("startingposition", "earliest").lower()
        if self._begin not in ("earliest", "latest"):
            raise ConfigError([f"option startingPosition: '{self._begin}' is not earliest or latest"])
        self._url = given["url"]
        self._sources = tuple(one.strip() for one in given.get("sources", "").split(",") if one.strip())

    @classmethod
    def name(cls) -> str:
        """The name by which Spark finds the source: `minercdc.relay`."""
        return NAME

    def schema(self) -> str:
        """The columns: `scn` of the window, `seq` of the change in it from 1 on, `source` by name, `deleted`, `key` as text,
        `row`, JSON of the row by the fields of its source's schema, and `time` of the COMMIT."""
        return _COLUMNS

    def streamReader(self, schema: StructType) -> RelayStream:
        """What plans and reads the batches."""
        return RelayStream(self._url, self._sources, self._begin)


@dataclass(frozen=True)
class Windows(InputPartition):  # type: ignore[misc]  # PySpark has no types
    """The windows after SCN `start`, up to and with SCN `end`."""

    start: int
    end: int


class RelayStream(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]  # PySpark has no types
    """Plans and reads batches. What calls the relay raises LakeError when it does not answer, RelayError when it refuses."""

    def __init__(self, url: str, sources: tuple[str, ...], begin: str) -> None:
        self._url = url
        self._wanted = sources
        self._begin = begin
        self._reached = -1  # the highest SCN that a batch of this run was planned with
        self._last: int | None = None  # with Trigger.AvailableNow

    def initialOffset(self) -> dict[str, int]:
        """The offset at which a query without a checkpoint begins, as `startingPosition` says. Waits up to a minute for a relay
        that does not know yet where its stream begins.

        :raises LakeError: it does not know it then, or does not answer.
        """
        deadline = time.monotonic() + _PATIENCE
        while True:
            info = self._info()
            if info["prevScn"] >= 0:
                return {"scn": info["prevScn"] if self._begin == "earliest" else info["maxScn"]}
            if time.monotonic() > deadline:
                raise LakeError(f"the relay {self._url} does not know the start of its stream yet")
            time.sleep(0.2)

    def prepareForTriggerAvailableNow(self) -> None:
        """Note the relay's newest window: no later batch goes beyond it."""
        self._last = self._info()["maxScn"]

    def latestOffset(self, start: dict[str, int] | None = None, limit: object = None) -> dict[str, int]:
        """The SCN of the relay's newest window, as an offset; of a relay without windows, the one that it begins after, -1
        before it knows that. Never less than `start`, nor than where a batch of this run ended.

        :param start: where the next batch begins; None from Spark before 4.2, which does not say.
        :param limit: not used: a batch has all windows.
        """
        newest = self._info()["maxScn"] if self._last is None else self._last
        return {"scn": max(newest, self._reached, start["scn"] if start else -1)}

    def _info(self) -> dict[str, Any]:
        try:
            with closing(Connection(self._url, name="spark")) as connection:
                return connection.buffer_info()
        except OSError as error:
            raise LakeError(f"the relay {self._url} does not answer: {error}") from None

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[Windows]:
        """One partition, which keeps the order; none where `end` is not after `start`."""
        self._reached = max(self._reached, start["scn"], end["scn"])
        return [Windows(start["scn"], end["scn"])] if end["scn"] > start["scn"] else []

    def read(self, partition: Windows) -> Iterator[tuple[Any, ...]]:
        """The changes of some windows. Runs in a task.

        :raises LakeError: the relay does not answer, has no such source, or was started again and lacks the last window.
        :raises FellOffError: the relay no longer has the first window.
        :raises RelayError: it refuses, or its data are damaged.
        """
        try:
            with closing(Connection(self._url, name="spark")) as connection:
                yield from self._rows(connection, partition)
        except OSError as error:
            raise LakeError(f"the relay {self._url} does not answer: {error}") from None

    def _rows(self, connection: Connection, partition: Windows) -> Iterator[tuple[Any, ...]]:
        sources = {one.id: one for one in self._subscribed(connection)}
        readers = {one.md5: row_reader(one.schema) for one in connection.schemas(list(sources))}
        seq = 0
        for event in _events(connection, partition, sorted(sources)):
            if event.is_end_of_window:
                seq = 0
                continue
            seq += 1
            if event.schema_id not in readers:
                readers |= {one.md5: row_reader(one.schema) for one in connection.schemas(list(sources))}
            if event.schema_id not in readers or event.source not in sources:
                raise RelayDataError(
                    f"the relay {self._url} sent an event of window {event.sequence} whose schema it does not have"
                )
            row = json.dumps(readers[event.schema_id](event.value), default=_base64, ensure_ascii=False)
            key = str(event.key) if isinstance(event.key, int) else event.key.decode(errors="replace")
            when = datetime.fromtimestamp(event.time_ns / 1e9, UTC)
            yield event.sequence, seq, sources[event.source].name, event.is_delete, key, row, when

    def _subscribed(self, connection: Connection) -> list[SourceInfo]:
        there = connection.sources()
        found = [one for one in there if not self._wanted or one.name in self._wanted or str(one.id) in self._wanted]
        missing = set(self._wanted) - {one.name for one in found} - {str(one.id) for one in found}
        if missing:
            raise LakeError(f"the relay {self._url} has no source {', '.join(sorted(missing))}")
        return found


def _events(connection: Connection, partition: Windows, sources: list[int]) -> Iterator[RelayEvent]:
    """The events of some windows, with the ends of the windows."""
    place, size = Checkpoint(partition.start), _ANSWER
    while place.window_scn < partition.end or place.window_offset >= 0:
        received = connection.stream(place, size, sources)
        before = place
        for event in whole_events(received.data):
            if event.is_end_of_window:
                place = Checkpoint(event.sequence)
            else:
                inside = place.window_scn == event.sequence and place.window_offset >= 0
                place = replace(place, window_scn=event.sequence, window_offset=place.window_offset + 1 if inside else 1)
            if event.sequence > partition.end:
                return
            yield event
        if received.window is not None:
            place = replace(place, window_scn=received.window[0], window_offset=received.window[1])
        if place == before:
            if not received.pending:
                raise LakeError(
                    f"the relay has no window {partition.end} (any more): it was restarted and has not read up to it",
                    hint="Start the query again in a moment.",
                )
            size = max(received.pending, 2 * size)


def _base64(value: object) -> str:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)
