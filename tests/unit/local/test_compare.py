"""The proof can fail: every kind of difference is found, and no form of the same value is one."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

import pytest

from minercdc.local.demo.compare import OracleTable, canonical, differences

TABLE = OracleTable("S.T", ("ID", "V"), 1, [(Decimal(1), "a"), (Decimal(2), None)])


def test_equal_tables_have_no_differences_in_any_order() -> None:
    assert differences(TABLE, [(Decimal(2), None), (Decimal(1), "a")]) == []


@pytest.mark.parametrize(
    "lake",
    [
        [(Decimal(1), "b"), (Decimal(2), None)],
        [(Decimal(1), "a"), (Decimal(2), "")],
        [(Decimal(1), "a")],
        [(Decimal(1), "a"), (Decimal(2), None), (Decimal(3), None)],
        [(Decimal(1), "a"), (Decimal(1), "a"), (Decimal(2), None)],
    ],
    ids=["changed", "empty is not null", "lost", "extra", "twice"],
)
def test_a_difference_of_any_kind_is_found(lake: list[tuple[object, ...]]) -> None:
    found = differences(TABLE, lake)
    assert len(found) == 1
    assert "S.T" in str(found[0])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Decimal("1.50"), Decimal("1.5")),
        (3, Decimal("3.00")),
        (b"\x01\xff", bytearray(b"\x01\xff")),
        (datetime(2026, 1, 2, 3, 4, 5), datetime(2026, 1, 2, 3, 4, 5, 0)),
    ],
)
def test_forms_of_one_value_are_equal(one: object, other: object) -> None:
    assert canonical(one) == canonical(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [(Decimal("1.5"), Decimal("1.50000000000000000000000000000000000001")), ("1", 1), (b"\x01", "01 "), (None, "")],
)
def test_different_values_stay_different(one: object, other: object) -> None:
    assert canonical(one) != canonical(other)
