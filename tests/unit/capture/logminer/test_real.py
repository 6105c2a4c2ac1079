"""What real databases printed: LogMiner's rows and, of the same redo, what a real OpenLogReplicator read.

`real/*.logminer.json` and `*.olr.json` are outputs of Oracle Free 23ai and of RAC, published by the project rophy/OpenLogReplicator
(723d818a). Values stand there without the functions around them, which are put back here. A file that begins with `#` has no rows:
LogMiner does not support its table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.unit.capture.logminer.redo import NOON, Miner

from minercdc.capture.logminer.buffer.buffered import BufferedAssembly
from minercdc.capture.logminer.session.row import PLACEHOLDER_ROW_ID, LogMinerRow, OpCode
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import UNAVAILABLE, ChangeEvent, Op
from minercdc.values import temporal

REAL = Path(__file__).parent / "real"
SCENARIOS = sorted(path.name.removesuffix(".logminer.json") for path in REAL.glob("*.logminer.json"))
_CODES = {"INSERT": OpCode.INSERT, "UPDATE": OpCode.UPDATE, "DELETE": OpCode.DELETE}
_EMPTY = ("EMPTY_CLOB()", "EMPTY_BLOB()")
Printed = dict[str, Any]


def _lines(scenario: str, kind: str) -> list[Printed]:
    text = (REAL / f"{scenario}.{kind}.json").read_text()
    return [json.loads(line, parse_float=Decimal) for line in text.splitlines() if line and not line.startswith("#")]


def _column(name: str, texts: set[str]) -> Column:
    """A column by what is printed of it."""
    text = next(iter(sorted(texts - {*_EMPTY}, key=len, reverse=True)), "")
    if re.fullmatch(r"\d\d-[A-Z]{3}-\d\d", text):
        return Column(name, "DATE")
    if re.match(r"\d\d-[A-Z]{3}-\d\d \d", text):
        return Column(name, "TIMESTAMP", None, 9)
    kinds = {
        "COL_RAW": "RAW",
        "COL_CLOB": "CLOB",
        "COL_BLOB": "BLOB",
        "COL_DOUBLE": "BINARY_DOUBLE",
        "COL_FLOAT": "BINARY_FLOAT",
    }
    if name in kinds:
        return Column(name, kinds[name], 2000 if kinds[name] == "RAW" else None)
    if name == "COL_NVARCHAR2":
        return Column(name, "NVARCHAR2", 100)
    is_number = all(re.fullmatch(r"-?\d*\.?\d*", one) for one in texts) and any(texts)
    return Column(name, "NUMBER") if is_number else Column(name, "VARCHAR2", 400)


def _tables(rows: list[Printed]) -> dict[str, TableSchema]:
    texts: dict[str, dict[str, set[str]]] = {}
    for row in rows:
        columns = texts.setdefault(row["table"], {})
        for image in (row.get("after", {}), row.get("before", {})):
            for name, value in image.items():
                columns.setdefault(name, set()).update([] if value is None else [value])
    return {
        table: TableSchema(
            TableId("DB", "LAB", table),
            tuple(_column(name, columns[name]) for name in sorted(columns)),
            (sorted(columns).index(next(name for name in ("ID", "ITEM_ID", "ORDER_ID", *columns) if name in columns)),),
            object_id=number,
        )
        for number, (table, columns) in enumerate(texts.items(), 100)
    }


def _literal(column: Column, value: str) -> str:
    if value in _EMPTY:
        return value
    if column.type_name in ("RAW", "BLOB"):
        return f"HEXTORAW('{value}')"
    doubled = value.replace("'", "''")
    call = {"DATE": "TO_DATE('{}', 'DD-MON-RR')", "TIMESTAMP": "TO_TIMESTAMP('{}')"}.get(column.type_name, "'{}'")
    return call.format(doubled)


def _statement(row: Printed, schema: TableSchema) -> str:
    columns = {column.name: column for column in schema.columns}
    shown = {
        image: {n: None if v is None else _literal(columns[n], v) for n, v in row.get(image, {}).items()}
        for image in ("before", "after")
    }
    after, before = shown["after"], shown["before"]
    table = f'"LAB"."{row["table"]}"'
    where = " and ".join(f'"{n}" IS NULL' if v is None else f'"{n}" = {v}' for n, v in before.items())
    if row["op"] == "INSERT":
        names = ",".join(f'"{n}"' for n in after)
        return f"insert into {table}({names}) values ({','.join(v or 'NULL' for v in after.values())})"
    if row["op"] == "DELETE":
        return f"delete from {table} where {where}"
    sets = ", ".join(f'"{n}" = {v or "NULL"}' for n, v in after.items())
    return f"update {table} set {sets} where {where}"


def _redo(rows: list[Printed], tables: dict[str, TableSchema]) -> Iterator[LogMinerRow]:
    """The rows as they are printed, each transaction with its COMMIT. A row that another one of its statement completes has the
    placeholder for its ROWID."""
    block = 0
    last = {row["xid"]: number for number, row in enumerate(rows)}
    for number, row in enumerate(rows):
        block += 1
        following = rows[number + 1] if number + 1 < len(rows) else {}
        lobs = {"COL_CLOB", "COL_BLOB"}
        completed = (
            following.get("xid") == row["xid"] and following["op"] == "UPDATE" and bool(lobs & following["after"].keys())
            and lobs & row.get("after", {}).keys() <= {n for n, v in row.get("after", {}).items() if v in _EMPTY}
            and row["op"] != "DELETE"
        )  # fmt: skip
        scn, xid = int(row["scn"]), bytes.fromhex(row["xid"])
        schema = tables[row["table"]]
        place = f" 0x000001.{block:08x}.0010 "
        row_id = PLACEHOLDER_ROW_ID if completed else f"r{number}"
        yield LogMinerRow(
            scn,
            _CODES[row["op"]],
            1,
            place,
            0,
            xid,
            3,
            "LAB",
            row["table"],
            row_id,
            0,
            0,
            0,
            None,
            NOON,
            None,
            None,
            schema.object_id,
            None,
            _statement(row, schema),
        )
        if last[row["xid"]] == number:
            block += 1
            place = f" 0x000001.{block:08x}.0010 "
            yield LogMinerRow(
                scn,
                OpCode.COMMIT,
                1,
                place,
                0,
                xid,
                3,
                None,
                None,
                PLACEHOLDER_ROW_ID,
                0,
                0,
                0,
                None,
                NOON,
                None,
                None,
                0,
                None,
                "commit",
            )


def _replicated(scenario: str) -> dict[str, list[Printed]]:
    """By XID, the changes that OpenLogReplicator read."""
    found: dict[str, list[Printed]] = {}
    for line in _lines(scenario, "olr"):
        if "xid" not in line:
            continue
        usn, slot, sqn = map(int, line["xid"].split("."))
        xid = usn.to_bytes(2, "little") + slot.to_bytes(2, "little") + sqn.to_bytes(4, "little")
        found.setdefault(xid.hex(), []).extend(one for one in line["payload"] if one["op"] in "cud")
    return {xid: changes for xid, changes in found.items() if changes}


def _same(column: Column, ours: str | None, theirs: Any) -> bool:
    if ours is None or theirs is None:
        return ours is theirs
    if column.type_name in ("DATE", "TIMESTAMP"):
        seconds, fraction = temporal._epoch(temporal._canonical(column)(ours))
        if column.type_name == "DATE":  # the format of that session had days only
            return seconds == int(theirs) - int(theirs) % 86400
        return seconds + int(fraction >= "5") == int(theirs)  # it rounds
    if column.type_name == "BINARY_DOUBLE" or column.type_name == "BINARY_FLOAT":
        return f"{float(ours):.6g}" == f"{float(theirs):.6g}"  # it prints six digits
    if column.type_name == "NUMBER":
        return Decimal(ours) == Decimal(str(theirs))
    return ours == re.sub(r"\r?\n", " ", theirs)  # so the publisher shows line feeds of LogMiner's text


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_what_real_logminer_printed_is_what_openlogreplicator_read(tmp_path: Path, scenario: str) -> None:
    rows = _lines(scenario, "logminer")
    tables = _tables(rows)
    miner = Miner(tmp_path, tables=tables.values(), assembly=partial(BufferedAssembly, lobs=True), lobs=True)
    found: dict[str, list[ChangeEvent]] = {}
    for event in miner.read(_redo(rows, tables)):
        if isinstance(event, ChangeEvent) and event.tx is not None:
            found.setdefault(event.tx.id, []).append(event)
    expected = _replicated(scenario) if rows else {}
    assert {xid: [e.op.value for e in events] for xid, events in found.items()} == {
        xid: [one["op"] for one in changes] for xid, changes in expected.items()
    }
    for xid, events in found.items():
        for event, theirs in zip(events, expected[xid], strict=True):
            for row, image in ((event.before, theirs.get("before")), (event.after, theirs.get("after"))):
                for column, value in zip(event.schema.columns, row or (), strict=bool(row)):
                    is_there = image is not None and (event.op is Op.CREATE or column.name in image)
                    # Pieces of LOBs are not in these files.
                    if (
                        is_there
                        and image is not None
                        and value is not UNAVAILABLE
                        and not (column.type_name == "CLOB" and not value)
                    ):
                        assert _same(column, value, image.get(column.name)), (column.name, value, image)
