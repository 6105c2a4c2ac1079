"""LOBs, XML documents and long strings: what redo holds piece by piece is what a snapshot reads, in both dialects and both
ways of mining."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import oracledb
import pytest
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.lab import Lab, Reader, canonical
from tests.sandbox_capture.test_capture import make_lab

from minercdc.stream.events import UNAVAILABLE, ChangeEvent, Row, Value

BIG, OTHER = "0123456789" * 500, "it's <b>\n" * 700
BYTES = bytes(range(256)) * 40


@pytest.fixture(scope="module", params=["19c", "23ai"])
def release(request: pytest.FixtureRequest) -> Iterator[SandboxProcess]:
    running = SandboxProcess((), "--profile", request.param, "--max-string-size", "extended")
    yield running
    code, errors = running.stop()
    assert (code, errors) == (0, "")


@pytest.fixture(params=["buffered", "committed"])
def lab(request: pytest.FixtureRequest, release: SandboxProcess, tmp_path: Path) -> Iterator[Lab]:
    lab = make_lab(release, tmp_path, committed=request.param == "committed", **{"lob.enabled": True})
    lab.run(
        "create table doc (id number(10) primary key, t varchar2(10), c clob, n nclob, b blob)",
        "alter table doc add supplemental log data (all) columns",
        "create table xd (id number(10) primary key, t varchar2(10), x xmltype)",
        "alter table xd add supplemental log data (all) columns",
        "create table wide (id number(10) primary key, v varchar2(32767), r raw(20000), nv nvarchar2(8000))",
        "alter table wide add supplemental log data (all) columns",
        "create table elsewhere (id number(10))",
        "create table lng (id number(10) primary key, t varchar2(10), l long)",
        "alter table lng add supplemental log data (all) columns",
    )
    yield lab
    lab.app.close()


def execute(lab: Lab, sql: str, *binds: Any) -> None:
    with lab.app.cursor() as cursor:
        cursor.execute(sql, list(binds))


def merged(reader: Reader, table: str) -> list[Row]:
    """The table after the changes, in canonical text, as a consumer keeps it that leaves alone what is unavailable."""
    rows: dict[Any, dict[str, Value]] = {}
    for event in reader.events:
        if isinstance(event, ChangeEvent) and event.schema.id.table == table:
            known = rows.pop(event.before[0], {}) if event.before else {}
            after = canonical(event.schema, event.after)
            if after:
                names = [column.name for column in event.schema.columns]
                values = zip(names, after, strict=True)
                rows[after[0]] = {name: known.get(name, value) if value is UNAVAILABLE else value for name, value in values}
    return sorted((tuple(row.values()) for row in rows.values()), key=str)


def same_as_snapshot(lab: Lab, reader: Reader, *tables: str) -> None:
    snapshot = Reader(lab).take_snapshot()
    for table in tables:
        assert merged(reader, table) == merged(snapshot, table)


@pytest.fixture
def reader(lab: Lab) -> Reader:
    return Reader(lab).take_snapshot(with_rows=False)


def test_values_of_every_size(lab: Lab, reader: Reader) -> None:
    rows = [
        (1, "a", "short", "n\u00e9", b"\x01\x02"),
        (2, "b", None, None, None),
        (3, "c", BIG, OTHER, BYTES),
        (4, "d", "x" * 4000, "y", BYTES),
        (5, "e", "\U0001f600'" * 3000, "\u20ac" * 5000, b""),
    ]
    for row in rows:
        execute(lab, "insert into doc values (:1, :2, :3, :4, :5)", *row)
    lab.run("insert into doc values (6, 'f', empty_clob(), empty_clob(), empty_blob())")
    lab.app.commit()
    reader.until_marker(1)
    changes = reader.changes("DOC")
    assert [op for op, _, _ in changes] == ["c"] * 6
    assert changes[1][2] == ("2", "b", None, None, None)
    assert changes[2][2] == ("3", "c", BIG, OTHER, BYTES.hex())
    assert changes[5][2] == ("6", "f", "", "", "")
    same_as_snapshot(lab, reader, "DOC")


def test_updates_of_lobs_and_of_the_rest(lab: Lab, reader: Reader) -> None:
    execute(lab, "insert into doc values (1, 'a', :1, 'n', :2)", BIG, BYTES)
    lab.app.commit()
    execute(lab, "update doc set t = 'b' where id = 1")
    lab.app.commit()
    execute(lab, "update doc set t = 'c', c = :1, b = :2 where id = 1", OTHER, b"ab")
    execute(lab, "update doc set c = null, n = empty_clob() where id = 1")
    execute(lab, "update doc set c = :1 where id = 1", BIG)
    execute(lab, "update doc set id = 10, n = :1 where id = 1", OTHER)
    execute(lab, "delete from doc where id = 10")
    lab.app.commit()
    reader.until_marker(1)
    _, plain, both, null, again, key, deleted = reader.changes("DOC")
    nothing = (UNAVAILABLE,) * 3
    assert plain == ("u", ("1", "a", *nothing), ("1", "b", *nothing))
    assert both == ("u", ("1", "b", *nothing), ("1", "c", OTHER, UNAVAILABLE, "6162"))
    assert null[2] == ("1", "c", None, "", UNAVAILABLE)
    assert again[2] == ("1", "c", BIG, UNAVAILABLE, UNAVAILABLE)
    assert key[1:] == (("1", "c", *nothing), ("10", "c", UNAVAILABLE, OTHER, UNAVAILABLE))
    assert deleted == ("d", ("10", "c", *nothing), None)


def test_one_statement_on_many_rows(lab: Lab, reader: Reader) -> None:
    for number in range(3):
        execute(lab, "insert into doc values (:1, 'a', 'x', 'n', null)", number)
    execute(lab, "update doc set c = :1", BIG)
    lab.app.commit()
    reader.until_marker(1)
    assert [(op, after and after[0]) for op, _, after in reader.changes("DOC")] == [
        *(("c", str(number)) for number in range(3)),
        *(("u", str(number)) for number in range(3)),
    ]
    same_as_snapshot(lab, reader, "DOC")


EDIT = """declare l clob; k blob; n number := 2; begin
    select c, b into l, k from doc where id = {} for update;
    dbms_lob.write(l, 3, 2, 'abc'); dbms_lob.trim(l, 10); dbms_lob.writeappend(l, 2, 'zz'); dbms_lob.erase(l, n, 4);
    dbms_lob.write(k, 2, 9, hextoraw('aabb'));
end;"""


def test_dbms_lob_on_values_of_the_same_transaction(lab: Lab, reader: Reader) -> None:
    execute(lab, "insert into doc values (1, 'a', :1, 'n', hextoraw('01'))", BIG)
    execute(lab, "insert into doc values (2, 'a', :1, 'n', empty_blob())", OTHER)
    execute(lab, EDIT.format(1))
    execute(lab, EDIT.format(2))
    lab.app.commit()
    reader.until_marker(1)
    same_as_snapshot(lab, reader, "DOC")


def test_dbms_lob_on_unknown_values_is_unavailable(lab: Lab, reader: Reader) -> None:
    execute(lab, "insert into doc values (1, 'a', :1, 'n', :2)", BIG, BYTES)
    lab.app.commit()
    reader.until_marker(1)
    execute(lab, EDIT.format(1))
    lab.app.commit()
    lab.run("update doc set t = 'b' where id = 1", "commit")
    reader.until_marker(2)
    changes = [event for event in reader.events if isinstance(event, ChangeEvent) and event.schema.id.table == "DOC"]
    *edits, plain = changes[1:]
    assert edits
    assert all(one.after and one.after[2] is UNAVAILABLE and one.after[4] is UNAVAILABLE for one in changes[1:])
    # What LOBs an update leaves open may have changed by an edit only.
    assert [one.has_unknown_large for one in (changes[0], *edits, plain)] == [False, *[True] * len(edits), False]


APPEND = "declare l clob; k blob; begin select c, b into l, k from doc where id = {} for update; {} end;"


def test_writes_in_turn_to_several_rows_are_part_of_their_changes(lab: Lab, reader: Reader) -> None:
    """However often DBMS_LOB comes back to a row, it has one change until it is changed by a statement of its own."""
    lab.run("insert into doc values (7, 'g', 'old', null, empty_blob())", "commit")
    lab.run("insert into doc values (1, 'a', empty_clob(), null, empty_blob())")
    execute(lab, "insert into doc values (2, 'b', :1, null, hextoraw('00'))", BIG)
    lab.run("update doc set t = 'h' where id = 7")
    append = "dbms_lob.writeappend(l, 2, 'x{}'); dbms_lob.writeappend(k, 1, hextoraw('0{}'));"
    for n in range(5):
        for number in (1, 2, 7):
            lab.run(APPEND.format(number, append.format(n, n)))
        lab.run(f"insert into elsewhere values ({n})")
    lab.run("update doc set t = 'z' where id = 1", APPEND.format(1, "dbms_lob.writeappend(l, 1, 'y');"))
    lab.run("delete from doc where id = 2")
    lab.app.commit()
    reader.until_marker(1)
    changes = reader.changes("DOC")[1:]
    text, raw = "x0x1x2x3x4", "0001020304"
    assert [(op, after) for op, _, after in changes] == [
        ("c", ("1", "a", text, None, raw)),
        ("c", ("2", "b", BIG + text, None, "00" + raw)),
        ("u", ("7", "h", UNAVAILABLE, UNAVAILABLE, UNAVAILABLE)),
        ("u", ("1", "z", text + "y", UNAVAILABLE, UNAVAILABLE)),
        ("d", None),
    ]
    same_as_snapshot(lab, reader, "ELSEWHERE")


def test_savepoints_take_back_whole_statements(lab: Lab, reader: Reader) -> None:
    execute(lab, "insert into doc values (1, 'a', :1, 'n', null)", BIG)
    lab.run("savepoint s")
    execute(lab, "insert into doc values (2, 'x', :1, 'n', :2)", OTHER, BYTES)
    execute(lab, "update doc set t = 'y', c = :1, n = 'm', b = :2 where id = 1", OTHER, BYTES)
    execute(lab, EDIT.format(1))
    execute(lab, "update doc set c = 'z' where id = 1")
    execute(lab, "insert into xd values (1, 'x', '<a/>')")
    execute(lab, "update xd set t = 'y', x = '<b/>'")
    execute(lab, "update xd set x = '<c/>'")
    execute(lab, "insert into wide values (1, :1, null, null)", BIG)
    lab.run("rollback to s")
    execute(lab, "update doc set n = :1 where id = 1", OTHER)
    lab.app.commit()
    reader.until_marker(1)
    assert [op for op, _, _ in reader.changes()] == ["c", "u"]
    same_as_snapshot(lab, reader, "DOC", "XD", "WIDE")


@pytest.mark.parametrize("lobs", [True, False])
def test_undone_lobs_of_every_storage_leave_nothing(release: SandboxProcess, tmp_path: Path, lobs: bool) -> None:
    """NULL ones that got a small value, too, which is two rows of redo."""
    lab = make_lab(release, tmp_path, **{"lob.enabled": lobs})
    tables = ("bas", "sec")
    for table, storage in zip(tables, ("basicfile", "securefile"), strict=True):
        lab.run(
            f"create table {table} (id number(9) primary key, t varchar2(9), c clob) lob (c) store as {storage}",
            f"alter table {table} add supplemental log data (all) columns",
        )
        execute(lab, f"insert into {table} values (1, 'a', :1)", BIG)
        lab.run(f"insert into {table} values (2, 'b', null)", f"insert into {table} values (3, 'c', 'small')")
    lab.app.commit()
    reader = Reader(lab).take_snapshot(with_rows=False)
    for table in tables:
        lab.run(f"update {table} set t = 'kept' where id = 1", "savepoint s")
        execute(lab, f"update {table} set t = 'gone', c = :1 where id = 1", OTHER)
        execute(lab, f"update {table} set c = :1 where id = 1", BIG)
        lab.run(f"update {table} set c = 'now' where id = 2", f"update {table} set t = 'gone', c = 'now' where id = 3")
        lab.run("rollback to savepoint s", f"update {table} set t = 'end' where id = 3")
    lab.app.commit()
    reader.until_marker(1)
    assert [(op, after and after[:2]) for op, _, after in reader.changes()] == [
        ("u", ("1", "kept")),
        ("u", ("3", "end")),
    ] * 2


@pytest.mark.parametrize("lobs", [True, False])
def test_a_short_string_stays_when_a_long_one_after_it_is_undone(
    release: SandboxProcess, tmp_path: Path, lobs: bool
) -> None:
    lab = make_lab(release, tmp_path, **{"lob.enabled": lobs})
    lab.run(
        "create table w (id number(9) primary key, v varchar2(32767))",
        "alter table w add supplemental log data (all) columns",
        "insert into w values (1, 'old')",
        "commit",
    )
    reader = Reader(lab).take_snapshot(with_rows=False)
    lab.run("update w set v = 'new' where id = 1", "savepoint s")
    execute(lab, "update w set v = :1 where id = 1", "long" * 2000)
    lab.run("rollback to savepoint s", "commit")
    lab.run("update w set v = 'undone' where id = 1", "rollback", "insert into w values (2, null)", "savepoint s")
    lab.run("update w set v = 'undone' where id = 1", "rollback to savepoint s", "commit")
    reader.until_marker(1)
    assert [(op, after) for op, _, after in reader.changes()] == [("u", ("1", "new")), ("c", ("2", None))]


@pytest.mark.parametrize("lobs", [True, False])
def test_a_short_string_stays_when_two_long_ones_after_it_are_undone(
    release: SandboxProcess, tmp_path: Path, lobs: bool
) -> None:
    """The first undo row has the first long one: only the second shows that the short one was not undone."""
    lab = make_lab(release, tmp_path, **{"lob.enabled": lobs})
    lab.run(
        "create table w (id number(9) primary key, v varchar2(32767))",
        "alter table w add supplemental log data (all) columns",
        "insert into w values (1, 'old')",
        "insert into w values (2, 'old')",
        "commit",
    )
    reader = Reader(lab).take_snapshot(with_rows=False)
    lab.run("update w set v = 'new'", "savepoint s")
    for text in ("long", "more"):
        for key in (1, 2):  # two rows in turn
            execute(lab, "update w set v = :1 where id = :2", text * 2000, key)
    lab.run("rollback to savepoint s", "commit")
    execute(lab, "update w set v = :1 where id = 2", BIG)
    lab.run("commit", "update w set v = 'undone' where id = 2", "rollback", "savepoint s")
    lab.run("update w set v = 'undone' where id = 2", "rollback to savepoint s", "commit")
    reader.until_marker(1)
    long = (
        [("u", ("2", BIG))] if lobs else [("u", ("2", UNAVAILABLE))]
    )  # without, nothing shows whether this is what was undone
    assert [(op, after) for op, _, after in reader.changes()] == [("u", ("1", "new")), ("u", ("2", "new")), *long]


def test_xml_documents(lab: Lab, reader: Reader) -> None:
    execute(lab, "insert into xd values (1, 'a', '<a>it''s</a>')")
    execute(lab, "insert into xd values (2, 'b', null)")
    execute(lab, "insert into xd values (3, 'c', :1)", f"<a>{BIG}\u20ac</a>")
    execute(lab, "update xd set x = '<b/>' where id = 1")
    execute(lab, "update xd set x = null, t = 'n' where id = 3")
    execute(lab, "update xd set t = 'z' where id = 1")
    lab.app.commit()
    reader.until_marker(1)
    same_as_snapshot(lab, reader, "XD")
    assert [op for op, _, _ in reader.changes("XD")] == ["c", "c", "c", "u", "u", "u"]


def test_long_strings(lab: Lab, reader: Reader) -> None:
    execute(lab, "insert into wide values (1, 'it''s, ok', hextoraw('ab'), n'q')")
    execute(lab, "insert into wide values (2, :1, :2, :3)", OTHER, BYTES, "\u00e9'" * 3000)
    execute(lab, "update wide set v = :1 where id = 1", BIG)
    execute(lab, "update wide set v = 'x', r = null where id = 2")
    execute(lab, "insert into wide (id) values (3)")
    lab.app.commit()
    reader.until_marker(1)
    same_as_snapshot(lab, reader, "WIDE")
    assert [op for op, _, _ in reader.changes("WIDE")] == ["c", "c", "u", "u", "c"]


def test_long_columns(lab: Lab, reader: Reader) -> None:
    execute(lab, "insert into lng values (1, 'a', 'long ''text''')")
    execute(lab, "insert into lng values (2, 'a', null)")
    execute(lab, "update lng set l = 'other', t = 'b' where id = 1")
    execute(lab, "update lng set t = 'c' where id = 1")
    lab.app.commit()
    reader.until_marker(1)
    same_as_snapshot(lab, reader, "LNG")


def test_random_histories_amount_to_the_table(lab: Lab, reader: Reader) -> None:
    chance = random.Random(20260301)
    values = [None, "s", "x" * 4000, BIG, OTHER, "\U0001f600" * 2100]
    for _ in range(12):
        for _ in range(4):
            number, lob = chance.randrange(4), chance.choice(values)
            raw = None if lob is None else lob.encode()
            lab.run("savepoint s")
            match chance.randrange(4):
                case 0:
                    execute(lab, "delete from doc where id = :1", number)
                    execute(lab, "insert into doc values (:1, 'i', :2, :3, :4)", number, lob, chance.choice(values), raw)
                case 1:
                    execute(lab, "update doc set t = :1, c = :2 where id <> :3", str(number), lob, number)
                case 2:
                    execute(lab, "update doc set b = :1, n = :2 where id = :3", raw, chance.choice(values), number)
                case _:
                    execute(lab, "update doc set t = 'p'")
            if chance.random() < 0.3:
                lab.run("rollback to s")
        lab.app.commit()
    reader.until_marker(1)
    same_as_snapshot(lab, reader, "DOC")


def test_without_lob_enabled_large_values_are_unavailable(release: SandboxProcess, tmp_path: Path) -> None:
    lab = make_lab(release, tmp_path)
    lab.run(
        "create table doc (id number(10) primary key, t varchar2(10), c clob, x xmltype)",
        "alter table doc add supplemental log data (all) columns",
    )
    reader = Reader(lab).take_snapshot(with_rows=False)
    execute(lab, "insert into doc values (1, 'a', 'small', '<a/>')")
    execute(lab, "insert into doc values (2, 'b', :1, null)", BIG)
    execute(lab, "update doc set c = :1 where id = 1", BIG)
    lab.app.commit()
    reader.until_marker(1)
    rows = [("1", "a", UNAVAILABLE, UNAVAILABLE), ("2", "b", UNAVAILABLE, UNAVAILABLE)]
    assert reader.changes("DOC") == [("c", None, row) for row in rows]
    assert merged(Reader(lab).take_snapshot(), "DOC") == rows
    lab.app.close()


@pytest.mark.parametrize("restart", [False, True])
def test_transactions_that_go_on_over_log_switches(lab: Lab, reader: Reader, restart: bool) -> None:
    """LogMiner shows large values only of transactions that its range holds from their START."""
    early, late = lab.session(), lab.session()
    execute(lab, "insert into doc values (1, 'a', :1, 'n', null)", BIG)
    with late.cursor() as cursor:
        cursor.execute("insert into elsewhere values (1)")
    steps = iter((mark_and_switch, mark_and_switch))

    def go_on(reader: Reader) -> bool:
        """Each marker that has come is followed by the next step, while the stream goes on."""
        if (number := next((n for n in (1, 2) if reader.has_marker(n)), None)) and (step := next(steps, None)):
            step(lab, early, number + 1)
        return reader.has_marker(2)

    mark_and_switch(lab, early, 1)
    reader.until(go_on)
    if restart:
        reader = Reader(lab, reader.position, reader.tables)
        execute(lab, "update doc set c = :1 where id = 1", OTHER)
    ended = False

    def end(reader: Reader) -> bool:
        nonlocal ended
        if not ended:
            ended = True
            execute(lab, "update doc set c = :1 where id = 1", OTHER)
            with late.cursor() as cursor:
                cursor.execute("insert into doc values (2, 'b', :1, 'n', :2)", [OTHER, BYTES])
            lab.app.commit()
            late.commit()
            mark_and_switch(lab, early, 9)
        return reader.has_marker(9)

    reader.until(end)
    same_as_snapshot(lab, reader, "DOC")
    early.close()
    late.close()


def mark_and_switch(lab: Lab, session: oracledb.Connection, number: int) -> None:
    with session.cursor() as cursor:
        cursor.execute("insert into marker values (:1)", [number])
    session.commit()
    lab.switch_log()


def test_lob_columns_come_and_go(lab: Lab, reader: Reader) -> None:
    execute(lab, "insert into elsewhere values (1)")
    lab.run(
        "create table only (id number(10) primary key, c clob)",
        "alter table only add supplemental log data (all) columns",
    )
    execute(lab, "insert into only values (1, :1)", BIG)
    execute(lab, "update only set c = :1", OTHER)
    lab.app.commit()
    reader.until_marker(1)
    lab.run("alter table only add (b blob default empty_blob(), d clob)")
    execute(lab, "update only set b = :1, d = 'small'", BYTES)
    execute(lab, "insert into only values (2, null, null, :1)", BIG)
    lab.app.commit()
    reader.until_marker(2)
    same_as_snapshot(lab, reader, "ONLY")
    lab.run("alter table only drop column c", "alter table only rename column d to e")
    execute(lab, "update only set e = :1 where id = 1", OTHER)
    lab.app.commit()
    reader.until_marker(3)
    assert reader.changes("ONLY")[-1][2] == ("1", UNAVAILABLE, OTHER)
    lab.run("alter table only rename to other")
    execute(lab, "insert into other values (3, empty_blob(), 'x')")
    lab.app.commit()
    reader.until_marker(4)
    assert reader.changes("OTHER") == [("c", None, ("3", "", "x"))]


@pytest.fixture(params=["securefile", "basicfile"])
def out_of_row(request: pytest.FixtureRequest, lab: Lab) -> Lab:
    """A lab with a table FAR, whose LOBs are never in the row."""
    lab.run(
        "create table far (id number(10) primary key, t varchar2(10), c clob, b blob)"
        f" lob (c, b) store as {request.param} (disable storage in row)",
        "alter table far add supplemental log data (all) columns",
    )
    return lab


def test_lobs_without_storage_in_the_row(out_of_row: Lab) -> None:
    lab = out_of_row
    reader = Reader(lab).take_snapshot(with_rows=False)
    execute(lab, "insert into far values (1, 'a', :1, hextoraw('beef'))", BIG)
    lab.run("insert into far values (2, 'b', 'small', null)", "insert into far values (3, 'c', null, empty_blob())")
    lab.run("insert into far select id + 10, t, c, b from far")
    lab.run("savepoint s", "insert into far values (4, 'd', 'gone', hextoraw('00'))", "rollback to s")
    execute(lab, "update far set t = 'z', c = :1 where id = 2", OTHER)
    lab.run("update far set c = 'tiny', b = null where id = 1", "delete from far where id = 3")
    lab.app.commit()
    lab.run("insert into far values (5, 'e', 'not committed', null)", "rollback")
    reader.until_marker(1)
    assert [op for op, _, _ in reader.changes("FAR")] == [*"cccccc", *"uud"]
    same_as_snapshot(lab, reader, "FAR")
