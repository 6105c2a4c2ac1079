"""SQL_REDO text to rows: the fixtures of docs/reference/logminer-facts.md."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minercdc.capture.logminer.sql_redo.dml import RedoDecoder
from minercdc.capture.logminer.sql_redo.text import parse_redo
from minercdc.errors import DecodeError, RedoSyntaxError, SchemaMismatchError, ValueDecodeError
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import UNAVAILABLE, Op, Row
from minercdc.values.codec import ValueHandling, codec_for
from minercdc.values.image import Encoding


def table(name: str, *columns: Column) -> TableSchema:
    """All columns are key columns, for what only needs printing is left as redo spells it."""
    return TableSchema(TableId("DB", "LAB", name), columns, tuple(range(len(columns))))


ID = Column("ID", "NUMBER", 10, 0)
ITEM = table("ITEM", ID, Column("NAME", "VARCHAR2", 80), Column("QTY", "NUMBER", 12, 3), Column("D", "DATE"))
ODD = table("Odd, Table", Column("Rate/'x'~No", "NUMBER"), Column("set where", "VARCHAR2", 10))
WORDS = table("Select", Column("from", "NUMBER"), Column("VALUES", "VARCHAR2", 30), Column("and", "VARCHAR2", 9))
T2 = table("T2", Column("R and D", "VARCHAR2", 40), Column("Q", "NUMBER"))
WIDE = table("WIDE", ID, Column("V", "VARCHAR2", 32767))
X = UNAVAILABLE


def typed(*names: str) -> TableSchema:
    scale = 6
    return table("TY", ID, *(Column(f"C{i}", name, None, scale) for i, name in enumerate(names, 1)))


NUMBERS = table("TY", ID, *(Column(f"C{i}", "NUMBER") for i in (1, 2, 3)))

# id, table, statement, before, after
FIXTURES: list[tuple[str, TableSchema, str, Row | None, Row | None]] = [
    ("E01", ITEM, """insert into "LAB"."ITEM"("ID","NAME","QTY","D") values ('1','bolt',NULL,NULL);""", None, ("1", "bolt", None, None)),
    ("E02", ITEM, """insert into "LAB"."ITEM"("ID","NAME","QTY","D") values ('2','nut','4.250',NULL)""", None, ("2", "nut", "4.25", None)),
    ("E03", ITEM, """insert into "LAB"."ITEM"("ID","NAME") values ('3','''tis O''Hara''''s''');""", None, ("3", "'tis O'Hara''s'", X, X)),
    ("E04", ITEM, """insert into "LAB"."ITEM"("ID","NAME") values ('4','a'',''b); delete from "X" where 1 and 2 --');""", None, ("4", """a','b); delete from "X" where 1 and 2 --""", X, X)),
    ("E05", ITEM, """update "LAB"."ITEM" set "NAME" = 'x'' || ''y' where "ID" = '5' and "NAME" = 'p||q';""", ("5", "p||q", X, X), ("5", "x' || 'y", X, X)),
    ("E06", ITEM, """insert into "LAB"."ITEM"("ID","NAME") values ('6','one\ntwo\n');""", None, ("6", "one\ntwo\n", X, X)),
    ("E07", ITEM, """update "LAB"."ITEM" set "QTY" = '10' where "ID" = '7' and "NAME" = 'cog' and "QTY" IS NULL and "D" IS NULL;""", ("7", "cog", None, None), ("7", "cog", "10", None)),
    ("E08", ITEM, """update "LAB"."ITEM" set "NAME" = NULL, "QTY" = NULL where "ID" = '8' and "NAME" = 'cog' and "QTY" = '10' and "D" IS NULL;""", ("8", "cog", "10", None), ("8", None, None, None)),
    ("E09", ITEM, """update "LAB"."ITEM" set "QTY" = '1' where "ID" = '9' and "QTY" = '2' and ROWID = 'AAASo8AAMAAAACXAAA';""", ("9", X, "2", X), ("9", X, "1", X)),
    ("E10", ITEM, """update "LAB"."ITEM" a set a."NAME" = 'a.b' where a."ID" = '10' and a."NAME" = 'c' and a."QTY" IS NULL;""", ("10", "c", None, X), ("10", "a.b", None, X)),
    ("E11", ITEM, """delete from "LAB"."ITEM" where "ID" = '11' and "NAME" = 'cam' and "QTY" IS NULL and "D" = TO_DATE('2025-12-31 23:59:59', 'YYYY-MM-DD HH24:MI:SS');""", ("11", "cam", None, "2025-12-31 23:59:59"), None),
    ("E12", ITEM, """delete from "LAB"."ITEM" where "ID" = '12' and ROWID = 'AAASo8AAMAAAACXAAB'""", ("12", X, X, X), None),
    ("E13", ITEM, """update "LAB"."ITEM" set "ID" = '130' where "ID" = '13' and "NAME" = 'k' and "QTY" IS NULL and "D" IS NULL;""", ("13", "k", None, None), ("130", "k", None, None)),
    ("E14", ITEM, """update "LAB"."ITEM" set "QTY" = '3' where "ID" = '14' and "QTY" = '2';""", ("14", X, "2", X), ("14", X, "3", X)),
    ("E15", ITEM, """update "LAB"."ITEM" set "QTY" = '3' where "QTY" = '2' and ROWID = 'AAASo8AAMAAAACXAAC';""", (X, X, "2", X), (X, X, "3", X)),
    ("E16", ITEM, """update "LAB"."ITEM" set "QTY" = '2'""", (X, X, X, X), (X, X, "2", X)),
    ("E17", ITEM, """delete from "LAB"."ITEM" where ROWID = 'AAASo8AAMAAAACXAAD'""", (X, X, X, X), None),
    ("E18", ITEM, """delete from "LAB"."ITEM";""", (X, X, X, X), None),
    ("E19", ODD, """update "LAB"."Odd, Table" set "Rate/'x'~No" = '1', "set where" = 'v' where "Rate/'x'~No" = '0' and "set where" IS NULL;""", ("0", None), ("1", "v")),
    ("E20", WORDS, """insert into "Lab"."Select"("from","VALUES","and") values ('1','values (''x'')',NULL);""", None, ("1", "values ('x')", None)),
    ("E21", ITEM, """update "LAB"."ITEM" set "NAME" = 'n' where "ID" = '21' and "NAME" = NULL;""", ("21", None, X, X), ("21", "n", X, X)),
    ("E22", T2, """delete from "LAB"."T2" where "R and D" = 'x and "Y" = ''z''' and "Q" IS NULL;""", ("x and \"Y\" = 'z'", None), None),
    ("E23", NUMBERS, """insert into "LAB"."TY"("ID","C1","C2","C3") values ('23','-42.5','.05','99999999999999999999999999999999999999');""", None, ("23", "-42.5", "0.05", "9" * 38)),
    ("E24", typed(*["BINARY_DOUBLE"] * 3), """insert into "LAB"."TY"("ID","C1","C2","C3") values ('24','7.25E+003','-1.25E-002','0');""", None, ("24", "7250.0", "-0.0125", "0.0")),
    ("E25", typed(*["BINARY_FLOAT"] * 3), """insert into "LAB"."TY"("ID","C1","C2","C3") values ('25','Nan','Inf','-Inf');""", None, ("25", "NaN", "Infinity", "-Infinity")),
    ("E26", typed("CHAR"), """insert into "LAB"."TY"("ID","C1") values ('26','ab        ');""", None, ("26", "ab        ")),
    ("E27", typed("NCHAR"), r"""insert into "LAB"."TY"("ID","C1") values ('27',UNISTR('\00E9t\00E9   '));""", None, ("27", "été   ")),
    ("E28", typed("NVARCHAR2"), r"""insert into "LAB"."TY"("ID","C1") values ('28',UNISTR('ok \D83D\DE00!'));""", None, ("28", "ok 😀!")),
    ("E29", typed("NVARCHAR2"), r"""update "LAB"."TY" set "C1" = UNISTR('\0416') || UNISTR('-b') where "ID" = '29' and "C1" = UNISTR('a') || UNISTR('||') || UNISTR('b');""", ("29", "a||b"), ("29", "Ж-b")),
    ("E30", typed("NVARCHAR2", "VARCHAR2"), r"""insert into "LAB"."TY"("ID","C1","C2") values ('30',UNISTR('it''s a \\ in ('') \00FC'),'z');""", None, ("30", "it's a \\ in (') ü", "z")),
    ("E31", typed("DATE"), """insert into "LAB"."TY"("ID","C1") values ('31',TO_DATE('2024-02-29 06:07:08', 'YYYY-MM-DD HH24:MI:SS'));""", None, ("31", "2024-02-29 06:07:08")),
    ("E32", typed("DATE", "DATE"), """insert into "LAB"."TY"("ID","C1","C2") values ('32',TO_DATE('09-JUN-21', 'DD-MON-RR'),TO_DATE('31-DEC-99', 'DD-MON-RR'));""", None, ("32", "2021-06-09 00:00:00", "1999-12-31 00:00:00")),
    ("E33", typed("TIMESTAMP", "TIMESTAMP"), """insert into "LAB"."TY"("ID","C1","C2") values ('33',TO_TIMESTAMP('2025-07-11 08:09:10.654321000'),TO_TIMESTAMP('1999-01-01 00:00:00.000000001'));""", None, ("33", "2025-07-11 08:09:10.654321000", "1999-01-01 00:00:00.000000001")),
    ("E34", typed("TIMESTAMP"), """insert into "LAB"."TY"("ID","C1") values ('34',TO_TIMESTAMP('2021-09-30 12:00:00.'));""", None, ("34", "2021-09-30 12:00:00.000000000")),
    ("E35", typed("TIMESTAMP", "TIMESTAMP"), """insert into "LAB"."TY"("ID","C1","C2") values ('35',TO_TIMESTAMP('07-OCT-22 11.59.58.765000 PM'),TO_TIMESTAMP('07-OCT-22 12.00.00.000000 AM'));""", None, ("35", "2022-10-07 23:59:58.765000000", "2022-10-07 00:00:00.000000000")),
    ("E36", typed("TIMESTAMP WITH TIME ZONE"), """update "LAB"."TY" set "C1" = TO_TIMESTAMP_TZ('2025-07-11 08:09:10.500000000 +05:30') where "ID" = '36' and "C1" = TO_TIMESTAMP_TZ('2025-07-10 19:00:00.000000000 -03:00');""", ("36", "2025-07-10 19:00:00.000000000 -03:00"), ("36", "2025-07-11 08:09:10.500000000 +05:30")),
    ("E37", typed("TIMESTAMP WITH LOCAL TIME ZONE"), """insert into "LAB"."TY"("ID","C1") values ('37',TO_TIMESTAMP_TZ('2025-11-02 06:05:04.250000000'));""", None, ("37", "2025-11-02 06:05:04.250000000")),
    ("E38", typed("DATE", "TIMESTAMP"), """insert into "LAB"."TY"("ID","C1","C2") values ('38',TO_DATE('0000-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'),TO_TIMESTAMP('-4712-01-01 00:00:00.000000000'));""", None, ("38", "0000-01-01 00:00:00", "-4712-01-01 00:00:00.000000000")),
    ("E39", typed(*["INTERVAL YEAR TO MONTH"] * 3), """insert into "LAB"."TY"("ID","C1","C2","C3") values ('39',TO_YMINTERVAL('+02-05'),TO_YMINTERVAL('+0101-11'),TO_YMINTERVAL('-04-01'));""", None, ("39", "2-5", "101-11", "-4-1")),
    ("E40", typed(*["INTERVAL DAY TO SECOND"] * 3), """insert into "LAB"."TY"("ID","C1","C2","C3") values ('40',TO_DSINTERVAL('+03 04:05:06.700000'),TO_DSINTERVAL('+00012 00:00:00.000001'),TO_DSINTERVAL('-002 01:01:01.01'));""", None, ("40", "3 04:05:06.700000000", "12 00:00:00.000001000", "-2 01:01:01.010000000")),
    ("E41", typed("RAW", "RAW"), """insert into "LAB"."TY"("ID","C1","C2") values ('41',HEXTORAW('cafe0012ab'),NULL);""", None, ("41", "cafe0012ab", None)),
    ("E42", typed("ROWID"), """insert into "LAB"."TY"("ID","C1") values ('42','AAASo8AAMAAAACXAAA');""", None, ("42", "AAASo8AAMAAAACXAAA")),
    ("E43", typed("RAW", "VARCHAR2"), """insert into "LAB"."TY"("ID","C1","C2") values ('43',Unsupported Type,'ok');""", None, ("43", X, "ok")),
    ("E44", ITEM, """insert into "LAB"."ITEM"("ID","NAME","ORA_ARCHIVE_STATE") values ('44','arch','0');""", None, ("44", "arch", X, X)),
    ("E47", typed("JSON"), """update "LAB"."TY" set "C1" = /* JSON */ HEXTORAW('ff4a5a01') where "ID" = '47';""", None, None),
    ("E47", typed("JSON", "VARCHAR2"), """insert into "LAB"."TY"("ID","C1","C2") values ('47',/* JSON */ EMPTY_BLOB(),'x');""", None, ("47", X, "x")),
    ("E48", WIDE, """insert into "LAB"."WIDE"("ID","V") values ('48','it's Ann's');""", None, ("48", "it's Ann's")),
    ("E53", ITEM, """delete from "LAB"."BIN$Xk+3rP0yQ5fgYwIAEax8Ag==$0" where "ID" = '53' and "NAME" = 'gone';""", ("53", "gone", X, X), None),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "sql", "before", "after"), [f[1:] for f in FIXTURES], ids=[f[0] for f in FIXTURES])
def test_statement_becomes_rows(schema: TableSchema, sql: str, before: Row | None, after: Row | None) -> None:
    op = {"insert": Op.CREATE, "update": Op.UPDATE, "delete": Op.DELETE}[sql.split()[0]]
    assert RedoDecoder(schema).decode(sql) == (op, before, after)


_TRUE = "ff4a5a010016000131"


@pytest.mark.parametrize(
    ("sql", "before", "after"),
    [
        ("""insert into "LAB"."TY"("ID","C1") values ('47',/* JSON */ EMPTY_BLOB());""", None, ("47", X)),
        (f"""insert into "LAB"."TY"("ID","C1") values ('47',/* JSON */ HEXTORAW('{_TRUE}'))""", None, ("47", "true")),
        (f"""update "LAB"."TY" set "C1" = /* JSON */ HEXTORAW('{_TRUE}') where "ID" = '47';""", ("47", X), ("47", "true")),
        (f"""update "LAB"."TY" set "C1" = NULL where "C1" = /* JSON */ HEXTORAW('{_TRUE}') and "ID" = '47';""", ("47", "true"), ("47", None)),
        ("""update "LAB"."TY" set "C1" = /* JSON */ NULL, "ID" = '48' where "C1" = /* JSON */ EMPTY_BLOB();""", (X, X), ("48", None)),
        (f"""delete from "LAB"."TY" where "ID" = '47' and "C1" = /* JSON */ HEXTORAW('{_TRUE}')""", ("47", "true"), None),
    ],
)  # fmt: skip
def test_json_comes_after_a_hint(sql: str, before: Row | None, after: Row | None) -> None:
    """What an empty BLOB stands for is not known, for no JSON is empty."""
    schema = TableSchema(TableId("DB", "LAB", "TY"), (ID, Column("C1", "JSON")), (0,))
    decoder = RedoDecoder(schema, lobs=True)
    assert decoder.decode(sql)[1:] == (before, after)
    assert not decoder.unknown


def test_column_the_table_has_not_is_remembered() -> None:
    decoder = RedoDecoder(ITEM)
    decoder.decode("""insert into "LAB"."ITEM"("ID","NEWER") values ('1','2')""")
    assert decoder.unknown == {"NEWER"}


def test_update_of_unknown_columns_only_touches_nothing() -> None:
    change = RedoDecoder(ITEM).decode("""update "LAB"."ITEM" set "PICTURE" = EMPTY_BLOB() where "ID" = '1'""")
    assert change == (Op.UPDATE, None, None)


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "commit;",
        """insert into "LAB"."ITEM"("ID") values ('1'""",
        """insert into "LAB"."ITEM"("ID","NAME") values ('1')""",
        """insert into "LAB"."ITEM"("ID") values ('1'); delete from "LAB"."ITEM";""",
        """update "LAB"."ITEM" set "ID" = 1 where "ID" = '2'""",
        """update "LAB"."ITEM" set "ID" = '1' or "ID" = '2'""",
        """delete from "LAB"."ITEM" where "ID" = 'x""",
        """insert into "LAB"."ITEM"("ID","NAME") values ('48','it's Ann's');""",
        """insert into "LAB"."ITEM"("ID","D") values ('1',HEXTORAW('787e'));""",
        """insert into "LAB"."ITEM"("ID","D") values ('1','2026-01-01');""",
        """insert into "LAB"."ITEM"("QTY") values ('one');""",
        """insert into "LAB"."ITEM"("ID") values (TO_NUMBER('1'));""",
    ],
)
def test_text_outside_the_grammar_is_refused(sql: str) -> None:
    with pytest.raises(DecodeError):
        RedoDecoder(ITEM).decode(sql)


def test_table_without_supported_columns_has_empty_rows() -> None:
    decoder = RedoDecoder(table("EMPTY"))
    assert decoder.decode("""insert into "LAB"."EMPTY"("DOC") values (EMPTY_CLOB());""") == (Op.CREATE, None, ())


def test_what_is_only_printed_stays_as_redo_spells_it() -> None:
    columns = (Column("ID", "NUMBER"), Column("QTY", "NUMBER", 12, 3), Column("D", "DATE"), Column("R", "RAW", 2))
    decoder = RedoDecoder(TableSchema(TableId("DB", "LAB", "ITEM"), columns, (0,)))
    sql = """insert into "LAB"."ITEM"("ID","QTY","D","R") values ('.50','.50',TO_DATE('09-JUN-21', 'DD-MON-RR'),HEXTORAW('CAFE'));"""
    assert decoder.decode(sql) == (Op.CREATE, None, ("0.5", ".50", "09-JUN-21", "CAFE"))


UNESCAPED = [
    *("it's Ann's", "'", "'tis", "'tis'", "a','b", "a', NULL,'b", "x'", "x','", "it's ''quoted''", "' and 'x"),
    """, "V" = 'x""",
]


@pytest.mark.parametrize("value", UNESCAPED)
def test_apostrophes_that_are_not_doubled_stay_within_their_value(value: str) -> None:
    """Only columns beyond 4000 bytes have such values: the others of the row stay as they are."""
    wide = table("WIDE", ID, Column("V", "VARCHAR2", 32767), Column("N", "VARCHAR2", 10))
    where = f"""where "ID" = '1' and "V" = '{value}' and "N" = 'it''s'"""
    decoder, row = RedoDecoder(wide), ("1", value, "it's")
    insert = f"""insert into "LAB"."WIDE"("ID","V","N") values ('1','{value}','it''s');"""
    assert decoder.decode(insert) == (Op.CREATE, None, row)
    assert decoder.decode(f'delete from "LAB"."WIDE" {where}') == (Op.DELETE, row, None)
    update = f"""update "LAB"."WIDE" set "V" = '{value}', "N" = '''' {where};"""
    assert decoder.decode(update) == (Op.UPDATE, row, ("1", value, "'"))
    with pytest.raises(RedoSyntaxError):
        parse_redo(f"""insert into "LAB"."WIDE"("ID","V","N") values ('1','{value}',x)""", unescaped={"V"})


def test_only_long_columns_have_such_values() -> None:
    sql = """insert into "LAB"."T"("ID","V") values ('1','it's')"""
    with pytest.raises(RedoSyntaxError):
        parse_redo(sql)
    assert parse_redo(sql, unescaped={"V"}).new["V"].text == "it's"


def test_a_row_without_a_dictionary_may_lack_the_nulls_at_its_end() -> None:
    columns = (ID, Column("V", "VARCHAR2", 8), Column("L", "CLOB"), Column("W", "VARCHAR2", 8))
    decoder = RedoDecoder(TableSchema(TableId("DB", "LAB", "R"), columns, (0,), stored=("ID", "V", "L", "W")))
    insert = """insert into "UNKNOWN"."OBJ# 7"("COL 1","COL 2") values (HEXTORAW('c102'),HEXTORAW('61'))"""
    delete = """delete from "UNKNOWN"."OBJ# 7" where "COL 1" = HEXTORAW('c102')"""
    update = """update "UNKNOWN"."OBJ# 7" set "COL 2" = HEXTORAW('62') where "COL 1" = HEXTORAW('c102')"""
    with pytest.raises(SchemaMismatchError):
        decoder.decode_images(insert, Encoding())
    assert decoder.decode_images(insert, Encoding(), may_end_early=True)[2] == ("1", "a", UNAVAILABLE, None)
    assert decoder.decode_images(delete, Encoding(), may_end_early=True)[1] == ("1", None, UNAVAILABLE, None)
    _, before, after = decoder.decode_images(update, Encoding(), may_end_early=True)
    assert before == ("1", UNAVAILABLE, UNAVAILABLE, UNAVAILABLE), "what is not logged of an UPDATE is unknown"
    assert after == ("1", "b", UNAVAILABLE, UNAVAILABLE)


@pytest.mark.parametrize("digits", ["abc", "zz", "a\u00e9"])
def test_digits_that_are_no_bytes_are_a_decode_error(digits: str) -> None:
    raw = TableSchema(TableId("DB", "LAB", "R"), (ID, Column("R", "RAW", 8)), (0,), stored=("ID", "R"))
    images = f"""insert into "LAB"."R"("COL 1","COL 2") values (HEXTORAW('c102'),HEXTORAW('{digits}'))"""
    with pytest.raises(ValueDecodeError):
        RedoDecoder(raw).decode_images(images, Encoding())
    (_, _, row) = RedoDecoder(raw).decode(f"""insert into "LAB"."R"("ID","R") values ('1',HEXTORAW('{digits}'))""")
    assert row is not None
    with pytest.raises(ValueDecodeError):
        codec_for(raw.columns[1], ValueHandling()).to_json(str(row[1]))


values = st.one_of(st.none(), st.text(st.sampled_from("ab'\", ()=;NULLand\n\0"), min_size=1, max_size=12))
rows = st.lists(values, min_size=4, max_size=4)


def quoted(value: str | None, null: str = "NULL") -> str:
    return null if value is None else "'" + value.replace("'", "''") + "'"


WORD_TABLE = table("W", *(Column(f"C{i}", "VARCHAR2", 80) for i in range(4)))


@given(before=rows, after=rows, mask=st.lists(st.booleans(), min_size=4, max_size=4))
def test_any_texts_are_read_as_they_were(before: list[str | None], after: list[str | None], mask: list[bool]) -> None:
    sets = ", ".join(f'"C{i}" = {quoted(v)}' for i, v in enumerate(after) if mask[i]) or f'"C0" = {quoted(after[0])}'
    where = " and ".join(f'"C{i}" IS NULL' if v is None else f'"C{i}" = {quoted(v)}' for i, v in enumerate(before))
    expected = tuple(a if mask[i] or (i == 0 and not any(mask)) else before[i] for i, a in enumerate(after))
    change = RedoDecoder(WORD_TABLE).decode(f'update "LAB"."W" set {sets} where {where};')
    assert change == (Op.UPDATE, tuple(before), expected)
