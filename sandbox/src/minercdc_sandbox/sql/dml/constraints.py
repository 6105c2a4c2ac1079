"""Foreign keys and deferrable constraints: checked after the statement, deferred ones at COMMIT (ORA-02091).

A parent key must exist now, not at the statement's snapshot. When a change by another open transaction decides that, the check waits
for the transaction, as Oracle waits for the lock on the index entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from minercdc_sandbox.interfaces import Cell, OraError
from minercdc_sandbox.sql.dml.iterations import refuse_fired
from minercdc_sandbox.sql.dml.target import column_path
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.sql.transaction_control import Deferred
from minercdc_sandbox.storage.changes import Target
from minercdc_sandbox.storage.store import LIVE, segment
from minercdc_sandbox.storage.transactions import TENTATIVE, Transaction
from minercdc_sandbox.tables import Constraint, ConstraintKind, Index, Table


def guards(table: Table) -> list[Constraint]:
    """The table's constraints that are checked after a change: enabled foreign keys and enabled deferrable constraints."""
    return [c for c in table.constraints if c.enabled and (c.kind == ConstraintKind.FOREIGN or c.deferrable)]


# ---- after the change ----


def after_insert(session: SqlSession, table: Table, rows: Sequence[tuple[Cell, ...]]) -> None:
    """Check inserted rows against the `guards`, or note their keys for COMMIT where the constraint is deferred. Raises ORA-02291,
    ORA-00001 of a deferrable key, and as `Locks.wait`."""
    for constraint in guards(table):
        places = table.positions(constraint.columns)
        _check_all(session, table, constraint, {tuple(row[at] for at in places) for row in rows})


def after_update(session: SqlSession, table: Table, targets: Sequence[Target], changed: Sequence[int]) -> None:
    """Check updated rows as `after_insert`, where their keys changed; raises ORA-02292 for a parent whose children lost it.
    `changed`: positions of the columns that may have changed."""
    for constraint in guards(table):
        places = table.positions(constraint.columns)
        if set(places) & set(changed):
            _check_all(session, table, constraint, {tuple(t.after[at] for at in places) for t in targets})
    for child, constraint in session.catalog.children_of(table):
        assert constraint.reference is not None
        places = table.positions(constraint.reference[2])
        if not set(places) & set(changed):
            continue
        lost = {tuple(t.before[at] for at in places) for t in targets} - {
            tuple(t.after[at] for at in places) for t in targets
        }
        for key in lost:
            _restrict(session, table, child, constraint, key)


def delete_rows(session: SqlSession, table: Table, targets: Sequence[Target]) -> None:
    """Delete claimed rows, and delete or set to NULL rows that refer to them by ON DELETE, at any depth. Raises ORA-02292 for
    others that do, ORA-01407 for a column that cannot be NULL, ORA-03001 for those with triggers for statements, what triggers
    raise, and as `RowChanges.claim` and
    `RowChanges.lock_for_dml`; the caller then undoes them."""
    storage, client = session.storage, session.client
    children = session.catalog.children_of(table)
    programs = session.programs
    fires = programs.fires(table, "DELETE")
    if not fires and not any(c.delete_rule != "NO ACTION" for _, c in children):
        storage.changes.delete(client, table, targets)
    else:
        for target in targets:
            if fires:
                programs.before_row(table, "DELETE", target.before, target.before)
            storage.changes.delete(client, table, [target])
            for child, constraint in children:
                if constraint.delete_rule != "NO ACTION":
                    _follow(session, table, child, constraint, target)
            if fires:
                programs.after_row(table, "DELETE", target.before, None)
    for child, constraint in children:
        assert constraint.reference is not None
        if constraint.delete_rule == "NO ACTION":
            places = table.positions(constraint.reference[2])
            for key in {tuple(t.before[at] for at in places) for t in targets}:
                _restrict(session, table, child, constraint, key)


def _follow(session: SqlSession, table: Table, child: Table, constraint: Constraint, target: Target) -> None:
    """Apply ON DELETE CASCADE or SET NULL of one foreign key for one deleted parent. Raises as `delete_rows`."""
    assert constraint.reference is not None
    key = tuple(target.before[at] for at in table.positions(constraint.reference[2]))
    if None in key:
        return
    storage, client = session.storage, session.client
    storage.changes.lock_for_dml(client, child)
    _settled(session, child, constraint.columns, key)
    rows = _rows_with(session, child, constraint.columns, key)
    if not rows:
        return
    refuse_fired(session, child, f"ON DELETE {constraint.delete_rule}", "UPDATE", "DELETE")
    storage.changes.claim(client, child, rows)
    if constraint.delete_rule == "CASCADE":
        delete_rows(session, child, rows)
        return
    places = child.positions(constraint.columns)
    for row in rows:
        row.after = tuple(None if at in places else cell for at, cell in enumerate(row.before))
        row.after = session.programs.before_row(child, "UPDATE", row.before, row.after, places)
    for at in places:
        if not child.columns[at].nullable:
            raise OraError(1407, f"cannot update ({column_path(child, child.columns[at])}) to NULL")
    moved = [at for row in rows for at, cell in enumerate(row.after) if cell != row.before[at]]
    storage.changes.update(client, child, rows, tuple(sorted({*places, *moved})))
    for row in rows:
        session.programs.after_row(child, "UPDATE", row.before, row.after, places)


def _rows_with(session: SqlSession, table: Table, columns: tuple[str, ...], key: tuple[Cell, ...]) -> list[Target]:
    transaction = session.client.transaction
    assert transaction is not None
    slots = [table.columns[at].slot for at in table.positions(columns)]
    where = " and ".join(f"c{slot} is ?" for slot in slots)
    items = "".join(f",c{c.slot}" for c in table.columns)
    sql = f"select vid,s,e,x{items} from {segment(table)} where {where} and e={LIVE} and x<>{transaction.stamp}"
    return [Target(row[0], row[1], row[2], row[3], tuple(row[4:])) for row in session.storage.db.execute(sql, key)]


# ---- the checks ----


def _check_all(session: SqlSession, table: Table, constraint: Constraint, keys: Iterable[tuple[Cell, ...]]) -> None:
    wanted = [
        key
        for key in keys
        if (None not in key if constraint.kind == ConstraintKind.FOREIGN else any(c is not None for c in key))
    ]
    if is_deferred(session, table, constraint):
        session.transactions.deferred.update(Deferred(table.object_id, constraint.name, key) for key in wanted)
        return
    for key in wanted:
        _check(session, table, constraint, key)


def _check(session: SqlSession, table: Table, constraint: Constraint, key: tuple[Cell, ...]) -> None:
    if constraint.kind != ConstraintKind.FOREIGN:
        if len(_settled(session, table, constraint.columns, key)) > 1:
            raise OraError(1, f"unique constraint ({table.owner}.{constraint.name}) violated")
        return
    assert constraint.reference is not None
    owner, name, columns = constraint.reference
    parent = session.catalog.table(table.container, owner, name)
    missing = parent is None or not _settled(session, parent, columns, key)
    if missing and _settled(session, table, constraint.columns, key):
        raise OraError(2291, f"integrity constraint ({table.owner}.{constraint.name}) violated - parent key not found")


def _restrict(session: SqlSession, parent: Table, child: Table, constraint: Constraint, key: tuple[Cell, ...]) -> None:
    if None in key:
        return
    if is_deferred(session, child, constraint):
        session.transactions.deferred.add(Deferred(child.object_id, constraint.name, key))
        return
    assert constraint.reference is not None
    if _settled(session, child, constraint.columns, key) and not _settled(session, parent, constraint.reference[2], key):
        raise OraError(2292, f"integrity constraint ({child.owner}.{constraint.name}) violated - child record found")


def _settled(session: SqlSession, table: Table, columns: tuple[str, ...], key: tuple[Cell, ...]) -> list[int]:
    """Version ids of rows with the key that are there for good or are the transaction's own; when there are none, once no other
    open transaction can change that: it waits for such, and raises as `Locks.wait`."""
    transaction = session.client.transaction
    stamp = transaction.stamp if transaction is not None else -1
    wanted = Index(table.owner, "", columns, False, 0, 0.0)
    while True:
        found: list[int] = []
        blocker: Transaction | None = None
        for vid, s, x in session.storage.segments.holders(table, wanted, key):
            if x == stamp:
                continue
            other = x if x >= TENTATIVE else s if s >= TENTATIVE and s != stamp else 0
            if other:
                blocker = session.storage.transactions.with_stamp(other)
            else:
                found.append(vid)
        if found or blocker is None:
            return found
        session.storage.locks.wait(session.client, blocker, None)


# ---- deferred constraints ----


def is_deferred(session: SqlSession, table: Table, constraint: Constraint) -> bool:
    """Whether the constraint is checked at COMMIT: by SET CONSTRAINTS in this transaction, else by its declaration; never one
    that is not deferrable."""
    if not constraint.deferrable:
        return False
    modes = session.transactions.constraint_modes
    return modes.get((table.owner, constraint.name), modes.get(None, constraint.deferred))


def verify_deferred(session: SqlSession, *, committing: bool = True) -> None:
    """Check the keys that were noted for later, and forget those that were checked. Raises ORA-00001, ORA-02291 or ORA-02292 for
    the first violation found, and as `Locks.wait`; no key is forgotten then.

    :param committing: all of them; else those of constraints that are not deferred any more.
    """
    done = []
    for one in session.transactions.deferred:
        table = session.catalog.table_of(one.table_id)
        constraint = next((c for c in table.constraints if c.name == one.constraint), None) if table else None
        if table is not None and constraint is not None:
            if not committing and is_deferred(session, table, constraint):
                continue
            if constraint.enabled:
                _check(session, table, replace(constraint, deferrable=False), one.key)
        done.append(one)
    session.transactions.deferred.difference_update(done)
