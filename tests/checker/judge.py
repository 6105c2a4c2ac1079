"""Is what came out what was committed?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from tests.checker.workload import LOB_TABLES, Change
from tests.sandbox_capture.lab import canonical

from minercdc.schema.table import TableSchema
from minercdc.stream.events import UNAVAILABLE, ChangeEvent, Event, Row, SchemaChange


def check_transactions(events: Sequence[Event], expected: Mapping[str, list[Change]]) -> None:
    """Every committed transaction is there once, whole, in order of commit; nothing else is."""
    rows = [e for e in events if isinstance(e, ChangeEvent) and e.schema.id.table != "MARKER"]
    found = [(xid, list(changes)) for xid, changes in groupby(rows, key=lambda e: e.tx.id if e.tx else "")]
    order = [xid for xid, _ in found]
    assert order == list(expected), f"transactions {order} came of {list(expected)}"
    for xid, changes in found:
        came, meant = _comparable([_change(e) for e in changes]), _comparable(expected[xid])
        assert came == meant, f"transaction {xid}: {came} came of {meant}"
        assert [e.seq for e in changes] == list(range(1, len(changes) + 1))


def replica(events: Sequence[Event], table: str) -> list[dict[str, str]]:
    """What a table amounts to after the events, as columns that are not null.

    Fails at a step that cannot be: an insert of a row that is there, a change of one that is not, or that looked otherwise.
    """
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for event in events:
        if isinstance(event, SchemaChange) and event.table.table == table and not event.snapshot:
            if event.truncate:
                rows.clear()
            else:
                _reshape(rows, event)
        elif isinstance(event, ChangeEvent) and event.schema.id.table == table:
            if event.before is not None:
                key = _key(event.schema, event.before)
                assert key in rows, f"{event.op} of {key}, which is not there"
                was = rows.pop(key)
                known = _known(event.schema, event.before)
                looked = {name: value for name, value in was.items() if name in known}
                assert _named(event.schema, event.before) == looked, f"{event.op} of {key}, which looked otherwise"
            if event.after is not None:
                key, known = _key(event.schema, event.after), _known(event.schema, event.after)
                assert key not in rows, f"{event.op} of {key}, which is there already"
                kept = {name: value for name, value in was.items() if name not in known} if event.before else {}
                rows[key] = _named(event.schema, event.after) | kept
    return list(rows.values())


def _reshape(rows: dict[tuple[str, ...], dict[str, str]], change: SchemaChange) -> None:
    """What the DDL does to the rows that are there: defaults of added columns, and dropped columns."""
    before = {column.name for column in change.before.columns} if change.before else set()
    after = {column.name: column for column in change.after.columns} if change.after else {}
    for row in rows.values():
        for gone in before - set(after):
            row.pop(gone, None)
        for name, column in after.items():
            if name not in before and column.default is not None:
                row[name] = column.default.strip()


def _change(event: ChangeEvent) -> Change:
    schema = event.schema
    return Change(
        schema.id.table,
        event.op.value,
        _key(schema, event.before) if event.before is not None else None,
        _key(schema, event.after) if event.after is not None else None,
    )


def _key(schema: TableSchema, row: Row) -> tuple[str, ...]:
    return tuple(str(row[i]) for i in schema.key)


def _comparable(changes: Sequence[Change]) -> list[Change]:
    """Changes of tables with LOBs after the others, without updates of a row that the transaction has inserted or updated before:
    DBMS_LOB's work on a row is a change of its own, or part of the row's latest one, also with other rows between."""
    found = [change for change in changes if change.table not in LOB_TABLES]
    there: set[tuple[str, tuple[str, ...]]] = set()
    for change in changes:
        if change.table not in LOB_TABLES:
            continue
        if not (change.op == "u" and change.before == change.after and (change.table, change.before or ()) in there):
            found.append(change)
        there.discard((change.table, change.before or ()))
        if change.after is not None:
            there.add((change.table, change.after))
    return found


def _known(schema: TableSchema, row: Row) -> set[str]:
    """Columns that have a value; only LOBs may have none."""
    missing = {column for column, value in zip(schema.columns, row, strict=True) if value is UNAVAILABLE}
    assert all(column.type_name in ("CLOB", "BLOB") for column in missing), f"{missing} without value, though all are logged"
    return {column.name for column in schema.columns if column not in missing}


def _named(schema: TableSchema, row: Row) -> dict[str, str]:
    """Columns that have a value and are not null, in canonical text."""
    known = canonical(schema, row) or ()
    return {column.name: value for column, value in zip(schema.columns, known, strict=True) if isinstance(value, str)}
