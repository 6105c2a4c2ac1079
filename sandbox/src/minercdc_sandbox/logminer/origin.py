"""Whose log a file is: the database's own, or one that it has received of another database."""

from __future__ import annotations

from dataclasses import dataclass

from minercdc_sandbox.catalog import Catalog
from minercdc_sandbox.lobs.values import LobStore
from minercdc_sandbox.logminer.logs import LogFile, MinedRedo, find_log
from minercdc_sandbox.sql.execution import Instance


@dataclass(frozen=True, slots=True)
class Origin:
    """The database that wrote a log: what LogMiner reads of it. Equal for logs of the same database.

    :param is_foreign: it is another database than the one in which LogMiner runs.
    """

    redo: MinedRedo
    catalog: Catalog
    lobs: LobStore
    is_foreign: bool = False


def own(database: Instance) -> Origin:
    """The database itself as the origin of its own logs."""
    return Origin(database.redo, database.catalog, database.storage.lobs)


def locate(database: Instance, name: str) -> tuple[Origin, LogFile]:
    """Whose log a file name holds now, and which. Raises as `find_log` and `ForeignLogs.locate`."""
    received = database.received
    if received is not None and received.locate(name) is not None:
        origin = Origin(received, received.catalog, received.lobs, is_foreign=True)
    else:
        origin = own(database)
    return origin, find_log(origin.redo, name)
