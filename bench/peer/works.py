"""What both connectors have to do: tables, and how their rows are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import TypeAlias

from bench.processes import Sandbox
from bench.tables import BATCH, MIDDLE, NARROW, WIDE, BenchTable

Fill: TypeAlias = Callable[[Sandbox, int], int]


@dataclass(frozen=True, slots=True)
class Work:
    """What is measured.

    :param tables: that are captured.
    :param fill: makes about so many rows; returns how many changes these are.
    :param snapshot: the rows are there before the connector's first start, and read by its snapshot.
    :param incremental: the first table's rows are there before that, too, and are read by an incremental snapshot, while changes of the
        second one are streamed.
    :param heap: of Debezium's Java.
    :param whole: everything counts, from the start of the process or run until the last row; Debezium is warm by 150,000 rows before.
    :param settings: properties of both connectors besides those of all works.
    """

    name: str
    tables: tuple[BenchTable, ...]
    fill: Fill
    rows: int
    snapshot: bool = False
    incremental: bool = False
    heap: str = "1g"
    whole: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)


keys = count(1)  # of all rows: no two are the same


def transactions(tables: Sequence[BenchTable], sizes: Sequence[int], sandbox: Sandbox, rows: int) -> int:
    """Inserts in transactions of these sizes in turns, one table after another."""
    done = 0
    with closing(sandbox.connect()) as application, application.cursor() as cursor:
        for number in count():
            table, size = tables[number // len(sizes) % len(tables)], sizes[number % len(sizes)]
            batch = [table.row(next(keys)) for _ in range(size)]
            for start in range(0, size, BATCH):
                cursor.executemany(table.insert, batch[start : start + BATCH])
            application.commit()
            done += size
            if done >= rows:
                return done
    raise AssertionError


def _loaded(sandbox: Sandbox, rows: int) -> int:
    return transactions([MIDDLE], [10_000], sandbox, rows)


def _transforms(**steps: str) -> dict[str, str]:
    """Properties of a chain of transformations: name -> its class and options, as in `Class, option=value, ..`."""
    found = {"transforms": ",".join(steps)}
    for name, text in steps.items():
        kind, *options = text.split(", ")
        found[f"transforms.{name}.type"] = kind
        found |= {f"transforms.{name}.{option}": value for option, _, value in (one.partition("=") for one in options)}
    return found


_UNWRAP = "io.debezium.transforms.ExtractNewRecordState, add.fields=op,scn"
_HUGE = 2_000_000
WORKS = {
    "mixed": Work(
        "stream, 6 and 25 columns, transactions of 1000 rows and of 1 row in turns",
        (NARROW, WIDE),
        partial(transactions, (NARROW, WIDE), (1000, 1)),
        300_000,
    ),
    "unwrapped": Work(
        "stream, as mixed, ExtractNewRecordState",
        (NARROW, WIDE),
        partial(transactions, (NARROW, WIDE), (1000, 1)),
        300_000,
        settings=_transforms(unwrap=_UNWRAP),
    ),
    "chained": Work(
        "stream, as mixed, ExtractNewRecordState, MaskField, InsertHeader",
        (NARROW, WIDE),
        partial(transactions, (NARROW, WIDE), (1000, 1)),
        300_000,
        settings=_transforms(
            unwrap=_UNWRAP,
            mask="org.apache.kafka.connect.transforms.MaskField$Value, fields=ID",
            note="org.apache.kafka.connect.transforms.InsertHeader, header=h, value.literal=v",
        ),
    ),
    "single": Work("stream, 6 columns, transactions of 1 row", (NARROW,), partial(transactions, (NARROW,), (1,)), 40_000),
    "snapshot": Work("snapshot, 10 columns", (MIDDLE,), _loaded, 400_000, snapshot=True),
    "huge": Work(
        f"one transaction of {_HUGE:,} rows, 6 columns",
        (NARROW,),
        partial(transactions, (NARROW,), (_HUGE,)),
        _HUGE,
        heap="4g",
        whole=True,
    ),
    "incremental": Work(
        "incremental snapshot, 10 columns, while 400 rows/s are streamed",
        (MIDDLE, NARROW),
        _loaded,
        400_000,
        incremental=True,
    ),
}
