"""Damaged redo and DDL text: every parser ends, with a result or with a DecodeError that names the place."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.unit.capture.logminer.test_dml import FIXTURES

from minercdc.capture.logminer.lobs.lob_text import (
    parse_lob_edit,
    parse_locator,
    parse_string_begin,
    parse_string_fragment,
    parse_xml_begin,
    parse_xml_fragment,
)
from minercdc.capture.logminer.sql_redo.dml import RedoDecoder
from minercdc.capture.logminer.sql_redo.text import parse_redo
from minercdc.errors import DecodeError, RedoSyntaxError, ValueDecodeError
from minercdc.schema.ddl.parser import parse_ddl
from minercdc.schema.ddl.statements import Unclear
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.values.codec import ValueHandling, codec_for

SELECT = """ select "C" into loc_c from "LAB"."DOC" where "ID" = '2' and "N" = 'it''s' and "D" IS NULL for update;"""
BLOCK = f"DECLARE \n loc_c CLOB; \n buf_c VARCHAR2(6174); \n e_len NUMBER; \nBEGIN\n{SELECT}\n\n{{}}\nEND;"
EDITS = (
    " buf_c := 'Jo''s '; \n  dbms_lob.write(loc_c, 5, 1, buf_c);",
    " buf_b := HEXTORAW('0102ff'); \n  dbms_lob.write(loc_b, 3, 7, buf_b);",
    " buf_nc := 'a\u00e9''b'; \n  dbms_lob.write(loc_nc, 4, 1, buf_nc);",
    " buf_nc := UNISTR('a\\00e9') || UNISTR('b'); \n  dbms_lob.write(loc_nc, 3, 1, buf_nc);",
    "  dbms_lob.trim(loc_c, 5000);",
    "  e_len :=  2;\n  dbms_lob.erase(loc_c, e_len, 3);",
)
STATEMENT = """Stmt := 'update "S"."T" a set a."V" = :V where a."ID" = ''64'';';"""
KEY, N, D, V = (
    Column("ID", "NUMBER", 10, 0),
    Column("N", "VARCHAR2", 20),
    Column("D", "DATE"),
    Column("V", "VARCHAR2", 32767),
)
LARGE = TableSchema(TableId("DB", "S", "T"), (KEY, N, D, Column("C", "CLOB"), Column("VAL", "XMLTYPE"), V), (0,))
DECODER = RedoDecoder(LARGE, lobs=True)
PARSERS: dict[str, tuple[Callable[[str], object], tuple[str, ...]]] = {
    "dml": (parse_redo, tuple(sql for _, _, sql, _, _ in FIXTURES)),
    "unescaped": (lambda sql: parse_redo(sql, unescaped={"V", "NAME"}), tuple(sql for _, _, sql, _, _ in FIXTURES)),
    "locator": (lambda sql: parse_locator(sql, DECODER), (f"DECLARE \n loc_c CLOB; \nBEGIN\n{SELECT}",)),
    "edit": (lambda sql: parse_lob_edit(sql, DECODER), (*EDITS, *(BLOCK.format(edit) for edit in EDITS))),
    "xml begin": (
        lambda sql: parse_xml_begin(sql, DECODER),
        (
            """XML DOC BEGIN:  select "VAL" from "S"."T" where "ID" = '1'""",
            """update "S"."T" a set a."VAL" = XMLType(:1) where a."ID" = '1';""",
        ),
    ),
    "xml piece": (
        lambda sql: parse_xml_fragment(sql, binary=True),
        (
            "XML_REDO := NULL",
            "XML_REDO := '<a>it''s</a>'\n amount: 12",
            "XML_REDO := HEXTORAW('3c612f3e'):4",
            "XML_REDO := '<a/>':4",
        ),
    ),
    "string begin": (lambda sql: parse_string_begin(sql, DECODER), (f"DECLARE\n TempLob CLOB;\nBEGIN\n {STATEMENT}",)),
    "string piece": (
        parse_string_fragment,
        ("  buf_c := 'a'b'; \n  x(TempLob, 3, buf_c);", "  buf_b := HEXTORAW('00ff'); \n  x(TempLob, 2, buf_b);"),
    ),
}
DDL = (
    'create table "LAB"."T" (id number(10,2) default 0 not null, "a b" varchar2(10 char), c clob, primary key (id)) lob (c)'
    " store as securefile (tablespace users) partition by range (id) (partition p values less than (10))",
    "alter table t add (c clob default empty_clob(), constraint k unique (a, b)) modify (n null)",
    "alter table lab.t drop column c cascade constraints",
    "alter table t rename column a to b",
    "rename a to b",
    "drop table t /* c */ cascade constraints purge -- end",
    "truncate table \"A\".\"B\" reuse storage; comment on table t is 'it''s'",
)
SPLICES = st.sampled_from(["'", '"', "(", ")", ",", ";", "||", " and ", "\\", "\\D83D", ":", "HEXTORAW('", "NULL", "9" * 5000, "1E999999999", "1.5", "\n", "\x00", "\U0001f600", "/*", "--"])  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn, texts: tuple[str, ...]) -> str:
    """A valid text with some of it cut out, doubled, or replaced."""
    text = draw(st.sampled_from(texts))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(start + 12, len(text))))
        instead = draw(st.one_of(st.just(""), SPLICES, st.text(max_size=4), st.just(text[start:end] * 2)))
        text = text[:start] + instead + text[end:]
    return text


@pytest.mark.parametrize("name", PARSERS)
@settings(max_examples=examples(80))
@given(data=st.data())
def test_damaged_texts_of_rows(name: str, data: st.DataObject) -> None:
    parse, texts = PARSERS[name]
    complaint = refusal(parse, data.draw(damaged(texts)))
    assert complaint is None or re.search(r"character \d+|: ['\"]|expected|\|\|", complaint)


def refusal(parse: Callable[[str], object], text: str) -> str | None:
    """What a parser complains of, None when it accepts the text; what is no DecodeError escapes."""
    try:
        parse(text)
    except RedoSyntaxError as error:
        return error.message
    except DecodeError:
        return None
    return None


@pytest.mark.parametrize("name", sorted(PARSERS.keys() - {"dml"}))
def test_the_texts_themselves_are_read(name: str) -> None:
    parse, texts = PARSERS[name]
    for text in texts:
        assert parse(text) or text == "XML_REDO := NULL"


@settings(max_examples=examples(150))
@given(case=st.sampled_from(FIXTURES), data=st.data())
def test_damaged_rows_are_decoded_or_refused(case: tuple[object, ...], data: st.DataObject) -> None:
    _, table, sql, _, _ = case
    decoder = RedoDecoder(table, lobs=True)  # type: ignore[arg-type]
    for text in (data.draw(damaged((str(sql),))), str(sql)):
        assert refusal(decoder.decode, text) != ""


@settings(max_examples=examples(250))
@given(damaged(DDL))
def test_damaged_ddl_has_a_meaning_or_none(sql: str) -> None:
    parse_ddl(sql)


HUGE = ["9" * 5000, "1E999999999", "-1E-999999999", "1E99999999999999999999"]


@pytest.mark.parametrize("text", HUGE)
@pytest.mark.parametrize("type_name", ["NUMBER", "FLOAT", "TIMESTAMP", "INTERVAL DAY TO SECOND", "INTERVAL YEAR TO MONTH"])
def test_numbers_beyond_any_type_are_refused_at_once(text: str, type_name: str) -> None:
    """Python takes seconds to print a decimal of a thousand million digits, and refuses integers of over 4300."""
    codec = codec_for(Column("C", type_name), ValueHandling())
    function = {"TIMESTAMP": "TO_TIMESTAMP", "INTERVAL DAY TO SECOND": "TO_DSINTERVAL"}.get(type_name, "TO_YMINTERVAL")
    begun = time.process_time()
    for literal in (f"'{text}'", f"{function}('{text}')", f"{function}('{text}-1')", f"{function}('{text} 1:1:1')"):
        with pytest.raises(ValueDecodeError):
            codec.to_json(codec.from_redo(literal))
    assert time.process_time() - begun < 1


@pytest.mark.parametrize("size", ["9" * 5000, "1.5"])
def test_sizes_beyond_any_column_are_unclear(size: str) -> None:
    assert isinstance(parse_ddl(f"create table t (id number({size}))"), Unclear)
    assert isinstance(parse_ddl(f"alter table t add (c varchar2({size} char))"), Unclear)
