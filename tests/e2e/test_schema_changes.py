"""DDL while the connector runs: rows, schema-change topic and history follow it, and a restart after each goes on."""

from __future__ import annotations

from typing import Any

from tests.e2e.lab import LOGGED, Lab
from tests.e2e.topics import Read
from tests.examples import every_case


def changes(lab: Lab) -> list[tuple[str, str, list[str]]]:
    """(type, table, column names) of every schema change since the snapshot, from the schema-change topic."""
    return [
        (change["type"], change["id"].split('"')[-2], [c["name"] for c in (change["table"] or {}).get("columns", [])])
        for record in lab.topics.records(lab.name)
        if record.value["source"]["snapshot"] == "false"
        for change in record.value["tableChanges"]
    ]


def rows(records: list[Read]) -> list[tuple[str, Any]]:
    return [(r.value["op"], r.value["after"]) for r in records if r.value]


def test_every_ddl_is_followed_and_survives_a_restart(lab: Lab) -> None:
    """Steps of DDL and rows that have its shape: two in a run of the connector by day, each in one of its own by night."""
    config = lab.config(skipped_operations="none", column_propagate_source_type=f"{lab.schema}[.]T[.]N")
    steps: list[tuple[list[str], str, int]] = [
        (
            [
                "INSERT INTO T VALUES (10, 'old shape')",
                "ALTER TABLE T ADD (CHANNEL VARCHAR2(8) DEFAULT 'web', N NUMBER(3))",
                "INSERT INTO T (ID, N) VALUES (11, 5)",
            ],
            "T",
            5,
        ),
        (["UPDATE T SET V = 'new' WHERE ID = 10"], "T", 6),
        (["ALTER TABLE T DROP COLUMN V", "INSERT INTO T (ID) VALUES (12)"], "T", 7),
        (
            [
                "CREATE TABLE FRESH (K NUMBER(5) PRIMARY KEY, W VARCHAR2(5))",
                "INSERT INTO FRESH VALUES (1, 'a')",
                LOGGED.format("FRESH"),
                "UPDATE FRESH SET W = 'b'",
            ],
            "FRESH",
            2,
        ),
        (["TRUNCATE TABLE FRESH", "INSERT INTO FRESH VALUES (2, 'c')"], "FRESH", 4),
        (["ALTER TABLE T RENAME COLUMN N TO M", "INSERT INTO T (ID, M) VALUES (13, 6)"], "T", 8),
        (["DROP TABLE FRESH", "INSERT INTO T (ID) VALUES (14)"], "T", 9),
        (["CREATE TABLE FRESH (OTHER VARCHAR2(9))", "INSERT INTO FRESH VALUES ('again')"], "FRESH", 5),
    ]
    in_a_run = 1 if every_case() else 2
    runs = [steps[first : first + in_a_run] for first in range(0, len(steps), in_a_run)]
    for number, some in enumerate(runs):
        with lab.run(config, f"run{number}.log") as connector:
            connector.await_log("streaming:")
            for statements, table, expected in some:
                lab.execute(*statements)
                lab.topics.await_records(lab.topic(table), expected)
            connector.stop_in_order()
    lost = [n for n in range(len(runs)) if "a rename takes the rule" in (lab.directory / f"run{n}.log").read_text()]
    assert lost == [5 // in_a_run], "at the RENAME COLUMN, and not again"
    assert rows(lab.topics.records(lab.topic()))[3:] == [
        ("c", {"ID": 10, "V": "old shape"}),
        ("c", {"ID": 11, "V": None, "CHANNEL": "web", "N": 5}),
        ("u", {"ID": 10, "V": "new", "CHANNEL": "web", "N": None}),
        ("c", {"ID": 12, "CHANNEL": "web", "N": None}),
        ("c", {"ID": 13, "CHANNEL": "web", "M": 6}),
        ("c", {"ID": 14, "CHANNEL": "web", "M": None}),
    ]
    assert rows(lab.topics.records(lab.topic("FRESH"))) == [
        ("c", {"K": 1, "W": "a"}),
        ("u", {"K": 1, "W": "b"}),
        ("t", None),
        ("c", {"K": 2, "W": "c"}),
        ("c", {"OTHER": "again"}),
    ]
    assert [c for c in changes(lab) if c[0] != "ALTER" or c[1] == "T"] == [
        ("ALTER", "T", ["ID", "V", "CHANNEL", "N"]),
        ("ALTER", "T", ["ID", "CHANNEL", "N"]),
        ("CREATE", "FRESH", ["K", "W"]),
        ("ALTER", "T", ["ID", "CHANNEL", "M"]),
        ("DROP", "FRESH", []),
        ("CREATE", "FRESH", ["OTHER"]),
    ]
    history = [r.value for r in lab.topics.records(f"{lab.name}-schema-history")]
    assert all(entry["source"] == {"server": lab.name} for entry in history)
    truncates = [entry for entry in history if entry.get("ddl", "").startswith("TRUNCATE")]
    assert [entry["tableChanges"] for entry in truncates] == [[]], "once, and without a structure: for the lake"
    texts = [entry.get("ddl", "") for entry in history]
    for wanted in ("ADD (CHANNEL", "DROP COLUMN V", "CREATE TABLE FRESH (K", "RENAME COLUMN", "DROP TABLE FRESH"):
        assert any(wanted in text for text in texts), wanted


def test_what_went_while_it_was_down_is_not_lost(lab: Lab) -> None:
    """Rows of subpartitions that are gone at the start, whose ids the schema history knows; and LOBs whose pieces come before their INSERT."""
    lab.execute(
        "CREATE TABLE DIVIDED (ID NUMBER(9) PRIMARY KEY, R VARCHAR2(5)) PARTITION BY RANGE (ID) SUBPARTITION BY LIST (R)"
        " SUBPARTITION TEMPLATE (SUBPARTITION X VALUES ('x'), SUBPARTITION REST VALUES (DEFAULT))"
        " (PARTITION P1 VALUES LESS THAN (10), PARTITION P2 VALUES LESS THAN (20))",
        "CREATE TABLE FAR (ID NUMBER(9) PRIMARY KEY, C CLOB) LOB (C) STORE AS BASICFILE (DISABLE STORAGE IN ROW)",
        *(LOGGED.format(name) for name in ("DIVIDED", "FAR")),
        "INSERT INTO DIVIDED VALUES (0, 'x')",
    )
    config = lab.config(lob_enabled="true")
    with lab.run(config) as connector:
        connector.await_log("streaming:")
        connector.stop_in_order()
    lab.execute(
        *(
            f"INSERT INTO DIVIDED VALUES ({number}, '{region}')"
            for number, region in ((1, "x"), (2, "y"), (11, "x"), (12, "y"))
        ),
        "ALTER TABLE DIVIDED SPLIT SUBPARTITION P1_REST VALUES ('y') INTO (SUBPARTITION P1_Y, SUBPARTITION P1_REST)",
        "ALTER TABLE DIVIDED DROP SUBPARTITION P1_X",
        "ALTER TABLE DIVIDED DROP PARTITION P2",
        "INSERT INTO FAR VALUES (1, 'kept')",
        "SAVEPOINT S",
        "INSERT INTO FAR VALUES (2, 'gone')",
        "ROLLBACK TO S",
        "INSERT INTO FAR SELECT 3, RPAD('x', 4000, 'y') FROM DUAL",
    )
    with lab.run(config, "again.log") as connector:
        lab.topics.await_records(lab.topic("FAR"), 2)
        lab.topics.await_records(lab.topic("DIVIDED"), 5)
        connector.stop_in_order()
    found = rows(lab.topics.records(lab.topic("DIVIDED")))
    assert [(op, after["ID"]) for op, after in found if op in "rc"] == [("r", 0), *(("c", key) for key in (1, 2, 11, 12))]
    assert rows(lab.topics.records(lab.topic("FAR"))) == [
        ("c", {"ID": 1, "C": "kept"}),
        ("c", {"ID": 3, "C": "x" + 3999 * "y"}),
    ]


def test_ddl_of_other_schemas_is_not_published(lab: Lab) -> None:
    with lab.run() as connector:
        connector.await_log("streaming:")
        with lab.server.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE TABLE X{lab.schema} (A NUMBER(1))")
            cursor.execute(f"DROP TABLE X{lab.schema}")
        lab.execute("INSERT INTO T VALUES (10, 'x')")
        lab.topics.await_records(lab.topic(), 4)
        connector.stop_in_order()
    assert changes(lab) == []
