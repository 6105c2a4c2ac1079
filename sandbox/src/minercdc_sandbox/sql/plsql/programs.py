"""The stored programs and triggers that a session uses, found by name, with the rights it has on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from minercdc_sandbox.interfaces import Cell, OraError
from minercdc_sandbox.objects import StoredProgram, Trigger
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.sql.functions.registry import KNOWN
from minercdc_sandbox.sql.plsql.program import PackagedVariable, Subprogram
from minercdc_sandbox.sql.plsql.rights import Rights
from minercdc_sandbox.sql.plsql.stored import Unit
from minercdc_sandbox.sql.plsql.triggers import CompiledTrigger
from minercdc_sandbox.sql.plsql.variables import Scalar
from minercdc_sandbox.sql.privileges import may_call
from minercdc_sandbox.sql.types import column_type
from minercdc_sandbox.tables import Table

_STATE_OF = tuple[object, ...]
_DEEPEST = 50
"""Levels of triggers that fire each other."""


class Programs:
    """The stored programs of one session, and the rights its statements have in them: implements `execution.StoredPrograms`.
    Compiled forms are made at first use, and again when a text or table that they depend on has changed."""

    def __init__(self, session: SqlSession) -> None:
        self._session = session
        self._rights = Rights()
        self._units: dict[tuple[int, str, str], tuple[Unit, _STATE_OF]] = {}
        self._lost: set[tuple[int, str, str]] = set()
        self._triggers: dict[int, tuple[int, CompiledTrigger]] = {}
        self._version = -1
        self._firing: list[tuple[Table | None, bool]] = []
        self._queries = 0

    # ---- rights ----

    @property
    def definer(self) -> str | None:
        """The owner whose rights and schema statements have within a stored program; None outside of any."""
        return self._rights.owner

    def rights(self) -> tuple[str, bool]:
        """The user whose privileges count, and whether only those granted directly do: within a stored program its owner and True."""
        definer = self.definer
        return (definer, True) if definer is not None else (self._session.user, False)

    # ---- names ----

    def subprogram(self, parts: tuple[str, ...]) -> Subprogram | None:
        """The procedure or function that PL/SQL calls by this name, with package and owner before it; None for an unknown one,
        one that the user may not call, and a function of SQL. Compiles it at first use; raises ORA-04063 when the program has
        errors."""
        if len(parts) == 1 and parts[0] in KNOWN:
            return None
        return self._public(self._schema(), self.rights()[0], parts, Subprogram)

    def function(self, schema: str, user: str, parts: tuple[str, ...]) -> Subprogram | None:
        """The function that SQL calls by this name in a schema; None for an unknown one, one that `user` may not call, and a
        procedure. Compiles it at first use; raises ORA-04063 when the program has errors."""
        found = self._public(schema, user, parts, Subprogram)
        return found if found is not None and found.path else None

    def variable(self, parts: Sequence[str]) -> PackagedVariable | None:
        """The public scalar variable of a package, named with the package and perhaps its owner; None for anything else, and for
        a package that the user may not call. Raises ORA-04063 for a package with errors."""
        for owner, package, name in _paths(self._schema(), tuple(parts)):
            unit = self._visible(owner, package, self.rights()[0]) if package else None
            variable = unit.scalar(name) if unit is not None else None
            if unit is not None and variable is not None and isinstance(variable.type, Scalar):
                return PackagedVariable(variable, variable.type, unit)
        return None

    def _schema(self) -> str:
        return self.definer or self._session.schema

    def _public(self, schema: str, user: str, parts: tuple[str, ...], kind: type[Subprogram]) -> Subprogram | None:
        if not self._session.catalog.containers[self._session.container].programs:
            return None
        for owner, package, name in _paths(schema, parts):
            unit = self._visible(owner, package or name, user)
            found = unit.public.get(name) if unit is not None and (unit.program.kind == "PACKAGE") == bool(package) else None
            if isinstance(found, kind):
                return found
        return None

    def _visible(self, owner: str, name: str, user: str) -> Unit | None:
        session = self._session
        catalog, container = session.catalog, session.container
        program = catalog.program(container, owner, name)
        if program is None:
            synonym = catalog.synonym(container, None, owner, name)
            program = catalog.program(container, synonym.table_owner, synonym.table_name) if synonym is not None else None
        if program is None or not may_call(catalog, container, user, program.owner, program.name):
            return None
        return self._unit(program)

    # ---- compiled forms ----

    def _unit(self, program: StoredProgram) -> Unit:
        """The compiled form, made at first use, and made again when the program or one that it names was replaced. Raises
        ORA-04063 when it has errors."""
        self._revalidate()
        key = (program.container, program.owner, program.name)
        if key in self._units:
            return self._units[key][0]
        body = self._session.catalog.body(*key)
        unit = Unit(self._session, self._rights, program, body)
        unit.lost = key in self._lost
        self._lost.discard(key)
        # Known before its body is read: two packages may call each other.
        self._units[key] = unit, self._state_of(program)
        try:
            unit.compile()
        except OraError as error:
            del self._units[key]
            shown = f'{program.kind.lower()} "{program.owner}.{program.name}" has errors'
            raise OraError(4063, f"{shown}\n{error}") from error
        return unit

    def _revalidate(self) -> None:
        catalog = self._session.catalog
        if self._version == catalog.version:
            return
        self._version = catalog.version
        for key, (unit, state) in list(self._units.items()):
            program = catalog.program(*key)
            if program is None or self._state_of(program) != state:
                if unit.has_state:
                    self._lost.add(key)
                del self._units[key]

    def _state_of(self, program: StoredProgram) -> _STATE_OF:
        """What must stay for a compiled form to stay right, to be compared: the texts of the program and of all programs it
        names, directly or not, and the columns of the tables."""
        found: dict[tuple[str, str], object] = {}
        catalog, open_ = self._session.catalog, [program]
        while open_:
            one = open_.pop()
            key = (one.owner, one.name)
            if key in found:
                continue
            body = catalog.body(one.container, *key)
            found[key] = (one.stamp, body.stamp if body is not None else 0)
            for name in one.names | (body.names if body is not None else frozenset()):
                named = catalog.object_named(one.container, one.owner, name)
                if isinstance(named, StoredProgram):
                    open_.append(named)
                elif isinstance(named, Table):
                    found[one.owner, name] = (named.object_id, named.version)
        return tuple(sorted(found.items(), key=lambda item: item[0]))

    def compile(self, program: StoredProgram, body: StoredProgram | None) -> None:
        """Compile a program that is about to be stored, to find its errors; the compiled form is not kept. `body`: of a package,
        None without one. Raises errors within ORA-06550, and as `tokenize`."""
        self._revalidate()
        Unit(self._session, self._rights, program, body).compile()

    def compile_trigger(self, trigger: Trigger, table: Table) -> None:
        """Compile a trigger that is about to be stored, to find its errors; the compiled form is not kept. Raises as
        `CompiledTrigger`."""
        with self._rights.of(trigger.owner):
            CompiledTrigger(self._session, trigger, table)

    # ---- functions in SQL ----

    def call(self, path: Sequence[str], cells: Sequence[Cell]) -> Cell:
        """The value of a stored function, which SQL calls by `path`, its owner first, for arguments that have the types of its
        parameters; parameters after the last argument have their defaults. Raises ORA-00904 for an unknown function, ORA-04063
        for one with errors, as `Home.entered`, and what the function raises."""
        found = self._public(path[0], path[0], tuple(path), Subprogram)
        if found is None or found.home is None:
            raise OraError(904, f'"{".".join(path)}": invalid identifier')
        values = [
            (
                p,
                (cells[n], column_type(p.variable.type.column))
                if n < len(cells) and isinstance(p.variable.type, Scalar)
                else None,
            )
            for n, p in enumerate(found.parameters)
        ]
        self._queries += 1
        try:
            with found.home.entered(None) as inner:
                result, _ = found.call(inner, values)
        finally:
            self._queries -= 1
        value: Cell = result
        return value

    # ---- triggers ----

    def fires(self, table: Table, event: str, *, of_rows: bool = True) -> bool:
        """Whether the table has an enabled trigger of this event, INSERT, UPDATE or DELETE, for rows or for statements."""
        triggers = self._session.catalog.triggers_of(table)
        return any(one.enabled and one.of_rows == of_rows and event in one.events for one in triggers)

    def before_row(
        self,
        table: Table,
        event: str,
        before: tuple[Cell, ...] | None,
        after: tuple[Cell, ...],
        assigned: Sequence[int] = (),
        *,
        alone: bool = False,
    ) -> tuple[Cell, ...]:
        """The row as the table's enabled BEFORE row triggers leave it, run one after another; `after` itself if none is for this
        event, and of a DELETE. Raises ORA-04098 for a trigger with errors, and as `CompiledTrigger.fire`.

        :param before: the row before an UPDATE or DELETE, None of an INSERT; of a DELETE `after` is the same row.
        :param assigned: positions of the columns that the UPDATE assigns, by which UPDATE OF fires.
        :param alone: of INSERT .. VALUES, whose table its triggers may read.
        """
        for trigger, names in self._wanted(table, "BEFORE", event, assigned, of_rows=True):
            left = self._fired(trigger, table, (table, alone), event, before, None if event == "DELETE" else after, names)
            after = left if event != "DELETE" else after
        return after

    def after_row(
        self,
        table: Table,
        event: str,
        before: tuple[Cell, ...] | None,
        after: tuple[Cell, ...] | None,
        assigned: Sequence[int] = (),
    ) -> None:
        """Run the table's enabled AFTER row triggers on a row that was changed; arguments and errors as of `before_row`."""
        for trigger, names in self._wanted(table, "AFTER", event, assigned, of_rows=True):
            self._fired(trigger, table, (table, False), event, before, after, names)

    def around(self, table: Table, timing: str, event: str, assigned: Sequence[int] = ()) -> None:
        """Run the table's enabled triggers for a statement of this event, BEFORE or AFTER it. They may read and change the table.
        Errors are those of `before_row`."""
        for trigger, names in self._wanted(table, timing, event, assigned, of_rows=False):
            self._fired(trigger, table, (None, False), event, None, None, names)

    def _wanted(
        self, table: Table, timing: str, event: str, assigned: Sequence[int], *, of_rows: bool
    ) -> Iterator[tuple[Trigger, frozenset[str]]]:
        """The enabled triggers that fire, in their order, with the names of the assigned columns."""
        names = frozenset(table.columns[at].name for at in assigned)
        for trigger in self._session.catalog.triggers_of(table):
            of_event = event in trigger.events and (event != "UPDATE" or not trigger.columns or names & set(trigger.columns))
            if trigger.enabled and of_event and (trigger.timing, trigger.of_rows) == (timing, of_rows):
                yield trigger, names

    def _fired(
        self,
        trigger: Trigger,
        table: Table,
        firing: tuple[Table | None, bool],
        event: str,
        before: tuple[Cell, ...] | None,
        after: tuple[Cell, ...] | None,
        names: frozenset[str],
    ) -> tuple[Cell, ...]:
        """The row as one trigger leaves it. Raises as `before_row`, ORA-00036 for triggers that fire each other without end."""
        if len(self._firing) >= _DEEPEST:
            raise OraError(36, f"maximum number of recursive SQL levels ({_DEEPEST}) exceeded")
        compiled = self._compiled(trigger, table)
        self._firing.append(firing)
        try:
            with self._rights.of(trigger.owner):
                return compiled.fire(event, before, after, names)
        finally:
            self._firing.pop()

    def _compiled(self, trigger: Trigger, table: Table) -> CompiledTrigger:
        version, known = self._session.catalog.version, self._triggers.get(trigger.object_id)
        if known is not None and known[0] == version:
            return known[1]
        try:
            with self._rights.of(trigger.owner):
                compiled = CompiledTrigger(self._session, trigger, table)
        except OraError as error:
            text = f"trigger '{trigger.owner}.{trigger.name}' is invalid and failed re-validation\n{error}"
            raise OraError(4098, text) from error
        self._triggers[trigger.object_id] = version, compiled
        return compiled

    # ---- what statements may do within triggers and queries ----

    def check_change(self) -> None:
        """Call it before DML. Raises ORA-14551 in a function that a query calls, except in an autonomous transaction."""
        if self._queries and not self._session.transactions.alone:
            raise OraError(14551, "cannot perform a DML operation inside a query ")

    def check_table(self, table: Table, *, changed: bool) -> None:
        """Call it before a statement reads or changes rows. Raises ORA-04091 for a table that the statement which fired a running
        trigger is changing.

        :param changed: rows of it are to change, not only to be read.
        """
        for firing, alone in self._firing:
            if firing is not None and firing.object_id == table.object_id and (changed or not alone):
                owner, name = table.owner, table.name
                raise OraError(4091, f"table {owner}.{name} is mutating, trigger/function may not see it")

    def check_command(self, words: str) -> None:
        """Call it before transaction control and DDL, which `words` begins with. Raises ORA-04092 in a trigger, ORA-14552 in a
        function that a query calls, both except in an autonomous transaction; ORA-03001 for DDL in a stored program of another
        user."""
        alone = self._session.transactions.alone
        if self._firing and not alone:
            raise OraError(4092, f"cannot {words.split()[0]} in a trigger")
        if self._queries and not alone:
            raise OraError(14552, "cannot perform a DDL, commit or rollback inside a query or DML ")
        control = words.split()[0] in ("COMMIT", "ROLLBACK", "SAVEPOINT", "SET", "LOCK")
        if self.definer not in (None, self._session.user) and not control:
            raise OraError(3001, f"unimplemented feature: {words} in a stored program of another user")


def _paths(schema: str, parts: tuple[str, ...]) -> list[tuple[str, str, str]]:
    """The meanings of a name, in the order in which they are looked up, as owner, package ('' without one) and name; [] for more
    than three parts."""
    if len(parts) == 1:
        return [(schema, "", parts[0])]
    if len(parts) == 2:
        return [(schema, parts[0], parts[1]), (parts[0], "", parts[1])]
    return [(parts[0], parts[1], parts[2])] if len(parts) == 3 else []
