"""Errors by which Spark ends the stream's query though nothing is wrong with records or tables: the query is started again, but where another
lake writes its checkpoint."""

from __future__ import annotations

from typing import Final

_MOST_LATE: Final = 30  # in a row, ten seconds each at least: what is wrong then does not pass


def hides_outcome(text: str) -> bool:
    """Whether a query ended by Spark 4.1's own fault: after a start that finds a micro-batch begun, it fails to report that one, done or
    failed (SPARK-55271)."""
    return 'the return value of "scala.Option.get()" is null' in text


def started_late(text: str) -> bool:
    """Whether a query ended since the Python process that reads its source did not answer in time.

    Spark (PythonWorkerFactory.createSimpleWorker) waits ten seconds for it, which no setting changes; on a busy machine Python's start can
    take longer.
    """
    return "Python worker failed to connect back" in text


def of_another_lake(text: str) -> bool:
    """Whether a query ended since another one wrote the next micro-batch into its checkpoint."""
    return any(one in text for one in ("CONCURRENT_STREAM_LOG_UPDATE", "Multiple streaming queries are concurrently using"))


class LateStarts:
    """Starts of a query in a row that `started_late`.

    :ivar count: how many, since the last micro-batch.
    """

    def __init__(self) -> None:
        self.count = 0

    def counts(self, text: str) -> bool:
        """Count the error if it is such a one; whether it is, and the query is to be started again."""
        if not started_late(text) or self.count >= _MOST_LATE:
            return False
        self.count += 1
        return True

    def forget(self) -> None:
        """A micro-batch came."""
        self.count = 0
