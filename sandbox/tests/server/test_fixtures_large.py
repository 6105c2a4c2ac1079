"""Row forms of LOB, XML, 32K, LONG and unsupported columns, brought about by real SQL: fixtures E43, E47-E49, E54-E64, E75
and E76, and the sequences of large values (docs/reference/logminer-facts.md#b-7). One test id per fixture or documented row of the table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import oracledb
import pytest
from sandbox.tests.server.mining_lab import PLACEHOLDER, Lab, errors_of, opened
from tests.fixtures.fix_sandbox import SandboxProcess

BUFFERS = (
    "DECLARE \n loc_c CLOB; \n buf_c VARCHAR2(6174); \n loc_b BLOB; \n buf_b RAW(6174); \n loc_nc NCLOB; \n"
    " buf_nc NVARCHAR2(6174); \n"
)
LOB_INFO, XML_INFO = "LOB sql_redo not re-executable", "XML sql_redo not re-executable"
SET_UP = (
    "create table doc (id number(10) primary key, t varchar2(20), c clob, b blob)",
    "alter table doc add supplemental log data (all) columns",
    "create table xd (id number(10) primary key, x xmltype)",
    "alter table xd add supplemental log data (all) columns",
)


@pytest.fixture(scope="module", params=["23ai", "19c"])
def profile(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def running(profile: str) -> Iterator[SandboxProcess]:
    process = SandboxProcess((), "--profile", profile, "--max-string-size", "extended")
    process.create_user("lab")
    yield process
    assert process.stop() == (0, "")


@pytest.fixture
def lab(running: SandboxProcess) -> Iterator[Lab]:
    lab = Lab(running)
    lab.run(*SET_UP)
    lab.mark()
    yield lab
    lab.drop_tables()
    lab.close()


def forms(lab: Lab, columns: str = "operation_code, rollback, status, info, row_id", **how: Any) -> list[tuple[Any, ...]]:
    """Codes and where they are: `ph` for the placeholder, `r1` for a real ROWID; continuation rows left out."""
    rows = []
    for code, rollback, status, info, row_id, csf in lab.mined(columns + ", csf", **how):
        if not csf:
            rows.append((code, rollback, status, info, "ph" if row_id == PLACEHOLDER else "r1"))
    return rows


def block(select: str, statement: str) -> str:
    """A LOB row of 23ai."""
    return f"{BUFFERS} e_len NUMBER; \nBEGIN\n {select}\n\n{statement}\nEND;"


def lob_rows(profile: str, select: str, *statements: str) -> list[str | None]:
    """The texts of a locator row and of the rows after it."""
    if profile == "19c":
        return [f"{BUFFERS}BEGIN\n {select}", *statements]
    return [None, *[block(select, statement) for statement in statements]]


def lob_forms(profile: str, *codes: tuple[int, str], locator: str = "ph") -> list[tuple[Any, ...]]:
    first = (9, 0, 2, LOB_INFO, locator) if profile == "19c" else (9, 0, 0, None, locator)
    return [first, *[(code, 0, 2, LOB_INFO, place) for code, place in codes]]


def test_e49_e54_small_lobs(lab: Lab) -> None:
    lab.run("insert into doc values (54, 't', 'short', hextoraw('0102'))")
    lab.commit()
    assert lab.redo() == [
        'insert into "LAB"."DOC"("ID","T","C","B") values (\'54\',\'t\',EMPTY_CLOB(),EMPTY_BLOB());',
        'update "LAB"."DOC" set "C" = \'short\', "B" = HEXTORAW(\'0102\') where "ID" = \'54\' and "T" = \'t\';',
    ]
    assert forms(lab) == [(1, 0, 0, None, "ph"), (3, 0, 0, None, "r1")]


def test_e55_null_lobs(lab: Lab) -> None:
    lab.run("insert into doc (id, t) values (55, 't')")
    lab.commit()
    assert lab.redo() == [
        'insert into "LAB"."DOC"("ID","T","C","B") values (\'55\',\'t\',EMPTY_CLOB(),EMPTY_BLOB());',
        'update "LAB"."DOC" set "C" = NULL, "B" = NULL where "ID" = \'55\' and "T" = \'t\';',
    ]


def test_empty_lobs_have_no_update(lab: Lab) -> None:
    lab.run("insert into doc values (1, 't', empty_clob(), empty_blob())")
    lab.commit()
    assert lab.redo() == ['insert into "LAB"."DOC"("ID","T","C","B") values (\'1\',\'t\',EMPTY_CLOB(),EMPTY_BLOB());']


def test_e56_large_clob(lab: Lab, profile: str) -> None:
    text = "Jo's book" + "x" * 4057 + "y" * 10
    lab.cursor.execute("insert into doc values (56, 't', :1, null)", [text])
    lab.commit()
    select = 'select "C" into loc_c from "LAB"."DOC" where "ID" = \'56\' and "T" = \'t\' for update;'
    quoted = text[:4066].replace("'", "''")
    assert lab.redo() == [
        'insert into "LAB"."DOC"("ID","T","C","B") values (\'56\',\'t\',EMPTY_CLOB(),NULL);',
        *lob_rows(
            profile,
            select,
            f" buf_c := '{quoted}'; \n  dbms_lob.write(loc_c, 4066, 1, buf_c);",
            " buf_c := 'yyyyyyyyyy'; \n  dbms_lob.write(loc_c, 10, 4067, buf_c);",
        ),
    ]
    assert forms(lab) == [(1, 0, 0, None, "ph"), *lob_forms(profile, (10, "ph"), (10, "ph"))]


def test_offsets_count_characters(lab: Lab) -> None:
    lab.cursor.execute("insert into doc values (1, 't', :1, null)", ["\U0001f600" * 2100 + "end"])
    lab.commit()
    writes = lab.redo("operation_code = 10")
    assert [text.rsplit("dbms_lob.write", 1)[1].split(", buf")[0] for text in writes if text] == [
        "(loc_c, 2033, 1",
        "(loc_c, 70, 2034",
    ]


def test_one_small_and_one_large(lab: Lab) -> None:
    lab.cursor.execute("insert into doc values (1, 't', 'small', :1)", [b"\x01" * 5000])
    lab.commit()
    assert [row[0] for row in forms(lab)] == [1, 9, 10, 10, 3]
    assert lab.redo("operation_code in (1, 3)") == [
        'insert into "LAB"."DOC"("ID","T","C","B") values (\'1\',\'t\',EMPTY_CLOB(),EMPTY_BLOB());',
        'update "LAB"."DOC" set "C" = \'small\' where "ID" = \'1\' and "T" = \'t\';',
    ]


@pytest.mark.parametrize(
    ("storage", "codes"), [("securefile", [9, 10, 11]), ("basicfile", [9, 10, 9, 11])], ids=["securefile", "basicfile"]
)
def test_e57_replace_writes_and_trims(lab: Lab, storage: str, codes: list[int]) -> None:
    lab.run(f"create table files (id number primary key, c clob) lob (c) store as {storage}")
    lab.run("insert into files values (57, 'abcdefgh')")
    lab.commit()
    lab.mark()
    lab.cursor.execute("update files set c = :1", ["z" * 2000])
    lab.commit()
    assert [row[0] for row in forms(lab)] == codes
    assert "dbms_lob.trim(loc_c, 2000);" in str(lab.redo("operation_code = 11")[0])


OUT_OF_ROW = "create table files (id number primary key, c clob) lob (c) store as {} out_of_row (disable storage in row)"


def test_small_values_out_of_the_row_come_as_large_ones(lab: Lab) -> None:
    lab.run(OUT_OF_ROW.format("securefile"))
    lab.run("insert into files values (1, 'small')")
    lab.run("insert into files values (2, empty_clob())", "insert into files values (3, null)")
    lab.commit()
    assert [row[0] for row in forms(lab)] == [1, 9, 10, 1, 1, 3]
    lab.mark()
    lab.run("update files set c = 'other' where id = 1", "update files set c = null where id = 2")
    lab.commit()
    assert [row[0] for row in forms(lab)] == [9, 10, 11, 3]
    sql = "select in_row, securefile from user_lobs where table_name = 'FILES'"
    assert lab.cursor.execute(sql).fetchall() == [("NO", "YES")]


def test_values_of_a_basicfile_out_of_the_row_come_before_their_insert(lab: Lab, profile: str) -> None:
    lab.run(OUT_OF_ROW.format("basicfile"))
    lab.mark()
    lab.run("insert into files values (1, 'small')", "insert into files values (2, null)")
    lab.commit()
    piece = " buf_c := 'small'; \n  dbms_lob.write(loc_c, 5, 1, buf_c);"
    select = 'select "C" into loc_c from "LAB"."FILES" where "ID" = \'1\' for update;'
    [written, insert, null, _] = lab.redo()
    assert written == lob_rows(profile, select, piece)[1]
    assert insert == 'insert into "LAB"."FILES"("ID") values (\'1\');'
    assert null == 'insert into "LAB"."FILES"("ID","C") values (\'2\',EMPTY_CLOB());'
    assert [row[0] for row in forms(lab)] == [10, 1, 1, 3]
    lab.mark()
    lab.run("savepoint s", "insert into files values (3, 'gone')", "rollback to s")
    lab.commit()
    assert [row[:2] for row in forms(lab)] == [(10, 0), (1, 0), (2, 1)]


def test_null_to_large_is_not_trimmed(lab: Lab) -> None:
    lab.run("insert into doc (id) values (1)")
    lab.commit()
    lab.mark()
    lab.cursor.execute("update doc set c = :1", ["z" * 2000])
    lab.commit()
    assert [row[0] for row in forms(lab)] == [9, 10]


def test_a_column_and_a_large_lob(lab: Lab, profile: str) -> None:
    lab.run("insert into doc values (1, 't', 'old', null)")
    lab.commit()
    lab.mark()
    lab.cursor.execute("update doc set t = 'u', c = :1", ["z" * 2000])
    lab.commit()
    assert forms(lab) == [(3, 0, 0, None, "ph"), *lob_forms(profile, (10, "ph"), (11, "ph"))]
    assert lab.redo("operation_code = 3") == ['update "LAB"."DOC" set "T" = \'u\' where "ID" = \'1\' and "T" = \'t\';']


def test_e58_write_in_place_leaves_a_hole(lab: Lab, profile: str) -> None:
    lab.run("insert into doc values (58, 't', null, empty_blob())")
    lab.commit()
    lab.mark()
    write_in_place(lab, "b", oracledb.DB_TYPE_BLOB, "dbms_lob.write(:lob, 2, 3, hextoraw('aabb'))")
    lab.commit()
    select = 'select "B" into loc_b from "LAB"."DOC" where "ID" = \'58\' and "T" = \'t\' for update;'
    statement = " buf_b := HEXTORAW('aabb'); \n  dbms_lob.write(loc_b, 2, 3, buf_b);"
    assert lab.redo() == lob_rows(profile, select, statement)
    assert forms(lab) == lob_forms(profile, (10, "r1"), locator="r1")
    assert lab.cursor.execute("select rawtohex(dbms_lob.substr(b)) from doc").fetchall() == [("0000AABB",)]


def write_in_place(lab: Lab, column: str, kind: Any, call: str) -> None:
    """A DBMS_LOB call on the locator of the one row of DOC, locked."""
    lob = lab.cursor.var(kind)
    lab.cursor.execute(
        f"declare l {'blob' if column == 'b' else 'clob'}; begin "
        f"select {column} into l from doc for update; {call.replace(':lob', 'l')}; end;"
    )
    assert lob is not None


@pytest.mark.parametrize(
    ("call", "code", "statement", "left"),
    [
        ("dbms_lob.trim(:lob, 3)", 11, "  dbms_lob.trim(loc_c, 3);", "abc"),
        ("dbms_lob.writeappend(:lob, 2, 'XY')", 10, " buf_c := 'XY'; \n  dbms_lob.write(loc_c, 2, 7, buf_c);", "abcdefXY"),
    ],
    ids=["trim", "writeappend"],
)
def test_dbms_lob_in_place(lab: Lab, profile: str, call: str, code: int, statement: str, left: str) -> None:
    lab.run("insert into doc values (59, 't', 'abcdef', null)")
    lab.commit()
    lab.mark()
    write_in_place(lab, "c", oracledb.DB_TYPE_CLOB, call)
    lab.commit()
    select = 'select "C" into loc_c from "LAB"."DOC" where "ID" = \'59\' and "T" = \'t\' for update;'
    assert lab.redo() == lob_rows(profile, select, statement)
    assert forms(lab) == lob_forms(profile, (code, "r1" if code == 10 else "ph"), locator="r1")
    assert lab.cursor.execute("select to_char(c) from doc").fetchall() == [(left,)]


def test_erase_counts_the_characters_before_it(lab: Lab) -> None:
    """As the other statements: code points, where DBMS_LOB counts UTF-16 units."""
    lab.run("insert into doc values (60, 't', '\U0001f600bcdef', null)")
    lab.commit()
    lab.mark()
    write_in_place(lab, "c", oracledb.DB_TYPE_CLOB, "declare n integer := 2; begin dbms_lob.erase(:lob, n, 3); end")
    lab.commit()
    [statement] = lab.redo("operation_code = 29")
    assert "e_len :=  2;\n  dbms_lob.erase(loc_c, e_len, 2);" in str(statement)


@pytest.mark.parametrize("offset", [1, 2, 3])
def test_what_logminer_says_of_erased_surrogates_is_not_known(lab: Lab, offset: int) -> None:
    lab.run("insert into doc values (60, 't', 'a\U0001f600bcdef', null)")
    lab.commit()
    lab.mark()
    with pytest.raises(oracledb.DatabaseError, match=r"ORA-03001: .*DBMS_LOB\.ERASE of characters beyond U\+FFFF"):
        write_in_place(
            lab, "c", oracledb.DB_TYPE_CLOB, f"declare n integer := 2; begin dbms_lob.erase(:lob, n, {offset}); end"
        )
    write_in_place(lab, "c", oracledb.DB_TYPE_CLOB, "declare n integer := 2; begin dbms_lob.erase(:lob, n, 4); end")
    lab.commit()
    assert lab.cursor.execute("select to_char(c) from doc").fetchall() == [("a\U0001f600  def",)]
    [statement] = lab.redo("operation_code = 29")
    assert "e_len :=  2;\n  dbms_lob.erase(loc_c, e_len, 3);" in str(statement)


def test_e59_erase(lab: Lab, profile: str) -> None:
    lab.run("insert into doc values (59, 't', 'abcdef', null)")
    lab.commit()
    lab.mark()
    lab.run(
        "declare l clob; n number; begin n := 2; select c into l from doc for update; dbms_lob.erase(l, n, 3); end;",
    )
    lab.commit()
    select = 'select "C" into loc_c from "LAB"."DOC" where "ID" = \'59\' and "T" = \'t\' for update;'
    assert lab.redo() == lob_rows(profile, select, "  e_len :=  2;\n  dbms_lob.erase(loc_c, e_len, 3);")
    assert forms(lab) == lob_forms(profile, (29, "ph"), locator="r1")
    assert lab.cursor.execute("select to_char(c) from doc").fetchall() == [("ab  ef",)]


def test_e60_update_of_another_column(lab: Lab) -> None:
    lab.run("insert into doc values (60, 't', 'c', null)")
    lab.commit()
    lab.mark()
    lab.run("update doc set t = 'u' where id = 60")
    lab.commit()
    assert lab.redo() == ['update "LAB"."DOC" set "T" = \'u\' where "ID" = \'60\' and "T" = \'t\';']
    assert forms(lab) == [(3, 0, 0, None, "r1")]


def test_e61_lob_change_undone_to_a_savepoint(lab: Lab, profile: str) -> None:
    lab.run("savepoint s")
    lab.cursor.execute("insert into doc values (61, 't', :1, null)", ["gone" * 600])
    lab.run("rollback to s", "insert into doc values (62, 't', empty_clob(), empty_blob())")
    lab.commit()
    assert forms(lab)[:-1] == [(1, 0, 0, None, "ph"), *lob_forms(profile, (10, "ph")), (2, 1, 0, None, "r1")]
    committed = lab.redo(options=" + dbms_logmnr.committed_data_only")
    assert committed == ['insert into "LAB"."DOC"("ID","T","C","B") values (\'62\',\'t\',EMPTY_CLOB(),EMPTY_BLOB());']


def test_undo_of_lob_changes(lab: Lab) -> None:
    lab.run("insert into doc values (1, 't', 'small', null)")
    lab.commit()
    lab.mark()
    lab.cursor.execute("update doc set c = :1, t = 'u'", ["z" * 2000])
    lab.run("delete from doc")
    lab.connection.rollback()
    undone = lab.redo("rollback = 1")
    assert undone == [
        'insert into "LAB"."DOC"("ID","T","C","B") values (\'1\',\'u\',EMPTY_CLOB(),EMPTY_BLOB());',
        'update "LAB"."DOC" set "T" = \'t\', "C" = \'small\';',
    ]
    assert lab.redo(options=" + dbms_logmnr.committed_data_only") == []
    assert lab.cursor.execute("select t, to_char(c) from doc").fetchall() == [("t", "small")]


def test_delete_leaves_lobs_out(lab: Lab) -> None:
    lab.run("insert into doc values (1, 't', 'c', hextoraw('00'))")
    lab.commit()
    lab.mark()
    lab.run("delete from doc")
    lab.commit()
    assert lab.redo() == ['delete from "LAB"."DOC" where "ID" = \'1\' and "T" = \'t\';']
    assert forms(lab)[0][-1] == "r1"


@pytest.mark.parametrize(
    ("value", "text"), [("'v'", "'v'"), ("empty_clob()", "EMPTY_CLOB()"), ("null", "NULL")], ids=["small", "empty", "null"]
)
def test_large_to(lab: Lab, value: str, text: str) -> None:
    lab.cursor.execute("insert into doc values (1, 't', :1, null)", ["z" * 2000])
    lab.commit()
    lab.mark()
    lab.run(f"update doc set c = {value}")
    lab.commit()
    assert lab.redo() == [f'update "LAB"."DOC" set "C" = {text} where "ID" = \'1\' and "T" = \'t\';']


def test_nclob_is_a_plain_literal(lab: Lab) -> None:
    """Not UNISTR as NVARCHAR2: measured on 23ai, and all that Debezium's parser of pieces takes."""
    lab.run("create table nc (id number, c nclob)", "insert into nc values (1, to_nclob('it''s \u00e9t\u00e9'))")
    lab.commit()
    assert lab.redo()[-1] == 'update "LAB"."NC" set "C" = \'it\'\'s \u00e9t\u00e9\' where "ID" = \'1\';'


def test_pieces_of_an_nclob_are_plain_literals(lab: Lab) -> None:
    lab.run("create table nc (id number, c nclob)")
    lab.mark()
    lab.cursor.execute("insert into nc values (1, to_nclob(:1))", ["\u00e9" * 3000])
    lab.commit()
    pieces = [text for text in lab.redo() if text and "dbms_lob.write" in text]
    assert pieces
    assert all(" buf_nc := '\u00e9" in text and "UNISTR" not in text for text in pieces)


def test_lob_rows_need_the_start_of_the_transaction(lab: Lab) -> None:
    lab.run("insert into doc (id) values (1)")
    later = lab.mark()
    lab.cursor.execute("update doc set c = :1", ["z" * 2000])
    lab.commit()
    assert [row[0] for row in forms(lab, start=later)] == []


def test_e62_binary_xml(lab: Lab) -> None:
    lab.run("insert into xd values (62, xmltype('<a/>'))", "update xd set x = null")
    lab.commit()
    assert lab.redo() == [
        'insert into "LAB"."XD"("ID") values (\'62\');',
        'XML DOC BEGIN:  select "X" from "LAB"."XD" where "ID" = \'62\'',
        "XML_REDO := HEXTORAW('3c612f3e'):4",
        None,
        'XML DOC BEGIN:  select "X" from "LAB"."XD" where "ID" = \'62\'',
        "XML_REDO := NULL",
        None,
    ]
    document = [(68, 0, 2, XML_INFO, "ph"), (70, 0, 2, XML_INFO, "ph"), (71, 0, 0, None, "ph")]
    assert forms(lab) == [(1, 0, 0, None, "r1"), *document, *document]


def test_e63_xml_as_clob_in_pieces(lab: Lab) -> None:
    lab.run("create table xc (id number primary key, x xmltype) xmltype column x store as clob")
    document = "<r>" + "y" * 5000 + "</r>"
    lab.cursor.execute("insert into xc values (63, :1)", [document])
    lab.commit()
    texts = lab.redo("operation_code in (68, 70, 71)")
    assert texts[0] == 'update "LAB"."XC" a set a."X" = XMLType(:1) where a."ID" = \'63\';'
    assert texts[1:-1] == [document[:4066], document[4066:]]
    assert texts[-1] is None
    assert [row[2:4] for row in forms(lab)[1:]] == [(5, "XML sql_redo needs assembly")] * 3 + [(0, None)]


def test_e48_quotes_of_extended_columns_are_not_doubled(lab: Lab) -> None:
    lab.run("create table wide (id number primary key, v varchar2(32767))", "insert into wide values (48, 'it''s Ann''s')")
    lab.commit()
    assert lab.redo() == ['insert into "LAB"."WIDE"("ID","V") values (\'48\',\'it\'s Ann\'s\');']


def test_e64_extended_string(lab: Lab) -> None:
    lab.run("create table wide (id number primary key, v varchar2(32767))")
    lab.run("alter table wide add supplemental log data (all) columns")
    text = "long text" + "'" * 5000
    lab.cursor.execute("insert into wide values (64, :1)", [text])
    lab.commit()
    texts = lab.redo()
    assert texts[:2] == [
        'insert into "LAB"."WIDE"("ID") values (\'64\');',
        "DECLARE\n TempLob CLOB;\n buf_c   VARCHAR2(32767);\n Stmt    CLOB;\nBEGIN\n"
        " DBMS_LOB.CreateTemporary(TempLob, FALSE);\n"
        ' Stmt := \'update "LAB"."WIDE" a set a."V" = :V where a."ID" = \'\'64\'\';\';',
    ]
    pieces = [text[12:].rsplit("'; \n", 1)[0] for text in texts[2:-1] if text]
    assert "".join(pieces) == text
    assert [row[0] for row in forms(lab)] == [1, 91, 92, 92, 93]
    assert lab.cursor.execute("select v from wide").fetchall() == [(text,)]


def test_e76_update_of_a_table_with_long(lab: Lab) -> None:
    lab.run("create table lng (id number primary key, t varchar2(9), l long)")
    lab.run("alter table lng add supplemental log data (all) columns", "insert into lng values (76, 't', 'old text')")
    lab.run("update lng set l = 'new text', t = 'u'", "delete from lng")
    lab.commit()
    assert lab.redo() == [
        'insert into "LAB"."LNG"("ID","T","L") values (\'76\',\'t\',\'old text\');',
        'update "LAB"."LNG" set "T" = \'u\', "L" = \'new text\' where "ID" = \'76\' and "T" = \'t\';',
        'delete from "LAB"."LNG" where "ID" = \'76\' and "T" = \'u\';',
    ]
    assert [row[2:4] for row in forms(lab)] == [(0, None), (2, None), (0, None)]


def test_e42_rowid_columns(lab: Lab) -> None:
    lab.run("create table ty (id number, c1 rowid, c2 urowid)", "insert into ty values (42, null, 'AAASo8AAMAAAACXAAA')")
    lab.commit()
    assert lab.redo() == ['insert into "LAB"."TY"("ID","C1","C2") values (\'42\',NULL,\'AAASo8AAMAAAACXAAA\');']


@pytest.mark.parametrize(
    ("kind", "value"), [("boolean", "true"), ("json", "'{}'"), ("vector(2)", "'[1,2]'")], ids=["boolean", "json", "vector"]
)
def test_e75_rows_of_new_types_are_unsupported(lab: Lab, profile: str, kind: str, value: str) -> None:
    create = f"create table flags (id number primary key, f {kind}, c clob)"
    if profile == "19c":
        assert "ORA-00902" in errors_of(lab.connection, create)
        return
    lab.run(create, f"insert into flags values (75, {value}, 'x')", "update flags set c = 'y'", "delete from flags")
    lab.commit()
    assert forms(lab) == [(255, 0, 2, None, "r1")] * 3
    assert lab.redo() == ["Unsupported"] * 3


def test_e47_json_is_mined_under_goldengate_replication(lab: Lab, profile: str) -> None:
    create = "create table ty (id number primary key, c1 json)"
    if profile == "19c":
        assert "ORA-00902" in errors_of(lab.connection, create)
        return
    with lab.sandbox.connect(service=lab.sandbox.root_service) as admin:
        cursor = admin.cursor()
        cursor.execute("alter system set enable_goldengate_replication = true")
        shown = "select value from v$parameter where name = 'enable_goldengate_replication'"
        assert cursor.execute(shown).fetchall() == [("TRUE",)]
        lab.run(create, "alter table ty add supplemental log data (all) columns", "insert into ty values (47, '{}')")
        lab.run("""update ty set c1 = '{"a":1}'""", "delete from ty")
        lab.commit()
        assert forms(lab) == [(1, 0, 0, None, "ph"), *[(3, 0, 0, None, "r1")] * 2, (2, 0, 0, None, "r1")]
        insert, first, second, delete = lab.redo()
        cursor.execute("alter system set enable_goldengate_replication = false")
        assert lab.redo() == ["Unsupported"] * 4
    assert insert == 'insert into "LAB"."TY"("ID","C1") values (\'47\',/* JSON */ EMPTY_BLOB());'
    oson = re.compile(r'update "LAB"."TY" set "C1" = /\* JSON \*/ HEXTORAW\(\'(ff4a5a01[0-9a-f]+)\'\) where "ID" = \'47\';')
    assert all(oson.fullmatch(str(text)) for text in (first, second))
    assert first != second
    assert delete == 'delete from "LAB"."TY" where "ID" = \'47\';'


def test_e10_updates_of_tables_with_xml_have_an_alias(lab: Lab) -> None:
    lab.run("create table item (id number(10), name varchar2(80), qty number, x xmltype) xmltype x store as clob")
    lab.run("alter table item add supplemental log data (all) columns", "insert into item values (10, 'c', null, null)")
    lab.commit()
    lab.mark()
    lab.run("update item set name = 'a.b'")
    lab.commit()
    assert lab.redo() == [
        'update "LAB"."ITEM" a set a."NAME" = \'a.b\' where a."ID" = \'10\' and a."NAME" = \'c\' and a."QTY" IS NULL;'
    ]


def test_e43_a_column_that_has_no_text(lab: Lab) -> None:
    lab.run("create table ty (id number primary key, c1 bfile, c2 varchar2(9))")
    lab.run("alter table ty add supplemental log data (all) columns")
    lab.run("insert into ty values (43, bfilename('DOCS', 'a.txt'), 'ok')", "update ty set c2 = 'x'", "delete from ty")
    lab.commit()
    assert lab.redo() == [
        'insert into "LAB"."TY"("ID","C1","C2") values (\'43\',Unsupported Type,\'ok\');',
        'update "LAB"."TY" set "C2" = \'x\' where "ID" = \'43\' and "C2" = \'ok\';',
        'delete from "LAB"."TY" where "ID" = \'43\' and "C2" = \'x\';',
    ]


def test_lob_sequence_of_commit_mode_is_the_same(lab: Lab) -> None:
    lab.cursor.execute("insert into doc values (1, 't', :1, hextoraw('ff'))", ["z" * 5000])
    lab.run("insert into xd values (1, '<a/>')")
    lab.commit()
    assert lab.redo(options=" + dbms_logmnr.committed_data_only") == lab.redo()


def test_standard_strings_are_short(sandbox: SandboxProcess) -> None:
    lab = opened(sandbox)
    assert "ORA-00910" in errors_of(lab.connection, "create table wide (v varchar2(4001))")
    assert "ORA-00910" in errors_of(lab.connection, "create table wide (v raw(2001))")
    size = lab.mining.execute("select value from v$parameter where name = 'max_string_size'").fetchall()
    assert size == [("STANDARD",)]
    lab.close()
