"""Checks the prerequisites of `olr` and `fors_olr` in the source database; the server that reads the redo has separate ones."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import oracledb

from minercdc.oracle import grants
from minercdc.oracle.finding import Finding, Severity
from minercdc.oracle.prerequisites import redo_findings
from minercdc.schema.table import TableSchema
from minercdc.values.codec import UNMINED_TYPES


class ServerPrerequisites:
    """The `oracle.prerequisites.CapturePrerequisites` of `olr` and `fors_olr`: checks what these servers need of the
    database. The findings come as they are iterated, and so do errors.

    :param without_values: text of a finding between the table's name and the columns without values.
    :param read: types that the server has values of, though LogMiner has none.
    """

    def __init__(self, without_values: str, read: Collection[str] = ()) -> None:
        self._without_values = without_values
        self._types = (UNMINED_TYPES | {"JSON"}).difference(read)

    def privileges(self, connection: oracledb.Connection, user: str) -> Iterator[Finding]:
        """A blocking finding for each view of `grants.SERVER_VIEWS` that the connection cannot read.

        :param user: who the grant in the fix is for.
        :raises SourceError: a query failed for another reason than a missing grant.
        """
        for grant, why in grants.missing_views(connection, grants.SERVER_VIEWS):
            fix = f"GRANT SELECT ON {grant.on.removeprefix('SYS.')} TO {user}"
            yield Finding("grant-views", Severity.MISSING, f"{grant.view} cannot be read ({why})", fix)

    def database(self, connection: oracledb.Connection, tables: Sequence[TableSchema]) -> Iterator[Finding]:
        """Findings about ARCHIVELOG mode and supplemental logging of `tables`, as `redo_findings`, which names the errors;
        none when both are right."""
        yield from redo_findings(connection, tables, without_minimal="redo does not contain whole rows")

    def tables(self, tables: Sequence[TableSchema]) -> Iterator[Finding]:
        """A finding, not blocking, for each table with columns whose values do not come: large types that redo has no values of,
        and JSON."""
        for table in tables:
            names = [f"{column.name} {column.type_name}" for column in table.columns if column.type_name in self._types]
            if names:
                yield Finding(
                    "mined-types",
                    Severity.ADVICE,
                    f"{table.id}: {self._without_values}: {', '.join(names)}",
                    "Leave the table out, or set event.processing.failure.handling.mode=warn to continue without its changes.",
                )
