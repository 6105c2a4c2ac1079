"""The Kafka transaction that is being filled: how much it holds, for how long, and what is counted of it once it is committed."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from minercdc.pipeline.pipeline import Bounds
from minercdc.stream.counters.connector import Counters

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Uncommitted:
    """Figures of `Counters` of what no commit has yet. They are dropped where the Kafka transaction is aborted: what it held is written,
    and counted, again."""

    records: int = 0
    transactions: int = 0
    schema_changes: int = 0
    skipped: int = 0
    events: Counter[str] = field(default_factory=Counter)
    tables: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)

    def move_to(self, counters: Counters) -> None:
        """Add the figures to `counters`, and begin again at 0."""
        counters.records += self.records
        counters.transactions += self.transactions
        counters.schema_changes += self.schema_changes
        counters.skipped += self.skipped
        self.records = self.transactions = self.schema_changes = self.skipped = 0
        for mine, theirs in (
            (self.events, counters.events),
            (self.tables, counters.tables),
            (self.left_out, counters.left_out),
        ):
            if mine:
                theirs.update(mine)
                mine.clear()


class Batch:
    """Counts what was written since the last commit, and says when the Kafka transaction is full, or has to be split. The
    publisher adds to `records` and `bytes`.

    :param monotonic: seconds of a clock that never goes back.
    :ivar records: written since the last commit, and changes that only the offset holds.
    :ivar bytes: of the values of rows' records written since then, and 100 for each of these records.
    :ivar looked: `records` when `splits` was last called for encoded rows of a run; the publisher sets it.
    :ivar begun: `monotonic` at the last `clear`, or at construction.
    """

    def __init__(self, bounds: Bounds, monotonic: Callable[[], float]) -> None:
        self._bounds = bounds
        self._monotonic = monotonic
        self.records = 0
        self.looked = 0
        self.bytes = 0
        self.begun = monotonic()
        self._split = ""  # id of the source transaction that was split last

    def full(self) -> bool:
        """Whether one of the bounds of records and bytes is reached."""
        return self.records >= self._bounds.records or self.bytes >= self._bounds.bytes

    def splits(self) -> bool:
        """Whether a source transaction has to be split here: the batch is full and has at least `hold_bytes`, or it has records
        and is older than `longest` seconds."""
        large = self.full() and self.bytes >= self._bounds.hold_bytes
        return large or bool(self.records and self.age() > self._bounds.longest)

    def note_split(self, transaction: str) -> None:
        """Log a warning that a source transaction is split here, unless it was noted last; only where transactions are to be
        held (`hold_bytes` is not 0).

        :param transaction: its id.
        """
        held, bounds = bool(self._bounds.hold_bytes), self._bounds
        if held and transaction != self._split:
            why = (
                "exceeds minercdc.kafka.large.transaction.hold.max.bytes"
                if self.full() and self.bytes >= bounds.hold_bytes
                else f"takes longer than {bounds.longest:g} s"
            )
            _log.warning(
                "transaction %s is split although minercdc.kafka.large.transaction=hold, since it %s: readers see its first part"
                " before its end",
                transaction,
                why,
            )
        self._split = transaction

    def room(self) -> tuple[int, int]:
        """How many more records, and bytes, to write before `full` is looked at again: what is left up to the bounds; once one
        of them is reached, the bounds themselves."""
        if self.full():
            return self._bounds.records, self._bounds.bytes
        return self._bounds.records - self.records, self._bounds.bytes - self.bytes

    def age(self) -> float:
        """Seconds since the last `clear`, or since construction."""
        return self._monotonic() - self.begun

    def clear(self) -> None:
        """Set `records`, `looked`, `bytes` and the age to 0."""
        self.records = self.looked = self.bytes = 0
        self.begun = self._monotonic()
