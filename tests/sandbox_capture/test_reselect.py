"""Large values that redo does not hold are read from the row as of the commit of its transaction (`minercdc.lob.reselect`)."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.lab import Lab, Reader
from tests.sandbox_capture.test_capture import make_lab
from tests.sandbox_capture.test_lobs import BIG, BYTES, OTHER, execute, merged

from minercdc.stream.events import UNAVAILABLE, ChangeEvent

NOTHING = (UNAVAILABLE,) * 3


def lab_of(sandbox: SandboxProcess, directory: Path, mode: str, *, committed: bool = False) -> Lab:
    lab = make_lab(sandbox, directory, committed=committed, **{"lob.enabled": True, "minercdc.lob.reselect": mode})
    lab.run(
        "create table doc (id number(10) primary key, t varchar2(10), c clob, b blob, x xmltype)",
        "alter table doc add supplemental log data (all) columns",
        "create table keyed (d date, s varchar2(9), r raw(4), c clob, primary key (d, s, r))",
        "alter table keyed add supplemental log data (all) columns",
    )
    return lab


@pytest.fixture(params=["buffered", "committed"])
def lab(request: pytest.FixtureRequest, sandbox: SandboxProcess, tmp_path: Path) -> Iterator[Lab]:
    lab = lab_of(sandbox, tmp_path, "key_change", committed=request.param == "committed")
    yield lab
    lab.app.close()


def images(reader: Reader, table: str = "DOC") -> list[tuple[object, bool]]:
    """The row after each change, and whether some of it was read again."""
    found: list[tuple[object, bool]] = []
    for event in reader.events:
        if isinstance(event, ChangeEvent) and event.schema.id.table == table:
            assert event.reselected_scn in (None, event.tx and event.tx.commit_scn)
            found.append((event.after, event.reselected_scn is not None))
    return found


def test_the_new_key_has_the_values_of_its_commit(lab: Lab) -> None:
    execute(lab, "insert into doc values (1, 'a', :1, :2, '<a/>')", BIG, BYTES)
    execute(lab, "insert into doc values (2, 'b', null, empty_blob(), null)")
    lab.run("insert into keyed values (date '2024-02-29', 'k''', hextoraw('0aff'), 'small')")
    lab.app.commit()
    reader = Reader(lab).take_snapshot(with_rows=False)
    lab.run(
        "update doc set id = id + 10",
        "update keyed set d = d + 1, s = 'x'",
        "update doc set t = 'z' where id = 12",
        "commit",
    )
    execute(lab, "update doc set c = :1, t = 'later' where id = 11", OTHER)
    lab.run("update doc set id = 21, b = null where id = 11", "commit", "delete from doc", "commit")
    reader.until_marker(1)
    first, second, plain, later, moved, *deleted = images(reader)
    assert first == (("11", "a", BIG, BYTES.hex(), "<a/>"), True)
    assert second == (("12", "b", None, "", None), True)
    assert plain == (("12", "z", *NOTHING), False)
    assert later == (("11", "later", OTHER, UNAVAILABLE, UNAVAILABLE), False)
    assert moved == (("21", "later", OTHER, None, "<a/>"), True)
    assert deleted == [(None, False)] * 2
    assert [after for after, _ in images(reader, "KEYED")] == [("2024-03-01 00:00:00", "x", "0aff", "small")]
    assert lab.counters.unselected == 0


def test_a_repeat_after_a_restart_gives_the_same(lab: Lab) -> None:
    execute(lab, "insert into doc values (1, 'a', :1, null, null)", BIG)
    lab.app.commit()
    reader = Reader(lab).take_snapshot(with_rows=False)
    begin, tables = reader.position, reader.tables
    lab.run("update doc set id = 2", "commit")
    reader.until_marker(1)
    execute(lab, "update doc set c = :1, t = 'new'", OTHER)
    lab.app.commit()
    again = Reader(lab, begin, tables).until_marker(2)
    assert images(again)[:1] == images(reader) == [(("2", "a", BIG, None, None), True)]


def test_every_unavailable_value_when_that_is_wanted_or_none(sandbox: SandboxProcess, tmp_path: Path) -> None:
    for mode, expected in (("unavailable", ("2", "u", BIG, None, None)), ("none", ("2", "u", *NOTHING))):
        lab = lab_of(sandbox, tmp_path, mode)
        execute(lab, "insert into doc values (1, 'a', :1, null, null)", BIG)
        lab.app.commit()
        reader = Reader(lab).take_snapshot(with_rows=False)
        lab.run("update doc set id = 2", "commit", "update doc set t = 'u'", "commit")
        lab.run("declare l clob; begin select c into l from doc for update; dbms_lob.writeappend(l, 1, 'z'); end;", "commit")
        reader.until_marker(1)
        wanted = mode == "unavailable"
        key, update, piece = images(reader)
        assert key == (("2", "a", *(BIG, None, None)) if wanted else ("2", "a", *NOTHING), wanted)
        assert update == (expected, wanted)
        assert piece == (("2", "u", BIG + "z", None, None) if wanted else ("2", "u", *NOTHING), wanted)
        if wanted:
            assert merged(reader, "DOC") == [("2", "u", BIG + "z", None, None)]
        lab.app.close()


@pytest.mark.parametrize("code", [1555, 1466, 942])
def test_where_it_cannot_be_read_the_placeholder_stays(
    sandbox: SandboxProcess, tmp_path: Path, caplog: pytest.LogCaptureFixture, code: int
) -> None:
    """Undo is gone, the table was altered since, or dropped: nothing stops, and each table has one warning."""
    lab = lab_of(sandbox, tmp_path, "key_change")
    execute(lab, "insert into doc values (1, 'a', :1, null, null)", BIG)
    lab.app.commit()
    reader = Reader(lab).take_snapshot(with_rows=False)
    for number in (2, 3):
        lab.run(f"update doc set id = {number}", "commit")
    with sandbox.connect() as admin:
        admin.cursor().execute(
            f"call dbms_sandbox.fail_call({code}, matching => '\"DOC\" AS OF SCN', username => 'C##MINERCDC', times => 2)"
        )
    with caplog.at_level(logging.WARNING):
        reader.until_marker(1)
    assert images(reader) == [((str(number), "a", *NOTHING), False) for number in (2, 3)]
    assert lab.counters.unselected == 2
    assert caplog.text.count("stay unavailable") == 1
    lab.app.close()


def test_a_row_that_is_gone_at_its_commit_keeps_the_placeholder(lab: Lab) -> None:
    execute(lab, "insert into doc values (1, 'a', :1, null, null)", BIG)
    lab.app.commit()
    reader = Reader(lab).take_snapshot(with_rows=False)
    lab.run("update doc set id = 2", "delete from doc", "commit")
    reader.until_marker(1)
    assert images(reader) == [(("2", "a", *NOTHING), False), (None, False)]
    assert lab.counters.unselected == 1


def test_no_value_is_taken_of_a_table_that_has_the_name_by_now(lab: Lab, caplog: pytest.LogCaptureFixture) -> None:
    execute(lab, "insert into doc values (1, 'a', :1, null, null)", BIG)
    lab.run("create table other (id number(10) primary key, t varchar2(10), c clob, b blob, x xmltype)")
    execute(lab, "insert into other values (2, 'a', :1, null, null)", OTHER)
    lab.app.commit()
    reader = Reader(lab).take_snapshot(with_rows=False)
    lab.run("update doc set id = 2", "commit", "rename doc to set_aside", "rename other to doc")
    with caplog.at_level(logging.WARNING):
        reader.until_marker(1)
    assert images(reader) == [(("2", "a", *NOTHING), False)]
    assert lab.counters.unselected == 1
    assert "is called" in caplog.text
