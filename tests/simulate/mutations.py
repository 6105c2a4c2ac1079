"""Rules of the engine, each with a way to take it away; the simulation must find every one missing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.checker.mutations import MUTATIONS as CHECKED
from tests.checker.mutations import Mutation

from minercdc.capture.logminer import capture as capture_module
from minercdc.capture.logminer.buffer.buffered import BufferedAssembly
from minercdc.capture.logminer.buffer.delivery import Delivery
from minercdc.capture.logminer.logs.redo_logs import NO_BOUND
from minercdc.pipeline import engine
from minercdc.sinks.kafka.ownership import Ownership
from minercdc.sinks.kafka.partition_reader import PartitionReader
from minercdc.sinks.kafka.sink import KafkaSink
from minercdc.snapshot.incremental.window import Changes
from minercdc.stream.offset import Offset
from minercdc.stream.offset_json import offset_to_bytes


def _restart_past_what_is_open(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(BufferedAssembly, "_oldest", lambda self, thread, mark, scn: (mark, scn))


def _no_claims(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Ownership, "check", lambda *_: None)


def _offset_alone(patch: pytest.MonkeyPatch) -> None:
    """The offset is stored before the Kafka transaction with its records ends, outside of it."""
    whole = KafkaSink.commit

    def commit(self: KafkaSink, offset: Offset) -> None:
        self._client.produce(self._topics.offsets, self._name.encode(), offset_to_bytes(offset))
        whole(self, offset)

    patch.setattr(KafkaSink, "commit", commit)


def _window_lets_all_pass(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Changes, "current", lambda self, rows, floor: rows)


def _split_transactions_come_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(engine, "skip_sent", lambda events, *_: events)


def _snapshot_is_delivered_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Delivery, "is_snapshot", lambda *_: False)


def _switches_are_not_looked_for(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(capture_module, "switched_scn", lambda *_: NO_BOUND)


def _undecided_offsets_are_read(patch: pytest.MonkeyPatch) -> None:
    whole = PartitionReader.messages

    def messages(self: PartitionReader, topic: str, partition: int, *given: Any, **named: Any) -> Iterator[Any]:
        return whole(self, topic, partition, *given[:2], **{**named, "isolation": "read_uncommitted"})

    patch.setattr(PartitionReader, "messages", messages)


MUTATIONS: dict[str, Mutation] = {
    "a restart begins after the start of an open transaction": Mutation(_restart_past_what_is_open, 2),
    "delivered commits are not known after a restart": Mutation(CHECKED["delivered commits are not known"].remove, 2),
    "an instance does not look whose name it is": Mutation(_no_claims, 2),
    "the offset is stored outside of the Kafka transaction": Mutation(_offset_alone, 6),
    "chunks keep rows whose key the stream has changed": Mutation(_window_lets_all_pass, 1),
    "late strands are not selected": Mutation(CHECKED["rows are selected by SCN"].remove, 2),
    "rows of a rolled back savepoint stay": Mutation(CHECKED["undo rows take nothing out"].remove, 2),
    "partial XIDs are strangers": Mutation(CHECKED["partial XIDs are strangers"].remove, 11),
    "what is committed after a pass began does not wait": Mutation(
        CHECKED["what is committed after a pass began does not wait"].remove, 2
    ),
    "a split transaction comes again from its start": Mutation(_split_transactions_come_again, 1),
    "what the snapshot has comes again in the stream": Mutation(_snapshot_is_delivered_again, 2),
    "a log switch after the list was read is not looked for": Mutation(_switches_are_not_looked_for, 382),
    "rows of the marked record are taken again": Mutation(CHECKED["rows of the marked record are taken again"].remove, 5),
    "offsets of undecided transactions are read": Mutation(_undecided_offsets_are_read, 1),
}
