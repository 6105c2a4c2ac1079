"""A lab whose redo is mined in another database of the sandbox."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import oracledb
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.lab import ITEM_TABLES, Lab, Reader, switch_supplemental_logging_on

from minercdc.capture.adapter import CaptureContext, Secondary
from minercdc.capture.logminer.position import LogMinerPosition
from minercdc.capture.logminer.start import missing
from minercdc.config.secondary import SecondaryConfig
from minercdc.errors import LogGapError
from minercdc.oracle.connect import connect
from minercdc.schema.tables import Tables

_numbers = itertools.count()


class SecondaryLab(Lab):
    """A lab whose redo is mined in a physical standby or a downstream database of the sandbox.

    :param mode: `capture.mode`.
    :param service: of the root of that database.
    """

    def __init__(
        self, sandbox: SandboxProcess, schema: str, directory: Path, mode: str, service: str, **mining: Any
    ) -> None:
        given = {"log.mining.archive.log.only.mode": True, "log.mining.archive.log.only.scn.poll.interval.ms": 10, **mining}
        super().__init__(sandbox, schema, directory, **given)
        place: dict[str, Any] = {
            "capture.mode": mode,
            "secondary.hostname": sandbox.host,
            "secondary.port": sandbox.port,
            "secondary.dbname": service,
        }
        self.place = SecondaryConfig(**place)
        self.other = self.place.database(self.config)

    @property
    def secondary(self) -> Secondary:
        """Where LogMiner runs."""
        return Secondary(self.connect_other, self.place.is_downstream)

    def connect_other(self) -> oracledb.Connection:
        return connect(self.other, "root")

    def context(self, tables: Tables, *more: Any, **named: Any) -> CaptureContext:
        return replace(super().context(tables, *more, **named), secondary=self.secondary)

    def unreadable(self, position: LogMinerPosition) -> LogGapError | None:
        of_primary = lambda: connect(self.config, "root")  # noqa: E731
        return missing(of_primary, position, self.mining, self.files, self.rules(), self.secondary)

    def call(self, procedure: str, *values: Any) -> None:
        """A procedure of DBMS_SANDBOX."""
        with self.sandbox.connect(service=self.sandbox.root_service) as admin, admin.cursor() as cursor:
            cursor.callproc(f"dbms_sandbox.{procedure}", list(values))

    def commit(self) -> None:
        """Commit, and have it archived: else it comes no further."""
        self.app.commit()
        self.switch_log()

    def mark(self, number: int) -> None:
        self.run(f"insert into marker values ({number})")
        self.commit()


class DownstreamLab(SecondaryLab):
    """A lab whose redo is mined in the sandbox's downstream database."""

    def __init__(self, sandbox: SandboxProcess, directory: Path, **mining: Any) -> None:
        given = {
            "log.mining.strategy": "redo_log_catalog",
            "log.mining.log.backoff.initial.delay.ms": 10,
            "log.mining.log.backoff.max.delay.ms": 10,
            **mining,
        }
        super().__init__(sandbox, f"down{next(_numbers)}", directory, "downstream", "ORCLMINE", **given)
        self.call("open_downstream")

    def sequence(self) -> int:
        """Sequence number of the log that is written."""
        with self.sandbox.connect(service=self.sandbox.root_service) as admin, admin.cursor() as cursor:
            cursor.execute("select sequence# from v$log where status = 'CURRENT'")
            ((found,),) = cursor.fetchall()
        return int(found)

    def dictionaries(self) -> int:
        """How many have been written to the source's redo, and are archived."""
        with self.sandbox.connect(service=self.sandbox.root_service) as admin, admin.cursor() as cursor:
            ((count,),) = cursor.execute("select count(*) from v$archived_log where dictionary_begin = 'YES'").fetchall()
        return int(count)


def downstream_lab(sandbox: SandboxProcess, directory: Path, **mining: Any) -> DownstreamLab:
    """With the tables of `lab.ITEM_TABLES`."""
    switch_supplemental_logging_on(sandbox)
    lab = DownstreamLab(sandbox, directory, **mining)
    lab.run(*ITEM_TABLES)
    return lab


def looks(number: int = 5) -> Callable[[Reader], bool]:
    """Done after so many events, whichever have come."""
    seen = itertools.count()
    return lambda _: next(seen) > number
