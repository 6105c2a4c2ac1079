"""Pages that are made from the code are as the code makes them."""

from __future__ import annotations

from pathlib import Path

from minercdc.cli.errors_page import errors_page
from minercdc.cli.types_page import types_page
from minercdc.config.document import configuration_page
from minercdc.sandbox.page import page
from minercdc.sandbox.sql.commands.registry import COMMANDS, REMARKS
from minercdc.sandbox.sql.declare import TYPES, declare
from minercdc.sandbox.sql.parse.statements import Parser

DOCS = Path(__file__).parents[2] / "docs"


def test_the_configuration_page_is_current() -> None:
    assert (DOCS / "configuration.md").read_text() == configuration_page(), "run `make docs`"


def test_the_page_of_types_is_current() -> None:
    assert (DOCS / "types.md").read_text() == types_page(), "run `make docs`"


def test_the_page_of_errors_is_current() -> None:
    assert (DOCS / "errors.md").read_text() == errors_page(), "run `make docs`"


def test_the_page_of_the_sandbox_is_current() -> None:
    assert (DOCS / "sandbox.md").read_text() == page(), "run `make docs`"


def test_the_remarks_of_the_sandbox_are_about_what_is_there() -> None:
    assert set(REMARKS) <= {" ".join(words) for words, _ in COMMANDS}
    lengths = {"VARCHAR2": "(9)", "VARCHAR": "(9)", "NVARCHAR2": "(9)", "RAW": "(9)"}
    for names in TYPES:
        for name in names.split(", "):
            assert declare("C", Parser(name + lengths.get(name, "")).type_name())
