"""The offset that the next commit stores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from minercdc.stream.events import Progress, TransactionInfo
from minercdc.stream.offset import JsonValue, Offset, PartialTransaction, SuspendedTable


class NextOffset:
    """Follows what is written, from the offset that is stored.

    `latest` is the last Progress, None before the first: what the next commit stores. `partial` names what an earlier run, or
    this one, delivered of a split transaction; it stays until the Progress of a whole transaction, since idle ticks may come
    before the split one is mined again; or until the stream is complete beyond its commit without it, as where its tables
    cannot be read any more.

    :param adapter: `database.connection.adapter` of the positions to come.
    :ivar stored: what the last commit stored; an offset without a position when nothing was stored yet.
    :ivar state: what signals have left to do.
    """

    def __init__(self, adapter: str, stored: Offset | None) -> None:
        self._adapter = adapter
        self.stored = stored = stored or Offset(adapter=adapter)
        self.latest: Progress | None = None
        self.partial = stored.partial
        self.state = stored.signals
        self._delivered_scn = 0  # of the last commit that was written as a whole

    def split(self, tx: TransactionInfo, seq: int, events: Mapping[str, int]) -> None:
        """The commit comes within a source transaction, after its row number `seq`.

        :param events: as `PartialTransaction.events`.
        """
        self.partial = PartialTransaction(tx.id, tx.commit_scn, seq, events)

    def note(self, progress: Progress) -> None:
        """Take note that everything up to the position of `progress` is written; `stored` stays until the commit."""
        self.latest = progress
        if progress.signals is not None:
            self.state = progress.signals
        if progress.committed is not None:
            self._delivered_scn = progress.committed.commit_scn
            self.partial = None
        elif self.partial is not None and 0 < self.partial.commit_scn < progress.complete_scn:
            self.partial = None

    def position(self) -> Mapping[str, JsonValue] | None:
        """The position that the next commit stores, as JSON: of the last Progress, before the first one as it is stored. None
        while the initial snapshot is under way, or when there was no Progress and nothing is stored."""
        if self.latest is None:
            return self.stored.position
        return self.latest.position.to_json() if self.latest.position is not None else None

    def offset(self, history: int | None, suspended: tuple[SuspendedTable, ...]) -> Offset:
        """Return the offset that a commit stores now; the caller sets `stored` to it once it is committed.

        :param history, suspended: as the members of `Offset`.
        """
        latest, stored = self.latest, self.stored
        if latest is None:
            return replace(stored, partial=self.partial, history=history, signals=self.state, suspended=suspended)
        complete = max(stored.complete_scn, latest.complete_scn) if latest.position is not None else 0
        if complete and self._delivered_scn == complete + 1:  # the last commit: a capture holds its SCN open for another one
            complete = self._delivered_scn
        return Offset(
            self._adapter,
            self.position(),
            self.partial,
            latest.snapshot,
            history,
            self.state,
            suspended,
            complete_scn=complete,
            excluded=stored.excluded,
        )
