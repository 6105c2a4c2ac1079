"""Plays the demo: starts the processes, works on the database, breaks the connector, and proves the lake equal.

Everything is driven through the command line and clients, as a user would.
"""

from __future__ import annotations

import re
import shlex
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

import oracledb
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from minercdc.errors import LocalServiceError
from minercdc.local.artifacts import BROKER
from minercdc.local.demo.compare import Difference, differences, free_numbers, read_oracle, rows_of_lake
from minercdc.local.demo.processes import Command, check_deadline
from minercdc.local.demo.progress import DeltaRows, IcebergRows, Rows, TopicEnds
from minercdc.local.demo.view import Scene, shown
from minercdc.local.demo.workload import Workload, load_initial_rows
from minercdc.local.jars import fetch
from minercdc.local.spark_artifacts import Format, installed_spark, spark_jars

TABLES = ("CUSTOMERS", "INVENTORY", "ORDERS", "ORDER_LINES", "PRODUCTS", "VISITS")
_SESSIONS = 6
_WORK_SECONDS = 40.0
_CONFIG = "shop.yaml"
_PASSWORD = {"MINERCDC_DATABASE_PASSWORD": "minercdc"}


def play(directory: Path | None, form: Format = "delta") -> int:
    """Run the whole demo; returns 0, 1 when tables differ, or 130 when stopped by Ctrl-C or SIGTERM.

    Replaces the handlers of SIGINT and SIGTERM, and sets `oracledb.defaults.fetch_decimals`.

    :param directory: for everything, made when missing; None for a temporary one, which is deleted when no table differs.
    :param form: of the lake's tables.
    :raises LocalServiceError: a process did not start, or ended early; or the lake did not catch up in time.
    :raises oracledb.Error: a statement failed.
    :raises KafkaException: the broker does not answer.
    :raises OSError: the directory cannot be written.
    :raises ValueError: as `fetch_directory`.
    """
    oracledb.defaults.fetch_decimals = True
    jars = spark_jars(installed_spark(), form)
    for number in (signal.SIGINT, signal.SIGTERM):  # both unwind, so that the processes we started are stopped
        signal.signal(number, signal.default_int_handler)
    console = Console()
    work = directory or Path(tempfile.mkdtemp(prefix="minercdc-demo-"))
    work.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    try:
        _fetch_jars(console, jars)
        with ExitStack() as stack:
            found, tables, rows = _Demo(work, console, stack, form).run()
    except KeyboardInterrupt:
        if directory is None:
            shutil.rmtree(work, ignore_errors=True)
        console.print("stopped")
        return 130
    if found:
        for difference in found[:20]:
            console.print(str(difference), markup=False, highlight=False, soft_wrap=True)
        console.print(f"logs are in {work}", highlight=False)
    elif directory is None:
        shutil.rmtree(work, ignore_errors=True)
    console.print(f"took {time.monotonic() - began:.0f} s", highlight=False)
    for line in look_inside(work if found else directory, form):
        print(line, flush=True)
    print(f"verified: {tables} tables, {rows} rows, {len(found)} differences", flush=True)
    return 1 if found else 0


def look_inside(work: Path | None, form: Format = "delta") -> list[str]:
    """Lines: how to see what the demo left, as commands to paste.

    :param work: its directory; None when that is deleted.
    :param form: of the lake's tables.
    """
    python = shlex.quote(sys.executable)
    command = f"{python} -m minercdc"
    if work is None:
        again = f"{command} demo --directory minercdc-demo" + (f" --format {form}" if form != "delta" else "")
        return [f"to inspect the results, keep everything in a directory: {again}"]
    work = work.absolute()
    config, broker = shlex.quote(str(work / _CONFIG)), shlex.quote(str(work / "kafka"))
    port = re.search(r"bootstrap\.servers: \S+:(\d+)", (work / _CONFIG).read_text())
    return [
        "to look inside:",
        f"  a table of the lake: {python} -c {shlex.quote(_reading(work / 'lake', form))}",
        f"  the broker again:    {command} kafka --port {port[1] if port else 9092} --data {broker}",
        f"  beside it, messages: MINERCDC_DATABASE_PASSWORD=minercdc {command} tail {config}",
        f"  logs:                ls {shlex.quote(str(work))}/*.log",
    ]


def _reading(lake: Path, form: Format) -> str:
    """A Python program that prints rows of one table. It needs none of the demo's servers."""
    if form == "delta":
        table = str(lake / "SHOP" / "ORDERS")
        return (
            f"from minercdc.local.spark import local_spark; local_spark('read').read.format('delta').load({table!r}).show()"
        )
    opened = f"local_spark('read', settings=iceberg_of_directories({str(lake)!r}), form='iceberg')"
    return f"from minercdc.local.spark import iceberg_of_directories, local_spark; {opened}.table('minercdc.SHOP.ORDERS').show()"


def _fetch_jars(console: Console, jars: Sequence[str]) -> None:
    """Fetch the jars before the processes that need them start, so that the download is seen."""
    with Progress(
        TextColumn("fetching {task.description}"), BarColumn(30), MofNCompleteColumn(), console=console, transient=True
    ) as bars:
        for what, name, artifacts in (("Kafka's jars", "kafka-broker", BROKER), ("Spark's jars", "spark", jars)):
            task = bars.add_task(what, total=len(artifacts))
            fetch(name, artifacts, lambda done, total, task=task: bars.update(task, completed=done))  # type: ignore[misc]


def _datetimes_as_timestamps(cursor: oracledb.Cursor, value: object, array_size: int) -> oracledb.Var | None:
    """A variable that binds a datetime as TIMESTAMP; None for other values. By default the driver binds DATE, which has no
    fraction of a second."""
    return cursor.var(oracledb.DB_TYPE_TIMESTAMP, arraysize=array_size) if isinstance(value, datetime) else None


class _Demo:
    def __init__(self, work: Path, console: Console, stack: ExitStack, form: Format) -> None:
        self._work = work
        self._console = console
        self._stack = stack
        self._scene = Scene()
        self._lake = work / "lake"
        self._form: Format = form
        self._config = work / _CONFIG

    def run(self) -> tuple[list[Difference], int, int]:
        broker, dsn = self._start_servers()
        connector, lake = self._start_connector_and_lake(broker, dsn)
        ends = TopicEnds(broker, "shop")
        counter = DeltaRows if self._form == "delta" else IcebergRows
        counts: dict[str, Rows] = {table: counter(self._lake / "SHOP" / table) for table in TABLES}
        with shown(self._scene, self._console) as draw:

            def show() -> None:
                self._scene.look(ends.read(), {t: c.count() for t, c in counts.items()}, connector)
                draw()

            connector = self._work_on_the_database(dsn, connector, lake, show)
            self._await_lake(counts["VISITS"], dsn, connector, lake, show)
        connector.stop()
        lake.stop()
        self._console.print("\ncomparing every table, value by value")
        return self._compare(dsn)

    def _start_servers(self) -> tuple[str, str]:
        seed = Path(__file__).parent / "shop.sql"
        sandbox = self._command("sandbox", "--port", "0", "--seed", str(seed))
        kafka = self._command("kafka", "--port", "0", "--data", str(self._work / "kafka"))
        address = sandbox.await_ready()
        dsn = f"{address}/ORCLPDB1"
        with self._shop(dsn) as connection:
            rows = load_initial_rows(connection)
        self._console.print(f"sandbox at {address} with {rows} rows", highlight=False)
        broker = kafka.await_ready()
        self._console.print(f"broker at {broker}", highlight=False)
        return broker, dsn

    def _command(self, *arguments: str) -> Command:
        command = Command(list(arguments), self._work / f"{arguments[0]}.log", environment=_PASSWORD)
        self._stack.callback(command.stop)
        return command

    @staticmethod
    def _shop(dsn: str) -> oracledb.Connection:
        connection = oracledb.connect(user="shop", password="shop", dsn=dsn)
        connection.inputtypehandler = _datetimes_as_timestamps
        return connection

    def _start_connector_and_lake(self, broker: str, dsn: str) -> tuple[Command, Command]:
        host, port = dsn.partition("/")[0].rsplit(":", 1)
        self._config.write_text(
            "name: shop\n"
            "topic.prefix: shop\n"
            f"database.hostname: {host}\n"
            f"database.port: {port}\n"
            "database.user: C##MINERCDC\n"
            "database.dbname: ORCLCDB\n"
            "database.pdb.name: ORCLPDB1\n"
            "schema.include.list: SHOP\n"
            "minercdc.keyless.table.key: rowid\n"
            f"minercdc.kafka.bootstrap.servers: {broker}\n"
            f"minercdc.state.dir: {self._work / 'state'}\n"
            f"minercdc.lake.path: {self._lake}\n"
            f"minercdc.lake.format: {self._form}\n"
            "minercdc.lake.trigger.interval.ms: 1000\n"
            "minercdc.lake.merge.interval.ms: 1000\n"
        )
        connector = self._start_connector()
        return connector, self._command("lake", str(self._config))

    def _start_connector(self) -> Command:
        return self._command("run", "--log-interval", "1", str(self._config))

    def _work_on_the_database(self, dsn: str, connector: Command, lake: Command, show: Callable[[], None]) -> Command:
        """Run the workload, and what happens meanwhile; returns the connector that runs in the end."""
        workload = Workload(lambda: self._shop(dsn), _SESSIONS, pause=0.05)
        workload.start()
        began = time.monotonic()
        plan: list[tuple[float, str, Callable[[], None] | None]] = [
            (0.15, "log switch", lambda: self._system(dsn, "ALTER SYSTEM SWITCH LOGFILE")),
            (0.30, "column orders.channel added", lambda: self._add_column(dsn)),
            (0.45, "connector killed (-9)", connector.kill),
            (0.60, "connector started again", None),
            (0.80, "log switch", lambda: self._system(dsn, "ALTER SYSTEM SWITCH LOGFILE")),
        ]
        try:
            while (passed := (time.monotonic() - began) / _WORK_SECONDS) < 1:
                while plan and passed >= plan[0][0]:
                    _, what, action = plan.pop(0)
                    if action is None:
                        connector = self._start_connector()
                    else:
                        action()
                    self._scene.say(what)
                self._scene.work = dict(workload.done)
                workload.check()
                lake.check()
                show()
                time.sleep(0.25)
        finally:
            workload.stop()
        self._scene.work = dict(workload.done)
        self._scene.say("workload done")
        return connector

    def _system(self, dsn: str, statement: str) -> None:
        root = dsn.replace("/ORCLPDB1", "/ORCLCDB")
        with oracledb.connect(user="system", password="oracle", dsn=root) as connection, connection.cursor() as cursor:
            cursor.execute(statement)

    def _add_column(self, dsn: str) -> None:
        with self._shop(dsn) as connection, connection.cursor() as cursor:
            for _ in range(200):  # an ALTER does not wait for open transactions: ORA-00054
                try:
                    cursor.execute("ALTER TABLE orders ADD (channel VARCHAR2(12) DEFAULT 'WEB', rating NUMBER(3,1))")
                    break
                except oracledb.DatabaseError as error:
                    if error.args[0].code != 54:
                        raise
                    time.sleep(0.02)
            else:
                raise LocalServiceError("the table orders was always locked, so ALTER TABLE failed")
            cursor.execute("UPDATE orders SET rating = 4.5 WHERE MOD(order_id, 10) = 1")
            connection.commit()

    def _await_lake(self, visits: Rows, dsn: str, connector: Command, lake: Command, show: Callable[[], None]) -> None:
        """Wait until the lake has the last change of all, and every table is merged up to an SCN before it."""
        with oracledb.connect(user="system", password="oracle", dsn=dsn) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT current_scn FROM v$database")
            last_scn = int(cursor.fetchone()[0])
        with self._shop(dsn) as connection, connection.cursor() as cursor:  # the last change
            cursor.execute("INSERT INTO visits (happened, page) VALUES (SYSTIMESTAMP, 'the end')")
            connection.commit()
            cursor.execute("SELECT COUNT(*) FROM visits")
            expected = int(cursor.fetchone()[0])
        deadline = time.monotonic() + 150
        while True:
            check_deadline(deadline, "the lake's catching up")
            connector.check()
            lake.check()
            show()
            merged = lake.last_match(r"all tables are at SCN (\d+)")
            if merged and int(merged) >= last_scn and visits.count() == expected:
                show()  # the last picture stays: the lake has gone on since the one before
                return
            time.sleep(0.25)

    def _compare(self, dsn: str) -> tuple[list[Difference], int, int]:
        from minercdc.local.spark import iceberg_of_directories, local_spark

        settings = iceberg_of_directories(str(self._lake)) if self._form == "iceberg" else {}
        spark = local_spark("minercdc-demo", settings=settings, form=self._form)
        found: list[Difference] = []
        tables = rows = 0
        try:
            with self._shop(dsn) as connection:
                free = free_numbers(connection, "SHOP")
                for table in read_oracle(connection, "SHOP"):
                    within = table.name.replace(".", "/")
                    if self._form == "delta":
                        frame = spark.read.format("delta").load(str(self._lake / within))
                    else:
                        frame = spark.table(f"minercdc.{table.name}")
                    lake = rows_of_lake(frame, table, free.get(table.name, []))
                    found += differences(table, lake)
                    tables += 1
                    rows += len(table.rows)
                    self._console.print(f"  {table.name}: {len(table.rows)} rows, {len(lake)} in the lake", highlight=False)
        finally:
            spark.stop()
        return found, tables, rows
