"""A schema with the objects of `txlog`, and what its events amount to."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.lab import Lab, canonical

from minercdc.capture.txlog.capture import TxlogCapture
from minercdc.capture.txlog.installation import install
from minercdc.capture.txlog.names import OWN_TABLES
from minercdc.capture.txlog.position import TxlogPosition
from minercdc.config.source.txlog import TxlogConfig
from minercdc.oracle.connect import connect, database_name
from minercdc.oracle.dictionary.tables import read_table_ids, read_tables
from minercdc.schema.table import TableSchema
from minercdc.schema.table_filter import TableFilter
from minercdc.schema.tables import Tables
from minercdc.stream.events import ChangeEvent, Event, Op

Rows = dict[tuple[str, ...], tuple[Any, ...]]


class TxlogLab(Lab):
    """Captured by its log of transactions."""

    settings: Mapping[str, Any] = MappingProxyType({})

    def prepare(self) -> None:
        """Rights of the owner; what `txlog` itself writes to is not captured. To be called before `install`."""
        self.filter = TableFilter(schema_include=[self.schema], never=frozenset(("*", name) for name in OWN_TABLES))
        with self.sandbox.connect() as admin, admin.cursor() as cursor:
            grants = "create sequence, create view, create procedure, create trigger, create job"
            cursor.execute(f"grant {grants} to {self.schema}")
            cursor.execute(f"grant execute on dbms_alert to {self.schema}")

    def captured(self) -> list[TableSchema]:
        """The captured tables as they are."""
        return read_tables(self.app, read_table_ids(self.app, self.filter, database_name(self.config)))

    def install(self) -> int:
        """As `minercdc txlog install`, and let the connector's user use it."""
        count = install(self.app, self.captured(), lambda _: None)
        self.run("grant execute on sync_core to c##minercdc", "grant execute on sync_alert to c##minercdc")
        return count

    def capture(self, tables: Tables, **more: Any) -> TxlogCapture:  # type: ignore[override]
        return TxlogCapture(
            lambda: connect(self.config, "pdb"),
            tables,
            self.filter,
            TxlogConfig(**{"minercdc.txlog.interval.ms": 1, "minercdc.txlog.fetch.size": 7, **self.settings}),
            self.shared,
            database=database_name(self.config),
            **more,
        )

    def start_position(self, scn: int, mine_from: int) -> TxlogPosition:  # type: ignore[override]
        return TxlogPosition(scn)

    def start(self) -> int:
        """The present SCN."""
        with self.sandbox.connect() as admin, admin.cursor() as cursor:
            cursor.execute("select current_scn from v$database")
            return int((cursor.fetchone() or (0,))[0])

    def contents(self, table: str, scn: int | None = None) -> Rows:
        """Rows of a table by key, as of an SCN or now."""
        [schema] = [one for one in self.captured() if one.id.table == table]
        names = ", ".join(f'to_char("{column.name}")' for column in schema.columns)
        past = f" as of scn {scn}" if scn is not None else ""
        with self.app.cursor() as cursor:
            found = cursor.execute(f'select {names} from "{table}"{past}').fetchall()
        return {tuple(row[place] for place in schema.key): tuple(row) for row in found}


def folded(events: Sequence[Event], table: str) -> Rows:
    """The last image of each row by key; those that came as deleted are left out."""
    found: Rows = {}
    for event in events:
        if isinstance(event, ChangeEvent) and event.schema.id.table == table:
            row = canonical(event.schema, event.after or event.before) or ()
            key = tuple(str(row[place]) for place in event.schema.key)
            found.pop(key, None)
            if event.op is not Op.DELETE:
                found[key] = row
    return found


names = (f"tx{i}" for i in itertools.count())
"""Schemas that no other test of the process has."""


@contextmanager
def txlog_lab(sandbox: SandboxProcess, directory: Path) -> Iterator[TxlogLab]:
    """A schema of its own with tables A and "b", where nothing is installed yet."""
    settings: dict[str, Any] = {"poll.interval.ms": 5, "lob.enabled": True}
    made = TxlogLab(sandbox, next(names), directory, **settings)
    made.run(
        "create table a (id number(9) primary key, v varchar2(40), gone char(1))",
        'create table "b" ("Key" number(9) primary key, c clob)',
    )
    made.prepare()
    yield made
    made.app.close()
