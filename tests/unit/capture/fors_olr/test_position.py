"""Positions, what is acknowledged, times, and the query of tables."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minercdc.capture.fors_olr.acknowledgement import Acknowledgement
from minercdc.capture.fors_olr.clock import Clock
from minercdc.capture.fors_olr.position import ForsPosition
from minercdc.capture.fors_olr.table_list import query_of
from minercdc.config.source.fors_olr import ForsConfig
from minercdc.schema.table import TableId

A, B = "a" * 16, "b" * 16


def test_nothing_is_acknowledged_before_it_is_stored() -> None:
    found = Acknowledgement()
    found.received(100, A)
    assert found.scn == 0
    found.stored(ForsPosition(100, frozenset({A})))
    assert found.scn == 100


def test_of_transactions_with_the_same_scn_all_have_to_be_stored() -> None:
    found = Acknowledgement()
    found.received(100, A)
    found.received(100, B)
    found.stored(ForsPosition(100, frozenset({A})))
    assert found.scn == 99
    found.stored(ForsPosition(100, frozenset({A, B})))
    assert found.scn == 100


def test_a_position_of_before_changes_nothing() -> None:
    found = Acknowledgement()
    found.stored(ForsPosition(200, frozenset({A})))
    found.stored(ForsPosition(100, frozenset({A})))
    assert found.scn == 200


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(0, 3)), max_size=30), st.integers(0, 30))
def test_what_is_acknowledged_is_stored(commits: list[tuple[int, int]], count: int) -> None:
    """Of transactions in commit order, some of which are stored."""
    transactions = sorted({(scn, f"{xid:016x}") for scn, xid in commits})
    found, position = Acknowledgement(), ForsPosition(1)
    for number, (scn, xid) in enumerate(transactions):
        found.received(scn, xid)
        if number < count:
            xids = position.xids | {xid} if scn == position.scn else frozenset({xid})
            position = ForsPosition(scn, xids)
            found.stored(position)
    for scn, xid in transactions:
        assert scn > found.scn or position.includes(scn, xid)


def test_a_position_comes_back_from_json() -> None:
    position = ForsPosition(2**60, frozenset({A, B}), 5, "0123")
    assert ForsPosition.from_json(position.to_json()) == position
    assert position.delivered_scn == 2**60
    assert ForsPosition(9).delivered_scn == 8


MOMENT = datetime(2026, 11, 23, 9, 30, 15, tzinfo=UTC)
PACKED = ((((2026 - 1988) * 12 + 10) * 31 + 22) * 24 + 9) * 3600 + 30 * 60 + 15


@pytest.mark.parametrize("unit", ["seconds", "auto"])
def test_a_time_in_seconds(unit: str) -> None:
    clock = Clock(ForsConfig.model_validate({"minercdc_fors_timestamp_unit": unit}), lambda: timedelta(hours=3))
    assert clock.us(int(MOMENT.timestamp())) == int(MOMENT.timestamp()) * 1_000_000


@pytest.mark.parametrize("unit", ["redo", "auto"])
def test_a_time_of_redo_is_the_hosts(unit: str) -> None:
    clock = Clock(ForsConfig.model_validate({"minercdc_fors_timestamp_unit": unit}), lambda: timedelta(hours=3))
    assert clock.us(PACKED) == int((MOMENT - timedelta(hours=3)).timestamp()) * 1_000_000


@given(st.integers(0, 2**32 - 1))
def test_any_number_is_a_time_or_none(number: int) -> None:
    assert Clock(ForsConfig.model_validate({"minercdc_fors_timestamp_unit": "redo"}), lambda: timedelta(0)).us(number) >= 0


def test_the_query_names_the_tables() -> None:
    tables = [TableId("P", "SHOP", "B"), TableId("P", "A'B", "X"), TableId("P", "SHOP", "A")]
    assert query_of(tables) == (
        "SELECT OWNER, TABLE_NAME AS NAME FROM ALL_TABLES WHERE (OWNER = 'A''B' AND TABLE_NAME IN ('X'))"
        " OR (OWNER = 'SHOP' AND TABLE_NAME IN ('A', 'B'))"
    )


def test_no_list_has_more_than_1000_names() -> None:
    tables = [TableId("P", "S", f"T{number:04d}") for number in range(2_500)]
    assert query_of(tables).count("TABLE_NAME IN") == 3
