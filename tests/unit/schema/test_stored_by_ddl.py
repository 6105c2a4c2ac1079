"""What DDL stores: the order of a table's columns in its rows, hidden ones, and those that are unused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.schema.altered import TABLE, altered, names

from minercdc.schema.ddl.parser import parse_ddl
from minercdc.schema.ddl.statements import (
    CreateTable,
    TableName,
)
from minercdc.schema.table import Column


@pytest.mark.parametrize(
    ("clause", "columns", "stored"),
    [
        ("set unused (name) add late date", "ID LATE", ["ID", "PHOTO", "", "LATE"]),
        ("drop column photo", "ID NAME", ["ID", "NAME"]),
        ("drop column virt", "ID NAME", ["ID", "PHOTO", "NAME"]),
        ("rename column photo to image", "ID NAME", ["ID", "IMAGE", "NAME"]),
        ("rename column virt to other", "ID NAME", ["ID", "PHOTO", "NAME"]),
        ("row archival", "ID NAME", ["ID", "PHOTO", "NAME", "ORA_ARCHIVE_STATE"]),
        ("add (doc clob) lob (doc) store as securefile seg (cache)", "ID NAME DOC", ["ID", "PHOTO", "NAME", "DOC"]),
        ("add (x xmltype) xmltype column x store as binary xml", "ID NAME X", ["ID", "PHOTO", "NAME", "X"]),
        ("add a number add b date", "ID NAME A B", ["ID", "PHOTO", "NAME", "A", "B"]),
        ("add (a number, constraint c check (a > 0)) enable constraint pk", "ID NAME A", ["ID", "PHOTO", "NAME", "A"]),
        ("add a number not null enable modify name varchar2(90)", "ID NAME A", ["ID", "PHOTO", "NAME", "A"]),
        ("drop (name) cascade constraints checkpoint 1000", "ID", ["ID", "PHOTO"]),
    ],
)
def test_clauses_that_change_the_stored_rows(clause: str, columns: str, stored: list[str]) -> None:
    table = altered(f"alter table item {clause}")
    assert (" ".join(names(table)), list(table.stored)) == (columns, stored)


@pytest.mark.parametrize(
    ("sql", "stored"),
    [
        ("create table item (a long, b number, c long raw) row archival", "ORA_ARCHIVE_STATE B A C"),
        ("create table item row archival as select id, name from old", "ORA_ARCHIVE_STATE ID NAME"),
        ("create table item (a, b) organization index row archival as select id, name from old", "ORA_ARCHIVE_STATE A B"),
    ],
)
def test_what_oracle_puts_first_and_last(sql: str, stored: str) -> None:
    """The manuals: VLDB and Partitioning Guide, In-Database Archiving (SEGMENT_COLUMN_ID 1); Database Concepts, Tables (a LONG is last)."""
    created = parse_ddl(sql)
    assert isinstance(created, CreateTable), created
    assert " ".join(created.stored) == stored


def test_for_exchange_may_follow_the_storage_of_the_table() -> None:
    """As table_properties of CREATE TABLE have it."""
    created = parse_ddl("create table item tablespace x parallel 4 for exchange with table lab.parts")
    assert isinstance(created, CreateTable), created
    assert created.like == TableName("LAB", "PARTS")


HIDDEN = "SYS_NC00004$"


@pytest.mark.parametrize(
    ("clause", "present", "stored"),
    [
        ("add c number default 5", None, [HIDDEN, "C"]),
        ("add c number default 5", ["C"], ["C"]),  # as with COMPATIBLE before 12
        ("add c number default 5", [HIDDEN, "C", "LATE"], [HIDDEN, "C"]),
        ("add (c number default 5, d date default sysdate, e number)", [HIDDEN, "C", "D", "E"], [HIDDEN, "C", "D", "E"]),
        ("add (e number, c number default 5, d date default sysdate)", None, ["E", "SYS_NC00005$", "C", "D"]),
        ("add c number default 5 add d number default 6", ["LATE", HIDDEN, "D"], [HIDDEN, "C", "D"]),
        ("add c number default 5", ["SYS_NC00007$", "RENAMED"], ["SYS_NC00007$", "C"]),
        ("add c number default 5", [HIDDEN, "D", "C"], [HIDDEN, "C"]),  # dropped, and added again
        ("add c number default 5", ["C", HIDDEN, "D"], ["C"]),  # there was a LOB then
        ("add c number default 5", ["D"], ["C"]),
        ("add c number default 5", ["C", "older", HIDDEN, "D"], [HIDDEN, "C"]),  # an old column has this name since
        ("add c number", None, ["C"]),
        ("add c number default null", None, ["C"]),
        ("add c number default 5 not null", None, ["C"]),
        ("add c number default on null 5", None, ["C"]),
        ("add c number default 5 constraint p primary key", None, ["C"]),
        ("add c clob default 'x'", None, ["C"]),
        ("add c number default 5 not null disable", [HIDDEN, "C"], [HIDDEN, "C"]),
    ],
)
def test_a_default_of_a_column_that_may_be_null_brings_a_hidden_column(
    clause: str, present: list[str] | None, stored: list[str]
) -> None:
    """Shown by stackoverflow 45756882: SYS_NC00002$, RAW(126), before the added column."""
    known = ["ID", "PHOTO", "NAME"]
    now = None if present is None else replace(TABLE, stored=(*known, *present))
    if now is not None and "older" not in now.stored:
        now = replace(now, columns=(*TABLE.columns, Column("C", "NUMBER", default="5")))
    table = altered(f"alter table item {clause}", TABLE, now)
    assert list(table.stored) == [*known, *stored]
    again = altered("alter table item add z number default 1", table)
    assert list(again.stored[len(table.stored) :]) in (["Z"], [f"SYS_NC{len(table.stored) + 1:05d}$", "Z"])
    assert sum(name.startswith("SYS_NC") for name in again.stored) == (0 if "clob" in clause else 1)


@pytest.mark.parametrize(
    ("present", "stored"),
    [
        (["ORA_ARCHIVE_STATE", "LATE"], []),
        (["SYS_NC00004$", "ORA_ARCHIVE_STATE"], ["SYS_NC00004$"]),
        (["LATE", "ORA_ARCHIVE_STATE"], []),  # it went and came again
        ([], []),
    ],
)
def test_the_archive_state_follows_what_oracle_makes_with_it_and_no_later_column(
    present: list[str], stored: list[str]
) -> None:
    now = replace(TABLE, stored=(*TABLE.stored, *present))
    found = altered("alter table item row archival", TABLE, now)
    assert found.stored == (*TABLE.stored, *stored, "ORA_ARCHIVE_STATE")


def test_unused_columns_go_with_the_next_drop() -> None:
    for table in (
        altered("alter table item set unused (name)"),
        replace(TABLE, stored=("ID", "SYS_C00002_26031210:31:02$", "X")),
    ):
        later = altered("alter table item add late date", table)
        left = [name for name in later.stored if name in ("ID", "PHOTO", "X", "LATE")]
        assert list(altered("alter table item drop unused columns checkpoint 250", later).stored) == left
        assert list(altered("alter table item drop columns continue", later).stored) == left
        assert list(altered("alter table item drop column id", later).stored) == [name for name in left if name != "ID"]
    assert altered("alter table item no row archival", altered("alter table item row archival")) == TABLE
