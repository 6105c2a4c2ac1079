"""One scripted history, and what its committed transactions are: every adapter has to deliver this.

Statements run in order, each in its session. A transaction of the model is the list of its row changes in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import oracledb

TABLES = (
    "create table customer (id number(9) primary key, name varchar2(20), seen date)",
    "create table orders (id number(9) primary key, customer number(9), total number(12,2))",
    "create table note (text varchar2(40))",
)
LOGGED = "alter table {} add supplemental log data (all) columns"

Values = tuple[str | None, ...]


@dataclass(frozen=True)
class Change:
    """One row change in canonical text."""

    op: str
    table: str
    before: Values | None
    after: Values | None


def _created(table: str, *after: str | None) -> Change:
    return Change("c", table, None, after)


def _updated(table: str, before: Values, after: Values) -> Change:
    return Change("u", table, before, after)


def _deleted(table: str, *before: str | None) -> Change:
    return Change("d", table, before, None)


STATEMENTS: Sequence[tuple[str, str]] = (
    # every kind of DML, over several tables
    ("one", "insert into customer values (1, 'Ada', date '2026-01-02')"),
    ("one", "insert into orders values (10, 1, 99.5)"),
    ("one", "update customer set name = 'Ada L.' where id = 1"),
    ("one", "commit"),
    # two transactions that overlap: the second begins first and commits last
    ("two", "insert into customer values (2, 'Grace', null)"),
    ("one", "insert into orders values (11, 1, 1)"),
    ("one", "commit"),
    ("two", "insert into orders values (12, 2, -0.25)"),
    ("two", "commit"),
    # rolled back as a whole, and to a savepoint
    ("one", "insert into customer values (3, 'noname', null)"),
    ("one", "delete from orders where id = 10"),
    ("one", "rollback"),
    ("two", "update orders set total = 2 where id = 11"),
    ("two", "savepoint here"),
    ("two", "update orders set total = 3 where id = 11"),
    ("two", "insert into orders values (13, 2, 13)"),
    ("two", "rollback to here"),
    ("two", "insert into orders values (14, 2, 14)"),
    ("two", "commit"),
    # key change, delete, several images of one row in one transaction
    ("one", "update customer set id = 20, name = 'Grace H.' where id = 2"),
    ("one", "commit"),
    ("one", "update orders set total = 5 where id = 12"),
    ("one", "update orders set total = 6 where id = 12"),
    ("one", "delete from orders where id = 10"),
    ("one", "commit"),
    # a table without a key, and text that SQL has to quote
    ("two", "insert into note values ('it''s \"quoted\" ; -- not a comment')"),
    ("two", "commit"),
    ("two", "delete from note"),
    ("two", "commit"),
)

TRANSACTIONS: Sequence[Sequence[Change]] = (
    (
        _created("CUSTOMER", "1", "Ada", "2026-01-02 00:00:00"),
        _created("ORDERS", "10", "1", "99.5"),
        _updated("CUSTOMER", ("1", "Ada", "2026-01-02 00:00:00"), ("1", "Ada L.", "2026-01-02 00:00:00")),
    ),
    (_created("ORDERS", "11", "1", "1"),),
    (_created("CUSTOMER", "2", "Grace", None), _created("ORDERS", "12", "2", "-0.25")),
    (_updated("ORDERS", ("11", "1", "1"), ("11", "1", "2")), _created("ORDERS", "14", "2", "14")),
    (_updated("CUSTOMER", ("2", "Grace", None), ("20", "Grace H.", None)),),
    (
        _updated("ORDERS", ("12", "2", "-0.25"), ("12", "2", "5")),
        _updated("ORDERS", ("12", "2", "5"), ("12", "2", "6")),
        _deleted("ORDERS", "10", "1", "99.5"),
    ),
    (_created("NOTE", 'it\'s "quoted" ; -- not a comment'),),
    (_deleted("NOTE", 'it\'s "quoted" ; -- not a comment'),),
)


def write(sessions: dict[str, oracledb.Connection], statements: Sequence[tuple[str, str]] = STATEMENTS) -> None:
    """Run the statements."""
    for session, statement in statements:
        with sessions[session].cursor() as cursor:
            cursor.execute(statement)
