"""What a query has become: SQLite text, result columns, parameters, and what it reads."""

from __future__ import annotations

from dataclasses import dataclass, field

from minercdc_sandbox.interfaces import ColumnDescription
from minercdc_sandbox.sql.runtime import Parameter, ViewUse
from minercdc_sandbox.tables import Table


@dataclass(slots=True)
class Plan:
    """A translated query.

    :param stored: it reads tables, so it runs on the shared store; else on the session's own connection.
    :param tables: with the AS OF parameter of each, for the checks at run time.
    :param uses: views named once, by name.
    :param picked: of a query that only picks columns of one view's rows: their positions. Its SQL then finds the rows, and
        shows none of their columns.
    :param picked_where: the condition of such a query, as in `sql`; None for none.
    """

    sql: str
    columns: tuple[ColumnDescription, ...]
    parameters: list[Parameter]
    stored: bool
    tables: list[tuple[Table, Parameter | None]]
    uses: dict[str, ViewUse] = field(default_factory=dict)
    picked: tuple[int, ...] = ()
    picked_where: str | None = None
