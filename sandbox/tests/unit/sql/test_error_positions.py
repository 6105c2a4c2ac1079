"""What users get wrong: Oracle's code, and where in the text it points (`^` marks the place in the statement)."""

from __future__ import annotations

import pytest
from sandbox.tests.unit.sql.client import SqlClient

CASES = [
    (900, "^selekt * from item"),
    (900, "^"),
    (902, "create table x (a ^nosuchtype)"),
    (903, "select * from ^where"),
    (904, "select ^nosuch from item"),
    (904, "select i.id, ^i.nosuch from item i"),
    (904, "insert into item (id, ^nosuch) values (1, 2)"),
    (904, "update item set ^nosuch = 1"),
    (904, "select ^nosuch(1) from dual"),
    (905, "select id from item fetch ^5 rows only"),
    (906, "create table x (a ^varchar2)"),
    (907, "select (1 + 2 ^from dual"),
    (908, "select 1 from dual where 1 is ^5"),
    (909, "select ^upper() from dual"),
    (911, "select ^? from dual"),
    (913, "insert into ^item (id) values (1, 2)"),
    (918, "select ^id from item a, item b"),
    (920, "select 1 from dual where ^1"),
    (923, "select 1 ^2 from dual"),
    (923, "select 1^"),
    (924, "select id from item order ^id"),
    (925, "insert ^item values (1)"),
    (926, "insert into item (id) ^"),
    (928, "insert all when 1 = 1 then into item (id) values (1) ^foo"),
    (932, "select 1 from dual where date '2026-01-01' ^= 1"),
    (933, "select 1 from dual garbage ^here"),
    (934, "select id from item where ^max(id) = 1"),
    (936, "select ^from dual"),
    (936, "select 1 + ^from dual"),
    (937, "select ^id, count(*) from item"),
    (938, "select ^replace('a') from dual"),
    (939, "select ^upper('a', 'b') from dual"),
    (942, "select * from ^nothing"),
    (942, "delete from ^nothing"),
    (942, "select id from item where id in (select 1 from ^nothing)"),
    (947, "insert into ^item (id, name) values (1)"),
    (955, "create table item (a number)"),
    (957, "insert into item (id, ^id) values (1, 2)"),
    (957, "create table x (a number, ^a number)"),
    (971, "update item id ^= 1"),
    (972, "select 1 as ^" + "x" * 129 + " from dual"),
    (979, "select ^name from item group by id"),
    (1400, "insert into item (id, name) values (9, null)"),
    (1407, "update item set name = null"),
    (1427, "select (select id from item) from dual"),
    (1430, "alter table item add name varchar2(5)"),
    (1438, "insert into item (id, name) values (1234567890, 'a')"),
    (1442, "alter table item modify name not null"),
    (1451, "alter table item modify price null"),
    (1476, "select 1 / 0 from dual"),
    (1722, "select to_number('x') from dual"),
    (1722, "select id from item where name = 1"),
    (1747, "select item.^from from item"),
    (1756, "select ^'abc from dual"),
    (1785, "select id from item order by ^2"),
    (1789, "select 1 from dual ^union select 1, 2 from dual"),
    (1790, "select 1 from dual ^union select 'a' from dual"),
    (1791, "select distinct id from item order by ^name"),
    (2253, "create table x (a number ^constraint c)"),
    (2260, "create table x (a number primary key, b number ^primary key)"),
    (2261, "create table x (a number, unique (a), ^unique (a))"),
    (2264, "create table x (a number constraint c unique, b number constraint c ^unique)"),
    (2270, "create table x (a number ^references item (price))"),
    (2289, "select ^nothing.nextval from dual"),
    (12899, "insert into item (id, name) values (9, rpad('x', 21))"),
    (30483, "select id from item where ^sum(id) over () > 1"),
]


@pytest.mark.parametrize(("code", "marked"), CASES)
def test_code_and_position(items: SqlClient, code: int, marked: str) -> None:
    at = marked.find("^")
    error = items.fails(code, marked.replace("^", "", 1))
    if at >= 0:
        assert error.position == at
