"""Blanks between the tokens of SQL_REDO, more of them or others than usual, or some where there are none: every parser reads
the same."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator

import pytest
from tests.unit.capture.logminer.test_dml import FIXTURES
from tests.unit.capture.logminer.test_fuzz import DECODER, PARSERS

from minercdc.capture.logminer.lobs.lob_text import parse_string_begin
from minercdc.capture.logminer.sql_redo.dml import RedoDecoder
from minercdc.schema.table import TableSchema

# Apostrophes in the first two are not doubled.
_TOKEN = re.compile(r"""'(?:it's Ann's|a'b)'|'(?:[^']|'')*'|"[^"]*"|/\*.*?\*/|:=|\|\||\w+|[^\s\w]""")
_BLANKS = ("  ", "\n", "\t", " \r\n ")


def variations(sql: str) -> Iterator[str]:
    """One gap changed at a time, then all of them."""
    tokens = list(_TOKEN.finditer(sql))
    gaps = [sql[a.end() : b.start()] for a, b in itertools.pairwise(tokens)]
    texts = [token[0] for token in tokens]
    tail = sql[tokens[-1].end() :]

    def joined(gaps: list[str]) -> str:
        return texts[0] + "".join(gap + text for gap, text in zip(gaps, texts[1:], strict=True)) + tail

    assert joined(gaps) == sql.lstrip()
    for i, gap in enumerate(gaps):
        for blank in _BLANKS if gap else (" ", "\n"):
            yield joined([*gaps[:i], blank, *gaps[i + 1 :]])
    for blank in (" ", *_BLANKS):
        yield blank + joined([blank] * len(gaps)) + blank


_TEXTS = [(name, text) for name, (_, texts) in PARSERS.items() for text in texts if name not in ("dml", "unescaped")]


@pytest.mark.parametrize(("name", "text"), _TEXTS, ids=[f"{name} {i}" for i, (name, _) in enumerate(_TEXTS)])
def test_texts_of_large_values(name: str, text: str) -> None:
    parse: Callable[[str], object] = PARSERS[name][0]
    expected = parse(text)
    for variation in variations(text):
        assert parse(variation) == expected, variation


def test_the_statement_within_the_text_of_a_long_string() -> None:
    inner = """update "S"."T" a set a."V" = :V where a."ID" = '64' and a."N" = '''tis' and a."M" IS NULL;"""
    texts = ("Stmt := '" + text.replace("'", "''") + "';" for text in (inner, *variations(inner)))
    targets = [parse_string_begin(text, DECODER) for text in texts]
    assert targets[0].known[:2] == ("64", "'tis")
    assert all(target == targets[0] for target in targets)


@pytest.mark.parametrize(("schema", "sql"), [f[1:3] for f in FIXTURES], ids=[f[0] for f in FIXTURES])
def test_statements(schema: TableSchema, sql: str) -> None:
    decoder = RedoDecoder(schema)
    expected = decoder.decode(sql)
    for variation in variations(sql):
        assert decoder.decode(variation) == expected, variation
