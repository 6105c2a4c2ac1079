"""A lab whose redo is mined in another database of the sandbox."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import oracledb
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.lab import ITEM_TABLES, Lab, Reader, switch_supplemental_logging_on
from tests.sandbox_capture.running import Ledger, running

from minercdc.capture.adapter import CaptureContext, Secondary
from minercdc.capture.logminer.position import LogMinerPosition
from minercdc.capture.logminer.start import missing
from minercdc.config.source.secondary import SecondaryConfig
from minercdc.errors import LogGapError
from minercdc.oracle.connect import connect
from minercdc.schema.tables import Tables
from minercdc.stream.events import Progress

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

    def second(self) -> oracledb.Connection:
        """A session of the schema in the second instance, which writes redo thread 2."""
        return self.sandbox.connect(self.schema, self.schema.lower(), f"{self.sandbox.service}_2")

    def switch_second(self) -> None:
        """A log switch of that instance."""
        with self.sandbox.connect(service=f"{self.sandbox.root_service}_2") as admin, admin.cursor() as cursor:
            cursor.execute("alter system switch logfile")

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


def enable_second_thread(sandbox: SandboxProcess) -> None:
    """Let a second instance write redo."""
    with sandbox.connect(service=sandbox.root_service) as admin, admin.cursor() as cursor:
        cursor.execute("alter database enable public thread 2")


def looked(lab: SecondaryLab, reader: Reader) -> Reader:
    """Some looks later: the reader that goes on after a restart, with the events of the former one."""
    reader.until(looks())
    while reader.events and not isinstance(reader.events[-1], Progress):
        reader.events.pop()  # its position was not reached: it comes again
    again = Reader(lab, reader.position, reader.tables)
    again.events = reader.events
    return again


def delivers_each_transaction_once(lab: SecondaryLab, way: str) -> None:
    """Check that the engine does, while redo stalls on its way and sessions end.

    :param way: `apply` or `shipping`, as in the names of the procedures of DBMS_SANDBOX.
    """
    ledger, chance = Ledger(), random.Random(17)
    expected: dict[int, tuple[str, ...]] = {}
    number = 0
    for _ in range(4):
        with running(lab, ledger) as engine:
            engine.until(lambda: ledger.offset is not None and ledger.offset.position is not None)
            for _ in range(6):
                number += 1
                lab.run(f"insert into item values ({number}, 'n{number}', {number}, null)")
                if number % 3 == 0:
                    lab.run(
                        f"update item set name = 'u' where id = {number - 1}", f"delete from item where id = {number - 2}"
                    )
                    expected.pop(number - 2)
                    expected[number - 1] = (str(number - 1), "u", str(number - 1))
                expected[number] = (str(number), f"n{number}", str(number))
                lab.commit()
                lab.call(chance.choice([f"stall_{way}", f"resume_{way}"]))
                if chance.random() < 0.3:
                    lab.call("drop_connection", "fetch", "V$LOGMNR_CONTENTS")
            lab.call("clear_faults")
            if chance.random() < 0.5:
                lab.call(f"resume_{way}")
    lab.call(f"resume_{way}")
    with running(lab, ledger) as engine:
        lab.mark(1)
        engine.until(lambda: ledger.has_marker(1))
    xids = [xid for xid, _ in ledger.transactions()]
    assert len(xids) == len(set(xids)) == number
    rows: dict[str, tuple[Any, ...]] = {}
    for event in ledger.changes():
        if event.before is not None:
            assert rows.pop(str(event.before[0])) == event.before[:3]
        if event.after is not None:
            rows[str(event.after[0])] = event.after[:3]
    assert sorted(rows.values()) == sorted(expected.values())


def come_in_the_order_of_their_commits(lab: SecondaryLab, way: str) -> None:
    """Check that both instances, which change the same row by turns, are read in the order of their commits.

    :param way: as of `delivers_each_transaction_once`.
    """
    chance = random.Random(5)
    reader = Reader(lab).take_snapshot(with_rows=False)
    lab.run("insert into item values (1, 'a', 0, null)")
    lab.app.commit()
    sessions = (lab.app, lab.second())
    for number in range(1, 31):
        session = chance.choice(sessions)
        session.cursor().execute(f"update item set qty = {number} where id = 1")
        session.commit()
        if chance.random() < 0.4:
            chance.choice((lab.switch_log, lab.switch_second))()
        if chance.random() < 0.3:
            lab.call(chance.choice([f"stall_{way}", f"resume_{way}"]))
        if number % 10 == 0:
            reader = looked(lab, reader)
    lab.call(f"resume_{way}")
    lab.mark(1)
    lab.switch_second()
    lab.switch_log()  # a standby applies redo in the order of SCNs: the log of thread 2 as far as those of thread 1 reach
    reader.until(lambda found: found.has_marker(1))
    assert [row[2] for _, _, row in reader.changes() if row is not None] == [str(number) for number in range(31)]
