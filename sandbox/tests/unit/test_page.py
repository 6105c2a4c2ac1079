"""docs/sandbox.md is as the code makes it."""

from __future__ import annotations

from pathlib import Path

from minercdc_sandbox.page import page
from minercdc_sandbox.sql.commands.registry import COMMANDS, REMARKS
from minercdc_sandbox.sql.declare import TYPES, declare
from minercdc_sandbox.sql.parse.statements import Parser

PAGE = Path(__file__).parents[2] / "docs" / "sandbox.md"


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == page(), "run `make docs`"


def test_the_remarks_are_about_what_is_there() -> None:
    assert set(REMARKS) <= {" ".join(words) for words, _ in COMMANDS}
    lengths = {"VARCHAR2": "(9)", "VARCHAR": "(9)", "NVARCHAR2": "(9)", "RAW": "(9)"}
    for names in TYPES:
        for name in names.split(", "):
            assert declare("C", Parser(name + lengths.get(name, "")).type_name())
