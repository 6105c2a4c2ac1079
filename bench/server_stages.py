"""What the server does for a driver alone: updates, plain fetches, mined rows, its start, and a table of many versions.

update      executemany of single-row updates by key            python-oracledb -> sandbox
fetch       a table of 6 columns, now and AS OF SCN             sandbox -> python-oracledb
driver      the connector's columns of V$LOGMNR_CONTENTS        likewise, nothing is done with the rows
start       from the start of the process until `ready`
versions    ten million row versions; memory and disk of the server. Takes half an hour: only when it is named
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import oracledb

from bench.processes import Sandbox
from bench.report import Measure
from bench.tables import LOADED, MIDDLE, NARROW, SEED, load, work
from minercdc.capture.logminer.session.query import build_query
from minercdc.schema.table_filter import SYSTEM_SCHEMAS

_FETCH_SIZE = 10_000
_FETCHED = 200_000
_KEYS, _ROUNDS = 50_000, 199
_MANY = _KEYS * (_ROUNDS + 1)


class Stopwatch:
    """Wall seconds, and CPU seconds of the server, from its making."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox, self._cpu, self._wall = sandbox, sandbox.cpu(), time.monotonic()

    def measure(self, stage: str, rows: int, target: str = "") -> Measure:
        """What was done since."""
        return Measure(stage, "sandbox", rows, time.monotonic() - self._wall, self._sandbox.cpu() - self._cpu, target)


def update(sandbox: Sandbox, _directory: Path) -> Iterator[Measure]:
    """Single-row updates, 1000 a call and one a call."""
    app = sandbox.connect()
    load(app, LOADED, 0, 20_000)
    watch = Stopwatch(sandbox)
    with app.cursor() as cursor:
        for start in range(0, 20_000, 1000):
            cursor.executemany(LOADED.update, [(*LOADED.new_values(n), n) for n in range(start, start + 1000)])
            app.commit()
        yield watch.measure("updates by key, 1000 a call", 20_000)
        watch = Stopwatch(sandbox)
        for n in range(3000):
            cursor.execute(LOADED.update, (*LOADED.new_values(n + 1), n))
        app.commit()
    yield watch.measure("updates by key, one a call", 3000)


def fetch(sandbox: Sandbox, _directory: Path) -> Iterator[Measure]:
    """All rows of a table."""
    app = sandbox.connect()
    load(app, LOADED, 0, _FETCHED)
    with sandbox.connect("system", "oracle") as admin, admin.cursor() as cursor:
        scn = cursor.execute("select current_scn from v$database").fetchone()[0]
    for name, clause in (("now", ""), ("AS OF SCN", f" as of scn {scn}")):
        watch = Stopwatch(sandbox)
        rows = _read(app, f"select * from loaded{clause}")
        assert rows == _FETCHED, f"{rows} rows"
        yield watch.measure(f"fetch of 6 columns, {name}", rows, "100,000 / wall s")


def _read(connection: oracledb.Connection, sql: str, binds: dict[str, str | int] | None = None) -> int:
    with connection.cursor() as cursor:
        cursor.arraysize = cursor.prefetchrows = _FETCH_SIZE
        cursor.execute(sql, binds or {})
        count = 0
        while batch := cursor.fetchmany():
            count += len(batch)
        return count


def driver(sandbox: Sandbox, _directory: Path) -> Iterator[Measure]:
    """The connector's query, several passes over the same logs."""
    miner = sandbox.connect("c##minercdc", "minercdc", "ORCLCDB")
    app = sandbox.connect()
    with miner.cursor() as cursor:
        start = cursor.execute("select current_scn from v$database").fetchone()[0]
        work(app, NARROW, 0, 20_000)
        work(app, MIDDLE, 0, 20_000)
        _start_mining(cursor, start)
    sql, binds = build_query({}, "ORCLPDB1", frozenset(SYSTEM_SCHEMAS))
    _read(miner, sql, binds)
    memory = sandbox.memory()
    watch, rows = Stopwatch(sandbox), 0
    for _ in range(5):
        rows += _read(miner, sql, binds)
    yield watch.measure("mined rows of 20 columns, driver alone", rows, "50,000 / wall s")
    grown = sandbox.memory() - memory
    yield Measure(f"memory it took in five passes: {grown / 2**20:.0f} MiB", "sandbox", 0, 0.0, 0.0, "flat")


def _start_mining(cursor: oracledb.Cursor, scn: int) -> None:
    cursor.execute(
        "alter session set nls_date_format='YYYY-MM-DD HH24:MI:SS' nls_timestamp_format='YYYY-MM-DD HH24:MI:SS.FF9'"
    )
    current = "select f.member from v$log l join v$logfile f on f.group# = l.group# where l.status = 'CURRENT'"
    names = cursor.execute(f"select name from v$archived_log where name is not null union all {current}").fetchall()
    for (name,) in names:
        cursor.execute("begin dbms_logmnr.add_logfile(:name, dbms_logmnr.addfile); end;", name=name)
    options = "dbms_logmnr.dict_from_online_catalog + dbms_logmnr.no_rowid_in_stmt + dbms_logmnr.no_sql_delimiter"
    cursor.execute(f"begin dbms_logmnr.start_logmnr(startscn => :scn, options => {options}); end;", scn=scn)


def start(_sandbox: Sandbox, directory: Path) -> Iterator[Measure]:
    """A server without seeds, twice: the first one compiles its modules, as after an installation."""
    compiled = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(directory / "compiled")}
    for _ in range(2):
        begun = time.monotonic()
        with Sandbox(directory, "", environment=compiled) as server:
            measure = Measure("start of a server", "sandbox", 0, time.monotonic() - begun, server.cpu(), "1 s wall")
    yield measure


def versions(_sandbox: Sandbox, directory: Path) -> Iterator[Measure]:
    """50,000 rows updated 199 times, in memory's file and in a data directory."""
    for kind in ("", "with --data"):
        with TemporaryDirectory(dir=directory) as home:
            arguments = ("--data", home) if kind else ()
            with Sandbox(directory, SEED, arguments) as server:
                yield from _many_versions(server, kind)


def _many_versions(server: Sandbox, kind: str) -> Iterator[Measure]:
    app = server.connect()
    load(app, LOADED, 0, _KEYS)
    with app.cursor() as cursor:
        scn = cursor.execute("select max(ora_rowscn) from loaded").fetchone()[0]
    watch, memory = Stopwatch(server), []
    with app.cursor() as cursor:
        for n in range(_ROUNDS):
            cursor.execute("update loaded set amount = :1, note = :2", (n, f"changed {n}"))
            app.commit()
            memory.append(server.memory() / 2**20)
    grown = f"memory {memory[9]:.0f} MiB after 10 rounds, {max(memory):.0f} MiB at most"
    yield watch.measure(f"{_MANY:,} row versions {kind}; {grown}", _MANY, "memory flat")
    for name, clause in (("now", ""), ("AS OF the first", f" as of scn {scn}")):
        watch = Stopwatch(server)
        assert _read(app, f"select * from loaded{clause}") == _KEYS
        yield watch.measure(f"the table, {name}", _KEYS)
    watch = Stopwatch(server)
    with app.cursor() as cursor:
        for n in range(1000):
            assert cursor.execute("select note from loaded where id = :1", [n]).fetchone()[0] == f"changed {_ROUNDS - 1}"
    yield watch.measure("rows by key", 1000)


SERVER_STAGES: dict[str, Callable[[Sandbox, Path], Iterator[Measure]]] = {
    "update": update,
    "fetch": fetch,
    "driver": driver,
    "start": start,
    "versions": versions,
}
