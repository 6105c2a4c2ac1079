"""A snapshot on Spark's executors, and the connector that streams from its SCN."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException
from tests.e2e.connector import MinerCdc
from tests.e2e.lab import LOGGED, Lab, made_lab
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.spark.reading import FORMAT, frame, lake_table
from tests.spark.source import lake_config, running, scn_of, sync
from tests.spark.test_lake_verify import _STATEMENTS, _VALUES

from minercdc.errors import LakeError
from minercdc.lake.maintain.verify import verify
from minercdc.lake.source.oracle_table import oracle_rows
from minercdc.lake.source.snapshot import Loaded, snapshot
from minercdc.lake.table import delta
from minercdc.lake.table.format import Applied
from minercdc.lake.table.paths import LakePaths
from minercdc.local.kafka_broker import KafkaBroker
from minercdc.operate.offsets.handover import hand_over
from minercdc.oracle.connect import connect
from minercdc.oracle.dictionary.tables import read_tables
from minercdc.schema.table import TableId

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# A commit of another program that changes no row.
OF_ANOTHER = (
    "ALTER TABLE {} SET TBLPROPERTIES ('of.another' = 'program')"
    if FORMAT == "delta"
    else "INSERT INTO {0} SELECT * FROM {0} WHERE false"
)


@pytest.fixture
def lab(sandbox: SandboxProcess, broker: KafkaBroker, tmp_path: Path) -> Lab:
    with sandbox.connect(service=sandbox.root_service) as connection, connection.cursor() as cursor:
        cursor.execute("ALTER DATABASE ADD SUPPLEMENTAL LOG DATA")
    return made_lab(sandbox, broker.bootstrap_servers, tmp_path, _STATEMENTS)


class _Seen:
    """Progress as a list of what was reported."""

    def __init__(self) -> None:
        self.ahead: list[int] = []
        self.ranges = 0
        self.tables: list[Loaded] = []

    def begun(self, scn: int, tables: int, ranges: int) -> None:
        self.ahead = [scn, tables, ranges]

    def read(self, ranges: int) -> None:
        self.ranges += ranges

    def done(self, table: Loaded) -> None:
        self.tables.append(table)


def test_a_snapshot_and_the_stream_from_its_scn_make_a_lake_that_is_equal(
    spark: SparkSession, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = lake_config(lab, lob_enabled=True)
    seen = _Seen()
    stream = hand_over(config)
    taken = snapshot(spark, config, scn=stream.scn, coverage=stream, progress=seen)
    assert taken.scn == stream.scn
    assert [table.failure for table in taken.tables] == [""] * 5
    assert sum(table.rows for table in taken.tables) == 6
    assert seen.ahead == [taken.scn, 5, 5]
    assert seen.ranges == 5
    typed = lake_table(spark, config, lab.schema, "TYPED")
    assert typed.applied() == Applied(taken.scn, 0)
    ours = typed.newest_version()
    spark.sql(OF_ANOTHER.format(typed.name))
    assert typed.newest_version() > ours
    with monkeypatch.context() as few:
        few.setattr(delta, "_NEWEST", 1)  # commits of ours are found before those of others
        assert lake_table(spark, config, lab.schema, "TYPED").applied() == Applied(taken.scn, 0)
    row = typed.read().where("ID = 1").selectExpr("FREE", "PRICE", "__cdc.*").collect()[0]
    assert (row["FREE"], str(row["PRICE"])) == (f"0.{'0' * 129}1", "1234567890.12")
    assert (row["op"], row["commit_scn"], row["deleted"]) == ("r", taken.scn, False)
    lab.execute(
        f"INSERT INTO TYPED VALUES {_VALUES[2]}",
        "UPDATE TYPED SET SMALL = 7 WHERE ID = 1",
        "DELETE FROM TYPED WHERE ID = 2",
        "UPDATE KEYLESS SET B = 'single' WHERE A = 2",
        "DELETE FROM KEYLESS WHERE A = 1 AND ROWNUM = 1",
    )
    with running(lab):
        sync(spark, config, scn_of(lab))
    report = verify(spark, config)
    assert [line for table in report.tables for line in table.lines()] == []
    assert report.summary() == "verified: 5 tables, 5 rows, 0 differences"
    assert report.scn > taken.scn
    assert typed.read().where("__cdc.op = 'r'").count() == 0  # both rows left were changed since


def test_a_table_that_cannot_be_read_is_named_and_one_that_is_not_ours_is_left_alone(lab: Lab, spark: SparkSession) -> None:
    config = lake_config(lab)
    scn = scn_of(lab)
    lab.execute("ALTER TABLE NOTHING ADD X NUMBER(3)", "INSERT INTO KEYLESS VALUES (9, 'late')")
    taken = snapshot(spark, config, scn=scn)
    assert {table.name: table.rows for table in taken.tables}[f"{lab.schema}.KEYLESS"] == 3
    assert [table.name for table in taken.failed] == [f"{lab.schema}.NOTHING"]
    assert "ORA-01466" in taken.failed[0].failure
    keyless = lake_table(spark, config, lab.schema, "KEYLESS")
    spark.sql(f"CREATE OR REPLACE TABLE {keyless.name} USING {FORMAT} AS SELECT id FROM range(1)")
    (refused,) = snapshot(spark, config, scn=scn, table=f"{lab.schema}.KEYLESS").tables
    assert "has no column __cdc" in refused.failure
    assert keyless.read().count() == 1  # what another program has made is left alone
    rmtree(LakePaths(config).table(TableId("", lab.schema, "KEYLESS")))
    with pytest.raises(LakeError, match="which is after"):
        snapshot(spark, config, scn=scn - 1)


def test_the_command_reads_one_table(lab: Lab) -> None:
    lake_config(lab)
    lab.execute("INSERT INTO KEYLESS VALUES (9, 'late')")
    file = str(lab.directory / "connector.yaml")
    with MinerCdc(["lake", "snapshot", file, "--table", f"{lab.schema}.KEYLESS"], lab.directory / "snapshot.log") as command:
        ended = command.await_end(150)
    assert ended.status == 0, ended.errors
    assert ended.output.startswith("read: 1 tables, 4 rows at SCN ")
    assert "minercdc run " in ended.errors


def test_a_table_that_is_altered_meanwhile_is_read_at_a_later_scn(lab: Lab, spark: SparkSession) -> None:
    config = lake_config(lab)
    scn = scn_of(lab)
    lab.execute("ALTER TABLE NOTHING ADD X NUMBER(3)", "INSERT INTO NOTHING VALUES (1, 2)")
    seen = _Seen()
    taken = snapshot(spark, config, scn=scn, tries=2, progress=seen)
    assert taken.failed == []
    name = f"{lab.schema}.NOTHING"
    assert [(table.rows, table.failure == "", table.scn > scn) for table in seen.tables if table.name == name] == [
        (0, False, False),
        (1, True, True),
    ]
    assert {table.scn for table in taken.tables if table.name != name} == {scn}


@pytest.mark.parametrize("rows", [0, 2])
def test_no_row_is_read_of_a_table_that_has_the_name_by_now(lab: Lab, spark: SparkSession, rows: int) -> None:
    config, keyless = lake_config(lab), TableId("", lab.schema, "KEYLESS")
    lab.execute(
        "CREATE TABLE SET_ASIDE (A NUMBER(5), B VARCHAR2(20))",
        *(f"INSERT INTO SET_ASIDE VALUES ({number}, 'of another')" for number in range(rows)),
    )
    with closing(connect(config.database)) as connection:
        (schema,) = read_tables(connection, [keyless])
    scn = scn_of(lab)
    assert oracle_rows(spark, config, schema, ["row", "row"], scn).count() == 3
    lab.execute("RENAME KEYLESS TO OLD_KEYLESS", "RENAME SET_ASIDE TO KEYLESS")
    with pytest.raises(PySparkException, match=f"{lab.schema}.KEYLESS is called {lab.schema}.OLD_KEYLESS now"):
        oracle_rows(spark, config, schema, ["row", "row"], scn).count()


def test_a_table_that_had_another_name_or_other_columns_is_not_read_as_of_then(lab: Lab, spark: SparkSession) -> None:
    config = lake_config(lab)
    lab.execute("CREATE TABLE SET_ASIDE (A NUMBER(5), B VARCHAR2(20))", "INSERT INTO SET_ASIDE VALUES (1, 'of another')")
    hand_over(config)
    scn = scn_of(lab)
    with lab.connect() as connection, connection.cursor() as cursor:
        passed = "SELECT 1 FROM DUAL WHERE SYSDATE > CAST(SCN_TO_TIMESTAMP(:scn) AS DATE)"
        while not cursor.execute(passed, [scn]).fetchall():  # the dictionary has times in seconds
            time.sleep(0.02)
    lab.execute(
        "RENAME KEYLESS TO OLD_KEYLESS",
        "RENAME SET_ASIDE TO KEYLESS",
        "ALTER TABLE TYPED RENAME COLUMN SMALL TO LITTLE",
        "GRANT SELECT ON NOTHING TO SYSTEM",
    )
    taken = snapshot(spark, config, scn=scn)
    failures = {table.name.partition(".")[2]: table.failure for table in taken.failed}
    assert failures.keys() == {"KEYLESS", "OLD_KEYLESS", "TYPED"}
    assert "ORA-01466" in failures.pop("TYPED")
    assert all(f"had another name or other columns, or may have had, at SCN {scn}" in one for one in failures.values())
    again = snapshot(spark, config, scn=scn, tries=2)
    assert again.failed == []
    assert frame(spark, config, lab.schema, "KEYLESS").count() == 1


def test_a_large_table_is_read_in_ranges(lab: Lab, spark: SparkSession) -> None:
    lab.execute("CREATE TABLE BIG (ID NUMBER(9) PRIMARY KEY, V VARCHAR2(100))", LOGGED.format("BIG"))
    with lab.connect() as connection, connection.cursor() as cursor:
        cursor.executemany("INSERT INTO BIG VALUES (:1, RPAD('v', 100, 'x'))", [(number,) for number in range(40_000)])
        connection.commit()
    seen = _Seen()
    with lab.connect() as other, other.cursor() as cursor:
        cursor.execute("INSERT INTO BIG VALUES (40000, 'not committed')")
        taken = snapshot(spark, lake_config(lab), table=f"{lab.schema}.BIG", progress=seen)
        other.rollback()
    assert [(table.rows, table.failure) for table in taken.tables] == [(40_000, "")]
    assert seen.ahead[2] > 1
    assert seen.ranges == seen.ahead[2]
    found = frame(spark, lake_config(lab), lab.schema, "BIG").selectExpr("count(DISTINCT ID)", "min(ID)", "max(ID)")
    assert tuple(found.collect()[0]) == (40_000, 0, 39_999)
