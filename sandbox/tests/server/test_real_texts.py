"""What a real LogMiner printed, row by row, is what the sandbox prints for the same statements.

The rows are those of tests/unit/capture/logminer/real: V$LOGMNR_CONTENTS of Oracle Free 23ai and of RAC, published by the project
rophy/OpenLogReplicator (723d818a), by the session's default formats. Its rows have no ROWIDs, and each statement here is derived from
them. Not compared: SCNs and XIDs, ROWIDs, rows of codes that the files leave out (LOB writes, undone rows), and the order of columns,
which they give by name. Where a scenario has a second redo thread, one thread plays it: texts do not depend on it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import oracledb
import pytest
from sandbox.tests.server.mining_lab import Lab, opened
from sandbox.tests.server.test_mining import read_redo
from tests.fixtures.fix_sandbox import SandboxProcess

REAL = Path(__file__).parents[3] / "tests" / "unit" / "capture" / "logminer" / "real"
SCENARIOS = sorted(path.name.removesuffix(".logminer.json") for path in REAL.glob("*.logminer.json"))
KEYS = ("ID", "ORDER_ID", "ITEM_ID", "AUDIT_ID")
LARGE = ("COL_CLOB", "COL_BLOB")
EMPTY = ("EMPTY_CLOB()", "EMPTY_BLOB()")
OUT_OF_LINE = "x" * 6000
"""For a CLOB whose pieces the files leave out."""
_NAMED = "id number primary key, name varchar2(100), val number"
_MANY = [
    *("varchar2(50)" for _ in range(10)), *("number" for _ in range(10)), *("date" for _ in range(3)),
    *("timestamp" for _ in range(2)), *("varchar2(100)" for _ in range(5)), *("number(10,2)" for _ in range(5)),
    *("varchar2(200)" for _ in range(5)), *("number" for _ in range(5)), *("varchar2(50)" for _ in range(5)),
    *("number" for _ in range(5)), *("varchar2(100)" for _ in range(5)),
]  # fmt: skip
TABLES = {
    "TEST_CONCURRENT": "(id number primary key, status varchar2(20), counter number, note varchar2(100))",
    "TEST_TYPES": "(id number primary key, col_varchar2 varchar2(200), col_char char(20), col_nvarchar2 nvarchar2(200), "
    "col_number number(15,2), col_float binary_float, col_double binary_double, col_date date, col_timestamp timestamp(6), "
    "col_raw raw(100), col_integer integer)",
    "TEST_INTERLEAVE": "(id number primary key, source varchar2(20), val number)",
    "TEST_BULK": "(id number primary key, payload varchar2(200), val number)",
    "TEST_SPANNING": "(id number primary key, payload varchar2(200), val number)",
    "TEST_LOBS": "(id number primary key, col_clob clob, col_blob blob, col_label varchar2(50))",
    "TEST_MANY_COLS": f"(id number primary key, {', '.join(f'col_{n:02} {kind}' for n, kind in enumerate(_MANY, 1))})",
    "TEST_ORDERS": "(order_id number primary key, customer varchar2(100), order_date date, status varchar2(20))",
    "TEST_ITEMS": "(item_id number primary key, order_id number, product varchar2(100), qty number, price number(10,2))",
    "TEST_AUDIT": "(audit_id number primary key, action varchar2(50), detail varchar2(200))",
    "TEST_NULLS": "(id number primary key, col_a varchar2(100), col_b number, col_c date)",
    "TEST_NUMBERS": "(id number primary key, col_number number, col_precise number(38,0), col_decimal number(20,10), "
    "col_small number(5,2), col_integer integer, col_float binary_float, col_double binary_double)",
    "TEST_RANGE_PART": f"({_NAMED}) partition by range (id) (partition p_low values less than (100), "
    "partition p_mid values less than (200), partition p_high values less than (maxvalue))",
    "TEST_LIST_PART": "(id number primary key, region varchar2(20), amount number(10,2)) partition by list (region) "
    "(partition p_east values ('EAST'), partition p_west values ('WEST'), partition p_other values (default))",
    "TEST_SPECIAL": "(id number primary key, label varchar2(100), data varchar2(500))",
    "TEST_TIMESTAMPS": "(id number primary key, col_date date, col_ts0 timestamp(0), col_ts3 timestamp(3), col_ts6 timestamp(6), "
    "col_ts9 timestamp(9))",
    "TEST_WIDE": "(id number primary key, col_short varchar2(10), col_medium varchar2(200), col_long1 varchar2(4000), "
    "col_long2 varchar2(4000))",
}
"""All other tables have the columns of `_NAMED`."""
ADDED = "alter table test_ddl add (email varchar2(200))"
Printed = dict[str, Any]
Statement = tuple[str, list[Any]]


def recorded(scenario: str) -> list[Printed]:
    lines = (REAL / f"{scenario}.logminer.json").read_text().splitlines()
    return [json.loads(line) for line in lines if not line.startswith("#")]


def continues(row: Printed, following: Printed | None) -> bool:
    """Whether the next row is the second one of the same statement: the values of LOBs that `row` made empty or left out."""
    return (
        following is not None
        and following["op"] == "UPDATE"
        and following["xid"] == row["xid"]
        and following["after"].keys() <= set(LARGE)
        and row["op"] != "DELETE"
        and not any(value for name, value in row["after"].items() if name in LARGE and value not in EMPTY)
    )


def assigned(rows: Sequence[Printed]) -> dict[str, str | None]:
    """What the statement of these rows, one or two, has set."""
    values = {name: value for row in rows for name, value in row["after"].items()}
    if len(rows) == 1 and values == rows[0].get(
        "before"
    ):  # NULLs at the end of a row that were set to NULL print all columns
        values = {name: None for name, value in values.items() if value is None}
    return {name: OUT_OF_LINE if value == "EMPTY_CLOB()" else value for name, value in values.items()}


def statement(rows: Sequence[Printed]) -> Statement:
    row = rows[0]
    if row["op"] == "INSERT":
        names, values = zip(*assigned(rows).items(), strict=True)
        places = ",".join(f":{n}" for n in range(1, len(names) + 1))
        return f"insert into {row['table']} ({','.join(names)}) values ({places})", list(values)
    key = next(name for name in row["before"] if name in KEYS and (name != "ORDER_ID" or row["table"] == "TEST_ORDERS"))
    if row["op"] == "DELETE":
        return f"delete from {row['table']} where {key} = :1", [row["before"][key]]
    names, values = zip(*assigned(rows).items(), strict=True)
    sets = ", ".join(f"{name} = :{n}" for n, name in enumerate(names, 1))
    return f"update {row['table']} set {sets} where {key} = :{len(names) + 1}", [*values, row["before"][key]]


def play(lab: Lab, rows: list[Printed]) -> None:
    """Each transaction in a session of its own, the statements in the order of the rows; one that has no more is committed."""
    last = {row["xid"]: number for number, row in enumerate(rows)}
    with ExitStack() as stack:
        sessions: dict[str, oracledb.Connection] = {}
        at = 0
        while at < len(rows):
            of_one = rows[at : at + 1 + continues(rows[at], rows[at + 1] if at + 1 < len(rows) else None)]
            at += len(of_one)
            xid = of_one[0]["xid"]
            if xid not in sessions:
                sessions[xid] = stack.enter_context(lab.sandbox.connect(lab.user, lab.user))
            with sessions[xid].cursor() as cursor:
                cursor.execute(*statement(of_one))
            if last[xid] < at:
                sessions.pop(xid).commit()


def printed(lab: Lab) -> Iterator[Printed]:
    """The changes of the schema since the mark by the default formats, in the form of the files, and like them in the order of SCNs:
    redo of a private strand comes later (docs/reference/logminer-facts.md#d-7)."""
    with lab.sandbox.connect("c##minercdc", "minercdc", lab.sandbox.root_service) as miner, miner.cursor() as cursor:
        kept, lab.mining = lab.mining, cursor
        found = lab.mined("scn, sql_redo, csf, operation", "operation_code in (1, 2, 3) and rollback = 0")
        rows = [row for _, *row in sorted(found, key=lambda row: int(row[0]))]
        lab.mining = kept
        for text, operation in whole(rows):
            _, table, after, before = read_redo(text)
            row: Printed = {"op": operation, "table": table}
            for image, values in (("after", after), ("before", before)):
                if values:
                    row[image] = {name: as_published(value) for name, value in values.items()}
            yield row


def whole(rows: Sequence[Sequence[Any]]) -> Iterator[tuple[str, str]]:
    """The statements with their pieces joined, and their operations."""
    text = ""
    for piece, csf, operation in rows:
        text += piece
        if not csf:
            yield text, operation
            text = ""


def as_published(value: str | None) -> str | None:
    """A value as the files have it: without the function around it, but for EMPTY_CLOB and EMPTY_BLOB."""
    if value is None or not value.startswith(("HEXTORAW:", "UNISTR:")):
        return value
    return value.partition(":")[2]


@pytest.fixture(scope="module")
def lab(sandbox: SandboxProcess) -> Iterator[Lab]:
    found = opened(sandbox)
    yield found
    found.close()


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_sandbox_prints_what_a_real_logminer_printed(lab: Lab, scenario: str) -> None:
    rows = recorded(scenario)
    lab.drop_tables()
    for table in dict.fromkeys(row["table"] for row in rows):
        lab.run(f"create table {table} {TABLES.get(table, f'({_NAMED})')}")
        lab.run(f"alter table {table} add supplemental log data (all) columns")
    found: list[Printed] = []
    for number, part in enumerate(parted(rows)):
        if number:
            lab.run(ADDED)
        lab.mark()
        play(lab, part)
        found += printed(lab)
    assert found == [{name: row[name] for name in ("op", "table", "after", "before") if name in row} for row in rows]


def parted(rows: list[Printed]) -> list[list[Printed]]:
    """The rows before the DDL of ddl-add-column, and those after it: the online catalog knows the names of the newest version only,
    where the publisher had LogMiner follow a dictionary in redo."""
    at = next((at for at, row in enumerate(rows) if row["table"] == "TEST_DDL" and "EMAIL" in row["after"]), len(rows))
    return [part for part in (rows[:at], rows[at:]) if part]


def test_a_table_with_a_boolean_has_no_readable_row(lab: Lab) -> None:
    """So the files have none of boolean-type: "LogMiner does not support BOOLEAN type in SQL_REDO"."""
    lab.drop_tables()
    lab.run("create table test_boolean (id number primary key, active boolean)", "insert into test_boolean values (1, true)")
    lab.commit()
    lab.mark()
    lab.run("update test_boolean set active = false", "delete from test_boolean")
    lab.commit()
    assert list(printed(lab)) == []
    assert {operation for (operation,) in lab.mined("operation", "operation_code = 255")} == {"UNSUPPORTED"}
