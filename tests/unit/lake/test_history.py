"""What the lake makes of the schema history."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.lake.properties import PROPERTIES, SEVERAL

from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.errors import ConfigError, LakeError, SchemaHistoryError
from minercdc.lake.source.segment_history import FileHistory, history_of
from minercdc.lake.stream.topic_owners import TopicTable, owner_of
from minercdc.lake.table.columns import TableColumn
from minercdc.lake.table.history import LakeHistory
from minercdc.schema.table import TableId
from minercdc.sinks.kafka.client import KafkaClient
from minercdc.stream.offset import Offset, SuspendedTable


def document(scn: int, kind: str, columns: Sequence[str], ddl: str = "", **more: Any) -> dict[str, Any]:
    """A record of the history about table S.T, whose key is its first column."""
    table = {"columns": [{"name": name, "typeName": "NUMBER", "length": 9, "scale": 0} for name in columns]}
    database = more.get("database", "DB")
    change: dict[str, Any] = {"type": kind, "id": f'"{database}"."S"."{more.get("table", "T")}"'}
    change["table"] = table | {"primaryKeyColumnNames": columns[:1]}
    if "previous" in more:
        change["previousId"] = f'"{database}"."S"."{more["previous"]}"'
    return {
        "source": {"server": "p"},
        "position": {"scn": str(scn), "snapshot": more.get("snapshot", False), "rows": more.get("rows", False)},
        "ts_ms": 0,
        "databaseName": database,
        "schemaName": "S",
        "ddl": ddl,
        "tableChanges": [change] if columns else [],
    }


class Topics(KafkaClient):
    """A broker that has the topic of the history.

    :ivar number: Kafka's id of it.
    :ivar values: its records.
    """

    def __init__(self, config: ConnectorConfig) -> None:
        super().__init__(config.kafka, config.topics, {})
        self.number, self.values = "1", [b""]

    def topic_ids(self, names: re.Pattern[str]) -> dict[str, str]:
        return {topic: self.number for topic in ("p-schema-history", "pXschema-history") if names.fullmatch(topic)}

    def end_offset(self, topic: str) -> int:
        return len(self.values)

    def read_range(self, topic: str, partition: int, begin: int, end: int) -> Iterator[Any]:
        for value in self.values[begin:end]:
            yield SimpleNamespace(value=lambda value=value: value)


@pytest.mark.parametrize("more", [0, 1, 2])
def test_a_history_that_is_made_again_is_read_from_its_beginning(config: ConnectorConfig, more: int) -> None:
    """With fewer records than were read, as many, or more."""
    topics = Topics(config)
    history = LakeHistory(config, topics)
    topics.values = [
        json.dumps(document(scn, "CREATE", [name], snapshot=True)).encode() for scn, name in ((5, "A"), (9, "B"))
    ]
    history.refresh()
    assert list(ids(history, 9)) == ["B"]
    again = [json.dumps(document(20 + n, "CREATE", ["C"], snapshot=True)).encode() for n in range(1 + more)]
    topics.number, topics.values = "2", again
    history.refresh()
    assert list(ids(history, 99)) == ["C"]
    (table,) = history.tables()
    assert [version.since for version in table.versions] == [20]
    history.refresh()
    assert len(table.versions) == 1


@pytest.fixture
def history(config: ConnectorConfig) -> LakeHistory:
    return LakeHistory(config, KafkaClient(config.kafka, config.topics, {}))


def ids(history: LakeHistory, scn: int) -> dict[str, str]:
    """Name -> id of the columns of S.T in the version of an SCN."""
    table = history.find("S.T")
    assert table is not None
    return {field.name: field.id for field in table.version_at(scn).fields}


A, B = (TableId("DB", "S", name) for name in ("EMP$1", "EMP#1"))


@pytest.mark.parametrize(
    ("tables", "owner"),
    [
        ([TopicTable(A, is_there=False, code="MC-4502")], A),
        ([TopicTable(A, is_there=True), TopicTable(B, is_there=True)], A),
        ([TopicTable(A, is_there=True), TopicTable(B, is_there=True, code="MC-4502")], A),
        ([TopicTable(A, is_there=True, code="MC-4502"), TopicTable(B, is_there=True)], B),
        ([TopicTable(A, is_there=False), TopicTable(B, is_there=True, code="MC-4502")], A),
        ([TopicTable(A, is_there=False), TopicTable(B, is_there=True)], B),
        ([TopicTable(A, is_there=True, code="MC-4302"), TopicTable(B, is_there=True, code="MC-4502")], A),
        ([TopicTable(A, is_there=True, code="MC-4302"), TopicTable(B, is_there=True)], None),
        ([TopicTable(A, is_there=False), TopicTable(B, is_there=False)], None),
    ],
)
def test_a_topic_of_two_tables_is_that_of_the_one_whose_rows_are_in_it(
    tables: Sequence[TopicTable], owner: TableId | None
) -> None:
    assert owner_of(tables) == owner


def topic_of(prefix: str, delimiter: str, table: TableId) -> str:
    """A `topic.naming.strategy`."""
    return f"{prefix}{delimiter}{table.table}"


class StoredHistory(LakeHistory):
    """:ivar stored: the connector's offset."""

    stored = Offset("logminer", suspended=(SuspendedTable("S.EMP#1", 10, "MC-4502", "shared"),))

    def _offset(self) -> Offset:
        return self.stored


@pytest.mark.parametrize("left_out_by", ["DROP", "table.exclude.list"])
def test_a_table_without_a_topic_of_its_own_is_left_out_alone_until_the_other_one_is(left_out_by: str) -> None:
    excluded = {"table.exclude.list": "S[.]EMP[$]1"} if left_out_by != "DROP" else {}
    for more in ({}, excluded):
        config = parse_properties(PROPERTIES | more)
        history = StoredHistory(config, KafkaClient(config.kafka, config.topics, {}))
        for table in ("EMP$1", "EMP#1", "OK"):
            history.apply(document(10, "CREATE", ["ID"], snapshot=True, table=table))
        history.settle()
        assert [table.name for table in history.tables()] == ["S.EMP$1", "S.OK"]
        assert history.shared("S.EMP#1") == "the topic p.S.EMP_1 is that of S.EMP$1 (of S.EMP$1, S.EMP#1)"
        assert history.find("S.EMP#1") is None
        with pytest.raises(LakeError, match=r"S.EMP#1 has no topic of its own: the topic p.S.EMP_1 is that of S.EMP\$1"):
            history.known("S.EMP#1")
    if left_out_by == "DROP":
        history.apply(document(20, "DROP", ["ID"], "DROP TABLE emp$1", table="EMP$1"))
    history.stored = replace(history.stored, suspended=())
    history.settle()
    assert [table.name for table in history.tables()] == ["S.EMP#1", "S.OK"]
    found = history.of_topic("p.S.EMP_1")
    assert found is not None
    assert found.name == "S.EMP#1"


def test_tables_of_one_name_in_two_databases_have_histories_of_their_own() -> None:
    config = parse_properties(SEVERAL | {"table.include.list": "S[.]T, SALES[.]S[.]OLD, SALES[.]S[.]NEW"})
    history = LakeHistory(config, KafkaClient(config.kafka, config.topics, {}))
    for database, columns in (("SALES", ["ID"]), ("STOCK", ["CODE", "QTY"])):
        history.apply(document(10, "CREATE", columns, snapshot=True, rows=True, database=database))
    history.apply(document(10, "CREATE", ["ID"], snapshot=True, rows=True, database="SALES", table="OLD"))
    history.end_vanished()
    history.apply(document(20, "ALTER", ["ID", "V"], "ALTER TABLE s.t ADD (v NUMBER(9))", database="SALES"))
    history.apply(document(30, "ALTER", [], "TRUNCATE TABLE t", database="STOCK"))
    rename = "ALTER TABLE old RENAME TO new"
    history.apply(document(40, "ALTER", ["ID"], rename, database="SALES", table="NEW", previous="OLD"))
    history.settle()
    sales, stock = (history.known(f"{database}.S.T") for database in ("SALES", "STOCK"))
    assert (sales.topic, stock.topic) == ("p.SALES.S.T", "p.STOCK.S.T")
    assert [one.name for one in history.given("S.T")] == ["SALES.S.T", "STOCK.S.T"]
    assert [list(version.schema.positions()) for version in sales.versions] == [["ID"], ["ID", "V"]]
    assert [list(version.schema.positions()) for version in stock.versions] == [["CODE", "QTY"]]
    assert (sales.truncated, stock.truncated, sales.dropped, stock.dropped) == ([], [30], [], [])
    with pytest.raises(LakeError, match="S.T is a table of several pluggable databases") as caught:
        history.known("S.T")
    assert caught.value.hint == "Give one of: SALES.S.T, STOCK.S.T"
    assert history.known("S.NEW").earlier.keys() == {"SALES.S.OLD", "p.SALES.S.OLD"}
    with pytest.raises(LakeError, match="has no table S.NONE"):
        history.known("S.NONE")


def test_a_topic_that_tables_of_two_databases_would_have_is_that_of_one() -> None:
    config = parse_properties(SEVERAL | {"topic.naming.strategy": f"{__name__}:topic_of"})
    history = StoredHistory(config, KafkaClient(config.kafka, config.topics, {}))
    history.stored = Offset("logminer", suspended=(SuspendedTable("SALES.S.T", 10, "MC-4502", "shared"),))
    for database in ("SALES", "STOCK"):
        history.apply(document(10, "CREATE", ["ID"], snapshot=True, database=database))
    history.settle()
    assert [table.name for table in history.tables()] == ["STOCK.S.T"]
    assert history.shared("SALES.S.T") == "the topic p.T is that of STOCK.S.T (of SALES.S.T, STOCK.S.T)"


def test_a_row_has_the_version_of_its_scn(history: LakeHistory) -> None:
    history.apply(document(10, "CREATE", ["ID"], snapshot=True))
    history.apply(document(20, "ALTER", ["ID", "V"], "ALTER TABLE s.t ADD (v NUMBER(9))"))
    table = history.of_topic("p.S.T")
    assert table is not None
    assert [len(table.version_at(scn).fields) for scn in (5, 10, 19, 20, 99)] == [1, 1, 1, 2, 2]


def test_a_column_keeps_its_id_when_it_is_renamed_and_another_gets_its_name(history: LakeHistory) -> None:
    history.apply(document(10, "CREATE", ["ID", "A", "B"], snapshot=True))
    history.apply(document(20, "ALTER", ["ID", "C", "B"], "ALTER TABLE t RENAME COLUMN a TO c"))
    history.apply(document(30, "ALTER", ["ID", "C", "A"], "ALTER TABLE t RENAME COLUMN b TO a"))
    assert ids(history, 30) == {"ID": "ID@10", "C": "A@10", "A": "B@10"}


def test_a_column_that_is_dropped_and_added_is_new(history: LakeHistory) -> None:
    history.apply(document(10, "CREATE", ["ID", "A"], snapshot=True))
    history.apply(document(20, "ALTER", ["ID"], "ALTER TABLE t DROP COLUMN a"))
    history.apply(document(30, "ALTER", ["ID", "A"], "ALTER TABLE t ADD (a NUMBER(9))"))
    assert ids(history, 30) == {"ID": "ID@10", "A": "A@30"}
    table = history.find("S.T")
    assert table is not None
    assert [field.since for field in table.version_at(30).fields] == [0, 30]


def test_truncate_drop_and_create_are_events_of_their_scns(history: LakeHistory) -> None:
    history.apply(document(10, "CREATE", ["ID"], snapshot=True))
    history.apply(document(20, "ALTER", [], "TRUNCATE TABLE t"))
    history.apply(document(30, "DROP", ["ID"], "DROP TABLE t"))
    history.apply(document(40, "CREATE", ["K"], "CREATE TABLE t (k NUMBER(9) PRIMARY KEY)"))
    table = history.find("S.T")
    assert table is not None
    assert (table.truncated, table.dropped, table.created) == ([20], [30], [40])
    assert [table.exists_at(scn) for scn in (5, 10, 30, 39, 40)] == [False, True, False, False, True]
    assert [table.has_event(*span) for span in ((10, 19), (10, 20), (40, 50))] == [False, True, False]


def test_rows_that_went_with_a_partition_are_known_by_every_form_of_the_statement(history: LakeHistory) -> None:
    history.apply(document(10, "CREATE", ["ID"], snapshot=True))
    forms = (
        "ALTER TABLE t TRUNCATE PARTITION a DROP ALL STORAGE UPDATE INDEXES",
        "ALTER TABLE t TRUNCATE SUBPARTITIONS a, b DROP STORAGE",
        "ALTER TABLE t DROP PARTITION FOR (5) UPDATE GLOBAL INDEXES",
        "ALTER TABLE t MOVE PARTITION a INCLUDING ROWS WHERE id > 3",
    )
    for scn, ddl in enumerate(forms, 20):
        history.apply(document(scn, "ALTER", ["ID"], ddl))
    known = document(30, "ALTER", ["ID"])  # ids of partitions, which say nothing of rows or columns
    known["position"]["ids_only"] = True
    history.apply(known)
    table = history.find("S.T")
    assert table is not None
    assert table.lost == list(enumerate(forms, 20))
    assert table.moved == [(23, forms[3])]
    assert 30 not in table.times


def test_ddl_on_another_table_takes_rows_from_the_tables_that_its_records_are_of(history: LakeHistory) -> None:
    """Both of an exchange, children of a TRUNCATE .. CASCADE; the table in the text need not be in the schema of the record."""
    for name in ("T", "X", "CHILD", "MAYBE", "P"):
        history.apply(document(10, "CREATE", ["ID"], table=name, snapshot=True))
    exchange = "ALTER TABLE t EXCHANGE PARTITION p WITH TABLE x"
    for name in ("T", "X"):
        history.apply(document(20, "ALTER", ["ID"], exchange, table=name))
    truncate = "TRUNCATE TABLE p CASCADE"  # of another schema's P, by a user of that
    history.apply(document(30, "ALTER", ["ID"], truncate, table="MAYBE"))
    emptied = document(30, "ALTER", [], truncate)
    emptied["position"]["truncated"] = "CHILD"
    history.apply(emptied)
    clustered = document(40, "ALTER", [], "TRUNCATE CLUSTER x")
    clustered["position"]["truncated"] = "T"
    history.apply(clustered)
    found = {table.table.table: (table.lost, table.truncated) for table in history.tables()}
    assert found == {
        "T": ([(20, exchange)], [40]),
        "X": ([(20, exchange)], []),
        "CHILD": ([], [30]),
        "MAYBE": ([(30, truncate)], []),
        "P": ([], []),
    }


def test_a_renamed_table_goes_on_with_the_columns_of_the_old_name(history: LakeHistory) -> None:
    history.apply(document(10, "CREATE", ["ID", "A"], table="OLD", snapshot=True))
    history.apply(document(20, "ALTER", ["ID", "A"], "ALTER TABLE old RENAME TO t", previous="OLD"))
    assert ids(history, 20) == {"ID": "ID@10", "A": "A@10"}
    old, new = history.find("S.OLD"), history.find("S.T")
    assert old is not None
    assert new is not None
    assert old.renamed_to == [(20, TableId("DB", "S", "T"))]
    assert new.renamed_from == [(20, TableId("DB", "S", "OLD"))]
    assert (old.exists_at(20), new.exists_at(19), new.exists_at(20)) == (False, False, True)


def test_what_was_done_to_rows_goes_with_them_to_their_new_names_until_they_are_read_again(history: LakeHistory) -> None:
    drop, move = "ALTER TABLE a DROP PARTITION p", "ALTER TABLE a MOVE"

    def renamed(scn: int, old: str, new: str) -> None:
        history.apply(document(scn, "ALTER", ["ID"], f"RENAME {old} TO {new}", table=new, previous=old))

    history.apply(document(10, "CREATE", ["ID"], table="A", snapshot=True, rows=True))
    for scn, ddl in ((20, drop), (21, move)):
        history.apply(document(scn, "ALTER", ["ID"], ddl, table="A"))
    renamed(30, "A", "B")
    renamed(40, "B", "C")
    history.apply(document(50, "CREATE", ["ID"], table="C", snapshot=True, rows=True))
    renamed(60, "C", "A")
    renamed(70, "A", "D")
    found = {table.table.table: table.handed for table in history.tables()}
    of = [(20, drop, False), (21, move, True)]
    assert found == {"A": [], "B": [(30, *one) for one in of], "C": [(40, *one) for one in of], "D": []}


def test_structures_that_a_second_snapshot_reads_are_the_same_columns(history: LakeHistory) -> None:
    history.apply(document(10, "CREATE", ["ID", "A"], snapshot=True))
    history.apply(document(50, "CREATE", ["ID", "A", "B"], snapshot=True))
    assert ids(history, 50) == {"ID": "ID@10", "A": "A@10", "B": "B@50"}
    table = history.find("S.T")
    assert table is not None
    assert (table.created, table.snapshots) == ([], [50])


def test_an_initial_snapshot_is_known_without_its_rows_and_ends_the_tables_that_it_does_not_find(
    history: LakeHistory,
) -> None:
    for name in ("T", "GONE", "NAMED"):
        history.apply(document(10, "CREATE", ["ID"], table=name, snapshot=True, rows=True))
    history.apply(document(30, "CREATE", ["ID"], table="GONE", snapshot=True))  # structures only: redo goes on
    history.apply(document(50, "CREATE", ["ID"], table="NAMED", snapshot=True))  # a table of which no rows are wanted
    history.apply(document(50, "CREATE", ["ID"], snapshot=True, rows=True))
    history.apply(document(60, "CREATE", ["ID"], "CREATE TABLE later (id NUMBER(9))", table="LATER"))
    history.end_vanished()
    kept, gone, named, later = (history.find(f"S.{name}") for name in ("T", "GONE", "NAMED", "LATER"))
    assert kept is not None
    assert gone is not None
    assert named is not None
    assert later is not None
    assert (kept.reads, gone.reads, named.reads) == ([10, 50], [10], [10])
    assert kept.has_event(10, 50)
    assert [table.exists_at(50) for table in (kept, gone, named)] == [True, False, True]
    assert (gone.exists_at(49), later.exists_at(60)) == (True, True)


def read(history: LakeHistory, monkeypatch: pytest.MonkeyPatch, *values: bytes) -> None:
    class Message:
        def __init__(self, value: bytes) -> None:
            self.value = lambda: value

    monkeypatch.setattr(KafkaClient, "topic_ids", lambda self, names: {})
    monkeypatch.setattr(KafkaClient, "end_offset", lambda self, topic: len(values))
    monkeypatch.setattr(
        KafkaClient, "read_range", lambda self, topic, partition, begin, end: map(Message, values[begin:end])
    )
    history.refresh()


def test_what_cannot_be_read_is_passed_over_once_the_structures_were_read_again(
    history: LakeHistory, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = document(20, "CREATE", ["ID", "V"], snapshot=True)
    again["position"]["structures_read_anew"] = True
    first = json.dumps(document(10, "CREATE", ["ID"], snapshot=True)).encode()
    read(history, monkeypatch, first, b"garbage", json.dumps(again, separators=(",", ":")).encode())
    assert list(ids(history, 20)) == ["ID", "V"]


@pytest.mark.parametrize("form", ["garbage", "changes of another form"])
def test_what_cannot_be_read_stops_the_lake(history: LakeHistory, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    first = document(10, "CREATE", ["ID"], snapshot=True)
    second = b"garbage" if form == "garbage" else json.dumps(first | {"tableChanges": ["x"]}).encode()
    with pytest.raises(SchemaHistoryError, match="cannot be read"):
        read(history, monkeypatch, json.dumps(first).encode(), second)


@pytest.mark.parametrize("captured", [True, False])
def test_comments_are_the_newest_where_they_are_captured(
    config: ConnectorConfig, monkeypatch: pytest.MonkeyPatch, captured: bool
) -> None:
    messages = config.messages.model_copy(update={"include_schema_comments": captured})
    history = LakeHistory(replace(config, messages=messages), KafkaClient(config.kafka, config.topics, {}))
    records = [document(scn, "ALTER", ["ID", "V"], "COMMENT ON COLUMN s.t.v IS '..'") for scn in (10, 20)]
    for record, text in zip(records, ("first", "second"), strict=True):
        record["tableChanges"][0]["table"]["columns"][1]["comment"] = text
        record["tableChanges"][0]["table"]["comment"] = f"{text} of all"
    read(history, monkeypatch, *(json.dumps(record).encode() for record in records))
    (table,) = history.tables()
    assert len(table.versions) == 1  # a comment makes no version
    columns = [TableColumn(field.name, "INT", field.id) for field in table.versions[0].fields]
    assert [one.comment for one in table.commented(columns)] == (["", "second"] if captured else [None, None])
    assert table.comment == ("second of all" if captured else None)


def test_a_history_in_a_file_counts_as_far_as_the_offset_says(config: ConnectorConfig, tmp_path: Path) -> None:
    file = tmp_path / "history"
    lines = [
        json.dumps(document(scn, "CREATE", ["ID"], table=name)).encode() + b"\n" for scn, name in ((10, "T"), (20, "U"))
    ]
    file.write_bytes(b"".join(lines))
    history = config.history.model_copy(
        update={"schema_history_internal": "file", "schema_history_internal_file_filename": file}
    )
    of_file = replace(config, history=history)
    found = FileHistory(of_file, lambda: Offset("logminer", history=len(lines[0])))
    found.refresh()
    assert [table.name for table in found.tables()] == ["S.T"], (
        "what a killed connector wrote after its last commit is not valid"
    )
    longer = FileHistory(of_file, lambda: Offset("logminer", history=10_000))
    with pytest.raises(SchemaHistoryError, match="the offset expects 10000"):
        longer.refresh()
    with pytest.raises(ConfigError, match=r"schema\.history\.internal: .* a file is not supported"):
        history_of(of_file)
