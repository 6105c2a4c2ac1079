"""Transforms the records of a run together, in the extension, by plans that are made of the first record of each kind.

A kind has one topic, one schema of keys and one of values, and the same rows: before, after, both; or no value. Its first record is
transformed in Python, and drawn beside (`drawn`): where the drawing gives the same record, it becomes the plan of all others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol, TypeAlias

from minercdc import native
from minercdc.errors import DecodeError, MinerCdcError
from minercdc.messages.formats.connect import DECIMAL, Schema
from minercdc.messages.formats.converting import KEY_HEADERS, Headers
from minercdc.messages.transforms.chain import Chain
from minercdc.messages.transforms.drawn import (
    Constant,
    Document,
    Drawn,
    DrawnRecord,
    NotDrawn,
    OrNull,
    Piece,
    Place,
    pieces,
    used,
)
from minercdc.messages.transforms.header_values import TEMPORAL, printed
from minercdc.messages.transforms.record import ConnectRecord, Typed
from minercdc.stream.contracts import Record

if TYPE_CHECKING:
    from minercdc.native._rows import RecordShape

_ROWS = (("after",), ("before", "after"), ("before",))
"""Which rows a value has, by its kind."""
_PLAIN = ("string", "bytes", "boolean", "int8", "int16", "int32", "int64")
_MOST_HEADERS = 16  # of different pipelines
_Side: TypeAlias = "bool | None | list[Piece]"
_Plan: TypeAlias = "tuple[str | None, _Side, _Side, tuple[tuple[str, bytes | None | int], ...]]"
"""See `RecordPlan`."""
_Shapes: TypeAlias = "dict[str, tuple[RecordShape | None, RecordShape | None]]"


class Transformer(Protocol):
    """What transforms single records (`encoding.RecordTransformer`)."""

    def record(self, record: Record) -> Record | None:
        """A transformed record; None when it is left out."""

    def typed(self, document: bytes | None) -> Typed | None:
        """A key or value with its schema; None for one without."""

    def head(self, schema: Schema) -> bytes:
        """What a key or value of a schema begins with, up to its payload; `}` ends it."""

    def check_topic(self, topic: str) -> None:
        """Raises DecodeError for a topic that no record may be routed to."""


class WholeRuns:
    """The plans of a chain; needs the extension.

    :param transformer: by which Python transforms a record.
    :param finish: takes the schemas out of a transformed record; None where they stay.
    """

    def __init__(self, transformer: Transformer, chain: Chain, finish: Callable[[Record], Record] | None = None) -> None:
        self._transformer, self._chain, self._finish = transformer, chain, finish
        # By the headers that all records of a run have, as `extended.headers.enabled` gives them.
        self._by_headers: dict[Headers, tuple[_Shapes, dict[tuple[str, bytes | None, bytes | None], _Kinds]]] = {}
        self._routed: set[str] = set()  # topics that plans name instead of those of their records

    def transformed(self, records: Sequence[Record]) -> Sequence[Record] | None:
        """The records of a run, transformed, without those that are left out; None where they are to be transformed one by one, as
        for an error. Raises ConfigError as `RecordTransformer.record`."""
        if native.rows is None or not isinstance(records, native.rows.Records):
            return None
        headers: Headers = records.headers
        if headers not in self._by_headers:
            if len(self._by_headers) == _MOST_HEADERS:
                self._by_headers.clear()
            self._by_headers[headers] = ({}, {})
        shapes, known = self._by_headers[headers]

        def otherwise(record: Record) -> Record | None:
            done = self._transformer.record(record)
            if done is record:  # without schemas
                return record if self._finish is None else self._finish(record)
            if done is not None and self._finish is not None:
                done = self._finish(done)
            if record.headers == headers:
                self._learn(record, done, shapes, known)
            return done

        try:
            done: Sequence[Record] | None = native.rows.transform_records(records, shapes, otherwise)
            if done is not None and self._routed:
                assert isinstance(done, native.rows.Records)
                for topic in done.new_topics(set()) & self._routed:
                    self._transformer.check_topic(topic)
        except DecodeError:
            return None
        return done

    def _learn(
        self,
        record: Record,
        done: Record | None,
        shapes: _Shapes,
        known: dict[tuple[str, bytes | None, bytes | None], _Kinds],
    ) -> None:
        """Make the plan of a record's kind, unless there is one, or it is known that there is none."""
        key, value = self._transformer.typed(record.key), self._transformer.typed(record.value)
        heads = _head(record.key, key), _head(record.value, value)
        kinds = known.get((record.topic, *heads))
        if kinds is None:
            kinds = known[record.topic, *heads] = _Kinds(heads)
        kind = _kind(value)
        if not kinds.knows(kind):
            plan = None
            with suppress(NotDrawn, MinerCdcError, LookupError, TypeError, ValueError):
                plan = self._planned(record, key, value, kind)
            kinds.put(kind, plan, record, done)
            if done is not None and done.topic != record.topic:
                self._routed.add(done.topic)
        of_topic = shapes.get(record.topic, (None, None))
        shapes[record.topic] = (of_topic[0], kinds.shape) if value is None else (kinds.shape, of_topic[1])

    def _planned(
        self, record: Record, key: Typed | None, value: Typed | None, kind: int
    ) -> tuple[Document, _Plan, set[int]]:
        """The plan of a record's kind: the document, what becomes of it, and the numbers of the values that it is made of. Raises
        NotDrawn."""
        assert native.rows is not None
        if kind < 0:
            raise NotDrawn
        rows = {name: name in _ROWS[kind] for name in ("before", "after")}
        document = Document(None if value is None else value.schema, None if key is None else key.schema, rows)
        given = ConnectRecord(
            record.topic, key, value, tuple((name, text) for name, text in record.headers if text is not None)
        )
        if len(given.headers) != len(record.headers) or any(
            text.startswith(b"{") for _, text in given.headers if isinstance(text, bytes)
        ):
            raise NotDrawn
        drawing = DrawnRecord(
            record.topic,
            None if key is None else Place(document.of_value),
            None if value is None else Place(0),
            record.headers,
        )
        found = self._chain.drawn(given, drawing, document)
        if found is None:
            return document, (None, None, None, ()), set()
        made, drawn = found
        key_pieces = self._side(document, key, made.key, drawn.key, document.of_value)
        value_pieces = self._side(document, value, made.value, drawn.value, 0)
        looked_at: set[int] = set()
        for side, side_pieces in ((drawn.key, key_pieces), (drawn.value, value_pieces)):
            if isinstance(side_pieces, list):
                looked_at |= set(used(side))
        headers = tuple(map(_header, made.headers, drawn.headers))
        looked_at |= {content for _, content in headers if isinstance(content, int)}
        return document, (made.topic, key_pieces, value_pieces, headers), looked_at

    def _side(self, document: Document, given: Typed | None, made: Typed | None, drawn: Drawn | None, number: int) -> _Side:
        assert native.rows is not None
        if made is None or drawn is None:
            if made is not None or drawn is not None:
                raise NotDrawn
            return None
        if self._finish is not None:
            return pieces(document, drawn, native.rows.CONSTANTS)
        if made is given and drawn == Place(number):
            return True
        return pieces(document, drawn, native.rows.CONSTANTS, self._transformer.head(made.schema), b"}")


def _kind(value: Typed | None) -> int:
    """The number of a value's rows in `_ROWS`, 0 for none; negative for a value that has other rows, or is no envelope."""
    if value is None:
        return 0
    found = value.value
    if not value.schema.get("fields") or not isinstance(found, dict) or not {"before", "after"} <= found.keys():
        return -1
    rows = tuple(name for name in ("before", "after") if found[name] is not None)
    return _ROWS.index(rows) if rows in _ROWS else -1


def _head(document: bytes | None, content: Typed | None) -> bytes | None:
    return None if document is None or content is None else document[: -len(content.text) - 1]


def _header(made: tuple[str, Typed | bytes], drawn: tuple[str, bytes | None | Drawn]) -> tuple[str, bytes | None | int]:
    """A header as its constant, or the number of its value. Raises NotDrawn where it is more than that."""
    (name, content), (drawn_name, source) = made, drawn
    if name != drawn_name or name in KEY_HEADERS:
        raise NotDrawn
    if isinstance(content, bytes):
        return name, content
    if isinstance(source, Constant):
        return name, printed(content)
    kind, logical = content.schema["type"], content.schema.get("name")
    if not isinstance(source, Place | OrNull) or kind not in _PLAIN or logical == DECIMAL or logical in TEMPORAL:
        raise NotDrawn
    return name, source.number


class _Kinds:
    """The plans of records with the same topic and schemas, by their kind.

    :param heads: what keys and values begin with.
    :ivar shape: the same for the extension; None before the first plan.
    """

    def __init__(self, heads: tuple[bytes | None, bytes | None]) -> None:
        self._heads = heads
        self._known: set[int] = set()
        self._plans: list[_Plan | None] = [None, None, None]
        self._looked_at: set[int] = set()
        self._document: Document | None = None
        self._rows: tuple[int, int] | tuple[()] = ()
        self.shape: RecordShape | None = None

    def knows(self, kind: int) -> bool:
        return kind in self._known

    def put(self, kind: int, planned: tuple[Document, _Plan, set[int]] | None, record: Record, done: Record | None) -> None:
        """Add the plan of a kind, None for none; a plan that does not make of a record what it became is none.

        :param planned: the document, the plan, and the numbers of the values that it is made of.
        :param done: what the record became in Python.
        """
        former = (self._known.copy(), self._plans.copy(), self._looked_at, self._rows)
        self._known.add(kind)
        if planned is None:
            return
        self._document, self._plans[kind], looked_at = planned
        self._looked_at = self._looked_at | looked_at
        if self._document.asked:
            self._rows = self._document.row_numbers
        elif not self._rows and record.value is not None:
            self._known, self._plans = {0, 1, 2}, [self._plans[kind]] * 3
        self.shape = self._shape()
        if self.shape.made(record.key, record.value) != _plain(done):
            _, self._plans, self._looked_at, self._rows = former
            self.shape = self._shape()

    def _shape(self) -> RecordShape:
        assert native.rows is not None
        assert self._document is not None
        document, looked_at = self._document, {*self._looked_at, *self._rows}
        nodes = native.rows.Nodes(document.nodes(looked_at, native.rows.CONSTANTS))
        plans = [None if plan is None else native.rows.RecordPlan(nodes, *plan) for plan in self._plans]
        looks = (any(n >= document.of_value for n in looked_at), any(n < document.of_value for n in looked_at))
        shape: RecordShape = native.rows.RecordShape(self._heads, nodes, document.of_value, looks, self._rows, plans)
        return shape


def _plain(done: Record | None) -> tuple[str | None, bytes | None, bytes | None, Headers]:
    return (None, None, None, ()) if done is None else (done.topic, done.key, done.value, done.headers)
