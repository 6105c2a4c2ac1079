"""Views as virtual tables that stream, and PL/SQL blocks that call registered packages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pytest
from sandbox.tests.unit.sql.client import SqlClient, connect

from minercdc_sandbox.database import SandboxDatabase
from minercdc_sandbox.interfaces import Argument, Cell, ColumnDescription, OraError, OraType, Session, View
from minercdc_sandbox.sql import number

PRODUCED: list[int] = []
CALLS: list[tuple[str, list[object], dict[str, object]]] = []


def numbers(session: Session) -> Iterator[tuple[Cell, ...]]:
    for n in range(1000):
        PRODUCED.append(n)
        yield number.integer(n), f"name {n % 3}", None if n % 2 else "SHOP"


def failing(session: Session) -> Iterator[tuple[Cell, ...]]:
    raise OraError(1306, "dbms_logmnr.start_logmnr() must be invoked before selecting from v$logmnr_contents")
    yield ()


def called(name: str) -> object:
    def procedure(session: Session, positional: Sequence[Argument], named: Mapping[str, Argument]) -> None:
        plain = [number.to_int(a.value) if isinstance(a.value, bytes) else a.value for a in positional]
        by_name = {k: number.to_int(a.value) if isinstance(a.value, bytes) else a.value for k, a in named.items()}
        CALLS.append((name, list(plain), dict(by_name)))

    return procedure


@pytest.fixture
def db() -> Iterator[SandboxDatabase]:
    columns = (
        ColumnDescription("N#", OraType.NUMBER, 0, -127, 22),
        ColumnDescription("NAME", OraType.VARCHAR2, size=20),
        ColumnDescription("SEG_OWNER", OraType.VARCHAR2, size=30),
    )
    database = SandboxDatabase(
        views=[View("V$NUMBERS", columns, numbers), View("V$BROKEN", columns, failing)],
        procedures={"DBMS_X.RUN": called("run"), "DBMS_X.STOP": called("stop")},  # type: ignore[dict-item]
        constants={"DBMS_X.A": 16, "DBMS_X.B": 2048},
    )
    PRODUCED.clear()
    CALLS.clear()
    yield database
    database.close()


@pytest.fixture
def shop(db: SandboxDatabase) -> SqlClient:
    return connect(db)


def test_predicates_like_a_connectors(shop: SqlClient) -> None:
    sql = (
        "select n#, upper(seg_owner||'.'||name) from v$numbers where n# > :1 and n# <= :2 and name in ('name 1', 'name 2')"
        " and (seg_owner is null or seg_owner not in ('SYS')) and (name is null or upper(seg_owner||'.'||name) in ('SHOP.NAME 1'))"
    )
    assert shop.rows(sql, "5", "20") == [(10, "SHOP.NAME 1"), (16, "SHOP.NAME 1")]


def test_a_view_streams(shop: SqlClient) -> None:
    rows = shop.run("select n# from sys.v_$numbers where mod(n#, 2) = 0").rows
    assert rows is not None
    assert len(rows.fetch(5)) == 5
    assert len(PRODUCED) < 50
    rows.close()


def test_views_join_with_each_other_and_with_tables(shop: SqlClient) -> None:
    assert shop.one("select count(*) from v$numbers a, v$numbers b where a.n# = b.n# and a.n# < 10") == 10
    assert len(PRODUCED) <= 2000, "a small view is produced once per scan of a statement, not once per row"
    shop.run("create table t (id number)")
    shop.run("insert into t values (7)")
    assert shop.rows("select t.id, v.name from t left join v$numbers v on v.n# = t.id") == [(7, "name 1")]
    assert shop.rows("with w as (select n# x from v$numbers where rownum <= 3) select max(x) from w") == [(2,)]


def test_a_views_error_reaches_the_client(shop: SqlClient) -> None:
    shop.fails(1306, "select * from v$broken")
    shop.fails(942, "select * from v$nosuch")
    shop.fails(2030, "delete from v$numbers")


def test_scanning_a_view_locks_no_other_session_out(db: SandboxDatabase, shop: SqlClient) -> None:
    rows = shop.run("select n# from v$numbers").rows
    assert rows is not None
    rows.fetch(1)
    other = connect(db)
    other.run("create table t (id number)")
    assert len(rows.fetch(2000)) == 999


def test_blocks_call_procedures(shop: SqlClient) -> None:
    shop.run("BEGIN sys.dbms_x.run(logfilename => '/a''b', options => DBMS_X.A + sys.dbms_x.b); DBMS_X.STOP; NULL; END;")
    shop.run("begin dbms_x.run(:one, 2, opt => :two, again => :one); dbms_x.stop(); end;", 5, "x")
    shop.run("call dbms_x.run(1)")
    assert CALLS == [
        ("run", [], {"LOGFILENAME": "/a'b", "OPTIONS": 2064}),
        ("stop", [], {}),
        ("run", [5, 2], {"OPT": "x", "AGAIN": 5}),
        ("stop", [], {}),
        ("run", [1], {}),
    ]


def test_blocks_run_plain_sql(shop: SqlClient) -> None:
    shop.run("create table t (id number, v varchar2(5))")
    shop.run("begin insert into t values (:n, :v); update t set v = :v||'!' where id = :n; commit; end;", 1, "a")
    assert shop.rows("select * from t") == [(1, "a!")]
    with pytest.raises(OraError):
        shop.run("begin insert into t values (2, 'b'); insert into t values ('x', 'c'); end;")
    shop.run("insert into t values (3, 'c')")
    with pytest.raises(OraError):
        shop.run("begin insert into t values (4, 'd'); insert into t values ('x', 'e'); end;")
    assert shop.rows("select id from t order by id") == [(1,), (3,)]


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ("begin dbms_y.run; end;", "PLS-00201: identifier 'DBMS_Y.RUN' must be declared"),
        ("begin\n  dbms_x.run(dbms_x.c); end;", "line 2, column 14"),
        ("begin if 1=1 then null; end; end;", "PLS-00103"),
        ("begin null end;", "PLS-00103"),
        ("begin null;", "PLS-00103"),
        ("begin dbms_x.run(a => 1, 2); end;", "PLS-00312"),
    ],
)
def test_what_blocks_cannot_do(shop: SqlClient, block: str, text: str) -> None:
    assert text in str(shop.fails(6550, block))


def test_views_of_the_past(items: SqlClient) -> None:
    items.run("create view cheap as select id, price, (select count(*) from item) as all_items from item where price < 3")
    items.run("create view cheaper (id) as select c.id from cheap c, item i where c.id = i.id and i.price < 2")
    before = items.one("select max(ora_rowscn) from item")
    items.run("update item set price = price + 1")
    items.run("delete from item where id = 3")
    items.session.commit()
    assert items.rows("select * from cheap order by id") == [(1, 2, 2)]
    assert items.rows("select * from cheap as of scn :1 order by id", before) == [(1, 1, 3), (2, 2, 3)]
    assert items.rows("select v.id, i.price from cheaper as of scn :1 v join item i on i.id = v.id", before) == [(1, 2)]
    items.run("drop view cheaper")
    items.run("alter table item add (extra number)")
    items.fails(1466, "select * from cheap as of scn :1", before)
    items.fails(3001, "select * from cheap versions between scn minvalue and maxvalue")
