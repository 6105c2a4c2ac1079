"""What happens in the source while both connectors read it."""

from __future__ import annotations

from tests.fixtures.fix_sandbox import SandboxProcess

MARKER = "MARKER"
TABLES = {
    "ITEM": "id number(10) primary key, name varchar2(80), qty number(12,3), d date",
    "TYPED": "id number(10) primary key, n number, i integer, s number(4), big number(19), f float, bf binary_float, bd binary_double,"
    " c char(6), nv nvarchar2(20), nc nchar(4), r raw(8), ts timestamp(6), ts3 timestamp(3), ts9 timestamp(9),"
    " tz timestamp(6) with time zone, ltz timestamp(6) with local time zone, ym interval year to month,"
    " ds interval day to second",
    "PAIR": "a number(5), b varchar2(10), v varchar2(20) default 'none', primary key (a, b)",
    "BARE": "x number(5), y varchar2(10)",
    "DEFAULTED": "id number(10) primary key, n number default 1.5, i number(5) default 7 not null, v varchar2(10) default 'none', p number(10,2) default 1.25,"
    " c char(4) default 'ab' not null, d date default date '2024-02-29', t timestamp default sysdate, x number(5) default 1 + 1,"
    " f float default 2.5, b binary_double default 0.5, r raw(4) default hextoraw('0a0b')",
}
_TYPED = (
    "insert into typed values ({id}, 12345678901234567890.125, -7, 99, 1234567890123456789, 0.1, 1.5, -2.25e-100, 'ab',"
    " unistr('\\0416\\20AC'), 'nc', hextoraw('00ff10'), timestamp '2024-02-29 23:59:59.123456', timestamp '1969-12-31 23:59:59.5',"
    " timestamp '2001-02-03 04:05:06.789', timestamp '2024-07-01 12:00:00.5 +05:30', timestamp '2024-07-01 12:00:00 -03:00',"
    " interval '-3-4' year to month, interval '5 06:07:08.9' day to second)"
)
_BEFORE = (
    "insert into item (id, name, qty, d) values (1, 'one', 1.5, date '2024-01-01')",
    "insert into item (id, name, qty, d) values (2, null, null, null)",
    _TYPED.format(id=1),
    "insert into typed (id) values (2)",
    "insert into pair values (1, 'k', 'v')",
    "insert into bare values (1, 'b')",
    "insert into defaulted (id) values (1)",
)
SNAPSHOT_ROWS = len(_BEFORE)


LOB_TABLES = {
    "DOC": "id number(10) primary key, t varchar2(10), c clob, n nclob, b blob",
    "XD": "id number(10) primary key, t varchar2(10), x xmltype",
}


def prepare(source: SandboxProcess, *, lobs: bool = False) -> None:
    """The schema with its first rows."""
    with source.connect() as admin:
        admin.cursor().execute("alter database add supplemental log data")
    source.create_user("par")
    with source.connect("par", "par") as session, session.cursor() as cursor:
        tables = {**TABLES, **(LOB_TABLES if lobs else {}), MARKER: "n number(5) primary key"}
        for table, columns in tables.items():
            cursor.execute(f"create table {table} ({columns})")
            cursor.execute(f"alter table {table} add supplemental log data (all) columns")
        for statement in _BEFORE:
            cursor.execute(statement)
        session.commit()


def large_values(source: SandboxProcess, round_number: int) -> None:
    """Inserts and updates of LOBs and XML documents, within the row and beyond it.

    Each is a transaction of its own: Debezium merges rows of a transaction that follow each other.
    """
    n, big = 100 * round_number, "0123456789" * 900
    with source.connect("par", "par") as session, session.cursor() as cursor:
        for statement, *binds in (
            (f"insert into doc values ({n}, 'small', 'c', 'n', hextoraw('0a'))",),
            (f"insert into doc values ({n + 1}, 'large', :1, :2, :3)", big, "n" * 40, big.encode()),
            (f"update doc set t = 'only t' where id = {n + 1}",),
            (f"update doc set c = :1 where id = {n}", big),
            (f"update doc set c = 'short', b = null where id = {n + 1}",),
            (f"delete from doc where id = {n + 1}",),
            (f"insert into xd values ({n}, 'x', '<a>it</a>')",),
            (f"update xd set x = '<b/>' where id = {n}",),
        ):
            cursor.execute(statement, binds)
            session.commit()


def history(source: SandboxProcess, round_number: int, *, ddl: bool = True) -> None:
    """DML of every type, key changes, rollbacks, savepoints, DDL, truncate; a marker at the end.

    :param ddl: with ALTER and CREATE TABLE.
    """
    n = 100 * round_number
    with source.connect("par", "par") as session, source.connect("par", "par") as other, session.cursor() as cursor:
        cursor.execute(f"insert into item (id, name, qty, d) values ({n}, 'it''s', 2.125, date '2024-02-29')")
        cursor.execute(_TYPED.format(id=n))
        cursor.execute(f"update typed set n = n + 1, nv = 'x', bd = null where id = {n}")
        other.cursor().execute(f"insert into item (id, name, qty, d) values ({n + 1}, 'other', null, null)")
        cursor.execute("savepoint s")
        cursor.execute(f"update item set qty = 99 where id = {n}")
        cursor.execute("rollback to savepoint s")
        cursor.execute(f"update item set name = null where id = {n}")
        session.commit()
        other.commit()
        cursor.execute(f"insert into item (id, name, qty, d) values ({n + 2}, 'rolled back', null, null)")
        session.rollback()
        cursor.execute(f"update item set id = {n + 5} where id = {n}")
        cursor.executemany("insert into pair (a, b) values (:1, :2)", [(n + k, f"b{k}") for k in range(3)])
        cursor.execute(f"delete from pair where a = {n}")
        cursor.execute(f"insert into bare values ({round_number}, 'bare')")
        cursor.execute(f"insert into defaulted (id, t) values ({n}, timestamp '2024-02-29 12:13:14')")
        cursor.execute("update bare set y = 'z' where x = 1")
        session.commit()
        if ddl:
            cursor.execute(f"alter table item add (extra{round_number} varchar2(10))")
            cursor.execute(f"insert into item (id, name, extra{round_number}) values ({n + 7}, 'new shape', 'e')")
            session.commit()
            cursor.execute(f"create table made{round_number} (id number(5) primary key, v varchar2(10) not null)")
            cursor.execute(f"insert into made{round_number} values (1, 'made')")
            session.commit()
        cursor.execute("truncate table bare")
        cursor.execute(f"insert into marker values ({round_number})")
        session.commit()
