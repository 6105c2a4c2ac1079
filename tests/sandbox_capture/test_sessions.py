"""Whose transactions are captured: `log.mining.clientid.*.list` with the `client_identifier` that a driver sets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.lab import Reader
from tests.sandbox_capture.test_capture import make_lab


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        ({"log.mining.clientid.include.list": "Orders-App, markers"}, ["1", "4"]),
        ({"log.mining.clientid.exclude.list": "ORDERS-APP"}, ["2", "3"]),
    ],
)
def test_client_identifier_decides(
    sandbox: SandboxProcess, tmp_path: Path, committed: bool, lists: dict[str, Any], expected: list[str]
) -> None:
    lab = make_lab(sandbox, tmp_path, committed=committed, **lists)
    reader = Reader(lab).take_snapshot(with_rows=False)
    session = lab.session()
    for number, identifier in ((1, "orders-app"), (2, "batch"), (3, ""), (4, "orders-app")):
        session.client_identifier = identifier
        with session.cursor() as cursor:
            cursor.execute("insert into item (id) values (:1)", [number])
        session.commit()
    lab.app.client_identifier = "markers"
    reader.until_marker(1)
    assert [after and after[0] for _, _, after in reader.changes()] == expected
    session.close()
    lab.app.close()
