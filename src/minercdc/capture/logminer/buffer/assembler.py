"""Interface between the passes over the logs and the two ways of assembling transactions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from minercdc.capture.logminer.buffer.transactions import Transaction
from minercdc.capture.logminer.logs.redo_logs import NO_BOUND, LogFile
from minercdc.capture.logminer.position import LogMinerPosition, RedoAddress
from minercdc.capture.logminer.session.query import ContainerNames
from minercdc.capture.logminer.session.row import ContinuationJoiner, LogMinerRow
from minercdc.stream.counters.redo import Counted
from minercdc.stream.events import Event, Progress


@dataclass(frozen=True, slots=True)
class Pass:
    """What was known when a pass began.

    :param files: the logs it reads, to their end.
    :param complete: per thread, sequence number of the last of them that was finished.
    :param bound: what was committed at or after this SCN is not complete yet; see `LogSelection`.
    :param complete_scn: every commit at or below it was in redo; 0 when there are later logs that the pass does not read.
    :param oldest_scn: transactions that were open had begun at or after this SCN; 0 when it was not read.
    """

    files: tuple[LogFile, ...]
    complete: Mapping[int, int]
    bound: int = NO_BOUND
    complete_scn: int = 0
    oldest_scn: int = 0


class Assembly(Protocol):
    """A way of assembling transactions: makes events of rows of V$LOGMNR_CONTENTS, over all passes of one stream. For each
    pass: `query`, `begin_pass`, `take_fetched` for each batch, `end_pass`, which a pass that breaks off does not reach; at
    the end `close`."""

    @property
    def committed(self) -> bool:
        """Whether it takes rows of committed transactions only, as LogMiner shows them with COMMITTED_DATA_ONLY; the session has
        to be started with that option then."""

    def marks(self) -> dict[int, RedoAddress]:
        """Per thread, where the next pass has to begin; without threads of which nothing is known."""

    def begins(self) -> dict[int, RedoAddress]:
        """Per thread, where LogMiner has to begin to show all that the query selects: at or before `marks`."""

    def query(self, container: ContainerNames, excluded_owners: frozenset[str]) -> tuple[str, dict[str, str | int]]:
        """SQL and binds of the next pass; for the parameters see `query.build_query`."""

    def begin_pass(self, begun: Pass) -> None:
        """Note which logs the pass reads. To be called after `query`, and before the rows of the pass are taken; also of a
        pass that repeats one that broke off."""

    def take(self, rows: Iterable[LogMinerRow]) -> Iterator[Event]:
        """Take whole rows, and yield the events that become ready; nothing is taken until it is iterated over. Raises
        MinerCdcError when rows cannot be decoded or stored, or the source cannot be read."""

    def take_fetched(self, batch: Sequence[tuple[Any, ...]], joiner: ContinuationJoiner) -> Iterator[Event]:
        """As `take`, of the whole rows of a batch as it was fetched; pieces of a statement wait in `joiner` for the next
        batch."""

    def counted(self) -> tuple[list[Counted], frozenset[tuple[str, str]]]:
        """(Schema, table, rows, bytes) of redo that was taken since the last call, where a table may come several times; and
        (schema, table) of those that are captured, or were."""

    def end_pass(self, begun: Pass) -> Iterator[Event]:
        """To be called when all rows of the pass were taken; yields the events that became ready by that, and has to be iterated
        over."""

    def open(self) -> list[Transaction]:
        """The transactions with captured rows whose end has not been read; empty when LogMiner itself holds them back."""

    def drop_rolled_back(self, transaction: Transaction) -> bool:
        """Drop a transaction of `open` that the database does not know any more, if a ROLLBACK was read that may have been its end;
        else False."""

    def give_up(self, transaction: Transaction) -> None:
        """Do not wait for the end of a transaction of `open` any more: its changes are lost, after a restart from a later
        position too."""

    def idle(self, time_us: int) -> Progress:
        """A Progress with the present position, for when there are no events.

        :param time_us: source time up to which every commit was emitted, 0 when that is not known.
        """

    def position(self) -> LogMinerPosition:
        """The position after all events that were emitted so far, made new at each call: a restart from it repeats none of
        them, and reads open transactions again, or from their files."""

    def close(self) -> None:
        """Forget what is not complete, and delete its spill files; the next run mines it again, but for rows that are kept
        over restarts. To be called once, at the end."""
