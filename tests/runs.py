"""Runs made of ChangeEvents, for tests of what stands between a capture and the sink."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from minercdc.contracts import EncodedRun, Record, RecordEncoder, RunEncoder
from minercdc.errors import DecodeError
from minercdc.events import ChangeEvent, ChangeRun, Event, Op
from minercdc.schema.table import TableId


@dataclass(frozen=True)
class ListedRows:
    """See `events.ScannedRows`."""

    changes: tuple[ChangeEvent, ...]

    def __len__(self) -> int:
        return len(self.changes)

    @property
    def first_seq(self) -> int:
        return self.changes[0].seq

    @property
    def tables(self) -> frozenset[TableId]:
        return frozenset(change.schema.id for change in self.changes)

    def event(self, i: int) -> ChangeEvent:
        return replace(self.changes[i])


def in_runs(events: Iterable[Event]) -> Iterator[Event]:
    """The events; changes of one transaction that follow each other come as a run."""
    for tx, group in groupby(events, lambda event: event.tx if isinstance(event, ChangeEvent) else None):
        if tx is None:
            yield from group
        else:
            yield ChangeRun(tx, ListedRows(tuple(event for event in group if isinstance(event, ChangeEvent))))


def encode_run_of(encoder: RecordEncoder) -> RunEncoder:
    """Encodes the changes of a run with an encoder of single ones; those that it cannot encode are left to the caller."""

    def encode(run: ChangeRun, begin: int, most_records: int, most_bytes: int, /) -> EncodedRun:
        records: list[Record] = []
        done: list[ChangeEvent] = []
        size = 0
        for event in run.events(begin):
            try:
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
        return EncodedRun(records, len(done), size, (ops[Op.CREATE], ops[Op.DELETE], ops[Op.UPDATE]), tables, time_us)

    return encode
