"""Gives rows that LogMiner shows without a dictionary the names of their tables, as the primary's dictionary has them.

    row without dictionary       "UNKNOWN"."OBJ# 74012", columns `COL n` with stored bytes
    named here                   SHOP.ORDERS; decoded as a row of another table version, by the schema history

The id decides wherever the schema history knows it (`ShapeTracker.captured`); names only say of other tables whether they are
captured.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any, Final

from minercdc.capture.adapter import CaptureContext
from minercdc.capture.logminer.logs.physical_standby import unnamed_table
from minercdc.capture.logminer.session.row import OTHER_ROW_CODES, LogMinerRow, OpCode
from minercdc.errors import PrerequisiteError
from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.kept_connection import KeptConnection
from minercdc.oracle.scn import ROOT, container_id

_log = logging.getLogger(__name__)

_UNKNOWN: Final = "UNKNOWN"
_MISMATCH: Final = 2, "Dictionary Mismatch"  # STATUS and INFO of rows with stored bytes
_DML: Final = frozenset({OpCode.INSERT, OpCode.UPDATE, OpCode.DELETE})
_ROWS: Final = _DML | OTHER_ROW_CODES | {OpCode.DDL}
_MOST: Final = 500  # ids in one query
_CODE, _OBJECT, _CONTAINER = (LogMinerRow._fields.index(name) for name in ("code", "object_id", "con_id"))
_OBJECTS: Final = (
    "SELECT OBJECT_ID, OWNER, OBJECT_NAME, OBJECT_TYPE FROM ALL_OBJECTS"
    " WHERE OBJECT_TYPE IN ('TABLE', 'TABLE PARTITION', 'TABLE SUBPARTITION') AND OBJECT_ID IN ({ids})"
)
# The rows of an index-organized table have the id of its index, those of a clustered table that of its cluster.
_STORED_ELSEWHERE: Final = (
    "SELECT O.OBJECT_ID, I.TABLE_OWNER, I.TABLE_NAME, O.OBJECT_TYPE FROM ALL_OBJECTS O"
    " JOIN ALL_INDEXES I ON I.OWNER = O.OWNER AND I.INDEX_NAME = O.OBJECT_NAME"
    " WHERE O.OBJECT_TYPE = 'INDEX' AND I.INDEX_TYPE = 'IOT - TOP' AND O.OBJECT_ID IN ({ids})"
    " UNION ALL SELECT O.OBJECT_ID, T.OWNER, T.TABLE_NAME, O.OBJECT_TYPE FROM ALL_OBJECTS O"
    " JOIN ALL_TABLES T ON T.CLUSTER_NAME = O.OBJECT_NAME WHERE O.OBJECT_TYPE = 'CLUSTER' AND O.OBJECT_ID IN ({ids})"
)


class ObjectNames:
    """Names rows of a physical standby; queries the primary once for each object id, by a connection of its own that the
    first query opens and `close` ends.

    :param context: `connect_pdb` leads to where the tables are, in the primary; `tables` has what redo itself has shown.
    :param excluded: schemas whose rows are not wanted.
    """

    def __init__(self, context: CaptureContext, excluded: frozenset[str]) -> None:
        self._connection = KeptConnection(context.connect_pdb)
        self._tables, self._database = context.tables, context.database
        self._mined, self._excluded = context.mined, excluded
        self._names: dict[int, tuple[str, str] | None] = {}

    def container(self) -> int | None:
        """CON_ID of where the tables are; None outside a container database; read at each call. Raises SourceError,
        PrerequisiteError and ConfigError."""
        found = container_id(self._connection.get())
        return found if found >= ROOT else None

    def named(self, batch: Sequence[tuple[Any, ...]], container: int | None) -> list[tuple[Any, ...]]:
        """Fetched rows with the names of their tables, as far as those are known, and without rows of excluded schemas. DML that is
        named is marked as a dictionary mismatch, so that its stored bytes are decoded; of DDL, an unknown user or owner becomes None.

        :param container: what `container` said.
        :raises PrerequisiteError: LogMiner does not say the container of a row, a captured table is of a kind that takes a
            dictionary, or a grant in the primary is missing.
        :raises SourceError, ConfigError: the primary cannot be queried, or a pattern took too long.
        """
        self._look_up({row[_OBJECT] for row in batch if row[_CODE] in _ROWS and row[_OBJECT]} - self._names.keys())
        found = []
        for fetched in batch:
            code = fetched[_CODE]
            if container is not None and fetched[_CONTAINER] is None and code != OpCode.MISSING_SCN:
                raise PrerequisiteError(
                    "LogMiner did not report the container of a row (SRC_CON_ID is null), which can happen without a dictionary",
                    hint="This release cannot be mined on a physical standby: set capture.mode=primary.",
                )
            row = LogMinerRow._make(fetched) if code in _ROWS else None
            named = fetched if row is None else self._row(row)
            if named is not None:
                found.append(named)
        return found

    def close(self) -> None:
        """Close the connection; safe to call twice. The next query opens another one."""
        self._connection.close()

    def _row(self, row: LogMinerRow) -> tuple[Any, ...] | None:
        """The row with the name of its table, as far as that is known; None for a row of an excluded schema."""
        name = self._names.get(row.object_id)
        if row.code == OpCode.DDL:
            return self._ddl(row, name)
        if name is None:
            return row
        if name[0] in self._excluded:
            return None
        row = row._replace(owner=name[0], table=name[1])
        return row._replace(status=_MISMATCH[0], info=_MISMATCH[1]) if row.code in _DML else row

    def _ddl(self, row: LogMinerRow, name: tuple[str, str] | None) -> tuple[Any, ...] | None:
        """A row of DDL with its names; None when its schema is excluded. It is not known what LogMiner shows of DDL without a
        dictionary: names in the row count, then those of the object's id."""
        known = self._tables.find_object(self._database, row.object_id) if row.object_id else None
        by_id = (known.schema, known.table) if known else name
        owner = by_id[0] if by_id and row.owner in (None, _UNKNOWN) else row.owner
        table = by_id[1] if by_id and (row.table is None or row.table.startswith("OBJ# ")) else row.table
        if owner in self._excluded:
            return None
        user = None if row.user == _UNKNOWN else row.user
        if owner == _UNKNOWN:
            owner = None
            if user is None:
                _log.warning("the schema and the user of a DDL statement are unknown: %s", row.sql)
        return row._replace(owner=owner, table=table, user=user)

    def _look_up(self, ids: Iterable[int]) -> None:
        wanted = sorted(ids)
        for at in range(0, len(wanted), _MOST):
            some = wanted[at : at + _MOST]
            found = self._asked(_OBJECTS, some)
            others = set(some) - {one[0] for one in found}
            if others:
                found += self._asked(_STORED_ELSEWHERE, sorted(others))
            self._names |= dict.fromkeys(some)
            for object_id, owner, table, kind in found:
                if kind != "TABLE" and self._mined.includes(owner, table):
                    finding = unnamed_table(owner, table)
                    raise PrerequisiteError(finding.problem, hint=finding.fix)
                self._names[object_id] = owner, table

    def _asked(self, sql: str, ids: Sequence[int]) -> list[tuple[int, str, str, str]]:
        """(object id, owner, table, object type) of those of `ids` that the primary's dictionary has."""
        with oracle_errors("reading ALL_OBJECTS"), self._connection.get().cursor() as cursor:
            cursor.execute(sql.format(ids=", ".join(map(str, ids))))
            return [(int(object_id), owner, table, kind) for object_id, owner, table, kind in cursor.fetchall()]
