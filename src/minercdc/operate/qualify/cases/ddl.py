"""DDL between changes: each row is decoded with the shape that its table had."""

from __future__ import annotations

from collections.abc import Sequence

from minercdc.operate.qualify.case import LOGGED, Case, Step

_CREATE = "CREATE TABLE {t} (ID NUMBER(9) PRIMARY KEY, V VARCHAR2(40))"


def _altered(name: str, ddl: Sequence[str], after: Sequence[str], *, create: str = _CREATE) -> Case:
    """A row before the DDL, a row after it, and a change of the one of before.

    :param ddl: what is between.
    :param after: inserts row 3, and changes row 1.
    """
    return Case(
        name,
        [create],
        ["INSERT INTO {t} (ID, V) VALUES (1, 'before the start')"],
        [
            Step(["INSERT INTO {t} (ID, V) VALUES (2, 'before the DDL')"], ["c 2"]),
            Step(ddl),
            Step(after, ["c 3", "u 1"]),
            Step(["DELETE FROM {t} WHERE ID = 2"], ["d 2"]),
        ],
    )


CASES = (
    _altered(
        "ADD column",
        ["ALTER TABLE {t} ADD (N NUMBER(5))"],
        ["INSERT INTO {t} VALUES (3, 'after it', 7)", "UPDATE {t} SET N = 8 WHERE ID = 1"],
    ),
    _altered(
        "ADD column with a default, NOT NULL",
        ["ALTER TABLE {t} ADD (N NUMBER(5) DEFAULT 4 NOT NULL)"],
        ["INSERT INTO {t} (ID, V) VALUES (3, 'after it')", "UPDATE {t} SET V = 'changed' WHERE ID = 1"],
    ),
    _altered(
        "RENAME COLUMN",
        ["ALTER TABLE {t} RENAME COLUMN V TO W"],
        ["INSERT INTO {t} (ID, W) VALUES (3, 'after it')", "UPDATE {t} SET W = 'changed' WHERE ID = 1"],
    ),
    _altered(
        "MODIFY column to a longer one",
        ["ALTER TABLE {t} MODIFY (V VARCHAR2(200))"],
        ["INSERT INTO {t} VALUES (3, RPAD('after it', 150, '.'))", "UPDATE {t} SET V = 'changed' WHERE ID = 1"],
    ),
    _altered(
        "DROP COLUMN",
        ["ALTER TABLE {t} DROP COLUMN N"],
        ["INSERT INTO {t} VALUES (3, 'after it', 'm')", "UPDATE {t} SET M = 'changed' WHERE ID = 1"],
        create="CREATE TABLE {t} (ID NUMBER(9) PRIMARY KEY, N NUMBER(5) DEFAULT 4, V VARCHAR2(40), M VARCHAR2(10))",
    ),
    _altered(
        "SET UNUSED column",
        ["ALTER TABLE {t} SET UNUSED (N)"],
        ["INSERT INTO {t} VALUES (3, 'after it')", "UPDATE {t} SET V = 'changed' WHERE ID = 1"],
        create="CREATE TABLE {t} (ID NUMBER(9) PRIMARY KEY, N NUMBER(5) DEFAULT 4, V VARCHAR2(40))",
    ),
    Case(
        "RENAME of the table",
        [_CREATE],
        ["INSERT INTO {t} VALUES (1, 'before the start')"],
        [
            Step(["INSERT INTO {t} VALUES (2, 'before the DDL')"], ["c 2"]),
            Step(["ALTER TABLE {t} RENAME TO {u}"]),
            Step(["INSERT INTO {u} VALUES (3, 'after it')", "UPDATE {u} SET V = 'changed' WHERE ID = 1"], ["c 3", "u 1"]),
        ],
    ),
    Case(
        "TRUNCATE TABLE",
        [_CREATE],
        ["INSERT INTO {t} VALUES (1, 'before the start')"],
        [
            Step(["INSERT INTO {t} VALUES (2, 'before the DDL')"], ["c 2"]),
            Step(["TRUNCATE TABLE {t}"], ["t"]),
            Step(["INSERT INTO {t} VALUES (3, 'after it')"], ["c 3"]),
        ],
    ),
    Case(
        "DROP TABLE, and CREATE with other columns",
        [_CREATE],
        ["INSERT INTO {t} VALUES (1, 'before the start')"],
        [
            Step(["INSERT INTO {t} VALUES (2, 'before the DDL')"], ["c 2"]),
            Step(["DROP TABLE {t} PURGE"], clears=True),
            Step(["CREATE TABLE {t} (ID NUMBER(9) PRIMARY KEY, D DATE, N NUMBER)", LOGGED]),
            Step(["INSERT INTO {t} VALUES (3, DATE '2026-02-28', 1.5)"], ["c 3"]),
            Step(["UPDATE {t} SET N = NULL WHERE ID = 3"], ["u 3"]),
        ],
    ),
    Case(
        "CREATE TABLE while the capture runs",
        (),
        (),
        [
            Step([_CREATE, LOGGED]),
            Step(["INSERT INTO {t} VALUES (1, 'new')", "INSERT INTO {t} VALUES (2, 'new')"], ["c 1", "c 2"]),
            Step(["UPDATE {t} SET V = 'changed' WHERE ID = 1", "DELETE FROM {t} WHERE ID = 2"], ["u 1", "d 2"]),
        ],
        logged=(),
    ),
    _altered(
        "primary key dropped and made of other columns",
        [
            "ALTER TABLE {t} DROP PRIMARY KEY",
            "ALTER TABLE {t} MODIFY (V NOT NULL)",
            "ALTER TABLE {t} ADD PRIMARY KEY (ID, V)",
        ],
        ["INSERT INTO {t} VALUES (3, 'after it', 1)", "UPDATE {t} SET N = 2 WHERE ID = 1"],
        create="CREATE TABLE {t} (ID NUMBER(9) PRIMARY KEY, V VARCHAR2(40), N NUMBER(5))",
    ),
    _altered(
        "INVISIBLE and virtual columns",
        ["ALTER TABLE {t} ADD (N NUMBER(5) INVISIBLE, T GENERATED ALWAYS AS (ID * 2) VIRTUAL)"],
        ["INSERT INTO {t} (ID, V, N) VALUES (3, 'after it', 7)", "UPDATE {t} SET N = 8 WHERE ID = 1"],
    ),
    Case(
        "names in quotation marks",
        ['CREATE TABLE {t} (ID NUMBER(9) PRIMARY KEY, "Mixed Case" VARCHAR2(40), "select" NUMBER, "it\'s" DATE)'],
        (),
        [
            Step(["INSERT INTO {t} VALUES (1, 'new', 1, DATE '2026-02-28')"], ["c 1"]),
            Step(['UPDATE {t} SET "Mixed Case" = \'changed\', "it\'s" = NULL WHERE ID = 1'], ["u 1"]),
        ],
    ),
    Case(
        "identity column",
        ["CREATE TABLE {t} (ID NUMBER(9) GENERATED ALWAYS AS IDENTITY PRIMARY KEY, V VARCHAR2(40))"],
        (),
        [
            Step(["INSERT INTO {t} (V) VALUES ('a')", "INSERT INTO {t} (V) VALUES ('b')"], ["c 1", "c 2"]),
            Step(["DELETE FROM {t} WHERE ID = 1"], ["d 1"]),
        ],
    ),
)
