"""Makes, checks and removes the objects that `txlog` needs in the schema of the captured tables.

Every step looks whether its object is there and current, so a run that broke off can be repeated. That TXN was added to a table
is noted in SY$SOURCES before it is added, and taken from there when it is removed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from time import sleep

import oracledb

from minercdc.capture.txlog import scripts
from minercdc.capture.txlog.dictionary import Existing, read_existing
from minercdc.capture.txlog.names import (
    ALERT,
    COLUMN,
    CORE,
    LOG,
    MOST_SOURCES,
    SEQUENCE,
    SETTINGS,
    SINCE,
    SOURCES,
    index_of,
    literal,
    longest_name,
    quoted,
    trigger_of,
    unusable_names,
    view_of,
)
from minercdc.errors import ConfigError, TransientSourceError
from minercdc.oracle.codes import oracle_errors
from minercdc.schema.table import TableSchema

_LOCK_SECONDS, _PAUSE_SECONDS = 5, 2
_BUSY = (54, 30006)


@dataclass(frozen=True, slots=True)
class Object:
    """An object that ought to be there, or a state of one, as `objects` finds it; or one that is there and is to be removed.

    :param what: type and name, for people.
    :param problem: what is wrong with it; '' when it is there, valid and current. Of one to be removed, what is there.
    :param statements: run in order, they solve the problem, or remove the object; () when there is no `problem`, and for a
        problem that no statement solves.
    """

    what: str
    problem: str
    statements: tuple[str, ...] = ()


def refuse_unusable(tables: Sequence[TableSchema], owner: str, version: str) -> None:
    """Raises one ConfigError, with a line for each problem, when there are no tables, tables of another schema than `owner`,
    without a key, more than 126, with names that are too long or taken, or with a column TXN that is no NUMBER without precision.

    :param owner: the user who installs, and his schema.
    :param version: of the database, such as `19.3.0.0.0`.
    """
    lines = (
        [f"no table is captured in the schema {owner}: schema.include.list and table.include.list select none"]
        if not tables
        else []
    )
    others = sorted({table.id.schema for table in tables} - {owner})
    if others:
        lines.append(
            f"tables of {', '.join(others)} are captured, but database.user is {owner}: connect as the owner of all tables"
        )
    lines += [
        f"{table.id}: it has no key; add a primary key, or exclude it by table.exclude.list"
        for table in tables
        if not table.key
    ]
    if len(tables) > MOST_SOURCES:
        lines.append(f"{len(tables)} tables are captured, and the mask of {LOG} has {MOST_SOURCES} bits: leave some out")
    lines += unusable_names([table.id.table for table in tables], longest_name(version))
    for table in tables:
        txn = next((column for column in table.columns if column.name == COLUMN), None)
        if txn is not None and (txn.type_name != "NUMBER" or txn.length is not None):
            lines.append(f"{table.id}: its column {COLUMN} is not a NUMBER without precision; rename it")
    if lines:
        raise ConfigError(lines)


def objects(existing: Existing, tables: Sequence[TableSchema]) -> Iterator[Object]:
    """All objects that ought to be there, in the order in which they are made, also those without a problem. Raises
    ConfigError when there are more tables than bits."""
    yield _made(existing, "SEQUENCE", SEQUENCE, scripts.CREATE_SEQUENCE)
    yield from _own_tables(existing)
    for name, kind, text in scripts.PACKAGES:
        yield _program(existing, kind, name, text)
    bits = _bits(existing, tables)
    for table in tables:
        yield from _source(existing, table, bits[table.id.table])
    for table in tables:
        yield _wait(existing, table.id.table)
        yield _noted(existing, table.id.table)
    for name, action, seconds, enabled in scripts.JOBS:
        yield _job(existing, name, action, seconds, enabled=enabled)


def _made(existing: Existing, kind: str, name: str, *statements: str) -> Object:
    missing = (kind, name) not in existing.objects
    return Object(f"{kind.lower()} {name}", "missing" if missing else "", statements if missing else ())


def _own_tables(existing: Existing) -> Iterator[Object]:
    yield _made(existing, "TABLE", SOURCES, scripts.CREATE_SOURCES)
    for name, add in scripts.ADDED_TO_SOURCES.items():
        if ("TABLE", SOURCES) in existing.objects and name not in existing.columns.get(SOURCES, ()):
            yield Object(f"column {SOURCES}.{name}", "missing", (add,))
    yield _made(existing, "INDEX", f"{SOURCES}_I1", scripts.INDEX_SOURCES)
    yield _made(existing, "TABLE", LOG, scripts.CREATE_LOG)
    if ("TABLE", LOG) in existing.objects and not existing.row_dependencies:
        yield Object(
            f"table {LOG}", "it has no ROWDEPENDENCIES, which cannot be added: run `minercdc txlog remove CONFIG` first"
        )
    yield _made(existing, "INDEX", f"{LOG}_I1", scripts.INDEX_LOG)
    yield _made(existing, "TABLE", SETTINGS, scripts.CREATE_SETTINGS)
    if not existing.has_settings:
        yield Object(f"row of {SETTINGS}", "missing", (scripts.FILL_SETTINGS, "COMMIT"))


def _program(existing: Existing, kind: str, name: str, text: str) -> Object:
    status = existing.objects.get((kind, name))
    problem = (
        "missing" if status is None else "" if _same(existing.sources.get((kind, name), ""), text) else "another version"
    )
    if not problem and status != "VALID":
        problem = "invalid"
    return Object(f"{kind.lower()} {name}", problem, (scripts.replacing(text),) if problem else ())


def _same(found: str, text: str) -> bool:
    return [line.rstrip() for line in found.strip().splitlines()] == [line.rstrip() for line in text.splitlines()]


def _bits(existing: Existing, tables: Sequence[TableSchema]) -> Mapping[str, int]:
    """The bit of each registered table, and of each of `tables`, by name: one that is not registered gets the lowest
    free one."""
    found = {name: source.bit for name, source in existing.registered.items()}
    free = iter([bit for bit in range(MOST_SOURCES) if bit not in found.values()])
    for table in tables:
        if table.id.table not in found:
            bit = next(free, None)
            if bit is None:
                raise ConfigError(
                    [f"{table.id}: {SOURCES} has {MOST_SOURCES} sources, which is the maximum: exclude tables, or remove"]
                )
            found[table.id.table] = bit
    return found


def _source(existing: Existing, table: TableSchema, bit: int) -> Iterator[Object]:
    name = table.id.table
    has_txn = COLUMN in existing.columns.get(name, ())
    if has_txn and name not in existing.registered and ("TRIGGER", trigger_of(name)) not in existing.objects:
        yield Object(
            f"column {name}.{COLUMN}",
            f"it belongs to the table, because {SOURCES} and {trigger_of(name)} do not refer to it, and its values would be"
            " overwritten: rename it, drop it if an earlier installation left it, or exclude the table",
        )
        return
    if name not in existing.registered:
        row = f"INSERT INTO {SOURCES} (NAME, BITNUM, TXN_ADDED) SELECT {literal(name)}, {bit}, {int(not has_txn)} FROM DUAL"
        row += "" if has_txn else f" WHERE {_no_column(name)}"
        yield Object(f"source {name}", "not registered", (row, "COMMIT"))
    else:
        yield Object(f"source {name}", "")
    # Invisible, so that statements without a list of columns go on as they did (INSERT INTO T VALUES ..).
    add = f"ALTER TABLE {quoted(name)} ADD ({COLUMN} NUMBER{' INVISIBLE' if existing.invisible else ''})"
    registered = existing.registered.get(name)
    noted = f"UPDATE {SOURCES} SET TXN_ADDED = 1 WHERE NAME = {literal(name)} AND {_no_column(name)}"  # it was created again
    first = (noted, "COMMIT") if registered is not None and not registered.txn_added else ()
    yield Object(f"column {name}.{COLUMN}", "" if has_txn else "missing", () if has_txn else (*first, add))
    indexed = name in existing.indexed
    index = f"CREATE INDEX {index_of(bit)} ON {quoted(name)} ({COLUMN})"
    yield Object(f"index on {name}.{COLUMN}", "" if indexed else "missing", () if indexed else (index,))
    yield _view(existing, table)
    trigger = _program(existing, "TRIGGER", trigger_of(name), scripts.trigger_text(name))
    enable = f"ALTER TRIGGER {quoted(trigger_of(name))} ENABLE"
    if not trigger.problem and trigger_of(name) in existing.disabled:
        trigger = Object(trigger.what, "disabled", (enable,))
    again = f"UPDATE {SOURCES} SET WAITED = 0, {SINCE} = NULL WHERE NAME = {literal(name)}"
    yield replace(trigger, statements=(again, "COMMIT", *trigger.statements)) if trigger.problem else trigger


def _no_column(table: str) -> str:
    """A condition in SQL: the table has no column TXN. It is evaluated when the statement runs, since a script may run on another
    database, or later; a column TXN that is the table's own is then not taken for one that was added."""
    found = f"SELECT 1 FROM USER_TAB_COLS WHERE TABLE_NAME = {literal(table)} AND COLUMN_NAME = {literal(COLUMN)}"
    return f"NOT EXISTS ({found})"


def _wait(existing: Existing, name: str) -> Object:
    """An Object for the wait for transactions that changed rows before the trigger was there: its statements lock the table
    once they have ended. SY$SOURCES notes that they were waited for, so that a run with nothing to do locks nothing, and a
    later run waits where one broke off."""
    source = existing.registered.get(name)
    lock = f"LOCK TABLE {quoted(name)} IN SHARE MODE WAIT {_LOCK_SECONDS}"
    done = f"UPDATE {SOURCES} SET WAITED = 1, {SINCE} = NULL WHERE NAME = {literal(name)}"
    waited = source is not None and source.waited
    what = f"transactions on {name} from before its trigger"
    return Object(what, "" if waited else "may be open", () if waited else (lock, done, "COMMIT"))


def _noted(existing: Existing, name: str) -> Object:
    """An Object for the note in SY$SOURCES from which SCN on all transactions on the table are noted: that of the commit
    which says that they were waited for (`_wait`). ORA_ROWSCN may be higher, by what else is in the block, and is never lower."""
    source = existing.registered.get(name)
    note = f"UPDATE {SOURCES} SET {SINCE} = ORA_ROWSCN WHERE NAME = {literal(name)} AND WAITED = 1 AND {SINCE} IS NULL"
    known = source is not None and source.waited and source.since_known
    what = f"SCN from which on all transactions on {name} are noted"
    return Object(what, "" if known else "not known", () if known else (note, "COMMIT"))


def _view(existing: Existing, table: TableSchema) -> Object:
    name = view_of(table.id.table)
    columns = [column.name for column in table.columns]
    status = existing.objects.get(("VIEW", name))
    problem = ""
    if status is None:
        problem = "missing"
    elif not _same(existing.views.get(name, ""), scripts.view_query(table.id.table, columns)):
        problem = "another version: the table's columns changed"
    elif status != "VALID":
        problem = "invalid"
    return Object(f"view {name}", problem, (scripts.create_view(table.id.table, columns),) if problem else ())


def _job(existing: Existing, name: str, action: str, seconds: int, *, enabled: bool) -> Object:
    create = scripts.create_job(name, action, seconds, enabled=enabled)
    job = existing.jobs.get(name)
    if job is None:
        return Object(f"job {name}", "missing", (create,))
    if job.action != action or job.interval != f"FREQ=SECONDLY;INTERVAL={seconds}":
        drop = f"BEGIN DBMS_SCHEDULER.DROP_JOB({literal(name)}, force => TRUE); END;"
        return Object(f"job {name}", "another version", (drop, create))
    if enabled and not job.enabled:
        return Object(f"job {name}", "disabled", (f"BEGIN DBMS_SCHEDULER.ENABLE({literal(name)}); END;",))
    return Object(f"job {name}", "")


# ---- acting ----


def install(connection: oracledb.Connection, tables: Sequence[TableSchema], said: Callable[[str], None]) -> int:
    """Make what is missing or not current, and commit; returns the number of objects made, 0 when nothing was to be done. Waits
    without limit while transactions hold locks on a table. Sets DDL_LOCK_TIMEOUT of the session. After an error, what was
    made before stays.

    :param said: called with a line before each object is made, and at each wait.
    :raises ConfigError: no statement can make an object; or it still has a problem once it was made; or tables are too many.
    :raises SourceError, PrerequisiteError: Oracle refuses.
    """
    made: set[str] = set()
    run(connection, [f"ALTER SESSION SET DDL_LOCK_TIMEOUT = {_LOCK_SECONDS}"], "preparing the session")
    while wrong := [one for one in objects(read_existing(connection), tables) if one.problem]:
        refuse_unmakeable(wrong)
        for one in wrong:
            if one.what in made:
                raise ConfigError([f"{one.what}: {one.problem}, although it was just created", *_errors(connection)])
            said(f"{one.what}: {one.problem}")
            _run_patiently(connection, one.statements, f"making {one.what}", said)
            made.add(one.what)
    return len(made)


def _run_patiently(
    connection: oracledb.Connection, statements: Sequence[str], doing: str, said: Callable[[str], None]
) -> None:
    """Run statements in order, each again 2 s later while transactions hold locks on its table. Writers wait for it no
    longer than `_LOCK_SECONDS` at a time."""
    for statement in statements:
        while True:
            try:
                run(connection, [statement], doing)
                break
            except TransientSourceError as error:
                if error.ora_code not in _BUSY:
                    raise
                said(f"{doing}: a transaction holds a lock on the table; trying again in {_PAUSE_SECONDS} s")
                sleep(_PAUSE_SECONDS)


def refuse_unmakeable(wrong: Sequence[Object]) -> None:
    """Raises one ConfigError, with a line for each object that has a problem and no statements."""
    if lines := [f"{one.what}: {one.problem}" for one in wrong if one.problem and not one.statements]:
        raise ConfigError(lines)


def _errors(connection: oracledb.Connection) -> list[str]:
    """Errors of compilation of the user's programs (USER_ERRORS), a line each; [] for none."""
    with oracle_errors("reading USER_ERRORS"), connection.cursor() as cursor:
        rows = cursor.execute("SELECT NAME, TYPE, LINE, POSITION, TEXT FROM USER_ERRORS ORDER BY NAME, TYPE, SEQUENCE")
        return [f"{kind} {name}, line {line}, column {column}: {text}" for name, kind, line, column, text in rows]


def removals(existing: Existing) -> Iterator[Object]:
    """The objects of txlog that are there, in the order in which they are removed, with the statements that remove them. A
    column TXN is among them only if `install` added it."""
    for name in existing.jobs:
        drop = f"BEGIN DBMS_SCHEDULER.DROP_JOB({literal(name)}, force => TRUE); END;"
        yield Object(f"job {name}", "there", (drop,))
    for name, source in existing.registered.items():
        yield from _source_removals(existing, name, source.bit, added=source.txn_added)
    for name, kind in (
        (ALERT, "PACKAGE"),
        (CORE, "PACKAGE"),
        (SETTINGS, "TABLE"),
        (LOG, "TABLE"),
        (SOURCES, "TABLE"),
        (SEQUENCE, "SEQUENCE"),
    ):
        if (kind, name) in existing.objects:
            yield Object(f"{kind.lower()} {name}", "there", (f"DROP {kind} {name}{' PURGE' if kind == 'TABLE' else ''}",))


def _source_removals(existing: Existing, name: str, bit: int, *, added: bool) -> Iterator[Object]:
    there = ("TABLE", name) in existing.objects
    if ("TRIGGER", trigger_of(name)) in existing.objects:
        yield Object(f"trigger {trigger_of(name)}", "there", (f"DROP TRIGGER {quoted(trigger_of(name))}",))
    if ("VIEW", view_of(name)) in existing.objects:
        yield Object(f"view {view_of(name)}", "there", (f"DROP VIEW {quoted(view_of(name))}",))
    if there and ("INDEX", index_of(bit)) in existing.objects:
        yield Object(f"index {index_of(bit)}", "there", (f"DROP INDEX {index_of(bit)}",))
    if there and added and COLUMN in existing.columns.get(name, ()):
        yield Object(f"column {name}.{COLUMN}", "there", (f"ALTER TABLE {quoted(name)} DROP COLUMN {COLUMN}",))
    yield Object(f"source {name}", "registered", (f"DELETE FROM {SOURCES} WHERE NAME = {literal(name)}", "COMMIT"))


def remove(connection: oracledb.Connection, said: Callable[[str], None]) -> int:
    """Remove the objects of txlog in the user's schema, and commit; returns how many there were. After an error, the others stay.
    Raises SourceError, PrerequisiteError.

    :param said: called with a line before each object is removed.
    """
    found = list(removals(read_existing(connection)))
    for one in found:
        said(one.what)
        run(connection, one.statements, f"removing {one.what}")
    return len(found)


def run(connection: oracledb.Connection, statements: Sequence[str], doing: str) -> None:
    """Run statements in order, without a commit of its own. The first error ends it, raised as `codes.classify` makes it."""
    with oracle_errors(doing), connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
