"""Debezium's offsets: the serialized map, the entries, and what they say of the redo."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.config.test_load import GOOD

from minercdc.capture.logminer.imported import DeliveredElsewhere, Done, LastCommit, marks_of
from minercdc.capture.logminer.position import RedoAddress
from minercdc.config.load import parse_properties
from minercdc.errors import ConfigError, SchemaHistoryError, SourceError
from minercdc.operate.offsets.debezium.debezium_history import end_of, with_stored
from minercdc.operate.offsets.debezium.debezium_offset import offset_of
from minercdc.operate.offsets.debezium.importing import keep_file, kept_file, read_entries
from minercdc.operate.offsets.debezium.offset_file import NotAnOffsetFileError, read_offsets
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.sinks.kafka.client import KafkaClient
from minercdc.stream.offset import PartialTransaction, TableRead

# As Debezium 3.6.1 wrote it.
WRITTEN = bytes.fromhex(
    "aced0005737200116a6176612e7574696c2e486173684d61700507dac1c31660d103000246000a6c6f6164466163746f724900097468726573686f6c64"
    "7870"
    "3f4000000000000c770800000010000000017572"
    "00025b42acf317f8060854e002000078700000001a5b22706172697479222c7b22736572766572223a227031227d5d"
    "7571007e00020000006b"
)
VALUE = b'{"commit_scn":null,"snapshot_scn":"2000159","snapshot":"INITIAL","snapshot_completed":true,"scn":"2000159"}'


def serialized(entries: dict[bytes, bytes | None]) -> bytes:
    """The map as Java writes it: the class of the arrays is described once."""
    head, size = WRITTEN[: WRITTEN.index(b"\x77\x08")], struct.pack(">ii", max(16, len(entries)), len(entries))
    parts, described = [head, b"\x77\x08", size], False
    for item in [item for pair in entries.items() for item in pair]:
        if item is None:
            parts.append(b"\x70")
            continue
        named = b"\x71\x00\x7e\x00\x02" if described else b"\x72\x00\x02[B\xac\xf3\x17\xf8\x06\x08T\xe0\x02\x00\x00\x78\x70"
        parts += [b"\x75", named, struct.pack(">i", len(item)), item]
        described = True
    return b"".join([*parts, b"\x78"])


def test_a_file_of_debezium_is_read() -> None:
    assert read_offsets(WRITTEN + VALUE + b"\x78") == {b'["parity",{"server":"p1"}]': VALUE}


@given(st.dictionaries(st.binary(max_size=9), st.none() | st.binary(max_size=300), max_size=5))
def test_maps_are_read_as_written(entries: dict[bytes, bytes | None]) -> None:
    assert read_offsets(serialized(entries)) == entries


@given(st.data())
def test_damaged_files_are_refused(data: st.DataObject) -> None:
    whole = serialized({b"a": b"b", b"c": None})
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(NotAnOffsetFileError):
        read_offsets(whole[:cut])
    with pytest.raises(NotAnOffsetFileError):
        read_offsets(whole + b"\x00")


def test_a_reference_stands_for_an_array_of_before() -> None:
    whole = serialized({b"a": b"b"})
    assert read_offsets(whole[: whole.rindex(b"\x75")] + b"\x71\x00\x7e\x00\x03\x78") == {b"a": b"a"}
    with pytest.raises(NotAnOffsetFileError, match="a reference to what came before"):
        read_offsets(whole[: whole.rindex(b"\x75")] + b"\x71\x00\x7e\x00\x09\x78")
    with pytest.raises(NotAnOffsetFileError, match="an array of bytes"):
        read_offsets(whole[: whole.rindex(b"\x75")] + b"\x71\x00\x7e\x00\x02\x78")


def test_other_objects_are_refused() -> None:
    for other in (b"", b"{}", serialized({}).replace(b"java.util.HashMap", b"java.util.TreeMap")):
        with pytest.raises(NotAnOffsetFileError):
            read_offsets(other)


def entry(name: str = "n", server: str = "s", **offset: object) -> dict[bytes, bytes | None]:
    return {json.dumps([name, {"server": server}]).encode(): json.dumps(offset).encode()}


@pytest.mark.parametrize(
    ("commit_scn", "commits"),
    [
        ("20:1:0A00-0b00", {1: LastCommit(20, frozenset({"0a00", "0b00"}))}),
        ("20:1:0a,30:2:0b", {1: LastCommit(20, frozenset({"0a"})), 2: LastCommit(30, frozenset({"0b"}))}),
        ("20:0x000003.00000f.0010:0:1", {1: LastCommit(20, rs_id="0x000003.00000f.0010")}),
        ("20", {1: LastCommit(20)}),
        (20, {1: LastCommit(20)}),
    ],
)
def test_every_form_of_commit_scn(commit_scn: object, commits: dict[int, LastCommit]) -> None:
    found = offset_of(entry(scn="19", commit_scn=commit_scn), "f", server="s", name="n")
    assert (found.commits, found.scn) == (commits, 19)


def test_what_was_delivered() -> None:
    both = entry(scn="25", commit_scn="20:1:0a,30:2:0b", txId="0C", txSeq=3, snapshot_scn="5")
    found = offset_of(both, "f", server="s", name="n")
    assert found.delivered(7, committed=False) == DeliveredElsewhere(25, found.commits, 7, "0c", 3)
    assert found.delivered(7, committed=True) == DeliveredElsewhere(25, found.commits, 7, "0c", 2, counts_all=True)
    assert not found.delivered(7, committed=True, filtered=True).counts_all
    fresh = entry(scn="9", commit_scn=None, snapshot="INITIAL", snapshot_completed=True, snapshot_scn="9")
    assert offset_of(fresh, "f", server="s", name="n").delivered(0, committed=False).since == 10


def test_the_connector_is_found_by_its_topic_prefix_and_of_several_by_its_name() -> None:
    assert offset_of({**entry("a", scn="1"), b"x": b"y"}, "f", server="s", name="other").name == "a"
    several = {**entry("a", scn="1"), **entry("b", scn="2"), **entry("c", "t", scn="3")}
    assert offset_of(several, "f", server="s", name="b").scn == 2
    for server, name, reason in (
        ("s", "z", "connectors a, b; set `name`"),
        ("u", "a", "no offset of topic.prefix u, only of s, t"),
    ):
        with pytest.raises(ConfigError, match=reason):
            offset_of(several, "f", server=server, name=name)
    (key,) = entry("a", scn="1")
    with pytest.raises(ConfigError, match="no offset"):
        offset_of({key: None}, "f", server="s", name="a")


@pytest.mark.parametrize(
    ("offset", "reason"),
    [
        ({"scn": "1", "lcr_position": "00"}, "a position of XStream"),
        ({"scn": "1", "scn_idx": 3}, "a position of OpenLogReplicator"),
        ({"scn": "1", "snapshot": "INITIAL", "snapshot_completed": False}, "its initial snapshot is not complete"),
        ({"scn": "1", "snapshot": True}, "its true snapshot is not complete"),
        ({"scn": "x"}, "not of a form"),
        ({"commit_scn": "1:2"}, "not of a form"),
        ({"scn": "1", "commit_scn": "1:2"}, "not of a form"),
    ],
)
def test_what_cannot_be_gone_on_from_is_refused(offset: dict[str, object], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        offset_of(entry("n", "s", **offset), "f", server="s", name="n")


def test_an_incremental_snapshot_goes_on_with_its_tables() -> None:
    collections = [
        {"incremental_snapshot_collections_id": "PDB.S.A", "incremental_snapshot_collections_additional_condition": "x > 1"},
        {"incremental_snapshot_collections_id": "PDB.S.B"},
    ]
    offset = entry(
        scn="1",
        incremental_snapshot_collections=json.dumps(collections),
        incremental_snapshot_primary_key="aced",
        incremental_snapshot_correlation_id="id1",
    )
    found = offset_of(offset, "f", server="s", name="n").incremental
    assert found is not None
    assert (found.id, found.collections) == ("id1", ("PDB.S.A", "PDB.S.B"))
    assert found.tables == (TableRead("S.A", "x > 1"), TableRead("S.B"))


def commit(place: int, scn: int, xid: str, thread: int = 1, rows: int = 1) -> Done:
    return Done(thread, RedoAddress(f"0x000001.{place:08x}.0010", rows), scn, xid)


def test_commits_with_one_scn_are_distinguished() -> None:
    found = [commit(1, 9, "a"), commit(2, 10, "b"), commit(2, 10, "c", rows=2), commit(3, 10, "d"), commit(4, 11, "e")]
    marks = marks_of(found, DeliveredElsewhere(10, {1: LastCommit(10, frozenset({"b", "c"}))}, 0, "d", 5))
    assert marks.commits[1] == found[2]
    assert marks.partial == PartialTransaction("d", 10, 5)
    by_address = marks_of(found, DeliveredElsewhere(10, {1: LastCommit(10, rs_id=found[1].address.rs_id)}))
    assert by_address.commits[1] == found[2]
    assert marks_of(found, DeliveredElsewhere(10, {1: LastCommit(10)})).commits[1] == found[3]


def test_each_thread_has_its_own_mark() -> None:
    found = [commit(1, 20, "a"), commit(1, 21, "b", 2), commit(2, 25, "c"), commit(2, 26, "d", 2)]
    done = DeliveredElsewhere(20, {1: LastCommit(25, frozenset({"c"})), 2: LastCommit(21, frozenset({"b"}))}, 0, "c", 2)
    marks = marks_of(found, done)
    assert (marks.commits[1].xid, marks.commits[2].xid, marks.partial) == ("c", "b", None)
    unknown = marks_of(found, DeliveredElsewhere(20, {1: LastCommit(25, frozenset({"c"}))}))
    assert 2 not in unknown.commits


def test_ddl_is_delivered_up_to_its_scn_or_before_a_delivered_commit() -> None:
    def ddl(place: int, scn: int) -> Done:
        return commit(place, scn, "x")._replace(is_ddl=True)

    found = [ddl(1, 11), commit(2, 12, "a"), ddl(3, 13), commit(4, 14, "b"), ddl(5, 15)]
    done = DeliveredElsewhere(10, {1: LastCommit(12, frozenset({"a"}))})
    assert marks_of(found, done).ddl[1].rs_id == found[0].address.rs_id
    followed = DeliveredElsewhere(10, {1: LastCommit(12, frozenset({"a"}))}, ddl_scn=13)
    assert marks_of(found, followed).ddl[1].rs_id == found[2].address.rs_id


def test_what_is_no_beginning_of_the_redo_is_refused() -> None:
    found = [commit(1, 12, "a"), commit(2, 11, "b")]
    with pytest.raises(SourceError, match="has transaction a"):
        marks_of(found, DeliveredElsewhere(10, {1: LastCommit(11, frozenset({"b"}))}))


def test_the_end_of_a_history_of_debezium() -> None:
    def change(kind: str, name: str, *columns: str, **more: str) -> dict[str, object]:
        listed = [{"name": c, "typeName": "NUMBER", "length": 0, "position": 1, "optional": True} for c in columns]
        table = {"primaryKeyColumnNames": [], "columns": listed, "attributes": [{"name": "OBJECT_ID", "value": "7"}]}
        return {"type": kind, "id": f'"P"."S"."{name}"', "table": table if columns else None, **more}

    def record(scn: str, *changes: object, server: str = "s", **position: object) -> bytes:
        document = {"source": {"server": server}, "position": {"scn": scn, **position}, "tableChanges": changes}
        return json.dumps(document).encode()

    records = [
        record("5", change("CREATE", "A", "X"), snapshot="INITIAL"),
        record("5", change("CREATE", "B", "X"), snapshot=True),
        record("6", change("ALTER", "A", "X", "Y", previousId='"P"."S"."A"')),
        record("99", change("CREATE", "Z", "X"), server="other"),
        record("98", change("CREATE", "Y", "X"), time_us=1),
        record("7", change("ALTER", "C", "X", previousId='"P"."S"."B"')),
        record("8", change("CREATE", "D", "X")),
        record("9", change("DROP", "D")),
    ]
    end = end_of(records, "f", "s")
    assert {str(table): [column.name for column in schema.columns] for table, schema in end.tables.items()} == {
        "S.A": ["X", "Y"],
        "S.C": ["X"],
    }
    assert end.ddl_scn == 9
    assert {(schema.object_id, schema.columns[0].length) for schema in end.tables.values()} == {(7, None)}
    for bad, reason in (
        ([b"{"], "record 1 of f cannot be read"),
        ([], "no record of topic.prefix s"),
        (records[3:4], "no record"),
    ):
        with pytest.raises(SchemaHistoryError, match=reason):
            end_of(bad, "f", "s")


@pytest.mark.parametrize(
    ("then", "now", "now_stored", "stored"),
    [
        ("A B", "A B C", "A B C", "A B"),
        ("A B", "A B C", "A H B C", "A H B"),
        ("A B C", "A C", "A C", "A B C"),
        ("A B C", "A C", "A H C", ""),
        ("B A", "A B", "A B", "B A"),
        ("A B", None, "", "A B"),
    ],
)
def test_stored_columns_of_before_a_ddl(then: str, now: str | None, now_stored: str, stored: str) -> None:
    def table(names: str, in_segment: str = "") -> TableSchema:
        return TableSchema(
            TableId("P", "S", "T"), tuple(Column(name, "NUMBER") for name in names.split()), stored=tuple(in_segment.split())
        )

    present = None if now is None else table(now, now_stored)
    assert with_stored(table(then), present).stored == tuple(stored.split())


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:

    config = parse_properties(GOOD)
    client = KafkaClient(config.kafka, config.topics, {})
    (tmp_path / "o.dat").write_bytes(b"PK")
    for path, reason in (
        (tmp_path / "o.dat", "is not an offset file"),
        (tmp_path / "none", "there is no such file"),
        (tmp_path, "cannot be read"),
    ):
        with pytest.raises(ConfigError, match=reason):
            read_entries(client, str(path))


def test_the_history_of_debezium_outlives_an_import_that_was_killed(tmp_path: Path) -> None:
    file = tmp_path / "history.dat"
    keep_file(file)
    assert not list(tmp_path.iterdir())
    file.write_bytes(b"debezium's")
    (tmp_path / "history.dat.debezium.part").write_bytes(b"cut")
    keep_file(file)
    file.write_bytes(b"ours, in part")
    keep_file(file)
    assert kept_file(file).read_bytes() == b"debezium's"
