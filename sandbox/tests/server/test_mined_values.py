"""What LogMiner shows besides SQL: single values by MINE_VALUE, pretty statements, and why it did not start."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sandbox.tests.server.mining_lab import Lab, errors_of
from tests.fixtures.fix_sandbox import SandboxProcess

ITEM = "create table item (id number(10) primary key, name varchar2(80), qty number(12,3), d date)"


@pytest.fixture(scope="module")
def schema(sandbox: SandboxProcess) -> SandboxProcess:
    sandbox.create_user("lab")
    return sandbox


@pytest.fixture
def lab(schema: SandboxProcess) -> Iterator[Lab]:
    lab = Lab(schema)
    lab.run(ITEM, "alter table item add supplemental log data (primary key) columns")
    lab.mark()
    yield lab
    lab.drop_tables()
    lab.close()


def values(lab: Lab, column: str, operation: str) -> tuple[object, ...]:
    """New value, old value, and whether each is there."""
    functions = ", ".join(
        f"dbms_logmnr.{function}({value}, 'lab.item.{column}')"
        for function in ("mine_value", "column_present")
        for value in ("redo_value", "undo_value")
    )
    [row] = lab.mined(functions, f"operation = '{operation}'")
    return row


def test_values_of_each_operation(lab: Lab) -> None:
    lab.run("insert into item values (1, 'it''s', 2.5, to_date('2026-02-03 04:05:06', 'YYYY-MM-DD HH24:MI:SS'))")
    lab.run("update item set qty = null where id = 1", "delete from item")
    lab.commit()
    assert values(lab, "name", "INSERT") == ("it's", None, 1, 0)
    assert values(lab, "d", "INSERT") == ("2026-02-03 04:05:06", None, 1, 0)
    assert values(lab, "qty", "UPDATE") == (None, "2.5", 1, 1)
    assert values(lab, "id", "UPDATE") == (None, "1", 0, 1)
    assert values(lab, "name", "UPDATE") == (None, None, 0, 0)
    assert values(lab, "qty", "DELETE") == (None, None, 0, 1)
    assert values(lab, "name", "DELETE") == (None, "it's", 0, 1)


def test_values_in_conditions_and_across_queries(lab: Lab) -> None:
    lab.cursor.executemany("insert into item (id, qty) values (:1, :2)", [(n, n) for n in range(1, 6)])
    lab.run("update item set qty = qty * id where id > 1")
    lab.commit()
    lab.start()
    doubled = (
        "select dbms_logmnr.mine_value(undo_value, 'LAB.ITEM.ID') from v$logmnr_contents where operation = 'UPDATE' and "
        "dbms_logmnr.mine_value(redo_value, 'LAB.ITEM.QTY') > 3 * dbms_logmnr.mine_value(undo_value, 'LAB.ITEM.QTY')"
    )
    assert lab.mining.execute(doubled).fetchall() == [("4",), ("5",)]
    handles = lab.mining.execute(
        "select to_char(redo_value) from v$logmnr_contents where operation = 'INSERT' and seg_owner = 'LAB' order by redo_value"
    ).fetchall()
    lab.start()  # nothing is remembered of the query before
    statement = "select dbms_logmnr.mine_value(to_number(:1), 'LAB.ITEM.QTY') from dual"
    assert [lab.mining.execute(statement, list(handle)).fetchone()[0] for handle in handles] == list("12345")


def test_wrong_names_and_states(lab: Lab) -> None:
    lab.run("insert into item (id) values (1)")
    lab.commit()
    lab.start()
    sql = "select dbms_logmnr.mine_value(redo_value, '{}') from v$logmnr_contents where operation = 'INSERT' and seg_owner = 'LAB'"
    assert "ORA-00904" in errors_of(lab.mining.connection, sql.format("ITEM.ID"))
    assert "ORA-00904" in errors_of(lab.mining.connection, sql.format("LAB.ITEM.NONE"))
    assert lab.mining.execute(sql.format("LAB.OTHER.ID")).fetchall() == [(None,)]
    assert "ORA-01323" in errors_of(lab.connection, "select dbms_logmnr.mine_value(1, 'LAB.ITEM.ID') from dual")


def test_pretty_statements(lab: Lab) -> None:
    lab.run("insert into item (id, name) values (1, 'a')", "update item set name = null, qty = 2", "delete from item")
    lab.commit()
    found = lab.redo("operation_code in (1, 2, 3)", options=" + dbms_logmnr.print_pretty_sql")
    assert found == [
        'insert into "LAB"."ITEM"\n values\n    "ID" = \'1\',\n    "NAME" = \'a\',\n    "QTY" IS NULL,\n    "D" IS NULL;',
        'update "LAB"."ITEM"\n  set\n    "NAME" = NULL,\n    "QTY" = \'2\'\n  where\n    "ID" = \'1\' and\n    "NAME" = \'a\' and\n'
        '    "QTY" IS NULL;',
        'delete from "LAB"."ITEM"\n where\n    "ID" = \'1\' and\n    "NAME" IS NULL and\n    "QTY" = \'2\' and\n    "D" IS NULL;',
    ]
    [undo] = lab.mined("sql_undo", "operation_code = 1", options=" + dbms_logmnr.print_pretty_sql", row_ids=True)
    assert undo[0].startswith('delete from "LAB"."ITEM"\n where\n    "ID" = \'1\' and\n')
    assert " and\n    ROWID = 'AAA" in undo[0]


def test_parameters_of_a_start_that_failed(lab: Lab) -> None:
    lab.start()
    options = lab.mining.execute("select options, status, info from v$logmnr_parameters").fetchone()
    assert options is not None
    assert options[1:] == (0, None)
    error = errors_of(
        lab.mining.connection, "begin dbms_logmnr.start_logmnr(startscn => 20, endscn => 10, options => 16); end;"
    )
    assert "ORA-01281" in error
    sql = "select start_scn, end_scn, options, status, info from v$logmnr_parameters"
    assert lab.mining.execute(sql).fetchall() == [(20, 10, 16, 1, "SCN range specified is invalid")]
    lab.start()
    assert lab.mining.execute("select status from v$logmnr_parameters").fetchall() == [(0,)]
    lab.mining.execute("begin dbms_logmnr.end_logmnr; end;")
    assert lab.mining.execute(sql).fetchall() == []
