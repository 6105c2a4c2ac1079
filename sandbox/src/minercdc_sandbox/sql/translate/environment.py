"""The environment of a translation, and SQL texts of constants."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from minercdc_sandbox.catalog import Catalog
from minercdc_sandbox.interfaces import OraError, View
from minercdc_sandbox.lobs.values import LobStore
from minercdc_sandbox.sql.nls import Nls
from minercdc_sandbox.sql.privileges import check_object, check_view
from minercdc_sandbox.tables import Table


@dataclass(frozen=True, slots=True)
class VariableNames:
    """PL/SQL variables that a statement of a block may name, each with the index, from 0, of its bind."""

    items: tuple[tuple[tuple[str, ...], int], ...] = ()

    def find(self, parts: tuple[str, ...]) -> int | None:
        """The index of the bind of a variable; None for an unknown name."""
        return next((at for name, at in self.items if name == parts), None)


NO_VARIABLES = VariableNames()


@dataclass(frozen=True, slots=True)
class Environment:
    """Everything but the text and the types of binds that a translation depends on, as of one moment.

    :param views: of the database itself, by name.
    :param container: its CON_ID.
    :param schema: the current one; `user`: whose privileges count.
    :param release: 19 or 23, which decides on types and functions.
    :param extended_strings: MAX_STRING_SIZE is EXTENDED: VARCHAR2 and RAW up to 32767 bytes.
    :param flashback: DBMS_FLASHBACK is enabled, so that queries see an earlier SCN.
    :param archived: ROW ARCHIVAL VISIBILITY is ALL, so that queries see archived rows.
    :param private: returns the session's own copy of a global temporary table.
    :param stored: finds the stored function (`plsql.program.Subprogram`) that a schema and user call by a name; None for an
        unknown one.
    :param variables: variables of the block that the statement is in; columns come before them.
    """

    catalog: Catalog
    views: Mapping[str, View]
    container: int
    schema: str
    user: str
    nls: Nls
    lobs: LobStore
    release: int = 23
    extended_strings: bool = False
    flashback: bool = False
    archived: bool = False
    private: Callable[[Table], Table] = lambda table: table
    stored: Callable[[str, str, tuple[str, ...]], Any] = lambda schema, user, parts: None
    variables: VariableNames = NO_VARIABLES

    def allowed(self, privilege: str, owner: str, name: str, at: int) -> None:
        """Raises ORA-00942 for an object that the user may not see, ORA-01031 for a visible one without `privilege`, with `at` as
        position."""
        check_object(self.catalog, self.container, self.user, privilege, owner, name, at)

    def require_open(self, at: int) -> None:
        """Raises ORA-01219 in a container that is MOUNTED: it has fixed views only (Error Messages, ORA-01219)."""
        if self.catalog.containers[self.container].open_mode == "MOUNTED":
            raise OraError(
                1219, "database or pluggable database not open: queries allowed on fixed tables or views only", at
            )

    def may_see(self, view: str, at: int) -> None:
        """Raises ORA-00942 for a view of the database that the user may not see."""
        check_view(self.catalog, self.container, self.user, view, at)


def active(env: Environment, table: Table) -> str:
    """SQL of the condition that leaves archived rows out, from AND on; '' where there are none or the session sees them (VLDB and
    Partitioning Guide, "In-Database Archiving")."""
    column = table.archival
    return "" if column is None or env.archived else f" and c{column.slot}='0'"


def quote(text: str) -> str:
    """A text as a literal of SQLite's SQL."""
    return "'" + text.replace("'", "''") + "'"


def blob(cell: bytes) -> str:
    """A cell of bytes as a literal of SQLite's SQL."""
    return f"x'{cell.hex()}'"
