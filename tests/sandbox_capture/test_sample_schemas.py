"""Oracle's sample schemas, captured: what came is what is there."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import oracledb
import pytest
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.lab import Lab, Reader, switch_supplemental_logging_on
from tests.sandbox_capture.sample_schemas import HR, LOGGED, REFUSED, SAMPLES

from minercdc.stream.events import UNAVAILABLE, Row


def lab_of(sandbox: SandboxProcess, schema: str, directory: Path) -> Lab:
    switch_supplemental_logging_on(sandbox)
    lab = Lab(sandbox, schema, directory, **{"lob.enabled": True})
    with sandbox.connect() as admin:
        admin.cursor().execute(f"grant create view, create procedure, create trigger, create sequence to {schema}")
    lab.run("create table marker (n number(10) primary key)")
    return lab


def filled(row: Row, other: Row) -> Row:
    """The row with values of another one for those that are not available."""
    return tuple(b if a is UNAVAILABLE else a for a, b in zip(row, other or row, strict=True))


def contents(reader: Reader, table: str) -> Counter[Row]:
    """What the table amounts to, by its rows, since some have no key. Fails at a change of a row that is not there. What redo does
    not have of a row, a large value, stays as it was."""
    rows: Counter[Row] = Counter()
    for op, before, after in reader.changes(table):
        was: Row = ()
        if before is not None:
            was = next((row for row in +rows if row == filled(before, row)), ())
            assert was, f"{op} of {before}, which is not there"
            rows[was] -= 1
        if after is not None:
            rows[filled(after, was)] += 1
    return +rows


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_schema_is_captured(sandbox: SandboxProcess, tmp_path: Path, name: str) -> None:
    sample, lab = SAMPLES[name], lab_of(sandbox, f"sample_{name}", tmp_path)
    lab.run(*sample.made, *(LOGGED.format(table) for table in sample.tables))
    reader = Reader(lab).take_snapshot()
    lab.run(*sample.changed)
    reader.until_marker(1)
    again = Reader(lab).take_snapshot()
    for table in sample.tables:
        assert contents(reader, table) == contents(again, table) != Counter(), table
    lab.app.close()


def test_what_the_sandbox_does_not_have_of_them_is_refused_with_the_statement(
    sandbox: SandboxProcess, tmp_path: Path
) -> None:
    lab = lab_of(sandbox, "sample_refused", tmp_path)
    lab.run(*HR.made[:2])
    for statement in REFUSED:
        with pytest.raises(oracledb.DatabaseError, match="ORA-03001: unimplemented feature: "):
            lab.run(statement)
    lab.app.close()
