"""The lake compared with Oracle: equal for every type, and what differs is found and shown."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rich.console import Console
from tests.e2e.connector import Ended, MinerCdc
from tests.e2e.lab import LOGGED, Lab, made_lab
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.spark.reading import lake_table
from tests.spark.source import lake_config, running, scn_of, sync

from minercdc.cli.lake.rows import json_lines, rows_of, show
from minercdc.config.load import ConnectorConfig
from minercdc.errors import LakeError
from minercdc.lake import tables
from minercdc.lake.maintain.verify import Report, verify
from minercdc.lake.table.formats import format_of
from minercdc.lake.table.state import Entry, StateTable
from minercdc.local.kafka_broker import KafkaBroker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TYPED = (
    "CREATE TABLE TYPED (ID NUMBER(9) PRIMARY KEY, SMALL NUMBER(2), PRICE NUMBER(12,2), WIDE NUMBER(38,10), FREE NUMBER,"
    " FLOATING FLOAT, BF BINARY_FLOAT, BD BINARY_DOUBLE, FIXED CHAR(8), NATIONAL NVARCHAR2(20), DAY DATE, MOMENT TIMESTAMP(6),"
    " NANO TIMESTAMP(9), ZONED TIMESTAMP(9) WITH TIME ZONE, LOCAL TIMESTAMP(6) WITH LOCAL TIME ZONE,"
    " MONTHS INTERVAL YEAR TO MONTH, SECONDS INTERVAL DAY(4) TO SECOND(6), BYTES RAW(16), NOTE CLOB, IMAGE BLOB)"
)
_VALUES = (
    "(1, 12, 1234567890.12, 1234567890123456789012345678.0123456789, 1E-130, 1.5, 1.1f, -0.1d, 'ab', 'ж', DATE '2024-02-29',"
    " TIMESTAMP '2024-02-29 23:59:59.123456', TIMESTAMP '1999-12-31 23:59:59.123456789',"
    " TIMESTAMP '2024-01-02 03:04:05.123456789 +05:30', TIMESTAMP '2024-01-02 03:04:05.5 -09:30',"
    " INTERVAL '1-2' YEAR TO MONTH, INTERVAL '1 02:03:04.5' DAY TO SECOND, HEXTORAW('00ff10'), 'a text', HEXTORAW('0a0b'))",
    "(2, -99, -0.01, -0.0000000001, 12345678901234567890123456789012345678, 1E100, -3E38f, 1E300d, ' x', NULL,"
    " DATE '0001-01-01', TIMESTAMP '9999-12-31 23:59:59.999999', TIMESTAMP '1970-01-01 00:00:00.000000001',"
    " TIMESTAMP '2024-07-01 12:00:00 +00:00', TIMESTAMP '1999-06-01 00:00:00 +14:00', INTERVAL '-3' MONTH,"
    " -INTERVAL '9 23:59:59.999999' DAY TO SECOND, HEXTORAW('ff'), EMPTY_CLOB(), EMPTY_BLOB())",
    "(3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
)
_STATEMENTS = (
    _TYPED,
    LOGGED.format("TYPED"),
    "CREATE TABLE KEYLESS (A NUMBER(5), B VARCHAR2(20))",
    LOGGED.format("KEYLESS"),
    'CREATE TABLE "Two words" ("Key part" VARCHAR2(10), "n" NUMBER(3), "v" VARCHAR2(10), PRIMARY KEY ("Key part", "n"))',
    LOGGED.format('"Two words"'),
    "CREATE TABLE NOTHING (ID NUMBER(9) PRIMARY KEY)",
    LOGGED.format("NOTHING"),
    "CREATE TABLE GONE (ID NUMBER(9) PRIMARY KEY)",
    LOGGED.format("GONE"),
    *(f"INSERT INTO TYPED VALUES {values}" for values in _VALUES[:2]),
    *(f"INSERT INTO KEYLESS VALUES ({number}, 'twin')" for number in (1, 1, 2)),
    "INSERT INTO \"Two words\" VALUES ('a', 1, 'x')",
)


@pytest.fixture(scope="module")
def lab(sandbox: SandboxProcess, broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    directory: Path = tmp_path_factory.mktemp("verify")
    with sandbox.connect(service=sandbox.root_service) as connection, connection.cursor() as cursor:
        cursor.execute("ALTER DATABASE ADD SUPPLEMENTAL LOG DATA")
    return made_lab(sandbox, broker.bootstrap_servers, directory, _STATEMENTS)


@pytest.fixture(scope="module")
def config(lab: Lab, spark: SparkSession) -> ConnectorConfig:
    """Of a lake that has rows of the snapshot and rows from redo."""
    config = lake_config(lab, lob_enabled=True)
    with running(lab):
        lab.execute(
            f"INSERT INTO TYPED VALUES {_VALUES[2]}",
            *(f"INSERT INTO TYPED VALUES {values.replace('(1,', '(11,').replace('(2,', '(12,')}" for values in _VALUES[:2]),
            "UPDATE KEYLESS SET B = 'single' WHERE A = 2",
            "DELETE FROM KEYLESS WHERE A = 1 AND ROWNUM = 1",
            "INSERT INTO \"Two words\" VALUES ('b', 2, NULL)",
            'UPDATE "Two words" SET "n" = 3 WHERE "n" = 1',
        )
        sync(spark, config, scn_of(lab))
    return config


def _lines(report: Report) -> list[str]:
    return [line for table in report.tables for line in table.lines()]


def test_a_lake_that_follows_a_connector_is_equal_for_every_type(spark: SparkSession, config: ConnectorConfig) -> None:
    report = verify(spark, config)
    assert _lines(report) == []
    assert report.equal
    assert report.summary() == "verified: 5 tables, 9 rows, 0 differences"


def test_rows_are_shown_as_they_are_in_the_lake(spark: SparkSession, config: ConnectorConfig, lab: Lab) -> None:
    found = tables(spark, config)
    printed = Console(width=10_000, file=StringIO())
    assert show(rows_of(found, f"{lab.schema}.Two words"), 1, printed) == 2
    shown = printed.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert len(shown) == 2, "the names, and one row"
    assert "__cdc" not in shown[0]
    typed = rows_of(found, f"{lab.schema}.TYPED").where("ID = 1")
    show(typed, 5, printed)
    assert "00FF10" in printed.file.getvalue()  # type: ignore[attr-defined]
    (document,) = (json.loads(line) for line in json_lines(typed, 5))
    assert (document["ID"], document["FIXED"], document["NOTE"]) == (1, "ab      ", "a text")
    assert document["__cdc"]["commit_scn"] > 0
    (document,) = (json.loads(line) for line in json_lines(rows_of(found, f"{lab.schema}.TYPED").where("ID = 3"), 5))
    assert document["PRICE"] is None
    with pytest.raises(LakeError, match=rf"NONE.SUCH is not in the lake at SCN \d+\n.*{lab.schema}.KEYLESS"):
        rows_of(found, "NONE.SUCH")


def test_the_command_shows_rows(lab: Lab, config: ConnectorConfig) -> None:
    file = str(lab.directory / "connector.yaml")
    with MinerCdc(
        ["lake", "show", file, f"{lab.schema}.KEYLESS", "--json", "-n", "1"], lab.directory / "show.log"
    ) as command:
        ended = command.await_end(150)
    assert ended.status == 0, ended.errors
    assert json.loads(ended.output)["B"] in ("twin", "single")


def _command(lab: Lab, *arguments: str) -> Ended:
    file = str(lab.directory / "connector.yaml")
    with MinerCdc(["lake", "verify", file, *arguments], lab.directory / "verify.log") as command:
        return command.await_end(150)


def _damage(spark: SparkSession, config: ConnectorConfig, table: str, statement: str) -> None:
    """Change a lake table as a fault of the merge would: the damaged version is the one of the same SCN."""
    damaged = lake_table(spark, config, *table.split("."))
    spark.sql(statement.format(damaged.name))
    state = StateTable(spark, format_of(config).state(spark))
    known = state.read().tables[table]
    state.append([Entry("table", table, damaged.version(), known.scn, known.batch)])


def test_each_kind_of_difference_is_counted_and_shown(spark: SparkSession, config: ConnectorConfig, lab: Lab) -> None:
    typed = f"{lab.schema}.TYPED"
    _damage(spark, config, typed, "UPDATE {} SET FREE = concat('1', FREE), SMALL = NULL WHERE ID = 12")
    _damage(spark, config, typed, "UPDATE {} SET MOMENT = MOMENT + INTERVAL 0.000001 SECONDS WHERE ID = 11")
    _damage(spark, config, typed, "DELETE FROM {} WHERE ID = 3")
    _damage(spark, config, typed, "UPDATE {} SET ID = 99 WHERE ID = 2")
    _damage(spark, config, f"{lab.schema}.KEYLESS", "INSERT INTO {0} SELECT * FROM {0} WHERE A = 2")
    report = verify(spark, config)
    assert not report.equal
    assert report.summary() == "verified: 5 tables, 10 rows, 6 differences"
    lines = "\n".join(_lines(report))
    assert f"{typed} ID=12" in lines
    assert "SMALL: Oracle '-99', lake NULL" in lines
    assert "FREE: Oracle '12345678901234567890123456789012345678', lake '112345" in lines
    assert "MOMENT: Oracle '2024-02-29 23:59:59.123456000', lake '2024-02-29 23:59:59.123457000'" in lines
    assert f"{typed} ID=3\n    the lake lacks this row: ID='3', SMALL=NULL" in lines
    assert f"{typed} ID=99\n    Oracle lacks this row: ID='99', SMALL='-99'" in lines
    assert f"{typed} ID=2\n    the lake lacks this row: ID='2', SMALL='-99'" in lines
    assert f"{lab.schema}.KEYLESS ROWID=" in lines
    assert "the lake has this row 2 times" in lines
    (rows,) = (table.rows for table in report.tables if table.name == typed)
    ended = _command(lab, "--table", typed)
    assert ended.status == 1, ended.errors
    assert ended.output == f"verified: 1 tables, {rows} rows, 5 differences\n"
    assert "SMALL: Oracle '-99', lake NULL" in ended.errors
    document = json.loads(_command(lab, "--table", typed, "--json").output)
    assert document["equal"] is False
    assert document["tables"] == [{"table": typed, "rows": rows, "differences": 5, "error": None}]
    one = verify(spark, config, table=f"{lab.schema}.NOTHING")
    assert one.equal
    assert one.summary() == "verified: 1 tables, 0 rows, 0 differences"


def test_a_table_that_one_side_lacks_is_a_difference_and_one_that_changed_since_is_not_compared(
    spark: SparkSession, config: ConnectorConfig, lab: Lab, sandbox: SandboxProcess
) -> None:
    sandbox.create_user("LATE")
    with sandbox.connect("LATE", "LATE") as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE T (ID NUMBER(9) PRIMARY KEY)")
    lab.execute("ALTER TABLE NOTHING ADD X NUMBER(3)", "DROP TABLE GONE")
    wider = lake_config(lab, lob_enabled=True, schema_include_list=f"{lab.schema},LATE")
    found = {report.name: report for report in verify(spark, wider).tables}
    assert list(found[f"{lab.schema}.GONE"].lines()) == [f"{lab.schema}.GONE", "    Oracle has no such table"]
    assert "LATE.T" not in found  # created after the SCN
    assert "ORA-01466" in found[f"{lab.schema}.NOTHING"].failure
    assert not found[f"{lab.schema}.NOTHING"].differences
    with pytest.raises(LakeError, match="neither the lake nor Oracle has a table X.Y") as refused:
        verify(spark, config, table="X.Y")
    assert f"{lab.schema}.NOTHING" in str(refused.value.hint)
