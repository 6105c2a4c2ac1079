"""Keeps data ready for a take-over by a standby: the schema history, and a recent check of the database."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from minercdc.config.load import ConnectorConfig
from minercdc.errors import MinerCdcError, TransientSourceError
from minercdc.messages.topics import TopicNames
from minercdc.oracle.finding import Finding
from minercdc.pipeline.start_checks import check_prerequisites
from minercdc.sinks.kafka.client import KafkaClient
from minercdc.sinks.kafka.schema_history import KeptRecords

_log = logging.getLogger(__name__)

_HISTORY_SECONDS = 5.0
_DATABASE_SECONDS = 60.0
_FRESH_SECONDS = 180.0


class Prepared:
    """Holds what a standby needs for a start. One thread makes it ready by calling `prepare` again and again; any thread
    may read it.

    :param monotonic: seconds of a clock that never goes back.
    :ivar history: records of the schema history.
    :ivar records: how many there are.
    :ivar database: what the latest check of the database said.
    :ivar tried: `prepare` has ended once, with or without success.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self.history = KeptRecords()
        self.records = 0
        self.database = "not asked yet"
        self.tried = False
        self._findings: list[Finding] = []
        self._checked = -_FRESH_SECONDS
        self._next_history = self._next_database = 0.0

    def prepare(self, config: ConnectorConfig, client: KafkaClient, topics: TopicNames) -> None:
        """Read the schema history on, every 5 s, and check the database, every 60 s, if it is time; it may take long. What fails
        is logged. A failure of the database is shown, too, and ends its checks unless it is a TransientSourceError."""
        now = self._monotonic()
        if now >= self._next_history and topics.has_history:
            try:
                if client.ends(topics.schema_history):
                    self.records = self.history.read_on(client, topics.schema_history)
            except MinerCdcError as error:
                _log.info("cannot read the schema history in advance: %s", error.message)
            self._next_history = self._monotonic() + _HISTORY_SECONDS
        if now >= self._next_database:
            self._check(config)
        self.tried = True

    def _check(self, config: ConnectorConfig) -> None:
        wait = _DATABASE_SECONDS
        try:
            self._findings, before = check_prerequisites(config), self.database
            blocking = [finding.problem for finding in self._findings if finding.blocking]
            self.database = f"not ready for capture: {'; '.join(blocking)}" if blocking else "ready"
            if not blocking:
                self._checked = self._monotonic()
            elif self.database != before:
                _log.warning("this standby could not capture: the database is %s", self.database)
        except MinerCdcError as error:
            self.database = error.message
            _log.warning("this standby could not capture at present: %s", error.message)
            if not isinstance(error, TransientSourceError):
                wait = float("inf")  # a wrong password locks its user when it is tried often
        self._next_database = self._monotonic() + wait

    def findings(self, config: ConnectorConfig, *, first: bool) -> list[Finding]:
        """What `check_prerequisites` finds, or found a moment ago: that is taken once, since a later start may have another
        configuration, and not for a `first` start. Raises as that does."""
        fresh, self._checked = self._monotonic() - self._checked < _FRESH_SECONDS, -_FRESH_SECONDS
        if fresh and not first:
            return self._findings
        return check_prerequisites(config, first=first)
