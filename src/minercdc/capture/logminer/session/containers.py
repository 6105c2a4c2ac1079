"""Finds the container of a row if several pluggable databases are captured, and the table version that decodes it.

Names, object ids and XIDs are unique within a container only. Each container has a character set, a time zone, shapes and a
decoder of its own.

    one         every row is of it: no others are selected
    several     each row has SRC_CON_NAME as a further column, which says what its SRC_CON_ID stands for now: a PDB that is
                unplugged and plugged in again has another one, and a row of long ago the one of then
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache, partial
from operator import itemgetter
from typing import Any, Final, TypeAlias

import oracledb

from minercdc.capture.adapter import CaptureContext
from minercdc.capture.logminer.session.row import LogMinerRow
from minercdc.capture.logminer.sql_redo.decoding import TransactionDecoder
from minercdc.capture.logminer.tables.captured_tables import ShapeTracker
from minercdc.errors import MiningSessionError
from minercdc.oracle.scn import character_set
from minercdc.schema.table import TableNames
from minercdc.stream.events import SchemaChange
from minercdc.values.image import Encoding, utc_only

RowName: TypeAlias = tuple[Any, ...]
"""(Owner, table, object id) of a row; then its SRC_CON_ID, where several containers are captured."""

_NAME: Final = tuple(map(LogMinerRow._fields.index, ("owner", "table", "object_id")))
_CON_ID: Final = LogMinerRow._fields.index("con_id")
_of_one: Callable[[LogMinerRow], RowName] = itemgetter(*_NAME)
_of_several: Callable[[LogMinerRow], RowName] = itemgetter(*_NAME, _CON_ID)


@dataclass(frozen=True, slots=True)
class Container:
    """What decodes the rows of one container.

    :param name: SRC_CON_NAME of its rows; '' where only one container is captured.
    :param time_zone: reads its DBTIMEZONE.
    :param connect: opens a connection to it; None: LogMiner's session is in it, and its character set is read there. A pluggable
        database may have another one than the root.
    """

    name: str
    shapes: ShapeTracker
    decoder: TransactionDecoder
    time_zone: Callable[[], str] = utc_only
    connect: Callable[[], oracledb.Connection] | None = None


class Containers:
    """Finds the container of a row by its SRC_CON_ID; one for each capture. Each batch has to go through `taken` before its
    rows are looked at.

    :param containers: at least one; their shapes have the same `tables`.
    :ivar are_several: there is more than one.
    :ivar name_of: the row's name, which decides whether it is captured.
    """

    def __init__(self, containers: Sequence[Container]) -> None:
        self._all = tuple(containers)
        self._by_name = {container.name: container for container in containers}
        self._by_id: dict[int | None, Container] = {}
        self._encodings: dict[str, Encoding] = {}
        self._only = self._all[0] if len(self._all) == 1 else None
        self.are_several = self._only is None
        self.tables = self._all[0].shapes.tables
        self.name_of = _of_several if self.are_several else _of_one

    @property
    def scans(self) -> bool:
        """Whether transactions are wanted from the native buffer: of one container whose decoder may give ChangeRuns."""
        return self._only is not None and self._only.decoder.scans

    @property
    def only(self) -> Container | None:
        """The one container; None where several are captured."""
        return self._only

    def of(self, con_id: int | None) -> Container:
        """The container of rows with this SRC_CON_ID; the one container, where there is one. Raises MiningSessionError when there
        are several and `taken` has seen no row of this one."""
        if self._only is not None:
            return self._only
        found = self._by_id.get(con_id)
        if found is None:
            raise MiningSessionError(f"LogMiner shows a row of the unknown container {con_id}")
        return found

    def taken(self, batch: Sequence[tuple[Any, ...]]) -> Iterator[Sequence[tuple[Any, ...]]]:
        """A batch as it was fetched, in parts with the columns of `LogMinerRow`; before each part is taken, the containers of its
        rows are known. Raises MiningSessionError for a row of a container that is not captured."""
        if self._only is not None:
            yield batch
            return
        begin = 0
        for at, row in enumerate(batch):
            named = self._by_name.get(row[-1])
            if named is None or self._by_id.get(row[_CON_ID]) is not named:
                if begin < at:
                    yield [row[:-1] for row in batch[begin:at]]
                begin = at
                if named is None:
                    raise MiningSessionError(f"LogMiner shows a row of container {row[-1]}, which was not selected")
                self._by_id[row[_CON_ID]] = named
        if begin < len(batch):
            yield [row[:-1] for row in batch[begin:]]

    def tx_id(self, key: tuple[int, bytes]) -> str:
        """Id of a transaction by its container and XID: the XID, or `PDB:XID` where several containers are captured. As long
        as no row of the container was taken, as with transactions that an earlier run kept, its SRC_CON_ID stands in place of
        the PDB's name."""
        if self._only is not None:
            return key[1].hex()
        known = self._by_id.get(key[0])
        return tx_id_in(known.name if known else str(key[0]), key[1])

    def shown_owner(self, name: RowName) -> str | None:
        """The schema of a row's name, as figures show it: None when the row has none; `PDB.SCHEMA` where several containers are
        captured, with '' for a missing schema. Raises MiningSessionError as `of`."""
        owner: str | None = name[0]
        return owner if self._only is not None else f"{self.of(name[3]).name}.{owner or ''}"

    def known_partitions(self, scn: int) -> Iterator[SchemaChange]:
        """Learn the ids of all partitions and the stored columns that there are now, as `ShapeTracker.begin`; its errors."""
        for container in self._all:
            yield from container.shapes.begin(scn, 0)

    def begin_session(self, connection: oracledb.Connection) -> None:
        """Read the character sets, and set `encoding` of each decoder; to be called for each LogMiner session, before its
        rows are decoded. The character set of a container below the root is read once, by a connection of its own.

        :param connection: to the source.
        :raises SourceError, PrerequisiteError, ConfigError: a character set cannot be read, or connecting failed.
        """
        for container in self._all:
            if container.connect is None:
                container.decoder.encoding = Encoding(character_set(connection), container.time_zone)
            elif container.name not in self._encodings:  # once: it does not change, and the PDB may be closed later
                with closing(container.connect()) as inside:
                    found = self._encodings[container.name] = Encoding(character_set(inside), container.time_zone)
                container.decoder.encoding = found


def containers_of(context: CaptureContext, decoder_of: Callable[[ShapeTracker], TransactionDecoder]) -> Containers:
    """The containers that are captured: all of `context.pdbs`, or one. Nothing is connected yet.

    :param decoder_of: makes the decoder of a container with these shapes.
    """
    tables, read, unlogged, ids = context.tables, context.read_table, context.unlogged, context.object_ids
    if not context.pdbs:
        named = TableNames(context.database).of
        shapes = ShapeTracker(tables, context.mined, context.database, read, unlogged, name_of=named, ids=ids)
        connect = context.connect_pdb if context.containers else None
        return Containers([Container("", shapes, decoder_of(shapes), cache(context.time_zone), connect)])
    found = []
    for pdb in context.pdbs:
        tx_id = partial(tx_id_in, pdb.database)
        shapes = ShapeTracker(tables, pdb.mined, pdb.database, read, unlogged, tx_id, TableNames().of, ids)
        found.append(Container(pdb.database, shapes, decoder_of(shapes), cache(pdb.time_zone), pdb.connect))
    return Containers(found)


def tx_id_in(pdb: str, xid: bytes) -> str:
    """Id of a transaction of one of several pluggable databases: `PDB:XID`."""
    return f"{pdb}:{xid.hex()}"
