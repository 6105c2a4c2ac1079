"""PL/SQL blocks: declarations, control flow, cursors, collections, exceptions, dynamic SQL, and their errors."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sandbox.tests.unit.sql.client import SqlClient, connect

from minercdc_sandbox.server import sandbox_database


@pytest.fixture(params=["19c", "23ai"])
def shop(request: pytest.FixtureRequest) -> Iterator[SqlClient]:
    database = sandbox_database(request.param)
    client = connect(database)
    client.run("create table items (id number primary key, name varchar2(10), price number(6,2))")
    client.run("begin for i in 1..4 loop insert into items values (i, 'item '||i, i * 1.5); end loop; commit; end;")
    yield client
    database.close()


def said(client: SqlClient, declarations: str, statements: str) -> object:
    """The value a block gives `said`."""
    client.run("create global temporary table answer (v varchar2(200)) on commit preserve rows")
    client.run(f"declare said varchar2(200); {declarations} begin {statements} insert into answer values (said); end;")
    return client.one("select v from answer")


VALUES = [
    ("n number := 3; c constant number := 4;", "said := n * c;", "12"),
    ("n number(3);", "n := 2.6; said := n;", "3"),
    ("v items.name%type := 'abc';", "said := upper(v) || length(v);", "ABC3"),
    ("r items%rowtype;", "select * into r from items where id = 2; said := r.name || r.price;", "item 23"),
    ("type r is record (a number, b varchar2(3)); x r;", "x.a := 1; x.b := 'q'; said := x.a || x.b;", "1q"),
    ("", "if 1 = 2 then said := 'a'; elsif null then said := 'b'; else said := 'c'; end if;", "c"),
    ("n number := 2;", "case n when 1 then said := 'a'; when 2 then said := 'b'; end case;", "b"),
    ("n number := 2;", "case when n > 5 then said := 'a'; else said := 'b'; end case;", "b"),
    ("n number := 0;", "while n < 5 loop n := n + 2; end loop; said := n;", "6"),
    ("", "for i in reverse 1..3 loop said := said || i; end loop;", "321"),
    ("", "for i in 3..1 loop said := said || i; end loop;", None),
    ("", "for i in 1..9 loop continue when mod(i, 2) = 0; exit when i > 5; said := said || i; end loop;", "135"),
    ("", "<<o>> for i in 1..3 loop for j in 1..3 loop continue o when j = 2; said := said||i||j; end loop; end loop;", "112131"),
    ("", "<<a>> declare said number := 5; begin said := said + 1; end; said := nvl(said, 'kept');", "kept"),
    ("b boolean := true;", "if b and not (1 = 2) then said := 'yes'; end if;", "yes"),
    ("b boolean;", "b := 1 = 1 and null; if b is null then said := 'unknown'; end if;", "unknown"),
    ("n number := 0;", "if n = 0 or 1 / n > 1 then said := 'short'; end if;", "short"),
    ("cursor c is select id from items order by id; n number;", "open c; fetch c into n; said := n || c%rowcount; close c;", "11"),
    (
        "cursor c(low number) is select * from items where id >= low order by id; r c%rowtype;",
        "open c(3); loop fetch c into r; exit when c%notfound; said := said || r.id; end loop; close c;",
        "34",
    ),
    ("", "for r in (select id, name from items where id > 2) loop said := said || r.id || r.name; end loop;", "3item 34item 4"),
    ("cursor c is select id from items;", "for r in c loop said := said || r.id; end loop;", "1234"),
    ("c sys_refcursor; n number;", "open c for 'select id from items where id > :1' using 3; fetch c into n; said := n;", "4"),
    ("type t is table of varchar2(9) index by pls_integer; a t;", "a(7) := 'x'; a(-1) := 'y'; said := a.first||a.last||a.count;", "-172"),
    ("type t is table of number index by varchar2(9); a t;", "a('k') := 1; a('b') := 2; said := a.next('b')||a('k');", "k1"),
    ("type t is table of number; a t := t(5, 6);", "a.extend; a(3) := 7; a.delete(1); said := a.count||a(3);", "27"),
    ("type t is table of items%rowtype; a t;", "select * bulk collect into a from items; said := a.count || a(2).name;", "4item 2"),
    ("n number;", "select count(*) into n from items where id > 99; said := n || sql%rowcount;", "01"),
    ("n number;", "update items set price = 1 where id < 4; n := sql%rowcount; if sql%found then said := n; end if;", "3"),
    ("n number;", "delete items where id = 4 returning price into n; said := n;", "6"),
    ("n number;", "begin select id into n from items where id = 9; exception when no_data_found then said := sqlcode; end;", "100"),
    ("n number;", "begin select id into n from items; exception when too_many_rows then said := sqlerrm; end;",
     "ORA-01422: exact fetch returns more than requested number of rows"),
    ("", "begin insert into items (id) values (1); exception when dup_val_on_index then said := 'twice'; end;", "twice"),
    ("e exception; pragma exception_init(e, -942);", "begin execute immediate 'drop table none'; exception when e then said := 'e'; end;", "e"),
    ("e exception;", "begin raise e; exception when e then said := sqlcode || sqlerrm; end;", "1User-Defined Exception"),
    ("", "begin raise_application_error(-20001, 'no'); exception when others then said := sqlerrm; end;", "ORA-20001: no"),
    ("n number;", "execute immediate 'select max(id) from items where id < :a' into n using 3; said := n;", "2"),
    ("n number := 5;", "execute immediate 'begin :x := :x * 2; end;' using in out n; said := n;", "10"),
    ("function f(n number) return number is begin if n < 2 then return 1; end if; return n * f(n - 1); end;", "said := f(5);", "120"),
    ("procedure p(a number, b out varchar2) is begin b := 'p' || a; end;", "p(3, said);", "p3"),
    ("id number := 2;", "select name into said from items where items.id = id and rownum = 1;", "item 1"),
]  # fmt: skip


@pytest.mark.parametrize(("declarations", "statements", "expected"), VALUES, ids=[s[:60] for _, s, _ in VALUES])
def test_blocks_compute(shop: SqlClient, declarations: str, statements: str, expected: object) -> None:
    assert said(shop, declarations, statements) == expected


def test_forall_inserts_records_and_counts(shop: SqlClient) -> None:
    shop.run(
        "declare type t is table of items%rowtype; a t; begin select * bulk collect into a from items;"
        " for i in 1..a.count loop a(i).id := a(i).id + 10; end loop;"
        " forall i in 1..a.count insert into items values a(i);"
        " if sql%bulk_rowcount(2) <> 1 or sql%rowcount <> 4 then raise program_error; end if; end;"
    )
    assert shop.one("select sum(id) from items") == 60


def test_an_autonomous_block_commits_alone(shop: SqlClient) -> None:
    shop.run("update items set name = 'open' where id = 1")
    shop.run("declare pragma autonomous_transaction; begin insert into items (id) values (50); commit; end;")
    shop.fails(6519, "declare pragma autonomous_transaction; begin insert into items (id) values (51); end;")
    shop.session.rollback()
    assert shop.rows("select id, name from items where id in (1, 50, 51) order by id") == [(1, "item 1"), (50, None)]


def test_a_block_is_undone_but_what_a_handler_caught_is_not(shop: SqlClient) -> None:
    shop.run(
        "begin delete items; begin insert into items values (1, 'x', 1); raise zero_divide; exception when others then null; end; end;"
    )
    assert shop.rows("select id from items") == [(1,)]
    shop.fails(1476, "declare n number := 0; begin delete items; n := 1 / n; end;")
    assert shop.rows("select id from items") == [(1,)]


ERRORS = [
    (6550, "begin\n  insert into nope values (1); end;", "line 2, column 15:\nPL/SQL: ORA-00942"),
    (6550, "begin\n insert into items (id, nope) values (1, 2); end;", "PL/SQL: ORA-00904"),
    (6550, "begin\n x := 1; end;", "line 2, column 2:\nPLS-00201: identifier 'X' must be declared"),
    (6550, "declare n constant number := 1; begin n := 2; end;", "PLS-00363"),
    (6550, "declare n number; n number; begin null; end;", "PLS-00371"),
    (6550, "declare v varchar2; begin null; end;", "PLS-00215"),
    (6550, "begin select id from items; end;", "PLS-00428"),
    (6550, "begin null; end", 'PLS-00103: Encountered the symbol "end-of-file"'),
    (6550, "begin goto x; end;", "PLS-00375"),
    (1403, "declare n number; begin\n\nselect id into n from items where id = 0; end;", "ORA-06512: at line 3"),
    (6502, "declare v varchar2(2); begin v := 'abc'; end;", "character string buffer too small"),
    (6502, "declare n number(2); begin n := 100; end;", "number precision too large"),
    (6502, "declare n number; begin n := 'x'; end;", "character to number conversion error"),
    (6504, "declare type t is table of number; a t; c sys_refcursor; begin open c for 'select id, name from items';"
     " fetch c bulk collect into a; end;", "do not match"),
    (6504, "declare type t is table of number; a t; b t; c sys_refcursor; begin open c for 'select id from items';"
     " fetch c bulk collect into a, b; end;", "do not match"),
    (6592, "begin case 1 when 2 then null; end case; end;", "CASE not found"),
    (6510, "declare e exception; begin raise e; end;", "unhandled user-defined exception"),
    (1001, "declare cursor c is select 1 from dual; n number; begin fetch c into n; end;", "invalid cursor"),
    (20002, "declare procedure p is begin\nraise_application_error(-20002, 'deep'); end;\nbegin p; end;",
     "ORA-20002: deep\nORA-06512: at line 2\nORA-06512: at line 3"),
    (6531, "declare type t is table of number; a t; begin a(1) := 1; end;", "uninitialized collection"),
    (6533, "declare type t is table of number; a t := t(1); begin a(2) := 1; end;", "Subscript beyond count"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "block", "text"), ERRORS, ids=[b[:50] for _, b, _ in ERRORS])
def test_errors_as_oracle_reports_them(shop: SqlClient, code: int, block: str, text: str) -> None:
    assert text in str(shop.fails(code, block))


def test_types_are_refused_by_name(shop: SqlClient) -> None:
    error = shop.fails(3001, "create or replace type thing as object (n number)")
    assert "create or replace type thing" in str(error)
