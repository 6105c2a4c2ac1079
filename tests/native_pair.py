"""The native path beside the Python path: the same events, the same bytes, the same errors.

`taken_apart` stands between a capture under test and what looks at its events: every run that comes by is encoded both ways.
"""

from __future__ import annotations

import shutil
import sysconfig
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from minercdc import native
from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.errors import MinerCdcError
from minercdc.messages.envelope.column_changes import ColumnChanges
from minercdc.messages.envelope.custom_converters import column_codecs
from minercdc.messages.envelope.encoder import EnvelopeEncoder, OtherEvents
from minercdc.messages.envelope.source_block import SourceBlock
from minercdc.messages.envelope.table_format import ColumnFormats, RecordKeys, TableFormats
from minercdc.messages.topics import TopicNames
from minercdc.sinks.json_lines import json_line, json_lines
from minercdc.stream.contracts import Record
from minercdc.stream.events import ChangeEvent, ChangeRun, Event, Op, Progress, ReadRun
from minercdc.values.codec import ValueHandling

IS_NATIVE = native.rows is not None
HAS_COMPILER = any(map(shutil.which, ("cc", "gcc", "clang"))) and Path(sysconfig.get_path("include"), "Python.h").exists()
BUILT_HERE = "native" if HAS_COMPILER else "python"
"""The path of what is built on this machine."""
NO_BOUND = 1 << 40
Outcome: TypeAlias = Sequence[Record] | tuple[str, str]


def parsed(properties: Mapping[str, str]) -> ConnectorConfig:
    """`parse_properties`, once for equal properties: it takes 20 ms, and a history has dozens of runs."""
    return _parsed(frozenset(properties.items()))


@cache
def _parsed(properties: frozenset[tuple[str, str]]) -> ConnectorConfig:
    return parse_properties(dict(properties))


def encoder(handling: ValueHandling | None = None, **properties: str) -> EnvelopeEncoder:
    """An encoder whose clock stands still."""
    config = parsed(
        {
            "topic.prefix": "pair",
            "database.hostname": "h",
            "database.user": "u",
            "database.password": "p",
            "database.dbname": "d",
            "minercdc.kafka.bootstrap.servers": "k",
            **{name.replace("_", "."): value for name, value in properties.items()},
        }
    )
    handling = handling or ValueHandling()
    formats = TableFormats(
        TopicNames(config),
        SourceBlock("pair", config.messages.untracked, ordered=config.messages.minercdc_source_sequence),
        config.values,
        handling,
        RecordKeys(lambda table: table.key, config.filters.minercdc_keyless_table_key == "rowid"),
        ColumnFormats(
            lambda _, column: column.name != "HIDDEN",
            ColumnChanges(config.column_rules, config.messages.column_propagate_source_type),
            column_codecs(config.custom_converters, handling),
        ),
    )
    return EnvelopeEncoder(
        formats,
        OtherEvents(schema_changes=True),
        clock_ns=lambda: 1_789_990_213_402_118_903,
        skip_unchanged=config.messages.skip_messages_without_change,
    )


def outcome(one: EnvelopeEncoder, event: ChangeEvent) -> Outcome:
    """Records, or class and message of the error."""
    try:
        return one.encode(event)
    except MinerCdcError as error:
        return type(error).__name__, error.message


def outcomes(one: EnvelopeEncoder, run: ChangeRun) -> tuple[list[Outcome], int]:
    """Of each change of a run, as the publisher has them made, but printed one at a time, to know whose records they are; and how
    many were printed natively. Changes without records, of operations that are skipped, come with the next one."""
    found: list[Outcome] = []
    native_rows = 0
    while len(found) < len(run.rows):
        at = len(found)
        encoded = one.encode_run(run, at, 1, NO_BOUND)
        assert encoded.bytes == sum(100 + len(record.value or b"") for record in encoded.records)
        if encoded.rows:
            events = [run.rows.event(at + i) for i in range(encoded.rows)]
            assert encoded.time_us == events[-1].time_us
            ops = Counter(event.op for event in events)
            assert encoded.operations == (ops[Op.CREATE], ops[Op.DELETE], ops[Op.UPDATE], 0)
            assert encoded.tables == Counter(str(event.schema.id) for event in events)
            found += [()] * (encoded.rows - 1)
        native_rows += encoded.rows
        found.append(encoded.records if encoded.rows else outcome(one, run.rows.event(at)))
    return found, native_rows


class Pair:
    """Two encoders of the same settings."""

    def __init__(self, *settings: Any, **properties: Any) -> None:
        self.python, self.native = encoder(*settings, **properties), encoder(*settings, **properties)
        self.printed = 0  # natively

    def check(self, run: ChangeRun) -> list[ChangeEvent | Progress]:
        """What a run stands for; its changes are printed alike by both."""
        whole_run = list(run.events())
        events = [event for event in whole_run if isinstance(event, ChangeEvent)]
        assert [run.rows.place(i) for i in range(len(run.rows))] == [(event.tx, event.seq) for event in events]
        found, printed = outcomes(self.native, run)
        self.printed += printed
        for event, one in zip(events, found, strict=True):
            expected = outcome(self.python, event)
            assert _plain(one) == _plain(expected), event
        whole = self.native.encode_run(run, 0, NO_BOUND, NO_BOUND)
        assert list(whole.records) == [record for one in found[: whole.rows] for record in one]
        assert json_lines(whole.records) == b"".join(map(json_line, whole.records))
        return whole_run

    def check_reads(self, run: ReadRun) -> list[ChangeEvent]:
        """The rows of a snapshot that were read together; they are printed alike by both."""
        events, at = run.events(0, len(run)), 0
        while IS_NATIVE and at < len(run):
            encoded = self.native.encode_run(run, at, NO_BOUND, NO_BOUND)
            assert encoded.operations == (0, 0, 0, encoded.rows)
            self.printed += encoded.rows
            for record in encoded.records:
                assert _plain([record]) == _plain(outcome(self.python, events[at])), events[at]
                at += 1
            at += 1  # which Python prints
        return events


def _plain(one: Outcome) -> list[Any]:
    return [(r.topic, r.key, r.value, r.headers, r.partition) if isinstance(r, Record) else r for r in one]


def taken_apart(events: Iterable[Event], pair: Pair | None = None) -> Iterator[Event]:
    """The events with ChangeEvents in place of runs, which are encoded both ways."""
    pair = pair or Pair()
    for event in events:
        if isinstance(event, ChangeRun):
            yield from pair.check(event)
        elif isinstance(event, ReadRun):
            yield from pair.check_reads(event)
        else:
            yield event
