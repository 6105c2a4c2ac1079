"""The tables in Debezium's schema history, as they were after the last DDL that it followed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from minercdc.errors import SchemaHistoryError
from minercdc.messages.table_changes import change_of, table_id
from minercdc.schema.table import TableId, TableSchema

_HINT = "It must be the schema history of the Debezium connector, schema.history.internal.* of its configuration."


@dataclass(slots=True)
class HistoryEnd:
    """What the history holds at its end.

    :ivar ddl_scn: highest SCN of the DDL after the initial snapshot, 0 for none.
    """

    tables: dict[TableId, TableSchema] = field(default_factory=dict)
    ddl_scn: int = 0


def end_of(records: Iterable[bytes], where: str, server: str) -> HistoryEnd:
    """The end of a history; records of other connectors, and of minercdc, are passed over.

    :param records: in order.
    :raises SchemaHistoryError: a record cannot be read, or there is none of this `topic.prefix`.
    """
    end = HistoryEnd()
    seen = False
    for number, record in enumerate(records, 1):
        try:
            document = json.loads(record)
            position = document["position"]
            if document["source"].get("server") != server or "time_us" in position:
                continue
            seen = True
            _apply(end, document)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise SchemaHistoryError(f"record {number} of {where} cannot be read: {error!r}", hint=_HINT) from None
    if not seen:
        raise SchemaHistoryError(f"{where} has no record of topic.prefix {server}", hint=_HINT)
    return end


def _apply(end: HistoryEnd, document: dict[str, Any]) -> None:
    position = document["position"]
    if not position.get("snapshot") and position.get("scn"):
        end.ddl_scn = max(end.ddl_scn, int(position["scn"]))
    for change in document.get("tableChanges") or ():
        table, after = change_of(change)
        if change.get("previousId"):
            end.tables.pop(table_id(change["previousId"]), None)
        if after is None:
            end.tables.pop(table, None)
        else:
            end.tables[table] = after


def with_stored(table: TableSchema, present: TableSchema | None) -> TableSchema:
    """A structure of the history with its stored columns in segment order, which Debezium does not note.

    Columns are stored in the order they were added, hidden ones among them. Those that were added since come last; those that were
    dropped are found only where nothing is hidden.

    Where the order cannot be known, `stored` is ().

    :param present: the table in the dictionary, None when it is gone.
    """
    names = [column.name for column in table.columns]
    if present is None:
        return replace(table, stored=tuple(names))
    hidden = set(present.stored) - {column.name for column in present.columns}
    stored = [name for name in present.stored if name in names or name in hidden]
    if [name for name in stored if name not in hidden] == names:
        return replace(table, stored=tuple(stored))
    return replace(table, stored=() if hidden else tuple(names))
