"""DDL as it is followed in redo, against the dictionary; and rows between statements that are read when all is over."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.lab import Reader, without_versions
from tests.sandbox_capture.test_capture import make_lab

from minercdc.capture.logminer.position import LogMinerPosition
from minercdc.oracle.connect import connect
from minercdc.oracle.dictionary.object_ids import ObjectIds
from minercdc.oracle.dictionary.tables import read_tables
from minercdc.schema.table import TableSchema
from minercdc.stream.events import UndecodableRow

PARTS = "partition by range (n) (partition a values less than (10), partition b values less than (20), partition z values less than (maxvalue))"
COMPOSITE = (
    "partition by range (n) subpartition by list (r) subpartition template (subpartition x values ('x'), subpartition y values"
    " (default)) (partition a values less than (10), partition b values less than (20), partition z values less than (maxvalue))"
)
# Statements on H, each followed where it stands.
STEPS = (
    "create table h (id number(10) constraint h_pk primary key, period date, interval number(5) default 5, n number(9) not null, doc clob,"
    f" constraint h_u unique (n, id)) lob (doc) store as securefile (cache) {PARTS}",
    "alter table h add supplemental log data (all) columns",
    "alter table h add (partition number(3))",
    "alter table h add (domain varchar2(9) default 'd' not null, virt number generated always as (n * 2) virtual)",
    "alter table h modify interval number(7)",
    "alter table h modify (period invisible)",
    "alter table h modify (period visible)",
    "alter table h row archival",
    "alter table h add late varchar2(20)",
    "alter table h set unused (partition)",
    "alter table h add later date",
    "alter table h no row archival",
    "alter table h rename column domain to primary",
    "alter table h modify (primary null)",
    "alter table h drop column virt",
    "alter table h disable constraint h_pk",
    "alter table h modify n null",
    "alter table h drop constraint h_u",
    "create unique index h_i on h (n)",
    "alter table h modify n not null",
    "drop index h_i",
    "alter table h enable novalidate primary key",
    "alter table h modify constraint h_pk validate",
    "alter table h add serial number(5) unique",
    "alter table h modify serial default 1 not null",
    "alter table h drop primary key",
    "alter table h modify unique (serial) disable",
    "alter table h drop unique (serial)",
    "alter table h add constraint h_two primary key (id, n)",
    "alter table h rename constraint h_two to h_key",
    "alter table h split partition a at (5) into (partition a1, partition a2) update indexes",
    "alter table h merge partitions a1, a2 into partition a",
    "alter table h rename partition a to old",
    "alter table h truncate partition old drop storage update indexes",
    "alter table h drop partition old update global indexes",
    "alter table h drop column period",
    "alter table h modify interval constraint h_n not null",
    "alter table h disable constraint h_n",
    "alter table h enable novalidate constraint h_n",
    "alter table h modify constraint h_n validate",
    "alter table h drop primary key",
    "alter table h rename constraint h_n to h_nn",
    "alter table h drop constraint h_nn",
    "alter table h add (onnull number default on null 3, chk number check (chk is not null))",
    "alter table h add primary key (onnull)",
    "alter table h disable primary key",
    "alter table h drop primary key",
    "alter table h modify id constraint h_id_nn not null",
    "create unique index h_j on h (id)",
    "alter table h add constraint h_id primary key (id) using index h_j",
    "alter table h drop constraint h_id",
    "alter table h add primary key (id)",
    "alter table h disable primary key",
    "alter table h enable primary key",
    "rename h to h2",
)


@pytest.mark.parametrize("committed", [False, True], ids=["uncommitted", "committed"])
def test_the_shape_after_each_statement_is_that_of_the_dictionary(
    sandbox: SandboxProcess, tmp_path: Path, committed: bool
) -> None:
    lab = make_lab(sandbox, tmp_path, committed=committed)
    reader = Reader(lab).take_snapshot()
    with connect(lab.config, "pdb") as dictionary, closing(reader.stream()) as stream:  # type: ignore[type-var]
        for number, statement in enumerate(STEPS):
            lab.run(statement)
            reader.go_on_to_marker(stream, number)
            name = "H2" if statement.startswith("rename") else "H"
            known = reader.tables.find(lab.table(name))
            [present] = read_tables(dictionary, [lab.table(name)])
            assert known is not None, statement
            assert facts(known) == facts(present), statement
            assert (known.parts or frozenset()) >= (present.parts or frozenset()), statement
    lab.app.close()


COPIES = (
    "create table s (id number(9) primary key, n number(9) not null, v varchar2(5) check (v is not null), u number(3) unique)",
    "create table c_all as select * from s where id in (1, 2)",
    "alter table c_all modify v not null",
    "alter table c_all add primary key (id)",
    "alter table s modify (v not null, n null)",
    "create table c_some (a, b unique, c not null) as select s.n, s.id, upper(s.v) from s order by 1",
    "alter table c_some add constraint a_uk unique (a)",
    "alter table c_some modify (a not null, b not null)",
    "alter table c_some add (d references s (id), e date constraint e_nn not null)",
    "alter table c_some modify d not null",
    "alter table c_some disable constraint e_nn",
    "alter table c_some drop constraint a_uk",
    "alter table s drop primary key cascade",
    "create table c_joined as select * from c_some, (select id from s where n = 1)",
    "alter table s modify id not null",
)


@pytest.mark.parametrize("strategy", ["online_catalog", "redo_log_catalog"])
def test_the_shape_of_each_time_is_known_when_all_is_over(sandbox: SandboxProcess, tmp_path: Path, strategy: str) -> None:
    """Constraints, too, whatever they are by then."""
    lab = make_lab(sandbox, tmp_path, committed=False, **{"log.mining.strategy": strategy})
    reader = Reader(lab).take_snapshot()
    expected = []
    with connect(lab.config, "pdb") as dictionary:
        for statement in (*STEPS, *COPIES):
            lab.run(statement)
            name = "H2" if statement.startswith("rename") else "H" if statement in STEPS else statement.split()[2].upper()
            [present] = read_tables(dictionary, [lab.table(name)])
            expected.append((statement, facts(present)))
    lab.run(
        *(f"alter table {name} add (late_{name} number not null)" for name in ("h2", "s", "c_all", "c_some", "c_joined"))
    )
    reader.until_marker(1)
    # CREATE INDEX is no message where it changes no key.
    found = [
        (change.ddl, facts(change.after))
        for change in reader.schema_changes()
        if change.after and " index " not in change.ddl
    ]
    expected = [(statement, shape) for statement, shape in expected if " index " not in statement]
    for one, wanted in zip([one for one in found if one[0]], expected, strict=False):
        assert one == wanted, wanted[0]
    lab.app.close()


def facts(table: TableSchema) -> object:
    """What has to be as in the dictionary: an UNUSED column has a name there that DDL does not say, and an index that was there before
    its constraint is not listed beside it."""
    of_constraints = {key.columns for key in table.keys or () if key.kind != "I" and key.enabled}
    stored = ["" if name.startswith("SYS_C") else name for name in table.stored]
    keys = sorted(
        (key.kind, key.columns, key.holds)
        for key in table.keys or ()
        if key.kind != "I" or key.columns not in of_constraints
    )
    not_nulls = sorted((one.column, one.holds) for one in table.not_nulls or ())
    return without_versions(table).columns, table.key, stored, keys, not_nulls


LATE = {
    "NO_SHAPE": (
        f"id number(9) primary key, n number(9), s number generated always as identity) {PARTS}",
        "alter table {t} rename partition a to old",
        "insert into {t} (id, n) values (1, 1)",
        "alter table {t} modify s drop identity",
        "insert into {t} (id, n, s) values (2, 2, 1)",
        "alter table {t} add virt number as (id * 2)",
        "insert into {t} (id, n, s) values (3, 3, 1)",
        "alter table {t} set unused (s)",
        "insert into {t} (id, n) values (4, 4)",
        "alter table {t} add c varchar2(5)",
        "insert into {t} (id, n, c) values (5, 5, 'x')",
    ),
    "COPIED": (
        "id number(9) primary key, n number(9), v number as (n * 2)) row archival",
        "insert into {t} (id, n) values (1, 1)",
        "create table {t}_all as select x.* from {t} x where id in (1, 2)",
        "insert into {t}_all values (2, 2, 2)",
        "create table {t}_some as with w as (select id, v from {t}) select w.id nr, w.v + 1 as twice from w join {t} y on w.id = y.id",
        "insert into {t}_some values (2, 2)",
        "alter table {t}_all add c date",
        "alter table {t}_some add c date",
        "insert into {t}_all values (3, 3, 3, null)",
        "insert into {t}_some values (3, 3, null)",
    ),
    "GONE": (
        f"id number(9) primary key, n number(9)) {PARTS} enable row movement",
        "insert into {t} values (1, 1)",
        "update {t} set n = 2 where id = 1",
        "alter table {t} split partition a at (5) into (partition a1, partition a2)",
        "insert into {t} values (2, 15)",
        "insert into {t} values (3, 25)",
        "delete from {t} where id = 2",
        "alter table {t} merge partitions b, z into partition y",
        "alter table {t} drop partition a1",
        "insert into {t} values (4, 40)",
    ),
    "HASHED": (
        "id number(9) primary key, n number(9)) partition by hash (id) partitions 2",
        "insert into {t} values (1, 1)",
        "insert into {t} values (2, 2)",
        "insert into {t} values (3, 3)",
        "insert into {t} values (4, 4)",
        "alter table {t} coalesce partition",
        "alter table {t} add partition",
    ),
    "EXCHANGED": (
        f"id number(9) primary key, n number(9)) {PARTS}",
        "insert into {t} values (1, 1)",
        "create table {t}_stage (id number(9) primary key, n number(9))",
        "insert into {t}_stage values (9, 9)",
        "alter table {t} exchange partition a with table {t}_stage without validation",
        "insert into {t} values (2, 2)",
        "drop table {t}_stage purge",
        "alter table {t} truncate partition a",
        "insert into {t} values (3, 3)",
        "alter table {t} move partition a",
        "insert into {t} values (4, 4)",
    ),
    "FILLED": (
        "id number(9) primary key, n number(9)) row archival",
        "insert into {t} values (1, 1)",
        "alter table {t} add (c number(5) default 7, d varchar2(5) default 'd')",
        "insert into {t} (id, n, c) values (2, 2, 2)",
        "update {t} set n = 3, d = 'e' where id = 2",
        "alter table {t} add e number(5) default 8",
        "insert into {t} values (3, 3, 3, 'f', 3)",
        "alter table {t} set unused (c)",
        "insert into {t} values (4, 4, 'g', 4)",
        "alter table {t} drop unused columns",
        "insert into {t} values (5, 5, 'h', 5)",
        "alter table {t} add late date",
    ),
    "COMPOSED": (
        f"id number(9) primary key, n number(9), r varchar2(5)) {COMPOSITE} enable row movement",
        "insert into {t} values (1, 1, 'x')",
        "update {t} set r = 'z' where id = 1",
        "insert into {t} values (2, 2, 'y')",
        "alter table {t} split subpartition a_y values ('z') into (subpartition a_z, subpartition a_w)",
        "alter table {t} split partition a at (2) into (partition a1, partition a2)",
        "insert into {t} values (3, 12, 'x')",
        "insert into {t} values (4, 12, 'q')",
        "alter table {t} merge subpartitions b_x, b_y into subpartition b_all",
        "insert into {t} values (5, 22, 'x')",
        "alter table {t} truncate subpartition z_x",
        "insert into {t} values (6, 22, 'q')",
        "alter table {t} drop subpartition z_y",
        "alter table {t} modify partition z add subpartition z_late values (default)",
        "insert into {t} values (7, 22, 'late')",
        "alter table {t} move subpartition z_late",
        "create table {t}_stage (id number(9) primary key, n number(9), r varchar2(5))",
        "alter table {t} exchange subpartition z_late with table {t}_stage",
        "insert into {t} values (8, 22, 'more')",
        "alter table {t} drop partition b",
        "alter table {t} rename subpartition z_x to z_new",
        "insert into {t} values (9, 22, 'x')",
        "alter table {t} truncate partition z",
        "alter table {t} set subpartition template (subpartition one values (default))",
        "alter table {t} add c varchar2(5)",
    ),
    "DROPPED": (
        f"id number(9) primary key, n number(9)) {PARTS}",
        "insert into {t} values (1, 1)",
        "insert into {t} values (2, 12)",
        "drop table {t} purge",
    ),
}
KEYS = {
    "NO_SHAPE": "12345",
    "GONE": "1234",
    "HASHED": "1234",
    "COPIED": "1",
    "EXCHANGED": "1234",
    "COMPOSED": "1123456789",  # the first row moves: it is deleted and inserted
    "FILLED": "12345",
    "DROPPED": "12",
}


@pytest.mark.parametrize("adapter", ["logminer", "logminer_unbuffered"])
@pytest.mark.parametrize("strategy", ["online_catalog", "redo_log_catalog"])
def test_rows_between_statements_are_decoded_when_all_is_over(
    sandbox: SandboxProcess, tmp_path: Path, adapter: str, strategy: str
) -> None:
    mining = {"log.mining.strategy": strategy}
    lab = make_lab(sandbox, tmp_path, committed=adapter == "logminer_unbuffered", **mining)
    for name, (columns, *_) in LATE.items():
        lab.run(f"create table {name} ({columns}", f"alter table {name} add supplemental log data (all) columns")
    reader = Reader(lab).take_snapshot()
    for name, (_, *statements) in LATE.items():
        for statement in statements:
            lab.run(statement.format(t=name))
            lab.app.commit()
    reader.until_marker(1)
    found = {name: "".join(str(after[0]) for op, _, after in reader.changes(name) if op == "c" and after) for name in LATE}
    assert found == KEYS
    copies = [after for name in ("COPIED_ALL", "COPIED_SOME") for _, _, after in reader.changes(name) if after]
    assert [row for row in copies if row[0] != "1"] == [("2", "2", "2"), ("3", "3", "3", None), ("2", "2"), ("3", "3", None)]
    assert [after for _, _, after in reader.changes("FILLED")] == [
        ("1", "1"),
        ("2", "2", "2", "d"),
        ("2", "3", "2", "e"),
        ("3", "3", "3", "f", "3"),
        ("4", "4", "g", "4"),
        ("5", "5", "h", "5"),
    ]
    assert [(op, before, after) for op, before, after in reader.changes("GONE") if op != "c"] == [
        ("u", ("1", "1"), ("1", "2")),
        ("d", ("2", "15"), None),
    ]
    lab.app.close()


@pytest.mark.parametrize("committed", [False, True], ids=["uncommitted", "committed"])
def test_a_partition_that_was_never_seen_suspends_its_table(
    sandbox: SandboxProcess, tmp_path: Path, committed: bool
) -> None:
    """It was made by the insert, by DDL or by both, and is gone before the redo is read."""
    lab = make_lab(sandbox, tmp_path, committed=committed)
    interval = "partition by range (n) interval (10) (partition a values less than (10))"
    inner = "subpartition by hash (id) subpartitions 2"
    tables = {
        "CALM": PARTS,
        "MADE": interval,
        "SPLIT": PARTS,
        "PLAIN": "",
        "LEVELS": PARTS.replace(" (partition a", f" {inner} (partition a"),
        "LOWER": PARTS.replace(" (partition a", " subpartition by range (id) (partition a"),
        "BOTH": interval.replace(" (partition a", f" {inner} (partition a"),
    }
    for name, tail in tables.items():
        lab.run(f"create table {name} (id number(9) primary key, n number(9)) {tail}")
        lab.run(f"alter table {name} add supplemental log data (all) columns")
    reader = Reader(lab).take_snapshot()
    time.sleep(5)  # DDL so shortly before a row may be after it
    for statement in (
        "insert into made values (1, 55)",
        "alter table made drop partition for (55)",
        "alter table split split partition a at (5) into (partition b1, partition b2)",
        "insert into split values (1, 7)",
        "alter table split merge partitions b1, b2 into partition a",
        "alter table levels split partition a at (5) into (partition b1, partition b2)",
        "insert into levels values (1, 7)",
        "alter table levels drop partition b2",
        "alter table lower split subpartition for (7, 1) at (5) into (subpartition b1, subpartition b2)",
        "insert into lower values (1, 7)",
        "alter table lower drop subpartition b1",
        "insert into both values (1, 55)",
        "alter table both drop partition for (55)",
        *(f"insert into {name} values (2, 7)" for name in tables),
    ):
        lab.run(statement)
        lab.app.commit()
    reader.until_marker(1, on_failure="suspend")
    left_out = [
        (event.table.table, event.code) for event in reader.events if isinstance(event, UndecodableRow) and event.table
    ]
    assert set(left_out) == {(name, "MC-4303") for name in ("MADE", "SPLIT", "LEVELS", "LOWER", "BOTH")}
    assert {name: len(reader.changes(name)) for name in tables} == dict.fromkeys(tables, 1)
    lab.app.close()


@pytest.mark.parametrize("committed", [False, True], ids=["uncommitted", "committed"])
def test_ddl_of_other_schemas_and_on_other_tables_concerns_the_captured_ones(
    sandbox: SandboxProcess, tmp_path: Path, committed: bool
) -> None:
    """Followed where it stands: indexes of another schema, a copy in the current one, and both tables of an exchange."""
    lab = make_lab(sandbox, tmp_path, committed=committed)
    other, mine = f"{lab.schema}_o", lab.schema
    sandbox.create_user(other)
    lab.run(
        "create table keyless (id number(9) not null, n number(9))",
        "create table x (id number(9) primary key, n number(9))",
        f"create table p (id number(9) primary key, n number(9)) {PARTS}",
        *(f"alter table {name} add supplemental log data (all) columns" for name in ("keyless", "x", "p")),
    )
    reader = Reader(lab).take_snapshot()
    with sandbox.connect() as admin, admin.cursor() as cursor, closing(reader.stream()) as stream:  # type: ignore[type-var]
        cursor.execute(f"create table {other}.x (gone date)")
        for number, (statement, keyed) in enumerate(
            (
                (f"create unique index {other}.i on {mine}.keyless (id)", True),
                (f"alter index {other}.i rename to j", True),
                (f"alter session set current_schema = {other}", True),
                ("drop index j", False),
                (f"alter session set current_schema = {mine}", False),
                (f"create unique index {other}.i on keyless (id)", True),
                (f"drop index {other}.i", False),
            )
        ):
            cursor.execute(statement)
            reader.go_on_to_marker(stream, number)
            known = reader.tables.find(lab.table("KEYLESS"))
            assert known is not None
            assert (known.key, known.keys) == (((0,), known.keys) if keyed else ((), ())), statement
            assert facts(known) == facts(lab.read_table(known.id) or known), statement
        cursor.execute("create table copied as select * from x")
        cursor.execute("insert into x values (1, 1)")
        admin.commit()
        cursor.execute("alter table p exchange partition a with table x without validation")
        cursor.execute("insert into x values (2, 2)")
        cursor.execute("insert into p values (3, 3)")
        admin.commit()
    reader.until_marker(99)
    copied = reader.tables.find(lab.table("COPIED"))
    assert copied is not None
    assert [column.name for column in copied.columns] == ["ID", "N"]
    exchanged = [change for change in reader.schema_changes() if "exchange" in change.ddl]
    assert [change.table.table for change in exchanged] == ["P", "X"]
    assert {name: [after for _, _, after in reader.changes(name)] for name in ("X", "P")} == {
        "X": [("1", "1"), ("2", "2")],
        "P": [("3", "3")],
    }
    lab.app.close()


@pytest.mark.parametrize("late", [False, True])
def test_an_index_that_was_there_before_a_key_identifies_rows_after_it(
    sandbox: SandboxProcess, tmp_path: Path, late: bool
) -> None:
    """Whether the statements are followed one by one, or when all is over."""
    lab = make_lab(sandbox, tmp_path)
    for name, using in {"given": "using index given_i", "found": "", "own": ""}.items():
        lab.run(f"create table {name} (id number(9) constraint {name}_nn not null)")
        if name != "own":
            lab.run(f"create unique index {name}_i on {name} (id)")
        lab.run(f"alter table {name} add constraint {name}_pk primary key (id) {using}")
    time.sleep(1.1)  # an index of the second of a statement counts as later
    reader = Reader(lab).take_snapshot()
    for number, statement in enumerate(("drop primary key", "add primary key (id)", "disable primary key")):
        for name in ("given", "found", "own"):
            lab.run(f"alter table {name} {statement}")
        if not late:
            reader.until_marker(number)
    reader.until_marker(9)
    keys = [
        (change.table.table, bool(change.after.key)) for change in reader.schema_changes() if change.after and change.ddl
    ]
    one = {"GIVEN": True, "FOUND": True, "OWN": False}
    assert keys[-9:] == [*one.items(), *dict.fromkeys(one, True).items(), *one.items()]
    lab.app.close()


def test_hidden_columns_that_an_earlier_release_did_not_note_are_looked_up(sandbox: SandboxProcess, tmp_path: Path) -> None:
    """Rows of a version that the dictionary does not have any more, which name columns by their places."""
    lab = make_lab(sandbox, tmp_path)
    for name in ("quiet", "altered"):
        lab.run(
            f"create table {name} (id number(9) primary key)", f"alter table {name} add supplemental log data (all) columns"
        )
        lab.run(f"alter table {name} add n number(9) default 5")
    time.sleep(6)  # of the time of an SCN some seconds are not known
    first = Reader(lab).take_snapshot(with_rows=False).until_marker(1)
    for table in list(first.tables):
        stored = tuple(name for name in table.stored if not name.startswith("SYS_NC"))
        assert (stored != table.stored) is (table.id.table in ("QUIET", "ALTERED"))
        first.tables.put(replace(table, stored=stored, hidden_known=False))
    lab.run("insert into altered values (1, 1)", "commit", "alter table altered add m number(9)")
    assert isinstance(first.position, LogMinerPosition)
    second = Reader(lab, first.position, first.tables)
    second.until_marker(2, on_failure="suspend")
    assert [str(event.table).split(".")[1] for event in second.events if isinstance(event, UndecodableRow)] == ["ALTERED"]
    lab.run("insert into quiet values (1, 1)", "update quiet set n = 2", "commit", "alter table quiet add m number(9)")
    assert isinstance(second.position, LogMinerPosition)
    third = Reader(lab, second.position, second.tables).until_marker(3, on_failure="suspend")
    assert third.changes("QUIET") == [("c", None, ("1", "1")), ("u", ("1", "1"), ("1", "2"))]
    lab.app.close()


@pytest.mark.parametrize("committed", [False, True], ids=["uncommitted", "committed"])
def test_a_table_that_is_not_captured_and_dropped_suspends_no_table_whose_partitions_are_known(
    sandbox: SandboxProcess, tmp_path: Path, committed: bool
) -> None:
    """All of it while the connector is down; the next one reads on in redo."""
    lab = make_lab(sandbox, tmp_path, committed=committed)
    other = f"{lab.schema}_o"
    sandbox.create_user(other)
    interval = "partition by range (n) interval (10) (partition a values less than (10))"
    bounded = "partition by range (n) (partition a values less than (10))"
    for name, tail in {"ADDED": bounded, "SPLIT": PARTS, "MERGED": PARTS, "GROWN": interval}.items():
        lab.run(f"create table {name} (id number(9) primary key, n number(9)) {tail}")
        lab.run(f"alter table {name} add supplemental log data (all) columns")
    with sandbox.connect() as admin, admin.cursor() as cursor:
        cursor.execute(f"create table {other}.staged (id number(9), n number(9))")
        first = Reader(lab).take_snapshot()
        first.until_marker(1)
        time.sleep(5)  # DDL so shortly before a row may be after it
        for statement in (
            "alter table added add partition b values less than (20)",
            "alter table split split partition a at (5) into (partition a1, partition a2)",
            "alter table merged merge partitions a, b into partition ab",
            "insert into added values (1, 15)",
            "insert into split values (1, 3)",
            "insert into merged values (1, 3)",
            "insert into grown values (1, 99)",
        ):
            lab.run(statement)
            lab.app.commit()
        cursor.execute(f"insert into {other}.staged values (7, 7)")
        admin.commit()
        cursor.execute(f"drop table {other}.staged purge")
    assert isinstance(first.position, LogMinerPosition)
    second = Reader(lab, first.position, first.tables).until_marker(2, on_failure="suspend")
    assert [event.table for event in second.events if isinstance(event, UndecodableRow)] == []
    assert {name: len(second.changes(name)) for name in ("ADDED", "SPLIT", "MERGED", "GROWN")} == dict.fromkeys(
        ("ADDED", "SPLIT", "MERGED", "GROWN"), 1
    )
    lab.app.close()


def test_the_dictionary_says_what_refers_to_a_table_and_what_makes_its_partitions(
    sandbox: SandboxProcess, tmp_path: Path
) -> None:
    lab = make_lab(sandbox, tmp_path)
    lab.run(
        "create table par (id number(9) primary key, up number(9) references par on delete cascade)",
        "create table kid (id number(9) primary key, p number(9) references par on delete cascade)",
        "create table grand (id number(9) primary key, k number(9) references kid on delete cascade)",
        "create table loose (id number(9) primary key, k number(9) references kid)",
        "create table off (id number(9) primary key, k number(9) references kid on delete cascade disable)",
        "create table twice (id number(9) primary key, k number(9) references kid, g number(9) references grand on delete cascade)",
        f"create table bounded (id number(9) primary key, n number(9)) {PARTS}",
        "create table grown (id number(9) primary key, n number(9)) partition by range (n) interval (9) (partition a values less than (9))",
        "create table listed (id number(9) primary key, n number(9)) partition by list (n) automatic (partition a values (1))",
    )
    ids = ObjectIds(lambda _: connect(lab.config, "pdb"))
    assert ids.clustered(lab.table("C")) == ()
    found = {child.table.table: child for child in ids.children(lab.table("PAR"))}
    assert {name: child.cascades for name, child in found.items()} == {
        **{"KID": True, "GRAND": True, "TWICE": True},
        **{"LOOSE": False, "OFF": False},
    }
    assert not any(child.by_reference for child in found.values())
    tables = {name: lab.read_table(lab.table(name)) for name in (*found, "ITEM", "BOUNDED", "GROWN", "LISTED")}
    assert {name: child.object_id for name, child in found.items()} == {
        name: table.object_id for name, table in tables.items() if name in found and table is not None
    }
    assert all(child.changed is not None for child in found.values())
    sources = {name: table.parts_from for name, table in tables.items() if table is not None and table.parts_from}
    assert sources == {"BOUNDED": "DDL", "GROWN": "ROWS", "LISTED": "ROWS"}
    known = [table for name, table in tables.items() if table is not None and name in (*sources, "ITEM")]
    assert ids.sources(known) == {lab.table(name): sources.get(name, "DDL") for name in (*sources, "ITEM")}
    bounded = tables["BOUNDED"]
    assert bounded is not None
    assert (bounded.listed_at is None, known[0].listed_at) == (False, None)
    listing = ids.listing(bounded)
    assert listing is not None
    assert (listing.source, listing.ids, sorted(listing.created)) == ("DDL", bounded.parts, ["A", "B", "Z"])
    assert frozenset(number for number, _ in listing.created.values()) == bounded.parts
    lab.app.close()
