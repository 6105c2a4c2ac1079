"""JSON_VALUE, JSON_QUERY and JSON_EXISTS with basic paths, on text, CLOB and JSON."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sandbox.tests.unit.sql.client import SqlClient, connect

from minercdc_sandbox.server import sandbox_database

DOCUMENT = '{"a": {"b": [1, 2.50, {"c": "z"}]}, "n": null, "t": true, "odd name": "x", "list": [{"k": 7}]}'


@pytest.fixture(scope="module")
def shop() -> Iterator[SqlClient]:
    database = sandbox_database("23ai")
    client = connect(database)
    client.run("create table docs (id number, v varchar2(400), c clob, j json)")
    client.run("insert into docs values (1, :1, :2, :3)", DOCUMENT, DOCUMENT, DOCUMENT)
    client.run("insert into docs values (2, 'no json', null, null)")
    yield client
    database.close()


@pytest.mark.parametrize("column", ["v", "c", "j"])
@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("json_value({}, '$.a.b[0]')", "1"),
        ("json_value({}, '$.a.b[1]' returning number)", 2.5),
        ("json_value({}, '$.a.b[2].c')", "z"),
        ("json_value({}, '$.\"odd name\"')", "x"),
        ("json_value({}, '$.t')", "true"),
        ("json_value({}, '$.n')", None),
        ("json_value({}, '$.a')", None),
        ("json_value({}, '$.a.c' null on error)", None),
        ("json_value({}, '$.list.k' returning number)", 7),
        ("json_query({}, '$.a.b[2]')", '{"c":"z"}'),
        ("json_query({}, '$.a.b[0]')", None),
        ("json_query({}, '$')", DOCUMENT.replace(", ", ",").replace(": ", ":").replace("2.50", "2.5")),
    ],
)
def test_paths_lead_to_values(shop: SqlClient, column: str, expression: str, expected: object) -> None:
    assert shop.one(f"select {expression.format(column)} from docs where id = 1") == expected


def test_exists_is_a_condition(shop: SqlClient) -> None:
    assert shop.rows("select id from docs where json_exists(v, '$.a.b[2]')") == [(1,)]
    assert shop.rows("select id from docs where not json_exists(v, '$.a') order by id") == [(2,)]


@pytest.mark.parametrize(
    ("code", "expression"),
    [
        (40456, "json_value(v, '$.a' error on error)"),
        (40462, "json_value(v, '$.none' error on error)"),
        (40480, "json_query(v, '$.t' error on error)"),
        (40442, "json_value(v, 'a')"),
        (40442, "json_value(v, '$.')"),
        (40454, "json_value(v, id)"),
        (3001, "json_value(v, '$..a')"),
        (3001, "json_query(v, '$.a.b[*]')"),
        (3001, "json_query(v, '$.a' with wrapper)"),
        (3001, "json_value(v, '$.a' returning date)"),
    ],
)
def test_errors_of_paths(shop: SqlClient, code: int, expression: str) -> None:
    shop.fails(code, f"select {expression} from docs where id = 1")
