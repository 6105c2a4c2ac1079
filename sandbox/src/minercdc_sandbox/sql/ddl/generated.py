"""Generated columns: identity columns, whose default draws from a sequence of their own, and virtual columns."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from minercdc_sandbox.interfaces import OraError, OraType
from minercdc_sandbox.objects import Sequence
from minercdc_sandbox.sql import number
from minercdc_sandbox.sql.declare import declared_like
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.sql.parse.sequences import SequenceOptions
from minercdc_sandbox.sql.parse.statements import Parser
from minercdc_sandbox.sql.scope import Scope, Source
from minercdc_sandbox.sql.translate.expressions import Expressions
from minercdc_sandbox.sql.translate.tables import stored_columns
from minercdc_sandbox.storage.relocation import live_rows
from minercdc_sandbox.tables import Column, Table


def archive_state() -> Column:
    """A new column ORA_ARCHIVE_STATE, which ROW ARCHIVAL adds (VLDB and Partitioning Guide, "In-Database Archiving")."""
    column = Column("ORA_ARCHIVE_STATE", OraType.VARCHAR2, size=4000, char_length=4000, default="'0'")
    column.invisible = column.system = True
    return column


def add_identity(session: SqlSession, table: Table, name: str, options: SequenceOptions) -> None:
    """Make the sequence of the identity column `name`, ISEQ$$_<object id>, which the table may have one of, and the column's
    default. Raises as `SequenceOptions.apply`."""
    catalog, now = session.catalog, session.storage.clock.now()
    sequence = Sequence(
        table.container,
        table.owner,
        f"ISEQ$$_{table.object_id}",
        catalog.new_object_id(),
        now,
        last_ddl=now,
        identity=True,
    )
    options.apply(sequence, new=True)
    catalog.containers[table.container].sequences[sequence.owner, sequence.name] = sequence
    column = table.columns[table.position(name)]
    column.default = f'"{table.owner}"."{sequence.name}".nextval'


def modify_identity(session: SqlSession, table: Table, column: Column, options: SequenceOptions) -> None:
    """Change the sequence of an identity column by ALTER TABLE MODIFY. START WITH LIMIT VALUE goes on after the highest value that is
    there, of a falling sequence after the lowest. Raises as `SequenceOptions.apply`."""
    sequences = session.catalog.containers[table.container].sequences
    key = table.owner, f"ISEQ$$_{table.object_id}"
    changed = replace(sequences[key], last_ddl=session.storage.clock.now())
    if options.limit:
        step, place = options.increment or changed.increment, table.columns.index(column)
        values = [int(number.decode(cast(bytes, row[place]))) for _, row in live_rows(session.storage, table)]
        options.start = (max(values) if step > 0 else min(values)) + step if values else None
    options.apply(changed, new=False)
    sequences[key] = changed


def number_rows(session: SqlSession, table: Table, name: str) -> None:
    """Draw a number for the identity column `name` of each current row, in the order of `live_rows`, without redo. Raises as
    `DrawnSequences.draw`."""
    column = table.columns[table.position(name)]
    sequence = session.catalog.containers[table.container].sequences[table.owner, f"ISEQ$$_{table.object_id}"]
    for rid, _ in live_rows(session.storage, table):
        value = number.encode(session.sequences.value(sequence.object_id, first=True))
        session.storage.segments.fill(table, rid, column.slot, value)


def add_virtual(session: SqlSession, table: Table, column: Column, place: int) -> None:
    """Add a virtual column at `place` among all columns; one without a type gets that of its expression. Raises ORA-01430, and as
    `Parser.expr` and `Expressions.value`; other virtual columns are unknown in the expression."""
    assert column.virtual is not None
    if any(other.name == column.name for other in table.all_columns()):
        raise OraError(1430, "column being added already exists in table")
    x = Expressions(session.environment)
    names = ((table.name,), (table.owner, table.name))
    stored = [v for v in stored_columns(x, table, names, "r") if all(v.name != c.name for _, c in table.virtual)]
    typed = x.value(Parser(column.virtual).expr(), Scope([Source(names, stored)]))
    if column.size == 0 and column.precision == 0:
        like = declared_like(column.name, typed.type)
        like.virtual, like.shown_after = column.virtual, column.shown_after
        column = like
    column.slot = -1
    table.virtual.append((place, column))
