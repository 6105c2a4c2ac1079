"""Keeps the figures of the lake's stream; Spark calls it after each micro-batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.streaming import StreamingQueryListener

from minercdc.stream.counters.lake import LakeFigures

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
    )


class StreamWatch(StreamingQueryListener):  # type: ignore[misc]
    """Notes the micro-batches of one query.

    :param figures: records and triggers are added to it.
    :param query: Spark's id of the query.
    """

    def __init__(self, figures: LakeFigures, query: str) -> None:
        self._figures = figures
        self._query = query

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Nothing to note."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Add a micro-batch that is done, if it had rows: their number, and its duration in seconds."""
        progress = event.progress
        if str(progress.id) == self._query and progress.numInputRows:
            self._figures.records += progress.numInputRows
            self._figures.triggers.add(progress.batchDuration / 1000)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Nothing to note."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Nothing to note."""
