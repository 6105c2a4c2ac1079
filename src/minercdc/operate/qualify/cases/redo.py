"""Redo logs that end between changes, and within a transaction."""

from __future__ import annotations

from minercdc.operate.qualify.case import Case, Step

_CREATE = "CREATE TABLE {t} (ID NUMBER(9) PRIMARY KEY, V VARCHAR2(40))"
_SWITCH = Step(["ALTER SYSTEM SWITCH LOGFILE"], who="admin")

CASES = (
    Case(
        "log switches between changes",
        [_CREATE],
        (),
        [
            Step(["INSERT INTO {t} VALUES (1, 'before it')"], ["c 1"]),
            _SWITCH,
            Step(["INSERT INTO {t} VALUES (2, 'after it')"], ["c 2"]),
            _SWITCH,
            Step(["UPDATE {t} SET V = 'after the second'"], ["u 1", "u 2"]),
        ],
    ),
    Case(
        "log switch within a transaction",
        [_CREATE],
        (),
        [
            Step(["INSERT INTO {t} VALUES (1, 'before it')"], ends="open"),
            _SWITCH,
            Step(
                ["INSERT INTO {t} VALUES (2, 'after it')", "UPDATE {t} SET V = 'changed' WHERE ID = 1"],
                ["c 1", "c 2", "u 1"],
            ),
        ],
    ),
)
