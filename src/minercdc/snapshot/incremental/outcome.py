"""What the thread that reads a table hands to the stage: Began, where the stored state has no order or its columns are gone, also
after Chunks; Chunks, the last one `final`; at an error Failed or Broken as the last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from minercdc.errors import MinerCdcError
from minercdc.snapshot.incremental.window import Chunk
from minercdc.stream.events import FetchedRow


@dataclass(frozen=True, slots=True)
class Began:
    """The reading of a table has begun, or begun again in another order.

    :param order: names of the ordering columns.
    :param maximum: Row text of their values in the last row to be read; () when there are no rows to read.
    :param version: of the table's shape that has these columns.
    """

    order: tuple[str, ...]
    maximum: tuple[str, ...]
    version: int


@dataclass(frozen=True, slots=True)
class Failed:
    """The table cannot be read; no outcome follows.

    :param scn: an SCN after the failure. DDL that the stream has not reached yet may be the cause (a RENAME: ORA-00942), so the
        table is given up only when the stream has emitted every commit before this SCN. 0: the table is given up at once,
        since the signal's own condition may be the cause, or the SCN could not be read.
    """

    error: MinerCdcError
    scn: int = 0


@dataclass(frozen=True, slots=True)
class Broken:
    """A fault of the reader's own code; whoever gets this outcome raises `error`. No outcome follows."""

    error: Exception


Outcome: TypeAlias = Began | Chunk | Failed | Broken


def in_chunks(batches: Iterator[Sequence[FetchedRow]], size: int) -> Iterator[Sequence[FetchedRow]]:
    """The same rows in batches of `size` rows, of which the last one may be shorter; none is empty."""
    held: list[FetchedRow] = []
    for batch in batches:
        if not held and len(batch) == size:
            yield batch
            continue
        held += batch
        while len(held) >= size:
            yield held[:size]
            held = held[size:]
    if held:
        yield held
