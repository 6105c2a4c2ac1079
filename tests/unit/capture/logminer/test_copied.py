"""CREATE TABLE with the columns of other tables, when redo is read late."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from tests.unit.capture.logminer.redo import ITEM, ITEM_ID, NOON, A, B, Dictionary, Miner, Redo, schema_changes

from minercdc.capture.logminer.session.row import OpCode
from minercdc.schema.table import Column, Key, NotNull, TableId, TableSchema
from minercdc.stream.events import ChangeEvent, UndecodableRow

SOURCE = TableSchema(
    TableId("DB", "LAB", "SRC"),
    (Column("ID", "NUMBER", 10, 0, False), Column("N", "NUMBER", 5, 0, False), Column("V", "VARCHAR2", 9)),
    (0,),
    object_id=70,
    stored=("ID", "N", "V"),
    keys=(Key("P", ("ID",), "PK"),),
    not_nulls=(NotNull("N", "NN"),),
)
NEW = TableId("DB", "LAB", "FRESH")
# By now the columns of the new table are others: all NOT NULL, by later constraints, and wider.
NOW = TableSchema(
    NEW,
    tuple(Column(name, "NUMBER", nullable=False, default="1") for name in ("ID", "N", "V")),
    object_id=90,
    stored=("ID", "N", "V"),
    keys=(Key("P", ("ID",), "LATER"),),
    not_nulls=tuple(NotNull(name, f"SYS_C{i}") for i, name in enumerate(("ID", "N", "V"))),
    changed={"SYS_C0": NOON + timedelta(hours=1), "SYS_C1": NOON, "SYS_C2": NOON + timedelta(hours=1)},
)


class Ids(Dictionary):
    """A dictionary with the visible columns of tables that were not altered."""

    visible: Mapping[TableId, tuple[str, ...]]
    now: Mapping[TableId, tuple[str, ...]]

    def columns_since(self, table: TableId, since: datetime) -> tuple[str, ...]:
        return self.visible.get(table, ()) if since < datetime.max else self.now.get(table, ())


def created(
    tmp_path: Path,
    sql: str,
    *,
    present: TableSchema | None = NOW,
    visible: Mapping[TableId, tuple[str, ...]] | None = None,
    known: tuple[TableSchema, ...] = (SOURCE,),
    altered: datetime | None = None,
    now: Mapping[TableId, tuple[str, ...]] | None = None,
) -> TableSchema:
    """The new table after a statement. `altered`: its last DDL."""
    ids = Ids({}, {NEW: altered} if altered else None)
    ids.visible, ids.now = visible or {}, now or {}
    miner = Miner(tmp_path, tables=known, dictionary={NEW: present} if present else {}, ids=ids)
    redo = Redo()
    redo.ddl(A, sql, table="FRESH", object_id=90, user="APP")
    (change,) = [one for one in schema_changes(miner.read(redo.rows)) if not one.ids_only]
    assert change.after is not None
    return change.after


def shown(table: TableSchema) -> list[str]:
    return [f"{c.name} {c.type_name} {c.length}{'' if c.nullable else ' NOT NULL'}" for c in table.columns]


@pytest.mark.parametrize("present", [NOW, None])
@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("select id, n as m, src.v from src", ["ID NUMBER 10", "M NUMBER 5 NOT NULL", "V VARCHAR2 9"]),
        ("select * from src where id in (1, 2)", ["ID NUMBER 10", "N NUMBER 5 NOT NULL", "V VARCHAR2 9"]),
        ("with w as (select id, n from src) select w.n, id from w", ["N NUMBER 5 NOT NULL", "ID NUMBER 10"]),
    ],
)
def test_columns_of_a_captured_table_are_as_they_were_there(
    tmp_path: Path, query: str, columns: list[str], present: TableSchema | None
) -> None:
    """NOT NULL of a primary key is not copied."""
    visible = {SOURCE.id: ("ID", "N", "V")}
    table = created(tmp_path, f"create table fresh as {query}", present=present, visible=visible)
    assert shown(table) == columns
    assert (table.stored, table.read_at, table.key) == (tuple(c.name for c in table.columns), None, ())
    assert all(column.default is None for column in table.columns)


def test_names_and_constraints_of_the_text_are_those_of_the_new_table(tmp_path: Path) -> None:
    sql = "create table fresh (a primary key, b default 5, c constraint cc not null) as select * from src"
    table = created(tmp_path, sql, present=None, visible={SOURCE.id: ("ID", "N", "V")})
    assert shown(table) == ["A NUMBER 10 NOT NULL", "B NUMBER 5 NOT NULL", "C VARCHAR2 9 NOT NULL"]
    assert (table.key, table.columns[1].default) == ((0,), "5")
    assert [one.name for one in table.not_nulls or ()] == ["CC", ""]


def test_star_of_a_captured_table_that_has_changed_since_is_its_columns_of_then(tmp_path: Path) -> None:
    for present in (None, NOW):
        table = created(tmp_path, "create table fresh as select * from src", present=present)
        assert shown(table) == ["ID NUMBER 10", "N NUMBER 5 NOT NULL", "V VARCHAR2 9"]
        assert table.read_at is None
    # A column of the new table that was added later is none of it; but one may be a virtual column of the source.
    more = replace(NOW, columns=(*NOW.columns, Column("W", "DATE")), stored=(*NOW.stored, "W"))
    sql = "create table fresh as select * from src"
    assert len(created(tmp_path, sql, present=more, now={SOURCE.id: ("ID", "N", "V", "X")}).columns) == 3
    assert created(tmp_path, sql, present=more, now={SOURCE.id: ("ID", "N", "V", "W")}).read_at is not None
    # An INVISIBLE column of the source is none of the new table's.
    less = replace(NOW, columns=NOW.columns[:1], stored=("ID",))
    assert created(tmp_path, sql, present=less).read_at is not None


def test_the_dictionary_has_what_no_captured_table_says(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Less what it has since a later time."""
    for query in ("select id, n, v from other", "select 1 id, 2 n, f(3) v from dual", "select * from other, more"):
        visible = {TableId("DB", "LAB", "OTHER"): ("ID", "N"), TableId("DB", "LAB", "MORE"): ("V",)}
        table = created(tmp_path, f"create table fresh as {query}", visible=visible, known=(ITEM,))
        assert shown(table) == ["ID NUMBER None", "N NUMBER None NOT NULL", "V NUMBER None"]
        assert (table.read_at, table.key) == (None, ())
    assert "types of ID, N, V are read from the present dictionary" in caplog.text


def test_an_unqualified_source_is_in_the_current_schema_of_the_session(tmp_path: Path) -> None:
    """LogMiner's owner of an unqualified table is that schema; with a schema in the text it says nothing of it."""
    lab, app = TableId("DB", "LAB", "SRC"), TableId("DB", "APP", "SRC")
    both = {lab: ("ID",), app: ("V",)}
    own = created(tmp_path, "create table fresh as select * from src", visible=both, present=None)
    assert [column.name for column in own.columns] == ["ID"]
    sql = "create table lab.fresh as select * from src"
    other = created(tmp_path, sql, visible={app: ("V",)}, now={app: ("V",)})
    assert [column.name for column in other.columns] == ["V"]
    assert created(tmp_path, sql, visible=both, now=both).read_at is not None  # it may be either


def test_what_is_read_for_want_of_text_is_of_the_statement_where_no_ddl_came_since(tmp_path: Path) -> None:
    """So a later row of another version is no reason to suspend the table."""
    sql = "create table fresh as select * from table(f(1))"
    statement, now = NOON + timedelta(seconds=101), NOON + timedelta(seconds=105)
    for altered, read_at in (
        (statement, statement + timedelta(seconds=3)),
        (statement + timedelta(seconds=4), now),
        (None, now),
    ):
        assert created(tmp_path, sql, altered=altered).read_at == read_at


def test_a_table_for_exchange_has_the_stored_columns_of_the_other_table(tmp_path: Path) -> None:
    source = replace(SOURCE, stored=("ID", "", "N", "V"), parts=frozenset([71, 72]))
    for present in (None, NOW):
        table = created(tmp_path, "create table fresh for exchange with table src", known=(source,), present=present)
        assert (table.stored, table.key, table.read_at) == (source.stored, (), None)
        assert [column.type_name for column in table.columns] == ["NUMBER", "NUMBER", "VARCHAR2"]
        assert [column.nullable for column in table.columns] == [True, present is None, True]
    assert created(tmp_path, "create table fresh for exchange with table unknown").read_at is not None


@pytest.mark.parametrize(("seconds", "followed"), [(101, True), (200, False)])
def test_a_domain_that_is_dropped_takes_what_it_gave(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, seconds: int, followed: bool
) -> None:
    """The dictionary shows it, of a table without DDL since; else a warning does."""
    known = replace(
        SOURCE,
        columns=(SOURCE.columns[0], replace(SOURCE.columns[1], default="1"), replace(SOURCE.columns[2], nullable=False)),
        not_nulls=(NotNull("N", "SYS_C1"), NotNull("V", "V_NN")),
    )
    present = replace(
        known, columns=(known.columns[0], Column("N", "NUMBER", 5, 0), known.columns[2]), not_nulls=(NotNull("V", "V_NN"),)
    )
    ids = Ids({}, {SOURCE.id: NOON + timedelta(seconds=seconds)})
    for sql, is_forced in (
        ("drop domain lab.d force", True),
        ("drop usecase domain if exists d force", True),
        ("drop domain d", False),
    ):
        miner = Miner(tmp_path, tables=(known, ITEM), dictionary={SOURCE.id: present, ITEM_ID: ITEM}, ids=ids)
        redo = Redo()
        redo.ddl(A, sql, table="D")
        found = schema_changes(miner.read(redo.rows))
        assert [one.after for one in found] == [replace(present, version=2)] * (is_forced and followed)
    assert ("dropping a domain may have removed" in caplog.text) != followed


@pytest.mark.parametrize(
    ("sql", "shape", "loses"),
    [
        ("flashback table item to scn 5", True, False),
        ("flashback table item, other to timestamp systimestamp - interval '1' hour enable triggers", True, False),
        ("flashback table item to restore point r", True, False),
        ("flashback table gone to before drop rename to item", False, True),
        ('flashback table "BIN$x==$0" to before drop', False, True),
        ("undrop table item", False, True),
    ],
)
def test_flashback_of_a_table(tmp_path: Path, caplog: pytest.LogCaptureFixture, sql: str, shape: bool, loses: bool) -> None:
    """To a time it writes redo of its rows; from the recycle bin a table comes with rows that no redo has."""
    miner = Miner(tmp_path, tables=(ITEM,) if shape else (), dictionary={ITEM_ID: ITEM})
    redo = Redo()
    redo.ddl(A, sql)
    redo.dml(OpCode.INSERT, B, """insert into "LAB"."ITEM"("ID","QTY") values ('1','0');""", row_id="r1")
    redo.commit(B)
    events = miner.read(redo.rows)
    (change,) = schema_changes(events)
    assert change.after == ITEM
    assert ("rows were removed or added" in caplog.text) == loses
    assert [type(e) for e in events if isinstance(e, ChangeEvent | UndecodableRow)] == [ChangeEvent]


@pytest.mark.parametrize(
    ("back", "name"),
    [
        ("flashback table item to before drop", "ITEM"),
        ("flashback table lab.item to before drop rename to other", "OTHER"),
        ('flashback table "BIN$x==$0" to before drop', "ITEM"),
    ],
)
def test_a_table_comes_back_from_the_recycle_bin_as_it_was(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, back: str, name: str
) -> None:
    """Whatever the dictionary has by then. Its constraints have other names now, which later DDL uses."""
    dictionary: dict[TableId, TableSchema] = {ITEM_ID._replace(table=name): replace(ITEM, columns=ITEM.columns[:1])}
    miner = Miner(tmp_path, tables=(ITEM,), dictionary=dictionary)
    redo = Redo()
    redo.ddl(A, 'drop table item AS "BIN$x==$0"')
    redo.ddl(A, "create table item (other date)", object_id=78)
    redo.ddl(A, 'drop table item AS "BIN$y==$0"' if "BIN" in back else "drop table item purge", object_id=78)
    if "BIN" not in back:
        redo.ddl(A, "create table lab.item (id number)", object_id=79)
        redo.ddl(A, 'rename item to "aside"', object_id=79)
    redo.ddl(A, back)
    redo.dml(OpCode.INSERT, B, f"""insert into "LAB"."{name}"("ID","QTY") values ('1','0');""", row_id="r1", table=name)
    redo.commit(B)
    events = miner.read(redo.rows)
    change = [one for one in schema_changes(events) if "flashback" in one.ddl][-1]
    assert change.after is not None
    assert (change.after.id.table, change.after.columns, change.after.key) == (name, ITEM.columns, ITEM.key)
    assert change.after.object_id == ITEM.object_id
    assert "rows were removed or added" in caplog.text
    assert [event.after for event in events if isinstance(event, ChangeEvent)] == [("1", "0")]
