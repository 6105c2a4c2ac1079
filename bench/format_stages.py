"""What formats cost, with nothing around them: no database, fetch, buffer, registry or Kafka.

formats    SQL_REDO in memory -> key and value bytes, in each format of values and keys; on the Python path JSON and Avro
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
from bench.text_stages import NoRegistry, Prepare, TextStage, json_encoder, python, python_avro, scanning
from minercdc import native
from minercdc.config.messages.registries import Side as SideName
from minercdc.messages.avro.records import AvroFormat
from minercdc.messages.formats.cloud_events import CloudEventsFormat, CloudEventsOptions
from minercdc.messages.formats.converting import Format, RecordConverter, Side
from minercdc.messages.protobuf.records import ProtobufFormat
from minercdc.messages.protobuf.schema import ProtobufOptions
from minercdc.messages.registries.registered import ConfluentSchemas
from minercdc.messages.registries.subjects import TOPIC, subject_names

_ROWS, _PYTHON_ROWS, _PASSES = 24_000, 6_000, 6


def _schemas(side: SideName) -> ConfluentSchemas:
    return ConfluentSchemas(NoRegistry(), subject_names(TOPIC, side), auto_register=True, use_latest=False, normalize=False)


def _avro(side: SideName) -> Format:
    return AvroFormat(_schemas(side))


def _protobuf(side: SideName) -> Format:
    return ProtobufFormat(_schemas(side), ProtobufOptions(optional=True), skip_known=True)


_KINDS: dict[str, tuple[Callable[[SideName], Format] | None, Callable[[SideName], Format]]] = {
    "Avro": (_avro, _avro),
    "Protobuf": (_protobuf, _protobuf),
    "CloudEvents": (None, lambda _: CloudEventsFormat(CloudEventsOptions())),
    "CloudEvents, binary mode": (None, lambda _: CloudEventsFormat(CloudEventsOptions(binary=True))),
    "CloudEvents, data in Avro": (None, lambda side: CloudEventsFormat(CloudEventsOptions(), AvroFormat(_schemas(side)))),
    "CloudEvents in Avro": (
        None,
        lambda side: CloudEventsFormat(CloudEventsOptions(avro_envelope=True), AvroFormat(_schemas(side))),
    ),
}
_PYTHON = ("CloudEvents, data in Avro", "CloudEvents in Avro")
"""What only Python does, on the native path, too; it takes longer."""


def formats(_sandbox: Sandbox, _directory: Path) -> Iterator[Measure]:
    """JSON as it is printed, then each format; the best of some passes, taken in turns, as in `text`."""
    rows = list(islice(statements(_ROWS), _ROWS))
    gc.collect()
    gc.freeze()
    kinds: dict[str, Callable[[], Prepare]] = {"JSON": python, "Avro": python_avro}
    if native.rows is not None:
        kinds = {"JSON": lambda: scanning(json_encoder("bench").encode_run)}
        kinds |= {name: partial(_converted, *sides) for name, sides in _KINDS.items()}
    stages = [
        TextStage(f"text to key and value bytes, format: {name}", begin, rows[: _PYTHON_ROWS if is_slow else _ROWS])
        for name, begin in kinds.items()
        for is_slow in (native.rows is None or name in _PYTHON,)
    ]
    for _ in range(_PASSES):
        for stage in stages:
            stage.once()
    for stage in stages:
        yield stage.measure()


def _converted(key: Callable[[SideName], Format] | None, value: Callable[[SideName], Format]) -> Prepare:
    converter = RecordConverter(Side(key("key")) if key else None, Side(value("value")))
    encoder = json_encoder("bench", numbered=(key is not None, True))
    return scanning(converter.run_encoder(encoder.encode_run))


FORMAT_STAGES: dict[str, Callable[[Sandbox, Path], Iterator[Measure]]] = {"formats": formats}
