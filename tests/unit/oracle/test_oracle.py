"""Error codes and the dictionary's rows."""

from __future__ import annotations

import traceback
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import oracledb
import pytest

from minercdc.capture.logminer.prerequisites import LogMinerPrerequisites
from minercdc.config.sections import DatabaseConfig
from minercdc.errors import (
    LogGapError,
    MinerCdcError,
    MiningSessionError,
    PrerequisiteError,
    SnapshotTooOldError,
    SourceError,
    TransientSourceError,
    UnknownSourceError,
)
from minercdc.oracle.codes import ORA, classify, oracle_errors
from minercdc.oracle.connect import connect, database_name, dsn_of
from minercdc.oracle.dictionary.tables import column_of
from minercdc.oracle.prerequisites import exclusion_findings, filter_findings, meant_table, unsupported_columns
from minercdc.oracle.scn import pdb_is_open
from minercdc.schema.table import Column, Key, TableId, TableSchema, key_of
from minercdc.schema.table_filter import TableFilter


class Detail(SimpleNamespace):
    """What the driver's exceptions carry."""

    def __str__(self) -> str:
        return str(self.text)


def error(code: str, recoverable: bool = False, number: int = 0, text: str = "") -> oracledb.Error:
    return oracledb.DatabaseError(Detail(full_code=code, isrecoverable=recoverable, code=number, text=text))


PASSES = (
    18,
    19,
    20,
    52,
    55,
    60,
    257,
    449,
    1035,
    1219,
    2391,
    2392,
    2399,
    376,
    7454,
    10997,
    12505,
    12511,
    12513,
    12515,
    12518,
    12522,
    12523,
    12526,
    12527,
    12751,
    16014,
    16456,
    19809,
    25402,
    25408,
    28365,
    56720,
)
"""Sessions, processes, archiver, restricted, opening, failover: until a DBA, or time, has settled it."""


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("ORA-03113", TransientSourceError),
        ("ORA-12541", TransientSourceError),
        ("ORA-01094", TransientSourceError),
        ("ORA-27300", TransientSourceError),
        ("ORA-29740", TransientSourceError),
        ("DPY-4011", TransientSourceError),
        ("DPY-6005", TransientSourceError),
        ("ORA-00310", MiningSessionError),
        ("ORA-01284", MiningSessionError),
        ("ORA-01291", MiningSessionError),
        ("ORA-01287", LogGapError),
        ("ORA-01555", SnapshotTooOldError),
        ("ORA-01466", SnapshotTooOldError),
        ("ORA-00942", PrerequisiteError),
        ("ORA-00904", SourceError),
        ("DPY-3010", PrerequisiteError),
        ("DPY-2001", UnknownSourceError),
        ("ORA-54321", UnknownSourceError),
        ("ORA-01368", MiningSessionError),
        ("ORA-01109", TransientSourceError),
        ("ORA-16331", TransientSourceError),
        *((f"ORA-{code:05}", TransientSourceError) for code in PASSES),
    ],
)
def test_code_decides_what_is_done(code: str, kind: type[MinerCdcError]) -> None:
    assert type(classify(error(code))) is kind


def test_a_time_without_an_scn_names_what_to_give_instead() -> None:
    assert "minercdc.start.scn" in classify(error("ORA-08180")).hint


def test_unknown_but_recoverable_is_transient() -> None:
    assert type(classify(error("ORA-99999", recoverable=True))) is TransientSourceError


def test_number_of_dpy_errors_is_not_mistaken_for_ora() -> None:
    assert type(classify(error("DPY-1555"))) is UnknownSourceError


def test_the_number_with_a_closed_connection_decides() -> None:
    assert type(classify(error("DPY-4011", recoverable=True, number=600))) is MiningSessionError


@pytest.mark.parametrize("wrapper", [604, 1280])
def test_the_error_in_a_wrapper_decides(wrapper: int) -> None:
    def wrapped(*codes: int) -> type[MinerCdcError]:
        text = "\n".join(f"ORA-{code:05}: fallo" for code in (wrapper, *codes))
        return type(classify(error(f"ORA-{wrapper:05}", number=wrapper, text=text)))

    assert wrapped(1280, 353, 310) is LogGapError
    assert wrapped(99999) is ORA[wrapper].kind


@pytest.mark.parametrize(
    ("cause", "kind"), [("DPY-3001", PrerequisiteError), ("DPY-4018", SourceError), ("", TransientSourceError)]
)
def test_the_cause_of_a_failed_connect_decides(cause: str, kind: type[MinerCdcError]) -> None:
    found = error("DPY-6005")
    found.__cause__ = error(cause) if cause else TimeoutError()
    assert type(classify(found)) is kind


def test_broken_socket_is_transient() -> None:
    with pytest.raises(TransientSourceError, match="reading"), oracle_errors("reading"):
        raise ConnectionResetError


def config(**more: Any) -> DatabaseConfig:
    return DatabaseConfig(
        **{
            "database.hostname": "db",
            "database.user": "u",
            "database.password": "p",
            "database.dbname": "orcl",
            **more,
        }
    )


def test_connect_string() -> None:
    assert dsn_of(config()) == "db:1521/orcl"
    assert dsn_of(config(**{"database.url": "jdbc:oracle:thin:@//h:1/s"})) == "h:1/s"
    of_sid = "(DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST=h)(PORT=1))(CONNECT_DATA=(SID=s)))"
    assert dsn_of(config(**{"database.url": "jdbc:oracle:thin:@h:1:s"})) == of_sid
    assert database_name(config()) == "ORCL"
    assert database_name(config(**{"database.pdb.name": "pdb1"})) == "PDB1"


@pytest.mark.parametrize(
    ("row", "column"),
    [
        (("A", "NUMBER", 22, 0, 10, 2, "N", None), Column("A", "NUMBER", 10, 2, nullable=False)),
        (("A", "NUMBER", 22, 0, None, 0, "Y", "0 "), Column("A", "NUMBER", None, 0, default="0")),
        (("A", "VARCHAR2", 80, 20, None, None, "Y", "NULL"), Column("A", "VARCHAR2", 20)),
        (("A", "RAW", 16, 0, None, None, "Y", None), Column("A", "RAW", 16)),
        (("A", "TIMESTAMP(6) WITH TIME ZONE", 13, 0, None, 6, "Y", None), Column("A", "TIMESTAMP WITH TIME ZONE", None, 6)),
        (("A", "INTERVAL DAY(2) TO SECOND(6)", 11, 0, 2, 6, "Y", None), Column("A", "INTERVAL DAY TO SECOND", 2, 6)),
    ],
)
def test_column_from_the_dictionary(row: tuple[Any, ...], column: Column) -> None:
    assert column_of(*row) == column


@pytest.mark.parametrize(
    ("answer", "is_open"),
    [
        ([("READ WRITE",)], True),
        ([("READ ONLY",)], True),
        ([("MOUNTED",)], False),
        ([("MIGRATE",)], False),
        ([], True),
        (error("ORA-00942"), True),
    ],
)
def test_a_pdb_is_open_for_reading_unless_its_mode_says_otherwise(answer: Any, is_open: bool) -> None:
    cursor = MagicMock(**{"execute.side_effect": answer} if isinstance(answer, Exception) else {})
    cursor.__enter__.return_value = cursor
    cursor.fetchone.side_effect = lambda: answer[0] if answer else None
    assert pdb_is_open(MagicMock(**{"cursor.return_value": cursor})) is is_open


def test_key_is_the_first_whose_columns_are_not_null() -> None:
    columns = [Column("A", "NUMBER"), Column("B", "NUMBER", nullable=False), Column("C", "DATE", nullable=False)]
    assert key_of(columns, [Key("U", ("A",), "K1"), Key("U", ("C", "B"), "K2"), Key("U", ("B",), "K3")]) == (2, 1)
    assert key_of(columns, [Key("U", ("A",)), Key("U", ("HIDDEN",))]) == ()


def test_findings_of_tables_and_filter() -> None:
    table = TableSchema(
        TableId("DB", "LAB", "T"),
        (Column("ID", "NUMBER"), Column("P" * 31, "NUMBER"), Column("DOC", "BFILE"), Column("FLAG", "BOOLEAN")),
    )
    long_names, unmined = LogMinerPrerequisites().tables([table])
    (unsupported,) = unsupported_columns([table])
    assert "P" * 31 in long_names.problem
    assert "DOC BFILE" in unsupported.problem
    assert "FLAG BOOLEAN" in unmined.problem
    assert "table.exclude.list=LAB.T" in unsupported.fix
    assert not list(
        filter_findings(TableFilter(table_include=[r"lab\.\p{Lu}", r"\Qlab.t\E"]), ["LAB.T"], "CDC")
    )  # of RE2, which `re` refuses
    (finding,) = filter_findings(TableFilter(table_include=["lab.t", "lab.x"]), ["LAB.T"], "CDC")
    assert "lab.x" in finding.problem
    assert "GRANT SELECT, FLASHBACK ON it TO CDC" in finding.fix
    (finding,) = filter_findings(TableFilter(schema_include=["la.", "lba"]), ["LAB.T"], "CDC")
    assert "schema.include.list: 'lba'" in finding.problem
    assert not list(filter_findings(TableFilter(schema_include=["lba"]), [], "CDC"))


def test_patterns_that_leave_nothing_out_are_named() -> None:
    visible = [TableId("DB", "LAB", "T"), TableId("DB", "SYS", "OBJ$")]
    excluding = TableFilter(
        schema_exclude=["sys", "outln", "lba"], table_exclude=["lab.t", r"sys\..*", r"lab\.x", r"db\.lab\.t"]
    )
    schema, table, other = exclusion_findings(excluding, visible, "CDC")
    assert "schema.exclude.list: 'lba' matches no schema that CDC can see" in schema.problem
    assert (r"table.exclude.list: 'lab\.x'" in table.problem, table.blocking) == (True, False)
    assert r"'db\.lab\.t'" in other.problem  # of one database
    (other,) = exclusion_findings(replace(excluding, schema_exclude=(), database="DB"), visible, "CDC")
    assert r"'lab\.x'" in other.problem


@pytest.mark.parametrize(
    ("url", "dsn"),
    [
        ("jdbc:oracle:thin:scott/t1ger.secret@//db.example.com:1521/ORCL", "db.example.com:1521/ORCL"),
        ("jdbc:oracle:thin:scott/t1ger.secret@db.example.com:1521/ORCL", "db.example.com:1521/ORCL"),
        ('scott/"t1ger.secret"@db.example.com:1521/ORCL', "db.example.com:1521/ORCL"),
        ("jdbc:oracle:thin:@//db.example.com:1521/ORCL", "db.example.com:1521/ORCL"),
        ("jdbc:oracle:thin:scott/t1(secret@db:1521/ORCL", "db:1521/ORCL"),
        ("scott/t1@secret@db:1521/ORCL", "db:1521/ORCL"),
        ('scott/"t1@db?secret"@db:1521/ORCL', "db:1521/ORCL"),
        ("scott/secret@(DESCRIPTION=(ADDRESS=(HOST=a@b)))", "(DESCRIPTION=(ADDRESS=(HOST=a@b)))"),
        ("scott/secret@tcps://db:2484/svc?wallet_password=se@secret", "tcps://db:2484/svc?wallet_password=se@secret"),
        ("jdbc:oracle:thin:@tcps://db:2484/svc?wallet_password=p@secret", "tcps://db:2484/svc?wallet_password=p@secret"),
        ("db:1521/svc?x=a@b", "db:1521/svc?x=a@b"),
        ("scott/secret?2@db:1521/ORCL", "scott/secret?2@db:1521/ORCL"),  # a service with parameters, to all appearance
        ("jdbc:oracle:thin:@tcps://db:1/s?wallet_password=t1ger.secret", "tcps://db:1/s?wallet_password=t1ger.secret"),
        ('tcps://db:1/s?wallet_password="a secret"', 'tcps://db:1/s?wallet_password="a secret"'),
    ],
)
def test_a_password_within_the_url_appears_in_no_message(url: str, dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    config = DatabaseConfig(
        **{"database.url": url, "database.user": "u", "database.password": "p", "database.dbname": "d"}  # type: ignore[arg-type]
    )
    assert dsn_of(config) == dsn

    def refuse(**given: object) -> None:
        raise error("DPY-4018", text=f"invalid connect string in {url}")

    monkeypatch.setattr(oracledb, "connect", refuse)
    with pytest.raises(MinerCdcError) as caught:
        connect(config)
    shown = "".join(traceback.format_exception(caught.value))
    assert "secret" not in shown
    assert "connecting to" in shown


@pytest.mark.parametrize(
    ("pattern", "meant"),
    [
        ("ORDERS", "SHOP.ORDERS"),
        (r"OTHERDB\.SHOP\.ORDERS", "SHOP.ORDERS"),
        (r"SHOP\.ORDRES", "SHOP.ORDERS"),
        ("nothing.like.it", ""),
    ],
)
def test_the_table_that_was_meant_is_named(pattern: str, meant: str) -> None:
    visible = [TableId("DB", "SHOP", "ORDERS"), TableId("DB", "SHOP", "CUSTOMERS"), TableId("DB", "OLD", "ORDERS")]
    table_filter = TableFilter(schema_include=["SHOP"], table_include=[pattern])
    (finding,) = filter_findings(table_filter, [], "CDC", lambda: visible)
    assert finding.problem == f"table.include.list: '{pattern}' matches no table" + (
        f"; did you mean {meant}?" if meant else ""
    )


def test_a_table_that_is_meant_is_named_by_the_pattern_that_matches_it() -> None:
    visible = [TableId("DB", "SHOP", "A$B"), TableId("DB", "SHOP", "ORDERS")]
    assert meant_table("SHOP.A$B", visible) == "; did you mean 'SHOP.A\\$B'?"
    assert meant_table("SHOP.ORDER", visible) == "; did you mean SHOP.ORDERS?"
