"""Partitioned tables: their rows have object ids of their own, which DDL changes."""

from __future__ import annotations

from minercdc.operate.qualify.case import Case, Step

_RANGE = (
    "CREATE TABLE {t} (ID NUMBER(9) PRIMARY KEY, V VARCHAR2(40)) PARTITION BY RANGE (ID)"
    " (PARTITION P1 VALUES LESS THAN (100), PARTITION P2 VALUES LESS THAN (200))"
)
_ROWS = ("INSERT INTO {t} VALUES (1, 'in P1')", "INSERT INTO {t} VALUES (101, 'in P2')")

CASES = (
    Case(
        "range partitions",
        [_RANGE],
        _ROWS,
        [
            Step(["INSERT INTO {t} VALUES (2, 'in P1')", "INSERT INTO {t} VALUES (102, 'in P2')"], ["c 2", "c 102"]),
            Step(["UPDATE {t} SET V = 'changed' WHERE ID IN (1, 101)"], ["u 1", "u 101"]),
            Step(["DELETE FROM {t} WHERE ID IN (2, 102)"], ["d 2", "d 102"]),
        ],
    ),
    Case(
        "ADD PARTITION",
        [_RANGE],
        _ROWS,
        [
            Step(["ALTER TABLE {t} ADD PARTITION P3 VALUES LESS THAN (300)"]),
            Step(["INSERT INTO {t} VALUES (201, 'in P3')"], ["c 201"]),
            Step(["UPDATE {t} SET V = 'changed' WHERE ID IN (1, 201)"], ["u 1", "u 201"]),
        ],
    ),
    Case(
        "SPLIT PARTITION",
        [_RANGE],
        _ROWS,
        [
            Step(["INSERT INTO {t} VALUES (150, 'in P2')"], ["c 150"]),
            Step(["ALTER TABLE {t} SPLIT PARTITION P2 AT (150) INTO (PARTITION P2A, PARTITION P2B) UPDATE INDEXES"]),
            Step(["INSERT INTO {t} VALUES (151, 'in P2B')"], ["c 151"]),
            Step(["UPDATE {t} SET V = 'changed' WHERE ID > 100"], ["u 101", "u 150", "u 151"]),
        ],
    ),
    Case(
        "DROP PARTITION",
        [_RANGE],
        _ROWS,
        [
            Step(["INSERT INTO {t} VALUES (2, 'in P1')", "INSERT INTO {t} VALUES (102, 'in P2')"], ["c 2", "c 102"]),
            Step(["ALTER TABLE {t} DROP PARTITION P1 UPDATE INDEXES"], clears=True),
            Step(["UPDATE {t} SET V = 'changed' WHERE ID = 102"], ["u 102"]),
        ],
    ),
    Case(
        "TRUNCATE PARTITION",
        [_RANGE],
        _ROWS,
        [
            Step(["ALTER TABLE {t} TRUNCATE PARTITION P1 UPDATE INDEXES"], clears=True),
            Step(["INSERT INTO {t} VALUES (2, 'in P1')"], ["c 2"]),
        ],
    ),
    Case(
        "interval partitions",
        [
            "CREATE TABLE {t} (ID NUMBER(9) PRIMARY KEY, V VARCHAR2(40)) PARTITION BY RANGE (ID) INTERVAL (100)"
            " (PARTITION P1 VALUES LESS THAN (100))"
        ],
        ["INSERT INTO {t} VALUES (1, 'in P1')"],
        [
            Step(
                ["INSERT INTO {t} VALUES (101, 'in a new one')", "INSERT INTO {t} VALUES (901, 'in another')"],
                ["c 101", "c 901"],
            ),
            Step(["UPDATE {t} SET V = 'changed' WHERE ID > 100"], ["u 101", "u 901"]),
        ],
    ),
    Case(
        "list partitions",
        [
            "CREATE TABLE {t} (ID NUMBER(9) PRIMARY KEY, V VARCHAR2(40)) PARTITION BY LIST (V)"
            " (PARTITION PA VALUES ('a'), PARTITION PB VALUES ('b'), PARTITION PO VALUES (DEFAULT))"
        ],
        (),
        [
            Step(["INSERT INTO {t} VALUES (1, 'a')", "INSERT INTO {t} VALUES (2, 'c')"], ["c 1", "c 2"]),
            Step(["DELETE FROM {t} WHERE ID = 2"], ["d 2"]),
        ],
    ),
    Case(
        "hash partitions",
        ["CREATE TABLE {t} (ID NUMBER(9) PRIMARY KEY, V VARCHAR2(40)) PARTITION BY HASH (ID) PARTITIONS 4"],
        (),
        [
            Step(["INSERT INTO {t} SELECT LEVEL, 'row' FROM DUAL CONNECT BY LEVEL <= 8"], [f"c {n}" for n in range(1, 9)]),
            Step(["UPDATE {t} SET V = 'changed' WHERE ID = 5"], ["u 5"]),
        ],
    ),
)
