"""Which container a row of V$LOGMNR_CONTENTS is of: its last columns, SRC_CON_NAME, SRC_CON_ID, SRC_CON_UID, SRC_CON_DBID,
SRC_CON_GUID and CON_ID.

Redo has the CON_ID, and LogMiner's dictionary the rest. A pluggable database that was dropped is in no online catalog, and what
Oracle has in these columns then is not established (docs/reference/logminer-facts.md#b-1-2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from minercdc_sandbox.catalog import Catalog, Container
from minercdc_sandbox.interfaces import Cell, OraError
from minercdc_sandbox.sql.number import integer, to_int

NAMES = ("SRC_CON_NAME", "SRC_CON_UID", "SRC_CON_DBID", "SRC_CON_GUID")
"""The columns that take the dictionary."""
_VIEW_CONTAINER = integer(1)
_CON_NAME, _CON_ID = -6, -5


class SourceContainers:
    """The containers of one reading. One thread.

    :param catalog: of the database that wrote the redo.
    :param are_read: whether a query reads one of `NAMES`.
    """

    def __init__(self, catalog: Catalog, *, are_read: bool) -> None:
        self._catalog, self._are_read = catalog, are_read
        self._cells: dict[int, tuple[Cell, ...]] = {}

    def cells(self, con_id: int) -> tuple[Cell, ...]:
        """The cells of the six columns, in their order; those of `NAMES` are NULL for a container that was dropped."""
        cells = self._cells.get(con_id)
        if cells is None:
            container = self._catalog.containers.get(con_id)
            dropped = (None, integer(con_id), None, None, None, _VIEW_CONTAINER)
            cells = self._cells[con_id] = dropped if container is None else _known(container)
        return cells

    def shows(self, row: Sequence[Cell], holds: Callable[[Sequence[Cell]], bool] = lambda _: True) -> bool:
        """Whether a row of the view fulfils a condition. Where a query reads columns of `NAMES`, a row of a dropped container
        does not if the condition is false both with NULL in them and with what they were before.

        :raises OraError: ORA-03001, when it fulfils the condition with one of these, and such a column is read.
        """
        if not self._are_read or row[_CON_NAME] is not None:
            return holds(row)
        con_id = to_int(cast(bytes, row[_CON_ID]))
        before = self._catalog.dropped_pdbs.get(con_id)
        if holds(row) or (before is not None and holds((*row[:_CON_NAME], *_known(before)))):
            name = f"with CON_ID {con_id}" if before is None else before.name
            raise OraError(
                3001,
                f"unimplemented feature: {', '.join(NAMES)} of redo of the pluggable database {name}, which was dropped: what Oracle"
                " has there is not known",
            )
        return False


def _known(container: Container) -> tuple[Cell, ...]:
    dbid = integer(container.dbid)
    return container.name, integer(container.con_id), dbid, dbid, container.guid, _VIEW_CONTAINER
