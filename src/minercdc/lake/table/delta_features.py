"""Delta's table features that a lake table has, and when: a reader that lacks one refuses the table.

    deletionVectors  from the first merge that may change or delete a row: it marks rows as deleted instead of writing their files again
    columnMapping    from the first RENAME or DROP COLUMN, or the first name that Parquet forbids
    typeWidening     from the first MODIFY to a wider type

`minercdc.lake.forbidden.features` forbids any of them. DDL that needs a forbidden one has the table written again (`delta`), in one commit; a name
that needs one is refused. A feature that a table has already stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, cast

from minercdc.config.target.lake import LakeConfig, LakeFeature
from minercdc.lake.spark.sql import in_type, quoted
from minercdc.lake.table.columns import (
    AddColumn,
    CopyColumn,
    DropColumn,
    IdentifyColumn,
    RenameColumn,
    Step,
    TableColumn,
    WidenColumn,
)

_FORBIDDEN_BY_PARQUET = frozenset(" ,;{}()\n\t=")


@dataclass(frozen=True, slots=True)
class Feature:
    """A table feature, by Delta's name of it; setting `property` to `value` enables it."""

    name: LakeFeature
    property: str
    value: str


COLUMN_MAPPING: Final = Feature("columnMapping", "delta.columnMapping.mode", "name")
TYPE_WIDENING: Final = Feature("typeWidening", "delta.enableTypeWidening", "true")
DELETION_VECTORS: Final = Feature("deletionVectors", "delta.enableDeletionVectors", "true")
FEATURES: Final = (COLUMN_MAPPING, TYPE_WIDENING, DELETION_VECTORS)


@dataclass(frozen=True, slots=True)
class Features:
    """The features that lake tables may have.

    :param forbidden: Delta's names of the others.
    """

    forbidden: frozenset[LakeFeature] = frozenset()

    def allows(self, feature: Feature) -> bool:
        """Whether a table may be given the feature."""
        return feature.name not in self.forbidden

    def of_new_table(self, columns: Iterable[TableColumn]) -> dict[str, str]:
        """Delta's properties of a table of these columns when it is made. A column mapping that a name needs is among them, though it be
        forbidden."""
        found = {"delta.feature.timestampNtz": "supported"}
        if unmapped(columns):
            found[COLUMN_MAPPING.property] = COLUMN_MAPPING.value
        return found


ALL: Final = Features()


def features_of(lake: LakeConfig) -> Features:
    """The features that a configuration allows."""
    return Features(frozenset(cast(Sequence[LakeFeature], lake.minercdc_lake_forbidden_features)))


def unmapped(columns: Iterable[TableColumn]) -> list[str]:
    """The names that a table without column mapping cannot have."""
    return [column.name for column in columns if _FORBIDDEN_BY_PARQUET & set(column.name)]


def feature_of(step: Step) -> Feature | None:
    """The feature that a table needs for a step; None for none."""
    match step:
        case DropColumn() | RenameColumn():
            return COLUMN_MAPPING
        case WidenColumn():
            return TYPE_WIDENING
        case AddColumn(column):
            return COLUMN_MAPPING if unmapped([column]) else None
    return None


def rewritten(there: Sequence[TableColumn], steps: Iterable[Step]) -> list[tuple[TableColumn, str]]:
    """The columns that a table has after the steps, and for each the SQL of its values by the columns that it has before: what the steps
    do, done by writing the rows again."""
    found = {column.name: (column, quoted(column.name)) for column in there}
    for step in steps:
        match step:
            case AddColumn(column):
                found[column.name] = column, f"CAST(NULL AS {column.type})"
            case DropColumn(name):
                del found[name]
            case RenameColumn(name, new_name):
                column, sql = found[name]
                renamed = replace(column, name=new_name), sql
                found = {(new_name if one == name else one): (renamed if one == name else it) for one, it in found.items()}
            case WidenColumn(name, kind):
                column, sql = found[name]
                found[name] = replace(column, type=kind), in_type(sql, column.type, kind)
            case IdentifyColumn(name, number, comment):
                column, sql = found[name]
                found[name] = replace(column, id=number, comment=comment), sql
            case CopyColumn(source, kind, target, wanted):
                column, sql = found[target]
                copied = in_type(found[source][1], kind, wanted)
                found[target] = column, f"coalesce({sql}, {copied})"
    return list(found.values())
