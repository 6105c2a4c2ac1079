"""Transactions: what is undone, what comes at once, whose COMMIT comes first."""

from __future__ import annotations

from minercdc.operate.qualify.case import Case, Step

_CREATE = "CREATE TABLE {t} (ID NUMBER(9) PRIMARY KEY, V VARCHAR2(40))"
_MANY = 5000

CASES = (
    Case(
        "rollback to a savepoint",
        [_CREATE],
        ["INSERT INTO {t} VALUES (0, 'before')"],
        [
            Step(
                [
                    "INSERT INTO {t} VALUES (1, 'kept')",
                    "SAVEPOINT A",
                    "INSERT INTO {t} VALUES (2, 'undone')",
                    "UPDATE {t} SET V = 'undone' WHERE ID IN (0, 1)",
                    "DELETE FROM {t} WHERE ID = 0",
                    "ROLLBACK TO SAVEPOINT A",
                    "INSERT INTO {t} VALUES (3, 'kept')",
                    "UPDATE {t} SET V = 'kept, too' WHERE ID = 1",
                ],
                ["c 1", "c 3", "u 1"],
            )
        ],
    ),
    Case(
        "transaction rolled back",
        [_CREATE],
        ["INSERT INTO {t} VALUES (0, 'before')"],
        [
            Step(
                ["INSERT INTO {t} VALUES (1, 'undone')", "UPDATE {t} SET V = 'undone'", "DELETE FROM {t}"], ends="rollback"
            ),
            Step(["INSERT INTO {t} VALUES (2, 'kept')"], ["c 2"]),
        ],
    ),
    Case(
        "statement that fails within a transaction",
        [_CREATE],
        ["INSERT INTO {t} VALUES (5, 'in the way')"],
        [
            Step(
                [
                    "INSERT INTO {t} VALUES (1, 'kept')",
                    "BEGIN INSERT INTO {t} SELECT LEVEL + 1, 'undone' FROM DUAL CONNECT BY LEVEL <= 6;"
                    " EXCEPTION WHEN DUP_VAL_ON_INDEX THEN NULL; END;",
                    "UPDATE {t} SET V = 'kept, too' WHERE ID = 1",
                ],
                ["c 1", "u 1"],
            )
        ],
    ),
    Case(
        "transactions of two sessions at once",
        [_CREATE],
        (),
        [
            Step(["INSERT INTO {t} VALUES (1, 'first')"], ends="open"),
            Step(["INSERT INTO {t} VALUES (2, 'second')"], ["c 2"], who="second"),
            Step(["INSERT INTO {t} VALUES (3, 'first')"], ["c 1", "c 3"]),
        ],
    ),
    Case(
        "several changes of one row in one transaction",
        [_CREATE],
        (),
        [
            Step(
                [
                    "INSERT INTO {t} VALUES (1, 'a')",
                    "UPDATE {t} SET V = 'b' WHERE ID = 1",
                    "UPDATE {t} SET V = 'c' WHERE ID = 1",
                    "INSERT INTO {t} VALUES (2, 'gone')",
                    "DELETE FROM {t} WHERE ID = 2",
                ],
                ["c 1", "u 1", "u 1", "c 2", "d 2"],
            )
        ],
    ),
    Case(
        "key changed",
        [_CREATE],
        ["INSERT INTO {t} VALUES (1, 'moves')"],
        [Step(["UPDATE {t} SET ID = 9, V = 'moved' WHERE ID = 1"], ["d 1", "c 9"])],
    ),
    Case(
        "statements that change several rows",
        [_CREATE],
        ["INSERT INTO {t} SELECT LEVEL, 'row ' || LEVEL FROM DUAL CONNECT BY LEVEL <= 20"],
        [
            Step(["UPDATE {t} SET V = V || '!'"], [f"u {number}" for number in range(1, 21)]),
            Step(["DELETE FROM {t} WHERE ID > 10"], [f"d {number}" for number in range(11, 21)]),
        ],
    ),
    Case(
        "MERGE",
        [_CREATE],
        ["INSERT INTO {t} VALUES (1, 'there')"],
        [
            Step(
                [
                    "MERGE INTO {t} T USING (SELECT LEVEL ID FROM DUAL CONNECT BY LEVEL <= 2) S ON (T.ID = S.ID)"
                    " WHEN MATCHED THEN UPDATE SET T.V = 'updated' WHEN NOT MATCHED THEN INSERT (ID, V) VALUES (S.ID, 'inserted')"
                ],
                ["u 1", "c 2"],
            )
        ],
    ),
    Case(
        "transaction of 5,000 rows",
        [_CREATE],
        (),
        [
            Step(
                [f"INSERT INTO {{t}} SELECT LEVEL, 'row ' || LEVEL FROM DUAL CONNECT BY LEVEL <= {_MANY}"],
                [f"c {number}" for number in range(1, _MANY + 1)],
            )
        ],
    ),
    Case(
        "table without a key",
        ["CREATE TABLE {t} (ID NUMBER(9), V VARCHAR2(40))"],
        ["INSERT INTO {t} VALUES (1, 'before')"],
        [
            Step(["INSERT INTO {t} VALUES (2, 'new')"], ["c 2"]),
            Step(["UPDATE {t} SET V = 'changed' WHERE ID = 1", "DELETE FROM {t} WHERE ID = 2"], ["u 1", "d 2"]),
        ],
    ),
    Case(
        "key of several columns",
        ["CREATE TABLE {t} (ID NUMBER(9), D DATE, T VARCHAR2(20), V VARCHAR2(40), PRIMARY KEY (T, ID, D))"],
        (),
        [
            Step(["INSERT INTO {t} VALUES (1, DATE '2026-02-28', 'it''s', 'new')"], ["c 1"]),
            Step(["UPDATE {t} SET V = 'changed' WHERE ID = 1"], ["u 1"]),
            Step(["DELETE FROM {t} WHERE ID = 1"], ["d 1"]),
        ],
    ),
    Case(
        "index-organized table",
        ["CREATE TABLE {t} (ID NUMBER(9) PRIMARY KEY, V VARCHAR2(40)) ORGANIZATION INDEX"],
        ["INSERT INTO {t} VALUES (1, 'before')"],
        [
            Step(["INSERT INTO {t} VALUES (2, 'new')"], ["c 2"]),
            Step(["UPDATE {t} SET V = 'changed' WHERE ID = 1", "DELETE FROM {t} WHERE ID = 2"], ["u 1", "d 2"]),
        ],
    ),
)
