"""What a connector without Kafka wrote, as messages that `tests.torture.chain` judges."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.connector import properties, write
from tests.e2e.lab import Lab

from minercdc.sinks.segments.reader import Place, SegmentLog


@dataclass(frozen=True, slots=True)
class Written:
    """A record, with the methods of a Kafka message."""

    number: int
    of_topic: str
    of_key: bytes | None
    of_value: bytes | None

    def topic(self) -> str:
        return self.of_topic

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self.number

    def key(self) -> bytes | None:
        return self.of_key

    def value(self) -> bytes | None:
        return self.of_value


def written(kind: str, path: Path) -> list[Written]:
    """Everything committed so far."""
    return list(_segments(path) if kind == "segments" else _lines(path))


def _segments(path: Path) -> Iterator[Written]:
    log = SegmentLog(path)
    if not log.numbers():
        return
    begin = Place(log.numbers()[0], 0)
    for start, until in log.ranges(begin, log.reach(begin)):
        for one in log.read(start, until):
            yield Written(one.number, one.topic, one.key, one.value)


def _lines(path: Path) -> Iterator[Written]:
    offset = path.with_name(f"{path.name}.offset")
    length = json.loads(offset.read_bytes())["length"] if offset.exists() else 0
    for number, line in enumerate(path.read_bytes()[:length].splitlines() if length else []):
        document = json.loads(line)
        key, value = (
            None if document[part] is None else json.dumps(document[part], separators=(",", ":")).encode()
            for part in ("key", "value")
        )
        yield Written(number, document["topic"], key, value)


def await_written(kind: str, path: Path, enough: Callable[[list[Written]], bool], seconds: float = 60) -> list[Written]:
    """Until there is enough; fails after some time."""
    deadline = time.monotonic() + seconds
    while not enough(found := written(kind, path)):
        assert time.monotonic() < deadline, f"not in time: {found[-3:]}"
        time.sleep(0.02)
    return found


def sink_config(lab: Lab, kind: str, **changes: object) -> tuple[Path, Path]:
    """A configuration without Kafka, and where its records go."""
    path = lab.directory / ("segments" if kind == "segments" else "changes.jsonl")
    settings: dict[str, object] = {"debezium_sink_type": kind, "minercdc_sink_path": path}
    settings |= {"schema_include_list": lab.schema, "minercdc_kafka_bootstrap_servers": None}
    config = properties(lab.server, "", lab.name, lab.directory, **(settings | changes))
    return write(config, lab.directory / f"{kind}.yaml"), path
