"""What transformations cost, with nothing around them: no database, fetch, buffer or Kafka.

transforms    SQL_REDO in memory -> key and value bytes in JSON on the native path, through each kind of chain
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path

from bench.processes import Sandbox
from bench.redo_text import statements
from bench.report import Measure
from bench.text_stages import Prepare, TextStage, json_encoder, scanning
from minercdc import native
from minercdc.config.transforms.chain import take_transformations
from minercdc.messages.formats.converting import RecordConverter, Side
from minercdc.messages.formats.json_format import JsonFormat
from minercdc.messages.transforms.catalog import chain_of
from minercdc.messages.transforms.encoding import RecordTransformer

_ROWS, _PYTHON_ROWS, _PASSES = 24_000, 6_000, 6
_KAFKA, _DEBEZIUM = "org.apache.kafka.connect.transforms.", "io.debezium.transforms."
_UNWRAP: tuple[str, dict[str, str]] = (f"{_DEBEZIUM}ExtractNewRecordState", {})
_CEL = {"language": "cel"}
_ALL = {"regex": "(.*)", "replacement": "all"}
_CHAINS: dict[str, list[tuple[str, dict[str, str]]]] = {
    "RegexRouter": [(f"{_KAFKA}RegexRouter", _ALL)],
    "ByLogicalTableRouter": [(f"{_DEBEZIUM}ByLogicalTableRouter", {"topic.regex": "(.*)", "topic.replacement": "all"})],
    "ExtractNewRecordState": [_UNWRAP],
    "ExtractNewRecordState, op and scn": [(_UNWRAP[0], {"add.fields": "op,scn"})],
    "ExtractNewRecordState, rewrite": [(_UNWRAP[0], {"delete.tombstone.handling.mode": "rewrite"})],
    "ExtractChangedRecordState": [(f"{_DEBEZIUM}ExtractChangedRecordState", {"header.changed.name": "changed"})],
    "Filter": [(f"{_DEBEZIUM}Filter", {**_CEL, "condition": "value.op != 'd'"})],
    "ContentBasedRouter": [(f"{_DEBEZIUM}ContentBasedRouter", {**_CEL, "topic.expression": "topic + '.' + value.op"})],
    "TimezoneConverter": [(f"{_DEBEZIUM}TimezoneConverter", {"converted.timezone": "Europe/Berlin"})],
    "InsertHeader": [(f"{_KAFKA}InsertHeader", {"header": "h", "value.literal": "v"})],
    "InsertHeader, HeaderToValue": [
        (f"{_KAFKA}InsertHeader", {"header": "h", "value.literal": "v"}),
        (f"{_DEBEZIUM}HeaderToValue", {"headers": "h", "fields": "h", "operation": "move"}),
    ],
    "Flatten": [(f"{_KAFKA}Flatten$Value", {})],
    "unwrap, ReplaceField": [_UNWRAP, (f"{_KAFKA}ReplaceField$Value", {"renames": "ID:id"})],
    "unwrap, MaskField": [_UNWRAP, (f"{_KAFKA}MaskField$Value", {"fields": "ID"})],
    "unwrap, InsertField": [_UNWRAP, (f"{_KAFKA}InsertField$Value", {"topic.field": "topic"})],
    "unwrap, Cast": [_UNWRAP, (f"{_KAFKA}Cast$Value", {"spec": "ID:string"})],
    "unwrap, HoistField": [_UNWRAP, (f"{_KAFKA}HoistField$Value", {"field": "row"})],
    "unwrap, SetSchemaMetadata": [_UNWRAP, (f"{_KAFKA}SetSchemaMetadata$Value", {"schema.name": "Row"})],
    "unwrap, ValueToKey": [
        _UNWRAP,
        (f"{_KAFKA}Filter", {"predicate": "gone"}),
        (f"{_KAFKA}ValueToKey", {"fields": "CREATED_AT"}),
    ],
}
_PYTHON = ("ExtractChangedRecordState", "Filter", "ContentBasedRouter", "TimezoneConverter")
"""What only Python does; it takes longer."""


def transforms(_sandbox: Sandbox, _directory: Path) -> Iterator[Measure]:
    """The plain path, then each chain; the best of some passes, taken in turns, as in `text`."""
    if native.rows is None:
        return
    rows = list(islice(statements(_ROWS), _ROWS))
    gc.collect()
    gc.freeze()
    kinds: dict[str, Callable[[], Prepare]] = {"none": lambda: scanning(json_encoder("bench").encode_run)}
    kinds |= {name: partial(_transformed, steps) for name, steps in _CHAINS.items()}
    stages = [
        TextStage(
            f"text to key and value bytes, transforms: {name}", begin, rows[: _PYTHON_ROWS if name in _PYTHON else _ROWS]
        )
        for name, begin in kinds.items()
    ]
    for _ in range(_PASSES):
        for stage in stages:
            stage.once()
    for stage in stages:
        yield stage.measure()


def _transformed(steps: list[tuple[str, dict[str, str]]]) -> Prepare:
    properties = {"transforms": ",".join(f"t{i}" for i in range(len(steps)))}
    for i, (kind, options) in enumerate(steps):
        properties |= {
            f"transforms.t{i}.type": kind,
            **{f"transforms.t{i}.{name}": value for name, value in options.items()},
        }
    properties |= {"predicates": "gone", "predicates.gone.type": f"{_KAFKA}predicates.RecordIsTombstone"}
    problems: list[str] = []
    transformer = RecordTransformer(chain_of(take_transformations(properties, problems)))
    assert not problems, problems
    side = Side(JsonFormat(schemas=False))
    encode_run = transformer.run_encoder(json_encoder("bench", numbered=(True, True)).encode_run)
    return scanning(RecordConverter(side, side).run_encoder(encode_run))


TRANSFORM_STAGES: dict[str, Callable[[Sandbox, Path], Iterator[Measure]]] = {"transforms": transforms}
