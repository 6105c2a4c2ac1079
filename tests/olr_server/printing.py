"""Transactions, DDL and checkpoints as OpenLogReplicator prints them: JSON as Debezium's manual has it set up, or protobuf."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from tests.olr_server.feed import Checkpoint, Committed, Unit
from tests.olr_server.wire import RESPONSE, encode
from tests.sandbox_capture.lab import canonical

from minercdc.schema.table import Column, TableSchema
from minercdc.stream.events import UNAVAILABLE, ChangeEvent, Row, SchemaChange

_OPS = ("begin", "commit", "c", "u", "d", "ddl", "chkpt")
_NUMBERS = ("NUMBER", "FLOAT", "BINARY_FLOAT", "BINARY_DOUBLE")
_SPECIAL = {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}
_MARK = "\x00bare "


@dataclass(frozen=True)
class Style:
    """How messages are printed.

    :param meaning: of `c_scn`: SCN of the block with the COMMIT, or of the transaction's begin.
    :param ends: print `b_scn` and `e_scn` (bits 2 and 8 of `scn-type`).
    :param whole: a transaction is one message.
    :param hex: SCNs as `scns`.
    :param block: most SCNs in a block of redo; it ends after a second, too, for a log writer does not wait for more.
    :param xid: format of the XID, 0 to 3.
    :param dates: as numbers of nanoseconds, or as text.
    :param times: unit of the messages' own times (`timestamp-metadata`).
    """

    meaning: Literal["commit", "begin"] = "commit"
    format: Literal["json", "protobuf"] = "json"
    ends: bool = True
    whole: bool = False
    hex: bool = False
    xid: int = 0
    block: int = 8
    dates: Literal["ns", "text"] = "ns"
    times: Literal["ns", "ms"] = "ns"

    def time(self, microseconds: int) -> int:
        """A time of a message."""
        return microseconds * 1_000 if self.times == "ns" else microseconds // 1_000


class Printer:
    """Prints units in order, and counts their places."""

    def __init__(self, style: Style) -> None:
        self._style = style
        self._place = (0, 0)
        self._begun: tuple[int, int] | None = None  # SCN and time of the block that is being written

    def messages(self, unit: Unit) -> Iterator[tuple[tuple[int, int], bytes]]:
        """Place and bytes of each message."""
        if isinstance(unit, Committed):
            yield from self._transaction(unit)
        elif isinstance(unit, Checkpoint):
            head = {"scn": unit.scn, "tm": self._style.time(unit.time_us)}
            block = self._block(unit.scn, unit.time_us)
            self.pass_over(unit)
            yield self._printed(block, head, [{"op": "chkpt", "seq": 1, "offset": 1024}])
        else:
            yield from self._ddl(unit)

    def pass_over(self, checkpoint: Checkpoint) -> None:
        """A checkpoint, whether it is printed or not, ends a block that is old enough."""
        if self._begun is not None and checkpoint.time_us > self._begun[1] + 1_000_000:
            self._begun = None

    def _block(self, scn: int, time_us: int) -> int:
        """SCN of the block of redo that holds a record."""
        if self._style.meaning == "begin":
            return scn
        if self._begun is None or scn >= self._begun[0] + self._style.block:
            self._begun = scn, time_us
        return self._begun[0]

    def _ddl(self, unit: SchemaChange) -> Iterator[tuple[tuple[int, int], bytes]]:
        table = unit.after or unit.before
        assert table is not None
        head = {"scn": unit.scn, "tm": self._style.time(unit.time_us), "xid": unit.tx_id}
        if self._style.ends and self._style.format == "json":
            head |= {"b_scn": unit.scn, "e_scn": unit.scn}
        schema = {"owner": unit.table.schema, "table": unit.table.table, "obj": table.object_id}
        for op in ({"op": "begin"}, {"op": "ddl", "schema": schema, "sql": unit.ddl}, {"op": "commit"}):
            yield self._printed(self._block(unit.scn, unit.time_us), head, [op])

    def _transaction(self, unit: Committed) -> Iterator[tuple[tuple[int, int], bytes]]:
        info, style = unit.info, self._style
        ends: dict[str, Any] = {}
        if style.ends and style.format == "json":
            ends = {"b_scn": info.start_scn, "e_scn": info.commit_scn, "e_tm": self._style.time(info.commit_us)}
        parts: list[tuple[dict[str, Any], dict[str, Any]]] = []
        parts.append(({"scn": info.start_scn, "tm": self._style.time(info.start_us)}, {"op": "begin"}))
        for number, change in enumerate(unit.changes):
            parts.append(({"scn": change.scn, "tm": self._style.time(change.time_us)}, self._change(number, change)))
        parts.append(({"scn": info.commit_scn, "tm": self._style.time(info.commit_us)}, {"op": "commit"}))
        c_scn = info.start_scn if style.meaning == "begin" else self._block(info.commit_scn, info.commit_us)
        if style.whole:
            yield self._printed(c_scn, {**parts[0][0], **ends, "xid": info.id}, [op for _, op in parts])
            return
        for head, op in parts:
            yield self._printed(c_scn, {**head, **ends, "xid": info.id}, [op])

    def _change(self, number: int, change: ChangeEvent) -> dict[str, Any]:
        schema = change.schema
        found: dict[str, Any] = {"op": change.op.value, "num": number, "rid": change.row_id}
        found["schema"] = {"owner": schema.id.schema, "table": schema.id.table, "obj": schema.object_id}
        found["schema"]["columns"] = [{"name": column.name, "type": column.type_name.lower()} for column in schema.columns]
        for name, row in (("before", change.before), ("after", change.after)):
            if row is not None:
                found[name] = dict(self._values(schema, canonical(schema, row)))
        return found

    def _values(self, schema: TableSchema, row: Row | None) -> Iterator[tuple[str, Any]]:
        for column, value in zip(schema.columns, row or (), strict=True):
            if isinstance(value, str):
                yield column.name, self._value(column, value)
            elif value is not UNAVAILABLE:
                yield column.name, None

    def _value(self, column: Column, text: str) -> Any:
        name = column.type_name
        if name in _NUMBERS:
            return _MARK + _SPECIAL.get(text, text)
        if name in ("DATE", "TIMESTAMP", "TIMESTAMP WITH LOCAL TIME ZONE"):
            return text if self._style.dates == "text" or text.startswith("-") else f"{_MARK}{_nanoseconds(text)}"
        if name == "TIMESTAMP WITH TIME ZONE":
            stem, _, zone = text.rpartition(" ")
            sign = -1 if zone.startswith("-") else 1
            minutes = sign * (int(zone[1:3]) * 60 + int(zone[4:6]))
            return f"{_nanoseconds(stem) - minutes * 60 * 10**9},{zone}"
        if name == "INTERVAL DAY TO SECOND":
            return text.replace(" ", ",")
        return text

    def _printed(
        self, c_scn: int, head: Mapping[str, Any], operations: list[dict[str, Any]]
    ) -> tuple[tuple[int, int], bytes]:
        scn, index = self._place
        self._place = (c_scn, index + 1 if scn == c_scn else 0)
        if self._style.format == "protobuf":
            return self._place, _protobuf(self._place, head, operations)
        document: dict[str, Any] = {}
        for name, content in head.items():
            if name.endswith("scn") and self._style.hex:
                document[name + "s"] = f"0x{content:016x}"
            elif name == "xid":
                document |= _xid(content, self._style.xid)
            else:
                document[name] = content
        document |= {"c_scn": self._place[0], "c_idx": self._place[1], "db": "ORCLPDB1", "payload": operations}
        text = json.dumps(document, ensure_ascii=False)
        return self._place, re.sub(r'"\\u0000bare ([^"]*)"', r"\1", text).encode()


def _xid(xid: str, style: int) -> dict[str, Any]:
    undo, slot, sequence = struct.unpack("<HHI", bytes.fromhex(xid))
    if style == 1:
        return {"xid": f"{undo}.{slot}.{sequence}"}
    if style == 2:
        return {"xidn": undo << 48 | slot << 32 | sequence}
    return {"xid": xid.upper() if style == 3 else f"0x{undo:04x}.{slot:03x}.{sequence:08x}"}


def _nanoseconds(text: str) -> int:
    stem, _, fraction = text.partition(".")
    seconds = (datetime.fromisoformat(stem) - datetime(1970, 1, 1)).total_seconds()
    return int(seconds) * 10**9 + int(fraction.ljust(9, "0") if fraction else 0)


def _protobuf(place: tuple[int, int], head: Mapping[str, Any], operations: list[dict[str, Any]]) -> bytes:
    document: dict[str, Any] = {"code": 5, **{name: content for name, content in head.items() if name != "xid"}}
    if head.get("xid"):
        document["xid"] = _xid(head["xid"], 0)["xid"]
    return encode(RESPONSE, {**document, "payload": [*map(_payload, operations)], "c_scn": place[0], "c_idx": place[1]})


def _payload(operation: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"op": _OPS.index(operation["op"])}
    if schema := operation.get("schema"):
        found["schema"] = {"owner": schema["owner"], "name": schema["table"], "obj": schema["obj"]}
    for name, theirs in (("rid", "rid"), ("sql", "ddl"), ("num", "num")):
        if operation.get(name):
            found[theirs] = operation[name]
    for image in ("before", "after"):
        if image in operation:
            found[image] = [_protobuf_value(name, content) for name, content in operation[image].items()]
    return found


def _protobuf_value(name: str, content: Any) -> dict[str, Any]:
    if content is None:
        return {"name": name}
    if content.startswith(_MARK):
        number = content.removeprefix(_MARK)
        if re.fullmatch(r"-?\d{1,17}", number):
            return {"name": name, "value_int": int(number)}
        return {"name": name, "value_string": number}
    return {"name": name, "value_string": content}
