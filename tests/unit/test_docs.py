"""Pages that are made from the code are as the code makes them."""

from __future__ import annotations

from pathlib import Path

from minercdc.cli.errors_page import errors_page
from minercdc.cli.types_page import types_page
from minercdc.config.document import configuration_page

DOCS = Path(__file__).parents[2] / "docs"


def test_the_configuration_page_is_current() -> None:
    assert (DOCS / "configuration.md").read_text() == configuration_page(), "run `make docs`"


def test_the_page_of_types_is_current() -> None:
    assert (DOCS / "types.md").read_text() == types_page(), "run `make docs`"


def test_the_page_of_errors_is_current() -> None:
    assert (DOCS / "errors.md").read_text() == errors_page(), "run `make docs`"
