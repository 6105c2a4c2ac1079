"""Makes runs of committed transactions of fetched rows, by the native path. Rows that it does not take are left to the Python
path of `BufferedAssembly`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from minercdc import native
from minercdc.capture.logminer.buffer.delivery import Delivery
from minercdc.capture.logminer.buffer.transactions import TransactionBuffer
from minercdc.capture.logminer.kept.keeping import Keeping
from minercdc.capture.logminer.position import LogMinerPosition, RedoAddress, Resumes, ThreadMark
from minercdc.stream.events import Progress, ScannedRows, Scn, TransactionInfo

_Place: TypeAlias = tuple[str, int]
_MakeProgress: TypeAlias = Callable[[TransactionInfo, _Place, _Place, int], Progress]


class Mining:
    """Takes the usual rows into the buffer: changes, and the ends of transactions that can be scanned whole, which become runs.
    One for each BufferedAssembly, where the native path is in use; it owns nothing that has to be closed.

    :param start: position that the stream starts from.
    :param buffer: of the native path, see `transactions.transaction_buffer`.
    :param resumes: of the positions of this stream.
    :param lobs: `lob.enabled`.
    :ivar keeping: keeps transactions over restarts, set by `BufferedAssembly.keep`; None: none are kept.
    """

    def __init__(
        self, start: LogMinerPosition, buffer: TransactionBuffer, delivery: Delivery, resumes: Resumes, *, lobs: bool
    ) -> None:
        self._start, self._buffer, self._delivery, self._lobs = start, buffer, delivery, lobs
        self._resumes = resumes
        self.keeping: Keeping | None = None
        self._scanner: object = None
        self._miner: Any = None

    def batch(self, rows: Sequence[tuple[Any, ...]]) -> object:
        """A batch of fetched rows in the form that `advance` takes."""
        assert native.rows is not None
        return rows if isinstance(rows, native.rows.Batch) else native.rows.Batch(rows)

    def advance(self, batch: object, begin: int, threads: Mapping[int, Any], bound: int) -> tuple[ScannedRows | None, int]:
        """Take rows of a batch from index `begin` on: the changes of the transactions that were committed, or None; and the index
        of the first row that was not taken. That row is to be taken by Python if there are no changes.

        :param threads: how far they are read; kept up to date, as is `Delivery.threads`.
        :param bound: commits at or after this SCN are left to Python.
        """
        delivery = self._delivery
        delivery.forget_old_names()
        scanner = delivery.scanner_of_whole_transactions() if len(threads) == 1 and len(delivery.threads) == 1 else None
        miner = self._miner_with(scanner.native if scanner else None)
        found: tuple[ScannedRows | None, int] = miner.advance(
            batch,
            begin,
            threads,
            delivery,
            min(bound, 1 << 62),
            self._start.snapshot_scn,
            delivery.offset_us,
            self._progress(next(iter(threads))) if scanner else None,
        )
        return found

    def _miner_with(self, scanner: object) -> Any:
        assert native.rows is not None
        if self._miner is None or (scanner is not None and scanner is not self._scanner):
            self._scanner = scanner if scanner is not None else native.rows.RunScanner()
            self._miner = native.rows.Miner(self._buffer, self._scanner, RedoAddress, self._lobs)
        return self._miner

    def _progress(self, thread: int) -> _MakeProgress:
        """A function that makes the Progress after a transaction, from where a restart goes on, the COMMIT's place, and
        `complete_scn`. The rest of the position is as of now."""
        start, resumes, lobs, last_ddl = self._start, self._resumes, self._lobs, self._delivery.threads[thread].last_ddl
        given_up = frozenset(xid.hex() for xid in self._buffer.given_up)
        floor = self.keeping.floors.get(thread, (None, 0)) if self.keeping else (None, 0)
        kept = (tuple(self.keeping.kept.values()), self.keeping.version) if self.keeping else ((), 0)

        def progress(info: TransactionInfo, resume: _Place, commit: _Place, complete_scn: int) -> Progress:
            begin = resumes.furthest(thread, RedoAddress(resume[0]), resume[1])
            if floor[0] is not None and floor[0].rs_id < begin[0].rs_id:
                begin = floor[0], floor[1]
            mark = ThreadMark(*begin, RedoAddress(*commit), info.commit_scn, last_ddl, *floor)
            base = start.start_scn, start.snapshot_scn, start.resetlogs
            position = LogMinerPosition(
                {thread: mark}, *base, given_up, *kept, dbid=start.dbid, whole=lobs, pdb_ids=start.pdb_ids
            )
            return Progress(position, Scn(complete_scn), info.commit_us, info)

        return progress
