"""What DDL text says of partitions: their names, the table of an exchange, and what makes more of them."""

from __future__ import annotations

import pytest

from minercdc.schema.ddl.parser import parse_ddl
from minercdc.schema.ddl.statements import AlterTable, CreateTable, TableName, TruncateTable, Unclear


def altered(clause: str) -> AlterTable:
    statement = parse_ddl(f"alter table item {clause};")
    assert isinstance(statement, AlterTable), statement
    return statement


@pytest.mark.parametrize(
    ("clause", "made"),
    [
        ("add partition p values less than (9)", ("P",)),
        ('add partition p values (1, 2), partition "q r" values (default)', ("P", "q r")),
        ("add partition p values (1) (subpartition s values (1), subpartition t values (2))", ("P", "S", "T")),
        ("add partition p values (1) (subpartition s values (1), subpartition values (2))", None),
        ("add partition", None),
        ("add partition values less than (9)", None),
        ("add partition update indexes", None),
        ("add partition interval values less than (3)", ("INTERVAL",)),
        ("split partition p at (5) into (partition a tablespace x, partition b) update indexes", ("A", "B")),
        ("split partition p at (5) into (partition, partition b)", None),
        ("split partition p at (5)", None),
        ("split subpartition s values (1) into (subpartition a, subpartition b)", ("A", "B")),
        ("merge partitions p, q into partition r", ("R",)),
        ("merge partitions p to q", None),
        ("modify partition p add subpartition s values (5)", ("S",)),
        ("modify partition p add subpartition", None),
        ("modify partition p add values (3)", ()),
        ("modify partition p coalesce subpartition", ()),
        ("modify partition p unusable local indexes", ()),
        ("modify partition by hash (id) partitions 4 online", None),
        ("modify nonpartitioned", None),
        ("coalesce partition", ()),
        ("drop partition p", ()),
        ("drop partition for (into)", ()),
        ("exchange partition p with table x", ()),
        ("truncate partition p", ()),
        ("move partition p online", ()),
    ],
)
def test_the_partitions_that_a_statement_makes_are_known_where_it_names_them_all(
    clause: str, made: tuple[str, ...] | None
) -> None:
    assert altered(clause).parts.made == made


@pytest.mark.parametrize(
    ("clause", "exchanged", "cascades"),
    [
        ("exchange partition p with table x", TableName(None, "X"), False),
        ("exchange partition p with table lab.x including indexes without validation", TableName("LAB", "X"), False),
        ('exchange subpartition "with table" with table "L"."x y"', TableName("L", "x y"), False),
        ("exchange partition for (to_date('with table z', 'x')) with table x cascade", TableName(None, "X"), True),
        ("exchange partition p with table x update indexes parallel 4 cascade", TableName(None, "X"), True),
        ("exchange partition p with table cascade", TableName(None, "CASCADE"), False),
        ("truncate partition p cascade", None, True),
        ("truncate partitions p, q drop all storage update indexes cascade", None, True),
        ("truncate partition cascade", None, False),
        ("truncate partitions p, cascade", None, False),
        ("truncate subpartition for (1, 2) cascade", None, True),
        ("shrink space cascade", None, False),
        ("drop partition p", None, False),
    ],
)
def test_the_table_of_an_exchange_and_cascade(clause: str, exchanged: TableName | None, cascades: bool) -> None:
    parts = altered(clause).parts
    assert (parts.exchanged, parts.cascades) == (exchanged, cascades)


def test_an_exchange_without_a_table_is_not_understood_and_takes_rows_all_the_same() -> None:
    statement = parse_ddl("alter table item exchange partition p with 'x'")
    assert isinstance(statement, Unclear)
    assert statement.loses_rows


@pytest.mark.parametrize(
    ("sql", "cascades"),
    [
        ("truncate table p cascade", True),
        ("truncate table p drop storage cascade ;", True),
        ("truncate table p purge materialized view log", False),
        ("truncate table cascade", False),
        ("truncate table lab.cascade", False),
    ],
)
def test_truncate_cascades(sql: str, cascades: bool) -> None:
    statement = parse_ddl(sql)
    assert isinstance(statement, TruncateTable)
    assert statement.cascades is cascades


@pytest.mark.parametrize(
    ("tail", "source"),
    [
        ("partition by range (d) (partition p values less than (maxvalue))", "DDL"),
        ("partition by range (d) interval (numtoyminterval(1, 'MONTH')) (partition p values less than (1))", "ROWS"),
        ("partition by list (n) automatic (partition p values (1))", "ROWS"),
        ("partition by list (n) (partition automatic values (1), partition interval values (2))", "DDL"),
        ("partition by reference (fk)", "PARENT"),
        ("partition by hash (n) partitions 4", "DDL"),
        ("tablespace x organization index", "DDL"),
        ("tablespace interval", ""),
    ],
)
def test_what_makes_the_partitions_of_a_new_table(tail: str, source: str) -> None:
    statement = parse_ddl(f"create table t (n number, interval number, d date, constraint fk check (interval > (1))) {tail}")
    assert isinstance(statement, CreateTable), statement
    assert statement.parts_from == source


@pytest.mark.parametrize(
    ("clause", "source"),
    [
        ("set interval (10)", "ROWS"),
        ("set interval ()", "DDL"),
        ("set partitioning automatic", "ROWS"),
        ("set partitioning manual", "DDL"),
        ("modify partition by range (n) interval (5) (partition p values less than (1)) online", "ROWS"),
        ("modify partition by list (n) (partition p values (1))", "DDL"),
        ("add partition p values (1)", ""),
        ("set store in (a, b)", ""),
    ],
)
def test_what_makes_partitions_from_a_statement_on(clause: str, source: str) -> None:
    assert altered(clause).parts.source == source
