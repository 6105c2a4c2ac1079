"""Types of texts and bytes."""

from __future__ import annotations

from minercdc.operate.qualify.case import of_type

_UNUSUAL = (
    "'it''s; -- no comment'",
    "'two' || CHR(10) || 'lines' || CHR(9) || 'a tab'",
    r"'back\slash, "
    '"quoted"'
    "'",
    "' blanks '",
    "'{not} :a bind'",
)

CASES = (
    of_type("VARCHAR2", "VARCHAR2(200)", ["'plain'", *_UNUSUAL]),
    of_type("VARCHAR2 beyond ASCII", "VARCHAR2(200)", [r"TO_CHAR(UNISTR('\00E4\20AC'))", r"TO_CHAR(UNISTR('\00DF\00E9'))"]),
    of_type("VARCHAR2(4000), full", "VARCHAR2(4000)", ["RPAD('x', 4000, 'y')", "RPAD('''', 4000, 'it''s ')", "'short'"]),
    of_type("VARCHAR2(32767)", "VARCHAR2(32767)", ["'short'", "RPAD('long', 3999, '.')"]),
    of_type("CHAR", "CHAR(10)", ["'ab'", "'it''s'", "'0123456789'"]),
    of_type("NCHAR", "NCHAR(10)", ["N'ab'", r"UNISTR('\00E1\20AC')", "N'it''s'"]),
    of_type("NVARCHAR2", "NVARCHAR2(100)", ["N'plain'", r"UNISTR('\D83D\DE00 \20AC')", "N'it''s, ok'", r"UNISTR('\\')"]),
    of_type("RAW", "RAW(100)", ["HEXTORAW('00FF')", "HEXTORAW('C0FFEE')", "UTL_RAW.CAST_TO_RAW('text')"]),
    of_type("LONG", "LONG", ["'some text'", "'it''s'"]),
    of_type("LONG RAW", "LONG RAW", ["HEXTORAW('00FF')", "HEXTORAW('C0FFEE')"]),
)
