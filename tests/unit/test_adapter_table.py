"""docs/capture/README.md says of each adapter what the conformance suite holds it to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.conformance.abilities import ABILITIES

from minercdc.capture.registry import ADAPTERS

PAGES = Path(__file__).parents[2] / "docs" / "capture"
ROWS = {
    "before images": "before_images",
    "deletes": "deletes",
    "inserts apart from updates": "inserts",
    "every image in a transaction": "every_image",
    "every transaction of a row": "every_transaction",
    "tables without a key": "keyless",
    "order within a transaction": "order_within_transaction",
    "SCN goes on without changes": "idle_scn",
}


def table() -> dict[str, dict[str, str]]:
    """Row -> adapter -> cell."""
    lines = [line for line in (PAGES / "README.md").read_text().splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    adapters = [name.strip("`") for name in rows[0][1:]]
    return {row[0]: dict(zip(adapters, row[1:], strict=True)) for row in rows[2:]}


def test_every_adapter_has_a_column_and_every_cell_a_text() -> None:
    for row, cells in table().items():
        assert list(cells) == list(ADAPTERS), row
        assert all(cells.values()), row


@pytest.mark.parametrize("row", ROWS)
def test_what_the_suite_expects(row: str) -> None:
    for adapter, cell in table()[row].items():
        assert re.match(r"\w+", cell) is not None
        assert cell.split(":")[0] == ("yes" if getattr(ABILITIES[adapter], ROWS[row]) else "no"), adapter


def test_every_ability_has_a_row() -> None:
    assert set(ROWS.values()) == set(next(iter(ABILITIES.values())).__dataclass_fields__)


def test_what_is_needed_is_what_check_looks_at() -> None:
    for adapter, cell in table()["supplemental logging"].items():
        assert (cell != "none") == ADAPTERS[adapter].reads_redo
