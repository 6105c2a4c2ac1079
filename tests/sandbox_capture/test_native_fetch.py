"""Rows that the driver gives as columns are those that it gives as tuples."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import oracledb
import pytest
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.native_pair import IS_NATIVE

from minercdc import native
from minercdc.capture.logminer.session.logminer_session import MiningSession
from minercdc.capture.logminer.session.row import COLUMNS
from minercdc.errors import MiningSessionError

pytestmark = pytest.mark.skipif(not IS_NATIVE, reason="the extension is not in use")

XID = "HEXTORAW('0400070071010000')"
TIME = "TO_DATE('2026-11-23 01:34:46', 'YYYY-MM-DD HH24:MI:SS')"
PLAIN = dict(zip(COLUMNS, ("1", "1", "1", "' 0x01.02.03 '", "0", XID, "3", "'O'", "'T'", "'R'", "0", "0", "0", "NULL", TIME,
    "'U'", "NULL", "7", "NULL", "'x'"), strict=True))  # fmt: skip
ODD: list[dict[str, str]] = [
    {},
    {"SCN": "9007199254740993"},
    {"SCN": "9223372036854775807", "SSN": "-9223372036854775808"},
    {
        "SRC_CON_ID": "NULL",
        "SEG_OWNER": "NULL",
        "TABLE_NAME": "NULL",
        "ROW_ID": "NULL",
        "SQL_REDO": "NULL",
        "USERNAME": "NULL",
    },
    {"INFO": "'USER DDL'", "CLIENT_ID": "'c'", "START_SCN": "12", "SQL_REDO": "'жé😀'"},
    {"TIMESTAMP": "TO_DATE('1969-12-31 23:59:59', 'YYYY-MM-DD HH24:MI:SS')", "SEG_OWNER": "'Ж'"},
]


def query(changes: dict[str, str]) -> str:
    return "SELECT " + ", ".join(f'{text} "{name}"' for name, text in (PLAIN | changes).items()) + " FROM dual"


@pytest.fixture
def connection(sandbox: SandboxProcess) -> Iterator[oracledb.Connection]:
    with sandbox.connect("system", "oracle") as connected:
        yield connected


def test_columns_are_the_tuples(connection: oracledb.Connection) -> None:
    sql = " UNION ALL ".join(map(query, ODD))
    tuples = [row for batch in MiningSession(connection, 4).rows(sql, {}) for row in batch]
    batches = list(MiningSession(connection, 4, native_rows=True).rows(sql, {}))
    assert native.rows is not None
    assert all(isinstance(batch, native.rows.ArrowBatch) for batch in batches)
    assert [row for batch in batches for row in batch] == tuples
    assert tuples[1][0] == 2**53 + 1
    assert isinstance(tuples[0][14], datetime)
    assert list(MiningSession(connection, 4, native_rows=True).rows(f"SELECT * FROM ({sql}) WHERE SCN < 0", {})) == []


def test_a_driver_that_gives_no_columns_gives_tuples(
    connection: oracledb.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> Iterator[Any]:
        raise oracledb.NotSupportedError("DPY-3030: conversion is not supported")
        yield

    session = MiningSession(connection, 4, native_rows=True)
    monkeypatch.setattr(oracledb.Connection, "fetch_df_batches", refuse)
    sql = query({})
    assert [type(batch) for _ in range(2) for batch in session.rows(sql, {})] == [list, list]


class _Column:
    """An Arrow array of the driver's, or one that stands in for it."""

    def __init__(self, arrow: Any) -> None:
        self.__arrow_c_array__ = arrow.__arrow_c_array__


class _Frame:
    def __init__(self, columns: list[Any]) -> None:
        self.columns = columns

    def column_arrays(self) -> list[_Column]:
        return [_Column(column) for column in self.columns]

    def num_rows(self) -> int:
        return 1


def columns_with(at: int, value: Any) -> list[Any]:
    pyarrow = pytest.importorskip("pyarrow")
    integer, text = pyarrow.array([1], pyarrow.int64()), pyarrow.array(["x"], pyarrow.large_string())
    kinds = {5: pyarrow.array([b"12345678"], pyarrow.large_binary()), 14: pyarrow.array([0], pyarrow.timestamp("us"))}
    texts = (3, 7, 8, 9, 13, 15, 16, 19)
    return [value if i == at else kinds.get(i, text if i in texts else integer) for i in range(20)]


def test_columns_of_another_type_are_refused() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    assert native.rows is not None
    for at, odd in ((0, pyarrow.array([1.0])), (3, pyarrow.array(["x"])), (14, pyarrow.array([0], pyarrow.timestamp("s")))):
        with pytest.raises(TypeError, match=f"column {at} came as"):
            native.rows.ArrowBatch(_Frame(columns_with(at, odd)))
    with pytest.raises(TypeError, match="19 columns"):
        native.rows.ArrowBatch(_Frame(columns_with(0, None)[1:]))


def test_text_that_is_no_utf8_is_refused_with_its_place() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    assert native.rows is not None
    damaged = pyarrow.array([b"caf\xe9"], pyarrow.large_binary()).view(pyarrow.large_string())
    batch = native.rows.ArrowBatch(_Frame(columns_with(19, damaged)))
    miner = native.rows.Miner(*_empty_miner())
    with pytest.raises(MiningSessionError, match="UTF-8"):
        miner.advance(batch, 0, {}, _NoDelivery(), 1, 0, 0, None)


class _NoDelivery:
    captured: dict[Any, bool] = {}  # noqa: RUF012
    large: dict[Any, frozenset[str]] = {}  # noqa: RUF012
    threads: dict[int, Any] = {}  # noqa: RUF012


def _empty_miner() -> tuple[Any, ...]:
    assert native.rows is not None
    buffer = native.rows.TransactionBuffer(1 << 20, None, None, None, None)
    return buffer, native.rows.RunScanner(), tuple, False
