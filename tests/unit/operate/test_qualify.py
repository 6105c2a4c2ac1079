"""`minercdc qualify`: how events are compared with rows, what the report says, and what it does not say."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.native_pair import parsed

from minercdc.capture.logminer.session.row import LogMinerRow, OpCode
from minercdc.errors import ConfigError
from minercdc.operate.qualify.case import named, of_type
from minercdc.operate.qualify.cases import FAMILIES
from minercdc.operate.qualify.comparison import CapturedEvent, Seen, SeenStep, TableRow, differences
from minercdc.operate.qualify.facts import secrets
from minercdc.operate.qualify.place import in_pdb
from minercdc.operate.qualify.report import Report, Result, write_report
from minercdc.operate.qualify.runner import chosen
from minercdc.operate.qualify.scrubbing import HIDDEN, Scrubber, scrubbed_recording
from minercdc.operate.recording.file import RecordingWriter, lines_of
from minercdc.operate.recording.tap import MINED

UNKNOWN = frozenset({"__unknown"})


def event(op: str, number: int | None, value: Any = None, before: Any = None, key: Any = ...) -> CapturedEvent:
    after_image = {"ID": number, "V": value} if op in "cur" else None
    before_image = {"ID": number, "V": before} if op in "ud" else None
    return CapturedEvent(op, {"ID": number} if key is ... else key, before_image, after_image)


def table(**rows: Any) -> dict[str, TableRow]:
    return {name[1:]: TableRow({"ID": int(name[1:])}, {"ID": int(name[1:]), "V": value}) for name, value in rows.items()}


SEEN = Seen(
    table(_1="a"),
    [
        SeenStep(("c 2", "u 1"), table(_1="b", _2="x")),
        SeenStep((), None),
        SeenStep(("d 1",), table(_2="x")),
        SeenStep(("t",), {}),
    ],
)
RIGHT = (event("r", 1, "a"), event("c", 2, "x"), event("u", 1, "b", "a"), event("d", 1, before="b"), event("t", None))


def compared(events: Sequence[CapturedEvent], seen: Seen = SEEN, *, with_snapshot: bool = True) -> list[str]:
    return differences(seen, events, UNKNOWN, with_snapshot=with_snapshot)


def test_what_is_as_expected_differs_in_nothing() -> None:
    assert compared(RIGHT) == []
    assert compared(RIGHT[1:], with_snapshot=False) == []


def test_the_order_counts_within_a_row_only() -> None:
    assert compared((RIGHT[0], RIGHT[2], RIGHT[1], *RIGHT[3:])) == []
    assert compared((*RIGHT[:3], RIGHT[4], RIGHT[3]))


@pytest.mark.parametrize(
    ("events", "said"),
    [
        (RIGHT[1:], "the snapshot delivered rows none, and the table had 1"),
        ((event("r", 1, "z"), *RIGHT[1:]), 'snapshot: row 1: V: "z", and the table has "a"'),
        ((RIGHT[0], *RIGHT[2:]), "step 1: expected c 2, u 1; came u 1, d 1"),
        ((*RIGHT[:2], *RIGHT[1:]), "step 1: expected c 2, u 1; came c 2, c 2"),
        ((*RIGHT, event("c", 7)), "1 more events came: c 7"),
        ((*RIGHT[:2], event("u", 1, "b", "z"), *RIGHT[3:]), 'step 1: u 1: before V: "z", and it was "a"'),
        ((RIGHT[0], event("c", 2, "y"), *RIGHT[2:]), 'step 1: row 2: V: "y", and the table has "x"'),
        ((RIGHT[0], event("c", 2, "x", key=None), *RIGHT[2:]), 'step 1: row 2: key null, and it is {"ID": 2}'),
        ((RIGHT[0], event("c", 2, "__unknown"), *RIGHT[2:]), 'step 1: row 2: V: "__unknown", and the table has "x"'),
    ],
)
def test_what_differs_is_said(events: Sequence[CapturedEvent], said: str) -> None:
    assert said in compared(events)[0]


def test_a_large_value_that_redo_does_not_hold_is_the_one_of_before() -> None:
    steps = [SeenStep(("u 1",), table(_1="a")), SeenStep(("d 1",), {})]
    events = (event("u", 1, "__unknown", "__unknown"), event("d", 1, before="__unknown"))
    assert compared(events, Seen(table(_1="a"), steps, frozenset("V")), with_snapshot=False) == []
    assert 'before V: "__unknown"' in compared(events, Seen(table(_1="a"), steps), with_snapshot=False)[0]


def test_rows_that_ddl_removes_need_no_event() -> None:
    step = SeenStep((), {}, clears=True)
    assert compared((), Seen(table(_1="a"), [step]), with_snapshot=False) == []
    assert compared((), Seen(table(_1="a"), [SeenStep((), {})]), with_snapshot=False) == [
        "step 1: rows 1 are not in the table, and no event deleted them"
    ]


def test_a_row_that_did_not_change_may_lack_a_column_that_ddl_added() -> None:
    added = {"1": TableRow({"ID": 1}, {"ID": 1, "V": "a", "N": 4})}
    assert compared((), Seen(table(_1="a"), [SeenStep((), added)]), with_snapshot=False) == []
    changed = Seen(table(_1="a"), [SeenStep(("u 1",), added)])
    assert (
        "columns ID, V, and the table has ID, V, N" in compared((event("u", 1, "a", "a"),), changed, with_snapshot=False)[0]
    )


def test_every_case_has_a_name_of_its_own_and_texts_that_can_be_filled_in() -> None:
    cases = [case for family in FAMILIES.values() for case in family]
    assert len({case.name for case in cases}) == len(cases) < 100
    for case in cases:
        for statement in (*case.create, *case.rows, *(one for step in case.steps for one in step.statements)):
            sql, binds, kind = named(statement, {"t": "T1", "u": "U1"})
            assert "{t}" not in sql
            assert "{u}" not in sql
            assert bool(binds) == bool(kind) == (":v" in sql)
        assert all(one == "t" or one[:2] in ("c ", "u ", "d ") for step in case.steps for one in step.events)


def test_a_value_with_braces_is_a_value() -> None:
    case = of_type("x", "VARCHAR2(9)", ["'{x}'", "'y'"])
    assert named(case.rows[0], {"t": "T"})[0] == "INSERT INTO T VALUES (0, '{x}')"


def test_cases_are_chosen_by_a_part_of_their_name() -> None:
    assert {run.case.name for run in chosen(["split partition"])} == {"SPLIT PARTITION"}
    with pytest.raises(ConfigError, match="no case has nonsense in its name"):
        chosen(["nonsense"])


def test_the_summary_counts_what_is_offered() -> None:
    results = (
        Result("f", "a", "as expected"),
        Result("f", "b", "differs", ("x", "y")),
        Result("f", "c", "not offered", ("ORA-00439",)),
    )
    report = Report(results, {"version": ("Oracle",)}, 12.3)
    assert report.summary() == "this database: 1 of 2 as expected, 1 differ"
    assert report.not_offered() == "1 not offered here"
    lines = [line for one in results for line in one.lines()]
    assert lines == ["as expected: a", "differs: b", "    x", "    y", "not offered here: c: ORA-00439"]
    assert [case["outcome"] for case in report.document()["cases"]] == ["as expected", "differs", "not offered"]


NAMES = ("db7.example.com", "ACME_PROD", "C##CAPTURE", "x", "SYS")


def test_names_and_secrets_are_taken_out_of_the_report(tmp_path: Path) -> None:
    config = parsed(
        {
            "topic.prefix": "t",
            "database.hostname": "db7.example.com",
            "database.user": "C##CAPTURE",
            "database.password": "hidden-password",
            "database.dbname": "ACME_PROD",
            "minercdc.kafka.bootstrap.servers": "k:9092",
        }
    )
    scrubber = Scrubber(NAMES, secrets(config))
    said = "ORA-1: acme_prod at db7.example.com:1521 refused C##CAPTURE/hidden-password of SYS"
    report = Report([Result("f", "a", "differs", (said,))], {"version": [said]}, 1.0)
    write_report(tmp_path / "r.zip", report, None, scrubber)
    with zipfile.ZipFile(tmp_path / "r.zip") as archive:
        texts = [archive.read(name).decode() for name in archive.namelist()]
    assert len(texts) == 2
    for text in texts:
        for word in ("acme", "db7", "capture", "hidden-password"):
            assert word not in text.lower()
        assert f"/{HIDDEN} of SYS" in text
    assert (tmp_path / "r.zip").stat().st_mode & 0o777 == 0o600


def test_a_name_is_replaced_as_a_whole_word_and_everywhere_by_the_same() -> None:
    scrubber = Scrubber(["ACME", "ACME_PROD"])
    assert scrubber.text("acme ACME_PROD acme_x xacme 'ACME'") == "NAME2 NAME1 acme_x xacme 'NAME2'"
    files = {"name": ["/u01/acme/redo.log", "/u01/acme/redo.log", "+DATA/x"], "on": "acme"}
    assert scrubber.document(files) == {"name": ["/redo/log1", "/redo/log1", "/redo/log2"], "on": "NAME2"}
    assert scrubber.document(["+00:00", "x/y z"]) == ["+00:00", "x/y z"]
    assert scrubber.line({"on": "acme", "sql": "acme"}) == {"on": "acme", "sql": "NAME2"}


def mined(owner: str | None, code: int, sql: str | None, user: str = "SCOTT") -> list[Any]:
    row = dict.fromkeys(LogMinerRow._fields)
    row |= {"owner": owner, "table": owner and "SALARIES", "code": code, "sql": sql, "user": user, "info": "USER DDL"}
    return list(row.values())


def test_what_is_not_of_the_run_is_not_in_the_recording(tmp_path: Path) -> None:
    source, target = tmp_path / "a.gz", tmp_path / "b.gz"
    writer = RecordingWriter(source, {"minercdc": "0", "properties": {"database.dbname": "ACME"}})
    writer.write({"kind": "call", "call": 1, "on": "root", "sql": f"SELECT .. FROM {MINED}", "binds": {"a": "ACME"}})
    rows: list[Any] = [
        mined("MINE", OpCode.INSERT, 'insert into "MINE"."SALARIES" ..'),
        mined("HR", OpCode.INSERT, 'insert into "HR"."SALARIES" ..'),
        mined("HR", OpCode.DDL, "CREATE TABLE HR.SALARIES (PAY NUMBER)"),
        mined(None, OpCode.COMMIT, "commit"),
    ]
    writer.write({"kind": "rows", "call": 1, "rows": rows})
    writer.finish({"records": {}, "keys": "", "rows": 4, "error": ""})
    scrubbed_recording(source, target, Scrubber(["ACME"]), "MINE")
    with (tmp_path / "spool").open("w+b") as spool:
        lines = [line for line, _, _ in lines_of(target, spool)]
    assert lines[1]["binds"] == {"a": lines[0]["properties"]["database.dbname"]} == {"a": "NAME1"}
    text = json.dumps(lines)
    for word in ("ACME", "SCOTT", "HR", "PAY"):
        assert f'"{word}"' not in text.replace("\\", "")
        assert f"{word}." not in text
    assert text.count("SALARIES") == 2, "those of our own row"
    codes = [row[LogMinerRow._fields.index("code")] for row in lines[2]["rows"]]
    assert codes == [OpCode.INSERT, OpCode.INSERT, OpCode.UNSUPPORTED, OpCode.COMMIT]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"database.hostname": "h", "database.dbname": "CDB", "database.pdb.name": "PDB1"}, (None, "PDB1")),
        ({"database.hostname": "h", "database.dbname": "PDB2"}, (None, "PDB2")),
        (
            {"database.url": "h:1521/CDB?x=y", "database.dbname": "CDB", "database.pdb.name": "PDB1"},
            ("h:1521/PDB1?x=y", "CDB"),
        ),
        (
            {
                "database.url": "(DESCRIPTION=(ADDRESS=(HOST=h))(CONNECT_DATA=(SERVICE_NAME=CDB)))",
                "database.dbname": "CDB",
                "database.pdb.name": "PDB1",
            },
            ("(DESCRIPTION=(ADDRESS=(HOST=h))(CONNECT_DATA=(SERVICE_NAME=PDB1)))", "CDB"),
        ),
    ],
)
def test_users_of_a_pluggable_database_log_on_to_its_service(given: dict[str, str], found: tuple[str | None, str]) -> None:
    config = parsed(
        {
            "topic.prefix": "t",
            "database.user": "C##X",
            "database.password": "p",
            "minercdc.kafka.bootstrap.servers": "k:1",
            **given,
        }
    )
    owner = in_pdb(config.database, "Q", "secret", "")
    assert (owner.database_url, owner.database_dbname, owner.database_pdb_name) == (*found, None)
    assert (owner.database_user, owner.database_password.get_secret_value()) == ("Q", "secret")
