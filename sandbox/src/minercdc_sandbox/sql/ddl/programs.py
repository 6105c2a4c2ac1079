"""CREATE, ALTER and DROP of packages, functions, procedures and triggers.

Oracle stores a program that does not compile, marked INVALID, with the warning ORA-24344; the sandbox refuses it with ORA-03001, and
stores nothing. A program becomes INVALID when what it names is dropped, and is compiled again at its next use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.objects import StoredProgram, Trigger
from minercdc_sandbox.sql.ddl.exclusive import committed
from minercdc_sandbox.sql.ddl.names import named_objects, new_name, program_owner
from minercdc_sandbox.sql.dml.target import target_table
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.sql.parse.statements import Parser
from minercdc_sandbox.sql.plsql.triggers import read_header
from minercdc_sandbox.sql.privileges import move_grants, require
from minercdc_sandbox.tables import Table

_MISSING = {"TRIGGER": 4080}
P = TypeVar("P", bound=StoredProgram)


def create_program(session: SqlSession, parser: Parser, *, kind: str, replacing: bool = False) -> None:
    """CREATE [OR REPLACE] PACKAGE | PACKAGE BODY | FUNCTION | PROCEDURE, read from after these words; `kind` is that word. Raises
    ORA-03001 with the errors of compilation, ORA-00955, ORA-01031, ORA-01918. Commits the open transaction first, as `committed`,
    and logs itself as DDL. Syntax errors are those of `Parser`."""
    start = parser.tokens[parser.at - (2 if kind == "PACKAGE BODY" else 1)].start
    owner, name = parser.qualified()
    text = parser.sql[start:].rstrip().removesuffix("/").rstrip()
    with committed(session):
        catalog, place = session.catalog, session.catalog.containers[session.container]
        home = place.bodies if kind == "PACKAGE BODY" else place.programs
        old = home.get((owner or session.schema, name))
        if kind == "PACKAGE BODY":
            owner = program_owner(session, owner)
            if old is not None and not replacing:
                raise OraError(955, "name is already used by an existing object")
        else:
            owner = new_name(
                session, owner, name, "PROCEDURE", replaced=old if replacing and old and old.kind == kind else None
            )
        now, key = session.storage.clock.now(), (owner, name)
        program = StoredProgram(
            session.container,
            owner,
            name,
            old.object_id if old is not None else catalog.new_object_id(),
            kind,
            text,
            old.created if old is not None else now,
            now,
            catalog.new_object_id(),
        )
        program.names = named_objects(session, owner, name, text)
        _compiled(program, lambda: _compile(session, program))
        home[key] = program
        session.storage.log_ddl(session.client, parser.sql, None, owner, name)


def _compile(session: SqlSession, program: StoredProgram) -> None:
    """Compile a program, to find its errors; a body with its package. Raises ORA-06550: the errors of compilation, PLS-00201 for
    a body without a package."""
    if program.kind != "PACKAGE BODY":
        # An old body that no longer goes with a new specification makes that invalid, not this.
        session.programs.compile(program, None)
        return
    package = session.catalog.program(program.container, program.owner, program.name)
    if package is None or package.kind != "PACKAGE":
        raise OraError(6550, f"PLS-00201: identifier '{program.name}' must be declared")
    session.programs.compile(package, program)


def _compiled(program: StoredProgram, compile_: Callable[[], None]) -> None:
    try:
        compile_()
    except OraError as error:
        shown = f"{program.kind} {program.owner}.{program.name}"
        raise OraError(3001, f"unimplemented feature: to store {shown} with its errors of compilation\n{error}") from error


def create_trigger(session: SqlSession, parser: Parser, *, replacing: bool = False) -> None:
    """CREATE [OR REPLACE] TRIGGER .. BEFORE INSERT OR UPDATE .. FOR EACH ROW, read from after the word TRIGGER. Raises ORA-03001
    with the errors of compilation, ORA-04081 for a name that is taken, ORA-04095 for that of a trigger on another table,
    ORA-00942 for a table of another schema without its name, and as `program_owner`, `read_header` and `target_table`. Commits
    the open transaction first, as `committed`, and logs itself as DDL. Syntax errors are those of `Parser`."""
    start = parser.tokens[parser.at - 1].start
    owner, name = parser.qualified()
    text = parser.sql[start:].rstrip().removesuffix("/").rstrip()
    with committed(session):
        catalog, now = session.catalog, session.storage.clock.now()
        owner = program_owner(session, owner, "TRIGGER")
        triggers = catalog.containers[session.container].triggers
        old = triggers.get((owner, name))
        if old is not None and not replacing:
            raise OraError(4081, f"trigger '{name}' already exists")
        trigger = Trigger(
            session.container,
            owner,
            name,
            old.object_id if old is not None else catalog.new_object_id(),
            "TRIGGER",
            text,
            old.created if old is not None else now,
            now,
            catalog.new_object_id(),
        )
        table_owner, table_name, at = read_header(Parser(text), trigger)
        table = target_table(session.environment, table_owner, table_name, start + at)
        if table_owner is None and table.owner != owner:
            raise OraError(942, "table or view does not exist", start + at)
        if old is not None and old.table_id != table.object_id:
            raise OraError(4095, f"trigger '{name}' already exists on another table, cannot replace it")
        trigger.table_id = table.object_id
        trigger.names = named_objects(session, owner, name, text) - {table.name}
        _compiled(trigger, lambda: session.programs.compile_trigger(trigger, table))
        triggers[owner, name] = trigger
        session.storage.log_ddl(session.client, parser.sql, None, owner, name)


def alter_trigger(session: SqlSession, parser: Parser) -> None:
    """ALTER TRIGGER .. ENABLE | DISABLE | COMPILE | RENAME TO, read from after these words. Raises ORA-04080, ORA-04081 for a new
    name that is taken, ORA-01031, ORA-03001 for another change and with the errors of compilation. Commits the open transaction
    first, as `committed`, and logs itself as DDL. Syntax errors are those of `Parser`."""
    owner, name = parser.qualified()
    word = parser.any_word("ENABLE", "DISABLE", "COMPILE", "RENAME")
    new = parser.name() if word == "RENAME" and parser.word("TO") else name
    if word is None:
        raise OraError(3001, f"unimplemented feature: ALTER TRIGGER {parser.token.text}", parser.token.start)
    parser.end()
    with committed(session):
        triggers = session.catalog.containers[session.container].triggers
        trigger = _existing(session, triggers, "TRIGGER", owner, name, "ALTER")
        table = session.catalog.table_of(trigger.table_id)
        if word == "COMPILE" and table is not None:
            _compiled(trigger, lambda: session.programs.compile_trigger(trigger, table))
        elif word == "RENAME":
            if (trigger.owner, new) in triggers:
                raise OraError(4081, f"trigger '{new}' already exists")
            del triggers[trigger.owner, name]
            trigger.name = new
            triggers[trigger.owner, new] = trigger
        else:
            trigger.enabled = word == "ENABLE"
        trigger.last_ddl = session.storage.clock.now()
        session.storage.log_ddl(session.client, parser.sql, None, trigger.owner, name)


def enable_triggers(session: SqlSession, table: Table, *, enabled: bool) -> None:
    """ALTER TABLE .. ENABLE | DISABLE ALL TRIGGERS: enable or disable all triggers of the table; logs nothing."""
    for trigger in session.catalog.triggers_of(table):
        trigger.enabled, trigger.last_ddl = enabled, session.storage.clock.now()


def alter_program(session: SqlSession, parser: Parser, *, kind: str) -> None:
    """ALTER PACKAGE | FUNCTION | PROCEDURE .. COMPILE [SPECIFICATION | BODY | PACKAGE], read from after these words: compile it
    to find its errors. Raises ORA-04043, ORA-01031, ORA-03001 for another change and with the errors of compilation. Commits the
    open transaction first, as `committed`, and logs itself as DDL. Syntax errors are those of `Parser`."""
    owner, name = parser.qualified()
    if not parser.word("COMPILE"):
        raise OraError(3001, f"unimplemented feature: ALTER {kind} {parser.token.text}", parser.token.start)
    parser.any_word("SPECIFICATION", "BODY", "PACKAGE")
    parser.end()
    with committed(session):
        program = _existing(session, session.catalog.containers[session.container].programs, kind, owner, name, "ALTER")
        body = session.catalog.body(program.container, program.owner, program.name)
        _compiled(program, lambda: session.programs.compile(program, body))
        session.storage.log_ddl(session.client, parser.sql, None, program.owner, name)


def drop_program(session: SqlSession, parser: Parser, *, kind: str) -> None:
    """DROP PACKAGE [BODY] | FUNCTION | PROCEDURE | TRIGGER, read from after these words; a package goes with its body. Raises
    ORA-04043, of a trigger ORA-04080, and ORA-01031. Commits the open transaction first, as `committed`, and logs itself as DDL.
    Syntax errors are those of `Parser`."""
    owner, name = parser.qualified()
    parser.end()
    with committed(session):
        place = session.catalog.containers[session.container]
        if kind == "TRIGGER":
            trigger = _existing(session, place.triggers, kind, owner, name, "DROP")
            del place.triggers[trigger.owner, name]
            session.storage.log_ddl(session.client, parser.sql, None, trigger.owner, name)
            return
        home = place.bodies if kind == "PACKAGE BODY" else place.programs
        program = _existing(session, home, kind, owner, name, "DROP")
        del home[program.owner, name]
        if kind != "PACKAGE BODY":
            move_grants(session.catalog, session.container, program.owner, name, None)
        if kind == "PACKAGE":
            place.bodies.pop((program.owner, name), None)
        session.storage.log_ddl(session.client, parser.sql, None, program.owner, name)


def _existing(
    session: SqlSession, home: dict[tuple[str, str], P], kind: str, owner: str | None, name: str, action: str
) -> P:
    """The program or trigger of this name and kind, of the current schema without `owner`. Raises ORA-04043, of a trigger
    ORA-04080, when there is none, ORA-01031 without the privilege.

    :param home: the container's programs, bodies or triggers.
    :param action: ALTER or DROP, which others than the owner need the privilege for; all programs are PROCEDURE there.
    """
    found = home.get((owner or session.schema, name))
    if found is None or found.kind != kind:
        number = _MISSING.get(kind, 4043)
        raise OraError(number, f"trigger '{name}' does not exist" if number == 4080 else f"object {name} does not exist")
    if found.owner != session.user:
        of = kind if kind == "TRIGGER" else "PROCEDURE"
        require(session.catalog, session.container, session.user, f"{action} ANY {of}")
    return found
