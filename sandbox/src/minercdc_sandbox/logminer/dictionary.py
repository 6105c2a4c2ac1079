"""LogMiner's dictionary: the online catalog, one that DBMS_LOGMNR_D.BUILD put into the redo, or none.

    online catalog          knows the newest version of each table
    redo, not tracked       knows the versions, and the tables' names, at the time of the build
    redo, DDL_DICT_TRACKING follows the DDL in the redo: knows every version and name from the build on

BUILD writes one record that lists the versions, `object:version ..`; their columns are kept by the catalog.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from minercdc_sandbox.catalog import Catalog
from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.logminer.logs import LogFile, MinedRedo
from minercdc_sandbox.records import RedoOp, RedoRecord, TableVersion

DICTIONARY_INFO = "LOGMNR DICTIONARY"
"""INFO of the record that holds a dictionary."""

LookUp: TypeAlias = Callable[[RedoRecord], TableVersion | None]
"""The version that a record's table has in the dictionary, which need not be the record's own; None for an unknown table."""


def no_dictionary(record: RedoRecord) -> TableVersion | None:
    """A `LookUp` that knows no table: always None."""
    return None


def online_catalog(catalog: Catalog) -> LookUp:
    """A `LookUp` that has the newest version of each table, as it is when a record is looked up."""
    return lambda record: catalog.current(record.data_obj)


@dataclass(frozen=True, slots=True)
class RedoDictionary:
    """A dictionary in the redo; `look_up` is its `LookUp`.

    :param catalog: of the database that wrote it: it has the columns of all versions.
    :param built: versions at the time of the build, by object id; `scn`: that time.
    :param tracking: DDL_DICT_TRACKING: later versions are known too.
    """

    catalog: Catalog
    built: dict[int, int]
    tracking: bool
    scn: int

    def look_up(self, record: RedoRecord) -> TableVersion | None:
        """The version at the time of the build, None for a table that was not there then. With `tracking` the record's own if it
        is not older, also of a later table; None for a version that is not known."""
        number = self.built.get(record.data_obj)
        if self.tracking and record.data_obj_v >= (number or 1):
            number = record.data_obj_v
        version = None if number is None else self.catalog.version_of(record.data_obj, number)
        names = self.catalog.names.get(record.data_obj)
        if version is None or names is None:
            return version
        at = max(record.scn, self.scn) if self.tracking else self.scn
        return replace(version, table=next((name for until, name in names if at <= until), version.table))


def dictionary_text(catalog: Catalog) -> str:
    """The text that BUILD writes: `object:version` of all tables and partitions that are there now, with blanks between."""
    return " ".join(f"{object_id}:{version}" for object_id, version in catalog.current_versions())


def read_dictionary(redo: MinedRedo, catalog: Catalog, files: Iterable[LogFile], *, tracking: bool) -> LookUp:
    """The look-up in the last dictionary of those of the listed logs that are archived and not deleted, by thread and sequence;
    reads these logs. Raises ORA-01371 when there is none, and as `RedoLog.records`."""
    marked = {(log.thread, log.sequence) for log in redo.archived() if log.dictionary_begin and log.name is not None}
    found: RedoRecord | None = None
    for file in sorted(files, key=lambda file: (file.thread, file.sequence)):
        if (file.thread, file.sequence) in marked:
            for record in redo.records(file.thread, file.sequence):
                if record.op is RedoOp.INTERNAL and record.info == DICTIONARY_INFO:
                    found = record
    if found is None:
        raise OraError(1371, "Complete LogMiner dictionary not found")
    entries = (entry.partition(":") for entry in (found.statement or "").split())
    built = {int(object_id): int(version) for object_id, _, version in entries}
    return RedoDictionary(catalog, built, tracking, found.scn).look_up
