"""What becomes of SQL_REDO, with nothing around it: no database, fetch, buffer or Kafka.

text    SQL_REDO in memory -> key and value bytes, on both paths; the Python path decode, envelope; the native one scan, print
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import TypeAlias

from bench.processes import Sandbox
from bench.redo_text import ORDERS, PEOPLE, Statement, statements
from bench.report import Measure
from minercdc import native
from minercdc.capture.logminer.buffer.transactions import Transaction, transaction_buffer
from minercdc.capture.logminer.position import RedoAddress
from minercdc.capture.logminer.session.row import LogMinerRow, OpCode
from minercdc.capture.logminer.sql_redo.dml import RedoDecoder
from minercdc.capture.logminer.sql_redo.native_scan import LONGEST_RUN, RowScanner
from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.config.messages.registries import SIDES
from minercdc.config.sections import ValueConfig
from minercdc.messages.avro.records import AvroFormat
from minercdc.messages.envelope.encoder import EnvelopeEncoder, OtherEvents
from minercdc.messages.envelope.source_block import SourceBlock
from minercdc.messages.envelope.table_format import ColumnFormats, RecordKeys, TableFormats
from minercdc.messages.formats.converting import RecordConverter, Side
from minercdc.messages.registries.confluent import SchemaRegistry, SchemaText
from minercdc.messages.registries.registered import ConfluentSchemas
from minercdc.messages.registries.subjects import TOPIC, subject_names
from minercdc.messages.topics import TopicNames
from minercdc.schema.table import TableId
from minercdc.stream.contracts import Record, RunEncoder
from minercdc.stream.events import ChangeEvent, ChangeRun, Event, Op, TransactionInfo
from minercdc.values.codec import ValueHandling

_ROWS, _BLOCK, _PASSES = 60_000, 256, 20
_SLOW_ROWS, _SLOW_TURNS = 6_000, 7  # of the Python path, fifty times slower: rows, and turns for one pass
_NO_BOUND = 1 << 40
_CODES = {Op.CREATE: OpCode.INSERT, Op.UPDATE: OpCode.UPDATE, Op.DELETE: OpCode.DELETE}
_NOON = datetime(2026, 3, 1, 12)
Prepare: TypeAlias = Callable[[list[Statement]], Callable[[], None]]
"""Rows to the work that is measured."""


def text(_sandbox: Sandbox, _directory: Path) -> Iterator[Measure]:
    """Of a workload in which hardly two updates have the same form.

    Each pass begins with decoders and an encoder that know nothing. Of every block of rows the best pass counts, and the stages
    take turns, so that the passes of each are spread over all the time: on a shared machine hardly a second goes by
    undisturbed.
    """
    mixed = list(statements(_ROWS))
    gc.collect()
    gc.freeze()  # the workload is no memory of the connector's
    kinds: list[tuple[str, Callable[[], Prepare]]] = [
        ("text to key and value bytes, Python", python),
        ("text to key and value bytes, Python, Avro", python_avro),
        ("decode alone, Python", _decode_alone),
    ]
    if native.rows is not None:
        kinds.insert(0, ("text to key and value bytes, native", _native))
        kinds.append(("text to key and value bytes, native, Avro", _native_avro))
        kinds.append(("scan alone, native", _scan_alone))
    stages = [
        TextStage(
            f"{name}, {columns}",
            begin,
            [row for row in (mixed[:_SLOW_ROWS] if "Python" in name else mixed) if row.schema in schemas],
        )
        for columns, schemas in (
            ("6 and 25 columns", (PEOPLE.schema, ORDERS.schema)),
            ("6 columns", (PEOPLE.schema,)),
            ("25 columns", (ORDERS.schema,)),
        )
        for name, begin in kinds
    ]
    for turn in range(_PASSES):
        for stage in stages:
            if not (stage.is_slow and turn % _SLOW_TURNS):
                stage.once()
    for stage in stages:
        yield stage.measure()


def best_rate(rows: list[Statement]) -> float:
    """Rows per CPU second of the path in use, text to key and value bytes, in the best of twenty whole passes."""
    stage = TextStage("", python if native.rows is None else _native, rows)
    return len(rows) / min(stage.once() for _ in range(_PASSES))


class TextStage:
    """One stage over some rows, measured block by block."""

    def __init__(self, name: str, begin: Callable[[], Prepare], rows: list[Statement]) -> None:
        self._name, self._begin, self._rows = name, begin, rows
        self.is_slow = "Python" in name
        self._wall = [float("inf")] * -(-len(rows) // _BLOCK)
        self._cpu = self._wall.copy()

    def once(self) -> float:
        """One pass; its CPU seconds."""
        prepare, spent = self._begin(), 0.0
        for i in range(len(self._wall)):
            work = prepare(self._rows[i * _BLOCK : (i + 1) * _BLOCK])
            wall, cpu = time.monotonic(), time.process_time()
            work()
            took = time.process_time() - cpu
            spent += took
            self._wall[i] = min(self._wall[i], time.monotonic() - wall)
            self._cpu[i] = min(self._cpu[i], took)
        return spent

    def measure(self) -> Measure:
        """Of all passes."""
        return Measure(self._name, "connector code", len(self._rows), sum(self._wall), sum(self._cpu))


def _decoders() -> dict[TableId, RedoDecoder]:
    return {schema.id: RedoDecoder(schema) for schema in (PEOPLE.schema, ORDERS.schema)}


def python(encode: Callable[[Event], Sequence[Record]] | None = None) -> Prepare:
    decoders, made = _decoders(), encode or json_encoder("bench").encode

    def prepare(rows: list[Statement]) -> Callable[[], None]:
        decoded = [(row, decoders[row.schema.id].decode) for row in rows]

        def work() -> None:
            for row, decode in decoded:
                op, before, after = decode(row.sql)
                tx = row.tx
                made(ChangeEvent(op, row.schema, before, after, row.scn, tx.commit_us, tx, row.seq, row.row_id, row.rs_id))

        return work

    return prepare


def python_avro() -> Prepare:
    return python(_avro().encoder(json_encoder("bench", numbered=(True, True))).encode)


def _decode_alone() -> Prepare:
    decoders = _decoders()

    def prepare(rows: list[Statement]) -> Callable[[], None]:
        decoded = [(row.sql, decoders[row.schema.id].decode) for row in rows]

        def work() -> None:
            for sql, decode in decoded:
                decode(sql)

        return work

    return prepare


def _native() -> Prepare:
    return scanning(json_encoder("bench").encode_run)


class NoRegistry(SchemaRegistry):
    """Gives every schema the same id."""

    def __init__(self) -> None:
        self.url = "http://registry"

    def register(self, subject: str, schema: SchemaText, *, normalize: bool = False) -> int:
        del subject, schema, normalize
        return 1


def _native_avro() -> Prepare:
    return scanning(_avro().run_encoder(json_encoder("bench", numbered=(True, True)).encode_run))


def _avro() -> RecordConverter:
    registry = NoRegistry()
    key, value = (
        Side(
            AvroFormat(
                ConfluentSchemas(registry, subject_names(TOPIC, side), auto_register=True, use_latest=False, normalize=False)
            )
        )
        for side in SIDES
    )
    return RecordConverter(key, value)


def _scan_alone() -> Prepare:
    return scanning(None)


def scanning(encode_run: RunEncoder | None) -> Prepare:
    """Rows of the transactions as they wait in the buffer for the COMMIT, in runs."""
    scanner, decoders = RowScanner(), _decoders()

    def prepare(rows: list[Statement]) -> Callable[[], None]:
        transactions = [_buffered(tx, list(group)) for tx, group in groupby(rows, lambda row: row.tx)]
        for row in rows:
            one = mined_row(row.seq, row)
            if not scanner.knows(one):
                scanner.learn(one, decoders[TableId(row.schema.id.database, str(one.owner), str(one.table))])

        def work() -> None:
            for tx, transaction in transactions:
                cursor, seq = scanner.cursor(transaction), 1
                while not cursor.is_done:
                    run = cursor.scan(tx, seq, LONGEST_RUN, 0)
                    assert not cursor.is_stuck
                    seq += len(run)
                    if encode_run is not None:
                        encoded = encode_run(ChangeRun(run), 0, _NO_BOUND, _NO_BOUND)
                        assert encoded.rows == len(run)
                assert seq > transaction.changes

        return work

    return prepare


def _buffered(tx: TransactionInfo, rows: list[Statement]) -> tuple[TransactionInfo, Transaction]:
    """Rows of one transaction as the native buffer keeps them."""
    buffer = transaction_buffer(1 << 30, Path("unused"), native_rows=True)
    for row in rows:
        mined = mined_row(row.seq, row)
        buffer.append(mined, RedoAddress(mined.rs_id.strip(), 1))
    (transaction,) = buffer.open()
    return tx, transaction


def mined_row(block: int, row: Statement, code: OpCode | None = None) -> LogMinerRow:
    """A row as it is fetched; that of the statement, or another one of its transaction.

    :param block: of its redo address.
    """
    is_dml, schema = code is None, row.schema.id
    return LogMinerRow(
        scn=25_000_000 + block, code=int(code or _CODES[row.op]), thread=1, rs_id=f" 0x000001.{block:08x}.0010 ", ssn=0,
        xid=bytes.fromhex(row.tx.id), con_id=3, owner=schema.schema if is_dml else None,
        table=schema.table if is_dml else None, row_id=row.row_id, rollback=0, csf=0, status=0, info=None,
        timestamp=_NOON, user="APP", client_id=None, object_id=0, start_scn=None, sql=row.sql if is_dml else "commit;",
    )  # fmt: skip


def records_of(encoder: EnvelopeEncoder, event: Event) -> Iterator[Sequence[Record]]:
    """The records of an event, made as the publisher has them made."""
    if not isinstance(event, ChangeRun):
        yield encoder.encode(event)
        return
    at = 0
    while at < len(event.rows):
        encoded = encoder.encode_run(event, at, _NO_BOUND, _NO_BOUND)
        yield encoded.records
        at += encoded.rows
        if not encoded.rows:
            yield encoder.encode(event.rows.event(at))
            at += 1


def configured(prefix: str, broker: str) -> ConnectorConfig:
    """The configuration of a connector with nothing but defaults."""
    return parse_properties(
        {
            "topic.prefix": prefix,
            "database.hostname": "-",
            "database.user": "-",
            "database.password": "-",
            "database.dbname": "-",
            "minercdc.kafka.bootstrap.servers": broker,
        }
    )


def json_encoder(prefix: str, *, numbered: tuple[bool, bool] = (False, False), schemas: bool = False) -> EnvelopeEncoder:
    """The encoder of a connector with nothing but defaults; or with numbers of the schemas of keys, and values, as for other formats;
    or with the schemas themselves."""
    formats = TableFormats(
        TopicNames(configured(prefix, "-")),
        SourceBlock(prefix),
        ValueConfig.model_validate({f"{side}.converter.schemas.enable": schemas for side in SIDES}),
        ValueHandling(),
        RecordKeys(lambda schema: schema.key),
        ColumnFormats(lambda *_: True),
        by_number=numbered,
    )
    return EnvelopeEncoder(formats, OtherEvents(schema_changes=True), clock_ns=time.time_ns)


TEXT_STAGES: dict[str, Callable[[Sandbox, Path], Iterator[Measure]]] = {"text": text}
