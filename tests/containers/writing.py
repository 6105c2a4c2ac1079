"""Transactions on a table of several types, while services are killed."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from types import TracebackType
from typing import Any, Self

import oracledb

TABLE = """CREATE TABLE PARCELS (ID NUMBER(18) PRIMARY KEY, LABEL VARCHAR2(80), WEIGHT NUMBER(12,3), VOLUME NUMBER, SENT DATE,
 SCANNED TIMESTAMP(6), DIGEST RAW(16), CHANCE BINARY_DOUBLE)"""
LOGGED = "ALTER TABLE PARCELS ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS"
_INSERT = "INSERT INTO PARCELS VALUES (:1, :2, :3, :4, :5, :6, :7, :8)"
_EPOCH = datetime(2026, 11, 20, 9, 15)
_PAUSE_SECONDS = 0.1  # services take a minute to come up again, and all that is written meanwhile is read


class Writer:
    """Writes from `with` to its end: inserts, updates, deletes, key changes, and every fifth transaction rolled back.

    :ivar transactions: committed so far.
    """

    def __init__(self, connect: Callable[[], oracledb.Connection], first: int) -> None:
        self._connect = connect
        self._next = first
        self._random = random.Random(first)
        self._keys: list[int] = []
        self._stop = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="writer")
        self.transactions = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join()
        if self._failure is not None and error is None:
            raise self._failure

    def _run(self) -> None:
        try:
            with self._connect() as connection, connection.cursor() as cursor:
                while not self._stop.wait(_PAUSE_SECONDS):
                    self._transact(connection, cursor)
        except BaseException as error:
            self._failure = error

    def _transact(self, connection: oracledb.Connection, cursor: oracledb.Cursor) -> None:
        keys = list(self._keys)
        for _ in range(self._random.randint(1, 5)):
            self._change(cursor, keys)
        if self._random.random() < 0.2:
            connection.rollback()
            return
        connection.commit()
        self._keys = keys
        self.transactions += 1

    def _change(self, cursor: oracledb.Cursor, keys: list[int]) -> None:
        kind = self._random.choice(("insert", "insert", "update", "delete", "key"))
        if kind == "insert" or not keys:
            self._next += 1
            cursor.execute(_INSERT, self._row(self._next))
            keys.append(self._next)
            return
        place = self._random.randrange(len(keys))
        if kind == "update":
            cursor.execute(
                "UPDATE PARCELS SET LABEL = :1, WEIGHT = WEIGHT + 0.001 WHERE ID = :2", [self._text(), keys[place]]
            )
        elif kind == "delete":
            cursor.execute("DELETE FROM PARCELS WHERE ID = :1", [keys.pop(place)])
        else:
            self._next += 1
            cursor.execute("UPDATE PARCELS SET ID = :1 WHERE ID = :2", [self._next, keys[place]])
            keys[place] = self._next

    def _row(self, key: int) -> list[Any]:
        at = _EPOCH + timedelta(microseconds=self._random.randrange(10**15))
        weight = Decimal(self._random.randrange(10**9)).scaleb(-3)
        volume = Decimal(self._random.randrange(10**30)).scaleb(-17)
        return [
            key,
            self._text(),
            weight,
            volume,
            at.replace(microsecond=0),
            at,
            self._random.randbytes(16),
            self._random.random(),
        ]

    def _text(self) -> str | None:
        return self._random.choice((None, "it's", "größer ≥ 10", "plain", "two\nlines"))
