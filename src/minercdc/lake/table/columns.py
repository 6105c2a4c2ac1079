"""The names of a lake table's columns, and the steps that bring an older table to its present columns.

A lake column carries the id of its source column (`history.Field.id`) in its comment, after Oracle's own: `text "NAME@SCN"`, or the id
alone. So a rename is seen as one, and a step that
was done before a kill is not done again. Names are the source's, as `lake_names` has them; our own column is `__cdc`.

    ADD      ADD COLUMNS; older rows get the literal DEFAULT of the ADD (by `merge`)
    DROP     DROP COLUMN
    RENAME   RENAME COLUMN: older rows keep their values
    MODIFY   a type that holds both, where there is one: by its type alone where the format can, else as a copy of the column; else by policy:
             text        the column becomes STRING, with the older values as text
             new_column  the older values stay in a column NAME__1 (NAME__2, ..), NAME begins empty
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from minercdc.lake.table.widening import widened

CDC = "__cdc"
_COPY = "__text__"

TypeChange: TypeAlias = Literal["text", "new_column"]


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of a lake table: `type` as Spark SQL names it, `id` of the source column, '' for none.

    :param comment: Oracle's; '' for none. None for none, too, of a lake table; of the source, that it is not known.
    """

    name: str
    type: str
    id: str = ""
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class AddColumn:
    """Add a column at the end; it is null in the rows that are there."""

    column: TableColumn


@dataclass(frozen=True, slots=True)
class DropColumn:
    """Take a column away, with its values."""

    name: str


@dataclass(frozen=True, slots=True)
class RenameColumn:
    """Give a column another name; it keeps values and id."""

    name: str
    new_name: str


@dataclass(frozen=True, slots=True)
class WidenColumn:
    """Change a column's type to `type`, which holds all values of the present one."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class IdentifyColumn:
    """Set the id that the column carries, '' for none, and Oracle's comment."""

    name: str
    id: str
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class CopyColumn:
    """Fill column `target`, where it is null, with the values of column `source` of type `type`, in type `wanted`."""

    source: str
    type: str
    target: str
    wanted: str


Step: TypeAlias = AddColumn | DropColumn | RenameColumn | WidenColumn | IdentifyColumn | CopyColumn


def lake_comment(number: str, comment: str | None) -> str:
    """The comment of a lake column that carries an id, '' for none, and Oracle's comment. `read_comment` reads it."""
    return f'{comment} "{number}"' if comment else number


def read_comment(text: str) -> tuple[str, str | None]:
    """The id of a lake column with this comment, and Oracle's comment, None for none. No name in Oracle has a double quote."""
    if not text.endswith('"'):
        return text, None
    comment, _, number = text[:-1].rpartition('"')
    return number, comment.removesuffix(" ") or None


def recommented(there: Sequence[TableColumn], wanted: Sequence[TableColumn]) -> list[IdentifyColumn]:
    """The steps after which the columns `there` have the comments of the wanted ones that are known.

    :param there: as `evolution` has made them.
    """
    of_id = {column.id: column for column in there if column.id}
    return [
        IdentifyColumn(found.name, column.id, column.comment)
        for column in wanted
        if column.comment is not None
        and (found := of_id.get(column.id)) is not None
        and (found.comment or "") != column.comment
    ]


def lake_names(names: Sequence[str]) -> list[str]:
    """The lake's name of each column, in order: the source's; `NAME_2`, `NAME_3`, .. where an earlier one, or `__cdc`, has it.

    Spark and Delta do not distinguish names by case.
    """
    taken = {CDC}
    found = []
    for name in names:
        candidate, number = name, 1
        while candidate.lower() in taken:
            number += 1
            candidate = f"{name}_{number}"
        taken.add(candidate.lower())
        found.append(candidate)
    return found


_UNCLUSTERED = ("BINARY", "BOOLEAN", "INTERVAL")  # types without least and greatest value in Delta's statistics
_MEASURED = 32  # columns that have statistics
_MOST_CLUSTERED = 4


def clustering_of(columns: Sequence[TableColumn], key: Sequence[str]) -> list[str]:
    """Names of the columns by which Delta can cluster a table with this key: up to four, in the key's order; [] for none.

    Delta needs statistics of them: the first 32 columns have some, save binary, Boolean and interval ones.

    :param columns: of the lake table, in its order.
    :param key: ids of the key's columns.
    """
    measured = {column.id: column for column in columns[:_MEASURED] if not column.type.startswith(_UNCLUSTERED)}
    return [measured[part].name for part in key if part in measured][:_MOST_CLUSTERED]


def evolution(
    there: Sequence[TableColumn],
    wanted: Sequence[TableColumn],
    known: Collection[str],
    policy: TypeChange,
    can_widen: Callable[[str, str], bool] = lambda old, new: True,
) -> list[Step]:
    """The steps to take, one after the other, from the columns `there` to the columns `wanted`; none when they are there already.

    After any of them, the steps from what is there then end at the same columns, perhaps by way of a copy that was begun for an earlier
    type; so ask again until there are none. At the end a type may be wider than the wanted one, or STRING (`policy` text). Columns
    without an id that have no wanted column's name stay.

    :param there: the data columns of the table, without `__cdc`.
    :param wanted: the columns that the table shall have, with the ids of source columns.
    :param known: ids of all columns that the source's table ever had; a lake column without such an id is taken for the wanted
        one of its name.
    :param policy: what a change of type does where no type holds both; see the module.
    :param can_widen: see `LakeTable`.
    """
    ids = {column.id for column in wanted}
    present = {column.name: column for column in there}
    home: dict[str, str] = {}  # id -> name in the table
    for column in there:
        if column.id in ids:
            home[column.id] = column.name
    for column in wanted:
        found = present.get(column.name)
        if column.id not in home and found is not None and found.id not in known and not _is_copy(column, present):
            home[column.id] = column.name
    steps = list(_drops(there, set(home.values()), wanted))
    steps += _renames({name: column.name for column in wanted if (name := home.get(column.id)) is not None})
    for column in wanted:
        if column.id not in home:
            steps += _arrival(column, present)
        else:
            steps += _changed(column, present[home[column.id]], set(present), policy, can_widen)
    return steps


def _is_copy(column: TableColumn, present: dict[str, TableColumn]) -> bool:
    return _COPY + column.name in present


def _drops(there: Sequence[TableColumn], kept: set[str], wanted: Sequence[TableColumn]) -> Iterator[Step]:
    copies = {_COPY + column.name for column in wanted}
    for column in there:
        if column.name not in kept and column.name not in copies and column.id:
            yield DropColumn(column.name)


def _renames(moves: dict[str, str]) -> Iterator[Step]:
    """The renames of `moves` (old name -> new one), in an order in which no new name is taken: names that are exchanged go
    by way of another name."""
    pending = {old: new for old, new in moves.items() if old != new}
    while pending:
        free = next((old for old, new in pending.items() if new not in pending), None)
        if free is not None:
            yield RenameColumn(free, pending.pop(free))
        else:
            old = next(iter(pending))
            yield RenameColumn(old, f"__moving__{old}")
            pending[f"__moving__{old}"] = pending.pop(old)


def _arrival(column: TableColumn, present: dict[str, TableColumn]) -> Iterator[Step]:
    copy = _COPY + column.name
    if copy in present:  # killed after the older column went
        yield RenameColumn(copy, column.name)
        yield IdentifyColumn(column.name, column.id, column.comment)
    else:
        yield AddColumn(column)


def _changed(
    column: TableColumn, there: TableColumn, taken: set[str], policy: TypeChange, can_widen: Callable[[str, str], bool]
) -> Iterator[Step]:
    if there.id != column.id:
        yield IdentifyColumn(column.name, column.id, column.comment)
    if there.type == column.type or (there.type == "STRING" and policy == "text"):
        return
    wide = widened(there.type, column.type)
    if wide == there.type:
        return
    if wide is not None and can_widen(there.type, wide):
        yield WidenColumn(column.name, wide)
    elif wide is not None or policy == "text":
        copy, kind = _COPY + column.name, wide or "STRING"
        if copy not in taken:
            yield AddColumn(TableColumn(copy, kind))
        yield CopyColumn(column.name, there.type, copy, kind)
        yield DropColumn(column.name)
        yield RenameColumn(copy, column.name)
        yield IdentifyColumn(column.name, column.id, column.comment if column.comment is not None else there.comment)
    else:
        number = next(n for n in range(1, len(taken) + 2) if f"{column.name}__{n}" not in taken)
        yield RenameColumn(column.name, f"{column.name}__{number}")
        yield IdentifyColumn(f"{column.name}__{number}", "")
        yield AddColumn(column)
