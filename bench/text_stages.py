"""What becomes of SQL_REDO, with nothing around it: no database, fetch, buffer or Kafka.

text    SQL_REDO in memory -> key and value bytes: split, decode, envelope
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

from bench.processes import Sandbox
from bench.redo_text import ORDERS, PEOPLE, Statement, statements
from bench.report import Measure
from minercdc.capture.logminer.decoding import RUN
from minercdc.capture.logminer.dml import RedoDecoder
from minercdc.capture.logminer.glue import RowChange, split
from minercdc.config.sections import ConnectorIdentity, KafkaConfig, TableFilterConfig, TopicConfig, ValueConfig
from minercdc.events import ChangeEvent
from minercdc.kafka.envelope import EnvelopeEncoder
from minercdc.kafka.source_block import SourceBlock
from minercdc.kafka.topics import TopicNames
from minercdc.values.codec import ValueHandling

_ROWS, _BLOCK, _PASSES = 60_000, 256, 20
_BlockWork: TypeAlias = list[tuple[Statement, Callable[[str], RowChange]]]
"""Rows, each with its table's decoder."""


def text(_sandbox: Sandbox, _directory: Path) -> Iterator[Measure]:
    """Of a workload in which hardly two updates have the same form.

    Each pass begins with decoders and an encoder that know nothing. Of every block of rows the best pass counts, and the stages
    take turns, so that the passes of each are spread over all the time: on a shared machine hardly a second goes by
    undisturbed.
    """
    mixed = list(statements(_ROWS))
    gc.collect()
    gc.freeze()  # the workload is no memory of the connector's
    stages = [
        _TextStage(f"{name}, {columns}", stage, [row for row in mixed if row.schema in schemas], target)
        for columns, schemas, aim in (
            ("6 and 25 columns", (PEOPLE.schema, ORDERS.schema), "40,000 / cpu s"),
            ("6 columns", (PEOPLE.schema,), ""),
            ("25 columns", (ORDERS.schema,), ""),
        )
        for name, stage, target in (
            ("text to key and value bytes", _text_to_bytes, aim),
            ("split alone", _split_alone, ""),
            ("split and decode", _split_and_decode, ""),
        )
    ]
    for _ in range(_PASSES):
        for stage in stages:
            stage.once()
    for stage in stages:
        yield stage.measure()


class _TextStage:
    """One stage over some rows, measured block by block."""

    def __init__(
        self, name: str, work: Callable[[_BlockWork, EnvelopeEncoder], None], rows: list[Statement], target: str
    ) -> None:
        self._name, self._work, self._rows, self._target = name, work, rows, target
        self._wall = [float("inf")] * -(-len(rows) // _BLOCK)
        self._cpu = self._wall.copy()

    def once(self) -> None:
        """One pass."""
        decoders = {schema.id: RedoDecoder(schema) for schema in (PEOPLE.schema, ORDERS.schema)}
        encoder = json_encoder("bench")
        for i in range(len(self._wall)):
            rows = self._rows[i * _BLOCK : (i + 1) * _BLOCK]
            work: _BlockWork = [(row, decoders[row.schema.id].decode) for row in rows]
            wall, cpu = time.monotonic(), time.process_time()
            self._work(work, encoder)
            self._wall[i] = min(self._wall[i], time.monotonic() - wall)
            self._cpu[i] = min(self._cpu[i], time.process_time() - cpu)

    def measure(self) -> Measure:
        """Of all passes."""
        return Measure(self._name, "connector code", len(self._rows), sum(self._wall), sum(self._cpu), self._target)


def _text_to_bytes(work: _BlockWork, encoder: EnvelopeEncoder) -> None:
    for i in range(0, len(work), RUN):  # as the capture hands them on
        events = []
        for row, decode in work[i : i + RUN]:
            op, before, after = decode(row.sql)
            tx = row.tx
            events.append(
                ChangeEvent(op, row.schema, before, after, row.scn, tx.commit_us, tx, row.seq, row.row_id, row.rs_id)
            )
        for event in events:
            encoder.encode(event)


def _split_alone(work: _BlockWork, _: EnvelopeEncoder) -> None:
    for row, _decode in work:
        split(row.sql)


def _split_and_decode(work: _BlockWork, _: EnvelopeEncoder) -> None:
    for row, decode in work:
        decode(row.sql)


def json_encoder(prefix: str) -> EnvelopeEncoder:
    """The encoder of a connector with nothing but defaults."""
    identity, kafka = (
        ConnectorIdentity.model_validate({"topic.prefix": prefix}),
        KafkaConfig.model_validate({"minercdc.kafka.bootstrap.servers": "-"}),
    )
    return EnvelopeEncoder(
        topics=TopicNames(identity, TopicConfig.model_validate({}), kafka),
        source=SourceBlock(prefix),
        values=ValueConfig.model_validate({}),
        filters=TableFilterConfig.model_validate({}),
        handling=ValueHandling(),
        published=lambda *_: True,
        key_columns=lambda schema: schema.key,
        include_schema_changes=True,
        clock_ns=time.time_ns,
    )


TEXT_STAGES: dict[str, Callable[[Sandbox, Path], Iterator[Measure]]] = {"text": text}
