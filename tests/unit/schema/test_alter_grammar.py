"""The grammar of ALTER TABLE: every clause of the manual by what it changes, and every word that may be a column's name."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.schema.altered import ITEM, TABLE, altered, names

from minercdc.schema.ddl.alter_clauses import CLAUSES
from minercdc.schema.ddl.changes import apply_changes, create_table
from minercdc.schema.ddl.parser import parse_ddl
from minercdc.schema.ddl.statements import (
    AlterTable,
    CreateTable,
    RenameTable,
    Unclear,
)
from minercdc.schema.table import Column, Key, TableId, TableSchema

RESERVED = frozenset(
    """ACCESS ADD ALL ALTER AND ANY AS ASC AUDIT BETWEEN BY CHAR CHECK CLUSTER COLUMN COLUMN_VALUE COMMENT COMPRESS CONNECT CREATE
    CURRENT DATE DECIMAL DEFAULT DELETE DESC DISTINCT DROP ELSE EXCLUSIVE EXISTS FILE FLOAT FOR FROM GRANT GROUP HAVING IDENTIFIED
    IMMEDIATE IN INCREMENT INDEX INITIAL INSERT INTEGER INTERSECT INTO IS LEVEL LIKE LOCK LONG MAXEXTENTS MINUS MLSLABEL MODE MODIFY
    NESTED_TABLE_ID NOAUDIT NOCOMPRESS NOT NOWAIT NULL NUMBER OF OFFLINE ON ONLINE OPTION OR ORDER PCTFREE PRIOR PUBLIC RAW RENAME
    RESOURCE REVOKE ROW ROWID ROWNUM ROWS SELECT SESSION SET SHARE SIZE SMALLINT START SUCCESSFUL SYNONYM SYSDATE TABLE THEN TO
    TRIGGER UID UNION UNIQUE UPDATE USER VALIDATE VALUES VARCHAR VARCHAR2 VIEW WHENEVER WHERE WITH""".split()  # noqa: SIM905
)
MORE = """CONSTRAINT PRIMARY FOREIGN REFERENCES KEY DOMAIN INTERVAL TIMESTAMP VISIBLE INVISIBLE ENCRYPT DECRYPT GENERATED ALWAYS VIRTUAL
    IDENTITY COLLATE SORT CLOB BLOB JSON VECTOR XMLTYPE NCHAR NATIONAL DOUBLE REAL INT TYPE OBJECT SCOPE REF SECUREFILE LOB RELY NORELY
    DEFERRABLE INITIALLY NOVALIDATE CASCADE RESERVABLE END CASE UNUSED CHECKPOINT INVALIDATE USING EXCEPTIONS ZONE TIME""".split()  # noqa: SIM905
WORDS = sorted({word for words in CLAUSES for word in words if word.isidentifier()} | set(MORE) - RESERVED)


@pytest.mark.parametrize("word", [word for word in WORDS if word not in RESERVED])
def test_every_word_that_is_not_reserved_is_the_name_of_a_column(word: str) -> None:
    created = parse_ddl(
        f"create table item (a date, {word} number(5) not null, {word}_2 varchar2(9) default 'x', primary key ({word}))"
    )
    assert isinstance(created, CreateTable)
    assert created.columns[1:] == (
        Column(word, "NUMBER", 5, 0, nullable=False),
        Column(f"{word}_2", "VARCHAR2", 9, default="'x'"),
    )
    assert created.key == (word,)
    added = altered(f"alter table item add ({word} number(5), {word}_2 date default sysdate not null)")
    assert added.columns[2:] == (
        Column(word, "NUMBER", 5, 0),
        Column(f"{word}_2", "DATE", nullable=False, default="sysdate"),
    )
    alone = altered(f"alter table item add {word} varchar2(10 char) default 'a' not null")
    assert alone.columns[2] == Column(word, "VARCHAR2", 10, nullable=False, default="'a'")
    assert altered(f"alter table item modify {word} varchar2(20)", alone).columns[2].length == 20
    assert altered(f"alter table item modify ({word} null)", alone).columns[2].nullable
    assert altered(f"alter table item modify {word} default 'b'", alone).columns[2].default == "'b'"
    for gone in (f"drop column {word}", f"drop ({word})", f"set unused column {word}", f"set unused ({word})"):
        assert names(altered(f"alter table item {gone}", alone)) == ["ID", "NAME"]
    assert names(altered(f"alter table item rename column {word} to x", alone)) == ["ID", "NAME", "X"]
    assert names(altered(f"alter table item rename column name to {word}")) == ["ID", word]


@pytest.mark.parametrize(
    "clause",
    """rename partition a to old
    rename subpartition a to old
    set interval (numtoyminterval(1,'MONTH'))
    set interval ()
    set store in (ts1, ts2)
    set partitioning automatic
    set subpartition template (subpartition a, subpartition b)
    modify default attributes for partition p tablespace x
    modify default attributes tablespace x
    modify lob (photo) (cache storage (next 5m))
    modify varray v (cache)
    modify nested table t return as value
    modify clustering yes on load
    modify column name not substitutable at all levels
    add clustering by linear order (id, name) yes on load
    add overflow tablespace x
    add external partition attributes (type oracle_loader)
    add supplemental log group g (id, name) always
    add supplemental log data (primary key, unique) columns
    drop supplemental log group g
    drop clustering
    drop period for valid
    drop (period for valid)
    add period for valid (a, b)
    add (period for valid (a, b))
    add virt number generated always as (id * 2) virtual
    add (virt as (upper(name)), more number as (1))
    add constraint c check (id > 0) disable
    add constraint f foreign key (id) references p (id) on delete set null enable novalidate
    add foreign key (id) references p
    add scope for (r) is p
    add constraint d check (name in ('add', 'drop'))
    modify name invisible
    modify (name visible, id invisible)
    modify name encrypt using 'AES256' no salt
    modify name annotations (add shown 'x')
    modify name add annotations (drop shown)
    modify photo clob
    modify virt as (id * 3)
    pctfree 20 initrans 4
    storage (buffer_pool keep)
    compress for oltp
    row store compress advanced
    column store compress for query high
    inmemory priority high
    no inmemory
    no inmemory (photo)
    ilm add policy row store compress advanced segment after 30 days of no access
    allocate extent (size 5m)
    deallocate unused keep 1m
    cache
    result_cache (mode force)
    upgrade including data
    minimize records_per_block
    nominimize records_per_block
    parallel 4
    noparallel
    logging
    nologging
    read only
    read write
    rekey using 'AES256'
    default collation binary_ci
    annotations (operations 'sort')
    indexing off
    mapping table update block references
    nomapping
    shrink space check
    refresh interval 5 minute
    no drop
    no delete locked
    modify external partition p location ('x')
    modify json (name) (cache)
    modify name check (name is not null)
    modify (name validate '{}')
    overflow including name
    flashback archive fda
    no flashback archive
    memoptimize for read
    no memoptimize for write
    no drop until 10 days idle
    no delete until 20 days after insert locked
    for staging
    not for staging
    enable row movement
    disable table lock
    enable all triggers
    disable all triggers
    enable container_map
    enable containers_default
    enable logical replication all keys
    disable logical replication
    enable query rewrite
    project column all
    reject limit unlimited
    location ('a.csv')
    access parameters (fields terminated by ',')
    rename lob (photo) s to t
    coalesce""".splitlines(),
)
def test_these_clauses_change_nothing(clause: str) -> None:
    """The dictionary is read for none of them but constraints."""
    statement = parse_ddl(f"alter table lab.item {clause.strip()}")
    assert isinstance(statement, AlterTable), statement
    assert (statement.loses_rows, statement.moves_rows, statement.changes_parts) == (False, False, False)
    table = apply_changes(TABLE, statement.changes)
    assert (table, table.keys) == (TABLE, TABLE.keys)


GONE, MOVED, PARTS = "gone", "moved", "parts"


@pytest.mark.parametrize(
    ("clause", "effect"),
    [
        ("truncate partition a", {GONE}),
        ("truncate partition a drop storage", {GONE}),
        ("truncate partition a drop all storage cascade", {GONE}),
        ("truncate partition a reuse storage update indexes", {GONE}),
        ("truncate partitions a, b drop storage update global indexes", {GONE}),
        ("truncate partition for (5, 'x') update indexes (i (partition a tablespace x))", {GONE}),
        ("truncate subpartition s drop storage invalidate global indexes parallel 4", {GONE}),
        ("drop partition a update indexes", {GONE, PARTS}),
        ("drop partitions a, b", {GONE, PARTS}),
        ("drop partition for (date '2024-01-01') update global indexes parallel", {GONE, PARTS}),
        ("drop subpartition s", {GONE, PARTS}),
        ("drop subpartitions s, t invalidate global indexes", {GONE, PARTS}),
        ("exchange partition a with table x including indexes with validation update indexes", {GONE, PARTS}),
        ("exchange subpartition s with table x without validation", {GONE, PARTS}),
        ("split partition a at (5) into (partition b, partition c) update indexes", {MOVED, PARTS}),
        ("split partition a values (1, 2) into (partition b, partition c tablespace x) online", {MOVED, PARTS}),
        ("split partition a into (partition b values less than (1), partition c)", {MOVED, PARTS}),
        ("split partition a at (5) including rows where id > 3", {MOVED, PARTS, GONE}),
        ("split subpartition s values (1) into (subpartition t, subpartition u)", {MOVED, PARTS}),
        ("merge partitions a, b into partition c update indexes", {MOVED, PARTS}),
        ("merge partitions a to d into partition c", {MOVED, PARTS}),
        ("merge subpartitions a, b into subpartition c", {MOVED, PARTS}),
        ("coalesce partition update indexes", {MOVED, PARTS}),
        ("coalesce subpartition s", {MOVED, PARTS}),
        ("modify partition a coalesce subpartition", {MOVED, PARTS}),
        ("modify partition a add subpartition s", {MOVED, PARTS}),
        ("modify partition a add subpartition s values (5)", {PARTS}),
        ("modify partition a add values (3)", {PARTS}),
        ("modify partition a drop values (3)", {PARTS}),
        ("modify partition a unusable local indexes", {PARTS}),
        ("modify subpartition s rebuild unusable local indexes", {PARTS}),
        ("add partition a values less than (9) tablespace x", {PARTS}),
        ("add partition a values less than (9), partition b values less than (maxvalue)", {PARTS}),
        ("add partition a values (default) (subpartition s, subpartition t)", {PARTS}),
        ("add partition a", {MOVED, PARTS}),
        ("add partition", {MOVED, PARTS}),
        ("add partition interval values less than (3)", {PARTS}),
        ("move partition a tablespace x update indexes online", {MOVED}),
        ("move subpartition s including rows where id > 3", {MOVED, GONE}),
        ("move tablespace x online", {MOVED}),
        ("move", {MOVED}),
        ("move including rows where id > 3", {MOVED, GONE}),
        ("move nologging online", {MOVED}),
        ("nologging move", {MOVED}),
        ("nologging move online", {MOVED}),
        ("pctfree 5 compress for oltp move tablespace x", {MOVED}),
        ("tablespace move", set()),
        ("cache shrink space", {MOVED}),
        ("shrink space", {MOVED}),
        ("shrink space cascade", {MOVED}),
        ("modify partition p shrink space compact", {MOVED, PARTS}),
        ("modify partition p lob (name) (cache)", {PARTS}),
        ("shrink space compact cascade", {MOVED}),
        ("modify partition by range (id) (partition a values less than (5)) online", {MOVED, PARTS}),
        ("modify nonpartitioned", {MOVED, PARTS}),
    ],
)
def test_clauses_that_change_rows_or_partitions(clause: str, effect: set[str]) -> None:
    statement = parse_ddl(f"alter table item {clause};")
    assert isinstance(statement, AlterTable), statement
    found = {GONE: statement.loses_rows, MOVED: statement.moves_rows, PARTS: statement.changes_parts}
    assert {name for name, holds in found.items() if holds} == effect
    assert statement.changes == ()


def test_rows_that_went_are_known_also_of_a_text_that_is_not_understood() -> None:
    statement = parse_ddl("alter table item shrink space add frobnicated all")
    assert isinstance(statement, AlterTable | Unclear)
    assert statement.moves_rows


def test_a_rename_stands_among_other_clauses() -> None:
    assert isinstance(parse_ddl("alter table item rename to new"), RenameTable)


@pytest.mark.parametrize(
    ("sql", "column"),
    [
        ("add c clob lob (c) store as (tablespace users)", Column("C", "CLOB")),
        ("add c clob lob (c) store as securefile (tablespace users)", Column("C", "CLOB")),
        ("add c json json (c) store as (tablespace users)", Column("C", "JSON")),
        ("add c xmltype xmltype column c store as binary xml", Column("C", "XMLTYPE")),
        ("add c sys.anydata opaque type c store as unpacked", Column("C", "ANYDATA")),
    ],
)
def test_the_storage_of_a_column_that_is_added_is_no_part_of_it(sql: str, column: Column) -> None:
    assert altered(f"alter table item {sql}").columns[-1] == column


@pytest.mark.parametrize("name", ["json", "clob", "int", "real", "xmltype", "timestamp", "boolean", '"DATE"'])
def test_a_constraint_may_be_named_like_a_type(name: str) -> None:
    table = altered(f"alter table item add constraint {name} check (id > 0)")
    assert table.columns == TABLE.columns
    made = parse_ddl(f"create table t (id number, constraint {name} primary key (id))")
    assert isinstance(made, CreateTable)
    assert [column.name for column in made.columns] == ["ID"]
    assert [key.columns for key in made.keys] == [("ID",)]


@pytest.mark.parametrize("name", ["timestamp", "nchar", "national"])
def test_a_partition_may_be_named_like_a_type(name: str) -> None:
    assert altered(f"alter table item add partition {name} values less than (5)").columns == TABLE.columns


@pytest.mark.parametrize(
    "sql",
    [
        "add (c number) disable novalidate primary key",
        "add c number disable novalidate constraint pk",
        "modify name varchar2(90) disable novalidate constraint pk",
        "modify (name varchar2(90)) disable validate primary key",
    ],
)
def test_a_state_of_a_constraint_may_follow_columns(sql: str) -> None:
    assert altered(f"alter table item {sql}").key == ()


@pytest.mark.parametrize(
    ("sql", "holds"),
    [
        ("(id number primary key) disable primary key", False),
        ("(id number, constraint k primary key (id)) tablespace users disable constraint k", False),
        ("(id number, primary key (id)) enable novalidate primary key", False),
        ("(id number not null unique) disable unique (id)", False),
        ("(id number primary key disable) enable primary key", True),
        ("(id number primary key, v number unique) disable unique (v)", True),
        ("(id number primary key) enable row movement", True),
    ],
)
def test_a_table_is_made_with_the_states_of_its_constraints(sql: str, holds: bool) -> None:
    statement = parse_ddl(f"create table t {sql}")
    assert isinstance(statement, CreateTable)
    table = create_table(statement, TableId("DB", "LAB", "T"), lambda: None)
    assert bool(table.key) == holds
    assert parse_ddl(f"create table t {sql}").columns[0].nullable == (not holds and "not null" not in sql)  # type: ignore[union-attr]


def test_a_constraint_that_goes_makes_no_column_not_null_that_becomes_so_later() -> None:
    """Or rows with NULL, which Oracle keeps apart, would share a record key."""
    before = TableSchema(
        ITEM,
        (Column("CODE", "NUMBER"), Column("V", "NUMBER")),
        (),
        stored=("CODE", "V"),
        keys=(Key("U", ("CODE",), "SYS_C1"),),
    )
    later = replace(before, columns=(Column("CODE", "NUMBER", nullable=False), Column("V", "NUMBER")), key=(0,))
    for sql in (
        "drop constraint chk",
        "disable constraint chk",
        "modify constraint chk rely",
        "modify constraint chk novalidate",
    ):
        assert altered(f"alter table item {sql}", before, later).key == ()
    assert altered("alter table item modify code not null", before, later).key == (0,)


@pytest.mark.parametrize("sql", ["drop constraint chk", "disable constraint chk", "enable constraint chk"])
def test_a_key_without_a_known_name_is_none_of_another_name(sql: str) -> None:
    before = replace(TABLE, keys=(Key("P", ("ID",)),))
    later = replace(
        TABLE, columns=(Column("ID", "NUMBER", 10, 0), *TABLE.columns[1:]), key=(1,), keys=(Key("U", ("NAME",), "SYS_C9"),)
    )
    assert altered(f"alter table item {sql}", before, later).key == (0,)
    assert altered("alter table item drop constraint sys_c7", before, later).keys == ()
    renamed = altered("alter table item rename constraint sys_c7 to chk", before, later)  # the only one that is gone
    assert altered("alter table item drop constraint chk", renamed, later).keys == ()
    before = replace(before, keys=(Key("P", ("ID",)), Key("U", ("NAME", "ID"))))
    renamed = altered("alter table item rename constraint sys_c7 to chk", before, later)
    assert altered("alter table item drop constraint chk", renamed, later).keys == later.keys


@pytest.mark.parametrize("clause", ["add if not exists c number", "add (c)", "add (c not null)", "add c default 5"])
def test_a_new_column_without_a_type_is_no_column(clause: str) -> None:
    """ORA-02263: what stands there is not Oracle's grammar as this module knows it, so the dictionary is read."""
    assert isinstance(parse_ddl(f"alter table item {clause}"), Unclear)


@pytest.mark.parametrize(
    "clause", ["c references p(id)", "c as (id + 1)", "c generated always as identity", "c domain d", "c my_domain"]
)
def test_a_new_column_has_its_type_from_elsewhere(clause: str) -> None:
    assert isinstance(parse_ddl(f"alter table item add ({clause})"), AlterTable)
    assert isinstance(parse_ddl(f"create table item (id number, {clause})"), CreateTable)
