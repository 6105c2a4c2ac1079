"""A downstream database: another database, with a DBID, users and a dictionary of its own, to which redo transport ships the archived
logs of this one. LogMiner there reads them by their names, with a dictionary that is in them, or with none.

DBMS_SANDBOX.OPEN_DOWNSTREAM adds it, as service ORCLMINE of the same listener; it ends with the process. Logs that were archived before
are not shipped. docs/reference/logminer-facts.md#a-10 has what is known of Oracle's; what is not known is refused.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from minercdc_sandbox.catalog import Catalog
from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.lobs.values import LobStore
from minercdc_sandbox.records import RedoRecord
from minercdc_sandbox.redo.batches import PackedBatch
from minercdc_sandbox.redo.log import RedoLog
from minercdc_sandbox.redo.threads import ArchivedLog, ArchiveStatus, Incarnation, LogGroup, RedoThread

SERVICE = "ORCLMINE"
"""The service of the downstream database's root; also its name."""
DBID = 1_734_500_021
OTHER_DBID = 990_017_345
"""Of the third database whose logs `ForeignLogs.receive_other` receives."""
_DIRECTORY = "/opt/oracle/foreign"


@dataclass(slots=True)
class _Received:
    origin: ArchivedLog
    name: str
    dbid: int
    purged: bool = False


class ForeignLogs:
    """The archived logs that a downstream database has received: of its source, to be mined there, and of a third database, which
    cannot be mined. Redo is read from the source itself. `receive` takes no logs that were archived before this was made.

    :param source, catalog, lobs: redo, dictionary and LOBs of the source.
    :ivar stalled: nothing is shipped.
    :ivar held: (thread, sequence) of logs that are not shipped.
    """

    def __init__(self, source: RedoLog, catalog: Catalog, lobs: LobStore) -> None:
        self._source, self.catalog, self.lobs = source, catalog, lobs
        self._guard = threading.Lock()
        self._received: dict[tuple[int, int, int], _Received] = {}
        self._others: list[_Received] = []
        self._before = {_key(log) for log in self._archived()}
        self.stalled = False
        self.held: set[tuple[int, int]] = set()

    def receive(self) -> None:
        """Take over what is archived by now and was not received before, unless shipping is stalled, or the log is held back or
        deleted in the source. Any thread."""
        with self._guard:
            for log in () if self.stalled else self._archived():
                key = _key(log)
                there = log.name is not None and not log.missing and (log.thread, log.sequence) not in self.held
                if there and key not in self._before and key not in self._received:
                    self._received[key] = _Received(log, _file(log, "orclcdb"), self.catalog.dbid)

    def receive_other(self, thread: int, sequence: int) -> None:
        """Receive a log of a third database, with the thread, sequence and SCNs of one of the source's and a dictionary in it.
        Raises ORA-00308 when the source has none of that thread and sequence in any incarnation."""
        for log in self._archived():
            if (log.thread, log.sequence) == (thread, sequence):
                other = replace(log, dictionary_begin=True, dictionary_end=True)
                self._others.append(_Received(other, _file(log, "other"), OTHER_DBID))
                return
        raise OraError(308, f"cannot open archived log of thread {thread} sequence {sequence}")

    def purge(self, thread: int, sequence: int) -> None:
        """Delete the received logs of the source with these numbers, of any incarnation, as RMAN does: their rows keep no name.
        Receives first what is due. Raises ORA-00308 when none was received."""
        self.receive()
        found = [one for one in self._received.values() if (one.origin.thread, one.origin.sequence) == (thread, sequence)]
        if not found:
            raise OraError(308, f"cannot open archived log of thread {thread} sequence {sequence}")
        for one in found:
            one.purged = True

    def rows(self) -> Iterator[tuple[ArchivedLog, int]]:
        """Generate what V$FOREIGN_ARCHIVED_LOG lists, deleted logs too: a log under its name here, and the DBID of the database
        that wrote it. The logs of the source come last, so that a client that does not look at the DBID is found out. Receives
        first what is due."""
        self.receive()
        for one in [*self._others, *self._received.values()]:
            yield _here(one), one.dbid

    # ---- as the redo that LogMiner reads: see `logminer.logs.MinedRedo` ----

    @property
    def threads(self) -> Mapping[int, RedoThread]:
        """Redo threads of the source, by number."""
        return self._source.threads

    @property
    def incarnation(self) -> Incarnation:
        """The present incarnation of the source."""
        return self._source.incarnation

    @property
    def addressless(self) -> set[str]:
        """Users of the source whose undo rows show no address; see `RedoLog.addressless`."""
        return self._source.addressless

    def groups(self) -> list[LogGroup]:
        """Always empty: online logs are not shipped."""
        return []

    def archived(self) -> list[ArchivedLog]:
        """The received logs of the source's present incarnation under their names here, by completion time; deleted ones too,
        without a name. Receives nothing itself."""
        present = self._source.incarnation.resetlogs_id
        found = [_here(one) for one in self._received.values() if one.origin.resetlogs_id == present]
        return sorted(found, key=lambda log: log.completion_time)

    def locate(self, name: str) -> tuple[int, int] | None:
        """(Thread, sequence) of a received file; None when none has the name, also when it was deleted.

        :raises OraError: ORA-03001 for a log of a third database, or of an earlier incarnation, whose redo is not kept here.
        """
        if any(one.name == name for one in self._others):
            raise OraError(3001, f"unimplemented feature: redo of a third database, {name}")
        for one in self._received.values():
            if one.name == name and not one.purged:
                if one.origin.resetlogs_id != self._source.incarnation.resetlogs_id:
                    raise OraError(3001, f"unimplemented feature: shipped redo of an earlier incarnation, {name}")
                return one.origin.thread, one.origin.sequence
        return None

    def is_other(self, name: str) -> bool:
        """Whether a file name is that of a log of a third database."""
        return any(one.name == name for one in self._others)

    def records(self, thread: int, sequence: int) -> Iterator[RedoRecord]:
        """The records of a log of the source, received or not; see `RedoLog.records`, also for what it raises."""
        return self._source.records(thread, sequence)

    def chunks(self, thread: int, sequence: int, first: int = 0) -> Iterator[tuple[int, list[PackedBatch]]]:
        """The chunks of a log of the source, received or not; see `RedoLog.chunks`, also for what it raises."""
        return self._source.chunks(thread, sequence, first)

    def _archived(self) -> list[ArchivedLog]:
        """The source's archived logs of all incarnations by completion time, one copy of each: that in the first archive
        destination."""
        copies = {_key(log): log for log in reversed([*self._source.former, *self._source.archived()])}
        return sorted(copies.values(), key=lambda log: log.completion_time)


def _key(log: ArchivedLog) -> tuple[int, int, int]:
    return log.resetlogs_id, log.thread, log.sequence


def _file(log: ArchivedLog, source: str) -> str:
    return f"{_DIRECTORY}/{source}_{log.thread}_{log.sequence}_{log.resetlogs_id}.arc"


def _here(one: _Received) -> ArchivedLog:
    status = ArchiveStatus.DELETED if one.purged else ArchiveStatus.AVAILABLE
    return replace(one.origin, name=None if one.purged else one.name, status=status, missing=False)
