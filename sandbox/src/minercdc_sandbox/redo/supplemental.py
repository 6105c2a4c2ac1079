"""Which old values an UPDATE's redo carries, by supplemental logging (docs/reference/logminer-facts.md#b-6-3)."""

from __future__ import annotations

from minercdc_sandbox.catalog import DatabaseLogging
from minercdc_sandbox.tables import (
    ALL_LOGGING,
    FOREIGN_LOGGING,
    KEY_LOGGING,
    UNIQUE_LOGGING,
    ConstraintKind,
    Table,
)


def logged_positions(table: Table, database: DatabaseLogging, changed: tuple[int, ...]) -> tuple[int, ...] | None:
    """Positions, ascending, of the columns whose old values an UPDATE of the columns at `changed` puts into its record, by the
    table's and the database's supplemental logging; None is all. Assigned columns are always there."""
    kinds = {group.kind for group in table.log_groups}
    if database.all or ALL_LOGGING in kinds:
        return None
    found = set(changed)
    if database.primary_key or KEY_LOGGING in kinds:
        key = _identifying(table)
        if key is None:
            return None
        found.update(key)
    logged = {
        ConstraintKind.UNIQUE: database.unique or UNIQUE_LOGGING in kinds,
        ConstraintKind.FOREIGN: database.foreign_key or FOREIGN_LOGGING in kinds,
    }
    for constraint in table.constraints:  # of each, all columns once one of them changes (Utilities, "Supplemental Logging")
        if logged.get(constraint.kind):
            found.update(_together(table, constraint.columns, changed))
    for group in table.log_groups:
        unlogged = table.positions(tuple(sorted(group.unlogged)))
        found.update(set(_together(table, group.columns, changed, always=group.always)).difference(unlogged))
    return tuple(sorted(found))


def _identifying(table: Table) -> tuple[int, ...] | None:
    """Positions of the primary key's columns, else of those of a unique index over NOT NULL columns, else None: all columns
    identify the row."""
    if table.key is not None:
        return table.positions(table.key.columns)
    for index in table.indexes:
        if index.unique and not any(table.columns[at].nullable for at in table.positions(index.columns)):
            return table.positions(index.columns)
    return None


def _together(table: Table, columns: tuple[str, ...], changed: tuple[int, ...], *, always: bool = False) -> tuple[int, ...]:
    """Positions of columns that are logged when one of them changes, or `always`; else none."""
    positions = table.positions(columns)
    return positions if always or set(changed).intersection(positions) else ()
