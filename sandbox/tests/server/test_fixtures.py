"""Fixtures E01-E78 (docs/reference/logminer-facts.md#e-1), brought about by real SQL; those of LOBs, XML and long values are in
`test_fixtures_large`. `NOT_BY_SQL` says of the rest why no SQL does; another test keeps the list complete."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import oracledb
import pytest
from sandbox.tests.server import test_fixtures_large, test_fixtures_order
from sandbox.tests.server.mining_lab import PLACEHOLDER, Lab, errors_of
from tests.fixtures.fix_sandbox import SandboxProcess

NOT_BY_SQL = {
    "E21": "`= NULL` is a spelling that parsers tolerate: LogMiner prints IS NULL, and no release is known to print anything else",
}
ITEM = "create table item (id number(10) primary key, name varchar2(80), qty number(12,3), d date)"
LOGGED = "alter table {} add supplemental log data (all) columns"


@dataclass(frozen=True, slots=True)
class Fixture:
    """One statement's SQL_REDO.

    :param before: statements whose redo is not looked at; `run` makes the row or rows with `redo`.
    :param nls: of the mining session; the usual one when empty.
    """

    before: Sequence[str]
    run: str
    redo: str
    nls: str = ""
    options: str = ""
    row_ids: bool = False


def insert_item(values: str) -> str:
    return f"insert into item values ({values})"


def typed(number: int, kinds: str, values: str, redo: str, nls: str = "") -> Fixture:
    """An insert into TY(ID, C1, C2, ..) of these types."""
    columns = ", ".join(f"c{n} {kind}" for n, kind in enumerate(kinds.split("|"), 1))
    names = "".join(f',"C{n}"' for n in range(1, kinds.count("|") + 2))
    text = f'insert into "LAB"."TY"("ID"{names}) values (\'{number}\',{redo});'
    return Fixture([f"create table ty (id number, {columns})"], f"insert into ty values ({number}, {values})", text, nls)


DEFAULTS = (
    "alter session set nls_date_format='DD-MON-RR' nls_timestamp_format='DD-MON-RR HH.MI.SSXFF AM' "
    "nls_timestamp_tz_format='DD-MON-RR HH.MI.SSXFF AM TZR'"
)
PLAIN_FF = "alter session set nls_timestamp_format='YYYY-MM-DD HH24:MI:SS.FF'"
INSERT_ITEM = 'insert into "LAB"."ITEM"("ID","NAME","QTY","D") values '
ITEM_SET_UP = (ITEM, LOGGED.format("item"))
FIXTURES = {
    "E01": Fixture(ITEM_SET_UP, insert_item("1, 'bolt', null, null"), INSERT_ITEM + "('1','bolt',NULL,NULL);"),
    "E02": Fixture(
        ITEM_SET_UP,
        insert_item("2, 'nut', 4.25, null"),
        INSERT_ITEM + "('2','nut','4.25',NULL)",
        options=" + dbms_logmnr.no_sql_delimiter",
    ),
    "E03": Fixture(
        ITEM_SET_UP,
        insert_item("3, '''tis O''Hara''''s''', null, null"),
        INSERT_ITEM + "('3','''tis O''Hara''''s''',NULL,NULL);",
    ),
    "E04": Fixture(
        ITEM_SET_UP,
        insert_item("4, q'[a','b); delete from \"X\" where 1 and 2 --]', null, null"),
        INSERT_ITEM + "('4','a'',''b); delete from \"X\" where 1 and 2 --',NULL,NULL);",
    ),
    "E05": Fixture(
        [*ITEM_SET_UP, insert_item("5, 'p||q', null, null")],
        "update item set name = 'x'' || ''y'",
        'update "LAB"."ITEM" set "NAME" = \'x\'\' || \'\'y\' where "ID" = \'5\' and "NAME" = \'p||q\' and "QTY" IS NULL and "D" IS NULL;',
    ),
    "E06": Fixture(ITEM_SET_UP, insert_item("6, 'one\ntwo\n', null, null"), INSERT_ITEM + "('6','one\ntwo\n',NULL,NULL);"),
    "E07": Fixture(
        [*ITEM_SET_UP, insert_item("7, 'cog', null, null")],
        "update item set qty = 10",
        'update "LAB"."ITEM" set "QTY" = \'10\' where "ID" = \'7\' and "NAME" = \'cog\' and "QTY" IS NULL and "D" IS NULL;',
    ),
    "E08": Fixture(
        [*ITEM_SET_UP, insert_item("8, 'cog', 10, null")],
        "update item set name = null, qty = null",
        'update "LAB"."ITEM" set "NAME" = NULL, "QTY" = NULL where "ID" = \'8\' and "NAME" = \'cog\' and "QTY" = \'10\' and "D" IS NULL;',
    ),
    "E09": Fixture(
        ["create table k (id number primary key, qty number)", LOGGED.format("k"), "insert into k values (9, 2)"],
        "update k set qty = 1",
        'update "LAB"."K" set "QTY" = \'1\' where "ID" = \'9\' and "QTY" = \'2\' and ROWID = \'{row_id}\';',
        row_ids=True,
    ),
    "E11": Fixture(
        [*ITEM_SET_UP, insert_item("11, 'cam', null, to_date('2025-12-31 23:59:59', 'YYYY-MM-DD HH24:MI:SS')")],
        "delete from item",
        'delete from "LAB"."ITEM" where "ID" = \'11\' and "NAME" = \'cam\' and "QTY" IS NULL and '
        "\"D\" = TO_DATE('2025-12-31 23:59:59', 'YYYY-MM-DD HH24:MI:SS');",
    ),
    "E12": Fixture(
        ["create table k (id number primary key)", "insert into k values (12)"],
        "delete from k",
        'delete from "LAB"."K" where "ID" = \'12\' and ROWID = \'{row_id}\'',
        options=" + dbms_logmnr.no_sql_delimiter",
        row_ids=True,
    ),
    "E13": Fixture(
        [*ITEM_SET_UP, insert_item("13, 'k', null, null")],
        "update item set id = 130",
        'update "LAB"."ITEM" set "ID" = \'130\' where "ID" = \'13\' and "NAME" = \'k\' and "QTY" IS NULL and "D" IS NULL;',
    ),
    "E14": Fixture(
        [ITEM, "alter table item add supplemental log data (primary key) columns", insert_item("14, 'k', 2, null")],
        "update item set qty = 3",
        'update "LAB"."ITEM" set "QTY" = \'3\' where "ID" = \'14\' and "QTY" = \'2\';',
    ),
    "E15": Fixture(
        [ITEM, insert_item("15, 'k', 2, null")],
        "update item set qty = 3",
        'update "LAB"."ITEM" set "QTY" = \'3\' where "QTY" = \'2\' and ROWID = \'{row_id}\';',
        row_ids=True,
    ),
    "E19": Fixture(
        [
            'create table "Odd, Table" ("Rate/\'x\'~No" number, "set where" varchar2(10))',
            LOGGED.format('"Odd, Table"'),
            'insert into "Odd, Table" values (0, null)',
        ],
        'update "Odd, Table" set "Rate/\'x\'~No" = 1, "set where" = \'v\'',
        'update "LAB"."Odd, Table" set "Rate/\'x\'~No" = \'1\', "set where" = \'v\' '
        "where \"Rate/'x'~No\" = '0' and \"set where\" IS NULL;",
    ),
    "E20": Fixture(
        ['create table "Select" ("from" number, "VALUES" varchar2(30), "and" date)'],
        "insert into \"Select\" values (1, 'values (''x'')', null)",
        'insert into "LAB"."Select"("from","VALUES","and") values (\'1\',\'values (\'\'x\'\')\',NULL);',
    ),
    "E22": Fixture(
        [
            'create table t2 ("R and D" varchar2(30), "Q" number)',
            "insert into t2 values ('x and \"Y\" = ''z''', null)",
        ],
        "delete from t2",
        'delete from "LAB"."T2" where "R and D" = \'x and "Y" = \'\'z\'\'\' and "Q" IS NULL;',
    ),
    "E23": typed(23, "number|number|number", f"-42.5, .05, {'9' * 38}", f"'-42.5','.05','{'9' * 38}'"),
    "E24": typed(
        24, "binary_float|binary_double|binary_double", "7250f, -0.0125d, 0d", "'7.25E+003','-1.2500000000000001E-002','0'"
    ),
    "E25": typed(
        25,
        "binary_double|binary_double|binary_double",
        "binary_double_nan, binary_double_infinity, -binary_double_infinity",
        "'Nan','Inf','-Inf'",
    ),
    "E26": typed(26, "char(10)", "'ab'", "'ab        '"),
    "E27": typed(27, "nchar(6)", "'\u00e9t\u00e9'", "UNISTR('\\00E9t\\00E9   ')"),
    "E28": typed(28, "nvarchar2(20)", "'ok \U0001f600!'", "UNISTR('ok \\D83D\\DE00!')"),
    "E30": typed(
        30,
        "nvarchar2(40)|varchar2(9)",
        "q'[it's a \\ in (') \u00fc]', 'z'",
        "UNISTR('it''s a \\\\ in ('') \\00FC'),'z'",
    ),
    "E31": typed(
        31,
        "date",
        "to_date('2024-02-29 06:07:08', 'YYYY-MM-DD HH24:MI:SS')",
        "TO_DATE('2024-02-29 06:07:08', 'YYYY-MM-DD HH24:MI:SS')",
    ),
    "E32": typed(
        32,
        "date|date",
        "date '2021-06-09', date '1999-12-31'",
        "TO_DATE('09-JUN-21', 'DD-MON-RR'),TO_DATE('31-DEC-99', 'DD-MON-RR')",
        DEFAULTS,
    ),
    "E33": typed(
        33,
        "timestamp(6)|timestamp(9)",
        "timestamp '2025-07-11 08:09:10.654321', timestamp '1999-01-01 00:00:00.000000001'",
        "TO_TIMESTAMP('2025-07-11 08:09:10.654321000'),TO_TIMESTAMP('1999-01-01 00:00:00.000000001')",
    ),
    "E34": typed(34, "timestamp(0)", "timestamp '2021-09-30 12:00:00'", "TO_TIMESTAMP('2021-09-30 12:00:00.')", PLAIN_FF),
    "E35": typed(
        35,
        "timestamp|timestamp",
        "timestamp '2022-10-07 23:59:58.765', timestamp '2022-10-07 00:00:00'",
        "TO_TIMESTAMP('07-OCT-22 11.59.58.765000 PM'),TO_TIMESTAMP('07-OCT-22 12.00.00 AM')",
        DEFAULTS,
    ),
    "E36": Fixture(
        [
            "create table ty (id number, c1 timestamp with time zone)",
            LOGGED.format("ty"),
            "insert into ty values (36, timestamp '2025-07-10 19:00:00 -03:00')",
        ],
        "update ty set c1 = timestamp '2025-07-11 08:09:10.5 +05:30'",
        'update "LAB"."TY" set "C1" = TO_TIMESTAMP_TZ(\'2025-07-11 08:09:10.500000000 +05:30\') where "ID" = \'36\' '
        "and \"C1\" = TO_TIMESTAMP_TZ('2025-07-10 19:00:00.000000000 -03:00');",
    ),
    "E37": typed(
        37,
        "timestamp with local time zone",
        "timestamp '2025-11-02 08:05:04.25 +02:00'",
        "TO_TIMESTAMP_TZ('2025-11-02 06:05:04.250000000')",
    ),
    # The year zero of E38 cannot be entered (ORA-01841); the year of the Julian calendar's beginning can.
    "E38": typed(
        38,
        "timestamp(9)",
        "to_timestamp('-4712-01-01 00:00:00', 'SYYYY-MM-DD HH24:MI:SS')",
        "TO_TIMESTAMP('-4712-01-01 00:00:00.000000000')",
    ),
    "E39": typed(
        39,
        "interval year to month|interval year(4) to month|interval year to month",
        "interval '2-5' year to month, interval '101-11' year(4) to month, interval '-4-1' year to month",
        "TO_YMINTERVAL('+02-05'),TO_YMINTERVAL('+0101-11'),TO_YMINTERVAL('-04-01')",
    ),
    "E40": typed(
        40,
        "interval day to second|interval day(5) to second|interval day(3) to second(2)",
        "interval '3 4:5:6.7' day to second, interval '12 0:0:0.000001' day(5) to second, "
        "interval '-2 1:1:1.01' day(3) to second(2)",
        "TO_DSINTERVAL('+03 04:05:06.700000'),TO_DSINTERVAL('+00012 00:00:00.000001'),TO_DSINTERVAL('-002 01:01:01.01')",
    ),
    "E41": typed(41, "raw(9)|raw(9)", "hextoraw('cafe0012ab'), null", "HEXTORAW('cafe0012ab'),NULL"),
}


@pytest.fixture(scope="module")
def schema(sandbox: SandboxProcess) -> SandboxProcess:
    sandbox.create_user("lab")
    return sandbox


@pytest.fixture
def lab(schema: SandboxProcess) -> Iterator[Lab]:
    lab = Lab(schema)
    lab.mark()
    yield lab
    lab.drop_tables()
    lab.close()


@pytest.mark.parametrize("name", FIXTURES)
def test_one_statement(lab: Lab, name: str) -> None:
    fixture = FIXTURES[name]
    lab.run(*fixture.before)
    lab.commit()
    lab.mark()
    lab.run(fixture.run)
    lab.commit()
    if fixture.nls:
        lab.mining.execute(fixture.nls)
    [(text, row_id)] = lab.mined("sql_redo, row_id", row_ids=fixture.row_ids, options=fixture.options)
    assert row_id != PLACEHOLDER
    assert text == fixture.redo.format(row_id=row_id)


def test_e16_e65_undo_of_an_update(lab: Lab) -> None:
    lab.run(*ITEM_SET_UP, insert_item("65, 'n', 1, null"))
    lab.commit()
    lab.mark()
    lab.run("update item set qty = 2", "savepoint s", "update item set qty = 3", "rollback to s")
    lab.commit()
    rows = lab.mined("operation_code, rollback, sql_redo, row_id")
    assert [row[:2] for row in rows] == [(3, 0), (3, 0), (3, 1)]
    assert rows[2][2] == 'update "LAB"."ITEM" set "QTY" = \'2\';'
    assert len({row[3] for row in rows}) == 1
    committed = lab.redo(options=" + dbms_logmnr.committed_data_only")
    assert [str(text).split(" where")[0] for text in committed] == ['update "LAB"."ITEM" set "QTY" = \'2\'']


def test_e17_e66_unique_violation(lab: Lab) -> None:
    lab.run(*ITEM_SET_UP, "insert into item (id) values (66)")
    with pytest.raises(oracledb.IntegrityError):
        lab.run("insert into item (id) values (66)")
    lab.run("insert into item (id) values (68)")
    lab.commit()
    rows = lab.mined("operation_code, rollback, row_id, sql_redo")
    assert [row[:2] for row in rows] == [(1, 0), (1, 0), (2, 1), (1, 0)]
    assert rows[1][2] == rows[2][2] != rows[0][2]
    assert rows[2][3] == f'delete from "LAB"."ITEM" where ROWID = \'{rows[1][2]}\';'


def test_e18_undo_of_an_insert_before_23ai() -> None:
    process = SandboxProcess((), "--profile", "19c")
    process.create_user("lab")
    lab = Lab(process)
    lab.run(ITEM)
    lab.mark()
    lab.run(insert_item("18, 'x', null, null"))
    lab.connection.rollback()
    assert lab.redo("rollback = 1") == ['delete from "LAB"."ITEM";']
    lab.close()
    assert process.stop() == (0, "")


def test_e44_hidden_column_of_row_archival(lab: Lab) -> None:
    lab.run("create table large (id number, c clob) row archival lob (c) store as securefile")
    lab.run("create table item (id number(10), name varchar2(80)) row archival")
    lab.mark()
    lab.run("insert into item values (44, 'arch')", "update item set ora_archive_state = '1'", "delete from item")
    lab.commit()
    assert lab.redo() == [
        'insert into "LAB"."ITEM"("ORA_ARCHIVE_STATE","ID","NAME") values (\'0\',\'44\',\'arch\');',
        'update "LAB"."ITEM" set "ORA_ARCHIVE_STATE" = \'1\' where "ORA_ARCHIVE_STATE" = \'0\';',
    ]
    seen = "select id, name, ora_archive_state from item"
    assert lab.cursor.execute(seen).fetchall() == []
    lab.run("alter session set row archival visibility = all")
    assert lab.cursor.execute(seen).fetchall() == [(44, "arch", "1")]
    assert lab.cursor.execute("select * from item").fetchall() == [(44, "arch")]
    names = "select column_name from {} where table_name = 'ITEM' order by internal_column_id"
    assert lab.cursor.execute(names.format("user_tab_cols")).fetchall() == [("ORA_ARCHIVE_STATE",), ("ID",), ("NAME",)]
    shown = lab.cursor.execute("select column_name from user_tab_columns where table_name = 'ITEM'").fetchall()
    assert sorted(shown) == [("ID",), ("NAME",)]
    assert "ORA-38396" in errors_of(lab.connection, "alter table item row archival")
    lab.run("alter table item no row archival", "alter session set row archival visibility = active")
    assert lab.cursor.execute("select * from item").fetchall() == [(44, "arch")]


def test_unused_columns_keep_their_place_in_the_stored_rows_until_one_is_dropped(lab: Lab) -> None:
    lab.run("create table item (id number(10), name varchar2(80) not null, qty number(3))")
    names = "select column_name, segment_column_id, hidden_column from user_tab_cols where table_name = 'ITEM' order by 2"
    lab.mark()
    lab.run("alter table item set unused (name)", "insert into item values (1, 2)", "alter table item add d date")
    lab.commit()
    assert (
        lab.redo()[-1]
        == """insert into "LAB"."ITEM"("COL 1","COL 2","COL 3") values (HEXTORAW('c102'),NULL,HEXTORAW('c103'));"""
    )
    (first, unused, third, last) = lab.cursor.execute(names).fetchall()
    assert (first, third, last) == (("ID", 1, "NO"), ("QTY", 3, "NO"), ("D", 4, "NO"))
    assert re.fullmatch(r"SYS_C00002_\d{8}:\d\d:\d\d\$", unused[0])
    assert lab.cursor.execute("select * from item").fetchall() == [(1, 2, None)]
    lab.run("alter table item drop column d")
    assert lab.cursor.execute(names).fetchall() == [("ID", 1, "NO"), ("QTY", 2, "NO")]
    lab.run("alter table item set unused column qty", "alter table item drop unused columns")
    assert lab.cursor.execute(names).fetchall() == [("ID", 1, "NO")]
    assert "ORA-12983" in errors_of(lab.connection, "alter table item set unused (id)")


def test_e45_cut_inside_a_doubled_quote(lab: Lab) -> None:
    lab.run("create table wide (name varchar2(4000))")
    lab.mark()
    head = 'insert into "LAB"."WIDE"("NAME") values (\''
    lab.cursor.execute("insert into wide values (:1)", ["O" * (3999 - len(head)) + "'Neil"])
    lab.commit()
    rows = lab.mined("csf, sql_redo")
    assert [(csf, len(text)) for csf, text in rows] == [(1, 4000), (0, len("'Neil');"))]
    assert rows[0][1].endswith("O'")
    assert rows[1][1] == "'Neil');"


def test_e46_cut_inside_an_escape(lab: Lab) -> None:
    lab.run("create table wide (name nvarchar2(2000))")
    lab.mark()
    lab.cursor.execute("insert into wide values (:1)", ["a" * 53 + "\u00e9" * 1900])
    lab.commit()
    pieces = [text for (text,) in lab.mined("sql_redo")]
    cut = [re.search(r"\\[0-9A-F]{0,3}$", piece) for piece in pieces[:-1]]
    assert any(found is not None for found in cut)
    assert "".join(pieces).count("\\00E9") == 1900


def test_e29_long_national_text_is_concatenated(lab: Lab) -> None:
    old, new = "a||" + "\u0416" * 1990, "\u0416" * 799 + "\U0001f600'\\-b"
    lab.run("create table ty (id number primary key, c1 nvarchar2(2000))", LOGGED.format("ty"))
    lab.cursor.execute("insert into ty values (29, :1)", [old])
    lab.commit()
    lab.mark()
    lab.cursor.execute("update ty set c1 = :1", [new])
    lab.commit()
    zhe = r"\0416"
    before = f"UNISTR('a||{zhe * 799}') || UNISTR('{zhe * 800}') || UNISTR('{zhe * 391}')"
    after = rf"UNISTR('{zhe * 799}') || UNISTR('\D83D\DE00''\\-b')"
    assert lab.redo() == [f'update "LAB"."TY" set "C1" = {after} where "ID" = \'29\' and "C1" = {before};']


def test_e50_e51_rows_older_than_the_table(lab: Lab) -> None:
    lab.run("create table raw_item (a number, b varchar2(9), c date, d number)", LOGGED.format("raw_item"))
    lab.mark()
    lab.run(
        "insert into raw_item values (7, 'Zo\u00eb', to_date('2026-02-28 13:45:59', 'YYYY-MM-DD HH24:MI:SS'), -42.5)",
        "update raw_item set a = 123456789.01, d = null",
        "alter table raw_item add (e number)",
    )
    assert lab.mined("sql_redo, info, status", "operation_code in (1, 3)") == [
        (
            'insert into "LAB"."RAW_ITEM"("COL 1","COL 2","COL 3","COL 4") values '
            "(HEXTORAW('c108'),HEXTORAW('5a6fc3ab'),HEXTORAW('787e021c0e2e3c'),HEXTORAW('3e3b3366'));",
            "Dictionary Mismatch",
            2,
        ),
        (
            'update "LAB"."RAW_ITEM" set "COL 1" = HEXTORAW(\'c502182e445a02\'), "COL 4" = NULL where "COL 1" = HEXTORAW(\'c108\') '
            "and \"COL 2\" = HEXTORAW('5a6fc3ab') and \"COL 3\" = HEXTORAW('787e021c0e2e3c') "
            "and \"COL 4\" = HEXTORAW('3e3b3366');",
            "Dictionary Mismatch",
            2,
        ),
    ]


def test_e52_purged_table(lab: Lab) -> None:
    lab.run("create table gone (a number, b timestamp, c binary_double)")
    lab.run("insert into gone values (0, timestamp '2024-01-02 03:04:05.5', -2.5d)")
    ((object_id,),) = lab.cursor.execute("select object_id from user_objects where object_name = 'GONE'").fetchall()
    lab.run("drop table gone purge")
    lab.start()
    sql = "select sql_redo from v$logmnr_contents where seg_owner = 'UNKNOWN' and table_name = :1 and operation_code = 1"
    assert lab.mining.execute(sql, [f"OBJ# {object_id}"]).fetchall() == [
        (
            f'insert into "UNKNOWN"."OBJ# {object_id}"("COL 1","COL 2","COL 3") values '
            "(HEXTORAW('80'),HEXTORAW('787c01020405061dcd6500'),HEXTORAW('3ffbffffffffffff'));",
        )
    ]


def test_e53_e73_dropped_to_the_recycle_bin(lab: Lab) -> None:
    lab.run(ITEM, insert_item("53, 'gone', null, null"))
    lab.commit()
    lab.mark()
    lab.run("delete from item", "drop table item")
    ((name,),) = lab.cursor.execute("select object_name from user_recyclebin where original_name = 'ITEM'").fetchall()
    assert re.fullmatch(r"BIN\$[A-Za-z0-9+/]+==\$0", name)
    assert lab.redo("operation_code = 2") == [
        f'delete from "LAB"."{name}" where "ID" = \'53\' and "NAME" = \'gone\' and "QTY" IS NULL and "D" IS NULL;'
    ]
    rows = lab.mined("sql_redo, info", "operation_code = 5")
    assert rows[-1] == (f'drop table item AS "{name}" ;', "USER DDL (PlSql=0 RecDep=0)")
    assert {info for _, info in rows[:-1]} == {"INTERNAL DDL (PlSql=0 RecDep=0)"}
    assert [re.sub(r'"(SYS_C|BIN\$)[^"]*"', r'"\1"', text) for text, _ in rows[:-1]] == [
        'ALTER TABLE "LAB"."ITEM" RENAME CONSTRAINT "SYS_C" TO "BIN$" ;',
        'ALTER INDEX "LAB"."SYS_C" RENAME TO "BIN$" ;',
        'ALTER TABLE "LAB"."ITEM" RENAME TO "BIN$" ;',
    ]


def test_e67_rollback_of_a_transaction_that_began_earlier(lab: Lab) -> None:
    lab.run(ITEM, insert_item("1, 'a', null, null"))
    lab.mark()
    lab.connection.rollback()
    rows = lab.mined("operation_code, rollback, rawtohex(xid)", "operation_code in (2, 36)")
    assert [row[:2] for row in rows] == [(2, 1), (36, 0)]
    assert rows[0][2] == rows[1][2]
    assert rows[0][2].endswith("FFFFFFFF")


def test_e72_truncate(lab: Lab) -> None:
    lab.run(ITEM, insert_item("1, 'a', null, null"))
    lab.commit()
    lab.mark()
    lab.run("truncate table lab.item")
    assert lab.mined("sql_redo, info, table_name", "operation_code in (2, 5)") == [
        ("truncate table lab.item;", "USER DDL (PlSql=0 RecDep=0)", "ITEM")
    ]


def test_e74_temporary_table(lab: Lab) -> None:
    lab.run("create global temporary table tmp1 (id number)", "insert into tmp1 values (1)")
    lab.commit()
    assert lab.redo() == ["/* No SQL_REDO for temporary tables */"]


def test_e78_ddl_in_committed_mode_has_no_scns(lab: Lab) -> None:
    lab.run(ITEM, "alter table item add (w number)")
    rows = lab.mined(
        "operation_code, start_scn, commit_scn",
        "operation_code in (5, 7)",
        options=" + dbms_logmnr.committed_data_only",
    )
    assert [row for row in rows if row[0] == 5] == [(5, None, None)] * 2


def test_every_fixture_is_shown_or_says_why_not() -> None:
    names = (*globals(), *vars(test_fixtures_large), *vars(test_fixtures_order))
    shown = {found.upper() for name in names if name.startswith("test_") for found in re.findall(r"e\d\d(?=_)", name)}
    known = {*FIXTURES, *shown, *NOT_BY_SQL}
    assert known == {f"E{number:02d}" for number in range(1, 79)}
    assert not NOT_BY_SQL.keys() & (FIXTURES.keys() | shown)
