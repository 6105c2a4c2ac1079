"""Judges a table topic by its own rows: every change must begin where the key's last one ended.

With all columns logged, the before image of an update or delete is the whole row. So per key, read in topic order:
an insert or snapshot row finds no row, an update or delete finds exactly the row that the last record left, and at the end
what is left is the table. A lost, repeated, reordered or rolled-back change breaks the chain somewhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Message

Image = dict[str, Any]


@dataclass(slots=True)
class Chain:
    """What is left of a topic after reading it.

    :ivar rows: key (JSON text) -> row.
    :ivar breaks: what is wrong, with topic partition and offset.
    """

    rows: dict[str, Image] = field(default_factory=dict)
    breaks: list[str] = field(default_factory=list)
    operations: dict[str, int] = field(default_factory=dict)

    def take(self, messages: Iterable[Message]) -> Chain:
        for message in messages:
            key = (message.key() or b"").decode()
            value = message.value()
            if value is None:
                if key in self.rows:
                    self._broken(message, "a tombstone for a row that is there")
                continue
            envelope = json.loads(value)
            self.operations[envelope["op"]] = self.operations.get(envelope["op"], 0) + 1
            self._apply(message, key, envelope["op"], envelope["before"], envelope["after"])
        return self

    def _apply(self, message: Message, key: str, op: str, before: Image | None, after: Image | None) -> None:
        known = self.rows.get(key)
        if op in ("c", "r"):
            if known is not None:
                self._broken(message, f"op {op} for a row that is there: {known}")
        elif known != before:
            self._broken(message, f"op {op} begins at {before}, the last record ended at {known}")
        if after is None:
            self.rows.pop(key, None)
        else:
            self.rows[key] = after

    def _broken(self, message: Message, what: str) -> None:
        where = f"{message.topic()}[{message.partition()}]@{message.offset()}"
        self.breaks.append(f"{where} key {(message.key() or b'').decode()}: {what}")

    def differs_from(self, table: Mapping[str, Image]) -> list[str]:
        """Where what is left differs from the table's rows."""
        keys = self.rows.keys() | table.keys()
        return [
            f"{key}: topic {self.rows.get(key)}, table {table.get(key)}"
            for key in sorted(keys)
            if self.rows.get(key) != table.get(key)
        ]
