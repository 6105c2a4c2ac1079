"""Random transactions that take parts of themselves back, on rows with large values whose redo is not read: what comes of the other columns
is what the tables hold."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import oracledb
import pytest
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.lab import Lab, Reader, canonical
from tests.sandbox_capture.test_capture import make_lab

from minercdc.stream.events import ChangeEvent, Row

PROGRAMS = 60
TABLES = {"sec": "securefile", "bas": "basicfile"}
BIG = "to_clob(rpad('x', 4000, 'y')) || 'z'"
VALUES = ("null", "'s'", "empty_clob()", "rpad('o', 3990, 'p')", BIG)
"""NULL, in the row, empty, outside the row, and beyond 4000 bytes: an undo row says EMPTY_CLOB() of the last three."""
EDITS = ("dbms_lob.write(l, 3, 1, 'WWW')", "dbms_lob.trim(l, 0)", "dbms_lob.writeappend(l, 2, 'ab')")


@pytest.fixture(scope="module", params=["19c", "23ai"])
def release(request: pytest.FixtureRequest) -> Iterator[SandboxProcess]:
    running = SandboxProcess((), "--profile", request.param)
    yield running
    code, errors = running.stop()
    assert (code, errors) == (0, "")


def statement(chance: random.Random, table: str, keys: tuple[int, int]) -> str:
    """One that changes one row of a program, or both."""
    key, column, value = chance.choice(keys), chance.choice("ce"), chance.choice(VALUES)
    number = chance.randrange(100)
    select = f"select {column} into l from {table} where id = {key} for update"
    return chance.choice(
        [
            f"update {table} set v = {number} where id = {key}",
            f"update {table} set v = {number}, {column} = {value} where id in {chance.choice([keys, (key, key)])}",
            f"update {table} set {column} = {value} where id = {key}",
            f"update {table} set {column} = {value} where id = {key}",
            f"declare l clob; begin {select}; if dbms_lob.getlength(l) > 0 then {chance.choice(EDITS)}; end if; end;",
            f"delete from {table} where id = {key}",
            f"insert into {table} values ({key}, {number}, {value}, {chance.choice(VALUES)})",
        ]
    )


def run_program(lab: Lab, chance: random.Random, number: int) -> list[str]:
    """A transaction on two rows, with savepoints to which it goes back; its statements."""
    table, keys = chance.choice(list(TABLES)), (10 * number, 10 * number + 1)
    said = [f"insert into {table} values ({key}, 0, {chance.choice(VALUES)}, {chance.choice(VALUES)})" for key in keys]
    lab.run(*said, "commit")
    names: list[str] = []
    for _ in range(chance.randrange(4, 9)):
        choice = chance.random()
        if choice < 0.2 and len(names) < 3:
            names.append(f"s{len(names)}")
            said.append(f"savepoint {names[-1]}")
        elif choice < 0.4 and names:
            place = chance.randrange(len(names))
            said.append(f"rollback to savepoint {names[place]}")
            del names[place + 1 :]
        else:
            said.append(statement(chance, table, keys))
        with suppress(oracledb.DatabaseError):  # a key that is there, or a row that is not: undone, too
            lab.run(said[-1])
    if names and chance.random() < 0.7:
        said.append(f"rollback to savepoint {names[0]}")
        lab.run(said[-1])
    lab.run("commit")
    return said


@pytest.mark.parametrize("committed", [False, True], ids=["buffered", "committed"])
def test_what_is_taken_back_leaves_nothing(release: SandboxProcess, tmp_path: Path, committed: bool) -> None:
    lab = make_lab(release, tmp_path, committed=committed)
    for table, storage in TABLES.items():
        lab.run(
            f"create table {table} (id number(9) primary key, v number(9), c clob, e clob) lob (c, e) store as {storage}",
            f"alter table {table} add supplemental log data (all) columns",
        )
    reader = Reader(lab).take_snapshot(with_rows=False)
    chance = random.Random(20261130)
    programs = [run_program(lab, chance, number) for number in range(1, PROGRAMS + 1)]
    reader.until_marker(1)
    rows: dict[tuple[str, object], Row] = {}
    for event in reader.events:
        if isinstance(event, ChangeEvent) and event.schema.id.table != "MARKER":
            name, before, after = (
                event.schema.id.table,
                canonical(event.schema, event.before),
                canonical(event.schema, event.after),
            )
            if before is not None:
                assert rows.pop((name, before[0]))[:2] == before[:2], programs[int(str(before[0])) // 10 - 1]
            if after is not None:
                assert (name, after[0]) not in rows, programs[int(str(after[0])) // 10 - 1]
                rows[name, after[0]] = after
    found = {key: row[1] for key, row in rows.items()}
    held = {(table.upper(), row[0]): row[1] for table in TABLES for row in lab.rows(f"(select id, v from {table})")}
    wrong = {key for key in found.keys() | held.keys() if found.get(key) != held.get(key)}
    assert not wrong, [programs[int(str(key)) // 10 - 1] for _, key in sorted(wrong, key=str)]
    lab.app.close()
