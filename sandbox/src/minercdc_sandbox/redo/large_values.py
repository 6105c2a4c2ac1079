"""How a change of a row with LOB, XML or extended columns lies in the redo: the row's own record, then its large values.

    insert  INSERT[ph] with EMPTY_CLOB(); per large LOB: LOCATOR[ph] WRITE[ph]..; UPDATE[R] with the values kept in the row
    update  UPDATE[ph] of the plain columns; per large LOB: LOCATOR[ph] WRITE[ph].. TRIM[ph]; UPDATE[R]
    out of row, BASICFILE   WRITE[ph].. INSERT[ph] without the column; .. as above
    XML     XML_BEGIN XML_WRITE.. XML_END       extended strings over 4000 bytes  LONG_BEGIN LONG_WRITE.. LONG_END

[ph] is shown with the placeholder ROWID, [R] with its own (docs/reference/logminer-facts.md#b-7); an INTERNAL[R] stands for an
UPDATE[R] with nothing to set. A NULL LOB is EMPTY at first and set to NULL by the UPDATE, unless only large LOBs follow: then it
is NULL at once (docs/reference/logminer-facts.md#e-55).

With DISABLE STORAGE IN ROW every value that is not empty is large. That of a BasicFile is written before the INSERT and without a
locator (redpanda-data/connect#4430, #4574); of its UPDATE nothing is known but that the UPDATE has a row, so that is as of
another BasicFile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol, TypeAlias

from minercdc_sandbox.interfaces import Cell, LobKind, OraType
from minercdc_sandbox.lobs.locator import LobValue, as_cell, unpack
from minercdc_sandbox.records import RedoOp

IN_ROW_BYTES = 3964
"""A LOB up to this size is kept in the row; with its locator that makes 4000 bytes."""
PIECE_CHARACTERS, PIECE_BYTES = 4066, 4066
"""Of one LOB_WRITE: half a chunk's 8132 bytes, which is one of UTF-16."""
EXTENDED_BYTES, EXTENDED_RAW = 4000, 2000
"""Declared longer, VARCHAR2 and RAW are extended types; values over 4000 bytes leave the row."""
SECUREFILE, BASICFILE, XML_BINARY, XML_CLOB = "SECUREFILE", "BASICFILE", "BINARY XML", "CLOB XML"


class Large(Enum):
    """Families of columns whose values need more than a literal in redo and SQL_REDO.

    LOB, XML and EXTENDED values may have records of their own; LONG lies in the row; FILE has no text; UNSUPPORTED makes the
    whole row so.
    """

    LOB = auto()
    XML = auto()
    EXTENDED = auto()
    LONG = auto()
    FILE = auto()
    UNSUPPORTED = auto()


_LARGE = {
    OraType.CLOB: Large.LOB,
    OraType.BLOB: Large.LOB,
    OraType.XMLTYPE: Large.XML,
    OraType.LONG: Large.LONG,
    OraType.LONG_RAW: Large.LONG,
    OraType.BFILE: Large.FILE,
    OraType.JSON: Large.UNSUPPORTED,
    OraType.VECTOR: Large.UNSUPPORTED,
    OraType.BOOLEAN: Large.UNSUPPORTED,
}


_SMALL = frozenset((OraType.NUMBER, OraType.DATE, OraType.TIMESTAMP, OraType.CHAR))
"""Types of which no column is large, of any size."""


class TypedColumn(Protocol):
    """The properties that matter here of a column of the catalog (`tables.Column`) or of LogMiner's dictionary
    (`records.StoredColumn`)."""

    @property
    def type(self) -> OraType: ...

    @property
    def size(self) -> int: ...

    @property
    def national(self) -> bool: ...

    @property
    def storage(self) -> str: ...

    @property
    def in_row(self) -> bool: ...


LargeColumns: TypeAlias = "dict[int, tuple[Large, TypedColumn]]"


def large_of(column: TypedColumn, *, json: bool = False) -> Large | None:
    """The column's family; None for a type without one.

    :param json: ENABLE_GOLDENGATE_REPLICATION is TRUE: only then is JSON logged so that LogMiner can show it, as a LOB (dbz#1884).
    """
    if json and column.type is OraType.JSON:
        return Large.LOB
    if column.type is OraType.VARCHAR2:
        return Large.EXTENDED if column.size > EXTENDED_BYTES else None
    if column.type is OraType.RAW:
        return Large.EXTENDED if column.size > EXTENDED_RAW else None
    return _LARGE.get(column.type)


def large_columns(columns: Sequence[TypedColumn], *, json: bool = False) -> LargeColumns:
    """Family and column of the LOB, XML and extended columns, by position; the others, LONG too, lie in the row. Empty for a
    table with an UNSUPPORTED column: its rows are Unsupported as a whole. `json`: see `large_of`."""
    found: LargeColumns = {}
    for at, column in enumerate(columns):
        if column.type in _SMALL:
            continue
        kind = large_of(column, json=json)
        if kind is Large.UNSUPPORTED:
            return {}
        if kind in (Large.LOB, Large.XML, Large.EXTENDED):
            found[at] = (kind, column)
    return found


def lob_kind(column: TypedColumn) -> LobKind:
    """Kind of the LOB that holds a column's large values; CLOB or, for a national column, NCLOB for types other than BLOB, JSON
    and VECTOR."""
    if column.type in (OraType.BLOB, OraType.JSON, OraType.VECTOR):
        return LobKind.BLOB
    return LobKind.NCLOB if column.national else LobKind.CLOB


@dataclass(slots=True)
class Step:
    """One record of a row's change.

    :param before, after: the row before and after the record, None where its `op` has none.
    :param changed: positions of the columns that it sets, or of the large value; of an INSERT those whose values came before it,
        which it leaves out; () for DELETE and INTERNAL.
    :param lob: of a piece of the large value in column `changed[0]` of `after`, and of an erase: 0-based offset and amount, in
        the value's units; of a trim 0 and the new length; None for other records.
    :param placeholder: LogMiner does not show the ROWID.
    """

    op: RedoOp
    before: tuple[Cell, ...] | None
    after: tuple[Cell, ...] | None
    changed: tuple[int, ...] = ()
    placeholder: bool = False
    lob: tuple[int, int] | None = None


def _length(cell: Cell) -> int:
    return unpack(cell).value.length


def in_row(cell: Cell, kind: Large, *, enabled: bool = True) -> bool:
    """Whether the value, not NULL, lies in the row's record: an extended string up to 4000 bytes, never an XML document, a LOB up
    to 3964 bytes, or where storage in the row is not `enabled` an empty one only (SecureFiles and Large Objects Developer's
    Guide, "ENABLE or DISABLE STORAGE IN ROW")."""
    if kind is Large.EXTENDED:
        return len(cell.encode() if isinstance(cell, str) else cell or b"") <= EXTENDED_BYTES
    if kind is Large.XML:
        return False
    value = unpack(cell).value
    return value.length * value.unit <= (IN_ROW_BYTES if enabled else 0)


def _left_row(large: LargeColumns, row: tuple[Cell, ...], places: Sequence[int]) -> list[int]:
    """Those LOB columns at `places` whose value lies outside the row."""
    return [at for at in places if row[at] is not None and not in_row(row[at], Large.LOB, enabled=large[at][1].in_row)]


def _emptied(row: tuple[Cell, ...], large: LargeColumns, null: bool) -> tuple[Cell, ...]:
    """The row with an empty LOB in place of each LOB.

    :param null: NULL LOBs stay NULL.
    """
    cells = list(row)
    for at, (kind, column) in large.items():
        if kind is Large.LOB and not (null and row[at] is None):
            cells[at] = as_cell(LobValue(lob_kind(column)))
    return tuple(cells)


def insert_steps(large: LargeColumns, row: tuple[Cell, ...]) -> list[Step]:
    """The records of an INSERT, the row's own first but for what a BasicFile's LOBs outside the row have, see the module. `row` has cells of all stored columns."""
    lobs = [at for at, (kind, _) in large.items() if kind is Large.LOB]
    out = _left_row(large, row, lobs)
    early = [at for at in out if large[at][1].storage == BASICFILE and not large[at][1].in_row]
    kept = [at for at in lobs if row[at] is not None and at not in out and _length(row[at])]
    trailing = [at for at in lobs if at in kept or row[at] is None] if kept or not out else []
    first = _emptied(row, large, null=not trailing)
    steps: list[Step] = []
    for at in early:
        steps += _writes(row, at, 0, _length(row[at]), placeholder=True)
    steps.append(Step(RedoOp.INSERT, None, first, tuple(early), placeholder=bool(lobs)))
    for at in out:
        if at not in early:
            steps += _lob_pieces(row, at)
    if trailing:
        steps.append(Step(RedoOp.UPDATE, first, row, tuple(trailing)))
    elif out:
        steps.append(_closing(row))
    return [*steps, *_documents(large, row, [at for at in large if row[at] is not None])]


def update_steps(
    large: LargeColumns,
    before: tuple[Cell, ...],
    after: tuple[Cell, ...],
    changed: tuple[int, ...],
    *,
    since_23: bool = False,
) -> list[Step]:
    """The records of an UPDATE of the columns at `changed`, in their order, see the module. `before` and `after` have cells of
    all stored columns.

    :param since_23: LOBs that get a small value have a record of their own, after one with the plain columns or, where there
        is none and they were NULL, one that empties them.
    """
    lobs = [at for at in changed if at in large and large[at][0] is Large.LOB]
    out = _left_row(large, after, lobs)
    small = [at for at in changed if at not in out and (at not in large or _in_update(large[at][0], after[at]))]
    plain = [at for at in small if at not in lobs]
    steps = []
    if out and plain:
        steps.append(Step(RedoOp.UPDATE, before, after, tuple(plain), placeholder=True))
        small = [at for at in small if at in lobs]
    for at in out:
        steps += _lob_pieces(after, at)
        if before[at] is not None:
            basic = large[at][1].storage == BASICFILE
            steps += [_locator(after, at)] if basic else []
            steps.append(Step(RedoOp.LOB_TRIM, after, after, (at,), True, (0, _length(after[at]))))
    if small and not out and since_23:
        steps += _small_steps(large, before, after, small)
    elif small:
        steps.append(Step(RedoOp.UPDATE, before, after, tuple(small)))
    elif out:
        steps.append(_closing(after))
    return [*steps, *_documents(large, after, [at for at in changed if at in large])]


def _small_steps(
    large: LargeColumns, before: tuple[Cell, ...], after: tuple[Cell, ...], changed: list[int]
) -> Iterator[Step]:
    """The records of an UPDATE of plain columns and LOBs that fit into the row, as 23ai has them."""
    lobs = [at for at in changed if at in large and large[at][0] is Large.LOB and after[at] is not None]
    others = [at for at in changed if at not in lobs]
    if not lobs or not (others or all(before[at] is None for at in lobs)):
        yield Step(RedoOp.UPDATE, before, after, tuple(changed))
        return
    first = list(before)
    for at in others:
        first[at] = after[at]
    if not others:
        for at in lobs:
            first[at] = as_cell(LobValue(lob_kind(large[at][1])))
    yield Step(RedoOp.UPDATE, before, tuple(first), tuple(others or lobs), placeholder=True)
    yield Step(RedoOp.UPDATE, tuple(first), after, tuple(lobs))


def _in_update(kind: Large, cell: Cell) -> bool:
    """Whether an UPDATE record sets the column to the cell: LOBs and extended strings in the row or NULL, never XML."""
    return kind is not Large.XML and (cell is None or in_row(cell, kind))


def in_place_steps(op: RedoOp, after: tuple[Cell, ...], at: int, offset: int, amount: int) -> list[Step]:
    """The records of DBMS_LOB.WRITE, TRIM or ERASE (`op`) through the locator of the LOB column at `at`, whose value is then that
    of `after`. The LOCATOR and the pieces of WRITE have the row's ROWID, TRIM and ERASE the placeholder. `offset` and `amount`:
    as in `Step.lob`."""
    locator = _locator(after, at, placeholder=False)
    if op is RedoOp.LOB_WRITE:
        return [locator, *_writes(after, at, offset, amount, placeholder=False)]
    return [locator, Step(op, after, after, (at,), True, (offset, amount))]


def undo_step(
    large: LargeColumns,
    op: RedoOp,
    before: tuple[Cell, ...] | None,
    after: tuple[Cell, ...] | None,
    changed: tuple[int, ...],
) -> Step:
    """The one record that takes a change back by doing `op` (INSERT undoes a DELETE), from the row `before` the undo to that
    `after` it, None where there is none; its values of LOBs are not reliable (docs/reference/logminer-facts.md#b-5).

    An XML document cannot be set back, so its column is left out of `changed` unless it was all that was changed.
    """
    if op is RedoOp.INSERT and after is not None:
        after = _emptied(after, large, null=False)
    kept = tuple(at for at in changed if at not in large or large[at][0] is not Large.XML)
    return Step(op, before, after, kept or changed)


def _locator(row: tuple[Cell, ...], at: int, *, placeholder: bool = True) -> Step:
    return Step(RedoOp.LOB_LOCATOR, row, row, (at,), placeholder)


def _closing(row: tuple[Cell, ...]) -> Step:
    """The INTERNAL record with the row's ROWID that follows the last piece when no UPDATE has it
    (docs/reference/logminer-facts.md#b-4)."""
    return Step(RedoOp.INTERNAL, row, row)


def _lob_pieces(row: tuple[Cell, ...], at: int) -> list[Step]:
    return [_locator(row, at), *_writes(row, at, 0, _length(row[at]), placeholder=True)]


def _writes(row: tuple[Cell, ...], at: int, offset: int, amount: int, *, placeholder: bool) -> Iterator[Step]:
    piece = PIECE_BYTES if unpack(row[at]).value.kind is LobKind.BLOB else PIECE_CHARACTERS
    for start in range(offset, offset + amount, piece):
        size = min(piece, offset + amount - start)
        yield Step(RedoOp.LOB_WRITE, row, row, (at,), placeholder, (start, size))


def _documents(large: LargeColumns, row: tuple[Cell, ...], places: Sequence[int]) -> Iterator[Step]:
    """The records of those columns at `places` that are XML documents, also NULL ones, or extended strings that left the row."""
    for at in places:
        kind, cell = large[at][0], row[at]
        if kind is Large.XML:
            ops, length = (RedoOp.XML_BEGIN, RedoOp.XML_WRITE, RedoOp.XML_END), 0 if cell is None else _length(cell)
        elif kind is Large.EXTENDED and cell is not None and not in_row(cell, kind):
            ops, length = (RedoOp.LONG_BEGIN, RedoOp.LONG_WRITE, RedoOp.LONG_END), len(cell)
        else:
            continue
        yield Step(ops[0], row, row, (at,), True)
        for start in range(0, length, PIECE_BYTES) or (0,):
            yield Step(ops[1], row, row, (at,), True, (start, min(PIECE_BYTES, length - start)))
        yield Step(ops[2], row, row, (at,), True)
