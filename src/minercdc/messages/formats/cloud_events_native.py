"""Describes CloudEvents to the extension: an event is a frame around `before` and `after`, with values of `source` in it.

The same as `cloud_events.py` makes, which makes those that are more: ids of rows without a ROWID, and envelopes with a transaction.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, TypeAlias

from minercdc.messages.formats.connect import Schema
from minercdc.messages.transforms.drawn import Document, NotDrawn, Piece, put_text

if TYPE_CHECKING:
    from minercdc.native._rows import Nodes

_INTEGERS = ("int8", "int16", "int32", "int64")
_Part: TypeAlias = "str | tuple[str, int]"
"""A text as it is in JSON; or the kind of a piece (`piece_kind`, without its prefix), and the value that it is made of."""
Header: TypeAlias = "tuple[str, bytes | int | list[list[Piece]]]"


class EventPlan:
    """How envelopes of one schema become events.

    :param fields: the envelope's members by their names.
    :param constants: of the compiled code, by name.
    :param extension: makes an attribute's name of a member's.
    :param transaction: names of members of `transaction`, which is null, as they are in attributes.
    :raises NotDrawn: these envelopes are only Python's.
    """

    def __init__(
        self,
        envelope: Schema,
        fields: Mapping[str, Schema],
        constants: Mapping[str, int],
        extension: Callable[[str], str],
        transaction: Sequence[str],
    ) -> None:
        self._document = Document(envelope, None, {})
        self._constants, self._extension, self._transaction = constants, extension, transaction
        self._numbers = {name: self._document.child_or_null(0, name) for name in fields}
        source = fields["source"]
        if source.get("optional") or list(fields)[:3] != ["before", "after", "source"]:
            raise NotDrawn
        self._source = {member["field"]: member for member in source["fields"]}
        if not all(member["type"] in ("string", *_INTEGERS) for member in self._source.values()):
            raise NotDrawn
        if not {"name", "ts_ms"} <= self._source.keys() or self._source["ts_ms"]["type"] not in _INTEGERS:
            raise NotDrawn

    def nodes(self, native: type[Nodes], *, data_only: bool = False) -> Nodes:
        """The nodes of an envelope; with `data_only` nothing is looked for beside the rows."""
        looked_at = {self._numbers["before"], self._numbers["after"]}
        if not data_only:
            looked_at |= {self._of_source(name) for name in self._source} | {self._numbers["op"]}
        return native(self._document.nodes(looked_at, self._constants))

    def _of_source(self, name: str) -> int:
        return self._document.child_or_null(self._numbers["source"], name)

    def data(self, head: str = "", tail: str = "") -> list[_Part]:
        """Parts of `data`, with the text of a frame around it."""
        return [f'{head}{{"before":', ("ROWS", self._numbers["before"]), f"}}{tail}"]

    def structured(self, content_type: str, data: Sequence[_Part], *, extensions: bool) -> list[list[Piece]]:
        """The pieces of an event in JSON, for changes of a transaction and for rows that were read."""
        members: list[_Part] = []
        for name, part in self._attributes(content_type, extensions=extensions):
            members += [f",{encode_basestring(name)}:", part if isinstance(part, tuple) else json.dumps(part)]
        time: list[_Part] = ['","time":"', ("TIME", self._of_source("ts_ms")), '"']
        source: list[_Part] = ['","source":"/debezium/oracle/', ("BARE", self._of_source("name"))]
        frame = [*source, '","specversion":"1.0","type":"io.debezium.connector.oracle.DataChangeEvent', *time]
        return [self.pieces(['{"id":"', *one, *frame, *members, ',"data":', *data, "}"]) for one in self._ids()]

    def headers(self, content_type: str, *, extensions: bool) -> tuple[Header, ...]:
        """The attributes of an event as headers."""
        source = self.pieces(["/debezium/oracle/", ("BARE", self._of_source("name"))])
        found: list[Header] = [
            ("content-type", content_type.encode()),
            ("ce_id", [self.pieces(one) for one in self._ids()]),
            ("ce_source", [source]),
            ("ce_specversion", b"1.0"),
            ("ce_type", b"io.debezium.connector.oracle.DataChangeEvent"),
            ("ce_time", [self.pieces([("TIME", self._of_source("ts_ms"))])]),
        ]
        for name, part in list(self._attributes(content_type, extensions=extensions))[1:]:
            if isinstance(part, tuple):
                found.append((f"ce_{name}", part[1]))
        return tuple(found)

    def _attributes(self, content_type: str, *, extensions: bool) -> Iterable[tuple[str, str | tuple[str, int] | None]]:
        """Names and values of the attributes from `datacontenttype` on: a text, a part, or None for null."""
        yield "datacontenttype", content_type
        if not extensions:
            return
        yield "iodebeziumop", ("COPY", self._numbers["op"])
        for name, member in self._source.items():
            yield self._extension(name), ("QUOTED" if member["type"] == "int64" else "COPY", self._of_source(name))
        for short in self._transaction:
            yield self._extension(short), None

    def _ids(self) -> Iterable[list[_Part]]:
        """Parts of the id of a change, and of a row that was read."""
        common: list[_Part] = []
        for name in ("name", "scn", "commit_scn", "lcr_position"):
            common += [f"{name}:", self._shown(name), ";"]
        common += ["table:", self._shown("db"), ".", self._shown("schema"), ".", self._shown("table")]
        common += [";op:", ("BARE", self._numbers["op"]), ";"]
        if "transaction" in self._numbers:
            common.append(("IS_NULL", self._numbers["transaction"]))
        if "txSeq" in self._source:
            sequence = self._of_source("txSeq")
            yield [*common, "change:", self._shown("txId"), "/", ("GIVEN", sequence)]
            common.append(("IS_NULL", sequence))
        if "row_id" in self._source:
            yield [*common, "row:", ("GIVEN", self._of_source("row_id"))]

    def _shown(self, name: str) -> _Part:
        return ("BARE", self._of_source(name)) if name in self._source else "null"

    def pieces(self, parts: Iterable[_Part]) -> list[Piece]:
        """The pieces of a text."""
        found: list[Piece] = []
        text = self._constants["PIECE_TEXT"]
        for part in parts:
            if isinstance(part, str):
                put_text(found, text, part.encode())
            elif part[0] == "ROWS":
                found.append((self._constants["PIECE_COPY"], part[1], self._numbers["after"], b""))
            else:
                found.append((self._constants[f"PIECE_{part[0]}"], part[1], part[1], b""))
        return found
