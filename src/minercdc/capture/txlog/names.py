"""Names of the objects that `txlog` has in the database, and what a table's name may be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

INFINITY: Final = "9" * 28
"""SY$TXLOG.SCN of a transaction whose commit SCN has not been written there (coalesced) yet."""
SEQUENCE, SOURCES, LOG, SETTINGS = "SY$SCN_SEQ", "SY$SOURCES", "SY$TXLOG", "SYNC_CORE_SETTINGS"
CORE, ALERT = "SYNC_CORE", "SYNC_ALERT"
COALESCE_JOB, SIGNAL_JOB = "J_COALESCE_LOG", "J_CALL_SIGNAL"
OWN_TABLES: Final = (LOG, SOURCES, SETTINGS)
COLUMN: Final = "TXN"
SINCE: Final = "SINCE_SCN"
"""Column of SY$SOURCES: see `noted`."""
PURGED: Final = "PURGED_SCN"
"""Column of SY$SOURCES: see `purge`."""
MOST_SOURCES: Final = 126
"""Sources have one bit each in a NUMBER, whose 38 digits hold 126 bits."""


def view_of(table: str) -> str:
    """Name of the view that shows a table's rows with their TXN; not quoted."""
    return f"SY${table}"


def trigger_of(table: str) -> str:
    """Name of the trigger that sets TXN of the table's rows; not quoted."""
    return f"{table}_DATABUS_TRG"


def index_of(bit: int) -> str:
    """Name of the index on TXN of the source with that bit; it does not have the table's name, which may be long."""
    return f"{'SY$TXN'}_{bit}"


def quoted(name: str) -> str:
    """A name in double quotes, as SQL has it; the name has none itself."""
    return f'"{name}"'


def literal(text: str) -> str:
    """A text as SQL has it: in single quotes, its own doubled."""
    return "'" + text.replace("'", "''") + "'"


def longest_name(version: str) -> int:
    """Most bytes of a name in a database of that version, such as `19.3.0.0.0`: 128 since 12.2, else 30."""
    first, second = (*(int(part) for part in version.split(".")[:2]), 0)[:2]
    return 128 if (first, second) >= (12, 2) else 30


def unusable_names(tables: Iterable[str], longest: int) -> Iterator[str]:
    """Why tables cannot be sources by their names, a line for each reason; none when they can.

    :param longest: most bytes of a name.
    """
    taken = {SEQUENCE, *OWN_TABLES}
    for table in tables:
        if view_of(table) in taken:
            yield f"{table}: its view would be {view_of(table)}, which txlog itself needs; rename the table or leave it out"
        for name in (view_of(table), trigger_of(table)):
            if len(name.encode()) > longest:
                yield f"{table}: {name} would have {len(name.encode())} bytes, and names have {longest} at most in this database"
