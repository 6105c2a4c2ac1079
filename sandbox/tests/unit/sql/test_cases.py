"""The SQL cases of `sandbox/tests/cases`; `case_files` has their format."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pytest
from sandbox.tests.unit.sql.case_files import CASES, CaseRun, shown


@pytest.mark.parametrize("path", sorted(CASES.glob("*.test")), ids=lambda path: path.stem)
def test_cases(path: Path) -> None:
    run = CaseRun()
    try:
        run.run(path)
    finally:
        run.close()
    assert not run.failures, "\n\n".join(run.failures)


def test_what_differs_from_a_file_is_reported_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "wrong.test"
    path.write_text(
        "# a comment\nstatement ok\ncreate table t (n number)\n\nstatement count 2\ninsert into t values (1)\n\n"
        "statement ok\nselect * from nothing\n\nquery\nselect n from t\n----\n2\n\nquery rowsort\nselect 2 from dual\n"
        "union all select 1 from dual\n----\n1\n2\n\nstatement error ORA-00001\nselect 1 / 0 from dual\n\n"
        "connection two\n\nquery\nselect count(*) from t\n----\n0\n"
    )
    run = CaseRun()
    run.run(path)
    run.close()
    assert [failure.partition(": ")[0] for failure in run.failures] == [f"wrong.test:{n}" for n in (5, 8, 11, 23)]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "NULL"),
        ("NULL", "'NULL'"),
        (1, "1"),
        ("1", "'1'"),
        (Decimal("0.50"), "0.5"),
        ("x  ", "'x  '"),
        ("it's", "it's"),
        ("'", "'''"),
        ("a | b", "'a | b'"),
        (b"\x0a\xff", "0AFF"),
        (datetime(2026, 1, 2, 3, 4, 5), "2026-01-02 03:04:05"),
    ],
)
def test_values_are_distinguished(value: object, text: str) -> None:
    assert shown(value) == text
