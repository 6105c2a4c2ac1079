"""Detects when a LogMiner session holds so much memory that it should be replaced."""

from __future__ import annotations

import logging

import oracledb

from minercdc.errors import PrerequisiteError
from minercdc.oracle.memory import session_pga
from minercdc.stream.counters.mining import MiningFigures

_log = logging.getLogger(__name__)


class SessionMemory:
    """Looks at the PGA (memory of a database session) of LogMiner sessions; one for each capture.

    :param figures: gets what was found, and the most so far.
    :param most: bytes, `minercdc.log.mining.session.max.pga.bytes`; 0: nothing is looked at.
    """

    def __init__(self, figures: MiningFigures, most: int) -> None:
        self._figures, self._most = figures, most

    def outgrown(self, connection: oracledb.Connection) -> bool:
        """Whether the session holds `most` or more. To be called when a pass is over: nothing is read again then.

        Without the grant for its query there is one warning, and no session is too large from then on. Raises SourceError.
        """
        if not self._most:
            return False
        try:
            held = session_pga(connection)
        except PrerequisiteError as error:
            _log.warning("minercdc.log.mining.session.max.pga.bytes has no effect: %s", error.message)
            self._most = 0
            return False
        self._figures.session_pga, self._figures.most_session_pga = held, max(self._figures.most_session_pga, held)
        if held >= self._most:
            _log.info("the LogMiner session holds %d MiB of PGA, opening a new one", held >> 20)
        return held >= self._most
