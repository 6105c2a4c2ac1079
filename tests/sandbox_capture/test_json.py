"""JSON columns of a source under ENABLE_GOLDENGATE_REPLICATION: the text of a snapshot is the text from redo."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import oracledb
import pytest
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.lab import Lab, Reader
from tests.sandbox_capture.test_capture import make_lab
from tests.sandbox_capture.test_lobs import merged

from minercdc.capture.logminer.prerequisites import LogMinerPrerequisites
from minercdc.errors import UnsupportedRowError
from minercdc.oracle.connect import connect
from minercdc.oracle.prerequisites import check
from minercdc.stream.events import UNAVAILABLE

_ALPHABET = "ab '\"\\/\t\n\r\b\x01\x7f\u00e9\u20ac\u4e2d\u2028\U0001f600"


def number(chance: random.Random) -> Decimal:
    digits = chance.randrange(10 ** chance.randint(1, 38))
    return Decimal(chance.choice([-1, 1]) * digits).scaleb(chance.choice([0, -2, chance.randint(-60, 60)]))


def text(chance: random.Random, most: int = 60) -> str:
    return "".join(chance.choices(_ALPHABET, k=chance.randint(0, most)))


def value(chance: random.Random, depth: int, *, bound: bool) -> Any:
    """A JSON value; `bound`: with scalars that only a bind variable has."""
    if depth and chance.random() < 0.5:
        items = [value(chance, depth - 1, bound=bound) for _ in range(chance.choice([0, 1, 3, 260 if depth == 1 else 4]))]
        if chance.random() < 0.5:
            return items
        return {f"{text(chance, 12)}{i}": item for i, item in enumerate(items)}
    scalars: list[Any] = [None, True, False, number(chance), text(chance), text(chance, 300)]
    if bound:
        scalars += [
            date(chance.randint(1, 9999), 2, 28),
            datetime(1999, 12, 31, 23, 59, chance.randrange(60), chance.choice([0, 5000])),
        ]
    return chance.choice(scalars)


class _Numbers(json.JSONEncoder):
    """Decimals as they are: `json` has no way for them but a number's own text."""

    def encode(self, o: Any) -> str:
        if isinstance(o, Decimal):
            return str(o)
        if isinstance(o, dict):
            return "{" + ",".join(f"{json.dumps(name)}:{self.encode(item)}" for name, item in o.items()) + "}"
        return "[" + ",".join(map(self.encode, o)) + "]" if isinstance(o, list) else json.dumps(o)


@pytest.fixture(scope="module")
def release() -> Iterator[SandboxProcess]:
    running = SandboxProcess((), "--profile", "23ai")
    replicate(running, "true")
    yield running
    code, errors = running.stop()
    assert (code, errors) == (0, "")


def replicate(sandbox: SandboxProcess, value: str) -> None:
    with sandbox.connect(service=sandbox.root_service) as admin, admin.cursor() as cursor:
        cursor.execute(f"alter system set enable_goldengate_replication = {value}")


@pytest.fixture(params=["buffered", "committed"])
def lab(request: pytest.FixtureRequest, release: SandboxProcess, tmp_path: Path) -> Iterator[Lab]:
    yield from opened(release, tmp_path, committed=request.param == "committed", **{"lob.enabled": True})


def opened(release: SandboxProcess, directory: Path, **mining: Any) -> Iterator[Lab]:
    lab = make_lab(release, directory, **mining)
    lab.run(
        "create table documents (id number(10) primary key, t varchar2(20), j json, b blob)",
        "alter table documents add supplemental log data (all) columns",
    )
    yield lab
    lab.app.close()


def put(lab: Lab, sql: str, bind: object) -> None:
    """Execute a statement with `:j`, as text or in the driver's own image."""
    with lab.app.cursor() as cursor:
        if not isinstance(bind, str | None):
            cursor.setinputsizes(j=oracledb.DB_TYPE_JSON)
        cursor.execute(sql, j=bind)


def drawn(chance: random.Random) -> object:
    """NULL, text, or a value for the driver to encode."""
    if chance.random() < 0.1:
        return None
    large = text(chance, chance.choice([0, 0, 0, 5000, 70_000]))
    if chance.random() < 0.5:
        return _Numbers().encode([value(chance, 4, bound=False), large])
    return {"v": value(chance, 4, bound=True), "large": large}


@pytest.mark.parametrize("seed", range(4))
def test_redo_has_the_text_of_the_snapshot(lab: Lab, seed: int) -> None:
    chance = random.Random(seed)
    reader = Reader(lab).take_snapshot(with_rows=False)
    for key in range(8):
        put(lab, f"insert into documents values ({key}, 't', :j, null)", drawn(chance) if key else ["x" * 9000])
    for _ in range(12):
        sets = chance.choice(["j = :j", "j = :j, t = 'u'", "t = 'w', j = :j, b = hextoraw('0102')"])
        put(lab, f"update documents set {sets} where id = {chance.randint(1, 7)}", drawn(chance))
        if chance.random() < 0.3:
            lab.app.commit()
    lab.run("delete from documents where id = 7", "update documents set t = 'x' where id = 1")
    lab.app.commit()
    reader.until_marker(1)
    expected = merged(Reader(lab).take_snapshot(), "DOCUMENTS")
    assert len(expected) == 7
    assert any(isinstance(row[2], str) and len(row[2]) > 4000 for row in expected)
    for found, wanted in zip(merged(reader, "DOCUMENTS"), expected, strict=True):
        assert found == wanted


@pytest.mark.parametrize("committed", [False, True], ids=["buffered", "committed"])
def test_without_lob_enabled_the_placeholder_stands_for_json(
    release: SandboxProcess, tmp_path: Path, committed: bool
) -> None:
    for lab in opened(release, tmp_path, committed=committed):
        reader = Reader(lab).take_snapshot(with_rows=False)
        put(lab, "insert into documents values (1, 't', :j, null)", '{"a":1}')
        put(lab, "update documents set j = :j where id = 1", f'["{"x" * 9000}"]')
        put(lab, "update documents set j = :j, t = 'u' where id = 1", "[]")
        lab.app.commit()
        reader.until_marker(1)
        assert reader.changes("DOCUMENTS") == [
            ("c", None, ("1", "t", UNAVAILABLE, UNAVAILABLE)),
            ("u", ("1", "t", UNAVAILABLE, UNAVAILABLE), ("1", "u", UNAVAILABLE, UNAVAILABLE)),
        ]
        ((_, _, row),) = Reader(lab).take_snapshot().changes("DOCUMENTS")
        assert row == ("1", "u", UNAVAILABLE, UNAVAILABLE)


def test_rows_that_are_taken_back(lab: Lab) -> None:
    reader = Reader(lab).take_snapshot(with_rows=False)
    large = f'["{"x" * 9000}"]'
    put(lab, "insert into documents values (1, 't', :j, null)", "[1]")
    lab.run("savepoint a")
    put(lab, "update documents set j = :j where id = 1", large)
    put(lab, "insert into documents values (2, 't', :j, null)", large)
    lab.run("rollback to savepoint a")
    put(lab, "insert into documents values (3, 't', :j, null)", large)
    lab.app.commit()
    reader.until_marker(1)
    assert [(op, after and after[::2]) for op, _, after in reader.changes("DOCUMENTS")] == [
        ("c", ("1", "[1]")),
        ("c", ("3", large)),
    ]


def test_rows_that_the_source_does_not_log_are_failures(lab: Lab, release: SandboxProcess) -> None:
    reader = Reader(lab).take_snapshot(with_rows=False)
    replicate(release, "false")
    try:
        put(lab, "insert into documents values (1, 't', :j, null)", "[]")
        lab.app.commit()
        with pytest.raises(UnsupportedRowError, match="ENABLE_GOLDENGATE_REPLICATION"):
            reader.until_marker(1)
    finally:
        replicate(release, "true")


def test_the_check_says_what_rows_with_json_need(lab: Lab, release: SandboxProcess) -> None:
    def found() -> list[str]:
        with connect(lab.config, "pdb") as connection:
            findings = check(connection, lab.config, lab.filter, LogMinerPrerequisites())
        return [f"{f.rule} {f.blocking} {f.fix}" for f in findings if "JSON" in f.problem]

    assert found() == []
    replicate(release, "false")
    try:
        fix = f"ALTER SYSTEM SET ENABLE_GOLDENGATE_REPLICATION = TRUE; or leave the table out: table.exclude.list={lab.schema}.DOCUMENTS"
        assert found() == [f"mined-types False {fix}"]
    finally:
        replicate(release, "true")
