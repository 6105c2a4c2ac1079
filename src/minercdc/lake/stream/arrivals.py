"""Summaries of the batches of the change log that may not have been merged, by topic, in memory."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from minercdc.lake.stream.change_log import Arrival
from minercdc.lake.table.format import Applied


class Arrivals:
    """Holds, by topic, an `Arrival` of each batch of the change log that perhaps has records to be merged. Several threads may use
    it at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of: dict[str, list[Arrival]] = {}

    def add(self, arrivals: Iterable[Arrival]) -> None:
        """Add batches, each to its topic."""
        with self._lock:
            for arrival in arrivals:
                self._of.setdefault(arrival.topic, []).append(arrival)

    def replace(self, topic: str, arrivals: list[Arrival]) -> None:
        """Put batches in the place of all that a topic has."""
        with self._lock:
            self._of[topic] = arrivals

    def topics(self) -> list[str]:
        """The topics that ever had batches, also those that have none now."""
        with self._lock:
            return list(self._of)

    def of(self, topic: str) -> list[Arrival]:
        """The batches of a topic; [] for none."""
        with self._lock:
            return list(self._of.get(topic, ()))

    def drop_merged(self, topic: str, applied: Applied) -> int:
        """Forget the batches of a topic of which its table has all changes.

        :param applied: how far the table is.
        :returns: how many rows these batches have.
        """
        with self._lock:
            there = self._of.get(topic, [])
            self._of[topic] = [one for one in there if one.batch > applied.batch or one.highest > applied.scn]
            return sum(one.rows for one in there) - sum(one.rows for one in self._of[topic])
