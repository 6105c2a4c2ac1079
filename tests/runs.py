"""Runs made of ChangeEvents, for tests of what stands between a capture and the sink."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from minercdc.errors import DecodeError
from minercdc.schema.table import TableId
from minercdc.stream.contracts import EncodedRun, Record, RecordEncoder, RunEncoder
from minercdc.stream.events import ChangeEvent, ChangeRun, Event, Op, Progress, ReadRun, TransactionInfo


@dataclass(frozen=True)
class ListedRows:
    """See `events.ScannedRows`.

    :param ends: per transaction, number of changes up to and with its last.
    :param between: what follows each but the last.
    """

    changes: tuple[ChangeEvent, ...]
    ends: tuple[int, ...]
    between: tuple[Progress, ...]

    def __len__(self) -> int:
        return len(self.changes)

    @property
    def tables(self) -> frozenset[TableId]:
        return frozenset(change.schema.id for change in self.changes)

    @property
    def commit_scns(self) -> tuple[int, int]:
        scns = [self.place(i)[0].commit_scn for i in range(len(self))]
        return min(scns), max(scns)

    def place(self, i: int) -> tuple[TransactionInfo, int]:
        tx = self.changes[i].tx
        assert tx is not None
        return tx, self.changes[i].seq

    def event(self, i: int) -> ChangeEvent:
        return replace(self.changes[i])

    def ended(self, rows: int) -> int:
        return sum(end <= rows for end in self.ends[:-1])

    def end(self, n: int) -> int:
        return self.ends[n]

    def progress(self, n: int) -> Progress:
        return self.between[n]


def in_runs(events: Iterable[Event], most: int = 1) -> Iterator[Event]:
    """The events; changes that follow each other come as runs, of `most` transactions at most."""
    changes: list[ChangeEvent] = []
    ends: list[int] = []
    between: list[Progress] = []

    def run() -> Iterator[Event]:
        if changes:
            ends.append(len(changes))
            yield ChangeRun(ListedRows(tuple(changes), tuple(ends[: len(between) + 1]), tuple(between)))
        for kept in (changes, ends, between):
            kept.clear()

    held: Progress | None = None
    for event in events:
        if isinstance(event, ChangeEvent) and event.tx is not None:
            if held is not None:
                ends.append(len(changes))
                between.append(held)
                held = None
            elif changes and changes[-1].tx is not event.tx:
                yield from run()
            changes.append(event)
            continue
        if isinstance(event, Progress) and changes and held is None and len(between) + 1 < most:
            held = event
            continue
        yield from run()
        if held is not None:
            yield held
            held = None
        yield event
    yield from run()
    if held is not None:
        yield held


def encode_run_of(encoder: RecordEncoder) -> RunEncoder:
    """Encodes the changes of a run with an encoder of single ones; those that it cannot encode are left to the caller."""

    def encode(run: ChangeRun | ReadRun, begin: int, most_records: int, most_bytes: int, /) -> EncodedRun:
        records: list[Record] = []
        done: list[ChangeEvent] = []
        size = 0
        for i in range(begin, len(run) if isinstance(run, ReadRun) else len(run.rows)):
            try:
                event = run.events(i, i + 1)[0] if isinstance(run, ReadRun) else run.rows.event(i)
                of_event = encoder.encode(event)
            except DecodeError:
                break
            done.append(event)
            records += of_event
            size += sum(100 + len(record.value or b"") for record in of_event)
            if len(records) >= most_records or size >= most_bytes:
                break
        ops = Counter(event.op for event in done)
        tables = Counter(str(event.schema.id) for event in done)
        time_us = done[-1].time_us if done else 0
        return EncodedRun(
            records, len(done), size, (ops[Op.CREATE], ops[Op.DELETE], ops[Op.UPDATE], ops[Op.READ]), tables, time_us
        )

    return encode
