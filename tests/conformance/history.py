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
    'create table "odd.\u00e9" ("Key" number(9) primary key, period varchar2(9), "select" date, "a.b" varchar2(9))',
)
ODD = "odd.\u00e9"
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
    # names in lower case, with a dot, beyond ASCII, and words of the grammar
    ("one", """insert into "odd.\u00e9" ("Key", period, "select", "a.b") values (1, 'where', date '2026-03-01', '"x"')"""),
    ("one", "commit"),
    ("one", """update "odd.\u00e9" set "select" = null, "a.b" = 'set' where "Key" = 1"""),
    ("one", """insert into "odd.\u00e9" ("Key", "select") values (2, date '2026-03-02')"""),
    ("one", "commit"),
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
    (_created(ODD, "1", "where", "2026-03-01 00:00:00", '"x"'),),
    (
        _updated(ODD, ("1", "where", "2026-03-01 00:00:00", '"x"'), ("1", "where", None, "set")),
        _created(ODD, "2", None, "2026-03-02 00:00:00", None),
    ),
)

DDL_TABLES = (
    "create table parted (id number(9) primary key, v varchar2(9)) partition by range (id) (partition p1 values less than (10),"
    " partition p2 values less than (20), partition p3 values less than (30), partition p4 values less than (40),"
    " partition p5 values less than (maxvalue))",
    "create table divided (id number(9) primary key, r varchar2(9)) partition by range (id) subpartition by list (r)"
    " subpartition template (subpartition x values ('x'), subpartition y values ('y'), subpartition z values (default))"
    " (partition p1 values less than (10), partition p2 values less than (maxvalue))",
    "create table swap (id number(9) primary key, v varchar2(9))",
    "create table keyed (id number(9) constraint keyed_pk primary key, code varchar2(9) not null)",
)
"""Tables of `PHASES`."""


@dataclass(frozen=True)
class Phase:
    """A transaction, and then DDL.

    :param key: names of the columns that are the key of KEYED in it.
    """

    statements: Sequence[str]
    changes: Sequence[Change]
    ddl: Sequence[str]
    key: tuple[str, ...] = ("ID",)


PHASES: Sequence[Phase] = (
    Phase(
        (
            *(f"insert into parted values ({key}, '{value}')" for key, value in ((1, "a"), (11, "b"), (21, "c"))),
            *(
                f"insert into divided values ({key}, '{value}')"
                for key, value in ((1, "x"), (2, "y"), (3, "q"), (11, "x"), (12, "q"))
            ),
        ),
        (
            *(_created("PARTED", key, value) for key, value in (("1", "a"), ("11", "b"), ("21", "c"))),
            *(
                _created("DIVIDED", key, value)
                for key, value in (("1", "x"), ("2", "y"), ("3", "q"), ("11", "x"), ("12", "q"))
            ),
        ),
        (
            "alter table parted split partition p1 at (5) into (partition p0, partition p6)",
            "alter table divided split partition p1 at (3) into (partition p3, partition p4)",
            "alter table divided drop subpartition p2_x",
        ),
    ),
    Phase(
        (
            "insert into parted values (2, 'd')",
            "update parted set v = 'b2' where id = 11",
            "delete from divided where id = 12",
            "insert into divided values (13, 'y')",
        ),
        (
            _created("PARTED", "2", "d"),
            _updated("PARTED", ("11", "b"), ("11", "b2")),
            _deleted("DIVIDED", "12", "q"),
            _created("DIVIDED", "13", "y"),
        ),
        (
            "alter table parted merge partitions p2, p3 into partition p7",
            "alter table divided merge subpartitions p2_y, p2_z into subpartition p2_all",
        ),
    ),
    Phase(
        ("delete from parted where id = 2", "insert into parted values (31, 'e')", "insert into parted values (41, 'f')"),
        (_deleted("PARTED", "2", "d"), _created("PARTED", "31", "e"), _created("PARTED", "41", "f")),
        ("alter table parted truncate partition p5", "alter table parted drop partition p4"),
    ),
    Phase(
        ("insert into parted values (42, 'g')", "insert into keyed values (1, 'one')"),
        (_created("PARTED", "42", "g"), _created("KEYED", "1", "one")),
        ("alter table parted rename partition p5 to rest", "alter table keyed disable constraint keyed_pk"),
    ),
    Phase(
        ("insert into swap values (6, 's')", "update keyed set code = 'two' where id = 1"),
        (_created("SWAP", "6", "s"), _updated("KEYED", ("1", "one"), ("1", "two"))),
        (
            "alter table parted exchange partition p6 with table swap",
            "alter table keyed enable constraint keyed_pk",
            "alter table keyed drop primary key",
        ),
        (),
    ),
    Phase(
        ("update parted set v = 's2' where id = 6", "update keyed set code = 'three' where id = 1"),
        (_updated("PARTED", ("6", "s"), ("6", "s2")), _updated("KEYED", ("1", "two"), ("1", "three"))),
        ("alter table keyed add constraint keyed_code primary key (code)",),
        (),
    ),
    Phase(("insert into keyed values (1, 'four')",), (_created("KEYED", "1", "four"),), (), ("CODE",)),
)
"""Partitions that go, and keys that change, each after rows were written. No partition comes and goes: of such a one a reader that
comes later cannot know whose it was."""


def write(sessions: dict[str, oracledb.Connection], statements: Sequence[tuple[str, str]] = STATEMENTS) -> None:
    """Run the statements, each in its session."""
    for session, statement in statements:
        with sessions[session].cursor() as cursor:
            cursor.execute(statement)
