"""What blocks ask of the session that runs them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from minercdc_sandbox.interfaces import BindType, ColumnDescription, Result
from minercdc_sandbox.lobs.temporary import SessionLobs
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.sql.translate.environment import VariableNames
from minercdc_sandbox.tables import Table


class BlockSession(SqlSession, Protocol):
    """A session that runs statements within a block.

    :ivar lobs: its temporary LOBs.
    """

    lobs: SessionLobs

    def tables(self) -> Iterator[Table]:
        """Tables that have rows the session may see."""

    def before_change(self) -> None:
        """Called with the storage locked, before a row changes."""

    def check_statement(
        self, sql: str, bind_types: Sequence[BindType], names: VariableNames
    ) -> tuple[ColumnDescription, ...] | None:
        """Plan a query or DML statement without running it; the columns of a query. Raises what its names and types are wrong in."""

    def run_statement(
        self, sql: str, bind_types: Sequence[BindType], bind_rows: Sequence[tuple[Any, ...]], names: VariableNames
    ) -> Result:
        """Run a statement of a block, in which names that are no columns may be variables; their values are binds."""

    def run_autonomously(self) -> Any:
        """A context in which the session has a transaction of its own. Raises ORA-06519 when that is left open."""
