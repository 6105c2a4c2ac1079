"""What a chain makes of a record, drawn once for all records of a kind: each key, value and header as pieces of the document it came from.

document    {"before":null,"after":{"ID":1,"N":"x"},"source":{..},..}   its values, numbered: `Document`
unwrapped   Struct(base=2, members=(("__op", Place(9)),))               the value 2 without its last brace, and one more member
pieces      OPEN 2, TEXT `,"__op":`, COPY 9, TEXT `}`                   what the extension copies for each record (native/pieces.h)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from json.encoder import encode_basestring
from typing import TypeAlias

from minercdc.messages.formats.connect import Schema

_ROWS = ("before", "after")
_DEEPEST = 16  # the compiled code calls itself for each struct in a struct
Node: TypeAlias = tuple[int, bytes, int, bytes]
"""Kind, text before the value, number of the first node that is not below it, and what ends it; see `node` in pieces.h."""
Piece: TypeAlias = tuple[int, int, int, bytes]
"""Kind, first and last value, text; see `text_piece` in pieces.h."""


class NotDrawn(Exception):
    """A record has to be transformed in Python, for what it becomes is more than pieces of it."""


@dataclass(frozen=True, slots=True)
class Place:
    """The value of this number, as it is."""

    number: int


@dataclass(frozen=True, slots=True)
class OrNull:
    """The value of this number; null within a struct that is null."""

    number: int


@dataclass(frozen=True, slots=True)
class Constant:
    """A value that all records have, in JSON."""

    text: bytes


@dataclass(frozen=True, slots=True)
class Masked:
    """A constant where the value of this number is not null."""

    number: int
    text: bytes


@dataclass(frozen=True, slots=True)
class Quoted:
    """The number, or boolean, of this number as a text; null stays null."""

    number: int


@dataclass(frozen=True, slots=True)
class Struct:
    """A struct.

    :param base: number of a struct whose members come first; None for none.
    """

    base: int | None
    members: tuple[tuple[str, Drawn], ...]


Drawn: TypeAlias = Place | OrNull | Constant | Masked | Quoted | Struct


@dataclass(frozen=True, slots=True)
class DrawnRecord:
    """A record as pieces of the document that it was made of. Key and value are None where there are none.

    :param headers: their values are constants as bytes, or drawn.
    """

    topic: str
    key: Drawn | None
    value: Drawn | None
    headers: tuple[tuple[str, bytes | None | Drawn], ...] = ()


@dataclass(slots=True)
class _Value:
    """One value of a document.

    :param member: what stands before it.
    :param parent: number of the struct that has it; None for a value or key as a whole.
    :ivar end: number of the first one that is not below it.
    """

    schema: Schema
    member: bytes
    parent: int | None
    end: int = 0
    children: dict[str, int] = field(default_factory=dict)


class Document:
    """The values of a record's value and key, which are numbered in the order in which they stand; those of the value come first.

    :param value, key: their schemas; None where there is none.
    :param rows: which rows an envelope has, `before` and `after`.
    :ivar asked: whether it mattered which rows there are.
    """

    def __init__(self, value: Schema | None, key: Schema | None, rows: Mapping[str, bool]) -> None:
        self._values: list[_Value] = []
        self._rows = rows
        self.asked = False
        if value is not None:
            self._add(value, b"", None, 0)
        self.of_value = len(self._values)
        if key is not None:
            self._add(key, b"", None, 0)

    def _add(self, schema: Schema, member: bytes, parent: int | None, depth: int) -> None:
        if schema["type"] in ("array", "map") or depth > _DEEPEST:
            raise NotDrawn
        one, number = _Value(schema, member, parent), len(self._values)
        self._values.append(one)
        for i, inner in enumerate(schema.get("fields", ())):
            one.children[inner["field"]] = len(self._values)
            self._add(inner, f"{',' if i else '{'}{encode_basestring(inner['field'])}:".encode(), number, depth + 1)
        one.end = len(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def schema(self, number: int) -> Schema:
        return self._values[number].schema

    def has_row(self, name: str) -> bool:
        """Whether an envelope has the row `before`, or `after`."""
        self.asked = True
        return self._rows[name]

    @property
    def row_numbers(self) -> tuple[int, int]:
        """Numbers of the rows before and after."""
        children = self._values[0].children
        return children["before"], children["after"]

    def child(self, number: int, name: str) -> int:
        """The number of a member of a struct that is not null."""
        self._check_there(number)
        return self._values[number].children[name]

    def child_or_null(self, number: int, name: str) -> int:
        """The number of a member of a struct that may be null."""
        return self._values[number].children[name]

    def _check_there(self, number: int) -> None:
        """Raises NotDrawn for a struct that may be null."""
        one = self._values[number]
        if one.schema["type"] != "struct":
            raise NotDrawn
        if not one.schema.get("optional") or number in (0, self.of_value):
            return
        name = next((name for name in _ROWS if self._values[0].children.get(name) == number), None)
        if name is None or number >= self.of_value or not self.has_row(name):
            raise NotDrawn

    def members(self, drawn: Drawn) -> tuple[tuple[str, Drawn], ...]:
        """The members of a struct that is not null."""
        if isinstance(drawn, Place):
            self._check_there(drawn.number)
            return tuple((name, Place(number)) for name, number in self._values[drawn.number].children.items())
        if not isinstance(drawn, Struct):
            raise NotDrawn
        return drawn.members if drawn.base is None else self.members(Place(drawn.base)) + drawn.members

    def with_members(self, drawn: Drawn, added: Sequence[tuple[str, Drawn]]) -> Struct:
        """A struct that is not null with more members."""
        if isinstance(drawn, Place) and self.schema(drawn.number).get("fields"):
            self._check_there(drawn.number)
            return Struct(drawn.number, tuple(added))
        base = drawn.base if isinstance(drawn, Struct) else None
        return Struct(base, (*(drawn.members if isinstance(drawn, Struct) else self.members(drawn)), *added))

    def member_between(self, number: int, following: int) -> bytes | None:
        """What stands in the document between two values that follow each other; None for others."""
        one = self._values[number]
        if one.end != following or following == len(self._values) or self._values[following].parent != one.parent:
            return None
        return None if one.parent is None else self._values[following].member

    def nodes(self, looked_at: set[int], constants: Mapping[str, int]) -> list[Node]:
        """The nodes of the compiled code.

        :param looked_at: numbers of the values that pieces are made of; structs without any of them are passed where that can be.
        """
        return [self._node(number, looked_at, constants) for number in range(len(self._values))]

    def _node(self, number: int, looked_at: set[int], constants: Mapping[str, int]) -> Node:
        one = self._values[number]
        following, until = one.end, b""
        if one.parent == 0 and number < self.of_value and looked_at.isdisjoint(range(number, self.of_value)):
            return constants["NODE_REST"], one.member, following, until
        if one.schema["type"] != "struct":
            return constants["NODE_VALUE"], one.member, following, until
        if one.parent is None and looked_at.isdisjoint(range(number + 1, one.end)):
            return constants["NODE_WHOLE"], one.member, following, until
        siblings = list(self._values[0].children.values()) if self.of_value else []
        if number in siblings[:-1] and 0 < number < self.of_value and looked_at.isdisjoint(range(number + 1, one.end)):
            inner = {self._values[i].member for i in range(number + 1, one.end)}
            nested = any(self._values[i].schema["type"] == "struct" for i in range(number + 1, one.end))
            following_member = self._values[one.end].member
            if not (nested and inner & {following_member, b"{" + following_member[1:]}):
                return constants["NODE_PASSED"], one.member, following, b"}" + following_member
        return constants["NODE_STRUCT"], one.member, following, until


def used(drawn: Drawn | None) -> Iterator[int]:
    """Numbers of the values that a text is made of."""
    if isinstance(drawn, Struct):
        if drawn.base is not None:
            yield drawn.base
        for _, inner in drawn.members:
            yield from used(inner)
    elif drawn is not None and not isinstance(drawn, Constant):
        yield drawn.number


def put_text(found: list[Piece], kind: int, content: bytes) -> None:
    """Add a text to pieces: to the last one, where that is a text, too.

    :param kind: of a text, in the compiled code.
    """
    if found and found[-1][0] == kind:
        content = found.pop()[3] + content
    if content:
        found.append((kind, 0, 0, content))


def pieces(
    document: Document, drawn: Drawn, constants: Mapping[str, int], head: bytes = b"", tail: bytes = b""
) -> list[Piece]:
    """The pieces of a drawn value between two texts: texts and copies that come one after the other in the document, too, are one."""
    found: list[Piece] = []
    text, copy = constants["PIECE_TEXT"], constants["PIECE_COPY"]

    def put(content: bytes) -> None:
        put_text(found, text, content)

    def put_place(number: int) -> None:
        before = document.member_between(found[-2][2], number) if len(found) > 1 and found[-2][0] == copy else None
        if before is not None and found[-1] == (text, 0, 0, before):
            found[-2:] = [(copy, found[-2][1], number, b"")]
        else:
            found.append((copy, number, number, b""))

    def draw(one: Drawn) -> None:
        if isinstance(one, Struct):
            draw_struct(one)
        elif isinstance(one, Constant):
            put(one.text)
        elif isinstance(one, Place):
            put_place(one.number)
        elif isinstance(one, OrNull):
            found.append((constants["PIECE_OR_NULL"], one.number, one.number, b""))
        elif isinstance(one, Quoted):
            found.append((constants["PIECE_QUOTED"], one.number, one.number, b""))
        else:
            found.append((constants["PIECE_MASKED"], one.number, one.number, one.text))

    def draw_struct(one: Struct) -> None:
        before = b"{"
        if one.base is not None:
            found.append((constants["PIECE_OPEN"], one.base, one.base, b""))
            before = b","
        elif not one.members:
            put(b"{")
        for name, inner in one.members:
            put(before + encode_basestring(name).encode() + b":")
            draw(inner)
            before = b","
        put(b"}")

    put(head)
    draw(drawn)
    put(tail)
    return found
